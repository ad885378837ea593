(ns kafkabi.real-test
  "What the embedded cluster lacks, on the broker that the environment variable KABI_KAFKA_SINGLE names: transactions,
  offsets by time, administration, and company with Apache's own client. Skipped without it; scripts/test-jvm starts one."
  (:require [clojure.string :as str]
            [clojure.test :refer [deftest is testing]]
            [kafkabi.admin :as admin]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.error :as error]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize]
            [kafkabi.support :refer [consumer eventually fresh is= long-ms producer receive throws]])
  (:import (java.time Duration)
           (java.util Properties)
           (org.apache.kafka.clients.consumer KafkaConsumer)
           (org.apache.kafka.clients.producer KafkaProducer ProducerRecord)
           (org.apache.kafka.common.header Header)
           (org.apache.kafka.common.serialization StringDeserializer StringSerializer)
           (org.kafkabi.errors SecurityDisabledException TopicExistsException UnknownTopicOrPartitionException)))

(def ^:private brokers (System/getenv "KABI_KAFKA_SINGLE"))

(defn- skipped [] (str/blank? brokers))

(defn- nodes [] (str/split brokers #","))

(defmacro ^:private defreal
  "A test that needs the real broker. Brokers answer a change before they show it everywhere, so what is read back is waited
  for."
  [test-name & body]
  `(deftest ~(vary-meta test-name assoc :skipped `skipped)
     (when-not (skipped)
       ~@body)))

(defn- partitions-of [a topic]
  (try
    (count (:partitions @(get (admin/topics-describe a [topic]) topic)))
    (catch java.util.concurrent.ExecutionException _ nil)))

(defn- make-topic [a partitions]
  (let [topic (fresh "topic")]
    @(get (admin/topics-create a {topic {:partitions partitions, :replication-factor 1}}) topic)
    (eventually (fn [] (= partitions (partitions-of a topic))))
    topic))

