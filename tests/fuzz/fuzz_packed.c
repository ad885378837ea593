/* kabi_producer_send_packed with any bytes: never a read beyond the buffer, a status for each entry, and a report for exactly what was
   accepted. The producer has no broker; what it accepts is purged from time to time. */
#include "fuzz.h"

#include "../c/packing.h"

enum { HEAD = 4, ENTRIES_MAX = 64, BETWEEN_PURGES = 256 };

static kabi_producer_t *producer;
static int32_t topics[2];
static uint64_t accepted_in_all, runs;

static void start(void) {
  kabi_config_t *config = NULL;
  RULE(kabi_config_new(&config, NULL) == 0);
  RULE(kabi_config_set(config, "bootstrap.servers", "127.0.0.1:1", NULL) == 0);
  RULE(kabi_config_set(config, "kafkabi.log", "off", NULL) == 0);
  RULE(kabi_config_events(config, KABI_EVENT_REPORT, NULL) == 0);
  RULE(kabi_producer_new(config, &producer, NULL) == 0);
  RULE(kabi_producer_topic(producer, "one", &topics[0], NULL) == 0);
  RULE(kabi_producer_topic(producer, "two", &topics[1], NULL) == 0);
  kabi_config_free(config);
}

/* Gives up what waits; every accepted record is reported, once. */
static void settle(void) {
  static kabi_event_t events[1024];
  RULE(kabi_producer_purge(producer, KABI_PURGE_QUEUED | KABI_PURGE_IN_FLIGHT, NULL) == 0);
  while (accepted_in_all > 0) {
    size_t count = 0;
    RULE(kabi_producer_drain(producer, 20000, events, 1024, &count, NULL, 0, NULL, NULL) == 0);
    RULE(count > 0 && count <= accepted_in_all);
    accepted_in_all -= count;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (producer == NULL) start();
  if (size < HEAD) return 0;
  static const int32_t topic_choices[8] = {KABI_TOPIC_RECORD, KABI_TOPIC_RECORD, KABI_TOPIC_RECORD, KABI_TOPIC_RECORD, 0, 1, 2, -2};
  static const int32_t partition_choices[8] = {KABI_PARTITION_RECORD, KABI_PARTITION_RECORD, KABI_PARTITION_ANY, 0, 7, INT32_MAX, -3, INT32_MIN};
  size_t count = data[0] % (ENTRIES_MAX + 1), shift = data[3] % 16 == 0 ? data[3] / 16 % 8 : 0;
  int32_t topic = topic_choices[data[1] % 8], partition = partition_choices[data[2] % 8];
  data += HEAD;
  size -= HEAD;
  guarded_t guarded = guard(data, size);
  kabi_status_t statuses[ENTRIES_MAX];
  size_t accepted = 99, zeros = 0;
  if (shift > size) shift = size;
  for (size_t i = 0; i < count; i++) statuses[i] = 99;
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_status_t status = kabi_producer_send_packed(producer, guarded.bytes + shift, size - shift, count, topic, partition, 0, statuses, &accepted, &error);
  unguard(&guarded);
  for (size_t i = 0; i < count; i++) {
    RULE(statuses[i] != 99);
    zeros += statuses[i] == 0;
  }
  RULE(accepted == zeros && accepted <= count);
  RULE(status == error.code);
  RULE(status != 0 || accepted == count);
  RULE(memchr(error.message, 0, sizeof error.message) != NULL);
  RULE((status != 0) == (error.message[0] != 0));
  accepted_in_all += accepted;
  if (++runs % BETWEEN_PURGES == 0) settle();
  return 0;
}

size_t fuzz_seed(unsigned n, uint8_t *out) {
  static const packed_header_t headers[4] = {{"name", "value"}, {"null", NULL}, {"empty", ""}, {"\xe2\x82\xac", "\xff"}};
  static const char *const parts[3] = {NULL, "", "some bytes"};
  if (n >= 24) return 0;
  size_t size = HEAD, count = 1 + n % 4;
  out[0] = (uint8_t)count;
  out[1] = (uint8_t)(n % 8);
  out[2] = (uint8_t)(n / 3);
  out[3] = 1;
  for (size_t i = 0; i < count; i++)
    size += pack_record(out + size, (int32_t)(i % 2), (int32_t)i - 1, i, parts[(n + i) % 3], parts[n / 3 % 3], headers, (int32_t)((n + i) % 5));
  return size;
}
