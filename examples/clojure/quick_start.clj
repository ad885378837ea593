(ns quick-start
  "Sends a few orders and reads them back, on a Kafka inside this program.

  Run it with kafkabi-clojure on the class path:  clojure -M quick_start.clj"
  (:require [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize]))

(defn send-orders
  "Sends orders and waits for the first one's place."
  [nodes orders]
  (with-open [producer (produce/make {:nodes          nodes
                                      :config         {:client.id "shop", :compression.type :lz4}
                                      :serializer-key serialize/string
                                      :serializer     serialize/edn})]
    (let [futures (mapv (fn [{:keys [id] :as order}]
                          (produce/commit producer
                                          {:topic "orders", :key id, :value order, :headers {:source "shop"}}
                                          (fn [exception metadata]
                                            (when exception
                                              (println "not delivered:" (ex-message exception))))))
                        orders)]
      (println "the first one went to" (select-keys @(first futures) [:partition :offset])))))

(defn read-orders
  "Reads n orders: what is handled is committed, nothing else."
  [nodes n]
  (with-open [consumer (consume/make {:nodes            nodes
                                      :config           {:group.id "billing", :auto.offset.reset :earliest}
                                      :deserializer-key deserialize/string
                                      :deserializer     deserialize/edn
                                      :listen           ["orders"]})]
    (into [] (comp (map :value) (take n)) (consume/records consumer {:idle-ms 30000}))))

(defn run
  "The whole example; gives the orders in the order of their ids."
  []
  (with-open [cluster (cluster/start {:topics {"orders" 3}})]
    (let [orders [{:id "1", :item :tea, :n 2} {:id "2", :item :coffee, :n 1} {:id "3", :item :milk, :n 5}]]
      (send-orders cluster orders)
      (sort-by :id (read-orders cluster (count orders))))))

(when-not (System/getProperty "kafkabi.tests")
  (run! println (run)))
