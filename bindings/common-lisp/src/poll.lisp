;;;; Polling one record at a time. Records cross in batches, into a staging buffer of the consumer's, and
;;;; are handed out of it one by one. A record counts as handled when the program polls the next one: the
;;;; library is told when a batch is used up, and before everything that commits.

(in-package #:kafkabi)

(defconstant +poll-records+ 500 "How many records cross at once at most.")
(defconstant +poll-octets+ (* 1024 1024) "The size of a staging buffer; one larger record makes it grow.")

(defun take-poll (core operation)
  "Become the thread that polls."
  (with-short-lock ((meeting-lock core))
    (when (consumer-poller core)
      (error 'kafka-error :code kabi-ll:+status-busy+ :operation operation
                          :description "another thread polls this consumer"))
    (setf (consumer-poller core) (this-thread))))

(declaim (inline leave-poll))
(defun leave-poll (core)
  (setf (consumer-poller core) nil))

(defun tell-handled (core)
  "Tell the library which records of the batch in hand were handled: those handed out before the last."
  (declare (type consumer-core core))
  (say-handled core (max 0 (1- (consumer-next core)))))

(defun say-handled (core count)
  "The first COUNT records of the batch in hand are handled."
  (declare (type consumer-core core) (type index count))
  (when (> count (consumer-handled core))
    (setf (consumer-handled core) count)
    (with-details (details)
      (let ((status (kabi-ll:consumer-handled (core-handle core) (consumer-batch core) count details)))
        (unless (member status '(0 #.kabi-ll:+status-closed+ #.kabi-ll:+status-handle+))
          (check-status status details nil :operation 'handled))))))

(defun next-batch (core timeout)
  "Fetch records to the staging buffer. Return true if there are some, NIL if the time is over."
  (declare (type consumer-core core))
  (say-handled core (consumer-count core))
  (unless (consumer-staging core)
    (setf (consumer-staging core) (make-staging +poll-octets+)))
  (cffi:with-foreign-object (info :uint8 #.kabi-ll:+sizeof-batch-info+)
    (with-details (details)
      (loop
        (let ((status (in-slices (slice timeout core kabi-ll:+status-timed-out+)
                        (poll-packed core slice info details))))
          (cond ((zerop status) (return t))
                ((eql status kabi-ll:+status-timed-out+) (return nil))
                ((eql status kabi-ll:+status-buffer-too-small+)
                 (setf (consumer-staging core)
                       (grow-staging (consumer-staging core) (kabi-ll:batch-info-size info) 0)))
                (t (check-status status details nil :operation 'poll))))))))

(defun poll-packed (core slice info details)
  "One call; +STATUS-TIMED-OUT+ if it gave no record. The batch is noted before an interrupt can come."
  (declare (type consumer-core core))
  (kabi-ll:uninterrupted
    (let* ((staging (consumer-staging core))
           (status (kabi-ll:consumer-poll-packed (core-handle core) +poll-records+ slice
                                                 (staging-pointer staging) (staging-size staging)
                                                 info details)))
      (cond ((not (zerop status)) status)
            (t
             (setf (consumer-batch core) (kabi-ll:batch-info-number info)
                   (consumer-count core) (kabi-ll:batch-info-count info)
                   (consumer-next core) 0
                   (consumer-handled core) 0
                   (consumer-place core) 0)
             (if (zerop (consumer-count core)) kabi-ll:+status-timed-out+ 0))))))

;;; ---- one record ----

(declaim (inline unpack))
(defun unpack (core pointer)
  "The record at POINTER, its key and value not deserialized yet."
  (declare (type consumer-core core) (optimize speed))
  (let* ((key-length (kabi-ll:packed-key-length pointer))
         (value-length (kabi-ll:packed-value-length pointer))
         (header-count (kabi-ll:packed-header-count pointer))
         (key (unless (minusp key-length)
                (copy-out (cffi:inc-pointer pointer +head+) key-length)))
         (value-place (+ +head+ (max 0 key-length)))
         (value (unless (minusp value-length)
                  (copy-out (cffi:inc-pointer pointer value-place) value-length))))
    (make-record :topic (topic-name core (kabi-ll:packed-topic pointer))
                 :partition (kabi-ll:packed-partition pointer)
                 :offset (kabi-ll:packed-offset pointer)
                 :timestamp (kabi-ll:packed-timestamp pointer)
                 :timestamp-type (timestamp-keyword (kabi-ll:packed-timestamp-type pointer))
                 :leader-epoch (kabi-ll:packed-leader-epoch pointer)
                 :key key :key-octets key :value value :value-octets value
                 :headers (if (zerop header-count)
                              '()
                              (read-headers (cffi:inc-pointer pointer
                                                              (+ value-place (max 0 value-length)))
                                            header-count)))))

(defun deserialize (core record)
  "Deserialize the key and value of RECORD, the key first."
  (declare (type consumer-core core) (type record record))
  (when (and (consumer-key-serde core) (record-key-octets record))
    (setf (record-key record)
          (with-store-function ((consumer-key-serde core) "keys")
            (let ((serde (consumer-key-serde core)))
              (if serde (funcall serde (record-key-octets record)) (record-key-octets record))))))
  (when (and (consumer-value-serde core) (record-value-octets record))
    (setf (record-value record)
          (with-store-function ((consumer-value-serde core) "values")
            (let ((serde (consumer-value-serde core)))
              (if serde (funcall serde (record-value-octets record)) (record-value-octets record))))))
  record)

(defun signal-entry (core pointer)
  "Signal what an entry that is no record tells about its partition."
  (let ((code (kabi-ll:packed-code pointer)) (length (kabi-ll:packed-value-length pointer)))
    (error (make-status-condition
            code 0 'partition-error
            (if (plusp length)
                (foreign-text (cffi:inc-pointer pointer +head+) length)
                (code-text code))
            (list :operation 'poll
                  :topic (topic-name core (kabi-ll:packed-topic pointer))
                  :partition (kabi-ll:packed-partition pointer)
                  :offset (kabi-ll:packed-offset pointer))))))

(defun poll (consumer &key (timeout -1))
  "The next record, or NIL if none comes within TIMEOUT milliseconds (-1: wait for ever).

The record that the poll before gave counts as handled from here on. What is told about a partition, such
as its end with enable.partition.eof, is signalled as a PARTITION-ERROR. A condition of a deserializer has
the restart STORE-FUNCTION; after one the next poll goes on with the record that follows."
  (check-argument consumer consumer "a consumer")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((core (use consumer 'poll)))
    (declare (type consumer-core core))
    (take-poll core 'poll)
    (unwind-protect
         (when (or (< (consumer-next core) (consumer-count core))
                   (next-batch core timeout))
           (let* ((pointer (cffi:inc-pointer (staging-pointer (consumer-staging core))
                                             (consumer-place core)))
                  (record (when (zerop (kabi-ll:packed-code pointer)) (unpack core pointer))))
             ;; Both or none, whenever an interrupt comes.
             (kabi-ll:uninterrupted
               (incf (consumer-next core))
               (incf (consumer-place core) (kabi-ll:packed-size pointer)))
             (cond ((null record) (signal-entry core pointer))
                   ((or (consumer-key-serde core) (consumer-value-serde core))
                    (deserialize core record))
                   (t record))))
      (leave-poll core))))
