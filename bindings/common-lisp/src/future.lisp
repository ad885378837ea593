;;;; Futures: what an operation in progress will give. One lock a client guards all its futures, so
;;;; that one is a few words, and a batch of reports completes them under one lock.

(in-package #:kafkabi)

(defstruct (meeting (:conc-name meeting-))
  "Where threads wait for futures, and what guards them. Every client is one."
  (lock (make-lock "kafkabi futures"))
  (waiters (make-waiters))
  (waiting 0 :type fixnum))

(defconstant +pending+ 0)
(defconstant +fulfilled+ 1)
(defconstant +failed+ 2)

(defstruct (future (:constructor make-future (meeting)) (:copier nil) (:predicate nil))
  "The outcome of an operation that may still be in progress: VALUE waits for it, THEN goes on with it."
  (meeting nil :type (or null meeting))
  (state +pending+ :type (mod 3))
  (result nil)
  (callbacks '() :type list))

(defmethod print-object ((future future) stream)
  (print-unreadable-object (future stream :type t :identity t)
    (princ (case (future-state future)
             (#.+pending+ "pending") (#.+fulfilled+ "done") (t "failed"))
           stream)))

(declaim (inline endedp))
(defun endedp (future)
  "True when FUTURE has ended; what it has ended with can be read then."
  (prog1 (/= (future-state future) +pending+)
    (read-barrier)))

(defun donep (future)
  "True when the operation of FUTURE has ended, well or not."
  (check-argument future future "a future")
  (endedp future))

;;; ---- completing ----

(defgeneric run-callbacks (meeting callbacks)
  (:documentation "Call each function of CALLBACKS, on the thread that MEETING has for it.")
  (:method ((meeting meeting) callbacks)
    (pool-run (lambda () (mapc #'call-back callbacks)))))

(defun call-back (callback)
  "Call a function of this library's, which handles what the program's functions signal."
  (declare (type function callback))
  (funcall callback))

(defun complete (future state result)
  "Give FUTURE its outcome, unless it has one. Return true if it was given now."
  (let ((meeting (future-meeting future)) (callbacks '()) (first nil))
    (with-short-lock ((meeting-lock meeting))
      (when (eql (future-state future) +pending+)
        (setf first t
              (future-result future) result)
        (write-barrier)                 ; the state last, for those who look without the lock
        (setf (future-state future) state
              callbacks (future-callbacks future)
              (future-callbacks future) '())
        (when (plusp (meeting-waiting meeting))
          (wake-all (meeting-waiters meeting)))))
    (when callbacks
      (run-callbacks meeting (reverse callbacks)))
    first))

(defun fulfil (future value)
  "End FUTURE with VALUE."
  (complete future +fulfilled+ value))

(defun fail (future condition)
  "End FUTURE with CONDITION, which VALUE signals."
  (complete future +failed+ condition))

;;; ---- waiting ----

(defgeneric help-along (meeting milliseconds)
  (:documentation "Do on this thread, for up to so long, what completes the futures of MEETING, where the
program asked that its own threads do it. Return true if that was done, NIL if another thread does it.")
  (:method ((meeting meeting) milliseconds)
    (declare (ignore milliseconds))
    nil))

(defun wait (future &key (timeout -1))
  "Wait until the operation of FUTURE has ended, up to TIMEOUT milliseconds (-1: for ever). Return true if
it has, NIL if the time is over."
  (check-argument future future "a future")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (or (endedp future)
      (wait-for-end future (deadline timeout))))

(defun wait-for-end (future deadline)
  (let ((meeting (future-meeting future)))
    (loop
      (when (endedp future) (return t))
      (let ((left (left deadline)))
        (when (zerop left) (return nil))
        (unless (help-along meeting (if (minusp left) +slice+ (min left +slice+)))
          (wait-in meeting future (if (minusp left) 1 (/ left 1000))))))))

(defun wait-in (meeting future seconds)
  "Sleep until something of MEETING is completed, or the time is over."
  (let ((lock (meeting-lock meeting)))
    (with-lock (lock)
      (incf (meeting-waiting meeting))
      (unwind-protect
           (when (eql (future-state future) +pending+)
             (wait-with-lock (meeting-waiters meeting) lock seconds))
        (decf (meeting-waiting meeting))))))

(defun wait-all (futures &key (timeout -1))
  "Wait until the operations of all FUTURES, a sequence, have ended, up to TIMEOUT milliseconds together.
Return true if they have."
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((deadline (deadline timeout)))
    (every (lambda (future)
             (check-argument future future "a future")
             (wait future :timeout (left deadline)))
           futures)))

(defgeneric future-value (future)
  (:documentation "The value of a future that has ended well.")
  (:method ((future future)) (future-result future)))

(defgeneric future-condition (future)
  (:documentation "The condition of a future that has failed.")
  (:method ((future future)) (future-result future)))

(defgeneric value (object &key timeout)
  (:documentation "Of a future: wait for its value and return it, or signal its condition; after TIMEOUT
milliseconds (-1, the default: never) signal a TIMEOUT-ERROR. Of a record: its deserialized value and, as
a second value, its octets."))

(defmethod value ((future future) &key (timeout -1))
  (unless (wait future :timeout timeout)
    (error 'timeout-error :operation 'value
                          :description (format nil "the future has not ended within ~D ms" timeout)))
  (if (eql (future-state future) +failed+)
      (error (future-condition future))
      (future-value future)))

;;; ---- going on ----

(defun then (future function)
  "A future for what FUNCTION gives when FUTURE has ended. It is called with two arguments: the value, or
NIL, and the condition, or NIL. An error that it signals is the new future's condition. It runs on the
client's own thread, after THEN has returned or before."
  (check-argument future future "a future")
  (check-argument function (or function symbol) "a function of a value and a condition")
  (let* ((meeting (future-meeting future))
         (next (make-future meeting))
         (callback (lambda () (continue-with next future function)))
         (ended nil))
    (with-short-lock ((meeting-lock meeting))
      (if (eql (future-state future) +pending+)
          (push callback (future-callbacks future))
          (setf ended t)))
    (when ended
      (run-callbacks meeting (list callback)))
    next))

(defun continue-with (next future function)
  "Call FUNCTION with the outcome of FUTURE, and end the future NEXT with what it does, even if it throws."
  (let ((failedp (eql (future-state future) +failed+))
        (returned nil))
    (unwind-protect
         (handler-case
             (fulfil next (if failedp
                              (funcall function nil (future-condition future))
                              (funcall function (future-value future) nil)))
           (error (condition) (fail next condition))
           (:no-error (&rest values) (declare (ignore values)) (setf returned t)))
      (unless returned
        ;; Nothing if an error has ended it.
        (fail next (make-condition 'kafka-error
                                   :code kabi-ll:+status-callback-failed+
                                   :operation 'then
                                   :description "the function left by a throw or a restart"))))))
