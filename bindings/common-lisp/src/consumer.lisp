;;;; Consumers: making and closing one, subscribing.

(in-package #:kafkabi)

(defstruct (consumer-core (:include core) (:constructor make-consumer-core) (:conc-name consumer-))
  (key-serde nil :type (or null function))
  (value-serde nil :type (or null function))
  ;; The batch that records are handed out of one by one: see poll.lisp.
  (poller nil)                          ; the thread that polls now
  (staging nil :type (or null staging))
  (batch 0 :type (unsigned-byte 64))    ; its number,
  (count 0 :type index)                 ; how many records it has,
  (next 0 :type index)                  ; how many of them were handed out,
  (handled 0 :type index)               ; how many the library was told of as handled,
  (place 0 :type index))                ; and where in the staging buffer the next one lies

(defclass consumer (client) ()
  (:documentation "A client that receives records, alone or as a member of a group.

:CONF, :SERDE, :KEY-SERDE, :VALUE-SERDE, :ON-ERROR, :ON-LOG, :ON-STATISTICS, :ON-THROTTLE, :ON-TOKEN and :DRAIN
are as for a PRODUCER; here the serdes make objects of octets, and without one the octets stay as they are."))

(defmethod initialize-instance :after
    ((consumer consumer) &key conf serde (key-serde serde) (value-serde serde) (drain :thread)
                           on-error on-log on-statistics on-throttle on-token)
  (check-argument drain (member :thread :caller) ":THREAD or :CALLER")
  (let* ((handlers (collect-handlers :error on-error :log on-log :statistics on-statistics
                                     :throttle on-throttle :token on-token))
         (core (make-consumer-core :name (client-name 'consumer conf) :handlers handlers :draining drain
                                   :key-serde (check-serde key-serde)
                                   :value-serde (check-serde value-serde))))
    (setf (core-handle core)
          ;; Records are handed out one by one from a batch, so that only this binding knows which are
          ;; handled.
          (make-handle conf '(("kafkabi.handled" . "explicit")) (event-mask handlers)
                       (lambda (config place details) (kabi-ll:consumer-new config place details))
                       'consumer))
    (adopt consumer core)))

(defun make-consumer (&rest arguments &key &allow-other-keys)
  "A new consumer; the arguments are those of MAKE-INSTANCE with the class CONSUMER."
  (apply #'make-instance 'consumer arguments))

(defmacro with-consumer ((consumer &rest arguments) &body body)
  "Evaluate BODY with CONSUMER bound to a new consumer made with ARGUMENTS, and close it, however BODY is
left."
  `(call-with-client (make-consumer ,@arguments) (lambda (,consumer) ,@body)))

;;; ---- what the kind is in the interface ----

(defmethod core-call-wake ((core consumer-core) details)
  (kabi-ll:consumer-wake (core-handle core) details))

(defmethod core-call-free ((core consumer-core) handle)
  (kabi-ll:consumer-free handle))

(defmethod core-call-drain ((core consumer-core) timeout events capacity count texts size used details)
  (kabi-ll:consumer-drain (core-handle core) timeout events capacity count texts size used details))

(defmethod core-call-close ((core consumer-core) timeout details)
  (tell-handled core)
  (values (kabi-ll:consumer-close (core-handle core) timeout details) 0))

(defmethod core-call-topic-number ((core consumer-core) pointer number details)
  (kabi-ll:consumer-topic (core-handle core) pointer number details))

(defmethod core-call-topic-name ((core consumer-core) number buffer size length details)
  (kabi-ll:consumer-topic-name (core-handle core) number buffer size length details))

(defmethod core-call-event-descriptor ((core consumer-core) descriptor details)
  (kabi-ll:consumer-event-fd (core-handle core) descriptor details))

(defmethod core-call-metrics ((core consumer-core) buffer size length details)
  (kabi-ll:consumer-metrics (core-handle core) buffer size length details))

(defmethod core-call-token-set ((core consumer-core) token lifetime principal extensions details)
  (kabi-ll:consumer-token-set (core-handle core) token lifetime principal extensions details))

(defmethod core-call-token-failure ((core consumer-core) why details)
  (kabi-ll:consumer-token-failure (core-handle core) why details))

(defmethod take-reports ((core consumer-core) first)
  (1+ first))                           ; consumers have none

(defmethod abandon ((core consumer-core)))

;;; ---- subscribing ----

(defun subscribe (consumer topics)
  "Join the group of CONSUMER to share the partitions of TOPICS, a name or a sequence of names, with its
other members. A name that begins with ^ is a regular expression. Replaces an earlier subscription; the
partitions come during polls."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'subscribe))
         (names (if (stringp topics) (list topics) (coerce-to-list topics 'topics))))
    (dolist (name names)
      (unless (stringp name) (argument-error 'topics name "a topic's name, a string")))
    (with-texts (pointers names)
      (with-details (details)
        (check-status (kabi-ll:consumer-subscribe (core-handle core) pointers (length names) details)
                      details nil :operation 'subscribe)))
    nil))

(defun coerce-to-list (sequence argument)
  (cond ((and (listp sequence) (ignore-errors (list-length sequence))) sequence)
        ((and (vectorp sequence) (not (stringp sequence))) (coerce sequence 'list))
        (t (argument-error argument sequence "a proper list or a vector"))))

(defun unsubscribe (consumer)
  "Leave the group; what is handled is committed first, if commits are automatic."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'unsubscribe)))
    (tell-handled core)
    (with-details (details)
      (check-status (kabi-ll:consumer-unsubscribe (core-handle core) details) details nil
                    :operation 'unsubscribe))
    nil))
