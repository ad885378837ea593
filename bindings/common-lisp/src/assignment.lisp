;;;; Which partitions a consumer reads: subscriptions, assignments by hand, pauses, and the program's functions
;;;; for changes that the group decides. Those are met in a poll (property kafkabi.assignment=apply): the poll
;;;; comes back, the function is called as any Lisp function is, and the change is applied, however it is left.

(in-package #:kafkabi)

(defstruct (change (:constructor make-change (kind partitions thread)))
  "A change that the program's function sees now, and what it asked for of the partitions that it gives."
  (kind :assign :type (member :assign :revoke :lost))
  (partitions '() :type list)           ; places, with the offsets to begin at
  (thread nil)
  (pauses '() :type list))

;;; ---- subscribing ----

(defun subscribe (consumer topics)
  "Join the group of CONSUMER to share the partitions of TOPICS, a name or a sequence of names, with its
other members. A name that begins with ^ is a regular expression. Replaces an earlier subscription; the
partitions come during polls. Signal a KAFKA-ERROR without the property group.id, and while partitions are
assigned by ASSIGN."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'subscribe))
         (names (if (stringp topics) (list topics) (coerce-to-list topics 'topics))))
    (dolist (name names)
      (unless (and (stringp name) (plusp (length name)))
        (argument-error 'topics name "a topic's name, a string")))
    (tell-handled core)
    (with-texts (pointers names)
      (with-details (details)
        (check-status (kabi-ll:consumer-subscribe (core-handle core) pointers (length names) details)
                      details nil :operation 'subscribe)))
    (setf (consumer-subscribedp core) (not (null names)))
    nil))

(defun unsubscribe (consumer)
  "Leave the group; what is handled is committed first, if commits are automatic. With functions for changes
the partitions are given back in the next poll, else at once."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'unsubscribe)))
    (tell-handled core)
    (move-checked (core 'unsubscribe) (details)
      (kabi-ll:consumer-unsubscribe (core-handle core) details)
      (progn (setf (consumer-subscribedp core) nil)
             (drop-staged core)))
    nil))

(defun subscription (consumer)
  "The names and regular expressions that CONSUMER is subscribed to, a list of strings."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'subscription)))
    (read-json (foreign-string
                (lambda (buffer size length details)
                  (kabi-ll:consumer-subscription (core-handle core) buffer size length details))))))

;;; ---- assigning by hand ----

(defun note-starts (core places)
  (with-short-lock ((meeting-lock core))
    (dolist (place places)
      (setf (gethash (place-key place) (consumer-starts core)) (offset-designator (place-offset place))))))

(defun assign (consumer partitions)
  "Read exactly PARTITIONS, a sequence of (topic . partition) and ((topic . partition) . offset): an offset is
a number, :BEGINNING, :END or :STORED, and without one it begins where the group committed, or where the
property auto.offset.reset says. Replaces an earlier assignment, whose pauses end; records of it that were not
handed out yet are dropped. Signal a KAFKA-ERROR while topics are subscribed to."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'assign))
         (places (number-places core (start-places partitions 'partitions))))
    (tell-handled core)
    (with-places (pointer count places)
      (move-checked (core 'assign) (details)
        (kabi-ll:consumer-assign (core-handle core) pointer count details)
        (drop-staged core)))
    (with-short-lock ((meeting-lock core))
      (clrhash (consumer-starts core)))
    (note-starts core places)
    nil))

(defun unassign (consumer)
  "Read nothing any more; what is handled is committed first, if commits are automatic."
  (assign consumer '()))

(defun incremental-assign (consumer partitions)
  "Read PARTITIONS, too, besides those that ASSIGN gave: a sequence as for ASSIGN. All or none are assigned;
signal a KAFKA-ERROR if one is assigned already or topics are subscribed to."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'incremental-assign))
         (places (number-places core (start-places partitions 'partitions))))
    (with-places (pointer count places)
      (with-details (details)
        (check-status (kabi-ll:consumer-incremental-assign (core-handle core) pointer count details)
                      details nil :operation 'incremental-assign)))
    (note-starts core places)
    nil))

(defun incremental-unassign (consumer partitions)
  "Read PARTITIONS, a sequence of (topic . partition), no more; others stay. What is handled of them is
committed, if commits are automatic. Signal a KAFKA-ERROR if one is not assigned or topics are subscribed to."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'incremental-unassign))
         (places (number-places core (start-places partitions 'partitions))))
    (tell-handled core)
    (with-places (pointer count places)
      (move-checked (core 'incremental-unassign) (details)
        (kabi-ll:consumer-incremental-unassign (core-handle core) pointer count details)
        (drop-staged core places)))
    (with-short-lock ((meeting-lock core))
      (dolist (place places) (remhash (place-key place) (consumer-starts core))))
    nil))

(defun assigned-places (core)
  (listed-places core (lambda (pointer capacity count details)
                        (kabi-ll:consumer-assignment (core-handle core) pointer capacity count details))))

(defun assignment (consumer &key offsets)
  "The partitions that CONSUMER reads now, a list of (topic . partition). With OFFSETS true each is
((topic . partition) . offset), with the offset that ASSIGN or INCREMENTAL-ASSIGN was given for it, or NIL."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'assignment)) (keys (mapcar #'place-key (assigned-places core))))
    (if offsets
        (with-short-lock ((meeting-lock core))
          (mapcar (lambda (key) (cons key (values (gethash key (consumer-starts core))))) keys))
        keys)))

(defun chosen-places (core partitions)
  "Places for PARTITIONS, a sequence of (topic . partition), or T for all that are assigned."
  (if (eq partitions t)
      (let ((change (consumer-change core)))
        (union-places (assigned-places core) (and change (changing-places change))))
      (mapcar (lambda (partition) (partition-place partition 'partitions))
              (coerce-to-list partitions 'partitions))))

(defun union-places (some others)
  (append some (remove-if (lambda (place) (find (place-key place) some :key #'place-key :test #'equal))
                          others)))

;;; ---- pausing ----

(defun pause (consumer partitions)
  "Hand out no records of PARTITIONS, a sequence of (topic . partition) or T for all that are assigned, until
RESUME; what waits of them is not lost. A pause ends when its partition is taken away. Signal a PARTIAL-ERROR
if some are not assigned; the others are paused, and its GOODIES."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'pause)) (places (chosen-places core partitions)))
    (multiple-value-bind (later now) (split-by-change core places)
      (when later (pause-later core later t))
      (when now
        ;; All of it on a thread of the pool, since what is staged is moved back to, which is not to be left half done.
        (out-of-line ()
          (moving (core)
            (change-places (core 'pause now) (pointer count details)
              (kabi-ll:consumer-pause (core-handle core) pointer count details)
              (lambda (place) (withhold core place) (place-key place)))))))
    nil))

(defun resume (consumer partitions)
  "Let PARTITIONS, a sequence of (topic . partition) or T for all that are assigned, flow again. One that is
not paused is left alone. Signal a PARTIAL-ERROR if some are not assigned."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'resume)) (places (chosen-places core partitions)))
    (multiple-value-bind (later now) (split-by-change core places)
      (when later (pause-later core later nil))
      (when now
        (change-places (core 'resume now) (pointer count details)
          (kabi-ll:consumer-resume (core-handle core) pointer count details)
          #'place-key)))
    nil))

(defun paused (consumer)
  "The partitions of CONSUMER that are paused, a list of (topic . partition)."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'paused)))
    (mapcar #'place-key
            (listed-places core (lambda (pointer capacity count details)
                                  (kabi-ll:consumer-paused (core-handle core) pointer capacity count
                                                           details))))))

;;; ---- changes that the group decides ----

(defun changing-places (change)
  (and (eq (change-kind change) :assign)
       (eq (change-thread change) (this-thread))
       (change-partitions change)))

(defun split-by-change (core places)
  "Those of PLACES that the change under way on this thread gives, and the others."
  (let* ((change (consumer-change core))
         (given (and change (changing-places change))))
    (if (null given)
        (values '() places)
        (loop for place in places
              if (find (place-key place) given :key #'place-key :test #'equal)
                collect place into later
              else collect place into now
              finally (return (values later now))))))

(defun begin-later (core places)
  "The partitions that the change under way gives begin at the offsets of PLACES."
  (let ((given (change-partitions (consumer-change core))))
    (dolist (place places)
      (setf (place-offset (find (place-key place) given :key #'place-key :test #'equal))
            (if (eql (place-offset place) kabi-ll:+offset-stored+)
                kabi-ll:+offset-invalid+
                (place-offset place))))))

(defun pause-later (core places pausep)
  (let ((change (consumer-change core)))
    (setf (change-pauses change)
          (remove-if (lambda (pause) (find (place-key pause) places :key #'place-key :test #'equal))
                     (change-pauses change)))
    (when pausep
      (setf (change-pauses change) (append places (change-pauses change))))))

(defun pending-change (core)
  "The change that waits to be applied, or NIL."
  (cffi:with-foreign-object (kind :int32)
    (setf (cffi:mem-ref kind :int32) 0)
    (let ((places (listed-places core (lambda (pointer capacity count details)
                                        (kabi-ll:consumer-assignment-pending
                                         (core-handle core) kind pointer capacity count details)))))
      (dolist (place places)
        (setf (place-offset place) kabi-ll:+offset-invalid+))
      (ecase (cffi:mem-ref kind :int32)
        (0 nil)
        (#.kabi-ll:+assignment-assign+ (make-change :assign places (this-thread)))
        (#.kabi-ll:+assignment-revoke+ (make-change :revoke places (this-thread)))
        (#.kabi-ll:+assignment-lost+ (make-change :lost places (this-thread)))))))

(defun meet-change (core)
  "Call the program's function for the change that waits, and apply it, however the function is left."
  (let ((change (pending-change core)))
    (when change
      (tell-handled core)
      (unwind-protect
           (progn
             (setf (consumer-change core) change)
             (call-change-handler core (change-kind change) (change-partitions change)))
        (apply-change core change)
        (setf (consumer-change core) nil)))))

(defun call-change-handler (core kind places)
  (let ((function (or (getf (core-handlers core) kind)
                      (and (eq kind :lost) (getf (core-handlers core) :revoke)))))
    (when function
      (funcall function (owner core) (mapcar #'place-key places)))))

(defun apply-change (core change)
  (let* ((places (change-partitions change))
         (starts (remove kabi-ll:+offset-invalid+ places :key #'place-offset)))
    (with-places (pointer count (if (eq (change-kind change) :assign) starts '()))
      (with-details (details)
        (let ((status (kabi-ll:consumer-assignment-apply (core-handle core) pointer count details)))
          (unless (member status '(0 #.kabi-ll:+status-state+ #.kabi-ll:+status-closed+
                                   #.kabi-ll:+status-handle+))
            (log-line core 3 (princ-to-string
                              (details-condition status details nil '(:operation poll))))))))
    (if (eq (change-kind change) :assign)
        (let ((pauses (change-pauses change)))
          (when pauses
            (with-places (pointer count (number-places core pauses))
              (with-details (details)
                (kabi-ll:consumer-pause (core-handle core) pointer count details)))))
        (drop-staged core places))))

(defmethod close :around ((consumer consumer) &rest arguments &key &allow-other-keys)
  "First tell the program's function of the partitions that the close gives back, while they can be committed."
  (let ((told nil))
    (unwind-protect
         (progn (tell-of-close consumer)
                (setf told t))
      (unless told (close-behind consumer arguments))))
  (call-next-method))

(defun tell-of-close (consumer)
  (let* ((core (client-core consumer)) (tell nil))
    (with-short-lock ((meeting-lock core))
      (when (and (eq (core-state core) :open) (consumer-subscribedp core))
        (setf tell (and (getf (core-handlers core) :revoke) t)
              (consumer-subscribedp core) nil)))
    (when tell
      (handler-case (let ((places (assigned-places core)))
                      (when places (call-change-handler core :revoke places)))
        (error (condition)
          (log-line core 3 (format nil "the function for revoked partitions signalled ~(~A~): ~A"
                                   (type-of condition) condition)))))))

(defun close-behind (consumer arguments)
  "The program's function was left by a throw, perhaps of a time-out, which waits for nothing: close in the
background. CONSUMER is not open any more when this returns, unless that is cut short, too."
  (let ((core (client-core consumer)))
    (pool-run (lambda ()
                (handler-case (apply #'close consumer arguments)
                  (error (condition) (log-line core 4 (princ-to-string condition))))))
    (loop while (open-p consumer) do (sleep 0.001))))

;;; ---- the group ----

(defun text-or-nil (function)
  "The text that FUNCTION writes, or NIL if it is empty."
  (let ((text (foreign-string function)))
    (unless (string= text "") text)))

(defun member-id (consumer)
  "The name that the group knows CONSUMER by, a string, or NIL before it has joined."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'member-id)))
    (text-or-nil (lambda (buffer size length details)
                   (kabi-ll:consumer-member-id (core-handle core) buffer size length details)))))

(defun rebalance-protocol (consumer)
  "How the group changes assignments: :EAGER (all partitions are taken before new ones are given), :COOPERATIVE
(only those that move), or NIL before the consumer has joined."
  (check-argument consumer consumer "a consumer")
  (let* ((core (use consumer 'rebalance-protocol))
         (name (foreign-string (lambda (buffer size length details)
                                 (kabi-ll:consumer-rebalance-protocol (core-handle core) buffer size
                                                                      length details)))))
    (cond ((string= name "EAGER") :eager)
          ((string= name "COOPERATIVE") :cooperative))))

(defun group-metadata (consumer)
  "Octets that say which member of which group CONSUMER is, for SEND-OFFSETS-TO-TRANSACTION in this process or
another. They are out of date after the next change of the assignment. Signal a KAFKA-ERROR without the
property group.id."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'group-metadata)))
    (foreign-octets (lambda (buffer size length details)
                      (kabi-ll:consumer-group-metadata (core-handle core) buffer size length details)))))

(defun group-generation (consumer)
  "The group's generation as CONSUMER knows it, a number that grows each time the group decides anew who has which
partitions (with group.protocol=consumer the member's epoch), or NIL while it is no member. Signal a KAFKA-ERROR
without the property group.id."
  (check-argument consumer consumer "a consumer")
  (let ((core (use consumer 'group-generation)))
    (cffi:with-foreign-object (generation :int32)
      (call-checked (kabi-ll:consumer-group-generation (core-handle core) generation)
                    nil :operation 'group-generation)
      (let ((number (cffi:mem-ref generation :int32)))
        (unless (minusp number) number)))))
