;;;; What a record costs in Lisp, beside a C program that does the same through the same library: what
;;;; scripts/bench-lisp runs. Both take turns on one embedded cluster, a process of its own. CPU is that of a
;;;; whole process, with librdkafka's threads; what is Lisp's is the difference within a round.

(require :asdf)

(asdf:load-asd (uiop:subpathname (uiop:pathname-parent-directory-pathname
                                  (uiop:pathname-directory-pathname *load-truename*))
                                 "kafkabi.asd"))
(let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
  (handler-bind ((warning #'muffle-warning))
    (asdf:load-system "kafkabi")))

(defpackage #:kafkabi/bench (:use #:cl))
(in-package #:kafkabi/bench)

(defparameter *rounds* (parse-integer (or (uiop:getenv "KAFKABI_BENCH_ROUNDS") "11")))
(defparameter *only* (uiop:getenv "KAFKABI_BENCH_ONLY") "A part of the names of those to run, or NIL.")
(defparameter *profile* (uiop:getenv "KAFKABI_BENCH_PROFILE") "When it is there, C does not run, and each is profiled.")
(defconstant +partitions+ 8)
(defconstant +count+ 200000 "Records a round.")
(defconstant +batch+ 1000)
(defconstant +patience+ 60000)

;;; ---- processes ----

(defun start (&rest command)
  (uiop:launch-program command :input :stream :output :stream :error-output :interactive))

(defun ask (process line)
  (let ((input (uiop:process-info-input process)))
    (write-line line input)
    (finish-output input)
    (or (read-line (uiop:process-info-output process) nil) (error "~A: no answer" line))))

(defun end (process)
  (close (uiop:process-info-input process))
  (uiop:wait-process process))

(defvar *servers* "")
(defvar *c* nil "The C program.")

;;; ---- measuring ----

(defun cpu ()
  "The CPU time of this process, in nanoseconds."
  (cffi:with-foreign-object (time :int64 2)
    (cffi:foreign-funcall "clock_gettime" :int 2 :pointer time :int) ; CLOCK_PROCESS_CPUTIME_ID
    (+ (* 1000000000 (cffi:mem-aref time :int64 0)) (cffi:mem-aref time :int64 1))))

(defun measure (function)
  "CPU time in nanoseconds and octets allocated, a record."
  (sb-ext:gc :full t)
  (let ((consed (sb-ext:get-bytes-consed)) (began (cpu)))
    (funcall function)
    (values (/ (- (cpu) began) +count+ 1.0)
            (/ (- (sb-ext:get-bytes-consed) consed) +count+ 1.0))))

(defun quantile (numbers part)
  (let ((sorted (sort (copy-list numbers) #'<)))
    (elt sorted (floor (* part (1- (length sorted)))))))

(defun median (numbers) (quantile numbers 1/2))

;;; ---- what is measured ----

(defparameter *value* (make-array 100 :element-type '(unsigned-byte 8) :initial-element 0))
(defparameter *values* (make-array +batch+ :initial-element *value*))
(defvar *producers* '())

(defun producer (reports)
  (or (getf *producers* reports)
      (setf (getf *producers* reports)
            (kabi:make-producer :conf (list :bootstrap-servers *servers* :linger-ms 5
                                            :queue-buffering-max-messages 2000000)
                                :reports (eq reports :reports)))))

(defun finish (producer)
  (assert (zerop (kabi:flush producer :timeout +patience+))))

(defmacro sending ((producer reports) &body body)
  `(let ((,producer (producer ,reports)))
     ,@body
     (finish ,producer)))

(defun send-batches-with-futures ()
  (sending (producer :reports)
    (loop repeat (/ +count+ +batch+) do (kabi:send-batch producer "send" *values*))))

(defun send-batches ()
  (sending (producer :none)
    (loop repeat (/ +count+ +batch+) do (kabi:send-batch producer "send" *values* :futures nil))))

(defun send-with-futures ()
  (sending (producer :reports)
    (loop repeat +count+ do (kabi:send producer "send" *value*))))

(defun send-and-forget ()
  (sending (producer :none)
    (loop repeat +count+ do (kabi:send-and-forget producer "send" *value*))))

(defmacro receiving ((consumer) &body body)
  `(kabi:with-consumer (,consumer :conf (list :bootstrap-servers *servers* :group-id "lisp"
                                              :enable-auto-commit nil))
     (kabi:assign ,consumer (loop for partition below +partitions+
                                  collect (cons (cons "read" partition) :beginning)))
     ,@body))

(defun poll-singly ()
  (receiving (consumer)
    (loop repeat +count+ do (assert (kabi:poll consumer :timeout +patience+)))))

(defun poll-batches ()
  (receiving (consumer)
    (let ((received 0))
      (loop while (< received +count+)
            do (incf received (length (kabi:poll-batch consumer :timeout +patience+)))))))

(defun look-at-records ()
  (receiving (consumer)
    (let ((sum 0))
      (declare (type fixnum sum))
      (kabi:do-records (record consumer :limit +count+)
        (incf sum (+ (the fixnum (kabi:record-offset record))
                     (the fixnum (kabi:record-value-length record))))))))

(defun copy-values ()
  (receiving (consumer)
    (kabi:do-records (record consumer :limit +count+)
      (kabi:record-value-octets record))))

(defparameter *contenders*
  '((send-batches-with-futures "batches-reported" "send-batch")
    (send-batches "batches" "send-batch :futures nil, reports off")
    (send-with-futures "singly-reported" "send")
    (send-and-forget "singly" "send-and-forget, reports off")
    (poll-singly "receive" "poll")
    (poll-batches "receive" "poll-batch")
    (look-at-records "receive" "do-records, offset and length")
    (copy-values "receive" "do-records, record-value-octets")))

;;; ---- running ----

(defun c-side (mode)
  (/ (parse-integer (ask *c* (format nil "~A ~D" mode +count+))) +count+ 1.0))

(defun profile (function)
  (let ((report (find-symbol "REPORT" '#:sb-sprof)))
    (uiop:symbol-call '#:sb-sprof '#:reset)
    (uiop:symbol-call '#:sb-sprof '#:start-profiling :max-samples 100000 :mode :cpu :sample-interval 0.001
                                                     :threads :all)
    (loop repeat *rounds* do (funcall function))
    (uiop:symbol-call '#:sb-sprof '#:stop-profiling)
    (funcall report :type :flat :max 25)))

(defun row (name over c lisp ratio consed)
  (format t "~40A ~10@A ~10@A ~22@A ~8@A ~10@A~%" name c lisp over ratio consed)
  (finish-output))

(defun contend (function mode name)
  "Both sides take turns, each round beginning with another."
  (let ((pairs '()) (consed '()))
    (c-side mode)
    (funcall function)
    (dotimes (round *rounds*)
      (flet ((lisp ()
               (multiple-value-bind (cost octets) (measure function)
                 (push octets consed)
                 cost)))
        (push (if (evenp round)
                  (let ((c (c-side mode))) (cons c (lisp)))
                  (let ((lisp (lisp))) (cons (c-side mode) lisp)))
              pairs)))
    (let ((differences (mapcar (lambda (pair) (- (cdr pair) (car pair))) pairs)))
      (row name
           (format nil "~D (~D to ~D)" (round (median differences)) (round (quantile differences 1/4))
                   (round (quantile differences 3/4)))
           (round (median (mapcar #'car pairs)))
           (round (median (mapcar #'cdr pairs)))
           (format nil "~,2F" (median (mapcar (lambda (pair) (/ (cdr pair) (car pair))) pairs)))
           (round (median consed))))))

(defun run ()
  (let ((cluster (start (uiop:getenv "KAFKABI_CLUSTER")
                        "--topic" (format nil "send:~D" +partitions+)
                        "--topic" (format nil "read:~D" +partitions+))))
    (setf *servers* (string-trim " " (subseq (read-line (uiop:process-info-output cluster))
                                             (length "bootstrap.servers="))))
    (setf *c* (start (uiop:getenv "KAFKABI_BENCH_C") *servers* (format nil "~D" +partitions+)))
    (c-side "fill") ; the partitions hold what a round reads
    (unless *profile*
      (row "CPU, ns a record of 100 B" "Lisp over C (quartiles)" "C" "Lisp" "ratio" "B consed"))
    (loop for (function mode name) in *contenders*
          when (or (null *only*) (search *only* name) (search *only* (string-downcase function)))
            do (if *profile* (profile function) (contend function mode name)))
    (loop for (nil producer) on *producers* by #'cddr do (kabi:close producer))
    (end *c*)
    (uiop:terminate-process cluster)))

(when *profile* (require :sb-sprof))
(run)
