;;;; Another user name and password for a client that runs.

(in-package #:kafkabi)

(defun set-credentials (client username password)
  "Give CLIENT another user name and password, strings, in place of the properties sasl.username and sasl.password: for
a password that changes while the program runs. Connections made from now on use them, and those that wait for their
next try are tried at once; connections that stand are left alone. Whether brokers accept them is told to :ON-ERROR.
Signal a KAFKA-ERROR unless security.protocol is sasl_plaintext or sasl_ssl, and sasl.mechanisms PLAIN or SCRAM."
  (check-argument client client "a client")
  (check-argument username (and string (not (string 0))) "a user's name, a string")
  ;; The condition must not show what was given.
  (unless (typep password '(and string (not (string 0))))
    (argument-error 'password :not-shown "a password, a string"))
  (let ((core (use client 'set-credentials)))
    (with-text (name username)
      (with-text (word password)
        (with-details (details)
          (check-status (core-call-credentials-set core name word details) details nil
                        :operation 'set-credentials))))
    nil))
