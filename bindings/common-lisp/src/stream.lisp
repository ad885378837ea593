;;;; Many records: batches, and loops over the stream of them.

(in-package #:kafkabi)

(defun poll-batch (consumer &key (timeout -1) (limit +poll-records+))
  "A vector of the next records, up to LIMIT of them and as many as are there, in the order in which they came;
an empty one if none comes within TIMEOUT milliseconds (-1: wait for ever).

They count as handled when the next poll is made; HANDLED says it earlier for each. What is told about a
partition is signalled as a PARTITION-ERROR, and a deserializer's condition as by POLL, by the call that would
give it first: a batch ends before such an entry."
  (check-argument consumer consumer "a consumer")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (check-argument limit (integer 1 65536) "how many records at most, 1 to 65,536")
  (let ((core (use consumer 'poll-batch)))
    (declare (type consumer-core core))
    (with-poll (core 'poll-batch)
      (finish-all core)
      (pace core)
      (take-records core timeout limit))))

(defun take-records (core timeout limit)
  (declare (type consumer-core core) (type index limit))
  (let ((deadline (deadline timeout)))
    (loop
      (let ((code (next-code core (left deadline))))
        (cond ((null code) (return (vector)))
              ((zerop code)
               ;; There are none if another thread has dropped them since.
               (let ((records (take-more core limit)))
                 (unless (zerop (length records)) (return records))))
              (t (let ((condition (entry-condition core (entry-in-hand core) code)))
                   (when (take-entry core)
                     (error condition)))))))))

(defun take-more (core limit)
  "The first staged record and those after it. When this is left by a throw nothing was handed out, but for the
first record if it is its deserializer that signals."
  (declare (type consumer-core core) (type index limit) (optimize speed))
  (let* ((next (consumer-next core)) (place (consumer-place core))
         (room (min limit (- (consumer-count core) next)))
         (records (make-array room)) (filled 0) (done nil))
    (declare (type index filled room))
    (unwind-protect
         (progn
           (loop while (and (< filled room) (< (consumer-place core) (consumer-end core)))
                 do (let* ((pointer (entry-at core (consumer-place core)))
                           (code (kabi-ll:packed-code pointer)))
                      (cond ((zerop code)
                             (let ((record (unpack core pointer (ticket core))))
                               (when (take-entry core)
                                 (when (serdes-p core)
                                   (when (zerop filled) (setf done t))
                                   (unless (deserialize-in-batch core record (zerop filled))
                                     (step-back core next place filled)
                                     (return))
                                   (setf done nil))
                                 (setf (svref records filled) record)
                                 (incf filled))))
                            ((eql code +dropped+) (skip-dropped core))
                            (t (return)))))
           (setf done t)
           (if (= filled room) records (subseq records 0 filled)))
      (unless done
        (setf (consumer-next core) next
              (consumer-place core) place)))))

(defun deserialize-in-batch (core record firstp)
  "False if RECORD can't be deserialized and is not the first of its batch: the next poll meets it."
  (if firstp
      (deserialize core record)
      (handler-case (deserialize core record)
        (error () nil))))

(defun step-back (core next place count)
  "Hand out only the first COUNT records of those from NEXT on, which begin at PLACE."
  (declare (type consumer-core core) (type index next place count))
  (let ((taken 0))
    (declare (type index taken))
    (loop while (< taken count)
          do (let ((entry (entry-at core place)))
               (unless (eql (kabi-ll:packed-code entry) +dropped+) (incf taken))
               (incf next)
               (incf place (the index (kabi-ll:packed-size entry)))))
    (kabi-ll:uninterrupted
      (setf (consumer-next core) next
            (consumer-place core) place))))

;;; ---- loops ----

(defun map-records (function consumer &key (timeout -1) limit)
  "Call FUNCTION with one record after the other, until none comes for TIMEOUT milliseconds (-1: wait for ever),
or LIMIT records have come, if it is not NIL. Return how many there were.

A record is lent for the call: FUNCTION reads it in place, from the thread that called this, and COPY-RECORD
makes one to keep. It counts as handled when FUNCTION returns; when the loop is left by a throw or an error, the
record at hand does not, until the program polls this consumer again or says HANDLED: a COMMIT in between, also in
a function for revocations, leaves it out. What is told about a partition is signalled
as a PARTITION-ERROR with the restart CONTINUE, which goes on with the next record. In FUNCTION the program may
commit, seek, pause and so on, but not poll the same consumer: that signals an error."
  (check-argument function (or function symbol) "a function of a record")
  (check-argument consumer consumer "a consumer")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (check-argument limit (or null (integer 0)) "how many records at most, or NIL")
  (let ((core (use consumer 'map-records))
        (function (if (functionp function) function (fdefinition function))))
    (declare (type consumer-core core))
    (let ((lent nil) (count 0))
      (declare (type index count))
      (unwind-protect
           (with-poll (core 'map-records
                       (when lent (setf (lent-address lent) 0)))
             (finish core)
             ;; It stays true when the loop is left abnormally, so that no commit finishes the record in hand.
             (setf (consumer-loopp core) t)
             (loop
               (when (and limit (>= count (the integer limit))) (return))
               (pace core)
               (unless (eq (core-state core) :open) (signal-closed core 'map-records))
               (let ((code (or (next-code core timeout) (return)))
                     (pointer (entry-in-hand core)))
                 (cond ((not (take-entry core)))
                       ((eql code 0)
                        (incf count)
                        (setf lent (make-lent-record core (cffi:pointer-address pointer)))
                        (funcall (the function function) lent)
                        (setf (lent-address lent) 0))
                       (t (with-simple-restart (continue "Go on with the next record.")
                            (error (entry-condition core pointer code)))))
                 (finish core)))
             (setf (consumer-loopp core) nil)
             count)
        (tell-handled core)))))

(defmacro do-records ((record consumer &rest arguments &key timeout limit) &body body)
  "Evaluate BODY with RECORD bound to one record after the other, as MAP-RECORDS calls its function: until none
comes for TIMEOUT milliseconds (-1, the default: wait for ever), or LIMIT records have come. The value is how many
there were, or what RETURN gives, which leaves the loop: say HANDLED before it for the record at hand."
  (declare (ignore timeout limit))
  `(block nil
     (flet ((body (,record)
              (declare (ignorable ,record))
              ,@body))
       (declare (dynamic-extent #'body))
       (map-records #'body ,consumer ,@arguments))))
