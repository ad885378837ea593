;;;; Configurations that clients tell, and JSON.

(in-package #:kafkabi/test)

(def-suite configurations :in kafkabi)
(in-suite configurations)

(test a-client-tells-its-properties
  (kabi:with-producer (producer :conf (conf :linger-ms 7 :acks "1" :enable-idempotence nil))
    (flet ((property (name) (cdr (assoc name (kabi:get-conf producer) :test #'string=))))
      (is (string= "7" (property "linger.ms")))
      (is (string= "false" (property "enable.idempotence")))
      (is (string= (servers) (property "bootstrap.servers")))
      (is (string= "1000000" (property "message.max.bytes")))
      (is (null (property "group.id")) "a consumer's")
      (is (string= "kafkabi-common-lisp" (property "client.software.name")))
      (is (string= (kabi:version) (property "client.software.version")))
      (is (null (property "sasl.password")))))
  (kabi:with-consumer (consumer :conf (reader-conf :client-software-name "ours"))
    (flet ((property (name) (cdr (assoc name (kabi:get-conf consumer) :test #'string=))))
      (is (string= "earliest" (property "auto.offset.reset")))
      (is (string= "ours" (property "client.software.name")))))
  (is (typep (condition-of (kabi:get-conf "client")) 'kabi:argument-error)))

(test every-property-is-described
  (is (search "\"linger.ms\"" (kabi:describe-properties))))

(test json-goes-through
  (let ((topic (fresh-topic)) (order (make-hash-table :test #'equal)))
    (setf (gethash "item" order) "Äpfel"
          (gethash "counts" order) '(1 2 3))
    (kabi:with-producer (producer :conf (conf) :value-serde #'kabi:json-to-octets)
      (kabi:send producer topic order)
      (kabi:send producer topic nil)
      (is (eql 0 (kabi:flush producer :timeout *long*)))
      (let ((condition (condition-of (kabi:send producer topic #'car))))
        (is (typep condition 'kabi:serde-error))
        (is (typep (kabi:error-cause condition) 'error))))
    (kabi:with-consumer (consumer :conf (reader-conf) :value-serde #'kabi:octets-to-json)
      (kabi:subscribe consumer topic)
      (let ((back (kabi:value (kabi:poll consumer :timeout *long*))))
        (is (string= "Äpfel" (gethash "item" back)))
        (is (equal '(1 2 3) (gethash "counts" back))))
      (is (null (kabi:value (kabi:poll consumer :timeout *long*))))))
  (is (typep (condition-of (kabi:octets-to-json (kabi:string-to-octets "{\"a\":"))) 'kabi:serde-error)))
