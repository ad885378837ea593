;;;; Administration, by producers and consumers alike. cl-rdkafka has it unexported; the results are its own.

(in-package #:cl-rdkafka)

(defconstant +request-timeout+ 5000 "Milliseconds that requests may take where nothing else is said.")

(defmacro define-request (name (client &rest lambda-list) documentation &body body)
  "Define the generic function NAME with a method each for producers and for consumers."
  `(progn
     (defgeneric ,name (,client ,@(loop for parameter in lambda-list
                                        collect (if (consp parameter) (first parameter) parameter)))
       (:documentation ,documentation))
     ,@(loop for class in '(producer consumer)
             collect `(defmethod ,name ((,client ,class) ,@lambda-list)
                        (translated ,@body)))))

;;; ---- topics ----

(define-request create-topic (client topic &key (partitions 1) (replication-factor 1) conf
                                     (timeout-ms +request-timeout+) validate-only-p)
  "Create the topic of the name TOPIC, and return that. CONF is a plist, an alist or a hash-table of the topic's
properties. With VALIDATE-ONLY-P only find out whether it would work."
  (kabi:create-topic client topic :partitions partitions :replication replication-factor
                                  :configs conf :validate-only validate-only-p :timeout timeout-ms)
  topic)

(define-request delete-topic (client topic &key (timeout-ms +request-timeout+))
  "Delete the topic of the name TOPIC, and return that."
  (kabi:delete-topic client topic :timeout timeout-ms)
  topic)

(define-request create-partitions (client topic partitions &key (timeout-ms +request-timeout+))
  "Add partitions to the topic of the name TOPIC, so that there are PARTITIONS of them, and return that."
  (kabi:create-partitions client topic partitions :timeout timeout-ms)
  partitions)

;;; ---- configurations ----

(define-request describe-config (client name type &key (timeout-ms +request-timeout+))
  "An alist of the names and values of a configuration's properties: of the topic NAME with the TYPE :TOPIC, of the
broker whose id is the string NAME with :BROKER."
  (loop for property in (kabi:describe-config client type name :timeout timeout-ms)
        collect (cons (getf property :name) (getf property :value))))

(define-request alter-config (client topic conf &key (timeout-ms +request-timeout+))
  "Give the topic of the name TOPIC the configuration CONF, an alist of properties and values, and return that.
Properties that are not in it go back to their defaults."
  (kabi:alter-config client :topic topic conf :whole t :timeout timeout-ms)
  conf)

(define-request get-conf (client)
  "An alist of the names and values, strings both, of all properties of CLIENT itself that have a value: those that
it was made with, and the defaults of the others."
  (kabi:get-conf client))

;;; ---- the cluster ----

(define-request cluster-id (client &key (timeout-ms +request-timeout+))
  "The cluster's name for itself, a string."
  (kabi:cluster-id client :timeout timeout-ms))

(define-request controller-id (client &key (timeout-ms +request-timeout+))
  "The id of the broker that controls the cluster, or NIL."
  (kabi:controller-id client :timeout timeout-ms))

(define-request cluster-metadata (client topic &key (timeout-ms +request-timeout+))
  "What the cluster is made of: an alist of :ORIGINATING-BROKER, an alist of :ID and :NAME; :BROKER-METADATA, an
alist of :ID, :HOST and :PORT for each broker; and :TOPIC-METADATA, an alist of :TOPIC and :PARTITIONS for each topic,
where :PARTITIONS are alists of :ID, :LEADER, :REPLICAS and :IN-SYNC-REPLICAS, ids of brokers. A topic or partition
that can't be used has an :ERR, a text, too.

TOPIC is the name of a topic, :ALL, or :LOCAL for those that CLIENT has met. Asking creates no topic."
  (metadata-alist (cond ((eq topic :all) (kabi:cluster-metadata client :timeout timeout-ms))
                        ((eq topic :local) (local-metadata client timeout-ms))
                        ((stringp topic)
                         (kabi:cluster-metadata client :topics (list topic) :timeout timeout-ms))
                        (t (bad-argument 'topic topic "the name of a topic, :ALL or :LOCAL")))))

(defun local-metadata (client timeout-ms)
  "Kafkabi's metadata of the topics that CLIENT has met."
  (let ((metadata (kabi:cluster-metadata client :timeout timeout-ms))
        (known (kabi::core-numbers (kabi::client-core client))))
    (setf (getf metadata :topics)
          (remove-if-not (lambda (topic) (gethash (getf topic :topic) known)) (getf metadata :topics)))
    metadata))

(defun metadata-alist (metadata)
  (let* ((brokers (getf metadata :brokers))
         ;; Which broker has answered is not told: the controller stands for it.
         (origin (or (find (getf metadata :controller) brokers :key (lambda (broker) (getf broker :id)))
                     (first brokers))))
    (list (cons :originating-broker
                (list (cons :id (getf origin :id))
                      (cons :name (format nil "~A:~D/~D" (getf origin :host) (getf origin :port)
                                          (getf origin :id)))))
          (cons :broker-metadata (mapcar #'node-alist brokers))
          (cons :topic-metadata (mapcar #'topic-alist (getf metadata :topics))))))

(defun node-alist (node)
  (loop for name in '(:id :host :port) collect (cons name (getf node name))))

(defun err-alist (plist)
  (let ((condition (getf plist :condition)))
    (when condition (list (cons :err (condition-text condition))))))

(defun topic-alist (topic)
  (list* (cons :topic (getf topic :topic))
         (cons :partitions
               (loop for partition in (getf topic :partitions)
                     collect (list* (cons :id (getf partition :partition))
                                    (cons :leader (getf partition :leader))
                                    (cons :replicas (getf partition :replicas))
                                    (cons :in-sync-replicas (getf partition :in-sync))
                                    (err-alist partition))))
         (err-alist topic)))

;;; ---- groups ----

(define-request group-info (client group &key (timeout-ms +request-timeout+))
  "What is known of the group of the name GROUP, or of all groups if that is NIL: a list of alists of :GROUP, :BROKER (an
alist of :ID, :HOST and :PORT), :STATE (such as \"Stable\"), :PROTOCOL-TYPE, :PROTOCOL (the assignor) and :MEMBERS,
alists of :ID, :CLIENT-ID, :CLIENT-HOST and :ASSIGNMENT, a list of (topic . partition).

The second value is true if some brokers did not answer in time."
  (multiple-value-bind (names partialp)
      (if group (values (list group) nil) (group-names client timeout-ms))
    (values (and names
                 (mapcar #'group-alist (kabi:describe-groups client names :timeout timeout-ms)))
            partialp)))

(defun group-names (client timeout-ms)
  "The names of all groups, and true if some are missing."
  (flet ((names (groups) (mapcar (lambda (group) (getf group :group)) groups)))
    (handler-case (values (names (kabi:list-groups client :timeout timeout-ms)) nil)
      (kabi:partial-error (condition) (values (names (kabi:goodies condition)) t)))))

(defun group-alist (group)
  (list (cons :group (getf group :group))
        (cons :broker (node-alist (getf group :coordinator)))
        (cons :state (remove #\- (string-capitalize (getf group :state))))
        (cons :protocol-type (if (getf group :simple) "" "consumer"))
        (cons :protocol (or (getf group :assignor) ""))
        (cons :members
              (loop for member in (getf group :members)
                    collect (list (cons :id (getf member :member))
                                  (cons :client-id (getf member :client))
                                  (cons :client-host (getf member :host))
                                  (cons :assignment (getf member :assignment)))))))
