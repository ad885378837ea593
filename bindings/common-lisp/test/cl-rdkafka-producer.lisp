;;;; Producers of the library that stands in for cl-rdkafka: sending, serdes, futures.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-producers :in cl-rdkafka)
(in-suite kf-producers)

;;; ---- configurations ----

(test a-configuration-is-a-plist-an-alist-or-a-hash-table
  (let ((table (make-hash-table :test #'equal))
        (topic (fresh-topic)))
    (setf (gethash "bootstrap.servers" table) (servers))
    (dolist (conf (list (list "bootstrap.servers" (servers))
                        (list (cons "bootstrap.servers" (servers)))
                        table))
      (with-client (producer kf:producer :conf conf)
        (is (eql 0 (kf:partition (kf:value (kf:send producer topic (numbers 1))))))))))

(test a-bad-configuration-is-a-kafka-error
  (dolist (conf (list '("bootstrap.servers")
                      '("bootstrap.server" "127.0.0.1:1")
                      '("acks" "some")
                      '("acks" . "1")
                      "acks=1" nil 7))
    (let ((condition (condition-of (make-instance 'kf:producer :conf conf))))
      (is (typep condition 'kf:kafka-error) "~S gave ~S" conf condition)
      (is (not (typep condition 'kf:rdkafka-error)))
      (is (plusp (length (kf:description condition))))))
  ;; The nearest name is told.
  (is (search "bootstrap.servers"
              (kf:description (condition-of (make-instance 'kf:consumer :conf '("bootstrap.server" "x")))))))

(test what-can-not-be-made-is-an-allocation-error
  (loop for (class name . conf) in '((kf:producer "producer" "transactional.id" "me" "enable.idempotence" "false")
                                     (kf:consumer "consumer" "group.id" "me" "session.timeout.ms" "900000"
                                      "max.poll.interval.ms" "6000"))
        do (let ((condition (handler-case (progn (make-instance class :conf (apply #'conf conf)) nil)
                              (serious-condition (condition) condition))))
             (is (typep condition 'kf:allocation-error))
             (is (equal name (kf:name condition)))
             (is (plusp (length (kf:description condition))))
             (is (search name (princ-to-string condition))))))

;;; ---- messages of futures ----

(test a-future-gives-the-message
  (let ((topic (fresh-topic 2)))
    (with-client (producer kf:producer :conf (conf) :serde #'babel:string-to-octets)
      (let* ((future (kf:send producer topic "Hello" :key "key-1" :partition 1
                                                     :headers (list (cons "one" (numbers 1 2 3))
                                                                    (cons "zwölf" (octets 4)))))
             (message (kf:value future)))
        (is (typep future 'kf:future))
        (is (typep message 'kf:message))
        (is (eq t (kf:donep future)))
        (is (eq message (kf:value future)))
        (is (equalp (list "key-1" (octets 107 101 121 45 49)) (multiple-value-list (kf:key message))))
        (is (equalp (list "Hello" (octets 72 101 108 108 111)) (multiple-value-list (kf:value message))))
        (is (equal topic (kf:topic message)))
        (is (eql 1 (kf:partition message)))
        (is (eql 0 (kf:offset message)))
        (is (equalp `(("one" . ,(octets 1 2 3)) ("zwölf" . ,(octets 4))) (kf:headers message)))
        (multiple-value-bind (timestamp type) (kf:timestamp message)
          ;; The embedded cluster's reports have one of their own.
          (is (eq :create-time type))
          (is (typep timestamp '(integer 0))))))))

(test a-timestamp-of-zero-or-none-is-now
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf))
      (dolist (timestamp '(0 nil))
        (kf:send producer topic (numbers 1) :timestamp timestamp))
      (kf:send producer topic (numbers 1) :timestamp 1234567890123)
      (kf:flush producer))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:subscribe consumer topic)
      (let ((timestamps (mapcar #'kf:timestamp (poll-messages consumer 3))))
        (is (< 1500000000000 (first timestamps)))
        (is (< 1500000000000 (second timestamps)))
        (is (eql 1234567890123 (third timestamps)))))))

(test flush-waits-and-gives-nil
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf))
      (let ((futures (loop repeat 1000 collect (kf:send producer topic (numbers 1 2)))))
        (is (null (kf:flush producer)))
        (is (every #'kf:donep futures))))))

(test a-producer-is-closed-and-counts-what-it-gave-up
  (let ((topic (fresh-topic)) (producer (make-instance 'kf:producer :conf (conf))))
    (let ((future (kf:send producer topic (numbers 1))))
      (is (eql 0 (kf:close producer)))
      (is (kf:donep future))
      (is (eql 0 (kf:offset (kf:value future)))))
    (is (eql 0 (kf:close producer)))
    (let ((condition (condition-of (kf:send producer topic (numbers 1)))))
      (is (typep condition 'kf:rdkafka-error))
      (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--state (kf:enum condition)))
      (is (search "closed" (kf:description condition))))))

(test reports-are-matched-to-their-own-futures
  ;; Of two partitions, one of which can't be reached, the answers come in another order than the sends.
  (let ((topic (fresh-topic 3)))
    (with-client (producer kf:producer :conf (conf "linger.ms" "1") :serde #'babel:string-to-octets)
      (let ((futures (loop for number below 3000
                           collect (kf:send producer topic (format nil "value ~D" number)
                                            :key (format nil "key ~D" number) :partition (mod number 3)))))
        (loop for future in (reverse futures)
              for number downfrom 2999
              do (let ((message (kf:value future)))
                   (unless (and (equal (format nil "value ~D" number) (kf:value message))
                                (equal (format nil "key ~D" number) (kf:key message))
                                (eql (mod number 3) (kf:partition message))
                                (eql (floor number 3) (kf:offset message)))
                     (fail "message ~D has another's report: ~S" number message))))
        (is (= 3000 (length futures)))))))

(test every-future-of-a-failed-batch-fails
  (with-client (producer kf:producer
                :conf (list "bootstrap.servers" "127.0.0.1:1" "message.timeout.ms" "300" "linger.ms" "50")
                :serde #'babel:string-to-octets
                :on-log (constantly nil))
    (let ((futures (loop repeat 50 collect (kf:send producer "unreached" "value" :partition 0))))
      (dolist (future futures)
        (let ((condition (condition-of (kf:value future))))
          (unless (and (typep condition 'kf:partition-error)
                       (equal "unreached" (kf:topic condition))
                       (eql 0 (kf:partition condition))
                       (eq 'cl-rdkafka/ll:rd-kafka-resp-err--msg-timed-out (kf:enum condition)))
            (fail "a future ended with ~S" condition))))
      (is (every #'kf:donep futures)))))

(test a-message-that-is-refused-signals-a-partition-error
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf "message.max.bytes" "2000"))
      (let ((condition (condition-of (kf:send producer topic (octets)
                                              :key (make-array 5000 :initial-element 1)))))
        (is (typep condition 'kf:partition-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err-msg-size-too-large (kf:enum condition)))
        (is (equal topic (kf:topic condition)))))))

(test a-full-queue-signals-a-partition-error
  (with-client (producer kf:producer
                :conf (list "bootstrap.servers" "127.0.0.1:1" "queue.buffering.max.messages" "3"
                            "message.timeout.ms" "60000")
                :on-log (constantly nil))
    (let ((condition (condition-of (loop repeat 5 do (kf:send producer "unreached" (numbers 1))))))
      (is (typep condition 'kf:partition-error))
      (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--queue-full (kf:enum condition)))
      (is (equal "unreached" (kf:topic condition)))
      (is (eql -1 (kf:partition condition))))
    (kabi:purge producer)))

(test bad-arguments-of-send-are-kafka-errors
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf))
      (loop for arguments in `((7) (,topic :partition -1) (,topic :partition "1") (,topic :timestamp -1)
                               (,topic :headers 5) (,topic :headers (("name" . 7)))
                               (,topic :headers (("a" . ,(numbers 1)) . 5)) (,topic :headers ((7 . "b")))
                               (,(format nil "nul~Cin it" (code-char 0)))
                               (""))
            do (destructuring-bind (topic &rest arguments) arguments
                 (let ((condition (condition-of (apply #'kf:send producer topic (numbers 1) arguments))))
                   (is (typep condition 'kf:kafka-error) "~S gave ~S" arguments condition)))))))

;;; ---- serdes ----

(test serdes-are-called-at-once-the-key-first
  (let ((topic (fresh-topic)) (calls '()))
    (flet ((serde (name) (lambda (object) (push (cons name object) calls) (numbers 1))))
      (with-client (producer kf:producer :conf (conf) :serde (serde :both) :key-serde (serde :key))
        (kf:send producer topic "a" :key "b")
        (is (equal '((:both . "a") (:key . "b")) calls))
        (kf:send producer topic "c")
        (is (equal '(:both . "c") (first calls)))
        (is (= 3 (length calls)))
        ;; A key that is NIL is one.
        (kf:send producer topic "d" :key nil)
        (is (equal '((:both . "d") (:key)) (subseq calls 0 2))))
      (setf calls '())
      (with-client (producer kf:producer :conf (conf) :serde (serde :both) :value-serde (serde :value))
        (kf:send producer topic "a" :key "b")
        (is (equal '((:value . "a") (:both . "b")) calls))))))

(test a-serde-gives-any-sequence-of-octets-or-nil
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf) :value-serde #'identity)
      (dolist (value (list (list 1 2) (numbers 1 2) (octets 1 2)
                           (make-array 2 :adjustable t :fill-pointer 2 :initial-contents '(1 2))))
        (is (equalp (octets 1 2) (nth-value 1 (kf:value (kf:value (kf:send producer topic value)))))))
      (kf:value (kf:send producer topic nil))
      (kf:value (kf:send producer topic (numbers) :key (numbers))))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:subscribe consumer topic)
      (dolist (message (poll-messages consumer 4))
        (is (equalp (octets 1 2) (kf:value message))))
      ;; Null and empty are two.
      (let ((null (poll-message consumer)) (empty (poll-message consumer)))
        (is (equal '(nil nil) (multiple-value-list (kf:value null))))
        (is (equal '(nil nil) (multiple-value-list (kf:key null))))
        (is (equalp (list (octets) (octets)) (multiple-value-list (kf:value empty))))
        (is (equalp (octets) (kf:key empty)))))))

(defun invoking-store-function (function thunk)
  "Call THUNK with each error answered by the restart STORE-FUNCTION with FUNCTION. The conditions as a
second value."
  (let ((conditions '()))
    (values (handler-bind ((error (lambda (condition)
                                    (push condition conditions)
                                    (invoke-restart 'kf:store-function function))))
              (funcall thunk))
            conditions)))

(test store-function-replaces-a-serializer
  (let ((topic (fresh-topic)))
    (dolist (bad (list (lambda (object) (error "I can't write ~A" object))
                       (constantly "text") (constantly 7) (constantly (list 1 256)) (constantly '(1 . 2))
                       #'identity))
      (with-client (producer kf:producer :conf (conf) :serde bad)
        (multiple-value-bind (future conditions)
            (invoking-store-function #'babel:string-to-octets
                                     (lambda () (kf:send producer topic "value" :key "key")))
          ;; Once for the key and once for the value,
          (is (= 2 (length conditions)))
          (is (equal '("key" "value")
                     (let ((message (kf:value future)))
                       (list (kf:key message) (kf:value message))))))
        ;; and from then on it is there.
        (is (equal "again" (kf:value (kf:value (kf:send producer topic "again" :key "key")))))))))

(define-condition my-condition (error) ())

(test a-condition-of-a-serde-comes-as-it-is
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf) :serde (lambda (object)
                                                             (declare (ignore object))
                                                             (error 'my-condition)))
      (is (typep (condition-of (kf:send producer topic "a")) 'my-condition))
      (is (typep (condition-of (kf:send producer topic (octets 1) :key 7)) 'my-condition)))))

(test a-serde-is-a-function-or-the-name-of-one
  (is (typep (condition-of (make-instance 'kf:producer :conf (conf) :serde 7)) 'kf:kafka-error))
  (is (typep (condition-of (make-instance 'kf:consumer :conf (conf) :key-serde "f")) 'kf:kafka-error))
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf) :serde 'babel:string-to-octets)
      (is (equal "a" (kf:value (kf:value (kf:send producer topic "a"))))))))

;;; ---- futures ----

(test then-goes-on-with-the-value-on-another-thread
  (let ((topic (fresh-topic)) (here (bordeaux-threads:current-thread)) (threads '()))
    (with-client (producer kf:producer :conf (conf) :serde #'babel:string-to-octets)
      (let* ((first (kf:send producer topic "message"))
             (second (kf:then first (lambda (message condition)
                                      (push (bordeaux-threads:current-thread) threads)
                                      (list (kf:value message) condition))))
             (third (kf:then second (lambda (value condition)
                                      (push (bordeaux-threads:current-thread) threads)
                                      (list value condition)))))
        (is (typep second 'kf:future))
        (is (equal '("message" nil) (kf:value second)))
        (is (equal '(("message" nil) nil) (kf:value third)))
        ;; Also once the future has long ended.
        (is (equal "late" (kf:value (kf:then first (lambda (message condition)
                                                     (declare (ignore message condition))
                                                     (push (bordeaux-threads:current-thread) threads)
                                                     "late")))))
        (is (= 3 (length threads)))
        (is (not (member here threads)))
        ;; All on the client's own.
        (is (= 1 (length (remove-duplicates threads))))))))

(test then-is-given-the-condition
  (with-client (producer kf:producer
                :conf (list "bootstrap.servers" "127.0.0.1:1" "message.timeout.ms" "100")
                :on-log (constantly nil))
    (let ((future (kf:then (kf:send producer "unreached" (numbers 1))
                           (lambda (message condition) (list message condition)))))
      (destructuring-bind (message condition) (kf:value future)
        (is (null message))
        (is (typep condition 'kf:partition-error))
        (is (equal "unreached" (kf:topic condition)))))))

(test what-a-callback-signals-is-the-new-futures-condition
  (let ((topic (fresh-topic)))
    (with-client (producer kf:producer :conf (conf))
      (let* ((first (kf:send producer topic (numbers 1)))
             (failed (kf:then first (lambda (message condition)
                                      (declare (ignore message condition))
                                      (error "no"))))
             (thrown (kf:then first (lambda (message condition)
                                      (declare (ignore message condition))
                                      (throw 'nobody 1))))
             (next (kf:then failed (lambda (message condition)
                                     (list message (princ-to-string condition))))))
        (is (equal "no" (princ-to-string (condition-of (kf:value failed)))))
        (is (typep (condition-of (kf:value thrown)) 'error))
        (is (equal '(nil "no") (kf:value next)))
        (is (every #'kf:donep (list failed thrown next)))
        (is (typep (condition-of (kf:then first 7)) 'kf:kafka-error))))))

(test a-pending-future-is-not-done
  (with-client (producer kf:producer
                :conf (list "bootstrap.servers" "127.0.0.1:1") :on-log (constantly nil))
    (let ((future (kf:send producer "unreached" (numbers 1))))
      (is (not (kf:donep future)))
      (kabi:purge producer)
      (is (typep (condition-of (kf:value future)) 'kf:partition-error))
      (is (kf:donep future)))))
