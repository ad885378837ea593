;;;; Administration of topics, partitions, configurations and the cluster.

(in-package #:kafkabi)

;;; ---- topics ----

(defun topic-object (topic)
  "An object for a name, or a list of a name and options."
  (destructuring-bind (name &rest options) (if (stringp topic) (list topic) (check-proper topic 'topics))
    (unless (stringp name)
      (argument-error 'topics topic "the name of a topic, or a list of a name and options"))
    (check-options options 'topics '(:partitions :replication :placement :configs))
    (destructuring-bind (&key partitions replication placement configs) options
      (check-argument partitions (or null (integer 1 #x7fffffff)) "a number of partitions, or NIL")
      (check-argument replication (or null (integer 1 32767)) "a number of copies, or NIL")
      (list :object :topic name :partitions partitions :replication replication
                    :placement (placement-list placement)
                    :configs (when configs (config-object configs 'configs))))))

(defun placement-list (placement)
  (mapcar (lambda (brokers)
            (let ((list (coerce-to-list brokers 'placement)))
              (unless (every #'integerp list)
                (argument-error 'placement brokers "a list of brokers' ids for each partition"))
              list))
          (coerce-to-list placement 'placement)))

(defun config-object (configs argument)
  "An object for a plist, an alist or a hash-table of properties."
  (declare (ignore argument))
  (list* :object (loop for (name . value) in (properties configs) collect name collect value)))

(defmethod create-topic ((client client) name &key partitions replication placement configs validate-only
                                                (timeout +request-timeout+) async)
  (check-argument name string "the name of a topic, a string")
  (request client 'create-topic "topics_create"
           (list :object :topics (list (topic-object (list name :partitions partitions
                                                                :replication replication
                                                                :placement placement :configs configs)))
                         :validate-only (and validate-only t))
           timeout async
           (lambda (answer) (the-outcome (getf answer :topics) 'create-topic (field :topic)))))

(define-request create-topics (client topics &key validate-only)
    ("topics_create" :topics (mapcar #'topic-object (coerce-to-list topics 'topics))
                     :validate-only (and validate-only t))
  (lambda (answer) (outcomes (getf answer :topics) (field :topic) 'create-topics (field :topic)))
  "Create TOPICS, a sequence of names, and of lists of a name and the options :PARTITIONS and :REPLICATION (numbers;
without them the brokers' defaults), :PLACEMENT (for each partition a list of brokers' ids, the preferred leader
first) and :CONFIGS (properties, as for a client). With VALIDATE-ONLY true only find out whether it would work.
Return the names, once the controller has made the topics; brokers learn of them within moments. Signal a
PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

(defun delete-topic (client name &key (timeout +request-timeout+) async)
  "Delete the topic NAME and all that is in it, and return NAME. Signal a KAFKA-ERROR if there is none. TIMEOUT and
ASYNC are as for ADMIN-REQUEST."
  (check-argument name string "the name of a topic, a string")
  (request client 'delete-topic "topics_delete" (list :object :topics (list name)) timeout async
           (lambda (answer) (the-outcome (getf answer :topics) 'delete-topic (field :topic)))))

(define-request delete-topics (client names)
    ("topics_delete" :topics (name-list names 'names))
  (lambda (answer) (outcomes (getf answer :topics) (field :topic) 'delete-topics (field :topic)))
  "Delete the topics NAMES, a sequence of strings, and all that is in them, and return the names. Signal a
PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

(defun create-partitions (client topic total &key placement validate-only (timeout +request-timeout+) async)
  "Add partitions to TOPIC, so that it has TOTAL; PLACEMENT, if not NIL, is a list of brokers' ids for each new one,
the preferred leader first. Records stay where they are, so that keys may go to other partitions after. With
VALIDATE-ONLY true only find out whether it would work. Return TOPIC. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (check-argument topic string "the name of a topic, a string")
  (check-argument total (integer 1 #x7fffffff) "how many partitions the topic is to have in all")
  (request client 'create-partitions "partitions_create"
           (list :object :topics (list (list :object :topic topic :total total
                                                     :placement (placement-list placement)))
                         :validate-only (and validate-only t))
           timeout async
           (lambda (answer) (the-outcome (getf answer :topics) 'create-partitions (field :topic)))))

(define-request describe-topics (client names &key authorized-operations)
    ("topics_describe" :topics (name-list names 'names)
                       :authorized-operations (and authorized-operations t))
  (lambda (answer) (outcomes (getf answer :topics) (field :topic) 'describe-topics))
  "Describe the topics NAMES, a sequence of strings. Return a plist for each: :TOPIC (its name), :ID (a string, or
NIL), :INTERNAL (true for Kafka's own), :PARTITIONS and :AUTHORIZED-OPERATIONS (keywords such as :READ; NIL unless
asked for). Each of the partitions is a plist: :PARTITION (its number), :LEADER, :REPLICAS and :IN-SYNC, which are
nodes; a node is a plist of :ID, :HOST, :PORT and :RACK (a string or NIL). Signal a PARTIAL-ERROR if some failed.
TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

;;; ---- the cluster ----

(define-request describe-cluster (client &key authorized-operations)
    ("cluster_describe" :authorized-operations (and authorized-operations t))
  #'enriched
  "Describe the cluster: a plist of :ID (a string, or NIL), :CONTROLLER (a node, or NIL), :BROKERS (nodes; see
DESCRIBE-TOPICS) and :AUTHORIZED-OPERATIONS (keywords; NIL unless asked for). TIMEOUT and ASYNC are as for
ADMIN-REQUEST.")

(defun cluster-metadata (client &key (topics nil topicsp) (timeout +request-timeout+) async)
  "What CLIENT's cluster says of TOPICS, a sequence of names, or of all that it may see: a plist of :CLUSTER (its
name for itself, or NIL), :CONTROLLER (a broker's id, or NIL), :BROKERS (nodes; see DESCRIBE-TOPICS) and :TOPICS, a
list of plists of :TOPIC, :CONDITION (why it can't be used, or NIL) and :PARTITIONS, which are plists of :PARTITION,
:CONDITION, :LEADER (a broker's id, or NIL), :REPLICAS and :IN-SYNC (lists of these). Asking never creates a topic.
TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (request client 'cluster-metadata "metadata"
           (list :object :topics (when topicsp (name-list topics 'topics)))
           timeout async #'metadata-of))

(defun metadata-of (answer)
  (list :cluster (getf answer :cluster)
        :controller (getf answer :controller)
        :brokers (getf answer :brokers)
        :topics (loop for topic in (getf answer :topics)
                      collect (list :topic (getf topic :topic)
                                    :condition (status-condition topic)
                                    :partitions (loop for partition in (getf topic :partitions)
                                                      collect (list* :partition (getf partition :partition)
                                                                     :condition (status-condition partition)
                                                                     (without partition :status
                                                                              :partition)))))))

(defun status-condition (item)
  (unless (zerop (item-code item))
    (item-condition item 'cluster-metadata)))

(defun without (plist &rest names)
  (loop for (name value) on plist by #'cddr
        unless (member name names) collect name and collect value))

(defun cluster-id (client &key (timeout +request-timeout+))
  "The name that the cluster of CLIENT has for itself, a string, or NIL if it does not tell. TIMEOUT is as for
ADMIN-REQUEST."
  (request client 'cluster-id "metadata" '(:object) timeout nil (field :cluster)))

(defun controller-id (client &key (timeout +request-timeout+))
  "The id of the broker that controls the cluster of CLIENT, or NIL if it is not told. TIMEOUT is as for
ADMIN-REQUEST."
  (request client 'controller-id "metadata" '(:object) timeout nil (field :controller)))

;;; ---- configurations ----

(defun config-owner (type name)
  "The members of an object that name what has a configuration."
  (check-argument type (member :topic :broker :group) ":TOPIC, :BROKER or :GROUP")
  (let ((name (if (and (eq type :broker) (integerp name)) (format nil "~D" name) name)))
    (check-argument name string "the name of a topic or group, or the id of a broker")
    (list :type type :name name)))

(defun describe-config (client type name &key (properties nil propertiesp) (timeout +request-timeout+) async)
  "The configuration of a topic or a group (TYPE :TOPIC or :GROUP, NAME a string), or of a broker (:BROKER, and its id):
a list of plists of :NAME, :VALUE (strings; NIL if there is none, or it is a secret), :SOURCE (:TOPIC, :GROUP,
:BROKER, :BROKERS, :FILE or :DEFAULT), :DEFAULT, :READ-ONLY, :SENSITIVE (true or NIL) and :SYNONYMS (plists of :NAME,
:VALUE and :SOURCE). PROPERTIES, a sequence of names, asks for these only. TIMEOUT and ASYNC are as for
ADMIN-REQUEST."
  (request client 'describe-config "configs_describe"
           (list :object :resources
                 (list (list* :object (append (config-owner type name)
                                              (when propertiesp
                                                (list :properties (name-list properties 'properties)))))))
           timeout async
           (lambda (answer)
             (getf (the-outcome (getf answer :resources) 'describe-config) :properties))))

(defun change-object (name value)
  (flet ((change (operation value)
           (list :object :name (property-name name) :operation operation
                         :value (and value (property-value name value)))))
    (typecase value
      (null (change :delete nil))
      ((cons (member :append :subtract)) (change (first value) (second value)))
      (t (change :set value)))))

(defun change-pairs (changes)
  "An alist of names and values of CHANGES, which NIL values are kept in."
  (cond ((hash-table-p changes) (table-alist changes))
        ((every #'consp (check-proper changes 'changes)) changes)
        ((evenp (length changes)) (loop for (name value) on changes by #'cddr collect (cons name value)))
        (t (argument-error 'changes changes "a plist with a value for each name"))))

(defun alter-config (client type name changes &key whole validate-only (timeout +request-timeout+) async)
  "Change the configuration of a topic, group or broker, named as for DESCRIBE-CONFIG. CHANGES is a plist, an alist or a
hash-table of properties, written as for a client, and values: what to set, NIL to take the property back to its
default, or (:APPEND value) and (:SUBTRACT value) for properties that are lists. Others are left alone; with WHOLE
true they all go back to their defaults instead, and CHANGES only sets. With VALIDATE-ONLY true only find out
whether it would work. Return NIL. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (check-argument changes (or list hash-table) "a plist, an alist or a hash-table of properties")
  (let ((owner (config-owner type name)))
    (request client 'alter-config (if whole "configs_alter" "configs_alter_incremental")
             (list :object
                   :resources (list (list* :object
                                           (append owner
                                                   (if whole
                                                       (list :configs (config-object changes 'changes))
                                                       (list :changes
                                                             (loop for (name . value) in (change-pairs changes)
                                                                   collect (change-object name value)))))))
                   :validate-only (and validate-only t))
             timeout async
             (lambda (answer)
               (the-outcome (getf answer :resources) 'alter-config (constantly nil))))))

;;; ---- records and leaders ----

(defun delete-objects (offsets)
  (mapcar (lambda (element)
            (unless (and (consp element) (typep (cdr element) '(or (unsigned-byte 63) (eql :end))))
              (argument-error 'offsets element "((topic . partition) . offset), with a number or :END"))
            (append (first (key-objects (list (car element)) 'offsets))
                    (list :before (if (eq (cdr element) :end) -1 (cdr element)))))
          (coerce-to-list (if (hash-table-p offsets) (table-alist offsets) offsets) 'offsets)))

(define-request delete-records (client offsets)
    ("records_delete" :partitions (delete-objects offsets))
  (lambda (answer)
    (outcomes (getf answer :partitions) #'item-key 'delete-records
              (lambda (item) (cons (item-key item) (getf item :first-offset)))))
  "Delete the oldest records of partitions: OFFSETS is an alist or a hash-table of (topic . partition) and the first
offset to keep, or :END to delete all. Return an alist of (topic . partition) and the first offset that is left.
Signal a PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

(defun elect-leaders (client partitions &key (election :preferred) (timeout +request-timeout+) async)
  "Have leaders elected of PARTITIONS, a sequence of (topic . partition), or T for all: ELECTION is :PREFERRED (the first
replica of the placement, if it is in sync) or :UNCLEAN (any that lives, if none in sync does: records may be lost).
Return the partitions. Signal a PARTIAL-ERROR if some failed, also those that needed none. TIMEOUT and ASYNC are as
for ADMIN-REQUEST."
  (check-argument election (member :preferred :unclean) ":PREFERRED or :UNCLEAN")
  (request client 'elect-leaders "leaders_elect"
           (list* :object :election election
                  (unless (eq partitions t)
                    (list :partitions (coerce (key-objects partitions 'partitions) 'vector))))
           timeout async
           (lambda (answer) (outcomes (getf answer :partitions) #'item-key 'elect-leaders #'item-key))))

;;; ---- offsets ----

(defun offset-ask (element)
  (unless (and (consp element)
               (typep (cdr element) '(or (unsigned-byte 63) (member :earliest :latest :max-timestamp))))
    (argument-error 'offsets element "((topic . partition) . what), with :EARLIEST, :LATEST, :MAX-TIMESTAMP or a timestamp"))
  (append (first (key-objects (list (car element)) 'offsets))
          (if (integerp (cdr element))
              (list :at :timestamp :timestamp (cdr element))
              (list :at (cdr element)))))

(defun list-offsets (client offsets &key (isolation :read-uncommitted) (timeout +request-timeout+) async)
  "Look offsets up: OFFSETS is an alist or a hash-table of (topic . partition), each only once, and what is looked for:
:EARLIEST, :LATEST (after the newest record), :MAX-TIMESTAMP, or milliseconds since 1970 (the first record with this
timestamp or a later one). ISOLATION is :READ-UNCOMMITTED or :READ-COMMITTED (records before the first open
transaction). Return an alist of (topic . partition) and a plist of :OFFSET, :TIMESTAMP and :LEADER-EPOCH, which are
NIL if no record is like that, or for what is not known. Signal a PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are
as for ADMIN-REQUEST."
  (check-argument isolation (member :read-uncommitted :read-committed) ":READ-UNCOMMITTED or :READ-COMMITTED")
  (request client 'list-offsets "offsets_list"
           (list :object :isolation isolation
                         :partitions (mapcar (lambda (element) (offset-ask element))
                                             (coerce-to-list (if (hash-table-p offsets)
                                                                 (table-alist offsets)
                                                                 offsets)
                                                             'offsets)))
           timeout async
           (lambda (answer)
             (outcomes (getf answer :partitions) #'item-key 'list-offsets
                       (lambda (item)
                         (list (item-key item) :offset (getf item :offset)
                                               :timestamp (getf item :timestamp)
                                               :leader-epoch (getf item :leader-epoch)))))))
