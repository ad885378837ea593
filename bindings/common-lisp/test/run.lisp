;;;; Loads and runs the tests in a fresh Lisp: what scripts/test-lisp starts. A warning while compiling
;;;; this repository's files is a failure.

(require :asdf)

(defvar *warnings* 0)

;; No debugger waits for anybody here, in no thread.
#+ecl (setf ext:*invoke-debugger-hook*
            (lambda (condition hook)
              (declare (ignore hook))
              (format t "~&FAILED: ~A reached the debugger: ~A~%" (type-of condition) condition)
              (finish-output)
              (ext:quit 1)))

(asdf:load-asd (uiop:subpathname (uiop:pathname-parent-directory-pathname
                                  (uiop:pathname-directory-pathname *load-truename*))
                                 "kafkabi.asd"))

;; What others wrote may warn.
(dolist (system '("cffi" "bordeaux-threads" "trivial-garbage" "babel" "yason" "fiveam"))
  (handler-bind ((warning #'muffle-warning))
    (asdf:load-system system)))

(defun note-warning (warning)
  ;; Loading what was compiled in the same Lisp defines macros twice.
  (unless (or (search "REDEFIN" (string-upcase (princ-to-string (type-of warning))))
              (search "completed without its input file" (princ-to-string warning))) ; others' systems
    (incf *warnings*)
    (format t "~&FAILED: ~A while compiling: ~A~%" (type-of warning) warning)))

(handler-bind ((warning #'note-warning))
  (asdf:load-system "kafkabi/test")
  (asdf:load-system "kafkabi/cl-rdkafka-test"))

(format t "~&~6,1F s to compile and load~%" (/ (get-internal-real-time) internal-time-units-per-second 1.0))

(let ((passed (uiop:symbol-call '#:kafkabi/test '#:run-all)))
  (finish-output)
  (let ((code (if (and passed (zerop *warnings*)) 0 1)))
    ;; Its exit would wait for closes that tests have left to the background, for ever, or take the memory
    ;; from under the threads that do them.
    #+ecl (eval (read-from-string (format nil "(cffi:foreign-funcall \"_exit\" :int ~D :void)" code)))
    (uiop:quit code)))
