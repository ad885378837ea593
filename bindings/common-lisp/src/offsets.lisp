;;;; Where a consumer reads, and what its group has committed.

(in-package #:kafkabi)

;;; ---- positions ----

(defun positions (consumer partitions)
  "Where CONSUMER is in PARTITIONS, a sequence of (topic . partition) or T for all that are assigned: an alist
of (topic . partition) and the offset after the last record that was handed out, or to which it was moved;
NIL if neither has happened."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'positions)) (places (chosen-places core partitions)))
    ;; Nothing is staged between the two looks.
    (moving (core)
      (let ((staged (staged-offsets core)))
        (change-places (core 'positions places) (pointer count details)
          (if (zerop count)
              0
              (kabi-ll:consumer-position (core-handle core) pointer count details))
          (lambda (place)
            (let ((key (place-key place)))
              (cons key (or (cdr (assoc key staged :test #'equal)) (place-known-offset place))))))))))

(defun seek-places (core operation places timeout)
  "Move to the offsets of PLACES. Return places with the offsets that were moved to."
  (multiple-value-bind (later now) (split-by-change core places)
    (when later (begin-later core later))
    (when now
      (tell-handled core)
      (move-places (core operation now timeout) (pointer count left details)
        (kabi-ll:consumer-seek (core-handle core) pointer count left details)
        #'place-key))
    nil))

(defun seek (consumer offsets &key (timeout +ask-timeout+))
  "Go on reading elsewhere: OFFSETS is an alist or a hash-table of (topic . partition) and an offset: a number,
:BEGINNING, :END, or :STORED for what the group has committed. The partitions must be assigned; right after
ASSIGN it waits up to TIMEOUT milliseconds (-1: for ever) until they are ready. Records of them that were
handed out before don't count as handled any more. Signal a PARTIAL-ERROR if some failed; the others are
moved, and its GOODIES."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let ((core (use consumer 'seek)))
    (seek-places core 'seek (seek-targets offsets) timeout)))

(defun seek-targets (offsets)
  (mapcar (lambda (element)
            (unless (and (consp element) (cdr element))
              (argument-error 'offsets element "((topic . partition) . offset)"))
            (let ((place (partition-place (car element) 'offsets)))
              (setf (place-offset place) (offset-number (cdr element) 'offsets))
              place))
          (coerce-to-list (if (hash-table-p offsets) (table-alist offsets) offsets) 'offsets)))

(defun seek-all (consumer operation partitions offset timeout)
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer operation)) (places (chosen-places core partitions)))
    (dolist (place places)
      (setf (place-offset place) offset))
    (seek-places core operation places timeout)))

(defun seek-to-beginning (consumer partitions &key (timeout +ask-timeout+))
  "Go on at the first record of PARTITIONS, a sequence of (topic . partition) or T for all that are assigned.
Otherwise as SEEK."
  (seek-all consumer 'seek-to-beginning partitions kabi-ll:+offset-beginning+ timeout))

(defun seek-to-end (consumer partitions &key (timeout +ask-timeout+))
  "Go on after the last record of PARTITIONS, a sequence of (topic . partition) or T for all that are assigned.
Otherwise as SEEK."
  (seek-all consumer 'seek-to-end partitions kabi-ll:+offset-end+ timeout))

(defun seek-to-times (consumer times &key (timeout +ask-timeout+))
  "Go on at the first record at or after a time: TIMES is an alist or a hash-table of (topic . partition) and
milliseconds since 1970, or one such number for all partitions that are assigned. Return an alist of
(topic . partition) and the offset moved to, :END where no record is as late. Otherwise as SEEK."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'seek-to-times))
         (places (if (typep times '(unsigned-byte 63))
                     (mapcar (lambda (place) (setf (place-offset place) times) place)
                             (assigned-places core))
                     (time-places times 'times))))
    (when places
      (tell-handled core)
      (move-places (core 'seek-to-times places timeout) (pointer count left details)
        (kabi-ll:consumer-seek-to-times (core-handle core) pointer count left details)
        (lambda (place) (cons (place-key place) (offset-designator (place-offset place))))))))

;;; ---- commits ----

(defun committed-result (places)
  (mapcar (lambda (place) (cons (place-key place) (place-offset-and-metadata place))) places))

(defun start-commit (core places)
  "Begin a commit of PLACES, or of everything that is handled without any. Return its future."
  (let ((future (make-future core)))
    (cffi:with-foreign-object (number :uint64)
      (with-details (details)
        (with-places (pointer count (number-places core places))
          (check-status
           ;; Its event may come before the call returns; it is met with the lock held.
           (with-short-lock ((meeting-lock core))
             (let ((status (kabi-ll:consumer-commit-async (core-handle core) pointer count number
                                                          details)))
               (when (zerop status)
                 (setf (gethash (cffi:mem-ref number :uint64) (consumer-commits core))
                       (cons future places)))
               status))
           details nil :operation 'commit))))
    (ensure-draining core)
    future))

(defmethod handle-event ((core consumer-core) kind event)
  (if (eql kind kabi-ll:+event-commit+)
      (end-commit core event)
      (call-next-method)))

(defun end-commit (core event)
  (let* ((number (kabi-ll:event-token event))
         (commit (with-short-lock ((meeting-lock core))
                   (prog1 (gethash number (consumer-commits core))
                     (remhash number (consumer-commits core)))))
         (told (read-places core
                            (cffi:inc-pointer (staging-pointer (core-texts core))
                                              (kabi-ll:event-data-offset event))
                            (kabi-ll:event-data-count event)))
         (code (kabi-ll:event-code event)))
    (when commit
      (destructuring-bind (future . places) commit
        (if (zerop code)
            (fulfil future (committed-result
                            (or places (remove-if #'minusp told :key #'place-offset))))
            (fail future (commit-condition core event code told places)))))))

(defun commit-condition (core event code told places)
  (let ((bad (remove-if #'zerop told :key #'place-code)))
    (flet ((goody (place)
             (cons (place-key place)
                   (place-offset-and-metadata
                    (or (find (place-key place) places :key #'place-key :test #'equal) place)))))
      (if (rest told)
          (partial-condition 'commit told bad #'goody)
          (make-status-condition code (kabi-ll:event-flags event) (and bad 'partition-error)
                                 (event-text core event)
                                 (list* :operation 'commit
                                        (when bad
                                          (list :topic (place-topic (first bad))
                                                :partition (place-partition (first bad))))))))))

(defun commit (consumer &key (offsets nil offsetsp) async (timeout +ask-timeout+))
  "Commit for the group of CONSUMER.

Without OFFSETS: everything that is handled, to which records count that POLL and POLL-BATCH have handed out,
but of a loop of DO-RECORDS only those that its body has finished with: not the one at which it is, or at which it
was left by a throw, an error or RETURN. With OFFSETS: an alist or a hash-table
of (topic . partition) and the offset of the next record to read, or a cons of that and metadata (octets, a
string in UTF-8, or NIL); or a record, or a sequence of records, whose offsets + 1 are committed, the greatest
of each partition.

Return an alist of (topic . partition) and (offset . metadata) of what was committed, NIL if there was nothing
to commit. With ASYNC true return a future of that at once; else wait up to TIMEOUT milliseconds (-1: for ever)
and signal a TIMEOUT-ERROR after. Signal a PARTIAL-ERROR if several were committed and some failed."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'commit)) (places (and offsetsp (commit-places offsets 'offsets))))
    (cond ((and offsetsp (null places))
           (when async (let ((future (make-future core))) (fulfil future '()) future)))
          (async (unless offsetsp (settle-handled core))
                 (start-commit core places))
          (offsetsp
           (ask-places (core 'commit places timeout) (pointer count left details)
             (kabi-ll:consumer-commit (core-handle core) pointer count left details)
             (lambda (place) (cons (place-key place) (place-offset-and-metadata place)))))
          (t (settle-handled core)
             (let ((future (start-commit core '())))
               (unless (wait future :timeout timeout)
                 (error 'timeout-error :operation 'commit :flags kabi-ll:+error-outcome-unknown+
                                       :description (format nil "no answer within ~D ms" timeout)))
               (value future))))))

(defun store-offsets (consumer offsets)
  "Store OFFSETS, as COMMIT takes them, for the next commit of everything handled, be it automatic, by COMMIT
or at the close. What is handled later is stored in its place. Signal a PARTIAL-ERROR if some partitions are not
assigned; the others are stored, and its GOODIES."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'store-offsets)) (places (commit-places offsets 'offsets)))
    (when places
      (change-places (core 'store-offsets places) (pointer count details)
        (kabi-ll:consumer-store (core-handle core) pointer count details)
        #'place-key))
    nil))

(defun call-committed (core pointer count left details bytes)
  "Ask what is committed. BYTES is a list of the address of memory for metadata, which is replaced, and its size."
  (cffi:with-foreign-object (used :uint64)
    (let ((deadline (deadline left)))
      (loop
        (let ((status (kabi-ll:consumer-committed (core-handle core) pointer count (left deadline)
                                                  (first bytes) (second bytes) used details)))
          (unless (eql status kabi-ll:+status-buffer-too-small+) (return status))
          (deallocate (first bytes))
          (setf (second bytes) (+ 1024 (cffi:mem-ref used :uint64))
                (first bytes) (allocate (second bytes))))))))

(defun ask-committed (core places timeout patience)
  "On a thread of the pool: the places with what is committed, and the condition or NIL."
  (let ((bytes (list (allocate 4096) 4096)))
    (unwind-protect
         (call-with-outcome core 'committed places
                            (lambda (pointer count details)
                              (patiently core timeout patience
                                         (lambda (left)
                                           (call-committed core pointer count left details bytes)))))
      (deallocate (first bytes)))))

(defun committed (consumer partitions &key (timeout +ask-timeout+))
  "What the group has committed for PARTITIONS, a sequence of (topic . partition) or T for all that are
assigned: an alist of (topic . partition) and (offset . metadata), or NIL where nothing is committed. METADATA
is octets, or NIL for none. Ask the group's coordinator, and wait up to TIMEOUT milliseconds (-1: for ever).
Signal a PARTIAL-ERROR if some failed."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'committed))
         (places (number-places core (chosen-places core partitions))))
    (when places
      (multiple-value-bind (after condition)
          (asking (core patience) (ask-committed core places timeout patience))
        (settle-places 'committed condition after
                (lambda (place)
                  (cons (place-key place)
                        (and (place-known-offset place) (place-offset-and-metadata place)))))))))

;;; ---- questions to the partitions' leaders ----

(defun offsets-for-times (consumer times &key (timeout +ask-timeout+))
  "The first record at or after a time: TIMES is an alist or a hash-table of (topic . partition) and
milliseconds since 1970. Return an alist of (topic . partition) and an offset, :END where no record is as late,
as SEEK takes it. The partitions need not be assigned. Wait up to TIMEOUT milliseconds (-1: for ever); signal a
PARTIAL-ERROR if some failed. The embedded cluster says :END for every time."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'offsets-for-times)) (places (time-places times 'times)))
    (when places
      (ask-places (core 'offsets-for-times places timeout) (pointer count left details)
        (kabi-ll:consumer-offsets-for-times (core-handle core) pointer count left details)
        (lambda (place) (cons (place-key place) (offset-designator (place-offset place))))))))

(defun watermarks (consumer topic partition &key (timeout +ask-timeout+))
  "Two values: the first offset of a partition and the one after its last (with isolation.level=read_committed:
after the last that can be read). Ask its leader, and wait up to TIMEOUT milliseconds (-1: for ever). The
partition need not be assigned."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'watermarks))
         (place (first (number-places core (list (partition-place (cons topic partition) 'partition))))))
    (asking (core patience) (ask-watermarks core place timeout patience))))

(defun ask-watermarks (core place timeout patience)
  (cffi:with-foreign-objects ((low :int64) (high :int64))
    (with-details (details)
      (check-status (patiently core timeout patience
                               (lambda (left)
                                 (kabi-ll:consumer-watermarks (core-handle core) (place-number place)
                                                              (place-partition place) left low high
                                                              details)))
                    details nil :operation 'watermarks :topic (place-topic place)
                    :partition (place-partition place))
      (values (cffi:mem-ref low :int64) (cffi:mem-ref high :int64)))))

(defun cached-watermarks (consumer topic partition)
  "The same two values as earlier fetches and statistics have told them, without asking; NIL for what is not
known."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'cached-watermarks))
         (place (first (number-places core (list (partition-place (cons topic partition) 'partition))))))
    (cffi:with-foreign-objects ((low :int64) (high :int64))
      (call-checked (kabi-ll:consumer-watermarks-cached (core-handle core) (place-number place) partition
                                                        low high)
                    nil :operation 'cached-watermarks :topic topic :partition partition)
      (flet ((known (offset) (unless (minusp offset) offset)))
        (values (known (cffi:mem-ref low :int64)) (known (cffi:mem-ref high :int64)))))))

(defun lag (consumer partitions &key (timeout +ask-timeout+))
  "How many offsets CONSUMER is behind the end of PARTITIONS, a sequence of (topic . partition) or T for all that
are assigned: an alist of (topic . partition) and a number from 0, or NIL where it can't be told, as there is
neither a position nor a commit. Leaders and coordinator are asked, and waited for up to TIMEOUT milliseconds
(-1: for ever); with 0 nobody is asked, and only what fetches have told counts."
  (check-argument consumer consumer "a consumer")
  (check-timeout timeout)
  (let* ((core (use consumer 'lag))
         (places (number-places core (chosen-places core partitions)))
         (staged (staged-spans core)))
    (when places
      (loop for (key . lag) in (asking (core patience) (ask-lag core places timeout patience))
            collect (cons key (and lag (+ lag (or (cdr (assoc key staged :test #'equal)) 0))))))))

(defun ask-lag (core places timeout patience)
  (let ((count (length places)))
    (with-memory (lags (* 8 count))
      (with-details (details)
        (with-places (pointer count places)
          (check-status (patiently core timeout patience
                                   (lambda (left)
                                     (kabi-ll:consumer-lag (core-handle core) pointer lags count left
                                                           details)))
                        details nil :operation 'lag))
        (loop for place in places
              for index from 0
              collect (let ((lag (cffi:mem-aref lags :int64 index)))
                        (cons (place-key place) (unless (minusp lag) lag))))))))
