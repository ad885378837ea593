(ns ^:no-doc kafkabi.impl.options
  "Checks options and arguments, and says clearly what is wrong with them. For kafkabi's own namespaces."
  (:require [clojure.spec.alpha :as s]
            [clojure.string :as str])
  (:import (java.time Duration)
           (java.util.function Consumer)
           (org.kafkabi Config EmbeddedCluster Json KafkaException LogLine Throttle TokenProvider TokenProvider$Token)
           (org.kafkabi.errors ConfigException)))

(set! *warn-on-reflection* true)

;; ---- errors ----

(defn distance
  "How many letters must change to turn one text into another (Levenshtein)."
  [a b]
  (peek (reduce (fn [above [i letter]]
                  (reduce (fn [row [j other]]
                            (conj row (if (= letter other)
                                        (nth above j)
                                        (inc (min (peek row) (nth above j) (nth above (inc j)))))))
                          [(inc i)]
                          (map-indexed vector b)))
                (vec (range (inc (count b))))
                (map-indexed vector a))))

(defn nearest
  "The one of `known` whose name is most like that of `given`; nil if none is like it."
  [given known]
  (when (seq known)
    (let [text  (fn [x] (if (instance? clojure.lang.Named x) (name x) (str x)))
          given (text given)
          best  (apply min-key (comp (partial distance given) text) known)]
      (when (<= (distance given (text best)) (max 2 (quot (count given) 3)))
        best))))

