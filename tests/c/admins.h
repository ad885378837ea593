/* Asking an admin and looking into its answers. A path names a place in the answer: "topics/0/status/code". */
#ifndef ADMINS_H
#define ADMINS_H

#include "harness.h"

#define LONG 20000

kabi_admin_t *new_admin(const char *servers);
kabi_admin_t *admin_from(kabi_config_t *config); /* frees the config */
void close_admin(kabi_admin_t *admin);           /* checks that it closes, frees */

/* A text with its parts put in; valid until the test's end. */
const char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Does an operation, which must be answered, and keeps the answer, JSON, for the functions below. NULL for no arguments. */
void ask(kabi_admin_t *admin, const char *operation, const char *arguments);
/* The same where it may fail, because brokers die: its status. */
kabi_status_t try_ask(kabi_admin_t *admin, const char *operation, const char *arguments, int32_t timeout_ms);
const char *answer(void);
/* Repeats that until the number at `path` is `want`: brokers learn of changes within moments. */
void ask_until(kabi_admin_t *admin, const char *operation, const char *arguments, const char *path, int64_t want);
/* What is not there fails the test. A text's escapes are left as they are. */
const char *text_at(const char *path);
int64_t number_at(const char *path);
size_t count_at(const char *path); /* the elements of an array */
int is_null(const char *path);

#endif
