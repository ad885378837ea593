;;;; The packages of the library that stands in for cl-rdkafka: its names and nothing else.

(macrolet
    ((define-low-level ()
       (flet ((status-name (keyword localp)
                (format nil "RD-KAFKA-RESP-ERR-~:[~;-~]~A" localp keyword)))
         `(defpackage #:cl-rdkafka/low-level
            (:use)
            (:nicknames #:cl-rdkafka/ll)
            (:documentation "The symbols that cl-rdkafka's error codes and offsets go by. A code is a
symbol, whose value it is itself; the functions of librdkafka are not here.")
            (:export #:rd-kafka-offset-beginning #:rd-kafka-offset-end #:rd-kafka-offset-stored
                     #:rd-kafka-offset-invalid #:rd-kafka-offset-tail
                     #:rd-kafka-resp-err-no-error #:rd-kafka-resp-err--begin #:rd-kafka-resp-err--end
                     ,@(loop for (code keyword localp) in kabi-ll:*statuses*
                             ;; Below are those that only kafkabi knows, and 0 has a name of its own.
                             unless (or (<= code -1000) (zerop code))
                               collect (status-name keyword localp)))))))
  (define-low-level))

(defpackage #:cl-rdkafka
  (:use #:cl)
  (:nicknames #:kf)
  (:shadow #:close)
  (:documentation "Stands in for the library cl-rdkafka: programs that were written for it run with kafkabi.
The guide beside this file has what differs.")

  ;; Restarts are found by their symbols.
  (:import-from #:kafkabi #:store-function #:retry-operation)

  ;; producers
  (:export #:producer #:send #:flush
           #:initialize-transactions #:begin-transaction #:commit-transaction #:abort-transaction
           #:send-offsets-to-transaction)

  ;; consumers
  (:export #:consumer #:poll #:seek #:seek-to-beginning #:seek-to-end
           #:subscribe #:unsubscribe #:subscription #:assign #:assignment
           #:commit #:committed #:pause #:resume
           #:member-id #:offsets-for-times #:watermarks #:positions #:close)

  ;; messages
  (:export #:message #:key #:value #:topic #:partition #:offset #:timestamp #:headers)

  ;; futures
  (:export #:future #:then #:donep)

  ;; conditions, their readers, and restarts
  (:export #:kafka-error #:rdkafka-error #:partition-error #:transaction-error
           #:retryable-operation-error #:abort-required-error #:fatal-error #:partial-error
           #:allocation-error
           #:description #:enum #:goodies #:baddies #:name
           #:store-function #:retry-operation)

  ;; administration
  (:export #:create-topic #:delete-topic #:create-partitions #:describe-config #:alter-config
           #:get-conf #:cluster-metadata #:cluster-id #:controller-id #:group-info))
