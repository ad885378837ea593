;;;; Consumers: subscribing and assigning, seeking, pausing, positions, commits, questions about offsets.

(in-package #:kafkabi/test)

(def-suite consumer :in kafkabi)
(in-suite consumer)

(defun fill-topic (count &key (partitions 1) (topic (fresh-topic partitions)))
  "A topic with COUNT records in each partition; their values are their offsets."
  (kabi:with-producer (producer :conf (conf))
    (dotimes (partition partitions)
      (kabi:send-batch producer topic
                       (loop for offset below count
                             collect (list (princ-to-string offset) :partition partition))
                       :futures nil))
    (kabi:flush producer :timeout *long*))
  topic)

(defun tp (topic &optional (partition 0))
  (cons topic partition))

(defmacro with-reader ((consumer topic &rest properties) &body body)
  "Evaluate BODY with a CONSUMER that is assigned partition 0 of TOPIC from its beginning."
  `(kabi:with-consumer (,consumer :conf (reader-conf ,@properties) :serde #'kabi:octets-to-string)
     (kabi:assign ,consumer (list (cons (tp ,topic) :beginning)))
     ,@body))

(defun next-value (consumer)
  (let ((record (kabi:poll consumer :timeout *long*)))
    (and record (values (kabi:value record)))))

(defun next-values (consumer count)
  (loop repeat count collect (next-value consumer)))

(defun numbers (from to)
  (loop for number from from below to collect (princ-to-string number)))

;;; ---- subscribing ----

(test a-subscription-is-told
  (kabi:with-consumer (consumer :conf (reader-conf))
    (is (null (kabi:subscription consumer)))
    (let ((topic (fresh-topic)))
      (is (null (kabi:subscribe consumer topic)))
      (is (equal (list topic) (kabi:subscription consumer)))
      (kabi:subscribe consumer (vector topic "^other-.*"))
      (is (null (set-exclusive-or (list topic "^other-.*") (kabi:subscription consumer) :test #'equal)))
      (kabi:unsubscribe consumer)
      (is (null (kabi:subscription consumer))))))

(test a-subscription-by-pattern
  (let* ((name (fresh "pattern")) (topic (fill-topic 3 :topic (kabi:create-topic *cluster* name))))
    (kabi:with-consumer (consumer :conf (reader-conf :topic-metadata-refresh-interval-ms 500)
                                  :serde #'kabi:octets-to-string)
      (kabi:subscribe consumer (format nil "^~A$" name))
      (is (equal (numbers 0 3) (next-values consumer 3)))
      (is (equal (list (tp topic)) (kabi:assignment consumer)))
      (is (eq :eager (kabi:rebalance-protocol consumer)))
      (is (stringp (kabi:member-id consumer)))
      (is (typep (kabi:group-metadata consumer) 'kabi:octets)))))

(test subscribing-needs-a-group
  (kabi:with-consumer (consumer :conf (conf))
    (is (eq :unknown-group (kabi:error-name (condition-of (kabi:subscribe consumer "topic")))))
    (is (eq :unknown-group (kabi:error-name (condition-of (kabi:commit consumer)))))
    (is (eq :unknown-group (kabi:error-name (condition-of (kabi:group-metadata consumer)))))))

;;; ---- assigning ----

(test an-assignment-is-told
  (let ((topic (fill-topic 4 :partitions 3)))
    (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string)
      (kabi:assign consumer (list (tp topic 0) (cons (tp topic 1) 2)))
      (is (equal (list (tp topic 0) (tp topic 1)) (kabi:assignment consumer)))
      (is (equal (list (list (tp topic 0)) (cons (tp topic 1) 2)) (kabi:assignment consumer :offsets t)))
      (is (equal '("0" "1" "2" "2" "3" "3") (sort (next-values consumer 6) #'string<)))
      (kabi:incremental-assign consumer (list (cons (tp topic 2) :beginning)))
      (is (= 3 (length (kabi:assignment consumer))))
      (is (equal (numbers 0 4) (next-values consumer 4)))
      (kabi:incremental-unassign consumer (list (tp topic 0) (tp topic 1)))
      (is (equal (list (cons (tp topic 2) :beginning)) (kabi:assignment consumer :offsets t)))
      (kabi:unassign consumer)
      (is (null (kabi:assignment consumer))))))

(test an-assignment-drops-what-was-not-handed-out
  (let ((first (fill-topic 10)) (second (fill-topic 2)))
    (with-reader (consumer first)
      (is (equal "0" (next-value consumer)))
      (kabi:assign consumer (list (cons (tp second) :beginning)))
      (is (equal (numbers 0 2) (next-values consumer 2)))
      (kabi:assign consumer (list (cons (tp second) 1)))
      (is (equal "1" (next-value consumer)))
      (kabi:incremental-assign consumer (list (cons (tp first) 3)))
      (is (equal (numbers 3 5) (next-values consumer 2)))
      (kabi:incremental-unassign consumer (list (tp first)))
      (is (null (kabi:poll consumer :timeout 200))))))

(test partitions-that-are-wrong
  (kabi:with-consumer (consumer :conf (reader-conf))
    (macrolet ((refused (argument &body calls)
                 `(progn
                    ,@(loop for call in calls
                            collect `(let ((condition (condition-of ,call)))
                                       (is (typep condition 'kabi:argument-error)
                                           "~S gave ~S" ',call condition)
                                       (is (eq ',argument (kabi:error-argument condition))
                                           "~S named ~S" ',call (kabi:error-argument condition)))))))
      (refused kabi::partitions
        (kabi:assign consumer '(("topic" . -1)))
        (kabi:assign consumer '(("topic" . 1) . 2))
        (kabi:assign consumer '((("topic" . 0) . :nowhere)))
        (kabi:assign consumer '((("topic" . 0) . -5)))
        (kabi:assign consumer "topic")
        (kabi:assign consumer '(topic))
        (kabi:assign consumer 5)
        (kabi:pause consumer '((:topic . 0)))
        (kabi:pause consumer '(("topic" . 4294967296)))
        (kabi:resume consumer '("topic" . 0))
        (kabi:positions consumer '(("topic" . 1.5)))
        (kabi:committed consumer '("topic"))
        (kabi:seek-to-end consumer '(("topic")))
        (kabi:lag consumer '(("topic" . "0"))))
      (refused kabi::offsets
        (kabi:seek consumer '((("topic" . 0))))
        (kabi:seek consumer '((("topic" . 0) . -1)))
        (kabi:seek consumer '(1 2 3))
        (kabi:commit consumer :offsets '((("topic" . 0) . :end)))
        (kabi:commit consumer :offsets '((("topic" . 0) . (1 . 2))))
        (kabi:commit consumer :offsets '((("topic" . 0) . 1) . 2))
        (kabi:commit consumer :offsets "offsets")
        (kabi:store-offsets consumer '((("topic" . -1) . 1))))
      (refused kabi::times
        (kabi:offsets-for-times consumer '((("topic" . 0) . -1)))
        (kabi:offsets-for-times consumer '((("topic" . 0) . 1.5)))
        (kabi:seek-to-times consumer :yesterday))
      (refused kabi::topics
        (kabi:subscribe consumer '("a" :b))
        (kabi:subscribe consumer '("a" . "b"))
        (kabi:subscribe consumer '(""))
        (kabi:subscribe consumer 7))
      (refused kabi::partition
        (kabi:watermarks consumer "topic" -1)
        (kabi:cached-watermarks consumer :topic 0))
      (refused kabi::timeout
        (kabi:poll consumer :timeout -2)
        (kabi:poll-batch consumer :timeout "1")
        (kabi:map-records #'identity consumer :timeout 1.5)
        (kabi:committed consumer '() :timeout nil))
      (refused kabi::limit
        (kabi:poll-batch consumer :limit 0)
        (kabi:map-records #'identity consumer :limit -1))
      (refused kabi:consumer
        (kabi:poll "consumer")
        (kabi:commit nil)
        (kabi:assignment *cluster*))
      (refused kabi:record (kabi:handled consumer "record")))))

(test a-closed-consumer-is-refused
  (let ((consumer (kabi:make-consumer :conf (reader-conf))))
    (kabi:close consumer)
    (dolist (call (list (lambda () (kabi:poll consumer)) (lambda () (kabi:poll-batch consumer))
                        (lambda () (kabi:commit consumer)) (lambda () (kabi:subscribe consumer "topic"))
                        (lambda () (kabi:positions consumer t)) (lambda () (kabi:seek consumer '()))
                        (lambda () (kabi:map-records #'identity consumer))
                        (lambda () (kabi:handled consumer)) (lambda () (kabi:cluster-id consumer))))
      (is (typep (condition-of (funcall call)) 'kabi:closed-error)))
    (is (eql 0 (kabi:close consumer)))))

;;; ---- moving ----

(defun next-new-value (consumer topic)
  "The value of the first record that comes, while new ones are sent."
  (kabi:with-producer (producer :conf (conf))
    (await (lambda ()
             (kabi:value (kabi:send producer topic "new") :timeout *long*)
             (let ((record (kabi:poll consumer :timeout 200)))
               (and record (values (kabi:value record))))))))

(test seeks-work-right-after-an-assignment
  (let ((topic (fill-topic 10)))
    (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string)
      (kabi:assign consumer (list (tp topic)))
      (kabi:seek consumer (list (cons (tp topic) 7)))
      (is (equal (numbers 7 10) (next-values consumer 3)))
      (kabi:seek-to-beginning consumer t)
      (is (equal (numbers 0 3) (next-values consumer 3)))
      (kabi:seek-to-end consumer (list (tp topic)))
      (is (equal "new" (next-new-value consumer topic)))
      (let ((table (make-hash-table :test #'equal)))
        (setf (gethash (tp topic) table) 5)
        (kabi:seek consumer table))
      (is (equal "5" (next-value consumer)))
      (is (equal (list (cons (tp topic) 6)) (kabi:positions consumer t)))
      (kabi:commit consumer :offsets (list (cons (tp topic) 2)))
      (kabi:seek consumer (list (cons (tp topic) :stored)))
      (is (equal "2" (next-value consumer))))))

(test seeks-tell-of-each-partition
  (let ((topic (fill-topic 3 :partitions 2)))
    (with-reader (consumer topic)
      (let ((condition (condition-of (kabi:seek consumer (list (cons (tp topic 0) 2) (cons (tp topic 1) 2))))))
        (is (typep condition 'kabi:partial-error))
        (is (equal (list (tp topic 0)) (kabi:goodies condition)))
        (is (equal (tp topic 1) (car (first (kabi:baddies condition)))))
        (let ((reason (cdr (first (kabi:baddies condition)))))
          (is (typep reason 'kabi:partition-error))
          (is (equal topic (kabi:error-topic reason)))
          (is (eql 1 (kabi:error-partition reason)))))
      (is (equal "2" (next-value consumer))))))

(test positions-count-what-was-handed-out
  (let ((topic (fill-topic 10 :partitions 2)))
    (with-reader (consumer topic)
      (is (equal (list (list (tp topic 1))) (kabi:positions consumer (list (tp topic 1)))))
      (next-values consumer 3)
      (is (equal (list (cons (tp topic) 3)) (kabi:positions consumer t)))
      (is (equal (list (cons (tp topic) 7)) (kabi:lag consumer t)))
      (is (equal (list (cons (tp topic) 7)) (kabi:lag consumer t :timeout 0))))))

(test a-pause-holds-one-partition
  (let ((topic (fill-topic 20 :partitions 2)))
    (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string)
      (kabi:assign consumer (list (cons (tp topic 0) :beginning) (cons (tp topic 1) :beginning)))
      (let* ((first (kabi:poll consumer :timeout *long*))
             (held (kabi:partition first)) (other (- 1 held)))
        (is (null (kabi:pause consumer (list (tp topic held)))))
        (is (equal (list (tp topic held)) (kabi:paused consumer)))
        (is (equal (numbers 0 20)
                   (loop repeat 20
                         for record = (kabi:poll consumer :timeout *long*)
                         do (is (eql other (kabi:partition record)))
                         collect (values (kabi:value record)))))
        (is (null (kabi:poll consumer :timeout 300)))
        (kabi:resume consumer t)
        (is (null (kabi:paused consumer)))
        ;; None is lost, none comes twice.
        (is (equal (numbers 1 20) (next-values consumer 19)))
        (is (null (kabi:poll consumer :timeout 300)))))))

(test a-pause-keeps-what-is-handled-apart
  (let ((topic (fill-topic 10)) (conf (reader-conf :enable-auto-commit nil)))
    (kabi:with-consumer (consumer :conf conf :serde #'kabi:octets-to-string)
      (kabi:assign consumer (list (cons (tp topic) :beginning)))
      (next-values consumer 3)
      (kabi:pause consumer t)
      (kabi:do-records (record consumer :timeout 200) (fail "~A came while paused" record))
      ;; The third is handled, as the program has polled again.
      (is (equal (list (list* (tp topic) 3 nil)) (kabi:commit consumer)))
      (kabi:resume consumer t)
      (is (equal "3" (next-value consumer))))))

(test a-pause-of-what-is-not-assigned
  (let ((topic (fill-topic 1 :partitions 2)))
    (with-reader (consumer topic)
      (let ((condition (condition-of (kabi:pause consumer (list (tp topic 0) (tp topic 1))))))
        (is (typep condition 'kabi:partial-error))
        (is (equal (list (tp topic 0)) (kabi:goodies condition)))
        (is (equal (list (tp topic 0)) (kabi:paused consumer)))))))

;;; ---- commits ----

(test commits-count-one-by-one
  (let ((topic (fill-topic 3)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (is (equal (list (list (tp topic))) (kabi:committed consumer t)))
      (is (null (kabi:commit consumer)))
      (loop for number from 1 to 3
            do (next-value consumer)
               (is (equal (list (list* (tp topic) number nil)) (kabi:commit consumer)))
               (is (equal (list (list* (tp topic) number nil)) (kabi:committed consumer t))))
      (is (null (kabi:commit consumer)))
      (is (null (kabi:value (kabi:commit consumer :async t) :timeout *long*))))))

(test commits-of-offsets-and-metadata
  (let ((topic (fill-topic 3 :partitions 2)) (binary (octets 0 255 0 1)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (let ((offsets (list (list* (tp topic 0) 1 binary) (list* (tp topic 1) 2 (octets 104 105)))))
        (is (equalp offsets (kabi:commit consumer :offsets offsets)))
        (is (equalp offsets (kabi:committed consumer (list (tp topic 0) (tp topic 1)))))
        (is (equalp offsets (kabi:value (kabi:commit consumer :offsets offsets :async t) :timeout *long*))))
      (is (equalp (list (list* (tp topic 0) 3 (octets 104 105)))
                  (kabi:commit consumer :offsets (list (list* (tp topic 0) 3 "hi")))))
      (is (null (kabi:commit consumer :offsets '())))
      (is (null (kabi:value (kabi:commit consumer :offsets '() :async t)))))))

(test commits-of-records
  (let ((topic (fill-topic 5)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (let ((records (loop repeat 5 collect (kabi:poll consumer :timeout *long*))))
        (is (equal (list (list* (tp topic) 2 nil)) (kabi:commit consumer :offsets (second records))))
        (is (equal (list (list* (tp topic) 4 nil))
                   (kabi:commit consumer :offsets (subseq records 0 4))))
        (is (equal (list (list* (tp topic) 5 nil))
                   (kabi:value (kabi:commit consumer :offsets (coerce records 'vector) :async t)
                               :timeout *long*)))))))

(test commits-that-fail-in-part
  (let ((topic (fill-topic 1)))
    (with-reader (consumer topic)
      (let ((offsets (list (cons (tp topic) 1) (cons (tp topic 99) 1))))
        (dolist (condition (list (condition-of (kabi:commit consumer :offsets offsets))
                                 (condition-of (kabi:value (kabi:commit consumer :offsets offsets :async t)))))
          (is (typep condition 'kabi:partial-error))
          (is (equal (tp topic 99) (car (first (last (kabi:baddies condition)))))))))))

(test stored-offsets-are-committed-next
  (let ((topic (fill-topic 5)))
    (with-reader (consumer topic :enable-auto-commit nil)
      (next-value consumer)
      (kabi:store-offsets consumer (list (cons (tp topic) 4)))
      (is (equal (list (list* (tp topic) 4 nil))
                 (kabi:commit consumer :offsets (list (cons (tp topic) 4)))))
      (is (typep (condition-of (kabi:store-offsets consumer (list (cons (tp topic 3) 4))))
                 'kabi:partial-error)))))

(test futures-of-commits-go-on
  (let ((topic (fill-topic 2)))
    (with-reader (consumer topic)
      (next-value consumer)
      (let ((seen (kabi:then (kabi:commit consumer :async t)
                             (lambda (value condition) (list value condition)))))
        (is (equal (list (list (list* (tp topic) 1 nil)) nil) (kabi:value seen :timeout *long*)))))))

;;; ---- questions ----

(test questions-about-offsets
  (let ((topic (fill-topic 6)))
    (with-reader (consumer topic)
      (is (equal '(0 6) (multiple-value-list (kabi:watermarks consumer topic 0))))
      (next-value consumer)
      (is (eql 6 (nth-value 1 (kabi:cached-watermarks consumer topic 0))))
      (is (equal (list (cons (tp topic) :end))
                 (kabi:offsets-for-times consumer (list (cons (tp topic) 0)))))
      (is (null (kabi:offsets-for-times consumer '())))
      (is (equal (list (cons (tp topic) :end)) (kabi:seek-to-times consumer 0)))
      (let ((condition (condition-of (kabi:watermarks consumer topic 77))))
        (is (typep condition 'kabi:kafka-error))
        (is (eql 77 (kabi:error-partition condition)))))))

;;; ---- records ----

(test a-record-has-all-its-parts
  (let ((topic (fresh-topic)))
    (kabi:with-producer (producer :conf (conf))
      (kabi:send producer topic "value" :key "key" :timestamp 1234567890123
                                        :headers '(("ä" . "1") ("b" . nil) ("ä" . "2")))
      (kabi:send producer topic nil)
      (kabi:send producer topic (octets) :key (octets))
      (kabi:flush producer :timeout *long*))
    (kabi:with-consumer (consumer :conf (reader-conf) :serde #'kabi:octets-to-string)
      (kabi:assign consumer (list (cons (tp topic) :beginning)))
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (kabi:recordp record))
        (is (equalp (list "key" (kabi:string-to-octets "key")) (multiple-value-list (kabi:key record))))
        (is (equalp (list "value" (kabi:string-to-octets "value")) (multiple-value-list (kabi:value record))))
        (is (equal topic (kabi:topic record)))
        (is (eql 0 (kabi:partition record)))
        (is (eql 0 (kabi:offset record)))
        (is (eq :create-time (nth-value 1 (kabi:timestamp record))))
        (is (equalp (list (cons "ä" (octets 49)) (list "b") (cons "ä" (octets 50))) (kabi:headers record)))
        (is (eq record (kabi:copy-record record)))
        (is (search topic (princ-to-string record))))
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (equal '(nil nil) (multiple-value-list (kabi:key record))))
        (is (equal '(nil nil) (multiple-value-list (kabi:value record))))
        (is (null (kabi:record-value-length record))))
      (let ((record (kabi:poll consumer :timeout *long*)))
        (is (equalp (list "" (octets)) (multiple-value-list (kabi:key record))))
        (is (eql 0 (kabi:record-value-length record)))))))

(test a-record-made-by-hand
  (let ((record (kabi:make-record :topic "topic" :partition 3 :offset 7 :key "k" :value "v"
                                  :timestamp 5 :headers '(("a")))))
    (is (equal "topic" (kabi:record-topic record)))
    (is (eql 3 (kabi:record-partition record)))
    (is (eql 7 (kabi:record-offset record)))
    (is (equal '(5 :create-time) (multiple-value-list (kabi:timestamp record))))
    (is (eq :create-time (kabi:record-timestamp-type record)))
    (is (eql 5 (kabi:record-timestamp record)))
    (is (null (kabi:leader-epoch record)))
    (is (eql -1 (kabi:record-leader-epoch record)))
    (is (equal '(("a")) (kabi:record-headers record)))
    (is (equal "k" (kabi:record-key record)))
    (is (equal "v" (kabi:record-value record)))
    (is (null (kabi:record-key-octets record)))
    (is (null (kabi:record-key-length record)))
    (is (typep (condition-of (kabi:make-record :partition -1)) 'kabi:argument-error))
    (is (typep (condition-of (kabi:record-key "record")) 'kabi:argument-error))))

(test the-end-of-a-partition-is-signalled
  (let ((topic (fill-topic 2)))
    (with-reader (consumer topic :enable-partition-eof t)
      (is (equal (numbers 0 2) (next-values consumer 2)))
      (let ((condition (condition-of (kabi:poll consumer :timeout *long*))))
        (is (typep condition 'kabi:partition-error))
        (is (eq :partition-eof (kabi:error-name condition)))
        (is (equal topic (kabi:error-topic condition)))
        (is (eql 2 (kabi:error-offset condition)))))))

(test a-deserializer-that-signals
  (let ((topic (fill-topic 4)))
    (kabi:with-consumer (consumer :conf (reader-conf)
                                  :serde (lambda (octets)
                                           (let ((text (kabi:octets-to-string octets)))
                                             (if (equal text "1") (error 'cut-off) text))))
      (kabi:assign consumer (list (cons (tp topic) :beginning)))
      (is (equal "0" (next-value consumer)))
      (is (typep (condition-of (next-value consumer)) 'cut-off))
      ;; The next poll goes on after it.
      (is (equal "2" (next-value consumer)))
      (kabi:seek-to-beginning consumer t)
      (is (equal "0" (next-value consumer)))
      (is (equal "one" (handler-bind ((cut-off (lambda (condition)
                                                 (declare (ignore condition))
                                                 (kabi:store-function (constantly "one")))))
                         (next-value consumer))))
      (is (equal "one" (next-value consumer))))))

(test statistics-and-metrics-are-documents
  (let* ((documents '()) (topic (fill-topic 1)))
    (kabi:with-consumer (consumer :conf (reader-conf :statistics-interval-ms 50)
                                  :on-statistics (lambda (consumer document)
                                                   (declare (ignore consumer))
                                                   (push document documents)))
      (kabi:subscribe consumer topic)
      (is-true (await (lambda () documents)))
      (is (eql 0 (search "{" (first documents))))
      (is (search "\"client\":\"consumer\"" (remove #\Space (kabi:metrics consumer)))))))
