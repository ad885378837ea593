;;;; Consumers.

(in-package #:cl-rdkafka)

(defclass consumer (kabi:consumer)
  ((turn :initform (make-turn) :reader consumer-turn))
  (:documentation "A client that receives messages.

:CONF is a plist, an alist or a hash-table of properties and their values, strings both. :SERDE is a function
that makes objects of octets, IDENTITY without one; :KEY-SERDE and :VALUE-SERDE are in its place for keys and
for values. They are called by POLL, and never for a null. What else KAFKABI:CONSUMER takes is taken too:
functions for changes of the assignment, errors, logs, statistics and tokens."))

(defmethod initialize-instance :around
    ((consumer consumer) &rest initargs &key conf serde (key-serde serde) (value-serde serde))
  (check-conf conf)
  ;; IDENTITY is what kafkabi does by itself.
  (flet ((function-of (serde)
           (let ((function (serde-function serde)))
             (unless (eq function #'identity) function))))
    (let ((key-serde (function-of key-serde)) (value-serde (function-of value-serde)))
      (making ("consumer")
        (apply #'call-next-method consumer :serde nil :key-serde key-serde :value-serde value-serde
               initargs)))))

(defmethod close ((consumer consumer))
  (translated (kabi:close consumer))
  nil)

;;; ---- turns ----

;;; Several threads may poll one consumer here, which kafkabi does not let them: they take turns.

(defstruct (turn (:constructor make-turn ()))
  (lock (kabi::make-lock "cl-rdkafka turn"))
  (waiters (kabi::make-waiters))
  (waiting 0 :type fixnum)              ; how many threads wait
  (owner nil))                          ; the thread whose turn it is

(defun take-turn (turn timeout-ms)
  "Wait for the turn, up to TIMEOUT-MS milliseconds. Return the milliseconds that are left, or NIL."
  (let ((thread (kabi::this-thread)) (deadline nil))
    (kabi::with-short-lock ((turn-lock turn))
      (unless (turn-owner turn)
        (setf (turn-owner turn) thread)
        (return-from take-turn timeout-ms)))
    (setf deadline (kabi::deadline timeout-ms))
    (kabi::with-lock ((turn-lock turn))
      (incf (turn-waiting turn))
      (unwind-protect
           (loop
             (let ((left (kabi::left deadline)))
               (cond ((null (turn-owner turn))
                      (setf (turn-owner turn) thread)
                      (return left))
                     ((zerop left) (return nil)))
               (kabi::wait-with-lock (turn-waiters turn) (turn-lock turn)
                                     (if (minusp left) 1 (/ left 1000)))))
        (decf (turn-waiting turn))))))

(defun leave-turn (turn)
  "End this thread's turn, if it has it."
  (when (eq (turn-owner turn) (kabi::this-thread))
    (kabi::with-short-lock ((turn-lock turn))
      (setf (turn-owner turn) nil)
      (when (plusp (turn-waiting turn))
        (kabi::wake-all (turn-waiters turn))))))

;;; ---- polling ----

(defun check-timeout (timeout-ms)
  (unless (typep timeout-ms 'kabi::milliseconds)
    (bad-argument 'timeout-ms timeout-ms "a number of milliseconds, or -1 to wait for ever")))

(defgeneric poll (consumer timeout-ms)
  (:documentation "The next message, or NIL if none comes within TIMEOUT-MS milliseconds.

What is told about a partition, such as its end with enable.partition.eof, is signalled as a PARTITION-ERROR.
What a serde signals has the restart STORE-FUNCTION, which takes another function and goes on with it."))

(defmethod poll ((consumer consumer) timeout-ms)
  (check-timeout timeout-ms)
  (let ((turn (consumer-turn consumer)))
    (when (eq (turn-owner turn) (kabi::this-thread))
      (error 'rdkafka-error :enum 'cl-rdkafka/ll:rd-kafka-resp-err--conflict
                            :description "a serde polls the consumer that called it"))
    (unwind-protect
         (let ((left (take-turn turn timeout-ms)))
           (when left
             (let ((record (translated (kabi:poll consumer :timeout left))))
               (and record (make-message record)))))
      (leave-turn turn))))

;;; ---- subscribing and assigning ----

(defgeneric subscribe (consumer topics)
  (:documentation "Subscribe CONSUMER to TOPICS, the name of a topic or a sequence of names, in place of what
it was subscribed to. A name that begins with ^ is a regular expression."))

(defmethod subscribe ((consumer consumer) topics)
  (translated (kabi:subscribe consumer topics))
  nil)

(defgeneric unsubscribe (consumer)
  (:documentation "Leave the group and end the subscription of CONSUMER."))

(defmethod unsubscribe ((consumer consumer))
  (translated (kabi:unsubscribe consumer))
  nil)

(defgeneric subscription (consumer)
  (:documentation "A list of the names that CONSUMER is subscribed to."))

(defmethod subscription ((consumer consumer))
  (translated (kabi:subscription consumer)))

(defgeneric assign (consumer partitions)
  (:documentation "Read PARTITIONS, a sequence of (topic . partition) and ((topic . partition) . offset), in
place of what was assigned. Without an offset it begins where the group committed, or where auto.offset.reset
says."))

(defmethod assign ((consumer consumer) partitions)
  (let ((partitions (mapcar (lambda (element)
                              (if (and (consp element) (consp (car element)))
                                  (cons (check-partition (car element) 'partitions)
                                        (offset-keyword (cdr element) 'partitions))
                                  (check-partition element 'partitions)))
                            (elements partitions 'partitions))))
    (translated (kabi:assign consumer partitions))
    nil))

(defgeneric assignment (consumer &key offsetsp)
  (:documentation "A list of the partitions that are assigned to CONSUMER, each a (topic . partition), or with
OFFSETSP a ((topic . partition) . offset): the offset that it was told to begin at, -1001 if none."))

(defmethod assignment ((consumer consumer) &key offsetsp)
  (let ((partitions (translated (kabi:assignment consumer :offsets offsetsp))))
    (if offsetsp
        (mapcar #'numbered-pair partitions)
        partitions)))

(defgeneric pause (consumer partitions)
  (:documentation "Hand out no messages of PARTITIONS, a sequence of (topic . partition), until RESUME. Return
PARTITIONS. Signal a PARTIAL-ERROR, whose GOODIES are a list of (topic . partition), if some are not assigned."))

(defmethod pause ((consumer consumer) partitions)
  (let ((list (partitions partitions 'partitions)))
    (translated (kabi:pause consumer list))
    partitions))

(defgeneric resume (consumer partitions)
  (:documentation "Hand out messages of PARTITIONS, a sequence of (topic . partition), again. Return
PARTITIONS. Signal a PARTIAL-ERROR, whose GOODIES are a list of (topic . partition), if some are not assigned."))

(defmethod resume ((consumer consumer) partitions)
  (let ((list (partitions partitions 'partitions)))
    (translated (kabi:resume consumer list))
    partitions))

(defgeneric member-id (consumer)
  (:documentation "The id that the broker gave CONSUMER in its group, a string."))

(defmethod member-id ((consumer consumer))
  (translated (kabi:member-id consumer)))

;;; ---- moving ----

(defun seek-to (consumer topic partition offset timeout-ms)
  (check-partition (cons topic partition) 'partition)
  (check-timeout timeout-ms)
  ;; One partition: what fails is that one, and no list of them.
  (handler-case (translated
                  (kabi:seek consumer (list (cons (cons topic partition) offset)) :timeout timeout-ms))
    (partial-error (condition) (error (cdr (first (baddies condition))))))
  nil)

(defgeneric seek (consumer topic partition offset timeout-ms)
  (:documentation "Go on reading a partition at OFFSET. Waits up to TIMEOUT-MS milliseconds, as right after
ASSIGN, until the partition is ready."))

(defmethod seek ((consumer consumer) topic partition offset timeout-ms)
  (seek-to consumer topic partition (offset-keyword offset 'offset) timeout-ms))

(defgeneric seek-to-beginning (consumer topic partition timeout-ms)
  (:documentation "Go on reading a partition at its first message. As SEEK otherwise."))

(defmethod seek-to-beginning ((consumer consumer) topic partition timeout-ms)
  (seek-to consumer topic partition :beginning timeout-ms))

(defgeneric seek-to-end (consumer topic partition timeout-ms)
  (:documentation "Go on reading a partition after its last message. As SEEK otherwise."))

(defmethod seek-to-end ((consumer consumer) topic partition timeout-ms)
  (seek-to consumer topic partition :end timeout-ms))

;;; ---- asking ----

(defgeneric watermarks (consumer topic partition timeout-ms)
  (:documentation "(low . high): the offset of a partition's first message, and that after its last."))

(defmethod watermarks ((consumer consumer) topic partition timeout-ms)
  (check-partition (cons topic partition) 'partition)
  (check-timeout timeout-ms)
  (multiple-value-bind (low high)
      (translated (kabi:watermarks consumer topic partition :timeout timeout-ms))
    (cons low high)))

(defgeneric positions (consumer partitions)
  (:documentation "Where CONSUMER goes on in PARTITIONS, a sequence of (topic . partition): an alist of these
and the offset after the last message that was polled, or NIL where none was. Signal a PARTIAL-ERROR, whose
GOODIES are such an alist, if some are not assigned."))

(defmethod positions ((consumer consumer) partitions)
  (translated (kabi:positions consumer (partitions partitions 'partitions))))

(defgeneric offsets-for-times (consumer timestamps timeout-ms)
  (:documentation "The offsets of the first messages that are as old as TIMESTAMPS, an alist of (topic .
partition) and milliseconds since 1970, or newer: an alist of (topic . partition) and offsets, -1 where there is
none. Signal a PARTIAL-ERROR, whose GOODIES are such an alist, if some can't be told."))

(defmethod offsets-for-times ((consumer consumer) timestamps timeout-ms)
  (check-timeout timeout-ms)
  (mapcar #'numbered-pair
          (translated (kabi:offsets-for-times consumer timestamps :timeout timeout-ms))))
