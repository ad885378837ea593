/* The packed form, both ways: what goes and comes, and buffers that lie. */
#include "harness.h"
#include "packing.h"

static kabi_cluster_t *cluster;
static kabi_event_t reports[4096];
static union { uint64_t align; uint8_t bytes[1 << 18]; } room;

static kabi_producer_t *start(int partitions) {
  cluster = new_cluster(1);
  new_topic(cluster, "packed", partitions);
  return new_producer(bootstrap(cluster), NULL);
}

static void end(kabi_producer_t *producer) {
  close_producer(producer);
  kabi_cluster_free(cluster);
}

static const packed_header_t some_headers[3] = {{"null", NULL}, {"empty", ""}, {"gr\xc3\xbc\xc3\x9f" "e", "value"}};

/* Sends from memory that ends at a forbidden page; then exactly the accepted tokens are reported. */
static kabi_status_t send_packed(kabi_producer_t *producer, const void *bytes, size_t size, size_t count, kabi_status_t *statuses, size_t *accepted) {
  guarded_t guarded = guard(bytes, size);
  size_t zeros = 0;
  *accepted = 99;
  for (size_t i = 0; i < count; i++) statuses[i] = 99;
  kabi_status_t status =
      kabi_producer_send_packed(producer, guarded.bytes, size, count, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, patience(10000), statuses, accepted, ERR);
  kabi_error_t error = *last_error();
  unguard(&guarded);
  CHECK_EQ(status, error.code);
  CHECK((status != 0) == (error.message[0] != 0));
  for (size_t i = 0; i < count; i++) {
    CHECK(statuses[i] != 99);
    zeros += statuses[i] == 0;
  }
  CHECK_EQ(zeros, *accepted);
  CHECK_EQ(*accepted == count, status == 0);
  return status;
}

/* What was accepted is reported once, and nothing else is. Tokens are the entries' numbers. */
static void check_reports(kabi_producer_t *producer, const kabi_status_t *statuses, size_t count, size_t accepted) {
  MUST(drain_reports(producer, reports, accepted) == accepted);
  unsigned char times[64] = {0};
  for (size_t i = 0; i < accepted; i++) {
    CHECK_EQ(0, reports[i].code);
    MUST(reports[i].token < 64);
    times[reports[i].token]++;
  }
  for (size_t i = 0; i < count; i++) CHECK_EQ(statuses[i] == 0, times[i]);
}

static const kabi_packed_t *packed_at(const uint8_t *at) { return (const kabi_packed_t *)(const void *)at; }

/* Polls packed until something comes. */
static size_t take_packed(kabi_consumer_t *consumer, size_t most, void *buffer, size_t size, kabi_batch_info_t *info) {
  int64_t until = now_ms() + patience(20000);
  do {
    memset(info, 0, sizeof *info);
    MUST_OK(kabi_consumer_poll_packed(consumer, most, patience(1000), buffer, size, info, ERR));
  } while (info->count == 0 && now_ms() < until);
  MUST(info->count > 0 && info->number > 0 && info->records == NULL && info->size <= size);
  return info->count;
}

static kabi_consumer_t *reader(const char *topic, int32_t partition) {
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, topic, partition, KABI_OFFSET_BEGINNING);
  return consumer;
}

