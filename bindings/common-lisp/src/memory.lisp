;;;; Octet vectors and foreign memory: copies at one memcpy a vector, staging buffers, texts.

(in-package #:kafkabi)

(deftype octets ()
  "What keys and values are: a simple vector of octets."
  '(simple-array (unsigned-byte 8) (*)))

(deftype index () '(unsigned-byte 48))

(declaim (inline make-octets))
(defun make-octets (size)
  (make-array size :element-type '(unsigned-byte 8)))

(declaim (type octets *stand-in*))
(defvar *stand-in* (make-octets 1)
  "Lies where an empty vector would: empty is a pointer that is not NULL, and some implementations have
none for a vector without elements.")

(defmacro with-octets ((pointer length octets) &body body)
  "Bind POINTER and LENGTH to the data of OCTETS, a vector that stays where it is during BODY, or to
NULL and 0 if it is NIL."
  (let ((vector (gensym "VECTOR")) (data (gensym "DATA")) (address (gensym "ADDRESS")))
    `(let* ((,vector ,octets)
            (,length (if ,vector (length (the octets ,vector)) 0))
            (,data (if (zerop ,length) *stand-in* ,vector)))
       (declare (type (or null octets) ,vector) (type octets ,data) (type index ,length)
                (ignorable ,length))
       (cffi:with-pointer-to-vector-data (,address ,data)
         (let ((,pointer (if ,vector ,address (cffi:null-pointer))))
           ,@body)))))

(declaim (inline copy-out copy-in))

(defun copy-in (octets pointer)
  "Copy all of OCTETS to foreign memory."
  (declare (type octets octets) (optimize speed (safety 0)))
  (cffi:with-pointer-to-vector-data (data octets)
    (cffi:foreign-funcall "memcpy" :pointer pointer :pointer data :uint64 (length octets) :pointer))
  nil)

(defun copy-out (pointer length)
  "A new vector of LENGTH octets from foreign memory."
  (declare (type index length) (optimize speed (safety 0)))
  (let ((octets (make-octets length)))
    (unless (zerop length)
      (cffi:with-pointer-to-vector-data (data octets)
        (cffi:foreign-funcall "memcpy" :pointer data :pointer pointer :uint64 length :pointer)))
    octets))

;;; ---- memory that is taken ----

;;; malloc and free hold locks: an interrupt that unwinds through them leaves these taken for ever, so that every thread
;;; stands still that allocates. CFFI's macros call both where a size is not known to the compiler.

(defun allocate (size)
  (kabi-ll:uninterrupted (cffi:foreign-alloc :uint8 :count (max 1 size))))

(defun deallocate (pointer)
  (kabi-ll:uninterrupted (cffi:foreign-free pointer))
  nil)

(defmacro with-memory ((pointer size) &body body)
  "Bind POINTER to SIZE octets of foreign memory, aligned for everything, during BODY."
  `(with-taken (,pointer (allocate ,size))
       (progn ,@body)
     (deallocate ,pointer)))

;;; ---- UTF-8 ----

(defun encode-utf-8 (string)
  (coerce (babel:string-to-octets string :encoding :utf-8) 'octets))

(defun string-to-octets (string)
  "STRING in UTF-8, as octets. NIL, the null of keys and values, is left as it is."
  (etypecase string
    (null nil)
    (string
     (let ((simple (coerce string '(simple-array character (*)))))
       (declare (type (simple-array character (*)) simple) (optimize speed))
       (if (every (lambda (character) (< (char-code character) 128)) simple)
           (let ((octets (make-octets (length simple))))
             (dotimes (index (length simple) octets)
               (setf (aref octets index) (char-code (schar simple index)))))
           (encode-utf-8 simple))))))

(defun octets-to-string (octets)
  "The text that OCTETS are in UTF-8; what is not UTF-8 becomes U+FFFD. NIL is left as it is."
  (etypecase octets
    (null nil)
    (octets
     (let ((octets octets))
       (declare (type octets octets) (optimize speed))
       (if (every (lambda (octet) (< octet 128)) octets)
           (let ((string (make-string (length octets))))
             (dotimes (index (length octets) string)
               (setf (schar string index) (code-char (aref octets index)))))
           (babel:octets-to-string octets :encoding :utf-8 :errorp nil))))
    (vector (octets-to-string (coerce octets 'octets)))))

(defun foreign-text (pointer length)
  "The UTF-8 text of LENGTH octets at POINTER."
  (octets-to-string (copy-out pointer length)))

(defun static-text (pointer)
  "The UTF-8 text at POINTER that a NUL ends."
  (if (cffi:null-pointer-p pointer)
      ""
      (foreign-text pointer (cffi:foreign-funcall "strlen" :pointer pointer :uint64))))

(defmacro with-text ((pointer string) &body body)
  "Bind POINTER to STRING in UTF-8, ended by a NUL. A NUL inside is an error, as it would cut the text."
  `(call-with-text ,string (lambda (,pointer) ,@body)))

(defun call-with-text (string function)
  (declare (type function function))
  (when (find (code-char 0) string)
    (argument-error 'string string "a text without a NUL character in it"))
  (let* ((text (string-to-octets string))
         (octets (make-octets (1+ (length text)))))
    (replace octets text)
    (setf (aref octets (length text)) 0)
    (cffi:with-pointer-to-vector-data (pointer octets)
      (funcall function pointer))))

(defmacro with-texts ((pointers strings) &body body)
  "Bind POINTERS to an array of pointers to STRINGS, a list, in UTF-8, each ended by a NUL."
  `(call-with-texts ,strings (lambda (,pointers) ,@body)))

(defun call-with-texts (strings function)
  (declare (type function function))
  (let* ((octets (mapcar #'string-to-octets strings))
         (count (length octets))
         (size (+ (* 8 count) (loop for text in octets sum (1+ (length text))))))
    (when (find-if (lambda (string) (find (code-char 0) string)) strings)
      (argument-error 'strings strings "texts without a NUL character in them"))
    (with-memory (memory size)
      (let ((place (* 8 count)))
        (loop for text in octets
              for index from 0
              do (setf (cffi:mem-aref memory :pointer index) (cffi:inc-pointer memory place))
                 (copy-in text (cffi:inc-pointer memory place))
                 (incf place (length text))
                 (setf (cffi:mem-ref memory :uint8 place) 0)
                 (incf place)))
      (funcall function memory))))

;;; ---- staging buffers ----

(defvar *process* (list "this process")
  "Another object in a saved image than in the process that saved it, whose foreign memory is not there.")

#+sbcl
(progn
  (defun note-image () (setf *process* (list "an image")))
  (pushnew 'note-image sb-ext:*save-hooks*))

(defstruct (staging (:constructor %make-staging (pointer size)))
  "Foreign memory, aligned to 8 octets, which is freed with the object."
  (pointer (cffi:null-pointer) :type cffi:foreign-pointer)
  (size 0 :type index)
  (process *process* :read-only t))

(defun make-staging (size)
  (kabi-ll:uninterrupted
    (let* ((pointer (allocate size))
           (staging (%make-staging pointer size))
           (process *process*))
      (finalize staging (lambda ()
                          (when (eq process *process*) (deallocate pointer))))
      staging)))

(defun grow-staging (staging size used)
  "A staging buffer of at least SIZE octets with the first USED octets of STAGING, which is freed."
  (kabi-ll:uninterrupted
    (let ((new (make-staging (max size (* 2 (staging-size staging))))))
      (cffi:foreign-funcall "memcpy" :pointer (staging-pointer new)
                                     :pointer (staging-pointer staging) :uint64 used :pointer)
      (free-staging staging)
      new)))

(defun free-staging (staging)
  (kabi-ll:uninterrupted
    (trivial-garbage:cancel-finalization staging)
    (when (eq (staging-process staging) *process*)
      (deallocate (staging-pointer staging)))
    (setf (staging-size staging) 0
          (staging-pointer staging) (cffi:null-pointer)))
  nil)
