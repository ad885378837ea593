;;;; Administration: what the embedded cluster answers, futures, bad input, JSON. The requests themselves are tested
;;;; on a real broker (real.lisp).

(in-package #:kafkabi/test)

(def-suite admin :in kafkabi)
(in-suite admin)

(test every-client-asks-for-metadata
  (let ((topic (fill-topic 1 :partitions 2)))
    (flet ((check (client)
             (let* ((answer (kabi:cluster-metadata client :topics (list topic) :timeout *long*))
                    (found (first (getf answer :topics))))
               (is (equal topic (getf found :topic)))
               (is (null (getf found :condition)))
               (is (equal '(0 1) (mapcar (lambda (partition) (getf partition :partition))
                                         (getf found :partitions))))
               (is (eql 1 (getf (first (getf found :partitions)) :leader)))
               (is (equal "127.0.0.1" (getf (first (getf answer :brokers)) :host)))
               (is (equal (getf answer :cluster) (kabi:cluster-id client)))
               (is (integerp (kabi:controller-id client)))
               (is (equal answer (kabi:value (kabi:cluster-metadata client :topics topic :async t)
                                             :timeout *long*))))))
      (kabi:with-admin (admin :conf (conf)) (check admin))
      (kabi:with-producer (producer :conf (conf)) (check producer))
      (kabi:with-consumer (consumer :conf (reader-conf)) (check consumer))
      (kabi:with-admin (admin :conf (conf) :drain :caller) (check admin)))))

