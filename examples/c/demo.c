/* The tour: a Kafka cluster inside this process, 20,000 orders written, acknowledged, read back by a consumer group
   and committed. Every record is compared with what was sent; the exit code is 0 only if each came back once,
   unchanged and in order. Needs nothing: no broker, no network but loopback, no argument. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <kafkabi.h>

#include "check.h"

enum { BROKERS = 3, PARTITIONS = 6, ORDERS = 20000, BATCH = 500, CUSTOMERS = 1000, REFUSALS = 3, PATIENCE_MS = 30000 };
enum { NOT_ENOUGH_REPLICAS = 19 }; /* Kafka's own number, as a broker would answer it */
static const char TOPIC[] = "orders";
static const char GROUP[] = "billing";

/* ---- what the demo knows of each partition, filled in as it goes ---- */

typedef struct {
  int64_t delivered; /* reports with status 0 */
  int64_t read;      /* records read back */
  int64_t first;     /* offsets read */
  int64_t last;
  int64_t last_order; /* to see that the order was kept */
  int64_t committed;
} partition_t;

typedef struct {
  partition_t partitions[PARTITIONS];
  uint64_t calls; /* of the report handler */
  uint64_t delivered, failed;
  uint64_t read, batches;
  uint64_t wrong; /* doubled, changed or out of order */
  uint8_t reported[ORDERS];
  uint8_t seen[ORDERS];
  char sample[512]; /* one order as it came back */
} story_t;

/* ---- printing ---- */

static int colours, unicode;

static void look_at_terminal(void) {
  const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
  setlocale(LC_CTYPE, "");
  unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  int wanted = (no_color == NULL || *no_color == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
  colours = wanted && isatty(STDOUT_FILENO);
}

static const char *bold(void) { return colours ? "\033[1m" : ""; }
static const char *dim(void) { return colours ? "\033[2m" : ""; }
static const char *green(void) { return colours ? "\033[32m" : ""; }
static const char *red(void) { return colours ? "\033[31m" : ""; }
static const char *cyan(void) { return colours ? "\033[36m" : ""; }
static const char *plain(void) { return colours ? "\033[0m" : ""; }

/* 1234567 as "1,234,567"; the text lives until four more were made. */
static const char *grouped(int64_t number) {
  static char ring[4][32];
  static int next;
  char digits[24], *text = ring[next = (next + 1) % 4];
  int length = snprintf(digits, sizeof digits, "%" PRId64, number < 0 ? 0 : number), written = 0;
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0) text[written++] = ',';
    text[written++] = digits[i];
  }
  text[written] = '\0';
  return text;
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* One line a step: name, what happened, how long it took. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static void
print_step(const char *name, double began, const char *format, ...) {
  char what[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  printf("  %s%-9s%s %-54s %s%9.1f ms%s\n", cyan(), name, plain(), what, dim(), milliseconds() - began, plain());
  fflush(stdout);
}

static void print_bar(int64_t value, int64_t most, int width) {
  static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  int64_t length = most > 0 ? value * width * 8 / most : 0;
  int cells = (int)(length / 8), columns = cells;
  fputs(green(), stdout);
  for (int i = 0; i < cells; i++) fputs(unicode ? "█" : "#", stdout);
  if (unicode && length % 8 > 0) {
    fputs(eighths[length % 8], stdout);
    columns++;
  }
  printf("%s%*s", plain(), width - columns, "");
}

/* ---- orders: every one can be made again from its number, so what comes back can be compared ---- */

typedef struct {
  char key[24];
  char value[256];
  char trace[17];
  int64_t key_length, value_length;
  const char *source;
} order_t;

static void make_order(uint64_t number, order_t *order) {
  static const char *const items[] = {"espresso beans", "green tea", "oat milk", "rye bread", "olive oil"};
  static const char *const sources[] = {"web", "app", "shop"};
  uint64_t mixed = (number + 1) * UINT64_C(0x9E3779B97F4A7C15);
  unsigned customer = (unsigned)(mixed >> 20) % CUSTOMERS, quantity = 1 + (unsigned)(mixed >> 8) % 4;
  unsigned cents = 199 + (unsigned)(mixed >> 40) % 4800;
  order->source = sources[(mixed >> 33) % 3];
  order->key_length = snprintf(order->key, sizeof order->key, "c%03u", customer);
  order->value_length =
      snprintf(order->value, sizeof order->value,
               "{\"order\":%" PRIu64 ",\"customer\":\"%s\",\"item\":\"%s\",\"quantity\":%u,\"price\":%u.%02u}", number,
               order->key, items[(mixed >> 12) % 5], quantity, cents / 100, cents % 100);
  snprintf(order->trace, sizeof order->trace, "%016" PRIx64, mixed);
}

/* ---- the steps ---- */

static kabi_cluster_t *start_cluster(char *bootstrap, size_t size) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_cluster_t *cluster;
  size_t length;
  double began = milliseconds();
  CHECK(kabi_cluster_new(BROKERS, &cluster, &error));
  CHECK(kabi_cluster_bootstrap(cluster, bootstrap, size, &length, &error));
  print_step("cluster", began, "%d brokers inside this process, on loopback", BROKERS);

  began = milliseconds();
  CHECK(kabi_cluster_topic_create(cluster, TOPIC, PARTITIONS, BROKERS, &error));
  print_step("topic", began, "\"%s\": %d partitions, each on all %d brokers", TOPIC, PARTITIONS, BROKERS);
  return cluster;
}

