/* What the tests against a real broker share beyond harness.h. scripts/test-real starts the brokers and sets the variables
   that these functions read; tests/kafka/README.md tells which users, passwords and rights there are. */
#ifndef REAL_H
#define REAL_H

#include "harness.h"

/* An environment variable's value; a test that lacks it fails and says how to run it. */
const char *setting(const char *variable);
#define SINGLE setting("KABI_KAFKA_SINGLE")
#define THREE setting("KABI_KAFKA_THREE")
#define SASL_SSL setting("KABI_KAFKA_SASL_SSL")
#define SASL_PLAINTEXT setting("KABI_KAFKA_SASL_PLAINTEXT")
#define MUTUAL_TLS setting("KABI_KAFKA_SSL")

/* A name that no earlier run of a test on the same broker has used: PREFIX and a number. Valid until the test's end. */
const char *fresh(const char *prefix);
/* Makes a topic; settings "key=value" end with NULL. Elsewhere the broker makes topics of one partition when they are first
   asked for. */
void real_topic(const char *profile, const char *name, int partitions, ...);
/* tests/kafka/broker COMMAND PROFILE [NODE]; `node` may be NULL. */
void broker(const char *command, const char *profile, const char *node);

/* A file of the secure profile's certificates: its path, or its contents. Valid until the test's end. */
const char *tls_path(const char *file);
const char *tls_text(const char *file);

/* A client's configuration on the secure profile; a NULL user leaves the mechanism's properties away. */
kabi_config_t *sasl_config(const char *servers, const char *protocol, const char *mechanism, const char *user,
                           const char *password);

#endif
