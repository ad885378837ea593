(ns kafkabi.serialize
  "Serializers: functions of [topic data] that give a byte array, or nil for null. The built-in ones encode as Kafka's
  own do (numbers big-endian, texts in UTF-8), and give nil for nil. `json`, `transit` and `nippy` need a library of the
  program's, which is loaded at the first use. What can't be encoded throws org.kafkabi.errors.SerializationException."
  (:refer-clojure :exclude [boolean byte-array double int long])
  (:require [kafkabi.impl.serde :as serde])
  (:import (clojure.lang IFn)
           (java.io ByteArrayOutputStream)
           (java.nio ByteBuffer)
           (java.nio.charset StandardCharsets)))

(set! *warn-on-reflection* true)

(deftype Serializer [f]
  IFn
  (invoke [_ topic data] (f topic data))
  (applyTo [_ arguments] (apply f arguments)))

(alter-meta! #'->Serializer assoc :private true)

(defn make
  "A serializer object of a function of [topic data], which gives a byte array, or nil for null. Functions can be used as
  they are; an object is only for programs that want to tell the two apart.

  => a function of [topic data]

  Ex. (make (fn [topic data] (.getBytes (pr-str data))))"
  [f]
  (Serializer. (serde/serializer :serializer f)))

(defn serialize
  "The bytes of some data, by a serializer: a function, an object of `make`, or one of Kafka's own.

  => byte array, or nil"
  ^bytes [serializer topic data]
  (serde/bytes-of (serde/serializer :serializer serializer) topic nil :value data))

(defn- refuse [data expected]
  (throw (serde/serialization-error (str "got " (pr-str data) ", expected " expected))))

(defn boolean
  "Serializes true as the byte 1, false as 0.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data)   nil
        (true? data)  (doto (clojure.core/byte-array 1) (aset 0 (byte 1)))
        (false? data) (clojure.core/byte-array 1)
        :else         (refuse data "true, false or nil")))

(defn int
  "Serializes a whole number as 4 bytes.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data) nil
        (and (clojure.core/int? data) (<= Integer/MIN_VALUE (clojure.core/long data) Integer/MAX_VALUE))
        (.array (.putInt (ByteBuffer/allocate 4) (clojure.core/int data)))
        :else (refuse data "a whole number of 32 bits, or nil")))

(defn long
  "Serializes a whole number as 8 bytes.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data)              nil
        (clojure.core/int? data) (.array (.putLong (ByteBuffer/allocate 8) (clojure.core/long data)))
        :else                    (refuse data "a whole number of 64 bits, or nil")))

(defn double
  "Serializes a number as 8 bytes, a double.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data)    nil
        (number? data) (.array (.putDouble (ByteBuffer/allocate 8) (clojure.core/double data)))
        :else          (refuse data "a number, or nil")))

(defn byte-array
  "Gives a byte array as it is.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (if (or (nil? data) (bytes? data))
    data
    (refuse data "a byte array or nil: give the producer a :serializer for other data")))

(defn byte-buffer
  "Serializes what remains in a java.nio.ByteBuffer, whose position stays.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data) nil
        (instance? ByteBuffer data)
        (let [buffer (.duplicate ^ByteBuffer data)
              bytes  (clojure.core/byte-array (.remaining buffer))]
          (.get buffer bytes)
          bytes)
        :else (refuse data "a java.nio.ByteBuffer, or nil")))

(defn string
  "Serializes a text in UTF-8.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (cond (nil? data)    nil
        (string? data) (.getBytes ^String data StandardCharsets/UTF_8)
        :else          (refuse data "a text, or nil")))

(defn edn
  "Serializes data as EDN, in UTF-8. *print-length*, *print-level* and the like do not cut it short.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (when (some? data)
    (binding [*print-length* nil, *print-level* nil, *print-meta* false, *print-readably* true
              *print-namespace-maps* false, *print-dup* false]
      (.getBytes (pr-str data) StandardCharsets/UTF_8))))

(def ^:private write-json (delay (serde/library 'clojure.data.json/write-str "org.clojure/data.json")))

(defn json
  "Serializes data as JSON, in UTF-8, by org.clojure/data.json, which the program has to have. Keywords become texts.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (when (some? data)
    (.getBytes ^String (@write-json data) StandardCharsets/UTF_8)))

(def ^:private transit-writer (delay (serde/library 'cognitect.transit/writer "com.cognitect/transit-clj")))
(def ^:private transit-write (delay (serde/library 'cognitect.transit/write "com.cognitect/transit-clj")))

(defn transit-with
  "A serializer of Transit, by com.cognitect/transit-clj, which the program has to have.

  @ type     :json, :json-verbose or :msgpack
  @ options  what cognitect.transit/writer takes, such as {:handlers ...}, or nil

  => a function of [topic data]"
  [type options]
  (let [writer @transit-writer
        write  @transit-write]
    (fn [_topic data]
      (when (some? data)
        (let [stream (ByteArrayOutputStream.)]
          (write (writer stream type (or options {})) data)
          (.toByteArray stream))))))

(def ^:private transit-json (delay (transit-with :json nil)))

(defn transit
  "Serializes data as Transit in JSON, by com.cognitect/transit-clj, which the program has to have.

  => byte array, or nil for nil"
  ^bytes [topic data]
  (@transit-json topic data))

(def ^:private freeze (delay (serde/library 'taoensso.nippy/freeze "com.taoensso/nippy")))

(defn nippy
  "Serializes data by com.taoensso/nippy, which the program has to have.

  => byte array, or nil for nil"
  ^bytes [_topic data]
  (when (some? data)
    (@freeze data)))
