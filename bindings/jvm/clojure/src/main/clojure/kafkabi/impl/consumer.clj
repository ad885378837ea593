(ns ^:no-doc kafkabi.impl.consumer
  "The state of a consumer: what was polled and how much of it was handed out, and seeks that wait for an assignment. For
  kafkabi's own namespaces.

  The native client only counts records as handled that it is told of (kafkabi.handled=explicit). What `poll` handed out
  is said to be handled by the next poll and by commits, as in Apache's client. What was polled and not handed out, since a
  lazy sequence or a reduction was left, or a record could not be read, comes first at the next poll, unless its partition
  was sought or taken away meanwhile; a paused one is sought back to."
  (:require [kafkabi.impl.convert :as convert]
            [kafkabi.impl.options :as options]
            [kafkabi.impl.serde :as serde])
  (:import (java.io Closeable)
           (java.util ArrayList Collection HashMap LinkedHashMap List Map Set)
           (java.util.concurrent ConcurrentHashMap ConcurrentLinkedQueue)
           (java.util.concurrent.atomic AtomicReference)
           (org.kafkabi Admin RebalanceListener Record RecordBatch TopicPartition)
           (org.kafkabi.errors RecordDeserializationException)))

(set! *warn-on-reflection* true)

;; ---- a batch, and how far it was handed out ----

(defprotocol Progress
  "How far the records of a batch were handed out."
  (handed [this] "How many records were.")
  (hand-out! [this n] "Says that the first n were.")
  (done [this] "How many records of the native batch are done with.")
  (forget! [this tps] "Says that these TopicPartitions were sought or taken away: their records are not handed out any more.")
  (forgotten? [this record] "Whether a record is of such a partition.")
  (remains [this] "What was not handed out and not forgotten: a Handed of it, or nil.")
  (left [this] "The first offset of each TopicPartition that was not handed out, as a map."))

(deftype Handed [^RecordBatch batch
                 ^List records               ; those to hand out
                 ^ints ends                  ; of each how many of the batch are done with when it is; nil: itself and those before
                 ^long base                  ; how many of the batch are done with before them
                 ^:volatile-mutable ^long n  ; how many were handed out
                 ^Set sought]
  Progress
  (handed [_] n)
  (hand-out! [_ count] (set! n (long count)))
  (done [_]
    (cond (= n (.size records)) (.count batch)
          (zero? n)             base
          (nil? ends)           n
          :else                 (aget ends (dec n))))
  (forget! [_ tps] (.addAll sought ^Collection tps))
  (forgotten? [_ record]
    (and (not (.isEmpty sought))
         (.contains sought (.topicPartition ^Record record))))
  (remains [this]
    (let [rest-records (ArrayList.)
          rest-ends    (ArrayList.)]
      (loop [i (int n)]
        (when (< i (.size records))
          (let [record (.get records i)]
            (when-not (forgotten? this record)
              (.add rest-records record)
              (.add rest-ends (if (nil? ends) (inc i) (aget ends i)))))
          (recur (inc i))))
      (when-not (.isEmpty rest-records)
        (Handed. batch rest-records (int-array rest-ends) (long (done this)) 0 sought))))
  (left [this]
    (let [result (LinkedHashMap.)]
      (loop [i (int n)]
        (when (< i (.size records))
          (let [^Record record (.get records i)]
            (when-not (forgotten? this record)
              (.putIfAbsent result (.topicPartition record) (.offset record))))
          (recur (inc i))))
      result)))

(deftype Consumer [^org.kafkabi.Consumer java
                   deserializer-key
                   deserializer-value
                   poison                         ; :throw or :data
                   counts-by-itself?              ; whether polls and commits say what is handled
                   ^AtomicReference current       ; Handed, or nil
                   ^ConcurrentLinkedQueue unsaid  ; Handeds before it that the program has not said are handled
                   source                         ; atom of {:kind :topics, :pattern or :partitions, :pattern regex}, or nil
                   seeks                          ; atom of {TopicPartition or :all, offset or :beginning or :end}
                   admin]                         ; delay of an Admin on the consumer's connections
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
             (ConcurrentLinkedQueue.) (atom nil) (atom {}) (delay (Admin/of java))))

(defn- java ^org.kafkabi.Consumer [^Consumer c]
  (.-java c))

