;;;; Transactions: each operation with the restarts that its conditions are documented to have.

(in-package #:cl-rdkafka)

(defun attempt (operation)
  "Call OPERATION. Return NIL, or the condition that it signalled, unwound: what kafkabi offers to go on with
has other names and another extent."
  (declare (type function operation))
  (handler-case (progn (funcall operation) nil)
    (kabi:kafka-error (condition) (translate condition))))

(defmacro restarting ((condition &rest clauses) &body operation)
  "Evaluate OPERATION until it signals nothing, and return NIL. What it signals is signalled here, bound to
CONDITION: for the types of condition that CLAUSES, (type restart...), name with these restarts. RETRY does
the operation again; others are RESTART-CASE clauses after which it is done."
  `(loop
     (let ((,condition (attempt (lambda () ,@operation))))
       (typecase ,condition
         (null (return nil))
         ,@(loop for (type . restarts) in clauses
                 collect `(,type
                           (restart-case (error ,condition)
                             ,@(loop for restart in restarts
                                     collect (if (eq restart 'retry)
                                                 '(retry-operation ()
                                                   :report "Do the operation again.")
                                                 (destructuring-bind (name report . body) restart
                                                   `(,name () :report ,report
                                                           (return (progn ,@body nil)))))))))
         (t (error ,condition))))))

(defgeneric initialize-transactions (producer timeout-ms)
  (:documentation "Make PRODUCER, which has the property transactional.id, ready for transactions, within
TIMEOUT-MS milliseconds: what an earlier producer of the same id left open is ended, and that one is fenced
off. To be called once, before everything else.

A RETRYABLE-OPERATION-ERROR has the restart RETRY-OPERATION."))

(defmethod initialize-transactions ((producer producer) timeout-ms)
  (restarting (condition (retryable-operation-error retry))
    (kabi:initialize-transactions producer :timeout timeout-ms)))

(defgeneric begin-transaction (producer)
  (:documentation "Begin a transaction: what PRODUCER sends until its commit or abort is part of it."))

(defmethod begin-transaction ((producer producer))
  (translated (kabi:begin-transaction producer))
  nil)

(defgeneric commit-transaction (producer timeout-ms)
  (:documentation "Wait up to TIMEOUT-MS milliseconds until everything that was sent in the transaction is
delivered, and commit it.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and ABORT, an ABORT-REQUIRED-ERROR, as when a
message could not be delivered, the restart ABORT, which aborts the transaction."))

(defmethod commit-transaction ((producer producer) timeout-ms)
  (restarting (condition
               (retryable-operation-error
                retry
                (abort "Abort the transaction." (abort-transaction producer timeout-ms)))
               (abort-required-error
                (abort "Abort the transaction." (abort-transaction producer timeout-ms))))
    (kabi:commit-transaction producer :timeout timeout-ms)))

(defgeneric abort-transaction (producer timeout-ms)
  (:documentation "Give up what was sent in the transaction, within TIMEOUT-MS milliseconds.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and CONTINUE, which leaves it at that."))

(defmethod abort-transaction ((producer producer) timeout-ms)
  (restarting (condition
               (retryable-operation-error
                retry
                (continue "Go on without having aborted the transaction.")))
    (kabi:abort-transaction producer :timeout timeout-ms)))

;;; ---- offsets ----

(defgeneric send-offsets-to-transaction (producer consumer offsets timeout-ms)
  (:documentation "Make OFFSETS of CONSUMER's group part of the transaction, within TIMEOUT-MS milliseconds:
they are committed if the transaction is. CONSUMER itself must not commit, and have enable.auto.commit=false.

OFFSETS is an alist or a hash-table from (topic . partition) to an offset or (offset . metadata), each the
offset of the next message to read; negative ones are left out. Or it is a sequence of messages that were
processed: then it is the offset after the last one of each partition.

A RETRYABLE-OPERATION-ERROR has the restarts RETRY-OPERATION and ABORT, an ABORT-REQUIRED-ERROR the restart
ABORT, which aborts the transaction."))

(defun send-offsets (producer consumer offsets timeout-ms)
  (let ((offsets (remove-if #'minusp offsets :key #'cadr)))
    (when offsets
      (restarting (condition
                   (retryable-operation-error
                    retry
                    (abort "Abort the transaction." (abort-transaction producer timeout-ms)))
                   (abort-required-error
                    (abort "Abort the transaction." (abort-transaction producer timeout-ms))))
        (kabi:send-offsets-to-transaction producer consumer offsets :timeout timeout-ms)))))

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
