;;;; What implementations and versions of bordeaux-threads do differently: locks, waiting, threads, the clock.
;;;; SBCL's own functions are called there, so that any version will do. Nothing else in this system names an
;;;; implementation, but for memory.lisp and library.lisp.

(in-package #:kafkabi)

(defmacro document-functions (&rest names-and-texts)
  "Give functions that another form has defined, as readers of slots, their documentation strings."
  `(progn ,@(loop for (name text) in names-and-texts
                  collect `(setf (documentation ',name 'function) ,text)
                  ;; It has no place for the documentation of a closure, as readers of structures are.
                  #+ecl collect #+ecl `(si::set-documentation ',name 'function ,text))))

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun thread-symbol (name)
    "The symbol of bordeaux-threads called NAME: of the API's version 2 where it is there."
    (find-symbol name (or (find-package '#:bordeaux-threads-2) '#:bordeaux-threads))))

(defmacro thread-call (name &rest arguments)
  "Call a function of bordeaux-threads whose arguments are alike in both versions of its API."
  `(,(thread-symbol (symbol-name name)) ,@arguments))

;;; ---- locks and condition variables ----

(declaim (inline make-lock make-waiters))

(defun make-lock (name)
  #+sbcl (sb-thread:make-mutex :name name)
  #-sbcl (if (find-package '#:bordeaux-threads-2)
             (funcall (thread-symbol "MAKE-LOCK") :name name)
             (funcall (thread-symbol "MAKE-LOCK") name)))

(defmacro with-lock ((lock) &body body)
  "Hold LOCK during BODY, which may be interrupted and unwound."
  #+sbcl `(sb-thread:with-mutex (,lock) ,@body)
  #-sbcl `(thread-call with-lock-held (,lock) ,@body))

(defmacro with-short-lock ((lock) &body body)
  "Hold LOCK during BODY, which is not interrupted: it must be short and call no code of the program's."
  #+sbcl `(sb-sys:without-interrupts (sb-thread:with-mutex (,lock) ,@body))
  #-sbcl `(kabi-ll:uninterrupted (thread-call with-lock-held (,lock) ,@body)))

(defun make-waiters ()
  #+sbcl (sb-thread:make-waitqueue)
  #-sbcl (thread-call make-condition-variable))

(defconstant +longest-wait+ 1/10
  "Seconds for which one wait sleeps at most where a wait can't be interrupted or may miss a wake.")

(defun wait-with-lock (waiters lock seconds)
  "Wait with LOCK held (it is released meanwhile) until woken, SECONDS are over, or for no reason."
  #+sbcl (unless (sb-thread:condition-wait waiters lock :timeout (min seconds 1))
           ;; The lock is not held after a time-out.
           (sb-thread:grab-mutex lock))
  ;; ECL 21 has no wait with a time-out, and ones without can't be interrupted: look again and again.
  #+(and ecl threads)
  (progn
    waiters
    (mp:giveup-lock lock)
    (unwind-protect (sleep (min seconds 1/1000))
      (kabi-ll:uninterrupted (mp:get-lock lock))))
  #-(or sbcl (and ecl threads))
  (thread-call condition-wait waiters lock :timeout (min seconds +longest-wait+)))

(defun wake-all (waiters)
  "Wake every thread that waits, with the lock held."
  #+sbcl (sb-thread:condition-broadcast waiters)
  #+(and ecl threads) (mp:condition-variable-broadcast waiters)
  #-(or sbcl (and ecl threads))
  (let ((broadcast (thread-symbol "CONDITION-BROADCAST")))
    ;; Without it the others find out when their wait is over.
    (funcall (or broadcast (thread-symbol "CONDITION-NOTIFY")) waiters)))

;;; ---- what is taken is given back ----

(defmacro with-taken ((variable take) form &body give-back)
  "Bind VARIABLE to what TAKE gives, evaluate FORM, and GIVE-BACK, however FORM is left. Interrupts are taken in
FORM only: there is no moment in which something is taken and would not be given back."
  #+sbcl
  `(sb-sys:without-interrupts
     (let ((,variable ,take))
       (declare (ignorable ,variable))
       (unwind-protect (sb-sys:with-local-interrupts ,form)
         ,@give-back)))
  #+(and ecl threads)
  `(mp:without-interrupts
     (let ((,variable ,take))
       (declare (ignorable ,variable))
       (unwind-protect (mp:with-local-interrupts ,form)
         ,@give-back)))
  #-(or sbcl (and ecl threads))
  `(let ((,variable ,take))
     (declare (ignorable ,variable))
     (unwind-protect ,form
       (kabi-ll:uninterrupted ,@give-back))))

;;; ---- the order in which threads see memory ----

(defmacro write-barrier ()
  "What this thread wrote before is seen before what it writes after, by threads with a READ-BARRIER between
their looks. Only a note for the compiler on x86-64."
  #+sbcl '(sb-thread:barrier (:write)))

(defmacro read-barrier ()
  "What this thread reads after is at least as new as what it read before."
  #+sbcl '(sb-thread:barrier (:read)))

(defmacro with-full-barrier ((first) then otherwise)
  "Evaluate FIRST, which writes, and THEN, which reads what others write, in this order for all threads. Where there is no
way to say that, evaluate OTHERWISE alone."
  (declare (ignorable first then otherwise))
  #+sbcl `(progn ,first
                 (sb-thread:barrier (:memory))
                 ,then)
  #-sbcl otherwise)

(defun give-way ()
  "Let other threads run."
  #+sbcl (sb-thread:thread-yield)
  #-sbcl (thread-call thread-yield))

;;; ---- threads ----

(defun spawn (name function)
  "Run FUNCTION in a new thread with the global values of all variables."
  #+sbcl (sb-thread:make-thread function :name name)
  #-sbcl (thread-call make-thread function :name name))

(defun join (thread)
  "Wait until THREAD has ended, however it did."
  #+sbcl (ignore-errors (sb-thread:join-thread thread :default nil))
  #-sbcl (ignore-errors (thread-call join-thread thread)))

(declaim (inline this-thread))
(defun this-thread ()
  #+sbcl sb-thread:*current-thread*
  #-sbcl (thread-call current-thread))

;;; ---- time ----

(deftype milliseconds ()
  "A time-out as it crosses: -1 waits for ever, 0 does not wait."
  '(integer -1 #x7fffffff))

(declaim (inline now))
(defun now ()
  "Milliseconds of a clock that only goes forward."
  (values (floor (* 1000 (the (unsigned-byte 60) (get-internal-real-time)))
                 internal-time-units-per-second)))

(defun deadline (timeout)
  "When TIMEOUT milliseconds from now are over, or NIL for -1."
  (unless (minusp timeout) (+ (now) timeout)))

(defun left (deadline)
  "How many milliseconds are left until DEADLINE, at least 0; -1 without one."
  (if deadline (max 0 (- deadline (now))) -1))
;;; ---- the garbage collector ----

(defun finalize (object function)
  "Call FUNCTION, which must not refer to OBJECT, once OBJECT is garbage."
  (trivial-garbage:finalize object function))
