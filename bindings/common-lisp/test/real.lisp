;;;; What the embedded cluster lacks, on a real broker of tests/kafka: transactions, administration, times. Runs where
;;;; KABI_KAFKA_SINGLE has a broker's address, and for users and access rules KABI_KAFKA_SASL_PLAINTEXT one that asks
;;;; who the client is.

(in-package #:kafkabi/test)

(def-suite real :in kafkabi)
(in-suite real)

(defun real-servers (&optional (variable "KABI_KAFKA_SINGLE"))
  (let ((servers (uiop:getenv variable)))
    (and (plusp (length servers)) servers)))

(defmacro real-test (name &body body)
  `(test ,name
     (if (real-servers)
         (progn ,@body)
         (skip "no real broker: KABI_KAFKA_SINGLE is not set"))))

(defun real-conf (&rest properties)
  (list* :bootstrap-servers (real-servers) properties))

(defvar *run* (format nil "~36R-~36R" (get-universal-time) (cffi:foreign-funcall "getpid" :int))
  "Keeps the names of this process apart: brokers live on, and other processes test on them.")

(defun real-name (what)
  (format nil "lisp-~A-~A" (fresh what) *run*))

(defmacro with-real-admin ((admin) &body body)
  `(kabi:with-admin (,admin :conf (real-conf)) ,@body))

(defun real-topic (admin &rest options)
  (let ((name (real-name "topic")))
    (apply #'kabi:create-topic admin name options)
    (is-true (await (lambda () (ignore-errors (kabi:describe-topics admin name)))))
    name))

(defun real-reader-conf (&rest properties)
  (apply #'real-conf :group-id (real-name "group") :auto-offset-reset "earliest"
         :isolation-level "read_committed" :enable-auto-commit nil properties))

(defun real-values (topic &optional (isolation "read_committed"))
  "All values of partition 0."
  (kabi:with-consumer (consumer :conf (real-reader-conf :isolation-level isolation :enable-partition-eof t)
                                :serde #'kabi:octets-to-string)
    (kabi:assign consumer (list (cons (tp topic) :beginning)))
    (let ((values '()))
      (handler-case (kabi:do-records (record consumer :timeout *long*)
                      (push (kabi:record-value record) values))
        (kabi:partition-error ()))
      (reverse values))))

(defun real-fill (topic values)
  (kabi:with-producer (producer :conf (real-conf))
    (dolist (value values) (kabi:send producer topic value))
    (kabi:flush producer :timeout *long*)))

;;; ---- transactions ----

(real-test transactions-on-a-broker
  (with-real-admin (admin)
    (let ((topic (real-topic admin)))
      (kabi:with-producer (producer :conf (real-conf :transactional-id (real-name "id")))
        (kabi:initialize-transactions producer :timeout *long*)
        (kabi:with-transaction (producer) (kabi:send producer topic "a"))
        (ignore-errors (kabi:with-transaction (producer)
                         (kabi:value (kabi:send producer topic "lost") :timeout *long*)
                         (error 'cut-off)))
        (catch 'out (kabi:with-transaction (producer)
                      (kabi:value (kabi:send producer topic "lost") :timeout *long*)
                      (throw 'out nil)))
        (kabi:with-transaction (producer) (kabi:send producer topic "b")))
      (is (equal '("a" "b") (real-values topic)))
      (is (equal '("a" "lost" "lost" "b") (real-values topic "read_uncommitted"))))))

(real-test exactly-once-on-a-broker
  (with-real-admin (admin)
    (let ((from (real-topic admin)) (to (real-topic admin)) (conf (real-reader-conf)) (failures 3))
      (real-fill from (numbers 0 20))
      (kabi:with-producer (producer :conf (real-conf :transactional-id (real-name "id")))
        (kabi:initialize-transactions producer :timeout *long*)
        (kabi:with-consumer (consumer :conf conf :serde #'kabi:octets-to-string)
          (kabi:subscribe consumer from)
          (flet ((work ()
                   (let ((batch (kabi:poll-batch consumer :timeout *long* :limit 5)))
                     (loop for record across batch
                           do (kabi:send producer to (kabi:record-value record)))
                     (when (plusp (decf failures)) (error 'cut-off))
                     (length batch))))
            (handler-bind ((cut-off (lambda (condition)
                                      (declare (ignore condition))
                                      (kabi:retry-operation))))
              (loop with count = 0
                    while (< count 20)
                    do (incf count (kabi:with-transaction (producer :consumer consumer) (work))))))
          (is (equal (list (list* (tp from) 20 nil)) (kabi:committed consumer t :timeout *long*)))))
      (is (equal (numbers 0 20) (real-values to)))
      (is (equal (list (list* (tp from) 20 nil))
                 (kabi:list-group-offsets admin (getf conf :group-id)))))))

(real-test offsets-in-transactions-on-a-broker
  (with-real-admin (admin)
    (let ((topic (real-topic admin)))
      (real-fill topic '("a" "b"))
      (kabi:with-producer (producer :conf (real-conf :transactional-id (real-name "id")))
        (kabi:initialize-transactions producer :timeout *long*)
        (kabi:with-consumer (consumer :conf (real-reader-conf))
          (kabi:subscribe consumer topic)
          (is-true (kabi:poll consumer :timeout *long*))
          (flet ((committed () (cdr (first (kabi:committed consumer (list (tp topic)) :timeout *long*)))))
            (kabi:begin-transaction producer)
            (kabi:send-offsets-to-transaction producer (kabi:group-metadata consumer)
                                              (list (cons (tp topic) 1)) :timeout *long*)
            (kabi:abort-transaction producer :timeout *long*)
            (is (null (committed)))
            (kabi:begin-transaction producer)
            (kabi:send-offsets-to-transaction producer (kabi:group-metadata consumer)
                                              (list (list* (tp topic) 1 (octets 1 0 2))) :timeout *long*)
            (is-true (kabi:commit-transaction producer :timeout *long*))
            (is (equalp (cons 1 (octets 1 0 2)) (committed)))))))))

(real-test fencing-on-a-broker
  (with-real-admin (admin)
    (let* ((topic (real-topic admin)) (conf (real-conf :transactional-id (real-name "id")))
           (old (kabi:make-producer :conf conf)) (new (kabi:make-producer :conf conf)))
      (kabi:initialize-transactions old :timeout *long*)
      (kabi:begin-transaction old)
      (kabi:value (kabi:send old topic "a") :timeout *long*)
      (kabi:initialize-transactions new :timeout *long*)
      (let ((condition (condition-of (kabi:commit-transaction old :timeout *long*))))
        (is (typep condition 'kabi:fenced-error) "~S ~A" condition condition)
        (is-true (kabi:fatalp condition)))
      (kabi:with-transaction (new) (kabi:send new topic "b"))
      (ignore-errors (kabi:close old :timeout *long*))
      (kabi:close new :timeout *long*)
      (is (equal '("b") (real-values topic))))))

;;; ---- times ----

(real-test times-on-a-broker
  (with-real-admin (admin)
    (let ((topic (real-topic admin)))
      (kabi:with-producer (producer :conf (real-conf))
        (loop for time from 1000 to 5000 by 1000
              do (kabi:value (kabi:send producer topic "x" :timestamp time) :timeout *long*)))
      (kabi:with-consumer (consumer :conf (real-reader-conf))
        (flet ((at (time) (cdr (first (kabi:offsets-for-times consumer (list (cons (tp topic) time))
                                                              :timeout *long*)))))
          (is (equal '(0 2 3 :end) (list (at 0) (at 3000) (at 3001) (at 5001)))))
        (kabi:assign consumer (list (tp topic)))
        (is (equal (list (cons (tp topic) 3)) (kabi:seek-to-times consumer 4000 :timeout *long*)))
        (let ((record (kabi:poll consumer :timeout *long*)))
          (is (eql 3 (kabi:offset record)))
          (is (equal '(4000 :create-time) (multiple-value-list (kabi:timestamp record))))
          (is (typep (kabi:leader-epoch record) '(unsigned-byte 31)))))
      (flet ((at (what) (getf (cdr (first (kabi:list-offsets admin (list (cons (tp topic) what))))) :offset)))
        (is (equal '(0 5 4 2 nil) (mapcar #'at '(:earliest :latest :max-timestamp 2500 6000))))))))

;;; ---- topics ----

(real-test topics-on-a-broker
  (with-real-admin (admin)
    (let ((name (real-name "topic")) (other (real-name "topic")))
      (is (equal name (kabi:create-topic admin name :partitions 2 :replication 1
                                                    :configs '(:retention-ms 60000))))
      (let ((condition (condition-of (kabi:create-topic admin name))))
        (is (eq :topic-already-exists (kabi:error-name condition)))
        (is (equal name (kabi:error-topic condition))))
      (let ((condition (condition-of (kabi:create-topics admin (list (list other :partitions 1) name)))))
        (is (typep condition 'kabi:partial-error))
        (is (equal (list other) (kabi:goodies condition)))
        (is (equal name (car (first (kabi:baddies condition))))))
      (let ((imagined (real-name "topic")))
        (is (equal imagined (kabi:create-topic admin imagined :validate-only t)))
        (is (typep (condition-of (kabi:describe-topics admin imagined)) 'kabi:partial-error)))
      (let ((topic (await (lambda () (ignore-errors (first (kabi:describe-topics admin (list name))))))))
        (is (equal name (getf topic :topic)))
        (is (stringp (getf topic :id)))
        (is (null (getf topic :internal)))
        (is (= 2 (length (getf topic :partitions))))
        (is (integerp (getf (getf (first (getf topic :partitions)) :leader) :id))))
      (is (member :read (getf (first (kabi:describe-topics admin name :authorized-operations t))
                              :authorized-operations)))
      (is (equal name (kabi:create-partitions admin name 5)))
      (is-true (await (lambda ()
                        (= 5 (length (getf (first (kabi:describe-topics admin name)) :partitions))))))
      (is (eq :invalid-partitions (kabi:error-name (condition-of (kabi:create-partitions admin name 5)))))
      (is (equal other (kabi:value (kabi:delete-topic admin other :async t) :timeout *long*)))
      (is (equal (list name) (kabi:delete-topics admin (list name))))
      (is-true (await (lambda ()
                        (typep (condition-of (kabi:describe-topics admin name)) 'kabi:partial-error))))
      (is (eq :unknown-topic-or-part (kabi:error-name (condition-of (kabi:delete-topic admin name))))))))

(real-test clusters-on-a-broker
  (kabi:with-producer (producer :conf (real-conf))
    (let ((cluster (kabi:describe-cluster producer :authorized-operations t)))
      (is (equal (getf cluster :id) (kabi:cluster-id producer)))
      (is (eql (getf (getf cluster :controller) :id) (kabi:controller-id producer)))
      (is (= 1 (length (getf cluster :brokers))))
      (is (member :describe (getf cluster :authorized-operations))))))

(defun set-quota (client change)
  "Change how many octets a second a client of that name may send: a broker that is to slow it down."
  (uiop:run-program (list (uiop:getenv "KABI_KAFKA_BROKER") "tool" "single" "org.apache.kafka.tools.ConfigCommand"
                          "--alter" "--entity-type" "clients" "--entity-name" client
                          (first change) (second change))
                    :error-output :interactive))

(real-test throttling-is-told-and-can-be-left
  (let ((client (real-name "slow")) (topic (real-name "slow")) (told '()) (leave t))
    (set-quota client '("--add-config" "producer_byte_rate=20000"))
    (unwind-protect
         (kabi:with-producer (producer :conf (real-conf :client-id client :linger-ms 0) :drain :caller
                                       :on-throttle (lambda (producer broker id milliseconds)
                                                      (declare (ignore producer))
                                                      (push (list broker id milliseconds) told)
                                                      (when (and leave (plusp milliseconds))
                                                        (setf leave nil)
                                                        (throw 'exit :left))))
           (is (eq :left (catch 'exit
                           (loop repeat 600
                                 do (kabi:value (kabi:send producer topic (make-array 20000 :initial-element 120))
                                                :timeout 60000)
                                    (kabi:serve producer)))))
           (destructuring-bind (broker id milliseconds) (first told)
             (is (search "127.0.0.1:" broker))
             (is (eql 1 id))
             (is (plusp milliseconds)))
           (is-true (kabi:value (kabi:send producer topic "value") :timeout 60000)))
      (set-quota client '("--delete-config" "producer_byte_rate")))))

(real-test configurations-on-a-broker
  (with-real-admin (admin)
    (let ((topic (real-topic admin :configs '(:retention-ms 60000))))
      (flet ((property (name)
               (first (kabi:describe-config admin :topic topic :properties (list name)))))
        (is (equal "60000" (getf (property "retention.ms") :value)))
        (is (eq :topic (getf (property "retention.ms") :source)))
        (is (null (kabi:alter-config admin :topic topic '(:retention-ms 90000 "cleanup.policy" "compact"))))
        (is-true (await (lambda () (equal "90000" (getf (property "retention.ms") :value)))))
        (kabi:alter-config admin :topic topic '(("cleanup.policy" :append "delete")))
        (is-true (await (lambda () (search "delete" (getf (property "cleanup.policy") :value)))))
        (kabi:alter-config admin :topic topic '(("cleanup.policy" :subtract "compact") (:retention-ms . nil)))
        (is-true (await (lambda () (equal "delete" (getf (property "cleanup.policy") :value)))))
        (is-true (getf (property "retention.ms") :default))
        (kabi:alter-config admin :topic topic '(:retention-ms 70000) :whole t)
        (is-true (await (lambda () (equal "70000" (getf (property "retention.ms") :value)))))
        (is (eq :invalid-config
                (kabi:error-name (condition-of (kabi:alter-config admin :topic topic '(:retention-ms "x")))))))
      (is (find "log.dirs" (kabi:describe-config admin :broker (kabi:controller-id admin))
                :test #'equal :key (lambda (property) (getf property :name)))))))

(real-test records-are-deleted-on-a-broker
  (with-real-admin (admin)
    (let ((topic (real-topic admin)))
      (real-fill topic (numbers 0 5))
      (is (equal (list (cons (tp topic) 3)) (kabi:delete-records admin (list (cons (tp topic) 3)))))
      (is (equal (list (cons (tp topic) 5)) (kabi:delete-records admin (list (cons (tp topic) :end)))))
      (is (typep (condition-of (kabi:delete-records admin (list (cons (tp topic) 99)))) 'kabi:partial-error)))))

(real-test leaders-are-elected-on-a-broker
  (with-real-admin (admin)
    (let* ((topic (real-topic admin))
           (condition (condition-of (kabi:elect-leaders admin (list (tp topic))))))
      ;; The preferred one leads already.
      (is (typep condition '(or null kabi:partial-error)) "~A" condition)
      (when condition
        (is (eq :election-not-needed (kabi:error-name (cdr (first (kabi:baddies condition))))))))))

;;; ---- groups ----

(real-test groups-on-a-broker
  (with-real-admin (admin)
    (let* ((topic (real-topic admin)) (conf (real-reader-conf :client-id "reader")) (group (getf conf :group-id)))
      (real-fill topic '("a" "b"))
      (kabi:with-consumer (consumer :conf conf)
        (kabi:subscribe consumer topic)
        (is-true (kabi:poll consumer :timeout *long*))
        (kabi:commit consumer)
        (let ((found (kabi:group-info consumer group)))
          (is (eq :stable (getf found :state)))
          (is (eq :classic (getf found :type)))
          (let ((member (first (getf found :members))))
            (is (equal (kabi:member-id consumer) (getf member :member)))
            (is (equal "reader" (getf member :client)))
            (is (equal (list (tp topic)) (getf member :assignment)))))
        (is (find group (kabi:list-groups admin :states '(:stable) :types :classic)
                  :test #'equal :key (lambda (group) (getf group :group))))
        (is (typep (condition-of (kabi:delete-groups admin group)) 'kabi:partial-error)))
      (is (eq :empty (getf (first (kabi:describe-groups admin (list group))) :state)))
      (is (equal (list (list* (tp topic) 1 nil)) (kabi:list-group-offsets admin group)))
      (is (equal (list (cons (tp topic) 2))
                 (kabi:alter-group-offsets admin group (list (list* (tp topic) 2 "note")))))
      (is (equalp (list (list* (tp topic) 2 (kabi:string-to-octets "note")))
                  (kabi:list-group-offsets admin group :partitions (list (tp topic)) :require-stable t)))
      (is (equal (list (tp topic)) (kabi:delete-group-offsets admin group (list (tp topic)))))
      (is (null (kabi:list-group-offsets admin group)))
      (is (equal (list group) (kabi:delete-groups admin group))))))

;;; ---- users and access rules ----

(defmacro secure-test (name (admin) &body body)
  `(test ,name
     (if (real-servers "KABI_KAFKA_SASL_PLAINTEXT")
         (kabi:with-admin (,admin :conf (list :bootstrap-servers (real-servers "KABI_KAFKA_SASL_PLAINTEXT")
                                              :security-protocol "sasl_plaintext" :sasl-mechanisms "PLAIN"
                                              :sasl-username "admin" :sasl-password "admin-secret"))
           ,@body)
         (skip "no real broker: KABI_KAFKA_SASL_PLAINTEXT is not set"))))

(secure-test access-rules-on-a-broker (admin)
  (let* ((name (real-name "topic"))
         (rule (list :resource-type :topic :resource name :pattern :literal :principal "User:somebody"
                     :host "*" :operation :read :permission :allow))
         (other (list* :operation :write rule))
         (filter (list :resource-type :topic :resource name)))
    (flet ((same (acls others)
             (null (set-exclusive-or acls others
                                     :test (lambda (acl other)
                                             (loop for name in '(:resource-type :resource :pattern :principal
                                                                 :host :operation :permission)
                                                   always (equal (getf acl name) (getf other name))))))))
      (setf other (list :resource-type :topic :resource name :pattern :literal :principal "User:somebody"
                        :host "*" :operation :write :permission :allow))
      (is (equal (list rule other) (kabi:create-acls admin (list rule other))))
      (is-true (await (lambda () (same (list rule other) (apply #'kabi:list-acls admin filter)))))
      (is (same (list other) (kabi:list-acls admin :resource name :operation :write)))
      (is (same (list rule) (first (kabi:delete-acls admin (list (list* :operation :read filter))))))
      (is (same (list other) (first (kabi:value (kabi:delete-acls admin (list filter) :async t)
                                                :timeout *long*))))
      (is-true (await (lambda () (null (apply #'kabi:list-acls admin filter)))))
      (is (eq :argument (kabi:error-name (condition-of (kabi:delete-acls admin '(())))))))))

(secure-test users-on-a-broker (admin)
  (let ((user (real-name "user")))
    (is (equal (list user)
               (kabi:alter-scram-users admin :upsertions (list (list :user user :mechanism :scram-sha-256
                                                                     :password "secret" :iterations 5000
                                                                     :salt (octets 1 2 3 4))))))
    (is-true (await (lambda ()
                      (let ((found (first (ignore-errors (kabi:describe-scram-users admin :users user)))))
                        (and (equal user (getf found :user))
                             (let ((credential (first (getf found :credentials))))
                               (and (eq :scram-sha-256 (getf credential :mechanism))
                                    (eql 5000 (getf credential :iterations)))))))))
    (is (find user (kabi:describe-scram-users admin) :key (lambda (found) (getf found :user)) :test #'equal))
    (is (equal (list user)
               (kabi:alter-scram-users admin :deletions (list (list :user user :mechanism :scram-sha-256)))))))

(secure-test who-may-not-is-told-so (admin)
  (is-true (kabi:cluster-id admin))
  (kabi:with-admin (alice :conf (list :bootstrap-servers (real-servers "KABI_KAFKA_SASL_PLAINTEXT")
                                      :security-protocol "sasl_plaintext" :sasl-mechanisms "PLAIN"
                                      :sasl-username "alice" :sasl-password "alice-secret"))
    (let ((condition (condition-of (kabi:create-topic alice (real-name "topic")))))
      (is (typep condition 'kabi:kafka-error))
      (is (member (kabi:error-name condition) '(:topic-authorization-failed :cluster-authorization-failed))))
    (is (typep (condition-of (kabi:list-acls alice)) 'kabi:kafka-error))))