(test metadata-tells-what-is-not-there
  (kabi:with-admin (admin :conf (conf))
    (let ((condition (getf (first (getf (kabi:cluster-metadata admin :topics '("not-there") :timeout *long*)
                                        :topics))
                           :condition)))
      (is (or (null condition) (typep condition 'kabi:kafka-error))))))

(test requests-by-name
  (kabi:with-admin (admin :conf (conf))
    (is (getf (kabi:admin-request admin :metadata :timeout *long*) :brokers))
    (is (getf (kabi:admin-request admin "metadata" :arguments "{\"topics\":null}" :timeout *long*) :brokers))
    (is (getf (kabi:admin-request admin :metadata :arguments '(:object :topics ("other")) :timeout *long*) :brokers))
    (is (eq :argument (kabi:error-name (condition-of (kabi:admin-request admin :metadata
                                                                         :arguments '(:object :topics #()))))))
    (is (eq :argument (kabi:error-name (condition-of (kabi:admin-request admin :nonsense)))))
    (is (eq :argument (kabi:error-name (condition-of (kabi:admin-request admin :metadata
                                                                         :arguments '(:object :topic 5))))))))

(test requests-that-time-out
  (kabi:with-admin (admin :conf (conf))
    (let ((condition (condition-of (kabi:describe-cluster admin :timeout 300))))
      (is (typep condition 'kabi:timeout-error))
      (is (eq 'kabi:describe-cluster (kabi:error-operation condition))))
    (let* ((future (kabi:describe-cluster admin :timeout 300 :async t))
           (next (kabi:then future (lambda (value condition) (declare (ignore value)) condition))))
      (is (typep (kabi:value next :timeout *long*) 'kabi:timeout-error)))))

(test a-close-gives-requests-up
  (let* ((admin (kabi:make-admin :conf (conf)))
         (future (kabi:describe-cluster admin :async t)))
    (ignore-errors (kabi:close admin :timeout 100))
    (is-true (kabi:wait future :timeout *long*))
    (is (typep (condition-of (kabi:value future)) 'kabi:closed-error)))
  (let* ((producer (kabi:make-producer :conf (conf)))
         (future (kabi:describe-cluster producer :async t)))
    (kabi:close producer)
    (is-true (kabi:wait future :timeout *long*))
    (is (typep (condition-of (kabi:value future)) 'kabi:closed-error))))

(test requests-refuse-bad-input
  (kabi:with-admin (admin :conf (conf))
    (macrolet ((refused (argument &body calls)
                 `(progn
                    ,@(loop for call in calls
                            collect `(let ((condition (condition-of ,call)))
                                       (is (and (typep condition 'kabi:argument-error)
                                                (eq ',argument (kabi:error-argument condition)))
                                           "~S gave ~S" ',call condition))))))
      (refused kabi:client (kabi:create-topics "admin" '()) (kabi:cluster-id nil))
      (refused kabi::topics
        (kabi:create-topics admin '((5)))
        (kabi:create-topics admin '(("a" :partition 3)))
        (kabi:create-topics admin '(("a" :partitions)))
        (kabi:create-topics admin '("a" . "b")))
      (refused kabi::partitions
        (kabi:create-topics admin '(("a" :partitions -1)))
        (kabi:create-topic admin "a" :partitions "3")
        (kabi:elect-leaders admin '(("a" . -1)))
        (kabi:delete-group-offsets admin "g" '(("a"))))
      (refused kabi::replication (kabi:create-topic admin "a" :replication 0))
      (refused kabi::placement
        (kabi:create-topic admin "a" :placement '((1) 2))
        (kabi:create-partitions admin "a" 3 :placement '(("1"))))
      (refused kabi::name (kabi:create-topic admin :a) (kabi:delete-topic admin 5)
        (kabi:describe-config admin :topic 5))
      (refused kabi::names (kabi:delete-topics admin '(:a)) (kabi:describe-topics admin 5))
      (refused kabi::total (kabi:create-partitions admin "a" 0))
      (refused type (kabi:describe-config admin :table "a"))
      (refused kabi::changes (kabi:alter-config admin :topic "a" '("x")) (kabi:alter-config admin :topic "a" 5))
      (refused kabi::offsets
        (kabi:delete-records admin '((("a" . 0) . -1)))
        (kabi:list-offsets admin '((("a" . 0) . :middle)))
        (kabi:alter-group-offsets admin "g" '((("a" . 0) . :end))))
      (refused kabi::election (kabi:elect-leaders admin t :election :wild))
      (refused kabi::states (kabi:list-groups admin :states '(:asleep)))
      (refused kabi::types (kabi:list-groups admin :types :other))
      (refused kabi::groups (kabi:describe-groups admin '(5)) (kabi:delete-groups admin '("g" . "h")))
      (refused kabi::group (kabi:group-info admin 5) (kabi:list-group-offsets admin :g))
      (refused kabi::acls
        (kabi:create-acls admin '((:resource-type :topic)))
        (kabi:create-acls admin '((:resource-type :any :resource "a" :pattern :literal :principal "User:a"
                                   :host "*" :operation :read :permission :allow))))
      (refused kabi::filters (kabi:delete-acls admin '((:operation :eat))))
      (refused kabi::filter (kabi:list-acls admin :permission :maybe) (kabi:list-acls admin :host 5))
      (refused kabi::upsertions
        (kabi:alter-scram-users admin :upsertions '((:user "u" :mechanism :plain :password "p")))
        (kabi:alter-scram-users admin :upsertions '((:user "u" :mechanism :scram-sha-256))))
      (refused kabi::deletions (kabi:alter-scram-users admin :deletions '((:user 5))))
      (refused kabi::users (kabi:describe-scram-users admin :users 5))
      (refused kabi::operation (kabi:admin-request admin 5))
      (refused kabi::arguments (kabi:admin-request admin :metadata :arguments '(1 2)))
      (refused kabi::timeout (kabi:list-groups admin :timeout -5)))))

(test documents-are-read
  (flet ((read-it (text) (kabi::read-json text)))
    (is (equal '(:in-sync (1 -2 nil t nil) :topics nil :name "x")
               (read-it "{\"in_sync\": [1,-2 , null,true,false], \"topics\":{}, \"name\":\"x\"}")))
    (is (equal (format nil "\"\\/~C~C~C~C" #\Newline #\Tab (code-char 233) (code-char #x1f600))
               (read-it "\"\\\"\\\\\\/\\n\\t\\u00e9\\ud83d\\ude00\"")))
    (is (= 1.5d0 (read-it "1.5")))
    (is (= 1200d0 (read-it "1.2e3")))
    (is (null (read-it "[]")))
    (dolist (text '("" "{" "[1" "\"a" "{\"a\" 1}" "[1,]" "tru" "1 2" "\"\\u12\""))
      (is (typep (condition-of (read-it text)) 'kabi:kafka-error) "~S was read" text))))

(defun names-of-schema ()
  "The names and fixed words of the documents that the library writes and reads."
  (let ((names '()))
    (labels ((note (name) (when (stringp name) (pushnew name names :test #'string=)))
             (table (value) (if (hash-table-p value) value (make-hash-table)))
             (walk (value)
               (cond ((hash-table-p value)
                      (maphash (lambda (name member) (declare (ignore member)) (note name))
                               (table (gethash "properties" value)))
                      (let ((words (gethash "enum" value)))
                        (when (listp words) (mapc #'note words)))
                      (note (gethash "const" value))
                      (maphash (lambda (name member) (declare (ignore name)) (walk member)) value))
                     ((listp value) (mapc #'walk value)))))
      (walk (yason:parse (asdf:system-relative-pathname "kafkabi" "../../api/admin.schema.json")))
      names)))

(test names-of-documents-become-keywords-without-interning
  (dolist (name (names-of-schema))
    (let ((keyword (substitute #\- #\_ (string-upcase name))))
      (is (string= keyword (kabi::json-keyword name)))
      (is (keywordp (kabi::json-keyword name)) "~A does not become a keyword" name)))
  (is (equal '("nobody_interns_this" 1) (kabi::read-json "{\"nobody_interns_this\": 1}")))
  (is (null (find-symbol "NOBODY-INTERNS-THIS" '#:keyword)))
  (dolist (property (getf (kabi::read-json (kabi:describe-properties)) :properties))
    (is (every #'keywordp (loop for (name) on property by #'cddr collect name)))))

(test documents-are-written
  (is (equal "{\"a_b\":[1,\"x\",true,false,null],\"C\":{},\"e\":\"some_word\"}"
             (kabi::write-json '(:object :a-b (1 "x" t :false :null) :left-out nil "C" (:object)
                                 :e :some-word))))
  (is (equal "[[],[]]" (kabi::write-json (list #() nil))))
  (is (equal "\"\\\"\\\\\\u000A\\u0001é\"" (kabi::write-json (format nil "\"\\~%~Cé" (code-char 1)))))
  (is (typep (condition-of (kabi::write-json 1.5)) 'kabi:argument-error)))
