;;;; Producers.

(in-package #:cl-rdkafka)

(defclass producer (kabi:producer)
  ((key-serde :accessor key-serde :type function)
   (value-serde :accessor value-serde :type function))
  (:documentation "A client that sends messages.

:CONF is a plist, an alist or a hash-table of properties and their values, strings both. :SERDE is a function
that makes octets of objects, IDENTITY without one; :KEY-SERDE and :VALUE-SERDE are in its place for keys and
for values. What else KAFKABI:PRODUCER takes is taken too: functions for errors, logs, statistics and tokens."))

(defun check-conf (conf)
  "Refuse what kafkabi would take and cl-rdkafka does not: no configuration at all."
  (when (null conf)
    (bad-argument 'conf conf "a plist, an alist or a hash-table of properties and values")))

(defmacro making ((name) &body body)
  "Evaluate BODY, which makes a client. When the library refuses to, an ALLOCATION-ERROR is signalled."
  `(handler-bind ((kabi:kafka-error (lambda (condition) (signal-unmade ,name condition))))
     ,@body))

(defun signal-unmade (name condition)
  (if (typep (translate condition) 'rdkafka-error)
      (error 'allocation-error :name name :description (condition-text condition))
      (signal-translated condition)))

(defmethod initialize-instance :around
    ((producer producer) &rest initargs &key conf serde (key-serde serde) (value-serde serde))
  (check-conf conf)
  (setf (key-serde producer) (serde-function key-serde)
        (value-serde producer) (serde-function value-serde))
  ;; They are this class's business, since futures tell the octets too.
  (making ("producer")
    (apply #'call-next-method producer :serde nil :key-serde nil :value-serde nil initargs)))

;;; ---- sending ----

(defconstant +send-timeout+ 5000
  "Milliseconds for which SEND waits while too many messages wait to be sent.")

(defgeneric send (producer topic value &key key partition headers timestamp)
  (:documentation "Send a message to the topic of the name TOPIC and return the future of the message, with
its partition and offset. Does not wait for a broker.

KEY and VALUE go through the producer's serdes at once, the key first, and only if there is one; a serde that
gives NIL makes a null. PARTITION is a number; without it the partitioner chooses. HEADERS is an alist of
strings and octets, TIMESTAMP in milliseconds since 1970; NIL and 0 mean now.

A message that is refused, as while too many wait to be sent for 5 seconds, signals a PARTITION-ERROR. What a
serde signals has the restart STORE-FUNCTION, which takes another function and goes on with it."))

(defmethod send ((producer producer) topic value &key (key nil keyp) partition headers timestamp)
  (let* ((key-octets (and keyp (serialize key (key-serde producer) "keys")))
         (value-octets (serialize value (value-serde producer) "values"))
         (headers (and headers (header-bytes headers))))
    (make-delivery
     (translated
       (kabi:send producer topic value-octets :key key-octets :partition partition :headers headers
                                              :timestamp timestamp :timeout +send-timeout+))
     key value key-octets value-octets headers)))

(defun header-bytes (headers)
  "HEADERS with values in octets."
  (unless (and (listp headers) (ignore-errors (list-length headers)) (every #'consp headers))
    (bad-argument 'headers headers "an alist of strings and octets"))
  (loop for (name . value) in headers
        collect (cons name (typecase value
                             (kabi:octets value)
                             (string (kabi:string-to-octets value))
                             (t (bytes value))))))

(defgeneric flush (producer)
  (:documentation "Wait until every message that was sent has been delivered or has failed, and its future is
done. Return NIL."))

(defmethod flush ((producer producer))
  (translated (kabi:flush producer))
  nil)

(defgeneric close (client)
  (:documentation "Close a client. A consumer gives its partitions back, commits what was handled if commits
are automatic, and leaves its group; the value is NIL. A producer waits up to 30 seconds until its messages
are delivered and gives the rest up; the value is how many that were. Closing a closed client does nothing."))

(defmethod close ((producer producer))
  (translated (kabi:close producer)))