TEST(packed_there_and_back) {
  static const char *const parts[] = {NULL, "", "data"};
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "packed");
  kabi_status_t statuses[9];
  size_t size = 0, accepted;
  for (int i = 0; i < 9; i++) size += pack_record(room.bytes + size, topic, 0, (uint64_t)i, parts[i / 3], parts[i % 3], some_headers, i % 4);
  MUST_OK(send_packed(producer, room.bytes, size, 9, statuses, &accepted));
  check_reports(producer, statuses, 9, accepted);
  kabi_consumer_t *consumer = reader("packed", 0);
  int32_t number = consumer_topic_of(consumer, "packed");
  static union { uint64_t align; uint8_t bytes[4096]; } got;
  kabi_batch_info_t info;
  for (int i = 0; i < 9;) {
    size_t count = take_packed(consumer, 9, got.bytes, sizeof got.bytes, &info), at = 0;
    for (size_t k = 0; k < count; k++, i++) {
      MUST(at + sizeof(kabi_packed_t) <= info.size);
      const kabi_packed_t *head = packed_at(got.bytes + at);
      static union { uint64_t align; uint8_t bytes[1024]; } want;
      size_t size_of_one = pack_record(want.bytes, number, 0, 0, parts[i / 3], parts[i % 3], some_headers, i % 4);
      CHECK_EQ(size_of_one, head->size);
      CHECK_EQ(i, head->offset);
      CHECK(head->header_size == 64 && head->flags == 0 && head->topic == number && head->partition == 0 && head->token == 0 && head->code == 0);
      CHECK_EQ(i / 3 == 0 ? -1 : (int)strlen(parts[i / 3]), head->key_length);
      CHECK_EQ(i % 3 == 0 ? -1 : (int)strlen(parts[i % 3]), head->value_length);
      CHECK_EQ(i % 4, head->header_count);
      CHECK(head->timestamp > 1500000000000 && head->timestamp_type == KABI_TIMESTAMP_CREATE);
      /* Key, value, headers and padding are what was packed, byte by byte. */
      CHECK(size_of_one != head->size || memcmp(want.bytes + 64, got.bytes + at + 64, size_of_one - 64) == 0);
      at += head->size;
    }
    CHECK_EQ(info.size, at);
  }
  close_consumer(consumer);
  end(producer);
}

TEST(packed_timestamps) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "packed");
  static const int64_t sent[3] = {1600000000123, 0, -1};
  kabi_status_t statuses[3];
  size_t size = 0, accepted;
  for (int i = 0; i < 3; i++) {
    kabi_packed_t *head = (kabi_packed_t *)(void *)(room.bytes + size);
    size += pack_record(room.bytes + size, topic, 0, (uint64_t)i, NULL, "t", NULL, 0);
    head->timestamp = sent[i];
    head->offset = 77; /* ignored */
  }
  MUST_OK(send_packed(producer, room.bytes, size, 3, statuses, &accepted));
  check_reports(producer, statuses, 3, accepted);
  kabi_consumer_t *consumer = reader("packed", 0);
  kabi_batch_info_t info;
  for (int64_t i = 0; i < 3;) {
    size_t count = take_packed(consumer, 3, room.bytes, sizeof room.bytes, &info), at = 0;
    for (size_t k = 0; k < count; k++, i++) {
      const kabi_packed_t *head = packed_at(room.bytes + at);
      CHECK_EQ(i, head->offset);
      if (i == 0) CHECK_EQ(sent[0], head->timestamp);
      else CHECK(head->timestamp > 1600000000123);
      at += head->size;
    }
  }
  close_consumer(consumer);
  end(producer);
}

/* ---- buffers that lie ---- */

enum { ENTRIES = 5, BROKEN = 2 };

/* Five good records with the tokens 0 to 4; tells where the one to break is. */
static size_t good_buffer(int32_t topic, size_t *broken) {
  size_t size = 0;
  for (int i = 0; i < ENTRIES; i++) {
    if (i == BROKEN) *broken = size;
    size += pack_record(room.bytes + size, topic, 0, (uint64_t)i, "key", "value", some_headers, 3);
  }
  return size;
}

/* Where the parts of those records are. */
enum { FIRST_HEADER = 64 + 3 + 5, NAME = FIRST_HEADER + 8 };

typedef struct lie_t { const char *what; size_t at; size_t width; int64_t value; int hides_rest; } lie_t;

