(ns kafkabi.cluster
  "A Kafka cluster inside the program, for tests and demonstrations: brokers on ports of 127.0.0.1 that the system chooses,
  with faults on request. Clients of kafkabi take it for their :nodes, in this process or in others; Apache's Java clients
  can't use it. It keeps up to 5 MiB a partition, creates topics of 4 partitions that clients ask for, and carries out no
  transactions: aborted records are read. Clusters are java.lang.AutoCloseable: use `with-open`."
  (:require [clojure.string :as str]
            [kafkabi.impl.options :as options])
  (:import (java.lang.reflect Field)
           (org.kafkabi EmbeddedCluster)
           (org.kafkabi.lowlevel Constants)))

(set! *warn-on-reflection* true)

(defn- constants
  "The constants with a prefix, by keyword: :produce for KABI_REQUEST_PRODUCE."
  [prefix]
  (into {}
        (keep (fn [^Field field]
                (when (str/starts-with? (.getName field) prefix)
                  [(-> (subs (.getName field) (count prefix)) str/lower-case (str/replace "_" "-") keyword)
                   (.get field nil)])))
        (.getFields Constants)))

(def ^:private requests (delay (constants "KABI_REQUEST_")))
(def ^:private statuses (delay (constants "KABI_STATUS_")))

(defn- constant ^long [option known x]
  (cond (int? x)              x
        (contains? known x)   (long (get known x))
        :else                 (options/fail! (str "there is no " (name option) " " (pr-str x)
                                                  (when-let [near (and (keyword? x) (options/nearest x (keys known)))]
                                                    (str ": did you mean " near "?")))
                                             {:option option, :given x, :expected (sort (keys known))
                                              :nearest (when (keyword? x) (options/nearest x (keys known)))})))

(defn start
  "Starts a cluster.

  @ opts  nil, or {:brokers how many, 1 to 100, with the ids 1, 2, 3, ...; default 1
                   :topics  {name partitions} to create}

  => cluster

  Ex. (with-open [cluster (start {:topics {\"orders\" 3}})
                  p       (kafkabi.produce/make {:nodes cluster})]
        ...)"
  (^EmbeddedCluster [] (start nil))
  (^EmbeddedCluster [opts]
   (let [{:keys [brokers topics]} (options/check-options "a cluster" opts {:brokers ::options/partition
                                                                           :topics  ::options/any})
         _       (when-not (or (nil? topics) (and (map? topics) (every? string? (keys topics)) (every? pos-int? (vals topics))))
                   (options/wrong! :topics topics "a map of topics to how many partitions they have"))
         cluster (EmbeddedCluster/start (int (or brokers 1)))]
     (doseq [[topic partitions] topics]
       (.createTopic cluster ^String topic (int partitions)))
     cluster)))

(defn stop
  "Stops the brokers; what the cluster holds is gone.

  => nil"
  [^EmbeddedCluster cluster]
  (.close cluster))

(defn nodes
  "Where the brokers are.

  => [[host port] ...], as the clients take it for :nodes"
  [^EmbeddedCluster cluster]
  (mapv (fn [node]
          (let [i (str/last-index-of node ":")]
            [(subs node 0 i) (parse-long (subs node (inc i)))]))
        (str/split (.bootstrapServers cluster) #",")))

(defn create-topic
  "Creates a topic.

  @ partitions   how many, 1 to 10,000
  @ replication  how many copies of each, 1 to as many as there are brokers; default 1

  => the cluster"
  ([cluster topic partitions]
   (create-topic cluster topic partitions 1))
  ([^EmbeddedCluster cluster topic partitions replication]
   (.createTopic cluster (options/check :topic ::options/topic topic)
                 (int (options/check :partitions ::options/partition partitions))
                 (int (options/check :replication ::options/partition replication)))))

(defn broker-down
  "Makes a broker, or all of them, close its connections and refuse new ones.

  => the cluster"
  ([cluster] (broker-down cluster EmbeddedCluster/ALL_BROKERS))
  ([^EmbeddedCluster cluster broker] (.brokerDown cluster (int broker))))

(defn broker-up
  "Makes a broker, or all of them, take connections again.

  => the cluster"
  ([cluster] (broker-up cluster EmbeddedCluster/ALL_BROKERS))
  ([^EmbeddedCluster cluster broker] (.brokerUp cluster (int broker))))

(defn latency
  "Makes a broker, or all of them, hold each answer back for so long; 0 ends that.

  => the cluster"
  ([cluster millis] (latency cluster EmbeddedCluster/ALL_BROKERS millis))
  ([^EmbeddedCluster cluster broker millis] (.latency cluster (int broker) (int millis))))

(defn inject-errors
  "Makes the next requests of one kind fail.

  @ request  keyword of the kind, such as :produce, :fetch, :join-group, :offset-commit, or its number in Kafka's protocol
  @ error    keyword of what brokers answer, such as :topic-authorization-failed, or its number; :transport closes the
             connection
  @ n        how many requests

  => the cluster"
  [^EmbeddedCluster cluster request error n]
  (.injectErrors cluster (int (constant :request @requests request)) (int (constant :error @statuses error)) (int n)))

(defn clear-errors
  "Takes back the errors of a kind of request that are not used up.

  => the cluster"
  [^EmbeddedCluster cluster request]
  (.clearErrors cluster (int (constant :request @requests request))))

(defn topic-error
  "Makes the cluster tell this error to whoever asks for the topic, until it is nil.

  @ error  keyword such as :topic-authorization-failed, a number, or nil

  => the cluster"
  [^EmbeddedCluster cluster topic error]
  (.topicError cluster topic (int (if (nil? error) 0 (constant :error @statuses error)))))

(defn leader
  "Makes a broker the leader of a partition.

  => the cluster"
  [^EmbeddedCluster cluster topic partition broker]
  (.leader cluster topic (int partition) (int broker)))

(defn group-coordinator
  "Makes a broker the coordinator of a group.

  => the cluster"
  [^EmbeddedCluster cluster group broker]
  (.groupCoordinator cluster group (int broker)))
