;;;; Configurations: a plist, an alist or a hash-table of properties becomes a handle.

(in-package #:kafkabi)

(defun property-name (name)
  "The name of a property: a string, or a symbol with hyphens for dots, as :GROUP-ID for \"group.id\"."
  (typecase name
    (string name)
    ((and symbol (not null)) (substitute #\. #\- (string-downcase name)))
    (t (argument-error 'conf name "properties whose names are strings or keywords"))))

(defun property-value (name value)
  "A property's value as text: numbers, T and NIL (true and false), keywords and lists are written as the
property takes them."
  (typecase value
    (string value)
    (null "false")
    ((eql t) "true")
    (integer (format nil "~D" value))
    (float (string-trim " " (format nil "~F" value)))
    (symbol (string-downcase value))
    (pathname (namestring value))
    (cons (format nil "~{~A~^,~}"
                  (mapcar (lambda (part) (property-value name part)) (check-proper value))))
    (t (error 'configuration-error
              :property name
              :description (format nil "the value of ~A is ~S, but must be a string, a number, T, NIL, ~
                                        a keyword or a list of these"
                                   name value)))))

(defun check-proper (list &optional (argument 'conf))
  "LIST, unless it has no end or one that is not NIL."
  (if (ignore-errors (list-length list))
      list
      (argument-error argument list "a proper list")))

(defun properties (conf)
  "An alist of names and values, both strings, of CONF: a plist, an alist or a hash-table."
  (let ((pairs '()))
    (flet ((note (name value)
             (let ((name (property-name name)))
               (push (cons name (property-value name value)) pairs))))
      (typecase conf
        (null)
        (hash-table (maphash #'note conf))
        (cons
         (check-proper conf)
         (cond ((every #'consp conf)
                (loop for (name . value) in conf do (note name value)))
               ((evenp (length conf))
                (loop for (name value) on conf by #'cddr do (note name value)))
               (t (argument-error 'conf conf "a plist with a value for each name"))))
        (t (argument-error 'conf conf "a plist, an alist or a hash-table of properties")))
      (nreverse pairs))))

(defun find-property (conf name)
  (cdr (assoc name (properties conf) :test #'string=)))

(defparameter *software-name* '("client.software.name" . "kafkabi-common-lisp")
  "How brokers list clients of this library; the version is the shared library's own.")

(defun call-with-configuration (conf additions mask function)
  "Call FUNCTION with the handle of a configuration of CONF and, where it does not say otherwise, of the
alist ADDITIONS, with the event mask MASK."
  (declare (type function function))
  (let ((properties (properties conf)))
    (cffi:with-foreign-object (place :uint64)
      (call-checked (kabi-ll:config-new place))
      (let ((config (cffi:mem-ref place :uint64)))
        (unwind-protect
             (progn
               (loop for (name . value) in (cons *software-name* additions)
                     unless (assoc name properties :test #'string=)
                       do (set-property config name value))
               (loop for (name . value) in properties do (set-property config name value))
               (when mask (call-checked (kabi-ll:config-events config mask)))
               (funcall function config))
          (kabi-ll:config-free config))))))

(defun set-property (config name value)
  (with-text (name-pointer name)
    (with-text (value-pointer value)
      (with-details (details)
        (let ((status (kabi-ll:config-set config name-pointer value-pointer details)))
          (unless (zerop status)
            (error 'configuration-error
                   :property name :code status
                   :description (static-text (kabi-ll:error-message details)))))))))

(defun make-handle (conf additions mask function class-name)
  "The handle of a client that FUNCTION, a _new function, makes."
  (declare (type function function))
  (call-with-configuration
   conf additions mask
   (lambda (config)
     (cffi:with-foreign-object (place :uint64)
       (with-details (details)
         (check-status (funcall function config place details) details nil :operation class-name))
       (cffi:mem-ref place :uint64)))))

(defun describe-properties ()
  "A JSON document that describes every property: default, range, and what it is for. Its shape is told
at kabi_config_describe()."
  (foreign-string #'kabi-ll:config-describe))
