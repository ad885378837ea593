;;;; A session to type into a REPL, form by form, without any Kafka: the cluster is inside the Lisp.
;;;; At once: sbcl --script session.lisp

(load (merge-pathnames "load.lisp" *load-truename*))

;; One broker on a free port of this machine.
(defvar *cluster* (kabi:make-cluster))
(kabi:create-topic *cluster* "orders" :partitions 3)

;; A producer. What SEND gives is a future; its value is the report.
(defvar *servers* (kabi:bootstrap-servers *cluster*))
(defvar *producer* (kabi:make-producer :conf (list :bootstrap-servers *servers*)))
(print (kabi:value (kabi:send *producer* "orders" "six apples" :key "4711" :headers '(("by" . "post")))))

;; Many at once: one crossing, a future each.
(defvar *futures* (kabi:send-batch *producer* "orders" '("two pears" ("a plum" :key "0815") ("a fig" :partition 2))))
(print (map 'list (lambda (future) (kabi:report-offset (kabi:value future))) *futures*))

;; A consumer, alone in its group, from the beginning.
(defvar *consumer* (kabi:make-consumer :conf (list :bootstrap-servers *servers* :group-id "session"
                                                   :auto-offset-reset :earliest)
                                       :serde #'kabi:octets-to-string))
(kabi:subscribe *consumer* "orders")
(defvar *record* (kabi:poll *consumer*))
(print (list *record* (kabi:key *record*) (kabi:value *record*) (kabi:headers *record*)))
(kabi:do-records (record *consumer* :limit 3)
  (print (kabi:value record)))
(print (kabi:commit *consumer*))

;; Mistakes are conditions that say what is wrong; in a REPL the debugger offers their restarts.
(format t "~&~A~%" (nth-value 1 (ignore-errors (kabi:make-producer :conf '(:bootstrap-server "localhost")))))
(format t "~&~A~%" (nth-value 1 (ignore-errors (kabi:send *producer* "orders" 42))))

;; What happens without a broker?
(kabi:broker-down *cluster*)
(print (kabi:wait (kabi:send *producer* "orders" "lost?") :timeout 200))
(kabi:broker-up *cluster*)
(print (kabi:flush *producer*))

(kabi:close *consumer*)
(kabi:close *producer*)
(kabi:close *cluster*)
(terpri)