(defn- secret?
  "Whether a name may be that of a password, a private key or the like; a text among others only if it begins as theirs do."
  ([x] (secret? x #"(?i)pass?w|passphrase|secret|jaas|key\.pem|keystore\.key"))
  ([x pattern] (and (or (instance? clojure.lang.Named x) (string? x))
                    (some? (re-find pattern (name x))))))

(defn- redact
  "A value as errors may show it: what stands after the name of a secret, in maps and in lists, is not shown."
  [x]
  (letfn [(item [before x]
            (if (if (string? before) (secret? before #"(?i)^s(as|s)l\..*(pass?w|secret|jaas|key)") (secret? before))
              "[redacted]"
              (redact x)))]
    (cond (record? x)     x
          (map? x)        (into {} (map (fn [[k v]] [(redact k) (if (secret? k) "[redacted]" (redact v))])) x)
          (set? x)        (into #{} (map redact) x)
          (sequential? x) (let [items (take 1000 x)] ; it may have no end
                            (mapv item (cons nil items) items))
          :else           x)))

(defn- shown [option given]
  (if (some secret? (if (vector? option) option [option]))
    "[redacted]"
    (redact given)))

(defn fail!
  "Throws the ex-info of a wrong option or argument. Secrets in :given are not shown."
  ([message data] (fail! message data nil))
  ([message {:keys [option given] :as data} exception]
   (throw (ex-info message
                   (cond-> (assoc data :kafkabi/error :bad-argument)
                     (contains? data :given) (assoc :given (shown option given)))
                   exception))))

(defn wrong!
  "Throws for an argument that is not as expected."
  [option given expected]
  (fail! (str (if (keyword? option) (str "the option " option) option) " is " (pr-str (shown option given))
              ": expected " expected)
         {:option option, :given given, :expected expected}))

;; ---- what options may be ----

(s/def ::port (s/int-in 1 65536))
(s/def ::host (s/and string? (complement str/blank?)))
(s/def ::nodes (s/or :cluster #(instance? EmbeddedCluster %)
                     :list    (s/coll-of (s/or :pair (s/tuple ::host ::port) :text ::host) :min-count 1)))
(s/def ::config-key (s/or :keyword keyword? :text string?))
(s/def ::config (s/map-of ::config-key any?))
(s/def ::f ifn?)
(s/def ::timeout-ms (s/nilable nat-int?))
(s/def ::flag (s/nilable boolean?))
(s/def ::topic (s/and string? (complement str/blank?)))
(s/def ::partition (s/int-in 0 Integer/MAX_VALUE))
(s/def ::topic-partition (s/tuple ::topic ::partition))
(s/def ::topic-partitions (s/coll-of ::topic-partition))
(s/def ::offsets (s/map-of ::topic-partition int?))
(s/def ::poison #{:throw :data})
(s/def ::any any?)

(def expected
  "What is said of each spec when a value does not fit it."
  {::nodes            "a list of [\"host\" port], or an embedded cluster"
   ::config           "a map of property names, as keywords or texts, to texts, numbers or booleans"
   ::f                "a function"
   ::timeout-ms       "milliseconds, 0 or more, or nil"
   ::flag             "true or false"
   ::topic            "the name of a topic"
   ::partition        "a partition: a whole number, 0 or more"
   ::topic-partition  "[\"topic\" partition]"
   ::topic-partitions "a list of [\"topic\" partition]"
   ::offsets          "a map of [\"topic\" partition] to offsets"
   ::poison           ":throw or :data"})

(defn check
  "Gives the value back if it fits the spec; throws with :option, :given and :expected if it does not."
  [option spec value]
  (if (s/valid? spec value)
    value
    (wrong! option value (get expected spec (str (s/form spec))))))

(defn check-options
  "Gives a map of options back, {} for nil, without options that are nil. `specs` has the spec of each known option."
  [what options specs]
  (let [options (if (nil? options) {} options)]
    (when-not (map? options)
      (wrong! (str "the options of " what) options "a map or nil"))
    (reduce-kv (fn [checked option value]
                 (when-not (contains? specs option)
                   (let [known (vec (sort (keys specs)))
                         near  (nearest option known)]
                     (fail! (str what " has no option " (pr-str option)
                                 (if near (str ": did you mean " near "?") (str ": there are " (str/join ", " known))))
                            {:option option, :given value, :expected known, :nearest near})))
                 (if (nil? value)
                   checked
                   (assoc checked option (check option (specs option) value))))
               {}
               options)))

;; ---- configurations ----

(defn property-name
  "The name of a property that a keyword or a text stands for."
  [k]
  (cond (keyword? k) (subs (str k) 1)
        (string? k)  k
        :else        (wrong! "the name of a property" k "a keyword or a text")))

(defn property-value
  "What the Java library takes for the value of a property: texts, numbers, booleans, durations, and lists of these."
  [option value]
  (cond (or (keyword? value) (symbol? value))                      (name value)
        (or (string? value) (number? value) (boolean? value)
            (instance? Duration value) (instance? Class value))    value
        (or (sequential? value) (set? value))                      (mapv (partial property-value option) value)
        :else (wrong! option value "a text, a number, a boolean, a keyword, a java.time.Duration, or a list of these")))

(def ^:private properties
  "The properties of the native client by name, read once."
  (delay (into {} (map (fn [document] [(get document "name") document]))
               (get (Json/parse (Config/describe)) "properties"))))

(defn- expected-of [property]
  (when-let [document (get @properties property)]
    (let [range (get document "range")]
      (cond-> (str "kind " (get document "kind"))
        (get document "values") (str ", one of " (str/join ", " (get document "values")))
        range                   (str ", from " (get range "min") " to " (get range "max"))))))

(def ^:private names-of-java
  ["buffer.memory" "max.block.ms" "max.poll.records" "default.api.timeout.ms" "max.request.size" "fetch.max.wait.ms"
   "receive.buffer.bytes" "send.buffer.bytes" "sasl.jaas.config" "partition.assignment.strategy"])

(defn- set-property! [^Config config k value]
  (let [property (property-name k)]
    (try
      (.set config property (property-value [:config k] value))
      (catch ConfigException exception
        (let [known? (contains? @properties property)
              near   (when-not known? (nearest property (concat (keys @properties) names-of-java)))]
          (fail! (.getMessage exception)
                 (cond-> {:option   [:config k]
                          :given    (shown near value) ; a name that is not known may be a password's, misspelt
                          :expected (or (expected-of property) (.getMessage exception))}
                   near (assoc :nearest near))
                 exception))))))

(defn- bootstrap [nodes]
  (if (instance? EmbeddedCluster nodes)
    (.bootstrapServers ^EmbeddedCluster nodes)
    (str/join "," (map (fn [node] (if (string? node) node (let [[host port] node] (str host ":" port)))) nodes))))

(defn- consumer-of ^Consumer [f]
  (reify Consumer (accept [_ x] (f x))))

(defn- token-provider ^TokenProvider [f]
  (reify TokenProvider
    (token [_ config]
      (let [{:keys [value expires principal extensions]} (f config)]
        (TokenProvider$Token. ^String value (long expires) ^String principal
                              ^java.util.Map (into {} (map (fn [[k v]] [(name k) (str v)])) extensions))))))

(defn document
  "A JSON document as Clojure data: keys are keywords with dashes, lists are vectors."
  [x]
  (cond (instance? java.util.Map x)  (persistent!
                                       (reduce (fn [m [k v]]
                                                 (assoc! m (keyword (str/replace k "_" "-")) (document v)))
                                               (transient {}) x))
        (instance? java.util.List x) (mapv document x)
        :else                        x))

(def client-options
  "The options that all clients have, with their specs."
  {:nodes ::nodes, :config ::config, :on-error ::f, :on-log ::f, :on-statistics ::f, :on-throttle ::f, :tokens ::f})

(defn config
  "The Java configuration for checked options; `forced` are properties of ours that are set first."
  ^Config [{:keys [nodes config on-error on-log on-statistics on-throttle tokens]} forced]
  (let [result (Config/create)]
    (doseq [[k value] forced]
      (.set result k value))
    (doseq [[k value] config :when (some? value)]
      (set-property! result k value))
    (when (or nodes (not (or (contains? (.properties result) "bootstrap.servers")
                             (contains? (.properties result) "metadata.broker.list"))))
      (.set result "bootstrap.servers" (bootstrap (or nodes [["localhost" 9092]]))))
    (when on-error
      (.onError result (consumer-of (fn [^KafkaException exception] (on-error exception)))))
    (when on-log
      (.onLog result (consumer-of (fn [^LogLine line] (on-log {:level (.level line), :text (.text line)})))))
    (when on-statistics
      (.onStatistics result (consumer-of (fn [^String json] (on-statistics (document (Json/parse json)))))))
    (when on-throttle
      (.onThrottle result (consumer-of (fn [^Throttle throttle]
                                         (on-throttle {:broker (.broker throttle), :id (.brokerId throttle)
                                                       :millis (.millis throttle)})))))
    (when tokens
      (.tokens result (token-provider tokens)))
    result))

(defn duration
  "Milliseconds as a java.time.Duration; nil is for ever."
  ^Duration [timeout-ms]
  (if (nil? timeout-ms)
    (Duration/ofMillis Long/MAX_VALUE)
    (Duration/ofMillis (check :timeout-ms ::timeout-ms timeout-ms))))
