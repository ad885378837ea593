;;;; The program's functions for events: what they are told, and that one which signals or throws harms nothing.

(in-package #:kafkabi/test)

(def-suite handlers :in kafkabi)
(in-suite handlers)

(defun misbehaving (note)
  "A function for events that calls NOTE with its arguments, and then signals, throws to nowhere, leaves by the
restart ABORT, and returns, by turns."
  (let ((turn 0))
    (lambda (&rest arguments)
      (apply note arguments)
      (ecase (mod (incf turn) 4)
        (1 (error "the function does not want to"))
        (2 (throw 'nowhere nil))
        (3 (abort))
        (0 nil)))))

(defmacro with-lines ((lines) &body body)
  "Evaluate BODY with what clients without a function for log lines say in LINES."
  `(let ((before kabi:*log-function*) (,lines '()))
     (unwind-protect (progn
                       ;; The clients' threads see the global value.
                       (setf kabi:*log-function* (lambda (name level text) (push (list name level text) ,lines)))
                       ,@body)
       (setf kabi:*log-function* before))))

(test functions-that-misbehave-are-survived
  (let ((topic (fresh-topic)) (statistics '()) (logs '()))
    (with-lines (lines)
      (kabi:with-producer (producer :conf (conf :statistics-interval-ms 20 :debug "broker,msg")
                                    :on-statistics (misbehaving (lambda (producer text)
                                                                  (push (list producer text) statistics)))
                                    :on-log (misbehaving (lambda (producer level text)
                                                           (push (list producer level text) logs))))
        ;; Twice around.
        (is-true (await (lambda () (and (> (length statistics) 8) (> (length logs) 8)))))
        (is (every (lambda (entry) (eq producer (first entry))) (append statistics logs)))
        (is (char= #\{ (char (second (first statistics)) 0)))
        (is (every (lambda (entry) (<= 0 (second entry) 7)) logs))
        (is (eql 0 (kabi:report-offset (kabi:value (kabi:send producer topic "value") :timeout *long*))))))))

(test a-function-for-errors-may-misbehave
  (let ((conditions '()))
    (with-lines (lines)
      (kabi:with-cluster (away)
        (kabi:create-topic away "topic")
        (kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)
                                                  :message-timeout-ms 100)
                                      :on-error (misbehaving (lambda (producer condition)
                                                               (declare (ignore producer))
                                                               (push condition conditions))))
          (kabi:broker-down away)
          (dotimes (number 8) (kabi:send-and-forget producer "topic" "value"))
          (kabi:flush producer :timeout *long*)
          (is-true (await (lambda ()
                            (= 8 (count-if (lambda (condition) (typep condition 'kabi:delivery-error))
                                           conditions)))))
          (is (every (lambda (condition) (typep condition 'kabi:kafka-error)) conditions))
          (kabi:broker-up away)
          (is-true (await (lambda ()
                            (ignore-errors (kabi:value (kabi:send producer "topic" "value") :timeout *long*)))))))
      (is-true (find-if (lambda (line) (search "does not want to" (third line))) lines)))))

(test functions-that-go-on-may-misbehave
  (let ((topic (fresh-topic)) (calls 0))
    (kabi:with-producer (producer :conf (conf))
      (let* ((function (misbehaving (lambda (report condition)
                                      (declare (ignore report condition))
                                      (incf calls))))
             (futures (loop repeat 8 collect (kabi:then (kabi:send producer topic "value") function))))
        (is (kabi:wait-all futures :timeout *long*))
        (is (eql 8 calls))
        (is (eql 2 (count nil (mapcar (lambda (future) (condition-of (kabi:value future))) futures))))
        (is (kabi:value (kabi:send producer topic "value") :timeout *long*))))))

(test where-the-program-serves-throws-go-where-they-go
  (let ((calls 0))
    (kabi:with-producer (producer :conf (conf :statistics-interval-ms 20) :drain :caller
                                  :on-statistics (lambda (producer text)
                                                   (declare (ignore producer text))
                                                   (case (incf calls)
                                                     (1 (throw 'out :thrown))
                                                     (2 (error "signalled")))))
      (is (eq :thrown (catch 'out (loop (kabi:serve producer :timeout *long*)))))
      (is (string= "signalled" (princ-to-string (condition-of (loop (kabi:serve producer :timeout *long*))))))
      (loop while (< calls 3) do (kabi:serve producer :timeout *long*))
      (is (kabi:value (kabi:send producer (fresh-topic) "value") :timeout *long*)))))

(test a-function-for-tokens-is-asked
  (let ((asked '()))
    (with-lines (lines)
      (let ((producer (kabi:make-producer
                       :conf (conf :security-protocol "SASL_PLAINTEXT" :sasl-mechanisms "OAUTHBEARER"
                                   :sasl-oauthbearer-config "what it says")
                       :on-token (misbehaving (lambda (producer text)
                                                (declare (ignore producer))
                                                (push text asked)))
                       :on-error (lambda (producer condition) (declare (ignore producer condition))))))
        (unwind-protect
             (progn
               (is-true (await (lambda () asked)))
               (is (string= "what it says" (first asked)))
               (is (null (kabi:set-token producer "token" :principal "me"
                                                          :lifetime (* 1000 (+ 3600 (- (get-universal-time) 2208988800))))))
               (is (typep (condition-of (kabi:set-token producer 1 :principal "me" :lifetime 1)) 'kabi:argument-error))
               (is (null (kabi:fail-token producer "there is none now"))))
          (ignore-errors (kabi:close producer :timeout 1000)))))))

(test a-function-for-errors-may-send-and-wait
  (let ((told 0) (hopeless nil) (nested nil))
    (with-lines (lines)
      (kabi:with-cluster (away)
        (kabi:create-topic away "topic")
        (let ((producer (kabi:make-producer
                         :conf (list :bootstrap-servers (kabi:bootstrap-servers away))
                         :on-error (lambda (producer condition)
                                     (when (and (typep condition 'kabi:delivery-error) (= 1 (incf told)))
                                       ;; Its reports are drained into the buffer in which this one lay.
                                       (kabi:broker-up away)
                                       (setf nested
                                             (kabi:wait-all (loop repeat 40 collect (kabi:send producer "topic" "x"))
                                                            :timeout *long*))
                                       (kabi:broker-down away)
                                       (setf hopeless
                                             (loop repeat 40 collect (kabi:send producer "topic" "x"))))))))
          (kabi:value (kabi:send producer "topic" "value") :timeout *long*)
          (kabi:broker-down away)
          (loop repeat 3 do (kabi:send-and-forget producer "topic" "value"))
          (kabi:purge producer)
          (is-true (await (lambda () (and hopeless (= told 3)))))
          (is-true nested)
          (is (notany #'kabi:donep hopeless))
          (kabi:purge producer)
          (is-true (kabi:wait-all hopeless :timeout *long*))
          (is (= 40 (count-if (lambda (future) (typep (condition-of (kabi:value future)) 'kabi:delivery-error))
                              hopeless)))
          (kabi:close producer))))))

(test failures-after-one-that-throws-are-told-by-the-next-serve
  (let ((told 0))
    (kabi:with-cluster (away)
      (kabi:create-topic away "topic")
      (let ((producer (kabi:make-producer
                       :conf (list :bootstrap-servers (kabi:bootstrap-servers away)) :drain :caller
                       :on-error (lambda (producer condition)
                                   (declare (ignore producer))
                                   (when (typep condition 'kabi:delivery-error)
                                     (incf told)
                                     (throw 'out :thrown))))))
        (kabi:broker-down away)
        (loop repeat 5 do (kabi:send-and-forget producer "topic" "value"))
        (kabi:purge producer)
        (is-true (await (lambda () (catch 'out (kabi:serve producer :timeout 0)) (= told 5))))
        (kabi:close producer)))))

(defun closes-with-a-function-that-misbehaves (drain)
  "Close producers whose function for statistics, for which there are events, signals, throws or aborts."
  (with-lines (lines)
    (dolist (misbehaviour (list (lambda () (error "no")) (lambda () (throw 'nowhere nil)) #'abort))
      (let ((producer (kabi:make-producer :conf (conf :statistics-interval-ms 20) :drain drain
                                          :on-statistics (lambda (producer text)
                                                           (declare (ignore producer text))
                                                           (funcall misbehaviour)))))
        (kabi:send producer (fresh-topic) "value")
        (if (eq drain :caller)
            (let ((descriptor (kabi:event-descriptor producer)))
              (is-true (await (lambda () (readablep descriptor)))))
            (kabi:flush producer :timeout *long*))
        (is (eql 0 (funcall (in-thread (lambda () (kabi:close producer :timeout *long*))))))
        (is (eql kabi-ll:+no-handle+ (kabi::core-handle (kabi::client-core producer))))))))

(test a-close-survives-functions-that-misbehave
  (closes-with-a-function-that-misbehaves :thread)
  (closes-with-a-function-that-misbehaves :caller))

(test a-close-while-a-token-is-asked-for-is-survived
  (dolist (leave (list (lambda () nil) (lambda () (error "none")) #'abort))
    (let ((asked nil) (go-on nil))
      (with-lines (lines)
        (let ((producer (kabi:make-producer
                         :conf (conf :security-protocol "SASL_PLAINTEXT" :sasl-mechanisms "OAUTHBEARER")
                         :on-token (lambda (producer text)
                                     (declare (ignore producer text))
                                     (setf asked t)
                                     (await (lambda () go-on))
                                     (funcall leave)
                                     (values "token" (* 1000 (+ 3600 (- (get-universal-time) 2208988800))) "me" nil))
                         :on-error (lambda (producer condition) (declare (ignore producer condition))))))
          (is-true (await (lambda () asked)))
          (let ((close (in-thread (lambda () (condition-of (kabi:close producer :timeout 100))))))
            (is-true (await (lambda () (not (kabi:open-p producer)))))
            (setf go-on t)
            (is (typep (funcall close) '(or null kabi:timeout-error)))
            (is-true (await (lambda ()
                              (eql kabi-ll:+no-handle+ (kabi::core-handle (kabi::client-core producer))))))))))))

(test other-credentials-are-given
  (dolist (make '(kabi:make-producer kabi:make-consumer kabi:make-admin))
    (let ((client (funcall make :conf (conf :security-protocol "SASL_PLAINTEXT" :sasl-mechanisms "PLAIN"
                                            :sasl-username "me" :sasl-password "old")
                                :on-log (constantly nil) :on-error (constantly nil))))
      (unwind-protect
           (progn
             (is (null (kabi:set-credentials client "me" "new")))
             (is (typep (condition-of (kabi:set-credentials client 5 "new")) 'kabi:argument-error))
             (let ((condition (condition-of (kabi:set-credentials client "me" '("s3cret")))))
               (is (typep condition 'kabi:argument-error))
               (is (not (search "s3cret" (princ-to-string condition))))))
        (ignore-errors (kabi:close client :timeout 1000)))))
  (kabi:with-admin (admin :conf (conf))
    (is (eq :state (kabi:error-name (condition-of (kabi:set-credentials admin "me" "new")))))))
