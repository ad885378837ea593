;;;; Received records.

(in-package #:kafkabi)

(defstruct (record (:copier nil) (:predicate recordp))
  "A received record, a copy that may be kept. KEY and VALUE are deserialized; the octets that they came in
are beside them. Null keys and values are NIL, and are not given to a deserializer."
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
  (headers '() :type list))

(defmethod print-object ((record record) stream)
  (print-unreadable-object (record stream :type t)
    (format stream "~A ~D @~D" (record-topic record) (record-partition record) (record-offset record))))

(declaim (inline timestamp-keyword))
(defun timestamp-keyword (number)
  (case number
    (#.kabi-ll:+timestamp-create+ :create-time)
    (#.kabi-ll:+timestamp-log-append+ :log-append-time)
    (t :none)))

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
    (if (eq (record-timestamp-type record) :none)
        nil
        (values (record-timestamp record) (record-timestamp-type record)))))

(defgeneric headers (record)
  (:documentation "The headers of a record, an alist of names and octets (or NIL), in order.")
  (:method ((record record)) (record-headers record)))

(defgeneric leader-epoch (record)
  (:documentation "The partition leader's epoch when the record was written, or NIL if it is not known.")
  (:method ((record record))
    (let ((epoch (record-leader-epoch record)))
      (unless (minusp epoch) epoch))))
