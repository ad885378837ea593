(ns ^:no-doc kafkabi.impl.consumer
  "The state of a consumer: what was handed out and not said to be handled yet, and seeks that wait for an assignment.
  For kafkabi's own namespaces.

  The native client only counts records as handled that it is told of (kafkabi.handled=explicit). What `poll` handed out
  is said to be handled by the next poll and by commits, as in Apache's client. What was polled and not handed out, since
  a lazy sequence was left or a record could not be read, is sought back to before the next poll."
  (:require [kafkabi.impl.convert :as convert]
            [kafkabi.impl.options :as options]
            [kafkabi.impl.serde :as serde])
  (:import (java.io Closeable)
           (java.util ArrayList Collection HashMap HashSet LinkedHashMap List Map Set)
           (java.util.concurrent.atomic AtomicReference)
           (org.kafkabi Admin RebalanceListener Record RecordBatch TopicPartition)))

(set! *warn-on-reflection* true)

(defprotocol Progress
  "How far the records of a batch were handed out."
  (handed [this] "How many.")
  (hand-out! [this n] "Says that the first n are.")
  (forget! [this tps] "Says that these TopicPartitions are not to be sought back: the program has sought itself.")
  (left [this] "The first offset of each TopicPartition that was not handed out, as a map."))

(deftype Handed [^RecordBatch batch ^:volatile-mutable ^long n ^Set sought]
  Progress
  (handed [_] n)
  (hand-out! [_ count] (set! n (long count)))
  (forget! [_ tps] (locking sought (.addAll sought ^Collection tps)))
  (left [_]
    (let [^List records (.records batch)
          result        (LinkedHashMap.)]
      (loop [i (int n)]
        (when (< i (.size records))
          (let [^Record record (.get records i)]
            (.putIfAbsent result (.topicPartition record) (.offset record)))
          (recur (inc i))))
      (locking sought
        (run! (fn [partition] (.remove result partition)) sought))
      result)))

(deftype Consumer [^org.kafkabi.Consumer java
                   deserializer-key
                   deserializer-value
                   poison                  ; :throw or :data
                   counts-by-itself?       ; whether polls and commits say what is handled
                   ^AtomicReference current ; Handed, or nil
                   source                  ; atom of {:kind :topics, :pattern, :partitions or nil, :pattern regex}
                   seeks                   ; atom of {TopicPartition or :all, offset or :beginning or :end}
                   admin]                  ; delay of an Admin on the consumer's connections
  Closeable
  (close [_]
    (when (realized? admin)
      (.close ^Admin @admin))
    (.close java)))

