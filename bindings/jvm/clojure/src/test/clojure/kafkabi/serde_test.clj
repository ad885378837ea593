(ns kafkabi.serde-test
  "Serializers and deserializers: Kafka's encodings, formats, and Kafka's own objects."
  (:require [clojure.test :refer [deftest is testing]]
            [kafkabi.consume :as consume]
            [kafkabi.deserialize :as deserialize]
            [kafkabi.kafka-serde :as kafka-serde]
            [kafkabi.produce :as produce]
            [kafkabi.serialize :as serialize]
            [kafkabi.support :refer [is= throws with-cluster]])
  (:import (java.nio ByteBuffer)
           (java.util Map)
           (org.apache.kafka.common.header Headers)
           (org.apache.kafka.common.serialization BooleanSerializer BooleanDeserializer ByteArraySerializer
             ByteArrayDeserializer ByteBufferSerializer Deserializer DoubleDeserializer DoubleSerializer
             IntegerDeserializer IntegerSerializer LongDeserializer LongSerializer Serdes Serializer
             StringDeserializer StringSerializer)
           (org.kafkabi.errors SerializationException)))

(defn- round [serializer deserializer data]
  (deserialize/deserialize deserializer "t" (serialize/serialize serializer "t" data)))

(deftest encodings-are-kafkas
  (doseq [[ours back theirs ^Deserializer their-back examples]
          [[serialize/boolean deserialize/boolean (BooleanSerializer.) (BooleanDeserializer.) [true false]]
           [serialize/int deserialize/int (IntegerSerializer.) (IntegerDeserializer.)
            [(int 0) (int 1) (int -1) Integer/MAX_VALUE Integer/MIN_VALUE]]
           [serialize/long deserialize/long (LongSerializer.) (LongDeserializer.) [0 1 -1 Long/MAX_VALUE Long/MIN_VALUE]]
           [serialize/double deserialize/double (DoubleSerializer.) (DoubleDeserializer.)
            [0.0 1.5 -1.5 Double/MAX_VALUE Double/MIN_VALUE Double/POSITIVE_INFINITY]]
           [serialize/string deserialize/string (StringSerializer.) (StringDeserializer.) ["" "a" "größe" "語"]]]]
    (doseq [example examples]
      (testing (pr-str example)
        (is= (seq (.serialize ^Serializer theirs "t" example)) (seq (serialize/serialize ours "t" example)))
        (is= example (round ours back example))
        (is= example (.deserialize their-back "t" (serialize/serialize ours "t" example)))))
    (is (nil? (serialize/serialize ours "t" nil)))
    (is (nil? (deserialize/deserialize back "t" nil)))))

(deftest bytes-and-buffers
  (let [bytes (byte-array [1 2 3])]
    (is (identical? bytes (serialize/byte-array "t" bytes)))
    (is (identical? bytes (deserialize/byte-array "t" bytes)))
    (is= [1 2 3] (seq (serialize/byte-buffer "t" (ByteBuffer/wrap bytes))))
    (is= [2 3] (seq (serialize/byte-buffer "t" (.position (ByteBuffer/wrap bytes) 1))))
    (let [buffer (.position (ByteBuffer/wrap bytes) 1)]
      (serialize/byte-buffer "t" buffer)
      (is= 1 (.position buffer)))
    (is= (ByteBuffer/wrap bytes) (deserialize/byte-buffer "t" bytes))
    (is= (ByteBuffer/wrap bytes) (deserialize/byte-buffers "t" bytes)))
  (doseq [f [serialize/byte-array serialize/byte-buffer deserialize/byte-array deserialize/byte-buffer
             deserialize/byte-buffers serialize/edn serialize/json serialize/transit serialize/nippy
             deserialize/edn deserialize/json deserialize/transit deserialize/nippy]]
    (is (nil? (f "t" nil)))))

(deftest what-does-not-fit-is-refused
  (doseq [[f data] [[serialize/boolean 1] [serialize/int "1"] [serialize/int (inc Integer/MAX_VALUE)] [serialize/int 1.5]
                    [serialize/long 1.5] [serialize/long "1"] [serialize/double "1"] [serialize/string 1]
                    [serialize/byte-array "text"] [serialize/byte-buffer "text"]
                    [deserialize/boolean (byte-array [2])] [deserialize/boolean (byte-array 2)]
                    [deserialize/int (byte-array 3)] [deserialize/long (byte-array 4)] [deserialize/double (byte-array 9)]
                    [deserialize/int (byte-array 0)]]]
    (is (instance? SerializationException (throws (f "t" data))) (pr-str data))))

