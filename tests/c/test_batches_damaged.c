/* Record batches that are damaged, or can't be read here: what is passed over is told, and nothing else is passed. */
#include "batches.h"

static seen_t seen[1000];

/* Each spoils the record at offset 6 of 10, whose place is given, or the batch. */
typedef struct damage_t {
  const char *what;
  void (*spoil)(bytes_t *batch, size_t record);
  int whole; /* records before it that can be read */
} damage_t;

static void too_long(bytes_t *batch, size_t record) { batch->data[record] = 0x7e; } /* 63 bytes */
static void of_negative_length(bytes_t *batch, size_t record) { batch->data[record] = 0x01; }
static void without_end(bytes_t *batch, size_t record) { memset(batch->data + record, 0xff, 11); }
static void empty(bytes_t *batch, size_t record) { batch->data[record] = 0; }
static void of_a_long_key(bytes_t *batch, size_t record) { batch->data[record + 4] = 0x7e; }
static void of_a_negative_key(bytes_t *batch, size_t record) { batch->data[record + 4] = 0x03; }
static void of_a_long_value(bytes_t *batch, size_t record) { batch->data[record + 5] = 0x7e; }
static void of_an_offset_before_it(bytes_t *batch, size_t record) { batch->data[record + 3] = 0x01; }
static void of_an_offset_behind_it(bytes_t *batch, size_t record) { batch->data[record + 3] = 0x7e; }
static void cut_off(bytes_t *batch, size_t record) {
  batch->size = record;
  set_number(batch->data + AT_LENGTH, 4, (int64_t)batch->size - 12);
}
static void cut_in_two(bytes_t *batch, size_t record) { cut_off(batch, record + 3); }
static void of_codec(bytes_t *batch, size_t record, unsigned char codec) {
  (void)record; /* all of them are spoilt */
  batch->data[AT_ATTRIBUTES + 1] = codec;
}
static void not_gzip(bytes_t *batch, size_t record) { of_codec(batch, record, GZIP); }
static void not_snappy(bytes_t *batch, size_t record) { of_codec(batch, record, SNAPPY); }
static void not_lz4(bytes_t *batch, size_t record) { of_codec(batch, record, LZ4); }
static void not_zstd(bytes_t *batch, size_t record) { of_codec(batch, record, ZSTD); }

static const damage_t damages[] = {{"too long", too_long, 6}, {"of negative length", of_negative_length, 6}, {"without end", without_end, 6},
    {"empty", empty, 6}, {"of a long key", of_a_long_key, 6}, {"of a negative key", of_a_negative_key, 6},
    {"of a long value", of_a_long_value, 6}, {"of an offset before it", of_an_offset_before_it, 6},
    {"of an offset behind it", of_an_offset_behind_it, 6}, {"cut off", cut_off, 6}, {"cut in two", cut_in_two, 6},
    {"not gzip", not_gzip, 0}, {"not snappy", not_snappy, 0}, {"not lz4", not_lz4, 0},
    {"not zstd", not_zstd, 0}};

/* What comes until the record of the number `last`: how many records, and in `told` the entries. */
static int read_up_to(kabi_consumer_t *consumer, int64_t last, size_t at_once, kabi_record_t *told, size_t *entries) {
  int count = 0;
  int64_t give_up = now_ms() + patience(20000), number = -1;
  *entries = 0;
  while (number != last && now_ms() < give_up) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, at_once, &batch, &info);
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      if (record->code == 0) {
        CHECK_EQ(number_of(record), record->offset);
        number = number_of(record);
        count++;
      } else {
        *told = *record;
        ++*entries;
      }
    }
    kabi_batch_free(batch);
  }
  CHECK_EQ(last, number);
  return count;
}

/* The records before the damage come, then one entry about it, then the next batch: nothing is lost unsaid, and nothing stands still. */
TEST(what_is_damaged_is_told_and_passed) {
  start();
  for (size_t d = 0; d < sizeof damages / sizeof *damages; d++) {
    char topic[16];
    snprintf(topic, sizeof topic, "damaged%zu", d);
    new_topic(cluster, topic, 1);
    made.size = 0;
    put_batch(&made, 0, 0, 10);
    damages[d].spoil(&made, BATCH_HEADER + 6 * 8);
    append(cluster, topic, &made);
    made.size = 0;
    put_batch(&made, 0, 10, 10);
    append(cluster, topic, &made);
    for (size_t at_once = 1; at_once <= 100; at_once += 99) {
      kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", NULL);
      kabi_record_t told;
      size_t entries;
      memset(&told, 0, sizeof told);
      assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
      CHECK_EQ(damages[d].whole + 10, read_up_to(consumer, 19, at_once, &told, &entries));
      if (!CHECK(entries == 1)) note("a record %s: %zu entries", damages[d].what, entries);
      CHECK(told.code != 0 && told.partition == 0);
      CHECK_EQ(consumer_topic_of(consumer, topic), told.topic);
      close_consumer(consumer);
    }
  }
  kabi_cluster_free(cluster);
}

