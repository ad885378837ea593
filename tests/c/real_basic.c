/* Records to a real broker and back: parts that are null or empty, headers, timestamps, codecs, ends of partitions, and
   commits with metadata. Profiles: single */
#include "real.h"
#include "runs.h"

typedef struct part_t {
  const char *bytes; /* NULL is null */
  int64_t length;
} part_t;

static int same(part_t want, const void *bytes, int64_t length) {
  if (want.bytes == NULL || bytes == NULL) return want.bytes == bytes && length == 0;
  return length == want.length && memcmp(bytes, want.bytes, (size_t)length) == 0;
}

static const part_t PARTS[] = {{NULL, 0}, {"", 0}, {"\0a\0\xff\n", 5}, {"text", 4}};
enum { PARTS_COUNT = sizeof PARTS / sizeof *PARTS };

/* Header lists, the empty one first. */
#define HEADER(name, value, length) {name, sizeof name - 1, value, length}
static const kabi_header_t LISTS[][4] = {
    {HEADER("", NULL, 0)},
    {HEADER("null", NULL, 0)},
    {HEADER("empty", "", 0), HEADER("null", NULL, 0)},
    {HEADER("twice", "1", 1), HEADER("twice", "2", 1), HEADER("bytes", "\0\xff\0", 3), HEADER("\xc3\xa9", "x", 1)},
};
static const size_t LISTS_LENGTH[] = {0, 1, 2, 4};
enum { LISTS_COUNT = 4 };

static void check_headers(kabi_batch_t *batch, size_t index, const kabi_header_t *want, size_t count) {
  kabi_header_t headers[8];
  size_t got = 99;
  OK(kabi_batch_headers(batch, index, headers, 8, &got, ERR));
  CHECK_EQ(count, got);
  for (size_t i = 0; i < count && i < got; i++) {
    part_t value = {(const char *)want[i].value, want[i].value_length};
    CHECK_TEXT(want[i].name, headers[i].name);
    CHECK_EQ(want[i].name_length, headers[i].name_length);
    CHECK(same(value, headers[i].value, headers[i].value_length));
  }
}

/* Every combination of key, value and headers, in one partition, in order. */
static void send_combinations(kabi_producer_t *producer, int32_t topic) {
  uint64_t token = 0;
  for (int key = 0; key < PARTS_COUNT; key++)
    for (int value = 0; value < PARTS_COUNT; value++)
      for (int list = 0; list < LISTS_COUNT; list++) {
        kabi_message_t message = message_of(topic, 0, NULL, NULL);
        message.key = PARTS[key].bytes;
        message.key_length = PARTS[key].length;
        message.value = PARTS[value].bytes;
        message.value_length = PARTS[value].length;
        message.headers = LISTS_LENGTH[list] > 0 ? LISTS[list] : NULL;
        message.header_count = LISTS_LENGTH[list];
        message.timestamp = 1600000000000 + (int64_t)token;
        message.token = token++;
        MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
      }
}

TEST(null_and_empty_parts_come_back_as_they_were) {
  enum { COUNT = PARTS_COUNT * PARTS_COUNT * LISTS_COUNT };
  const char *name = fresh("parts");
  kabi_event_t reports[COUNT];
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  send_combinations(producer, topic_of(producer, name));
  CHECK_EQ(COUNT, drain_reports(producer, reports, COUNT));
  check_tokens(reports, COUNT, 0, 0);
  for (int i = 0; i < COUNT; i++) {
    CHECK_EQ(reports[i].token, reports[i].offset);
    CHECK_EQ(KABI_PERSISTED_YES, reports[i].persisted);
    CHECK_EQ(1600000000000 + i, reports[i].timestamp);
  }
  close_producer(producer);

  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, NULL);
  assign(consumer, name, 0, KABI_OFFSET_BEGINNING);
  int at = 0;
  while (at < COUNT) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, COUNT, &batch, &info);
    for (size_t i = 0; i < info.count; i++, at++) {
      const kabi_record_t *record = &info.records[i];
      CHECK_EQ(0, record->code);
      CHECK_EQ(at, record->offset);
      CHECK_EQ(1600000000000 + at, record->timestamp);
      CHECK_EQ(KABI_TIMESTAMP_CREATE, record->timestamp_type);
      CHECK_EQ(0, record->leader_epoch);
      CHECK(same(PARTS[at / (PARTS_COUNT * LISTS_COUNT)], record->key, record->key_length));
      CHECK(same(PARTS[at / LISTS_COUNT % PARTS_COUNT], record->value, record->value_length));
      check_headers(batch, i, LISTS[at % LISTS_COUNT], LISTS_LENGTH[at % LISTS_COUNT]);
    }
    kabi_batch_free(batch);
  }
  CHECK_EQ(COUNT, at);
  close_consumer(consumer);
}

