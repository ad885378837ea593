(ns kafkabi.safety-test
  "Records that can't be read, and what happens around them."
  (:require [clojure.string :as str]
            [clojure.test :refer [deftest is testing]]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.produce :as produce]
            [kafkabi.support :refer [consumer fresh is= long-ms receive throws with-cluster]])
  (:import (org.kafkabi TopicPartition)
           (org.kafkabi.errors RecordDeserializationException)))

(defn- send-texts [cluster texts]
  (with-open [p (produce/make {:nodes cluster, :serializer (fn [_ data] (some-> ^String data .getBytes))})]
    (doseq [[k v] texts]
      @(produce/commit p {:topic "t", :partition 0, :key k, :value v}))))

(def ^:private texts
  [["1" "{:a 1}"] ["2" "{:a 2}"] ["3" "{:broken"] ["4" "{:a 4}"] ["]" "5"]])

(deftest by-default-polls-stop-before-what-cannot-be-read
  (with-cluster [cluster {"t" 1}]
    (send-texts cluster texts)
    (with-open [c (consumer cluster {:enable.auto.commit false} {:listen [["t" 0]]})]
      (is= [1 2] (map :key (receive c 2)))
      (is= 2 (consume/offs-current c "t" 0))
      (consume/commit-sync c)
      (is= 2 (consume/committed c "t" 0))
      (testing "it throws until the program seeks past it"
        (dotimes [_ 2]
          (let [^RecordDeserializationException exception (throws (consume/poll c long-ms))]
            (is (instance? RecordDeserializationException exception))
            (is= (TopicPartition. "t" 0) (.topicPartition exception))
            (is= 2 (.offset exception))
            (is (str/includes? (ex-message exception) "value"))
            (is= 2 (consume/offs-current c "t" 0))))
        (consume/commit-sync c)
        (is= 2 (consume/committed c "t" 0)))
      (testing "streams too"
        (is (instance? RecordDeserializationException (throws (into [] (consume/records c)))))
        (is (instance? RecordDeserializationException (throws (into [] (consume/batches c)))))
        (is (instance? RecordDeserializationException (throws (doall (consume/poll-seq c))))))
      (consume/seek c "t" 0 3)
      (is= [4] (map :key (receive c 1)))
      (let [exception (throws (consume/poll c long-ms))]
        (is= 4 (.offset ^RecordDeserializationException exception))
        (is (str/includes? (ex-message exception) "key"))))))

(deftest errors-may-be-data
  (with-cluster [cluster {"t" 1}]
    (send-texts cluster (conj texts [nil nil]))
    (with-open [c (consumer cluster {:enable.auto.commit false} {:listen [["t" 0]], :poison :data})]
      (let [got (receive c 6)]
        (is= [{:a 1} {:a 2} nil {:a 4} 5 nil] (map :value got))
        (is= [1 2 3 4 nil nil] (map :key got))
        (is= [nil nil [:value] nil [:key] nil] (map (comp keys :errors) got))
        (let [{:keys [exception bytes]} (get-in (nth got 2) [:errors :value])]
          (is (instance? RecordDeserializationException exception))
          (is= "{:broken" (String. ^bytes bytes)))
        (is= "]" (String. ^bytes (get-in (nth got 4) [:errors :key :bytes]))))
      (consume/commit-sync c)
      (is= 6 (consume/committed c "t" 0))
      (consume/rewind c)
      (is= [2 4] (into [] (comp (filter :errors) (map :offset) (take 2)) (consume/records c))))))

(deftest deep-nesting-is-a-poison-too
  (with-cluster [cluster {"t" 1}]
    (send-texts cluster [[nil (apply str (concat (repeat 200000 "[") (repeat 200000 "]")))] [nil "1"]])
    (with-open [c (consumer cluster nil {:listen [["t" 0]], :poison :data})]
      (let [got (receive c 2)]
        (is (some? (get-in (first got) [:errors :value])))
        (is= 1 (:value (second got)))))))

(deftest errors-that-tell-of-the-record-are-poison-too
  (with-cluster [cluster {"t" 1}]
    (send-texts cluster [[nil "assert"] [nil "class"] [nil "fine"] [nil "memory"]])
    (with-open [c (consumer cluster {:enable.auto.commit false}
                            {:listen             [["t" 0]]
                             :poison             :data
                             :deserializer-value (fn [_ ^bytes data]
                                                   (case (String. data)
                                                     "assert" (assert (nil? data))
                                                     "class"  (throw (NoClassDefFoundError. "gone.Type"))
                                                     "memory" (throw (OutOfMemoryError. "as thrown by a test"))
                                                     "fine"   1))})]
      (let [got (into [] (take 3) (consume/records c))]
        (is= [AssertionError NoClassDefFoundError nil]
             (map (fn [record] (some-> (get-in record [:errors :value :exception]) ex-cause class)) got))
        (is= 1 (:value (peek got))))
      (is (instance? OutOfMemoryError (throws (consume/poll c long-ms)))))))

(deftest key-and-value-have-their-own-deserializers
  (with-cluster [cluster {"t" 1}]
    (send-texts cluster [["k" "1"]])
    (with-open [c (consume/make {:nodes              cluster
                                 :config             {:group.id (fresh "g"), :auto.offset.reset :earliest}
                                 :deserializer       deserialize/string
                                 :deserializer-value (fn [topic data] [topic (String. ^bytes data)])
                                 :listen             [["t" 0]]})]
      (is= [["k" ["t" "1"]]] (map (juxt :key :value) (receive c 1))))
    (testing "bytes without any"
      (with-open [c (consume/make {:nodes cluster, :config {:auto.offset.reset :earliest}, :listen [["t" 0]]})]
        (is= "1" (String. ^bytes (:value (first (receive c 1)))))))))
