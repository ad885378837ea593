;;;; The tests' package and suite, and what tests share: one cluster for all, topics and groups of their own,
;;;; generous time-outs.

(defpackage #:kafkabi/test
  (:use #:cl)
  (:import-from #:fiveam #:def-suite #:in-suite #:test #:is #:is-true #:is-false #:signals #:finishes
                #:fail #:skip #:pass)
  (:documentation "Tests of kafkabi/low-level and kafkabi, through what they export.")
  (:export #:run-all #:kafkabi))

(in-package #:kafkabi/test)

(def-suite kafkabi :description "All tests of kafkabi's Common Lisp library.")

(defparameter *long* 30000
  "Milliseconds for what must happen: a machine that stalls must not fail a test.")

(defvar *cluster* nil "The embedded cluster that tests share.")

(defvar *number* 0)

(defun fresh (what)
  "A name that no other test uses."
  (format nil "~A-~D" what (incf *number*)))

(defun servers ()
  (unless *cluster* (setf *cluster* (kabi:make-cluster)))
  (kabi:bootstrap-servers *cluster*))

(defun fresh-topic (&optional (partitions 1))
  "A topic of the shared cluster that no other test uses."
  (let ((name (fresh "topic")))
    (servers)
    (kabi:create-topic *cluster* name :partitions partitions)))

(defun conf (&rest properties)
  "A configuration for the shared cluster."
  (list* :bootstrap-servers (servers) properties))

(defun reader-conf (&rest properties)
  "A configuration for a consumer of the shared cluster, alone in its group, from the beginning."
  (apply #'conf :group-id (fresh "group") :auto-offset-reset "earliest" properties))

(defmacro condition-of (&body body)
  "The error that BODY signals, or NIL."
  `(handler-case (progn ,@body nil)
     (error (condition) condition)))

(defmacro within ((milliseconds) &body body)
  "Evaluate BODY, which must end within so many milliseconds, and return its value."
  (let ((begun (gensym "BEGUN")))
    `(let ((,begun (get-internal-real-time)))
       (multiple-value-prog1 (progn ,@body)
         (is (< (- (get-internal-real-time) ,begun)
                (* ,milliseconds (/ internal-time-units-per-second 1000))))))))

(defun await (function &optional (milliseconds *long*))
  "Call FUNCTION until it gives true, and return that, or NIL after so long."
  (loop with end = (+ (get-internal-real-time)
                      (* milliseconds (/ internal-time-units-per-second 1000)))
        for result = (funcall function)
        when result return result
        while (< (get-internal-real-time) end)
        do (sleep 0.001)))

(defun in-thread (function)
  "Start a thread that calls FUNCTION, and return a function that waits for its values."
  (let* ((results nil) (failure nil)
         (thread (bordeaux-threads:make-thread
                  (lambda ()
                    (handler-case (setf results (multiple-value-list (funcall function)))
                      (error (condition) (setf failure condition)))))))
    (lambda ()
      (bordeaux-threads:join-thread thread)
      (when failure (error failure))
      (values-list results))))

(defun octets (&rest octets)
  (coerce octets 'kabi:octets))

;;; ---- running ----

(defvar *times* '() "(seconds . name) of each test that has run.")

(defmethod fiveam::%run :around ((test fiveam::test-case))
  (let ((begun (get-internal-real-time)))
    (multiple-value-prog1 (call-next-method)
      (push (cons (/ (- (get-internal-real-time) begun) internal-time-units-per-second) (fiveam::name test))
            *times*))))

(defun print-slowest (count)
  "Print a line for each of the COUNT tests that took longest, and one for all."
  (loop for (seconds . name) in (sort (copy-list *times*) #'> :key #'car)
        repeat count
        do (format t "~&~6,1F s ~(~A~)~%" seconds name))
  (format t "~&~6,1F s for ~D tests~%" (reduce #'+ *times* :key #'car) (length *times*)))

(defun test-names (suite)
  "The names of all tests of SUITE, in order."
  (let ((bundle (fiveam:get-test suite)))
    (if (typep bundle 'fiveam::test-suite)
        (loop for name being the hash-keys of (fiveam::tests bundle)
              append (test-names name))
        (list suite))))

(defun part-of (names part parts)
  "Every so manieth of NAMES, in an order that is the same in every process: that of a hash-table is not."
  (loop for name in (sort (copy-list names) #'string< :key (lambda (name)
                                                            (format nil "~A ~A" name (symbol-package name))))
        for number from 0
        when (= (1- part) (mod number parts)) collect name))

(defun run-all (&key (suite 'kafkabi) (part 1) (parts 1))
  "Run the tests, or the given part of them, print a line for each that fails, the slowest and the counts, and return
true if none failed."
  (let* ((names (part-of (test-names suite) part parts))
         (results (unwind-protect
                       (let ((fiveam:*print-names* t))
                         (loop for name in names append (fiveam:run name)))
                    (when *cluster*
                      (kabi:close *cluster*)
                      (setf *cluster* nil))))
         (failed (remove-if (lambda (result) (typep result '(or fiveam::test-passed fiveam::test-skipped)))
                            results)))
    (dolist (result results)
      (unless (typep result 'fiveam::test-passed)
        (format t "~&~:[FAILED~;SKIPPED~] ~A: ~A~%" (typep result 'fiveam::test-skipped)
                (fiveam::name (fiveam::test-case result)) (fiveam::reason result))))
    (print-slowest 15)
    (format t "~&~D passed, ~D failed~%" (- (length results) (length failed)) (length failed))
    (and results (null failed))))
