;; A walk through kafkabi at the REPL: evaluate form by form. What follows ;=> is what comes, but for numbers that differ
;; each time. Nothing needs to be installed: the first form starts a Kafka inside the REPL.

(require '[kafkabi.cluster :as cluster]
         '[kafkabi.consume :as consume]
         '[kafkabi.deserialize :as deserialize]
         '[kafkabi.error :as error]
         '[kafkabi.produce :as produce]
         '[kafkabi.serialize :as serialize])

;; ---- a cluster with one topic of two partitions ----

(def kafka (cluster/start {:topics {"visits" 2}}))

(count (cluster/nodes kafka))
;=> 1

;; ---- a producer, which turns data into bytes by itself ----

(def producer (produce/make {:nodes kafka, :serializer serialize/edn}))

(select-keys @(produce/commit producer {:topic "visits", :partition 0, :key :home, :value {:user 17}})
             [:topic :partition :offset])
;=> {:topic "visits", :partition 0, :offset 0}

(:offset @(produce/commit producer {:topic "visits", :partition 0, :key :shop, :value {:user 18}, :headers {:lang "en"}}))
;=> 1

;; A wrong option says what was meant.
(try (produce/make {:nodez []}) (catch Exception e (select-keys (ex-data e) [:option :nearest])))
;=> {:option :nodez, :nearest :nodes}

;; A failure is data, too.
(try @(produce/commit producer {:topic "visits", :partition 99, :value 1}) (catch Exception e (:name (error/data e))))
;=> :unknown-partition

;; ---- a consumer ----

(def consumer
  (consume/make {:nodes        kafka
                 :config       {:group.id "counter", :auto.offset.reset :earliest}
                 :deserializer deserialize/edn
                 :listen       ["visits"]}))

;; Everything is a reducible: take what you need; only what was handled will be committed.
(into [] (comp (map (juxt :key :value)) (take 1)) (consume/records consumer))
;=> [[:home {:user 17}]]

(map (fn [[header value]] [header (String. ^bytes value)])
     (:headers (first (consume/poll consumer))))
;=> (["lang" "en"])

(consume/offs-current consumer "visits" 0)
;=> 2

(do (consume/commit-sync consumer)
    (consume/committed consumer "visits" 0))
;=> 2

;; Back to the start, and only as far as one looks.
(do (consume/rewind consumer "visits" 0)
    (:key (first (consume/poll-seq consumer))))
;=> :home

;; ---- faults, on request ----

(do (cluster/inject-errors kafka :produce :request-timed-out 1)
    (:offset @(produce/commit producer {:topic "visits", :partition 0, :value :sent-again})))
;=> 2

;; ---- the end ----

(produce/close producer)
;=> nil

(consume/close consumer)
;=> nil

(cluster/stop kafka)
;=> nil
