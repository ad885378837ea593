;;;; The library as a whole: its versions, ending all, and what saved images need.

(in-package #:kafkabi)

(defun version ()
  "The version of kafkabi's shared library."
  (static-text (kabi-ll:version)))

(defun librdkafka-version ()
  "The version of the librdkafka inside."
  (static-text (kabi-ll:librdkafka-version)))

(defun shutdown (&key (timeout 30000))
  "Free every client and cluster that is still there, and wait up to TIMEOUT milliseconds (-1: for ever)
until all threads of kafkabi's have ended, those in Lisp too. New clients may be made after. Signal a
TIMEOUT-ERROR if some are still there. When this thread is unwound meanwhile, it goes on in the background."
  (check-argument timeout milliseconds "a number of milliseconds, or -1 to wait for ever")
  (end-all-threads)
  ;; Not in slices: each ends the clusters, which clients that are being ended still send to.
  (let ((condition (out-of-line ()
                     (with-details (details)
                       (let ((status (kabi-ll:shutdown timeout details)))
                         (unless (zerop status)
                           (details-condition status details nil '(:operation shutdown))))))))
    (end-pool)
    (when condition (error condition))
    nil))

(defun end-all-threads ()
  "Free every client that is still there, and wait for the Lisp threads of all of them."
  (dolist (core (live-cores))
    (let ((thread (core-thread core)))
      (release core)
      (when (and thread (not (eq thread (this-thread)))) (join thread))))
  (end-pool))

(defun let-exit ()
  "As this Lisp ends: end the foreign calls in which threads of ours wait, for which the exit would wait."
  (setf *exiting* t)
  (dolist (core (live-cores))
    (ignore-errors (nudge core)))
  ;; A close that goes on in the background may have all the time in the world: the exit has not.
  #+sbcl (when (set-difference *workers* *idle-workers*)
           (setf sb-ext:*exit-timeout* (min 2 (or sb-ext:*exit-timeout* 2)))))

#+sbcl (pushnew 'let-exit sb-ext:*exit-hooks*)
#+ecl (pushnew 'let-exit si:*exit-hooks*)

;; A saved image has neither threads nor foreign memory: what is still open is ended before, and refused
;; after. The library itself is found again when the image starts.
#+sbcl (pushnew 'end-all-threads sb-ext:*save-hooks*)
