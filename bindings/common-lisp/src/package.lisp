;;;; The whole interface of kafkabi.

(defpackage #:kafkabi
  (:use #:cl)
  (:nicknames #:kabi)
  (:shadow #:close)
  (:import-from #:kafkabi/low-level #:library-error)
  (:documentation "A Kafka client. Use its names with the prefix kabi: or import the few that you need;
CLOSE is not COMMON-LISP's.")

  ;; the library
  (:export #:version #:librdkafka-version #:shutdown #:library-error)

  ;; clients
  (:export #:client #:producer #:consumer #:admin #:cluster
           #:make-producer #:make-consumer #:make-admin #:make-cluster
           #:with-producer #:with-consumer #:with-admin #:with-cluster
           #:close #:open-p #:wake #:serve #:event-descriptor #:metrics
           #:set-token #:fail-token #:set-credentials #:*log-function*
           #:describe-properties #:get-conf)

  ;; serializers and deserializers
  (:export #:octets #:string-to-octets #:octets-to-string #:json-to-octets #:octets-to-json)

  ;; sending
  (:export #:send #:send-batch #:send-and-forget #:flush #:purge #:in-flight-count
           #:report #:report-topic #:report-partition #:report-offset #:report-timestamp
           #:report-latency #:report-persisted)

  ;; futures
  (:export #:future #:value #:then #:donep #:wait #:wait-all)

  ;; transactions
  (:export #:initialize-transactions #:begin-transaction #:commit-transaction #:abort-transaction
           #:send-offsets-to-transaction #:with-transaction)

  ;; receiving
  (:export #:subscribe #:unsubscribe #:subscription #:assign #:unassign #:assignment
           #:incremental-assign #:incremental-unassign #:pause #:resume #:paused
           #:poll #:poll-batch #:do-records #:map-records #:handled
           #:commit #:committed #:store-offsets
           #:seek #:seek-to-beginning #:seek-to-end #:seek-to-times
           #:positions #:offsets-for-times #:watermarks #:cached-watermarks #:lag
           #:member-id #:rebalance-protocol #:group-metadata #:group-generation)

  ;; records
  (:export #:record #:recordp #:make-record #:copy-record
           #:key #:topic #:partition #:offset #:timestamp #:headers #:leader-epoch
           #:record-key #:record-value #:record-topic #:record-partition #:record-offset
           #:record-timestamp #:record-timestamp-type #:record-headers #:record-leader-epoch
           #:record-key-octets #:record-value-octets
           #:record-key-length #:record-value-length #:with-record-pointers)

  ;; administration
  (:export #:create-topic #:create-topics #:delete-topic #:delete-topics #:create-partitions
           #:describe-topics #:describe-cluster #:cluster-metadata #:cluster-id #:controller-id
           #:describe-config #:alter-config #:delete-records #:elect-leaders
           #:list-groups #:describe-groups #:group-info #:delete-groups
           #:list-group-offsets #:alter-group-offsets #:delete-group-offsets #:list-offsets
           #:list-acls #:create-acls #:delete-acls
           #:describe-scram-users #:alter-scram-users #:admin-request)

  ;; the embedded cluster
  (:export #:bootstrap-servers #:broker-down #:broker-up #:set-latency
           #:add-broker #:remove-broker #:set-broker-address #:answer-leader-once #:ask-for-telemetry
           #:inject-errors #:broker-errors-left #:clear-errors #:set-topic-error
           #:set-api-versions #:set-leader #:set-follower #:set-follower-watermarks #:set-rack
           #:set-coordinator #:set-group-delay #:set-group-timing #:set-group-target
           #:track-requests #:requests #:partition-records)

  ;; conditions
  (:export #:kafka-error #:argument-error #:configuration-error #:closed-error #:timeout-error
           #:interrupted-error #:queue-full-error #:partition-error #:delivery-error
           #:serde-error #:fatal-error #:fenced-error #:transaction-error
           #:retriable-transaction-error #:abort-required-error #:partial-error
           #:stale-record-error
           #:error-code #:error-name #:error-description #:error-operation
           #:retriablep #:fatalp #:abort-required-p #:outcome-unknown-p
           #:error-topic #:error-partition #:error-offset #:error-persisted
           #:error-argument #:error-expected #:error-property #:error-cause
           #:goodies #:baddies)

  ;; restarts
  (:export #:store-function #:retry-operation))
