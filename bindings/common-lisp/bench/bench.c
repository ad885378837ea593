/* The C side of scripts/bench-lisp: the same work as bench.lisp's, through the same library. Reads commands from
   standard input, a line each, "MODE COUNT", and answers each by the CPU time of the whole process in nanoseconds.
   Usage: bench BOOTSTRAP PARTITIONS; the topics "send" and "read" are there. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <kafkabi.h>

enum { BATCH = 1000, VALUE = 100, KEY = 8, POLL = 500, EVENTS = 1024, TEXTS = 65536, POLL_BYTES = 1 << 20, PATIENCE_MS = 60000 };
#define PADDED(size) (((int)(size) + 7) & ~7)
enum { PACKED = PADDED(sizeof(kabi_packed_t) + VALUE), KEYED = PADDED(sizeof(kabi_packed_t) + KEY + VALUE) };

static const char *bootstrap;
static int32_t partitions;
static kabi_error_t error = {.size = sizeof error};

static void check(const char *what, kabi_status_t status) {
  if (status == KABI_STATUS_OK) return;
  fprintf(stderr, "bench: %s: %s\n", what, kabi_error_text(status));
  exit(EXIT_FAILURE);
}

static int64_t cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static kabi_config_t *configuration(uint32_t events, const char *const pairs[]) {
  kabi_config_t *config = NULL;
  check("kabi_config_new", kabi_config_new(&config, &error));
  check("bootstrap.servers", kabi_config_set(config, "bootstrap.servers", bootstrap, &error));
  for (; *pairs != NULL; pairs += 2) check(*pairs, kabi_config_set(config, pairs[0], pairs[1], &error));
  check("kabi_config_events", kabi_config_events(config, events, &error));
  return config;
}

/* ---- sending ---- */

typedef struct {
  kabi_producer_t *handle;
  int32_t topic;
  pthread_mutex_t lock;
  pthread_cond_t progress;
  uint64_t sent, reported;
  int32_t *statuses; /* by token */
} sender_t;

/* As Lisp's drain thread: takes events in chunks, notes each by its token, wakes who waits. */
static void *drain(void *pointer) {
  sender_t *sender = pointer;
  static kabi_event_t events[EVENTS];
  static uint8_t texts[TEXTS];
  kabi_error_t own = {.size = sizeof own};
  for (;;) {
    size_t count = 0, used = 0;
    kabi_status_t status =
        kabi_producer_drain(sender->handle, 1000, events, EVENTS, &count, texts, sizeof texts, &used, &own);
    if (status != KABI_STATUS_OK) check("kabi_producer_drain", status);
    pthread_mutex_lock(&sender->lock);
    for (size_t i = 0; i < count; i++) sender->statuses[events[i].token] = events[i].code;
    sender->reported += count;
    pthread_cond_broadcast(&sender->progress);
    pthread_mutex_unlock(&sender->lock);
  }
  return NULL;
}

static sender_t *sender(int reports) {
  static sender_t senders[2];
  static int made[2];
  sender_t *self = &senders[reports];
  if (made[reports]) return self;
  made[reports] = 1;
  static const char *const pairs[] = {"queue.buffering.max.messages", "2000000", "linger.ms", "5", NULL};
  kabi_config_t *config = configuration(reports ? KABI_EVENT_REPORT : 0, pairs);
  check("kabi_producer_new", kabi_producer_new(config, &self->handle, &error));
  check("kabi_producer_topic", kabi_producer_topic(self->handle, "send", &self->topic, &error));
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->progress, NULL);
  pthread_t thread;
  if (reports && pthread_create(&thread, NULL, drain, self) != 0) exit(EXIT_FAILURE);
  return self;
}

static void finish(sender_t *self, int reports) {
  uint64_t failed = 0;
  check("kabi_producer_flush", kabi_producer_flush(self->handle, PATIENCE_MS, &failed, &error));
  if (failed > 0) exit(EXIT_FAILURE);
  if (!reports) return;
  pthread_mutex_lock(&self->lock);
  while (self->reported < self->sent) pthread_cond_wait(&self->progress, &self->lock);
  pthread_mutex_unlock(&self->lock);
}

static void begin(sender_t *self, int64_t count) {
  free(self->statuses);
  self->statuses = malloc((size_t)(count + 1) * sizeof *self->statuses);
  if (self->statuses == NULL) exit(EXIT_FAILURE);
  self->sent += (uint64_t)count;
}

static kabi_packed_t head(int32_t topic, int32_t size, int32_t key_length, uint64_t token) {
  kabi_packed_t packed = {0};
  packed.size = (uint32_t)size;
  packed.header_size = sizeof packed;
  packed.topic = topic;
  packed.partition = KABI_PARTITION_ANY;
  packed.token = token;
  packed.key_length = key_length;
  packed.value_length = VALUE;
  packed.leader_epoch = -1;
  return packed;
}