(def ^:private things
  {:a 1, :b [1 2.5 "text" nil true], "c" #{:x}, :nested {:inst #inst "2026-01-01", :uuid #uuid "00000000-0000-0000-0000-000000000001"}})

(deftest formats
  (is= things (round serialize/edn deserialize/edn things))
  (testing "EDN is never cut short by the printer's settings"
    (binding [*print-length* 2, *print-level* 1]
      (is= things (round serialize/edn deserialize/edn things))))
  (is= [:tagged 1] (round (fn [_ _] (.getBytes "#a/b 1"))
                          (deserialize/edn-with {:readers {'a/b (fn [x] [:tagged x])}}) :ignored))
  (is= {:a 1, :b [1 2.5 "text" nil true]} (round serialize/json deserialize/json (select-keys things [:a :b])))
  (is= things (round serialize/transit deserialize/transit things))
  (doseq [type [:json :json-verbose :msgpack]]
    (is= things (round (serialize/transit-with type nil) (deserialize/transit-with type nil) things))))

(deftest nippy-is-used-when-it-is-there
  ;; Nippy itself is not in Maven Central: src/test/clojure/taoensso/nippy.clj has its two functions.
  (is= things (round serialize/nippy deserialize/nippy things)))

(deftest missing-libraries-are-named
  (let [exception (throws ((requiring-resolve 'kafkabi.impl.serde/library) 'no.such.library/f "org.example/thing"))]
    (is= {:kafkabi/error :missing-library, :library "org.example/thing"} (ex-data exception))))

(deftest objects-and-functions
  (let [s (serialize/make (fn [topic data] (.getBytes (str topic data))))
        d (deserialize/make (fn [topic data] [topic (String. ^bytes data)]))]
    (is= "t1" (String. (serialize/serialize s "t" 1)))
    (is= ["t" "a"] (deserialize/deserialize d "t" (.getBytes "a")))
    (is= ["t" "t1"] (round s d 1)))
  (testing "nil reaches functions as nil"
    (is= "none" (String. (serialize/serialize (fn [_ data] (.getBytes (if (nil? data) "none" "some"))) "t" nil)))
    (is= :none (deserialize/deserialize (fn [_ data] (if (nil? data) :none :some)) "t" nil)))
  (is (instance? SerializationException (throws (serialize/serialize (fn [_ _] "text") "t" 1))))
  (is (instance? SerializationException (throws (serialize/serialize (fn [_ _] (throw (ex-info "no" {}))) "t" 1))))
  (is= :serializer (:option (ex-data (throws (serialize/make 5)))))
  (is= :deserializer (:option (ex-data (throws (deserialize/make 5))))))

(deftest objects-of-kafka
  (with-cluster [cluster {"t" 1}]
    (with-open [p (produce/make {:nodes cluster, :serializer-key (StringSerializer.), :serializer-value (LongSerializer.)})
                c (consume/make {:nodes              cluster
                                 :config             {:auto.offset.reset :earliest}
                                 :deserializer-key   (StringDeserializer.)
                                 :deserializer-value (kafka-serde/deserializer (Serdes/Long))
                                 :listen             [["t" 0]]})]
      @(produce/commit p {:topic "t", :key "größe", :value 17})
      (is= [["größe" 17]] (map (juxt :key :value) (consume/poll c 30000)))
      (is (instance? SerializationException (throws (produce/commit p {:topic "t", :key 1, :value 17}))))))
  (testing "headers are written and seen by them"
    (with-cluster [cluster {"t" 1}]
      (with-open [p (produce/make {:nodes      cluster
                                   :serializer (reify Serializer
                                                 (serialize [_ _ headers data]
                                                   (.add headers "type" (.getBytes (str (class data))))
                                                   (some-> data str .getBytes)))})
                  c (consume/make {:nodes        cluster
                                   :config       {:auto.offset.reset :earliest}
                                   :deserializer (reify Deserializer
                                                   (^Object deserialize [_ ^String _topic ^Headers headers ^bytes data]
                                                     [(String. (.value (.lastHeader headers "mine"))) (some-> data String.)]))
                                   :listen       [["t" 0]]})]
        @(produce/commit p {:topic "t", :key :k, :value 1, :headers {:mine "yes"}})
        (let [{:keys [key value headers]} (first (consume/poll c 30000))]
          (is= [["yes" ":k"] ["yes" "1"]] [key value])
          (is= [["mine" "yes"] ["type" "class clojure.lang.Keyword"] ["type" "class java.lang.Long"]]
               (map (fn [[k ^bytes v]] [k (String. v)]) headers))))))
  (is= 5 (round (kafka-serde/serializer (Serdes/Integer)) (kafka-serde/deserializer (Serdes/Integer)) (int 5)))
  (testing "settings reach configure"
    (let [seen (promise)
          f    (kafka-serde/serializer (reify Serializer
                                         (^void configure [_ ^Map settings ^boolean key?] (deliver seen [(into {} settings) key?]))
                                         (serialize [_ _ data] (byte-array [data])))
                                       {:some.setting 5} true)]
      (is= [{"some.setting" 5} true] @seen)
      (is= [7] (seq (f "t" 7)))))
  (is= "ab" (round (kafka-serde/serializer (StringSerializer.) {:serializer.encoding "UTF-16"} false)
                   (kafka-serde/deserializer (StringDeserializer.) {:deserializer.encoding "UTF-16"} false) "ab"))
  (is= [1] (seq (round (ByteArraySerializer.) (ByteArrayDeserializer.) (byte-array [1]))))
  (is= [1] (seq (serialize/serialize (ByteBufferSerializer.) "t" (ByteBuffer/wrap (byte-array [1]))))))
