;;;; Lets (asdf:load-system "cl-rdkafka") and (ql:quickload "cl-rdkafka") find kafkabi. Who wants that adds
;;;; this folder to ASDF's registry; nothing else names it, so that the library cl-rdkafka itself can be
;;;; installed beside kafkabi.

(unless (asdf:find-system "kafkabi" nil)
  (asdf:load-asd
   (merge-pathnames "kafkabi.asd"
                    (uiop:pathname-parent-directory-pathname
                     (uiop:pathname-parent-directory-pathname
                      (uiop:pathname-directory-pathname (or *load-truename* *compile-file-truename*)))))))

(defsystem "cl-rdkafka"
  :description "The interface of cl-rdkafka 1.2.0, over kafkabi."
  :version "1.2.0"                      ; whose interface it is, for programs that ask for one
  :license "MIT OR Apache-2.0"
  :depends-on ("kafkabi/cl-rdkafka"))
