;;;; Producers: sending, futures, batches, closing.

(in-package #:kafkabi/test)

(def-suite producers :in kafkabi)
(in-suite producers)

(defun values-in (topic &key (partition 0) (count 1))
  "The values of the first COUNT records of a partition, as octets, read by a consumer."
  (declare (ignorable partition))
  (kabi:with-consumer (consumer :conf (reader-conf))
    (kabi:subscribe consumer topic)
    (loop repeat count
          for record = (kabi:poll consumer :timeout *long*)
          while record
          collect (kabi:record-value record))))

(test a-future-gives-the-report
  (let ((topic (fresh-topic 2)))
    (kabi:with-producer (producer :conf (conf :kafkabi.report.latency t))
      (let* ((future (kabi:send producer topic "value" :key "key" :partition 1))
             (report (kabi:value future :timeout *long*)))
        (is (kabi:donep future))
        (is (string= topic (kabi:report-topic report)))
        (is (eql 1 (kabi:report-partition report)))
        (is (eql 0 (kabi:report-offset report)))
        (is (eq :yes (kabi:report-persisted report)))
        (is (typep (kabi:report-timestamp report) '(or null (integer 1))))
        (is (typep (kabi:report-latency report) '(integer 0 60000000)))
        (is (typep future 'kabi:future))
        (is (eq report (kabi:value future)))))))

(test what-is-sent-is-received
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (kabi:send producer topic "grüße" :key (octets 0 255) :timestamp 1234567890123
                 :headers `(("one" . "1") ("zwölf" . ,(octets 1 2)) ("null" . nil) ("empty" . "")))
      (kabi:send producer topic nil)
      (kabi:send producer topic (octets) :key "")
      (is (eql 0 (kabi:flush producer :timeout *long*))))
    (kabi:with-consumer (consumer :conf (reader-conf) :value-serde #'kabi:octets-to-string)
      (kabi:subscribe consumer topic)
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (equal "grüße" (kabi:value record)))
        (is (equalp (octets 0 255) (kabi:key record)))
        (is (equal '(1234567890123 :create-time) (multiple-value-list (kabi:timestamp record))))
        (is (equalp `(("one" . ,(octets 49)) ("zwölf" . ,(octets 1 2)) ("null") ("empty" . ,(octets)))
                    (kabi:headers record))))
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (null (kabi:value record)))
        (is (null (kabi:key record))))
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (equal "" (kabi:value record)))
        (is (equalp (octets) (kabi:record-key-octets record)))))))

