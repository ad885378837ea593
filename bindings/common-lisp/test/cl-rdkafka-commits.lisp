;;;; What consumers of the library that stands in for cl-rdkafka commit.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-commits :in cl-rdkafka)
(in-suite kf-commits)

(test nothing-is-committed-at-first
  (let ((topic (fresh-topic 2)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (is (equalp `(((,topic . 0) . (-1001 . #())) ((,topic . 1) . (-1001 . #())))
                  (kf:committed consumer (list (cons topic 0) (cons topic 1)) *long*)))
      (is (null (kf:committed consumer '() *long*))))))

(test what-was-polled-is-committed-one-by-one
  (let ((topic (fresh-topic)))
    (fill-topic topic '("Live" "Laugh" "Hack"))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (kf:subscribe consumer topic)
      (loop for expected from 1 to 3
            do (poll-message consumer)
               (is (equalp `(((,topic . 0) . (,expected . #()))) (kf:commit consumer)))
               (is (equalp `(((,topic . 0) . (,expected . #())))
                           (kf:committed consumer (kf:assignment consumer) *long*)))))))

(test nothing-to-commit-is-nil
  (let ((topic (fresh-topic)))
    (with-assigned (consumer topic)
      (is (null (kf:commit consumer)))
      (is (null (kf:value (kf:commit consumer :asyncp t))))
      ;; Offsets that are none are left out.
      (is (null (kf:commit consumer :offsets `(((,topic . 0) . -1001)))))
      (dolist (offset '(-1 -5 -1000 -2000))
        (is (typep (condition-of (kf:commit consumer :offsets `(((,topic . 0) . ,offset)))) 'kf:kafka-error)))
      (is (null (kf:value (kf:commit consumer :offsets `(((,topic . 0) . (-1001 . #()))) :asyncp t)))))))

(test a-commit-gives-what-it-was-given
  (let ((topic (fresh-topic 2)))
    (dolist (asyncp '(nil t))
      (with-client (consumer kf:consumer :conf (reader-conf))
        (flet ((commit (offsets)
                 (let ((result (kf:commit consumer :offsets offsets :asyncp asyncp)))
                   (when asyncp (is (typep result 'kf:future)))
                   (if asyncp (kf:value result) result)))
               (committed ()
                 (kf:committed consumer (list (cons topic 0) (cons topic 1)) *long*)))
          ;; The same partition several times, and metadata of any octets.
          (let ((offsets `(((,topic . 0) . (0 . #(2 4 6)))
                           ((,topic . 0) . (1 . #(8 0 255)))
                           ((,topic . 1) . (5 . #()))
                           ((,topic . 0) . (2 . #())))))
            (is (equalp offsets (commit offsets))))
          (is (equalp '(5 . #()) (cdr (second (committed)))))
          ;; Metadata comes back octet by octet.
          (let ((offsets `(((,topic . 0) . (9 . ,(coerce (loop for i below 256 collect i) 'vector))))))
            (is (equalp offsets (commit offsets)))
            (is (equalp (cdr (first offsets)) (cdr (first (committed))))))
          ;; A lone offset.
          (is (equalp `(((,topic . 1) . (3 . #()))) (commit `(((,topic . 1) . 3))))))))))

(test a-commit-without-a-group-is-an-rdkafka-error
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (conf))
      (let ((condition (condition-of (kf:commit consumer :offsets `(((,topic . 0) . 1))))))
        (is (typep condition 'kf:rdkafka-error))
        (is (eq 'cl-rdkafka/ll:rd-kafka-resp-err--unknown-group (kf:enum condition))))
      (let ((condition (condition-of (kf:value (kf:commit consumer :offsets `(((,topic . 0) . 1))
                                                                   :asyncp t)))))
        (is (typep condition 'kf:rdkafka-error))))))

(test then-of-a-commit-is-given-the-offsets
  (let ((topic (fresh-topic)))
    (with-client (consumer kf:consumer :conf (reader-conf))
      (let* ((offsets `(((,topic . 0) . (4 . #(1)))))
             (future (kf:then (kf:commit consumer :offsets offsets :asyncp t)
                              (lambda (value condition) (list value condition)))))
        (is (equalp (list offsets nil) (kf:value future)))))))

(test what-was-polled-but-not-committed-is-polled-again
  (let ((topic (fresh-topic)) (group (fresh "group")))
    (fill-topic topic '("0" "1" "2"))
    ;; The embedded cluster lets nobody into a group that was left before the session time-out is over.
    (flet ((conf () (conf "group.id" group "enable.auto.commit" "false" "auto.offset.reset" "earliest"
                          "session.timeout.ms" "6000")))
      (with-client (consumer kf:consumer :conf (conf))
        (kf:subscribe consumer topic)
        (poll-message consumer)
        (kf:commit consumer)
        (is (equal '("1" "2") (text-values (poll-messages consumer 2)))))
      (with-client (consumer kf:consumer :conf (conf))
        (kf:subscribe consumer topic)
        (is (equal '("1" "2") (text-values (poll-messages consumer 2))))))))

(test a-hundred-thousand-messages-from-five-threads
  (let* ((topic (fresh-topic 4)) (count 100000) (threads 5)
         (lock (bordeaux-threads:make-lock)) (seen (make-hash-table)) (commits 0))
    (with-client (producer kf:producer :conf (conf) :serde #'babel:string-to-octets)
      (let ((waits (loop for thread below threads
                         collect (let ((thread thread))
                                   (in-thread
                                    (lambda ()
                                      (let ((last nil))
                                        (loop for number from thread below count by threads
                                              do (setf last (kf:send producer topic (princ-to-string number)
                                                                     :partition (mod number 4))))
                                        (kf:value (kf:value last)))))))))
        (mapc #'funcall waits)
        (is (null (kf:flush producer)))))
    (with-client (consumer kf:consumer :conf (reader-conf) :serde #'babel:octets-to-string)
      (kf:subscribe consumer topic)
      (flet ((work ()
               (let ((futures '()))
                 (loop
                   (when (>= (hash-table-count seen) count) (return))
                   (let ((message (kf:poll consumer 100)))
                     (when message
                       (bordeaux-threads:with-lock-held (lock)
                         (setf (gethash (parse-integer (kf:value message)) seen) t))
                       (push (kf:commit consumer :asyncp t) futures))))
                 (mapc #'kf:value futures)
                 (bordeaux-threads:with-lock-held (lock) (incf commits (length futures))))))
        (mapc #'funcall (loop repeat threads collect (in-thread #'work))))
      (is (= count (hash-table-count seen)))
      (is (= count commits))
      (kf:commit consumer)
      (is (equal (make-list 4 :initial-element (floor count 4))
                 (mapcar #'cadr (kf:committed consumer (kf:assignment consumer) *long*)))))))
