(ns kafkabi.kafka-serde
  "Serializers and deserializers of Apache's kafka-clients, as kafkabi's. Needs org.apache.kafka/kafka-clients in the
  program, of which nothing else is used. Producers and consumers take such objects as they are and load this namespace
  for it; its functions are for programs that configure them. What such an object does with the headers of a record is done."
  (:require [kafkabi.impl.options :as options])
  (:import (java.util List)
           (org.apache.kafka.common.header.internals RecordHeader RecordHeaders)
           (org.apache.kafka.common.serialization Deserializer Serde Serializer)))

(set! *warn-on-reflection* true)

(defn- configure [settings]
  (into {} (map (fn [[k v]] [(options/property-name k) (if (keyword? v) (name v) v)])) settings))

(defn- kafka-headers ^RecordHeaders [headers]
  (let [result (RecordHeaders.)]
    (doseq [^org.kafkabi.Header header headers]
      (.add result (RecordHeader. (.name header) (.value header))))
    result))

(defn- take-over!
  "Puts what Kafka's headers are now in the place of a list's."
  [^List headers ^RecordHeaders changed]
  (.clear headers)
  (doseq [^RecordHeader header changed]
    (.add headers (org.kafkabi.Header. (.key header) (.value header)))))

(defn serializer
  "A function of [topic data] of one of Kafka's serializers, or of the serializer of a Serde. Headers that it adds go with the
  record.

  @ settings  configures the serializer first: a map of names, as keywords or texts; nil leaves it as it is
  @ key?      whether it is for keys

  => a function of [topic data] that gives a byte array or nil"
  ([x] (serializer x nil false))
  ([x settings key?]
   (let [^Serializer serializer (if (instance? Serde x) (.serializer ^Serde x) x)]
     (when settings
       (.configure serializer (configure settings) (boolean key?)))
     (with-meta
       (fn ([^String topic data]
            (.serialize serializer topic data))
           ([^String topic headers data]
            (let [kafkas (kafka-headers headers)
                  bytes  (.serialize serializer topic kafkas data)]
              (take-over! headers kafkas)
              bytes)))
       {:kafkabi/headers? true}))))

(defn deserializer
  "A function of [topic data] of one of Kafka's deserializers, or of the deserializer of a Serde. It sees the headers of the
  record.

  @ settings  configures the deserializer first: a map of names, as keywords or texts; nil leaves it as it is
  @ key?      whether it is for keys

  => a function of [topic data] that gives data"
  ([x] (deserializer x nil false))
  ([x settings key?]
   (let [^Deserializer deserializer (if (instance? Serde x) (.deserializer ^Serde x) x)]
     (when settings
       (.configure deserializer (configure settings) (boolean key?)))
     (with-meta
       (fn ([^String topic ^bytes data]
            (.deserialize deserializer topic data))
           ([^String topic headers ^bytes data]
            (.deserialize deserializer topic (kafka-headers headers) data)))
       {:kafkabi/headers? true}))))
