(ns kafkabi.produce-test
  "Producers on the embedded cluster."
  (:require [clojure.string :as str]
            [clojure.test :refer [deftest is testing]]
            [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.error :as error]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize]
            [kafkabi.support :refer [consumer fresh is= long-ms producer receive throws with-cluster]])
  (:import (java.util.concurrent ExecutionException Future)
           (org.apache.kafka.clients.producer.internals BuiltInPartitioner)
           (org.kafkabi.errors InterruptException SerializationException)))

(deftest commit-gives-metadata-and-calls-back-first
  (with-cluster [cluster {"t" 2}]
    (with-open [p (producer cluster)]
      (let [order  (atom [])
            future (produce/commit p {:topic "t", :partition 1, :key :k, :value {:a 1}, :timestamp 1600000000000}
                                   (fn [exception metadata]
                                     (swap! order conj [exception metadata])))]
        (is (instance? Future future))
        (is= {:topic "t", :partition 1, :offset 0} (select-keys @future [:topic :partition :offset]))
        (is= #{:topic :partition :timestamp :offset} (set (keys @future)))
        (is= [[nil @future]] @order))
      (testing "the callback has run when the future is done"
        (let [called (atom 0)]
          (doseq [future (mapv (fn [i] (produce/commit p {:topic "t", :value i} (fn [_ _] (swap! called inc)))) (range 100))]
            (deref future))
          (is= 100 @called)))
      (testing "an exception of the callback does not keep the future from its end"
        (is= "t" (:topic @(produce/commit p {:topic "t", :value 1} (fn [_ _] (throw (ex-info "callback" {}))))))))))

(deftest records-come-back-as-they-were-sent
  (with-cluster [cluster {"t" 1}]
    (let [sent [{:key :k, :value {:a [1 2]}, :headers [["a" "1"] ["a" (byte-array [2])] ["empty" ""] ["null" nil] ["größe" "ß"]]}
                {:key nil, :value "no key"}
                {:key "tombstone", :value nil}
                {:value "headers in a map", :headers {:name "x"}}
                {:key 1, :value 2, :timestamp 1600000000000}]]
      (with-open [p (producer cluster)]
        (doseq [record sent]
          @(produce/commit p (assoc record :topic "t" :partition 0))))
      (with-open [c (consumer cluster nil {:listen ["t"]})]
        (let [got (receive c (count sent))]
          (is= (map (juxt :key :value) sent) (map (juxt :key :value) got))
          (is= (range 5) (map :offset got))
          (is= #{["t" 0]} (set (map (juxt :topic :partition) got)))
          (is= #{:create-time} (set (map :timestamp-type got)))
          (is= 1600000000000 (:timestamp (last got)))
          (is (every? #{#{:topic :partition :offset :timestamp :timestamp-type :headers :key :value}} (map (comp set keys) got)))
          (is= [["a" "1"] ["a" "\u0002"] ["empty" ""] ["null" nil] ["größe" "ß"]]
               (map (fn [[k v]] [k (some-> ^bytes v (String. "UTF-8"))]) (:headers (first got))))
          (is= [["name" "x"]] (map (fn [[k ^bytes v]] [k (String. v)]) (:headers (nth got 3))))
          (is= [] (:headers (second got))))))))

(deftest keys-go-where-the-java-client-puts-them
  (with-cluster [cluster {"t" 7}]
    (with-open [p (produce/make {:nodes cluster, :serializer serialize/string})]
      (doseq [k ["a" "b" "" "größe" "a longer key 1234567890"]]
        (is= (BuiltInPartitioner/partitionForKey (.getBytes ^String k "UTF-8") 7)
             (:partition @(produce/commit p {:topic "t", :key k, :value "v"})))))))

(deftest wrong-records-are-refused
  (with-cluster [cluster {"t" 1}]
    (with-open [p (produce/make {:nodes cluster, :serializer serialize/string})]
      (doseq [[record option] [[{:value "v"} :topic] [{:topic nil} :topic] [{:topic ""} :topic] [{:topic :t} :topic]
                               [{:topic "t", :partition -1} :partition] [{:topic "t", :partition "0"} :partition]
                               [{:topic "t", :timestamp -1} :timestamp] [{:topic "t", :timestamp "now"} :timestamp]
                               [{:topic "t", :headers "a"} :headers] [{:topic "t", :headers [["a"]]} :headers]
                               [{:topic "t", :headers [["a" 1]]} :headers] [{:topic "t", :headers [[1 "a"]]} :headers]]]
        (let [{found :option, :keys [expected]} (ex-data (throws (produce/commit p record)))]
          (is= option found)
          (is (some? expected))))
      (is (instance? SerializationException (throws (produce/commit p {:topic "t", :value 1}))))
      (is (str/includes? (ex-message (throws (produce/commit p {:topic "t", :key 1}))) "key"))
      (testing "what fails later fails the future and the callback"
        (let [told   (promise)
              future (produce/commit p {:topic "t", :partition 99, :value "v"} (fn [exception metadata] (deliver told [exception metadata])))
              thrown (try @future (catch ExecutionException exception exception))]
          (is (instance? org.kafkabi.KafkaException (error/cause thrown)))
          (let [[exception metadata] (deref told long-ms nil)]
            (is (identical? exception (error/cause thrown)))
            (is= {:topic "t", :offset nil} (select-keys metadata [:topic :offset])))
          (is= #{:name :code :message :retriable? :fatal? :abort-required? :outcome-unknown?}
               (set (keys (error/data thrown))))
          (is (not (error/fatal? thrown)))
          (is (not (error/retriable? thrown)))
          (is (not (error/abort-required? thrown)))
          (is (nil? (error/data (ex-info "other" {}))))
          (is (nil? (error/cause nil))))))))

(deftest flush-and-close
  (with-cluster [cluster {"t" 1}]
    (let [p       (producer cluster {:linger.ms 60000})
          futures (mapv (fn [i] (produce/commit p {:topic "t", :value i})) (range 1000))]
      (is (nil? (produce/flush p)))
      (is (every? future-done? futures))
      (let [last-ones (mapv (fn [i] (produce/commit p {:topic "t", :value i})) (range 10))]
        (is (nil? (produce/close p)))
        (is= (range 1000 1010) (map (comp :offset deref) last-ones)))
      (is (nil? (produce/close p 1000)))
      (doseq [f [#(produce/commit p {:topic "t", :value 1}) #(produce/flush p) #(produce/metrics p)
                 #(produce/partitions p "t") #(produce/trx-init p)]]
        (is (instance? IllegalStateException (throws (f))))))
    (testing "a close with a time-out gives up"
      (let [p (producer cluster)]
        (cluster/broker-down cluster)
        (let [future (produce/commit p {:topic "t", :value 1})]
          (is (nil? (produce/close p 0)))
          (is (instance? org.kafkabi.KafkaException (throws @future))))))
    (is= :timeout-ms (:option (ex-data (with-open [p (producer cluster)] (throws (produce/close p -1))))))))

(deftest metrics-and-partitions
  (with-open [cluster (cluster/start {:brokers 2})]
    (cluster/create-topic cluster "t" 3 2)
    (with-open [p (producer cluster {:statistics.interval.ms 50})]
      @(produce/commit p {:topic "t", :value 1})
      (let [metrics (loop [metrics (produce/metrics p)]
                      (if (some (fn [k] (= "librdkafka" (namespace k))) (keys metrics))
                        metrics
                        (do (Thread/sleep 20) (recur (produce/metrics p)))))]
        (is (every? (fn [[k v]] (and (namespace k) (= #{:description :tags :value} (set (keys v))))) metrics))
        (is= {:description "records that were taken to be sent", :tags {:client "producer"}, :value 1}
             (:kafkabi/accepted metrics))
        (is (some (fn [[_ v]] (:broker (:tags v))) metrics))
        (is (every? (comp string? :description) (vals metrics))))
      (let [partitions (produce/partitions p "t")]
        (is= [0 1 2] (map :partition partitions))
        (doseq [{:keys [topic leader replicas]} partitions]
          (is= "t" topic)
          (is= #{:host :port :rack :id} (set (keys leader)))
          (is= 2 (count replicas))
          (is (every? (comp true? :synced?) replicas))
          (is= #{1 2} (set (map :id replicas)))))
      (is= :topic (:option (ex-data (throws (produce/partitions p nil))))))))

(deftest an-interrupt-ends-what-waits
  (with-cluster [cluster {"t" 1}]
    (let [p (producer cluster)]
      (cluster/broker-down cluster)
      (produce/commit p {:topic "t", :value 1})
      (let [thrown (promise)
            thread (Thread. (fn [] (deliver thrown (throws (produce/flush p)))))]
        (.start thread)
        (.interrupt thread)
        (is (instance? InterruptException (deref thrown long-ms nil))))
      (produce/close p 0))))

(deftest many-threads-share-a-producer
  (with-cluster [cluster {"t" 4}]
    (with-open [p (producer cluster)]
      (let [threads (mapv (fn [t]
                            (future (doseq [i (range 5000)]
                                      (produce/commit p {:topic "t", :partition t, :value i}))))
                          (range 4))]
        (run! deref threads)
        (produce/flush p)))
    (with-open [c (consumer cluster nil {:listen (mapv (fn [p] ["t" p]) (range 4))})]
      (let [got (receive c 20000)]
        (doseq [[_ records] (group-by :partition got)]
          (is= (range 5000) (map :value records)))))))

(deftest transactions-have-an-order
  (with-cluster [cluster {"t" 1}]
    (with-open [p (producer cluster)]
      (doseq [f [#(produce/trx-init p) #(produce/trx-begin p) #(produce/trx-commit p) #(produce/trx-abort p)]]
        (is (some? (throws (f))))))
    (with-open [p (producer cluster {:transactional.id (fresh "trx")})]
      (is (identical? p (produce/trx-init p)))
      (is (instance? IllegalStateException (throws (produce/commit p {:topic "t", :value 0}))))
      (is (identical? p (produce/trx-begin p)))
      (is= 0 (:offset @(produce/commit p {:topic "t", :value 1})))
      (is (identical? p (produce/trx-commit p)))
      (is (instance? IllegalStateException (throws (produce/trx-commit p))))
      (is= 17 (produce/with-transaction p
                (produce/commit p {:topic "t", :value 2})
                (is (instance? IllegalStateException (throws (produce/trx-begin p))))
                17))
      (testing "a body that throws aborts"
        (is= "no" (ex-message (throws (produce/with-transaction p (throw (ex-info "no" {}))))))
        (is (instance? IllegalStateException (throws (produce/trx-abort p)))))
      (is= 5 (produce/in-transaction p (constantly 5)))
      (testing "a record that failed ends the transaction at once"
        (produce/trx-begin p)
        (is (some? (throws @(produce/commit p {:topic "t", :partition 99, :value "v"}))))
        (is (error/abort-required? (throws (produce/commit p {:topic "t", :value 1}))))
        (is (error/abort-required? (throws (produce/trx-commit p))))
        (is (identical? p (produce/trx-abort p))))
      (testing "the next one is not burdened with it"
        (produce/with-transaction p
          @(produce/commit p {:topic "t", :value 3})))
      (testing "a failed record aborts with-transaction"
        (is (error/abort-required? (throws (produce/with-transaction p
                                             (produce/commit p {:topic "t", :partition 99, :value "v"})))))
        (produce/with-transaction p nil)))))

(deftest offsets-in-a-transaction
  (with-cluster [cluster {"in" 1, "out" 1}]
    (with-open [p (producer cluster {:transactional.id (fresh "trx")})
                c (consumer cluster {:enable.auto.commit false} {:listen ["in"]})]
      @(with-open [first-one (producer cluster)]
         (produce/commit first-one {:topic "in", :value 1}))
      (produce/trx-init p)
      (let [records (receive c 1)]
        (produce/with-transaction p
          (produce/commit p {:topic "out", :value (inc (:value (first records)))})
          (is (identical? p (produce/trx-offsets p c (consume/next-offsets records)))))
        (produce/with-transaction p
          (produce/trx-offsets p "some-group" {["in" 0] 1})))
      (produce/trx-begin p)
      (is= :source (:option (ex-data (throws (produce/trx-offsets p nil {["in" 0] 1})))))
      (is (some? (throws (produce/trx-offsets p c {["in" 0] -1}))))
      (is (some? (throws (produce/trx-offsets p c [["in" 0]]))))
      (produce/trx-abort p))))
