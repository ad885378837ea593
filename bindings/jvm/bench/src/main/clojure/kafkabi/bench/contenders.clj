(ns kafkabi.bench.contenders
  "The contenders of the Clojure library: each a function of Work to Contender."
  (:require [kafkabi.consume :as consume]
            [kafkabi.produce :as produce])
  (:import (java.io Closeable)
           (java.util ArrayDeque)
           (org.kafkabi.bench Contender Meter Work)))

(set! *warn-on-reflection* true)

(def ^:private wait-ms 30000)

;; ---- sending ----

(defn- sending
  "`send-all` is a function of the producer, the record and how many."
  [^Work work send-all]
  (let [producer (produce/make {:config (into {} (.producer work))})
        record   {:topic (.topic work), :value (Contender/payload (.bytes work))}]
    (reify Contender
      (ready [_]
        @(produce/commit producer record))
      (run [_ messages _]
        (send-all producer record messages)
        (produce/flush producer))
      (close [_]
        (produce/close producer)))))

(defn clojure-callback [work]
  (sending work
           (fn [producer record messages]
             (let [failed   (volatile! 0)
                   callback (fn [exception _] (when exception (vswap! failed inc)))]
               (dotimes [_ messages]
                 (produce/commit producer record callback))
               (produce/flush producer)
               (when (pos? (long @failed))
                 (throw (ex-info "records failed" {:failed @failed})))))))

(defn clojure-future [work]
  (sending work
           (fn [producer record messages]
             (let [window (ArrayDeque.)]
               (dotimes [_ messages]
                 (.add window (produce/commit producer record))
                 (when (> (.size window) Work/WINDOW)
                   @(.remove window)))
               (run! deref window)))))

;; ---- receiving ----

(defn- reading
  "`read-all` is a function of the consumer, how many, and a function to be told how many are received."
  [^Work work read-all]
  (let [consumer   (consume/make {:config (into {} (.consumer work))})
        partitions (mapv (fn [n] [(.topic work) n]) (range (.partitionCount work)))]
    (reify Contender
      (ready [_]
        (consume/offs-first consumer partitions))
      (run [_ messages meter]
        (consume/listen consumer partitions)
        (read-all consumer messages (fn [seen] (.received ^Meter meter (long seen)))))
      (close [_]
        (Closeable/.close consumer)))))

(defn- weight ^long [{:keys [^bytes value]}]
  (+ (alength value) (aget value 0)))

(defn clojure-poll [work]
  (reading work
           (fn [consumer messages received]
             (loop [seen 0, bytes 0]
               (if (< seen (long messages))
                 (let [records (consume/poll consumer wait-ms)
                       seen    (+ seen (count records))]
                   (received seen)
                   (recur seen (+ bytes (long (transduce (map weight) + 0 records)))))
                 bytes)))))

(defn clojure-records [work]
  (reading work
           (fn [consumer messages received]
             (let [seen (volatile! 0)]
               (transduce (comp (take messages)
                                (map (fn [record]
                                       (when (= 1 (long (vswap! seen inc)))
                                         (received 1))
                                       (weight record))))
                          + 0
                          (consume/records consumer {:idle-ms wait-ms}))))))
