(ns kafkabi.cluster-test
  "The embedded cluster and its faults."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.error :as error]
            [kafkabi.produce :as produce]
            [kafkabi.support :refer [consumer is= long-ms producer receive throws]])
  (:import (org.kafkabi.errors RecordTooLargeException TopicAuthorizationException)))

(deftest nodes-and-topics
  (with-open [cluster (cluster/start {:brokers 3, :topics {"a" 2}})]
    (is= 3 (count (cluster/nodes cluster)))
    (is (every? (fn [[host port]] (and (string? host) (pos-int? port))) (cluster/nodes cluster)))
    (is (identical? cluster (cluster/create-topic cluster "b" 1)))
    (cluster/create-topic cluster "c" 2 3)
    (with-open [c (consumer (cluster/nodes cluster))]
      (is= {"a" 2, "b" 1, "c" 2} (update-vals (consume/topics c) count))
      (is= 3 (count (:replicas (first (consume/partitions c "c")))))
      (cluster/leader cluster "a" 0 2)
      (is= 2 (:id (:leader (first (consume/partitions c "a")))))))
  (let [cluster (cluster/start)]
    (is (nil? (cluster/stop cluster)))
    (is (nil? (cluster/stop cluster)))))

(deftest faults
  (with-open [cluster (cluster/start {:topics {"t" 1, "u" 1}})
              p       (producer cluster {:enable.idempotence false})]
    @(produce/commit p {:topic "t", :value 0})
    (testing "injected errors"
      (is (identical? cluster (cluster/inject-errors cluster :produce :msg-size-too-large 1)))
      (let [exception (throws @(produce/commit p {:topic "t", :value 1}))]
        (is (instance? RecordTooLargeException exception))
        (is= :msg-size-too-large (:name (error/data exception))))
      (cluster/inject-errors cluster 0 29 100)
      (is (identical? cluster (cluster/clear-errors cluster :produce)))
      (is (some? (:offset @(produce/commit p {:topic "t", :value 2}))))
      (is= :produce (:nearest (ex-data (throws (cluster/inject-errors cluster :prodce :transport 1)))))
      (is= :error (:option (ex-data (throws (cluster/inject-errors cluster :produce :no-such-error 1))))))
    (testing "brokers that go and come back"
      (cluster/broker-down cluster 1)
      (let [future (produce/commit p {:topic "t", :value 3})]
        (is= :waits (deref future 100 :waits))
        (cluster/broker-up cluster 1)
        (is (some? (:offset (deref future long-ms nil)))))
      (cluster/broker-down cluster)
      (cluster/broker-up cluster))
    (testing "latency"
      (cluster/latency cluster 1)
      (cluster/latency cluster 1 0)
      (is (some? (:offset @(produce/commit p {:topic "t", :value 4})))))
    (testing "topics and coordinators"
      (cluster/group-coordinator cluster "g" 1)
      (cluster/topic-error cluster "u" :topic-authorization-failed)
      (is (instance? TopicAuthorizationException (throws (produce/partitions p "u"))))
      (cluster/topic-error cluster "u" nil))
    (with-open [c (consumer cluster {:group.id "g"} {:listen ["t"]})]
      (is= [0 2 3 4] (map :value (receive c 4))))))