static const lie_t lies[] = {
    {"size 0", 0, 4, 0, 1},
    {"size below the head's", 0, 4, 56, 1},
    {"size no multiple of 8", 0, 4, 76, 1},
    {"size beyond the buffer", 0, 4, 1 << 20, 1},
    {"greatest size", 0, 4, -1, 1},
    {"greatest aligned size", 0, 4, -8, 1},
    {"size of the head only", 0, 4, 64, 1},
    {"head of 0", 4, 2, 0, 0},
    {"shorter head", 4, 2, 56, 0},
    {"longer head", 4, 2, 72, 0},
    {"longest head", 4, 2, -1, 0},
    {"flags", 6, 2, 1, 0},
    {"unknown topic", 8, 4, 4711, 0},
    {"negative topic", 8, 4, -1, 0},
    {"least topic", 8, 4, INT32_MIN, 0},
    {"partition below any", 12, 4, -3, 0},
    {"partition of the argument", 12, 4, -2, 0},
    {"key of -2", 40, 4, -2, 0},
    {"least key", 40, 4, INT32_MIN, 0},
    {"key beyond the record", 40, 4, 4096, 0},
    {"greatest key", 40, 4, INT32_MAX, 0},
    {"value of -2", 44, 4, -2, 0},
    {"value beyond the record", 44, 4, 4096, 0},
    {"greatest value", 44, 4, INT32_MAX, 0},
    {"headers of -1", 48, 4, -1, 0},
    {"one header more", 48, 4, 4, 0},
    {"one header less", 48, 4, 2, 0},
    {"greatest count of headers", 48, 4, INT32_MAX, 0},
    {"an entry that is no record", 56, 4, KABI_STATUS_PARTITION_EOF, 0},
    {"name of -1", FIRST_HEADER, 4, -1, 0},
    {"name beyond the record", FIRST_HEADER, 4, 4096, 0},
    {"greatest name", FIRST_HEADER, 4, INT32_MAX, 0},
    {"name of another length", FIRST_HEADER, 4, 3, 0},
    {"header value of -2", FIRST_HEADER + 4, 4, -2, 0},
    {"header value beyond the record", FIRST_HEADER + 4, 4, 4096, 0},
    {"greatest header value", FIRST_HEADER + 4, 4, INT32_MAX, 0},
    {"name without a NUL", NAME + 4, 1, 'x', 0},
    {"NUL in a name", NAME + 1, 1, 0, 0},
    {"name that is not UTF-8", NAME + 1, 1, 0xff, 0},
};

TEST(a_lying_entry_costs_no_other) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "packed");
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    const lie_t *lie = &lies[i];
    kabi_status_t statuses[ENTRIES];
    size_t broken = 0, accepted, size = good_buffer(topic, &broken);
    memcpy(room.bytes + broken + lie->at, &lie->value, lie->width); /* little-endian, as all 64-bit targets of kafkabi */
    kabi_status_t status = send_packed(producer, room.bytes, size, ENTRIES, statuses, &accepted);
    int as_it_should = status != 0 && statuses[BROKEN] != 0;
    for (int k = 0; k < ENTRIES; k++)
      if (k < BROKEN || (k > BROKEN && !lie->hides_rest)) as_it_should = as_it_should && statuses[k] == 0;
    if (!CHECK(as_it_should)) note("%s: %d, statuses %d %d %d %d %d", lie->what, status, statuses[0], statuses[1], statuses[2], statuses[3], statuses[4]);
    check_reports(producer, statuses, ENTRIES, accepted);
  }
  CHECK_EQ(0, drain_rest(producer, reports, 10));
  end(producer);
}

TEST(a_truncated_buffer_gives_what_is_whole) {
  kabi_producer_t *producer = start(1);
  size_t broken, size = good_buffer(topic_of(producer, "packed"), &broken), one = size / ENTRIES;
  int step = scaled(1, run_mode() == MODE_VALGRIND ? 13 : 1);
  for (size_t n = 0; n <= size; n += (size_t)step) {
    kabi_status_t statuses[ENTRIES];
    size_t accepted;
    send_packed(producer, room.bytes, n, ENTRIES, statuses, &accepted);
    CHECK_EQ(n / one, accepted);
    for (size_t k = 0; k < ENTRIES; k++) CHECK_EQ(k < n / one, statuses[k] == 0);
    check_reports(producer, statuses, ENTRIES, accepted);
  }
  end(producer);
}