/* Runs inside kabi_producer_poll, on the thread that called it. */
static int32_t on_reports(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  story_t *story = (story_t *)user;
  (void)bytes;
  story->calls++;
  for (size_t i = 0; i < count; i++) {
    const kabi_event_t *report = &events[i];
    if (report->token >= ORDERS || story->reported[report->token]++) {
      story->wrong++; /* a report that nobody waits for */
    } else if (report->code == KABI_STATUS_OK && report->partition >= 0 && report->partition < PARTITIONS) {
      story->delivered++;
      story->partitions[report->partition].delivered++;
    } else {
      story->failed++;
    }
  }
  return 0;
}

static kabi_producer_t *make_producer(const char *bootstrap, story_t *story, int32_t *topic) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_config_t *config;
  kabi_producer_t *producer;
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_set(config, "bootstrap.servers", bootstrap, &error));
  CHECK(kabi_config_handler(config, KABI_EVENT_REPORT, on_reports, story, NULL, &error));
  CHECK(kabi_producer_new(config, &producer, &error));
  kabi_config_free(config);
  CHECK(kabi_producer_topic(producer, TOPIC, topic, &error));
  return producer;
}

static void set_header(kabi_header_t *header, const char *name, const char *value) {
  header->name = name;
  header->name_length = (int64_t)strlen(name);
  header->value = value;
  header->value_length = (int64_t)strlen(value);
}

/* A batch of orders in one call. What it points to may be reused as soon as the call is back. */
static void send_batch(kabi_producer_t *producer, int32_t topic, uint64_t first) {
  static order_t orders[BATCH];
  static kabi_header_t headers[BATCH][2];
  static kabi_message_t messages[BATCH];
  kabi_error_t error = KABI_ERROR_INIT;
  size_t accepted;
  for (size_t i = 0; i < BATCH; i++) {
    make_order(first + i, &orders[i]);
    set_header(&headers[i][0], "source", orders[i].source);
    set_header(&headers[i][1], "trace", orders[i].trace);
    messages[i].topic = topic;
    messages[i].partition = KABI_PARTITION_ANY; /* the key decides */
    messages[i].key = orders[i].key;
    messages[i].key_length = orders[i].key_length;
    messages[i].value = orders[i].value;
    messages[i].value_length = orders[i].value_length;
    messages[i].headers = headers[i];
    messages[i].header_count = 2;
    messages[i].token = first + i; /* comes back in the report */
  }
  CHECK(kabi_producer_send_many(producer, messages, BATCH, PATIENCE_MS, NULL, &accepted, &error));
}

static void send_orders(kabi_cluster_t *cluster, const char *bootstrap, story_t *story) {
  kabi_error_t error = KABI_ERROR_INIT;
  int32_t topic;
  size_t count;
  double began = milliseconds();
  CHECK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, NOT_ENOUGH_REPLICAS, REFUSALS, &error));
  print_step("trouble", began, "the first %d writes will be refused, on purpose", REFUSALS);

  began = milliseconds();
  kabi_producer_t *producer = make_producer(bootstrap, story, &topic);
  for (uint64_t first = 0; first < ORDERS; first += BATCH) send_batch(producer, topic, first);
  double took = milliseconds() - began;
  print_step("send", began, "%s orders in %d calls, %s a second", grouped(ORDERS), ORDERS / BATCH,
             grouped((int64_t)(ORDERS / took * 1e3)));

  began = milliseconds();
  double deadline = began + PATIENCE_MS;
  while (story->delivered + story->failed < ORDERS && milliseconds() < deadline) {
    CHECK(kabi_producer_poll(producer, 1000, &count, &error));
  }
  print_step("reports", began, "%s delivered, %s failed, in %s calls of a handler",
             grouped((int64_t)story->delivered), grouped((int64_t)story->failed), grouped((int64_t)story->calls));
  CHECK(kabi_producer_close(producer, PATIENCE_MS, NULL, &error));
  kabi_producer_free(producer);
}

