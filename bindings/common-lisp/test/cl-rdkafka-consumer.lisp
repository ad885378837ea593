;;;; Consumers of the library that stands in for cl-rdkafka: polling, assigning, moving.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-consumers :in cl-rdkafka)
(in-suite kf-consumers)

(defun text-values (messages)
  (mapcar (lambda (message) (babel:octets-to-string (nth-value 1 (kf:value message)))) messages))

(defun await-assignment (consumer)
  "Poll until CONSUMER has partitions: no message must be there yet."
  (await (lambda ()
           (kf:poll consumer 100)
           (kf:assignment consumer))))

(defmacro with-assigned ((consumer topic &rest conf) &body body)
  "Evaluate BODY with a new consumer that reads partition 0 of TOPIC from the beginning."
  `(with-client (,consumer kf:consumer :conf (reader-conf ,@conf))
     (kf:assign ,consumer (list (cons ,topic 0)))
     ,@body))

;;; ---- polling ----

(test what-is-sent-is-polled-in-order
  (let ((topic (fresh-topic)))
    (fill-topic topic '("Hello" "World" "!") :key "key"
                                             :headers (list (cons "one" (numbers 1 2 3))
                                                            (cons "schlüssel" (octets 255))
                                                            (cons "one" (numbers))
                                                            (cons "null" nil)))
    (with-client (consumer kf:consumer :conf (reader-conf) :serde #'babel:octets-to-string)
      (is (null (kf:subscribe consumer topic)))
      (let ((messages (poll-messages consumer 3)))
        (is (equal '("Hello" "World" "!") (mapcar #'kf:value messages)))
        (is (equal '(0 1 2) (mapcar #'kf:offset messages)))
        (let ((message (first messages)))
          (is (typep message 'kf:message))
          (is (equalp (list "key" (octets 107 101 121)) (multiple-value-list (kf:key message))))
          (is (equalp (list "Hello" (octets 72 101 108 108 111)) (multiple-value-list (kf:value message))))
          (is (equal topic (kf:topic message)))
          (is (eql 0 (kf:partition message)))
          (is (eq :create-time (nth-value 1 (kf:timestamp message))))
          (is (equalp `(("one" . ,(octets 1 2 3)) ("schlüssel" . ,(octets 255)) ("one" . ,(octets))
                        ("null"))
                      (kf:headers message)))))
      (is (null (kf:poll consumer 0)))
      (is (null (kf:poll consumer 10))))))

