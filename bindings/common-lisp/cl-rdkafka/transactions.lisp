;;;; Transactions: each operation with the restarts that its conditions are documented to have.

(in-package #:cl-rdkafka)

(defun attempt (operation)
  "Call OPERATION. Return NIL, or the condition that it signalled, unwound: what kafkabi offers to go on with
is of another extent."
  (declare (type function operation))
  (handler-case (progn (funcall operation) nil)
    (kabi:kafka-error (condition)
      (let ((condition (translate condition)))
        (if (conflictp condition) (unretryable condition) condition)))))

(defun conflictp (condition)
  "True if another operation's outcome must be known first."
  (and (typep condition 'transaction-error)
       (eq (enum condition) 'cl-rdkafka/ll:rd-kafka-resp-err--conflict)))

(defun unretryable (condition)
  "The same that must not be repeated, as that can never succeed."
  (make-condition 'transaction-error :enum (enum condition) :description (description condition)))

(defun resolve (condition operation &key abort continuep)
  "Signal CONDITION, with which OPERATION has ended, with the restarts that it is documented to have, until one of
them gives no further condition. ABORT is a function that does what the restart of this name does, or NIL."
  (flet ((again () (attempt operation)))
    (loop
      (when (null condition) (return nil))
      (setf condition
            (cond ((not (typep condition '(or retryable-operation-error abort-required-error)))
                   (error condition))
                  ((typep condition 'abort-required-error)
                   (if abort
                       (restart-case (error condition)
                         (abort () :report "Abort the transaction." (funcall abort)))
                       (error condition)))
                  (abort
                   (restart-case (error condition)
                     (retry-operation () :report "Do the operation again." (again))
                     (abort () :report "Abort the transaction." (funcall abort))))
                  (continuep
                   (restart-case (error condition)
                     (retry-operation () :report "Do the operation again." (again))
                     (continue () :report "Go on without having aborted the transaction." nil)))
                  (t
                   (restart-case (error condition)
                     (retry-operation () :report "Do the operation again." (again)))))))))

(defgeneric initialize-transactions (producer timeout-ms)
  (:documentation "Make PRODUCER, which has the property transactional.id, ready for transactions, within
TIMEOUT-MS milliseconds: what an earlier producer of the same id left open is ended, and that one is fenced
off. To be called once, before everything else.

A RETRYABLE-OPERATION-ERROR has the restart RETRY-OPERATION."))

(defmethod initialize-transactions ((producer producer) timeout-ms)
  (check-timeout timeout-ms)
  (flet ((initialize () (kabi:initialize-transactions producer :timeout timeout-ms)))
    (resolve (attempt #'initialize) #'initialize)))

(defgeneric begin-transaction (producer)
  (:documentation "Begin a transaction: what PRODUCER sends until its commit or abort is part of it."))

(defmethod begin-transaction ((producer producer))
  (translated (kabi:begin-transaction producer))
  nil)

(defgeneric commit-transaction (producer timeout-ms)
  (:documentation "Wait up to TIMEOUT-MS milliseconds until everything that was sent in the transaction is
delivered, and commit it.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and ABORT, an ABORT-REQUIRED-ERROR, as when a
message could not be delivered, the restart ABORT, which aborts the transaction. A commit whose time was over goes
on: the restart ABORT then finds out first how it ended, and signals a TRANSACTION-ERROR if it was committed."))

(defmethod commit-transaction ((producer producer) timeout-ms)
  (check-timeout timeout-ms)
  (flet ((commit () (kabi:commit-transaction producer :timeout timeout-ms)))
    (resolve (attempt #'commit) #'commit
             :abort (lambda () (abandon producer timeout-ms)))))

(defgeneric abort-transaction (producer timeout-ms)
  (:documentation "Give up what was sent in the transaction, within TIMEOUT-MS milliseconds.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and CONTINUE, which leaves it at that."))

(defmethod abort-transaction ((producer producer) timeout-ms)
  (check-timeout timeout-ms)
  (flet ((give-up () (kabi:abort-transaction producer :timeout timeout-ms)))
    (resolve (attempt #'give-up) #'give-up :continuep t)))

(defun abandon (producer timeout-ms)
  "What the restart ABORT does. Return NIL, or a condition of the commit if that is not decided yet."
  (flet ((give-up () (kabi:abort-transaction producer :timeout timeout-ms))
         (commit () (kabi:commit-transaction producer :timeout timeout-ms)))
    (let ((condition (attempt #'give-up)))
      (if (conflictp condition)
          (let ((outcome (attempt #'commit)))
            (typecase outcome
              (null (make-condition 'transaction-error
                                    :enum 'cl-rdkafka/ll:rd-kafka-resp-err--state
                                    :description "the transaction can't be aborted: it is committed"))
              (abort-required-error (abort-transaction producer timeout-ms))
              (t outcome)))
          (resolve condition #'give-up :continuep t)))))

;;; ---- offsets ----

(defgeneric send-offsets-to-transaction (producer consumer offsets timeout-ms)
  (:documentation "Make OFFSETS of CONSUMER's group part of the transaction, within TIMEOUT-MS milliseconds:
they are committed if the transaction is. CONSUMER itself must not commit, and have enable.auto.commit=false.

OFFSETS is an alist or a hash-table from (topic . partition) to an offset or (offset . metadata), each the
offset of the next message to read; -1001, which stands for none, is left out. Or it is a sequence of messages that were
processed: then it is the offset after the last one of each partition.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and ABORT, an ABORT-REQUIRED-ERROR the restart
ABORT, which aborts the transaction."))

(defun send-offsets (producer consumer offsets timeout-ms)
  (let ((offsets (known-offsets offsets)))
    (check-timeout timeout-ms)
    (flet ((send-them () (kabi:send-offsets-to-transaction producer consumer offsets :timeout timeout-ms)))
      (when offsets
        (resolve (attempt #'send-them) #'send-them
                 :abort (lambda () (abandon producer timeout-ms)))))))

(defmethod send-offsets-to-transaction ((producer producer) (consumer consumer) (offsets list) timeout-ms)
  (send-offsets producer consumer
                (if (and offsets (every-message-p offsets))
                    (message-offsets offsets)
                    (offset-pairs offsets 'offsets))
                timeout-ms))

(defmethod send-offsets-to-transaction ((producer producer) (consumer consumer) (offsets hash-table)
                                        timeout-ms)
  (send-offsets producer consumer
                (offset-pairs (table-alist offsets) 'offsets)
                timeout-ms))

(defmethod send-offsets-to-transaction ((producer producer) (consumer consumer) (offsets vector) timeout-ms)
  (unless (every-message-p offsets)
    (bad-argument 'offsets offsets "a sequence of messages"))
  (send-offsets producer consumer (message-offsets offsets) timeout-ms))