static kabi_consumer_t *join_group(const char *bootstrap) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_config_t *config;
  kabi_consumer_t *consumer;
  const char *topics[] = {TOPIC};
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_set(config, "bootstrap.servers", bootstrap, &error));
  CHECK(kabi_config_set(config, "group.id", GROUP, &error));
  CHECK(kabi_config_set(config, "auto.offset.reset", "earliest", &error));
  CHECK(kabi_config_set(config, "enable.partition.eof", "true", &error)); /* an entry at each partition's end */
  CHECK(kabi_consumer_new(config, &consumer, &error));
  kabi_config_free(config);
  CHECK(kabi_consumer_subscribe(consumer, topics, 1, &error));
  return consumer;
}

static void keep_sample(story_t *story, const kabi_record_t *record, const kabi_header_t *headers, size_t count) {
  int used = snprintf(story->sample, sizeof story->sample, "partition %" PRId32 ", offset %" PRId64 ", key %.*s",
                      record->partition, record->offset, (int)record->key_length, (const char *)record->key);
  for (size_t i = 0; i < count && used < (int)sizeof story->sample; i++) {
    used += snprintf(story->sample + used, sizeof story->sample - used, ", %.*s %.*s", (int)headers[i].name_length,
                     headers[i].name, (int)headers[i].value_length, (const char *)headers[i].value);
  }
  if (used < (int)sizeof story->sample) {
    snprintf(story->sample + used, sizeof story->sample - used, "\n    %.*s", (int)record->value_length,
             (const char *)record->value);
  }
}

static int same(const void *data, int64_t length, const char *expected, int64_t expected_length) {
  return length == expected_length && data != NULL && memcmp(data, expected, (size_t)length) == 0;
}

/* Is this the record that was sent: key, value and headers byte for byte, not seen before, in its partition's order? */
static int is_right(story_t *story, const kabi_record_t *record, const kabi_header_t *headers, size_t count) {
  order_t order;
  uint64_t number;
  char start[40] = {0};
  partition_t *partition = &story->partitions[record->partition];
  if (record->value == NULL || record->value_length < 10) return 0;
  size_t length = record->value_length < 39 ? (size_t)record->value_length : 39;
  memcpy(start, record->value, length);
  if (sscanf(start, "{\"order\":%" SCNu64, &number) != 1 || number >= ORDERS || story->seen[number]) return 0;
  make_order(number, &order);
  story->seen[number] = 1;
  int in_order = (int64_t)number > partition->last_order && record->offset == partition->last + 1;
  partition->last_order = (int64_t)number;
  return in_order && same(record->key, record->key_length, order.key, order.key_length) &&
         same(record->value, record->value_length, order.value, order.value_length) && count == 2 &&
         same(headers[0].name, headers[0].name_length, "source", 6) &&
         same(headers[0].value, headers[0].value_length, order.source, (int64_t)strlen(order.source)) &&
         same(headers[1].value, headers[1].value_length, order.trace, 16);
}

static void take_record(story_t *story, kabi_batch_t *batch, size_t index, const kabi_record_t *record) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_header_t headers[2];
  size_t count;
  partition_t *partition = &story->partitions[record->partition];
  CHECK(kabi_batch_headers(batch, index, headers, 2, &count, &error));
  if (!is_right(story, record, headers, count)) story->wrong++;
  if (story->read++ == 0) keep_sample(story, record, headers, count);
  if (partition->read++ == 0) partition->first = record->offset;
  partition->last = record->offset;
}

/* Reads until every partition has said that its end is reached. */
static void read_to_the_end(kabi_consumer_t *consumer, story_t *story) {
  kabi_error_t error = KABI_ERROR_INIT;
  uint8_t ended[PARTITIONS] = {0};
  int at_end = 0;
  double deadline = milliseconds() + PATIENCE_MS;
  while (at_end < PARTITIONS && milliseconds() < deadline) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    CHECK(kabi_consumer_poll(consumer, BATCH, 1000, &batch, &info, &error));
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      if (record->partition < 0 || record->partition >= PARTITIONS) continue;
      if (record->code == KABI_STATUS_OK) take_record(story, batch, i, record);
      if (record->code == KABI_STATUS_PARTITION_EOF && !ended[record->partition]++) at_end++;
    }
    if (info.count > 0) {
      story->batches++;
      CHECK(kabi_consumer_handled(consumer, info.number, info.count, &error));
    }
    kabi_batch_free(batch);
  }
}

