;;;; Transactions of the library that stands in for cl-rdkafka: each operation, its conditions and restarts.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-transactions :in cl-rdkafka)
(in-suite kf-transactions)

(defun transactional-conf (&rest properties)
  (apply #'conf "transactional.id" (fresh "id") properties))

(defmacro with-transactional ((producer &rest conf) &body body)
  `(with-client (,producer kf:producer :conf (transactional-conf ,@conf) :serde #'babel:string-to-octets)
     (kf:initialize-transactions ,producer *long*)
     ,@body))

(defun restart-names (condition)
  "Those of the documented restarts that the innermost operation offers for CONDITION."
  (loop for name in '(kf:retry-operation abort continue)
        when (find-restart name condition) collect name))

(test a-transaction-is-committed
  (let ((topic (fresh-topic)))
    (with-transactional (producer)
      (dotimes (i 2)
        (is (null (kf:begin-transaction producer)))
        (let ((future (kf:send producer topic (princ-to-string i))))
          (is (null (kf:commit-transaction producer *long*)))
          (is (equal (princ-to-string i) (kf:value (kf:value future)))))))
    (with-assigned (consumer topic)
      (is (equal '("0" "1") (text-values (poll-messages consumer 2)))))))

(test a-transaction-is-aborted
  (let ((topic (fresh-topic)))
    (with-transactional (producer)
      (kf:begin-transaction producer)
      (kf:send producer topic "never")
      (is (null (kf:abort-transaction producer *long*)))
      (is (null (kf:begin-transaction producer)))
      (is (null (kf:abort-transaction producer *long*))))))

(test operations-out-of-order-are-transaction-errors
  (with-client (producer kf:producer :conf (transactional-conf))
    (dolist (operation (list (lambda () (kf:begin-transaction producer))
                             (lambda () (kf:commit-transaction producer 5000))
                             (lambda () (kf:abort-transaction producer 5000))))
      (let ((condition (condition-of (funcall operation))))
        (is (typep condition 'kf:transaction-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--state (kf:enum condition)))
        (is (plusp (length (kf:description condition)))))))
  (with-client (producer kf:producer :conf (conf))
    (is (typep (condition-of (kf:initialize-transactions producer 5000)) 'kf:rdkafka-error))))

;;; ---- restarts ----

(defun call-retried (thunk &optional (hook (constantly nil)))
  "Call THUNK and answer each condition by RETRY-OPERATION, after HOOK was called with how many there were. Return
its values, and a list of the conditions and of the restarts that each had."
  (let ((conditions '()))
    (values (handler-bind ((kf:retryable-operation-error
                             (lambda (condition)
                               (push (cons condition (restart-names condition)) conditions)
                               (funcall hook (length conditions))
                               (invoke-restart 'kf:retry-operation))))
              (funcall thunk))
            (reverse conditions))))

(test initialize-transactions-can-be-retried
  (let ((cluster (kabi:make-cluster)))
    (unwind-protect
         (with-client (producer kf:producer :conf (list "bootstrap.servers" (kabi:bootstrap-servers cluster)
                                                        "transactional.id" "me")
                                            :on-log (constantly nil))
           (kabi:broker-down cluster 1)
           (multiple-value-bind (value conditions)
               (call-retried (lambda () (kf:initialize-transactions producer 300))
                             (lambda (times) (when (= 2 times) (kabi:broker-up cluster 1))))
             (is (null value))
             (is (<= 2 (length conditions)))
             (loop for (condition . restarts) in conditions
                   do (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--timed-out (kf:enum condition)))
                      (is (member 'kf:retry-operation restarts))))
           (is (null (kf:begin-transaction producer)))
           (is (null (kf:abort-transaction producer *long*))))
      (kabi:close cluster))))

(defmacro with-lost-broker ((producer topic &rest conf) &body body)
  "Evaluate BODY with PRODUCER in a transaction, a message sent, and then the only broker lost. The function
COME-BACK brings it back."
  `(let ((cluster (kabi:make-cluster)) (,topic "lost"))
     (unwind-protect
          (progn
            (kabi:create-topic cluster ,topic)
            (with-client (,producer kf:producer
                          :conf (list "bootstrap.servers" (kabi:bootstrap-servers cluster)
                                      "transactional.id" "me" ,@conf)
                          :serde #'babel:string-to-octets :on-log (constantly nil))
              (kf:initialize-transactions ,producer *long*)
              (kf:begin-transaction ,producer)
              (kf:value (kf:send ,producer ,topic "sent"))
              (kabi:broker-down cluster 1)
              (flet ((come-back () (kabi:broker-up cluster 1)))
                (declare (ignorable #'come-back))
                ,@body)))
       (kabi:close cluster))))

(test commit-transaction-can-be-retried
  (with-lost-broker (producer topic)
    (kf:send producer topic "second")
    (multiple-value-bind (value conditions)
        (call-retried (lambda () (kf:commit-transaction producer 300))
                      (lambda (times) (when (= 2 times) (come-back))))
      (is (null value))
      (is (<= 2 (length conditions)))
      (loop for (condition . restarts) in conditions
            do (is (typep condition 'kf:transaction-error))
               (is (member 'kf:retry-operation restarts))
               (is (member 'abort restarts))))))

(test a-commit-whose-time-was-over-can-end-committed-only
  ;; The broker comes back, and what was under way is done: there is nothing to abort any more, which is told.
  (with-lost-broker (producer topic)
    (let* ((aborts 0)
           (condition
             (condition-of
               (handler-bind ((kf:retryable-operation-error
                                (lambda (condition)
                                  (is (member 'abort (restart-names condition)))
                                  (when (= 1 (incf aborts)) (come-back))
                                  (invoke-restart 'abort))))
                 (kf:commit-transaction producer 300)))))
      (is (plusp aborts))
      (is (typep condition 'kf:transaction-error))
      (is (not (typep condition 'kf:retryable-operation-error)))
      (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--state (kf:enum condition))))
    ;; Another can begin.
    (is (null (kf:begin-transaction producer)))
    (is (null (kf:abort-transaction producer *long*)))))

(test an-abort-during-a-commit-is-told-to-wait-for-it
  (with-lost-broker (producer topic)
    (is (typep (condition-of (kf:commit-transaction producer 300)) 'kf:retryable-operation-error))
    (let ((condition (condition-of (kf:abort-transaction producer 300))))
      (is (typep condition 'kf:transaction-error))
      (is (not (typep condition 'kf:retryable-operation-error)))
      (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--conflict (kf:enum condition))))
    (come-back)
    (is (null (call-retried (lambda () (kf:commit-transaction producer 1000)))))))

(test an-abort-can-be-retried-or-left
  (with-lost-broker (producer topic)
    (let ((restarts '()))
      (is (null (handler-bind ((kf:retryable-operation-error
                                 (lambda (condition)
                                   (setf restarts (restart-names condition))
                                   (invoke-restart 'continue))))
                  (kf:abort-transaction producer 300))))
      (is (member 'kf:retry-operation restarts))
      (is (member 'continue restarts)))
    (come-back)
    (is (null (call-retried (lambda () (kf:abort-transaction producer 1000)))))))

(test a-message-that-fails-requires-an-abort
  (with-lost-broker (producer topic "message.timeout.ms" "500")
    (let ((future (kf:send producer topic "late")) (aborted '()))
      (is (typep (condition-of (kf:value future)) 'kf:partition-error))
      (come-back)
      (is (null (handler-bind ((kf:abort-required-error
                                 (lambda (condition)
                                   (push (cons condition (restart-names condition)) aborted)
                                   (invoke-restart 'abort))))
                  (kf:commit-transaction producer *long*))))
      (is (= 1 (length aborted)))
      (destructuring-bind ((condition . restarts)) aborted
        (is (typep condition 'kf:transaction-error))
        (is (member 'abort restarts))
        (is (not (member 'kf:retry-operation restarts)))))
    ;; The restart has aborted it. The next one may have to be aborted too: librdkafka's sequence numbers may have a
    ;; gap where the message was.
    (is (loop repeat 3
              thereis (handler-case
                          (progn (kf:begin-transaction producer)
                                 (kf:send producer topic "in time")
                                 (null (kf:commit-transaction producer *long*)))
                        (kf:abort-required-error ()
                          (kf:abort-transaction producer *long*)))))))

;;; ---- offsets ----

(test offsets-go-into-a-transaction
  (let ((topic (fresh-topic 2)))
    (fill-topic topic '("a" "b" "c") :partition 0)
    (fill-topic topic '("d") :partition 1)
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:subscribe consumer topic)
      (let ((messages (poll-messages consumer 4)) (table (make-hash-table :test #'equal)))
        (setf (gethash (cons topic 0) table) '(2 . #(7)))
        (setf (gethash (cons topic 1) table) -1001)
        (with-transactional (producer)
          (dolist (offsets (list messages
                                 (coerce messages 'vector)
                                 (list (cons (cons topic 0) 3))
                                 (list (cons (cons topic 0) (cons 3 #(1 2)))
                                       (cons (cons topic 1) -1001))
                                 table
                                 '() #()))
            (kf:begin-transaction producer)
            (is (null (kf:send-offsets-to-transaction producer consumer offsets *long*)))
            (is (null (kf:commit-transaction producer *long*))))
          (kf:begin-transaction producer)
          (dolist (offsets (list (list 7) (vector 7) (list (cons topic 1)) "text"
                                 (list (cons (cons topic 0) "3"))))
            (is (typep (condition-of (kf:send-offsets-to-transaction producer consumer offsets *long*))
                       'error)))
          (is (null (kf:abort-transaction producer *long*))))))))

(test offsets-without-a-transaction-are-a-transaction-error
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (with-transactional (producer)
        (is (typep (condition-of (kf:send-offsets-to-transaction producer consumer `(((,topic . 0) . 1))
                                                                 5000))
                   'kf:transaction-error))))))
