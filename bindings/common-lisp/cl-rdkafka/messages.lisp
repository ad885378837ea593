;;;; Messages and serializing.

(in-package #:cl-rdkafka)

(defstruct (message (:constructor make-message (record)) (:copier nil) (:predicate nil))
  "A message as POLL or the future of SEND gives it. The readers are KEY, VALUE, TOPIC, PARTITION, OFFSET,
TIMESTAMP and HEADERS. Programs don't make any."
  (record nil :type kabi:record :read-only t))

(defmethod print-object ((message message) stream)
  (print-unreadable-object (message stream :type t)
    (format stream "~A ~D @~D" (topic message) (partition message) (offset message))))

(defgeneric key (message)
  (:documentation "The key of a message, as two values: the object that it is or was made of, and its octets.
Both are NIL where there is no key.")
  (:method ((message message)) (kabi:key (message-record message))))

(defgeneric value (object)
  (:documentation "Of a message, its value as two values: the object that it is or was made of, and its
octets; both are NIL for a null value. Of a future: wait for it, and return its value or signal its
condition.")
  (:method ((message message)) (kabi:value (message-record message))))

(defmethod topic ((message message)) (kabi:record-topic (message-record message)))

(defmethod partition ((message message)) (kabi:record-partition (message-record message)))

(defgeneric offset (message)
  (:documentation "The offset of a message in its partition.")
  (:method ((message message)) (kabi:record-offset (message-record message))))

(defgeneric timestamp (message)
  (:documentation "When a message was made, as two values: milliseconds since 1970, and :CREATE-TIME or
:LOG-APPEND-TIME. NIL if it has no timestamp.")
  (:method ((message message)) (kabi:timestamp (message-record message))))

(defgeneric headers (message)
  (:documentation "The headers of a message in their order: an alist of strings and octets, or NIL for a null
value.")
  (:method ((message message)) (kabi:record-headers (message-record message))))

;;; ---- serializing ----

(defun bytes (result)
  "RESULT as octets, which a serializer gave: a sequence of octets, or NIL for null."
  (typecase result
    (kabi:octets result)
    (null nil)
    (list (list-bytes result))
    (string (refuse-bytes result))
    (vector (list-bytes result))
    (t (refuse-bytes result))))

(defun list-bytes (sequence)
  (if (and (or (vectorp sequence) (ignore-errors (list-length sequence)))
           (every (lambda (element) (typep element '(unsigned-byte 8))) sequence))
      (coerce sequence 'kabi:octets)
      (refuse-bytes sequence)))

(defun refuse-bytes (result)
  (bad-argument "what the serde gave" result "a sequence of octets, or NIL for null"))

(defun serde-function (serde)
  "SERDE, a function or the name of one, as a function; NIL for IDENTITY."
  (cond ((null serde) #'identity)
        ((functionp serde) serde)
        ((and (symbolp serde) (fboundp serde)) (fdefinition serde))
        (t (bad-argument 'serde serde "a function of one argument, or the name of one"))))

(defmacro serialize (object place what)
  "OBJECT, a variable, as octets by the function in PLACE, with the restart STORE-FUNCTION to put another
one there. Octets that nothing is to be done with cost nothing."
  `(if (and (typep ,object 'kabi:octets) (eq ,place #'identity))
       ,object
       (loop
         (restart-case (return (bytes (funcall (the function ,place) ,object)))
           (store-function (function)
             :report ,(format nil "Use another serde for the ~A from now on." what)
             :interactive read-function
             (setf ,place (serde-function function)))))))

(defun read-function ()
  (format *query-io* "A form that gives the function: ")
  (finish-output *query-io*)
  (list (eval (read *query-io*))))
