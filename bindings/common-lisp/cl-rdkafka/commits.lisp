;;;; What consumers commit, and what is committed.

(in-package #:cl-rdkafka)

(defstruct (commit-future (:include future) (:constructor make-commit-future (inner offsets))
                          (:copier nil) (:predicate nil))
  "The future of a commit of OFFSETS, or of what was handled if that is NIL."
  (offsets '() :type list))

(defmethod outcome ((future commit-future))
  (let ((committed (call-next-method)))
    (or (commit-future-offsets future)
        (mapcar #'committed-pair committed))))

(defun commit-failure (condition)
  "The condition for a commit that failed: where all of it failed for one reason, that is told and no list."
  (let ((baddies (baddies condition)))
    (if (and (null (goodies condition))
             (every (lambda (baddy) (eq (enum (cdr baddy)) (enum (cdr (first baddies))))) baddies))
        (cdr (first baddies))
        condition)))

(defgeneric commit (consumer &key offsets asyncp)
  (:documentation "Commit OFFSETS for the group of CONSUMER: an alist from (topic . partition) to the offset of
the next message to read, or to (offset . metadata), the metadata octets; -1001, which stands for none, is left out. Without
OFFSETS commit what was polled.

Return an alist from (topic . partition) to (offset . metadata) of what was committed, NIL if there was nothing
to commit; with ASYNCP true, a future of that. Signal an RDKAFKA-ERROR if it failed as a whole, and a
PARTIAL-ERROR, whose GOODIES are such an alist, if its partitions came to different ends."))

(defmethod commit ((consumer consumer) &key offsets asyncp)
  (let ((pairs (known-offsets (offset-pairs (if (hash-table-p offsets) (table-alist offsets) offsets)
                                            'offsets))))
    (flet ((commit (async)
             (cond (pairs (kabi:commit consumer :offsets pairs :async async))
                   (offsets (kabi:commit consumer :offsets '() :async async))
                   (t (kabi:commit consumer :async async)))))
      (translated
        (if asyncp
            (make-commit-future (commit t) pairs)
            (let ((committed (commit nil)))
              (or pairs (mapcar #'committed-pair committed))))))))

(defun known-offsets (pairs)
  "PAIRS without those of -1001, which POSITIONS and COMMITTED give where there is none. No other offset is negative."
  (loop for pair in pairs
        for offset = (cadr pair)
        do (when (and (minusp offset) (/= offset cl-rdkafka/ll:rd-kafka-offset-invalid))
             (bad-argument 'offsets pair "an offset from 0, or -1001 for none"))
        unless (minusp offset) collect pair))

(defun table-alist (table)
  (loop for key being the hash-keys of table using (hash-value value)
        collect (cons key value)))

(defgeneric committed (consumer partitions timeout-ms)
  (:documentation "What the group of CONSUMER has committed for PARTITIONS, a sequence of (topic . partition):
an alist from these to (offset . metadata), with -1001 and #() where nothing is. Wait up to TIMEOUT-MS
milliseconds. Signal a PARTIAL-ERROR, whose GOODIES are such an alist, if some can't be told."))

(defmethod committed ((consumer consumer) partitions timeout-ms)
  (check-timeout timeout-ms)
  (let ((partitions (partitions partitions 'partitions)))
    (mapcar #'committed-pair
            (translated (kabi:committed consumer partitions :timeout timeout-ms)))))