(defmacro ^:private with-topic [[a topic partitions] & body]
  `(with-open [~a (admin/make {:nodes (nodes)})]
     (let [~topic (make-topic ~a ~partitions)]
       ~@body)))

(defn- committed-values
  "The values of a topic's committed records, of which there are so many: waits for these, and a while for more."
  [topic n]
  (with-open [c (consumer (nodes) {:isolation.level :read_committed, :enable.auto.commit false} {:listen [[topic 0]]})]
    (let [values (map :value (receive c n))]
      (into (vec values) (map :value) (consume/poll c 1000)))))

(defreal transactions
  (with-topic [a topic 1]
    (with-open [p (producer (nodes) {:transactional.id (fresh "trx")})]
      (produce/trx-init p)
      (produce/with-transaction p
        (produce/commit p {:topic topic, :value :committed}))
      (is= "undo" (ex-message (throws (produce/with-transaction p
                                        @(produce/commit p {:topic topic, :value :aborted})
                                        (throw (ex-info "undo" {}))))))
      (produce/trx-begin p)
      @(produce/commit p {:topic topic, :value :aborted-too})
      (produce/trx-abort p)
      (produce/with-transaction p
        (produce/commit p {:topic topic, :value :committed-too})))
    (is= [:committed :committed-too] (committed-values topic 2))
    (testing "whoever reads uncommitted records sees all of them"
      (with-open [c (consumer (nodes) nil {:listen [[topic 0]]})]
        (is= [:committed :aborted :aborted-too :committed-too] (map :value (receive c 4)))))))

(defreal a-second-producer-fences-the-first
  (with-topic [a topic 1]
    (let [id (fresh "trx")]
      (with-open [first-one (producer (nodes) {:transactional.id id})]
        (produce/trx-init first-one)
        (produce/trx-begin first-one)
        @(produce/commit first-one {:topic topic, :value 1})
        (with-open [second-one (producer (nodes) {:transactional.id id})]
          (produce/trx-init second-one)
          (produce/with-transaction second-one (produce/commit second-one {:topic topic, :value 2})))
        (let [exception (throws (produce/trx-commit first-one))]
          (is (error/fatal? exception))))
      (is= [2] (committed-values topic 1)))))

(defreal consume-transform-produce
  (with-topic [a in 1]
    (let [out   (make-topic a 1)
          group (fresh "group")]
      (with-open [p (producer (nodes))]
        (run! (fn [i] (produce/commit p {:topic in, :value i})) (range 10)))
      (with-open [p (producer (nodes) {:transactional.id (fresh "trx")})
                  c (consumer (nodes) {:group.id group, :enable.auto.commit false, :max.poll.records 4
                               ;; So that brokers tell offsets only when no transaction with others is under way.
                               :isolation.level :read_committed}
                              {:listen [in]})]
        (produce/trx-init p)
        (testing "an aborted one leaves the offsets alone"
          (let [records (consume/poll c long-ms)]
            (is= "undo" (ex-message (throws (produce/with-transaction p
                                              (produce/commit p {:topic out, :value :undone})
                                              (produce/trx-offsets p c (consume/next-offsets records))
                                              (throw (ex-info "undo" {}))))))
            (is (nil? (consume/committed c in 0)))
            (consume/seek c in 0 0)))
        (loop [n 0]
          (when (< n 10)
            (let [records (consume/poll c long-ms)]
              (is (some? records))
              (when records
                (produce/with-transaction p
                  (doseq [{:keys [value]} records]
                    (produce/commit p {:topic out, :value (* value value)}))
                  (produce/trx-offsets p c (consume/next-offsets records)))
                (recur (+ n (count records)))))))
        (is= 10 (consume/committed c in 0))
        (testing "by the group's id alone"
          (produce/with-transaction p
            (produce/trx-offsets p (fresh "other") {[in 0] 3}))))
      (is= (map (fn [i] (* i i)) (range 10)) (committed-values out 10)))))

(defreal offsets-by-time
  (with-topic [a topic 2]
    (with-open [p (producer (nodes))
                c (consumer (nodes) nil {:listen [[topic 0] [topic 1]]})]
      (doseq [timestamp [1000 2000 3000]]
        @(produce/commit p {:topic topic, :partition 0, :value timestamp, :timestamp timestamp}))
      (is= {[topic 0] {:timestamp 2000, :offset 1}, [topic 1] nil} (consume/offs-by-ts c {[topic 0] 1500, [topic 1] 1500}))
      (is= {:timestamp 2000, :offset 1} (consume/offs-by-ts c topic 0 2000))
      (is (nil? (consume/offs-by-ts c topic 0 3001)))
      (is= {:timestamp 3000, :offset 2} @(get (admin/offsets a {[topic 0] :max-timestamp}) [topic 0]))
      (is= {:timestamp 1000, :offset 0} @(get (admin/offsets a {[topic 0] 5}) [topic 0])))))

(defreal topics-and-partitions
  (with-open [a (admin/make {:nodes (nodes)})]
    (let [topic (fresh "topic"), placed (fresh "placed"), {:keys [id nodes controller]} (admin/cluster a)]
      (is (string? @id))
      (is= #{:host :port :rack :id} (set (keys (first @nodes))))
      (is= (first @nodes) @controller)
      (is (nil? @(get (admin/topics-create a {topic {:partitions 2}} {:fake? true}) topic)))
      (is (not (contains? @(admin/topics a) topic)))
      (let [made (admin/topics-create a {topic  {:partitions 2, :replication-factor 1, :config {:retention.ms 60000}}
                                         placed {:assignments {0 [(:id @controller)], 1 [(:id @controller)]}}}
                                      {:timeout-ms long-ms})]
        (is= #{topic placed} (set (keys made)))
        (run! deref (vals made)))
      (is (instance? TopicExistsException (throws @(get (admin/topics-create a {topic {}}) topic))))
      (is (eventually (fn [] (= {:internal? false} (get @(admin/topics a) topic)))))
      (is (every? (comp false? :internal?) (vals @(admin/topics a))))
      (is (eventually (fn [] (= 2 (partitions-of a placed)))))
      (is (nil? @(get (admin/partitions-create a {topic {:n 4}} {:fake? true}) topic)))
      (is (nil? @(get (admin/partitions-create a {topic {:n 3}}) topic)))
      (is (eventually (fn [] (= 3 (partitions-of a topic)))))
      (is (some? (throws @(get (admin/partitions-create a {topic {:n 1}}) topic))))
      (let [deleted (admin/topics-delete a [topic "no-such-topic"] {:timeout-ms long-ms})]
        (is (nil? @(get deleted topic)))
        (is (instance? UnknownTopicOrPartitionException (throws @(get deleted "no-such-topic"))))))))

(defreal configurations
  (with-topic [a topic 1]
    (let [of-topic (fn [] @(get-in (admin/config a {:topics #{topic}}) [:topics topic]))
          shows    (fn [values]
                     (eventually (fn [] (= values (map (comp :value (of-topic)) [:retention.ms :cleanup.policy])))))
          broker   (:id @(:controller (admin/cluster a)))]
      (is (eventually (fn [] (nil? (throws (of-topic))))))
      (is= #{:name :value :default? :read-only? :sensitive?} (set (keys (:retention.ms (of-topic)))))
      (is (true? (:default? (:retention.ms (of-topic)))))
      (is= [:topics] (keys (admin/config a {:topics #{topic}})))
      (is (nil? @(get-in (admin/config-alter a {:topics {topic {:retention.ms 60000}}}) [:topics topic])))
      (is (shows ["60000" "delete"]))
      (is= ["retention.ms" false] (map (:retention.ms (of-topic)) [:name :default?]))
      (testing "config-update leaves the others alone, config-alter does not"
        @(get-in (admin/config-update a {:topics {topic {:cleanup.policy :compact}}}) [:topics topic])
        (is (shows ["60000" "compact"]))
        @(get-in (admin/config-update a {:topics {topic {:retention.ms nil}}}) [:topics topic])
        (is (eventually (fn [] (:default? (:retention.ms (of-topic))))))
        @(get-in (admin/config-alter a {:topics {topic {:retention.ms 5000}}} {:fake? true}) [:topics topic])
        (is= ["compact" true] [(:value (:cleanup.policy (of-topic))) (:default? (:retention.ms (of-topic)))]) ; only checked
        @(get-in (admin/config-alter a {:topics {topic {:retention.ms 5000}}}) [:topics topic])
        (is (shows ["5000" "delete"])))
      (is (some? (throws @(get-in (admin/config-alter a {:topics {topic {:no.such.property 1}}}) [:topics topic]))))
      (let [both (admin/config a {:topics #{topic}, :brokers #{broker}})]
        (is= (str broker) (:value (:node.id @(get-in both [:brokers broker]))))))))

(defreal groups
  (with-topic [a topic 1]
    (let [group (fresh "group")]
      (with-open [p (producer (nodes))]
        (run! (fn [i] (produce/commit p {:topic topic, :value i})) (range 10)))
      (with-open [c (consumer (nodes) {:group.id group, :client.id "reader", :max.poll.records 4} {:listen [topic]})]
        (receive c 4)
        (consume/commit-sync c {[topic 0] {:offset 4, :metadata "four"}})
        (is (some #{group} (map :group @(admin/groups a))))
        (let [description @(get (admin/groups-describe a [group]) group)]
          (is= #{:group :state :type :simple? :assignor :coordinator :members} (set (keys description)))
          (is= :stable (:state description))
          (is= [["reader" (consume/member-id c) #{[topic 0]}]] (map (juxt :client :id :partitions) (:members description))))
        (is= {[topic 0] {:offset 4, :metadata "four"}} @(admin/group-offsets a group))
        (is= {[topic 0] {:offset 4, :metadata "four"}} @(admin/group-offsets a group [[topic 0]]))
        (is= {[topic 0] 6} @(admin/lag a group))
        (is (some? (throws @(get (admin/groups-delete a [group]) group)))))
      (is (nil? @(get (admin/group-offsets-alter a group {[topic 0] 7}) [topic 0])))
      (is= 7 (get-in @(admin/group-offsets a group) [[topic 0] :offset]))
      (is (nil? @(get (admin/group-offsets-delete a group [[topic 0]]) [topic 0])))
      (is (nil? (get-in @(admin/group-offsets a group) [[topic 0] :offset])))
      (is (nil? @(get (admin/groups-delete a [group]) group)))
      (is (eventually (fn [] (not-any? #{group} (map :group @(admin/groups a)))))))))

(defreal deleted-records
  (with-topic [a topic 1]
    (with-open [p (producer (nodes))
                c (consumer (nodes))]
      (run! (fn [i] (produce/commit p {:topic topic, :value i})) (range 10))
      (produce/flush p)
      (is= {:offset 4} @(get (admin/records-delete a {[topic 0] 4}) [topic 0]))
      (consume/listen c [[topic 0]]) ; not before: it would fetch them
      (is= 4 (consume/offs-first c topic 0))
      (is= (range 4 10) (map :value (receive c 6)))
      (is= {:offset 10} @(get (admin/records-delete a {[topic 0] -1}) [topic 0])))))

(defreal access-control-without-an-authorizer
  (with-open [a (admin/make {:nodes (nodes)})]
    (let [acl {:resource       {:name "t", :type :topic}
               :access-control {:principal "User:alice", :permission :allow, :operation :read}}]
      (doseq [future [(get (admin/acls-create a [acl]) acl) (get (admin/acls-delete a [acl]) acl)]]
        (is (instance? SecurityDisabledException (throws @future)))))))

(defn- no-secure-broker [] (str/blank? (System/getenv "KABI_KAFKA_SASL_PLAINTEXT")))

(deftest ^{:skipped no-secure-broker} access-control
  (when-not (no-secure-broker)
    (with-open [a (admin/make {:nodes  [(System/getenv "KABI_KAFKA_SASL_PLAINTEXT")]
                               :config {:security.protocol :sasl_plaintext
                                        :sasl.mechanism    "PLAIN"
                                        :sasl.jaas.config  (str "org.apache.kafka.common.security.plain.PlainLoginModule required "
                                                                "username=\"admin\" password=\"admin-secret\";")}})]
      (let [topic (fresh "topic")
            acl   (fn [operation permission]
                    {:resource       {:name topic, :type :topic, :pattern :literal}
                     :access-control {:principal "User:nobody", :host "*", :permission permission, :operation operation}})
            acls  [(acl :read :allow) (acl :alter-configs :deny)]
            mine  {:resource {:name topic, :type :topic}}
            made  (admin/acls-create a acls)]
        (is= (set acls) (set (keys made)))
        (is= [nil nil] (map deref (vals made)))
        (is (eventually (fn [] (= (set acls) (set @(admin/acls a mine))))))
        (is= [(first acls)] @(admin/acls a (assoc mine :access-control {:operation :read})))
        (is (every? (set @(admin/acls a)) acls))
        (testing "a filter deletes what fits in every field, and nothing else"
          (let [filter (assoc mine :access-control {:permission :deny})]
            (is= [{:exception nil, :acl (second acls)}] @(get (admin/acls-delete a [filter]) filter))
            (is (eventually (fn [] (= [(first acls)] @(admin/acls a mine)))))))
        (is= [(first acls)] (map :acl @(get (admin/acls-delete a [mine]) mine)))
        (is (eventually (fn [] (= [] @(admin/acls a mine)))))))))

;; ---- company with Apache's client ----

(defn- properties [m]
  (let [result (Properties.)]
    (.putAll result (merge {"bootstrap.servers" brokers} m))
    result))

(defreal apaches-client-reads-what-we-write
  (with-topic [a topic 5]
    (let [sent (for [i (range 100)] [(str "key " i) (str "value " i)])]
      (with-open [p (produce/make {:nodes (nodes), :serializer serialize/string, :config {:compression.type :lz4}})]
        (doseq [[k v] sent]
          (produce/commit p {:topic topic, :key k, :value v, :timestamp 1600000000000, :headers [["n" k] ["null" nil]]})))
      (with-open [theirs (KafkaConsumer. (properties {"group.id" (fresh "g"), "auto.offset.reset" "earliest"})
                                         (StringDeserializer.) (StringDeserializer.))]
        (.subscribe theirs [topic])
        (loop [got []]
          (if (< (count got) 100)
            (recur (into got (.poll theirs (Duration/ofSeconds 5))))
            (do (is= (set sent) (set (map (juxt (fn [r] (.key ^org.apache.kafka.clients.consumer.ConsumerRecord r))
                                                (fn [r] (.value ^org.apache.kafka.clients.consumer.ConsumerRecord r)))
                                          got)))
                (doseq [^org.apache.kafka.clients.consumer.ConsumerRecord record got]
                  (is= 1600000000000 (.timestamp record))
                  (is= [["n" (.key record)] ["null" nil]]
                       (map (fn [^Header header] [(.key header) (some-> (.value header) String.)]) (.headers record)))))))))))

(defreal we-read-what-apaches-client-writes
  (with-topic [a topic 5]
    (let [placed (with-open [theirs (KafkaProducer. (properties {"compression.type" "zstd"}) (StringSerializer.) (StringSerializer.))]
                   (into {} (for [i (range 100)]
                              [(str "key " i) (.partition (.get (.send theirs (ProducerRecord. topic (str "key " i) "v"))))])))]
      (with-open [c (consume/make {:nodes        (nodes)
                                   :config       {:group.id (fresh "g"), :auto.offset.reset :earliest}
                                   :deserializer deserialize/string
                                   :listen       [topic]})
                  p (produce/make {:nodes (nodes), :serializer serialize/string})]
        (is= placed (into {} (map (juxt :key :partition)) (receive c 100)))
        (testing "and our keys go where theirs go"
          (is= placed (into {} (for [[k _] placed] [k (:partition @(produce/commit p {:topic topic, :key k, :value "v"}))]))))))))
