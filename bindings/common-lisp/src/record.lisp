;;;; Received records: kept ones, which are copies, and lent ones, which read the consumer's buffer and are good
;;;; for one turn of a loop only.

(in-package #:kafkabi)

(defstruct (record (:constructor nil) (:copier nil) (:predicate recordp))
  "A received record. POLL and POLL-BATCH give records that may be kept. DO-RECORDS and MAP-RECORDS lend one for
each turn, which is used by the thread of the loop and not after the turn: that signals a STALE-RECORD-ERROR.
COPY-RECORD makes one to keep. Null keys and values are NIL, and are not given to a deserializer.")

(document-functions (recordp "True if the argument is a record, kept or lent."))

(declaim (inline make-kept-record make-lent-record))

(defstruct (kept-record (:include record) (:conc-name kept-) (:copier nil))
  "A copy."
  (topic "" :type string)
  (partition 0 :type (signed-byte 32))
  (offset kabi-ll:+offset-invalid+ :type (signed-byte 64))
  (timestamp -1 :type (signed-byte 64))
  (timestamp-type :none :type (member :none :create-time :log-append-time))
  (leader-epoch -1 :type (signed-byte 32))
  (key nil)
  (value nil)
  (key-octets nil :type (or null octets))
  (value-octets nil :type (or null octets))
  (headers '() :type list)
  (ticket 0 :type (unsigned-byte 62)))  ; its consumer, batch and place in that: see TICKET

(defstruct (lent-record (:include record) (:conc-name lent-) (:copier nil)
                        (:constructor make-lent-record (core address)))
  "A view of a packed record. ADDRESS is 0 once its turn is over."
  (core nil :type consumer-core :read-only t)
  (address 0 :type (unsigned-byte 62)))

(defun make-record (&key (topic "") (partition 0) (offset 0) (timestamp -1)
                      (timestamp-type (if (minusp timestamp) :none :create-time)) (leader-epoch -1)
                      key value key-octets value-octets headers)
  "A record to keep, as POLL gives them: for tests of the program's functions, and for COMMIT. KEY and VALUE are
any objects, KEY-OCTETS and VALUE-OCTETS what they came in; HEADERS is an alist of names and octets; TIMESTAMP is
in milliseconds since 1970, TIMESTAMP-TYPE :CREATE-TIME, :LOG-APPEND-TIME or :NONE."
  (check-argument topic string "the name of a topic, a string")
  (check-argument partition (unsigned-byte 31) "a partition, a number from 0")
  (check-argument offset (unsigned-byte 63) "an offset, a number from 0")
  (make-kept-record :topic topic :partition partition :offset offset :timestamp timestamp
                    :timestamp-type timestamp-type :leader-epoch leader-epoch :key key :value value
                    :key-octets key-octets :value-octets value-octets :headers headers))

;;; ---- lent records ----

(declaim (inline lent-good-p lent-pointer))
(defun lent-good-p (record)
  (declare (type lent-record record))
  (and (/= 0 (lent-address record))
       (eq (consumer-poller (lent-core record)) (this-thread))))

(defun stale-record (record)
  (declare (ignore record))
  (error 'stale-record-error))

(defun lent-pointer (record)
  "Where the packed record lies."
  (declare (type lent-record record))
  ;; Not one IF of both, which would give a pointer that is allocated.
  (unless (lent-good-p record) (stale-record record))
  (cffi:make-pointer (lent-address record)))

(declaim (inline timestamp-keyword))
(defun timestamp-keyword (number)
  (case number
    (#.kabi-ll:+timestamp-create+ :create-time)
    (#.kabi-ll:+timestamp-log-append+ :log-append-time)
    (t :none)))

(declaim (inline packed-key packed-value packed-headers packed-value-place))
(defun packed-value-place (pointer)
  (cffi:inc-pointer pointer (+ +head+ (max 0 (kabi-ll:packed-key-length pointer)))))

(defun packed-key (pointer)
  "The key's octets, a copy, or NIL."
  (let ((length (kabi-ll:packed-key-length pointer)))
    (unless (minusp length)
      (copy-out (cffi:inc-pointer pointer +head+) length))))

(defun packed-value (pointer)
  (let ((length (kabi-ll:packed-value-length pointer)))
    (unless (minusp length)
      (copy-out (packed-value-place pointer) length))))

(defun packed-headers (pointer)
  (let ((count (kabi-ll:packed-header-count pointer)))
    (if (zerop count)
        '()
        (read-headers (cffi:inc-pointer (packed-value-place pointer)
                                        (max 0 (kabi-ll:packed-value-length pointer)))
                      count))))

(declaim (inline unpack))
(defun unpack (core pointer ticket)
  "The record at POINTER, its key and value not deserialized yet."
  (declare (type consumer-core core) (optimize speed) (type (unsigned-byte 62) ticket))
  (let ((key (packed-key pointer)) (value (packed-value pointer)))
    (make-kept-record :topic (topic-name core (kabi-ll:packed-topic pointer))
                      :partition (kabi-ll:packed-partition pointer)
                      :offset (kabi-ll:packed-offset pointer)
                      :timestamp (kabi-ll:packed-timestamp pointer)
                      :timestamp-type (timestamp-keyword (kabi-ll:packed-timestamp-type pointer))
                      :leader-epoch (kabi-ll:packed-leader-epoch pointer)
                      :key key :key-octets key :value value :value-octets value
                      :headers (packed-headers pointer)
                      :ticket ticket)))

(defun not-a-record (record)
  (argument-error 'record record "a record"))

(defmacro define-reader (name (record pointer) kept lent documentation)
  "Define NAME to give KEPT of a kept record, and LENT of one that is lent and lies at POINTER."
  `(defun ,name (,record)
     ,documentation
     (declare (optimize speed))
     (typecase ,record
       (kept-record ,kept)
       (lent-record (let ((,pointer (lent-pointer ,record))) ,lent))
       (t (not-a-record ,record)))))

(define-reader record-topic (record pointer)
  (kept-topic record)
  (topic-name (lent-core record) (kabi-ll:packed-topic pointer))
  "The name of the record's topic.")

(define-reader record-partition (record pointer)
  (kept-partition record)
  (kabi-ll:packed-partition pointer)
  "The partition of the record.")

(define-reader record-offset (record pointer)
  (kept-offset record)
  (kabi-ll:packed-offset pointer)
  "The offset of the record in its partition.")

(define-reader record-timestamp (record pointer)
  (kept-timestamp record)
  (kabi-ll:packed-timestamp pointer)
  "When the record was made, in milliseconds since 1970, or -1.")

(define-reader record-timestamp-type (record pointer)
  (kept-timestamp-type record)
  (timestamp-keyword (kabi-ll:packed-timestamp-type pointer))
  "Who said when the record was made: :CREATE-TIME, :LOG-APPEND-TIME or :NONE.")

(define-reader record-leader-epoch (record pointer)
  (kept-leader-epoch record)
  (kabi-ll:packed-leader-epoch pointer)
  "The partition leader's epoch when the record was written, or -1 if it is not known.")

(define-reader record-headers (record pointer)
  (kept-headers record)
  (packed-headers pointer)
  "The headers of the record, an alist of names and octets (or NIL), in order.")

(define-reader record-key-octets (record pointer)
  (kept-key-octets record)
  (packed-key pointer)
  "The octets of the record's key, or NIL for null. Of a lent record a copy, each time.")

(define-reader record-value-octets (record pointer)
  (kept-value-octets record)
  (packed-value pointer)
  "The octets of the record's value, or NIL for null. Of a lent record a copy, each time.")

(define-reader record-key-length (record pointer)
  (let ((octets (kept-key-octets record))) (and octets (length octets)))
  (let ((length (kabi-ll:packed-key-length pointer))) (unless (minusp length) length))
  "How many octets the record's key has, or NIL for null. Copies nothing.")

(define-reader record-value-length (record pointer)
  (let ((octets (kept-value-octets record))) (and octets (length octets)))
  (let ((length (kabi-ll:packed-value-length pointer))) (unless (minusp length) length))
  "How many octets the record's value has, or NIL for null. Copies nothing.")

(define-reader record-key (record pointer)
  (kept-key record)
  (deserialized-key (lent-core record) (packed-key pointer))
  "The deserialized key of the record, or its octets without a deserializer; NIL for null. Of a lent record the
deserializer is called each time.")

(define-reader record-value (record pointer)
  (kept-value record)
  (deserialized-value (lent-core record) (packed-value pointer))
  "The deserialized value of the record, or its octets without a deserializer; NIL for null. Of a lent record
the deserializer is called each time.")

(defmethod print-object ((record record) stream)
  (print-unreadable-object (record stream)
    (if (and (lent-record-p record) (not (lent-good-p record)))
        (write-string "RECORD, not lent any more" stream)
        (format stream "RECORD ~A ~D @~D" (record-topic record) (record-partition record)
                (record-offset record)))))

(defun copy-record (record)
  "RECORD as one to keep, with its key and value deserialized; a kept record is returned as it is."
  (typecase record
    (kept-record record)
    (lent-record (let ((copy (unpack (lent-core record) (lent-pointer record) 0)))
                   (deserialize (lent-core record) copy)))
    (t (not-a-record record))))

(defmacro with-record-pointers ((key key-length value value-length) record &body body)
  "Evaluate BODY with KEY and VALUE bound to foreign pointers to the octets of RECORD's key and value, and
KEY-LENGTH and VALUE-LENGTH to how many there are; NULL and 0 for null. Nothing is copied. The pointers are good
inside BODY only, and only for reading."
  `(call-with-record-pointers ,record (lambda (,key ,key-length ,value ,value-length)
                                        (declare (ignorable ,key ,key-length ,value ,value-length))
                                        ,@body)))

(defun call-with-record-pointers (record function)
  (declare (type function function))
  (typecase record
    (kept-record
     (with-octets (key key-length (kept-key-octets record))
       (with-octets (value value-length (kept-value-octets record))
         (funcall function key key-length value value-length))))
    (lent-record
     (let* ((pointer (lent-pointer record))
            (key-length (kabi-ll:packed-key-length pointer))
            (value-length (kabi-ll:packed-value-length pointer)))
       (funcall function
                (if (minusp key-length) (cffi:null-pointer) (cffi:inc-pointer pointer +head+))
                (max 0 key-length)
                (if (minusp value-length) (cffi:null-pointer) (packed-value-place pointer))
                (max 0 value-length))))
    (t (not-a-record record))))

;;; ---- generic readers ----

(defgeneric key (record)
  (:documentation "The deserialized key of a record and, as a second value, its octets.")
  (:method ((record record)) (values (record-key record) (record-key-octets record))))

(defmethod value ((record record) &key timeout)
  (declare (ignore timeout))
  (values (record-value record) (record-value-octets record)))

(defgeneric topic (record)
  (:documentation "The name of a record's topic.")
  (:method ((record record)) (record-topic record)))

(defgeneric partition (record)
  (:documentation "The partition of a record.")
  (:method ((record record)) (record-partition record)))

(defgeneric offset (record)
  (:documentation "The offset of a record in its partition.")
  (:method ((record record)) (record-offset record)))

(defgeneric timestamp (record)
  (:documentation "When a record was made, in milliseconds since 1970, and as a second value who said so,
:CREATE-TIME or :LOG-APPEND-TIME; NIL if it has no timestamp.")
  (:method ((record record))
    (let ((type (record-timestamp-type record)))
      (unless (eq type :none)
        (values (record-timestamp record) type)))))

(defgeneric headers (record)
  (:documentation "The headers of a record, an alist of names and octets (or NIL), in order.")
  (:method ((record record)) (record-headers record)))

(defgeneric leader-epoch (record)
  (:documentation "The partition leader's epoch when the record was written, or NIL if it is not known.")
  (:method ((record record))
    (let ((epoch (record-leader-epoch record)))
      (unless (minusp epoch) epoch))))
