/* Which partition a record goes to, and how its batch is packed: every value of the properties partitioner,
   compression.codec and compression.level. */
#include "harness.h"

enum { PARTITIONS = 7 };

static kabi_cluster_t *cluster;

/* ---- hashes, written anew from their definitions ---- */

/* Murmur2 as org.apache.kafka.common.utils.Utils has it. */
static int32_t murmur2(const char *bytes, size_t length) {
  const uint32_t m = 0x5bd1e995;
  uint32_t h = 0x9747b28c ^ (uint32_t)length;
  size_t i = 0;
  for (; i + 4 <= length; i += 4) {
    uint32_t k = 0;
    for (int b = 3; b >= 0; b--) k = k << 8 | (uint8_t)bytes[i + (size_t)b];
    k *= m;
    k ^= k >> 24;
    h = h * m ^ k * m;
  }
  if (i < length) {
    uint32_t rest = 0;
    for (size_t b = length; b > i; b--) rest = rest << 8 | (uint8_t)bytes[b - 1];
    h = (h ^ rest) * m;
  }
  h = (h ^ h >> 13) * m;
  return (int32_t)(h ^ h >> 15);
}

static int32_t java_partition(const char *key, size_t length) { return (murmur2(key, length) & 0x7fffffff) % PARTITIONS; }

static uint32_t crc32(const char *bytes, size_t length) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < length; i++) {
    crc ^= (uint8_t)bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

static int32_t crc_partition(const char *key, size_t length) { return (int32_t)(crc32(key, length) % PARTITIONS); }

static int32_t fnv_partition(const char *key, size_t length) {
  uint32_t h = 0x811c9dc5;
  for (size_t i = 0; i < length; i++) h = (h ^ (uint8_t)key[i]) * 0x01000193;
  int64_t signed_hash = (int32_t)h;
  return (int32_t)((signed_hash < 0 ? -signed_hash : signed_hash) % PARTITIONS);
}

/* Published in Apache Kafka's UtilsTest. */
static const struct { const char *key; int32_t hash; } VECTORS[] = {
    {"21", -973932308},
    {"foobar", -790332482},
    {"a-little-bit-long-string", -985981536},
    {"a-little-bit-longer-string", -1486304829},
    {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
    {"abc", 479470107},
};
enum { VECTORS_COUNT = sizeof VECTORS / sizeof VECTORS[0], MORE = 200, KEYS = VECTORS_COUNT + MORE };

static size_t key_of(int i, char *into) {
  if (i < VECTORS_COUNT) return (size_t)sprintf(into, "%s", VECTORS[i].key);
  size_t length = (size_t)(i % 23);
  for (size_t b = 0; b < length; b++) into[b] = (char)(i * 31 + (int)b * 7); /* any bytes, the empty key too */
  return length;
}

TEST(murmur2_is_javas) {
  for (int i = 0; i < VECTORS_COUNT; i++) CHECK_EQ(VECTORS[i].hash, murmur2(VECTORS[i].key, strlen(VECTORS[i].key)));
}

/* ---- partitioners ---- */

/* Sends each key twice and one null key many times. Where they went is in `of`, and of null keys in `nulls`. */
static void send_keys(const char *partitioner, int32_t (*of)[2], int *nulls) {
  static kabi_event_t reports[2 * KEYS + 200];
  enum { ALL = 2 * KEYS + 200 };
  cluster = new_cluster(1);
  new_topic(cluster, "t", PARTITIONS);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "partitioner", partitioner, "sticky.partitioning.linger.ms", "0", NULL);
  int32_t topic = topic_of(producer, "t");
  for (int i = 0; i < ALL; i++) {
    char key[64];
    kabi_message_t message = message_of(topic, KABI_PARTITION_ANY, NULL, "v");
    message.token = (uint64_t)i;
    if (i < 2 * KEYS) {
      message.key_length = (int64_t)key_of(i % KEYS, key);
      message.key = key;
    }
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
  MUST(drain_reports(producer, reports, ALL) == ALL);
  memset(nulls, 0, PARTITIONS * sizeof *nulls);
  for (int i = 0; i < ALL; i++) {
    int32_t partition = reports[i].partition;
    MUST(reports[i].code == 0 && partition >= 0 && partition < PARTITIONS);
    int token = (int)reports[i].token;
    if (token < 2 * KEYS) of[token % KEYS][token / KEYS] = partition;
    else nulls[partition]++;
  }
  close_producer(producer);
  kabi_cluster_free(cluster);
}

static void check_partitioner(const char *partitioner, int32_t (*hash)(const char *, size_t), int nulls_spread) {
  static int32_t of[KEYS][2];
  int nulls[PARTITIONS], used = 0;
  send_keys(partitioner, of, nulls);
  for (int i = 0; i < KEYS; i++) {
    char key[64];
    size_t length = key_of(i, key);
    if (hash == NULL) continue;
    CHECK_EQ(of[i][0], of[i][1]);
    /* Partitioners that spread null keys take an empty one for null, but for murmur2's. */
    if (length > 0) CHECK_EQ(hash(key, length), of[i][0]);
  }
  for (int p = 0; p < PARTITIONS; p++) used += nulls[p] > 0;
  CHECK(nulls_spread ? used == PARTITIONS : used == 1);
}

TEST(partitioner_murmur2) { check_partitioner("murmur2", java_partition, 0); }
TEST(partitioner_murmur2_random) { check_partitioner("murmur2_random", java_partition, 1); }
TEST(partitioner_consistent) { check_partitioner("consistent", crc_partition, 0); }
TEST(partitioner_fnv1a) { check_partitioner("fnv1a", fnv_partition, 0); }
TEST(partitioner_fnv1a_random) { check_partitioner("fnv1a_random", fnv_partition, 1); }
TEST(partitioner_random) { check_partitioner("random", NULL, 1); }

/* The default: by hash where there is a key, an empty one counting for none. */
TEST(partitioner_consistent_random) {
  static int32_t of[KEYS][2];
  int nulls[PARTITIONS], used = 0;
  send_keys("consistent_random", of, nulls);
  for (int i = 0; i < KEYS; i++) {
    char key[64];
    size_t length = key_of(i, key);
    if (length > 0) CHECK(of[i][0] == crc_partition(key, length) && of[i][1] == of[i][0]);
  }
  for (int p = 0; p < PARTITIONS; p++) used += nulls[p] > 0;
  CHECK_EQ(PARTITIONS, used);
}

TEST(unknown_partitioners_are_refused) {
  kabi_config_t *config = new_config(NOWHERE, NULL);
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "partitioner", "murmur3", ERR));
  CHECK(has(last_error()->message, "murmur2_random"));
  kabi_config_free(config);
}

