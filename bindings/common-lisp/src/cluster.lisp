;;;; The embedded cluster: brokers inside this process, for demonstrations and tests.

(in-package #:kafkabi)

(defclass cluster ()
  ((handle :initform kabi-ll:+no-handle+ :accessor cluster-handle)
   (addresses :initform "" :accessor cluster-addresses))
  (:documentation "An embedded Kafka cluster of :BROKERS brokers (1, or up to 100) on loopback ports that
the system chooses. It keeps records in memory, and makes a topic of 4 partitions when a client asks for
one that is not there. Transactions are not carried out: aborted records are read. It must be closed by
CLOSE, which WITH-CLUSTER does."))

(defmethod initialize-instance :after ((cluster cluster) &key (brokers 1))
  (check-argument brokers (integer 1 100) "a number of brokers, 1 to 100")
  (cffi:with-foreign-object (place :uint64)
    (with-details (details)
      (let ((status 0) (handle kabi-ll:+no-handle+))
        ;; Not interrupted: a cluster that was made is also ended.
        (kabi-ll:uninterrupted
          (setf status (kabi-ll:cluster-new brokers place details))
          (when (zerop status)
            (setf handle (cffi:mem-ref place :uint64)
                  (cluster-handle cluster) handle)
            (finalize cluster (lambda () (run-for-finalizer (lambda () (kabi-ll:cluster-free handle)))))))
        (check-status status details nil :operation 'cluster)
        (setf (cluster-addresses cluster)
              (foreign-string (lambda (buffer size length details)
                                (kabi-ll:cluster-bootstrap handle buffer size length details))))))))

(defun make-cluster (&rest arguments &key &allow-other-keys)
  "A new embedded cluster; the arguments are those of MAKE-INSTANCE with the class CLUSTER."
  (apply #'make-instance 'cluster arguments))

(defmethod print-object ((cluster cluster) stream)
  (print-unreadable-object (cluster stream :type t :identity t)
    (princ (cluster-addresses cluster) stream)))

(defmethod close ((cluster cluster) &key timeout)
  (declare (ignore timeout))
  (let ((handle (cluster-handle cluster)))
    (unless (eql handle kabi-ll:+no-handle+)
      ;; It takes about a millisecond, rarely a second.
      (end-call (kabi-ll:uninterrupted
                  (prog1 (begin-call (lambda () (kabi-ll:cluster-free handle)))
                    (trivial-garbage:cancel-finalization cluster)
                    (setf (cluster-handle cluster) kabi-ll:+no-handle+)))
                (lambda ())))
    nil))

(defmacro with-cluster ((cluster &rest arguments) &body body)
  "Evaluate BODY with CLUSTER bound to a new embedded cluster made with ARGUMENTS, and end it, however BODY
is left."
  `(let ((,cluster (make-cluster ,@arguments)))
     (unwind-protect (progn ,@body)
       (close ,cluster))))

(defun bootstrap-servers (cluster)
  "The addresses of CLUSTER, as the property bootstrap.servers takes them."
  (check-argument cluster cluster "an embedded cluster")
  (cluster-addresses cluster))

(defgeneric create-topic (where name &key)
  (:documentation "Create the topic NAME, a string, with PARTITIONS partitions, each with REPLICATION copies, and return
NAME. WHERE is an embedded cluster (1 of each without these), or a client, which asks its cluster for it and waits until
the controller has made it; then these may be left to the brokers, and PLACEMENT, CONFIGS, VALIDATE-ONLY, TIMEOUT and
ASYNC are as for CREATE-TOPICS. Signal a KAFKA-ERROR if it is there already."))

(defmethod create-topic ((cluster cluster) name &key (partitions 1) (replication 1))
  (check-argument name string "the name of a topic, a string")
  (check-argument partitions (integer 1 10000) "a number of partitions, 1 to 10,000")
  (check-argument replication (integer 1 100) "a number of copies, at most one a broker")
  (with-text (pointer name)
    (call-checked (kabi-ll:cluster-topic-create (cluster-handle cluster) pointer partitions replication)
                  nil :operation 'create-topic :topic name))
  name)
