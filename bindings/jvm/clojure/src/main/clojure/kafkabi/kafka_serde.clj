(ns kafkabi.kafka-serde
  "Serializers and deserializers of Apache's kafka-clients, as kafkabi's. Needs org.apache.kafka/kafka-clients in the
  program, of which nothing else is used. Producers and consumers take such objects as they are and load this namespace
  for it; its functions are for programs that configure them."
  (:require [kafkabi.impl.options :as options])
  (:import (org.apache.kafka.common.serialization Deserializer Serde Serializer)))

(set! *warn-on-reflection* true)

(defn- configure [settings]
  (into {} (map (fn [[k v]] [(options/property-name k) (if (keyword? v) (name v) v)])) settings))

(defn serializer
  "A function of [topic data] of one of Kafka's serializers, or of the serializer of a Serde.

  @ settings  configures the serializer first: a map of names, as keywords or texts; nil leaves it as it is
  @ key?      whether it is for keys

  => a function of [topic data] that gives a byte array or nil"
  ([x] (serializer x nil false))
  ([x settings key?]
   (let [^Serializer serializer (if (instance? Serde x) (.serializer ^Serde x) x)]
     (when settings
       (.configure serializer (configure settings) (boolean key?)))
     (fn [^String topic data]
       (.serialize serializer topic data)))))

(defn deserializer
  "A function of [topic data] of one of Kafka's deserializers, or of the deserializer of a Serde.

  @ settings  configures the deserializer first: a map of names, as keywords or texts; nil leaves it as it is
  @ key?      whether it is for keys

  => a function of [topic data] that gives data"
  ([x] (deserializer x nil false))
  ([x settings key?]
   (let [^Deserializer deserializer (if (instance? Serde x) (.deserializer ^Serde x) x)]
     (when settings
       (.configure deserializer (configure settings) (boolean key?)))
     (fn [^String topic ^bytes data]
       (.deserialize deserializer topic data)))))
