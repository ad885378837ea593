(ns kafkabi.documents-test
  "What a reader relies on: every public var is documented with its arguments and shapes, named in a test, and compiled
  without reflection."
  (:require [clojure.java.io :as io]
            [clojure.set :as set]
            [clojure.string :as str]
            [clojure.test :refer [deftest is]]
            [kafkabi.admin]
            [kafkabi.cluster]
            [kafkabi.consume]
            [kafkabi.deserialize]
            [kafkabi.error]
            [kafkabi.kafka-serde]
            [kafkabi.produce]
            [kafkabi.serialize])
  (:import (java.io StringWriter)))

(def ^:private public
  '[kafkabi.produce kafkabi.consume kafkabi.admin kafkabi.serialize kafkabi.deserialize kafkabi.cluster kafkabi.error
    kafkabi.kafka-serde])

(def ^:private internal
  '[kafkabi.impl.options kafkabi.impl.convert kafkabi.impl.serde kafkabi.impl.metrics kafkabi.impl.admin
    kafkabi.impl.consumer])

(defn- vars [namespaces]
  (for [namespace namespaces, [_ v] (ns-publics namespace)] v))

(deftest every-var-is-documented
  (doseq [namespace (concat public internal)]
    (is (> (count (:doc (meta (find-ns namespace)))) 40) (str namespace)))
  (doseq [v (vars (concat public internal))]
    (is (> (count (:doc (meta v))) 15) (str v)))
  (doseq [v (vars public)]
    (let [{:keys [doc arglists]} (meta v)]
      (is (seq arglists) (str v))
      (is (str/includes? doc "=> ") (str v " does not say what it gives"))
      (doseq [argument (set (flatten arglists))
              :when    (#{'opts 'callback 'source 'offsets 'record 'filter 'resources 'timeout-ms} argument)]
        (is (or (str/includes? doc (str "@ " argument)) (= 'timeout-ms argument)
                (str/includes? doc (name argument)))
            (str v " does not say what " argument " is"))))))

(deftest every-option-is-documented
  (doseq [[v options] [[#'kafkabi.produce/make @#'kafkabi.produce/options]
                       [#'kafkabi.consume/make @#'kafkabi.consume/options]]
          option      (keys options)]
    (is (str/includes? (:doc (meta v)) (str option)) (str v " " option))))

;; ---- every public var is named in a test ----

(defn- test-files []
  (filter (fn [file] (str/ends-with? (str file) "_test.clj"))
          (file-seq (io/file (System/getProperty "kafkabi.tests")))))

(defn- aliases-of [text]
  (into {} (map (fn [[_ namespace alias]] [alias namespace]))
        (re-seq #"\[(kafkabi\.[a-z.-]+) :as ([A-Za-z.-]+)\]" text)))

(defn- named-in
  "The full names of kafkabi's vars that a text names through these aliases."
  [aliases text]
  (into #{}
        (keep (fn [[_ alias n]]
                (when-let [namespace (aliases alias)] (symbol namespace n))))
        (re-seq #"(?<![\w.:-])([A-Za-z.-]+)/([a-z?!-]+)" text)))

(defn- tests-in
  "[the name of a test, the names of vars in it and in its helpers] for each test of a file."
  [file]
  (let [text      (slurp file)
        namespace (second (re-find #"\(ns (\S+)" text))
        forms     (for [form  (str/split text #"\n\n(?=\()")
                        :let  [[_ kind n] (re-find #"^\((deftest|defreal|defn-|defmacro) (?:\^(?:\{[^}]*\}|\S+)\s+)?([a-z0-9-]+)" form)]
                        :when n]
                    {:test? (#{"deftest" "defreal"} kind), :name n, :named (named-in (aliases-of text) form)
                     :words (set (re-seq #"[a-z0-9-]+" form))})
        helpers   (remove :test? forms)]
    (for [{:keys [test? words named] n :name} forms :when test?]
      [(str namespace "/" n) (transduce (comp (filter (comp words :name)) (map :named)) set/union named helpers)])))

(deftest every-var-is-named-in-a-test
  (let [files  (test-files)
        tested (reduce set/union (map (fn [file] (let [text (slurp file)] (named-in (aliases-of text) text))) files))]
    (is (> (count files) 5))
    (doseq [v (vars public)]
      (is (contains? tested (symbol v)) (str (symbol v) " is in no test")))))

;; ---- what milena has ----

(def ^:private milena
  '{kafkabi.produce     {make #{0 1}, producer? #{1}, commit #{2 3}, flush #{1}, close #{1 2}, metrics #{1}, partitions #{2}
                         trx-init #{1}, trx-begin #{1}, trx-commit #{1}, trx-abort #{1}, trx-offsets #{3}}
    kafkabi.consume     {make #{0 1}, consumer? #{1}, topics #{1}, partitions #{2}, listen #{2 3}, listening #{1}
                         listening? #{2}, pause #{2 3}, paused #{1}, paused? #{2 3}, resume #{1 2 3}, offs-first #{2 3}
                         offs-latest #{2 3}, offs-current #{2 3}, offs-by-ts #{2 4}, seek #{2 4}, rewind #{1 2 3}
                         fast-forward #{1 2 3}, unblock #{1}, close #{1 2}, poll #{1 2}, poll-partitions #{1 2}
                         poll-seq #{1 2}, commit-sync #{1 2}, commit-async #{1 2 3}, committed #{2 3}, metrics #{1}}
    kafkabi.admin       {make #{0 1}, close #{1 2}, cluster #{1}, topics #{1 2}, topics-describe #{2}, topics-create #{2 3}
                         topics-delete #{2}, partitions-create #{2}, config #{2}, config-alter #{2}, acls #{1 2}
                         acls-create #{2}, acls-delete #{2}}
    kafkabi.serialize   {make #{1}, serialize #{3}, boolean #{2}, int #{2}, long #{2}, double #{2}, byte-array #{2}
                         byte-buffer #{2}, string #{2}}
    kafkabi.deserialize {make #{1}, deserialize #{3}, boolean #{2}, int #{2}, long #{2}, double #{2}, byte-array #{2}
                         byte-buffers #{2}, string #{2}}})

(def ^:private tests-shown 3)

(defn- milenas-tests
  "MILENA.md: each of milena's vars and tests that name it: its own examples first, tests of misuse last."
  []
  (let [tests (sort-by (fn [[test _]]
                         [(not (str/includes? test "milena-test")) (some? (re-find #"refused|is-said" test)) test])
                       (mapcat tests-in (test-files)))
        names (for [[namespace functions] (assoc-in milena '[kafkabi.consume safely] #{3}), n (keys functions)]
                (symbol (name namespace) (name n)))]
    (str "# Milena's functions and their tests\n\n"
         "Each var of milena's that has its equal here, and tests in src/test/clojure that call it, three at most. Written and compared by\n"
         "documents_test.clj.\n\n"
         "| var | tests |\n|---|---|\n"
         (str/join (for [n (sort names)]
                     (str "| `" n "` | "
                          (str/join ", " (take tests-shown (keep (fn [[test named]] (when (named n) test)) tests)))
                          " |\n"))))))

(deftest each-of-milenas-functions-has-a-test
  (let [file  (io/file (System/getProperty "kafkabi.tests") "../../../MILENA.md")
        table (milenas-tests)]
    (is (not (re-find #"\|  \|" table)) "each has a test of its own, not only a helper of tests")
    (when (System/getenv "KAFKABI_WRITE_TABLES")
      (spit file table))
    (is (= (slurp file) table) "run this test with KAFKABI_WRITE_TABLES=yes, which writes the table anew")))

(deftest milenas-functions-are-there-with-their-arities
  (doseq [[namespace functions] milena, [n arities] functions]
    (let [v (ns-resolve namespace n)]
      (is (some? v) (str namespace "/" n))
      (is (set/subset? arities (set (map count (:arglists (meta v))))) (str v))))
  (is (:macro (meta #'kafkabi.consume/safely)))
  (is (:macro (meta #'kafkabi.produce/with-transaction))))

;; ---- reflection ----

(deftest nothing-is-called-by-reflection
  (let [messages (StringWriter.)]
    (binding [*warn-on-reflection* true, *err* messages]
      ;; The helpers first: namespaces that are loaded anew need the types of those that were.
      (doseq [namespace '[kafkabi.impl.options kafkabi.impl.convert kafkabi.impl.serde kafkabi.error kafkabi.impl.metrics
                          kafkabi.impl.admin kafkabi.impl.consumer kafkabi.kafka-serde kafkabi.serialize
                          kafkabi.deserialize kafkabi.cluster kafkabi.admin kafkabi.consume kafkabi.produce]]
        (require namespace :reload)))
    (is (= "" (str messages)))))
