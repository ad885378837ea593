(ns kafkabi.produce
  "Everything about producers.

  A producer is safe for use by any number of threads; one for a whole program is usual. Without configuration it is
  idempotent, waits for all in-sync replicas, and puts keys into the partitions where Apache's Java client puts them.
  Producers are java.io.Closeable: use `with-open`."
  (:refer-clojure :exclude [flush])
  (:require [kafkabi.error :as error]
            [kafkabi.impl.admin :as admin]
            [kafkabi.impl.consumer]
            [kafkabi.impl.convert :as convert]
            [kafkabi.impl.metrics :as metrics]
            [kafkabi.impl.options :as options]
            [kafkabi.impl.serde :as serde]
            [kafkabi.serialize :as serialize])
  (:import (java.io Closeable)
           (java.util.concurrent CompletableFuture)
           (java.util.concurrent.atomic AtomicReference)
           (kafkabi.impl.consumer Consumer)
           (org.kafkabi Admin DeliveryCallback KafkaException Transactions)
           (org.kafkabi.lowlevel Constants)))

(set! *warn-on-reflection* true)

(deftype Producer [^org.kafkabi.Producer java
                             serializer-key
                             serializer-value
                             ^AtomicReference failure ; of a record of the open transaction
                             transactional?
                             headers?                 ; whether a serializer sees them
                             admin]                   ; delay of an Admin on the producer's connections
  Closeable
  (close [_]
    (when (realized? admin)
      (.close ^Admin @admin))
    (.close java)))

