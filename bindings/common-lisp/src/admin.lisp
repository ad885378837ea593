;;;; Admins, and how requests are made and answered: JSON documents both ways, whose shapes are in
;;;; api/admin.schema.json. A request is a future that an event completes; to wait for it is to wait for that.
;;;; Any client can make requests: a producer or a consumer by an admin of its own on its connections.

(in-package #:kafkabi)

(defconstant +request-timeout+ 60000 "How many milliseconds a request may take where nothing else is said.")

(defstruct (admin-core (:include core) (:constructor make-admin-core) (:conc-name admin-))
  ;; Requests under way by number: (future operation function-of-the-answer), guarded by the lock.
  (requests (make-hash-table)))

(defclass admin (client) ()
  (:documentation "A client that administers a cluster. A producer or a consumer does as well: every function for
admins takes any client.

:CONF, :ON-ERROR, :ON-LOG, :ON-STATISTICS, :ON-THROTTLE, :ON-TOKEN and :DRAIN are as for a PRODUCER."))

(defmethod initialize-instance :after
    ((admin admin) &key conf (drain :thread) on-error on-log on-statistics on-throttle on-token)
  (check-argument drain (member :thread :caller) ":THREAD or :CALLER")
  (let* ((handlers (collect-handlers :error on-error :log on-log :statistics on-statistics
                                     :throttle on-throttle :token on-token))
         (core (make-admin-core :name (client-name 'admin conf) :handlers handlers :draining drain)))
    (call-and-adopt admin core
                    (lambda ()
                      (make-handle conf '() (event-mask handlers :request)
                                   (lambda (config place details) (kabi-ll:admin-new config place details))
                                   'admin)))))

(defun make-admin (&rest arguments &key &allow-other-keys)
  "A new admin; the arguments are those of MAKE-INSTANCE with the class ADMIN."
  (apply #'make-instance 'admin arguments))

(defmacro with-admin ((admin &rest arguments) &body body)
  "Evaluate BODY with ADMIN bound to a new admin made with ARGUMENTS, and close it, however BODY is left."
  `(call-with-client (make-admin ,@arguments) (lambda (,admin) ,@body)))

;;; ---- what the kind is in the interface ----

(define-core-calls admin admin-core :topics nil)

(defmethod core-call-close ((core admin-core) timeout details)
  (values (kabi-ll:admin-close (core-handle core) timeout details) 0))

(defmethod take-reports ((core admin-core) first)
  (1+ first))                           ; admins have none

(defmethod abandon ((core admin-core))
  (let ((requests '()))
    (with-short-lock ((meeting-lock core))
      (maphash (lambda (number request)
                 (declare (ignore number))
                 (push request requests))
               (admin-requests core))
      (clrhash (admin-requests core)))
    (loop for (future operation) in requests
          do (fail future (make-condition 'closed-error
                                          :flags kabi-ll:+error-outcome-unknown+ :operation operation
                                          :description (format nil "~A is gone, and so is the answer"
                                                               (core-name core)))))))

;;; ---- admins on top of other clients ----

(defgeneric core-call-admin (core place details)
  (:documentation "Make the handle of an admin on top of a client.")
  (:method ((core producer-core) place details)
    (kabi-ll:admin-of-producer (core-handle core) place details))
  (:method ((core consumer-core) place details)
    (kabi-ll:admin-of-consumer (core-handle core) place details)))

(defun admin-core-of (client operation)
  "The core that CLIENT makes requests with."
  (check-argument client client "a client")
  (let ((core (use client operation)))
    (cond ((admin-core-p core) core)
          ((core-admin core))
          (t (derive-admin core operation)))))

(defun derive-admin (core operation)
  (let ((new (make-admin-core :name (format nil "~A's admin" (core-name core))
                              :draining (core-draining core))))
    (cffi:with-foreign-object (place :uint64)
      (with-details (details)
        (let ((status 0))
          ;; Not interrupted: a handle that was made is also kept, or freed.
          (kabi-ll:uninterrupted
            (setf status (core-call-admin core place details))
            (when (zerop status)
              (setf (core-handle new) (cffi:mem-ref place :uint64))
              (keep-admin core new)))
          (check-status status details nil :operation operation))))
    (or (core-admin core) (signal-closed core operation))))

(defun keep-admin (core new)
  "Make NEW the core of the admin of CORE, unless another thread has made one or CORE is closed."
  (with-short-lock (*cores-lock*)
    (setf (gethash new *cores*) t))
  (let ((first nil))
    (with-short-lock ((meeting-lock core))
      (unless (or (core-admin core) (not (eq (core-state core) :open)))
        (setf (core-admin core) new
              first t)))
    (unless first (release new))))

;;; ---- requests ----

(defun start-request (core operation name arguments timeout answer)
  "Begin the request called NAME of the document ARGUMENTS. Return the future of what the function ANSWER makes of
the document that comes."
  (let ((future (make-future core)))
    (cffi:with-foreign-object (number :uint64)
      (with-details (details)
        (with-text (name name)
          (with-text (arguments arguments)
            (check-status
             ;; Its event may come before the call returns; it is met with the lock held.
             (with-short-lock ((meeting-lock core))
               (let ((status (kabi-ll:admin-start (core-handle core) name arguments timeout
                                                  kabi-ll:+outcome-event+ number details)))
                 (when (zerop status)
                   (setf (gethash (cffi:mem-ref number :uint64) (admin-requests core))
                         (list future operation answer)))
                 status))
             details nil :operation operation)))))
    (ensure-draining core)
    future))

(defmethod handle-event ((core admin-core) kind event)
  (if (eql kind kabi-ll:+event-request+)
      (end-request core event)
      (call-next-method)))

(defun end-request (core event)
  (let* ((number (kabi-ll:event-token event))
         (request (with-short-lock ((meeting-lock core))
                    (prog1 (gethash number (admin-requests core))
                      (remhash number (admin-requests core))))))
    (when request
      (destructuring-bind (future operation answer) request
        (handler-case
            (fulfil future (funcall answer (answer-of event (event-text core event) operation)))
          (error (condition) (fail future condition)))))))

(defun answer-of (event text operation)
  "The answer that came with EVENT, or signal what it says has failed."
  (let ((code (kabi-ll:event-code event)))
    (if (zerop code)
        (read-json text)
        (error (make-status-condition
                code (kabi-ll:event-flags event) nil
                (or (getf (getf (ignore-errors (read-json text)) :error) :text) (code-text code))
                (list :operation operation))))))

(defmacro define-request (name (client &rest lambda-list) (operation &rest members) answer documentation)
  "Define NAME as a request: the function takes CLIENT, LAMBDA-LIST, and the keywords TIMEOUT and ASYNC. MEMBERS are
the names and values of its document; ANSWER makes the value of the document that comes."
  (let ((keysp (member '&key lambda-list)))
    `(defun ,name (,client ,@lambda-list ,@(unless keysp '(&key))
                   (timeout +request-timeout+) async)
       ,documentation
       (request ,client ',name ,operation (list :object ,@members) timeout async ,answer))))

(defun request (client operation name arguments timeout async answer)
  "Make a request and wait for its value; with ASYNC, return its future."
  (check-timeout timeout)
  (let ((future (start-request (admin-core-of client operation) operation name
                               (if (stringp arguments) arguments (write-json arguments))
                               timeout answer)))
    (if async future (value future))))

(defun admin-request (client operation &key arguments (timeout +request-timeout+) async)
  "Make the request OPERATION, one of the names in api/admin.schema.json, such as \"topics_describe\" or
:TOPICS-DESCRIBE. ARGUMENTS is a JSON document, or a list (:OBJECT name value ...), whose names are keywords or
strings, and whose values are texts, whole numbers, T, :FALSE, :NULL, keywords, such lists, and lists or vectors
for arrays.

Return the answer: objects as plists with keywords for names, arrays as lists, null and false as NIL. How each item
has fared is in it (:STATUS, with a :CODE of 0 for success); nothing is signalled for these. With ASYNC true return
a future of it at once; else wait. TIMEOUT is how many milliseconds the answer may take (-1: an hour); then a
TIMEOUT-ERROR is signalled, and whether a broker has done it is not known."
  (check-argument operation (or keyword string) "the name of a request")
  (check-argument arguments (or null string (cons (eql :object))) "a JSON document, or (:OBJECT name value ...)")
  (request client 'admin-request (if (keywordp operation) (json-name operation) operation)
           (or arguments '(:object)) timeout async #'identity))

;;; ---- what answers have in common ----

(defparameter *keyword-fields*
  '(:state :type :source :pattern :permission :operation :resource-type :authorized-operations :mechanism)
  "Members of answers that are one of a few words, which become keywords.")

(defun as-keywords (value)
  (etypecase value
    (null nil)
    (string (json-keyword value))
    (list (mapcar #'as-keywords value))))

(defun enriched (value)
  "VALUE, an answer or a part of one, with keywords in place of fixed words, and without statuses of success."
  (cond ((atom value) value)
        ((keywordp (first value))
         (loop for (name member) on value by #'cddr
               unless (eq name :status)
                 collect name
                 and collect (if (member name *keyword-fields*) (as-keywords member) (enriched member))))
        (t (mapcar #'enriched value))))

(defun item-key (item)
  "The (topic . partition) that an item is about."
  (cons (getf item :topic) (getf item :partition)))

(defun item-code (item)
  (getf (getf item :status) :code 0))

(defun item-condition (item operation)
  (let ((code (item-code item)))
    (make-status-condition code 0 (and (getf item :partition) 'partition-error)
                           (getf (getf item :status) :text)
                           (list :operation operation
                                 :topic (getf item :topic) :partition (getf item :partition)))))

(defun outcomes (items label operation &optional (goody #'enriched))
  "A list of what GOODY makes of each of ITEMS, if all went well. Else signal a PARTIAL-ERROR, in which LABEL names
those that did not."
  (let ((bad (remove-if #'zerop items :key #'item-code)))
    (when bad
      (error 'partial-error
             :operation operation :code (item-code (first bad))
             :goodies (loop for item in items
                            when (zerop (item-code item)) collect (funcall goody item))
             :baddies (loop for item in bad
                            collect (cons (funcall label item) (item-condition item operation)))
             :description (format nil "~D of ~D failed; the first, ~S: ~A" (length bad) (length items)
                                  (funcall label (first bad)) (getf (getf (first bad) :status) :text))))
    (mapcar goody items)))

(defun the-outcome (items operation &optional (goody #'enriched))
  "The same of the only one of ITEMS, whose own condition is signalled."
  (let ((item (first items)))
    (unless (zerop (item-code item))
      (error (item-condition item operation)))
    (funcall goody item)))

(defun field (name)
  (lambda (item) (getf item name)))

;;; ---- what requests have in common ----

(defun name-list (names argument)
  "NAMES, one text or a sequence of texts, as a list."
  (let ((list (if (stringp names) (list names) (coerce-to-list names argument))))
    (dolist (name list list)
      (unless (stringp name)
        (argument-error argument name "a name, a string, or a sequence of these")))))

(defun key-objects (partitions argument)
  "Objects for a sequence of (topic . partition)."
  (mapcar (lambda (partition)
            (let ((place (partition-place partition argument)))
              (list :object :topic (place-topic place) :partition (place-partition place))))
          (coerce-to-list partitions argument)))

(defun check-options (options argument allowed)
  "OPTIONS, a plist of the keywords ALLOWED."
  (check-proper options argument)
  (unless (evenp (length options))
    (argument-error argument options "a plist with a value for each name"))
  (loop for (name) on options by #'cddr
        unless (member name allowed)
          do (argument-error argument name (format nil "one of ~{~S~^, ~}" allowed)))
  options)
