;;;; The generated package.

(in-package #:kafkabi/test)

(def-suite low-level :in kafkabi)
(in-suite low-level)

(defun external-symbols (package)
  (loop for symbol being the external-symbols of package collect symbol))

(test every-generated-name-is-there-and-documented
  (loop for (name . c-name) in (kabi-ll:list-functions)
        do (is (fboundp name) "~A" name)
           (is (plusp (length (documentation name 'function))) "~A" name)
           (is (eql 0 (search "kabi_" c-name)))
           (is (cffi:foreign-symbol-pointer c-name) "~A is not in the library" c-name)))

(test every-exported-name-is-something
  (dolist (symbol (external-symbols '#:kafkabi/low-level))
    (is (or (fboundp symbol) (boundp symbol) (find-class symbol nil)
            (ignore-errors (typep 0 symbol) t))
        "~A" symbol)))

(test records-have-the-sizes-of-the-library
  (is (equal '(64 512 96 32 88 64 48 72 24) (mapcar #'second (kabi-ll:list-records)))))

(test statuses-have-keywords
  (is (eq :timed-out (kabi-ll:status-keyword kabi-ll:+status-timed-out+)))
  (is (eql -185 (kabi-ll:keyword-status :timed-out)))
  (is (eq :unknown-code (kabi-ll:status-keyword 99999)))
  (loop for (code keyword local text) in kabi-ll:*statuses*
        do (is (eql code (kabi-ll:keyword-status keyword)))
           (is (eq (and (< -200 code -1) t) local))
           (is (plusp (length text)))
           (is (string= (substitute #\_ #\- (symbol-name keyword))
                        (cffi:foreign-string-to-lisp (kabi-ll:error-name code))))))

(test no-handle-is-refused
  (is (eql kabi-ll:+status-handle+
           (kabi-ll:producer-flush kabi-ll:+no-handle+ 0 (cffi:null-pointer) (cffi:null-pointer))))
  (finishes (kabi-ll:producer-free kabi-ll:+no-handle+)))

(test the-wrong-library-is-refused
  (let ((kabi-ll:*library-file* "/nowhere/libkafkabi.so"))
    (let ((condition (condition-of (kabi-ll:load-library))))
      (is (typep condition 'kabi:library-error))
      (is (search "/nowhere/libkafkabi.so" (princ-to-string condition))))))

(test versions-are-told
  (is (find #\. (kabi:version)))
  (is (char= #\2 (char (kabi:librdkafka-version) 0))))
