(ns kafkabi.consume
  "Everything about consumers.

  One thread at a time polls; every other function may be called from any thread, also during a poll. Consumers are
  java.io.Closeable: use `with-open`.

  Most functions about partitions have two forms: with a list of [topic partition] (or a map by them) they give a map by
  [topic partition]; with a topic and a partition they give the one thing. Those that change something give the consumer.

  What is committed is what was handled. What a poll handed out counts as handled when the next poll begins or a commit
  without offsets is made; what a reduction over `records` or `batches` handed out, when the reducing function has
  returned from it. With enable.auto.commit (the default) it is committed in the background and by `close`. `close` says
  nothing of the last poll, since what closes may be a failure: call `commit-sync` or `handled` before.

  A received record is
  {:topic :partition :offset
   :timestamp       milliseconds since 1970, or nil
   :timestamp-type  :create-time, :log-append-time or nil
   :headers         [[name value] ...], values as byte arrays or nil
   :key :value      as deserialized
   :errors          only of a consumer with {:poison :data}: {:key or :value {:exception :bytes}}}"
  (:require [clojure.string :as str]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.impl.admin :as admin]
            [kafkabi.impl.consumer :as impl]
            [kafkabi.impl.convert :as convert]
            [kafkabi.impl.metrics :as metrics]
            [kafkabi.impl.options :as options]
            [kafkabi.impl.serde :as serde])
  (:import (clojure.lang IReduceInit)
           (java.io Closeable)
           (java.util Collection Map)
           (java.util.concurrent ScheduledExecutorService ScheduledThreadPoolExecutor ThreadFactory TimeUnit)
           (java.util.regex Pattern)
           (kafkabi.impl.consumer Consumer)
           (org.kafkabi Admin CommitCallback KafkaException TopicPartition)
           (org.kafkabi.errors InterruptException)))

(set! *warn-on-reflection* true)

(defn- java ^org.kafkabi.Consumer [^Consumer c]
  (.-java c))

;; ---- making and closing ----

(declare listen)

(def ^:private options
  (assoc options/client-options
         :deserializer ::options/any, :deserializer-key ::options/any, :deserializer-value ::options/any
         :listen ::options/any, :poison ::options/poison))

