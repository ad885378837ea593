;;;; What the examples begin with: loads kafkabi from this repository, quietly. With kafkabi where ASDF finds it,
;;;; (asdf:load-system "kafkabi") is all.

(require :asdf)

#+ecl (setf ext:*invoke-debugger-hook*  ; a script asks nobody
            (lambda (condition hook)
              (declare (ignore hook))
              (format *error-output* "~&~A~%" condition)
              (ext:quit 1)))

(asdf:load-asd (merge-pathnames "../../bindings/common-lisp/kafkabi.asd" *load-truename*))
(handler-bind ((warning #'muffle-warning))
  (let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream)))
    (asdf:load-system "kafkabi")))

(defun arguments (count usage)
  "The command line after the program, COUNT words of it, or leave and tell the usage."
  (let ((words (rest (member "--" (uiop:raw-command-line-arguments) :test #'string=))))
    (unless (= count (length words))
      (format *error-output* "usage: ~A~%" usage)
      (uiop:quit 2))
    words))