TEST(a_misaligned_buffer_is_refused) {
  kabi_producer_t *producer = start(1);
  size_t broken, size = good_buffer(topic_of(producer, "packed"), &broken), accepted;
  static union { uint64_t align; uint8_t bytes[8192]; } moved;
  MUST(size + 8 <= sizeof moved.bytes);
  for (size_t shift = 1; shift < 8; shift++) {
    kabi_status_t statuses[ENTRIES] = {0, 0, 0, 0, 0};
    memcpy(moved.bytes + shift, room.bytes, size);
    accepted = 99;
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_packed(producer, moved.bytes + shift, size, ENTRIES, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, 0, statuses, &accepted, ERR));
    CHECK_EQ(0, accepted);
    for (int k = 0; k < ENTRIES; k++) CHECK(statuses[k] != 0);
  }
  CHECK_EQ(0, drain_rest(producer, reports, 10));
  end(producer);
}

TEST(counts_that_do_not_fit_the_buffer) {
  kabi_producer_t *producer = start(1);
  kabi_status_t statuses[64];
  size_t broken, size = good_buffer(topic_of(producer, "packed"), &broken), accepted = 99;
  send_packed(producer, room.bytes, size, 60, statuses, &accepted); /* says more than there are */
  CHECK_EQ(ENTRIES, accepted);
  check_reports(producer, statuses, 60, accepted);
  OK(kabi_producer_send_packed(producer, room.bytes, 0, 0, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, 0, statuses, &accepted, ERR));
  CHECK_EQ(0, accepted);
  OK(kabi_producer_send_packed(producer, NULL, 0, 0, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, 0, NULL, &accepted, ERR));
  CHECK_EQ(0, accepted);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_packed(producer, NULL, size, ENTRIES, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, 0, statuses, &accepted, ERR));
  CHECK_EQ(0, accepted);
  /* Statuses and accepted need not be wanted. */
  OK(kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, 0, NULL, NULL, NULL));
  MUST(drain_reports(producer, reports, ENTRIES) == ENTRIES);
  end(producer);
}

TEST(arguments_override_what_records_say) {
  kabi_producer_t *producer = start(3);
  new_topic(cluster, "other", 3);
  int32_t packed = topic_of(producer, "packed"), other = topic_of(producer, "other");
  kabi_status_t statuses[ENTRIES];
  size_t broken, size = good_buffer(packed, &broken), accepted;
  OK(kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, other, 2, patience(10000), statuses, &accepted, ERR));
  MUST(drain_reports(producer, reports, ENTRIES) == ENTRIES);
  for (int i = 0; i < ENTRIES; i++) CHECK(reports[i].topic == other && reports[i].partition == 2);
  OK(kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, KABI_TOPIC_RECORD, KABI_PARTITION_ANY, patience(10000), statuses, &accepted, ERR));
  MUST(drain_reports(producer, reports, ENTRIES) == ENTRIES);
  for (int i = 0; i < ENTRIES; i++) CHECK(reports[i].topic == packed && reports[i].partition >= 0 && reports[i].partition < 3);
  kabi_status_t status = kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, 4711, 0, 0, statuses, &accepted, ERR);
  CHECK_EQ(KABI_STATUS_ARGUMENT, status);
  CHECK_EQ(0, accepted);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, packed, -3, 0, statuses, &accepted, ERR));
  CHECK_EQ(0, accepted);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_packed(producer, room.bytes, size, ENTRIES, -2, 0, 0, statuses, &accepted, ERR));
  CHECK_EQ(0, accepted);
  end(producer);
}

