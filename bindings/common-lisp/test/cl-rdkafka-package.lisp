;;;; Tests of the library that stands in for cl-rdkafka: what they share, and its interface.

(defpackage #:kafkabi/cl-rdkafka-test
  (:use #:cl)
  (:import-from #:fiveam #:def-suite #:in-suite #:test #:is #:is-true #:is-false #:signals #:finishes
                #:fail #:skip #:pass)
  (:import-from #:kafkabi/test #:kafkabi #:fresh #:fresh-topic #:servers #:condition-of #:await
                #:in-thread #:octets #:within #:*long*)
  (:documentation "Tests of the packages cl-rdkafka and cl-rdkafka/low-level, through what they export."))

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite cl-rdkafka :in kafkabi :description "The interface of cl-rdkafka.")

(defun conf (&rest properties)
  "A configuration for the shared cluster, as cl-rdkafka's programs write it."
  (list* "bootstrap.servers" (servers) properties))

(defun reader-conf (&rest properties)
  "A configuration for a consumer of the shared cluster, alone in its group, which commits by hand."
  (apply #'conf "group.id" (fresh "group") "enable.auto.commit" "false" "auto.offset.reset" "earliest"
         properties))

(defmacro with-client ((client class &rest initargs) &body body)
  "Evaluate BODY with CLIENT bound to a new client, and close it."
  `(let ((,client (make-instance ',class ,@initargs)))
     (unwind-protect (progn ,@body)
       (kf:close ,client))))

(defun numbers (&rest octets)
  "Octets as programs may give them, a vector of any kind."
  (coerce octets 'simple-vector))

(defun poll-message (consumer)
  "The next message, which must come. Short polls, as a program would do them."
  (await (lambda () (kf:poll consumer 1000))))

(defun poll-messages (consumer count)
  (loop repeat count
        for message = (poll-message consumer)
        while message
        collect message))

(defun fill-topic (topic values &rest arguments)
  "Send VALUES, strings, to TOPIC and wait until they are there."
  (with-client (producer kf:producer :conf (conf) :serde #'babel:string-to-octets)
    (dolist (value values)
      (apply #'kf:send producer topic value arguments))
    (kf:flush producer)))

;;; ---- the interface ----

(def-suite interface :in cl-rdkafka)
(in-suite interface)

(defparameter *interface*
  ;; As the public document of cl-rdkafka has them, with the administration that its tests use.
  '("PRODUCER" "SEND" "FLUSH" "INITIALIZE-TRANSACTIONS" "BEGIN-TRANSACTION" "COMMIT-TRANSACTION"
    "ABORT-TRANSACTION" "SEND-OFFSETS-TO-TRANSACTION"
    "CONSUMER" "POLL" "SEEK" "SEEK-TO-BEGINNING" "SEEK-TO-END" "SUBSCRIBE" "UNSUBSCRIBE"
    "SUBSCRIPTION" "ASSIGN" "ASSIGNMENT" "COMMIT" "COMMITTED" "PAUSE" "RESUME" "MEMBER-ID"
    "OFFSETS-FOR-TIMES" "WATERMARKS" "POSITIONS" "CLOSE"
    "MESSAGE" "KEY" "VALUE" "TOPIC" "PARTITION" "OFFSET" "TIMESTAMP" "HEADERS"
    "FUTURE" "THEN" "DONEP"
    "KAFKA-ERROR" "RDKAFKA-ERROR" "PARTITION-ERROR" "TRANSACTION-ERROR" "RETRYABLE-OPERATION-ERROR"
    "ABORT-REQUIRED-ERROR" "FATAL-ERROR" "PARTIAL-ERROR" "ALLOCATION-ERROR"
    "DESCRIPTION" "ENUM" "GOODIES" "BADDIES" "NAME"
    "STORE-FUNCTION" "RETRY-OPERATION"
    "CREATE-TOPIC" "DELETE-TOPIC" "CREATE-PARTITIONS" "DESCRIBE-CONFIG" "ALTER-CONFIG" "GET-CONF"
    "CLUSTER-METADATA" "CLUSTER-ID" "CONTROLLER-ID" "GROUP-INFO"))

(defun externals (package)
  (let ((symbols '()))
    (do-external-symbols (symbol package) (push symbol symbols))
    symbols))

(test exactly-the-exported-symbols
  (is (null (set-exclusive-or *interface* (mapcar #'symbol-name (externals '#:cl-rdkafka))
                              :test #'string=)))
  (is (eq (find-package '#:cl-rdkafka) (find-package '#:kf)))
  (is (eq (find-package '#:cl-rdkafka/low-level) (find-package '#:cl-rdkafka/ll)))
  (is (not (eq 'kf:close 'cl:close))))

(defun documented-p (symbol)
  "True if everything that SYMBOL names has a documentation string."
  (flet ((documented (kind) (plusp (length (documentation symbol kind)))))
    (and (or (not (fboundp symbol)) (documented 'function))
         (or (not (find-class symbol nil))
             (documented 'type))
         (or (not (constantp symbol)) (documented 'variable))
         (or (fboundp symbol) (find-class symbol nil) (constantp symbol)))))

(test every-exported-symbol-is-documented
  (dolist (package '(#:cl-rdkafka #:cl-rdkafka/low-level))
    (is (null (remove-if #'documented-p (externals package))))))

(test every-exported-symbol-is-used-by-a-test-that-is-listed
  (is (null (kafkabi/test::unlisted-exports '#:cl-rdkafka "kafkabi/cl-rdkafka-test"))))

(test only-exported-names-are-listed
  (is (= (count-if (lambda (line) (eql 0 (search "| `" line)))
                   (uiop:read-file-lines (kafkabi/test::exports-file) :external-format :utf-8))
         (+ (length (kafkabi/test::external-symbols '#:kafkabi)) (length (kafkabi/test::external-symbols '#:cl-rdkafka))))
      "WRITE-EXPORTS is to be called"))

(test the-low-level-package-has-every-code
  (dolist (status kabi-ll:*statuses*)
    (destructuring-bind (code keyword localp text) status
      (declare (ignore text))
      (when (> code -1000)
        (let ((symbol (find-symbol (if (zerop code)
                                       "RD-KAFKA-RESP-ERR-NO-ERROR"
                                       (format nil "RD-KAFKA-RESP-ERR-~:[~;-~]~A" localp keyword))
                                   '#:cl-rdkafka/ll)))
          (is (eq symbol (symbol-value symbol)) "~A" keyword)))))
  ;; Some by name: a code of librdkafka's own, one of Kafka's, and the numbers.
  (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--timed-out cl-rdkafka/ll:rd-kafka-resp-err--timed-out))
  (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err-topic-already-exists
          cl-rdkafka/ll:rd-kafka-resp-err-topic-already-exists))
  (is (equal '(-2 -1 -1000 -1001 -2000)
             (list cl-rdkafka/ll:rd-kafka-offset-beginning cl-rdkafka/ll:rd-kafka-offset-end
                   cl-rdkafka/ll:rd-kafka-offset-stored cl-rdkafka/ll:rd-kafka-offset-invalid
                   cl-rdkafka/ll:rd-kafka-offset-tail))))

(test the-conditions-are-a-hierarchy
  (loop for (class . supers) in '((kf:allocation-error storage-condition)
                                  (kf:kafka-error error)
                                  (kf:partial-error kf:kafka-error)
                                  (kf:rdkafka-error kf:kafka-error)
                                  (kf:partition-error kf:rdkafka-error)
                                  (kf:fatal-error kf:rdkafka-error)
                                  (kf:transaction-error kf:rdkafka-error)
                                  (kf:retryable-operation-error kf:transaction-error)
                                  (kf:abort-required-error kf:transaction-error))
        do (dolist (super supers)
             (is (subtypep class super) "~A is no ~A" class super)))
  (is (not (subtypep 'kf:allocation-error 'error))))

(test the-system-cl-rdkafka-finds-this-library
  (asdf:load-asd (asdf:system-relative-pathname "kafkabi" "cl-rdkafka/system/cl-rdkafka.asd"))
  (let ((system (asdf:find-system "cl-rdkafka")))
    (is (equal '("kafkabi/cl-rdkafka") (asdf:system-depends-on system)))
    ;; All of it is loaded already.
    (finishes (asdf:load-system system))
    (is-true (asdf:version-satisfies system "1.1.0"))))
