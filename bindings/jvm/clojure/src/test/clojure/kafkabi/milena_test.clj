(ns kafkabi.milena-test
  "What milena documents, done with the same calls after a change of the ns form."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.consume :as M.consume]
            [kafkabi.deserialize :as M.deserialize]
            [kafkabi.produce :as M.produce]
            [kafkabi.serialize :as M.serialize]
            [kafkabi.cluster :as cluster]
            [kafkabi.support :refer [fresh is= long-ms with-cluster]])
  (:import (java.util.concurrent Future)))

(deftest a-producer-with-a-callback
  (with-cluster [kafka {"my-topic" 2}]
    (with-open [p (M.produce/make {:nodes            (cluster/nodes kafka)
                                   :config           {:client.id "my_id"}
                                   :serializer-key   M.serialize/string
                                   :serializer-value (fn [_ data] (.getBytes (pr-str data)))})]
      (let [committed (promise)
            result    (M.produce/commit p {:topic "my-topic", :key "some-key", :value 42}
                                        (fn callback [exception meta]
                                          (when-not exception
                                            (deliver committed meta))))]
        (is (M.produce/producer? p))
        (is (instance? Future result))
        (is= "my-topic" (:topic @result))
        (is= @result (deref committed long-ms nil))
        (is (nil? (M.produce/flush p)))
        (is= #{"my-topic"} (set (map :topic (M.produce/partitions p "my-topic"))))
        (is (nil? (M.produce/close p 5000)))))))

(deftest serializer-objects
  (with-cluster [kafka {"numbers" 1}]
    (with-open [p (M.produce/make {:nodes (cluster/nodes kafka), :serializer (M.serialize/make (fn [_topic n] (M.serialize/long nil n)))})]
      @(M.produce/commit p {:topic "numbers", :value 7}))
    (with-open [c (M.consume/make {:nodes        (cluster/nodes kafka)
                                   :config       {:group.id "readers", :auto.offset.reset "earliest"}
                                   :deserializer (M.deserialize/make M.deserialize/long)
                                   :listen       [["numbers" 0]]})]
      (is= [{:topic "numbers", :partition 0, :offset 0, :key nil, :value 7}]
           (map (fn [record] (select-keys record [:topic :partition :offset :key :value])) (M.consume/poll c))))))

(deftest a-consumer-that-commits-by-hand
  (with-cluster [kafka {"log" 1}]
    (with-open [p (M.produce/make {:nodes (cluster/nodes kafka), :serializer M.serialize/string})]
      (doseq [line ["a" "b" "c"]]
        (M.produce/commit p {:topic "log", :value line})))
    (with-open [c (M.consume/make {:nodes        (cluster/nodes kafka)
                                   :config       {:group.id (fresh "g"), :enable.auto.commit false}
                                   :deserializer M.deserialize/string})]
      (is (identical? c (M.consume/listen c ["log"] (fn [assigned? tps] [assigned? tps]))))
      (testing "calls that change something can be threaded"
        (is= ["a" "b" "c"] (-> c
                               (M.consume/rewind)
                               (M.consume/poll-seq)
                               (->> (map :value) (take 3)))))
      (M.consume/commit-sync c)
      (is= 3 (M.consume/committed c "log" 0))
      (is= {["log" 0] 3} (M.consume/committed c [["log" 0]]))
      (is= 3 (M.consume/safely c long-ms (M.consume/offs-latest c "log" 0)))
      (is= {:partitions #{["log" 0]}, :subscriptions #{"log"}} (M.consume/listening c)))))

(deftest a-transaction
  (with-cluster [kafka {"out" 1}]
    (with-open [p (M.produce/make {:nodes (cluster/nodes kafka), :config {:transactional.id (fresh "id")}, :serializer M.serialize/string})]
      (-> p
          (M.produce/trx-init)
          (M.produce/trx-begin))
      (M.produce/commit p {:topic "out", :value "x"})
      (-> p
          (M.produce/trx-offsets "my-group" {["in" 0] 5})
          (M.produce/trx-commit))
      (is (identical? p (-> p
                            (M.produce/trx-begin)
                            (M.produce/trx-abort)))))))
