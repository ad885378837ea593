;;;; The tour in Common Lisp: a Kafka cluster inside this Lisp, 20,000 orders sent, acknowledged, read back by a
;;;; consumer of a group, committed, compared. Exits with 0 only if each came back once, and in the order of its customer.
;;;; sbcl --script demo.lisp

(load (merge-pathnames "load.lisp" *load-truename*))

(defconstant +orders+ 20000)
(defconstant +customers+ 100)
(defvar *servers*)
(defvar *began* 0)

(defun step-done (name text &rest arguments)
  (format t "  ~9A ~54A ~8,1F ms~%" name (apply #'format nil text arguments)
          (/ (* 1000 (- (get-internal-real-time) *began*)) internal-time-units-per-second))
  (finish-output)
  (setf *began* (get-internal-real-time)))

(defun order (number)
  "A value and a key: what comes back can be compared."
  (list (format nil "order ~D" number) :key (format nil "customer ~D" (mod number +customers+))))

(defun send-orders ()
  (kabi:with-producer (producer :conf (list :bootstrap-servers *servers*))
    (let ((futures (kabi:send-batch producer "orders" (loop for number below +orders+ collect (order number))))
          (by-partition (make-array 6 :initial-element 0)))
      (step-done "send" "~:D orders handed over, a future each" +orders+)
      (loop for future across futures
            do (incf (aref by-partition (kabi:report-partition (kabi:value future)))))
      (step-done "reports" "acknowledged: ~{~:D~^ ~} by partition" (coerce by-partition 'list)))))

(defun read-orders (note)
  "Call NOTE with each order and its customer, read by a group of one."
  (kabi:with-consumer (consumer :conf (list :bootstrap-servers *servers* :group-id "billing"
                                            :auto-offset-reset :earliest)
                                :serde #'kabi:octets-to-string)
    (kabi:subscribe consumer "orders")
    (let ((count (kabi:do-records (record consumer :limit +orders+ :timeout 30000)
                   (funcall note (kabi:record-value record) (kabi:record-key record)))))
      (step-done "read" "~:D records by the group billing, in a loop over lent records" count))
    (let ((committed (kabi:commit consumer)))
      (step-done "commit" "up to ~{~:D~^ ~} by partition"
                 (loop for partition below 6
                       collect (cadr (assoc partition committed :key #'cdr)))))))

(defun demo ()
  (format t "~%kafkabi ~A in ~A ~A~%~%" (kabi:version) (lisp-implementation-type) (lisp-implementation-version))
  (setf *began* (get-internal-real-time))
  (kabi:with-cluster (cluster :brokers 3)
    (kabi:create-topic cluster "orders" :partitions 6 :replication 3)
    (setf *servers* (kabi:bootstrap-servers cluster))
    (step-done "cluster" "3 brokers, topic orders with 6 partitions")
    (send-orders)
    (let ((seen (make-hash-table)) (newest (make-hash-table :test #'equal)) (disorder 0))
      (read-orders (lambda (value customer)
                     (let ((number (parse-integer value :start 6)))
                       (incf (gethash number seen 0))
                       (unless (< (gethash customer newest -1) number) (incf disorder))
                       (setf (gethash customer newest) number))))
      (let ((once (loop for count being the hash-values of seen count (= 1 count))))
        (format t "~%  ~:D of ~:D orders came back once, ~D out of order~%~%" once +orders+ disorder)
        (and (= once +orders+) (zerop disorder))))))

(uiop:quit (if (demo) 0 1))