(alter-meta! #'->Producer assoc :private true)

(defn- java ^org.kafkabi.Producer [^Producer p]
  (.-java p))

(defn- transactions ^Transactions [p]
  (.transactions (java p)))

;; ---- making and closing ----

(def ^:private options
  (assoc options/client-options
         :serializer ::options/any, :serializer-key ::options/any, :serializer-value ::options/any))

(defn make
  "Makes a producer. It connects in the background.

  @ opts  nil, or {:nodes            [[\"host\" port] ...], or an embedded cluster; default [[\"localhost\" 9092]]
                   :config           {property value}: keywords or texts to texts, numbers, booleans or keywords; properties
                                     of Apache's Java client, of librdkafka, or kafkabi's own
                   :serializer       function of [topic data] to a byte array or nil; default kafkabi.serialize/byte-array
                   :serializer-key   for keys; default :serializer
                   :serializer-value for values; default :serializer
                   :on-error         function of an exception that belongs to no call
                   :on-log           function of {:level 0-7 :text}
                   :on-statistics    function of a map, every statistics.interval.ms
                   :on-throttle      function of {:broker :id :millis}
                   :tokens           function of the property sasl.oauthbearer.config that gives
                                     {:value :expires :principal :extensions}}

  => producer

  Throws an ex-info with :option, :given, :expected and :nearest for what is wrong with the options.

  Ex. (make {:nodes      [[\"kafka.example.org\" 9092]]
             :config     {:client.id \"billing\", :linger.ms 20}
             :serializer kafkabi.serialize/edn})"
  (^Closeable [] (make nil))
  (^Closeable [opts]
   (let [{:keys [serializer serializer-key serializer-value config] :as opts}
         (options/check-options "a producer" opts options)
         serializer (or serializer serialize/byte-array)
         config     (options/config opts {})
         key-f      (serde/serializer :serializer-key (or serializer-key serializer))
         value-f    (serde/serializer :serializer-value (or serializer-value serializer))
         java       (org.kafkabi.Producer. config)]
     (Producer. java key-f value-f (AtomicReference.) (contains? (.properties config) "transactional.id")
                (or (serde/headers? key-f) (serde/headers? value-f))
                (delay (Admin/of java))))))

(defn producer?
  "Is x a producer of `make`?

  => boolean"
  [x]
  (instance? Producer x))

(defn close
  "Closes: waits until every record is delivered or has failed, but no longer than the time-out; what is left then fails.
  An open transaction is aborted.

  => nil

  Throws InterruptException when the thread is interrupted."
  ([^Producer p]
   (.close p))
  ([^Producer p timeout-ms]
   (let [timeout (options/duration timeout-ms)]
     (when (realized? (.-admin p))
       (.close ^Admin @(.-admin p)))
     (.close (java p) timeout))))

(defn flush
  "Sends what waits at once, and blocks until every record that was committed before is delivered or has failed.

  => nil

  Throws InterruptException when the thread is interrupted."
  [p]
  (.flush (java p))
  nil)

;; ---- sending ----

(defn- delivery-callback ^DeliveryCallback [^Producer p ^CompletableFuture future callback]
  (reify DeliveryCallback
    (onCompletion [_ metadata failure]
      (let [metadata (convert/metadata metadata)]
        (when (and failure (.-transactional? p))
          (.compareAndSet ^AtomicReference (.-failure p) nil failure))
        (try
          (when callback
            (callback failure metadata))
          (finally
            (if failure
              (.completeExceptionally future failure)
              (.complete future metadata))))))))

(defn- check-transaction [^Producer p]
  (when-let [^KafkaException failure (.get ^AtomicReference (.-failure p))]
    (throw (KafkaException. (str "a record of the transaction was not delivered, so it can only be aborted: "
                                 (ex-message failure))
                            (.code failure)
                            (int Constants/KABI_ERROR_ABORT_REQUIRED)
                            failure))))

(defn commit
  "Sends a record in the background.

  @ record    {:topic     text
               :key       what the serializer of keys takes; may be nil or absent
               :value     what the serializer of values takes; nil or absent is a null value
               :partition number; without it the key decides
               :timestamp milliseconds since 1970; without it now
               :headers   [[name value] ...] or {name value}; values are byte arrays, texts or nil}
  @ callback  function of [exception metadata], called before the future resolves, on the producer's delivery thread:
              it should be short, and must not wait for other deliveries. The exception is nil if the record was delivered

  => future of {:topic :partition :timestamp :offset}; partition, timestamp and offset are nil where they are not known.
     It throws ExecutionException around the failure, an org.kafkabi.KafkaException

  Throws at once
    IllegalStateException     the producer is closed, or has a transactional.id and no transaction is open
    SerializationException    the key or the value is nothing for its serializer
    BufferExhaustedException  the producer's memory was full for max.block.ms
    InterruptException        the thread is interrupted while it waits for room
    KafkaException            in a transaction, when a record of it has failed already: call trx-abort, unless error/fatal?
    ex-info                   the record is not as above: :option, :given, :expected

  Ex. @(commit p {:topic \"orders\", :key \"17\", :value {:item :tea}}
               (fn [exception metadata] (when exception (println \"not delivered:\" exception))))"
  (^CompletableFuture [p record] (commit p record nil))
  (^CompletableFuture [^Producer p record callback]
   (let [topic (:topic record)]
     (when-not (and (string? topic) (not= "" topic))
       (options/wrong! :topic topic "the name of a topic"))
     (let [headers (when (.-headers? p) (convert/java-headers (or (:headers record) [])))
           k       (serde/bytes-of (.-serializer-key p) topic headers :key (:key record))
           v       (serde/bytes-of (.-serializer-value p) topic headers :value (:value record))
           future  (CompletableFuture.)]
       (when (.-transactional? p)
         (check-transaction p))
       (.send (java p) (convert/record-to-send record topic headers k v) (delivery-callback p future callback))
       future))))

;; ---- what is known ----

(defn metrics
  "The figures of the producer now. Those of librdkafka are there with the property statistics.interval.ms.

  => {:group/name {:description text, :tags {tag text}, :value value}}; the groups are kafkabi, librdkafka, and
     broker.NAME, topic.NAME and topic.NAME.partition.NUMBER, whose names are in the tags too"
  [p]
  (metrics/metrics (.metrics (java p))))

(defn partitions
  "The partitions of a topic.

  => [{:topic :partition :leader node-or-nil :replicas [node with :synced?]}], where a node is {:host :port :rack :id}

  Throws UnknownTopicOrPartitionException if there is no such topic and brokers don't create it."
  [^Producer p topic]
  (.outstanding (java p))
  (admin/partitions-of @(.-admin p) topic))

;; ---- transactions ----

(defn trx-init
  "Makes this producer the only one with its transactional.id: finishes or aborts what an earlier one left behind, and
  fences that one off. To be called once, before the first transaction.

  => the producer

  Throws IllegalStateException without a transactional.id, TimeoutException after max.block.ms (call again),
  AuthorizationException, UnsupportedVersionException, or another KafkaException."
  [p]
  (.init (transactions p))
  p)

(defn trx-begin
  "Begins a transaction. What is committed from now on belongs to it.

  => the producer

  Throws IllegalStateException without a transactional.id or trx-init, ProducerFencedException when another producer has
  taken the transactional.id over, or another KafkaException."
  [^Producer p]
  (.begin (transactions p))
  (.set ^AtomicReference (.-failure p) nil)
  p)

(defn trx-commit
  "Commits the transaction: waits until all its records are delivered and the coordinator has it as committed. If a record
  has failed it throws, and the transaction can only be aborted.

  => the producer

  Throws IllegalStateException without an open transaction, ProducerFencedException, TimeoutException after max.block.ms
  (call again), or another KafkaException; kafkabi.error tells which are retriable, fatal, or want an abort."
  [p]
  (.commit (transactions p))
  p)

(defn trx-abort
  "Aborts the transaction: what was not sent yet fails, and the rest is never seen by consumers of committed records.

  => the producer

  Throws IllegalStateException without an open transaction, ProducerFencedException, TimeoutException after max.block.ms
  (call again), or another KafkaException."
  [^Producer p]
  (.abort (transactions p))
  (.set ^AtomicReference (.-failure p) nil)
  p)

(defn trx-offsets
  "Makes a consumer's offsets a part of the transaction: they are committed with it, or not at all. The consumer must be
  made with {:config {:enable.auto.commit false}}.

  @ source   the consumer: one that its group has given up meanwhile is refused, so that no two commit the same.
             Or the group's id, which is all that milena takes: it does not tell such a consumer from a live one
  @ offsets  {[topic partition] offset}, each that of the next record to read: the last one's plus 1.
             kafkabi.consume/next-offsets makes them

  => the producer

  Throws as trx-commit; CommitFailedException or another one that wants an abort if the consumer was given up."
  [p source offsets]
  (let [offsets (convert/offsets convert/offset-and-metadata offsets)]
    (cond (instance? Consumer source)
          (.offsets (transactions p) offsets ^org.kafkabi.Consumer (.-java ^Consumer source))
          (and (string? source) (not= "" source))
          (.offsets (transactions p) offsets ^String source)
          :else
          (options/wrong! :source source "a consumer, or the id of its group"))
    p))

(defn- uninterrupted
  "Calls a function with the thread's interrupt put off."
  [f]
  (let [interrupted (Thread/interrupted)]
    (try
      (f)
      (finally
        (when interrupted (.interrupt (Thread/currentThread)))))))

(defn- abort-after [p ^Throwable thrown]
  (when-not (error/fatal? thrown)
    (try
      (uninterrupted (fn [] (trx-abort p)))
      (catch Exception exception
        (.addSuppressed thrown exception)))))

(def ^:private commit-attempts 3)

(defn- commit-or-abort [p]
  (loop [attempt 1]
    (let [thrown (try
                   (trx-commit p)
                   nil
                   (catch KafkaException exception exception))]
      (cond (nil? thrown)                           nil
            (and (error/retriable? thrown)
                 (not (error/abort-required? thrown))) (if (< attempt (long commit-attempts))
                                                         (recur (inc attempt))
                                                         (throw thrown))
            :else                                   (do (abort-after p thrown)
                                                        (throw thrown))))))

(defn in-transaction
  "Calls a function without arguments inside a transaction; what `with-transaction` expands to.

  => what the function gives"
  [p f]
  (trx-begin p)
  (let [result (try
                 (f)
                 (catch Throwable thrown
                   (abort-after p thrown)
                   (throw thrown)))]
    (commit-or-abort p)
    result))

(defmacro with-transaction
  "Runs the body in a transaction of the producer and commits it. If the body throws, or a record has failed, the
  transaction is aborted, unless the failure is fatal to the producer, and the exception comes through. A commit that
  takes longer than max.block.ms is repeated twice.

  => what the body gives

  Ex. (with-transaction p
        (commit p {:topic \"out\", :value 1})
        (trx-offsets p c (consume/next-offsets records)))"
  [p & body]
  `(in-transaction ~p (fn [] ~@body)))
