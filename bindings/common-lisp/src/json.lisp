;;;; JSON documents of the interface, read and written. Objects are plists of keywords with hyphens for the
;;;; underscores; arrays are lists; null and false are NIL. A name that is not of the schema stays a string: what
;;;; brokers say interns no symbols.

(in-package #:kafkabi)

;;; ---- names ----

(defparameter *json-keywords*
  '(:acls :alias-of :all :allow :alter :alter-configs :any :append :assignment :assignor :at :authorized-operations
    :before :broker :broker-logger :brokers :changes :classic :client :client-metrics :cluster :cluster-action
    :code :completing-rebalance :configs :consumer :controller :coordinator :create :credentials :dead :default
    :delete :deletions :deny :deprecated :describe :describe-configs :description :earliest :election :empty :error
    :errors :experimental :failed :file :filter :filters :first-offset :for :group :groups :host :id
    :idempotent-write :importance :in-sync :instance :internal :isolation :items :iterations :kafkabi :kind :latest
    :leader :leader-epoch :level :librdkafka-default :literal :managed :match :max :max-timestamp :mechanism
    :member :members :metadata :metadata-hex :min :name :offset :offsets :operation :partition :partitions
    :password :pattern :permission :placement :port :preferred :prefixed :preparing-rebalance :principal
    :properties :rack :range :read :read-committed :read-only :read-uncommitted :replicas :replication
    :require-stable :resource :resource-type :resources :salt-hex :scram-sha-256 :scram-sha-512 :secret :sensitive
    :set :simple :source :stable :state :states :status :subtract :synonyms :target-assignment :text :timestamp
    :topic :topics :total :transactional-id :type :types :unclean :unknown :unsupported :upsertions :user :users
    :validate-only :value :values :why :write)
  "The names of the documents (api/admin.schema.json, DESCRIBE-PROPERTIES), and their fixed words.")

