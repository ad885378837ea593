;;;; How far an implementation comes: what scripts/try-lisps starts. Prints a line that begins with TRIED.

(require "asdf")

(defvar *name* (format nil "~A ~A" (lisp-implementation-type) (lisp-implementation-version)))

(defvar *here* *load-truename*)

(defun told (format &rest arguments)
  (format t "~&TRIED ~A: ~?~%" *name* format arguments)
  (finish-output))

(defun loaded-p (system)
  "Load SYSTEM; if it can't be loaded say why, and return NIL."
  (handler-case (handler-bind ((warning #'muffle-warning))
                  (asdf:load-system system)
                  t)
    (error (condition)
      (told "loading ~A ended with ~A: ~A" system (type-of condition)
            (substitute #\Space #\Newline (princ-to-string condition)))
      nil)))

(defun threads-version ()
  (cond ((find-package "BORDEAUX-THREADS-2") "version 2 of bordeaux-threads")
        (t "version 1 of bordeaux-threads (version 2 SKIPPED: its package is not there)")))

(defun send-and-receive ()
  "Through an embedded cluster; the value that came back."
  (funcall (compile nil (read-from-string "
    (lambda ()
      (kabi:with-cluster (cluster)
        (kabi:create-topic cluster \"topic\")
        (let ((servers (kabi:bootstrap-servers cluster)))
          (kabi:with-producer (producer :conf (list :bootstrap-servers servers))
            (kabi:value (kabi:send producer \"topic\" \"six apples\") :timeout 30000))
          (kabi:with-consumer (consumer :conf (list :bootstrap-servers servers :group-id \"shop\"
                                                    :auto-offset-reset :earliest)
                                        :serde #'kabi:octets-to-string)
            (kabi:assign consumer '((\"topic\" . 0)))
            (values (kabi:value (kabi:poll consumer :timeout 30000)))))))"))))

(handler-case
    (progn
      (asdf:load-asd (merge-pathnames "../kafkabi.asd" *here*))
      (when (every #'loaded-p '("kafkabi/low-level" "kafkabi" "kafkabi/cl-rdkafka"))
        (told "all systems load, ~S came back, with ~A" (send-and-receive) (threads-version))))
  (error (condition) (told "it ended with ~A: ~A" (type-of condition) condition)))
