(ns ^:no-doc kafkabi.impl.metrics
  "The figures of a client as one flat map. For kafkabi's own namespaces."
  (:require [clojure.string :as str]
            [kafkabi.impl.options :as options])
  (:import (org.kafkabi Json)))

(set! *warn-on-reflection* true)

(def ^:private descriptions
  "What the figures mean that programs look at first; the names of the others are librdkafka's (STATISTICS.md)."
  {"channel-depth"  "chunks of reports and other events that wait to be handed over"
   "drained"        "events that were handed over so far"
   "errors"         "errors that belong to no call"
   "slots"          "how many events may wait in all"
   "slots-free"     "how many more events may wait"
   "accepted"       "records that were taken to be sent"
   "delivered"      "records that were delivered"
   "failed"         "records that were not delivered"
   "handles-alive"  "native objects of the whole process"
   "batches-alive"  "native batches of the consumer that are not freed"
   "msg-cnt"        "records that wait in the producer"
   "msg-size"       "bytes of records that wait in the producer"
   "txmsgs"         "records that were sent to brokers"
   "txmsg-bytes"    "bytes of the records that were sent to brokers"
   "rxmsgs"         "records that were received from brokers"
   "rxmsg-bytes"    "bytes of the records that were received from brokers"
   "tx"             "requests that were sent to brokers"
   "tx-bytes"       "bytes that were sent to brokers"
   "rx"             "answers that were received from brokers"
   "rx-bytes"       "bytes that were received from brokers"
   "consumer-lag"   "how many records the partition has beyond what was handed out or committed"
   "rebalance-cnt"  "how often the group's partitions were shared out anew"
   "rtt-avg"        "how long brokers took to answer, on average, in microseconds"})

(declare figures)

(defn- nested
  "The figures of an object of objects, each of which is an entity such as a broker or a topic."
  [kind tags entities]
  (mapcat (fn [[id figures-of]]
            (figures (str kind "." (name id)) (assoc tags (keyword kind) (name id)) figures-of))
          entities))

(defn- figures [group tags document]
  (mapcat (fn [[k value]]
            (cond (= k :brokers)    (nested "broker" tags value)
                  (= k :topics)     (nested "topic" tags value)
                  (= k :partitions) (nested (str "topic." (:topic tags) ".partition") tags value)
                  (map? value)      (figures group tags
                                             (into {} (map (fn [[inner x]]
                                                             [(keyword (str (name k) "-" (name inner))) x]))
                                                   value))
                  (vector? value)   nil
                  :else             [[(keyword group (name k))
                                      {:description (get descriptions (name k)
                                                         (get descriptions (str/replace (name k) #"-(avg|sum|cnt)$" "")
                                                              (str "librdkafka's figure " (name k))))
                                       :tags        tags
                                       :value       value}]]))
          document))

(defn metrics
  "A client's JSON document of figures as {:group/name {:description :tags :value}}."
  [^String json]
  (let [{:keys [kafkabi librdkafka]} (options/document (Json/parse json))
        tags {:client (:client kafkabi)}]
    (into {}
          (concat (figures "kafkabi" tags (merge (dissoc kafkabi :events :records)
                                                 (:events kafkabi) (:records kafkabi)))
                  (figures "librdkafka" tags librdkafka)))))
