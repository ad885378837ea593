;;;; Full collections while records come and go, clients that the program loses, many threads.

(in-package #:kafkabi/test)

(def-suite stress :in kafkabi)
(in-suite stress)

(defun number-octets (number)
  (kabi:string-to-octets (format nil "~D" number)))

(defun octets-number (octets)
  (parse-integer (kabi:octets-to-string octets)))

(test records-bear-collections
  (let* ((topic (fresh-topic)) (count 5000) (done nil)
         (collector (in-thread (lambda ()
                                 (loop until done
                                       count (progn (trivial-garbage:gc :full t) t))))))
    (unwind-protect
         (kabi:with-producer (producer :conf (conf) :value-serde #'number-octets)
           (kabi:with-consumer (consumer :conf (reader-conf) :value-serde #'octets-number)
             (kabi:subscribe consumer topic)
             (let ((futures (loop for number below count
                                  collect (kabi:send producer topic number :key (format nil "key ~D" number)))))
               (kabi:send-batch producer topic (loop for number from count below (* 2 count) collect number))
               (is (loop for number below count
                         for record = (kabi:poll consumer :timeout *long*)
                         always (and (eql number (kabi:record-value record))
                                     (equal (format nil "key ~D" number)
                                            (kabi:octets-to-string (kabi:record-key record))))))
               (is (loop for number from count below (* 2 count)
                         always (eql number (kabi:record-value (kabi:poll consumer :timeout *long*)))))
               (is (loop for number from 0
                         for future in futures
                         always (eql number (kabi:report-offset (kabi:value future :timeout *long*))))))))
      (setf done t))
    (is (plusp (funcall collector)))))

(test a-lost-client-is-found
  (let ((topic (fresh-topic)) (lines '()))
    (flet ((note (producer level text)
             (declare (ignore producer))
             (push (cons level text) lines)))
      ;; On threads that end, so that no stack refers to them any more.
      (dotimes (number 5)
        (funcall (in-thread (lambda ()
                              (kabi:send (kabi:make-producer :conf (conf) :on-log #'note) topic "value")
                              nil)))))
    (flet ((warned ()
             (trivial-garbage:gc :full t)
             (find-if (lambda (line) (search "was not closed" (cdr line))) lines)))
      (let ((line (await #'warned)))
        (is (eql 4 (car line)))
        (is (search "producer-" (cdr line)))))
    ;; What it had taken was sent.
    (is (equalp (kabi:string-to-octets "value") (first (values-in topic))))))

(test many-threads-send-poll-and-commit
  (let* ((threads 5) (count 20000) (topic (fresh-topic threads)) (group (fresh "group")))
    (kabi:with-producer (producer :conf (conf) :value-serde #'number-octets)
      (flet ((sender (partition)
               (lambda ()
                 (loop for future in (loop for number below count
                                           collect (kabi:send producer topic number :partition partition))
                       for offset from 0
                       always (eql offset (kabi:report-offset (kabi:value future :timeout *long*))))))
             (receiver (partition)
               (lambda ()
                 (kabi:with-consumer (consumer :conf (conf :group-id group :enable-auto-commit nil)
                                               :value-serde #'octets-number)
                   (kabi:assign consumer (list (cons (cons topic partition) :beginning)))
                   (let ((commits '()))
                     (dotimes (number count)
                       (let ((record (kabi:poll consumer :timeout *long*)))
                         (unless (eql number (kabi:record-value record))
                           (error "~S came in place of ~D" record number))
                         (when (zerop (mod (1+ number) 500))
                           (push (kabi:commit consumer :async t) commits))))
                     (dolist (commit commits) (kabi:value commit :timeout *long*))
                     (kabi:commit consumer)
                     (kabi:committed consumer (list (cons topic partition))))))))
        (let* ((senders (loop for partition below threads collect (in-thread (sender partition))))
               (receivers (loop for partition below threads collect (in-thread (receiver partition)))))
          (is (every #'funcall senders))
          (loop for receiver in receivers
                for partition from 0
                do (let ((committed (funcall receiver)))
                     (is (equal (cons topic partition) (car (first committed))))
                     (is (eql count (cadr (first committed)))))))))))
