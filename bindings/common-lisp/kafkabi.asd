;;;; The systems of kafkabi's Common Lisp library.

(defsystem "kafkabi/low-level"
  :description "Every function, record and constant of kafkabi's C interface."
  :license "MIT OR Apache-2.0"
  :depends-on ("uiop" "cffi")
  :pathname "low-level/"
  :serial t
  :components ((:file "generated-package")
               (:file "support")
               (:file "generated-constants")
               (:file "generated-statuses")
               (:file "generated-records")
               (:file "library")
               (:file "generated-functions")))

(defsystem "kafkabi"
  :description "A Kafka client: producer, consumer, admin, and a cluster to try them on."
  :version "0.1.0"
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi/low-level" "bordeaux-threads" "trivial-garbage" "babel")
  :pathname "src/"
  :serial t
  :components ((:file "package")
               (:file "portable")
               (:file "conditions")
               (:file "memory")
               (:file "calls")
               (:file "future")
               (:file "config")
               (:file "client")
               (:file "events")
               (:file "serde")
               (:file "producer")
               (:file "packed")
               (:file "send")
               (:file "batch")
               (:file "json")
               (:file "consumer")
               (:file "record")
               (:file "partitions")
               (:file "moves")
               (:file "poll")
               (:file "stream")
               (:file "offsets")
               (:file "assignment")
               (:file "transaction")
               (:file "admin")
               (:file "credentials")
               (:file "cluster")
               (:file "cluster-control")
               (:file "admin-topics")
               (:file "admin-groups")
               (:file "library"))
  :in-order-to ((test-op (test-op "kafkabi/test"))))

;; Stands in for the library cl-rdkafka, under its package names.
(defsystem "kafkabi/cl-rdkafka"
  :description "The interface of cl-rdkafka, over kafkabi."
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi")
  :pathname "cl-rdkafka/"
  :serial t
  :components ((:file "package")
               (:file "low-level")
               (:file "conditions")
               (:file "messages")
               (:file "futures")
               (:file "partitions")
               (:file "producers")
               (:file "consumers")
               (:file "commits")
               (:file "transactions")
               (:file "admin")))

(defsystem "kafkabi/test"
  :description "The tests of kafkabi's Common Lisp library."
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi" "fiveam" "bordeaux-threads" "yason")
  :pathname "test/"
  :serial t
  :components ((:file "package")
               (:file "low-level")
               (:file "serde")
               (:file "producer")
               (:file "handlers")
               (:file "interrupts")
               (:file "consumer")
               (:file "stream")
               (:file "assignment")
               (:file "moves")
               (:file "cuts")
               (:file "exits")
               (:file "transaction")
               (:file "admin")
               (:file "cluster")
               (:file "real")
               (:file "stress")
               (:file "processes")
               (:file "crash")
               (:file "exports"))
  :perform (test-op (operation system)
             (unless (symbol-call '#:kafkabi/test '#:run-all)
               (error "tests of kafkabi failed"))))

(defsystem "kafkabi/cl-rdkafka-test"
  :description "The tests of the interface of cl-rdkafka; they run with those of kafkabi."
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi/cl-rdkafka" "kafkabi/test")
  :pathname "test/"
  :serial t
  :components ((:file "cl-rdkafka-package")
               (:file "cl-rdkafka-producer")
               (:file "cl-rdkafka-consumer")
               (:file "cl-rdkafka-commits")
               (:file "cl-rdkafka-transactions")
               (:file "cl-rdkafka-clients")
               (:file "cl-rdkafka-programs")
               (:file "cl-rdkafka-real")))
