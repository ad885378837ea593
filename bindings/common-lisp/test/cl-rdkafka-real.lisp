;;;; What the embedded cluster can't do, on a real Kafka: the environment variable KABI_KAFKA_SINGLE names its
;;;; addresses. Without it these tests are skipped.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-real :in cl-rdkafka)
(in-suite kf-real)

(defvar *run* (format nil "~36R-~36R" (get-universal-time) (random 1000000 (make-random-state t)))
  "Part of all names, as the broker may be used by others too.")

(defun real-name (what)
  (format nil "~A-~A" (fresh what) *run*))

(defmacro real-test (name &body body)
  "Define a test with SERVERS bound to a real Kafka's addresses."
  `(test ,name
     (let ((servers (uiop:getenv "KABI_KAFKA_SINGLE")))
       (if (plusp (length servers))
           (progn ,@body)
           (skip "KABI_KAFKA_SINGLE names no Kafka")))))

(defmacro with-real ((client class &rest conf) &body body)
  "Evaluate BODY with a new client of the real Kafka that sends and receives text."
  `(with-client (,client ,class
                 :conf (list* "bootstrap.servers" servers
                              ,@(when (eq class 'kf:consumer)
                                  '("auto.offset.reset" "earliest" "enable.auto.commit" "false"))
                              (list ,@conf))
                 :serde ,(if (eq class 'kf:consumer) '#'babel:octets-to-string '#'babel:string-to-octets))
     ,@body))

(defun real-topic (client &optional (partitions 1))
  "A new topic of PARTITIONS partitions."
  (let ((topic (real-name "topic")))
    (kf:create-topic client topic :partitions partitions :timeout-ms *long*)
    ;; It is there once it has leaders.
    (await (lambda ()
             (let ((metadata (ignore-errors (kf:cluster-metadata client topic :timeout-ms *long*))))
               (every (lambda (partition) (integerp (cdr (assoc :leader partition))))
                      (or (cdr (assoc :partitions (first (cdr (assoc :topic-metadata metadata)))))
                          '(()))))))
    topic))

(defun values-of (messages)
  (mapcar #'kf:value messages))

(defun polled (consumer)
  "The values of all messages that come until none has for a while."
  (loop for message = (kf:poll consumer 1500)
        while message
        collect (kf:value message)))

;;; ---- messages and times ----

(real-test a-timestamp-is-the-messages-own
  (with-real (producer kf:producer)
    (let* ((topic (real-topic producer))
           (message (kf:value (kf:send producer topic "a" :timestamp 1234567890123)))
           (before (* 1000 (- (get-universal-time) 2208988800 60))))
      (is (equal '(1234567890123 :create-time) (multiple-value-list (kf:timestamp message))))
      (is (< before (kf:timestamp (kf:value (kf:send producer topic "b"))) (+ before 300000))))))

(real-test offsets-for-times-are-exact
  (with-real (producer kf:producer)
    (let ((topic (real-topic producer)))
      (loop for value in '("a" "b" "c" "d")
            for timestamp from 1700000000000 by 1000
            do (kf:send producer topic value :timestamp timestamp))
      (kf:flush producer)
      (with-real (consumer kf:consumer)
        (flet ((offset-at (time)
                 (cdr (assoc (cons topic 0)
                             (kf:offsets-for-times consumer (list (cons (cons topic 0) time)) *long*)
                             :test #'equal))))
          (is (eql 0 (offset-at 0)))
          (is (eql 2 (offset-at 1700000002000)))
          (is (eql 3 (offset-at 1700000002001)))
          (is (eql cl-rdkafka/ll:rd-kafka-offset-end (offset-at 1700000003001))))))))

(real-test log-append-time-is-told
  (with-real (producer kf:producer)
    (let ((topic (real-name "topic")))
      (kf:create-topic producer topic :timeout-ms *long* :conf '("message.timestamp.type" "LogAppendTime"))
      (kf:value (kf:send producer topic "a" :timestamp 1))
      (with-real (consumer kf:consumer)
        (kf:assign consumer (list (cons topic 0)))
        (multiple-value-bind (timestamp type) (kf:timestamp (poll-message consumer))
          (is (eq :log-append-time type))
          (is (< 1 timestamp)))))))

(real-test nulls-and-headers-survive-a-real-broker
  (with-real (producer kf:producer)
    (let ((topic (real-topic producer)))
      (kf:send producer topic "" :key ""
                                 :headers (list (cons "größe" (octets 0 255)) (cons "null" nil)
                                                (cons "empty" (octets))))
      (with-client (raw kf:producer :conf (list "bootstrap.servers" servers))
        (kf:flush producer)
        (kf:value (kf:send raw topic nil)))
      (with-real (consumer kf:consumer)
        (kf:assign consumer (list (cons topic 0)))
        (let ((empty (poll-message consumer)) (null (poll-message consumer)))
          (is (equalp (list "" (octets)) (multiple-value-list (kf:key empty))))
          (is (equalp `(("größe" . ,(octets 0 255)) ("null") ("empty" . ,(octets))) (kf:headers empty)))
          (is (equal '(nil nil) (multiple-value-list (kf:value null))))
          (is (equal '(nil nil) (multiple-value-list (kf:key null)))))))))

;;; ---- transactions ----

(real-test committed-and-aborted-transactions-are-told-apart
  (with-real (producer kf:producer "transactional.id" (real-name "id"))
    (kf:initialize-transactions producer *long*)
    (let ((one (real-topic producer)) (two (real-topic producer)))
      (with-real (consumer kf:consumer "isolation.level" "read_committed")
        (kf:assign consumer (list (cons one 0) (cons two 0)))
        (kf:begin-transaction producer)
        (kf:send producer one "aborted")
        (kf:value (kf:send producer two "aborted"))
        (is (null (polled consumer)))
        (kf:abort-transaction producer *long*)
        (kf:begin-transaction producer)
        (kf:send producer one "committed")
        (kf:value (kf:send producer two "committed"))
        (is (null (polled consumer)))
        (kf:commit-transaction producer *long*)
        (is (equal '("committed" "committed") (values-of (poll-messages consumer 2))))
        (is (null (polled consumer)))))))

(real-test offsets-are-committed-with-the-transaction
  (with-real (producer kf:producer "transactional.id" (real-name "id"))
    (kf:initialize-transactions producer *long*)
    (let ((from (real-topic producer)) (to (real-topic producer)))
      (fill-real servers from '("one" "two" "three"))
      (with-real (consumer kf:consumer "group.id" (real-name "group"))
        (flet ((committed () (cadar (kf:committed consumer (list (cons from 0)) *long*))))
          (kf:subscribe consumer from)
          ;; Aborted: nothing is committed, and what was read is read again.
          (kf:begin-transaction producer)
          (let ((messages (poll-messages consumer 3)))
            (kf:value (kf:send producer to "x"))
            (is (null (kf:send-offsets-to-transaction producer consumer messages *long*)))
            (kf:abort-transaction producer *long*))
          (is (eql cl-rdkafka/ll:rd-kafka-offset-invalid (committed)))
          (kf:seek-to-beginning consumer from 0 *long*)
          (kf:begin-transaction producer)
          (let ((messages (coerce (poll-messages consumer 3) 'vector)))
            (is (equal '("one" "two" "three") (map 'list #'kf:value messages)))
            (kf:send-offsets-to-transaction producer consumer messages *long*)
            ;; Until the transaction has ended the coordinator does not tell what is committed.
            (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--timed-out
                    (kf:enum (condition-of (kf:committed consumer (list (cons from 0)) 500)))))
            (kf:commit-transaction producer *long*))
          (is-true (await (lambda () (eql 3 (committed)))))
          ;; With metadata, which a real broker takes for text: any octets would not come back.
          (kf:begin-transaction producer)
          (kf:send-offsets-to-transaction producer consumer `(((,from . 0) . (2 . #(1 0 195 188)))) *long*)
          (kf:commit-transaction producer *long*)
          (is-true (await (lambda ()
                            (equalp `(((,from . 0) . (2 . #(1 0 195 188))))
                                    (kf:committed consumer (list (cons from 0)) *long*))))))))))

(defun fill-real (servers topic values)
  (with-real (producer kf:producer)
    (dolist (value values) (kf:send producer topic value))
    (kf:flush producer)))

(real-test orders-are-served-exactly-once
  (with-real (producer kf:producer)
    (let ((orders (real-topic producer)) (served (real-topic producer)))
      (check-transactions servers orders served (real-name "group") (real-name "id"))
      (with-real (consumer kf:consumer "isolation.level" "read_committed")
        (kf:assign consumer (list (cons served 0)))
        (is (equal '("served tea" "served coffee" "served cake")
                   (values-of (poll-messages consumer 3))))
        (is (null (polled consumer)))))))

(real-test a-fenced-producer-is-a-fatal-error
  (let ((id (real-name "id")))
    (with-real (old kf:producer "transactional.id" id)
      (kf:initialize-transactions old *long*)
      (let ((topic (real-topic old)))
        (kf:begin-transaction old)
        (kf:value (kf:send old topic "old"))
        (with-real (new kf:producer "transactional.id" id)
          (kf:initialize-transactions new *long*)
          (let ((condition (condition-of (progn (kf:send old topic "too late")
                                                (kf:commit-transaction old *long*)))))
            (is (typep condition 'kf:fatal-error))
            (is (typep condition 'kf:rdkafka-error))
            (is (eq (symbol-package (kf:enum condition)) (find-package '#:cl-rdkafka/ll)))))))))

;;; ---- administration ----

(defmacro for-both-kinds ((client) &body body)
  `(flet ((check (,client) ,@body))
     (with-real (producer kf:producer) (check producer))
     (with-real (consumer kf:consumer) (check consumer))))

(defun partition-count (client topic)
  (let ((topics (cdr (assoc :topic-metadata (kf:cluster-metadata client topic :timeout-ms *long*)))))
    (length (cdr (assoc :partitions (first topics))))))

(real-test topics-are-made-grown-and-deleted
  (for-both-kinds (client)
    (let ((topic (real-name "topic")))
      (is (eq topic (kf:create-topic client topic :partitions 4 :timeout-ms *long* :validate-only-p t)))
      (is (eql 0 (partition-count client topic)))
      (is (eq topic (kf:create-topic client topic :partitions 3 :replication-factor 1
                                                  :timeout-ms *long* :conf '("retention.ms" "60000"))))
      (is-true (await (lambda () (eql 3 (partition-count client topic)))))
      (is (equal "60000" (cdr (assoc "retention.ms" (kf:describe-config client topic :topic
                                                                        :timeout-ms *long*)
                                     :test #'string=))))
      (let ((condition (condition-of (kf:create-topic client topic :timeout-ms *long*))))
        (is (typep condition 'kf:rdkafka-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err-topic-already-exists (kf:enum condition))))
      (is (eql 5 (kf:create-partitions client topic 5 :timeout-ms *long*)))
      (is-true (await (lambda () (eql 5 (partition-count client topic)))))
      (is (eq topic (kf:delete-topic client topic :timeout-ms *long*)))
      (is-true (await (lambda () (eql 0 (partition-count client topic)))))
      (is (typep (condition-of (kf:delete-topic client topic :timeout-ms *long*)) 'kf:rdkafka-error)))))

(real-test configurations-are-described-and-altered
  (for-both-kinds (client)
    (let ((topic (real-topic client)) (conf '(("message.timestamp.type" . "LogAppendTime"))))
      (flet ((kind ()
               (cdr (assoc "message.timestamp.type" (kf:describe-config client topic :topic)
                           :test #'string=))))
        (is (equal "CreateTime" (kind)))
        (is (eq conf (kf:alter-config client topic conf)))
        (is-true (await (lambda () (equal "LogAppendTime" (kind)))))
        (kf:alter-config client topic '(("retention.ms" . "60000")))
        (is-true (await (lambda () (equal "CreateTime" (kind)))))
        (is (stringp (cdr (assoc "log.dirs" (kf:describe-config
                                             client (princ-to-string (kf:controller-id client)) :broker)
                                 :test #'string=))))))))

(real-test the-cluster-is-told
  (for-both-kinds (client)
    (let* ((topic (real-topic client)) (id (kf:controller-id client :timeout-ms *long*))
           (colon (position #\: servers :from-end t))
           (host (subseq servers 0 colon)) (port (parse-integer servers :start (1+ colon))))
      (is (plusp (length (kf:cluster-id client :timeout-ms *long*))))
      (is (integerp id))
      (is (equal `((:originating-broker (:id . ,id) (:name . ,(format nil "~A/~D" servers id)))
                   (:broker-metadata ((:id . ,id) (:host . ,host) (:port . ,port)))
                   (:topic-metadata ((:topic . ,topic)
                                     (:partitions ((:id . 0) (:leader . ,id) (:replicas ,id)
                                                   (:in-sync-replicas ,id))))))
                 (kf:cluster-metadata client topic :timeout-ms *long*)))
      (flet ((topics (which)
               (mapcar (lambda (topic) (cdr (assoc :topic topic)))
                       (cdr (assoc :topic-metadata
                                   (kf:cluster-metadata client which :timeout-ms *long*))))))
        (is (member topic (topics :all) :test #'equal))
        (is (subsetp (topics :local) (topics :all) :test #'equal)))
      (is (typep (condition-of (kf:cluster-metadata client 7)) 'kf:kafka-error)))))

(real-test groups-are-told-with-their-members
  (let ((groups (list (real-name "group") (real-name "group"))))
    (with-real (producer kf:producer)
      (let ((topic (real-topic producer)))
        (with-real (first kf:consumer "group.id" (first groups) "client.id" "me")
          (with-real (second kf:consumer "group.id" (second groups))
            (kf:subscribe first topic)
            (kf:subscribe second topic)
            (is-true (await-assignment first))
            (is-true (await-assignment second))
            (dolist (client (list first producer))
              (destructuring-bind (group) (kf:group-info client (first groups) :timeout-ms *long*)
                (flet ((part (name) (cdr (assoc name group))))
                  (is (equal (first groups) (part :group)))
                  (is (equal "Stable" (part :state)))
                  (is (equal "consumer" (part :protocol-type)))
                  (is (equal "range" (part :protocol)))
                  (is (integerp (cdr (assoc :port (part :broker)))))
                  (destructuring-bind (member) (part :members)
                    (is (equal (kf:member-id first) (cdr (assoc :id member))))
                    (is (equal "me" (cdr (assoc :client-id member))))
                    (is (stringp (cdr (assoc :client-host member))))
                    (is (equal (list (cons topic 0)) (cdr (assoc :assignment member)))))))
              (multiple-value-bind (all partialp) (kf:group-info client nil :timeout-ms *long*)
                (is (null partialp))
                (is (subsetp groups (mapcar (lambda (group) (cdr (assoc :group group))) all)
                             :test #'equal))))))))))
