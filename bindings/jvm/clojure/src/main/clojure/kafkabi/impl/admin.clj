(ns ^:no-doc kafkabi.impl.admin
  "Requests and answers of the administration, which producers and consumers make too. For kafkabi's own namespaces."
  (:require [kafkabi.impl.convert :as convert]
            [kafkabi.impl.options :as options])
  (:import (java.util.concurrent CompletableFuture)
           (org.kafkabi Admin KafkaException)
           (org.kafkabi.errors TimeoutException)))

(set! *warn-on-reflection* true)

(defn request
  "Makes an operation of api/admin.schema.json; a future of the answer as Clojure data."
  ^CompletableFuture [^Admin admin operation arguments timeout-ms]
  (convert/then (if (nil? timeout-ms)
                  (.request admin operation arguments)
                  (.request admin operation arguments (options/duration timeout-ms)))
                options/document))

(defn exception
  "The exception that the :status of an answer's item tells of, or nil."
  ^Throwable [item]
  (let [{:keys [code text]} (:status item)]
    (when-not (zero? (long code))
      (KafkaException/of (int code) text))))

(defn checked
  "The item of an answer; throws what its :status tells of."
  [item]
  (if-let [failure (exception item)]
    (throw failure)
    item))

(defn per-item
  "One future for each key, of the function of its item in the list of the answer."
  [ks ^CompletableFuture answer list f]
  (into {}
        (map-indexed (fn [index k]
                       [k (convert/then answer (fn [document] (f (checked (nth (get document list) index)))))]))
        ks))

(defn await-answer
  "Waits for a future of the administration, and throws what it failed by."
  [future]
  (Admin/await future))

(defn- topic-partitions
  "The partition infos of a topic in an answer of \"metadata\". Throws what the topic's status tells of."
  [brokers topic]
  (mapv (fn [{:keys [partition leader replicas in-sync]}]
          (let [synced (set in-sync)]
            {:topic     (:topic topic)
             :partition partition
             :leader    (convert/node (get brokers leader))
             :replicas  (mapv (fn [id]
                                (assoc (or (convert/node (get brokers id)) {:host nil, :port nil, :rack nil, :id id})
                                       :synced? (contains? synced id)))
                              replicas)}))
        (sort-by :partition (:partitions (checked topic)))))

(defn metadata
  "A future of {name delay of [partition info]} of these topics, or of all for nil; a delay throws what is wrong with its
  topic. Unlike \"topics_describe\" it is answered by the embedded cluster too."
  [admin topics timeout-ms]
  (convert/then (request admin "metadata" (if topics {"topics" topics} {}) timeout-ms)
                (fn [{:keys [brokers topics]}]
                  (let [brokers (into {} (map (juxt :id identity)) brokers)]
                    (into {} (map (fn [topic] [(:topic topic) (delay (topic-partitions brokers topic))])) topics)))))

(def internal-topics
  "The topics that are Kafka's own."
  #{"__consumer_offsets" "__transaction_state" "__share_group_state"})

(defn partitions-by-topic
  "A future of {name [partition info]} of all topics."
  [admin]
  (convert/then (metadata admin nil nil) (fn [topics] (update-vals topics deref))))

(defn partitions-of
  "The partition infos of a topic. Waits while the brokers are choosing leaders for a new topic."
  [admin topic]
  (options/check :topic :kafkabi.impl.options/topic topic)
  (let [deadline (+ (System/nanoTime) 60000000000)]
    (loop []
      (let [result (try
                     @(get (await-answer (metadata admin [topic] nil)) topic)
                     (catch KafkaException exception
                       (if (= "LEADER_NOT_AVAILABLE" (.name exception))
                         (when (pos? (- (System/nanoTime) deadline))
                           (throw (TimeoutException. (str "the partitions of topic " topic " have no leaders yet"))))
                         (throw exception))))]
        (or result
            (do (Thread/sleep 50)
                (recur)))))))
