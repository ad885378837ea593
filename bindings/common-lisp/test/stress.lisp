;;;; Full collections while records come and go, clients that the program loses, many threads.

(in-package #:kafkabi/test)

(def-suite stress :in kafkabi)
(in-suite stress)

(defun number-octets (number)
  (kabi:string-to-octets (format nil "~D" number)))

(defun octets-number (octets)
  (parse-integer (kabi:octets-to-string octets)))

;;; Every octet of a record tells whose it is, and where it lies in it.

(defun pattern (number length)
  (let ((octets (make-array length :element-type '(unsigned-byte 8))))
    (declare (type kabi:octets octets))
    (dotimes (place length octets)
      (setf (aref octets place) (logand 255 (+ (* 7 place) number (ash number -8)))))))

(defun pattern-key (number) (pattern (* 3 number) (mod number 50)))
(defun pattern-value (number) (pattern number (mod (* 37 number) 1500)))

(defun pattern-headers (number)
  (when (zerop (mod number 5))
    (list (cons "number" (pattern number 20)) (cons "none" nil))))

(defun pattern-p (record number)
  "True if RECORD is number NUMBER, to the last octet."
  (and (equalp (pattern-key number) (kabi:record-key record))
       (equalp (pattern-value number) (kabi:record-value record))
       (equalp (pattern-headers number) (kabi:record-headers record))))

(defun pointed-at-p (record number)
  "The same for a record that is lent, read where it lies."
  (kabi:with-record-pointers (key key-length value value-length) record
    (flet ((samep (pointer length octets)
             (and (eql length (length octets))
                  (dotimes (place length t)
                    (unless (eql (cffi:mem-aref pointer :uint8 place) (aref octets place)) (return nil))))))
      (and (samep key key-length (pattern-key number))
           (samep value value-length (pattern-value number))))))

(defun send-patterns (producer topic count)
  "Send that many records, by 200 one by one and then 200 in a batch, and return the futures."
  (loop for begin from 0 below count by 400
        append (loop for number from begin below (+ begin 200)
                     collect (kabi:send producer topic (pattern-value number) :key (pattern-key number)
                                                                             :headers (pattern-headers number)))
        append (coerce (kabi:send-batch producer topic
                                        (loop for number from (+ begin 200) below (+ begin 400)
                                              collect (list (pattern-value number)
                                                            :key (pattern-key number)
                                                            :headers (pattern-headers number))))
                       'list)))

(defun receive-patterns (consumer count)
  "The number of the first record that is not as it was sent, or NIL: polled one by one, in batches, and lent, by turns."
  (let ((number 0))
    (flet ((check (record rightp)
             (unless (funcall rightp record number) (return-from receive-patterns number))
             (incf number)))
      (loop while (< number count)
            do (ecase (mod number 3)
                 (0 (check (kabi:poll consumer :timeout *long*) #'pattern-p))
                 (1 (map nil (lambda (record) (check record #'pattern-p))
                         (kabi:poll-batch consumer :timeout *long* :limit 100)))
                 (2 (kabi:do-records (record consumer :timeout *long* :limit (min 98 (- count number)))
                      (check record #'pointed-at-p))))))))

(test records-bear-collections
  (let* ((topic (fresh-topic)) (count 4000) (done nil)
         (collector (in-thread (lambda ()
                                 (loop until done
                                       count (progn (trivial-garbage:gc :full t) t))))))
    (unwind-protect
         (kabi:with-producer (producer :conf (conf))
           (kabi:with-consumer (consumer :conf (reader-conf))
             (kabi:assign consumer (list (cons (tp topic) :beginning)))
             ;; Both at once, under the collections.
             (let ((sent (in-thread (lambda () (send-patterns producer topic count)))))
               (is (null (receive-patterns consumer count)))
               (let ((futures (funcall sent)))
                 (is (= count (length futures)))
                 (is (loop for number from 0
                           for future in futures
                           always (eql number (kabi:report-offset (kabi:value future :timeout *long*)))))))))
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
