;;;; Sending one record.

(in-package #:kafkabi)

(defconstant +send-timeout+ 60000
  "Milliseconds for which a send waits by default while too many records wait to be sent.")

(declaim (inline same-text-p))
(defun same-text-p (one other)
  (declare (type (simple-array character (*)) one other) (optimize speed (safety 0)))
  (let ((length (length one)))
    (and (= length (length other))
         (loop for index of-type index below length
               always (char= (schar one index) (schar other index))))))

(declaim (inline producer-topic))
(defun producer-topic (core topic)
  "The number of TOPIC: at hand for the topic that was sent to last."
  (declare (type producer-core core))
  (let ((last (producer-topic-sent-to core)))
    (if (and (typep topic '(simple-array character (*)))
             (same-text-p topic (car last)))
        (the (signed-byte 32) (cdr last))
        (other-topic core topic))))

(defun other-topic (core topic)
  (check-argument topic string "the name of a topic, a string")
  (let* ((number (topic-number core topic))
         (pair (cons (coerce (copy-seq topic) '(simple-array character (*))) number)))
    (write-barrier)                     ; others see the pair only with its inside
    (setf (producer-topic-sent-to core) pair)
    number))

;;; ---- serializing ----

(declaim (inline key-octets value-octets))
(defun key-octets (core key)
  (declare (type producer-core core))
  (if (producer-key-serde core) (serialize-key core key) (if (typep key 'octets) key (default-key core key))))

(defun value-octets (core value)
  (declare (type producer-core core))
  (if (producer-value-serde core)
      (serialize-value core value)
      (if (typep value 'octets) value (default-value core value))))

(macrolet ((define-serializer (name default place what)
             `(progn
                (defun ,name (core value)
                  (with-store-function (,place ,what)
                    (let ((serde ,place))
                      (if serde (serialized (funcall (the function serde) value)) (to-octets value)))))
                (defun ,default (core value)
                  (,name core value)))))
  (define-serializer serialize-key default-key (producer-key-serde core) "keys")
  (define-serializer serialize-value default-value (producer-value-serde core) "values"))

;;; ---- one record ----

(declaim (inline fill-message))
(defun fill-message (message topic partition key key-length value value-length timestamp token)
  (setf (kabi-ll:message-topic message) topic
        (kabi-ll:message-partition message) partition
        (kabi-ll:message-key message) key
        (kabi-ll:message-key-length message) key-length
        (kabi-ll:message-value message) value
        (kabi-ll:message-value-length message) value-length
        (kabi-ll:message-headers message) (cffi:null-pointer)
        (kabi-ll:message-header-count message) 0
        (kabi-ll:message-timestamp message) timestamp
        (kabi-ll:message-token message) token
        (cffi:mem-ref message :uint64 kabi-ll:+offset-of-message-reserved+) 0
        (cffi:mem-ref message :uint64 (+ 8 kabi-ll:+offset-of-message-reserved+)) 0))

(defun send-message (core topic partition key value timestamp delivery timeout)
  "Hand one record over, whose report is for DELIVERY unless that is NIL; signal unless it was taken."
  (declare (type producer-core core) (type (signed-byte 32) topic partition timeout)
           (type (or null octets) key value) (type (signed-byte 64) timestamp)
           (type (or null delivery) delivery) (optimize speed))
  (let ((taken nil) (status kabi-ll:+status-interrupted+))
    (declare (type (signed-byte 32) status))
    (with-details (details)
      (with-taken (token (if delivery (take-token core delivery) 0))
          (with-octets (key-pointer key-length key)
            (with-octets (value-pointer value-length value)
              (cffi:with-foreign-object (message :uint8 #.kabi-ll:+sizeof-message+)
                (fill-message message topic partition key-pointer key-length value-pointer value-length
                              timestamp token)
                (setf status
                      (in-slices (slice timeout core kabi-ll:+status-queue-full+)
                        ;; What was taken must be known to be, whenever an interrupt comes.
                        (kabi-ll:uninterrupted
                          (let ((status (kabi-ll:producer-send (core-handle core) message slice details)))
                            (setf taken (zerop status))
                            status)))))))
        (unless (or taken (null delivery))
          (give-token-back core token)))
      (unless taken
        (signal-send status details core topic partition)))
    nil))

(defun signal-send (status details core topic partition)
  (signal-status status details
                 (cond ((eql status kabi-ll:+status-queue-full+) 'queue-full-error)
                       ((member status '(#.kabi-ll:+status-argument+ #.kabi-ll:+status-interrupted+)) nil)
                       (t 'partition-error))
                 (list :operation 'send :topic (topic-name core topic)
                       :partition (unless (minusp partition) partition))))

(declaim (inline check-send))
(defun check-send (partition timestamp headers timeout)
  (unless (typep partition '(or null (unsigned-byte 31)))
    (argument-error 'partition partition "a partition, from 0, or NIL to let the partitioner choose"))
  (unless (typep timestamp '(or null (unsigned-byte 62)))
    (argument-error 'timestamp timestamp "milliseconds since 1970, or NIL for now"))
  (unless (listp headers)
    (argument-error 'headers headers "an alist of names and octets"))
  (unless (typep timeout 'milliseconds)
    (argument-error 'timeout timeout "a number of milliseconds, or -1 to wait for ever")))

(defun hand-over (core topic partition key value timestamp headers delivery timeout)
  (declare (type producer-core core))
  (if headers
      (send-with-headers core topic (or partition -1) key value (or timestamp 0) headers delivery timeout)
      (send-message core topic (or partition -1) key value (or timestamp 0) delivery timeout)))

(defun send (producer topic value &key key partition headers timestamp (timeout +send-timeout+))
  "Send a record to TOPIC and return the future of its REPORT, which tells the partition and offset that it
has got, or fails with a DELIVERY-ERROR. Does not wait for a broker.

KEY and VALUE go through the producer's serializers, the key first, and a key only if there is one; NIL is
the null key or value. PARTITION is a number, or NIL to let the partitioner choose. HEADERS is an alist of
names and octets, strings or NIL; TIMESTAMP is in milliseconds since 1970, NIL or 0 means now.

While too many records wait to be sent it waits up to TIMEOUT milliseconds, and then signals a
QUEUE-FULL-ERROR. A condition of a serializer has the restart STORE-FUNCTION."
  (check-argument producer producer "a producer")
  (check-send partition timestamp headers timeout)
  (let ((core (use producer 'send)))
    (declare (type producer-core core))
    (unless (producer-reportsp core)
      (argument-error 'producer producer "a producer with reports; use SEND-AND-FORGET without them"))
    (let* ((key (and key (key-octets core key)))
           (value (and (or value (producer-value-serde core)) (value-octets core value)))
           (number (producer-topic core topic))
           (delivery (make-delivery core)))
      (setf (delivery-topic delivery) number)
      (ensure-draining core)
      (hand-over core number partition key value timestamp headers delivery timeout)
      delivery)))

(defun send-and-forget (producer topic value &key key partition headers timestamp (timeout +send-timeout+))
  "As SEND, without a future. A record that can't be delivered is an event for the function :ON-ERROR, a
DELIVERY-ERROR, and counted by FLUSH and CLOSE. Return NIL."
  (check-argument producer producer "a producer")
  (check-send partition timestamp headers timeout)
  (let ((core (use producer 'send-and-forget)))
    (declare (type producer-core core))
    (let* ((key (and key (key-octets core key)))
           (value (and (or value (producer-value-serde core)) (value-octets core value)))
           (number (producer-topic core topic)))
      (when (producer-reportsp core) (ensure-draining core))
      (hand-over core number partition key value timestamp headers nil timeout)
      nil)))
