/* Prints the records of a topic until Ctrl-C, and goes on after the last one printed when started again.
   Usage: consumer BOOTSTRAP TOPIC GROUP */
#define _POSIX_C_SOURCE 200809L /* sigwait */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>

#include <kafkabi.h>

#include "check.h"

/* Ctrl-C: a thread that waits for the signal wakes the poll. Nothing runs in a signal handler. */
static void *wake_on_signal(void *user) {
  sigset_t signals;
  int signal_number;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigwait(&signals, &signal_number);
  kabi_consumer_wake((kabi_consumer_t *)user, NULL);
  return NULL;
}

static void block_signals(void) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL); /* inherited by every thread made later */
}

static void print_record(const kabi_record_t *record) {
  if (record->code != KABI_STATUS_OK) { /* not a record: an error of its partition, with the text as value */
    fprintf(stderr, "partition %" PRId32 ": %.*s\n", record->partition, (int)record->value_length,
            (const char *)record->value);
    return;
  }
  printf("%" PRId32 "/%" PRId64 "  %.*s\n", record->partition, record->offset, (int)record->value_length,
         record->value == NULL ? "" : (const char *)record->value);
}

static void print_records_until_woken(kabi_consumer_t *consumer) {
  kabi_error_t error = KABI_ERROR_INIT;
  for (;;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    kabi_status_t status = kabi_consumer_poll(consumer, 500, -1, &batch, &info, &error);
    if (status == KABI_STATUS_INTERRUPTED) return;
    CHECK(status);
    for (size_t i = 0; i < info.count; i++) print_record(&info.records[i]); /* views: no copy */
    fflush(stdout);
    CHECK(kabi_consumer_handled(consumer, info.number, info.count, &error)); /* now they may be committed */
    kabi_batch_free(batch);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s BOOTSTRAP TOPIC GROUP\n", argv[0]);
    return 2;
  }
  block_signals();
  kabi_error_t error = KABI_ERROR_INIT;

  kabi_config_t *config;
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_set(config, "bootstrap.servers", argv[1], &error));
  CHECK(kabi_config_set(config, "group.id", argv[3], &error));
  CHECK(kabi_config_set(config, "auto.offset.reset", "earliest", &error));

  kabi_consumer_t *consumer;
  CHECK(kabi_consumer_new(config, &consumer, &error));
  kabi_config_free(config); /* the consumer has its own copy */

  pthread_t waker;
  pthread_create(&waker, NULL, wake_on_signal, consumer);

  const char *topics[] = {argv[2]};
  CHECK(kabi_consumer_subscribe(consumer, topics, 1, &error));
  print_records_until_woken(consumer);
  pthread_join(waker, NULL);

  CHECK(kabi_consumer_commit(consumer, NULL, 0, 10000, &error)); /* everything handled */
  CHECK(kabi_consumer_close(consumer, 10000, &error));           /* leaves the group */
  kabi_consumer_free(consumer);
  return EXIT_SUCCESS;
}
