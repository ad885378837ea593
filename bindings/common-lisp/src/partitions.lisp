;;;; Partitions and their offsets: what the program writes, (topic . partition) and alists of these, becomes
;;;; places, and places become an array in foreign memory and back.

(in-package #:kafkabi)

(defconstant +ask-timeout+ 30000 "How many milliseconds questions to brokers wait where nothing else is said.")

(defmacro check-timeout (timeout)
  `(check-argument ,timeout milliseconds "a number of milliseconds, or -1 to wait for ever"))

(defstruct (place (:copier nil)
                  (:constructor make-place (topic partition &optional (offset kabi-ll:+offset-invalid+)
                                                              metadata (epoch -1))))
  "A partition with an offset, and what else a call tells of it or is told."
  (topic "" :type string)
  (partition 0 :type (unsigned-byte 31))
  (offset kabi-ll:+offset-invalid+ :type (signed-byte 64))
  (metadata nil :type (or null octets))
  (epoch -1 :type (signed-byte 32))
  (number -1 :type (signed-byte 32))    ; of the topic
  (code 0 :type (signed-byte 32)))

(defun place-key (place)
  (cons (place-topic place) (place-partition place)))

(defun place-known-offset (place)
  "The offset, or NIL if there is none."
  (unless (minusp (place-offset place)) (place-offset place)))

(defun place-offset-and-metadata (place)
  (cons (place-offset place) (place-metadata place)))

;;; ---- what the program writes ----

(defun coerce-to-list (sequence argument)
  (cond ((and (listp sequence) (ignore-errors (list-length sequence))) sequence)
        ((null sequence) '())
        ((and (vectorp sequence) (not (stringp sequence))) (coerce sequence 'list))
        (t (argument-error argument sequence "a proper list or a vector"))))

(defun partition-place (partition argument)
  (unless (and (consp partition)
               (stringp (car partition))
               (typep (cdr partition) '(unsigned-byte 31)))
    (argument-error argument partition
                    "a (topic . partition): the name of a topic and a number from 0"))
  (make-place (car partition) (cdr partition)))

(defun offset-number (offset argument)
  "An offset as the interface takes it."
  (typecase offset
    (null kabi-ll:+offset-invalid+)
    ((unsigned-byte 63) offset)
    (t (case offset
         (:beginning kabi-ll:+offset-beginning+)
         (:end kabi-ll:+offset-end+)
         (:stored kabi-ll:+offset-stored+)
         (t (argument-error argument offset
                            "an offset: a number from 0, :BEGINNING, :END or :STORED"))))))

(defun offset-designator (number)
  "The reverse of OFFSET-NUMBER."
  (cond ((>= number 0) number)
        ((eql number kabi-ll:+offset-beginning+) :beginning)
        ((eql number kabi-ll:+offset-end+) :end)
        ((eql number kabi-ll:+offset-stored+) :stored)))

(defun start-places (partitions argument)
  "Places for a sequence of (topic . partition) and ((topic . partition) . offset)."
  (mapcar (lambda (element)
            (if (and (consp element) (consp (car element)))
                (let ((place (partition-place (car element) argument)))
                  (setf (place-offset place) (offset-number (cdr element) argument))
                  place)
                (partition-place element argument)))
          (coerce-to-list partitions argument)))

(defun metadata-octets (metadata argument)
  (typecase metadata
    ((or null octets) metadata)
    (string (string-to-octets metadata))
    (t (if (and (vectorp metadata)
                (every (lambda (octet) (typep octet '(unsigned-byte 8))) metadata))
           (coerce metadata 'octets)
           (argument-error argument metadata "metadata: octets, a string, or NIL")))))

(defun commit-place (element argument)
  "A place for ((topic . partition) . offset) or ((topic . partition) . (offset . metadata))."
  (unless (consp element)
    (argument-error argument element "((topic . partition) . offset), or with (offset . metadata), or a record"))
  (let* ((place (partition-place (car element) argument))
         (pair (cdr element))
         (offset (if (consp pair) (car pair) pair)))
    (unless (typep offset '(unsigned-byte 63))
      (argument-error argument offset "an offset, a number from 0"))
    (setf (place-offset place) offset
          (place-metadata place) (metadata-octets (and (consp pair) (cdr pair)) argument))
    place))

(defun table-alist (table)
  (let ((pairs '()))
    (maphash (lambda (key value) (push (cons key value) pairs)) table)
    (nreverse pairs)))

(defun commit-places (offsets argument)
  "Places for what COMMIT takes: an alist or a hash-table of (topic . partition) and an offset or (offset .
metadata); a record, or a sequence of records, of which the offsets after the last ones count."
  (typecase offsets
    (record (record-places (list offsets)))
    (hash-table (commit-places (table-alist offsets) argument))
    (t (let ((elements (coerce-to-list offsets argument)))
         (if (and elements (every #'recordp elements))
             (record-places elements)
             (mapcar (lambda (element) (commit-place element argument)) elements))))))

(defun record-places (records)
  "One place for each partition of RECORDS, in the order in which they come first."
  (let ((places (make-hash-table :test #'equal)) (order '()))
    (dolist (record records)
      (let* ((key (cons (record-topic record) (record-partition record)))
             (place (or (gethash key places)
                        (let ((new (make-place (car key) (cdr key))))
                          (push new order)
                          (setf (gethash key places) new)))))
        (when (> (1+ (record-offset record)) (place-offset place))
          (setf (place-offset place) (1+ (record-offset record))
                (place-epoch place) (record-leader-epoch record)))))
    (nreverse order)))

(defun time-places (times argument)
  "Places for an alist or a hash-table of (topic . partition) and milliseconds since 1970."
  (mapcar (lambda (element)
            (unless (consp element)
              (argument-error argument element "((topic . partition) . milliseconds since 1970)"))
            (let ((place (partition-place (car element) argument)))
              (unless (typep (cdr element) '(unsigned-byte 63))
                (argument-error argument (cdr element) "milliseconds since 1970, a number from 0"))
              (setf (place-offset place) (cdr element))
              place))
          (coerce-to-list (if (hash-table-p times) (table-alist times) times) argument)))

;;; ---- in foreign memory ----

(defun number-places (core places)
  "Find out the topics' numbers. Return PLACES."
  (dolist (place places places)
    (setf (place-number place) (topic-number core (place-topic place)))))

(defun write-places (pointer places bytes)
  "Write PLACES as an array at POINTER, and their metadata to BYTES."
  (let ((next bytes))
    (dolist (place places)
      (let ((metadata (place-metadata place)))
        (setf (kabi-ll:partition-topic pointer) (place-number place)
              (kabi-ll:partition-partition pointer) (place-partition place)
              (kabi-ll:partition-offset pointer) (place-offset place)
              (kabi-ll:partition-leader-epoch pointer) (place-epoch place)
              (kabi-ll:partition-code pointer) 0
              (kabi-ll:partition-metadata pointer) (if metadata next (cffi:null-pointer))
              (kabi-ll:partition-metadata-length pointer) (length metadata)
              (kabi-ll:partition-reserved pointer) 0)
        (when metadata
          (copy-in metadata next)
          (setf next (cffi:inc-pointer next (length metadata)))))
      (setf pointer (cffi:inc-pointer pointer kabi-ll:+sizeof-partition+)))))

(defun call-with-places (places function)
  "Call FUNCTION with the address of an array of PLACES and their number."
  (declare (type function function))
  (let ((count (length places)))
    (with-memory (pointer (* count kabi-ll:+sizeof-partition+))
      (with-memory (bytes (loop for place in places sum (length (place-metadata place))))
        (write-places pointer places bytes)
        (funcall function (if (zerop count) (cffi:null-pointer) pointer) count)))))

(defmacro with-places ((pointer count places) &body body)
  `(call-with-places ,places (lambda (,pointer ,count) ,@body)))

(defun read-place (core pointer)
  (let ((metadata (kabi-ll:partition-metadata pointer))
        (place (make-place (topic-name core (kabi-ll:partition-topic pointer))
                           (kabi-ll:partition-partition pointer)
                           (kabi-ll:partition-offset pointer))))
    (setf (place-epoch place) (kabi-ll:partition-leader-epoch pointer)
          (place-code place) (kabi-ll:partition-code pointer)
          (place-number place) (kabi-ll:partition-topic pointer))
    (unless (cffi:null-pointer-p metadata)
      (setf (place-metadata place)
            (copy-out metadata (kabi-ll:partition-metadata-length pointer))))
    place))

(defun read-places (core pointer count)
  (loop for index below count
        collect (read-place core (cffi:inc-pointer pointer (* index kabi-ll:+sizeof-partition+)))))

(defun listed-places (core function)
  "The places that FUNCTION writes: it is called with an array, its capacity, where the count goes, and
details, first with a small array and again with one that is large enough."
  (declare (type function function))
  (let ((capacity 32))
    (loop
      (with-memory (pointer (* capacity kabi-ll:+sizeof-partition+))
        (cffi:with-foreign-object (count :uint64)
          (with-details (details)
            (let ((status (funcall function pointer capacity count details)))
              (unless (eql status kabi-ll:+status-buffer-too-small+)
                (check-status status details)
                (return (read-places core pointer (cffi:mem-ref count :uint64))))
              (setf capacity (+ 32 (cffi:mem-ref count :uint64))))))))))

;;; ---- outcomes ----

(defun place-condition (place operation)
  (make-status-condition (place-code place) 0 'partition-error (code-text (place-code place))
                         (list :operation operation
                               :topic (place-topic place) :partition (place-partition place))))

(defun settle-places (operation condition places goody)
  "What a call about PLACES, whose codes it has told, comes to: a list of what GOODY makes of each. If some
failed signal a PARTIAL-ERROR; if the call itself did, and none is to blame, signal CONDITION."
  (declare (type function goody))
  (let ((bad (remove-if #'zerop places :key #'place-code)))
    (cond (bad
           (error (partial-condition operation places bad goody)))
          (condition (error condition))
          (t (mapcar goody places)))))

(defun partial-condition (operation places bad goody)
  (make-condition 'partial-error
                  :operation operation
                  :code (place-code (first bad))
                  :goodies (loop for place in places
                                 when (zerop (place-code place)) collect (funcall goody place))
                  :baddies (loop for place in bad
                                 collect (cons (place-key place) (place-condition place operation)))
                  :description (format nil "~D of ~D partitions failed; the first, ~A ~D: ~A"
                                       (length bad) (length places)
                                       (place-topic (first bad)) (place-partition (first bad))
                                       (code-text (place-code (first bad))))))

(defun call-with-outcome (core operation places function)
  "Call FUNCTION with an array of PLACES, their number and details. Return the places as they are after,
with their codes, and the condition for its status or NIL."
  (declare (type function function))
  (with-places (pointer count places)
    (with-details (details)
      (let ((status (funcall function pointer count details)))
        (values (if (zerop count) '() (read-places core pointer count))
                (unless (zerop status)
                  (details-condition status details nil (list :operation operation))))))))

(defmacro asking ((core patience) &body body)
  "Evaluate BODY, calls by PATIENTLY, on a thread of the pool and wait for its values. A throw, an interrupt or a
time-out of Lisp's on this thread ends PATIENCE, and the call in progress."
  (let ((client (gensym "CORE")))
    `(let ((,client ,core) (,patience (list t)))
       (out-of-line (:give-up (progn (setf (first ,patience) nil)
                                     (nudge ,client)))
         ,@body))))

(defun patiently (core timeout patience function)
  "Call FUNCTION, a call that waits up to the milliseconds that it is given, again while it was a wake meant for
others that ended it."
  (declare (type function function))
  (let ((deadline (deadline timeout)) (status kabi-ll:+status-interrupted+))
    (loop
      (unless (first patience) (return status))
      (setf status (funcall function (left deadline)))
      (unless (and (eql status kabi-ll:+status-interrupted+)
                   (spurious-wake-p core)
                   (not (eql 0 (left deadline))))
        (return status)))))

(defmacro change-places ((core operation places) (pointer count details) call goody)
  "Do CALL, which does not wait, about PLACES, and return what each comes to: see SETTLE-PLACES."
  (let ((after (gensym "PLACES")) (condition (gensym "CONDITION")))
    `(multiple-value-bind (,after ,condition)
         (call-with-outcome ,core ,operation (number-places ,core ,places)
                            (lambda (,pointer ,count ,details) ,call))
       (settle-places ,operation ,condition ,after ,goody))))

(defmacro ask-places ((core operation places timeout) (pointer count left details) call goody)
  "The same for a CALL that waits for up to LEFT milliseconds: see ASKING."
  (let ((after (gensym "PLACES")) (condition (gensym "CONDITION")) (numbered (gensym "PLACES"))
        (client (gensym "CORE")) (time (gensym "TIMEOUT")) (patience (gensym "PATIENCE")))
    `(let* ((,client ,core) (,time ,timeout) (,numbered (number-places ,client ,places)))
       (multiple-value-bind (,after ,condition)
           (asking (,client ,patience)
             (call-with-outcome ,client ,operation ,numbered
                                (lambda (,pointer ,count ,details)
                                  (patiently ,client ,time ,patience (lambda (,left) ,call)))))
         (settle-places ,operation ,condition ,after ,goody)))))
