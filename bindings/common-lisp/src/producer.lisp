;;;; Producers: making and closing one, futures of deliveries and the tokens that find them, flush.

(in-package #:kafkabi)

(defstruct (producer-core (:include core) (:constructor make-producer-core) (:conc-name producer-))
  (key-serde nil :type (or null function))
  (value-serde nil :type (or null function))
  (reportsp t)
  ;; The topic that was sent to last, (name . number): never changed but as a whole, so that threads which
  ;; look at it without the lock see a name with its own number.
  (topic-sent-to (cons (make-array 0 :element-type 'character) -1) :type cons)
  ;; Tokens: number N stands for the future in slot N - 1. A slot without one has the number of the next
  ;; free slot, so that they form a list. All guarded by the lock.
  (slots (make-array 0) :type simple-vector)
  (free-slot -1 :type fixnum)
  (taken 0 :type fixnum)                ; tokens that were ever taken,
  (returned 0 :type fixnum)             ; and given back
  (stagings '() :type list))            ; for packed records, not in use now

(defclass producer (client) ()
  (:documentation "A client that sends records.

:CONF is a plist, an alist or a hash-table of properties; names are strings or keywords (:GROUP-ID is
\"group.id\"), values strings, numbers, T, NIL, keywords or lists of these.
:SERDE, :KEY-SERDE and :VALUE-SERDE are functions that make octets (or NIL, null) of keys and values. Without
one strings are written in UTF-8 and octets left as they are.
:ON-ERROR, :ON-LOG, :ON-STATISTICS, :ON-THROTTLE and :ON-TOKEN are functions that are called with the producer
(NIL once the program has lost it) and a condition; a syslog level and a text; a JSON document; the name and
id of a broker and milliseconds; or the value of sasl.oauthbearer.config, and give a token, its end in
milliseconds since 1970, a principal, and a JSON object of extensions or NIL.
:DRAIN says which thread completes futures and calls these: :THREAD (the default), one of the client's own, or
:CALLER, the program's, while it waits for a future, flushes or serves.
:REPORTS NIL turns delivery reports off: SEND gives no futures, and FLUSH counts failures."))

(defmethod initialize-instance :after
    ((producer producer) &key conf serde (key-serde serde) (value-serde serde) (drain :thread) (reports t)
                           on-error on-log on-statistics on-throttle on-token)
  (check-argument drain (member :thread :caller) ":THREAD or :CALLER")
  (let* ((handlers (collect-handlers :error on-error :log on-log :statistics on-statistics
                                     :throttle on-throttle :token on-token))
         (core (make-producer-core :name (client-name 'producer conf) :handlers handlers :draining drain
                                   :reportsp reports
                                   :key-serde (check-serde key-serde)
                                   :value-serde (check-serde value-serde))))
    (call-and-adopt producer core
                    (lambda ()
                      (make-handle conf '() (if reports
                                              (event-mask handlers :report :request)
                                              (event-mask handlers :request))
                                   (lambda (config place details) (kabi-ll:producer-new config place details))
                                   'producer)))))

(defun collect-handlers (&rest handlers)
  "A plist of the kinds that have a function."
  (loop for (kind function) on handlers by #'cddr
        when function
          append (progn
                   (check-argument function (or function symbol) "a function")
                   (list kind function))))

(defun make-producer (&rest arguments &key &allow-other-keys)
  "A new producer; the arguments are those of MAKE-INSTANCE with the class PRODUCER."
  (apply #'make-instance 'producer arguments))

(defmacro with-producer ((producer &rest arguments) &body body)
  "Evaluate BODY with PRODUCER bound to a new producer made with ARGUMENTS, and close it, however BODY is
left."
  `(call-with-client (make-producer ,@arguments) (lambda (,producer) ,@body)))

;;; ---- what the kind is in the interface ----

(define-core-calls producer producer-core)

(defmethod core-call-close ((core producer-core) timeout details)
  (cffi:with-foreign-object (undelivered :uint64)
    (setf (cffi:mem-ref undelivered :uint64) 0)
    (let ((status (kabi-ll:producer-close (core-handle core) timeout undelivered details)))
      (values status (cffi:mem-ref undelivered :uint64)))))

;;; ---- futures of deliveries ----

(defstruct (delivery (:include future) (:constructor make-delivery (meeting)) (:copier nil))
  "The future of a record that was sent: its report's fields, without a report to allocate."
  (topic -1 :type (signed-byte 32))
  (partition -1 :type (signed-byte 32))
  (offset -1001 :type (signed-byte 64))
  (timestamp -1 :type (signed-byte 64))
  (latency -1 :type (signed-byte 64))
  (code 0 :type (signed-byte 32))
  (flags 0 :type (unsigned-byte 32))
  (persisted 0 :type (signed-byte 32))
  (context nil))                        ; for who builds on this library

(defstruct (report (:copier nil))
  "Where a record that was sent has gone: the value of the future that SEND gives."
  (topic "" :type string :read-only t)
  (partition 0 :type (signed-byte 32) :read-only t)
  (offset nil :type (or null (signed-byte 64)) :read-only t)
  (timestamp nil :type (or null (signed-byte 64)) :read-only t)
  (latency nil :type (or null (signed-byte 64)) :read-only t)
  (persisted :yes :type (member :no :possibly :yes) :read-only t))

(document-functions
 (report-topic "The name of the topic that the record went to.")
 (report-partition "The partition that the record went to.")
 (report-offset "The record's offset in its partition, or NIL if the broker did not tell, as with acks=0.")
 (report-timestamp "The record's timestamp in milliseconds since 1970, or NIL.")
 (report-latency "Microseconds from the send to the broker's answer, or NIL unless the property
kafkabi.report.latency is true.")
 (report-persisted ":YES: the record was written, and acknowledged as the property acks asks."))

(defun persisted-keyword (number)
  (case number
    (#.kabi-ll:+persisted-yes+ :yes)
    (#.kabi-ll:+persisted-no+ :no)
    (t :possibly)))

(defun delivery-topic-name (delivery)
  (topic-name (delivery-meeting delivery) (delivery-topic delivery)))

(defmethod future-value ((delivery delivery))
  (flet ((known (number) (unless (minusp number) number)))
    (or (future-result delivery)
        (setf (future-result delivery)
              (make-report :topic (delivery-topic-name delivery)
                           :partition (delivery-partition delivery)
                           :offset (known (delivery-offset delivery))
                           :timestamp (known (delivery-timestamp delivery))
                           :latency (known (delivery-latency delivery))
                           :persisted (persisted-keyword (delivery-persisted delivery)))))))

(defmethod future-condition ((delivery delivery))
  (or (future-result delivery)
      (setf (future-result delivery) (delivery-condition delivery))))

(defun delivery-condition (delivery)
  (report-condition (delivery-meeting delivery) (delivery-topic delivery) (delivery-partition delivery)
                    (delivery-code delivery) (delivery-flags delivery) (delivery-persisted delivery)))

(defun report-condition (core topic partition code flags persisted)
  (make-condition (if (logtest flags kabi-ll:+error-fatal+) 'fatal-error 'delivery-error)
                  :code code :flags flags :description (code-text code) :operation 'send
                  :topic (topic-name core topic) :partition (unless (minusp partition) partition)
                  :allow-other-keys t :persisted (persisted-keyword persisted)))

;;; ---- tokens ----

(defun add-slots (core)
  "Double the slots, with the lock held."
  (let* ((old (producer-slots core))
         (begin (length old))
         (new (make-array (max 256 (* 2 begin)))))
    (replace new old)
    (loop for index from begin below (length new)
          do (setf (svref new index) (1+ index)))
    (setf (svref new (1- (length new))) (producer-free-slot core)
          (producer-slots core) new
          (producer-free-slot core) begin)))

(declaim (inline take-slot give-slot-back))
(defun take-slot (core future)
  "The token for FUTURE, with the lock held."
  (declare (type producer-core core) (optimize speed))
  (when (minusp (producer-free-slot core)) (add-slots core))
  (let ((index (producer-free-slot core)) (slots (producer-slots core)))
    (setf (producer-free-slot core) (the fixnum (svref slots index))
          (svref slots index) future
          (producer-taken core) (the fixnum (1+ (producer-taken core))))
    (1+ index)))

(defun give-slot-back (core token)
  "The future that TOKEN stands for, with the lock held. The token is free after."
  (declare (type producer-core core) (type index token) (optimize speed))
  (let* ((index (1- token)) (slots (producer-slots core)) (future (svref slots index)))
    (setf (svref slots index) (producer-free-slot core)
          (producer-free-slot core) index
          (producer-returned core) (the fixnum (1+ (producer-returned core))))
    future))

(defun take-token (core future)
  (declare (type producer-core core))
  (with-short-lock ((meeting-lock core))
    (take-slot core future)))

(defun give-token-back (core token)
  "For a record that was not taken, and so will have no report."
  (with-short-lock ((meeting-lock core))
    (give-slot-back core token)
    (when (plusp (meeting-waiting core)) (wake-all (meeting-waiters core)))))

(defmethod take-reports ((core producer-core) first)
  (declare (type index first))
  (let ((next first) (failures '()) (tasks '()))
    (declare (type index next))
    (with-short-lock ((meeting-lock core))
      (if (eql (core-handle core) kabi-ll:+no-handle+)
          (setf next (core-events-count core)) ; their futures are given up, and have failed
          (multiple-value-setq (next tasks failures) (complete-reports core first)))
      (when (and failures (getf (core-handlers core) :error))
        (setf tasks (nconc (mapcar (lambda (failure) (failure-task core failure)) failures) tasks)))
      (setf (core-tasks core) (nconc tasks (core-tasks core)))
      (when (plusp (meeting-waiting core))
        (wake-all (meeting-waiters core))))
    next))

(defun failure-task (core failure)
  "A task that tells the program of a record without a future that was not delivered."
  (lambda () (call-handler core :error (apply #'report-condition core failure))))

(declaim (inline fill-delivery))
(defun fill-delivery (future event code)
  (declare (type delivery future) (type (signed-byte 32) code))
  (setf (delivery-topic future) (kabi-ll:event-topic event)
        (delivery-partition future) (kabi-ll:event-partition event)
        (delivery-offset future) (kabi-ll:event-offset event)
        (delivery-timestamp future) (kabi-ll:event-timestamp event)
        (delivery-latency future) (kabi-ll:event-latency-us event)
        (delivery-code future) code
        (delivery-flags future) (kabi-ll:event-flags event)
        (delivery-persisted future) (kabi-ll:event-persisted event))
  (write-barrier)                       ; the state last, for those who look without the lock
  (setf (future-state future) (if (zerop code) +fulfilled+ +failed+)))

(defun complete-reports (core first)
  "With the lock held: the number of the first event that is no report, the callbacks of the futures that
were completed, the newest first, and the failures of records that have no future."
  (declare (type producer-core core) (type index first) (optimize speed))
  (let ((event (cffi:inc-pointer (staging-pointer (core-events core))
                                 (the index (* first kabi-ll:+sizeof-event+))))
        (count (core-events-count core)) (next first) (tasks '()) (failures '()))
    (declare (type index next count) (type list tasks failures))
    (loop
      (unless (and (< next count)
                   (eql (kabi-ll:event-kind event) kabi-ll:+event-report+))
        (return (values next tasks failures)))
      (let ((token (kabi-ll:event-token event)) (code (kabi-ll:event-code event)))
        (declare (type (signed-byte 32) code))
        (cond ((plusp token)
               (let* ((token (ldb (byte 48 0) token))
                      (future (svref (producer-slots core) (1- token))))
                 (declare (type index token))
                 ;; ABANDON may have failed it while its report waited here.
                 (when (delivery-p future)
                   (give-slot-back core token)
                   (fill-delivery future event code)
                   (when (future-callbacks future)
                     (setf tasks (append (future-callbacks future) tasks)
                           (future-callbacks future) '())))))
              ((not (zerop code))
               (push (list (kabi-ll:event-topic event) (kabi-ll:event-partition event) code
                           (kabi-ll:event-flags event) (kabi-ll:event-persisted event))
                     failures))))
      (incf next)
      (setf event (cffi:inc-pointer event kabi-ll:+sizeof-event+)))))

(defmethod abandon ((core producer-core))
  (let ((futures '()))
    (with-short-lock ((meeting-lock core))
      (mapc #'free-staging (shiftf (producer-stagings core) '()))
      (let ((slots (producer-slots core)))
        (dotimes (index (length slots))
          (when (delivery-p (svref slots index))
            (push (give-slot-back core (1+ index)) futures)))))
    (dolist (future futures)
      (fail future (make-condition 'closed-error
                                   :flags kabi-ll:+error-outcome-unknown+ :operation 'send
                                   :description (format nil "~A is gone, and so is the report"
                                                        (core-name core)))))))

;;; ---- flush and purge ----

(defun flush (producer &key (timeout -1))
  "Wait until every record that was sent has its report and its future is completed, up to TIMEOUT
milliseconds (-1: for ever). Return how many records failed since the last flush that ended."
  (check-argument producer producer "a producer")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((core (use producer 'flush)) (deadline (deadline timeout)))
    (cffi:with-foreign-object (failed :uint64)
      (with-details (details)
        (check-status (in-slices (slice timeout core)
                        (kabi-ll:producer-flush (core-handle core) slice failed details))
                      details nil :operation 'flush))
      (await-returned core (producer-taken core) deadline)
      (cffi:mem-ref failed :uint64))))

(defun await-returned (core count deadline)
  "Wait until COUNT tokens have come back. Reports come in the order in which they were queued, so that
those which were there at the call are then dispatched."
  (loop until (>= (producer-returned core) count)
        do (let ((left (left deadline)))
             (when (zerop left)
               (error 'timeout-error :operation 'flush
                                     :description "the futures of some records are not completed yet"))
             (unless (help-along core +slice+)
               (let ((lock (meeting-lock core)))
                 (with-lock (lock)
                   (incf (meeting-waiting core))
                   (unwind-protect
                        (unless (>= (producer-returned core) count)
                          (wait-with-lock (meeting-waiters core) lock (if (minusp left) 1 (/ left 1000))))
                     (decf (meeting-waiting core)))))))))

(defun purge (producer &key (queued t) (in-flight t))
  "Give records up: those that wait to be sent (QUEUED), and those that brokers have not acknowledged yet
(IN-FLIGHT), which may have been written. Their futures fail."
  (check-argument producer producer "a producer")
  (let ((core (use producer 'purge))
        (what (logior (if queued kabi-ll:+purge-queued+ 0) (if in-flight kabi-ll:+purge-in-flight+ 0))))
    (unless (zerop what)
      (with-details (details)
        (check-status (kabi-ll:producer-purge (core-handle core) what details) details nil
                      :operation 'purge)))
    nil))

(defun in-flight-count (producer)
  "How many records of PRODUCER have a future that is not completed."
  (check-argument producer producer "a producer")
  (let ((core (client-core producer)))
    (with-short-lock ((meeting-lock core))
      (- (producer-taken core) (producer-returned core)))))