(defn current
  "What was polled last, or nil."
  ^Handed [^Consumer c]
  (.get ^AtomicReference (.-current c)))

(defn- set-current! [^Consumer c handed]
  (.set ^AtomicReference (.-current c) handed))

;; ---- what is handled ----

(defn mark-handed!
  "Says that what was handed out of a batch is handled."
  [c ^Handed handed]
  (.handled (java c) (.-batch handed) (int (done handed))))

(defn mark-always!
  "Says that all that was handed out is handled."
  [^Consumer c]
  (loop []
    (when-let [handed (.poll ^ConcurrentLinkedQueue (.-unsaid c))]
      (mark-handed! c handed)
      (recur)))
  (when-let [handed (current c)]
    (mark-handed! c handed)))

(defn mark!
  "The same, unless only the program says what is handled."
  [^Consumer c]
  (when (.-counts-by-itself? c)
    (mark-always! c)))

(defn drop-current!
  "What was handed out is handled, what was not is forgotten."
  [^Consumer c]
  (when-let [handed (current c)]
    (mark! c)
    (when-not (.-counts-by-itself? c)
      (.add ^ConcurrentLinkedQueue (.-unsaid c) handed))
    (set-current! c nil)))

(defn- seek-back! [c handed]
  (let [^Map back (left handed)]
    (.retainAll (.keySet back) (.assignment (java c)))
    (.seek (java c) back)))

(defn- take-rest!
  "What the last poll gave and nobody was handed, or nil. Throws what a poll would: a wake-up, an interrupt, a close."
  ^Handed [c]
  (when-let [handed (current c)]
    (let [remaining (remains handed)]
      (cond (nil? remaining)
            (drop-current! c)

            (some (fn [partition] (.containsKey ^Map (left remaining) partition)) (.paused (java c)))
            (do (mark! c) ; what was handed out, while the native client still counts it
                (seek-back! c remaining) ; may be cut short: then the next poll finds what is left over as it was
                (drop-current! c))

            :else
            (do (.lag (java c) [])
                (mark! c)
                (set-current! c remaining)
                remaining)))))

;; ---- seeks ----

(defn- seek-java! [^Consumer c ^Map seeks]
  (let [java      (java c)
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
  (when (and (seq partitions) (seq @(.-seeks c)))
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
  (let [java     (java c)
        assigned (.assignment java)
        waits?   (fn [partition] (and (contains? #{:topics :pattern} (:kind @(.-source c)))
                                      (not (.contains assigned partition))))
        now      (into {} (remove (comp waits? key)) seeks)]
    (when-let [handed (current c)]
      (forget! handed (.keySet seeks)))
    (swap! (.-seeks c) merge (into {} (filter (comp waits? key)) seeks))
    (when (seq now)
      (seek-java! c now))))

(defn seek-all!
  "Seeks in all partitions that are the consumer's; of a subscription without any, in those that it gets first."
  [^Consumer c offset]
  (let [assigned (.assignment (java c))]
    (if (.isEmpty assigned)
      (swap! (.-seeks c) assoc :all offset)
      (seek! c (into {} (map (fn [partition] [partition offset])) assigned)))))

(defn waiting-offset
  "The offset that a seek or a record that was not handed out gives a partition, not known to the native client yet;
  :beginning or :end, or nil if there is none."
  [^Consumer c ^TopicPartition partition]
  (or (get @(.-seeks c) partition)
      (when-let [handed (current c)]
        (.get ^Map (left handed) partition))))

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
        (tell false partitions)
        (when-let [handed (current c)]
          (forget! handed partitions))))))

;; ---- records ----

(defn- poison?
  "Whether what a deserializer throws tells of its record: a failed :pre, bytes nested too deep, or data that names a class
  that is not there do, though they are Errors; a machine out of memory does not."
  [throwable]
  (or (instance? Exception throwable)
      (instance? AssertionError throwable)
      (instance? LinkageError throwable)
      (instance? StackOverflowError throwable)))

