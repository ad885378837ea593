/* What every C test uses: registration, checks, waiting for events, and one-line ways to a cluster, a producer and a consumer.
   C11 that is C++17 too. Each test runs in a process of its own, so that a crash or a hang is one test's. */
#ifndef HARNESS_H
#define HARNESS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <kafkabi.h>

/* ---- tests ---- */
typedef void (*test_body_t)(void);
void harness_register(const char *name, test_body_t body);
#define TEST(name)                                                                                     \
  static void test_##name(void);                                                                       \
  __attribute__((constructor)) static void register_##name(void) { harness_register(#name, test_##name); } \
  static void test_##name(void)

/* A role is what a test binary does when a test starts it anew (`start_role`): another process that uses the library. */
typedef int (*role_body_t)(int argc, char **argv);
void harness_role(const char *name, role_body_t body);
#define ROLE(name)                                                                                     \
  static int role_##name(int argc, char **argv);                                                       \
  __attribute__((constructor)) static void register_role_##name(void) { harness_role(#name, role_##name); } \
  static int role_##name(int argc, char **argv)
/* Starts this binary in a role; its standard output can be read from *out. */
pid_t start_role(const char *name, FILE **out, ...); /* arguments end with NULL */
/* Waits for a child and tells its exit code, or -signal; a child that outlives `ms` is killed and fails the test. */
int wait_child(pid_t child, int ms);
/* The way out of a forked child. Without the parent's threads, and so without their stacks, much would seem lost to a leak checker:
   it does not get to look. In plain runs the ordinary exit must work. */
void leave_child(int code) __attribute__((noreturn));
void needs_forks_beside_threads(void); /* skips where the checker can't: AddressSanitizer's allocator stays locked in such a child */

