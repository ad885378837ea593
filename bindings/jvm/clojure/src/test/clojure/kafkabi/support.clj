(ns kafkabi.support
  "What the tests share."
  (:require [clojure.test :as t]
            [kafkabi.cluster :as cluster]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.error :as error]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize])
  (:import (java.util UUID)))

(def long-ms
  "For what must come: longer than a machine stalls."
  30000)

(def group-config
  "Of members of groups: members that are gone are noticed soon, and stalls are borne."
  {:auto.offset.reset :earliest, :session.timeout.ms 15000, :heartbeat.interval.ms 500})

(defn fresh
  "A name that nothing else has."
  [prefix]
  (str prefix "-" (subs (str (UUID/randomUUID)) 0 8)))

(defn producer
  "A producer of EDN."
  ([nodes] (producer nodes nil))
  ([nodes config]
   (produce/make {:nodes nodes, :config config, :serializer serialize/edn})))

(defn consumer
  "A consumer of EDN, with a group of its own unless the configuration names one."
  ([nodes] (consumer nodes nil nil))
  ([nodes config] (consumer nodes config nil))
  ([nodes config opts]
   (consume/make (merge {:nodes        nodes
                         :config       (merge group-config {:group.id (fresh "group")} config)
                         :deserializer deserialize/edn}
                        opts))))

(defn send-all
  "Sends values to partition 0 of a topic and waits until they are delivered."
  [nodes topic values]
  (with-open [p (producer nodes)]
    (run! (comp deref (fn [value] (produce/commit p {:topic topic, :partition 0, :key value, :value value})))
          values)))

(defn receive
  "Polls until there are n records."
  [c n]
  (loop [got []]
    (if (< (count got) n)
      (if-let [more (consume/poll c long-ms)]
        (recur (into got more))
        (throw (ex-info (str "only " (count got) " of " n " records came") {:got got})))
      got)))

(defn thrown
  "What a function throws, or nil; what a future throws without its ExecutionException."
  [f]
  (try
    (f)
    nil
    (catch Throwable throwable
      (error/cause throwable))))

(defmacro throws
  "What the body throws."
  [& body]
  `(thrown (fn [] ~@body)))

(defn eventually
  "Whether the function gives something true in time."
  [f]
  (let [end (+ (System/nanoTime) (* 1000000 long-ms))]
    (loop []
      (or (f)
          (when (neg? (- (System/nanoTime) end))
            (Thread/sleep 20)
            (recur))))))

(defmacro with-cluster
  "Runs the body with an embedded cluster that has these topics."
  [[symbol topics] & body]
  `(with-open [~symbol (cluster/start {:topics ~topics})]
     ~@body))

(defmacro is=
  "clojure.test/is of =."
  [expected actual]
  `(t/is (= ~expected ~actual)))
