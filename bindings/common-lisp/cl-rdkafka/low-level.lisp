;;;; The symbols of cl-rdkafka/low-level, from the same table of status codes as kafkabi's own.

(in-package #:cl-rdkafka)

(defconstant cl-rdkafka/ll:rd-kafka-offset-beginning -2
  "The offset that stands for the first message of a partition.")
(defconstant cl-rdkafka/ll:rd-kafka-offset-end -1
  "The offset that stands for the end of a partition.")
(defconstant cl-rdkafka/ll:rd-kafka-offset-stored -1000
  "The offset that stands for what the group has committed.")
(defconstant cl-rdkafka/ll:rd-kafka-offset-invalid -1001
  "The offset that is none: nothing is committed, or none was given.")
(defconstant cl-rdkafka/ll:rd-kafka-offset-tail -2000
  "This less N stands for the offset N messages before a partition's end.")

(eval-when (:compile-toplevel :load-toplevel :execute)
  (defun enum-symbol (keyword localp)
    "The symbol of a status of librdkafka's."
    (if (eq keyword :ok)
        'cl-rdkafka/ll:rd-kafka-resp-err-no-error
        (or (find-symbol (format nil "RD-KAFKA-RESP-ERR-~:[~;-~]~A" localp keyword) '#:cl-rdkafka/ll)
            (error "~A has no symbol in cl-rdkafka/low-level" keyword)))))

(defvar *enums* (make-hash-table) "The symbols of status codes.")

(macrolet
    ((define-enums ()
       `(progn
          ,@(loop for (code keyword localp text) in kabi-ll:*statuses*
                  unless (<= code -1000)
                    append (let ((symbol (enum-symbol keyword localp)))
                             `((defconstant ,symbol ',symbol ,text)
                               (setf (gethash ,code *enums*) ',symbol)))))))
  (define-enums))

(defconstant cl-rdkafka/ll:rd-kafka-resp-err--begin 'cl-rdkafka/ll:rd-kafka-resp-err--begin
  "Below all codes that librdkafka raises inside the process. No error has it.")
(defconstant cl-rdkafka/ll:rd-kafka-resp-err--end 'cl-rdkafka/ll:rd-kafka-resp-err--end
  "Above all codes that librdkafka raises inside the process. No error has it.")

(defun code-enum (code)
  "The symbol of a status code. Those of kafkabi's own, which librdkafka does not know, have the symbol of
what comes nearest."
  (cond ((gethash code *enums*))
        ((eql code kabi-ll:+status-argument+) 'cl-rdkafka/ll:rd-kafka-resp-err--invalid-arg)
        ((eql code kabi-ll:+status-busy+) 'cl-rdkafka/ll:rd-kafka-resp-err--conflict)
        ((eql code kabi-ll:+status-interrupted+) 'cl-rdkafka/ll:rd-kafka-resp-err--intr)
        ((eql code kabi-ll:+status-system+) 'cl-rdkafka/ll:rd-kafka-resp-err--crit-sys-resource)
        ((member code '(#.kabi-ll:+status-closed+ #.kabi-ll:+status-handle+ #.kabi-ll:+status-forked+
                        #.kabi-ll:+status-wrong-type+ #.kabi-ll:+status-reentered+))
         'cl-rdkafka/ll:rd-kafka-resp-err--state)
        ((<= code -1000) 'cl-rdkafka/ll:rd-kafka-resp-err--fail)
        (t 'cl-rdkafka/ll:rd-kafka-resp-err-unknown)))
