(ns ^:no-doc kafkabi.impl.convert
  "Java's objects as Clojure's data, and back. For kafkabi's own namespaces."
  (:require [clojure.spec.alpha :as s]
            [kafkabi.impl.options :as options])
  (:import (java.nio.charset StandardCharsets)
           (java.util ArrayList Collection HashMap LinkedHashMap List Map)
           (java.util.concurrent CompletableFuture)
           (java.util.function Function)
           (org.kafkabi Header KafkaException Node OffsetAndMetadata Record RecordMetadata TimestampType TopicPartition)))

(set! *warn-on-reflection* true)

;; ---- topic-partitions ----

(defn topic-partition
  "[topic partition] as a TopicPartition, checked."
  (^TopicPartition [tp]
   (if (and (vector? tp) (= 2 (count tp)))
     (topic-partition (nth tp 0) (nth tp 1))
     (options/wrong! "a topic-partition" tp (options/expected ::options/topic-partition))))
  (^TopicPartition [topic partition]
   (when-not (and (string? topic) (not= "" topic))
     (options/wrong! :topic topic (options/expected ::options/topic)))
   (when-not (and (int? partition) (<= 0 (long partition) Integer/MAX_VALUE))
     (options/wrong! :partition partition (options/expected ::options/partition)))
   (TopicPartition. topic (int partition))))

(defn tp
  "A TopicPartition as [topic partition]."
  [^TopicPartition partition]
  [(.topic partition) (.partition partition)])

(defn topic-partitions
  "A list of [topic partition] as a list of TopicPartitions, checked."
  ^Collection [tps]
  (when-not (or (nil? tps) (sequential? tps) (set? tps))
    (options/wrong! "the topic-partitions" tps (options/expected ::options/topic-partitions)))
  (ArrayList. ^Collection (mapv topic-partition tps)))

(defn offsets
  "{[topic partition] offset} with the function of the offset applied, as a map by TopicPartition."
  ^Map [f m]
  (when-not (map? m)
    (options/wrong! "the offsets" m (options/expected ::options/offsets)))
  (let [result (LinkedHashMap.)]
    (doseq [[partition offset] m]
      (.put result (topic-partition partition) (f offset)))
    result))

(defn checked-offset
  "A whole number, as a long."
  [offset]
  (when-not (int? offset)
    (options/wrong! :offset offset "an offset: a whole number"))
  (long offset))

(defn offset-and-metadata
  "An offset to commit: a number, or {:offset :metadata :leader-epoch}."
  ^OffsetAndMetadata [x]
  (let [{:keys [offset metadata leader-epoch]} (if (map? x) x {:offset x})]
    (when (neg? (long (checked-offset offset)))
      (options/wrong! :offset offset "an offset to commit: a whole number, 0 or more"))
    (OffsetAndMetadata. (long offset) (int (or leader-epoch -1)) (or metadata ""))))

(defn by-tp
  "A Java map by TopicPartition as a Clojure map by [topic partition], with a function of each value applied."
  [f ^Map m]
  (persistent! (reduce (fn [result ^java.util.Map$Entry entry]
                         (assoc! result (tp (.getKey entry)) (f (.getValue entry))))
                       (transient {}) m)))

(defn committed-offset
  "The offset of a commit."
  [^OffsetAndMetadata committed]
  (.offset committed))

;; ---- metadata and nodes ----

(defn metadata
  "Where a record went, as a map."
  [^RecordMetadata m]
  {:topic     (.topic m)
   :partition (let [partition (.partition m)] (when-not (neg? partition) partition))
   :timestamp (let [timestamp (.timestamp m)] (when-not (neg? timestamp) timestamp))
   :offset    (let [offset (.offset m)] (when-not (neg? offset) offset))})

(defn node
  "A broker, from a Node or a document, as a map; nil for nil."
  [x]
  (cond (nil? x)           nil
        (instance? Node x) (let [^Node x x] {:host (.host x), :port (.port x), :rack (.rack x), :id (.id x)})
        :else              (select-keys x [:host :port :rack :id])))

;; ---- records ----

(defn- header-value ^bytes [value]
  (cond (nil? value)    nil
        (bytes? value)  value
        (string? value) (.getBytes ^String value StandardCharsets/UTF_8)
        :else (options/wrong! :headers value "header values that are byte arrays, texts or nil")))

(defn java-headers
  "[[name value] ...], or a map, as a list of Headers."
  ^List [headers]
  (when-not (or (sequential? headers) (map? headers))
    (options/wrong! :headers headers "a list of [name value], or a map"))
  (let [result (ArrayList.)]
    (doseq [header headers]
      (when-not (and (sequential? header) (= 2 (count header)))
        (options/wrong! :headers header "[name value] for each header"))
      (let [[k value] header]
        (when-not (or (string? k) (keyword? k))
          (options/wrong! :headers k "header names that are texts or keywords"))
        (.add result (Header. (if (keyword? k) (name k) k) (header-value value)))))
    result))

(defn headers
  "The headers of a record as [[name value] ...], values as byte arrays or nil."
  [^Record record]
  (let [^List headers (.headers record)]
    (if (.isEmpty headers)
      []
      (mapv (fn [^Header header] [(.name header) (.value header)]) headers))))

(defn timestamp-type
  "The type of a record's timestamp: :create-time, :log-append-time, or nil without one."
  [^Record record]
  (let [type (.timestampType record)]
    (cond (identical? type TimestampType/CREATE_TIME)     :create-time
          (identical? type TimestampType/LOG_APPEND_TIME) :log-append-time
          :else                                           nil)))

(defn record-to-send
  "A Record of the topic and the serialized key and value of a map, with its other fields checked; `headers`, if not nil, is
  a list of Headers that stands for the map's."
  ^Record [m ^String topic headers ^bytes k ^bytes v]
  (let [partition (:partition m)
        timestamp (:timestamp m)
        headers   (or headers (some-> (:headers m) java-headers))
        record    (Record/of topic k v)
        ^Record record (if (nil? partition)
                    record
                    (.withPartition record (.partition (topic-partition topic partition))))
        ^Record record (cond (nil? timestamp)           record
                        (and (int? timestamp)
                             (nat-int? timestamp)) (.withTimestamp record (long timestamp))
                        :else (options/wrong! :timestamp timestamp "milliseconds since 1970, 0 or more, or nil"))]
    (if (nil? headers)
      record
      (.withHeaders record ^List headers))))

;; ---- futures ----

(defn then
  "A future of the function applied to what a future gives."
  ^CompletableFuture [^CompletableFuture future f]
  (.thenApply future (reify Function (apply [_ x] (f x)))))

(defn then-future
  "A future of what the function gives, which is a future too."
  ^CompletableFuture [^CompletableFuture future f]
  (.thenCompose future (reify Function (apply [_ x] (f x)))))
