;;;; Every construct, serde and function of the program's can be left by a throw, without harm.

(in-package #:kafkabi/test)

(def-suite exits :in kafkabi)
(in-suite exits)

(defmacro exits (&body rows)
  "Each row is a name and forms that must be left by (THROW 'EXIT :LEFT) inside them."
  `(progn ,@(loop for (name . forms) in rows
                  collect `(is (eq :left (catch 'exit ,@forms)) "no exit from ~A" ',name))))

(defun leave (&rest arguments)
  (declare (ignore arguments))
  (throw 'exit :left))

(test every-construct-can-be-left-by-a-throw
  (let ((topic (fill-topic 20)) (clients '()) (cluster nil))
    (exits
      (with-cluster (kabi:with-cluster (away) (setf cluster away) (leave)))
      (with-admin (kabi:with-admin (admin :conf (conf)) (push admin clients) (leave)))
      (with-producer (kabi:with-producer (producer :conf (conf)) (push producer clients) (leave)))
      (with-consumer (kabi:with-consumer (consumer :conf (reader-conf)) (push consumer clients) (leave)))
      (key-serde-of-send (kabi:with-producer (producer :conf (conf) :key-serde #'leave)
                           (push producer clients)
                           (kabi:send producer topic "value" :key "key")))
      (value-serde-of-a-batch (kabi:with-producer (producer :conf (conf) :value-serde #'leave)
                                (push producer clients)
                                (kabi:send-batch producer topic '("a" "b")))))
    (is (typep (condition-of (kabi:broker-down cluster)) 'kabi:closed-error))
    (is (notany #'kabi:open-p clients))
    (with-reader (consumer topic)
      (exits
        (map-records (kabi:map-records #'leave consumer))
        (do-records (kabi:do-records (record consumer) (leave record)))
        (with-record-pointers (kabi:do-records (record consumer)
                                (kabi:with-record-pointers (key key-length value value-length) record
                                  (leave)))))
      (is (equal (numbers 3 8) (next-values consumer 5))))
    (let ((bad nil))
      (kabi:with-consumer (consumer :conf (reader-conf)
                                    :value-serde (lambda (octets)
                                                   (if bad (leave) (kabi:octets-to-string octets))))
        (kabi:assign consumer (list (cons (tp topic) :beginning)))
        (setf bad t)
        (exits
          (serde-of-poll (kabi:poll consumer :timeout *long*))
          (serde-of-poll-batch (kabi:poll-batch consumer :timeout *long*))
          (serde-of-a-lent-record (kabi:do-records (record consumer) (kabi:record-value record))))
        (setf bad nil)
        (is (equal (numbers 3 8) (next-values consumer 5)))))))

(test functions-of-a-client-that-the-program-serves-can-be-left-by-a-throw
  (dolist (kind '(:on-statistics :on-log))
    (let ((leaving t))
      (kabi:with-producer (producer :conf (conf :statistics-interval-ms 20 :debug "broker,msg") :drain :caller
                                    kind (lambda (&rest arguments)
                                           (declare (ignore arguments))
                                           (when leaving (leave))))
        (exits (serve (loop (kabi:serve producer :timeout *long*))))
        (setf leaving nil)
        (is (kabi:value (kabi:send producer (fresh-topic) "value") :timeout *long*))))))
