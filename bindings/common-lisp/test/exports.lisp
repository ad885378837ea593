;;;; Every name that the package exports is something, documented, and named by a test.

(in-package #:kafkabi/test)

(def-suite exports :in kafkabi)
(in-suite exports)

(defun kinds-of (symbol)
  "As what SYMBOL is to be documented. Reading and writing a slot is documented at the reader."
  (append (when (or (fboundp symbol) (macro-function symbol)) '(function))
          (when (boundp symbol) '(variable))
          (when (find-class symbol nil) '(type))))

(defun documented-p (symbol)
  "True if all that SYMBOL names is documented; what it is if it is neither of these can be a type only."
  (every (lambda (kind)
           (let ((text (documentation symbol kind)))
             (and (stringp text) (plusp (length text)))))
         (or (kinds-of symbol) '(type))))

;;; What a test names is found by reading its form, so that comments and strings don't count.

(defun forms-of (file)
  "The forms of FILE, which begins with IN-PACKAGE or DEFPACKAGE, read alike on every implementation."
  (let ((*package* *package*)
        (*features* (set-difference *features* '(:sbcl :ecl))))
    (with-open-file (in file :external-format :utf-8)
      (loop for form = (read in nil in)
            until (eq form in)
            when (and (consp form) (eq (first form) 'in-package)) do (setf *package* (find-package (second form)))
            collect form))))

(defun program-names-p (symbol text)
  "True if TEXT is a form for another Lisp process and names SYMBOL."
  (and (plusp (length text))
       (char= #\( (char text 0))
       (let* ((name (format nil "kabi:~(~A~)" symbol)) (begin (search name text))
              (end (and begin (+ begin (length name)))))
         (and end (or (= end (length text)) (find (char text end) " )'"))))))

(defun names-symbol-p (symbol form)
  (loop while (consp form)
        thereis (names-symbol-p symbol (pop form))
        finally (return (if (stringp form)
                            (program-names-p symbol form)
                            (eq symbol form)))))

(defun read-tests (system)
  "A list of (name file . form) for each test of SYSTEM, and then for each other definition, such as what tests share."
  (let ((tests '()) (others '()))
    (dolist (file (asdf:component-children (asdf:find-system system)))
      (let ((path (asdf:component-pathname file)))
        (dolist (form (forms-of path))
          (when (and (consp form) (symbolp (first form)) (consp (rest form)) (symbolp (second form)))
            (let ((entry (list* (second form) (file-namestring path) form)))
              (cond ((member (first form) '("TEST" "REAL-TEST" "SECURE-TEST") :test #'string=) (push entry tests))
                    ((member (first form) '(defun defmacro)) (push entry others))))))))
    (append (nreverse tests) (nreverse others))))

(defun test-of (symbol tests)
  "The entry of the first of TESTS that names SYMBOL, or NIL."
  (find-if (lambda (entry) (names-symbol-p symbol (cddr entry))) tests))

(defun exports-file ()
  (asdf:system-relative-pathname "kafkabi" "EXPORTS.md"))

(defun export-line (symbol entry)
  (format nil "| `~(~A~)` | `~(~A~)` | test/~A |" symbol (first entry) (second entry)))

(defun write-exports (&optional (packages '((#:kafkabi . "kafkabi/test") (#:cl-rdkafka . "kafkabi/cl-rdkafka-test"))))
  "Write EXPORTS.md anew: every exported symbol with a test, or what tests share, that uses it."
  (with-open-file (out (exports-file) :direction :output :if-exists :supersede :external-format :utf-8)
    (format out "# What the packages export, and a test that uses each~2%~
                 Written by `(kafkabi/test::write-exports)`; the tests check it.~%")
    (loop for (package . system) in packages
          for tests = (read-tests system)
          do (format out "~%## ~(~A~)~2%| symbol | test | file |~%|---|---|---|~%" package)
             (dolist (symbol (sort (external-symbols package) #'string<))
               (format out "~A~%" (export-line symbol (test-of symbol tests)))))))

(defun unlisted-exports (package system)
  "The exported symbols of PACKAGE that no test of SYSTEM uses, or for which EXPORTS.md does not name one that does."
  (let ((tests (read-tests system)) (lines (uiop:read-file-lines (exports-file) :external-format :utf-8)))
    (remove-if (lambda (symbol)
                 (loop for entry in tests
                       thereis (and (names-symbol-p symbol (cddr entry))
                                    (find (export-line symbol entry) lines :test #'string=))))
               (external-symbols package))))

(test every-exported-name-is-documented
  (dolist (symbol (external-symbols '#:kafkabi))
    (is-true (documented-p symbol) "~A has no documentation" symbol)))

(test every-exported-name-is-used-by-a-test-that-is-listed
  (is (null (unlisted-exports '#:kafkabi "kafkabi/test"))
      "WRITE-EXPORTS is to be called, or a test to be written"))