TEST(a_records_own_partition_goes_before_the_partitioner) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", PARTITIONS);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "partitioner", "murmur2", NULL);
  kabi_message_t messages[PARTITIONS];
  kabi_event_t reports[PARTITIONS + 1];
  kabi_status_t statuses[PARTITIONS];
  size_t accepted = 0;
  for (int p = 0; p < PARTITIONS; p++) {
    messages[p] = message_of(topic_of(producer, "t"), p, "the same", "v");
    messages[p].token = (uint64_t)p;
  }
  OK(kabi_producer_send_many(producer, messages, PARTITIONS, patience(10000), statuses, &accepted, ERR));
  MUST(drain_reports(producer, reports, PARTITIONS) == PARTITIONS);
  for (int i = 0; i < PARTITIONS; i++) CHECK(reports[i].code == 0 && reports[i].partition == (int32_t)reports[i].token);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* ---- codecs ---- */

static void round_trip(const char *codec, const char *level) {
  enum { COUNT = 500, SIZE = 300 };
  static kabi_event_t reports[COUNT];
  char value[SIZE];
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "compression.codec", codec, "compression.level", level, "linger.ms", "50", NULL);
  for (int i = 0; i < COUNT; i++) {
    memset(value, 'a' + i % 26, SIZE);
    value[i % SIZE] = 0;
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, NULL);
    message.value = value;
    message.value_length = SIZE;
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
  MUST(drain_reports(producer, reports, COUNT) == COUNT);
  for (int i = 0; i < COUNT; i++) MUST(reports[i].code == 0);
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  for (int at = 0; at < COUNT;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, COUNT, &batch, &info);
    for (size_t i = 0; i < info.count; i++, at++) {
      memset(value, 'a' + at % 26, SIZE);
      value[at % SIZE] = 0;
      MUST(info.records[i].code == 0 && info.records[i].value_length == SIZE && memcmp(info.records[i].value, value, SIZE) == 0);
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

TEST(codec_none) { round_trip("none", "-1"); }
TEST(codec_snappy) { round_trip("snappy", "-1"); }
TEST(codec_gzip_at_every_end) { round_trip("gzip", "-1"), round_trip("gzip", "0"), round_trip("gzip", "9"); }
TEST(codec_lz4_at_every_end) { round_trip("lz4", "-1"), round_trip("lz4", "0"), round_trip("lz4", "12"); }
TEST(codec_zstd_at_every_end) { round_trip("zstd", "-1"), round_trip("zstd", "1"), round_trip("zstd", "12"); }
