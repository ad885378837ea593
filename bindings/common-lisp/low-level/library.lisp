;;;; Finding and loading the shared library, at load time and when a saved image starts.

(in-package #:kafkabi/low-level)

(defvar *library-file* nil
  "The file name of kafkabi's shared library. When NIL, the environment variable KAFKABI_LIBRARY says
it; without that it is looked for in the build folder of the repository that this system was loaded
from, and then where the system looks for libraries.")

(defvar *loaded-file* nil "What is loaded, or NIL.")

(define-condition library-error (error)
  ((reason :initarg :reason :reader library-error-reason))
  (:report (lambda (condition stream)
             (format stream "kafkabi's shared library can't be used: ~A" (library-error-reason condition))))
  (:documentation "The shared library was not found, or its interface is another one."))

(defun library-loaded-p ()
  "The name of the shared library that is loaded, or NIL."
  *loaded-file*)

(defun file-names ()
  #+darwin '("libkafkabi.1.dylib" "libkafkabi.dylib")
  #+windows '("kafkabi.dll")
  #-(or darwin windows) '("libkafkabi.so.1" "libkafkabi.so"))

(defparameter *repository*
  (let ((here (uiop:pathname-directory-pathname
               #.(namestring (or *compile-file-truename* *load-truename*)))))
    (loop repeat 3 do (setf here (uiop:pathname-parent-directory-pathname here)))
    here)
  "The folder of the repository that these sources lie in, as it was at compile time.")

(defun build-files ()
  "The libraries that a build of the repository would have made."
  (loop for name in (last (file-names))
        for file = (merge-pathnames (concatenate 'string "target/release/" name) *repository*)
        for found = (ignore-errors (probe-file file))
        when found collect (namestring found)))

(defun candidates ()
  "The names to try, in order. What the program or its environment names is the only one."
  (let ((environment (uiop:getenv "KAFKABI_LIBRARY")))
    (cond (*library-file* (list (namestring *library-file*)))
          ((plusp (length environment)) (list environment))
          (t (append (build-files) (file-names))))))

(defun open-library (file)
  "Load FILE, in a way that a saved image does not load it again by itself: the search is made anew."
  #+sbcl (sb-alien:load-shared-object file :dont-save t)
  #-sbcl (cffi:load-foreign-library file))

(defun load-library ()
  "Find the shared library, load it, and check that its interface fits. Signal LIBRARY-ERROR if not.
Return the name that it was found by."
  (let ((failures '()))
    (dolist (file (candidates))
      (handler-case (open-library file)
        (error (condition)
          (push (format nil "~A: ~A" file (remove #\Newline (princ-to-string condition))) failures))
        (:no-error (&rest values)
          (declare (ignore values))
          (check-library file)
          (return-from load-library (setf *loaded-file* file)))))
    (error 'library-error
           :reason (format nil "it was not found. Tried:~{~%  ~A~}~%Name the file in ~
                                KAFKABI/LOW-LEVEL:*LIBRARY-FILE* or in the environment variable ~
                                KAFKABI_LIBRARY."
                           (reverse failures)))))

(defun check-library (file)
  "Compare the version and the records' sizes of the interface that was generated with the library's."
  (let ((count (length *record-sizes*)))
    (cffi:with-foreign-objects ((sizes :uint32 count) (details :uint8 +sizeof-error+))
      (loop for size in *record-sizes*
            for index from 0
            do (setf (cffi:mem-aref sizes :uint32 index) size))
      (setf (cffi:mem-ref details :uint32 +offset-of-error-size+) +sizeof-error+)
      (let ((status (uninterrupted
                      (cffi:foreign-funcall "kabi_abi_check" :uint32 +abi-version+ :pointer sizes
                                                             :uint64 count :pointer details :int32))))
        (unless (zerop status)
          (error 'library-error
                 :reason (format nil "~A has another interface: ~A" file
                                 (cffi:foreign-string-to-lisp
                                  (cffi:inc-pointer details +offset-of-error-message+)
                                  :encoding :utf-8))))))))

(defun ensure-library ()
  "Load the library unless it is loaded."
  (or *loaded-file* (load-library)))

(defun forget-library ()
  (setf *loaded-file* nil))

#+sbcl (pushnew 'forget-library sb-ext:*save-hooks*)
#+sbcl (pushnew 'ensure-library sb-ext:*init-hooks*)

;; The functions are compiled against it, so that it must be there now.
(eval-when (:load-toplevel :execute)
  (ensure-library))
