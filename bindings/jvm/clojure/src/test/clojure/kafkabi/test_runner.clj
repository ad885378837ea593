(ns kafkabi.test-runner
  "Runs the Clojure tests, several at once, prints one line a test, and ends with \"N passed, N failed\". The counts go to a report that
  scripts/test-jvm reads with those of the Java tests. An argument runs only the tests whose full name has that text in it, or
  one of several with commas between."
  (:require [clojure.java.io :as io]
            [clojure.string :as str]
            [clojure.test :as t])
  (:import (java.util.concurrent Callable Executors ExecutorService Future FutureTask TimeUnit TimeoutException))
  (:gen-class))

(def ^:private namespaces
  ;; The documents last, and alone: they load everything anew.
  '[kafkabi.options-test kafkabi.serde-test kafkabi.produce-test kafkabi.consume-test kafkabi.stream-test
    kafkabi.safety-test kafkabi.admin-test kafkabi.cluster-test kafkabi.milena-test kafkabi.examples-test
    kafkabi.real-test kafkabi.documents-test])

(def ^:private limit-seconds 120)

(defn- run-limited
  "Runs a test on a thread of its own; one that hangs fails, with the stacks of all threads."
  [v]
  (let [task   (FutureTask. ^Callable (bound-fn [] (t/test-var v)))
        thread (doto (Thread. task "test") (.setDaemon true) .start)]
    (try
      (.get task limit-seconds TimeUnit/SECONDS)
      (catch TimeoutException _
        (doseq [[^Thread other stack] (Thread/getAllStackTraces)]
          (println (str (.getName other) "\n  " (str/join "\n  " stack))))
        (.interrupt thread)
        (t/do-report {:type :error, :expected "an end in time", :actual (TimeoutException. (str "no end after " limit-seconds " s"))})))))

(defn- say
  "A line in one piece, whatever other threads say."
  [line]
  (print (str line "\n"))
  (flush))

(defn- run-var [v]
  (binding [t/*report-counters* (ref t/*initial-report-counters*)
            t/*testing-vars*    (list v)]
    (let [began (System/nanoTime)]
      (run-limited v)
      (let [{:keys [pass fail error]} @t/*report-counters*
            failed? (pos? (+ fail error))
            skipped (:skipped (meta v))]
        (say (format "%s %s/%s (%d checks, %d ms)"
                     (cond failed? "FAILED " (and skipped (skipped)) "SKIPPED" :else "ok     ")
                     (ns-name (:ns (meta v))) (:name (meta v)) (+ pass fail error)
                     (quot (- (System/nanoTime) began) 1000000)))
        (cond failed? :failed (and skipped (skipped)) :skipped (zero? pass) :failed :else :passed)))))

(def ^:private at-once
  "They wait more than they compute."
  4)

(defn- run-vars
  "[test outcome] of each."
  [vars]
  (let [alone?  (fn [v] (= 'kafkabi.documents-test (ns-name (:ns (meta v)))))
        threads (Executors/newFixedThreadPool at-once)
        task    (fn [v] (.submit ^ExecutorService threads ^Callable (fn [] [v (run-var v)])))
        results (mapv (fn [^Future task] (.get task)) (mapv task (remove alone? vars)))]
    (.shutdown threads)
    (into results (map (juxt identity run-var)) (filter alone? vars))))

(defn- tests-of [namespace]
  (require namespace)
  (sort-by (comp :line meta) (filter (comp :test meta) (vals (ns-interns namespace)))))

(defn- write-report
  "Counts, and the names of tests that were skipped, as surefire writes them; a file for each JDK."
  [folder results]
  (let [file    (io/file folder (str "TEST-kafkabi-clojure-" (.feature (Runtime/version)) ".xml"))
        counts  (frequencies (map second results))
        skipped (for [[v result] results :when (= :skipped result)]
                  (format "  <testcase name=\"%s\" classname=\"%s\">%n    <skipped message=\"it needs real brokers\"/>%n  </testcase>%n"
                          (:name (meta v)) (ns-name (:ns (meta v)))))]
    (io/make-parents file)
    (spit file (format "<testsuite name=\"kafkabi-clojure\" tests=\"%d\" errors=\"0\" failures=\"%d\" skipped=\"%d\">%n%s</testsuite>%n"
                       (count results) (:failed counts 0) (:skipped counts 0) (str/join skipped)))))

(defn -main [& [texts]]
  (let [wanted  (if (or (nil? texts) (= "." texts)) [""] (str/split texts #","))
        chosen  (for [namespace namespaces
                      v         (tests-of namespace)
                      :when     (some (partial str/includes? (str (symbol v))) wanted)]
                  v)
        results (run-vars (doall chosen)) ; all namespaces are loaded first
        counts  (frequencies (map second results))]
    (when-let [folder (System/getProperty "kafkabi.reports")]
      (write-report folder results))
    (when (:skipped counts)
      (println (:skipped counts) "SKIPPED, which need real brokers: scripts/test-jvm says how"))
    (println (str (:passed counts 0) " passed, " (:failed counts 0) " failed"))
    (flush)
    (System/exit (if (and (zero? (:failed counts 0)) (pos? (:passed counts 0))) 0 1))))
