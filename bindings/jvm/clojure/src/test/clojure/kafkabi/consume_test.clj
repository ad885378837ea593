(ns kafkabi.consume-test
  "Consumers on the embedded cluster."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.produce :as produce]
            [kafkabi.support :refer [consumer eventually fresh is= long-ms producer receive send-all throws with-cluster]])
  (:import (org.kafkabi.errors InterruptException WakeupException)))

(deftest poll-takes-a-time-out
  (with-cluster [cluster {"t" 1}]
    (with-open [c (consumer cluster nil {:listen [["t" 0]]})]
      (is (nil? (consume/poll c 0)))
      (is (nil? (consume/poll c 50)))
      (is (nil? (consume/poll-partitions c 0)))
      (is= :timeout-ms (:option (ex-data (throws (consume/poll c -1)))))
      (is= :timeout-ms (:option (ex-data (throws (consume/poll c "1")))))
      (send-all cluster "t" (range 3))
      (testing "nil and none wait for ever"
        (is= [0 1 2] (map :value (receive c 3)))
        (send-all cluster "t" [3])
        (is= [3] (map :value (consume/poll c)))
        (send-all cluster "t" [4])
        (is= [4] (map :value (consume/poll c nil)))
        (send-all cluster "t" [5])
        (is= {["t" 0] [5]} (update-vals (consume/poll-partitions c) (partial mapv :value)))))))

