;;;; Futures: each stands before one of kafkabi's, and says what its value and its condition are here.

(in-package #:cl-rdkafka)

(defstruct (future (:constructor make-future (inner)) (:copier nil) (:predicate nil))
  "What an operation that may still be in progress will give: VALUE waits for it, THEN goes on with it,
DONEP tells if it has ended. Programs don't make any."
  (inner nil :type kabi:future :read-only t))

(defmethod print-object ((future future) stream)
  (print-unreadable-object (future stream :type t :identity t)
    (princ (if (donep future) "done" "pending") stream)))

(defgeneric outcome (future)
  (:documentation "The value of a future that has ended well; its condition is signalled otherwise.")
  (:method ((future future)) (kabi:value (future-inner future))))

(defmethod value ((future future))
  (translated (outcome future)))

(defgeneric donep (future)
  (:documentation "True when the operation of FUTURE has ended, well or not.")
  (:method ((future future)) (kabi:donep (future-inner future))))

(defgeneric then (future callback)
  (:documentation "A future of what CALLBACK gives. It is called when FUTURE has ended, on the client's own
thread and never on this one, with two arguments: the value, or NIL, and the condition, or NIL. An error that
it signals is the new future's condition."))

(defmethod then ((future future) callback)
  (unless (or (functionp callback) (and (symbolp callback) callback))
    (bad-argument 'callback callback "a function of a value and a condition"))
  (make-future
   (kabi:then (future-inner future)
              (lambda (value condition)
                (declare (ignore value))
                (if condition
                    (funcall callback nil (translate condition))
                    ;; It has ended, so that this waits for nothing.
                    (funcall callback (outcome future) nil))))))

;;; ---- futures of messages ----

(defstruct (delivery (:include future)
                     (:constructor make-delivery (inner key value key-octets value-octets headers))
                     (:copier nil) (:predicate nil))
  "The future of a message that was sent, with what the program gave for it."
  (key nil) (value nil)
  (key-octets nil :type (or null kabi:octets))
  (value-octets nil :type (or null kabi:octets))
  (headers '() :type list)
  (message nil :type (or null message)))

(defmethod outcome ((future delivery))
  (let ((report (call-next-method)))
    (or (delivery-message future)
        (setf (delivery-message future) (delivered-message future report)))))

(defun delivered-message (delivery report)
  (let ((timestamp (kabi:report-timestamp report)))
    (make-message
     (kabi:make-record :topic (kabi:report-topic report)
                       :partition (kabi:report-partition report)
                       :offset (or (kabi:report-offset report) cl-rdkafka/ll:rd-kafka-offset-invalid)
                       :timestamp (or timestamp -1)
                       :timestamp-type (if timestamp :create-time :none)
                       :key (delivery-key delivery) :key-octets (delivery-key-octets delivery)
                       :value (delivery-value delivery) :value-octets (delivery-value-octets delivery)
                       :headers (delivery-headers delivery)))))