/* ---- checks ---- CHECK goes on after a failure, MUST leaves the test. */
int harness_check(const char *file, int line, const char *expression, int holds);
int harness_equal(const char *file, int line, const char *expression, int64_t want, int64_t got);
int harness_text(const char *file, int line, const char *expression, const char *want, const char *got);
int harness_status(const char *file, int line, const char *expression, kabi_status_t want, kabi_status_t got);
void harness_leave(void) __attribute__((noreturn));
void harness_skip(const char *why) __attribute__((noreturn)); /* for what this machine or mode can't show */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CHECK(expression) harness_check(__FILE__, __LINE__, #expression, (expression) ? 1 : 0)
#define CHECK_EQ(want, got) harness_equal(__FILE__, __LINE__, #got, (int64_t)(want), (int64_t)(got))
#define CHECK_TEXT(want, got) harness_text(__FILE__, __LINE__, #got, (want), (got))
#define OK(call) harness_status(__FILE__, __LINE__, #call, KABI_STATUS_OK, (call))
#define GIVES(want, call) harness_status(__FILE__, __LINE__, #call, (want), (call))
#define MUST(expression) ((void)(CHECK(expression) || (harness_leave(), 0)))
#define MUST_OK(call) ((void)(OK(call) || (harness_leave(), 0)))

/* This thread's error, made fresh: pass it to a call inside OK or GIVES, which then check it too:
   code equal to the status, a message that is there, terminated and UTF-8. */
#define ERR harness_error()
kabi_error_t *harness_error(void);
const kabi_error_t *last_error(void);
int is_utf8(const char *text, size_t length);

/* ---- how long, how much ---- */
int64_t now_ms(void);
/* Upper bounds only catch a hang: they grow under valgrind and sanitizers. */
int patience(int ms);
#define CHECK_WITHIN(ms, since) CHECK(now_ms() - (since) < patience(ms))
/* `full` in plain runs, less where everything is slow, never under `least`. */
int scaled(int full, int least);
typedef enum run_mode_t { MODE_PLAIN, MODE_ASAN, MODE_VALGRIND } run_mode_t;
run_mode_t run_mode(void);
/* Where there is no event to await: the point of the test is that something goes on unseen. */
void unseen(int ms);

/* ---- a cluster and its clients; what fails here leaves the test ---- */
kabi_cluster_t *new_cluster(int brokers);
const char *bootstrap(kabi_cluster_t *cluster); /* valid until the next call of this thread */
void new_topic(kabi_cluster_t *cluster, const char *name, int partitions);
/* How many requests of a kind a broker got (KABI_BROKER_ALL: all together) since they are tracked. */
size_t requests_of(kabi_cluster_t *cluster, int32_t broker, int32_t request);
/* A loopback port on which nothing listens: clients that never meet a broker. */
#define NOWHERE "127.0.0.1:1"
/* Pairs of property and value, ending with NULL. A NULL `servers` sets none. */
kabi_config_t *new_config(const char *servers, ...);
kabi_producer_t *new_producer(const char *servers, ...);
kabi_consumer_t *new_consumer(const char *servers, const char *group, ...); /* a NULL group sets none */
void put(kabi_config_t *config, const char *name, const char *value);
kabi_producer_t *producer_from(kabi_config_t *config); /* frees the config */
kabi_consumer_t *consumer_from(kabi_config_t *config);
int32_t topic_of(kabi_producer_t *producer, const char *name);
int32_t consumer_topic_of(kabi_consumer_t *consumer, const char *name);
void close_producer(kabi_producer_t *producer); /* delivers all, checks that, frees */
void close_consumer(kabi_consumer_t *consumer);

/* ---- records ---- */
kabi_message_t message_of(int32_t topic, int32_t partition, const char *key, const char *value); /* NULL is null */
kabi_partition_t partition_of(int32_t topic, int32_t partition, int64_t offset);
/* Sends `count` records "0", "1", ... to a partition, from `first` on, flushes, and drops the reports. */
void fill(kabi_producer_t *producer, const char *topic, int32_t partition, int first, int count);
/* The same with a producer of its own, in one message set. */
void fill_topic(kabi_cluster_t *cluster, const char *topic, int32_t partition, int count);
/* A cluster of one broker with that topic, so many records in each of its partitions. */
kabi_cluster_t *filled_cluster(const char *topic, int partitions, int records);
int64_t number_of(const kabi_record_t *record); /* its value as a number, -1 for another text */

/* Drains until `want` reports are in `into` or patience ends; errors and statistics are let go. Returns how many came. */
size_t drain_reports(kabi_producer_t *producer, kabi_event_t *into, size_t want);
/* Drains what is there now, without waiting; returns how many reports came. */
size_t drain_rest(kabi_producer_t *producer, kabi_event_t *into, size_t capacity);
/* Every token of first..first+count once in `reports`, each with this code (or any with ANY_CODE). */
#define ANY_CODE 1000000
void check_tokens(const kabi_event_t *reports, size_t count, uint64_t first, int32_t code);

/* A record copied out of its batch. */
typedef struct seen_t {
  int32_t topic, partition, code;
  int64_t offset, number;
} seen_t;
/* Polls until `want` records came, or patience ends. Entries (end of partition and others) are let go. */
size_t take(kabi_consumer_t *consumer, seen_t *into, size_t want);
/* One batch with something in it. *batch must be freed by the caller. */
void take_batch(kabi_consumer_t *consumer, size_t most, kabi_batch_t **batch, kabi_batch_info_t *info);
/* Polls once more so that what came before counts as handled, and expects nothing new. */
void poll_empty(kabi_consumer_t *consumer, int timeout_ms);
void assign(kabi_consumer_t *consumer, const char *topic, int32_t partition, int64_t offset);
void subscribe(kabi_consumer_t *consumer, const char *topic);
int64_t committed_offset(kabi_consumer_t *consumer, const char *topic, int32_t partition);
int64_t position_of(kabi_consumer_t *consumer, const char *topic, int32_t partition);
/* Asked by a client of its own, as another program would see it. */
int64_t group_offset(kabi_cluster_t *cluster, const char *group, const char *topic, int32_t partition);
/* One whole JSON value and nothing after it. */
int is_json(const char *text);
int has(const char *text, const char *part);
/* True once the descriptor is readable, false at the end of `ms`. */
int readable(int fd, int ms);

#endif
