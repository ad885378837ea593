;;;; Administration of groups, access rules and users.

(in-package #:kafkabi)

;;; ---- groups ----

(defun keyword-list (keywords argument allowed)
  "KEYWORDS, one or a sequence of those ALLOWED, as a list."
  (let ((list (if (keywordp keywords) (list keywords) (coerce-to-list keywords argument))))
    (dolist (keyword list list)
      (unless (member keyword allowed)
        (argument-error argument keyword (format nil "one of ~{~S~^, ~}" allowed))))))

(define-request list-groups (client &key states types)
    ("groups_list"
     :states (keyword-list states 'states
                           '(:preparing-rebalance :completing-rebalance :stable :dead :empty))
     :types (keyword-list types 'types '(:consumer :classic)))
  #'listed-groups
  "The groups of the cluster: a list of plists of :GROUP (its name), :STATE (:PREPARING-REBALANCE,
:COMPLETING-REBALANCE, :STABLE, :DEAD or :EMPTY), :TYPE (:CONSUMER or :CLASSIC) and :SIMPLE (true if it never had
members). STATES and TYPES, lists of these, ask for such groups only. Signal a PARTIAL-ERROR if some brokers did not
answer, whose GOODIES are the groups of the others. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

(defun listed-groups (answer)
  (let ((groups (enriched (getf answer :groups))) (errors (getf answer :errors)))
    (when errors
      (error 'partial-error :operation 'list-groups :code (getf (first errors) :code) :goodies groups
                            :baddies (loop for status in errors
                                           collect (cons nil (item-condition (list :status status)
                                                                             'list-groups)))
                            :description (getf (first errors) :text)))
    groups))

(define-request describe-groups (client groups &key authorized-operations)
    ("groups_describe" :groups (name-list groups 'groups)
                       :authorized-operations (and authorized-operations t))
  (lambda (answer) (outcomes (getf answer :groups) (field :group) 'describe-groups #'described-group))
  "Describe GROUPS, a sequence of names. Return a plist for each: :GROUP, :STATE, :TYPE and :SIMPLE as from
LIST-GROUPS, :ASSIGNOR (a string), :COORDINATOR (a node, see DESCRIBE-TOPICS, or NIL), :AUTHORIZED-OPERATIONS
(keywords; NIL unless asked for) and :MEMBERS, plists of :MEMBER (what the group calls it), :CLIENT (its client.id),
:HOST, :INSTANCE (strings, or NIL), :ASSIGNMENT and :TARGET-ASSIGNMENT (lists of (topic . partition)). Signal a
PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

(defun described-group (item)
  (let ((group (enriched item)))
    (setf (getf group :members)
          (loop for member in (getf group :members)
                do (dolist (name '(:assignment :target-assignment))
                     (setf (getf member name) (mapcar #'item-key (getf member name))))
                collect member))
    group))

(defun group-info (client group &key (timeout +request-timeout+) async)
  "The plist of DESCRIBE-GROUPS for one group. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (check-argument group string "the name of a group, a string")
  (request client 'group-info "groups_describe" (list :object :groups (list group)) timeout async
           (lambda (answer) (the-outcome (getf answer :groups) 'group-info #'described-group))))

(define-request delete-groups (client groups)
    ("groups_delete" :groups (name-list groups 'groups))
  (lambda (answer) (outcomes (getf answer :groups) (field :group) 'delete-groups (field :group)))
  "Delete GROUPS, a sequence of names, which must be empty, and their offsets; return the names. Signal a PARTIAL-ERROR
if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST.")

;;; ---- offsets of groups ----

(defun group-offsets (answer operation goody)
  "What GOODY makes of each partition of an answer about a group's offsets, or signal what failed."
  (let ((code (item-code answer)))
    (when (and (/= 0 code) (null (getf answer :partitions)))
      (error (item-condition answer operation)))
    (outcomes (getf answer :partitions) #'item-key operation goody)))

(defun hex-octets (text)
  (let ((octets (make-octets (floor (length text) 2))))
    (dotimes (index (length octets) octets)
      (setf (aref octets index) (parse-integer text :start (* 2 index) :end (* 2 (1+ index)) :radix 16)))))

(defun offset-and-metadata (item)
  (cons (item-key item)
        (and (getf item :offset)
             (cons (getf item :offset)
                   (if (getf item :metadata-hex)
                       (hex-octets (getf item :metadata-hex))
                       (string-to-octets (getf item :metadata)))))))

(defun list-group-offsets (client group &key (partitions nil partitionsp) require-stable
                                          (timeout +request-timeout+) async)
  "What GROUP has committed: an alist of (topic . partition) and (offset . metadata), or NIL where nothing is; METADATA is
octets or NIL. PARTITIONS, a sequence of (topic . partition), asks for these only. With REQUIRE-STABLE true fail rather
than tell an offset that an open transaction is about to change. Signal a PARTIAL-ERROR if some failed. TIMEOUT and
ASYNC are as for ADMIN-REQUEST."
  (check-argument group string "the name of a group, a string")
  (request client 'list-group-offsets "group_offsets_list"
           (list* :object :group group :require-stable (and require-stable t)
                  (when partitionsp
                    (list :partitions (coerce (key-objects partitions 'partitions) 'vector))))
           timeout async
           (lambda (answer) (group-offsets answer 'list-group-offsets #'offset-and-metadata))))

(defun new-offset-object (place)
  (list :object :topic (place-topic place) :partition (place-partition place) :offset (place-offset place)
                :metadata (octets-to-string (place-metadata place))
                :leader-epoch (unless (minusp (place-epoch place)) (place-epoch place))))

(defun alter-group-offsets (client group offsets &key (timeout +request-timeout+) async)
  "Set what GROUP, which has no members now, has committed: OFFSETS as COMMIT takes them, each partition only once, with
metadata in UTF-8. Return an alist of (topic . partition) and offsets. Signal a PARTIAL-ERROR if some failed. TIMEOUT
and ASYNC are as for ADMIN-REQUEST."
  (check-argument group string "the name of a group, a string")
  (request client 'alter-group-offsets "group_offsets_alter"
           (list :object :group group
                         :offsets (mapcar #'new-offset-object (commit-places offsets 'offsets)))
           timeout async
           (lambda (answer)
             (group-offsets answer 'alter-group-offsets
                            (lambda (item) (cons (item-key item) (getf item :offset)))))))

(defun delete-group-offsets (client group partitions &key (timeout +request-timeout+) async)
  "Delete what GROUP has committed for PARTITIONS, a sequence of (topic . partition) of topics that no member subscribes
to. Return the partitions. Signal a PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (check-argument group string "the name of a group, a string")
  (request client 'delete-group-offsets "group_offsets_delete"
           (list :object :group group :partitions (key-objects partitions 'partitions))
           timeout async
           (lambda (answer) (group-offsets answer 'delete-group-offsets #'item-key))))

;;; ---- access rules ----

(defparameter *acl-words*
  '(:resource-type (:topic :group :cluster :transactional-id)
    :pattern (:literal :prefixed)
    :operation (:all :read :write :create :delete :alter :describe :cluster-action :describe-configs
                :alter-configs :idempotent-write)
    :permission (:allow :deny)))

(defun acl-object (acl argument filterp)
  "An object for a rule, or for a filter, in which everything may be left out."
  (check-options acl argument '(:resource-type :resource :pattern :principal :host :operation :permission))
  (loop for (name words) on *acl-words* by #'cddr
        do (let ((word (getf acl name))
                 (allowed (if filterp (list* nil :any (if (eq name :pattern) (cons :match words) words)) words)))
             (unless (member word allowed)
               (argument-error argument word (format nil "a rule whose ~S is one of ~{~S~^, ~}" name allowed)))))
  (dolist (name '(:resource :principal :host))
    (unless (or (stringp (getf acl name)) (and filterp (null (getf acl name))))
      (argument-error argument (getf acl name) (format nil "a rule whose ~S is a string" name))))
  (list* :object acl))

(defun list-acls (client &rest filter &key resource-type resource pattern principal host operation permission
                                        (timeout +request-timeout+) async)
  "The access rules that fit in all that is given, and all rules without any: a list of plists of :RESOURCE-TYPE (:TOPIC,
:GROUP, :CLUSTER or :TRANSACTIONAL-ID), :RESOURCE (a string), :PATTERN (:LITERAL or :PREFIXED; to ask, also :MATCH, rules
that apply to a resource of that name), :PRINCIPAL (a string, as \"User:alice\"), :HOST (an address, or \"*\"),
:OPERATION (:ALL, :READ, :WRITE, :CREATE, :DELETE, :ALTER, :DESCRIBE, :CLUSTER-ACTION, :DESCRIBE-CONFIGS,
:ALTER-CONFIGS or :IDEMPOTENT-WRITE) and :PERMISSION (:ALLOW or :DENY). TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (declare (ignore resource-type resource pattern principal host operation permission))
  (request client 'list-acls "acls_describe"
           (list :object :filter (acl-object (without filter :timeout :async) 'filter t))
           timeout async
           (lambda (answer) (enriched (getf answer :acls)))))

(defun create-acls (client acls &key (timeout +request-timeout+) async)
  "Create access rules: ACLS is a sequence of plists as LIST-ACLS gives them. Return them. Signal a PARTIAL-ERROR if some
failed, whose BADDIES have the plists. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (let* ((acls (coerce-to-list acls 'acls))
         (objects (mapcar (lambda (acl) (acl-object acl 'acls nil)) acls)))
    (request client 'create-acls "acls_create" (list :object :acls objects) timeout async
             (lambda (answer)
               (outcomes (loop for item in (getf answer :acls)
                               for acl in acls
                               collect (list* :acl acl item))
                         (field :acl) 'create-acls (field :acl))))))

(defun delete-acls (client filters &key (timeout +request-timeout+) async)
  "Delete the access rules that fit in FILTERS, a sequence of plists as LIST-ACLS takes keywords; one without anything in
it is refused, (:RESOURCE-TYPE :ANY) fits all. Return for each filter a list of the rules that are deleted, plists. Signal
a PARTIAL-ERROR if some failed, whose BADDIES have the filters. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (let* ((filters (coerce-to-list filters 'filters))
         (objects (mapcar (lambda (filter) (acl-object filter 'filters t)) filters)))
    (request client 'delete-acls "acls_delete" (list :object :filters objects) timeout async
             (lambda (answer)
               (outcomes (loop for item in (getf answer :filters)
                               for filter in filters
                               collect (deleted-acls filter item))
                         (field :filter) 'delete-acls
                         (lambda (item) (enriched (getf item :acls))))))))

(defun deleted-acls (filter item)
  "ITEM with its filter, and with the status of the first of its rules that was not deleted."
  (let ((bad (find-if-not #'zerop (getf item :acls) :key #'item-code)))
    (list* :filter filter
           (if (and bad (zerop (item-code item)))
               (list* :status (getf bad :status) item)
               item))))

;;; ---- users ----

(define-request describe-scram-users (client &key users)
    ("scram_users_describe" :users (name-list users 'users))
  (lambda (answer) (outcomes (getf answer :users) (field :user) 'describe-scram-users))
  "The SCRAM credentials of USERS, a sequence of names, or of all without any: a list of plists of :USER and :CREDENTIALS,
plists of :MECHANISM (:SCRAM-SHA-256 or :SCRAM-SHA-512) and :ITERATIONS. Signal a PARTIAL-ERROR if some failed. TIMEOUT
and ASYNC are as for ADMIN-REQUEST.")

(defun mechanism-text (mechanism argument)
  (unless (member mechanism '(:scram-sha-256 :scram-sha-512))
    (argument-error argument mechanism "a plist whose :MECHANISM is :SCRAM-SHA-256 or :SCRAM-SHA-512"))
  (string mechanism))

(defun scram-object (credential argument allowed)
  (check-options credential argument allowed)
  (destructuring-bind (&key user mechanism password iterations salt) credential
    (unless (stringp user)
      (argument-error argument user "a plist whose :USER is a string"))
    (unless (or (stringp password) (not (member :password allowed)))
      (argument-error argument password "a plist whose :PASSWORD is a string"))
    (unless (typep iterations '(or null (integer 1 #x7fffffff)))
      (argument-error argument iterations "a plist whose :ITERATIONS is a number"))
    (unless (typep salt '(or null octets))
      (argument-error argument salt "a plist whose :SALT is octets"))
    (list :object :user user :mechanism (mechanism-text mechanism argument) :password password
                  :iterations iterations
                  :salt-hex (when salt (format nil "~(~{~2,'0X~}~)" (coerce salt 'list))))))

(defun alter-scram-users (client &key upsertions deletions (timeout +request-timeout+) async)
  "Set and delete SCRAM credentials. UPSERTIONS is a sequence of plists of :USER, :MECHANISM (:SCRAM-SHA-256 or
:SCRAM-SHA-512), :PASSWORD (strings), and where wanted :ITERATIONS (4,096 to 16,384; 8,192 without) and :SALT (octets;
random without). DELETIONS is a sequence of plists of :USER and :MECHANISM. Return the names of the users. Signal a
PARTIAL-ERROR if some failed. TIMEOUT and ASYNC are as for ADMIN-REQUEST."
  (request client 'alter-scram-users "scram_users_alter"
           (list :object
                 :upsertions (mapcar (lambda (credential)
                                       (scram-object credential 'upsertions
                                                     '(:user :mechanism :password :iterations :salt)))
                                     (coerce-to-list upsertions 'upsertions))
                 :deletions (mapcar (lambda (credential)
                                      (scram-object credential 'deletions '(:user :mechanism)))
                                    (coerce-to-list deletions 'deletions)))
           timeout async
           (lambda (answer) (outcomes (getf answer :users) (field :user) 'alter-scram-users (field :user)))))
