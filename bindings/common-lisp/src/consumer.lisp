;;;; Consumers: making and closing one, subscribing.

(in-package #:kafkabi)

;;; A record knows its consumer by a number, which is cheaper than a reference; see TICKET.

(defconstant +consumer-numbers+ (1- (ash 1 14)) "After so many consumers the numbers begin again.")
(defvar *consumer-number* 0 "The number of the consumer that was made last.")
(defvar *consumer-number-lock* (make-lock "kafkabi consumers"))

(defun next-consumer-number ()
  (with-short-lock (*consumer-number-lock*)
    (setf *consumer-number* (1+ (mod *consumer-number* +consumer-numbers+)))))

(defstruct (consumer-core (:include core) (:constructor make-consumer-core) (:conc-name consumer-))
  (number (next-consumer-number) :type (unsigned-byte 14) :read-only t)
  (key-serde nil :type (or null function))
  (value-serde nil :type (or null function))
  ;; The batch that records are handed out of one by one: see poll.lisp. The thread that polls changes
  ;; these; where the batch itself changes it holds the lock, for others that look at the batch.
  (poller nil)                          ; the thread that polls now
  (loopp nil)                           ; true while a loop has a record in hand: see SETTLE-HANDLED
  (staging nil :type (or null staging))
  (batch 0 :type (unsigned-byte 48))    ; its number,
  (count 0 :type index)                 ; how many records it has,
  (next 0 :type index)                  ; how many of them were handed out,
  (finished 0 :type index)              ; how many of these the program has finished with,
  (handled 0 :type index)               ; how many the library was told of as handled,
  (place 0 :type index)                 ; where in the staging buffer the next one lies,
  (end 0 :type index)                   ; and where the last one ends
  (pulling nil)                         ; true while a batch is fetched,
  (moves 0 :type fixnum)                ; and how many moves keep that off: see moves.lisp
  (taking nil)                          ; true while the thread that polls hands an entry out without the lock,
  (dropping nil)                        ; and while another one looks at those that are staged: see TAKE-ENTRY
  (owed '() :type list)                 ; places to store once what was handed out is finished with: see WITHHOLD
  ;; The clock is looked at once in a while: see PACE.
  (stride 1 :type index)
  (ticks 1 :type fixnum)
  (looked-at 0 :type (unsigned-byte 60))
  (told-at 0 :type (unsigned-byte 60))
  (pulled-at 0 :type (unsigned-byte 60))
  ;; Assignments: see assignment.lisp.
  (subscribedp nil)
  (change nil)                          ; the change that a handler sees now
  (starts (make-hash-table :test #'equal)) ; where partitions assigned by hand were told to begin
  ;; Commits that nobody waits for, by number: (future . places), guarded by the lock.
  (commits (make-hash-table)))

(defclass consumer (client) ()
  (:documentation "A client that receives records, alone or as a member of a group.

:CONF, :SERDE, :KEY-SERDE, :VALUE-SERDE, :ON-ERROR, :ON-LOG, :ON-STATISTICS, :ON-THROTTLE, :ON-TOKEN and :DRAIN
are as for a PRODUCER; here the serdes make objects of octets, and without one the octets stay as they are.

:ON-ASSIGN, :ON-REVOKE and :ON-LOST are functions of the consumer and a list of (topic . partition), which
are called by the thread that polls, inside the poll: when the group has given partitions, before any record
of them; before it takes them back, when their offsets can still be committed; and after it has taken them
away because the consumer was not heard of, when commits of them fail (without :ON-LOST, :ON-REVOKE is called
for that, too). In them the program may SEEK what is being assigned, PAUSE, COMMIT and STORE-OFFSETS. Whether
one returns, signals or throws, the change then takes place. CLOSE calls :ON-REVOKE for what a subscription
has given; a throw out of that leaves the CLOSE, which goes on in the background."))

(defmethod initialize-instance :after
    ((consumer consumer) &key conf serde (key-serde serde) (value-serde serde) (drain :thread)
                           on-error on-log on-statistics on-throttle on-token
                           on-assign on-revoke on-lost)
  (check-argument drain (member :thread :caller) ":THREAD or :CALLER")
  (let* ((changes (collect-handlers :assign on-assign :revoke on-revoke :lost on-lost))
         (handlers (append changes
                           (collect-handlers :error on-error :log on-log :statistics on-statistics
                                             :throttle on-throttle :token on-token)))
         (core (make-consumer-core :name (client-name 'consumer conf) :handlers handlers :draining drain
                                   :key-serde (check-serde key-serde)
                                   :value-serde (check-serde value-serde))))
    (call-and-adopt consumer core
                    (lambda ()
                      ;; Records are handed out one by one from a batch, so that only this binding knows which are
                      ;; handled.
                      (make-handle conf
                                   (list* '("kafkabi.handled" . "explicit")
                                          (when changes '(("kafkabi.assignment" . "apply"))))
                                   (event-mask handlers :commit :request)
                                   (lambda (config place details) (kabi-ll:consumer-new config place details))
                                   'consumer)))))

(defun make-consumer (&rest arguments &key &allow-other-keys)
  "A new consumer; the arguments are those of MAKE-INSTANCE with the class CONSUMER."
  (apply #'make-instance 'consumer arguments))

(defmacro with-consumer ((consumer &rest arguments) &body body)
  "Evaluate BODY with CONSUMER bound to a new consumer made with ARGUMENTS, and close it, however BODY is
left."
  `(call-with-client (make-consumer ,@arguments) (lambda (,consumer) ,@body)))

;;; ---- what the kind is in the interface ----

(define-core-calls consumer consumer-core)

(defmethod core-call-close ((core consumer-core) timeout details)
  (tell-handled core)
  (values (kabi-ll:consumer-close (core-handle core) timeout details) 0))

(defmethod take-reports ((core consumer-core) first)
  (1+ first))                           ; consumers have none

(defmethod abandon ((core consumer-core))
  (let ((futures '()))
    (with-short-lock ((meeting-lock core))
      ;; A poll that is inside keeps its place and its memory: it may be between the entry that it looks at and the
      ;; step to the next one. It finds no other entry.
      (setf (consumer-end core) 0)
      (when (null (consumer-poller core))
        (setf (consumer-place core) 0)
        (when (consumer-staging core)
          (free-staging (shiftf (consumer-staging core) nil))))
      (maphash (lambda (number commit)
                 (declare (ignore number))
                 (push (car commit) futures))
               (consumer-commits core))
      (clrhash (consumer-commits core)))
    (dolist (future futures)
      (fail future (make-condition 'closed-error
                                   :flags kabi-ll:+error-outcome-unknown+ :operation 'commit
                                   :description (format nil "~A is gone, and so is the answer"
                                                        (core-name core)))))))
