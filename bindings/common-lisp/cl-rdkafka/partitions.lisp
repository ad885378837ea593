;;;; Partitions and offsets as programs write them: (topic . partition), and alists of these.

(in-package #:cl-rdkafka)

(defun elements (sequence argument)
  "SEQUENCE, a proper list or a vector, as a list."
  (cond ((and (listp sequence) (ignore-errors (list-length sequence))) sequence)
        ((and (vectorp sequence) (not (stringp sequence))) (coerce sequence 'list))
        ((null sequence) '())
        (t (bad-argument argument sequence "a sequence"))))

(defun partition-p (object)
  (and (consp object) (stringp (car object)) (typep (cdr object) '(unsigned-byte 31))))

(defun check-partition (object argument)
  (if (partition-p object)
      object
      (bad-argument argument object "a (topic . partition), the name of a topic and a number from 0")))

(defun partitions (sequence argument)
  "A list of the (topic . partition) of SEQUENCE."
  (mapcar (lambda (element) (check-partition element argument)) (elements sequence argument)))

(defun offset-pair (element argument)
  "((topic . partition) . (offset . metadata)) for that, or for a lone offset, which has the metadata #()."
  (unless (consp element)
    (bad-argument argument element "an alist of (topic . partition) and offsets"))
  (destructuring-bind (partition . offset) element
    (check-partition partition argument)
    (let ((number (if (consp offset) (car offset) offset))
          (metadata (if (consp offset) (cdr offset) #())))
      (unless (typep number '(signed-byte 64))
        (bad-argument argument number "an offset, a number"))
      (cons partition (cons number (or metadata #()))))))

(defun offset-pairs (alist argument)
  (mapcar (lambda (element) (offset-pair element argument)) (elements alist argument)))

(defun every-message-p (sequence)
  (every (lambda (element) (typep element 'message)) sequence))

(defun message-offsets (messages)
  "An alist of each partition of MESSAGES and the offset after the last message, with no metadata."
  (let ((offsets (make-hash-table :test #'equal)))
    (map nil (lambda (message)
               (let ((partition (cons (topic message) (partition message))))
                 (setf (gethash partition offsets)
                       (max (1+ (offset message)) (gethash partition offsets 0)))))
         messages)
    (loop for partition being the hash-keys of offsets using (hash-value offset)
          collect (cons partition (cons offset #())))))

;;; Offsets that stand for places are numbers here and keywords there.

(defun offset-keyword (offset argument)
  "An offset to begin at, as kafkabi takes it."
  (cond ((typep offset '(unsigned-byte 63)) offset)
        ((eql offset cl-rdkafka/ll:rd-kafka-offset-beginning) :beginning)
        ((eql offset cl-rdkafka/ll:rd-kafka-offset-end) :end)
        ((eql offset cl-rdkafka/ll:rd-kafka-offset-stored) :stored)
        ((or (null offset) (eql offset cl-rdkafka/ll:rd-kafka-offset-invalid)) nil)
        (t (bad-argument argument offset "an offset: a number from 0, or one of the constants"))))

(defun offset-number (offset)
  "An offset that kafkabi gave, as a number."
  (case offset
    (:beginning cl-rdkafka/ll:rd-kafka-offset-beginning)
    (:end cl-rdkafka/ll:rd-kafka-offset-end)
    (:stored cl-rdkafka/ll:rd-kafka-offset-stored)
    ((nil) cl-rdkafka/ll:rd-kafka-offset-invalid)
    (t offset)))

(defun committed-pair (pair)
  "((topic . partition) . (offset . metadata)) for what kafkabi says is committed: -1001 and #() if nothing."
  (destructuring-bind (partition . committed) pair
    (let ((offset (if (consp committed) (car committed) committed))
          (metadata (if (consp committed) (cdr committed) nil)))
      (cons partition (cons (offset-number offset) (or metadata #()))))))

(defun numbered-pair (pair)
  "((topic . partition) . offset) with a number for an offset that kafkabi has a keyword for."
  (cons (car pair) (offset-number (cdr pair))))
