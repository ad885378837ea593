;;;; Programs as cl-rdkafka's users write them, run as they are: a producer, a consumer, and one that reads,
;;;; works and writes in transactions.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-programs :in cl-rdkafka)
(in-suite kf-programs)

(defparameter *patience* 20000 "Milliseconds for a poll of a program, in which a message must come.")

;;; ---- a producer ----

(defun post-orders (servers topic orders)
  "Send ORDERS, pairs of a customer and an order."
  (let ((producer (make-instance 'kf:producer
                                 :conf (list "bootstrap.servers" servers
                                             "enable.idempotence" "true")
                                 :serde #'babel:string-to-octets)))
    (loop for (customer order) in orders
          do (kf:send producer topic order :key customer))
    (kf:flush producer)))

;;; ---- a consumer ----

(defun read-orders (servers topic group count)
  "The first COUNT orders, as POST-ORDERS takes them."
  (let ((consumer (make-instance 'kf:consumer
                                 :conf (list "bootstrap.servers" servers
                                             "group.id" group
                                             "enable.auto.commit" "false"
                                             "auto.offset.reset" "earliest")
                                 :serde #'babel:octets-to-string)))
    (kf:subscribe consumer topic)
    (prog1 (loop repeat count
                 for message = (kf:poll consumer *patience*)
                 while message
                 for customer = (kf:key message)
                 for order = (kf:value message)
                 collect (list customer order)
                 do (kf:commit consumer))
      (kf:close consumer))))

(test a-producer-and-a-consumer
  (let ((topic (fresh-topic)) (orders '(("ada" "tea") ("bob" "coffee") ("ada" "cake"))))
    (is (null (post-orders (servers) topic orders)))
    (is (equal orders (read-orders (servers) topic (fresh "group") 3)))))

;;; ---- transactions ----

(defun next-orders (consumer size)
  "A vector of up to SIZE messages."
  (let ((orders (make-array 0 :adjustable t :fill-pointer 0)))
    (loop repeat size
          for message = (kf:poll consumer *patience*)
          while message
          do (vector-push-extend message orders))
    orders))

(defun go-back (consumer)
  "Read again what is not committed."
  (map nil
       (lambda (committed)
         (destructuring-bind ((topic . partition) . (offset . metadata)) committed
           (declare (ignore metadata))
           (if (minusp offset)
               (kf:seek-to-beginning consumer topic partition 20000)
               (kf:seek consumer topic partition offset 20000))))
       (kf:committed consumer (kf:assignment consumer) 20000)))

(defun serve-orders (consumer producer size topic work)
  "Read orders, and write what WORK makes of each to TOPIC, all or nothing."
  (kf:begin-transaction producer)
  (handler-case
      (let ((orders (next-orders consumer size)))
        (map nil
             (lambda (order)
               (kf:send producer topic (funcall work (kf:value order))))
             orders)
        (kf:send-offsets-to-transaction producer consumer orders 20000)
        (kf:commit-transaction producer 20000)
        (length orders))
    (kf:fatal-error (condition)
      (error condition))
    (condition (condition)
      (go-back consumer)
      (kf:abort-transaction producer 20000)
      (error condition))))

(defun check-transactions (servers orders served group id)
  "Serve three orders, with a failure first, and check that each is served once."
  (post-orders servers orders '(("ada" "tea") ("bob" "coffee") ("ada" "cake")))
  (with-client (consumer kf:consumer
                :conf (list "bootstrap.servers" servers "group.id" group "enable.auto.commit" "false"
                            "auto.offset.reset" "earliest")
                :serde #'babel:octets-to-string)
    (with-client (producer kf:producer
                  :conf (list "bootstrap.servers" servers "transactional.id" id)
                  :serde #'babel:string-to-octets)
      (kf:subscribe consumer orders)
      (is (null (kf:initialize-transactions producer 20000)))
      (let ((condition (condition-of (serve-orders consumer producer 3 served
                                                   (lambda (order)
                                                     (when (equal order "coffee") (error "no beans"))
                                                     (format nil "served ~A" order))))))
        (is (equal "no beans" (princ-to-string condition))))
      (is (eql 2 (serve-orders consumer producer 2 served (lambda (order) (format nil "served ~A" order)))))
      (is (eql 1 (serve-orders consumer producer 1 served (lambda (order) (format nil "served ~A" order))))))))

(test orders-are-served-in-transactions
  ;; The embedded cluster does not carry aborts out, so that what was served is looked at on a real broker.
  (check-transactions (servers) (fresh-topic) (fresh-topic) (fresh "group") (fresh "id")))
