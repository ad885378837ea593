(ns kafkabi.stream-test
  "Streams: nothing is committed that was not handled, and nothing is lost."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.consume :as consume]
            [kafkabi.produce :as produce]
            [kafkabi.support :refer [consumer fresh is= long-ms producer receive send-all throws with-cluster]])
  (:import (org.kafkabi.errors WakeupException)))

(defn- reader
  "A consumer of partition 0 of t that commits only on request."
  ([cluster] (reader cluster (fresh "group")))
  ([cluster group] (reader cluster group nil))
  ([cluster group config]
   (consumer cluster (merge {:group.id group, :enable.auto.commit false} config) {:listen [["t" 0]]})))

(deftest records-reduce
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 100))
    (with-open [c (reader cluster)]
      (testing "all that is there"
        (is= (range 100) (into [] (comp (map :value) (take 100)) (consume/records c {:idle-ms long-ms})))
        (is= [] (into [] (consume/records c {:idle-ms 0}))))
      (consume/rewind c)
      (testing "early ends of transducers and of reduced"
        (is= [0 2 4] (into [] (comp (map :value) (filter even?) (take 3)) (consume/records c {:idle-ms long-ms})))
        (consume/commit-sync c)
        (is= 5 (consume/committed c "t" 0))
        (is= 5 (consume/offs-current c "t" 0))
        (is= 11 (reduce (fn [sum {:keys [value]}] (if (< sum 11) (+ sum value) (reduced sum))) 0 (consume/records c)))
        (consume/commit-sync c)
        (is= 8 (consume/committed c "t" 0)))
      (testing "and poll goes on from there"
        (is= (range 8 100) (map :value (receive c 92))))
      (testing "transduce, run!, eduction"
        (consume/rewind c)
        (is= (reduce + (range 10)) (transduce (comp (take 10) (map :value)) + 0 (consume/records c)))
        (let [seen (atom [])]
          (run! (partial swap! seen conj) (eduction (take 5) (map :value) (consume/records c)))
          (is= (range 10 15) @seen)))
      (is= :idle (:option (ex-data (throws (consume/records c {:idle 5})))))
      (is= :idle-ms (:nearest (ex-data (throws (consume/batches c {:idle-m 5}))))))))

(deftest an-exception-commits-no-more-than-was-handled
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 20))
    (let [group (fresh "group")]
      (with-open [c (reader cluster group)]
        (is= "at 7" (ex-message (throws (reduce (fn [_ {:keys [value]}] (when (= value 7) (throw (ex-info "at 7" {})))) nil
                                                (consume/records c)))))
        (consume/commit-sync c)
        (is= 7 (consume/committed c "t" 0))
        (is= 7 (:value (first (consume/poll c long-ms)))))
      (testing "a later consumer begins there"
        (with-open [c (reader cluster group)]
          (is= 7 (:value (first (consume/poll c long-ms)))))))))

(deftest automatic-commits-count-only-what-was-handled
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 20))
    (let [group (fresh "group")
          left-at (fn [f]
                    (with-open [c (consumer cluster {:group.id group} {:listen [["t" 0]]})]
                      (f c))
                    (with-open [c (reader cluster group)]
                      (consume/committed c "t" 0)))]
      (testing "an early end"
        (is= 3 (left-at (fn [c] (into [] (take 3) (consume/records c))))))
      (testing "an exception"
        (is= 5 (left-at (fn [c] (throws (reduce (fn [_ {:keys [value]}] (when (= 5 value) (throw (ex-info "" {})))) nil
                                                (consume/records c)))))))
      (testing "a poll before a close is not handled, unless that is said"
        (is= 5 (left-at (fn [c] (is= 5 (:value (first (consume/poll c long-ms)))))))
        (is= 20 (left-at (fn [c] (receive c 15) (consume/handled c))))))))

