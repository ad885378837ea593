;;;; Moves beside another thread's poll: no record of the old place after the move has returned, none of the new one lost.

(in-package #:kafkabi/test)

(def-suite moves :in kafkabi)
(in-suite moves)

;;; Two threads write what they do to one list, under a lock, so that it tells the order: (:record begun offset), where
;;; BEGUN is the place in the list at which the poll began; (:begin target) and (:end) of a move, with TARGET NIL for
;;; one that changes no place; (:still) and (:flowing), between which no poll gives a record.

(defstruct diary (lock (bordeaux-threads:make-lock)) (entries '()) (length 0) (left 0))

(defun note (diary &rest entry)
  "Write ENTRY, and return its place."
  (bordeaux-threads:with-lock-held ((diary-lock diary))
    (push entry (diary-entries diary))
    (incf (diary-length diary))))

(defun next-states (states target begun ended offset)
  "Where the poll may be after the record at OFFSET, each (movedp . next offset): the poll began at BEGUN, and the last
move, to TARGET, ended at ENDED or is under way."
  (remove-duplicates
   (loop for (movedp . next) in states
         when (and (eql offset next) (or movedp (null target) (null ended) (< begun ended)))
           collect (cons movedp (1+ offset))
         when (and (not movedp) (eql offset target))
           collect (cons t (1+ offset)))
   :test #'equal))

(defun first-wrong-entry (entries)
  "The first of ENTRIES that should not be, with what it should have been; NIL if all is well."
  (let ((states '((nil . 0))) (target 0) (ended 0) (still nil))
    (loop for entry in entries
          for place from 1
          do (ecase (first entry)
               (:begin (when (second entry)
                         (setf states (mapcar (lambda (state) (cons nil (cdr state))) states)
                               target (second entry)
                               ended nil)))
               (:end (unless ended (setf ended place)))
               (:still (setf still place))
               (:flowing (setf still nil))
               (:record
                (destructuring-bind (begun offset) (rest entry)
                  (let ((after (next-states states target begun ended offset)))
                    (when (or (null after) (and still (> begun still)))
                      (return (list place entry states target ended still)))
                    (setf states after))))))))

(defun allow-records (diary)
  "Let some more polls give records: the end of the topic is not to be reached, where no more would come."
  (setf (diary-left diary) 100))

(defun poll-and-note (consumer diary stopp)
  "Poll in all ways, and note each record."
  (loop until (funcall stopp)
        for round from 0
        do (loop until (or (plusp (diary-left diary)) (funcall stopp)) do (sleep 0.0005))
           (let ((begun (diary-length diary)))
             (flet ((seen (record)
                      (decf (diary-left diary))
                      (note diary :record begun (kabi:record-offset record))))
               (ecase (mod round 3)
                 (0 (let ((record (kabi:poll consumer :timeout 20)))
                      (when record (seen record))))
                 (1 (map nil #'seen (kabi:poll-batch consumer :timeout 20 :limit 7)))
                 (2 (kabi:do-records (record consumer :timeout 20 :limit 5)
                      (seen record)
                      (setf begun (diary-length diary)))))))))

(defun await-record (diary)
  "Until a poll that begins now has given a record."
  (allow-records diary)
  (let ((now (diary-length diary)))
    (await (lambda ()
             (let ((last (find :record (diary-entries diary) :key #'first)))
               (and last (>= (second last) now)))))))

(defun move-and-note (consumer diary move topic count)
  "Do one MOVE. Return true if records came after it."
  (let ((place (random (- count 500))) (partition (tp topic)))
    (flet ((noted (target function)
             (allow-records diary)
             (note diary :begin target)
             (funcall function)
             (note diary :end)))
      (ecase move
        (:seek (noted place (lambda () (kabi:seek consumer (list (cons partition place)) :timeout *long*))))
        (:seek-to-beginning (noted 0 (lambda () (kabi:seek-to-beginning consumer t :timeout *long*))))
        (:assign (noted place (lambda () (kabi:assign consumer (list (cons partition place))))))
        (:unassign (noted place (lambda ()
                                  (kabi:incremental-unassign consumer (list partition))
                                  (kabi:incremental-assign consumer (list (cons partition place))))))
        (:pause (noted nil (lambda () (kabi:pause consumer t)))
         (note diary :still)
         (sleep (random 0.003))
         (note diary :flowing)
         (noted nil (lambda () (kabi:resume consumer t))))))
    (await-record diary)))

(test moves-beside-a-poll-lose-nothing-and-leave-nothing-behind
  (let* ((count 2000) (topic (fill-topic count)))
    (dolist (moves '((:seek) (:assign) (:pause) (:seek :seek-to-beginning :assign :unassign :pause)))
      (let ((diary (make-diary)) (stop nil))
        (kabi:with-consumer (consumer :conf (reader-conf :fetch-wait-max-ms 10))
          (kabi:assign consumer (list (cons (tp topic) 0)))
          (let ((poller (in-thread (lambda () (poll-and-note consumer diary (lambda () stop))))))
            (unwind-protect
                 (is-true (loop repeat 30
                                for move = (nth (random (length moves)) moves)
                                always (progn
                                         (when (eq move :pause)
                                           (move-and-note consumer diary :seek topic count))
                                         (move-and-note consumer diary move topic count)))
                          "no record came after a move: ~S" (subseq (diary-entries diary) 0 10))
              (setf stop t)
              (funcall poller))))
        (let ((wrong (first-wrong-entry (reverse (diary-entries diary)))))
          (is (null wrong) "with ~S: ~S" moves wrong))))))
