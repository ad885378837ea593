(ns exactly-once
  "Copies the records of one topic to another, changed, each exactly once: results and offsets are one transaction, so a
  program that is killed goes on where it was, and consumers of committed records never see a result twice.

  Needs a real Kafka, since the embedded cluster carries out no transactions:  clojure -M exactly_once.clj localhost:9092"
  (:require [kafkabi.admin :as admin]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.error :as error]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize]))

(defn copy-batch
  "Handles the records of one poll in one transaction."
  [producer consumer out records]
  (produce/with-transaction producer
    (doseq [{:keys [key value]} records]
      (produce/commit producer {:topic out, :key key, :value (update value :total (fnil * 1) 2)}))
    (produce/trx-offsets producer consumer (consume/next-offsets records))))

(defn copy
  "Copies n records, or those that there are if nothing has come for a while; gives how many were copied. After a transaction
  that was aborted the records are read again from where the group has committed."
  [nodes in out id n idle-ms]
  (with-open [producer (produce/make {:nodes nodes, :config {:transactional.id id}, :serializer serialize/edn})
              consumer (consume/make {:nodes        nodes
                                      :config       {:group.id           id
                                                     :enable.auto.commit false
                                                     :isolation.level    :read_committed
                                                     :auto.offset.reset  :earliest}
                                      :deserializer deserialize/edn
                                      :listen       [in]})]
    (produce/trx-init producer)
    (loop [copied 0]
      (if-let [records (when (< copied n) (consume/poll consumer idle-ms))]
        (recur (+ copied
                  (try
                    (copy-batch producer consumer out records)
                    (count records)
                    (catch org.kafkabi.KafkaException exception
                      (when (error/fatal? exception)
                        (throw exception))
                      (println "once more, after:" (ex-message exception))
                      (doseq [[[topic partition] offset] (consume/committed consumer (keys (consume/next-offsets records)))]
                        (if offset
                          (consume/seek consumer topic partition offset)
                          (consume/rewind consumer topic partition)))
                      0))))
        copied))))

(defn run
  "The whole example, on topics with these names; gives the values of the results."
  [nodes in out id]
  (with-open [admin (admin/make {:nodes nodes})]
    (run! deref (vals (admin/topics-create admin {in {:partitions 1}, out {:partitions 1}}))))
  (with-open [producer (produce/make {:nodes nodes, :serializer serialize/edn})]
    (doseq [n (range 5)]
      (produce/commit producer {:topic in, :key n, :value {:total n}})))
  (println "copied" (copy nodes in out id 5 30000))
  (with-open [consumer (consume/make {:nodes        nodes
                                      :config       {:isolation.level :read_committed, :auto.offset.reset :earliest}
                                      :deserializer deserialize/edn
                                      :listen       [[out 0]]})]
    (into [] (comp (map (comp :total :value)) (take 5)) (consume/records consumer {:idle-ms 30000}))))

(when-let [nodes (and (not (System/getProperty "kafkabi.tests")) (first *command-line-args*))]
  (println (run [nodes] "exactly-once-in" "exactly-once-out" "exactly-once")))
