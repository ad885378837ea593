;;;; Transactions of a producer, with a consumer's offsets where they are to be a part of them.

(in-package #:kafkabi)

(defconstant +transaction-timeout+ 60000 "How many milliseconds a transaction's operations wait where nothing
else is said.")

(defun transaction-condition (status details operation)
  (details-condition status details
                     (unless (eql status kabi-ll:+status-interrupted+) 'transaction-error)
                     (list :operation operation)))

(defun signal-transaction (condition producer abortp continuep)
  "Signal CONDITION with the restarts that it asks for. Return :RETRY, :ABORTED or :CONTINUED, by the one that was
invoked."
  (flet ((retriable (ignored)
           (declare (ignore ignored))
           (typep condition 'retriable-transaction-error))
         (abortable (ignored)
           (declare (ignore ignored))
           (and abortp (typep condition '(or retriable-transaction-error abort-required-error))))
         (continuable (ignored)
           (declare (ignore ignored))
           continuep))
    (restart-case (error condition)
      (retry-operation ()
        :test retriable
        :report "Do the same operation of the transaction again."
        ;; VALUES, since ECL takes a keyword here for an option of the clause.
        (values :retry))
      (abort ()
        :test abortable
        :report "Abort the transaction."
        (abort-transaction producer)
        (values :aborted))
      (continue ()
        :test continuable
        :report "Leave the transaction as it is."
        (values :continued)))))

(defmacro transact ((producer &key abort continue) call)
  "Do CALL, which gives NIL or a condition, until it succeeds. Return true if it did, NIL if a restart has given
it up."
  (let ((condition (gensym "CONDITION")))
    `(loop
       (let ((,condition ,call))
         (when (null ,condition) (return t))
         (unless (eq (signal-transaction ,condition ,producer ,abort ,continue) :retry)
           (return nil))))))

(defmacro in-transaction ((core operation timeout) (slice details) call)
  "Repeat CALL in slices; the condition for its status, or NIL."
  `(with-details (,details)
     (let ((status (in-slices (,slice ,timeout ,core) ,call)))
       (unless (zerop status)
         (transaction-condition status ,details ,operation)))))

(defun initialize-transactions (producer &key (timeout +transaction-timeout+))
  "Make PRODUCER the only one with its transactional.id: finish or abort what one before it left behind, and fence
that one off. Called once, before the first transaction. Wait up to TIMEOUT milliseconds (-1: for ever).

Signal a RETRIABLE-TRANSACTION-ERROR with the restart RETRY-OPERATION (also when the time is over: it goes on, and
the same call again waits for its outcome), a TRANSACTION-ERROR without the property transactional.id, or a
FATAL-ERROR."
  (check-argument producer producer "a producer")
  (check-timeout timeout)
  (let ((core (use producer 'initialize-transactions)))
    (transact (producer)
      (in-transaction (core 'initialize-transactions timeout) (slice details)
        (kabi-ll:producer-transactions-init (core-handle core) slice details)))
    nil))

(defun begin-transaction (producer)
  "Begin a transaction, to which everything belongs that is sent from now on. Does not wait. Signal a
TRANSACTION-ERROR without INITIALIZE-TRANSACTIONS before, or with a transaction that is open already."
  (check-argument producer producer "a producer")
  (let ((core (use producer 'begin-transaction)))
    (with-details (details)
      (check-status (kabi-ll:producer-transaction-begin (core-handle core) details) details
                    'transaction-error :operation 'begin-transaction))
    nil))

(defun commit-transaction (producer &key (timeout +transaction-timeout+))
  "Commit the transaction: wait up to TIMEOUT milliseconds (-1: for ever) until all that was sent in it is
delivered and the coordinator has it as committed. Return true.

Signal a RETRIABLE-TRANSACTION-ERROR with the restarts RETRY-OPERATION and ABORT (also when the time is over: it
may still commit, and only the same call again tells), an ABORT-REQUIRED-ERROR with the restart ABORT, a
TRANSACTION-ERROR without a transaction that is open, or a FATAL-ERROR; a FENCED-ERROR if another producer has the
transactional.id. After the restart ABORT the transaction is aborted, and NIL returned."
  (check-argument producer producer "a producer")
  (check-timeout timeout)
  (let ((core (use producer 'commit-transaction)))
    (when (producer-reportsp core) (ensure-draining core))
    (transact (producer :abort t)
      (in-transaction (core 'commit-transaction timeout) (slice details)
        (kabi-ll:producer-transaction-commit (core-handle core) slice details)))))

(defun abort-transaction (producer &key (timeout +transaction-timeout+))
  "Abort the transaction: what was not sent yet is given up, and what was is never seen by consumers that read
committed records. Wait up to TIMEOUT milliseconds (-1: for ever).

Signal a RETRIABLE-TRANSACTION-ERROR with the restarts RETRY-OPERATION and CONTINUE, a TRANSACTION-ERROR without a
transaction that is open, or a FATAL-ERROR."
  (check-argument producer producer "a producer")
  (check-timeout timeout)
  (let ((core (use producer 'abort-transaction)))
    (when (producer-reportsp core) (ensure-draining core))
    (transact (producer :continue t)
      (in-transaction (core 'abort-transaction timeout) (slice details)
        (kabi-ll:producer-transaction-abort (core-handle core) slice details)))
    nil))

;;; ---- offsets ----

(defun check-group (group)
  (check-argument group (or consumer octets (and string (not (string 0))))
                  "a consumer, the octets of GROUP-METADATA, or the id of a group"))

(defun call-offsets (core group pointer count left details)
  (let ((handle (core-handle core)))
    (etypecase group
      (core (kabi-ll:producer-transaction-offsets handle (core-handle group) pointer count left details))
      (octets (with-octets (metadata size group)
                (kabi-ll:producer-transaction-offsets-metadata handle metadata size pointer count left
                                                               details)))
      (string (with-text (name group)
                (kabi-ll:producer-transaction-offsets-group handle name pointer count left details))))))

(defconstant +hand-over+ 1000
  "Milliseconds after which a call that was cut short has surely left, so that another one may take its place.")

(defun ask-offsets (core group places timeout patience)
  "On a thread of the pool: the condition for sending PLACES to the transaction, or NIL."
  (let ((soon (deadline +hand-over+)))
    (with-places (pointer count places)
      (with-details (details)
        (loop
          (let ((status (patiently core timeout patience
                                   (lambda (left) (call-offsets core group pointer count left details)))))
            (cond ((zerop status) (return nil))
                  ((and (eql status kabi-ll:+status-prev-in-progress+) (plusp (left soon)))
                   (sleep 0.01))
                  (t (return (transaction-condition status details 'send-offsets-to-transaction))))))))))

(defun send-offsets-to-transaction (producer group offsets &key (timeout +transaction-timeout+))
  "Make OFFSETS, as COMMIT takes them, a part of the transaction: they are committed for GROUP with it, or not at
all. GROUP is the consumer that read the records, or the octets of its GROUP-METADATA, or the id of a group, in
which case nothing keeps a second reader from doing the same. The consumer must not commit them itself: set
enable.auto.commit to false. Wait up to TIMEOUT milliseconds (-1: for ever). Return true.

Signal a RETRIABLE-TRANSACTION-ERROR with the restarts RETRY-OPERATION and ABORT, an ABORT-REQUIRED-ERROR with the
restart ABORT (as for a consumer that its group has given up), a TRANSACTION-ERROR or a FATAL-ERROR. After the
restart ABORT the transaction is aborted, and NIL returned."
  (check-argument producer producer "a producer")
  (check-group group)
  (check-timeout timeout)
  (let* ((core (use producer 'send-offsets-to-transaction))
         (reader (if (typep group 'consumer) (use group 'send-offsets-to-transaction) core))
         (places (number-places reader (commit-places offsets 'offsets)))
         (of (if (typep group 'consumer) reader group)))
    (transact (producer :abort t)
      (asking (core patience)
        (ask-offsets core of places timeout patience)))))

;;; ---- all in one ----

(defmacro with-transaction ((producer &key consumer (timeout +transaction-timeout+)) &body body)
  "Evaluate BODY in a transaction of PRODUCER and commit it; the values are BODY's.

With CONSUMER its offsets after all that it has handed out, in BODY or before, are committed with it (set its
property enable.auto.commit to false, and poll it in BODY or before, but don't commit). When BODY is left by an
error, a throw or RETURN, or the commit fails, the transaction is aborted, and CONSUMER goes back to what its group
has committed, so that it reads the same records again. Each of these waits up to TIMEOUT milliseconds.

Around BODY and the commit there is the restart RETRY-OPERATION: abort, go back, and do it all again. A commit that
can be repeated as it is has a restart of the same name, nearer, which does that. The restart ABORT of the commit
aborts, and the value is NIL."
  `(call-with-transaction ,producer ,consumer ,timeout (lambda () ,@body)))

(defun call-with-transaction (producer consumer timeout function)
  (check-argument producer producer "a producer")
  (check-argument consumer (or null consumer) "a consumer, or NIL")
  (check-timeout timeout)
  (loop
    (restart-case (return (run-transaction producer consumer timeout function))
      (retry-operation ()
        :report "Abort the transaction, and do all of it again."))))

(defun run-transaction (producer consumer timeout function)
  (declare (type function function))
  (let ((committed nil) (before (and consumer (positions consumer t))))
    (begin-transaction producer)
    (unwind-protect
         (let ((results (multiple-value-list (funcall function))))
           (setf committed (finish-transaction producer consumer timeout))
           (cond (committed (values-list results))
                 ;; Aborted by a restart already.
                 (t (setf committed t)
                    (when consumer (rewind consumer before timeout))
                    nil)))
      (unless committed
        (undo-transaction producer consumer before timeout)))))

(defun finish-transaction (producer consumer timeout)
  "Commit; NIL if it was aborted by a restart."
  (let ((offsets (and consumer (remove nil (positions consumer t) :key #'cdr))))
    (and (or (null offsets)
             (send-offsets-to-transaction producer consumer offsets :timeout timeout))
         (commit-transaction producer :timeout timeout))))

(defun undo-transaction (producer consumer before timeout)
  "While the stack is unwound: nothing is signalled that would hide why."
  (flet ((try (what function)
           (handler-case (funcall function)
             (error (condition)
               (log-line (client-core producer) 4
                         (format nil "~A after a transaction that failed: ~A" what condition))))))
    (when (open-p producer)
      (try "aborting" (lambda () (abort-transaction producer :timeout timeout))))
    (when (and consumer (open-p consumer))
      (try "going back" (lambda () (rewind consumer before timeout))))))

(defun rewind (consumer before timeout)
  "Go back to what the group has committed; where nothing is, to the position BEFORE, an alist."
  (let ((committed (committed consumer t :timeout timeout)))
    (seek consumer
          (loop for (key . place) in committed
                collect (cons key (cond (place (car place))
                                        ((cdr (assoc key before :test #'equal)))
                                        (t :stored))))
          :timeout timeout)))
