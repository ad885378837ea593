;;;; An embedded cluster for other programs, until the end of standard input; prints its address.
;;;; sbcl --script cluster.lisp -- TOPIC PARTITIONS

(load (merge-pathnames "load.lisp" *load-truename*))

(destructuring-bind (topic partitions) (arguments 2 "cluster.lisp -- TOPIC PARTITIONS")
  (kabi:with-cluster (cluster)
    (kabi:create-topic cluster topic :partitions (parse-integer partitions))
    (format t "~A~%" (kabi:bootstrap-servers cluster))
    (finish-output)
    (loop while (read-line *standard-input* nil))))
