;;;; Transactions on the embedded cluster, which carries commits out, and fails as it is told; what it leaves out,
;;;; aborted records and offsets in transactions, is tested on a real broker (real.lisp).

(in-package #:kafkabi/test)

(def-suite transaction :in kafkabi)
(in-suite transaction)

(defun sender-conf (&rest properties)
  (apply #'conf :transactional-id (fresh "transactional") properties))

(defmacro with-sender ((producer &rest properties) &body body)
  "Evaluate BODY with a PRODUCER that is ready for transactions."
  `(kabi:with-producer (,producer :conf (sender-conf ,@properties))
     (kabi:initialize-transactions ,producer :timeout *long*)
     ,@body))

(defun partition-values (topic &optional (partition 0))
  (mapcar (lambda (record) (kabi:octets-to-string (kabi:record-value-octets record)))
          (kabi:partition-records *cluster* topic partition :timeout *long*)))

(test transactions-one-after-the-other
  (let ((topic (fresh-topic)))
    (with-sender (producer)
      (dotimes (number 3)
        (is (null (kabi:begin-transaction producer)))
        (kabi:send producer topic (princ-to-string number))
        (is (eq t (kabi:commit-transaction producer :timeout *long*))))
      (kabi:begin-transaction producer)
      (is (null (kabi:abort-transaction producer :timeout *long*))))
    (is (equal (numbers 0 3) (partition-values topic)))))

(test transactions-out-of-order
  (with-sender (producer)
    (is (typep (condition-of (kabi:commit-transaction producer)) 'kabi:transaction-error))
    (is (typep (condition-of (kabi:abort-transaction producer)) 'kabi:transaction-error))
    (kabi:begin-transaction producer)
    (is (typep (condition-of (kabi:begin-transaction producer)) 'kabi:transaction-error))
    (kabi:abort-transaction producer :timeout *long*))
  (kabi:with-producer (producer :conf (conf))
    (dolist (call (list (lambda () (kabi:initialize-transactions producer))
                        (lambda () (kabi:begin-transaction producer))
                        (lambda () (kabi:commit-transaction producer))))
      (let ((condition (condition-of (funcall call))))
        (is (typep condition 'kabi:transaction-error))
        (is (symbolp (kabi:error-operation condition)))))))

(test transactions-refuse-bad-input
  (with-sender (producer)
    (flet ((refused (argument condition)
             (and (typep condition 'kabi:argument-error)
                  (eq argument (kabi:error-argument condition)))))
      (is (refused 'kabi:producer (condition-of (kabi:begin-transaction "producer"))))
      (is (refused 'kabi::timeout (condition-of (kabi:commit-transaction producer :timeout "soon"))))
      (is (refused 'kabi::group (condition-of (kabi:send-offsets-to-transaction producer 5 '()))))
      (is (refused 'kabi::group (condition-of (kabi:send-offsets-to-transaction producer "" '()))))
      (is (refused 'kabi::offsets
                   (condition-of (kabi:send-offsets-to-transaction producer "g" '((("t" . 0) . -1))))))
      (is (refused 'kabi:consumer (condition-of (kabi:with-transaction (producer :consumer 5) nil)))))
    (kabi:begin-transaction producer)
    (is (typep (condition-of (kabi:send-offsets-to-transaction producer (octets 1 2 3) '((("t" . 0) . 1))))
               'kabi:kafka-error))
    (kabi:abort-transaction producer :timeout *long*)))

(test offsets-of-each-shape
  (let ((topic (fill-topic 3)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (let* ((records (loop repeat 3 collect (kabi:poll consumer :timeout *long*)))
             (table (make-hash-table :test #'equal)))
        (setf (gethash (tp topic) table) 2)
        (with-sender (producer)
          (kabi:begin-transaction producer)
          (dolist (offsets (list (list (cons (tp topic) 1)) (list (list* (tp topic) 1 (octets 7)))
                                 table records (coerce records 'vector) (first records) '()))
            (is-true (kabi:send-offsets-to-transaction producer consumer offsets :timeout *long*)))
          (is-true (kabi:send-offsets-to-transaction producer (kabi:group-metadata consumer)
                                                     (list (cons (tp topic) 1)) :timeout *long*))
          (is-true (kabi:send-offsets-to-transaction producer (fresh "group")
                                                     (list (cons (tp topic) 1)) :timeout *long*))
          (is-true (kabi:commit-transaction producer :timeout *long*)))))))

(test with-transaction-commits
  (let ((topic (fresh-topic)))
    (with-sender (producer)
      (is (equal '(1 2) (multiple-value-list
                         (kabi:with-transaction (producer)
                           (kabi:send producer topic "a")
                           (values 1 2)))))
      ;; The next may begin.
      (kabi:with-transaction (producer :timeout *long*) (kabi:send producer topic "b")))
    (is (equal '("a" "b") (partition-values topic)))))

(defun begin-again (producer)
  "True if no transaction of PRODUCER is open."
  (kabi:begin-transaction producer)
  (kabi:abort-transaction producer :timeout *long*)
  t)

(test with-transaction-aborts-however-it-is-left
  (let ((topic (fresh-topic)))
    (with-sender (producer)
      (is (typep (condition-of (kabi:with-transaction (producer)
                                 (kabi:send producer topic "a")
                                 (error 'cut-off)))
                 'cut-off))
      (is-true (begin-again producer))
      (is (eq :out (catch 'out (kabi:with-transaction (producer) (throw 'out :out)))))
      (is-true (begin-again producer))
      (is (eq :out (block nil (kabi:with-transaction (producer) (return :out)))))
      (is-true (begin-again producer)))))

(test with-transaction-goes-back
  (let ((topic (fill-topic 6)) (to (fresh-topic)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (with-sender (producer)
        (kabi:commit consumer :offsets (list (cons (tp topic) 1)))
        (is (equal '("0" "1") (next-values consumer 2)))
        (is (typep (condition-of (kabi:with-transaction (producer :consumer consumer)
                                   (is (equal '("2" "3") (next-values consumer 2)))
                                   (kabi:send producer to "x")
                                   (error 'cut-off)))
                   'cut-off))
        ;; To what is committed, and not to where the transaction began.
        (is (equal "1" (next-value consumer)))
        (is (equal "2" (kabi:with-transaction (producer :consumer consumer) (next-value consumer))))
        (is (equal "3" (next-value consumer)))))))

(test with-transaction-in-a-loop
  (let ((topic (fill-topic 4)) (to (fresh-topic)) (failures 2) (values '()))
    (with-reader (consumer topic :enable-auto-commit nil)
      (with-sender (producer)
        (kabi:commit consumer :offsets (list (cons (tp topic) 0)))
        (kabi:do-records (record consumer :limit 4)
          (let ((value (kabi:record-value record)))
            (push value values)
            (handler-case (kabi:with-transaction (producer :consumer consumer)
                            (kabi:send producer to value)
                            (when (and (equal value "1") (plusp (decf failures))) (error 'cut-off)))
              (cut-off ()))))))
    ;; The embedded cluster leaves offsets in transactions out, so that it goes back to the first.
    (is (equal '("0" "1" "0" "1") (reverse values)))))

(test with-transaction-can-be-done-again
  (let ((topic (fresh-topic)) (tries 0))
    (with-sender (producer)
      (is (eql 3 (handler-bind ((cut-off (lambda (condition)
                                           (declare (ignore condition))
                                           (kabi:retry-operation))))
                   (kabi:with-transaction (producer)
                     (kabi:send producer topic "a")
                     (when (< (incf tries) 3) (error 'cut-off))
                     tries))))
      (is (eql 3 tries)))))

(test a-commit-that-fails
  (let ((topic (fresh-topic)))
    (with-sender (producer)
      ;; A record that is not delivered makes the transaction one to abort.
      (kabi:inject-errors *cluster* :produce :msg-size-too-large :count 100)
      (let ((condition (condition-of (kabi:with-transaction (producer)
                                       (kabi:send producer topic "a")))))
        (kabi:clear-errors *cluster* :produce)
        (is (typep condition 'kabi:abort-required-error))
        (is-true (kabi:abort-required-p condition)))
      (is-true (begin-again producer))
      ;; By its restarts.
      (kabi:inject-errors *cluster* :produce :msg-size-too-large :count 100)
      (let ((result (handler-bind ((kabi:abort-required-error
                                     (lambda (condition)
                                       (kabi:clear-errors *cluster* :produce)
                                       (abort condition))))
                      (kabi:with-transaction (producer) (kabi:send producer topic "a") :value))))
        (is (null result)))
      (is-true (begin-again producer))
      (kabi:inject-errors *cluster* :produce :msg-size-too-large :count 100)
      (let ((result (handler-bind ((kabi:abort-required-error
                                     (lambda (condition)
                                       (kabi:clear-errors *cluster* :produce)
                                       (invoke-restart (find-restart 'kabi:retry-operation condition)))))
                      (kabi:with-transaction (producer) (kabi:send producer topic "b") :value))))
        (is (eq :value result)))
      (is-true (begin-again producer)))
    (is (equal '("b") (partition-values topic)))))

(test a-commit-that-can-be-repeated
  (kabi:with-cluster (away)
    (kabi:create-topic away "topic")
    (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)
                                              :transactional-id "id"))
      (kabi:initialize-transactions producer :timeout *long*)
      (kabi:begin-transaction producer)
      (kabi:value (kabi:send producer "topic" "value") :timeout *long*)
      (kabi:broker-down away)
      (let ((retries 0))
        (handler-bind ((kabi:retriable-transaction-error
                         (lambda (condition)
                           (is-true (kabi:retriablep condition))
                           (when (= (incf retries) 1) (kabi:broker-up away))
                           (kabi:retry-operation))))
          (is-true (kabi:commit-transaction producer :timeout 500)))
        (is (plusp retries))))))
