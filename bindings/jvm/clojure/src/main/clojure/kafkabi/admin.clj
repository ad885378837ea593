(ns kafkabi.admin
  "Everything about administration.

  Requests don't block: they give futures, or maps of futures by what was asked for, so that what fails for one topic fails
  its future alone. A future throws ExecutionException around the failure, an org.kafkabi.KafkaException, when it is
  dereferenced. Admins are safe for use by any number of threads, and java.io.Closeable: use `with-open`.

  The embedded cluster answers `topics`, `topics-describe`, and most of what is about groups and offsets; the rest needs a
  real broker."
  (:require [clojure.string :as str]
            [kafkabi.impl.admin :as impl]
            [kafkabi.impl.convert :as convert]
            [kafkabi.impl.metrics :as metrics]
            [kafkabi.impl.options :as options])
  (:import (java.io Closeable)
           (java.util.concurrent CompletableFuture)))

(set! *warn-on-reflection* true)

(deftype Admin [^org.kafkabi.Admin java]
  Closeable
  (close [_] (.close java)))

(alter-meta! #'->Admin assoc :private true)

(defn- java ^org.kafkabi.Admin [^Admin a]
  (.-java a))

(defn make
  "Makes an admin. It connects in the background.

  @ opts  nil, or {:nodes  [[\"host\" port] ...], or an embedded cluster; default [[\"localhost\" 9092]]
                   :config {property value}, as kafkabi.produce/make
                   :on-error :on-log :on-statistics :on-throttle :tokens  as kafkabi.produce/make}

  => admin

  Throws an ex-info with :option, :given, :expected and :nearest for what is wrong with the options."
  (^Closeable [] (make nil))
  (^Closeable [opts]
   (Admin. (org.kafkabi.Admin. (options/config (options/check-options "an admin" opts options/client-options) {})))))

(defn admin?
  "Is x an admin of `make`?

  => boolean"
  [x]
  (instance? Admin x))

(defn close
  "Closes: waits until requests under way are answered, but no longer than the time-out (30 seconds without one); the rest
  fails.

  => nil"
  ([^Admin a]
   (.close a))
  ([a timeout-ms]
   (.close (java a) (options/duration timeout-ms))))

(defn request
  "Makes any operation of api/admin.schema.json, also those that have no function here, such as \"leaders_elect\" and
  \"scram_users_alter\".

  @ operation  its name, a text or a keyword
  @ arguments  its arguments: {name value}, names as texts or keywords, with _ or - between words
  @ opts       nil, or {:timeout-ms}

  => future of the answer: names are keywords with -, lists are vectors; what fails for one item is in its
     :status {:code :name :text}"
  (^CompletableFuture [a operation arguments] (request a operation arguments nil))
  (^CompletableFuture [a operation arguments opts]
   (let [{:keys [timeout-ms]} (options/check-options "a request" opts {:timeout-ms ::options/timeout-ms})
         text  (fn [x] (str/replace (name x) "-" "_"))
         plain (fn plain [x]
                 (cond (map? x)                          (into {} (map (fn [[k v]]
                                                                         [(if (keyword? k) (text k) k) (plain v)]))
                                                               x)
                       (or (sequential? x) (set? x))     (mapv plain x)
                       (keyword? x)                      (text x)
                       :else                             x))]
     (impl/request (java a) (text operation) (plain arguments) timeout-ms))))

(defn- topic-names [topics]
  (when-not (and (coll? topics) (every? string? topics))
    (options/wrong! :topics topics "a list of topics"))
  (vec topics))

(defn- by-topic [m expected]
  (when-not (and (map? m) (every? string? (keys m)))
    (options/wrong! :topics m expected))
  m)

(def ^:private change-options {:timeout-ms ::options/timeout-ms, :fake? ::options/flag})

(defn- checked-change-options [opts]
  (options/check-options "the request" opts change-options))

(defn- texts [m]
  (into {} (map (fn [[k v]] [(options/property-name k) (if (keyword? v) (name v) (str v))])) m))

;; ---- the cluster ----

(defn cluster
  "What the cluster consists of.

  => {:id future of text, :nodes future of [node], :controller future of node or nil},
     where a node is {:host :port :rack :id}"
  [a]
  (let [described (impl/request (java a) "cluster_describe" {} nil)]
    {:id         (convert/then described :id)
     :nodes      (convert/then described (fn [answer] (mapv convert/node (:brokers answer))))
     :controller (convert/then described (comp convert/node :controller))}))

;; ---- topics ----

(defn topics
  "The topics that there are.

  @ opts  nil, or {:internal? whether Kafka's own are wanted too, :timeout-ms}

  => future of {name {:internal? boolean}}"
  (^CompletableFuture [a] (topics a nil))
  (^CompletableFuture [a opts]
   (let [{:keys [internal? timeout-ms]} (options/check-options "topics" opts {:internal?  ::options/flag
                                                                               :timeout-ms ::options/timeout-ms})]
     (convert/then (impl/metadata (java a) nil timeout-ms)
                   (fn [topics]
                     (into {}
                           (comp (map (fn [topic] [topic {:internal? (contains? impl/internal-topics topic)}]))
                                 (filter (fn [[_ topic]] (or internal? (not (:internal? topic))))))
                           (keys topics)))))))

(defn topics-describe
  "Describes topics.

  => {name future of {:internal?  boolean
                      :partitions [{:partition :leader node-or-nil :replicas [node with :synced?]}]}}"
  [a topics]
  (let [topics (topic-names topics)]
    (if (empty? topics)
      {}
      (let [answer (impl/metadata (java a) topics nil)]
        (into {}
              (map (fn [topic]
                     [topic (convert/then answer
                                          (fn [found]
                                            {:internal?  (contains? impl/internal-topics topic)
                                             :partitions (mapv (fn [partition] (dissoc partition :topic))
                                                               @(get found topic))}))]))
              topics)))))

(defn- placement [assignments]
  (if (map? assignments)
    (mapv val (sort-by key assignments))
    (mapv vec assignments)))

(def ^:private new-topic
  {:partitions ::options/any, :replication-factor ::options/any, :assignments ::options/any, :config ::options/config})

(defn topics-create
  "Creates topics.

  @ topics  {name {:partitions         how many; without it the brokers' default
                   :replication-factor how many copies of each; without it the brokers' default
                   :assignments        in place of these two: {partition [broker id]}, the first one leads
                   :config             {property value}}}
  @ opts    nil, or {:timeout-ms, :fake? only have the brokers check whether it could be done}

  => {name future of nil}"
  ([a topics] (topics-create a topics nil))
  ([a topics opts]
   (let [{:keys [timeout-ms fake?]} (checked-change-options opts)
         document (fn [[topic arguments]]
                    (let [{:keys [partitions replication-factor assignments config]}
                          (options/check-options (str "the topic " topic) arguments new-topic)]
                      (cond-> {"topic" topic, "configs" (texts config)}
                        assignments       (assoc "placement" (placement assignments))
                        (not assignments) (assoc "partitions" partitions, "replication" replication-factor))))]
     (by-topic topics "a map of topics to {:partitions :replication-factor :assignments :config}")
     (if (empty? topics)
       {}
       (impl/per-item (keys topics)
                      (impl/request (java a) "topics_create"
                                    {"topics" (mapv document topics), "validate_only" (boolean fake?)} timeout-ms)
                      :topics (constantly nil))))))

(defn topics-delete
  "Deletes topics and all that is in them.

  @ opts  nil, or {:timeout-ms}

  => {name future of nil}"
  ([a topics] (topics-delete a topics nil))
  ([a topics opts]
   (let [{:keys [timeout-ms]} (options/check-options "the request" opts {:timeout-ms ::options/timeout-ms})
         topics (topic-names topics)]
     (if (empty? topics)
       {}
       (impl/per-item topics (impl/request (java a) "topics_delete" {"topics" topics} timeout-ms)
                      :topics (constantly nil))))))

(defn partitions-create
  "Gives topics more partitions.

  @ topics  {name {:n how many the topic is to have in all, :assignments [[broker id] ...] of the new ones, or nil}}
  @ opts    nil, or {:timeout-ms, :fake? only have the brokers check whether it could be done}

  => {name future of nil}"
  ([a topics] (partitions-create a topics nil))
  ([a topics opts]
   (let [{:keys [timeout-ms fake?]} (checked-change-options opts)
         document (fn [[topic arguments]]
                    (let [{:keys [n assignments]}
                          (options/check-options (str "the topic " topic) arguments {:n           ::options/partition
                                                                                     :assignments ::options/any})]
                      (cond-> {"topic" topic, "total" (options/check :n ::options/partition n)}
                        assignments (assoc "placement" (placement assignments)))))]
     (by-topic topics "a map of topics to {:n :assignments}")
     (if (empty? topics)
       {}
       (impl/per-item (keys topics)
                      (impl/request (java a) "partitions_create"
                                    {"topics" (mapv document topics), "validate_only" (boolean fake?)} timeout-ms)
                      :topics (constantly nil))))))

;; ---- configurations ----

(def ^:private owners {:topics "topic", :brokers "broker", :groups "group"})

(def ^:private resource-options (zipmap (keys owners) (repeat ::options/any)))

(defn- resource-requests
  "{owner {name future}}: brokers are asked one by one, since a request takes only one of them; others together."
  [a operation resources document extra timeout-ms reader]
  (into {}
        (map (fn [[owner wanted]]
               (let [entries (seq wanted)
                     groups  (if (= owner :brokers) (map list entries) (when entries [entries]))
                     key-of  (fn [entry] (if (map? wanted) (key entry) entry))]
                 [owner
                  (into {}
                        (mapcat (fn [group]
                                  (impl/per-item (map key-of group)
                                                 (impl/request (java a) operation
                                                               (merge {"resources" (mapv (partial document owner) group)}
                                                                      extra)
                                                               timeout-ms)
                                                 :resources reader)))
                        groups)])))
        resources))

(defn config
  "The configuration of topics, brokers and groups.

  @ resources  {:topics #{name} :brokers #{id} :groups #{name}}, any of them

  => {:topics {name future of {:config-name {:name :value :default? :read-only? :sensitive?}}}, :brokers ..., :groups ...};
     of what was asked for. The keys of the innermost map are keywords of the properties' names, such as :retention.ms"
  [a resources]
  (resource-requests a "configs_describe" (options/check-options "config" resources resource-options)
                     (fn [owner resource] {"type" (owners owner), "name" (str resource)})
                     {} nil
                     (fn [{:keys [properties]}]
                       (into {}
                             (map (fn [{:keys [name value default read-only sensitive]}]
                                    [(keyword name) {:name       name
                                                     :value      value
                                                     :default?   default
                                                     :read-only? read-only
                                                     :sensitive? sensitive}]))
                             properties))))

(defn config-alter
  "Gives topics, brokers and groups a whole new configuration: properties that are not named go back to their defaults.
  `config-update` leaves them alone.

  @ resources  {:topics {name {property value}} :brokers {id {property value}} :groups {name {property value}}}
  @ opts       nil, or {:timeout-ms, :fake? only have the brokers check it}

  => {:topics {name future of nil} :brokers ... :groups ...}, of what was asked for"
  ([a resources] (config-alter a resources nil))
  ([a resources opts]
   (let [{:keys [timeout-ms fake?]} (checked-change-options opts)]
     (resource-requests a "configs_alter" (options/check-options "config-alter" resources resource-options)
                        (fn [owner [resource properties]]
                          {"type" (owners owner), "name" (str resource), "configs" (texts properties)})
                        {"validate_only" (boolean fake?)} timeout-ms (constantly nil)))))

(defn config-update
  "Changes some properties of topics, brokers and groups; the others stay. nil takes a property back to its default.

  @ resources  {:topics {name {property value-or-nil}} :brokers {id ...} :groups {name ...}}
  @ opts       nil, or {:timeout-ms, :fake? only have the brokers check it}

  => {:topics {name future of nil} :brokers ... :groups ...}, of what was asked for"
  ([a resources] (config-update a resources nil))
  ([a resources opts]
   (let [{:keys [timeout-ms fake?]} (checked-change-options opts)
         change (fn [[k v]]
                  (if (nil? v)
                    {"name" (options/property-name k), "operation" "delete"}
                    {"name" (options/property-name k), "operation" "set", "value" (if (keyword? v) (name v) (str v))}))]
     (resource-requests a "configs_alter_incremental"
                        (options/check-options "config-update" resources resource-options)
                        (fn [owner [resource properties]]
                          {"type" (owners owner), "name" (str resource), "changes" (mapv change properties)})
                        {"validate_only" (boolean fake?)} timeout-ms (constantly nil)))))

;; ---- access control ----

(def ^:private operation-names {:alter-config "alter_configs", :describe-config "describe_configs"})

(def ^:private acl-words
  {:type       #{:any :cluster :group :topic :transactional-id}
   :pattern    #{:any :match :literal :prefixed}
   :operation  #{:all :alter :alter-config :alter-configs :any :cluster-action :create :delete :describe :describe-config
                 :describe-configs :idempotent-write :read :write}
   :permission #{:allow :any :deny}})

(defn- acl-word [field word]
  (when-not (contains? (acl-words field) word)
    (options/fail! (str "the " (name field) " of an ACL is " (pr-str word) ": there are "
                        (str/join ", " (sort (acl-words field))))
                   {:option field, :given word, :expected (acl-words field)
                    :nearest (when (keyword? word) (options/nearest word (acl-words field)))}))
  (get operation-names word (str/replace (name word) "-" "_")))

(defn- acl-document
  "An ACL or a filter as a document; what a filter leaves open is absent."
  [{:keys [resource access-control]}]
  (let [{:keys [type pattern]}                           (options/check-options "the :resource of an ACL" resource
                                                                                {:name    ::options/any
                                                                                 :type    ::options/any
                                                                                 :pattern ::options/any})
        {:keys [principal host operation permission]}    (options/check-options "the :access-control of an ACL"
                                                                                access-control
                                                                                {:principal  ::options/any
                                                                                 :host       ::options/any
                                                                                 :operation  ::options/any
                                                                                 :permission ::options/any})
        resource-name                                    (:name resource)]
    (cond-> {}
      resource-name (assoc "resource" resource-name)
      type          (assoc "resource_type" (acl-word :type type))
      pattern       (assoc "pattern" (acl-word :pattern pattern))
      principal     (assoc "principal" principal)
      host          (assoc "host" host)
      operation     (assoc "operation" (acl-word :operation operation))
      permission    (assoc "permission" (acl-word :permission permission)))))

(defn- word [text]
  (keyword (str/replace text "_" "-")))

(defn- acl-map [{:keys [resource resource-type pattern principal host operation permission]}]
  {:resource       {:name resource, :type (word resource-type), :pattern (word pattern)}
   :access-control {:principal principal, :host host, :operation (word operation), :permission (word permission)}})

(def ^:private acl-options {:resource ::options/any, :access-control ::options/any})

(defn- check-acl [what x]
  (options/check-options what x acl-options))

(defn acls
  "The rules of access control, or those that fit in every field that the filter has.

  @ filter  nil, or {:resource       {:name text, :type keyword, :pattern keyword}
                     :access-control {:principal text, :host text, :permission keyword, :operation keyword}},
            any of which may be absent.
            Types: :any :cluster :group :topic :transactional-id. Patterns: :any :match :literal :prefixed.
            Permissions: :allow :any :deny. Operations: :all :alter :alter-configs :any :cluster-action :create :delete
            :describe :describe-configs :idempotent-write :read :write

  => future of [acl], each a map of the same shape. It is empty too where brokers refuse to tell, such as brokers without an
     authorizer: librdkafka passes that over"
  (^CompletableFuture [a] (acls a nil))
  (^CompletableFuture [a filter]
   (-> (impl/request (java a) "acls_describe" {"filter" (acl-document (check-acl "a filter of ACLs" filter))} nil)
       (convert/then (fn [answer] (mapv acl-map (:acls answer)))))))

(defn acls-create
  "Creates rules.

  @ acls  [{:resource {:name :type :pattern} :access-control {:principal :host :permission :operation}}]; :pattern is
          :literal without one, :host \"*\"

  => {acl future of nil}, the keys being the ACLs as they were given"
  [a acls]
  (let [document (fn [acl]
                   (let [document (merge {"host" "*", "pattern" "literal"} (acl-document (check-acl "an ACL" acl)))]
                     (doseq [field ["resource" "resource_type" "principal" "operation" "permission"]]
                       (when-not (contains? document field)
                         (options/wrong! (keyword (str/replace field "_" "-")) nil (str "an ACL with it: " (pr-str acl)))))
                     document))
        acls     (vec acls)]
    (if (empty? acls)
      {}
      (impl/per-item acls (impl/request (java a) "acls_create" {"acls" (mapv document acls)} nil)
                     :acls (constantly nil)))))

(defn acls-delete
  "Deletes the rules that fit a filter in every field that it has. An empty filter fits all rules.

  @ filters  list of filters, each as `acls` takes it

  => {filter future of [{:exception exception-or-nil, :acl acl}]}, of the rules that were to be deleted"
  [a filters]
  (let [filters (vec filters)]
    (if (empty? filters)
      {}
      (impl/per-item filters
                     (impl/request (java a) "acls_delete"
                                   {"filters" (mapv (comp acl-document (partial check-acl "a filter of ACLs")) filters)}
                                   nil)
                     :filters
                     (fn [{:keys [acls]}]
                       (mapv (fn [acl] {:exception (impl/exception acl), :acl (acl-map acl)}) acls))))))

;; ---- groups ----

(defn groups
  "The groups that there are.

  => future of [{:group text, :state keyword such as :stable, :type :classic or :consumer, :simple? boolean}]"
  ^CompletableFuture [a]
  (-> (impl/request (java a) "groups_list" {} nil)
      (convert/then (fn [answer]
                      (run! impl/checked (map (fn [status] {:status status}) (:errors answer)))
                      (mapv (fn [{:keys [group state type simple]}]
                              {:group group, :state (word state), :type (word type), :simple? simple})
                            (:groups answer))))))

(defn groups-describe
  "Describes groups.

  => {group future of {:group :state :type :simple? :assignor text, :coordinator node-or-nil,
                       :members [{:id :client :host :instance text-or-nil, :partitions #{[topic partition]}}]}}"
  [a groups]
  (let [groups (vec groups)]
    (if (empty? groups)
      {}
      (impl/per-item groups (impl/request (java a) "groups_describe" {"groups" groups} nil) :groups
                     (fn [{:keys [group state type simple assignor coordinator members]}]
                       {:group       group
                        :state       (word state)
                        :type        (word type)
                        :simple?     simple
                        :assignor    assignor
                        :coordinator (convert/node coordinator)
                        :members     (mapv (fn [{:keys [member client host instance assignment]}]
                                             {:id         member
                                              :client     client
                                              :host       host
                                              :instance   instance
                                              :partitions (into #{} (map (juxt :topic :partition)) assignment)})
                                           members)})))))

(defn groups-delete
  "Deletes groups, which must be empty, with all that they have committed.

  => {group future of nil}"
  [a groups]
  (let [groups (vec groups)]
    (if (empty? groups)
      {}
      (impl/per-item groups (impl/request (java a) "groups_delete" {"groups" groups} nil) :groups (constantly nil)))))

(defn- tp-documents [tps]
  (mapv (fn [tp]
          (let [tp (convert/topic-partition tp)]
            {"topic" (.topic tp), "partition" (.partition tp)}))
        tps))

(defn group-offsets
  "What a group has committed, of all partitions or of these.

  => future of {[topic partition] {:offset of the next record to read, or nil, :metadata text}}"
  (^CompletableFuture [a group] (group-offsets a group nil))
  (^CompletableFuture [a group tps]
   (-> (impl/request (java a) "group_offsets_list"
                     (cond-> {"group" (options/check :group ::options/topic group)}
                       tps (assoc "partitions" (tp-documents tps)))
                     nil)
       (convert/then (fn [answer]
                       (into {}
                             (map (fn [{:keys [topic partition offset metadata] :as item}]
                                    (impl/checked item)
                                    [[topic partition] {:offset offset, :metadata metadata}]))
                             (:partitions (impl/checked answer))))))))

(defn- by-partition
  "{[topic partition] future} of the items of an answer about one group, which may fail as a whole."
  [tps answer]
  (impl/per-item tps (convert/then answer impl/checked) :partitions (constantly nil)))

(defn group-offsets-alter
  "Commits offsets for a group that has no members now.

  @ offsets  {[topic partition] offset}, each that of the next record to read; {:offset :metadata} keeps a text with it

  => {[topic partition] future of nil}"
  [a group offsets]
  (let [document (fn [[tp committed]]
                   (let [committed (convert/offset-and-metadata committed)]
                     (merge (first (tp-documents [tp]))
                            {"offset" (.offset committed), "metadata" (.metadata committed)})))]
    (if (empty? offsets)
      {}
      (by-partition (keys offsets)
                    (impl/request (java a) "group_offsets_alter"
                                  {"group"   (options/check :group ::options/topic group)
                                   "offsets" (mapv document offsets)}
                                  nil)))))

(defn group-offsets-delete
  "Deletes what a group has committed of these partitions, whose topics nobody in it reads.

  => {[topic partition] future of nil}"
  [a group tps]
  (if (empty? tps)
    {}
    (by-partition tps
                  (impl/request (java a) "group_offsets_delete"
                                {"group" (options/check :group ::options/topic group), "partitions" (tp-documents tps)}
                                nil))))

;; ---- records and offsets ----

(defn records-delete
  "Deletes the records before an offset; -1 stands for the end.

  @ offsets  {[topic partition] offset}

  => {[topic partition] future of {:offset the first offset that there is now}}"
  [a offsets]
  (if (empty? offsets)
    {}
    (impl/per-item (keys offsets)
                   (impl/request (java a) "records_delete"
                                 {"partitions" (mapv (fn [[tp offset]]
                                                       (assoc (first (tp-documents [tp]))
                                                              "before" (convert/checked-offset offset)))
                                                     offsets)}
                                 nil)
                   :partitions
                   (fn [{:keys [first-offset]}] {:offset first-offset}))))

(defn offsets
  "The offsets at some place of partitions.

  @ places  {[topic partition] place}: :earliest, :latest (the offset after the last record), :max-timestamp (the record
            with the latest timestamp), or a time in milliseconds since 1970 (the first record at or after it)
  @ opts    nil, or {:isolation :read-uncommitted (default) or :read-committed, :timeout-ms}

  => {[topic partition] future of {:offset number-or-nil, :timestamp number-or-nil}}"
  ([a places] (offsets a places nil))
  ([a places opts]
   (let [{:keys [isolation timeout-ms]} (options/check-options "offsets" opts {:isolation  ::options/any
                                                                               :timeout-ms ::options/timeout-ms})
         known    #{:earliest :latest :max-timestamp}
         document (fn [[tp place]]
                    (merge (first (tp-documents [tp]))
                           (cond (contains? known place) {"at" (str/replace (name place) "-" "_")}
                                 (nat-int? place)        {"at" "timestamp", "timestamp" place}
                                 :else (options/wrong! :place place
                                                       ":earliest, :latest, :max-timestamp, or milliseconds since 1970"))))]
     (if (empty? places)
       {}
       (impl/per-item (keys places)
                      (impl/request (java a) "offsets_list"
                                    (cond-> {"partitions" (mapv document places)}
                                      isolation (assoc "isolation" (str/replace (name isolation) "-" "_")))
                                    timeout-ms)
                      :partitions
                      (fn [{:keys [offset timestamp]}]
                        {:offset    (when (and offset (nat-int? offset)) offset)
                         :timestamp (when (and timestamp (nat-int? timestamp)) timestamp)}))))))

(defn lag
  "How far a group is behind: of each partition that it has committed in, the records beyond what it committed.

  => future of {[topic partition] number}"
  ^CompletableFuture [a group]
  (-> (group-offsets a group)
      (convert/then-future
        (fn [committed]
          (let [committed (into {} (filter (comp :offset val)) committed)]
            (if (empty? committed)
              (CompletableFuture/completedFuture {})
              (-> (impl/request (java a) "offsets_list"
                                {"partitions" (mapv (fn [document] (assoc document "at" "latest"))
                                                    (tp-documents (keys committed)))}
                                nil)
                  (convert/then (fn [answer]
                                  (into {}
                                        (map (fn [item]
                                               (let [{:keys [topic partition offset]} (impl/checked item)
                                                     tp [topic partition]]
                                                 [tp (max 0 (- (long offset) (long (get-in committed [tp :offset]))))])))
                                        (:partitions answer)))))))))))

(defn metrics
  "The figures of the admin now. Those of librdkafka are there with the property statistics.interval.ms.

  => {:group/name {:description text, :tags {tag text}, :value value}}, as kafkabi.produce/metrics"
  [a]
  (metrics/metrics (.metrics (java a))))
