;;;; Events: drained on the client's own Lisp thread, or on the program's threads where it asked for that,
;;;; and handed to the program's functions. No foreign thread ever runs Lisp, and no Lisp function is ever
;;;; called by foreign code, so that whatever a handler does, it unwinds Lisp frames only.

(in-package #:kafkabi)

(defvar *log-function* 'write-log-line
  "What clients without a function of their own for log lines call: with the client's name, the syslog
level, 0 (emergency) to 7 (debug), and the text.")

(defun write-log-line (name level text)
  (format *error-output* "~&kafkabi: ~A: ~A: ~A~%" name
          (if (<= level 3) "error" (if (<= level 4) "warning" "note")) text)
  (finish-output *error-output*))

(defun log-line (core level text)
  "Tell the program's log function something that happened in a client. Never signals."
  (ignore-errors
   (let ((function (getf (core-handlers core) :log)))
     (if function
         (funcall function (owner core) level text)
         (funcall *log-function* (core-name core) level text)))))

;;; ---- which events are queued ----

(defparameter *event-kinds*
  (list :report kabi-ll:+event-report+ :error kabi-ll:+event-error+ :log kabi-ll:+event-log+
        :statistics kabi-ll:+event-statistics+ :token kabi-ll:+event-token+
        :throttle kabi-ll:+event-throttle+ :commit kabi-ll:+event-commit+
        :request kabi-ll:+event-request+))

(defun event-mask (handlers &rest always)
  "The event mask for a client with HANDLERS, and the kinds ALWAYS that the library itself needs."
  (loop for (kind bit) on *event-kinds* by #'cddr
        when (or (getf handlers kind) (member kind always))
          sum bit))

;;; ---- draining ----

(defconstant +drain-capacity+ 1024)
(defconstant +drain-texts+ 65536)
(defconstant +thread-slice+ 1000
  "Milliseconds for which the client's own thread waits in one call; it is nudged when there is something
else to do.")

(defun take-drain (core)
  "Become the thread that drains: :FIRST, :NESTED inside a handler on the same thread, or NIL."
  (with-short-lock ((meeting-lock core))
    (cond ((null (core-drainer core)) (setf (core-drainer core) (this-thread)) :first)
          ((eq (core-drainer core) (this-thread)) :nested))))

(defun leave-drain (core)
  (with-short-lock ((meeting-lock core))
    (setf (core-drainer core) nil)
    ;; Those who wait for futures on their own threads take over.
    (wake-all (meeting-waiters core)))
  (when (eql (core-handle core) kabi-ll:+no-handle+)
    (free-core-memory core)))

(defun drain (core timeout)
  "Wait up to TIMEOUT milliseconds for events (one slice: not more than +SLICE+ on the program's threads)
and dispatch them. Return how many there were and the status, or NIL if another thread does it."
  (let ((turn (take-drain core)))
    (when turn
      (unwind-protect
           (multiple-value-bind (count status)
               (if (< (core-events-next core) (core-events-count core))
                   (values (- (core-events-count core) (core-events-next core)) 0)
                   (fetch-events core timeout))
             (dispatch-events core)
             (run-tasks core)
             (values count status))
        (when (eq turn :first) (leave-drain core))))))

(defun fetch-events (core timeout)
  "Copy events to the core's buffer. Return how many, and the status."
  (unless (core-events core)
    (setf (core-events core) (make-staging (* +drain-capacity+ kabi-ll:+sizeof-event+))
          (core-texts core) (make-staging +drain-texts+)))
  (cffi:with-foreign-objects ((count :uint64) (used :uint64))
    (with-details (details)
      (let ((status (core-call-drain core timeout (staging-pointer (core-events core)) +drain-capacity+
                                     count (staging-pointer (core-texts core))
                                     (staging-size (core-texts core)) used details)))
        (cond ((eql status kabi-ll:+status-buffer-too-small+)
               (setf (core-texts core)
                     (grow-staging (core-texts core) (cffi:mem-ref used :uint64) 0))
               (fetch-events core 0))
              ((zerop status)
               (let ((count (cffi:mem-ref count :uint64)))
                 (setf (core-events-next core) 0
                       (core-events-count core) count)
                 (values count status)))
              (t (values 0 status)))))))

(defun oursp (core)
  "True on a thread of this library's that drains CORE: what a function of the program's signals ends there."
  (let ((this (this-thread)))
    (or (eq (core-thread core) this)
        (eq (core-closer core) this))))

(defun run-task (core task)
  (if (oursp core)
      (with-simple-restart (abort "Leave the function that goes on with a future.")
        (call-back task))
      (call-back task)))

(defun run-tasks (core)
  "Run the callbacks that wait, those of futures in the order in which the futures ended."
  (loop
    (let ((tasks (with-short-lock ((meeting-lock core))
                   (shiftf (core-tasks core) '()))))
      (when (null tasks) (return))
      (setf tasks (nreverse tasks))
      (unwind-protect
           (loop while tasks do (run-task core (pop tasks)))
        (when tasks                     ; one of them threw
          (with-short-lock ((meeting-lock core))
            (setf (core-tasks core) (append (core-tasks core) (nreverse tasks)))))))))

(defmethod run-callbacks ((core core) callbacks)
  (let ((thread nil) (alone nil))
    (with-short-lock ((meeting-lock core))
      (setf thread (core-thread core)
            alone (or (eq (core-state core) :closed)
                      (and (null thread) (eq (core-draining core) :thread))))
      (unless alone
        (setf (core-tasks core) (revappend callbacks (core-tasks core)))))
    (cond (alone (call-next-method))
          ((and thread (not (eq thread (this-thread)))) (nudge core)))))

(declaim (inline ensure-draining))
(defun ensure-draining (core)
  "Start the client's thread unless it runs or the program drains."
  (unless (or (core-thread core) (eq (core-draining core) :caller))
    (start-draining core)))

(defmethod help-along ((core core) milliseconds)
  (ensure-draining core)                ; somebody may have killed the thread
  (when (or (eq (core-draining core) :caller)
            (eq (core-drainer core) (this-thread))) ; a handler waits: nobody else would drain
    (and (drain core milliseconds) t)))

;;; ---- the client's thread ----

(defun start-draining (core)
  ;; Not interrupted: a thread that is started is also noted.
  (with-short-lock ((meeting-lock core))
    (unless (or (core-thread core) (not (eq (core-state core) :open)))
      (setf (core-thread core)
            (spawn (format nil "kafkabi ~A" (core-name core)) (lambda () (drain-loop core)))))))

(defun start-draining-if-asked (core)
  (when (core-handlers core) (ensure-draining core)))

(defvar *exiting* nil "True once this Lisp ends: the clients' threads are to end, too.")

(defun drain-on (core timeout)
  "As DRAIN, on a thread of ours: an error outside of the program's functions is logged, and does not end it."
  (with-simple-restart (abort "Go on with the next event of ~A." (core-name core))
    (handler-case (drain core timeout)
      (error (condition)
        (log-line core 3 (format nil "an event could not be handed over: ~(~A~): ~A" (type-of condition)
                                 condition))
        (sleep 1/10)                    ; if it is for good, not all the time
        (values 0 kabi-ll:+status-interrupted+)))))

(defun drain-loop (core)
  (unwind-protect
       (loop until *exiting* do
         (multiple-value-bind (count status) (drain-on core +thread-slice+)
           (cond ((null count) (wait-a-little core))
                 ((not (member status '(0 #.kabi-ll:+status-interrupted+ #.kabi-ll:+status-busy+)))
                  (return)))))
    ;; Closed or freed, and every event is dispatched; or the thread was killed.
    (with-short-lock ((meeting-lock core))
      (setf (core-thread core) nil))
    (unless (eq (core-state core) :open)
      (release core)
      (run-tasks core))))

(defun wait-a-little (core)
  "Until the other thread that drains has left."
  (let ((lock (meeting-lock core)))
    (with-lock (lock)
      (when (core-drainer core)
        (wait-with-lock (meeting-waiters core) lock 1/10)))))

(defun drain-to-the-end (core)
  "After the close: dispatch what is left, until the client says that there is no more."
  (let ((thread (core-thread core)))
    (cond (thread (join thread))
          (t (setf (core-closer core) (this-thread))
             (unwind-protect
                  (loop
                    (multiple-value-bind (count status) (drain-on core 0)
                      (cond ((null count) (wait-a-little core))
                            ((and (zerop status) (plusp count)))
                            ((eql status kabi-ll:+status-interrupted+))
                            (t (return)))))
               (setf (core-closer core) nil))))))

(defun serve (client &key (timeout 0))
  "Hand the events of CLIENT to its functions on this thread: wait up to TIMEOUT milliseconds for the
first (-1: for ever), then hand over what is there. Return how many there were. For clients that were
made with :DRAIN :CALLER; others do it on a thread of their own. What a function signals or throws leaves
SERVE, and the events after are handed over by the next."
  (check-argument client client "a client")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let* ((core (use client 'serve)) (deadline (deadline timeout)) (slice 0))
    (loop
      (multiple-value-bind (count status) (drain core slice)
        (cond ((null count) (wait-a-little core))
              ((plusp count) (return count))
              ((eql status kabi-ll:+status-interrupted+)
               (unless (spurious-wake-p core)
                 (error 'interrupted-error :operation 'serve :description "WAKE was called")))
              ((not (zerop status))
               (error (make-status-condition status 0 nil (code-text status) '(:operation serve))))))
      (setf slice (slice-of deadline))
      (when (zerop slice) (return 0)))))

;;; ---- dispatch ----

(defun dispatch-events (core)
  "Dispatch the events in the buffer. One is counted as dispatched before its handler is called, so that a
handler which throws does not meet it again, and those after it are not lost."
  (loop
    (let ((next (core-events-next core)))
      (unless (< next (core-events-count core)) (return))
      (let ((event (cffi:inc-pointer (staging-pointer (core-events core))
                                     (* next kabi-ll:+sizeof-event+))))
        (cond ((eql (kabi-ll:event-kind event) kabi-ll:+event-report+)
               ;; No function of the program's is called inside, which may drain anew and fill the buffer.
               (kabi-ll:uninterrupted
                 (setf (core-events-next core) (take-reports core next))))
              (t
               (setf (core-events-next core) (1+ next))
               (handle-event core (kabi-ll:event-kind event) event)))))))

(defgeneric take-reports (core first)
  (:documentation "Complete the futures of the reports from event number FIRST on. Return the number of the
first event that is no report. It calls none of the program's functions: those that are to be called become
tasks."))

(defun event-text (core event)
  (foreign-text (cffi:inc-pointer (staging-pointer (core-texts core)) (kabi-ll:event-text-offset event))
                (kabi-ll:event-text-length event)))

(defgeneric handle-event (core kind event)
  (:documentation "Hand an event of KIND, a bit of the event mask, to whom it is for.")
  (:method ((core core) kind event)
    (case kind
      (#.kabi-ll:+event-error+
       (call-handler core :error (event-condition core event)))
      (#.kabi-ll:+event-log+
       (call-handler core :log (kabi-ll:event-code event) (event-text core event)))
      (#.kabi-ll:+event-statistics+
       (call-handler core :statistics (event-text core event)))
      (#.kabi-ll:+event-throttle+
       (call-handler core :throttle (event-text core event) (kabi-ll:event-token event)
                     (floor (kabi-ll:event-latency-us event) 1000)))
      (#.kabi-ll:+event-token+
       (answer-token core (event-text core event))))))

(defun event-condition (core event)
  (make-status-condition (kabi-ll:event-code event) (kabi-ll:event-flags event) nil
                         (event-text core event) '()))

(defmacro guarded ((core kind) &body body)
  "Evaluate BODY, which calls a function of the program's on a thread of ours: an error is logged, and the
restart ABORT leaves it."
  `(with-simple-restart (abort "Leave the function for ~(~A~) events." ,kind)
     (handler-case (progn ,@body)
       (error (condition)
         (log-line ,core 3 (format nil "the function for ~(~A~) events signalled ~(~A~): ~A" ,kind
                                   (type-of condition) condition))
         nil))))

(defun call-handler (core kind &rest arguments)
  "Call the program's function for KIND with the client and ARGUMENTS, and return its values. On the
client's own thread an error in it is logged; on the program's threads it goes where it goes."
  (let ((function (getf (core-handlers core) kind)))
    (when function
      (if (oursp core)
          (guarded (core kind) (apply function (owner core) arguments))
          (apply function (owner core) arguments)))))

;;; ---- tokens for SASL/OAUTHBEARER ----

(defun answer-token (core text)
  "Ask the program's function for a token and hand it on, or why there is none: without any answer it would not
be asked again."
  (let ((answered nil) (why "the function for tokens left by a throw or a restart"))
    (unwind-protect
         (flet ((ask ()
                  (handler-case
                      (multiple-value-bind (token lifetime principal extensions)
                          (funcall (getf (core-handlers core) :token) (owner core) text)
                        (give-token core token lifetime principal extensions)
                        (setf answered t))
                    (error (condition)
                      (setf why (remove (code-char 0) (princ-to-string condition)))))))
           (if (oursp core)
               (guarded (core :token) (ask))
               (ask)))
      (unless answered (refuse-token-if-open core why)))))

(defun refuse-token-if-open (core why)
  "Tell a client, which may have been closed meanwhile, that there is no token."
  (handler-case (refuse-token core why)
    (error (condition)
      (when (eq (core-state core) :open)
        (log-line core 3 (princ-to-string condition))))))

(defun give-token (core token lifetime principal extensions)
  (check-argument token string "the token, a string")
  (check-argument lifetime (integer 0) "when the token ends, in milliseconds since 1970")
  (check-argument principal string "whose the token is, a string")
  (check-argument extensions (or null string) "a JSON object of texts, or NIL")
  (with-text (token token)
    (with-text (principal principal)
      (flet ((call (extensions)
               (with-details (details)
                 (check-status (core-call-token-set core token lifetime principal extensions details)
                               details nil :operation 'set-token))))
        (if extensions
            (with-text (extensions extensions) (call extensions))
            (call (cffi:null-pointer))))))
  nil)

(defun refuse-token (core why)
  (with-text (why why)
    (with-details (details)
      (check-status (core-call-token-failure core why details) details nil :operation 'fail-token)))
  nil)

(defun set-token (client token &key lifetime principal extensions)
  "Give CLIENT a token for SASL/OAUTHBEARER. LIFETIME is when it ends, in milliseconds since 1970;
PRINCIPAL whose it is; EXTENSIONS a JSON object of SASL extensions, or NIL."
  (check-argument client client "a client")
  (give-token (use client 'set-token) token lifetime principal extensions))

(defun fail-token (client why)
  "Tell CLIENT that there is no token to be had now, and why; it asks again after ten seconds."
  (check-argument client client "a client")
  (check-argument why string "a text")
  (refuse-token (use client 'fail-token) why))