(defn make
  "Makes a consumer. It connects in the background.

  @ opts  nil, or {:nodes              [[\"host\" port] ...], or an embedded cluster; default [[\"localhost\" 9092]]
                   :config             {property value}, as kafkabi.produce/make; :group.id makes it a member of a group
                   :deserializer       function of [topic data], data a byte array or nil;
                                       default kafkabi.deserialize/byte-array
                   :deserializer-key   for keys; default :deserializer
                   :deserializer-value for values; default :deserializer
                   :listen             what to read, as `listen` takes it; or {:source ..., :on-rebalance function}
                   :poison             what becomes of a key or value that can't be deserialized:
                                       :throw (default): the records before it are handed out, then polls throw
                                       RecordDeserializationException, which has its .topicPartition and .offset, until the
                                       program seeks past it;
                                       :data: the record has nil in its place and :errors {:value {:exception :bytes}}
                   :on-error :on-log :on-statistics :on-throttle :tokens  as kafkabi.produce/make}

  With {:config {:kafkabi.handled :explicit}} polls and commits don't count what was handed out: only `handled`,
  `records` and `batches` do.

  => consumer

  Throws an ex-info with :option, :given, :expected and :nearest for what is wrong with the options.

  Ex. (make {:nodes        [[\"kafka.example.org\" 9092]]
             :config       {:group.id \"billing\", :auto.offset.reset :earliest}
             :deserializer kafkabi.deserialize/edn
             :listen       [\"orders\"]})"
  (^Closeable [] (make nil))
  (^Closeable [opts]
   (let [opts (options/check-options "a consumer" opts options)
         {:keys [deserializer deserializer-key deserializer-value poison] source :listen} opts
         deserializer (or deserializer deserialize/byte-array)
         config       (options/config opts {"kafkabi.handled" "explicit"})
         by-program?  (some (fn [k] (contains? (:config opts) k)) [:kafkabi.handled "kafkabi.handled"])
         explicit?    (and by-program? (= "explicit" (get (.properties config) "kafkabi.handled")))
         key-f        (serde/deserializer :deserializer-key (or deserializer-key deserializer))
         value-f      (serde/deserializer :deserializer-value (or deserializer-value deserializer))
         consumer     (impl/make (org.kafkabi.Consumer. (.set config "kafkabi.handled" "explicit"))
                                 key-f value-f (or poison :throw) (not explicit?))]
     (when source
       (try
         (if (map? source)
           (let [{:keys [source on-rebalance]} (options/check-options ":listen" source {:source       ::options/any
                                                                                        :on-rebalance ::options/f})]
             (listen consumer source on-rebalance))
           (listen consumer source))
         (catch Throwable thrown
           (.close ^Closeable consumer)
           (throw thrown))))
     consumer)))

(defn consumer?
  "Is x a consumer of `make`?

  => boolean"
  [x]
  (instance? Consumer x))

(defn close
  "Closes: commits what is handled, if commits are automatic, and leaves the group, within the time-out (30 seconds without
  one). The records of the last poll are not handled by it: call `commit-sync` or `handled` before.

  => nil

  Throws TimeoutException if it took longer, whose message says if offsets are not saved; InterruptException."
  ([c] (close c 30000))
  ([^Consumer c timeout-ms]
   (let [timeout (options/duration timeout-ms)]
     (when (realized? (.-admin c))
       (.close ^Admin @(.-admin c)))
     (.close (java c) timeout))))

;; ---- what there is ----

(defn topics
  "All topics of the cluster.

  => {name [partition info]}, where a partition info is
     {:topic :partition :leader node-or-nil :replicas [node with :synced?]} and a node {:host :port :rack :id}"
  [^Consumer c]
  (.assignment (java c))
  (admin/await-answer (admin/partitions-by-topic @(.-admin c))))

(defn partitions
  "The partitions of a topic.

  => [{:topic :partition :leader node-or-nil :replicas [node with :synced?]}], where a node is {:host :port :rack :id}

  Throws UnknownTopicOrPartitionException if there is no such topic and brokers don't create it."
  [^Consumer c topic]
  (.assignment (java c))
  (admin/partitions-of @(.-admin c) topic))

;; ---- what to read ----

(defn- kind-of [source]
  (cond (instance? Pattern source)                       :pattern
        (not (or (sequential? source) (set? source)))    (options/wrong! :source source
                                                                         "a regular expression, a list of topics, a list of [topic partition], or nil")
        (every? string? source)                          :topics
        (every? vector? source)                          :partitions
        :else (options/wrong! :source source "topics or [topic partition], not both in one list")))

(defn- check-kind [^Consumer c kind]
  (let [earlier (:kind @(.-source c))]
    (when (and earlier (not= earlier kind))
      (throw (IllegalStateException.
               (str "the consumer reads " (name earlier) " already: (listen c nil) first, to read " (name kind)))))))

(defn listen
  "Says what to read, in place of what was said before.

  @ source  a list of topics, to share their partitions with the other members of the group
            a regular expression (POSIX extended) for whole names of topics, to do so for all that it fits
            a list of [topic partition], to read exactly these
            nil or empty, to stop
  @ f-rebalance  function of [assigned? [[topic partition] ...]], called inside polls, `listen` and `close` when the group
                 gives partitions or takes them back; it may commit, seek and pause

  => the consumer

  Throws IllegalStateException when another kind of source is being read: stop that first."
  ([c source] (listen c source nil))
  ([^Consumer c source f-rebalance]
   (let [java (java c)]
     (if (or (nil? source) (and (coll? source) (empty? source)))
       (do (impl/drop-current! c)
           (.unsubscribe java)
           (reset! (.-seeks c) {})
           (reset! (.-source c) nil))
       (let [kind (kind-of source)]
         (check-kind c kind)
         (case kind
           :topics     (.subscribe java ^Collection (vec source) (impl/listener c f-rebalance))
           :pattern    (.subscribe java ^Pattern source (impl/listener c f-rebalance))
           :partitions (let [partitions (convert/topic-partitions source)]
                         (impl/drop-current! c)
                         (.assign java partitions)))
         (reset! (.-source c) {:kind kind, :pattern (when (= kind :pattern) source)})
         (when (= kind :partitions)
           (impl/apply-seeks! c (.assignment java)))))
     c)))

(defn listening
  "What is being read now.

  => {:partitions #{[topic partition]} the consumer's now, :subscriptions #{topic}}; with a regular expression
     :subscriptions are the topics that partitions are the consumer's of, and :pattern is the expression"
  [^Consumer c]
  (let [partitions (into #{} (map convert/tp) (.assignment (java c)))
        pattern    (:pattern @(.-source c))]
    (if pattern
      {:partitions partitions, :subscriptions (into #{} (map first) partitions), :pattern pattern}
      {:partitions partitions, :subscriptions (set (.subscription (java c)))})))

(defn listening?
  "Whether a topic is subscribed to, or a [topic partition] is the consumer's now.

  @ source  a topic, or [topic partition]

  => boolean"
  [c source]
  (let [{:keys [partitions subscriptions]} (listening c)]
    (cond (string? source) (contains? subscriptions source)
          (vector? source) (contains? partitions source)
          :else            (options/wrong! :source source "a topic or [topic partition]"))))

;; ---- pauses ----

(defn pause
  "Keeps polls from handing out records of these partitions, until `resume`.

  => the consumer"
  ([c tps]
   (.pause (java c) (convert/topic-partitions tps))
   c)
  ([c topic partition]
   (pause c [[topic partition]])))

(defn paused
  "The partitions that are paused.

  => #{[topic partition]}"
  [c]
  (into #{} (map convert/tp) (.paused (java c))))

(defn paused?
  "Whether a partition is paused.

  => boolean"
  ([c tp]
   (.contains (.paused (java c)) (convert/topic-partition tp)))
  ([c topic partition]
   (paused? c [topic partition])))

(defn resume
  "Lets records flow again: of all partitions that are paused, of these, or of one.

  => the consumer"
  ([c]
   (.resume (java c) (.paused (java c)))
   c)
  ([c tps]
   (.resume (java c) (convert/topic-partitions tps))
   c)
  ([c topic partition]
   (resume c [[topic partition]])))

;; ---- offsets ----

(defn- one [tp m]
  (get m tp))

(defn offs-first
  "The first offset that there is.

  => {[topic partition] offset}, or for one partition its offset"
  ([c tps]
   (convert/by-tp identity (.beginningOffsets (java c) (convert/topic-partitions tps))))
  ([c topic partition]
   (one [topic partition] (offs-first c [[topic partition]]))))

(defn offs-latest
  "The offset after the last record.

  => {[topic partition] offset}, or for one partition its offset"
  ([c tps]
   (convert/by-tp identity (.endOffsets (java c) (convert/topic-partitions tps))))
  ([c topic partition]
   (one [topic partition] (offs-latest c [[topic partition]]))))

(defn- position [c ^TopicPartition tp]
  (let [waiting (impl/waiting-offset c tp)]
    (case waiting
      nil        (.position (java c) tp)
      :beginning (.get ^Map (.beginningOffsets (java c) [tp]) tp)
      :end       (.get ^Map (.endOffsets (java c) [tp]) tp)
      waiting)))

(defn offs-current
  "The offset of the next record that will be handed out.

  => {[topic partition] offset}, or for one partition its offset"
  ([c tps]
   (into {} (map (fn [tp] [tp (position c (convert/topic-partition tp))])) tps))
  ([c topic partition]
   (position c (convert/topic-partition topic partition))))

(defn offs-by-ts
  "The first record at or after a time, in milliseconds since 1970.

  => {[topic partition] {:timestamp of the record, :offset} or nil where there is none}, or for one partition such a map

  The embedded cluster finds none for times."
  ([^Consumer c tps->ts]
   (.assignment (java c))
   (when-not (map? tps->ts)
     (options/wrong! "the times" tps->ts "a map of [topic partition] to milliseconds since 1970"))
   (let [asked  (mapv (fn [[tp ts]]
                        (let [tp (convert/topic-partition tp)]
                          {"topic" (.topic tp), "partition" (.partition tp), "at" "timestamp"
                           "timestamp" (options/check :timestamp ::options/timeout-ms ts)}))
                      tps->ts)
         answer (when (seq asked)
                  (admin/await-answer (admin/request @(.-admin c) "offsets_list" {"partitions" asked} nil)))]
     (into {}
           (map (fn [item]
                  (let [{:keys [topic partition offset timestamp]} (admin/checked item)]
                    [[topic partition] (when (and offset (nat-int? offset)) {:timestamp timestamp, :offset offset})])))
           (:partitions answer))))
  ([c topic partition ts]
   (one [topic partition] (offs-by-ts c {[topic partition] ts}))))

(defn seek
  "Reads on from an offset; a negative one stands for 0. It takes effect at the next poll, and may be called before any:
  for a subscription's partition that is not the consumer's yet it waits until it is.

  => the consumer"
  ([c tps->offsets]
   (impl/seek! c (convert/offsets (fn [offset] (max 0 (long (convert/checked-offset offset)))) tps->offsets))
   c)
  ([c topic partition offset]
   (seek c {[topic partition] offset})))

(defn- seek-to [c tps offset]
  (impl/seek! c (into {} (map (fn [tp] [tp offset])) (convert/topic-partitions tps)))
  c)

(defn rewind
  "Reads on from the first record: of all partitions that are the consumer's (before the first poll of a subscription:
  that will be), of these, or of one.

  => the consumer"
  ([c]
   (impl/seek-all! c :beginning)
   c)
  ([c tps]
   (seek-to c tps :beginning))
  ([c topic partition]
   (seek-to c [[topic partition]] :beginning)))

(defn fast-forward
  "Reads on after the last record: of all partitions that are the consumer's (before the first poll of a subscription:
  that will be), of these, or of one.

  => the consumer"
  ([c]
   (impl/seek-all! c :end)
   c)
  ([c tps]
   (seek-to c tps :end))
  ([c topic partition]
   (seek-to c [[topic partition]] :end)))

(defn lag
  "How many records there are beyond those that were handed out. What the native client knows is given at once; brokers are
  asked for what it does not know yet.

  => {[topic partition] number} of all partitions that are the consumer's or of these, or for one partition its number"
  ([c]
   (lag c (:partitions (listening c))))
  ([c tps]
   (into {}
         (map (fn [[tp known]]
                [tp (if (or (neg? (long known)) (impl/waiting-offset c (convert/topic-partition tp)))
                      (max 0 (- (long (offs-latest c (tp 0) (tp 1))) (long (offs-current c (tp 0) (tp 1)))))
                      known)]))
         (convert/by-tp identity (.lag (java c) (convert/topic-partitions tps)))))
  ([c topic partition]
   (one [topic partition] (lag c [[topic partition]]))))

;; ---- cutting short ----

(defn unblock
  "Makes the call that waits, on whatever thread, throw WakeupException; or else the next one.

  => the consumer"
  [c]
  (.wakeup (java c))
  c)

(def ^:private timer
  (delay (doto (ScheduledThreadPoolExecutor.
                 1 (reify ThreadFactory
                     (newThread [_ task] (doto (Thread. task "kafkabi-safely") (.setDaemon true)))))
           (.setRemoveOnCancelPolicy true))))

(defn- forget-wakeup
  "Takes back a wake-up that no call has met. Never throws, for it would hide what the body has given or thrown; an interrupt
  is left for the next call."
  [c]
  (loop [interrupted? false]
    (let [interrupted? (or (Thread/interrupted) interrupted?)
          again?       (try
                         (.lag (java c) []) ; waits for nothing, but meets the wake-up
                         false
                         (catch InterruptException _ true)
                         (catch KafkaException _ false)
                         (catch IllegalStateException _ false))] ; closed by the body
      (if again?
        (recur true)
        (when interrupted?
          (.interrupt (Thread/currentThread)))))))

(defn call-safely
  "Calls a function without arguments, and unblocks the consumer if it takes longer; what `safely` expands to. A wake-up
  that came too late to meet a call is taken back.

  => what the function gives"
  [c timeout-ms f]
  (let [lock  (Object.)
        state (volatile! :running)
        task  (.schedule ^ScheduledExecutorService @timer
                         ^Runnable (fn []
                                     (locking lock
                                       (when (= :running @state)
                                         (vreset! state :woken)
                                         (unblock c))))
                         (long (options/check :timeout-ms ::options/timeout-ms timeout-ms))
                         TimeUnit/MILLISECONDS)]
    (try
      (f)
      (finally
        (.cancel task false)
        (when (= :woken (locking lock (let [before @state] (vreset! state :done) before)))
          (forget-wakeup c))))))

(defmacro safely
  "Runs the body, and unblocks the consumer if it takes longer than the time-out, so that what waits in it throws
  WakeupException.

  => what the body gives

  Ex. (safely c 5000 (offs-latest c \"orders\" 0))"
  [c timeout-ms & body]
  `(call-safely ~c ~timeout-ms (fn [] ~@body)))

;; ---- records ----

(defn poll
  "Waits for records, at most so long, and hands out up to max.poll.records of those that are there. What was handed out
  before counts as handled from here on.

  @ timeout-ms  nil or none waits for ever; 0 takes what is there

  => a sequence of records, in the order of their offsets in each partition (this namespace has their shape); nil when the
     time is up

  Throws IllegalStateException (nothing is listened to, closed, another thread polls), WakeupException after `unblock`,
  InterruptException, RecordDeserializationException (see :poison of `make`), or another KafkaException."
  ([c] (poll c nil))
  ([c timeout-ms]
   (seq (impl/poll! c timeout-ms))))

(defn poll-partitions
  "As `poll`, with the records of each partition by itself.

  => {[topic partition] [record]}; nil when the time is up"
  ([c] (poll-partitions c nil))
  ([c timeout-ms]
   (some->> (impl/poll! c timeout-ms)
            (group-by (juxt :topic :partition)))))

(defn poll-seq
  "A lazy sequence of records, which polls when it needs more, and ends when none comes in time. A record counts as handed
  out when the sequence has reached it, and as handled when the sequence polls again, at the next poll, or at a commit:
  what was polled and never reached is read again. `records` does the same with less to think of.

  => lazy sequence of records"
  ([c] (poll-seq c nil))
  ([c timeout-ms]
   (options/check :timeout-ms ::options/timeout-ms timeout-ms)
   (impl/poll-seq c timeout-ms)))

(def ^:private stream-options {:idle-ms ::options/timeout-ms})

(defn records
  "All that comes, as something to reduce: for `reduce` with an initial value, `transduce`, `into`, `run!`, `eduction`. A
  record is handled when the reducing function has returned from it, and not before; so when it throws, or ends the
  reduction early by `reduced`, no more than what was handled is ever committed, and the rest is read again.

  @ opts  nil, or {:idle-ms end when no record has come for so long; without it never}

  => reducible of records

  Ex. (into [] (comp (map :value) (take 100)) (records c {:idle-ms 5000}))"
  ([c] (records c nil))
  ([^Consumer c opts]
   (let [{:keys [idle-ms]} (options/check-options "records" opts stream-options)]
     (reify IReduceInit
       (reduce [_ f init]
         (impl/reduce-records c idle-ms f init))))))

(defn batches
  "As `records`, with what each poll gives at once: a vector of records, all of which are handled when the reducing function
  has returned from it, and none if it throws.

  @ opts  nil, or {:idle-ms end when no record has come for so long; without it never}

  => reducible of vectors of records

  Ex. (run! (fn [batch] (insert-all! db batch)) (batches c))"
  ([c] (batches c nil))
  ([c opts]
   (let [{:keys [idle-ms]} (options/check-options "batches" opts stream-options)]
     (reify IReduceInit
       (reduce [_ f init]
         (impl/reduce-batches c idle-ms f init))))))

(defn handled
  "Says that all that was handed out is handled, so that it may be committed. Polls and commits without offsets do so by
  themselves; it is for what comes before a `close`, and for consumers with {:config {:kafkabi.handled :explicit}}.

  => the consumer"
  [c]
  (impl/mark-always! c)
  c)

;; ---- commits ----

(defn next-offsets
  "The offsets to commit when these records are handled: of each partition the last one's plus 1.

  => {[topic partition] offset}"
  [records]
  (reduce (fn [offsets {:keys [topic partition offset]}]
            (update offsets [topic partition] (fn [before] (max (long (or before 0)) (inc (long offset))))))
          {} records))

(defn commit-sync
  "Commits and waits for the answer: all that is handled, and with it what the last poll handed out; or these offsets.

  @ offsets  {[topic partition] offset}, each that of the next record to read; {:offset :metadata} in place of the offset
             keeps a text with it

  => the consumer

  Throws CommitFailedException and its like when the group has given the partitions to others, TimeoutException,
  WakeupException, InterruptException, or another KafkaException."
  ([c]
   (impl/mark! c)
   (.commit (java c))
   c)
  ([c offsets]
   (.commit (java c) (convert/offsets convert/offset-and-metadata offsets))
   c))

(defn commit-async
  "Commits without waiting: all that is handled, and with it what the last poll handed out; or these offsets. A failure
  without a callback is logged.

  @ callback  function of [exception {[topic partition] offset}], called inside a later poll, commit or close; or nil
  @ offsets   as `commit-sync` takes them

  => the consumer"
  ([c] (commit-async c nil))
  ([c callback] (commit-async c callback nil))
  ([c callback offsets]
   (when (nil? offsets)
     (impl/mark! c))
   (.commitAsync (java c)
                 ^Map (if (nil? offsets) {} (convert/offsets convert/offset-and-metadata offsets))
                 ^CommitCallback (when callback
                                   (reify CommitCallback
                                     (onCompletion [_ committed exception]
                                       (callback exception (convert/by-tp convert/committed-offset committed))))))
   c))

(defn committed
  "The offsets that the group has committed, each that of the next record to read; nil where there is none.

  => {[topic partition] offset-or-nil}, or for one partition its offset or nil"
  ([c tps]
   (let [found (convert/by-tp convert/committed-offset (.committed (java c) (convert/topic-partitions tps)))]
     (into {} (map (fn [tp] [tp (get found tp)])) tps)))
  ([c topic partition]
   (one [topic partition] (committed c [[topic partition]]))))

;; ---- what is known of itself ----

(defn member-id
  "The name that the group knows the consumer by.

  => text, or nil before it has joined"
  [c]
  (let [id (.memberId (java c))]
    (when-not (str/blank? id) id)))

(defn metrics
  "The figures of the consumer now. Those of librdkafka are there with the property statistics.interval.ms.

  => {:group/name {:description text, :tags {tag text}, :value value}}, as kafkabi.produce/metrics"
  [c]
  (metrics/metrics (.metrics (java c))))
