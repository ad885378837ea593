;;;; Loads and runs the tests in a fresh Lisp: what scripts/test-lisp starts. A warning while compiling
;;;; this repository's files is a failure. The environment variable KAFKABI_TEST_PART is "0" to compile only, or "2/3" to
;;;; run the second third of the tests; without it all of them run.

(require :asdf)

(defvar *warnings* 0)

;; No debugger waits for anybody here, in no thread.
#+ecl (setf ext:*invoke-debugger-hook*
            (lambda (condition hook)
              (declare (ignore hook))
              (format t "~&FAILED: ~A reached the debugger: ~A~%" (type-of condition) condition)
              (finish-output)
              (ext:quit 1)))

;; Optimizing takes gcc longer than it saves in the tests.
#+ecl (setf c::*cc-optimize* "-O0 -g0 -U_FORTIFY_SOURCE")

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

(defun run-part (part)
  "Run what PART, of the environment, says. Return true unless something failed."
  (cond ((equal part "0") t)
        (part
         (let ((slash (position #\/ part)))
           (uiop:symbol-call '#:kafkabi/test '#:run-all
                             :part (parse-integer part :end slash)
                             :parts (parse-integer part :start (1+ slash)))))
        (t (uiop:symbol-call '#:kafkabi/test '#:run-all))))

(let ((passed (run-part (uiop:getenvp "KAFKABI_TEST_PART"))))
  (finish-output)
  (let ((code (if (and passed (zerop *warnings*)) 0 1)))
    ;; Its exit would wait for closes that tests have left to the background, for ever, or take the memory
    ;; from under the threads that do them.
    #+ecl (eval (read-from-string (format nil "(cffi:foreign-funcall \"_exit\" :int ~D :void)" code)))
    (uiop:quit code)))
