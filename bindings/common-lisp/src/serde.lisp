;;;; Serializers and deserializers: functions of the program's between its objects and octets.

(in-package #:kafkabi)

(defun to-octets (value)
  "What producers do without a serializer: octets are left as they are, a string is written in UTF-8, and
NIL is the null key or value."
  (typecase value
    ((or null octets) value)
    (string (string-to-octets value))
    (vector (vector-to-octets value))
    (t (not-octets value "a string, a vector of octets, or NIL; give the producer a :SERDE for other objects"))))

(defun vector-to-octets (vector)
  (if (every (lambda (element) (typep element '(unsigned-byte 8))) vector)
      (coerce vector 'octets)
      (not-octets vector "a vector of octets")))

(defun not-octets (value expected)
  (error 'serde-error :value value :code kabi-ll:+status-value-serialization+
                      :description (let ((*print-length* 8) (*print-level* 3))
                                     (format nil "~S is not ~A" value expected))))

(defun check-serde (serde)
  "SERDE as a function, or NIL for the default."
  (check-argument serde (or function symbol)
                  "a function of one argument, the name of one, or NIL for the default")
  (cond ((null serde) nil)
        ((functionp serde) serde)
        ((fboundp serde) (fdefinition serde))
        (t (argument-error 'serde serde "a function of one argument, or the name of one"))))

(defmacro with-store-function ((place what) &body body)
  "Evaluate BODY, which uses the function in PLACE, with the restart STORE-FUNCTION: it puts another one
there and evaluates BODY again."
  (let ((function (gensym "FUNCTION")))
    `(loop
       (restart-case (return (progn ,@body))
         (store-function (,function)
           :report (lambda (stream) (format stream "Use another function for the ~A from now on." ,what))
           :interactive (lambda ()
                          (format *query-io* "A form that gives the function: ")
                          (finish-output *query-io*)
                          (list (eval (read *query-io*))))
           (setf ,place (check-serde ,function)))))))

(defun store-function (function)
  "Invoke the restart of this name: use FUNCTION as the serializer or deserializer, now and from now on."
  (invoke-restart 'store-function function))

(defun retry-operation ()
  "Invoke the restart of this name: do the operation again."
  (invoke-restart 'retry-operation))

(defun serialized (result)
  "What a serializer of the program's gave, as octets or NIL."
  (typecase result
    ((or null octets) result)
    (string (not-octets result "what a serializer may give: octets or NIL"))
    (vector (vector-to-octets result))
    (t (not-octets result "what a serializer may give: octets or NIL"))))

;;; ---- JSON, by the library yason where the program has loaded it ----

(defun yason-function (name)
  (let ((package (find-package '#:yason)))
    (or (and package (find-symbol name package))
        (error 'serde-error
               :value nil :code kabi-ll:+status-not-configured+
               :description "the library yason, which reads and writes JSON here, is not loaded"))))

(defun json-to-octets (value)
  "VALUE as a JSON document in UTF-8, written by the library yason, which the program must have loaded: hash-tables
are objects, lists and vectors arrays. NIL, the null of keys and values, is left as it is. A serde for producers."
  (when value
    (let ((encode (yason-function "ENCODE"))
          ;; Not WITH-OUTPUT-TO-STRING, whose stream may be gone when the condition that names it is printed.
          (stream (make-string-output-stream)))
      (handler-case (progn
                      (funcall encode value stream)
                      (string-to-octets (get-output-stream-string stream)))
        (error (condition)
          (error 'serde-error :value value :cause condition
                              :code kabi-ll:+status-value-serialization+
                              :description (format nil "yason can't write it: ~A" condition)))))))

(defun octets-to-json (octets)
  "What the JSON document OCTETS says, read by the library yason, which the program must have loaded, as its
variables say: objects are hash-tables and arrays lists by default. NIL is left as it is. A serde for consumers;
octets that are not JSON signal a SERDE-ERROR."
  (when octets
    (let ((parse (yason-function "PARSE")))
      (handler-case (values (funcall parse (octets-to-string octets)))
        (error (condition)
          (error 'serde-error :value octets :cause condition
                              :code kabi-ll:+status-value-deserialization+
                              :description (format nil "it is not JSON: ~A" condition)))))))