(defparameter *json-names*
  (let ((table (make-hash-table :test #'equal)))
    (dolist (keyword *json-keywords* table)
      (setf (gethash (symbol-name keyword) table) keyword)))
  "The keywords of *JSON-KEYWORDS* by their names.")

(defun json-keyword (name)
  "The keyword for NAME, or NAME itself if there is none."
  (values (gethash (substitute #\- #\_ (string-upcase name)) *json-names* name)))

;;; ---- reading ----

(defstruct (json-input (:constructor make-json-input (text)) (:conc-name input-))
  (text "" :type string)
  (place 0 :type fixnum))

(defun input-peek (input)
  "The next character that is not white, or NIL at the end."
  (let ((text (input-text input)))
    (loop while (and (< (input-place input) (length text))
                     (member (char text (input-place input)) '(#\Space #\Tab #\Newline #\Return)))
          do (incf (input-place input)))
    (when (< (input-place input) (length text))
      (char text (input-place input)))))

(defun input-take (input character)
  "Pass CHARACTER, if it comes next."
  (when (eql (input-peek input) character)
    (incf (input-place input))
    t))

(defun not-json (input)
  (error 'kafka-error :code kabi-ll:+status-bad-msg+ :operation 'read-json
                      :description (format nil "the document is not JSON at character ~D"
                                           (input-place input))))

(defun input-need (input character)
  (unless (input-take input character) (not-json input)))

(defun read-json (text)
  "What the JSON document TEXT says."
  (let* ((input (make-json-input text)) (value (read-json-value input)))
    (when (input-peek input) (not-json input))
    value))

(defun read-json-value (input)
  (case (input-peek input)
    (#\{ (read-json-object input))
    (#\[ (read-json-array input))
    (#\" (read-json-string input))
    (#\t (read-json-word input "true" t))
    (#\f (read-json-word input "false" nil))
    (#\n (read-json-word input "null" nil))
    (t (read-json-number input))))

(defun read-json-word (input word value)
  (let* ((begin (input-place input)) (end (+ begin (length word))))
    (unless (and (<= end (length (input-text input)))
                 (string= word (input-text input) :start2 begin :end2 end))
      (not-json input))
    (setf (input-place input) end)
    value))

(defun read-json-object (input)
  (input-need input #\{)
  (unless (input-take input #\})
    (loop collect (json-keyword (progn (input-peek input) (read-json-string input)))
          do (input-need input #\:)
          collect (read-json-value input)
          while (input-take input #\,)
          finally (input-need input #\}))))

(defun read-json-array (input)
  (input-need input #\[)
  (unless (input-take input #\])
    (loop collect (read-json-value input)
          while (input-take input #\,)
          finally (input-need input #\]))))

(defun read-json-string (input)
  (input-need input #\")
  (with-output-to-string (out)
    (loop
      (let ((character (next-character input)))
        (case character
          (#\" (return))
          (#\\ (write-char (read-json-escape input) out))
          (t (write-char character out)))))))

(defun next-character (input)
  (let ((place (input-place input)))
    (unless (< place (length (input-text input))) (not-json input))
    (incf (input-place input))
    (char (input-text input) place)))

(defun read-json-escape (input)
  (let ((character (next-character input)))
    (case character
      (#\n #\Newline) (#\t #\Tab) (#\r #\Return) (#\b #\Backspace) (#\f #\Page)
      (#\u (let ((high (read-json-hex input)))
             (code-char
              (if (<= #xd800 high #xdbff)
                  (progn (next-character input) (next-character input) ; \u
                         (+ #x10000 (ash (- high #xd800) 10) (- (read-json-hex input) #xdc00)))
                  high))))
      (t character))))

(defun read-json-hex (input)
  (let* ((begin (input-place input)) (end (+ begin 4)))
    (unless (<= end (length (input-text input))) (not-json input))
    (setf (input-place input) end)
    (or (ignore-errors (parse-integer (input-text input) :start begin :end end :radix 16))
        (not-json input))))

(defun read-json-number (input)
  (input-peek input)
  (let* ((text (input-text input)) (begin (input-place input))
         (end (or (position-if-not (lambda (character) (find character "+-.eE0123456789")) text
                                   :start begin)
                  (length text))))
    (setf (input-place input) end)
    (or (ignore-errors (parse-integer text :start begin :end end))
        (json-float (subseq text begin end))
        (not-json input))))

(defun json-float (text)
  "The documents of the interface have whole numbers, but for a rare ratio in statistics."
  (let* ((e (position-if (lambda (character) (find character "eE")) text))
         (point (position #\. text))
         (end (or e (length text))))
    (ignore-errors
     (let* ((digits (remove #\. (subseq text 0 end)))
            (scale (if point (- end point 1) 0))
            (exponent (if e (parse-integer text :start (1+ e)) 0)))
       (coerce (* (parse-integer digits) (expt 10 (- exponent scale))) 'double-float)))))

;;; ---- writing ----

(defun write-json (value)
  "VALUE as a JSON document: a list that begins with :OBJECT is an object of the names and values that follow
(names are keywords or strings; one whose value is NIL is left out); other lists and vectors are arrays;
strings, integers, T, :FALSE and :NULL; other keywords are texts in lower case."
  (with-output-to-string (out)
    (write-json-value value out)))

(defun write-json-value (value out)
  (typecase value
    (string (write-json-string value out))
    (integer (format out "~D" value))
    ((eql t) (write-string "true" out))
    ((eql :false) (write-string "false" out))
    ((eql :null) (write-string "null" out))
    (null (write-string "[]" out))
    (keyword (write-json-string (json-name value) out))
    ((cons (eql :object)) (write-json-object (rest value) out))
    (sequence
     (let ((separator "["))
       (map nil (lambda (element)
                  (write-string separator out)
                  (setf separator ",")
                  (write-json-value element out))
            value)
       (write-string (if (string= separator "[") "[]" "]") out)))
    (t (argument-error 'arguments value "what JSON has: texts, whole numbers, T, lists and objects"))))

(defun json-name (keyword)
  (substitute #\_ #\- (string-downcase keyword)))

(defun write-json-object (members out)
  (let ((separator "{"))
    (loop for (name value) on members by #'cddr
          when value
            do (write-string separator out)
               (setf separator ",")
               (write-json-string (if (stringp name) name (json-name name)) out)
               (write-char #\: out)
               (write-json-value value out))
    (write-string (if (string= separator "{") "{}" "}") out)))

(defun write-json-string (string out)
  (write-char #\" out)
  (loop for character across string
        do (case character
             (#\" (write-string "\\\"" out))
             (#\\ (write-string "\\\\" out))
             (t (if (< (char-code character) 32)
                    (format out "\\u~4,'0X" (char-code character))
                    (write-char character out)))))
  (write-char #\" out))