/* What was consumed goes on as the same bytes. */
TEST(consumed_bytes_are_sent_on) {
  enum { COUNT = 100 };
  kabi_producer_t *producer = start(2);
  new_topic(cluster, "copy", 2);
  int32_t topic = topic_of(producer, "packed");
  size_t size = 0, accepted, had = 0, sent = 0;
  static kabi_status_t statuses[COUNT];
  char value[16];
  for (int i = 0; i < COUNT; i++) {
    snprintf(value, sizeof value, "%d", i);
    size += pack_record(room.bytes + size, topic, 0, (uint64_t)i, i % 3 != 0 ? "key" : NULL, value, some_headers, i % 4);
  }
  MUST_OK(kabi_producer_send_packed(producer, room.bytes, size, COUNT, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, patience(10000), statuses, &accepted, ERR));
  MUST(drain_reports(producer, reports, COUNT) == COUNT);
  kabi_consumer_t *consumer = reader("packed", 0);
  int32_t copy = topic_of(producer, "copy");
  while (had < COUNT) {
    kabi_batch_info_t info;
    size_t count = take_packed(consumer, 30, room.bytes, sizeof room.bytes, &info);
    had += count;
    OK(kabi_producer_send_packed(producer, room.bytes, info.size, count, copy, 1, patience(10000), statuses, &accepted, ERR));
    CHECK_EQ(count, accepted);
    sent += accepted;
  }
  CHECK_EQ(COUNT, sent);
  MUST(drain_reports(producer, reports, COUNT) == COUNT);
  for (size_t i = 0; i < COUNT; i++) CHECK(reports[i].code == 0 && reports[i].token == 0 && reports[i].topic == copy && reports[i].partition == 1);
  close_consumer(consumer);
  consumer = reader("copy", 1);
  for (int next = 0; next < COUNT;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, COUNT, &batch, &info);
    for (size_t i = 0; i < info.count; i++, next++) {
      kabi_header_t headers[3];
      size_t count;
      CHECK_EQ(next, number_of(&info.records[i]));
      CHECK_EQ(next % 3 != 0 ? 3 : 0, info.records[i].key_length);
      CHECK((next % 3 != 0) == (info.records[i].key != NULL));
      OK(kabi_batch_headers(batch, i, headers, 3, &count, ERR));
      CHECK_EQ(next % 4, count);
      for (size_t k = 0; k < count; k++) {
        CHECK_TEXT(some_headers[k].name, headers[k].name);
        CHECK((some_headers[k].value == NULL) == (headers[k].value == NULL));
      }
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
  end(producer);
}

/* ---- reading ---- */

TEST(a_record_larger_than_the_buffer_stays_first) {
  kabi_producer_t *producer = start(1);
  static char big[5000];
  memset(big, 'B', sizeof big - 1);
  int32_t topic = topic_of(producer, "packed");
  kabi_message_t messages[3] = {message_of(topic, 0, NULL, "0"), message_of(topic, 0, NULL, big), message_of(topic, 0, NULL, "2")};
  size_t accepted;
  MUST_OK(kabi_producer_send_many(producer, messages, 3, patience(10000), NULL, &accepted, ERR));
  MUST(drain_reports(producer, reports, 3) == 3);
  kabi_consumer_t *consumer = reader("packed", 0);
  kabi_batch_info_t info;
  CHECK_EQ(1, take_packed(consumer, 3, room.bytes, 1024, &info)); /* what fits */
  CHECK_EQ(0, packed_at(room.bytes)->offset);
  for (int i = 0; i < 2; i++) { /* again and again, nothing is lost */
    memset(&info, 0, sizeof info);
    GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_poll_packed(consumer, 3, patience(10000), room.bytes, 1024, &info, ERR));
    CHECK_EQ(0, info.count);
    CHECK_EQ(64 + 5000, info.size); /* 4999 and padding */
  }
  guarded_t exact = guard(room.bytes, info.size); /* not a byte beyond it */
  CHECK_EQ(1, take_packed(consumer, 3, exact.bytes, 64 + 5000, &info));
  CHECK_EQ(1, packed_at(exact.bytes)->offset);
  CHECK_EQ(4999, packed_at(exact.bytes)->value_length);
  CHECK(memcmp(exact.bytes + 64, big, 4999) == 0);
  unguard(&exact);
  CHECK_EQ(1, take_packed(consumer, 3, room.bytes, 1024, &info));
  CHECK_EQ(2, packed_at(room.bytes)->offset);
  close_consumer(consumer);
  end(producer);
}

