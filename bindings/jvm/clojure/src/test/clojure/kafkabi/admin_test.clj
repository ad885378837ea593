(ns kafkabi.admin-test
  "Administration as far as the embedded cluster answers; kafkabi.real-test has the rest."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.admin :as admin]
            [kafkabi.consume :as consume]
            [kafkabi.support :refer [consumer fresh is= producer receive send-all throws with-cluster]])
  (:import (java.util.concurrent Future)
           (org.kafkabi.errors UnknownTopicOrPartitionException)))

(deftest topics
  (with-cluster [cluster {"a" 2, "b" 1}]
    (with-open [a (admin/make {:nodes cluster})]
      (is= {"a" {:internal? false}, "b" {:internal? false}} @(admin/topics a))
      (is= {"a" {:internal? false}, "b" {:internal? false}} @(admin/topics a {:internal? true, :timeout-ms 30000}))
      (let [{:strs [a none]} (admin/topics-describe a ["a" "none"])]
        (is (instance? Future a))
        (is= #{:internal? :partitions} (set (keys @a)))
        (is= [0 1] (map :partition (:partitions @a)))
        (let [{:keys [leader replicas]} (first (:partitions @a))]
          (is= [(assoc leader :synced? true)] replicas)
          (is= #{:host :port :rack :id} (set (keys leader))))
        (testing "what fails for one fails its future alone"
          (is (instance? UnknownTopicOrPartitionException (throws @none))))))))

(deftest offsets-of-groups
  (with-cluster [cluster {"t" 1}]
    (send-all cluster "t" (range 10))
    (let [group (fresh "group")]
      (with-open [a (admin/make {:nodes cluster, :config {:client.id "admin"}})
                  c (consumer cluster {:group.id group, :max.poll.records 4} {:listen ["t"]})]
        (receive c 4)
        (consume/commit-sync c {["t" 0] 4})
        (is= {["t" 0] 4} (update-vals @(admin/group-offsets a group [["t" 0]]) :offset))
        (is= {} @(admin/lag a (fresh "nobody")))
        (let [{:keys [offset]} @(get (admin/offsets a {["t" 0] :latest}) ["t" 0])]
          (is= 10 offset))
        (is= 0 (:offset @(get (admin/offsets a {["t" 0] :earliest} {:isolation :read-committed}) ["t" 0])))
        (is= :place (:option (ex-data (throws (admin/offsets a {["t" 0] :newest})))))))))

(deftest requests-and-figures
  (with-cluster [cluster {"t" 1}]
    (let [a (admin/make {:nodes cluster})]
      (is= ["t"] (map :topic (:topics @(admin/request a :metadata {}))))
      (is= ["t"] (map :topic (:topics @(admin/request a "metadata" {:topics ["t"]} {:timeout-ms 30000}))))
      (is (instance? IllegalArgumentException (throws @(admin/request a "metadat" {}))))
      (is= "admin" (get-in (admin/metrics a) [:kafkabi/handles-alive :tags :client]))
      (is (nil? (admin/close a)))
      (is (nil? (admin/close a 10)))
      (is (instance? IllegalStateException (throws @(admin/topics a)))))))

(deftest wrong-arguments-are-refused
  (with-cluster [cluster {}]
    (with-open [a (admin/make {:nodes cluster})]
      (doseq [[f option] [[#(admin/topics-create a ["t"]) :topics]
                          [#(admin/topics-create a {"t" {:partition 1}}) :partition]
                          [#(admin/topics-create a {"t" {}} {:fake 1}) :fake]
                          [#(admin/topics-delete a "t") :topics]
                          [#(admin/topics-delete a [:t]) :topics]
                          [#(admin/topics a {:internal 1}) :internal]
                          [#(admin/partitions-create a {"t" {:n -1}}) :n]
                          [#(admin/partitions-create a {"t" {}}) :n]
                          [#(admin/config a {:topic #{"t"}}) :topic]
                          [#(admin/acls a {:resource {:type :topics}}) :type]
                          [#(admin/acls a {:resource {:names "a"}}) :names]
                          [#(admin/acls-create a [{:resource {:type :topic, :name "t"}}]) :principal]
                          [#(admin/acls-delete a [{:access-control {:operation :reads}}]) :operation]
                          [#(admin/group-offsets a nil) :group]
                          [#(admin/records-delete a {["t" 0] "1"}) :offset]]]
        (is= option (:option (ex-data (throws (f))))))
      (is= :topic (:nearest (ex-data (throws (admin/acls a {:resource {:type :topc}})))))
      (testing "nothing to do is nothing done"
        (doseq [f [#(admin/topics-describe a []) #(admin/topics-create a {}) #(admin/topics-delete a []) #(admin/partitions-create a {})
                   #(admin/acls-create a []) #(admin/acls-delete a []) #(admin/groups-describe a []) #(admin/groups-delete a [])
                   #(admin/group-offsets-alter a "g" {}) #(admin/group-offsets-delete a "g" []) #(admin/records-delete a {})
                   #(admin/offsets a {}) #(admin/config a {}) #(admin/config-alter a nil) #(admin/config-update a {})]]
          (is= {} (f)))))))
