;;;; Polling one record at a time. Records cross in batches, into a staging buffer of the consumer's, and
;;;; are handed out of it one by one. A record counts as handled when the program polls the next one: the
;;;; library is told when a batch is used up, every tenth of a second, and before everything that commits.

(in-package #:kafkabi)

(defconstant +poll-records+ 500 "How many records cross at once at most.")
(defconstant +poll-octets+ (* 1024 1024) "The size of a staging buffer; one larger record makes it grow.")
(defconstant +tell-every+ 100 "Milliseconds after which the library is told what is handled.")
(defconstant +show-every+ 1000 "Milliseconds after which librdkafka is shown that the program still polls.")
(defconstant +longest-stride+ 64 "At how many records the clock is looked at, if they pass quickly.")
(defconstant +dropped+ #x7fffffff "The code of a staged record that is not to be handed out any more.")

;;; ---- who polls ----

(defun take-poll (core)
  "Become the thread that polls, and return true, unless another one does."
  (with-short-lock ((meeting-lock core))
    (unless (consumer-poller core)
      (setf (consumer-poller core) (this-thread)))))

(defun signal-busy (core operation)
  (error 'kafka-error
         :code kabi-ll:+status-busy+ :operation operation
         :description (if (eq (consumer-poller core) (this-thread))
                          "this thread is inside a loop, or a function for changes, of this consumer"
                          "another thread polls this consumer")))

(defmacro with-poll ((core operation &rest cleanup) &body body)
  "Evaluate BODY as the thread that polls, and then CLEANUP, whenever an interrupt comes."
  (let ((taken (gensym "TAKEN")))
    `(let ((,taken nil))
       (unwind-protect
            (progn
              (kabi-ll:uninterrupted (setf ,taken (take-poll ,core)))
              (unless ,taken (signal-busy ,core ,operation))
              ,@body)
         (when ,taken
           ,@cleanup
           (setf (consumer-poller ,core) nil))))))

;;; ---- what is handled ----

(defun tell-handled (core)
  "Tell the library which records of the batch in hand the program has finished with."
  (declare (type consumer-core core))
  (multiple-value-bind (batch count)
      (with-short-lock ((meeting-lock core))
        (when (> (consumer-finished core) (consumer-handled core))
          (setf (consumer-handled core) (consumer-finished core))
          (values (consumer-batch core) (consumer-finished core))))
    (when batch
      (say-handled core batch count))))

(defun say-handled (core batch count)
  "The first COUNT records of BATCH are handled. A client that is closed meanwhile does not matter."
  (with-details (details)
    (kabi-ll:consumer-handled (core-handle core) batch count details))
  nil)

(declaim (inline finish finish-all))
(defun finish (core)
  "All that was handed out is finished with."
  (declare (type consumer-core core))
  (setf (consumer-finished core) (consumer-next core))
  (when (consumer-owed core) (pay core)))

(defun finish-all (core)
  "The program polls: it has finished with all that was handed out, even the record at which it left a loop."
  (declare (type consumer-core core))
  (finish core)
  (setf (consumer-loopp core) nil))

(defun pay (core)
  (let ((places (with-short-lock ((meeting-lock core)) (shiftf (consumer-owed core) '()))))
    (store-places core places)))

(defun settle-handled (core)
  "All that was handed out is finished with, but for the record that a loop is at; tell the library. The record at
which a loop was left abnormally stays unfinished, until the program polls or says HANDLED."
  (declare (type consumer-core core))
  (unless (consumer-loopp core) (finish core))
  (tell-handled core))

(defun handled (consumer &optional record)
  "Say that records are handled before the next poll says so: RECORD, which POLL or POLL-BATCH gave, and all that
were handed out before it in its batch; or, without one, all that were handed out, also the one that a loop is
at. What is handled can be committed. One of a partition that was moved or taken away meanwhile is no error; signal
an ARGUMENT-ERROR for one that this consumer did not give, a copy, or one that MAKE-RECORD made."
  (check-argument consumer consumer "a consumer")
  (check-argument record (or null record) "a record that this consumer gave, or NIL for all")
  (let ((core (use consumer 'handled)))
    (cond ((kept-record-p record)
           (multiple-value-bind (batch count) (ticket-of core record)
             (with-short-lock ((meeting-lock core))
               (when (and (eql batch (consumer-batch core)) (> count (consumer-finished core)))
                 (setf (consumer-finished core) (min count (consumer-next core)))))
             (say-handled core batch count)))
          (t (when record
               (lent-pointer record)
               (unless (eq (lent-core record) core)
                 (argument-error 'record record "a record that this consumer gave")))
             (finish core)
             (tell-handled core)))
    nil))

;;; ---- the batch in hand ----

(declaim (inline entry-at))
(defun entry-at (core place)
  (declare (type consumer-core core) (type index place))
  (cffi:inc-pointer (staging-pointer (the staging (consumer-staging core))) place))

(defun forget-batch (core)
  "Nothing is staged from here on; who looks at the batch holds the lock."
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (setf (consumer-batch core) 0
          (consumer-count core) 0
          (consumer-next core) 0
          (consumer-finished core) 0
          (consumer-handled core) 0
          (consumer-place core) 0
          (consumer-end core) 0)))

(defun poll-packed (core slice info details)
  "One call; +STATUS-TIMED-OUT+ if it gave no record. The batch is noted before an interrupt or a move can come."
  (declare (type consumer-core core))
  (let-moves-pass core slice)
  (pulling (core kabi-ll:+status-timed-out+)
    (unless (zerop (consumer-count core)) (forget-batch core))
    (let* ((staging (consumer-staging core))
           (status (kabi-ll:consumer-poll-packed (core-handle core) +poll-records+ slice
                                                 (staging-pointer staging) (staging-size staging)
                                                 info details)))
      (cond ((not (zerop status)) status)
            ((zerop (kabi-ll:batch-info-count info)) kabi-ll:+status-timed-out+)
            (t (with-short-lock ((meeting-lock core))
                 (setf (consumer-batch core) (kabi-ll:batch-info-number info)
                       (consumer-count core) (kabi-ll:batch-info-count info)
                       (consumer-end core) (kabi-ll:batch-info-size info)))
               0)))))

(defun next-batch (core timeout)
  "Fetch records to the staging buffer, and let changes of the assignment take place. Return true if there are
some, NIL if the time is over."
  (declare (type consumer-core core))
  (tell-handled core)
  (unless (consumer-staging core)
    (setf (consumer-staging core) (make-staging +poll-octets+)))
  (let ((deadline (deadline timeout)))
    (cffi:with-foreign-object (info :uint8 #.kabi-ll:+sizeof-batch-info+)
      (with-details (details)
        (loop
          (let ((status (in-slices (slice (left deadline) core kabi-ll:+status-timed-out+)
                          (poll-packed core slice info details))))
            (cond ((zerop status)
                   (start-clock core)
                   (return t))
                  ((eql status kabi-ll:+status-timed-out+) (return nil))
                  ((eql status kabi-ll:+status-state+) (meet-change core))
                  ((eql status kabi-ll:+status-buffer-too-small+)
                   (setf (consumer-staging core)
                         (grow-staging (consumer-staging core) (kabi-ll:batch-info-size info) 0)))
                  (t (check-status status details nil :operation 'poll)))))))))

(defmacro do-staged ((core entry) &body body)
  "Evaluate BODY, briefly, with ENTRY bound to the address of each staged record that was not handed out yet."
  (let ((place (gensym "PLACE")) (client (gensym "CORE")))
    `(let ((,client ,core))
       (with-short-lock ((meeting-lock ,client))
         (with-full-barrier ((setf (consumer-dropping ,client) t))
           (loop while (consumer-taking ,client) do (give-way))
           nil)
         (loop with ,place of-type index = (consumer-place ,client)
               while (< ,place (consumer-end ,client))
               do (let ((,entry (entry-at ,client ,place)))
                    (incf ,place (kabi-ll:packed-size ,entry))
                    (unless (eql (kabi-ll:packed-code ,entry) +dropped+)
                      ,@body)))
         (setf (consumer-dropping ,client) nil)))))

(defun same-partition-p (place other)
  (and (eql (place-number place) (place-number other))
       (eql (place-partition place) (place-partition other))))

(defun entry-of-p (entry place)
  (and (eql (kabi-ll:packed-topic entry) (place-number place))
       (eql (kabi-ll:packed-partition entry) (place-partition place))))

(defun drop-staged (core &optional (places nil placesp))
  "Records of PLACES, or of every partition, that were not handed out yet are not to be."
  (when (consumer-owed core)
    (with-short-lock ((meeting-lock core))
      (setf (consumer-owed core)
            (and placesp (set-difference (consumer-owed core) places :test #'same-partition-p)))))
  (do-staged (core entry)
    (when (or (not placesp)
              (find-if (lambda (place) (entry-of-p entry place)) places))
      (setf (kabi-ll:packed-code entry) +dropped+))))

(defun drop-what-is-gone (core)
  "Records of partitions that are not assigned any more are not handed out."
  (let ((assigned (assigned-places core)))
    (do-staged (core entry)
      (unless (find-if (lambda (place) (entry-of-p entry place)) assigned)
        (setf (kabi-ll:packed-code entry) +dropped+)))))

(defun staged-keys (core)
  "(topic number . partition) and offset of each staged record."
  (let ((keys '()))
    (do-staged (core entry)
      (when (zerop (kabi-ll:packed-code entry))
        (push (cons (cons (kabi-ll:packed-topic entry) (kabi-ll:packed-partition entry))
                    (kabi-ll:packed-offset entry))
              keys)))
    (loop for ((number . partition) . offset) in (nreverse keys)
          collect (cons (cons (topic-name core number) partition) offset))))

(defun staged-offsets (core)
  "An alist of (topic . partition) and the offset of the first record of it that is staged."
  (remove-duplicates (staged-keys core) :key #'car :test #'equal :from-end t))

(defun staged-spans (core)
  "An alist of (topic . partition) and how many offsets there are from the first record of it that is staged to after
the last."
  (let* ((keys (staged-keys core))
         (lasts (remove-duplicates keys :key #'car :test #'equal)))
    (loop for (key . first) in (remove-duplicates keys :key #'car :test #'equal :from-end t)
          collect (cons key (- (1+ (cdr (assoc key lasts :test #'equal))) first)))))

(defun withhold (core place)
  "Staged records of PLACE, which is paused, are not handed out: they are read again when it flows again."
  (let ((first nil))
    (do-staged (core entry)
      (when (entry-of-p entry place)
        (when (and (null first) (zerop (kabi-ll:packed-code entry)))
          (setf first (kabi-ll:packed-offset entry)))
        (setf (kabi-ll:packed-code entry) +dropped+)))
    (when first
      (tell-handled core)
      (let ((in-hand (unfinished-offset core place)))
        (seek-back core place first)
        ;; The move has set what is stored to where it goes; the record in hand is not handled yet.
        (when in-hand
          (store-places core (list (place-at place in-hand)))
          (with-short-lock ((meeting-lock core))
            (push (place-at place first) (consumer-owed core))))))))

(defun unfinished-offset (core place)
  "The offset of the first record of PLACE that was handed out and is not finished with, or NIL."
  (with-short-lock ((meeting-lock core))
    (loop with at of-type index = 0
          for index from 0 below (consumer-next core)
          do (let ((entry (entry-at core at)))
               (when (and (>= index (consumer-finished core))
                          (zerop (kabi-ll:packed-code entry))
                          (entry-of-p entry place))
                 (return (kabi-ll:packed-offset entry)))
               (incf at (kabi-ll:packed-size entry))))))

(defun place-at (place offset)
  (let ((copy (make-place (place-topic place) (place-partition place) offset)))
    (setf (place-number copy) (place-number place))
    copy))

(defun seek-back (core place offset)
  "On a thread of the pool. Nobody cuts it short: the records are dropped already."
  (let ((patience (list t)))
    (multiple-value-bind (after condition)
        (call-with-outcome core 'pause (list (place-at place offset))
                           (lambda (pointer count details)
                             (patiently core +ask-timeout+ patience
                                        (lambda (left)
                                          (kabi-ll:consumer-seek (core-handle core) pointer count left
                                                                 details)))))
      (settle-places 'pause condition after #'place-key))))

(defun store-places (core places)
  (with-places (pointer count places)
    (with-details (details)
      (kabi-ll:consumer-store (core-handle core) pointer count details))))

;;; ---- the clock ----

(defun start-clock (core)
  (declare (type consumer-core core))
  (let ((now (now)))
    (setf (consumer-looked-at core) now
          (consumer-told-at core) now
          (consumer-pulled-at core) now)))

(declaim (inline pace))
(defun pace (core)
  "Called between two records: every so often looks at the clock and does what is due."
  (declare (type consumer-core core))
  (when (<= (decf (consumer-ticks core)) 0)
    (look-at-clock core)))

(defun look-at-clock (core)
  (declare (type consumer-core core))
  (let* ((now (now)) (passed (- now (consumer-looked-at core))))
    (setf (consumer-looked-at core) now
          (consumer-stride core) (cond ((< passed 1) (min +longest-stride+ (* 2 (consumer-stride core))))
                                       ((> passed 10) 1)
                                       (t (consumer-stride core)))
          (consumer-ticks core) (consumer-stride core))
    (when (> (- now (consumer-told-at core)) +tell-every+)
      (setf (consumer-told-at core) now)
      (tell-handled core))
    (when (and (> (- now (consumer-pulled-at core)) +show-every+)
               (< (consumer-place core) (consumer-end core)))
      (setf (consumer-pulled-at core) now)
      (show-life core))))

(defun show-life (core)
  "While a batch in hand lasts, let librdkafka see that the program polls (max.poll.interval.ms), and changes of
the assignment take place: a poll into no buffer, which takes no record."
  (cffi:with-foreign-object (info :uint8 #.kabi-ll:+sizeof-batch-info+)
    (with-details (details)
      (let ((status (kabi-ll:consumer-poll-packed (core-handle core) 1 0 (cffi:null-pointer) 0 info
                                                  details)))
        (case status
          ((0 #.kabi-ll:+status-buffer-too-small+ #.kabi-ll:+status-interrupted+)
           (drop-what-is-gone core))
          (#.kabi-ll:+status-state+ (meet-change core))
          (t (check-status status details nil :operation 'poll)))))))

;;; ---- one record ----

(declaim (inline ticket))
(defun ticket (core)
  "What names the record that is handed out next, for HANDLED: 14 bits of its consumer's number, which is not 0, 38 of its
batch's and 10 of its place in that, which is below +POLL-RECORDS+."
  (declare (type consumer-core core))
  (logior (ash (consumer-number core) 48)
          (ash (ldb (byte 38 0) (consumer-batch core)) 10)
          (ldb (byte 10 0) (consumer-next core))))

(defun ticket-of (core record)
  "The batch of RECORD, and how many records of it are handled with this one."
  (let ((ticket (kept-ticket record)))
    (unless (eql (ldb (byte 14 48) ticket) (consumer-number core))
      (argument-error 'record record
                      (if (zerop ticket)
                          "a record that a poll gave: a copy or one that was made names no batch"
                          "a record that this consumer gave")))
    (values (ldb (byte 38 10) ticket) (1+ (ldb (byte 10 0) ticket)))))

(defun deserialized-key (core octets)
  (declare (type consumer-core core))
  (if (and octets (consumer-key-serde core))
      (with-store-function ((consumer-key-serde core) "keys")
        (let ((serde (consumer-key-serde core)))
          (if serde (funcall serde octets) octets)))
      octets))

(defun deserialized-value (core octets)
  (declare (type consumer-core core))
  (if (and octets (consumer-value-serde core))
      (with-store-function ((consumer-value-serde core) "values")
        (let ((serde (consumer-value-serde core)))
          (if serde (funcall serde octets) octets)))
      octets))

(declaim (inline serdes-p))
(defun serdes-p (core)
  (declare (type consumer-core core))
  (or (consumer-key-serde core) (consumer-value-serde core)))

(defun deserialize (core record)
  "Deserialize the key and value of RECORD, the key first."
  (declare (type consumer-core core) (type kept-record record))
  (when (serdes-p core)
    (setf (kept-key record) (deserialized-key core (kept-key-octets record))
          (kept-value record) (deserialized-value core (kept-value-octets record))))
  record)

(defun entry-condition (core pointer code)
  "What an entry with CODE, which is no record, tells about its partition."
  (let ((length (kabi-ll:packed-value-length pointer)))
    (make-status-condition
     code 0 'partition-error
     (if (plusp length)
         (foreign-text (cffi:inc-pointer pointer +head+) length)
         (code-text code))
     (list :operation 'poll
           :topic (topic-name core (kabi-ll:packed-topic pointer))
           :partition (kabi-ll:packed-partition pointer)
           :offset (kabi-ll:packed-offset pointer)))))

(declaim (inline advance entry-in-hand))
(defun advance (core pointer)
  "The entry at POINTER is handed out: both or none, whenever an interrupt comes."
  (declare (type consumer-core core))
  (kabi-ll:uninterrupted
    (setf (consumer-next core) (1+ (consumer-next core))
          (consumer-place core) (+ (consumer-place core) (kabi-ll:packed-size pointer)))))

(defun entry-in-hand (core)
  "The address of the entry that is to be handed out next, after NEXT-CODE. It is not NEXT-CODE that gives it:
a pointer that a function gives is allocated."
  (declare (type consumer-core core))
  (entry-at core (consumer-place core)))

(defun take-entry-with-lock (core)
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (unless (eql (kabi-ll:packed-code (entry-in-hand core)) +dropped+)
      (advance core (entry-in-hand core))
      t)))

(declaim (inline take-entry))
(defun take-entry (core)
  "Hand out the entry that comes next, and return true, unless another thread has dropped it meanwhile. An entry is either
handed out or dropped, so that a pause knows where it has to go back to. The lock would cost more than all else: it is
taken only while another thread looks at what is staged, which then waits until nothing is being taken without it."
  (declare (type consumer-core core) (optimize speed))
  (kabi-ll:uninterrupted
    (with-full-barrier ((setf (consumer-taking core) t))
      (cond ((consumer-dropping core)
             (setf (consumer-taking core) nil)
             (take-entry-with-lock core))
            ((eql (kabi-ll:packed-code (entry-in-hand core)) +dropped+)
             (setf (consumer-taking core) nil))
            (t (let ((place (consumer-place core)))
                 (setf (consumer-next core) (1+ (consumer-next core))
                       (consumer-place core) (+ place (kabi-ll:packed-size (entry-at core place))))
                 (write-barrier)
                 (setf (consumer-taking core) nil)
                 t)))
      (take-entry-with-lock core))))

(defun skip-dropped (core)
  "Go on after the dropped entries that come next. With the lock held: who drops some is done with all of them then, so
that none of those after is handed out."
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (loop while (and (< (consumer-place core) (consumer-end core))
                     (eql (kabi-ll:packed-code (entry-in-hand core)) +dropped+))
          do (advance core (entry-in-hand core)))))

(defun next-code (core timeout)
  "The code of the entry that is to be handed out next, 0 of a record, or NIL if the time is over. The caller goes by it,
and does not read it again: another thread may drop the entry until TAKE-ENTRY."
  (declare (type consumer-core core) (type milliseconds timeout) (optimize speed))
  (loop
    (cond ((< (consumer-place core) (consumer-end core))
           (let ((code (kabi-ll:packed-code (entry-in-hand core))))
             (declare (type (signed-byte 32) code))
             (unless (eql code +dropped+) (return code)))
           (skip-dropped core))
          ((not (next-batch core timeout)) (return nil)))))

(defun poll (consumer &key (timeout -1))
  "The next record, or NIL if none comes within TIMEOUT milliseconds (-1: wait for ever).

The record that the poll before gave counts as handled from here on. What is told about a partition, such
as its end with enable.partition.eof, is signalled as a PARTITION-ERROR. A condition of a deserializer has
the restart STORE-FUNCTION; after one the next poll goes on with the record that follows."
  (check-argument consumer consumer "a consumer")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((core (use consumer 'poll)))
    (declare (type consumer-core core))
    (with-poll (core 'poll)
      (finish-all core)
      (pace core)
      (loop
        (let ((code (or (next-code core timeout) (return nil)))
              (pointer (entry-in-hand core)))
          (if (eql code 0)
              (let ((record (unpack core pointer (ticket core))))
                (when (take-entry core)
                  (return (if (serdes-p core) (deserialize core record) record))))
              (let ((condition (entry-condition core pointer code)))
                (when (take-entry core)
                  (error condition)))))))))
