;;;; Functions for changes of the assignment.

(in-package #:kafkabi/test)

(def-suite assignment :in kafkabi)
(in-suite assignment)

(defun group-conf (group &rest properties)
  (apply #'conf :group-id group :auto-offset-reset "earliest" :session-timeout-ms 6000
         :heartbeat-interval-ms 200 properties))

(test changes-are-told-before-records
  (let ((topic (fill-topic 3 :partitions 2)) (calls '()))
    (kabi:with-consumer (consumer :conf (reader-conf)
                                  :on-assign (lambda (consumer partitions)
                                               (is (kabi:open-p consumer))
                                               (push (list :assign partitions) calls))
                                  :on-revoke (lambda (consumer partitions)
                                               (is (kabi:open-p consumer))
                                               (push (list :revoke partitions) calls)))
      (kabi:subscribe consumer topic)
      (is (null (kabi:group-generation consumer)))
      (is-true (kabi:poll consumer :timeout *long*))
      (is (plusp (kabi:group-generation consumer)))
      (is (equal (list (list :assign (list (tp topic 0) (tp topic 1)))) calls))
      (is (= 2 (length (kabi:assignment consumer)))))
    ;; The close gives them back.
    (is (equal :revoke (first (first calls))))
    (is (null (set-exclusive-or (list (tp topic 0) (tp topic 1)) (second (first calls)) :test #'equal)))))

(test in-an-assignment-the-program-may-seek-and-pause
  (let ((topic (fill-topic 5 :partitions 3)))
    (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string
                                  :on-assign (lambda (consumer partitions)
                                               (is (= 3 (length partitions)))
                                               (kabi:seek consumer (list (cons (tp topic 0) 3)))
                                               (kabi:seek-to-end consumer (list (tp topic 1)))
                                               (kabi:pause consumer (list (tp topic 2)))))
      (kabi:subscribe consumer topic)
      (is (equal (numbers 3 5) (next-values consumer 2)))
      (is (null (kabi:poll consumer :timeout 500)))
      (is (equal (list (tp topic 2)) (kabi:paused consumer)))
      (kabi:resume consumer t)
      (is (equal (numbers 0 5) (next-values consumer 5))))))

(test before-partitions-go-they-can-be-committed
  (let* ((topic (fill-topic 10)) (conf (reader-conf :enable-auto-commit nil)) (committed nil))
    (kabi:with-consumer (consumer :conf conf :serde #'kabi:octets-to-string
                                  :on-revoke (lambda (consumer partitions)
                                               (is (equal (list (tp topic)) partitions))
                                               (setf committed (kabi:commit consumer))))
      (kabi:subscribe consumer topic)
      (is (equal (numbers 0 4) (next-values consumer 4)))
      (kabi:unsubscribe consumer)
      (is-true (await (lambda () (kabi:poll consumer :timeout 50) committed))))
    (is (equal (list (list* (tp topic) 4 nil)) committed))
    (is (eql 4 (committed-offset conf topic)))))

(defmacro left-by (form)
  "True if a function for assignments that is left by FORM does no harm."
  `(let ((topic (fill-topic 3)) (calls 0))
     (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string
                                   :on-assign (lambda (consumer partitions)
                                                (declare (ignore consumer partitions))
                                                (incf calls)
                                                ,form))
       (kabi:subscribe consumer topic)
       (let ((outcome (catch 'out
                        (handler-case (kabi:poll consumer :timeout *long*)
                          (cut-off () :left)))))
         (and (eq :left outcome)
              ;; It took place, once.
              (equal (numbers 0 3) (next-values consumer 3))
              (eql 1 calls)
              (equal (list (tp topic)) (kabi:assignment consumer)))))))

(test a-function-for-assignments-can-be-left
  (is-true (left-by (error 'cut-off)))
  (is-true (left-by (throw 'out :left))))

(test a-function-for-revocations-can-be-left
  (let ((topic (fill-topic 3)) (calls 0))
    (kabi:with-consumer (consumer :conf (reader-conf)
                                  :on-revoke (lambda (consumer partitions)
                                               (declare (ignore consumer partitions))
                                               (when (= (incf calls) 1) (throw 'out :left))))
      (kabi:subscribe consumer topic)
      (kabi:poll consumer :timeout *long*)
      (kabi:unsubscribe consumer)
      (is (eq :left (await (lambda () (catch 'out (kabi:poll consumer :timeout 50))))))
      (is (null (kabi:assignment consumer)))
      (is (null (kabi:poll consumer :timeout 50)))
      (is (eql 1 calls)))))

(test a-function-for-revocations-that-signals-does-not-stop-a-close
  (let* ((topic (fill-topic 3)) (kabi:*log-function* (constantly nil))
         (consumer (kabi:make-consumer :conf (reader-conf)
                                       :on-log (constantly nil)
                                       :on-revoke (lambda (consumer partitions)
                                                    (declare (ignore consumer partitions))
                                                    (error 'cut-off)))))
    (kabi:subscribe consumer topic)
    (kabi:poll consumer :timeout *long*)
    (kabi:close consumer)
    (is-false (kabi:open-p consumer))))

(test a-function-for-revocations-that-throws-does-not-stop-a-close
  (let ((topic (fill-topic 3)))
    (dolist (by '(close with-consumer with-timeout))
      (let* ((conf (reader-conf)) (calls 0)
             (consumer (kabi:make-consumer :conf conf
                                           :on-revoke (lambda (consumer partitions)
                                                        (is (equal (list (tp topic)) partitions))
                                                        (incf calls)
                                                        (kabi:commit consumer :timeout *long*)
                                                        (if (eq by 'with-timeout)
                                                            (loop (sleep 0.01))
                                                            (throw 'out :thrown))))))
        (kabi:subscribe consumer topic)
        (kabi:poll consumer :timeout *long*)
        (is (eq :thrown
                (catch 'out
                  (ecase by
                    (close (kabi:close consumer :timeout *long*))
                    ;; What WITH-CONSUMER does, also when its body is left.
                    (with-consumer (kafkabi::call-with-client consumer (lambda (consumer)
                                                                         (declare (ignore consumer))
                                                                         (throw 'out :body))))
                    (with-timeout (handler-case (bordeaux-threads:with-timeout (1)
                                                  (kabi:close consumer :timeout *long*))
                                    (bordeaux-threads:timeout () :thrown)))))))
        (is-false (kabi:open-p consumer))
        (is (eql 1 calls))
        ;; And it goes on to its end.
        (is-true (await (lambda () (search " closed" (princ-to-string consumer)))))
        (is (eql 1 (committed-offset conf topic)))))))

(test in-a-change-nobody-polls
  (let ((topic (fill-topic 1)) (condition nil))
    (kabi:with-consumer (consumer :conf (reader-conf)
                                  :on-assign (lambda (consumer partitions)
                                               (declare (ignore partitions))
                                               (setf condition
                                                     (condition-of (kabi:poll consumer :timeout 0)))))
      (kabi:subscribe consumer topic)
      (is-true (kabi:poll consumer :timeout *long*))
      (is (eq :busy (kabi:error-name condition))))))

(test partitions-that-are-lost-are-told
  (dolist (own '(t nil))
    (kabi:with-cluster (cluster)
      (kabi:create-topic cluster "topic")
      (let ((calls '()))
        (flet ((note (kind)
                 (lambda (consumer partitions)
                   (declare (ignore consumer))
                   (push (cons kind partitions) calls))))
          (let ((consumer (apply #'kabi:make-consumer
                                 :conf (list :bootstrap-servers (kabi:bootstrap-servers cluster)
                                             :group-id "group" :session-timeout-ms 6000
                                             :heartbeat-interval-ms 100)
                                 :on-revoke (note :revoke)
                                 (and own (list :on-lost (note :lost))))))
            (kabi:subscribe consumer "topic")
            (is-true (await (lambda () (kabi:poll consumer :timeout 50) (kabi:assignment consumer))))
            ;; The coordinator has forgotten it.
            (kabi:inject-errors cluster :heartbeat :unknown-member-id :count 3)
            (is-true (await (lambda () (kabi:poll consumer :timeout 50) calls)))
            (is (equal (list (if own :lost :revoke) (cons "topic" 0)) (first (last calls))))
            (kabi:clear-errors cluster :heartbeat)
            ;; It joins again.
            (is-true (await (lambda () (kabi:poll consumer :timeout 50) (kabi:assignment consumer))))
            (kabi:close consumer :timeout *long*)))))))

(test two-members-share
  (dolist (strategy '("range" "cooperative-sticky"))
    (let* ((topic (fill-topic 20 :partitions 2)) (group (fresh "group")) (changes '()) (stop nil)
           (first (kabi:make-consumer
                   :conf (group-conf group :partition-assignment-strategy strategy)
                   :on-assign (lambda (consumer partitions)
                                (declare (ignore consumer))
                                (push (cons :assign partitions) changes))
                   :on-revoke (lambda (consumer partitions)
                                (declare (ignore consumer))
                                (push (cons :revoke partitions) changes)))))
      (kabi:subscribe first topic)
      (is-true (kabi:poll first :timeout *long*))
      (is (eq (if (equal strategy "range") :eager :cooperative) (kabi:rebalance-protocol first)))
      (let ((other (in-thread (lambda ()
                                (kabi:with-consumer (second :conf (group-conf
                                                                   group :partition-assignment-strategy
                                                                   strategy))
                                  (kabi:subscribe second topic)
                                  (loop until stop do (kabi:poll second :timeout 50))
                                  (kabi:assignment second))))))
        (is-true (await (lambda ()
                          (kabi:poll first :timeout 50)
                          (and (find :revoke changes :key #'car)
                               (= 1 (length (kabi:assignment first)))))))
        (setf stop t)
        (let ((theirs (funcall other)))
          (is (<= (length theirs) 1))
          (is (null (intersection theirs (kabi:assignment first) :test #'equal)))))
      (kabi:close first))))

(test functions-for-changes-must-be-functions
  (is (typep (condition-of (kabi:make-consumer :conf (reader-conf) :on-assign 5)) 'kabi:argument-error)))
