;;;; Every call that waits can be interrupted, timed out and unwound, without harm.

(in-package #:kafkabi/test)

(def-suite interrupts :in kafkabi)
(in-suite interrupts)

(define-condition cut-off (error) ())

(defun cut-short (function)
  "Call FUNCTION, which waits for ever, on a thread of its own, interrupt that so that it unwinds, and return
:CUT when it has, or what FUNCTION gave instead. It must unwind at once: within five seconds, as machines stall, where
the call itself would wait for half a minute or for ever."
  (let* ((waiting nil) (outcome nil)
         (thread (bordeaux-threads:make-thread
                  (lambda ()
                    (setf outcome
                          (catch 'cut
                            (handler-case (progn (setf waiting t) (funcall function))
                              (error (condition) condition))))))))
    (await (lambda () waiting))
    (sleep 0.05)
    (bordeaux-threads:interrupt-thread thread (lambda () (throw 'cut :cut)))
    (within (5000)
      (await (lambda () (not (bordeaux-threads:thread-alive-p thread)))))
    (and (not (bordeaux-threads:thread-alive-p thread)) outcome)))

(defmacro with-silence ((producer) &body body)
  "Evaluate BODY with a PRODUCER to brokers that do not answer, whose queue takes one record only."
  `(kabi:with-cluster (away)
     (kabi:create-topic away "topic")
     (let ((,producer (kabi:make-producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)
                                                      :queue-buffering-max-messages 1))))
       (unwind-protect (progn (kabi:broker-down away) ,@body)
         (kabi:purge ,producer)
         (kabi:close ,producer)))))

(test a-flush-can-be-cut-short
  (with-silence (producer)
    (kabi:send producer "topic" "value")
    (is (eq :cut (cut-short (lambda () (kabi:flush producer)))))))

(test a-wait-can-be-cut-short
  (with-silence (producer)
    (let ((future (kabi:send producer "topic" "value")))
      (is (eq :cut (cut-short (lambda () (kabi:value future)))))
      (is (eq :cut (cut-short (lambda () (kabi:wait future)))))
      (is (eq :cut (cut-short (lambda () (kabi:wait-all (list future))))))
      (is (eq :cut (cut-short (lambda ()
                                (kabi:value (kabi:then (kabi:then future #'list) #'list)))))))))

(test serving-can-be-cut-short
  (kabi:with-producer (producer :conf (conf) :drain :caller)
    (is (eq :cut (cut-short (lambda () (loop (kabi:serve producer :timeout -1))))))
    (is (kabi:value (kabi:send producer (fresh-topic) "value") :timeout *long*))))

(test a-send-that-waits-for-space-can-be-cut-short
  (with-silence (producer)
    (kabi:send producer "topic" "value")
    (is (eq :cut (cut-short (lambda () (kabi:send producer "topic" "value" :timeout -1)))))
    (is (eq :cut (cut-short (lambda ()
                              (kabi:send producer "topic" "value" :headers '(("h" . "v")) :timeout -1)))))
    (is (eq :cut (cut-short (lambda () (kabi:send-and-forget producer "topic" "value" :timeout -1)))))
    (is (eq :cut (cut-short (lambda () (kabi:send-batch producer "topic" '("a" "b") :timeout -1)))))
    (is (eql 1 (kabi:in-flight-count producer)))))

(test a-close-can-be-cut-short
  (kabi:with-cluster (away)
    (kabi:create-topic away "topic")
    (let ((producer (kabi:make-producer :conf (list :bootstrap-servers (kabi:bootstrap-servers away)))))
      (kabi:broker-down away)
      (let ((future (kabi:send producer "topic" "value")))
        (is (eq :cut (cut-short (lambda () (kabi:close producer :timeout 1000)))))
        ;; It goes on.
        (is (kabi:wait future :timeout *long*))))))

(test a-poll-can-be-cut-short
  (kabi:with-consumer (consumer :conf (reader-conf))
    (kabi:subscribe consumer (fresh-topic))
    (is (eq :cut (cut-short (lambda () (kabi:poll consumer)))))
    (is (null (kabi:poll consumer :timeout 0)))))

(test a-wake-ends-a-wait
  (kabi:with-consumer (consumer :conf (reader-conf))
    (kabi:subscribe consumer (fresh-topic))
    (let ((poll (in-thread (lambda () (condition-of (kabi:poll consumer))))))
      (kabi:wake consumer)
      (is (typep (funcall poll) 'kabi:interrupted-error)))
    (is (null (kabi:poll consumer :timeout 0)))))
