;;;; Programs as cl-rdkafka's users write them: a producer, a consumer, and one that reads, works and writes in
;;;; transactions. They make the calls that the three programs of its guide make, in the same order and with the same
;;;; arguments and time-outs, but for names and addresses; the text is ours, since the guide's licence would bind it.

(in-package #:kafkabi/cl-rdkafka-test)

(def-suite kf-programs :in cl-rdkafka)
(in-suite kf-programs)

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

(defun read-orders (servers topic group)
  "All orders, as POST-ORDERS takes them, until none comes for two seconds."
  (let ((consumer (make-instance 'kf:consumer
                                 :conf (list "bootstrap.servers" servers
                                             "group.id" group
                                             "enable.auto.commit" "false"
                                             "auto.offset.reset" "earliest")
                                 :serde #'babel:octets-to-string)))
    (kf:subscribe consumer topic)
    (loop for message = (kf:poll consumer 2000)
          while message
          for customer = (kf:key message)
          for order = (kf:value message)
          collect (list customer order)
          do (kf:commit consumer))))

(test a-producer-and-a-consumer
  (let ((topic (fresh-topic)) (orders '(("ada" "tea") ("bob" "coffee") ("ada" "cake"))))
    (is (null (post-orders (servers) topic orders)))
    ;; Where a machine stalls for two seconds the program has an early end, as it would on any Kafka: it runs again,
    ;; in another group.
    (is-true (await (lambda () (equal orders (read-orders (servers) topic (fresh "group"))))))))

;;; ---- transactions ----

(defun next-orders (consumer size)
  "A vector of up to SIZE messages."
  (let ((orders (make-array 0 :adjustable t :fill-pointer 0)))
    (loop repeat size
          for message = (kf:poll consumer 5000)
          while message
          do (vector-push-extend message orders))
    orders))

(defun serve-orders (consumer producer topic work)
  "Write what WORK makes of each of some orders to TOPIC, with the orders' offsets, and return how many there were."
  (let ((orders (next-orders consumer 5)))
    (map nil
         (lambda (order)
           (kf:send producer topic (funcall work (kf:value order))))
         orders)
    (kf:send-offsets-to-transaction producer consumer orders 5000)
    (length orders)))

(defun go-back (consumer)
  "Read again what is not committed."
  (loop for ((topic . partition) . (offset . nil)) in (kf:committed consumer (kf:assignment consumer) 5000)
        do (if (minusp offset)
               (kf:seek-to-beginning consumer topic partition 5000)
               (kf:seek consumer topic partition offset 5000))))

(defun serve-in-transaction (consumer producer topic work)
  "Serve orders, all or none, and return how many."
  (kf:begin-transaction producer)
  (handler-case (prog1 (serve-orders consumer producer topic work)
                  (kf:commit-transaction producer 5000))
    (kf:fatal-error (condition)
      (error condition))
    (condition (condition)
      (go-back consumer)
      (kf:abort-transaction producer 5000)
      (error condition))))

(defun call-serving (servers orders group id function)
  "The beginning of the program; then FUNCTION is called with its consumer and producer, which it closes."
  (let ((consumer (make-instance 'kf:consumer
                                 :conf (list "bootstrap.servers" servers
                                             "group.id" group
                                             "enable.auto.commit" "false"
                                             "auto.offset.reset" "earliest")
                                 :serde #'babel:octets-to-string))
        (producer (make-instance 'kf:producer
                                 :conf (list "bootstrap.servers" servers
                                             "transactional.id" id)
                                 :serde #'babel:string-to-octets)))
    (kf:subscribe consumer orders)
    (kf:initialize-transactions producer 5000)
    (unwind-protect (funcall function consumer producer)
      (kf:close consumer)
      (kf:close producer))))

(defun check-transactions (servers orders served group id)
  "Serve three orders, with a failure first, and check that each is served once."
  (post-orders servers orders '(("ada" "tea") ("bob" "coffee") ("ada" "cake")))
  (call-serving
   servers orders group id
   (lambda (consumer producer)
     (flet ((refuse (order)
              (if (equal order "coffee") (error "no beans") order))
            (serve (order)
              (format nil "served ~A" order)))
       ;; A transaction may be empty while the group is being joined.
       (let ((condition (await (lambda ()
                                 (condition-of (serve-in-transaction consumer producer served #'refuse))))))
         (is (equal "no beans" (princ-to-string condition))))
       (let ((count 0))
         (is-true (await (lambda ()
                           (<= 3 (incf count (serve-in-transaction consumer producer served #'serve))))))
         (is (eql 3 count)))))))

(test orders-are-served-in-transactions
  ;; The embedded cluster does not carry aborts out, so that what was served is looked at on a real broker.
  (check-transactions (servers) (fresh-topic) (fresh-topic) (fresh "group") (fresh "id")))