/* Packed from topic to topic, as one who copies a topic does, keeps all of them too. */
TEST(packed_copies_keep_every_part) {
  enum { COUNT = PARTS_COUNT * PARTS_COUNT * LISTS_COUNT };
  static union { uint64_t align; uint8_t bytes[1 << 16]; } first, second;
  const char *from = fresh("from"), *to = fresh("to");
  kabi_event_t reports[COUNT];
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  send_combinations(producer, topic_of(producer, from));
  CHECK_EQ(COUNT, drain_reports(producer, reports, COUNT));
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, NULL);
  size_t sizes[2] = {0, 0};
  for (int copy = 0; copy < 2; copy++) {
    uint8_t *bytes = copy == 0 ? first.bytes : second.bytes;
    assign(consumer, copy == 0 ? from : to, 0, KABI_OFFSET_BEGINNING);
    for (size_t have = 0; have < COUNT;) {
      kabi_batch_info_t info;
      memset(&info, 0, sizeof info);
      MUST_OK(kabi_consumer_poll_packed(consumer, COUNT, 10000, bytes + sizes[copy], sizeof first.bytes - sizes[copy], &info, ERR));
      MUST(info.count > 0);
      have += info.count;
      sizes[copy] += info.size;
    }
    size_t accepted = 0;
    if (copy == 0) {
      MUST_OK(kabi_producer_send_packed(producer, bytes, sizes[0], COUNT, topic_of(producer, to), 0, 10000, NULL, &accepted, ERR));
      CHECK_EQ(COUNT, accepted);
      CHECK_EQ(COUNT, drain_reports(producer, reports, COUNT));
    }
  }
  CHECK_EQ(sizes[0], sizes[1]);
  for (size_t at = 0; at < sizes[0];) {
    kabi_packed_t *a = (kabi_packed_t *)(void *)(first.bytes + at), *b = (kabi_packed_t *)(void *)(second.bytes + at);
    CHECK_EQ(a->offset, b->offset);
    CHECK_EQ(a->timestamp, b->timestamp);
    b->topic = a->topic;
    MUST(a->size > 0 && memcmp(a, b, a->size) == 0);
    at += a->size;
  }
  close_consumer(consumer);
  close_producer(producer);
}

TEST(log_append_topics_have_the_brokers_time) {
  const char *name = fresh("append");
  real_topic("single", name, 1, "message.timestamp.type=LogAppendTime", NULL);
  struct timespec clock;
  clock_gettime(CLOCK_REALTIME, &clock);
  int64_t now = (int64_t)clock.tv_sec * 1000;
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  kabi_message_t message = message_of(topic_of(producer, name), 0, NULL, "0");
  message.timestamp = 12345;
  kabi_event_t report;
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  MUST(drain_reports(producer, &report, 1) == 1);
  CHECK_EQ(0, report.code);
  CHECK(report.timestamp >= now - 1000 && report.timestamp < now + patience(60000));
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, NULL);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  assign(consumer, name, 0, KABI_OFFSET_BEGINNING);
  take_batch(consumer, 1, &batch, &info);
  CHECK_EQ(KABI_TIMESTAMP_LOG_APPEND, info.records[0].timestamp_type);
  CHECK_EQ(report.timestamp, info.records[0].timestamp);
  kabi_batch_free(batch);
  close_consumer(consumer);
}

