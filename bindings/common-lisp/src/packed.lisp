;;;; Packed records: the head, the key, the value and the headers of each in one run of bytes.

(in-package #:kafkabi)

(defconstant +head+ kabi-ll:+sizeof-packed+)

(declaim (inline padded))
(defun padded (size)
  (declare (type index size))
  (logand (+ size 7) (lognot 7)))

(declaim (inline write-head))
(defun write-head (pointer size topic partition timestamp token key-length value-length header-count)
  (setf (kabi-ll:packed-size pointer) size
        ;; header_size and flags
        (cffi:mem-ref pointer :uint32 #.kabi-ll:+offset-of-packed-header-size+) +head+
        (kabi-ll:packed-topic pointer) topic
        (kabi-ll:packed-partition pointer) partition
        (kabi-ll:packed-offset pointer) 0
        (kabi-ll:packed-timestamp pointer) timestamp
        (kabi-ll:packed-token pointer) token
        (kabi-ll:packed-key-length pointer) key-length
        (kabi-ll:packed-value-length pointer) value-length
        (kabi-ll:packed-header-count pointer) header-count
        (kabi-ll:packed-leader-epoch pointer) -1
        (cffi:mem-ref pointer :uint64 #.kabi-ll:+offset-of-packed-code+) 0))

;;; ---- headers ----

(defun header-octets (headers)
  "A list of (name . value), both octets and the value or NIL, for HEADERS as the program gives them."
  (check-proper headers 'headers)
  (loop for header in headers
        collect (let ((name (if (consp header) (car header) header))
                      (value (if (consp header) (cdr header) nil)))
                  (unless (and (consp header) (stringp name) (not (find (code-char 0) name)))
                    (argument-error 'headers headers "an alist whose names are strings without a NUL character"))
                  (unless (typep value '(or null vector))
                    (argument-error 'headers headers "an alist whose values are octets, strings or NIL"))
                  (cons (string-to-octets name) (to-octets value)))))

(defun headers-size (headers)
  (loop for (name . value) in headers sum (+ 9 (length name) (length value))))

(defun write-headers (pointer headers)
  (loop for (name . value) in headers
        do (setf (cffi:mem-ref pointer :int32 0) (length name)
                 (cffi:mem-ref pointer :int32 4) (if value (length value) -1))
           (copy-in name (cffi:inc-pointer pointer 8))
           (setf (cffi:mem-ref pointer :uint8 (+ 8 (length name))) 0)
           (setf pointer (cffi:inc-pointer pointer (+ 9 (length name))))
           (when value
             (copy-in value pointer)
             (setf pointer (cffi:inc-pointer pointer (length value))))))

(defun read-headers (pointer count)
  "An alist of names and values (octets or NIL) of COUNT headers at POINTER."
  (loop repeat count
        collect (let ((name-length (cffi:mem-ref pointer :int32 0))
                      (value-length (cffi:mem-ref pointer :int32 4)))
                  (let ((name (foreign-text (cffi:inc-pointer pointer 8) name-length)))
                    (setf pointer (cffi:inc-pointer pointer (+ 9 name-length)))
                    (prog1 (cons name (unless (minusp value-length) (copy-out pointer value-length)))
                      (setf pointer (cffi:inc-pointer pointer (max 0 value-length))))))))

;;; ---- one record ----

(declaim (inline pack))
(defun pack (pointer size topic partition timestamp token key value headers header-count)
  "Write a record whose padded SIZE fits at POINTER. HEADERS are as HEADER-OCTETS gives them."
  (declare (type (or null octets) key value) (type (unsigned-byte 32) size)
           (type (signed-byte 32) topic partition header-count) (type (signed-byte 64) timestamp)
           (type (unsigned-byte 62) token))
  (let ((key-length (if key (length key) 0))
        (value-length (if value (length value) 0)))
    ;; The padding first, with whatever lies there.
    (setf (cffi:mem-ref pointer :uint64 (- size 8)) 0)
    (write-head pointer size topic partition timestamp token (if key key-length -1)
                (if value value-length -1) header-count)
    (when key (copy-in key (cffi:inc-pointer pointer +head+)))
    (when value (copy-in value (cffi:inc-pointer pointer (+ +head+ key-length))))
    (when headers
      (write-headers (cffi:inc-pointer pointer (+ +head+ key-length value-length)) headers))
    nil))

(defconstant +largest-record+ (* 1024 1024 1024)
  "No record is as large as this; brokers take far less.")

(declaim (inline packed-record-size))
(defun packed-record-size (key value headers)
  "The padded size of a record."
  (declare (type (or null octets) key value))
  (let ((size (+ +head+
                 (if key (length key) 0)
                 (if value (length value) 0)
                 (if headers (the index (headers-size headers)) 0))))
    (declare (type index size))
    (when (> size +largest-record+)
      (argument-error 'value (length value) "a record of less than 1 GiB"))
    (padded size)))

;;; ---- staging buffers of a producer ----

(defconstant +staging-size+ (* 1024 1024))

(defun take-staging (core)
  (declare (type producer-core core))
  (or (with-short-lock ((meeting-lock core)) (pop (producer-stagings core)))
      (make-staging +staging-size+)))

(defun give-staging-back (core staging)
  "Keep STAGING for the next batch, unless one large batch has made it too large to keep, or the producer is
gone and has freed the others."
  (declare (type producer-core core))
  (unless (and (<= (staging-size staging) (* 16 +staging-size+))
               (with-short-lock ((meeting-lock core))
                 (unless (eql (core-handle core) kabi-ll:+no-handle+)
                   (push staging (producer-stagings core)))))
    (free-staging staging)))

(defun send-with-headers (core topic partition key value timestamp headers delivery timeout)
  "As SEND-MESSAGE, for a record with headers, which is packed."
  (let* ((headers (header-octets headers))
         (size (packed-record-size key value headers))
         (taken nil) (status kabi-ll:+status-interrupted+))
    (with-details (details)
      (with-taken (staging (take-staging core))
          (with-taken (token (if delivery (take-token core delivery) 0))
              (progn
                (when (> size (staging-size staging))
                  (kabi-ll:uninterrupted
                    (setf staging (grow-staging staging size 0))))
                (pack (staging-pointer staging) size topic partition timestamp token key value headers
                      (length headers))
                (setf status
                      (in-slices (slice timeout core kabi-ll:+status-queue-full+)
                        (kabi-ll:uninterrupted
                          (let ((status (kabi-ll:producer-send-packed
                                         (core-handle core) (staging-pointer staging) size 1 topic
                                         kabi-ll:+partition-record+ slice (cffi:null-pointer)
                                         (cffi:null-pointer) details)))
                            (setf taken (zerop status))
                            status)))))
            (unless (or taken (null delivery))
              (give-token-back core token)))
        (give-staging-back core staging))
      (unless taken
        (signal-send status details core topic partition)))
    nil))
