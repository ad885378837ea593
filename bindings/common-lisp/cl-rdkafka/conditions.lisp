;;;; cl-rdkafka's conditions, and how kafkabi's become these.

(in-package #:cl-rdkafka)

;;; The readers TOPIC and PARTITION are those of messages too.

(defgeneric topic (object)
  (:documentation "The name of the topic that a message is from, or that a PARTITION-ERROR is about."))

(defgeneric partition (object)
  (:documentation "The number of the partition that a message is from, or that a PARTITION-ERROR is about;
-1 if the error came before one was chosen."))

(defgeneric description (condition)
  (:documentation "What happened, in English."))

(define-condition kafka-error (error)
  ((description :initarg :description :initform "" :reader description
                :documentation "What happened, in English."))
  (:report (lambda (condition stream) (write-string (description condition) stream)))
  (:documentation "What all errors of this library are, but for ALLOCATION-ERROR. Its reader is DESCRIPTION."))

(define-condition partial-error (kafka-error)
  ((goodies :initarg :goodies :initform '() :reader goodies
            :documentation "What succeeded, in the form of the operation's result.")
   (baddies :initarg :baddies :initform '() :reader baddies
            :documentation "An alist of (topic . partition) and the RDKAFKA-ERROR of each that failed."))
  (:documentation "Of several partitions some failed. The readers are GOODIES, what succeeded in the form of
the operation's result, BADDIES, an alist of (topic . partition) and RDKAFKA-ERROR, and DESCRIPTION."))

(define-condition rdkafka-error (kafka-error)
  ((enum :initarg :enum :initform 'cl-rdkafka/ll:rd-kafka-resp-err-unknown :reader enum
         :documentation "The error's symbol in cl-rdkafka/low-level."))
  (:documentation "An error with a code. The readers are ENUM, a symbol of cl-rdkafka/low-level, and
DESCRIPTION."))

(define-condition partition-error (rdkafka-error)
  ((topic :initarg :topic :initform "" :reader topic
          :documentation "The name of the topic.")
   (partition :initarg :partition :initform -1 :reader partition
              :documentation "The number of the partition."))
  (:report (lambda (condition stream)
             (format stream "topic ~A, partition ~D: ~A" (topic condition) (partition condition)
                     (description condition))))
  (:documentation "An error about one partition, or what a consumer tells of one, such as that its end is
reached. The readers are TOPIC, PARTITION, ENUM and DESCRIPTION."))

(define-condition fatal-error (rdkafka-error) ()
  (:documentation "The client can't be used any more: close it and make a new one."))

(define-condition transaction-error (rdkafka-error) ()
  (:documentation "A transaction's operation failed."))

(define-condition retryable-operation-error (transaction-error) ()
  (:documentation "A transaction's operation failed and may be repeated: the restart RETRY-OPERATION."))

(define-condition abort-required-error (transaction-error) ()
  (:documentation "The transaction can only be aborted: the restart ABORT."))

(define-condition allocation-error (storage-condition)
  ((name :initarg :name :initform "" :reader name
         :documentation "What could not be made.")
   (description :initarg :description :initform nil :reader description
                :documentation "Why, in English, or NIL."))
  (:report (lambda (condition stream)
             (format stream "the ~A could not be made~@[: ~A~]" (name condition)
                     (description condition))))
  (:documentation "A client could not be made. The readers are NAME, what it was to be, and DESCRIPTION. It
is no ERROR, as a STORAGE-CONDITION is none."))

(macrolet ((document-readers (&rest texts)
             `(progn ,@(loop for (reader text) on texts by #'cddr
                             collect `(setf (documentation #',reader t) ,text
                                            (documentation ',reader 'function) ,text)))))
  (document-readers
   goodies "What a PARTIAL-ERROR's operation did, in the form of its result."
   baddies "What a PARTIAL-ERROR's operation did not do: an alist of (topic . partition) and RDKAFKA-ERROR."
   enum "The symbol of an RDKAFKA-ERROR in cl-rdkafka/low-level."
   name "What an ALLOCATION-ERROR says could not be made."))

;;; ---- kafkabi's conditions as these ----

(defun condition-text (condition)
  "What the condition of kafkabi's says, with the code's meaning where it says nothing."
  (if (typep condition 'kabi:argument-error)
      (princ-to-string condition)
      (or (kabi:error-description condition) (kabi::code-text (kabi:error-code condition)))))

(defun translate (condition)
  "The condition of this package that stands for one of kafkabi's. Others stay as they are."
  (flet ((make (class &rest initargs)
           (apply #'make-condition class
                  :description (condition-text condition)
                  :enum (code-enum (kabi:error-code condition))
                  initargs)))
    (typecase condition
      (kabi:partial-error
       (let ((partial (translate-partial condition)))
         (if (eq (kabi:error-operation condition) 'kabi:commit) (commit-failure partial) partial)))
      (kabi:fatal-error (make 'fatal-error))
      (kabi:retriable-transaction-error (make 'retryable-operation-error))
      (kabi:abort-required-error (make 'abort-required-error))
      (kabi:transaction-error (make 'transaction-error))
      (kabi:partition-error
       (make 'partition-error :topic (or (kabi:error-topic condition) "")
                              :partition (or (kabi:error-partition condition) -1)))
      ;; What the program got wrong before Kafka was asked has no code of Kafka's.
      ((or kabi:configuration-error kabi:serde-error)
       (make-condition 'kafka-error :description (condition-text condition)))
      (kabi:argument-error
       (if (kabi:error-argument condition)
           (make-condition 'kafka-error :description (condition-text condition))
           (make 'rdkafka-error)))
      (kabi:kafka-error (make 'rdkafka-error))
      (t condition))))

(defun translate-partial (condition)
  "A PARTIAL-ERROR for one of kafkabi's: what succeeded in the form of this package's results."
  (make-partial (mapcar (case (kabi:error-operation condition)
                          ((kabi:commit kabi:committed) #'committed-pair)
                          (kabi:offsets-for-times #'numbered-pair)
                          (t #'identity))
                        (kabi:goodies condition))
                (loop for (partition . failure) in (kabi:baddies condition)
                      collect (cons partition (translate failure)))))

(defun make-partial (goodies baddies)
  (make-condition 'partial-error
                  :goodies goodies :baddies baddies
                  :description (format nil "~{~A~^; ~}"
                                       (loop for ((topic . partition) . failure) in baddies
                                             collect (format nil "topic ~A, partition ~D: ~A" topic partition
                                                             (description failure))))))

(defun signal-translated (condition)
  (error (translate condition)))

(defmacro translated (&body body)
  "Evaluate BODY, with this package's conditions for what kafkabi signals in it. Nothing is unwound before,
so that the restarts of BODY are there."
  `(handler-bind ((kabi:kafka-error #'signal-translated))
     ,@body))

(defun bad-argument (argument value expected)
  (let ((*print-length* 8) (*print-level* 3))
    (error 'kafka-error :description (format nil "~(~A~) is ~S, but must be ~A" argument value expected))))