/* The broker's time is one for a whole message set, which it writes over the compressed set's own. */
TEST(log_append_topics_have_the_brokers_time_in_compressed_sets) {
  enum { CODECS = 5, COUNT = 200 };
  static const char *const codecs[CODECS] = {"none", "gzip", "snappy", "lz4", "zstd"};
  const char *name = fresh("append");
  kabi_event_t reports[COUNT];
  int64_t times[CODECS][COUNT];
  real_topic("single", name, CODECS, "message.timestamp.type=LogAppendTime", NULL);
  for (int32_t partition = 0; partition < CODECS; partition++) {
    kabi_producer_t *producer = new_producer(SINGLE, "compression.codec", codecs[partition], "linger.ms", "20", NULL);
    int32_t topic = topic_of(producer, name);
    for (int i = 0; i < COUNT; i++) {
      kabi_message_t message = message_of(topic, partition, NULL, "a text that is the same in each of them");
      message.timestamp = 1000 + i;
      message.token = (uint64_t)i;
      MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
    }
    MUST(drain_reports(producer, reports, COUNT) == COUNT);
    check_tokens(reports, COUNT, 0, 0);
    for (int i = 0; i < COUNT; i++) times[partition][reports[i].offset] = reports[i].timestamp;
    close_producer(producer);
  }
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, "check.crcs", "true", NULL);
  for (int32_t partition = 0; partition < CODECS; partition++) {
    assign(consumer, name, partition, KABI_OFFSET_BEGINNING);
    for (int at = 0; at < COUNT;) {
      kabi_batch_t *batch;
      kabi_batch_info_t info;
      take_batch(consumer, COUNT, &batch, &info);
      for (size_t i = 0; i < info.count; i++, at++) {
        MUST(info.records[i].code == 0 && info.records[i].offset == at);
        CHECK_EQ(KABI_TIMESTAMP_LOG_APPEND, info.records[i].timestamp_type);
        CHECK_EQ(times[partition][at], info.records[i].timestamp);
        CHECK(info.records[i].timestamp > 1600000000000);
      }
      kabi_batch_free(batch);
    }
  }
  close_consumer(consumer);
}

/* Large enough for several message sets, compressible, and different in each record; the times go up and down. */
static int64_t codec_time(int i) { return 1600000000000 + i * 10 - (i % 3 == 1 ? 5000 : 0); }


static void codec(const char *codec, const char *level) {
  enum { COUNT = 2000, SIZE = 600 };
  const char *name = fresh(codec);
  char value[SIZE + 1];
  static kabi_event_t reports[COUNT];
  kabi_producer_t *producer = new_producer(SINGLE, "compression.codec", codec, "compression.level", level, "linger.ms", "20", NULL);
  int32_t topic = topic_of(producer, name);
  for (int i = 0; i < COUNT; i++) {
    memset(value, 'a' + i % 26, SIZE);
    snprintf(value, SIZE, "%d", i);
    value[strlen(value)] = '-';
    kabi_message_t message = message_of(topic, 0, NULL, NULL);
    message.value = value;
    message.value_length = SIZE;
    message.token = (uint64_t)i;
    message.timestamp = codec_time(i);
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  }
  CHECK_EQ(COUNT, drain_reports(producer, reports, COUNT));
  check_tokens(reports, COUNT, 0, 0);
  for (int i = 0; i < COUNT; i++) CHECK_EQ(codec_time((int)reports[i].token), reports[i].timestamp);
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, "check.crcs", "true", NULL);
  assign(consumer, name, 0, KABI_OFFSET_BEGINNING);
  for (int at = 0; at < COUNT;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, COUNT, &batch, &info);
    for (size_t i = 0; i < info.count; i++, at++) {
      memset(value, 'a' + at % 26, SIZE);
      snprintf(value, SIZE, "%d", at);
      value[strlen(value)] = '-';
      MUST(info.records[i].code == 0 && info.records[i].value_length == SIZE);
      MUST(memcmp(info.records[i].value, value, SIZE) == 0);
      CHECK_EQ(KABI_TIMESTAMP_CREATE, info.records[i].timestamp_type);
      CHECK_EQ(codec_time(at), info.records[i].timestamp);
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
}

TEST(codec_none) { codec("none", "-1"); }
TEST(codec_gzip) { codec("gzip", "9"); }
TEST(codec_snappy) { codec("snappy", "0"); }
TEST(codec_lz4) { codec("lz4", "12"); }
TEST(codec_zstd) { codec("zstd", "12"); }

/* The broker refuses a record of an idempotent producer that comes before its time. */
TEST(threads_send_runs_in_order) {
  const char *name = fresh("runs");
  real_topic("single", name, RUN_PARTITIONS, NULL);
  kabi_producer_t *producer = new_producer(SINGLE, "linger.ms", "1", NULL);
  runs_of_threads(producer, topic_of(producer, name), scaled(RUNS_MAX, 10));
  close_producer(producer);
}

