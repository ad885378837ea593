;;;; Reads a topic as a member of a group and prints each record, COUNT of them or for ever. A record is committed
;;;; when its turn of the loop is over, so that a crash repeats at most what was not finished.
;;;; sbcl --script consumer.lisp -- BOOTSTRAP TOPIC GROUP COUNT

(load (merge-pathnames "load.lisp" *load-truename*))

(destructuring-bind (bootstrap topic group count) (arguments 4 "consumer.lisp -- BOOTSTRAP TOPIC GROUP COUNT|all")
  (kabi:with-consumer (consumer :conf (list :bootstrap-servers bootstrap :group-id group
                                            :auto-offset-reset :earliest)
                                :serde #'kabi:octets-to-string)
    (kabi:subscribe consumer topic)
    (kabi:do-records (record consumer :limit (unless (string= count "all") (parse-integer count)))
      (format t "~D:~D  ~A~%" (kabi:record-partition record) (kabi:record-offset record)
              (kabi:record-value record))
      (finish-output))))