static void send_batches(int64_t count, int reports) {
  sender_t *self = sender(reports);
  static uint8_t buffer[BATCH * PACKED], value[VALUE];
  begin(self, count);
  for (int64_t sent = 0; sent < count; sent += BATCH) {
    for (int i = 0; i < BATCH; i++) {
      kabi_packed_t packed = head(self->topic, PACKED, -1, reports ? (uint64_t)(sent + i + 1) : 0);
      memcpy(buffer + i * PACKED, &packed, sizeof packed);
      memcpy(buffer + i * PACKED + sizeof packed, value, VALUE);
    }
    check("kabi_producer_send_packed",
          kabi_producer_send_packed(self->handle, buffer, sizeof buffer, BATCH, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD,
                                    PATIENCE_MS, NULL, NULL, &error));
  }
  finish(self, reports);
}

static void send_singly(int64_t count, int reports) {
  sender_t *self = sender(reports);
  static uint8_t value[VALUE];
  begin(self, count);
  for (int64_t i = 0; i < count; i++) {
    kabi_message_t message = {0};
    message.topic = self->topic;
    message.partition = KABI_PARTITION_ANY;
    message.value = value;
    message.value_length = VALUE;
    message.token = reports ? (uint64_t)(i + 1) : 0;
    check("kabi_producer_send", kabi_producer_send(self->handle, &message, PATIENCE_MS, &error));
  }
  finish(self, reports);
}

/* Fills the topic that is read, each partition with as many. */
static void fill(int64_t count) {
  sender_t *self = sender(0);
  static uint8_t buffer[BATCH * KEYED];
  int32_t topic = 0;
  check("kabi_producer_topic", kabi_producer_topic(self->handle, "read", &topic, &error));
  for (int64_t sent = 0; sent < count; sent += BATCH) {
    for (int i = 0; i < BATCH; i++) {
      kabi_packed_t packed = head(topic, KEYED, KEY, 0);
      packed.partition = (int32_t)((sent + i) % partitions);
      memcpy(buffer + i * KEYED, &packed, sizeof packed);
    }
    check("kabi_producer_send_packed",
          kabi_producer_send_packed(self->handle, buffer, sizeof buffer, BATCH, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD,
                                    PATIENCE_MS, NULL, NULL, &error));
  }
  finish(self, 0);
}

/* ---- receiving ---- */

static void receive(int64_t count) {
  static const char *const pairs[] = {"group.id", "c", "enable.auto.commit", "false", "kafkabi.handled", "explicit", NULL};
  static uint8_t buffer[POLL_BYTES];
  kabi_partition_t assigned[64] = {0};
  kabi_consumer_t *consumer = NULL;
  int32_t topic = 0;
  int64_t received = 0, sum = 0;
  check("kabi_consumer_new", kabi_consumer_new(configuration(0, pairs), &consumer, &error));
  check("kabi_consumer_topic", kabi_consumer_topic(consumer, "read", &topic, &error));
  for (int i = 0; i < partitions; i++) {
    assigned[i].topic = topic;
    assigned[i].partition = i;
    assigned[i].offset = KABI_OFFSET_BEGINNING;
  }
  check("kabi_consumer_assign", kabi_consumer_assign(consumer, assigned, (size_t)partitions, &error));
  while (received < count) {
    kabi_batch_info_t info;
    check("kabi_consumer_poll_packed",
          kabi_consumer_poll_packed(consumer, POLL, PATIENCE_MS, buffer, sizeof buffer, &info, &error));
    const uint8_t *place = buffer;
    for (size_t i = 0; i < info.count; i++) {
      kabi_packed_t packed;
      memcpy(&packed, place, sizeof packed);
      if (packed.code != 0) exit(EXIT_FAILURE);
      sum += packed.offset + packed.value_length + packed.key_length + place[sizeof packed];
      place += packed.size;
    }
    received += (int64_t)info.count;
    if (info.count > 0)
      check("kabi_consumer_handled", kabi_consumer_handled(consumer, info.number, info.count, &error));
  }
  if (sum == 0) exit(EXIT_FAILURE);
  check("kabi_consumer_close", kabi_consumer_close(consumer, PATIENCE_MS, &error));
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: %s BOOTSTRAP PARTITIONS\n", arguments[0]);
    return 2;
  }
  bootstrap = arguments[1];
  partitions = atoi(arguments[2]);
  char mode[32];
  long long number;
  while (scanf("%31s %lld", mode, &number) == 2) {
    int64_t began = cpu();
    if (strcmp(mode, "batches-reported") == 0) send_batches(number, 1);
    else if (strcmp(mode, "batches") == 0) send_batches(number, 0);
    else if (strcmp(mode, "singly-reported") == 0) send_singly(number, 1);
    else if (strcmp(mode, "singly") == 0) send_singly(number, 0);
    else if (strcmp(mode, "fill") == 0) fill(number);
    else if (strcmp(mode, "receive") == 0) receive(number);
    else return 2;
    printf("%lld\n", (long long)(cpu() - began));
    fflush(stdout);
  }
  return 0;
}
