;;;; Batches and loops: order, lent records, and what is committed when a loop is left in any way.

(in-package #:kafkabi/test)

(def-suite stream :in kafkabi)
(in-suite stream)

(defmacro committing ((consumer topic conf) &body body)
  "Evaluate BODY with a CONSUMER of TOPIC that commits by itself, close it, and return what is committed then."
  (let ((c (gensym "CONF")))
    `(let ((,c ,conf))
       (catch 'out
         (handler-case
             (kabi:with-consumer (,consumer :conf ,c :serde #'kabi:octets-to-string)
               (kabi:assign ,consumer (list (tp ,topic)))
               ,@body)
           (cut-off ())))
       (committed-offset ,c ,topic))))

(defun committed-offset (conf topic)
  (kabi:with-consumer (consumer :conf conf)
    (first (cdr (first (kabi:committed consumer (list (tp topic)) :timeout *long*))))))

(test batches-come-in-order
  (let ((topic (fill-topic 1200)))
    (with-reader (consumer topic)
      (let ((values '()))
        (loop while (< (length values) 1200)
              do (let ((batch (kabi:poll-batch consumer :timeout *long*)))
                   (is (vectorp batch))
                   (is (<= (length batch) 500))
                   (loop for record across batch do (push (values (kabi:value record)) values))))
        (is (equal (numbers 0 1200) (reverse values))))
      (is (equalp #() (kabi:poll-batch consumer :timeout 100)))
      (kabi:seek-to-beginning consumer t)
      (is (= 7 (length (kabi:poll-batch consumer :timeout *long* :limit 7))))
      (is (equal "7" (next-value consumer))))))

(test a-batch-ends-before-what-can-not-be-read
  (let ((topic (fill-topic 6)) (calls 0))
    (kabi:with-consumer (consumer :conf (reader-conf :enable-partition-eof t)
                                  :serde (lambda (octets)
                                           (incf calls)
                                           (let ((text (kabi:octets-to-string octets)))
                                             (if (equal text "2") (error 'cut-off) text))))
      (kabi:assign consumer (list (cons (tp topic) :beginning)))
      (flet ((batch ()
               (map 'list (lambda (record) (values (kabi:value record)))
                    (kabi:poll-batch consumer :timeout *long*))))
        (is (equal (numbers 0 2) (batch)))
        (is (typep (condition-of (batch)) 'cut-off))
        (is (equal (numbers 3 6) (batch)))
        (is (eq :partition-eof (kabi:error-name (condition-of (batch)))))))))

(test a-loop-ends-when-nothing-comes
  (let ((topic (fill-topic 5)) (values '()))
    (with-reader (consumer topic)
      (is (eql 5 (kabi:do-records (record consumer :timeout 1000)
                   (push (kabi:record-value record) values))))
      (is (equal (numbers 0 5) (reverse values)))
      (is (eql 0 (kabi:do-records (record consumer :timeout 0) (fail "~A" record))))
      (kabi:seek-to-beginning consumer t)
      (is (eql 2 (kabi:map-records #'identity consumer :limit 2)))
      (is (eql 0 (kabi:map-records #'identity consumer :limit 0)))
      (is (equal "2" (kabi:do-records (record consumer) (return (kabi:record-value record))))))))

(test a-lent-record-is-read-in-place
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (kabi:send producer topic "value" :key "key" :headers '(("h" . "1")) :timestamp 7)
      (kabi:send producer topic nil)
      (kabi:flush producer :timeout *long*))
    (with-reader (consumer topic)
      (kabi:do-records (record consumer :limit 1)
        (is (kabi:recordp record))
        (is (equal "key" (kabi:record-key record)))
        (is (equal "value" (kabi:record-value record)))
        (is (equalp (kabi:string-to-octets "key") (kabi:record-key-octets record)))
        (is (eql 3 (kabi:record-key-length record)))
        (is (eql 5 (kabi:record-value-length record)))
        (is (equal topic (kabi:record-topic record)))
        (is (eql 0 (kabi:offset record)))
        (is (eql 0 (kabi:partition record)))
        (is (equal topic (kabi:topic record)))
        (is (equalp (list "value" (kabi:string-to-octets "value")) (multiple-value-list (kabi:value record))))
        (is (equalp (list (cons "h" (octets 49))) (kabi:headers record)))
        (is (eq :create-time (kabi:record-timestamp-type record)))
        (kabi:with-record-pointers (key key-length value value-length) record
          (is (eql 3 key-length))
          (is (eql 5 value-length))
          (is (eql (char-code #\k) (cffi:mem-ref key :uint8)))
          (is (eql (char-code #\v) (cffi:mem-ref value :uint8))))
        (let ((copy (kabi:copy-record record)))
          (is (not (eq copy record)))
          (is (equal "value" (kabi:record-value copy)))
          (kabi:with-record-pointers (key key-length value value-length) copy
            (is (eql 3 key-length))
            (is (eql 5 value-length))
            (is (eql (char-code #\k) (cffi:mem-ref key :uint8)))
            (is (eql (char-code #\v) (cffi:mem-ref value :uint8))))))
      (kabi:do-records (record consumer :limit 1)
        (is (null (kabi:record-key record)))
        (is (null (kabi:record-value-octets record)))
        (is (null (kabi:record-value-length record)))
        (kabi:with-record-pointers (key key-length value value-length) record
          (is (cffi:null-pointer-p key))
          (is (cffi:null-pointer-p value))
          (is (eql 0 (+ key-length value-length))))))))

(defun stalep (record)
  (every (lambda (reader) (typep (condition-of (funcall reader record)) 'kabi:stale-record-error))
         (list #'kabi:record-key #'kabi:record-value #'kabi:record-topic #'kabi:record-offset
               #'kabi:record-partition #'kabi:record-headers #'kabi:record-timestamp
               #'kabi:record-timestamp-type #'kabi:record-leader-epoch #'kabi:record-key-octets
               #'kabi:record-value-octets #'kabi:record-key-length #'kabi:record-value-length
               #'kabi:copy-record #'kabi:key #'kabi:value #'kabi:topic #'kabi:offset
               (lambda (record) (kabi:with-record-pointers (a b c d) record a)))))

(test a-kept-lent-record-signals
  (let ((topic (fill-topic 1000)) (kept '()))
    (with-reader (consumer topic)
      (kabi:do-records (record consumer :limit 700)
        (is-false (and kept (not (typep (condition-of (kabi:record-value (first kept)))
                                        'kabi:stale-record-error))))
        (push record kept))
      (is (every #'stalep (subseq kept 0 5)))
      ;; Neither after the buffer holds others.
      (next-values consumer 300)
      (is (every #'stalep (subseq kept 690 700)))
      (is (search "not lent" (princ-to-string (first kept))))
      ;; However the loop was left.
      (kabi:seek-to-beginning consumer t)
      (catch 'out
        (kabi:do-records (record consumer) (push record kept) (throw 'out nil)))
      (is (stalep (first kept)))
      (ignore-errors (kabi:do-records (record consumer) (push record kept) (error 'cut-off)))
      (is (stalep (first kept)))
      (kabi:do-records (record consumer) (push record kept) (return))
      (is (stalep (first kept))))))

(test a-lent-record-is-of-one-thread
  (let ((topic (fill-topic 1)))
    (with-reader (consumer topic)
      (kabi:do-records (record consumer :limit 1)
        (is (typep (condition-of (funcall (in-thread (lambda () (kabi:record-value record)))))
                   'kabi:stale-record-error))
        (is (equal "0" (kabi:record-value record)))))))

(test a-loop-keeps-others-out
  (let ((topic (fill-topic 3)))
    (with-reader (consumer topic)
      (kabi:do-records (record consumer :limit 1)
        (is (eq :busy (kabi:error-name (condition-of (kabi:poll consumer :timeout 0)))))
        (is (eq :busy (kabi:error-name (condition-of (kabi:poll-batch consumer :timeout 0)))))
        (is (eq :busy (kabi:error-name (condition-of (kabi:map-records #'identity consumer)))))
        (is (eq :busy (kabi:error-name
                       (condition-of (funcall (in-thread (lambda () (kabi:poll consumer :timeout 0)))))))))
      (is (equal "1" (next-value consumer))))))

(test a-loop-goes-on-after-an-entry
  (let ((topic (fill-topic 2)) (count 0))
    (with-reader (consumer topic :enable-partition-eof t)
      (is (eq :partition-eof
              (kabi:error-name (condition-of (kabi:do-records (record consumer :timeout *long*)
                                               (incf count))))))
      (is (eql 2 count))
      (kabi:seek-to-beginning consumer t)
      (kabi:with-producer (producer :conf (conf))
        (let ((ends 0))
          ;; At the first end one more comes.
          (is (eql 3 (handler-bind ((kabi:partition-error
                                      (lambda (condition)
                                        (when (= (incf ends) 1)
                                          (kabi:value (kabi:send producer topic "2") :timeout *long*))
                                        (continue condition))))
                       (kabi:do-records (record consumer :limit 3 :timeout *long*) record))))
          (is (<= 1 ends)))))))

(test in-a-loop-the-program-may-move
  (let ((topic (fill-topic 10)) (values '()))
    (with-reader (consumer topic)
      (kabi:do-records (record consumer :limit 6)
        (push (kabi:record-value record) values)
        (when (equal (first values) "3")
          (kabi:seek consumer (list (cons (tp topic) 8)))))
      (is (equal '("0" "1" "2" "3" "8" "9") (reverse values))))))

;;; ---- what is committed ----

(test a-loop-that-ends-commits-all
  (let ((topic (fill-topic 9)))
    (is (eql 9 (committing (consumer topic (reader-conf))
                 (kabi:do-records (record consumer :limit 9) record))))))

(test a-loop-that-is-left-commits-what-it-finished
  (let ((topic (fill-topic 600)))
    (macrolet ((left-by (form)
                 `(eql 5 (committing (consumer topic (reader-conf))
                           (let ((count 0))
                             (kabi:do-records (record consumer)
                               (when (= (incf count) 6) ,form)))))))
      (is-true (left-by (throw 'out nil)))
      (is-true (left-by (error 'cut-off)))
      (is-true (left-by (return))))
    ;; Across batches.
    (is (eql 520 (committing (consumer topic (reader-conf))
                   (let ((count 0))
                     (kabi:do-records (record consumer)
                       (when (= (incf count) 521) (throw 'out nil)))))))
    (is (eql 6 (committing (consumer topic (reader-conf))
                 (let ((count 0))
                   (kabi:do-records (record consumer)
                     (when (= (incf count) 6)
                       (kabi:handled consumer)
                       (return)))))))))

(test a-commit-in-a-loop-counts-what-is-finished
  (let ((topic (fill-topic 10)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (let ((count 0))
        (kabi:do-records (record consumer :limit 5)
          (when (= (incf count) 4)
            (is (equal (list (list* (tp topic) 3 nil)) (kabi:commit consumer)))
            (is (equal (list (list* (tp topic) 4 nil)) (kabi:commit consumer :offsets record))))))
      (is (equal (list (list* (tp topic) 5 nil)) (kabi:commit consumer))))))

(defmacro leaving-at-the-sixth ((consumer) form)
  "A loop over CONSUMER that FORM leaves while the sixth record is in hand."
  `(let ((count 0))
     (catch 'out
       (handler-case (kabi:do-records (record ,consumer)
                       (when (= (incf count) 6) ,form))
         (cut-off ())))))

(test a-commit-after-a-loop-that-was-left-counts-what-is-finished
  (let ((topic (fill-topic 600)))
    (macrolet ((committed-after (form &body commit)
                 `(let ((conf (reader-conf :enable-auto-commit nil)))
                    (kabi:with-consumer (consumer :conf conf)
                      (kabi:assign consumer (list (tp topic)))
                      (leaving-at-the-sixth (consumer) ,form)
                      ,@commit)
                    (committed-offset conf topic))))
      (is (eql 5 (committed-after (error 'cut-off) (kabi:commit consumer))))
      (is (eql 5 (committed-after (throw 'out nil) (kabi:commit consumer))))
      (is (eql 5 (committed-after (return) (kabi:commit consumer))))
      (is (eql 5 (committed-after (error 'cut-off)
                                  (kabi:value (kabi:commit consumer :async t) :timeout *long*))))
      ;; Twice, and after what does not poll.
      (is (eql 5 (committed-after (error 'cut-off)
                                  (kabi:commit consumer)
                                  (kabi:pause consumer t)
                                  (kabi:resume consumer t)
                                  (kabi:commit consumer))))
      ;; What the program says counts,
      (is (eql 6 (committed-after (error 'cut-off) (kabi:handled consumer) (kabi:commit consumer))))
      ;; and so does a poll, which goes on with the seventh.
      (is (eql 7 (committed-after (error 'cut-off)
                                  (is (eql 6 (kabi:offset (kabi:poll consumer :timeout *long*))))
                                  (kabi:commit consumer))))
      (is (eql 8 (committed-after (error 'cut-off)
                                  (is (eql 2 (kabi:do-records (record consumer :limit 2) record)))
                                  (kabi:commit consumer)))))))

(test a-commit-at-a-revocation-counts-what-is-finished
  (let ((topic (fill-topic 10)))
    (macrolet ((committed-after (form)
                 `(let ((conf (reader-conf :enable-auto-commit nil)) (told nil))
                    (catch 'away
                      (kabi:with-consumer (consumer :conf conf
                                                    :on-revoke (lambda (consumer partitions)
                                                                 (setf told partitions)
                                                                 (kabi:commit consumer :timeout *long*)))
                        (kabi:subscribe consumer topic)
                        (leaving-at-the-sixth (consumer) ,form)))
                    (is (equal (list (tp topic)) told))
                    (committed-offset conf topic))))
      (is (eql 5 (committed-after (error 'cut-off))))
      (is (eql 5 (committed-after (throw 'out nil))))
      ;; Through the close itself, as in the guide.
      (is (eql 5 (committed-after (throw 'away nil)))))))

(test a-close-in-a-loop
  (let* ((topic (fill-topic 20)) (conf (reader-conf)) (count 0)
         (consumer (kabi:make-consumer :conf conf)))
    (kabi:assign consumer (list (tp topic)))
    (is (typep (condition-of (kabi:do-records (record consumer)
                               (when (= (incf count) 6) (kabi:close consumer))))
               'kabi:closed-error))
    (is (eql 5 (committed-offset conf topic)))))

;; librdkafka asks the broker at the topic's end, and that answers after fetch.wait.max.ms: till then a seek waits.
(test a-close-beside-a-poll-gives-no-record-twice
  (let ((topic (fill-topic 400)))
    (dolist (poll (list (lambda (consumer) (list (kabi:poll consumer :timeout *long*)))
                        (lambda (consumer) (coerce (kabi:poll-batch consumer :timeout *long* :limit 3) 'list))))
      (dotimes (round 10)
        (let* ((consumer (kabi:make-consumer :conf (reader-conf :fetch-wait-max-ms 5))) (offsets '()) (turns 0)
               (polls (progn
                        (kabi:assign consumer (list (cons (tp topic) :beginning)))
                        (in-thread (lambda ()
                                     (condition-of
                                       (loop (dolist (record (funcall poll consumer))
                                               (push (kabi:offset record) offsets)
                                               (when (= (kabi:offset record) 399)
                                                 (kabi:seek-to-beginning consumer t)
                                                 (incf turns)
                                                 (setf offsets '()))))))))))
          (is-true (await (lambda () (> turns 1))))
          (sleep (random 0.01))
          (kabi:close consumer :timeout *long*)
          (is (typep (funcall polls) 'kabi:closed-error))
          (is (equal (loop for offset from 0 repeat (length offsets) collect offset) (reverse offsets))))))))

(test polls-commit-what-came-before-the-last
  (let ((topic (fill-topic 10)))
    (is (eql 3 (committing (consumer topic (reader-conf)) (next-values consumer 4))))
    (is (eql 3 (committing (consumer topic (reader-conf)) (next-values consumer 4) (throw 'out nil))))
    (is (eql 4 (committing (consumer topic (reader-conf))
                 (next-values consumer 4)
                 (kabi:handled consumer))))
    (is (null (committing (consumer topic (reader-conf)) (next-value consumer))))
    (is (null (committing (consumer topic (reader-conf)) (kabi:poll-batch consumer :timeout *long*))))))

(test batches-commit-what-is-said-to-be-handled
  (let ((topic (fill-topic 10)))
    (is (eql 4 (committing (consumer topic (reader-conf))
                 (let ((batch (kabi:poll-batch consumer :timeout *long*)))
                   (kabi:handled consumer (aref batch 1))
                   (kabi:handled consumer (aref batch 3))
                   (kabi:handled consumer (aref batch 2))))))
    (is (eql 6 (committing (consumer topic (reader-conf))
                 (kabi:poll-batch consumer :timeout *long* :limit 6)
                 (kabi:poll-batch consumer :timeout *long*))))))

(test what-another-consumer-gave-is-not-handled-here
  (let ((topic (fill-topic 10)) (conf (reader-conf :enable-auto-commit nil)))
    (flet ((refusedp (consumer record)
             (let ((condition (condition-of (kabi:handled consumer record))))
               (and (typep condition 'kabi:argument-error)
                    (search "RECORD" (string-upcase (princ-to-string condition)))))))
      (with-reader (other topic)
        (kabi:with-consumer (consumer :conf conf)
          (kabi:assign consumer (list (tp topic)))
          (kabi:poll-batch consumer :timeout *long* :limit 8)
          (let ((theirs (kabi:poll-batch other :timeout *long* :limit 8)))
            (is-true (refusedp consumer (aref theirs 4)))
            (is-true (refusedp consumer (kabi:make-record :topic topic :offset 3)))
            (kabi:do-records (record other :limit 1)
              (is-true (refusedp consumer record))
              (is-true (refusedp other (kabi:copy-record record)))
              (is-false (refusedp other record)))
            (is-false (refusedp other (aref theirs 7))))
          (kabi:with-consumer (third :conf conf)
            (is (null (cdr (first (kabi:committed third (list (tp topic)) :timeout *long*)))))))))))

(test what-is-handled-is-told-while-a-batch-lasts
  (let* ((topic (fill-topic 100)) (conf (reader-conf :auto-commit-interval-ms 50)))
    (kabi:with-consumer (consumer :conf conf)
      (kabi:assign consumer (list (tp topic)))
      ;; Slow records: the library is told before the batch is over, so that librdkafka commits by itself.
      (is-true (kabi:do-records (record consumer)
                 (sleep 0.02)
                 (let ((committed (cdr (first (kabi:committed consumer t :timeout *long*)))))
                   (when committed
                     (is (<= (car committed) (kabi:record-offset record)))
                     (return t))))))))

(test a-long-batch-does-not-cost-the-membership
  (let ((topic (fill-topic 12)) (values '()))
    (kabi:with-consumer (consumer :conf (reader-conf :max-poll-interval-ms 6000 :session-timeout-ms 6000)
                                  :serde #'kabi:octets-to-string)
      (kabi:subscribe consumer topic)
      ;; Nine seconds with one batch, which would be too long between two polls.
      (kabi:do-records (record consumer :limit 12)
        (push (kabi:record-value record) values)
        (sleep 0.75))
      (is (equal (numbers 0 12) (reverse values)))
      (is (null (kabi:poll consumer :timeout 500)))
      (is (equal (list (list* (tp topic) 12 nil)) (kabi:commit consumer))))))