TEST(the_end_of_a_partition_comes_once_each_time_it_is_reached) {
  const char *name = fresh("eof");
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, "enable.partition.eof", "true", NULL);
  fill(producer, name, 0, 0, 3);
  assign(consumer, name, 0, KABI_OFFSET_BEGINNING);
  for (int round = 0; round < 2; round++) {
    int records = 0, ends = 0;
    while (ends == 0) {
      kabi_batch_t *batch;
      kabi_batch_info_t info;
      take_batch(consumer, 10, &batch, &info);
      for (size_t i = 0; i < info.count; i++) {
        const kabi_record_t *record = &info.records[i];
        if (record->code == 0) records++;
        else if (GIVES(KABI_STATUS_PARTITION_EOF, record->code)) ends++;
        if (record->code != 0) CHECK_EQ(round == 0 ? 3 : 5, record->offset);
      }
      kabi_batch_free(batch);
    }
    CHECK_EQ(round == 0 ? 3 : 2, records);
    CHECK_EQ(1, ends);
    poll_empty(consumer, 300); /* not again while nothing new comes */
    if (round == 0) fill(producer, name, 0, 3, 2);
  }
  close_consumer(consumer);
  close_producer(producer);
}

TEST(committed_metadata_keeps_its_bytes) {
  const char *name = fresh("meta"), *group = fresh("group");
  real_topic("single", name, 4, NULL);
  kabi_consumer_t *consumer = new_consumer(SINGLE, group, "enable.auto.commit", "false", NULL);
  int32_t topic = consumer_topic_of(consumer, name);
  kabi_partition_t list[4], got[4];
  uint8_t bytes[256];
  size_t used = 0;
  for (int i = 0; i < 4; i++) {
    list[i] = partition_of(topic, i, 10 + i);
    list[i].metadata = (const uint8_t *)PARTS[i].bytes;
    list[i].metadata_length = PARTS[i].length;
    got[i] = partition_of(topic, i, 0);
  }
  OK(kabi_consumer_committed(consumer, got, 4, 20000, bytes, sizeof bytes, &used, ERR));
  for (int i = 0; i < 4; i++) CHECK_EQ(KABI_OFFSET_INVALID, got[i].offset);
  /* The protocol makes it a string: bytes that are not UTF-8 don't come through a broker. */
  list[2].metadata = (const uint8_t *)"\0a\0b";
  list[2].metadata_length = 4;
  OK(kabi_consumer_commit(consumer, list, 4, 20000, ERR));
  for (int i = 0; i < 4; i++) CHECK_EQ(0, list[i].code);
  close_consumer(consumer);

  kabi_consumer_t *other = new_consumer(SINGLE, group, NULL);
  topic = consumer_topic_of(other, name);
  for (int i = 0; i < 4; i++) got[i] = partition_of(topic, i, 0);
  OK(kabi_consumer_committed(other, got, 4, 20000, bytes, sizeof bytes, &used, ERR));
  for (int i = 0; i < 4; i++) {
    part_t want = {(const char *)list[i].metadata, list[i].metadata_length};
    if (i == 1) want = PARTS[0]; /* Kafka keeps a null as an empty text, and librdkafka reads that as none */
    CHECK_EQ(10 + i, got[i].offset);
    CHECK_EQ(0, got[i].code);
    if (!CHECK(same(want, got[i].metadata, got[i].metadata_length)))
      note("partition %d: %s of %" PRId64 " bytes", i, got[i].metadata == NULL ? "null" : "metadata", got[i].metadata_length);
  }
  close_consumer(other);
}

/* ---- by time ---- */

/* Ten records at 1000, 1010, ... 1090 milliseconds after `base`; each in a set of its own, or all in one that is compressed. */
static void fill_times(const char *name, int32_t partition, int64_t base, int in_one_set) {
  kabi_event_t reports[10];
  kabi_producer_t *producer = in_one_set ? new_producer(SINGLE, "compression.codec", "lz4", "linger.ms", "50", NULL) : new_producer(SINGLE, NULL);
  for (int i = 0; i < 10; i++) {
    char value[16];
    snprintf(value, sizeof value, "%d", i);
    kabi_message_t message = message_of(topic_of(producer, name), partition, NULL, value);
    message.timestamp = base + 1000 + i * 10;
    message.token = (uint64_t)i;
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
    if (!in_one_set) MUST(drain_reports(producer, &reports[i], 1) == 1);
  }
  if (in_one_set) MUST(drain_reports(producer, reports, 10) == 10);
  check_tokens(reports, 10, 0, 0);
  close_producer(producer);
}

