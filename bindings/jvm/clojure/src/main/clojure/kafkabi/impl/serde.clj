(ns ^:no-doc kafkabi.impl.serde
  "Finds the function in what a program gives for a serializer or deserializer, and calls it. For kafkabi's own
  namespaces."
  (:require [kafkabi.impl.options :as options])
  (:import (org.kafkabi TopicPartition)
           (org.kafkabi.errors RecordDeserializationException SerializationException)
           (org.kafkabi.lowlevel Constants)))

(set! *warn-on-reflection* true)

(defn library
  "A var of an optional library, or an ex-info that says what to add to the program."
  [symbol coordinates]
  (try
    (requiring-resolve symbol)
    (catch java.io.FileNotFoundException exception
      (throw (ex-info (str "the format needs " coordinates ": add it to the dependencies of the program")
                      {:kafkabi/error :missing-library, :library coordinates} exception)))))

(defn- kafka-interface? [x ^String simple-name]
  (boolean (some (fn [^Class c] (= (.getName c) (str "org.apache.kafka.common.serialization." simple-name)))
                 (supers (class x)))))

(defn serializer
  "The function of [topic data] that a serializer is: a function, an object of kafkabi.serialize/make, or Kafka's own."
  [option x]
  (cond (kafka-interface? x "Serializer") ((requiring-resolve 'kafkabi.kafka-serde/serializer) x)
        (ifn? x)                          x
        :else (options/wrong! option x "a serializer: a function of [topic data], or an object of kafkabi.serialize")))

(defn deserializer
  "The function of [topic data] that a deserializer is: a function, an object of kafkabi.deserialize/make, or Kafka's own."
  [option x]
  (cond (kafka-interface? x "Deserializer") ((requiring-resolve 'kafkabi.kafka-serde/deserializer) x)
        (ifn? x)                            x
        :else (options/wrong! option x "a deserializer: a function of [topic data], or an object of kafkabi.deserialize")))

(defn serialization-error
  "The exception for data that a serializer can't turn into bytes."
  ([message] (serialization-error message Constants/KABI_STATUS_VALUE_SERIALIZATION nil))
  ([^String message code ^Throwable exception]
   (SerializationException. message (int code) (int 0) exception)))

(defn headers?
  "Whether a function of kafkabi.kafka-serde sees headers: it then takes [topic headers data] too, headers being a list of
  org.kafkabi.Header, which a serializer may change."
  [f]
  (boolean (:kafkabi/headers? (meta f))))

(defn bytes-of
  "The bytes of a record's :key or :value, or nil. What goes wrong comes as SerializationException. `headers` are nil unless
  one of a producer's serializers sees them."
  ^bytes [serializer topic headers part data]
  (let [result (try
                 (if (and (some? headers) (headers? serializer))
                   (serializer topic headers data)
                   (serializer topic data))
                 (catch Exception exception
                   (throw (serialization-error
                            (str "the " (name part) " of a record for topic " topic " can't be serialized: "
                                 (if (instance? SerializationException exception)
                                   (ex-message exception)
                                   (str (.getName (class exception)) ": " (ex-message exception))))
                            (if (identical? part :key)
                              Constants/KABI_STATUS_KEY_SERIALIZATION
                              Constants/KABI_STATUS_VALUE_SERIALIZATION)
                            exception))))]
    (if (or (nil? result) (bytes? result))
      result
      (throw (serialization-error
               (str "the serializer of the " (name part) " of a record for topic " topic " gave a "
                    (.getName (class result)) ": expected a byte array or nil; see kafkabi.serialize"))))))

(defn deserialization-error
  "The exception for a record whose key or value can't be read."
  [topic partition offset part ^Throwable exception]
  (RecordDeserializationException.
    (str "the " (name part) " of the record at offset " offset " of " topic "-" partition " can't be read: "
         (or (ex-message exception) (class exception))
         "; seek past it, or make the consumer with {:poison :data}")
    (TopicPartition. topic (int partition))
    (long offset)
    (int (if (identical? part :key)
           Constants/KABI_STATUS_KEY_DESERIALIZATION
           Constants/KABI_STATUS_VALUE_DESERIALIZATION))
    exception))
