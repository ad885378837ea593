;;;; What holds for all clients of the library that stands in for cl-rdkafka: their configuration, their end,
;;;; and what becomes of kafkabi's conditions.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-clients :in cl-rdkafka)
(in-suite kf-clients)

(test a-client-tells-its-configuration
  (dolist (class '(kf:producer kf:consumer))
    (let ((client (make-instance class :conf (conf "client.id" "me" "message.max.bytes" "2000"))))
      (let ((conf (kf:get-conf client)))
        (flet ((get-property (name) (cdr (assoc name conf :test #'string=))))
          (is (equal "me" (get-property "client.id")))
          (is (equal "2000" (get-property "message.max.bytes")))
          (is (equal (servers) (get-property "bootstrap.servers")))
          (is (plusp (length (get-property "client.software.name"))))
          ;; The default of one that was not set.
          (is (equal "60000" (get-property "socket.timeout.ms")))
          (is (every (lambda (pair) (and (stringp (car pair)) (stringp (cdr pair)))) conf))
          (is (= (length conf) (length (remove-duplicates conf :key #'car :test #'string=))))))
      (kf:close client))))

(test functions-of-kafkabi-work-with-these-clients
  (let ((topic (fresh-topic)) (statistics nil))
    (with-client (producer kf:producer
                  :conf (conf "statistics.interval.ms" "100")
                  :on-statistics (lambda (client text) (setf statistics (list client text))))
      (is (typep producer 'kabi:producer))
      (is (kabi:open-p producer))
      (is (typep (kabi:value (kabi:send producer topic (octets 1))) 'kabi:report))
      (is-true (await (lambda () statistics)))
      (is (eq producer (first statistics)))
      (is (stringp (kabi:metrics producer))))))

(test assignment-changes-are-told
  (let ((topic (fresh-topic)) (told '()))
    (with-client (consumer kf:consumer
                  :conf (reader-conf)
                  :on-assign (lambda (consumer partitions)
                               (declare (ignore consumer))
                               (push partitions told)))
      (kf:subscribe consumer topic)
      (is-true (await-assignment consumer))
      (is (equal (list (list (cons topic 0))) told)))))

(test nothing-but-errors-is-signalled-here
  ;; Programs catch CONDITION around all of it.
  (let ((topic (fresh-topic)) (signalled '()))
    (handler-bind ((condition (lambda (condition) (push condition signalled))))
      (fill-topic topic '("a" "b") :key "k")
      (with-client (consumer kf:consumer :conf (reader-conf) :serde #'babel:octets-to-string)
        (kf:subscribe consumer topic)
        (loop repeat 300 while (null (kf:poll consumer 100)))
        (kf:commit consumer)
        (kf:committed consumer (kf:assignment consumer) *long*)
        (kf:value (kf:commit consumer :asyncp t))))
    (is (null signalled))))

(test a-forgotten-client-is-told-to-the-log
  (let ((lines '()) (lock (bordeaux-threads:make-lock)))
    (let ((before kabi:*log-function*))
      (setf kabi:*log-function* (lambda (name level text)
                                  (bordeaux-threads:with-lock-held (lock)
                                    (push (list name level text) lines))))
      (unwind-protect
           (progn
             (forget-clients)
             (is-true (await (lambda ()
                               (trivial-garbage:gc :full t)
                               (find-if (lambda (line) (search "forgotten" (first line))) lines)))))
        (setf kabi:*log-function* before)))))

(declaim (notinline forget-clients))
(defun forget-clients ()
  (dotimes (i 20)
    (kf:send (make-instance 'kf:producer :conf (conf "client.id" (format nil "forgotten-~D" i)))
             (fresh-topic) (octets 1)))
  nil)

;;; ---- conditions ----

(defun translated-from (class &rest initargs)
  "The condition of this library for one of kafkabi's."
  (cl-rdkafka::translate (apply #'make-condition class :code kabi-ll:+status-timed-out+
                                                       :description "it happened" initargs)))

(test each-condition-of-kafkabi-has-one-here
  (loop for (theirs . ours) in '((kabi:kafka-error . kf:rdkafka-error)
                                 (kabi:timeout-error . kf:rdkafka-error)
                                 (kabi:closed-error . kf:rdkafka-error)
                                 (kabi:interrupted-error . kf:rdkafka-error)
                                 (kabi:partition-error . kf:partition-error)
                                 (kabi:queue-full-error . kf:partition-error)
                                 (kabi:delivery-error . kf:partition-error)
                                 (kabi:fatal-error . kf:fatal-error)
                                 (kabi:fenced-error . kf:fatal-error)
                                 (kabi:transaction-error . kf:transaction-error)
                                 (kabi:retriable-transaction-error . kf:retryable-operation-error)
                                 (kabi:abort-required-error . kf:abort-required-error))
        do (let ((condition (translated-from theirs)))
             (is (eq ours (type-of condition)))
             (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--timed-out (kf:enum condition)))
             (is (equal "it happened" (kf:description condition)))
             (is (search "it happened" (princ-to-string condition)))))
  (dolist (class '(kabi:configuration-error kabi:serde-error))
    (is (eq 'kf:kafka-error (type-of (translated-from class :value 7)))))
  (let ((condition (translated-from 'kabi:partition-error :topic "t" :partition 3)))
    (is (equal '("t" 3) (list (kf:topic condition) (kf:partition condition)))))
  ;; Conditions of others stay what they are.
  (let ((condition (make-condition 'error)))
    (is (eq condition (cl-rdkafka::translate condition)))))

(test a-partial-error-has-goodies-in-the-form-of-the-result
  (flet ((partial (operation goodies)
           (cl-rdkafka::translate
            (make-condition 'kabi:partial-error
                            :operation operation :goodies goodies
                            :baddies (list (cons (cons "t" 1)
                                                 (make-condition 'kabi:partition-error
                                                                 :code kabi-ll:+status-timed-out+
                                                                 :description "too slow"
                                                                 :topic "t" :partition 1)))))))
    (loop for (operation goodies . expected)
            in '((kabi:committed ((("t" . 0) . (3 . nil)) (("t" . 2))) (("t" . 0) . (3 . #()))
                  (("t" . 2) . (-1001 . #())))
                 (kabi:commit ((("t" . 0) . (3 . #(1)))) (("t" . 0) . (3 . #(1))))
                 (kabi:offsets-for-times ((("t" . 0) . :end)) (("t" . 0) . -1))
                 (kabi:positions ((("t" . 0) . 5) (("t" . 2))) (("t" . 0) . 5) (("t" . 2)))
                 (kabi:pause (("t" . 0)) ("t" . 0)))
          do (let ((condition (partial operation goodies)))
               (is (typep condition 'kf:partial-error))
               (is (equalp expected (kf:goodies condition)))
               (destructuring-bind ((partition . failure)) (kf:baddies condition)
                 (is (equal '("t" . 1) partition))
                 (is (typep failure 'kf:rdkafka-error))
                 (is (search "too slow" (kf:description condition))))))))

(test codes-of-kafkabis-own-have-the-nearest-symbol
  (loop for (code . symbol) in `((,kabi-ll:+status-closed+ . cl-rdkafka/ll:rd-kafka-resp-err--state)
                                 (,kabi-ll:+status-argument+ . cl-rdkafka/ll:rd-kafka-resp-err--invalid-arg)
                                 (,kabi-ll:+status-busy+ . cl-rdkafka/ll:rd-kafka-resp-err--conflict)
                                 (,kabi-ll:+status-system+
                                  . cl-rdkafka/ll:rd-kafka-resp-err--crit-sys-resource)
                                 (,kabi-ll:+status-panic+ . cl-rdkafka/ll:rd-kafka-resp-err--fail)
                                 (4711 . cl-rdkafka/ll:rd-kafka-resp-err-unknown)
                                 (0 . cl-rdkafka/ll:rd-kafka-resp-err-no-error))
        do (is (eq symbol (kf:enum (cl-rdkafka::translate (make-condition 'kabi:kafka-error :code code)))))))

(test functions-of-the-program-can-be-left-by-a-throw
  (let ((topic (fresh-topic)) (leaving t))
    (flet ((leave (&rest arguments)
             (if leaving (throw 'exit :left) (first arguments))))
      (macrolet ((exits (&rest rows)
                   `(progn ,@(loop for (name form) in rows
                                   collect `(is (eq :left (catch 'exit ,form)) "no exit from ~A" ',name)))))
        (with-client (producer kf:producer :conf (conf) :key-serde #'leave :value-serde #'babel:string-to-octets)
          (exits (key-serde (kf:send producer topic "value" :key (octets 1)))))
        (with-client (producer kf:producer :conf (conf) :value-serde #'leave)
          (exits (value-serde (kf:send producer topic (octets 1))))
          (setf leaving nil)
          (is (kf:value (kf:send producer topic (octets 1 2) :key (octets 3))))
          ;; On the client's own thread a throw finds no catch, and is the outcome of the future.
          (let ((next (kf:then (kf:send producer topic (octets 4) :key (octets 5))
                               (lambda (message condition)
                                 (declare (ignore message condition))
                                 (throw 'exit :left)))))
            (is (typep (condition-of (kf:value next)) 'error))
            (is (kf:value (kf:send producer topic (octets 6))))))
        (dolist (kind '(:serde :key-serde :value-serde))
          (setf leaving t)
          (with-client (consumer kf:consumer :conf (reader-conf) kind #'leave)
            (kf:assign consumer (list (cons (cons topic 0) 0)))
            (exits (serde-of-poll (kf:poll consumer 30000)))
            ;; The poll goes on with the message after.
            (setf leaving nil)
            (is (eql 1 (kf:offset (poll-message consumer))))))
        (with-client (consumer kf:consumer :conf (reader-conf)
                                           :on-assign (lambda (consumer partitions)
                                                        (declare (ignore consumer partitions))
                                                        (when leaving (throw 'exit :left))))
          (setf leaving t)
          (kf:subscribe consumer topic)
          (exits (on-assign (poll-message consumer)))
          (setf leaving nil)
          (is (eql 0 (kf:offset (poll-message consumer)))))))))

(test calls-that-wait-can-be-cut-short
  (kabi:with-cluster (away)
    (kabi:create-topic away "topic")
    (let ((conf (list "bootstrap.servers" (kabi:bootstrap-servers away)
                      "group.id" "group" "enable.auto.commit" "false"))
          (partition '("topic" . 0)))
      (with-client (producer kf:producer :conf (subseq conf 0 2))
        (with-client (consumer kf:consumer :conf conf)
          (kf:assign consumer (list partition))
          (kf:committed consumer (list partition) 30000)
          (kabi:broker-down away)
          (macrolet ((cut (&body calls)
                       `(progn
                          ,@(loop for call in calls
                                  collect `(is-true (kafkabi/test::unwinds-in-time-p (lambda () ,call))
                                                    "~S was not unwound in time" ',call)
                                  collect `(is (eq :timed-out (kafkabi/test::timed-out (lambda () ,call)))
                                               "~S was not cut by a time-out" ',call)))))
            (cut (kf:poll consumer 60000)
                 (kf:committed consumer (list partition) 60000)
                 (kf:commit consumer :offsets (list (cons partition 1)))
                 (kf:value (kf:commit consumer :offsets (list (cons partition 1)) :asyncp t))
                 (kf:watermarks consumer "topic" 0 60000)
                 (kf:offsets-for-times consumer '((("topic" . 0) . 5)) 60000)
                 (kf:cluster-metadata consumer :all :timeout-ms 60000)
                 (kf:value (kf:send producer "topic" (octets 1)))
                 (kf:flush producer)))
          (kabi:broker-up away)
          (kf:flush producer))))))
