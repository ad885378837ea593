;;;; Sending a sequence of records in one crossing.

(in-package #:kafkabi)

(defconstant +batch-records+ 10000 "How many records go into one crossing at most.")
(defconstant +batch-octets+ (* 4 1024 1024) "How many octets go into one crossing, but for one large record.")

(defstruct (packing (:constructor make-packing (core staging deliveries)))
  "A crossing that is being put together. Deliveries are those of its records, in order."
  (core nil :type producer-core)
  (staging nil :type staging)
  (used 0 :type index)
  (count 0 :type index)
  (deliveries nil :type (or null simple-vector)) ; of the whole batch, or NIL without futures
  (begin 0 :type index)                 ; which of them is the first of this crossing
  (failures '() :type list))            ; (index . condition), without futures

(declaim (inline add-packed))
(defun add-packed (packing topic partition key value timestamp headers)
  (declare (type packing packing))
  (let* ((size (packed-record-size key value headers))
         (used (packing-used packing))
         (staging (packing-staging packing)))
    (declare (type index size used))
    (when (> (+ used size) (staging-size staging))
      (kabi-ll:uninterrupted
        (setf staging (grow-staging staging (+ used size) used)
              (packing-staging packing) staging)))
    (pack (cffi:inc-pointer (staging-pointer staging) used) size topic partition timestamp 0 key value
          headers (if headers (length (the list headers)) 0))
    (setf (packing-used packing) (+ used size))
    (incf (packing-count packing))))

(defun add-element (packing topic element)
  "Add an element that is a list: a value and keyword arguments as SEND takes them, and :TOPIC."
  (let ((core (packing-core packing)))
    (check-proper element 'records)
    (destructuring-bind (value &rest rest) element
      (unless (evenp (length rest))
        (argument-error 'records element "a list of a value and keyword arguments"))
      (loop for (keyword) on rest by #'cddr
            unless (member keyword '(:key :partition :timestamp :headers :topic))
              do (argument-error 'records element
                                 "a list of a value and :KEY, :PARTITION, :TIMESTAMP, :HEADERS and :TOPIC"))
      (destructuring-bind (&key key partition timestamp headers ((:topic own) nil)) rest
        (check-send partition timestamp headers 0)
        (add-packed packing
                    (if own (producer-topic core own) topic)
                    (or partition -1)
                    (and key (key-octets core key))
                    (and (or value (producer-value-serde core)) (value-octets core value))
                    (or timestamp 0)
                    (header-octets headers))))))

(defun add-record (packing topic record)
  "Add one element of a batch."
  (declare (type packing packing) (type (signed-byte 32) topic) (optimize speed))
  (let ((core (packing-core packing)))
    (typecase record
      (octets (add-packed packing topic -1 nil
                          (if (producer-value-serde core) (value-octets core record) record)
                          0 nil))
      (cons (add-element packing topic record))
      (null (add-element packing topic (list nil)))
      (t (add-packed packing topic -1 nil (value-octets core record) 0 nil)))))

(defun send-batch (producer topic records &key (futures t) (timeout +send-timeout+))
  "Send RECORDS, a sequence, to TOPIC, in order and with one crossing for up to 10,000 of them. Each is a
value, or a list of a value and the keyword arguments of SEND, and :TOPIC where it is another.

Return a vector of futures, one for each record. Nothing is sent of a crossing in which a record's
serializer or arguments signal. A record that is refused for itself has a future that has failed, and
does not stop those after it. While too many wait to be sent it waits up to TIMEOUT milliseconds for all
together; then those that are left fail with a QUEUE-FULL-ERROR: they are the last ones, and sending just
those again keeps the order.

With :FUTURES NIL return how many were taken, and as a second value an alist of the numbers of the others
and their conditions."
  (check-argument producer producer "a producer")
  (check-argument records sequence "a sequence of values")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let* ((core (use producer 'send-batch)))
    (declare (type producer-core core))
    (when (and futures (not (producer-reportsp core)))
      (argument-error 'producer producer "a producer with reports; use :FUTURES NIL without them"))
    (when (listp records) (check-proper records 'records))
    (when (or futures (producer-reportsp core)) (ensure-draining core))
    (let ((deadline (deadline timeout))
          (deliveries (when futures (make-array (length records)))))
      (with-taken (packing (make-packing core (take-staging core) deliveries))
          (progn
            (send-elements packing (producer-topic core topic) records deadline)
            (if futures
                deliveries
                (values (- (packing-begin packing) (length (packing-failures packing)))
                        (nreverse (packing-failures packing)))))
        (give-staging-back core (packing-staging packing))))))

(defun send-elements (packing topic records deadline)
  (flet ((add (record)
           (add-record packing topic record)
           (when (or (>= (packing-count packing) +batch-records+)
                     (>= (packing-used packing) +batch-octets+))
             (cross packing deadline))))
    (map nil #'add records)
    (when (plusp (packing-count packing))
      (cross packing deadline))))

;;; ---- the crossing ----

(defun take-tokens (packing)
  "Make the futures of a crossing, and write their tokens into its records."
  (declare (type packing packing) (optimize speed))
  (let* ((core (packing-core packing)) (deliveries (packing-deliveries packing))
         (begin (packing-begin packing)) (count (packing-count packing))
         (pointer (staging-pointer (packing-staging packing))))
    (loop for index of-type index from begin below (+ begin count)
          do (setf (svref (the simple-vector deliveries) index) (make-delivery core)))
    (with-short-lock ((meeting-lock core))
      (loop for index of-type index from begin below (+ begin count)
            do (let ((delivery (svref (the simple-vector deliveries) index)))
                 (declare (type delivery delivery))
                 (setf (delivery-topic delivery) (kabi-ll:packed-topic pointer)
                       (kabi-ll:packed-token pointer) (the index (take-slot core delivery))
                       pointer (cffi:inc-pointer pointer (kabi-ll:packed-size pointer))))))))

(defconstant +untouched+ #x7f7f7f7f "What stands for a status that a call has not written.")

(defun cross (packing deadline)
  "Send what is packed, and go on after a full queue where it left off."
  (declare (type packing packing))
  (let ((core (packing-core packing)) (count (packing-count packing)))
    (with-memory (statuses (* 4 count))
      (let ((begin 0) (offset 0) (status kabi-ll:+status-interrupted+) (slice 0))
        (declare (type index begin offset) (type (signed-byte 32) status slice))
        (with-taken (nothing (when (packing-deliveries packing) (take-tokens packing)))
            (loop
              ;; What was taken must be known to be, whenever an interrupt comes.
              (kabi-ll:uninterrupted
                (setf status (call-packed core packing offset (- count begin) slice statuses))
                (if (zerop status)
                    (setf begin count)
                    (multiple-value-setq (begin offset) (settle packing begin offset statuses))))
              (setf slice (slice-of deadline))
              (when (or (= begin count)
                        (not (member status '(#.kabi-ll:+status-queue-full+
                                              #.kabi-ll:+status-interrupted+))))
                (return))
              (unless (spurious-wake-p core) ; a WAKE is what it ends by, not a full queue
                (setf status kabi-ll:+status-interrupted+)
                (return))
              (when (zerop slice) (return)))
          (loop while (< begin count)
                do (setf offset (refuse packing begin offset status))
                   (incf begin)))))
    (incf (packing-begin packing) count)
    (setf (packing-count packing) 0
          (packing-used packing) 0)))

(defun call-packed (core packing offset count slice statuses)
  (declare (type producer-core core) (type packing packing) (type index offset count))
  (cffi:foreign-funcall "memset" :pointer statuses :int #x7f :uint64 (* 4 count) :pointer)
  (with-details (details)
    (kabi-ll:producer-send-packed (core-handle core)
                                  (cffi:inc-pointer (staging-pointer (packing-staging packing)) offset)
                                  (- (packing-used packing) offset)
                                  count kabi-ll:+topic-record+ kabi-ll:+partition-record+ slice
                                  statuses (cffi:null-pointer) details)))

(defun settle (packing begin offset statuses)
  "After a crossing of the records from number BEGIN on, which lie from OFFSET on: refuse those that were
refused for themselves, and return the number and offset of the first that is still to be sent."
  (let ((count (- (packing-count packing) begin)))
    (dotimes (index count (values (+ begin count) offset))
      (let ((status (cffi:mem-aref statuses :int32 index)))
        (case status
          (0 (incf offset (size-at packing offset)))
          ((#.+untouched+ #.kabi-ll:+status-queue-full+ #.kabi-ll:+status-interrupted+
            #.kabi-ll:+status-closed+ #.kabi-ll:+status-handle+)
           (return (values (+ begin index) offset)))
          (t (setf offset (refuse packing (+ begin index) offset status))))))))

(defun size-at (packing offset)
  (kabi-ll:packed-size (cffi:inc-pointer (staging-pointer (packing-staging packing)) offset)))

(defun refuse (packing number offset status)
  "Fail the record NUMBER of this crossing, which lies at OFFSET. Return the offset of the next."
  (let* ((core (packing-core packing))
         (pointer (cffi:inc-pointer (staging-pointer (packing-staging packing)) offset))
         (index (+ (packing-begin packing) number))
         (condition (refusal core status (kabi-ll:packed-topic pointer) (kabi-ll:packed-partition pointer))))
    (cond ((packing-deliveries packing)
           (give-token-back core (kabi-ll:packed-token pointer))
           (fail (svref (packing-deliveries packing) index) condition))
          (t (push (cons index condition) (packing-failures packing))))
    (+ offset (kabi-ll:packed-size pointer))))

(defun refusal (core status topic partition)
  (make-status-condition status
                         (if (eql status kabi-ll:+status-queue-full+) kabi-ll:+error-retriable+ 0)
                         (cond ((eql status kabi-ll:+status-queue-full+) 'queue-full-error)
                               ((eql status kabi-ll:+status-interrupted+) nil)
                               (t 'delivery-error))
                         (code-text status)
                         (list :operation 'send-batch :topic (topic-name core topic)
                               :partition (unless (minusp partition) partition))))
