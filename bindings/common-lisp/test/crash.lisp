;;;; A program that is killed in the middle of a loop has committed what it had finished with, and nothing more.

(in-package #:kafkabi/test)

(def-suite crash :in kafkabi)
(in-suite crash)

(defun killed-at (call topic group)
  "A program that reads TOPIC by CALL, which calls the function HANDLE with each record, and is killed while it is at the
sixth, once librdkafka has committed something by itself."
  (list (format nil "(defvar *reader*
                       (kabi:make-consumer :conf (list :bootstrap-servers ~S :group-id ~S
                                                       :auto-offset-reset \"earliest\"
                                                       :auto-commit-interval-ms 50)))"
                (servers) group)
        (format nil "(kabi:assign *reader* '((~S . 0)))" topic)
        "(defvar *count* 0)"
        "(defun committed () (cdr (first (kabi:committed *reader* t :timeout 60000))))"
        "(defun handle (record)
           (when (= (incf *count*) 6)
             (loop until (committed) do (sleep 0.05))
             (format t \"~&killed at ~A~%\" (kabi:record-offset record))
             (finish-output)
             (cffi:foreign-funcall \"kill\" :int (cffi:foreign-funcall \"getpid\" :int) :int 9 :int))
           (sleep 0.2))"
        call))

(defun committed-after-the-end (call)
  (let* ((topic (fill-topic 500)) (group (fresh "group")) (output (run-lisp (killed-at call topic group))))
    (is-printed "killed at 5" output)
    (committed-offset (conf :group-id group) topic)))

(test a-killed-program-has-committed-what-it-finished
  (is (<= 1 (committed-after-the-end "(kabi:do-records (record *reader*) (handle record))") 5))
  (is (<= 1 (committed-after-the-end "(loop (handle (kabi:poll *reader*)))") 5))
  (is (<= 1 (committed-after-the-end "(loop for record across (kabi:poll-batch *reader*)
                                            do (handle record)
                                               (kabi:handled *reader* record))")
          5)))
