;;;; The conditions, and how a status becomes one.

(in-package #:kafkabi)

(define-condition kafka-error (error)
  ((code :initarg :code :initform kabi-ll:+status-unknown+ :reader error-code)
   (flags :initarg :flags :initform 0 :reader error-flags)
   (description :initarg :description :initform nil :reader error-description)
   (operation :initarg :operation :initform nil :reader error-operation)
   (topic :initarg :topic :initform nil :reader error-topic)
   (partition :initarg :partition :initform nil :reader error-partition))
  (:report report-kafka-error)
  (:documentation "What all of this library's errors are."))

(defun report-kafka-error (condition stream)
  (with-accessors ((operation error-operation) (topic error-topic) (partition error-partition))
      condition
    (format stream "~@[~(~A~): ~]~@[topic ~A~]~@[, partition ~A~]~:[~;: ~]~A (~A)"
            operation topic partition topic
            (or (error-description condition) (code-text (error-code condition)))
            (error-name condition))))

(defun error-name (condition)
  "The keyword for the condition's status code, such as :TIMED-OUT."
  (kabi-ll:status-keyword (error-code condition)))

(defun code-text (code)
  "What a status code means, in English."
  (static-text (kabi-ll:error-text code)))

(macrolet ((define-flag (name flag documentation)
             `(defun ,name (condition)
                ,documentation
                (logtest ,flag (error-flags condition)))))
  (define-flag retriablep kabi-ll:+error-retriable+
    "True if the same call may succeed when it is repeated later.")
  (define-flag fatalp kabi-ll:+error-fatal+
    "True if the client can't be used any more; close it and make a new one.")
  (define-flag abort-required-p kabi-ll:+error-abort-required+
    "True if the current transaction can only be aborted.")
  (define-flag outcome-unknown-p kabi-ll:+error-outcome-unknown+
    "True if it is not known whether the operation took effect, so that repeating it may do it twice."))

(define-condition argument-error (kafka-error)
  ((argument :initarg :argument :initform nil :reader error-argument)
   (value :initarg :value :initform nil)
   (expected :initarg :expected :initform nil :reader error-expected))
  (:default-initargs :code kabi-ll:+status-argument+)
  (:report (lambda (condition stream)
             (if (error-argument condition)
                 (let ((*print-length* 8) (*print-level* 3))
                   (format stream "~(~A~) is ~S, but must be ~A" (error-argument condition)
                           (slot-value condition 'value) (error-expected condition)))
                 (report-kafka-error condition stream))))
  (:documentation "An argument is of the wrong type, out of range, or does not fit the others."))

(define-condition configuration-error (argument-error)
  ((property :initarg :property :initform nil :reader error-property))
  (:documentation "A property is unknown (the text names the one that was likely meant), or its value is
not one that it may have."))

(define-condition closed-error (kafka-error) ()
  (:default-initargs :code kabi-ll:+status-closed+)
  (:documentation "The client is closed, or is from before the image was saved or the process forked."))

(define-condition timeout-error (kafka-error) ()
  (:default-initargs :code kabi-ll:+status-timed-out+)
  (:documentation "The time that the call was given is over."))

(define-condition interrupted-error (kafka-error) ()
  (:default-initargs :code kabi-ll:+status-interrupted+)
  (:documentation "WAKE ended the call."))

(define-condition partition-error (kafka-error)
  ((offset :initarg :offset :initform nil :reader error-offset))
  (:documentation "Something about one partition failed, or was reached, such as its end."))

(define-condition queue-full-error (partition-error) ()
  (:default-initargs :code kabi-ll:+status-queue-full+)
  (:documentation "Too many records wait to be sent. Space comes as brokers take them."))

(define-condition delivery-error (partition-error)
  ((persisted :initarg :persisted :initform :no :reader error-persisted))
  (:documentation "A record was accepted and then not delivered."))

(define-condition serde-error (kafka-error)
  ((value :initarg :value :reader serde-error-value)
   (cause :initarg :cause :initform nil :reader error-cause))
  (:documentation "A serializer gave something other than octets or NIL."))

(define-condition fatal-error (kafka-error) ()
  (:documentation "The client can't be used any more; close it and make a new one."))

(define-condition fenced-error (fatal-error) ()
  (:documentation "Another producer has taken over the transactional.id."))

(define-condition transaction-error (kafka-error) ()
  (:documentation "A transaction's operation failed."))

(define-condition retriable-transaction-error (transaction-error) ()
  (:documentation "A transaction's operation failed, and may be repeated: the restart RETRY-OPERATION."))

(define-condition abort-required-error (transaction-error) ()
  (:documentation "The transaction can only be aborted."))

(define-condition partial-error (kafka-error)
  ((goodies :initarg :goodies :initform '() :reader goodies)
   (baddies :initarg :baddies :initform '() :reader baddies))
  (:documentation "Of several partitions some failed."))

(define-condition stale-record-error (kafka-error) ()
  (:default-initargs :code kabi-ll:+status-argument+
                     :description "the record was kept longer than the loop that lent it; COPY-RECORD it")
  (:documentation "A record that a loop lent was used after the loop had moved on."))

(document-functions
 (error-code "The status code, a number that does not change between versions.")
 (error-description "What happened, in English.")
 (error-operation "The function of this library that failed, a symbol, or NIL.")
 (error-topic "The topic that it is about, or NIL.")
 (error-partition "The partition that it is about, or NIL.")
 (error-argument "The name of the argument, a symbol, or NIL.")
 (error-expected "What it should have been, a text.")
 (error-property "The name of the property.")
 (error-offset "The offset that it is about, or NIL.")
 (error-persisted "Whether a broker has written the record: :NO, :POSSIBLY or :YES.")
 (error-cause "The condition that the program's function signalled, or NIL.")
 (goodies "What succeeded.")
 (baddies "An alist of what failed, (topic . partition), and the condition of each."))

;;; ---- signalling ----

(defun argument-error (argument value expected)
  "Signal that ARGUMENT is VALUE and must be what the text EXPECTED says."
  (error 'argument-error :argument argument :value value :expected expected
                         :description (format nil "~(~A~) must be ~A" argument expected)))

(defmacro check-argument (argument type expected)
  "Signal an ARGUMENT-ERROR unless the variable ARGUMENT is of TYPE. EXPECTED is a text for people."
  `(unless (typep ,argument ',type)
     (argument-error ',argument ,argument ,expected)))

(defun condition-class (code flags class)
  "The class of condition for a status. CLASS is what the operation asked for, or NIL."
  (cond ((eql code kabi-ll:+status-fenced+) 'fenced-error)
        ((logtest kabi-ll:+error-fatal+ flags) 'fatal-error)
        ((eql code kabi-ll:+status-closed+) 'closed-error)
        ((member code '(#.kabi-ll:+status-handle+ #.kabi-ll:+status-forked+)) 'closed-error)
        ((eq class 'transaction-error)
         (cond ((logtest kabi-ll:+error-abort-required+ flags) 'abort-required-error)
               ((logtest kabi-ll:+error-retriable+ flags) 'retriable-transaction-error)
               (t 'transaction-error)))
        (class class)
        ((eql code kabi-ll:+status-timed-out+) 'timeout-error)
        ((eql code kabi-ll:+status-interrupted+) 'interrupted-error)
        ((eql code kabi-ll:+status-queue-full+) 'queue-full-error)
        ((eql code kabi-ll:+status-argument+) 'argument-error)
        (t 'kafka-error)))

(defun make-status-condition (code flags class description initargs)
  "A condition for a status. INITARGS that its class does not know are dropped."
  (apply #'make-condition (condition-class code flags class)
         :code code :flags flags :description description :allow-other-keys t initargs))

(defmacro with-details ((pointer) &body body)
  "Bind POINTER to memory for what a call says of its failure, during BODY."
  `(cffi:with-foreign-object (,pointer :uint8 ,kabi-ll:+sizeof-error+)
     (setf (kabi-ll:error-size ,pointer) ,kabi-ll:+sizeof-error+)
     ,@body))

(defun details-condition (status pointer class initargs)
  "The condition for STATUS, with the details that the call left at POINTER."
  (let ((filled (eql status (kabi-ll:error-code pointer))))
    (make-status-condition status
                           (if filled (kabi-ll:error-flags pointer) 0)
                           class
                           (if filled
                               (static-text (kabi-ll:error-message pointer))
                               (code-text status))
                           initargs)))

(defun signal-status (status pointer class initargs)
  (error (details-condition status pointer class initargs)))

(defmacro check-status (status pointer &optional class &rest initargs)
  "Signal a condition unless STATUS is 0. POINTER is that of WITH-DETAILS; CLASS, if not NIL, the class
of condition, which a fatal error and a closed client overrule. Return STATUS."
  (let ((result (gensym "STATUS")))
    `(let ((,result ,status))
       (declare (type (signed-byte 32) ,result))
       (unless (zerop ,result)
         (signal-status ,result ,pointer ,class (list ,@initargs)))
       ,result)))

(defmacro call-checked ((function &rest arguments) &optional class &rest initargs)
  "Call a function of kafkabi/low-level with ARGUMENTS and its last argument, the error. Only for calls
that do not wait. Signal a condition if it fails."
  (let ((details (gensym "DETAILS")))
    `(with-details (,details)
       (check-status (,function ,@arguments ,details) ,details ,class ,@initargs))))
