(ns kafkabi.examples-test
  "The programs of examples/clojure, and the Clojure code of the guide."
  (:require [clojure.java.io :as io]
            [clojure.string :as str]
            [clojure.test :refer [deftest is testing]]
            [kafkabi.support :refer [fresh is=]])
  (:import (java.io PushbackReader StringReader)))

(defn- example [file]
  (io/file (System/getProperty "kafkabi.examples") file))

(defn- quietly [f]
  (binding [*out* (java.io.StringWriter.)]
    (f)))

(deftest quick-start
  (load-file (str (example "quick_start.clj")))
  (is= [{:id "1", :item :tea, :n 2} {:id "2", :item :coffee, :n 1} {:id "3", :item :milk, :n 5}]
       (quietly @(resolve 'quick-start/run))))

(deftest exactly-once
  (load-file (str (example "exactly_once.clj")))
  (if-let [brokers (System/getenv "KABI_KAFKA_SINGLE")]
    (is= [0 2 4 6 8]
         (quietly (fn [] ((resolve 'exactly-once/run) [brokers] (fresh "in") (fresh "out") (fresh "copier")))))
    (is (some? (resolve 'exactly-once/copy)))))

(defn- steps
  "The forms of a text, each with the result that stands after it, if one does."
  [text]
  (let [marked (str/replace text #"(?m)^;=> (.*)$" (fn [[_ result]] (str "[:kafkabi/gives " result "]")))
        reader (PushbackReader. (StringReader. marked))]
    (loop [steps []]
      (let [form (read {:eof ::end} reader)]
        (cond (= ::end form)                                          steps
              (and (vector? form) (= :kafkabi/gives (first form)))    (recur (assoc-in steps [(dec (count steps)) 1] form))
              :else                                                   (recur (conj steps [form nil])))))))

(defn- walk [text]
  (let [namespace (create-ns (gensym "kafkabi.walk"))]
    (binding [*ns* namespace]
      (clojure.core/refer-clojure)
      (doseq [[form gives] (steps text)]
        (let [result (eval form)]
          (when gives
            (testing (pr-str form)
              (is= (second gives) result))))))))

(deftest repl-walk
  (let [text (slurp (example "repl_walk.clj"))]
    (is (> (count (filter second (steps text))) 10))
    (walk text)))

(defn- blocks [file]
  (map second (re-seq #"(?s)```clojure\n(.*?)```" (slurp file))))

(deftest guide
  (let [blocks (blocks (io/file (System/getProperty "kafkabi.tests") "../../../README.md"))]
    (is (> (count blocks) 5))
    (walk (str/join "\n" (remove (fn [block] (str/includes? block ":mvn/version")) blocks)))))

(deftest readme-of-the-repository
  (let [[block :as blocks] (blocks (example "../../README.md"))]
    (is= 1 (count blocks))
    (is= 2 (count (filter second (steps block))))
    (walk block)))
