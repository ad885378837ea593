(ns kafkabi.error
  "What goes wrong, as data.

  Failures of Kafka are org.kafkabi.KafkaException and its subclasses in org.kafkabi.errors, which have the simple names
  of Apache's client: WakeupException, TimeoutException, ProducerFencedException and so on. A wrong option or argument
  is an ex-info whose data has :option, :given, :expected and, for a name that is not known, :nearest. A future throws
  java.util.concurrent.ExecutionException around the failure when it is dereferenced; `cause` finds the failure in it."
  (:require [clojure.string :as str])
  (:import (java.util.concurrent CompletionException ExecutionException)
           (org.kafkabi KafkaException)))

(set! *warn-on-reflection* true)

(defn cause
  "The failure inside what a future threw: the first cause that is no ExecutionException nor CompletionException.

  => Throwable, or nil for nil"
  ^Throwable [^Throwable exception]
  (if (and (or (instance? ExecutionException exception) (instance? CompletionException exception))
           (some? (.getCause exception)))
    (recur (.getCause exception))
    exception))

(defn data
  "What a failure of Kafka says of itself, nil for other exceptions. Looks inside a future's exception.

  => {:name              keyword of the code, such as :topic-already-exists
      :code              number; positive ones are the brokers' own
      :message           text
      :retriable?        the same call may succeed when it is repeated
      :fatal?            the client is of no more use
      :abort-required?   the open transaction can only be aborted
      :outcome-unknown?  it is not known whether it took effect}"
  [exception]
  (let [failure (cause exception)]
    (when (instance? KafkaException failure)
      (let [^KafkaException failure failure]
        {:name             (-> (.name failure) str/lower-case (str/replace "_" "-") keyword)
         :code             (.code failure)
         :message          (.getMessage failure)
         :retriable?       (.retriable failure)
         :fatal?           (.fatal failure)
         :abort-required?  (.abortRequired failure)
         :outcome-unknown? (.outcomeUnknown failure)}))))

(defn retriable?
  "Whether the same call may succeed when it is repeated.

  => boolean"
  [exception]
  (boolean (:retriable? (data exception))))

(defn fatal?
  "Whether the client is of no more use: close it and make another.

  => boolean"
  [exception]
  (boolean (:fatal? (data exception))))

(defn abort-required?
  "Whether the open transaction can only be aborted.

  => boolean"
  [exception]
  (boolean (:abort-required? (data exception))))
