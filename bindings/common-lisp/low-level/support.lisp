;;;; What the generated files expand to: numbers, statuses, records in foreign memory, and calls that
;;;; no interrupt, throw or time-out can unwind.

(in-package #:kafkabi/low-level)

(defmacro uninterrupted (&body body)
  "Run BODY without taking interrupts: nothing may unwind through a foreign frame, which holds locks
and memory that no Lisp cleanup knows of. Keep what is inside short: a call that waits is made in
slices, with a chance for interrupts in between. A no-op where threads can't be interrupted."
  #+sbcl `(sb-sys:without-interrupts ,@body)
  #+(and ecl threads) `(mp:without-interrupts ,@body)
  #+ccl `(ccl:without-interrupts ,@body)
  #-(or sbcl (and ecl threads) ccl) `(progn ,@body))

(deftype handle ()
  "A handle of kafkabi's. It is only a number and never an address of memory."
  '(unsigned-byte 64))

(defconstant +no-handle+ 0
  "The handle that is none: calls refuse it with +STATUS-HANDLE+, _free functions leave it alone.")

;;; ---- numbers and statuses ----

(defmacro define-number (name value documentation)
  `(defconstant ,name ,value ,documentation))

(defvar *statuses* '()
  "A list of (code keyword local-p text) of every status code. LOCAL-P says that librdkafka raises it
inside this process.")

(defvar *keywords-by-code* (make-hash-table))

(defmacro define-statuses (&rest statuses)
  `(progn (setf *statuses* ',statuses)
          (clrhash *keywords-by-code*)
          (loop for (code keyword) in *statuses*
                do (setf (gethash code *keywords-by-code*) keyword))))

(defun status-keyword (code)
  "The keyword for a status code, such as :TIMED-OUT for -185; :UNKNOWN-CODE if it has no name here."
  (values (gethash code *keywords-by-code* :unknown-code)))

(defun keyword-status (keyword)
  "The status code that a keyword such as :TIMED-OUT stands for, or NIL."
  (first (find keyword *statuses* :key #'second)))

;;; ---- records ----

(defvar *records* '() "(name size) of every record.")

(defvar *record-sizes* '() "The sizes that kabi_abi_check() compares, in its order.")

(defmacro define-record-sizes (&rest sizes)
  `(setf *record-sizes* ',sizes))

(defun list-records ()
  "A list of (name size) of every record of the interface."
  (reverse *records*))

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun symbol-of (&rest parts)
    (intern (format nil "~{~A~}" parts) '#:kafkabi/low-level))

  (defun foreign-type-of (type)
    (if (eq type 'handle) :uint64 type))

  (defun field-forms (record field type offset documentation)
    (let ((accessor (symbol-of record '- field))
          (constant (symbol-of '+offset-of- record '- field '+)))
      (if (consp type)                  ; an array: its address
          `((defconstant ,constant ,offset ,documentation)
            (declaim (inline ,accessor))
            (defun ,accessor (pointer)
              ,documentation
              (cffi:inc-pointer pointer ,offset)))
          (let ((type (foreign-type-of type)))
            `((defconstant ,constant ,offset ,documentation)
              (declaim (inline ,accessor (setf ,accessor)))
              (defun ,accessor (pointer)
                ,documentation
                (cffi:mem-ref pointer ,type ,offset))
              (defun (setf ,accessor) (value pointer)
                (setf (cffi:mem-ref pointer ,type ,offset) value))))))))

(defmacro define-record (name size documentation &rest fields)
  "Define the constant +SIZEOF-name+, and for each field the accessor name-FIELD of a pointer to the
record, and +OFFSET-OF-name-FIELD+. An array's accessor gives its address."
  `(progn
     (defconstant ,(symbol-of '+sizeof- name '+) ,size ,documentation)
     (pushnew '(,name ,size) *records* :test #'equal)
     ,@(loop for (field type offset text) in fields
             append (field-forms name field type offset text))))

;;; ---- functions ----

(defvar *functions* '() "(Lisp name . C name) of every function.")

(defun list-functions ()
  "An alist of the Lisp and C names of every function of the interface."
  (reverse *functions*))

(defmacro define-call (name (c-name result) arguments documentation)
  "Define NAME as an inline function that calls C-NAME, uninterrupted."
  `(progn
     (pushnew '(,name . ,c-name) *functions* :test #'equal)
     (declaim (inline ,name))
     (defun ,name ,(mapcar #'first arguments)
       ,documentation
       (uninterrupted
         (cffi:foreign-funcall ,c-name
                               ,@(loop for (argument type) in arguments
                                       append (list (foreign-type-of type) argument))
                               ,(foreign-type-of result))))))