/* librdkafka asks again from the program's position when a partition is resumed. */
TEST(what_was_told_is_not_told_again_after_a_pause) {
  start();
  put_batch(&made, 0, 0, 10);
  of_a_long_key(&made, BATCH_HEADER + 6 * 8);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  int64_t offset;
  MUST(take(consumer, seen, 6) == 6);
  CHECK_EQ(KABI_STATUS_BAD_MSG, take_one(consumer, &offset));
  pause_and_resume(consumer, "stored");
  made.size = 0;
  put_batch(&made, 0, 10, 10);
  append(cluster, "stored", &made);
  CHECK_EQ(0, take_one(consumer, &offset));
  CHECK_EQ(10, offset);
  end(consumer);
}

/* What the checksum covers is not believed where it fails. */
TEST(a_false_last_offset_passes_no_other_batch) {
  start();
  put_batch(&made, 0, 0, 10);
  set_number(made.data + AT_LAST_DELTA, 4, 1000000);
  append(cluster, "stored", &made);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  fill(producer, "stored", 0, 10, 10);
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "check.crcs", "true", NULL);
  kabi_record_t told;
  size_t entries;
  memset(&told, 0, sizeof told);
  assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(10, read_up_to(consumer, 19, 100, &told, &entries));
  CHECK_EQ(1, entries);
  CHECK_EQ(KABI_STATUS_BAD_MSG, told.code);
  end(consumer);
}

/* A larger receive.message.max.bytes gets over it, so that nothing may go past it. */
TEST(what_is_too_large_to_uncompress_is_told_and_not_passed) {
  static char large[200 * 1024];
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "compression.codec", "zstd", NULL);
  memset(large, 'x', sizeof large - 1);
  for (int i = 0; i < 3; i++) {
    kabi_message_t message = message_of(topic_of(producer, "stored"), 0, NULL, large);
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
  close_producer(producer);
  for (int fits = 0; fits < 2; fits++) {
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "fetch.max.bytes", "100000", "message.max.bytes",
                                             "100000", "receive.message.max.bytes", fits ? "10000000" : "100512", NULL);
    assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
    for (int i = 0; i < 3; i++) {
      int64_t offset;
      CHECK_EQ(fits ? 0 : KABI_STATUS_BAD_COMPRESSION, take_one(consumer, &offset));
      CHECK_EQ(fits ? i : 0, offset);
    }
    close_consumer(consumer);
  }
  kabi_cluster_free(cluster);
}

TEST(headers_that_are_damaged_are_none) {
  start();
  bytes_t headers = {{0}, 0};
  put_varint(&headers, 2);
  put_text(&headers, "one");
  put_text(&headers, "1");
  size_t batch = begin_batch(&made, 0, 1000);
  for (int i = 0; i < 5; i++) put_record(&made, i, 0, NULL, "value", i == 2 ? &headers : NULL);
  end_batch(&made, batch, 5, 4, 0);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  kabi_batch_t *taken;
  kabi_batch_info_t info;
  take_batch(consumer, 10, &taken, &info);
  CHECK_EQ(5, info.count);
  for (size_t i = 0; i < info.count; i++) {
    size_t count = 1;
    CHECK_EQ(5, info.records[i].value_length);
    OK(kabi_batch_headers(taken, i, NULL, 0, &count, ERR));
    CHECK_EQ(0, count);
  }
  kabi_batch_free(taken);
  end(consumer);
}

TEST(a_wrong_checksum_is_told_if_asked_for) {
  start();
  put_batch(&made, 0, 0, 10);
  append(cluster, "stored", &made);
  fill_topic(cluster, "stored", 0, 10);
  for (int checks = 0; checks < 2; checks++) {
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "check.crcs", checks ? "true" : "false", NULL);
    int64_t offset;
    assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
    CHECK_EQ(checks ? KABI_STATUS_BAD_MSG : 0, take_one(consumer, &offset));
    MUST(take(consumer, seen, checks ? 10 : 19) == (checks ? 10 : 19));
    expect(&seen[checks ? 9 : 18], 19, 9);
    CHECK_EQ(20, position_of(consumer, "stored", 0));
    close_consumer(consumer);
  }
  kabi_cluster_free(cluster);
}

/* It is not damaged, and a newer library may know it: nothing goes past it. */
TEST(a_codec_that_is_not_known_is_told_and_not_passed) {
  start();
  put_batch(&made, 0, 0, 10);
  set_number(made.data + AT_ATTRIBUTES, 2, NO_CODEC);
  append(cluster, "stored", &made);
  fill_topic(cluster, "stored", 0, 10);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  for (int i = 0; i < 3; i++) {
    int64_t offset;
    CHECK_EQ(KABI_STATUS_NOT_IMPLEMENTED, take_one(consumer, &offset));
    CHECK_EQ(0, offset);
  }
  CHECK(position_of(consumer, "stored", 0) <= 0);
  end(consumer);
}