(deftest batches-reduce
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 20))
    (with-open [c (reader cluster (fresh "group") {:max.poll.records 4})]
      (let [batches (into [] (take 2) (consume/batches c))
            handled (count (apply concat batches))]
        (is (every? vector? batches))
        (is= (range handled) (map :value (apply concat batches)))
        (consume/commit-sync c)
        (is= handled (consume/committed c "t" 0))
        (testing "an exception leaves its whole batch"
          (is (some? (throws (run! (fn [_] (throw (ex-info "" {}))) (consume/batches c)))))
          (consume/commit-sync c)
          (is= handled (consume/committed c "t" 0)))
        (testing "the rest, until nothing comes"
          (is= (range handled 20)
               (reduce (fn [values batch]
                         (let [values (into values (map :value) batch)]
                           (if (< (count values) (- 20 handled)) values (reduced values))))
                       [] (consume/batches c {:idle-ms long-ms})))
          (is= [] (into [] (consume/batches c {:idle-ms 0})))
          (consume/commit-sync c)
          (is= 20 (consume/committed c "t" 0)))))))

(deftest a-commit-inside-a-reduction-covers-what-was-handled-before
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (with-open [c (reader cluster)]
      (is= [nil 1 2] (into []
                           (comp (take 3)
                                 (map (fn [_] (consume/commit-sync c) (consume/committed c "t" 0))))
                           (consume/records c))))))

(deftest poll-seq-is-lazy-record-by-record
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (with-open [c (reader cluster)]
      (let [records (consume/poll-seq c long-ms)]
        (is (not (realized? records)))
        (is= [0 1 2] (mapv :value (take 3 records)))
        (consume/commit-sync c)
        (is= 3 (consume/committed c "t" 0))
        (testing "what was not reached is read again"
          (is= 3 (:value (first (consume/poll c long-ms)))))
        (consume/rewind c)
        (is= (range 10) (map :value (take 10 (consume/poll-seq c long-ms))))
        (is (nil? (seq (consume/poll-seq c 0)))))
      (testing "a sequence that was left goes on by a poll of its own"
        (consume/rewind c)
        (let [records (consume/poll-seq c)]
          (is= 0 (:value (first records)))
          (is= 1 (:value (first (consume/poll c long-ms))))
          (consume/seek c "t" 0 5)
          (is= 5 (:value (second records)))))
      (is= :timeout-ms (:option (ex-data (throws (consume/poll-seq c "1"))))))))

(deftest a-seek-of-the-programs-holds-against-seeking-back
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (with-open [c (reader cluster)]
      (is= 0 (:value (first (consume/poll-seq c))))
      (is= 1 (consume/offs-current c "t" 0))
      (consume/seek c "t" 0 8)
      (is= 8 (consume/offs-current c "t" 0))
      (is= 8 (:value (first (consume/poll c long-ms)))))))

(deftest several-partitions-keep-their-own-places
  (with-cluster [cluster {"t" 3}]
    (with-open [p (producer cluster)]
      (doseq [partition (range 3), i (range 10)]
        @(produce/commit p {:topic "t", :partition partition, :value i})))
    (with-open [c (consumer cluster {:enable.auto.commit false} {:listen (mapv (fn [i] ["t" i]) (range 3))})]
      (loop [seen {}]
        (when (< (reduce + (vals seen)) 30)
          (let [got (into [] (take 3) (consume/records c {:idle-ms long-ms}))]
            (is (seq got))
            (when (seq got)
              (recur (reduce (fn [seen {:keys [partition value]}]
                               (is= (get seen partition 0) value)
                               (update seen partition (fnil inc 0)))
                             seen got))))))
      (consume/commit-sync c)
      (is= {["t" 0] 10, ["t" 1] 10, ["t" 2] 10} (consume/committed c [["t" 0] ["t" 1] ["t" 2]])))))

