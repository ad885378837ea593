;;;; What concerns a Lisp process as a whole, tried in processes of their own: exit, saved images, loading the
;;;; system once more.

(in-package #:kafkabi/test)

(def-suite processes :in kafkabi)
(in-suite processes)

(defun lisp-command (file &optional core)
  "The command that runs the program in FILE in a fresh Lisp like this one, or in the saved image CORE."
  (declare (ignorable core))
  (append '("timeout" "--kill-after=5" "120")
          #+sbcl (list* (namestring sb-ext:*runtime-pathname*) (when core (list "--core" (namestring core))))
          #+sbcl (list "--noinform" "--non-interactive" "--no-sysinit" "--no-userinit" "--load" (namestring file))
          #-sbcl (list "ecl" "--norc" "--load" (namestring file))))

(defparameter *prelude*
  `("(require :asdf)"
    #+ecl "(setf ext:*invoke-debugger-hook*
                 (lambda (condition hook) (declare (ignore hook)) (print condition) (ext:quit 3)))"
    ,(format nil "(asdf:load-asd ~S)" (namestring (asdf:system-source-file "kafkabi")))
    "(handler-bind ((warning #'muffle-warning))
       (let ((*standard-output* (make-broadcast-stream)))
         (asdf:load-system \"kafkabi\")))
     (defvar *cluster* (kabi:make-cluster))
     (kabi:create-topic *cluster* \"topic\")
     (defun make-producer ()
       (kabi:make-producer :conf (list :bootstrap-servers (kabi:bootstrap-servers *cluster*))))
     (defun send-one (producer)
       (kabi:report-offset (kabi:value (kabi:send producer \"topic\" \"value\") :timeout 60000)))
     (defvar *producer* (make-producer))"))

(defun run-lisp (lines &key core (prelude *prelude*))
  "Run the program LINES in a Lisp of its own, after PRELUDE unless it is an image with that. Return what it
printed, and its exit code."
  (uiop:with-temporary-file (:stream stream :pathname file :type "lisp")
    (format stream "~{~A~%~}" (if core lines (append prelude lines)))
    (finish-output stream)
    (multiple-value-bind (output error-output code)
        (uiop:run-program (lisp-command file core) :output :string :error-output :output :ignore-error-status t)
      (declare (ignore error-output))
      (values output code))))

(defmacro is-printed (text output)
  `(let ((output ,output))
     (is (search ,text output) "~A was not printed, but: ~A" ,text output)))

(test an-exit-waits-for-no-thread
  (multiple-value-bind (output code)
      (run-lisp '("(print (send-one *producer*))"
                  "(defvar *consumer*
                     (kabi:make-consumer :conf (list :bootstrap-servers (kabi:bootstrap-servers *cluster*)
                                                     :group-id \"group\")
                                         :on-error #'print))"
                  "(format t \"~&about to leave~%\")"
                  "(uiop:quit 7)"))
    (is-printed "about to leave" output)
    (is (eql 7 code))))

;; ECL's exit waits for every thread.
#+sbcl
(test an-exit-does-not-wait-for-a-close-in-the-background
  (multiple-value-bind (output code)
      (run-lisp '("(kabi:broker-down *cluster*)"
                  "(kabi:send *producer* \"topic\" \"value\")"
                  "(let ((thread (bordeaux-threads:make-thread
                                  (lambda () (catch 'out (kabi:close *producer* :timeout -1))))))
                     (loop while (kabi:open-p *producer*) do (sleep 0.01))
                     (sleep 0.1)
                     (bordeaux-threads:interrupt-thread thread (lambda () (throw 'out nil)))
                     (bordeaux-threads:join-thread thread))"
                  "(format t \"~&about to leave~%\")"
                  "(uiop:quit 7)"))
    (is-printed "about to leave" output)
    (is (eql 7 code))))

(test a-shutdown-ends-all-and-lets-begin-anew
  (multiple-value-bind (output code)
      (run-lisp '("(defvar *future* (kabi:send *producer* \"topic\" \"value\"))"
                  "(defvar *admin* (kabi:make-admin :conf (list :bootstrap-servers
                                                               (kabi:bootstrap-servers *cluster*))))"
                  "(assert (typep *admin* 'kabi:admin))"
                  "(kabi:shutdown :timeout 60000)"
                  "(format t \"~&done: ~A, open: ~A ~A~%\" (kabi:donep *future*) (kabi:open-p *producer*)
                           (kabi:open-p *admin*))"
                  "(setf *cluster* (kabi:make-cluster))"
                  "(kabi:create-topic *cluster* \"topic\")"
                  "(format t \"~&a new one: ~A~%\" (send-one (make-producer)))"
                  "(uiop:quit 0)"))
    (is-printed "done: T, open: NIL NIL" output)
    (is-printed "a new one: 0" output)
    (is (eql 0 code))))

;; On ECL the Lisp that this starts ended early now and then, for a reason not found; there it is not tested.
#+sbcl
(test a-shutdown-can-be-cut-short
  (multiple-value-bind (output code)
      (run-lisp '("(send-one *producer*)"
                  "(kabi:broker-down *cluster*)"
                  "(dotimes (number 10) (kabi:send *producer* \"topic\" \"value\"))"
                  "(format t \"~&it was ~A~%\"
                           (handler-case (bordeaux-threads:with-timeout (0.3) (kabi:shutdown :timeout -1))
                             (bordeaux-threads:timeout () :cut)))"
                  ;; It goes on, and ends once the records are delivered.
                  "(kabi:broker-up *cluster*)"
                  "(kabi:shutdown :timeout 60000)"
                  "(setf *cluster* (kabi:make-cluster))"
                  "(kabi:create-topic *cluster* \"topic\")"
                  "(format t \"~&a new one: ~A~%\" (send-one (make-producer)))"
                  "(uiop:quit 0)"))
    (is-printed "it was CUT" output)
    (is-printed "a new one: 0" output)
    (is (eql 0 code))))

