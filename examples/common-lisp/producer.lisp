;;;; Sends each line of standard input as a record, and tells where each has gone.
;;;; sbcl --script producer.lisp -- BOOTSTRAP TOPIC

(load (merge-pathnames "load.lisp" *load-truename*))

(defun tell (report condition)
  (if condition
      (format *error-output* "~A~%" condition)
      (format t "partition ~D, offset ~D~%" (kabi:report-partition report) (kabi:report-offset report))))

(destructuring-bind (bootstrap topic) (arguments 2 "producer.lisp -- BOOTSTRAP TOPIC")
  (kabi:with-producer (producer :conf (list :bootstrap-servers bootstrap))
    ;; A future each; its function runs on the producer's own thread, in the order of the reports.
    (let ((told (loop for line = (read-line *standard-input* nil)
                      while line
                      collect (kabi:then (kabi:send producer topic line) #'tell))))
      (kabi:wait-all told))))