TEST(small_buffers_give_what_fits_in_order) {
  kabi_producer_t *producer = start(1);
  fill(producer, "packed", 0, 0, 100);
  kabi_consumer_t *consumer = reader("packed", 0);
  int64_t next = 0;
  uint64_t number = 0;
  for (size_t size = 72; next < 100; size = size < 1000 ? size + 40 : 72) { /* one record is 72 bytes */
    kabi_batch_info_t info;
    size_t count = take_packed(consumer, 50, room.bytes, size / 8 * 8, &info), at = 0;
    CHECK(count <= size / 72);
    CHECK(info.number > number); /* batches are numbered upwards */
    number = info.number;
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ(next++, packed_at(room.bytes + at)->offset);
      at += packed_at(room.bytes + at)->size;
    }
  }
  close_consumer(consumer);
  end(producer);
}

/* Views and packed polls share what was pulled and not handed out. */
TEST(both_polls_take_from_one_line) {
  kabi_producer_t *producer = start(1);
  fill(producer, "packed", 0, 0, 60);
  kabi_consumer_t *consumer = reader("packed", 0);
  int64_t next = 0;
  for (int turn = 0; next < 60; turn++) {
    kabi_batch_info_t info;
    if (turn % 2 != 0) {
      size_t count = take_packed(consumer, 7, room.bytes, 72 * 3, &info), at = 0; /* fewer than asked fit */
      for (size_t i = 0; i < count; i++) {
        CHECK_EQ(next++, packed_at(room.bytes + at)->offset);
        at += packed_at(room.bytes + at)->size;
      }
    } else {
      kabi_batch_t *batch;
      take_batch(consumer, 5, &batch, &info);
      for (size_t i = 0; i < info.count; i++) CHECK_EQ(next++, info.records[i].offset);
      kabi_batch_free(batch);
    }
  }
  CHECK_EQ(60, next);
  close_consumer(consumer);
  end(producer);
}

TEST(bad_arguments_of_packed_polls) {
  kabi_producer_t *producer = start(1);
  fill(producer, "packed", 0, 0, 3);
  kabi_consumer_t *consumer = reader("packed", 0);
  kabi_batch_info_t info;
  for (size_t shift = 1; shift < 8; shift++)
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 3, 0, room.bytes + shift, 1024, &info, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 3, 0, NULL, 1024, &info, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 3, 0, room.bytes, 1024, NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 0, 0, room.bytes, 1024, &info, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 3, -2, room.bytes, 1024, &info, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 3, 0, room.bytes, SIZE_MAX, &info, ERR));
  CHECK_EQ(3, take_packed(consumer, 3, room.bytes, 1024, &info)); /* none of it cost a record */
  close_consumer(consumer);
  end(producer);
}

/* An end of partition comes packed too, and is refused when sent on, which costs the others nothing. */
TEST(entries_come_packed_and_are_not_sent_on) {
  kabi_producer_t *producer = start(2);
  fill(producer, "packed", 0, 0, 3);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "enable.partition.eof", "true", NULL);
  assign(consumer, "packed", 0, KABI_OFFSET_BEGINNING);
  kabi_batch_info_t info;
  size_t records = 0, entries = 0, accepted = 0, all = 0;
  int64_t until = now_ms() + patience(20000);
  while (entries == 0 && now_ms() < until) {
    size_t count = take_packed(consumer, 10, room.bytes, sizeof room.bytes, &info), at = 0, here = 0;
    kabi_status_t statuses[10];
    for (size_t i = 0; i < count; i++) {
      const kabi_packed_t *head = packed_at(room.bytes + at);
      if (head->code == 0) {
        records++;
      } else {
        CHECK_EQ(KABI_STATUS_PARTITION_EOF, head->code);
        CHECK_EQ(3, head->offset);
        entries++;
        here++;
      }
      at += head->size;
    }
    kabi_status_t status = kabi_producer_send_packed(producer, room.bytes, info.size, count, topic_of(producer, "packed"), 1, patience(10000), statuses, &accepted, ERR);
    CHECK_EQ(here != 0, status != 0);
    CHECK_EQ(count - here, accepted);
    all += accepted;
  }
  CHECK_EQ(3, records);
  CHECK_EQ(1, entries);
  CHECK_EQ(3, drain_reports(producer, reports, all));
  close_consumer(consumer);
  end(producer);
}