(deftest what-is-left-over-respects-pauses-and-revocations
  (with-cluster [cluster {"t" 2}]
    (with-open [p (producer cluster)]
      (doseq [partition (range 2), i (range 5)]
        @(produce/commit p {:topic "t", :partition partition, :value i})))
    (with-open [c (consumer cluster {:enable.auto.commit false} {:listen ["t"]})]
      (let [[{:keys [partition]}] (into [] (take 1) (consume/records c))]
        (testing "a paused partition's are withheld"
          (consume/pause c "t" partition)
          (is= #{(- 1 partition)} (set (map :partition (receive c 5))))
          (consume/resume c)
          (is= [[partition 1] [partition 2] [partition 3] [partition 4]] (map (juxt :partition :value) (receive c 4))))
        (testing "nothing is left over of what is listened to no more"
          (consume/rewind c)
          (into [] (take 1) (consume/records c))
          (consume/listen c nil)
          (consume/listen c [["t" partition]])
          (consume/rewind c)
          (is= (map vector (repeat partition) (range 5)) (map (juxt :partition :value) (receive c 5))))))))

(deftest what-is-left-over-outlives-a-poll-that-is-cut-short
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 5))
    (doseq [cut-short! [(fn [_] (.interrupt (Thread/currentThread))) consume/unblock]]
      (with-open [c (reader cluster)]
        (is= [0] (into [] (comp (map :value) (take 1)) (consume/records c)))
        (consume/pause c "t" 0)
        (cut-short! c)
        (is (some? (throws (consume/poll c 0))))
        (Thread/interrupted)
        (is (nil? (consume/poll c 0)))
        (consume/commit-sync c)
        (is= 1 (consume/committed c "t" 0))
        (consume/resume c)
        (is= [1 2 3 4] (map :value (receive c 4)))))))

(deftest a-wider-subscription-loses-nothing
  (doseq [assignor ["range" "cooperative-sticky"]]
    (with-cluster [cluster {"t" 1, "u" 1}]
      (send-all cluster "t" (range 5))
      (send-all cluster "u" (range 5 10))
      ;; A member that joins anew waits for its session's end in an embedded cluster.
      (with-open [c (consumer cluster {:partition.assignment.strategy assignor, :session.timeout.ms 6000} {:listen ["t"]})]
        (is= [0] (into [] (comp (map :value) (take 1)) (consume/records c)))
        (consume/listen c ["t" "u"])
        (loop [seen #{0}]
          (when-not (= (set (range 10)) seen)
            (let [got (consume/poll c long-ms)]
              (is (some? got))
              (when got
                (recur (into seen (map :value) got))))))
        (is= #{["t" 0] ["u" 0]} (:partitions (consume/listening c)))))))

(deftest a-wake-up-and-a-close-are-noticed-before-what-is-left-over
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 5))
    (with-open [c (reader cluster)]
      (into [] (take 1) (consume/records c))
      (consume/unblock c)
      (is (instance? WakeupException (throws (consume/poll c 0))))
      (is= 1 (:value (first (consume/poll c long-ms))))
      (testing "a reduction may close the consumer"
        (consume/rewind c)
        (is= 0 (reduce (fn [_ {:keys [value]}] (consume/close c) (reduced value)) nil (consume/records c))))
      (is (instance? IllegalStateException (throws (consume/poll c 0)))))))

(deftest unblock-ends-a-reduction
  (with-cluster [cluster {"t" 1}]
    (with-open [c (reader cluster)]
      (let [thrown (future (throws (into [] (consume/records c))))]
        (consume/unblock c)
        (is (instance? WakeupException (deref thrown long-ms nil)))))))

(deftest only-the-program-says-what-is-handled
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (with-open [c (reader cluster (fresh "group") {:kafkabi.handled :explicit})]
      (receive c 10)
      (consume/commit-sync c)
      (is (nil? (consume/committed c "t" 0)))
      (consume/handled c)
      (consume/commit-sync c)
      (is (pos? (consume/committed c "t" 0))))))
