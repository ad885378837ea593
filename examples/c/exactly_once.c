/* Copies records from one topic to another, in upper case, each exactly once whatever happens: what is written and how
   far was read are one transaction. Kill it at any point and start it again.
   Usage: exactly_once BOOTSTRAP FROM TO NAME     several run side by side under the same FROM, each with its own NAME */
#define _POSIX_C_SOURCE 200809L /* sigwait */
#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include <kafkabi.h>

#include "check.h"

enum { RECORDS_MAX = 100, PARTITIONS_MAX = 256, WAIT_MS = 60000 };

typedef struct pipeline_t {
  kabi_consumer_t *consumer;
  kabi_producer_t *producer;
  int32_t to; /* the producer's number of the topic */
} pipeline_t;

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
  pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void set(kabi_config_t *config, const char *name, const char *value) {
  kabi_error_t error = KABI_ERROR_INIT;
  CHECK(kabi_config_set(config, name, value, &error));
}

static kabi_consumer_t *open_consumer(const char *bootstrap, const char *from, const char *name) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_config_t *config;
  char group[300];
  snprintf(group, sizeof group, "exactly-once-%s", from);
  CHECK(kabi_config_new(&config, &error));
  set(config, "bootstrap.servers", bootstrap);
  set(config, "group.id", group);
  set(config, "group.instance.id", name);          /* one that starts again takes its own place at once */
  set(config, "isolation.level", "read_committed"); /* what is aborted upstream is not read */
  set(config, "enable.auto.commit", "false");       /* the transaction commits the offsets */
  set(config, "auto.offset.reset", "earliest");
  kabi_consumer_t *consumer;
  CHECK(kabi_consumer_new(config, &consumer, &error));
  kabi_config_free(config);
  CHECK(kabi_consumer_subscribe(consumer, &from, 1, &error));
  return consumer;
}

static kabi_producer_t *open_producer(const char *bootstrap, const char *name) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_config_t *config;
  char id[300];
  snprintf(id, sizeof id, "exactly-once-%s", name);
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_events(config, KABI_EVENT_ERROR, &error)); /* the commit tells of failures: no reports */
  set(config, "bootstrap.servers", bootstrap);
  set(config, "transactional.id", id);
  kabi_producer_t *producer;
  CHECK(kabi_producer_new(config, &producer, &error));
  kabi_config_free(config);
  /* Fences off a twin, and aborts what it left behind. */
  CHECK(kabi_producer_transactions_init(producer, WAIT_MS, &error));
  return producer;
}

static kabi_status_t send_upper(const pipeline_t *pipeline, const kabi_record_t *record, kabi_error_t *error) {
  static char upper[1 << 20];
  kabi_message_t message;
  memset(&message, 0, sizeof message);
  message.topic = pipeline->to;
  message.partition = KABI_PARTITION_ANY;
  message.key = record->key;
  message.key_length = record->key_length;
  message.value = record->value;
  message.value_length = record->value_length;
  if (record->value != NULL && record->value_length <= (int64_t)sizeof upper) {
    for (int64_t i = 0; i < record->value_length; i++)
      upper[i] = (char)toupper(((const unsigned char *)record->value)[i]);
    message.value = upper;
  }
  return kabi_producer_send(pipeline->producer, &message, WAIT_MS, error);
}

/* How far was read, as a part of the transaction. */
static kabi_status_t send_offsets(const pipeline_t *pipeline, kabi_error_t *error) {
  kabi_partition_t partitions[PARTITIONS_MAX];
  size_t assigned = 0, read = 0;
  kabi_status_t status = kabi_consumer_assignment(pipeline->consumer, partitions, PARTITIONS_MAX, &assigned, error);
  if (status == KABI_STATUS_OK) status = kabi_consumer_position(pipeline->consumer, partitions, assigned, error);
  if (status != KABI_STATUS_OK) return status;
  for (size_t i = 0; i < assigned; i++)
    if (partitions[i].offset >= 0) partitions[read++] = partitions[i]; /* others had no records yet */
  do {
    status = kabi_producer_transaction_offsets(pipeline->producer, pipeline->consumer, partitions, read, WAIT_MS, error);
  } while (status != KABI_STATUS_OK && (error->flags & KABI_ERROR_RETRIABLE));
  return status;
}

static kabi_status_t copy(const pipeline_t *pipeline, const kabi_batch_info_t *info, kabi_error_t *error) {
  kabi_status_t status = kabi_producer_transaction_begin(pipeline->producer, error);
  for (size_t i = 0; i < info->count && status == KABI_STATUS_OK; i++)
    if (info->records[i].code == KABI_STATUS_OK) status = send_upper(pipeline, &info->records[i], error);
  if (status == KABI_STATUS_OK) status = send_offsets(pipeline, error);
  if (status != KABI_STATUS_OK) return status;
  do {
    status = kabi_producer_transaction_commit(pipeline->producer, WAIT_MS, error); /* a repeated one goes on */
  } while (status != KABI_STATUS_OK && (error->flags & KABI_ERROR_RETRIABLE));
  return status;
}

/* Nothing of it happened: abort, and leave. Started again, the program reads from where the last commit was. */
static void give_up(const pipeline_t *pipeline, const kabi_error_t *why) {
  kabi_error_t error = KABI_ERROR_INIT;
  fprintf(stderr, "%s (%s)\n", why->message, kabi_error_name(why->code));
  if (!(why->flags & KABI_ERROR_FATAL)) kabi_producer_transaction_abort(pipeline->producer, WAIT_MS, &error);
  exit(EXIT_FAILURE);
}

static void copy_until_woken(const pipeline_t *pipeline) {
  kabi_error_t error = KABI_ERROR_INIT;
  uint64_t total = 0;
  for (;;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    kabi_status_t status = kabi_consumer_poll(pipeline->consumer, RECORDS_MAX, -1, &batch, &info, &error);
    if (status == KABI_STATUS_INTERRUPTED) return;
    CHECK(status);
    if (info.count > 0) {
      if (copy(pipeline, &info, &error) != KABI_STATUS_OK) give_up(pipeline, &error);
      printf("%" PRIu64 " records copied\n", total += info.count);
      fflush(stdout);
    }
    kabi_batch_free(batch);
  }
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: %s BOOTSTRAP FROM TO NAME\n", argv[0]);
    return 2;
  }
  block_signals();
  kabi_error_t error = KABI_ERROR_INIT;
  pipeline_t pipeline;
  pipeline.producer = open_producer(argv[1], argv[4]);
  CHECK(kabi_producer_topic(pipeline.producer, argv[3], &pipeline.to, &error));
  pipeline.consumer = open_consumer(argv[1], argv[2], argv[4]);
  pthread_t waker;
  pthread_create(&waker, NULL, wake_on_signal, pipeline.consumer);

  copy_until_woken(&pipeline);
  pthread_join(waker, NULL);

  CHECK(kabi_producer_close(pipeline.producer, WAIT_MS, NULL, &error));
  CHECK(kabi_consumer_close(pipeline.consumer, WAIT_MS, &error));
  kabi_producer_free(pipeline.producer);
  kabi_consumer_free(pipeline.consumer);
  return EXIT_SUCCESS;
}
