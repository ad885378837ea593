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

(test every-construct-can-be-way-out-of-a-throw
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

;;; ---- functions on the program's threads ----

(defun leave-by-error (&rest arguments)
  (declare (ignore arguments))
  (error 'cut-off))

(defun way-out-of (way function)
  "The way by which FUNCTION was left: :THROW, :ERROR, or NIL if it returned."
  (handler-case (if (eq :left (catch 'exit (funcall function way) nil)) :throw nil)
    (cut-off () :error)))

(defun leaver (way)
  (ecase way (:throw #'leave) (:error #'leave-by-error)))

(defmacro left-both-ways (what (leaver) &body body)
  "BODY is left by a throw and by an error when it calls LEAVER."
  `(dolist (way '(:throw :error))
     (is (eq way (way-out-of way (lambda (way) (let ((,leaver (leaver way))) ,@body))))
         "no exit from ~A by ~A" ',what way)))

(defun serve-until-left (client)
  (loop repeat 600 do (kabi:serve client :timeout 100)))

(defmacro once-only-by ((function leaver) &body body)
  "Evaluate BODY with FUNCTION bound to one that calls LEAVER the first time and does nothing after: close calls it, too."
  `(let* ((done nil)
          (,function (lambda (&rest arguments)
                       (declare (ignore arguments))
                       (unless done
                         (setf done t)
                         (funcall ,leaver)))))
     ,@body))

(defun still-sends-p (producer)
  (kabi:value (kabi:send producer (fresh-topic) "value") :timeout *long*))

(test functions-on-the-programs-threads-can-be-left
  (dolist (kind '(:on-statistics :on-log))
    (left-both-ways kind (leaver)
      (once-only-by (function leaver)
        (kabi:with-producer (producer :conf (conf :statistics-interval-ms 20 :debug "broker,msg") :drain :caller
                                      kind function)
          (unwind-protect (serve-until-left producer)
            (is-true (still-sends-p producer)))))))
  (left-both-ways :on-error (leaver)
    (kabi:with-cluster (away)
      (kabi:create-topic away "topic")
      (once-only-by (function leaver)
        (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)) :drain :caller
                                      :on-error (lambda (producer condition)
                                                  (declare (ignore producer))
                                                  (when (typep condition 'kabi:delivery-error) (funcall function))))
          (kabi:broker-down away)
          (kabi:send-and-forget producer "topic" "value")
          (kabi:purge producer)
          (unwind-protect (serve-until-left producer)
            (kabi:broker-up away)
            (is-true (kabi:value (kabi:send producer "topic" "value") :timeout *long*)))))))
  (left-both-ways :then (leaver)
    (kabi:with-producer (producer :conf (conf) :drain :caller)
      (let* ((way way)
             (next (kabi:then (kabi:send producer (fresh-topic) "value") leaver)))
        (unwind-protect (kabi:value next :timeout *long*)
          (is (typep (condition-of (kabi:value next :timeout 0)) (ecase way (:throw 'kabi:kafka-error) (:error 'cut-off))))
          (is-true (still-sends-p producer)))))))

(defun oauth-conf ()
  (conf :security-protocol "SASL_PLAINTEXT" :sasl-mechanisms "OAUTHBEARER"))

(test a-function-for-tokens-on-the-programs-threads-can-be-left
  ;; An error is the answer that there is no token, and why.
  (let ((told '()))
    (dolist (way '(:throw :error))
      (let ((producer (kabi:make-producer :conf (oauth-conf) :drain :caller :on-token (leaver way)
                                          :on-error (lambda (producer condition)
                                                      (declare (ignore producer))
                                                      (push (princ-to-string condition) told)))))
        (unwind-protect
             (if (eq way :throw)
                 (is (eq :throw (way-out-of way (lambda (way)
                                               (declare (ignore way))
                                               (serve-until-left producer)))))
                 (is-true (await (lambda ()
                                   (kabi:serve producer :timeout 50)
                                   (find-if (lambda (text) (search "CUT-OFF" (string-upcase text))) told)))
                          "~S" told))
          (ignore-errors (kabi:close producer :timeout 100)))))))

(test functions-for-changes-can-be-left
  (macrolet ((left (kind (consumer cluster) &body body)
               `(left-both-ways ,kind (leaver)
                  (kabi:with-cluster (,cluster)
                    (kabi:create-topic ,cluster "topic")
                    (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers ,cluster)))
                      (kabi:value (kabi:send producer "topic" "value") :timeout *long*))
                    (once-only-by (function leaver)
                      (kabi:with-consumer (,consumer :conf (list :bootstrap-servers (kabi:bootstrap-servers ,cluster)
                                                                 :group-id "group" :auto-offset-reset "earliest"
                                                                 :enable-auto-commit nil
                                                                 :session-timeout-ms 6000 :heartbeat-interval-ms 100)
                                                     ,kind function)
                        (kabi:subscribe ,consumer "topic")
                        (unwind-protect (progn ,@body (poll-for-long ,consumer))
                          (kabi:clear-errors ,cluster :heartbeat)
                          ;; To join once more takes ten seconds.
                          (when (eq ,kind :on-assign)
                            (is-true (kabi:poll ,consumer :timeout *long*))))))))))
    (flet ((poll-for-long (consumer)
             (loop repeat 600 do (kabi:poll consumer :timeout 50))))
      (left :on-assign (consumer cluster))
      (left :on-revoke (consumer cluster)
        (is-true (kabi:poll consumer :timeout *long*))
        (kabi:unsubscribe consumer))
      (left :on-lost (consumer cluster)
        (is-true (kabi:poll consumer :timeout *long*))
        (kabi:inject-errors cluster :heartbeat :unknown-member-id :count 3)))))
