;;;; Moves of partitions (assign, seek, pause and so on) beside another thread's poll. Records cross in batches, which
;;;; Lisp hands out one by one: a move must drop what is staged of the old place, and nothing of the new one. So a
;;;; move, with its drop, and the call that fetches a batch, with the note of what came, exclude each other. Moves
;;;; come first, and several may be under way at once.

(in-package #:kafkabi)

;;; ---- the poll's side ----

(defun let-moves-pass (core milliseconds)
  "Wait, up to so long, until no move is under way."
  (declare (type consumer-core core))
  (unless (zerop (consumer-moves core))
    (let ((end (deadline milliseconds)) (lock (meeting-lock core)))
      (with-lock (lock)
        (loop until (or (zerop (consumer-moves core)) (zerop (left end)))
              do (wait-with-lock (meeting-waiters core) lock (/ (left end) 1000)))))))

(defun begin-pull (core)
  "True if a batch may be fetched now: no move begins before END-PULL."
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (when (zerop (consumer-moves core))
      (setf (consumer-pulling core) t))))

(defun end-pull (core)
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (setf (consumer-pulling core) nil)
    (when (plusp (consumer-moves core)) (wake-all (meeting-waiters core)))))

(defmacro pulling ((core otherwise) &body body)
  "Evaluate BODY, which fetches a batch and notes it, and is not interrupted; or else OTHERWISE, while a move is under
way."
  (let ((client (gensym "CORE")))
    `(let ((,client ,core))
       (kabi-ll:uninterrupted
         (if (begin-pull ,client)
             (unwind-protect (progn ,@body)
               (end-pull ,client))
             ,otherwise)))))

;;; ---- the move's side ----

(defun begin-move (core)
  "From here to END-MOVE no batch is fetched. A fetch in progress is cut short."
  (declare (type consumer-core core))
  (let ((lock (meeting-lock core)) (pulling nil))
    (with-short-lock (lock)
      (incf (consumer-moves core))
      (setf pulling (consumer-pulling core)))
    (when pulling
      (nudge core)
      (with-short-lock (lock)
        (loop while (consumer-pulling core)
              do (wait-with-lock (meeting-waiters core) lock 1/10))))))

(defun end-move (core)
  (declare (type consumer-core core))
  (with-short-lock ((meeting-lock core))
    (decf (consumer-moves core))
    (wake-all (meeting-waiters core))))

(defmacro moving ((core) &body body)
  "Evaluate BODY, which moves partitions and drops what is staged of them, while no batch is fetched."
  (let ((client (gensym "CORE")) (nothing (gensym "NOTHING")))
    `(let ((,client ,core))
       (with-taken (,nothing (begin-move ,client))
           (progn ,@body)
         (end-move ,client)))))

(defmacro move-checked ((core operation) (details) call drop)
  "Make CALL, which moves partitions without waiting, and then DROP what is staged, both or, if CALL fails, none."
  (let ((client (gensym "CORE")) (status (gensym "STATUS")))
    `(let ((,client ,core))
       (with-details (,details)
         (let ((,status 0))
           (moving (,client)
             (kabi-ll:uninterrupted
               (setf ,status ,call)
               (when (zerop ,status) ,drop)))
           (check-status ,status ,details nil :operation ,operation))))))

(defun drop-moved (core after condition)
  "After a call that has moved the places AFTER whose codes are 0, unless it failed as a whole by CONDITION."
  (let ((moved (remove-if-not #'zerop after :key #'place-code)))
    (when (and moved (or (null condition) (find-if-not #'zerop after :key #'place-code)))
      (drop-staged core moved))))

(defmacro move-places ((core operation places timeout) (pointer count left details) call goody)
  "As ASK-PLACES, for a CALL that moves partitions: what is staged of those that it has moved is dropped, also when this
thread is unwound meanwhile and the move takes place in the background."
  (let ((after (gensym "PLACES")) (condition (gensym "CONDITION")) (numbered (gensym "PLACES"))
        (client (gensym "CORE")) (time (gensym "TIMEOUT")) (patience (gensym "PATIENCE")))
    `(let* ((,client ,core) (,time ,timeout) (,numbered (number-places ,client ,places)))
       (multiple-value-bind (,after ,condition)
           (asking (,client ,patience)
             (moving (,client)
               (multiple-value-bind (,after ,condition)
                   (call-with-outcome ,client ,operation ,numbered
                                      (lambda (,pointer ,count ,details)
                                        (patiently ,client ,time ,patience (lambda (,left) ,call))))
                 (drop-moved ,client ,after ,condition)
                 (values ,after ,condition))))
         (settle-places ,operation ,condition ,after ,goody)))))
