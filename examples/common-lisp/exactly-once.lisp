;;;; Reads one topic and writes another, each record exactly once: what is written and the offsets that were read
;;;; are committed together, in one transaction a batch.
;;;; sbcl --script exactly-once.lisp -- BOOTSTRAP FROM TO COUNT
;;;; The embedded cluster does not carry transactions out: there it shows the calls, not the guarantee.

(load (merge-pathnames "load.lisp" *load-truename*))

(destructuring-bind (bootstrap from to count) (arguments 4 "exactly-once.lisp -- BOOTSTRAP FROM TO COUNT")
  (let ((conf (list :bootstrap-servers bootstrap)) (left (parse-integer count)))
    (kabi:with-consumer (consumer :conf (list* :group-id "exactly-once" :auto-offset-reset :earliest
                                               :enable-auto-commit nil :isolation-level "read_committed" conf)
                                  :serde #'kabi:octets-to-string)
      (kabi:with-producer (producer :conf (list* :transactional-id (format nil "~A-to-~A" from to) conf))
        (kabi:initialize-transactions producer)
        (kabi:subscribe consumer from)
        (loop while (plusp left) do
          ;; Commits at its end, with the consumer's offsets; when it is left by an error it aborts, and puts the
          ;; consumer back to where the transaction began.
          (kabi:with-transaction (producer :consumer consumer)
            (let ((records (kabi:poll-batch consumer)))
              (kabi:send-batch producer to
                               (map 'list (lambda (record)
                                            (list (string-upcase (kabi:record-value record))
                                                  :key (kabi:record-key record)))
                                    records))
              (decf left (length records)))))))))
(format t "done~%")
