(ns kafkabi.options-test
  "What options may be, and what is said of those that may not."
  (:require [clojure.string :as str]
            [clojure.test :refer [deftest is testing]]
            [kafkabi.admin :as admin]
            [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.produce :as produce]
            [kafkabi.support :refer [is= throws with-cluster]])
  (:import (org.kafkabi.errors ConfigException)))

(defn- problem [f]
  (let [exception (throws (f))]
    (is (instance? clojure.lang.ExceptionInfo exception))
    (assoc (ex-data exception) :message (ex-message exception))))

(deftest unknown-options-are-refused-with-the-nearest-name
  (doseq [[make wrong near] [[produce/make {:serialiser str} :serializer]
                             [produce/make {:node [["h" 1]]} :nodes]
                             [consume/make {:deserializer-vale str} :deserializer-value]
                             [admin/make {:confg {}} :config]
                             [cluster/start {:broker 1} :brokers]]]
    (let [{:keys [option given expected nearest message]} (problem #(make wrong))]
      (is= (ffirst wrong) option)
      (is= (val (first wrong)) given)
      (is (some #{near} expected))
      (is= near nearest)
      (is (str/includes? message (str near))))))

(deftest wrong-values-are-refused
  (doseq [[make wrong] [[produce/make {:nodes "localhost:9092"}]
                        [produce/make {:nodes []}]
                        [produce/make {:nodes [["localhost" 0]]}]
                        [produce/make {:nodes [[:localhost 9092]]}]
                        [produce/make {:config [:client.id "a"]}]
                        [produce/make {:config {1 "a"}}]
                        [produce/make {:serializer "string"}]
                        [produce/make {:serializer-key 1}]
                        [produce/make {:on-error 1}]
                        [consume/make {:deserializer 1}]
                        [consume/make {:poison :ignore}]
                        [cluster/start {:topics ["a"]}]
                        [cluster/start {:brokers -1}]]]
    (testing (pr-str wrong)
      (let [{:keys [option expected message]} (problem #(make wrong))]
        (is (some? option))
        (is (some? expected))
        (is (str/includes? message "expected")))))
  (is= "the options of a producer is 5: expected a map or nil" (:message (problem #(produce/make 5)))))

(deftest properties-are-checked
  (let [{:keys [option given nearest message]} (problem #(produce/make {:config {:linger.mss 5}}))]
    (is= [:config :linger.mss] option)
    (is= 5 given)
    (is= "linger.ms" nearest)
    (is (str/includes? message "linger.ms")))
  (let [{:keys [option given expected nearest]} (problem #(produce/make {:config {"linger.ms" "soon"}}))]
    (is= [:config "linger.ms"] option)
    (is= "soon" given)
    (is (str/includes? expected "from"))
    (is (nil? nearest)))
  (is= [:config :client.id] (:option (problem #(produce/make {:config {:client.id (Object.)}}))))
  (testing "the exception that programs of Kafka's know is the cause"
    (is (instance? ConfigException (ex-cause (throws (consume/make {:config {:key.deserializer "x"}})))))))

(deftest secrets-are-not-shown
  (doseq [wrong [{:config {:sasl.password (Object.)}}
                 {:config {"sasl.jaas.config" "org.x.PlainLoginModule hush-hush"}}
                 {:config {:sasl.jaas.config ["hush-hush" {}]}}
                 {:config {:ssl.keystore.password ["hush-hush" nil]}}
                 {:config {:ssl.truststore.password "hush-hush"}}
                 {:config {:ssl.key.pem {"hush-hush" 1}}}
                 {:config {:sasl.pasword "hush-hush"}}
                 {:config {"ssl.key.pen" "hush-hush"}}
                 {:config {1 "a", :sasl.password "hush-hush"}}
                 {:config ["sasl.password" "hush-hush"]}
                 {:config [[:sasl.password "hush-hush"]]}
                 {:confg {:sasl.oauthbearer.client.secret "hush-hush"}}
                 {:sasl.password "hush-hush"}
                 [:config {:sasl.password "hush-hush"}]]
          make  [produce/make consume/make admin/make]]
    (let [exception (throws (make wrong))]
      (is= :bad-argument (:kafkabi/error (ex-data exception)))
      (doseq [exception (take-while some? (iterate ex-cause exception))]
        (is (not (str/includes? (str (ex-message exception) (ex-data exception)) "hush-hush")) (pr-str wrong)))))
  (testing "what is no secret is"
    (is= {:client.id "a", 1 "b", :sasl.password "[redacted]"}
         (:given (problem #(produce/make {:config {:client.id "a", 1 "b", :sasl.password "c"}}))))))

(deftest options-may-be-nil-and-absent
  (doseq [make [produce/make consume/make admin/make]
          opts [nil {} {:nodes nil, :config nil} {:config {:client.id nil}}]]
    (with-open [client (make opts)]
      (is (some? client))))
  (with-open [p (produce/make), c (consume/make), a (admin/make)]
    (is (and (produce/producer? p) (consume/consumer? c) (admin/admin? a)))
    (is (not-any? produce/producer? [nil 1 c a]))
    (is (not-any? consume/consumer? [nil 1 p a]))
    (is (not-any? admin/admin? [nil 1 c p]))))

(deftest keyword-keys-numbers-booleans-and-keywords
  (with-cluster [cluster {"t" 1}]
    (with-open [p (produce/make {:nodes      (cluster/nodes cluster)
                                 :config     {:client.id         "a-client"
                                              "linger.ms"        0
                                              :enable.idempotence true
                                              :compression.type  :gzip
                                              :acks              :all}
                                 :serializer (fn [_ data] (some-> data str .getBytes))})
                c (consume/make {:nodes        cluster
                                 :config       {:group.id "g", :auto.offset.reset :earliest, :max.poll.records 10
                                                :isolation.level :read_committed}
                                 :deserializer deserialize/string
                                 :listen       [["t" 0]]})]
      @(produce/commit p {:topic "t", :value 17})
      (is= ["17"] (map :value (consume/poll c 30000))))))

(deftest listeners-are-called
  (with-cluster [cluster {"t" 1}]
    (let [statistics (promise), errors (promise), lines (promise)]
      (with-open [p (produce/make {:nodes         cluster
                                   :config        {:statistics.interval.ms 20, :debug "broker"}
                                   :on-statistics (partial deliver statistics)
                                   :on-error      (partial deliver errors)
                                   :on-throttle   identity
                                   :on-log        (partial deliver lines)})]
        (is= "producer" (:type (deref statistics 30000 nil)))
        (is= #{:level :text} (set (keys (deref lines 30000 nil))))
        (cluster/broker-down cluster)
        (is (instance? org.kafkabi.KafkaException (deref errors 30000 nil)))
        (is (produce/producer? p))))))
