;;;; What can be done to the embedded cluster beyond topics and brokers that go down: faults, placement, groups, and
;;;; what is in it.

(in-package #:kafkabi)

(defun cluster-open (cluster operation)
  "The handle of CLUSTER."
  (check-argument cluster cluster "an embedded cluster")
  (let ((handle (cluster-handle cluster)))
    (when (eql handle kabi-ll:+no-handle+)
      (error 'closed-error :operation operation :description "the embedded cluster is closed"))
    handle))

(defmacro on-cluster ((cluster operation &rest initargs) (function &rest arguments))
  "Call FUNCTION of kafkabi/low-level with the handle of CLUSTER and ARGUMENTS. Return NIL."
  `(progn
     (call-checked (,function (cluster-open ,cluster ',operation) ,@arguments)
                   nil :operation ',operation ,@initargs)
     nil))

(defun broker-number (broker &optional none)
  "The number of BROKER: an id, T for all, or where NONE is true NIL for no broker."
  (cond ((eq broker t) kabi-ll:+broker-all+)
        ((and none (null broker)) kabi-ll:+broker-none+)
        ((typep broker '(integer 1 10000)) broker)
        (t (argument-error 'broker broker
                           (if none "the id of a broker, or NIL for none" "the id of a broker, or T for all")))))

(defun one-broker (broker &optional none)
  (when (eq broker t)
    (argument-error 'broker broker "the id of one broker"))
  (broker-number broker none))

(defparameter *requests*
  (list :produce kabi-ll:+request-produce+ :fetch kabi-ll:+request-fetch+
        :list-offsets kabi-ll:+request-list-offsets+ :metadata kabi-ll:+request-metadata+
        :offset-commit kabi-ll:+request-offset-commit+ :offset-fetch kabi-ll:+request-offset-fetch+
        :find-coordinator kabi-ll:+request-find-coordinator+ :join-group kabi-ll:+request-join-group+
        :heartbeat kabi-ll:+request-heartbeat+ :leave-group kabi-ll:+request-leave-group+
        :sync-group kabi-ll:+request-sync-group+ :api-versions kabi-ll:+request-api-versions+
        :init-producer-id kabi-ll:+request-init-producer-id+
        :offset-for-leader-epoch kabi-ll:+request-offset-for-leader-epoch+
        :add-partitions-to-txn kabi-ll:+request-add-partitions-to-txn+
        :add-offsets-to-txn kabi-ll:+request-add-offsets-to-txn+ :end-txn kabi-ll:+request-end-txn+
        :txn-offset-commit kabi-ll:+request-txn-offset-commit+
        :consumer-group-heartbeat kabi-ll:+request-consumer-group-heartbeat+
        :get-telemetry-subscriptions kabi-ll:+request-get-telemetry-subscriptions+
        :push-telemetry kabi-ll:+request-push-telemetry+)
  "Kinds of requests by name.")

(defun request-number (request)
  (or (and (keywordp request) (getf *requests* request))
      (and (typep request '(unsigned-byte 15)) request)
      (argument-error 'request request
                      (format nil "a kind of request: ~{~S~^, ~}, or its number"
                              (loop for (name) on *requests* by #'cddr collect name)))))

(defun request-name (number)
  (or (loop for (name value) on *requests* by #'cddr
            when (eql value number) return name)
      number))

(defun status-number (status argument)
  "The code for a keyword such as :NOT-LEADER-FOR-PARTITION, a number, or NIL for none."
  (cond ((null status) 0)
        ((typep status '(signed-byte 32)) status)
        ((and (keywordp status) (kabi-ll:keyword-status status)))
        (t (argument-error argument status "the name of a status, as ERROR-NAME gives it, its number, or NIL"))))

;;; ---- faults ----

(defun broker-down (cluster &optional (broker t))
  "Make BROKER, an id, or all brokers (T) close their connections and refuse new ones."
  (on-cluster (cluster broker-down) (kabi-ll:cluster-broker-down (broker-number broker))))

(defun broker-up (cluster &optional (broker t))
  "Make BROKER, an id, or all brokers (T) take connections again."
  (on-cluster (cluster broker-up) (kabi-ll:cluster-broker-up (broker-number broker))))

(defun set-latency (cluster milliseconds &optional (broker t))
  "Make BROKER, an id, or all brokers (T) hold each answer back for MILLISECONDS, 0 for none."
  (check-argument milliseconds (integer 0 600000) "milliseconds, 0 to 600,000")
  (on-cluster (cluster set-latency) (kabi-ll:cluster-latency (broker-number broker) milliseconds)))

(defun inject-errors (cluster request error &key (count 1) broker (latency 0))
  "Make the next COUNT requests of a kind fail: REQUEST is a keyword such as :PRODUCE or :FETCH, ERROR the name of a status
that brokers answer with, as ERROR-NAME gives it, such as :NOT-LEADER-FOR-PARTITION, :TRANSPORT to close the connection,
or NIL to let it through. Without BROKER whichever broker they reach; with an id, or T for each, only there, and then the
answers also come LATENCY milliseconds late. Clients repeat some requests by themselves, which uses one up each time."
  (check-argument count (integer 1 100000) "how many requests, 1 to 100,000")
  (check-argument latency (integer 0 600000) "milliseconds, 0 to 600,000")
  (let ((request (request-number request)) (code (status-number error 'error)))
    (cond (broker
           (on-cluster (cluster inject-errors)
             (kabi-ll:cluster-inject-broker-errors (broker-number broker) request code latency count)))
          ((plusp latency)
           (argument-error 'latency latency "0 without a BROKER"))
          (t (on-cluster (cluster inject-errors)
               (kabi-ll:cluster-inject-errors request code count))))))

(defun broker-errors-left (cluster request &optional (broker t))
  "How many errors that INJECT-ERRORS made for BROKER, an id, or for all together (T), no REQUEST has used up yet."
  (let ((request (request-number request)))
    (cffi:with-foreign-object (count :uint64)
      (on-cluster (cluster broker-errors-left)
        (kabi-ll:cluster-broker-errors-left (broker-number broker) request count))
      (cffi:mem-ref count :uint64))))

(defun clear-errors (cluster request)
  "Take back the errors that INJECT-ERRORS made for REQUEST without a broker and that are not used up."
  (on-cluster (cluster clear-errors) (kabi-ll:cluster-clear-errors (request-number request))))

(defun set-topic-error (cluster topic error)
  "Tell whoever asks about TOPIC the status ERROR, named as for INJECT-ERRORS; NIL ends that."
  (check-argument topic string "the name of a topic, a string")
  (with-text (name topic)
    (on-cluster (cluster set-topic-error :topic topic)
      (kabi-ll:cluster-topic-error name (status-number error 'error)))))

(defun set-api-versions (cluster request low high)
  "Understand only the versions LOW to HIGH of REQUEST, as older brokers would; -1 and -1 take the request away. For clients
that connect after this."
  (check-argument low (integer -1 32767) "a version, or -1")
  (check-argument high (integer -1 32767) "a version, or -1")
  (on-cluster (cluster set-api-versions)
    (kabi-ll:cluster-api-versions (request-number request) low high)))

;;; ---- brokers that come and go ----

(defun add-broker (cluster broker)
  "Add a broker with the id BROKER, 1 to 10,000, that no other has, on a port that the system chooses; up to 100 in all.
The copies of all partitions are spread anew, with leaders chosen among them; clients learn of it with the metadata that
they ask for next."
  (on-cluster (cluster add-broker) (kabi-ll:cluster-broker-add (one-broker broker))))

(defun remove-broker (cluster broker)
  "Remove BROKER, an id, for good: its connections are closed, others coordinate what it did, and the copies of all
partitions are spread over the others, with leaders chosen among them. Records are kept. One of the brokers that
BOOTSTRAP-SERVERS names has to stay."
  (on-cluster (cluster remove-broker) (kabi-ll:cluster-broker-remove (one-broker broker))))

(defun set-broker-address (cluster broker host port)
  "Let BROKER, an id, say that it is at HOST, a name or an IPv4 address, and PORT, as behind a proxy or with a mistake in
advertised.listeners. It stays where it is, as BOOTSTRAP-SERVERS names it."
  (check-argument host (and string (not (string 0))) "a name or an IPv4 address, a string")
  (check-argument port (integer 1 65535) "a port, 1 to 65,535")
  (with-text (name host)
    (on-cluster (cluster set-broker-address)
      (kabi-ll:cluster-broker-address (one-broker broker) name port))))

(defun ask-for-telemetry (cluster metrics &key (interval 60000))
  "Let the brokers ask clients that connect after this for METRICS (KIP-714), a sequence of beginnings of metrics' names, of
which \"\" stands for all, each INTERVAL milliseconds. What comes is only counted, by REQUESTS as :PUSH-TELEMETRY. Once for
each cluster; signal a KAFKA-ERROR the second time."
  (check-argument interval (integer 1 600000) "milliseconds, 1 to 600,000")
  (let ((names (if (stringp metrics) (list metrics) (coerce-to-list metrics 'metrics))))
    (unless (and (<= 1 (length names) 1000) (every #'stringp names))
      (argument-error 'metrics metrics "1 to 1,000 beginnings of metrics' names, strings"))
    (with-texts (pointers names)
      (on-cluster (cluster ask-for-telemetry)
        (kabi-ll:cluster-telemetry pointers (length names) interval)))))

;;; ---- placement ----

(defmacro on-partition ((cluster operation topic partition) (function &rest arguments))
  "Call FUNCTION with the cluster's handle, the partition, and ARGUMENTS."
  (let ((name (gensym "NAME")))
    `(progn
       (check-argument topic string "the name of a topic, a string")
       (check-argument partition (unsigned-byte 31) "a partition, a number from 0")
       (with-text (,name ,topic)
         (on-cluster (,cluster ,operation :topic ,topic :partition ,partition)
           (,function ,name ,partition ,@arguments))))))

(defun set-leader (cluster topic partition broker)
  "Make BROKER, an id, the leader of a partition, or leave it without one (NIL). Signal a KAFKA-ERROR if CREATE-TOPIC has
not made it."
  (on-partition (cluster set-leader topic partition)
    (kabi-ll:cluster-leader (one-broker broker t))))

(defun answer-leader-once (cluster topic partition broker &key (leader-epoch -1))
  "Let the next answer that tells a client about the leader of a partition name BROKER, an id or NIL for none, and
LEADER-EPOCH (-1 for none), whoever leads it: as brokers do whose metadata is stale. Each call is good for one answer
more, to whichever client asks first."
  (check-argument leader-epoch (integer -1 #.(1- (ash 1 31))) "an epoch, a number from 0, or -1 for none")
  (on-partition (cluster answer-leader-once topic partition)
    (kabi-ll:cluster-leader-answer (one-broker broker t) leader-epoch)))

(defun set-follower (cluster topic partition broker)
  "Make BROKER, an id, the follower that the leader of a partition sends every consumer to; NIL ends that."
  (on-partition (cluster set-follower topic partition)
    (kabi-ll:cluster-follower (one-broker broker t))))

(defun set-follower-watermarks (cluster topic partition low high)
  "Let the follower of a partition have only the records from offset LOW on and before HIGH, as one that lags behind; NIL
stands for what the leader has."
  (check-argument low (or null (unsigned-byte 63)) "an offset, or NIL")
  (check-argument high (or null (unsigned-byte 63)) "an offset, or NIL")
  (on-partition (cluster set-follower-watermarks topic partition)
    (kabi-ll:cluster-follower-watermarks (or low -1) (or high -1))))

(defun set-rack (cluster rack &optional (broker t))
  "Give BROKER, an id, or all brokers (T) a rack, a string of up to 255 octets."
  (check-argument rack string "the name of a rack, a string")
  (with-text (name rack)
    (on-cluster (cluster set-rack) (kabi-ll:cluster-rack (broker-number broker) name))))

(defun set-coordinator (cluster kind name broker)
  "Make BROKER, an id, the coordinator of a group (KIND is :GROUP, NAME the group's id) or of transactions (:TRANSACTION, and
the transactional id)."
  (check-argument kind (member :group :transaction) ":GROUP or :TRANSACTION")
  (check-argument name string "the id of a group or of transactions, a string")
  (with-text (key name)
    (on-cluster (cluster set-coordinator)
      (kabi-ll:cluster-coordinator (if (eq kind :group)
                                       kabi-ll:+coordinator-group+
                                       kabi-ll:+coordinator-transaction+)
                                   key (one-broker broker)))))

(defun set-group-delay (cluster milliseconds)
  "Make new groups of the classic protocol wait so long for further members before their first assignment; 0 at first."
  (check-argument milliseconds (integer 0 600000) "milliseconds, 0 to 600,000")
  (on-cluster (cluster set-group-delay) (kabi-ll:cluster-group-delay milliseconds)))

(defun set-group-timing (cluster session-timeout heartbeat-interval)
  "For new groups by group.protocol=consumer: after how many milliseconds without a sign of life a member is out (30,000 at
first), and how often it gives one (3,000 at first)."
  (check-argument session-timeout (integer 1 600000) "milliseconds, 1 to 600,000")
  (check-argument heartbeat-interval (integer 1 600000) "milliseconds, 1 to 600,000")
  (on-cluster (cluster set-group-timing)
    (kabi-ll:cluster-group-timing session-timeout heartbeat-interval)))

(defun set-group-target (cluster group target)
  "Choose what each member of GROUP, by group.protocol=consumer, is to be assigned: TARGET is an alist of the members' ids
and lists of (topic . partition); NIL lets the cluster assign by itself again. Members that are not named keep what they
have. Signal a KAFKA-ERROR if CREATE-TOPIC has not made a partition."
  (check-argument group string "the id of a group, a string")
  (with-text (name group)
    (if (null target)
        (on-cluster (cluster set-group-target)
          (kabi-ll:cluster-group-target name (cffi:null-pointer)))
        (with-text (json (write-json (target-object target)))
          (on-cluster (cluster set-group-target)
            (kabi-ll:cluster-group-target name json))))))

(defun target-object (target)
  (list* :object
         (loop for element in (coerce-to-list target 'target)
               append (progn
                        (unless (and (consp element) (stringp (car element)))
                          (argument-error 'target element "(member . partitions)"))
                        (list (car element) (partitions-object (cdr element)))))))

(defun partitions-object (partitions)
  "An object of topics' names and lists of partitions."
  (let ((topics '()))
    (dolist (partition (coerce-to-list partitions 'target))
      (let* ((place (partition-place partition 'target))
             (entry (assoc (place-topic place) topics :test #'string=)))
        (if entry
            (push (place-partition place) (cdr entry))
            (push (list (place-topic place) (place-partition place)) topics))))
    (list* :object (loop for (topic . numbers) in (nreverse topics)
                         append (list topic (reverse numbers))))))

;;; ---- what is in it ----

(defun track-requests (cluster &optional (on t))
  "Begin to keep a list of all requests that the brokers get, or end that (ON is NIL). Both empty the list."
  (on-cluster (cluster track-requests) (kabi-ll:cluster-track-requests (if on 1 0))))

(defun requests (cluster)
  "The requests that came since TRACK-REQUESTS, the oldest first: a list of plists of :REQUEST (a keyword as for
INJECT-ERRORS, or a number), :BROKER (its id) and :TIME (microseconds of the system's monotonic clock)."
  (let ((handle (cluster-open cluster 'requests)) (capacity 1024))
    (cffi:with-foreign-object (count :uint64)
      (loop
        (with-memory (requests (* capacity kabi-ll:+sizeof-request+))
          (with-details (details)
            (let ((status (kabi-ll:cluster-requests handle requests capacity count details)))
              (unless (eql status kabi-ll:+status-buffer-too-small+)
                (check-status status details nil :operation 'requests)
                (return (read-requests requests (cffi:mem-ref count :uint64))))
              (setf capacity (+ 1024 (cffi:mem-ref count :uint64))))))))))

(defun read-requests (pointer count)
  (loop repeat count
        collect (list :request (request-name (kabi-ll:request-request pointer))
                      :broker (kabi-ll:request-broker pointer)
                      :time (kabi-ll:request-time-us pointer))
        do (setf pointer (cffi:inc-pointer pointer kabi-ll:+sizeof-request+))))

(defun partition-records (cluster topic partition &key (offset 0) (timeout 30000))
  "All records that a partition holds, from OFFSET on: a list of records, their keys and values as octets. Groups are left
alone, but it reads as a consumer does: latency, injected errors and brokers that are down are met. Wait up to TIMEOUT
milliseconds (-1: for ever) for the end of the partition."
  (check-argument topic string "the name of a topic, a string")
  (check-argument partition (unsigned-byte 31) "a partition, a number from 0")
  (check-argument offset (unsigned-byte 63) "an offset, a number from 0")
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (let ((handle (cluster-open cluster 'partition-records)))
    (out-of-line ()
      (read-partition handle topic partition offset timeout))))

(defun read-partition (handle topic partition offset timeout)
  "On a thread of the pool: read until there is no more."
  (let ((staging (make-staging +poll-octets+)) (deadline (deadline timeout)) (records '()))
    (unwind-protect
         (loop
           (multiple-value-bind (count needed)
               (read-some handle topic partition offset (left deadline) staging)
             (cond (needed (setf staging (grow-staging staging needed 0)))
                   ((zerop count) (return (nreverse records)))
                   (t (loop with pointer = (staging-pointer staging)
                            repeat count
                            do (push (cluster-record topic pointer) records)
                               (setf pointer (cffi:inc-pointer pointer (kabi-ll:packed-size pointer))))
                      (setf offset (1+ (record-offset (first records))))))))
      (free-staging staging))))

(defun read-some (handle topic partition offset timeout staging)
  "How many records were read, and how large the staging buffer must be instead, or NIL."
  (with-text (name topic)
    (cffi:with-foreign-object (info :uint8 #.kabi-ll:+sizeof-batch-info+)
      (with-details (details)
        (let ((status (kabi-ll:cluster-records handle name partition offset (staging-pointer staging)
                                               (staging-size staging) info timeout details)))
          (if (eql status kabi-ll:+status-buffer-too-small+)
              (values 0 (kabi-ll:batch-info-size info))
              (progn
                (check-status status details nil :operation 'partition-records :topic topic
                              :partition partition)
                (values (kabi-ll:batch-info-count info) nil))))))))

(defun cluster-record (topic pointer)
  (let ((key (packed-key pointer)) (value (packed-value pointer)))
    (make-kept-record :topic topic :partition (kabi-ll:packed-partition pointer)
                      :offset (kabi-ll:packed-offset pointer)
                      :timestamp (kabi-ll:packed-timestamp pointer)
                      :timestamp-type (timestamp-keyword (kabi-ll:packed-timestamp-type pointer))
                      :leader-epoch (kabi-ll:packed-leader-epoch pointer)
                      :key key :key-octets key :value value :value-octets value
                      :headers (packed-headers pointer))))
