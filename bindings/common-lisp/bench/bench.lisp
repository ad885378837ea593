;;;; What a record costs in Lisp, beside a C program that does the same through the same library: what
;;;; scripts/bench-lisp runs. Both take turns on one embedded cluster, a process of its own. CPU is that of a
;;;; whole process, with librdkafka's threads; what is Lisp's is the difference within a round.

(require :asdf)

(asdf:load-asd (uiop:subpathname (uiop:pathname-parent-directory-pathname
                                  (uiop:pathname-directory-pathname *load-truename*))
                                 "kafkabi.asd"))
(let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
  (handler-bind ((warning #'muffle-warning))
    (asdf:load-system "kafkabi")
    (asdf:load-system "kafkabi/cl-rdkafka")))

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
  "CPU time in nanoseconds and octets allocated, a record. No collection before it: pages that one has freed
would be faulted in anew, which a program that runs on does not meet."
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

;;; ---- the two programs of cl-rdkafka's document ----

(defconstant +messages+ 30000 "The embedded cluster keeps 5 MiB a partition.")
(defparameter *kilobyte* (make-string 1024 :initial-element #\a))

(defun produce-through-kafkabi (run)
  (kabi:with-producer (producer :conf (list :bootstrap-servers *servers*) :serde #'kabi:string-to-octets)
    (kabi:value (kabi:send producer "messages" *kilobyte*)) ; once it has its producer id
    (funcall run (lambda ()
                   (loop repeat +messages+ do (kabi:send producer "messages" *kilobyte*))
                   (kabi:flush producer)))))

(defun consume-through-kafkabi (run)
  (kabi:with-consumer (consumer :conf (list :bootstrap-servers *servers* :group-id (format nil "k~A" (cpu))
                                            :auto-offset-reset :earliest)
                                :serde #'kabi:octets-to-string)
    (kabi:subscribe consumer "messages")
    (kabi:value (kabi:poll consumer :timeout +patience+)) ; once it has joined the group
    (funcall run (lambda ()
                   (loop repeat (1- +messages+) do (kabi:value (kabi:poll consumer :timeout +patience+)))))))

(defun produce-through-cl-rdkafka (run)
  (let ((producer (make-instance 'kf:producer :conf (list "bootstrap.servers" *servers*)
                                              :serde #'kabi:string-to-octets)))
    (kf:value (kf:send producer "messages" *kilobyte*))
    (funcall run (lambda ()
                   (loop repeat +messages+ do (kf:send producer "messages" *kilobyte*))
                   (kf:flush producer)))
    (kf:close producer)))

(defun consume-through-cl-rdkafka (run)
  (let ((consumer (make-instance 'kf:consumer :conf (list "bootstrap.servers" *servers*
                                                          "group.id" (format nil "f~A" (cpu))
                                                          "auto.offset.reset" "earliest")
                                              :serde #'kabi:octets-to-string)))
    (kf:subscribe consumer "messages")
    (kf:value (kf:poll consumer +patience+))
    (funcall run (lambda ()
                   (loop repeat (1- +messages+) do (kf:value (kf:poll consumer +patience+)))))
    (kf:close consumer)))

(defun microseconds-a-message (program)
  "Time and CPU time, the least of some runs, and octets allocated."
  (let ((times '()) (cpus '()) (consed 0))
    (flet ((run (loop)
             (let ((began (get-internal-real-time)) (cpu (cpu)) (octets (sb-ext:get-bytes-consed)))
               (funcall loop)
               (push (/ (- (get-internal-real-time) began) +messages+ internal-time-units-per-second 1e-6) times)
               (push (/ (- (cpu) cpu) +messages+ 1000.0) cpus)
               (setf consed (/ (- (sb-ext:get-bytes-consed) octets) +messages+)))))
      (loop repeat (max 3 (floor *rounds* 2)) do (funcall program #'run)))
    (values (reduce #'min times) (reduce #'min cpus) (round consed))))

(defun run-programs ()
  (format t "~%~40A ~10@A ~10@A ~10@A~%" "us a message of 1 KiB, a text" "time" "CPU" "B consed")
  (loop for (name program) in `(("send and flush, kafkabi" produce-through-kafkabi)
                                ("poll and value, kafkabi" consume-through-kafkabi)
                                ("send and flush, cl-rdkafka package" produce-through-cl-rdkafka)
                                ("poll and value, cl-rdkafka package" consume-through-cl-rdkafka))
        do (multiple-value-bind (time cpu consed) (microseconds-a-message program)
             (format t "~40A ~10,2F ~10,2F ~10D~%" name time cpu consed)
             (finish-output))))

(defun run ()
  (let ((cluster (start (uiop:getenv "KAFKABI_CLUSTER")
                        "--topic" (format nil "send:~D" +partitions+)
                        "--topic" (format nil "read:~D" +partitions+)
                        "--topic" (format nil "messages:~D" +partitions+))))
    (setf *servers* (string-trim " " (subseq (read-line (uiop:process-info-output cluster))
                                             (length "bootstrap.servers="))))
    (setf *c* (start (uiop:getenv "KAFKABI_BENCH_C") *servers* (format nil "~D" +partitions+)))
    (c-side "fill") ; the partitions hold what a round reads
    (unless *profile*
      (row "CPU, ns a record of 100 B" "Lisp over C (quartiles)" "C" "Lisp" "ratio" "B consed"))
    (loop for (function mode name) in *contenders*
          when (or (null *only*) (search *only* name) (search *only* (string-downcase function)))
            do (if *profile* (profile function) (contend function mode name)))
    (unless (or *only* *profile*) (run-programs))
    (loop for (nil producer) on *producers* by #'cddr do (kabi:close producer))
    (end *c*)
    (uiop:terminate-process cluster)))

(when *profile* (require :sb-sprof))
(run)