(test a-batch-keeps-order-and-has-a-future-each
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (let ((futures (kabi:send-batch producer topic (loop for i below 3000 collect (format nil "~D" i)))))
        (is (= 3000 (length futures)))
        (is (kabi:wait-all futures :timeout *long*))
        (is (equal (loop for i below 3000 collect i)
                   (map 'list (lambda (future) (kabi:report-offset (kabi:value future))) futures)))))
    (is (equal (loop for i below 3000 collect (format nil "~D" i))
               (mapcar #'kabi:octets-to-string (values-in topic :count 3000))))))

(test a-batch-takes-keys-headers-and-partitions
  (let ((topic (fresh-topic 3)) (other (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (let* ((futures (kabi:send-batch producer topic
                                       `("plain" ("value" :key "key" :partition 2 :headers (("h" . "v")))
                                         ("elsewhere" :topic ,other) nil)))
             (reports (map 'list (lambda (future) (kabi:value future :timeout *long*)) futures)))
        (is (eql 2 (kabi:report-partition (second reports))))
        (is (string= other (kabi:report-topic (third reports))))))))

(test one-refused-record-does-not-stop-a-batch
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      ;; The topic must be known, so that the missing partition is, too.
      (kabi:value (kabi:send producer topic "first") :timeout *long*)
      (let* ((futures (kabi:send-batch producer topic '("a" ("b" :partition 7) "c")))
             (condition (condition-of (kabi:value (elt futures 1) :timeout *long*))))
        (is (kabi:value (elt futures 0) :timeout *long*))
        (is (kabi:value (elt futures 2) :timeout *long*))
        (is (typep condition 'kabi:delivery-error))
        (is (eq :unknown-partition (kabi:error-name condition)))
        (is (eql 7 (kabi:error-partition condition)))
        (is (string= topic (kabi:error-topic condition))))
      (multiple-value-bind (taken failures)
          (kabi:send-batch producer topic '("a" ("b" :partition 7) "c") :futures nil)
        (is (eql 2 taken))
        (is (equal '(1) (mapcar #'car failures)))))))

(test a-full-queue-is-waited-for-and-told
  (let ((topic (fresh-topic)))
    (kabi:with-cluster (away)
      (kabi:create-topic away topic)
      (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)
                                                :queue-buffering-max-messages 10 :message-timeout-ms 600000))
        (kabi:broker-down away)
        (let* ((futures (kabi:send-batch producer topic (loop for i below 25 collect (format nil "~D" i))
                                         :timeout 100))
               (failed (count-if #'kabi:donep futures)))
          (is (= 15 failed))
          (is (every #'kabi:donep (subseq futures 10)))
          (is (typep (condition-of (kabi:value (elt futures 24))) 'kabi:queue-full-error))
          (let ((condition (condition-of (kabi:send producer topic "x" :timeout 100))))
            (is (typep condition 'kabi:queue-full-error))
            (is (kabi:retriablep condition)))
          ;; What waits goes on in place, in order, once there is space.
          (let ((rest (in-thread (lambda ()
                                   (kabi:send-batch producer topic
                                                    (loop for i from 10 below 25 collect (format nil "~D" i))
                                                    :timeout *long*)))))
            (kabi:broker-up away)
            (let ((futures (funcall rest)))
              (is (equal (loop for i from 10 below 25 collect i)
                         (map 'list (lambda (future)
                                      (kabi:report-offset (kabi:value future :timeout *long*)))
                              futures))))))))))

(test then-goes-on-with-the-outcome
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (let* ((sent (kabi:send producer topic "value"))
             (next (kabi:then sent (lambda (report condition) (list report condition))))
             (failing (kabi:then next (lambda (list condition)
                                        (declare (ignore condition))
                                        (error "~D things" (length list)))))
             (caught (kabi:then failing (lambda (value condition)
                                          (list value (princ-to-string condition))))))
        (is (equal '(nil "2 things") (kabi:value caught :timeout *long*)))
        (is (typep (first (kabi:value next :timeout *long*)) (quote kabi:report)))
        (is (null (second (kabi:value next))))
        ;; Also on a future that has ended.
        (is (eq :late (kabi:value (kabi:then next (constantly :late)) :timeout *long*)))))))

(test a-function-that-throws-ends-its-future
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (let ((next (kabi:then (kabi:send producer topic "value")
                             (lambda (report condition)
                               (declare (ignore report condition))
                               (abort)))))
        (is (eq :callback-failed (kabi:error-name (condition-of (kabi:value next :timeout *long*)))))
        ;; The thread lives on.
        (is (kabi:value (kabi:send producer topic "value") :timeout *long*))))))

(test a-value-that-takes-too-long-is-a-time-out
  (kabi:with-cluster (away)
    (kabi:create-topic away "topic")
    (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)))
      (kabi:broker-down away)
      (let ((future (kabi:send producer "topic" "value")))
        (is (typep (condition-of (kabi:value future :timeout 50)) 'kabi:timeout-error))
        (is-false (kabi:wait future :timeout 0))
        (is-false (kabi:donep future))
        (is (typep (condition-of (kabi:flush producer :timeout 50)) 'kabi:timeout-error))
        (kabi:purge producer)
        (let ((condition (condition-of (kabi:value future :timeout *long*))))
          (is (typep condition 'kabi:delivery-error))
          (is (member (kabi:error-persisted condition) '(:no :possibly))))))))

(test the-caller-drains-where-the-program-asks
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf) :drain :caller)
      (let ((future (kabi:send producer topic "value"))
            (thread (bordeaux-threads:current-thread)))
        (is (eq thread (kabi:value (kabi:then future (lambda (report condition)
                                                       (declare (ignore report condition))
                                                       (bordeaux-threads:current-thread)))
                                   :timeout *long*)))
        (kabi:send producer topic "value")
        (is (eql 0 (kabi:flush producer :timeout *long*)))
        (is (eql 0 (kabi:in-flight-count producer)))))))

(test after-the-close-calls-are-refused
  (let ((producer (kabi:make-producer :conf (conf))))
    (is (kabi:open-p producer))
    (is (eql 0 (kabi:close producer)))
    (is (eql 0 (kabi:close producer)))
    (is-false (kabi:open-p producer))
    (is (typep (condition-of (kabi:send producer "topic" "value")) 'kabi:closed-error))
    (is (typep (condition-of (kabi:flush producer)) 'kabi:closed-error))))

(test a-close-tells-what-was-not-delivered
  (kabi:with-cluster (away)
    (kabi:create-topic away "topic")
    (let ((producer (kabi:make-producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)))))
      (kabi:broker-down away)
      (let ((futures (loop repeat 3 collect (kabi:send producer "topic" "value"))))
        (is (typep (condition-of (kabi:close producer :timeout 100)) 'kabi:timeout-error))
        (is (every #'kabi:donep futures))))))

(test what-may-have-happened-is-told
  (let ((unknown (make-condition 'kabi:fatal-error :code kabi-ll:+status-timed-out+
                                                   :flags (logior kabi-ll:+error-outcome-unknown+
                                                                  kabi-ll:+error-fatal+))))
    (is (typep unknown 'kabi:kafka-error))
    (is-true (kabi:outcome-unknown-p unknown))
    (is-true (kabi:fatalp unknown))
    (is-false (kabi:retriablep unknown))))

(test an-event-loop-has-a-descriptor
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf) :drain :caller)
      (let ((descriptor (kabi:event-descriptor producer))
            (future (kabi:send producer topic "value")))
        (is (typep descriptor '(integer 0 100000)))
        (is-true (await (lambda () (readablep descriptor))))
        (loop until (kabi:donep future) do (kabi:serve producer :timeout *long*))
        (is (kabi:value future))))))

(defun readablep (descriptor)
  "What poll(2) says of a descriptor, without waiting."
  (cffi:with-foreign-object (entry :uint8 8)
    (setf (cffi:mem-ref entry :int32 0) descriptor
          (cffi:mem-ref entry :int16 4) 1   ; POLLIN
          (cffi:mem-ref entry :int16 6) 0)
    (plusp (cffi:foreign-funcall "poll" :pointer entry :unsigned-long 1 :int 0 :int))))

(test bad-arguments-are-named
  (kabi:with-producer (producer :conf (conf))
    (macrolet ((refuses (argument form)
                 `(let ((condition (condition-of ,form)))
                    (is (typep condition 'kabi:argument-error))
                    (is (eq ',argument (kabi:error-argument condition)))
                    (is (eql kabi-ll:+status-argument+ (kabi:error-code condition)))
                    (is (search (kabi:error-expected condition) (princ-to-string condition)))
                    (is (search (kabi:error-expected condition) (kabi:error-description condition))))))
      (refuses kabi::partition (kabi:send producer "topic" "value" :partition -1))
      (refuses kabi::timestamp (kabi:send producer "topic" "value" :timestamp "now"))
      (refuses kabi::headers (kabi:send producer "topic" "value" :headers "h"))
      (refuses kabi::headers (kabi:send producer "topic" "value" :headers '((1 . "v"))))
      (refuses kabi::topic (kabi:send producer 12 "value"))
      (refuses kabi::producer (kabi:send "producer" "topic" "value"))
      (refuses kabi::timeout (kabi:flush producer :timeout 1.5))
      (refuses kabi::conf (kabi:make-producer :conf '("linger.ms")))
      (refuses kabi::records (kabi:send-batch producer "topic" '("a" . "b")))
      (refuses kabi::records (kabi:send-batch producer "topic" '(("a" :kee "b")))))
    (is (typep (condition-of (kabi:send producer "topic" 12)) 'kabi:serde-error))
    (is (typep (condition-of (kabi:send producer "topic" #(1 2 256))) 'kabi:serde-error))
    (let ((condition (condition-of (kabi:make-producer :conf '(:lingr-ms 1)))))
      (is (typep condition 'kabi:configuration-error))
      (is (string= "lingr.ms" (kabi:error-property condition)))
      (is (search "linger.ms" (princ-to-string condition))))))

(test another-serializer-can-be-stored
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf) :value-serde (lambda (value)
                                                              (declare (ignore value))
                                                              (error "no")))
      (handler-bind ((error (lambda (condition)
                              (declare (ignore condition))
                              (kabi:store-function (lambda (value) (octets value))))))
        (kabi:value (kabi:send producer topic 7) :timeout *long*))
      (kabi:value (kabi:send producer topic 8) :timeout *long*))
    (is (equalp (list (octets 7) (octets 8)) (values-in topic :count 2)))))

(test threads-that-send-to-different-topics-do-not-mix-them-up
  (let ((topics (list (fresh-topic) (fresh-topic))) (rounds 5) (records 4000))
    (kabi:with-producer (producer :conf (conf))
      (flet ((sender (topic)
               ;; The elements name their topic, so that it is looked up as often as can be.
               (let ((batch (make-list records :initial-element (list topic :topic topic))))
                 (in-thread (lambda ()
                              (loop repeat rounds
                                    append (coerce (kabi:send-batch producer topic batch :timeout *long*)
                                                   'list)))))))
        (loop for futures in (mapcar #'funcall (mapcar #'sender topics))
              for topic in topics
              do (is (= (* rounds records)
                        (count topic futures
                               :test #'string=
                               :key (lambda (future)
                                      (kabi:report-topic (kabi:value future :timeout *long*)))))))))
    (dolist (topic topics)
      (is (= (* rounds records)
             (count topic (values-in topic :count (* rounds records))
                    :test #'string= :key #'kabi:octets-to-string))))))

(test threads-look-topics-up-side-by-side
  ;; What each send does, as often as it takes for two threads to meet in it.
  (kabi:with-producer (producer :conf (conf))
    (let ((core (kabi::client-core producer)))
      (flet ((looker (topic)
               (let ((name (coerce topic '(simple-array character (*))))
                     (number (kabi::topic-number core topic)))
                 (in-thread (lambda ()
                              (loop repeat 2000000
                                    count (/= number (kabi::producer-topic core name))))))))
        (is (equal '(0 0) (mapcar #'funcall (mapcar #'looker (list (fresh-topic) (fresh-topic))))))))))