(doseq [factory [#'->Handed #'->Consumer]]
  (alter-meta! factory assoc :private true))

(defn make
  "A Consumer around a Java consumer."
  ^Consumer [^org.kafkabi.Consumer java deserializer-key deserializer-value poison counts-by-itself?]
  (Consumer. java deserializer-key deserializer-value poison counts-by-itself? (AtomicReference.)
             (atom nil) (atom {}) (delay (Admin/of java))))

;; ---- what is handled ----

(defn mark-always!
  "Says that what was handed out is handled."
  [^Consumer c]
  (when-let [^Handed current (.get ^AtomicReference (.-current c))]
    (.handled ^org.kafkabi.Consumer (.-java c) (.-batch current) (int (handed current)))))

(defn mark!
  "The same, unless only the program says what is handled."
  [^Consumer c]
  (when (.-counts-by-itself? c)
    (mark-always! c)))

(defn- seek-back! [^Consumer c ^Handed current]
  (when (< (long (handed current)) (.count ^RecordBatch (.-batch current)))
    (let [^Map back (left current)]
      (.retainAll (.keySet back) (.assignment ^org.kafkabi.Consumer (.-java c)))
      (.seek ^org.kafkabi.Consumer (.-java c) back))))

(defn settle!
  "Before a poll: what was handed out is handled, and what was not is read again."
  [^Consumer c]
  (when-let [current (.get ^AtomicReference (.-current c))]
    (mark! c)
    (.set ^AtomicReference (.-current c) nil)
    (seek-back! c current)))

(defn settle-after!
  "The same when something was thrown, which stays the failure that matters."
  [c ^Throwable thrown]
  (try
    (settle! c)
    (catch Exception exception
      (.addSuppressed thrown exception))))

(defn drop-current!
  "Before the partitions change: what was handed out is handled, the rest is forgotten."
  [^Consumer c]
  (mark! c)
  (.set ^AtomicReference (.-current c) nil))

;; ---- seeks ----

(defn- seek-java! [^Consumer c ^Map seeks]
  (let [java      ^org.kafkabi.Consumer (.-java c)
        offsets   (HashMap.)
        beginning (ArrayList.)
        end       (ArrayList.)]
    (doseq [[partition offset] seeks]
      (case offset
        :beginning (.add beginning partition)
        :end       (.add end partition)
        (.put offsets partition offset)))
    (when-not (.isEmpty offsets) (.seek java offsets))
    (when-not (.isEmpty beginning) (.seekToBeginning java beginning))
    (when-not (.isEmpty end) (.seekToEnd java end))))

(defn apply-seeks!
  "Makes the seeks that waited for these TopicPartitions."
  [^Consumer c ^Collection partitions]
  (when (seq @(.-seeks c))
    (let [[waiting _] (swap-vals! (.-seeks c) (fn [seeks] (apply dissoc seeks :all partitions)))
          everywhere  (:all waiting)
          found       (into {} (keep (fn [partition]
                                       (when-let [offset (get waiting partition everywhere)] [partition offset])))
                            partitions)]
      (when (seq found)
        (seek-java! c found)))))

(defn seek!
  "Makes the seeks of {TopicPartition offset}, :beginning or :end among the offsets; those of a subscription's partitions
  that are not the consumer's yet wait until they are."
  [^Consumer c ^Map seeks]
  (let [java     ^org.kafkabi.Consumer (.-java c)
        assigned (.assignment java)
        waits?   (fn [partition] (and (contains? #{:topics :pattern} (:kind @(.-source c)))
                                      (not (.contains assigned partition))))
        now      (into {} (remove (comp waits? key)) seeks)]
    (when-let [current (.get ^AtomicReference (.-current c))]
      (forget! current (.keySet seeks)))
    (swap! (.-seeks c) merge (into {} (filter (comp waits? key)) seeks))
    (when (seq now)
      (seek-java! c now))))

(defn seek-all!
  "Seeks in all partitions that are the consumer's; of a subscription without any, in those that it gets first."
  [^Consumer c offset]
  (let [assigned (.assignment ^org.kafkabi.Consumer (.-java c))]
    (if (.isEmpty assigned)
      (swap! (.-seeks c) assoc :all offset)
      (seek! c (into {} (map (fn [partition] [partition offset])) assigned)))))

(defn waiting-offset
  "The offset that a seek or a record that was not handed out gives a partition, not known to the native client yet;
  :beginning or :end, or nil if there is none."
  [^Consumer c ^TopicPartition partition]
  (let [current (.get ^AtomicReference (.-current c))]
    (or (get @(.-seeks c) partition)
        (when current (.get ^Map (left current) partition)))))

(defn listener
  "The rebalance listener of a subscription: makes seeks that waited, then calls the program's function."
  ^RebalanceListener [^Consumer c f-rebalance]
  (let [tell (fn [assigned? partitions]
               (when f-rebalance
                 (f-rebalance assigned? (mapv convert/tp partitions))))]
    (reify RebalanceListener
      (onPartitionsAssigned [_ partitions]
        (apply-seeks! c partitions)
        (tell true partitions))
      (onPartitionsRevoked [_ partitions]
        (tell false partitions)))))

;; ---- records ----

(defn- read-part [^Consumer c f ^Record record part data]
  (try
    (f (.topic record) data)
    (catch Exception exception
      (throw (serde/deserialization-error (.topic record) (.partition record) (.offset record) part exception)))
    (catch StackOverflowError exception
      (throw (serde/deserialization-error (.topic record) (.partition record) (.offset record) part exception)))))

(defn- as-map [^Record record k v]
  {:topic          (.topic record)
   :partition      (.partition record)
   :offset         (.offset record)
   :timestamp      (let [timestamp (.timestamp record)] (when-not (neg? timestamp) timestamp))
   :timestamp-type (convert/timestamp-type record)
   :headers        (convert/headers record)
   :key            k
   :value          v})

(defn- read-or-error [c f record part data]
  (try
    [(read-part c f record part data) nil]
    (catch org.kafkabi.errors.RecordDeserializationException exception
      [nil {part {:exception exception, :bytes data}}])))

(defn record-map
  "A received record as a map, with key and value deserialized. With :poison :data what can't be read is in :errors."
  [^Consumer c ^Record record]
  (if (identical? :throw (.-poison c))
    (as-map record
            (read-part c (.-deserializer-key c) record :key (.key record))
            (read-part c (.-deserializer-value c) record :value (.value record)))
    (let [[k key-error]   (read-or-error c (.-deserializer-key c) record :key (.key record))
          [v value-error] (read-or-error c (.-deserializer-value c) record :value (.value record))]
      (cond-> (as-map record k v)
        (or key-error value-error) (assoc :errors (merge key-error value-error))))))

(defn- record-maps
  "The records of a batch as maps, up to one that can't be read; that one throws if it is the first."
  [c ^RecordBatch batch]
  (let [^List records (.records batch)
        size          (.size records)]
    (loop [i 0, maps (transient [])]
      (if (< i size)
        (let [next (try
                     (record-map c (.get records i))
                     (catch org.kafkabi.errors.RecordDeserializationException exception
                       (when (zero? i) (throw exception))))]
          (if next
            (recur (inc i) (conj! maps next))
            (persistent! maps)))
        (persistent! maps)))))

(defn take-batch!
  "Polls until there are records or the time is up: a vector of records of which none counts as handed out yet, or nil."
  [^Consumer c timeout-ms]
  (options/check :timeout-ms :kafkabi.impl.options/timeout-ms timeout-ms)
  (settle! c)
  (let [java ^org.kafkabi.Consumer (.-java c)
        end  (when timeout-ms (+ (System/nanoTime) (* 1000000 (min (long timeout-ms) 1000000000000))))]
    (apply-seeks! c (.assignment java))
    (loop [timeout-ms timeout-ms]
      (let [batch (.poll java (options/duration timeout-ms))
            left  (when end (quot (- (long end) (System/nanoTime)) 1000000))]
        (cond (not (.isEmpty batch))
              (let [handed (Handed. batch 0 (HashSet.))]
                (.set ^AtomicReference (.-current c) handed)
                (try
                  (record-maps c batch)
                  (catch Throwable thrown
                    (settle-after! c thrown)
                    (throw thrown))))
              (and left (not (pos? (long left)))) nil
              :else (recur left))))))

(defn current
  "The batch that was polled last, or nil."
  ^Handed [^Consumer c]
  (.get ^AtomicReference (.-current c)))

(defn poll!
  "As take-batch!, with all records handed out."
  [c timeout-ms]
  (when-let [records (take-batch! c timeout-ms)]
    (hand-out! (current c) (count records))
    records))

(defn poll-seq
  "A lazy sequence of records, each of which counts as handed out when it is reached."
  [^Consumer c timeout-ms]
  (letfn [(after [handed records i]
            (lazy-seq
              (if (and (< (long i) (count records)) (identical? handed (current c)))
                (do (hand-out! handed (inc (long i)))
                    (cons (nth records i) (after handed records (inc (long i)))))
                (when-let [records (take-batch! c timeout-ms)]
                  (let [handed (current c)]
                    (hand-out! handed 1)
                    (cons (nth records 0) (after handed records 1)))))))]
    (after nil [] 0)))