TEST(offsets_are_found_by_time) {
  const char *name = fresh("times");
  const int64_t base = 1600000000000;
  real_topic("single", name, 3, NULL);
  fill_times(name, 0, base, 0);
  fill_times(name, 1, base, 1); /* the third stays empty */
  static const struct { int64_t time, offset; } asked[] = {
      {0, 0}, {999, 0}, {1000, 0}, {1001, 1}, {1010, 1}, {1045, 5}, {1050, 5}, {1090, 9}, {1091, KABI_OFFSET_END}, {5000, KABI_OFFSET_END}};
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, NULL);
  int32_t topic = consumer_topic_of(consumer, name);
  kabi_partition_t list[4];
  for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
    for (int32_t p = 0; p < 3; p++) list[p] = partition_of(topic, p, base + asked[i].time);
    OK(kabi_consumer_offsets_for_times(consumer, list, 3, patience(20000), ERR));
    for (int p = 0; p < 3; p++) {
      CHECK_EQ(0, list[p].code);
      CHECK_EQ(p == 2 ? KABI_OFFSET_END : asked[i].offset, list[p].offset);
    }
  }
  /* A time of its own for each, and a partition that is not there. */
  list[0] = partition_of(topic, 1, base + 1085);
  list[1] = partition_of(topic, 0, base + 1005);
  OK(kabi_consumer_offsets_for_times(consumer, list, 2, patience(20000), ERR));
  CHECK_EQ(9, list[0].offset);
  CHECK_EQ(1, list[1].offset);
  list[0] = partition_of(topic, 0, base + 1005);
  list[1] = partition_of(topic, 7, base);
  GIVES(KABI_STATUS_UNKNOWN_PARTITION, kabi_consumer_offsets_for_times(consumer, list, 2, patience(20000), ERR));
  CHECK_EQ(0, list[0].code);
  CHECK_EQ(1, list[0].offset);
  CHECK_EQ(KABI_STATUS_UNKNOWN_PARTITION, list[1].code);
  GIVES(KABI_STATUS_UNKNOWN_PARTITION, kabi_consumer_offsets_for_times(consumer, &list[1], 1, patience(20000), ERR));
  close_consumer(consumer);
}

TEST(seeking_to_a_time_reads_from_there) {
  const char *name = fresh("seek");
  const int64_t base = 1600000000000;
  real_topic("single", name, 2, NULL);
  fill_times(name, 0, base, 0);
  fill_times(name, 1, base, 1);
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, NULL);
  int32_t topic = consumer_topic_of(consumer, name);
  kabi_partition_t list[2] = {partition_of(topic, 0, KABI_OFFSET_BEGINNING), partition_of(topic, 1, KABI_OFFSET_BEGINNING)};
  seen_t seen[20];
  MUST_OK(kabi_consumer_assign(consumer, list, 2, ERR));
  CHECK_EQ(20, take(consumer, seen, 20));
  static const int64_t times[][2] = {{1045, 1090}, {0, 1080}, {5000, 1000}};
  for (int round = 0; round < 3; round++) {
    int64_t next[2], want = 0;
    for (int p = 0; p < 2; p++) list[p] = partition_of(topic, p, base + times[round][p]);
    OK(kabi_consumer_seek_to_times(consumer, list, 2, patience(20000), ERR));
    for (int p = 0; p < 2; p++) {
      CHECK_EQ(0, list[p].code);
      int64_t place = times[round][p] > 1090 ? KABI_OFFSET_END : times[round][p] < 1000 ? 0 : (times[round][p] - 1000 + 9) / 10;
      CHECK_EQ(place, list[p].offset);
      next[p] = place == KABI_OFFSET_END ? 10 : place;
      want += 10 - next[p];
    }
    MUST((int64_t)take(consumer, seen, (size_t)want) == want);
    for (int i = 0; i < want; i++) CHECK_EQ(next[seen[i].partition]++, seen[i].offset);
    for (int p = 0; p < 2; p++) CHECK_EQ(10, next[p]);
    poll_empty(consumer, 300);
  }
  close_consumer(consumer);
}