(deftest nothing-to-listen-to-is-said
  (with-cluster [cluster {}]
    (with-open [c (consumer cluster)]
      (is (instance? IllegalStateException (throws (consume/poll c 0)))))
    (let [c (consumer cluster)]
      (is (nil? (consume/close c)))
      (is (nil? (consume/close c 1000)))
      (doseq [f [#(consume/poll c 0) #(consume/listening c) #(consume/topics c) #(consume/paused c)
                 #(consume/commit-sync c) #(consume/offs-first c "t" 0) #(consume/metrics c) #(consume/seek c "t" 0 0)
                 #(consume/listen c ["t"]) #(consume/partitions c "t") #(consume/offs-by-ts c {["t" 0] 1})]]
        (is (instance? IllegalStateException (throws (f))))))))

(deftest listen-takes-topics-patterns-and-partitions
  (with-cluster [cluster {"apples" 2, "avocados" 1, "pears" 1}]
    (with-open [p (producer cluster)]
      (doseq [topic ["apples" "avocados" "pears"]]
        @(produce/commit p {:topic topic, :partition 0, :value topic})))
    (testing "topics, and the function of rebalances"
      (let [changes (atom [])]
        (with-open [c (consumer cluster)]
          (is (identical? c (consume/listen c ["apples"] (fn [assigned? tps] (swap! changes conj [assigned? (set tps)])))))
          (is= ["apples"] (map :value (receive c 1)))
          (is= {:partitions #{["apples" 0] ["apples" 1]}, :subscriptions #{"apples"}} (consume/listening c))
          (is (true? (consume/listening? c "apples")))
          (is (true? (consume/listening? c ["apples" 1])))
          (is (false? (consume/listening? c "pears")))
          (is (false? (consume/listening? c ["pears" 0])))
          (is= :source (:option (ex-data (throws (consume/listening? c 5)))))
          (is (string? (consume/member-id c)))
          (testing "another kind is refused until it has stopped"
            (is (instance? IllegalStateException (throws (consume/listen c [["pears" 0]]))))
            (is (instance? IllegalStateException (throws (consume/listen c #"a.*")))))
          (is (identical? c (consume/listen c nil)))
          (is= {:partitions #{}, :subscriptions #{}} (consume/listening c))
          (consume/listen c [["pears" 0]])
          (is= ["pears"] (map :value (receive c 1))))
        (is= [[true #{["apples" 0] ["apples" 1]}] [false #{["apples" 0] ["apples" 1]}]] @changes)))
    (testing "a regular expression"
      (with-open [c (consumer cluster nil {:listen #"a.*"})]
        (is= #{"apples" "avocados"} (set (map :value (receive c 2))))
        (let [{:keys [partitions subscriptions pattern]} (consume/listening c)]
          (is= #{["apples" 0] ["apples" 1] ["avocados" 0]} partitions)
          (is= #{"apples" "avocados"} subscriptions)
          (is= "a.*" (str pattern)))))
    (testing "partitions, and an empty list"
      (with-open [c (consumer cluster nil {:listen {:source [["pears" 0] ["apples" 0]], :on-rebalance (fn [_ _])}})]
        (is= {:partitions #{["pears" 0] ["apples" 0]}, :subscriptions #{}} (consume/listening c))
        (is (nil? (consume/member-id c)))
        (consume/listen c [])
        (is= #{} (:partitions (consume/listening c)))
        (doseq [wrong [5 "apples" :apples [["a" 0] "a"] ["a" :b] [["a"]] [["a" -1]]]]
          (is (some? (:expected (ex-data (throws (consume/listen c wrong)))))))))
    (is= :sourc (:option (ex-data (throws (consumer cluster nil {:listen {:sourc ["a"]}})))))))

(deftest topics-and-partitions
  (with-cluster [cluster {"a" 2, "b" 1}]
    (with-open [c (consumer cluster)]
      (let [topics (consume/topics c)]
        (is= {"a" 2, "b" 1} (update-vals topics count))
        (is= (get topics "a") (consume/partitions c "a"))
        (let [{:keys [topic partition leader replicas]} (first (get topics "b"))]
          (is= ["b" 0] [topic partition])
          (is= #{:host :port :rack :id} (set (keys leader)))
          (is= [(assoc leader :synced? true)] replicas))))))

(deftest pauses
  (with-cluster [cluster {"t" 2}]
    (with-open [p (producer cluster)]
      (doseq [partition [0 1], i (range 3)]
        @(produce/commit p {:topic "t", :partition partition, :value i})))
    (with-open [c (consumer cluster nil {:listen [["t" 0] ["t" 1]]})]
      (is= #{} (consume/paused c))
      (is (false? (consume/paused? c "t" 0)))
      (is (identical? c (consume/pause c "t" 0)))
      (is= #{["t" 0]} (consume/paused c))
      (is (true? (consume/paused? c "t" 0)))
      (is (true? (consume/paused? c ["t" 0])))
      (is (false? (consume/paused? c ["t" 1])))
      (is= #{1} (set (map :partition (receive c 3))))
      (is (nil? (consume/poll c 100)))
      (is (identical? c (consume/resume c "t" 0)))
      (is= #{0} (set (map :partition (receive c 3))))
      (consume/pause c [["t" 0] ["t" 1]])
      (is= #{["t" 0] ["t" 1]} (consume/paused c))
      (consume/resume c [["t" 0]])
      (is= #{["t" 1]} (consume/paused c))
      (is (identical? c (consume/resume c)))
      (is= #{} (consume/paused c)))))

(deftest offsets-and-seeks
  (with-cluster [cluster {"t" 2}]
    (send-all cluster "t" (range 10))
    (with-open [c (consumer cluster nil {:listen [["t" 0] ["t" 1]]})]
      (is= 0 (consume/offs-first c "t" 0))
      (is= 10 (consume/offs-latest c "t" 0))
      (is= {["t" 0] 0, ["t" 1] 0} (consume/offs-first c [["t" 0] ["t" 1]]))
      (is= {["t" 0] 10, ["t" 1] 0} (consume/offs-latest c [["t" 0] ["t" 1]]))
      (testing "before any poll"
        (is (identical? c (consume/seek c "t" 0 4)))
        (is= 4 (consume/offs-current c "t" 0))
        (is= {["t" 0] 4, ["t" 1] 0} (consume/offs-current c [["t" 0] ["t" 1]]))
        (is= [4 5 6 7 8 9] (map :value (receive c 6)))
        (is= 10 (consume/offs-current c "t" 0)))
      (is= 9 (do (consume/seek c {["t" 0] 9}) (:value (first (receive c 1)))))
      (testing "a negative offset is 0"
        (consume/seek c "t" 0 -5)
        (is= (range 10) (map :value (receive c 10))))
      (consume/fast-forward c)
      (is= 10 (consume/offs-current c "t" 0))
      (is (nil? (consume/poll c 100)))
      (consume/rewind c)
      (is= 0 (consume/offs-current c "t" 0))
      (is= (range 10) (map :value (receive c 10)))
      (is= 0 (:value (first (receive (consume/rewind c "t" 0) 1))))
      (is= 10 (consume/offs-current (consume/fast-forward c [["t" 0]]) "t" 0))
      (is= 0 (consume/offs-current (consume/rewind c [["t" 0]]) "t" 0))
      (is= 10 (consume/offs-current (consume/fast-forward c "t" 0) "t" 0))
      (is= 0 (consume/lag c "t" 0))
      (is= {["t" 0] 0, ["t" 1] 0} (consume/lag c))
      (consume/seek c "t" 0 3)
      (consume/seek c "t" 0 7)
      (is= [7 8 9] (map :value (receive c 3)))
      (is (eventually (fn [] (= {["t" 0] 0} (consume/lag c [["t" 0]])))))
      (testing "a partition that is not the consumer's"
        (is (instance? IllegalStateException (throws (consume/seek c "other" 0 0))))
        (is (instance? IllegalStateException (throws (consume/rewind c "t" 7)))))
      (doseq [f [#(consume/seek c "t" 0 nil) #(consume/seek c "t" -1 0) #(consume/seek c nil 0 0) #(consume/seek c [["t" 0]])
                 #(consume/offs-first c "t" "0") #(consume/offs-current c nil 0) #(consume/rewind c 5)]]
        (is (some? (:expected (ex-data (throws (f))))))))))

(deftest offsets-by-time-are-asked-for
  ;; The embedded cluster finds none; the tests on a real broker look at what is found.
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" [1])
    (with-open [c (consumer cluster nil {:listen [["t" 0]]})]
      (is= {["t" 0] nil} (consume/offs-by-ts c {["t" 0] 5}))
      (is (nil? (consume/offs-by-ts c "t" 0 5)))
      (is= {} (consume/offs-by-ts c {}))
      (is (some? (:expected (ex-data (throws (consume/offs-by-ts c {["t" 0] "now"})))))))))

(deftest seeks-of-a-subscription-wait-for-the-assignment
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (let [group (fresh "group")]
      (with-open [c (consumer cluster {:group.id group} {:listen ["t"]})]
        (consume/seek c "t" 0 6)
        (is= 6 (consume/offs-current c "t" 0))
        (is= [6 7 8 9] (map :value (receive c 4)))
        (consume/commit-sync c)))
    (let [group (fresh "group")]
      (with-open [c (consumer cluster {:group.id group} {:listen ["t"]})]
        (consume/fast-forward c)
        (is (nil? (consume/poll c 3000)))
        (is (eventually (fn [] (consume/poll c 10) (consume/listening? c ["t" 0]))))
        (is= 10 (consume/offs-current c "t" 0))
        (consume/rewind c)
        (is= (range 10) (map :value (receive c 10)))))
    (with-open [c (consumer cluster {:auto.offset.reset :latest} {:listen ["t"]})]
      (consume/rewind c [["t" 0]])
      (is= 0 (consume/offs-current c "t" 0))
      (is= (range 10) (map :value (receive c 10))))))

(deftest commits
  (with-cluster [cluster {"t" 2}]
    (send-all cluster "t" (range 10))
    (let [group (fresh "group")]
      (with-open [c (consumer cluster {:group.id group, :enable.auto.commit false, :max.poll.records 4} {:listen [["t" 0] ["t" 1]]})]
        (is (nil? (consume/committed c "t" 0)))
        (is= {["t" 0] nil, ["t" 1] nil} (consume/committed c [["t" 0] ["t" 1]]))
        (is (identical? c (consume/commit-sync c)))
        (let [got (consume/poll c long-ms)]
          (testing "the last poll's"
            (is (identical? c (consume/commit-sync c)))
            (is= (count got) (consume/committed c "t" 0))
            (is= (consume/next-offsets got) {["t" 0] (count got)})))
        (is (identical? c (consume/commit-sync c {["t" 0] 7, ["t" 1] {:offset 0, :metadata "text"}})))
        (is= {["t" 0] 7, ["t" 1] 0} (consume/committed c [["t" 0] ["t" 1]]))
        (let [told (promise)]
          (is (identical? c (consume/commit-async c (fn [exception offsets] (deliver told [exception offsets])) {["t" 0] 0})))
          (is (eventually (fn [] (consume/poll c 10) (realized? told))))
          (is= [nil {["t" 0] 0}] @told)
          (is= 0 (consume/committed c "t" 0)))
        (let [told (promise)
              next (consume/offs-current c "t" 0)]
          (consume/commit-async c (fn [exception offsets] (deliver told [exception offsets])))
          (is (eventually (fn [] (consume/pause c [["t" 0]]) (consume/poll c 10) (realized? told))))
          (is= [nil next] (update @told 1 get ["t" 0])))
        (is (identical? c (consume/commit-async c)))
        (doseq [wrong [5 {["t" 0] "a"} {["t" 0] -1} {"t" 1}]]
          (is (some? (:expected (ex-data (throws (consume/commit-sync c wrong)))))))))
    (is= {} (consume/next-offsets []))
    (is= {["a" 0] 8, ["b" 1] 1}
         (consume/next-offsets [{:topic "a", :partition 0, :offset 7} {:topic "b", :partition 1, :offset 0} {:topic "a", :partition 0, :offset 3}]))))

(deftest unblock-ends-the-poll-or-the-next-one
  (with-cluster [cluster {"t" 1}]
    (with-open [c (consumer cluster nil {:listen [["t" 0]]})]
      (is (identical? c (consume/unblock c)))
      (is (instance? WakeupException (throws (consume/poll c))))
      (is (nil? (consume/poll c 0)))
      (let [thrown (future (throws (consume/poll c)))]
        (consume/unblock c)
        (is (instance? WakeupException (deref thrown long-ms nil))))
      (testing "safely"
        (is (instance? WakeupException (throws (consume/safely c 50 (consume/poll c)))))
        (is= 17 (consume/safely c 60000 17))
        (is= 18 (consume/call-safely c 60000 (constantly 18)))
        (is= "no" (ex-message (throws (consume/safely c 60000 (throw (ex-info "no" {}))))))
        (testing "a wake-up that met no call is taken back"
          (is= :slow (consume/safely c 0 (do (Thread/sleep 50) :slow)))
          (is (nil? (consume/poll c 0))))
        (testing "an interrupt hides neither what the body gives nor what it throws, and is left for the next call"
          (let [late    (fn [end] (fn []
                                    (let [until (+ (System/nanoTime) 50000000)]
                                      (while (neg? (- (System/nanoTime) until))))
                                    (.interrupt (Thread/currentThread))
                                    (end)))
                safely  (fn [end] (consume/call-safely c 0 (late end)))
                results @(future
                           [(safely (constantly :slow))
                            (Thread/interrupted)
                            (ex-message (throws (safely #(throw (ex-info "no" {})))))
                            (Thread/interrupted)
                            (consume/poll c 0)])]
            (is= [:slow true "no" true nil] results))))
      (testing "an interrupt"
        (let [thrown (promise)
              thread (Thread. (fn [] (deliver thrown (throws (consume/poll c)))))]
          (.start thread)
          (.interrupt thread)
          (is (instance? InterruptException (deref thrown long-ms nil))))))))

(deftest other-threads-may-commit-pause-and-seek
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (with-open [c (consumer cluster {:enable.auto.commit false} {:listen [["t" 0]]})]
      (receive c 10)
      (let [polling (future (loop [] (or (consume/poll c 200) (recur))))]
        (consume/commit-sync c)
        (is= 10 (consume/committed c "t" 0))
        (consume/pause c "t" 0)
        (consume/seek c "t" 0 8)
        (consume/resume c "t" 0)
        (is= 8 (:value (first (deref polling long-ms nil))))))))

(deftest figures
  (with-cluster [cluster {"t" 1}]
    (with-open [c (consumer cluster)]
      (let [{:keys [description tags value]} (:kafkabi/handles-alive (consume/metrics c))]
        (is (string? description))
        (is= {:client "consumer"} tags)
        (is (pos? value))))))
