;;;; Calls that wait. Two ways, both of which honour interrupts, throws and time-outs of Lisp within
;;;; about 50 ms, and never unwind through a foreign frame:
;;;;
;;;; IN-SLICES      repeats a call that goes on where it left off, a short time-out each;
;;;; OUT-OF-LINE    does a call that can't be repeated on a thread of the pool, and waits for it.

(in-package #:kafkabi)

(defconstant +slice+ 50
  "Milliseconds for which one foreign call waits: so long may an interrupt have to wait.")

(declaim (inline slice-of))
(defun slice-of (deadline)
  "How long the next slice is: not beyond DEADLINE."
  (if deadline (min +slice+ (left deadline)) +slice+))

(defmacro in-slices ((slice timeout core &rest again) &body call)
  "Evaluate CALL, which gives a status, with SLICE bound to a short time-out, again and again: while the
status is one of AGAIN (+STATUS-TIMED-OUT+ by default) and TIMEOUT milliseconds (-1: for ever) are not
over. Return the last status. The first slice is 0, so that what need not wait costs no look at the clock.
A WAKE of the program's ends it with +STATUS-INTERRUPTED+; wakes that are meant for others do not.
CALL must be a call of kafkabi/low-level: it is not interrupted, interrupts are taken in between."
  (let ((function (gensym "CALL")))
    `(flet ((,function (,slice)
              (declare (type (signed-byte 32) ,slice))
              ,@call))
       (declare (inline ,function))
       (let ((status (,function 0)))
         (declare (type (signed-byte 32) status))
         (if (zerop status)
             0
             (flet ((go-on (slice) (,function slice)))
               (declare (dynamic-extent #'go-on))
               (slice-on status #'go-on ,timeout ,core
                         ',(or (mapcar #'eval again) (list kabi-ll:+status-timed-out+)))))))))

(defun slice-on (status function timeout core again)
  "What IN-SLICES does when the first slice gave STATUS."
  (declare (type function function) (type (signed-byte 32) status timeout))
  (let ((end (deadline timeout)))
    (loop
      (cond ((eql status kabi-ll:+status-interrupted+)
             (unless (spurious-wake-p core) (return status)))
            ((not (member status again)) (return status))
            ((zerop (slice-of end)) (return status))
            ((not (spurious-wake-p core)) (return kabi-ll:+status-interrupted+)))
      (setf status (funcall function (slice-of end))))))

;;; ---- the pool ----

(defstruct (worker (:constructor make-worker ()))
  "A thread that does one job after the other."
  (job nil :type (or null function))
  (thread nil))

(defvar *pool-lock* (make-lock "kafkabi pool"))
(defvar *pool-waiters* (make-waiters))
(defvar *idle-workers* '() "Workers that wait for a job.")
(defvar *workers* '() "All workers that are alive.")
(defvar *pool-ending* nil "True while the pool is being put away.")
(defconstant +idle-seconds+ 10 "After that long without a job a worker ends.")

(defun pool-run (job)
  "Run the function JOB on a thread of the pool. What it signals is lost: it must handle that. Not interrupted,
so that a job is either on its way or signals that it is not."
  (kabi-ll:uninterrupted
    (let ((new nil))
      (with-short-lock (*pool-lock*)
        (let ((worker (pop *idle-workers*)))
          (cond (worker
                 (setf (worker-job worker) job)
                 (wake-all *pool-waiters*))
                (t
                 (setf new (make-worker))
                 (setf (worker-job new) job)
                 (push new *workers*)))))
      (when new (start-worker new))
      nil)))

(defun start-worker (worker)
  (let ((started nil))
    (unwind-protect
         (setf (worker-thread worker) (spawn "kafkabi worker" (lambda () (work worker)))
               started t)
      (unless started
        (with-short-lock (*pool-lock*)
          (setf *workers* (delete worker *workers*)))))))

(defun run-for-finalizer (job)
  "Run the function JOB on a thread of its own. A finalizer may run inside any thread, whatever locks that holds:
it can't take any, the pool's neither."
  (spawn "kafkabi finalizer" (lambda () (ignore-errors (funcall job)))))

(defun work (worker)
  (loop
    (let ((job (next-job worker)))
      (unless job (return))
      (ignore-errors (funcall job)))))

(defun next-job (worker)
  "The job to do, or NIL when the worker is to end; it then is in no list any more."
  (let ((end (deadline (* 1000 +idle-seconds+))))
    (with-lock (*pool-lock*)
      (loop
        (let ((job (worker-job worker)))
          (when job
            (setf (worker-job worker) nil)
            (return job)))
        (when (or *pool-ending* (zerop (left end)))
          (setf *idle-workers* (delete worker *idle-workers*)
                *workers* (delete worker *workers*))
          (return nil))
        (pushnew worker *idle-workers*)
        (wait-with-lock *pool-waiters* *pool-lock* (/ (max 1 (left end)) 1000))))))

(defun end-pool ()
  "End the pool's threads, after the jobs that they are at."
  (let ((workers (with-short-lock (*pool-lock*)
                   (setf *pool-ending* t)
                   (wake-all *pool-waiters*)
                   (copy-list *workers*))))
    (unwind-protect
         (dolist (worker workers)
           (let ((thread (worker-thread worker)))
             (when thread (join thread))
             ;; It has left the lists, unless somebody has killed it.
             (with-short-lock (*pool-lock*)
               (setf *idle-workers* (delete worker *idle-workers*)
                     *workers* (delete worker *workers*)))))
      (setf *pool-ending* nil))))

;;; ---- calls on it ----

(defstruct (call (:constructor make-call ()))
  "A call on a thread of the pool, and what it gave."
  (lock (make-lock "kafkabi call"))
  (waiters (make-waiters))
  (done nil)
  (results '() :type list)
  (failure nil))

(defun begin-call (function)
  "Begin to call FUNCTION on a thread of the pool."
  (declare (type function function))
  (let ((call (make-call))
        (left (make-condition 'kafka-error :code kabi-ll:+status-callback-failed+
                                           :description "a call was left by a throw or a restart")))
    (pool-run (lambda ()
                (setf (call-failure call) left)
                (unwind-protect
                     (handler-case (setf (call-results call) (multiple-value-list (funcall function))
                                         (call-failure call) nil)
                       (error (condition) (setf (call-failure call) condition)))
                  (with-short-lock ((call-lock call))
                    (setf (call-done call) t)
                    (wake-all (call-waiters call))))))
    call))

(defun end-call (call give-up)
  "Wait for CALL and return its values, or signal what it signalled. When this thread is unwound meanwhile,
GIVE-UP is called."
  (declare (type function give-up))
  (unwind-protect
       (with-lock ((call-lock call))
         (loop until (call-done call) do (wait-with-lock (call-waiters call) (call-lock call) 1)))
    (unless (call-done call) (funcall give-up)))
  (if (call-failure call)
      (error (call-failure call))
      (values-list (call-results call))))

(defun call-out-of-line (function give-up)
  "Call FUNCTION on a thread of the pool and return its values, or signal what it signalled. When this
thread is unwound meanwhile, GIVE-UP is called, and FUNCTION goes on alone: everything that it uses must
be its own."
  (end-call (begin-call function) give-up))

(defmacro out-of-line ((&key (give-up '(progn))) &body body)
  "Evaluate BODY on a thread of the pool and wait for its values; conditions come back, too. BODY sees
the global values of special variables, and must own the memory that it uses, since it goes on when the
waiting thread is unwound. The form GIVE-UP is then evaluated, to cut the call short by a wake."
  `(call-out-of-line (lambda () ,@body) (lambda () ,give-up)))
