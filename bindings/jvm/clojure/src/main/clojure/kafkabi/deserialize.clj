(ns kafkabi.deserialize
  "Deserializers: functions of [topic data] that are given a byte array, or nil for null. The built-in ones read what
  Kafka's own write, and give nil for nil. `json`, `transit` and `nippy` need a library of the program's, which is loaded
  at the first use. What can't be read throws; kafkabi.consume/make says what becomes of that."
  (:refer-clojure :exclude [boolean byte-array double int long])
  (:require [clojure.edn :as clojure-edn]
            [kafkabi.impl.serde :as serde])
  (:import (clojure.lang IFn)
           (java.io ByteArrayInputStream)
           (java.nio ByteBuffer)
           (java.nio.charset StandardCharsets)
           (org.kafkabi.errors SerializationException)))

(set! *warn-on-reflection* true)

(deftype Deserializer [f]
  IFn
  (invoke [_ topic data] (f topic data))
  (applyTo [_ arguments] (apply f arguments)))

(alter-meta! #'->Deserializer assoc :private true)

(defn make
  "A deserializer object of a function of [topic data], which is given a byte array or nil. Functions can be used as they
  are; an object is only for programs that want to tell the two apart.

  => a function of [topic data]

  Ex. (make (fn [topic data] (some-> data String. clojure.edn/read-string)))"
  [f]
  (Deserializer. (serde/deserializer :deserializer f)))

(defn deserialize
  "What some bytes stand for, by a deserializer: a function, an object of `make`, or one of Kafka's own.

  => data; what the deserializer throws comes through"
  [deserializer topic data]
  ((serde/deserializer :deserializer deserializer) topic data))

(defn- refuse [what ^bytes data]
  (throw (SerializationException. (str (alength data) " bytes are not " what))))

(defn boolean
  "Reads a byte: 1 as true, 0 as false.

  => boolean, or nil for nil"
  [_topic ^bytes data]
  (cond (nil? data) nil
        (and (= 1 (alength data)) (<= 0 (aget data 0) 1)) (== 1 (aget data 0))
        :else (refuse "a boolean: expected one byte, 0 or 1" data)))

(defn int
  "Reads 4 bytes as a whole number.

  => int, or nil for nil"
  [_topic ^bytes data]
  (cond (nil? data)         nil
        (= 4 (alength data)) (.getInt (ByteBuffer/wrap data))
        :else               (refuse "an int: expected 4" data)))

(defn long
  "Reads 8 bytes as a whole number.

  => long, or nil for nil"
  [_topic ^bytes data]
  (cond (nil? data)         nil
        (= 8 (alength data)) (.getLong (ByteBuffer/wrap data))
        :else               (refuse "a long: expected 8" data)))

(defn double
  "Reads 8 bytes as a double.

  => double, or nil for nil"
  [_topic ^bytes data]
  (cond (nil? data)         nil
        (= 8 (alength data)) (.getDouble (ByteBuffer/wrap data))
        :else               (refuse "a double: expected 8" data)))

(defn byte-array
  "Gives the bytes as they are.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  data)

(defn byte-buffer
  "Wraps the bytes.

  => java.nio.ByteBuffer, or nil for nil"
  ^ByteBuffer [_topic ^bytes data]
  (when (some? data)
    (ByteBuffer/wrap data)))

(defn byte-buffers
  "The same as `byte-buffer`, by milena's name.

  => java.nio.ByteBuffer, or nil for nil"
  ^ByteBuffer [topic data]
  (byte-buffer topic data))

(defn string
  "Reads UTF-8.

  => text, or nil for nil"
  ^String [_topic ^bytes data]
  (when (some? data)
    (String. data StandardCharsets/UTF_8)))

(defn edn-with
  "A deserializer of EDN with the options of clojure.edn/read-string, such as {:readers ... :default ...}.

  => a function of [topic data]"
  [options]
  (fn [topic data]
    (some->> (string topic data) (clojure-edn/read-string options))))

(defn edn
  "Reads one form of EDN, without evaluating anything.

  => data, or nil for nil"
  [topic data]
  (some->> (string topic data) clojure-edn/read-string))

(def ^:private read-json (delay (serde/library 'clojure.data.json/read-str "org.clojure/data.json")))

(defn json
  "Reads JSON, by org.clojure/data.json, which the program has to have. The names in objects become keywords.

  => data, or nil for nil"
  [topic data]
  (when-some [text (string topic data)]
    (@read-json text :key-fn keyword)))

(def ^:private transit-reader (delay (serde/library 'cognitect.transit/reader "com.cognitect/transit-clj")))
(def ^:private transit-read (delay (serde/library 'cognitect.transit/read "com.cognitect/transit-clj")))

(defn transit-with
  "A deserializer of Transit, by com.cognitect/transit-clj, which the program has to have.

  @ type     :json, :json-verbose or :msgpack
  @ options  what cognitect.transit/reader takes, such as {:handlers ...}, or nil

  => a function of [topic data]"
  [type options]
  (let [reader @transit-reader
        read   @transit-read]
    (fn [_topic ^bytes data]
      (when (some? data)
        (read (reader (ByteArrayInputStream. data) type (or options {})))))))

(def ^:private transit-json (delay (transit-with :json nil)))

(defn transit
  "Reads Transit in JSON, by com.cognitect/transit-clj, which the program has to have.

  => data, or nil for nil"
  [topic data]
  (@transit-json topic data))

(def ^:private thaw (delay (serde/library 'taoensso.nippy/thaw "com.taoensso/nippy")))

(defn nippy
  "Reads what com.taoensso/nippy wrote, which the program has to have.

  => data, or nil for nil"
  [_topic data]
  (when (some? data)
    (@thaw data)))
