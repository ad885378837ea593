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
               (:file "record")
               (:file "consumer")
               (:file "poll")
               (:file "cluster")
               (:file "library"))
  :in-order-to ((test-op (test-op "kafkabi/test"))))

(defsystem "kafkabi/test"
  :description "The tests of kafkabi's Common Lisp library."
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi" "fiveam" "bordeaux-threads")
  :pathname "test/"
  :serial t
  :components ((:file "package")
               (:file "low-level")
               (:file "producer")
               (:file "interrupts"))
  :perform (test-op (operation system)
             (unless (symbol-call '#:kafkabi/test '#:run-all)
               (error "tests of kafkabi failed"))))