(defn- read-part [^Consumer c f ^Record record part data]
  (try
    (if (serde/headers? f)
      (f (.topic record) (.headers record) data)
      (f (.topic record) data))
    (catch Throwable throwable
      (throw (if (poison? throwable)
               (serde/deserialization-error (.topic record) (.partition record) (.offset record) part throwable)
               throwable)))))

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
    (catch RecordDeserializationException exception
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

(defn record-maps
  "The records of a batch as maps, up to one that can't be read; that one throws if it is the first."
  [c ^Handed handed]
  (let [^List records (.-records handed)
        size          (.size records)]
    (loop [i 0, maps (transient [])]
      (if (< i size)
        (let [next (try
                     (record-map c (.get records i))
                     (catch RecordDeserializationException exception
                       (when (zero? i) (throw exception))))]
          (if next
            (recur (inc i) (conj! maps next))
            (persistent! maps)))
        (persistent! maps)))))

;; ---- polls ----

(defn take-batch!
  "What there is to hand out: the rest of the last poll, or else what a poll gives in time; nil if nothing came."
  ^Handed [c timeout-ms]
  (options/check :timeout-ms :kafkabi.impl.options/timeout-ms timeout-ms)
  (apply-seeks! c (.assignment (java c)))
  (or (take-rest! c)
      (let [end (when timeout-ms (+ (System/nanoTime) (* 1000000 (min (long timeout-ms) 1000000000000))))]
        (loop [timeout-ms timeout-ms]
          (let [batch (.poll (java c) (options/duration timeout-ms))
                left  (when end (quot (- (long end) (System/nanoTime)) 1000000))]
            (cond (not (.isEmpty batch))
                  (let [handed (Handed. batch (.records batch) nil 0 0 (ConcurrentHashMap/newKeySet))]
                    (set-current! c handed)
                    handed)
                  (and left (not (pos? (long left)))) nil
                  :else (recur left)))))))

(defn poll!
  "Polls: a vector of records as maps, all of them handed out, or nil."
  [c timeout-ms]
  (when-let [handed (take-batch! c timeout-ms)]
    (let [maps (record-maps c handed)]
      (hand-out! handed (count maps))
      maps)))

(defn poll-seq
  "A lazy sequence of records, each of which counts as handed out when it is reached."
  [c timeout-ms]
  (letfn [(after [handed maps i]
            (lazy-seq
              (if (and (< (long i) (count maps)) (identical? handed (current c))
                       (not (forgotten? handed (.get ^List (.-records ^Handed handed) i))))
                (do (hand-out! handed (inc (long i)))
                    (cons (nth maps i) (after handed maps (inc (long i)))))
                (when-let [handed (take-batch! c timeout-ms)]
                  (let [maps (record-maps c handed)]
                    (hand-out! handed 1)
                    (cons (nth maps 0) (after handed maps 1)))))))]
    (after nil [] 0)))

;; ---- reductions ----

(def ^:private mark-every 256)

(defn- mark-reduced!
  "Says what a reduction has handled. If it has closed the consumer there is nobody to be told."
  [c handed]
  (try
    (mark-handed! c handed)
    (catch IllegalStateException _ nil)))

(defn- reduce-batch
  "Reduces the records of a batch, each of which is handled when the function has returned."
  [c ^Handed handed f init]
  (let [^List records (.-records handed)
        size          (.size records)]
    (try
      (loop [i 0, result init]
        (cond (or (= i size) (not (identical? handed (current c))))
              result

              (forgotten? handed (.get records i))
              (recur (inc i) result)

              :else
              (let [result (f result (record-map c (.get records i)))]
                (hand-out! handed (inc i))
                (when (zero? (rem (inc i) (long mark-every)))
                  (mark-reduced! c handed))
                (if (reduced? result)
                  result
                  (recur (inc i) result)))))
      (finally
        (mark-reduced! c handed)))))

(defn reduce-records
  "Reduces record by record, until nothing comes in time."
  [c timeout-ms f init]
  (loop [result init]
    (if-let [handed (take-batch! c timeout-ms)]
      (let [result (reduce-batch c handed f result)]
        (if (reduced? result)
          @result
          (recur result)))
      result)))

(defn reduce-batches
  "Reduces batch by batch, each of which is handled when the function has returned, until nothing comes in time."
  [c timeout-ms f init]
  (loop [result init]
    (if-let [handed (take-batch! c timeout-ms)]
      (let [maps   (record-maps c handed)
            result (f result maps)]
        (hand-out! handed (count maps))
        (mark-reduced! c handed)
        (if (reduced? result)
          @result
          (recur result)))
      result)))