(test a-null-skips-the-deserializers
  (let ((topic (fresh-topic)) (calls '()))
    (with-client (producer kf:producer :conf (conf))
      (kf:send producer topic nil)
      (kf:send producer topic (octets) :key (octets 1))
      (kf:flush producer))
    (with-client (consumer kf:consumer :conf (reader-conf)
                                       :serde (lambda (octets) (push octets calls) (length octets)))
      (kf:subscribe consumer topic)
      (let ((null (poll-message consumer)))
        (is (equal '(nil nil) (multiple-value-list (kf:key null))))
        (is (equal '(nil nil) (multiple-value-list (kf:value null))))
        (is (null calls)))
      (let ((message (poll-message consumer)))
        (is (eql 1 (kf:key message)))
        (is (eql 0 (kf:value message)))
        ;; The key first.
        (is (equalp (list (octets) (octets 1)) calls))))))

(test store-function-replaces-a-deserializer
  (let ((topic (fresh-topic)))
    (fill-topic topic '("one" "two") :key "key")
    (with-client (consumer kf:consumer :conf (reader-conf)
                                       :serde #'babel:octets-to-string
                                       :value-serde (lambda (octets) (error "I can't read ~S" octets)))
      (kf:subscribe consumer topic)
      (multiple-value-bind (message conditions)
          (invoking-store-function #'babel:octets-to-string (lambda () (poll-message consumer)))
        (is (= 1 (length conditions)))
        (is (equal '("key" "one") (list (kf:key message) (kf:value message)))))
      (is (equal "two" (kf:value (poll-message consumer)))))))

(test the-end-of-a-partition-is-a-partition-error
  (let ((topic (fresh-topic)))
    (fill-topic topic '("one"))
    (with-assigned (consumer topic "enable.partition.eof" "true")
      (is (equal '("one") (text-values (list (poll-message consumer)))))
      (let ((condition (condition-of (poll-message consumer))))
        (is (typep condition 'kf:partition-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--partition-eof (kf:enum condition)))
        (is (equal topic (kf:topic condition)))
        (is (eql 0 (kf:partition condition)))
        (is (plusp (length (kf:description condition))))
        (is (search topic (princ-to-string condition)))))))

(test a-topic-that-is-not-there-is-a-partition-error
  ;; cl-rdkafka met such an answer with a null pointer.
  (kabi:with-cluster (cluster)
    (dolist (error '(:unknown-topic-or-part :topic-authorization-failed))
      (let ((topic (fresh "nowhere")))
        (kabi:create-topic cluster topic)
        (kabi:set-topic-error cluster topic error)
        (with-client (consumer kf:consumer
                               :conf (reader-conf "bootstrap.servers" (kabi:bootstrap-servers cluster)
                                                  "topic.metadata.propagation.max.ms" "0"
                                                  "allow.auto.create.topics" "false"))
          (kf:subscribe consumer topic)
          (let ((condition (condition-of (poll-message consumer))))
            (is (typep condition 'kf:partition-error) "~A gave ~S" error condition)
            (is (equal topic (kf:topic condition)))
            (is (plusp (length (kf:description condition))))
            ;; The consumer is as good as before.
            (kabi:set-topic-error cluster topic nil)
            (is (equal (list topic) (coerce (kf:subscription consumer) 'list)))))))))

(test several-threads-poll-one-consumer
  (let ((topic (fresh-topic)) (lock (bordeaux-threads:make-lock)) (offsets '()))
    (fill-topic topic (loop for i below 500 collect (princ-to-string i)))
    (with-assigned (consumer topic)
      (let ((waits (loop repeat 4
                         collect (in-thread
                                  (lambda ()
                                    (loop
                                      (when (>= (length offsets) 500) (return))
                                      (let ((message (kf:poll consumer 50)))
                                        (when message
                                          (bordeaux-threads:with-lock-held (lock)
                                            (push (kf:offset message) offsets))))))))))
        (mapc #'funcall waits)
        (is (equal (loop for i below 500 collect i) (sort offsets #'<)))))))

(test a-poll-waits-for-its-turn-no-longer-than-it-may
  (let ((topic (fresh-topic)))
    (with-assigned (consumer topic)
      (let* ((polling nil)
             (wait (in-thread (lambda () (setf polling t) (kf:poll consumer 2000)))))
        (await (lambda () polling))
        (within (20000) (is (null (kf:poll consumer 20))))
        (is (null (funcall wait)))))))

;;; ---- subscribing ----

(test a-subscription-comes-back
  (let ((one (fresh-topic)) (two (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (is (null (kf:subscription consumer)))
      (dolist (topics (list (list one two) (vector one two)))
        (kf:subscribe consumer topics)
        (is (equal (sort (list one two) #'string<) (sort (kf:subscription consumer) #'string<))))
      (kf:subscribe consumer one)
      (is (equal (list one) (kf:subscription consumer)))
      (is (null (kf:unsubscribe consumer)))
      (is (null (kf:subscription consumer))))))

(test a-name-that-begins-with-a-caret-is-a-regular-expression
  (let* ((prefix (fresh "matched"))
         (topic (kabi:create-topic kafkabi/test::*cluster* (format nil "~A-yes" prefix))))
    (fill-topic topic '("found"))
    (with-client (consumer kf:consumer :conf (reader-conf "topic.metadata.refresh.interval.ms" "500"))
      (kf:subscribe consumer (format nil "^~A-.*" prefix))
      (is (equal '("found") (text-values (list (poll-message consumer))))))))

(test bad-arguments-of-consumers-are-kafka-errors
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (dolist (call (list (lambda () (kf:subscribe consumer 7))
                          (lambda () (kf:subscribe consumer '("a" . "b")))
                          (lambda () (kf:subscribe consumer '("a" 7)))
                          (lambda () (kf:assign consumer (list topic)))
                          (lambda () (kf:assign consumer (list (cons topic -1))))
                          (lambda () (kf:assign consumer (list (cons (cons topic 0) -5))))
                          (lambda () (kf:assign consumer (list (cons (cons topic 0) "0"))))
                          (lambda () (kf:pause consumer 7))
                          (lambda () (kf:resume consumer (list (cons 0 topic))))
                          (lambda () (kf:poll consumer "1"))
                          (lambda () (kf:poll consumer -2))
                          (lambda () (kf:seek consumer topic -1 0 100))
                          (lambda () (kf:seek consumer topic 0 :first 100))
                          (lambda () (kf:commit consumer :offsets (list (cons topic 0))))
                          (lambda () (kf:commit consumer :offsets (list (cons (cons topic 0) "7"))))
                          (lambda () (kf:commit consumer :offsets (list (list* (cons topic 0) 1 7))))
                          (lambda () (kf:committed consumer (list 7) 100))
                          (lambda () (kf:committed consumer (list (cons topic 0)) nil))
                          (lambda () (kf:watermarks consumer topic nil 100))
                          (lambda () (kf:positions consumer "text"))
                          (lambda () (kf:offsets-for-times consumer '(7) 100))))
        (let ((condition (condition-of (funcall call))))
          (is (typep condition 'kf:kafka-error) "~S" condition)
          (when (typep condition 'kf:kafka-error)
            (is (plusp (length (kf:description condition))))))))))

(test every-call-of-a-closed-consumer-is-refused
  (let* ((topic (fresh-topic)) (partition (cons topic 0))
         (consumer (make-instance 'kf:consumer :conf (reader-conf))))
    (is (null (kf:close consumer)))
    (is (null (kf:close consumer)))
    (dolist (call (list (lambda () (kf:poll consumer 0))
                        (lambda () (kf:subscribe consumer topic))
                        (lambda () (kf:unsubscribe consumer))
                        (lambda () (kf:subscription consumer))
                        (lambda () (kf:assign consumer (list partition)))
                        (lambda () (kf:assignment consumer))
                        (lambda () (kf:commit consumer))
                        (lambda () (kf:commit consumer :asyncp t))
                        (lambda () (kf:committed consumer (list partition) 100))
                        (lambda () (kf:pause consumer (list partition)))
                        (lambda () (kf:member-id consumer))
                        (lambda () (kf:seek consumer topic 0 0 100))
                        (lambda () (kf:watermarks consumer topic 0 100))
                        (lambda () (kf:positions consumer (list partition)))))
      (let ((condition (condition-of (funcall call))))
        (is (typep condition 'kf:rdkafka-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--state (kf:enum condition)))))))

;;; ---- assigning ----

(test an-assignment-comes-back
  (let ((topic (fresh-topic 4)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (is (null (kf:assignment consumer)))
      (is (null (kf:assign consumer (vector (cons topic 0)
                                            (cons (cons topic 1) 7)
                                            (cons (cons topic 2) cl-rdkafka/ll:rd-kafka-offset-stored)
                                            (cons (cons topic 3) cl-rdkafka/ll:rd-kafka-offset-end)))))
      (is (null (set-exclusive-or (loop for partition below 4 collect (cons topic partition))
                                  (kf:assignment consumer) :test #'equal)))
      (is (null (set-exclusive-or `(((,topic . 0) . -1001) ((,topic . 1) . 7) ((,topic . 2) . -1000)
                                    ((,topic . 3) . -1))
                                  (kf:assignment consumer :offsetsp t) :test #'equal)))
      (kf:assign consumer '())
      (is (null (kf:assignment consumer))))))

(test a-partition-that-is-not-there-is-assigned-all-the-same
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:assign consumer (list (cons topic 35)))
      (is (equal (list (cons topic 35)) (kf:assignment consumer))))))

(test an-assigned-offset-is-where-it-begins
  (let ((topic (fresh-topic)))
    (fill-topic topic '("0" "1" "2" "3"))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:assign consumer (list (cons (cons topic 0) 2)))
      (is (equal '("2" "3") (text-values (poll-messages consumer 2)))))))

(test a-member-has-an-id
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:subscribe consumer topic)
      (is-true (await-assignment consumer))
      (is (stringp (kf:member-id consumer)))
      (is (plusp (length (kf:member-id consumer)))))))

(test a-pause-holds-one-partition
  (let ((topic (fresh-topic 2)))
    (fill-topic topic '("a" "b") :partition 0)
    (fill-topic topic '("c" "d") :partition 1)
    (with-client (consumer kf:consumer :conf (reader-conf))
      (let ((held (list (cons topic 0))))
        (kf:assign consumer (list (cons topic 0) (cons topic 1)))
        (is (eq held (kf:pause consumer held)))
        (is (equal '("c" "d") (text-values (poll-messages consumer 2))))
        (is (null (kf:poll consumer 300)))
        (is (eq held (kf:resume consumer held)))
        (is (equal '("a" "b") (text-values (poll-messages consumer 2))))))))

(test a-pause-of-what-is-not-assigned-is-a-partial-error
  (let ((topic (fresh-topic 2)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:assign consumer (list (cons topic 0)))
      (dolist (function (list #'kf:pause #'kf:resume))
        (let ((condition (condition-of (funcall function consumer
                                                (vector (cons topic 0) (cons topic 1))))))
          (is (typep condition 'kf:partial-error))
          (is (equal (list (cons topic 0)) (kf:goodies condition)))
          (destructuring-bind ((partition . failure)) (kf:baddies condition)
            (is (equal (cons topic 1) partition))
            (is (typep failure 'kf:rdkafka-error))
            (is (search (kf:description failure) (kf:description condition)))))))))

;;; ---- moving ----

(test three-ways-to-seek
  (let ((topic (fresh-topic)))
    (fill-topic topic '("0" "1" "2" "3"))
    (with-client (consumer kf:consumer :conf (reader-conf))
      ;; At once after the assign.
      (kf:assign consumer (list (cons topic 0)))
      (is (null (kf:seek consumer topic 0 3 *long*)))
      (is (equal '("3") (text-values (poll-messages consumer 1))))
      (is (null (kf:seek-to-beginning consumer topic 0 *long*)))
      (is (equal '("0" "1") (text-values (poll-messages consumer 2))))
      (is (null (kf:seek-to-end consumer topic 0 *long*)))
      (is (null (kf:poll consumer 300)))
      (fill-topic topic '("4"))
      (is (equal '("4") (text-values (poll-messages consumer 1))))
      (kf:seek consumer topic 0 1 *long*)
      (is (equal '("1" "2") (text-values (poll-messages consumer 2)))))))

(test a-seek-of-what-is-not-assigned-is-an-rdkafka-error
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (dolist (seek (list (lambda () (kf:seek consumer topic 0 0 500))
                          (lambda () (kf:seek-to-beginning consumer topic 0 500))
                          (lambda () (kf:seek-to-end consumer topic 0 500))))
        (let ((condition (condition-of (funcall seek))))
          (is (typep condition 'kf:rdkafka-error))
          (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--state (kf:enum condition))))))))

(test positions-are-after-what-was-polled
  (let ((topic (fresh-topic 2)))
    (fill-topic topic '("a" "b" "c") :partition 0)
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:assign consumer (list (cons topic 0) (cons topic 1)))
      (is (equal `(((,topic . 0)) ((,topic . 1)))
                 (kf:positions consumer (list (cons topic 0) (cons topic 1)))))
      (dotimes (i 3)
        (poll-message consumer)
        (is (equal `(((,topic . 0) . ,(1+ i)) ((,topic . 1)))
                   (kf:positions consumer (vector (cons topic 0) (cons topic 1)))))))))

(test watermarks-are-the-first-offset-and-the-next
  (let ((topic (fresh-topic 2)))
    (with-client (consumer kf:consumer :conf (conf))
      (is (equal '(0 . 0) (kf:watermarks consumer topic 0 *long*)))
      (fill-topic topic '("a" "b") :partition 1)
      (is (equal '(0 . 0) (kf:watermarks consumer topic 0 *long*)))
      (is (equal '(0 . 2) (kf:watermarks consumer topic 1 *long*)))
      (let ((condition (condition-of (kf:watermarks consumer topic 7 5000))))
        (is (typep condition 'kf:rdkafka-error))))))

(test offsets-for-times-are-numbers
  ;; The embedded cluster says of every time that no message is as late.
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (conf))
      (is (equal `(((,topic . 0) . ,cl-rdkafka/ll:rd-kafka-offset-end))
                 (kf:offsets-for-times consumer `(((,topic . 0) . 1234)) *long*))))))