(test the-system-can-be-loaded-once-more
  (multiple-value-bind (output code)
      (run-lisp '("(print (send-one *producer*))"
                  ;; As they were compiled: compiling again takes a minute on some.
                  "(handler-bind ((warning #'muffle-warning))
                     (dolist (system '(\"kafkabi/low-level\" \"kafkabi\"))
                       (dolist (file (asdf:component-children (asdf:find-system system)))
                         (asdf:perform (asdf:make-operation 'asdf:load-op) file))))"
                  "(format t \"~&the old one: ~A~%\" (send-one *producer*))"
                  "(format t \"~&a new one: ~A~%\" (send-one (make-producer)))"
                  "(uiop:quit 0)"))
    (is-printed "the old one: 1" output)
    (is-printed "a new one: 2" output)
    (is (eql 0 code))))

#+sbcl
(test a-saved-image-does-not-free-what-is-not-its-own
  (uiop:with-temporary-file (:pathname core :type "core")
    (multiple-value-bind (output code)
        (run-lisp (list "(defvar *staging* (kabi::make-staging 1000000))"
                        "(defvar *lost* (list (kabi::make-staging 1000000)))"
                        (format nil "(sb-ext:save-lisp-and-die ~S)" (namestring core))))
      (is (eql 0 code) "~A" output))
    (multiple-value-bind (output code)
        (run-lisp '("(setf *lost* nil)"
                    "(sb-ext:gc :full t)"
                    "(kabi::free-staging *staging*)"
                    "(kabi::free-staging (kabi::make-staging 1000000))"
                    "(format t \"~&nothing was freed~%\")"
                    "(uiop:quit 0)")
                  :core core)
      (is-printed "nothing was freed" output)
      (is (eql 0 code)))))

#+sbcl
(test a-saved-image-starts-anew
  (uiop:with-temporary-file (:pathname core :type "core")
    (multiple-value-bind (output code)
        (run-lisp (list "(send-one *producer*)"
                        "(defvar *future* (kabi:send *producer* \"topic\" \"value\"))"
                        (format nil "(sb-ext:save-lisp-and-die ~S)" (namestring core))))
      (is (eql 0 code) "~A" output))
    (multiple-value-bind (output code)
        (run-lisp '("(handler-case (send-one *producer*)
                       (kabi:closed-error () (format t \"~&the old one is refused~%\")))"
                    "(format t \"~&its future is ~:[open~;done~]~%\" (kabi:donep *future*))"
                    "(format t \"~&its close gives ~A~%\" (kabi:close *producer*))"
                    "(kabi:with-cluster (*cluster*)
                       (kabi:create-topic *cluster* \"topic\")
                       (kabi:with-producer (producer :conf (list :bootstrap-servers
                                                                 (kabi:bootstrap-servers *cluster*)))
                         (format t \"~&a new one: ~A~%\" (send-one producer))))"
                    "(uiop:quit 0)")
                  :core core)
      (is-printed "the old one is refused" output)
      (is-printed "its future is done" output)
      (is-printed "its close gives 0" output)
      (is-printed "a new one: 0" output)
      (is (eql 0 code)))))

#+sbcl
(test a-saved-image-refuses-what-was-open-of-each-kind
  (uiop:with-temporary-file (:pathname core :type "core")
    (multiple-value-bind (output code)
        (run-lisp (list "(send-one *producer*)"
                        "(let ((*standard-output* (make-broadcast-stream)))
                           (handler-bind ((warning #'muffle-warning))
                             (asdf:load-system \"kafkabi/cl-rdkafka\")))"
                        "(defvar *conf* (list \"bootstrap.servers\" (kabi:bootstrap-servers *cluster*)
                                              \"group.id\" \"group\" \"auto.offset.reset\" \"earliest\"))"
                        "(defvar *consumer* (kabi:make-consumer :conf *conf*))"
                        "(kabi:assign *consumer* '((\"topic\" . 0)))"
                        ;; Records are in hand, and one is kept.
                        "(defvar *record* (kabi:poll *consumer* :timeout 60000))"
                        "(defvar *admin* (kabi:make-admin :conf (subseq *conf* 0 2)))"
                        "(assert (kabi:cluster-metadata *admin*))"
                        "(defvar *kf-producer* (make-instance 'kf:producer :conf (subseq *conf* 0 2)))"
                        "(defvar *kf-future* (kf:send *kf-producer* \"topic\" #(1 2)))"
                        "(defvar *kf-consumer* (make-instance 'kf:consumer :conf *conf*))"
                        "(kf:assign *kf-consumer* '((\"topic\" . 0)))"
                        (format nil "(sb-ext:save-lisp-and-die ~S)" (namestring core))))
      (is (eql 0 code) "~A" output))
    (multiple-value-bind (output code)
        (run-lisp '("(defmacro told (name form)
                       `(format t \"~&~A: ~A~%\" ,name
                                (handler-case (progn ,form :accepted) (error (condition) (type-of condition)))))"
                    "(told \"poll\" (kabi:poll *consumer* :timeout 0))"
                    "(told \"loop\" (kabi:do-records (record *consumer* :timeout 0) record))"
                    "(told \"handled\" (kabi:handled *consumer* *record*))"
                    "(told \"admin\" (kabi:cluster-metadata *admin*))"
                    "(told \"cluster\" (kabi:create-topic *cluster* \"other\"))"
                    "(told \"kf send\" (kf:send *kf-producer* \"topic\" #(1)))"
                    "(told \"kf flush\" (kf:flush *kf-producer*))"
                    "(told \"kf poll\" (kf:poll *kf-consumer* 10))"
                    "(format t \"~&its record: ~A~%\" (kabi:octets-to-string (kabi:record-value *record*)))"
                    "(format t \"~&kf future done: ~A~%\" (and (kf:donep *kf-future*) t))"
                    "(mapc #'kabi:close (list *consumer* *admin* *producer* *cluster*))"
                    "(kf:close *kf-consumer*)"
                    "(kabi:with-cluster (cluster)
                       (kabi:create-topic cluster \"topic\")
                       (setf (second *conf*) (kabi:bootstrap-servers cluster))
                       (kabi:with-admin (admin :conf (subseq *conf* 0 2))
                         (told \"a new admin\" (kabi:cluster-metadata admin)))
                       (let ((producer (make-instance 'kf:producer :conf (subseq *conf* 0 2)))
                             (consumer (make-instance 'kf:consumer :conf *conf*)))
                         (kf:value (kf:send producer \"topic\" #(7 8)))
                         (kf:assign consumer '((\"topic\" . 0)))
                         (format t \"~&new ones: ~A~%\" (loop for message = (kf:poll consumer 1000)
                                                               when message return (coerce (kf:value message) 'list)))
                         (kf:close consumer)
                         (kf:close producer)))"
                    "(uiop:quit 0)")
                  :core core)
      (dolist (what '("poll" "loop" "handled" "admin" "cluster"))
        (is-printed (format nil "~A: CLOSED-ERROR" what) output))
      (dolist (what '("kf send" "kf flush" "kf poll"))
        (is (not (search (format nil "~A: ACCEPTED" what) output)) "~A" output))
      (is-printed "its record: value" output)
      (is-printed "kf future done: T" output)
      (is-printed "a new admin: ACCEPTED" output)
      (is-printed "new ones: (7 8)" output)
      (is (eql 0 code)))))

;; Version 2 of bordeaux-threads has a package of its own. Here nothing in it works, and all that locks, waits and starts
;; threads does: it is SBCL's own. Where the real one is loaded (its package is there), all tests run with it.
#+sbcl
(test no-version-of-bordeaux-threads-matters-on-sbcl
  (let ((folder (namestring (uiop:ensure-directory-pathname
                             (uiop:subpathname (uiop:temporary-directory) (fresh (format nil "kafkabi-~D" (cffi:foreign-funcall "getpid" :int))))))))
    (unwind-protect
         (multiple-value-bind (output code)
             (run-lisp
              (list "(unless (find-package '#:bordeaux-threads-2) (make-package '#:bordeaux-threads-2 :use '()))"
                    "(dolist (name '(\"MAKE-LOCK\" \"WITH-LOCK-HELD\" \"MAKE-CONDITION-VARIABLE\" \"CONDITION-WAIT\"
                                     \"CONDITION-NOTIFY\" \"CONDITION-BROADCAST\" \"MAKE-THREAD\" \"JOIN-THREAD\"
                                     \"CURRENT-THREAD\"))
                       (setf (fdefinition (intern name '#:bordeaux-threads-2))
                             (lambda (&rest arguments) (error \"~A ~S\" name arguments))))"
                    (format nil "(dolist (system '(\"kafkabi/low-level\" \"kafkabi\"))
                       (dolist (file (asdf:component-children (asdf:find-system system)))
                         (let ((*standard-output* (make-broadcast-stream)) (*error-output* (make-broadcast-stream))
                               (output (ensure-directories-exist
                                        (format nil \"~~A~~A-~~A.fasl\" ~S (length system)
                                                (asdf:component-name file)))))
                           (load (compile-file (asdf:component-pathname file) :output-file output)))))"
                            folder)
                    "(defvar *cluster* (funcall 'kabi::make-cluster))"
                    "(kabi:create-topic *cluster* \"topic\")"
                    "(kabi:with-producer (producer :conf (list :bootstrap-servers (kabi:bootstrap-servers *cluster*)))
                       (format t \"~&it went to ~A~%\"
                               (kabi:report-offset (kabi:value (kabi:send producer \"topic\" \"value\") :timeout 60000))))"
                    "(uiop:quit 0)")
              :prelude (list "(require :asdf)"
                             (format nil "(asdf:load-asd ~S)" (namestring (asdf:system-source-file "kafkabi")))
                             "(handler-bind ((warning #'muffle-warning))
                                (let ((*standard-output* (make-broadcast-stream)))
                                  (mapc #'asdf:load-system '(\"cffi\" \"bordeaux-threads\" \"trivial-garbage\" \"babel\"))))"))
           (is-printed "it went to 0" output)
           (is (eql 0 code)))
      (uiop:delete-directory-tree (uiop:ensure-directory-pathname folder) :validate t :if-does-not-exist :ignore))))
