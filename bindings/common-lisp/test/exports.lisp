;;;; Every name that the package exports is something, documented, and named by a test.

(in-package #:kafkabi/test)

(def-suite exports :in kafkabi)
(in-suite exports)

(defun documented-p (symbol)
  (some (lambda (kind)
          (let ((text (ignore-errors (documentation symbol kind))))
            (and (stringp text) (plusp (length text)))))
        '(function variable type structure)))

(defun test-sources ()
  "The text of the files of these tests."
  (with-output-to-string (out)
    (dolist (file (asdf:component-children (asdf:find-system "kafkabi/test")))
      (write-string (uiop:read-file-string (asdf:component-pathname file) :external-format :utf-8) out))))

(defun name-character-p (character)
  (or (alphanumericp character) (find character "-*+%")))

(defun named-in-p (symbol text)
  "True if TEXT has SYMBOL's name as a whole, with the package's prefix."
  (let ((name (format nil "kabi:~(~A~)" symbol)))
    (loop for begin = (search name text) then (search name text :start2 (1+ begin))
          while begin
          do (let ((end (+ begin (length name))))
               (when (or (= end (length text)) (not (name-character-p (char text end))))
                 (return t))))))

(test every-exported-name-is-documented
  (dolist (symbol (external-symbols '#:kafkabi))
    (is-true (documented-p symbol) "~A has no documentation" symbol)))

(test every-exported-name-is-in-a-test
  (let ((text (test-sources)))
    (dolist (symbol (external-symbols '#:kafkabi))
      (is-true (named-in-p symbol text) "no test has the name ~A" symbol))))