static void commit_and_look(kabi_consumer_t *consumer, story_t *story) {
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_partition_t partitions[PARTITIONS];
  int32_t topic;
  CHECK(kabi_consumer_commit(consumer, NULL, 0, PATIENCE_MS, &error)); /* everything handled */
  CHECK(kabi_consumer_topic(consumer, TOPIC, &topic, &error));
  memset(partitions, 0, sizeof partitions);
  for (int32_t i = 0; i < PARTITIONS; i++) {
    partitions[i].topic = topic;
    partitions[i].partition = i;
  }
  CHECK(kabi_consumer_committed(consumer, partitions, PARTITIONS, PATIENCE_MS, NULL, 0, NULL, &error));
  for (int32_t i = 0; i < PARTITIONS; i++) story->partitions[i].committed = partitions[i].offset;
}

static void read_orders(const char *bootstrap, story_t *story) {
  kabi_error_t error = KABI_ERROR_INIT;
  double began = milliseconds();
  kabi_consumer_t *consumer = join_group(bootstrap);
  read_to_the_end(consumer, story);
  print_step("read", began, "%s records in %s batches, by group \"%s\"", grouped((int64_t)story->read),
             grouped((int64_t)story->batches), GROUP);

  began = milliseconds();
  commit_and_look(consumer, story);
  print_step("commit", began, "everything handled; then asked what the cluster keeps");

  began = milliseconds();
  CHECK(kabi_consumer_close(consumer, PATIENCE_MS, &error));
  kabi_consumer_free(consumer);
  print_step("leave", began, "the consumer left its group");
}

/* ---- the picture and the verdict ---- */

static void print_partitions(const story_t *story) {
  int64_t most = 1;
  for (int i = 0; i < PARTITIONS; i++) {
    if (story->partitions[i].read > most) most = story->partitions[i].read;
  }
  printf("\n  %spartition   delivered       read   offsets read   committed%s\n", dim(), plain());
  for (int i = 0; i < PARTITIONS; i++) {
    const partition_t *partition = &story->partitions[i];
    char offsets[48] = "none";
    if (partition->read > 0) {
      snprintf(offsets, sizeof offsets, "%s-%s", grouped(partition->first), grouped(partition->last));
    }
    printf("  %9d %11s %10s %14s %11s  ", i, grouped(partition->delivered), grouped(partition->read), offsets,
           grouped(partition->committed));
    print_bar(partition->read, most, 16);
    putchar('\n');
  }
  printf("\n  %sone order, as it came back%s\n    %s\n", dim(), plain(), story->sample);
}

static int everything_came_back(const story_t *story) {
  int right = story->delivered == ORDERS && story->read == ORDERS && story->wrong == 0;
  for (int i = 0; i < PARTITIONS; i++) {
    const partition_t *partition = &story->partitions[i];
    right = right && partition->read == partition->delivered && partition->committed == partition->last + 1;
  }
  return right;
}

int main(void) {
  static story_t story;
  kabi_error_t error = KABI_ERROR_INIT;
  char bootstrap[256];
  double began = milliseconds();
  for (int i = 0; i < PARTITIONS; i++) story.partitions[i].last = story.partitions[i].last_order = -1;

  look_at_terminal();
  printf("%skafkabi %s%s %son librdkafka %s%s\n\n", bold(), kabi_version(), plain(), dim(), kabi_librdkafka_version(),
         plain());
  kabi_cluster_t *cluster = start_cluster(bootstrap, sizeof bootstrap);
  send_orders(cluster, bootstrap, &story);
  read_orders(bootstrap, &story);

  double closing = milliseconds();
  kabi_cluster_free(cluster);
  CHECK(kabi_shutdown(PATIENCE_MS, &error));
  print_step("close", closing, "the cluster and all threads are gone");

  print_partitions(&story);
  int right = everything_came_back(&story);
  printf("\n  %s%s%s %s of %s orders came back once, unchanged and in order, in %.1f s\n", right ? green() : red(),
         right ? "ok" : "WRONG", plain(), grouped((int64_t)(story.read - story.wrong)), grouped(ORDERS),
         (milliseconds() - began) / 1e3);
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
