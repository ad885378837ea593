;;;; What producers, consumers and admins share: the core that outlives the program's object, its state,
;;;; closing, waking, and finalizers that only hand over.
;;;;
;;;; The object that the program holds (a CLIENT) points to its CORE, and the core back by a weak pointer
;;;; only: the client's thread and its finalizer hold the core, so that a client which the program has
;;;; forgotten is still found by the garbage collector.

(in-package #:kafkabi)

(defstruct (core (:include meeting) (:constructor nil))
  "A client's inside. HANDLE is +NO-HANDLE+ when the client can't be used at all any more."
  (handle kabi-ll:+no-handle+ :type kabi-ll:handle)
  (name "" :type string)
  (state :open :type (member :open :closing :closed))
  (wakes 0 :type fixnum)                ; WAKEs of the program's that no call has seen yet
  (owner nil)                           ; a weak pointer to the client
  (handlers '() :type list)             ; a plist: see events.lisp
  (draining :thread :type (member :thread :caller))
  (thread nil)                          ; the thread that drains, if there is one
  (tasks '() :type list)                ; callbacks for it, the newest first
  (drainer nil)                         ; the thread that drains now
  (closer nil)                          ; the thread of ours that drains what is left at a close
  (events nil :type (or null staging))
  (texts nil :type (or null staging))
  (events-count 0 :type index)          ; how many events are in the buffer,
  (events-next 0 :type index)           ; and the first of them that was not dispatched
  (topics (make-array 0) :type simple-vector) ; names by number
  (numbers (make-hash-table :test #'equal) :type hash-table)
  (admin nil))                          ; the core of an admin on top of this client, once there is one

(defclass client ()
  ((core :reader client-core :type core)
   (properties :initform '() :accessor client-properties))
  (:documentation "A producer, a consumer or an admin. Any thread may use it. It must be closed by CLOSE,
which the with- macros do."))

(defmethod print-object ((client client) stream)
  (print-unreadable-object (client stream :type t :identity t)
    (when (slot-boundp client 'core)
      (format stream "~A ~(~A~)" (core-name (client-core client)) (core-state (client-core client))))))

(defmethod initialize-instance :after ((client client) &key conf)
  (setf (client-properties client) (properties conf)))

;;; What differs between producers, consumers and admins in the interface: one method a kind.

(defgeneric core-call-wake (core details))
(defgeneric core-call-free (core handle))
(defgeneric core-call-drain (core timeout events capacity count texts size used details)
  (:documentation "Call the kind's _drain function."))
(defgeneric core-call-close (core timeout details)
  (:documentation "Call the kind's _close function; return its status and how many records were given up."))
(defgeneric core-call-topic-number (core pointer number details))
(defgeneric core-call-topic-name (core number buffer size length details))
(defgeneric core-call-event-descriptor (core descriptor details))
(defgeneric core-call-metrics (core buffer size length details))
(defgeneric core-call-token-set (core token lifetime principal extensions details))
(defgeneric core-call-token-failure (core why details))
(defgeneric core-call-credentials-set (core username password details))

(defmacro define-core-calls (kind core &key (topics t))
  "Define the methods for CORE, a structure, that differ from other kinds' only in the function of kafkabi/low-level:
its name begins with KIND. TOPICS is false for a kind that numbers none."
  (flet ((low-level (suffix)
           (or (find-symbol (format nil "~A-~A" kind suffix) '#:kafkabi/low-level)
               (error "There is no function ~A-~A in kafkabi/low-level." kind suffix))))
    `(progn
       (defmethod core-call-free ((core ,core) handle)
         (,(low-level '#:free) handle))
       ,@(loop for (call suffix . arguments)
                 in `((core-call-wake wake details)
                      (core-call-drain drain timeout events capacity count texts size used details)
                      (core-call-event-descriptor event-fd descriptor details)
                      (core-call-metrics metrics buffer size length details)
                      (core-call-token-set token-set token lifetime principal extensions details)
                      (core-call-token-failure token-failure why details)
                      (core-call-credentials-set credentials-set username password details)
                      ,@(when topics
                          '((core-call-topic-number topic pointer number details)
                            (core-call-topic-name topic-name number buffer size length details))))
               collect `(defmethod ,call ((core ,core) ,@arguments)
                          (,(low-level suffix) (core-handle core) ,@arguments))))))

;;; ---- all cores, for the image ----

(defvar *cores-lock* (make-lock "kafkabi clients"))
(defvar *cores* (trivial-garbage:make-weak-hash-table :weakness :key :test #'eq)
  "Every core whose handle is not freed.")

(defun live-cores ()
  (with-short-lock (*cores-lock*)
    (loop for core being the hash-keys of *cores* collect core)))

;;; ---- making one ----

(defvar *client-number* 0)

(defun client-name (kind conf)
  "The name of a client in logs: its client.id, or the kind with a number."
  (or (find-property conf "client.id")
      (format nil "~(~A~)-~D" kind (with-short-lock (*cores-lock*) (incf *client-number*)))))

(defun adopt (client core)
  "Make CORE, whose handle is good, the inside of CLIENT."
  (setf (core-owner core) (trivial-garbage:make-weak-pointer client)
        (slot-value client 'core) core)
  (with-short-lock (*cores-lock*)
    (setf (gethash core *cores*) t))
  (finalize client (lambda () (forget-client core)))
  (start-draining-if-asked core)
  client)

(defun call-and-adopt (client core make)
  "Make CORE, whose handle the function MAKE gives, the inside of CLIENT: not interrupted, so that no handle is
lost. Conditions are signalled after, with interrupts."
  (declare (type function make))
  (let ((failure nil))
    (kabi-ll:uninterrupted
      (handler-case (progn (setf (core-handle core) (funcall make))
                           (adopt client core))
        (error (condition)
          (setf failure condition)
          (release core))))
    (when failure (error failure))
    client))

(defun forget-client (core)
  "What the finalizer does: have the client ended by another thread, and the program warned there. Finalizers
run on one thread for all, or inside any."
  (unless (eql (core-handle core) kabi-ll:+no-handle+)
    (run-for-finalizer (lambda () (end-forgotten core)))))

(defun end-forgotten (core)
  (unless (eql (core-handle core) kabi-ll:+no-handle+)
    (let ((state (core-state core)))
      (release core)
      (when (eq state :open)
        (log-line core 4 (format nil "~A was not closed before the program lost it: it is flushed and ~
                                      closed in the background"
                                 (core-name core)))))))

(defun release (core)
  "Free the handle, which never blocks. The core is of no use after."
  (let ((handle kabi-ll:+no-handle+))
    (with-short-lock ((meeting-lock core))
      (rotatef handle (core-handle core))
      (setf (core-state core) :closed))
    (with-short-lock (*cores-lock*)
      (remhash core *cores*))
    (when (core-admin core) (release (core-admin core)))
    (unless (eql handle kabi-ll:+no-handle+)
      (core-call-free core handle)
      (abandon core)
      (free-core-memory core))))

(defun free-core-memory (core)
  "Free the events' buffers, unless a thread is inside a drain; then the garbage collector does."
  (with-short-lock ((meeting-lock core))
    (unless (core-drainer core)
      (setf (core-events-count core) 0
            (core-events-next core) 0)
      (when (core-events core) (free-staging (shiftf (core-events core) nil)))
      (when (core-texts core) (free-staging (shiftf (core-texts core) nil))))))

(defgeneric abandon (core)
  (:documentation "Fail every future that can't be completed any more, as the handle is freed."))

;;; ---- using one ----

(declaim (inline use))
(defun use (client operation)
  "The core of CLIENT, which must be open."
  (let ((core (slot-value (the client client) 'core)))
    (unless (eq (core-state core) :open)
      (signal-closed core operation))
    core))

(defun signal-closed (core operation)
  (error 'closed-error :operation operation
                       :description (format nil "~A is closed" (core-name core))))

(defun open-p (client)
  "True until CLOSE is called."
  (check-argument client client "a client")
  (eq (core-state (client-core client)) :open))

(defun owner (core)
  "The client that the program holds, or NIL if it has lost it."
  (let ((pointer (core-owner core)))
    (and pointer (trivial-garbage:weak-pointer-value pointer))))

(defun wake (client)
  "End the call in which another thread waits with CLIENT, or else the next one that waits, by an
INTERRUPTED-ERROR. What the call was about goes on. Threads that wait for futures are left alone."
  (check-argument client client "a client")
  (let ((core (use client 'wake)))
    (with-short-lock ((meeting-lock core))
      (setf (core-wakes core) 1))
    (nudge core)))

(defun nudge (core)
  "End the foreign calls in progress. Those who did not wait for a WAKE of the program's go on."
  (with-details (details)
    (core-call-wake core details))
  nil)

(defun spurious-wake-p (core)
  "After +STATUS-INTERRUPTED+: true if it was no WAKE of the program's, which is used up otherwise."
  (or (zerop (core-wakes core))
      (with-short-lock ((meeting-lock core))
        (cond ((zerop (core-wakes core)) t)
              (t (setf (core-wakes core) 0) nil)))))

;;; ---- topics ----

(defun topic-number (core topic)
  "The number of the topic called TOPIC in this client."
  (declare (type core core))
  (or (with-short-lock ((meeting-lock core))
        (gethash topic (core-numbers core)))
      (new-topic-number core topic)))

(defun new-topic-number (core topic)
  (check-argument topic string "the name of a topic, a string")
  (let ((number (with-text (pointer topic)
                  (cffi:with-foreign-object (number :int32)
                    (with-details (details)
                      (check-status (core-call-topic-number core pointer number details) details
                                    nil :topic topic))
                    (cffi:mem-ref number :int32))))
        (name (copy-seq topic)))
    (with-short-lock ((meeting-lock core))
      (setf (gethash name (core-numbers core)) number)
      ;; Known without asking, for futures that are looked at after the client is closed.
      (note-topic-name core number name))
    number))

(defun note-topic-name (core number name)
  "Remember a topic's name, with the lock held, and return it."
  (let ((topics (core-topics core)))
    (when (>= number (length topics))
      (setf topics (replace (make-array (max 16 (* 2 number)) :initial-element nil) topics)
            (core-topics core) topics))
    (setf (svref topics number) name)))

(declaim (inline topic-name))
(defun topic-name (core number)
  "The name of the topic with NUMBER in this client."
  (declare (type core core) (type (signed-byte 32) number))
  (let ((topics (core-topics core)))
    (or (and (< -1 number (length topics)) (svref topics number))
        (new-topic-name core number))))

(defun new-topic-name (core number)
  (if (minusp number)
      ""
      (let ((name (foreign-string (lambda (buffer size length details)
                                    (core-call-topic-name core number buffer size length details)))))
        (with-short-lock ((meeting-lock core))
          (note-topic-name core number name)))))

(defun foreign-octets (function)
  "The octets that FUNCTION writes: it is called with a buffer, its size, where the length goes, and details,
first with a small buffer and again with one that is large enough."
  (declare (type function function))
  (let ((size 512))
    (loop
      (cffi:with-foreign-object (length :uint64)
        (with-details (details)
          (with-memory (buffer size)
            (let ((status (funcall function buffer size length details)))
              (unless (eql status kabi-ll:+status-buffer-too-small+)
                (check-status status details)
                (return (copy-out buffer (cffi:mem-ref length :uint64))))
              (setf size (+ 1024 (cffi:mem-ref length :uint64))))))))))

(defun foreign-string (function)
  "The text that FUNCTION writes in UTF-8, which is called as by FOREIGN-OCTETS."
  (octets-to-string (foreign-octets function)))

;;; ---- closing ----

(defgeneric close (client &key timeout)
  (:documentation "Close CLIENT within TIMEOUT milliseconds (-1: for ever).

A producer waits until every record that it took has its report, and gives up the rest; the value is how
many were not delivered. A consumer commits what is handled, if commits are automatic, and leaves its
group. An admin waits for its requests. Signal a TIMEOUT-ERROR when the time is over: the client is closed
all the same, and the rest is done in the background. Closing a closed client does nothing. When this
thread is unwound meanwhile, the close goes on in the background.

Functions for what is still to be told are called on a thread of the library's, where what they signal is
logged, also those of a client with :DRAIN :CALLER."))

(defmethod close ((client client) &key (timeout 30000))
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((call (begin-close client (client-core client) timeout)))
    (if call
        (multiple-value-bind (undelivered condition) (end-call call (lambda ()))
          (if condition (error condition) undelivered))
        0)))

(defun begin-close (client core timeout)
  "Unless CORE is closing already, begin with it on a thread of the pool, and return the call. An interrupt finds
the client open and whole, or its close on its way."
  (let ((inside (eq (core-thread core) (this-thread))) ; in a handler or callback
        (call nil))
    (kabi-ll:uninterrupted
      (when (with-short-lock ((meeting-lock core))
              (when (eq (core-state core) :open)
                (setf (core-state core) :closing)))
        (unwind-protect
             (setf call (begin-call (lambda () (close-core core timeout inside))))
          (if call
              (trivial-garbage:cancel-finalization client)
              ;; There was no thread to be had.
              (with-short-lock ((meeting-lock core))
                (when (eq (core-state core) :closing)
                  (setf (core-state core) :open)))))))
    call))

(defun close-core (core timeout inside)
  "Close CORE and dispatch what is left, which its own thread does if the close comes from INSIDE it. Return how
many records were given up, and the condition of a close that did not end well."
  (with-details (details)
    (multiple-value-bind (status undelivered) (core-call-close core timeout details)
      (let ((condition (unless (zerop status)
                         (details-condition status details nil '(:operation close)))))
        (unless inside
          (unwind-protect (drain-to-the-end core)
            (release core)))
        (values undelivered condition)))))

(defun call-with-client (client function)
  "Call FUNCTION with CLIENT and close it. When FUNCTION is left by a throw or an error, what the close
signals is only logged, so that it does not hide why."
  (declare (type function function))
  (let ((normal nil))
    (unwind-protect
         (multiple-value-prog1 (funcall function client)
           (setf normal t))
      (if normal
          (close client)
          (handler-case (close client)
            (error (condition)
              (log-line (client-core client) 4 (princ-to-string condition))))))))

;;; ---- what else works with every client ----

(defun event-descriptor (client)
  "A file descriptor that is readable while there are events to be drained by SERVE (a consumer's: also
records to poll), for an event loop. Read, write or close it never. Make the client with :DRAIN :CALLER."
  (check-argument client client "a client")
  (let ((core (use client 'event-descriptor)))
    (cffi:with-foreign-object (descriptor :int32)
      (with-details (details)
        (check-status (core-call-event-descriptor core descriptor details) details))
      (cffi:mem-ref descriptor :int32))))

(defun metrics (client)
  "Figures about CLIENT: a JSON document, whose schema is api/metrics.schema.json."
  (check-argument client client "a client")
  (let ((core (use client 'metrics)))
    (foreign-string (lambda (buffer size length details)
                      (core-call-metrics core buffer size length details)))))

;;; ---- the properties in force ----

(defun known-properties (kind)
  "The names of the properties of KIND, \"producer\" or \"consumer\"."
  (loop for property in (getf (read-json (describe-properties)) :properties)
        when (and (member (getf property :for) (list kind "both") :test #'string=)
                  (not (getf property :alias-of)))
          collect (getf property :name)))

(defun get-conf (client)
  "An alist of the properties of CLIENT that have a value, those that it was made with and the defaults of the
others: names and values, strings both. Secrets are not hidden."
  (check-argument client client "a client")
  (let ((kind (if (typep client 'consumer) "consumer" "producer")))
    (call-with-configuration (client-properties client) '() nil
                             (lambda (config)
                               (loop for name in (union (mapcar #'car (client-properties client))
                                                        (known-properties kind) :test #'string=)
                                     for value = (property-in-force config name)
                                     when value collect (cons name value))))))

(defun property-in-force (config name)
  (with-text (pointer name)
    (handler-case (foreign-string (lambda (buffer size length details)
                                    (kabi-ll:config-get config pointer buffer size length details)))
      (kafka-error (condition)
        (unless (eql (error-code condition) kabi-ll:+status-noent+)
          (error condition))))))
