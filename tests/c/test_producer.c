/* Sending: topics, one and many, nulls, headers, reports, flush, purge, close, free, failures of brokers. */
#include "harness.h"

static kabi_cluster_t *cluster;
static kabi_event_t reports[20000];

static kabi_producer_t *start(int partitions) {
  cluster = new_cluster(1);
  new_topic(cluster, "sent", partitions);
  return new_producer(bootstrap(cluster), NULL);
}

static void end(kabi_producer_t *producer) {
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* All records of a partition of "sent", as views: the caller frees the batch. */
static void read_all(size_t want, kabi_consumer_t **consumer, kabi_batch_t **batch, kabi_batch_info_t *info) {
  *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(*consumer, "sent", 0, KABI_OFFSET_BEGINNING);
  /* One run of records in one message set comes in one batch. */
  take_batch(*consumer, want, batch, info);
  CHECK_EQ(want, info->count);
}

static void read_done(kabi_consumer_t *consumer, kabi_batch_t *batch) {
  kabi_batch_free(batch);
  close_consumer(consumer);
}

static void send(kabi_producer_t *producer, const kabi_message_t *message) { MUST_OK(kabi_producer_send(producer, message, patience(10000), ERR)); }
static void flush(kabi_producer_t *producer) { MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR)); }

/* ---- topics ---- */

TEST(topics_have_numbers) {
  kabi_producer_t *producer = start(1), *other = new_producer(NOWHERE, NULL);
  int32_t one = topic_of(producer, "sent"), two = topic_of(producer, "other");
  char name[64];
  size_t length = 0;
  CHECK(one >= 0 && two >= 0 && one != two);
  CHECK_EQ(one, topic_of(producer, "sent"));
  CHECK_EQ(two, topic_of(producer, "other"));
  OK(kabi_producer_topic_name(producer, two, name, sizeof name, &length, ERR));
  CHECK_TEXT("other", name);
  CHECK_EQ(5, length);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_producer_topic_name(producer, one, name, 4, &length, ERR));
  CHECK_EQ(4, length);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_producer_topic_name(producer, one, NULL, 0, &length, ERR));
  static const int32_t unknown[] = {-1, -2, 12345, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_topic_name(producer, unknown[i], name, sizeof name, &length, ERR));
    kabi_message_t message = message_of(unknown[i], 0, NULL, "x");
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send(producer, &message, 0, ERR));
  }
  /* Numbers are a producer's own. */
  kabi_message_t message = message_of(one, 0, NULL, "x");
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send(other, &message, 0, ERR));
  kabi_producer_free(other);
  end(producer);
}

TEST(many_topics_keep_their_numbers) {
  kabi_producer_t *producer = start(1);
  int32_t numbers[300];
  char name[32], back[32];
  for (int i = 0; i < 300; i++) {
    snprintf(name, sizeof name, "topic-%d", i);
    numbers[i] = topic_of(producer, name);
  }
  for (int i = 0; i < 300; i++) {
    snprintf(name, sizeof name, "topic-%d", i);
    CHECK_EQ(numbers[i], topic_of(producer, name));
    size_t length;
    OK(kabi_producer_topic_name(producer, numbers[i], back, sizeof back, &length, ERR));
    CHECK_TEXT(name, back);
  }
  end(producer);
}

TEST(bad_topic_names_are_refused) {
  static const char *const bad[] = {"", "\xff\xfe", "a\xc3", ".", "..", "a b", "a/b", "a\nb", "gr\xc3\xbc\xc3\x9f" "e"};
  static char name[4096];
  kabi_producer_t *producer = start(1);
  int32_t topic = 77;
  memset(name, 'n', 250);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_topic(producer, name, &topic, ERR)); /* Kafka's bound is 249 */
  memset(name, 'n', sizeof name - 1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_topic(producer, name, &topic, ERR));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) GIVES(KABI_STATUS_ARGUMENT, kabi_producer_topic(producer, bad[i], &topic, ERR));
  CHECK_EQ(77, topic);
  name[249] = 0;
  OK(kabi_producer_topic(producer, name, &topic, ERR));
  end(producer);
}

/* ---- what a record may be ---- */

static const char *const parts[] = {NULL, "", "data"};

static void check_part(const char *want, const void *got, int64_t length) {
  if (want == NULL) {
    CHECK(got == NULL && length == 0);
  } else {
    CHECK(got != NULL);
    CHECK_EQ(strlen(want), length);
    CHECK(got != NULL && memcmp(want, got, strlen(want)) == 0);
  }
}

TEST(null_and_empty_keys_and_values_come_back) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "sent");
  kabi_message_t messages[9];
  kabi_status_t statuses[9];
  size_t accepted;
  for (int i = 0; i < 9; i++) messages[i] = message_of(topic, 0, parts[i / 3], parts[i % 3]);
  OK(kabi_producer_send_many(producer, messages, 9, patience(10000), statuses, &accepted, ERR));
  CHECK_EQ(9, accepted);
  for (int i = 0; i < 9; i++) send(producer, &messages[i]); /* the same through the other call */
  flush(producer);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "sent", 0, KABI_OFFSET_BEGINNING);
  for (int i = 0; i < 18;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 18, &batch, &info);
    for (size_t at = 0; at < info.count; at++, i++) {
      const kabi_record_t *record = &info.records[at];
      CHECK_EQ(i, record->offset);
      check_part(parts[i % 9 / 3], record->key, record->key_length);
      check_part(parts[i % 3], record->value, record->value_length);
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
  end(producer);
}

static kabi_header_t header_of(const char *name, const char *value) {
  kabi_header_t header = {name, (int64_t)strlen(name), value, value != NULL ? (int64_t)strlen(value) : 0};
  return header;
}

TEST(headers_come_back_in_order) {
  kabi_producer_t *producer = start(1);
  kabi_header_t sent[6] = {header_of("null", NULL), header_of("empty", ""), header_of("gr\xc3\xb6\xc3\x9f" "e \xe2\x82\xac \xf0\x9f\xa6\x80", "utf8"),
                           header_of("same", "first"), header_of("same", "second"), header_of("", "no name")};
  const char *values[6] = {NULL, "", "utf8", "first", "second", "no name"};
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, "k", "v");
  message.headers = sent;
  message.header_count = 6;
  send(producer, &message);
  flush(producer);
  kabi_consumer_t *consumer;
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  kabi_header_t got[8];
  size_t count = 0;
  read_all(1, &consumer, &batch, &info);
  OK(kabi_batch_headers(batch, 0, got, 8, &count, ERR));
  MUST(count == 6);
  for (size_t i = 0; i < 6; i++) {
    CHECK_TEXT(sent[i].name, got[i].name); /* terminated when received */
    CHECK_EQ(sent[i].name_length, got[i].name_length);
    check_part(values[i], got[i].value, got[i].value_length);
  }
  /* Too few places: how many there are, and no more written than fit. */
  memset(got, 0x5a, sizeof got);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_batch_headers(batch, 0, got, 2, &count, ERR));
  CHECK_EQ(6, count);
  CHECK_EQ(0x5a5a5a5a5a5a5a5a, got[2].name_length);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_batch_headers(batch, 0, NULL, 0, &count, ERR));
  CHECK_EQ(6, count);
  GIVES(KABI_STATUS_ARGUMENT, kabi_batch_headers(batch, 1, got, 8, &count, ERR)); /* one record, index 0 */
  GIVES(KABI_STATUS_ARGUMENT, kabi_batch_headers(batch, SIZE_MAX, got, 8, &count, ERR));
  read_done(consumer, batch);
  end(producer);
}

TEST(a_header_name_need_not_be_terminated) {
  kabi_producer_t *producer = start(1);
  static const char run[] = "abcdef";
  kabi_header_t headers[2] = {{run, 3, run + 3, 2}, {run + 1, 1, run, 6}};
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, NULL);
  message.headers = headers;
  message.header_count = 2;
  send(producer, &message);
  flush(producer);
  kabi_consumer_t *consumer;
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  kabi_header_t got[2];
  size_t count;
  read_all(1, &consumer, &batch, &info);
  MUST_OK(kabi_batch_headers(batch, 0, got, 2, &count, ERR));
  CHECK_TEXT("abc", got[0].name);
  CHECK(got[0].value_length == 2 && memcmp(got[0].value, "de", 2) == 0);
  CHECK_TEXT("b", got[1].name);
  read_done(consumer, batch);
  end(producer);
}

TEST(timestamps_come_back) {
  kabi_producer_t *producer = start(1);
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  int64_t now = (int64_t)wall.tv_sec * 1000;
  kabi_message_t messages[2];
  kabi_status_t statuses[2];
  size_t accepted;
  messages[0] = messages[1] = message_of(topic_of(producer, "sent"), 0, NULL, "t");
  messages[1].timestamp = 1600000000123;
  OK(kabi_producer_send_many(producer, messages, 2, patience(10000), statuses, &accepted, ERR));
  flush(producer);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "sent", 0, KABI_OFFSET_BEGINNING);
  int64_t times[2];
  for (int i = 0; i < 2;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 2, &batch, &info);
    for (size_t at = 0; at < info.count && i < 2; at++) {
      CHECK_EQ(KABI_TIMESTAMP_CREATE, info.records[at].timestamp_type);
      times[i++] = info.records[at].timestamp;
    }
    kabi_batch_free(batch);
  }
  CHECK(times[0] >= now - 1000 && times[0] < now + patience(60000));
  CHECK_EQ(1600000000123, times[1]);
  close_consumer(consumer);
  end(producer);
}

TEST(partitions_are_chosen_or_kept) {
  kabi_producer_t *producer = start(4);
  int32_t topic = topic_of(producer, "sent");
  for (int32_t i = 0; i < 40; i++) {
    kabi_message_t message = message_of(topic, i < 20 ? i % 4 : KABI_PARTITION_ANY, i < 20 ? NULL : "one key", "v");
    message.token = (uint64_t)i;
    send(producer, &message);
  }
  MUST(drain_reports(producer, reports, 40) == 40);
  check_tokens(reports, 40, 0, 0);
  int32_t chosen = -1;
  for (size_t i = 0; i < 40; i++) {
    if (reports[i].token < 20) {
      CHECK_EQ(reports[i].token % 4, reports[i].partition);
    } else {
      CHECK(reports[i].partition >= 0 && reports[i].partition < 4);
      if (chosen >= 0) CHECK_EQ(chosen, reports[i].partition); /* one key, one partition */
      chosen = reports[i].partition;
    }
  }
  end(producer);
}

/* A partition that the topic does not have is refused at once or reported, once: never both, never neither. */
TEST(a_partition_out_of_range_is_told_once) {
  kabi_producer_t *producer = start(2);
  int32_t topic = topic_of(producer, "sent");
  size_t promised = 0, told = 0;
  for (int round = 0; round < 2; round++) { /* before and after the topic's metadata is known */
    static const int32_t bad[] = {2, 99, INT32_MAX};
    for (size_t i = 0; i < 3; i++) {
      kabi_message_t message = message_of(topic, bad[i], NULL, "x");
      message.token = promised;
      kabi_status_t status = kabi_producer_send(producer, &message, 0, NULL);
      CHECK(status == 0 || status == KABI_STATUS_UNKNOWN_PARTITION);
      if (status == 0) promised++;
    }
    told += drain_reports(producer, reports + told, promised - told);
    flush(producer); /* which counts them */
    fill(producer, "sent", 0, 0, 1);
  }
  CHECK_EQ(promised, told);
  check_tokens(reports, told, 0, KABI_STATUS_UNKNOWN_PARTITION);
  CHECK_EQ(0, drain_rest(producer, reports, 10));
  static const int32_t never[] = {-2, -3, INT32_MIN};
  for (size_t i = 0; i < 3; i++) {
    kabi_message_t message = message_of(topic, never[i], NULL, "x");
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send(producer, &message, 0, ERR));
  }
  end(producer);
}

static void spoil(kabi_message_t *message, int how, kabi_header_t *header) {
  static const char nul_inside[] = "a\0b";
  message->headers = header;
  message->header_count = 1;
  *header = header_of("fine", "value");
  switch (how) {
    case 0: message->key_length = -1; break;
    case 1: message->value_length = -1; break;
    case 2: message->key = NULL; message->key_length = 3; break;
    case 3: message->value = NULL; message->value_length = 3; break;
    case 4: message->reserved[0] = 1; break;
    case 5: message->reserved[1] = 1; break;
    case 6: message->headers = NULL; break;
    case 7: header->name = NULL; break;
    case 8: header->name_length = -1; break;
    case 9: header->value_length = -1; break;
    case 10: header->value = NULL; header->value_length = 2; break;
    case 11: header->name = nul_inside; header->name_length = 3; break;
    case 12: header->name = "\xff\xfe"; header->name_length = 2; break;
    case 13: header->name = "\xc3"; header->name_length = 1; break;
    case 14: message->key_length = INT64_MIN; break;
    case 15: message->value_length = INT64_MAX; break;
    case 16: message->key_length = (int64_t)1 << 40; break;
    case 17: message->header_count = SIZE_MAX; break;
    case 18: message->header_count = (size_t)1 << 58; break;
    case 19: header->name_length = INT64_MAX; break;
    case 20: header->value_length = INT64_MAX; break;
    default: break;
  }
}
#define SPOILS 21

TEST(broken_messages_are_refused_with_a_message) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "sent");
  for (int how = 0; how < SPOILS; how++) {
    kabi_header_t header;
    kabi_message_t message = message_of(topic, 0, "key", "value");
    spoil(&message, how, &header);
    kabi_status_t status = kabi_producer_send(producer, &message, 0, ERR);
    if (!CHECK(status == KABI_STATUS_ARGUMENT || (how == 15 && status == 10) || (how == 16 && status == 10)))
      note("spoilt in way %d: %s, %s", how, kabi_error_name(status), last_error()->message);
    CHECK(last_error()->message[0] != 0);
  }
  flush(producer);
  CHECK_EQ(0, drain_rest(producer, reports, 100)); /* no report for what was not taken */
  end(producer);
}

/* Nothing lost of the valid part: each entry has its own status. */
TEST(send_many_tells_each_entry) {
  kabi_producer_t *producer = start(2);
  int32_t topic = topic_of(producer, "sent");
  static kabi_message_t messages[2 * SPOILS + 1];
  static kabi_header_t headers[2 * SPOILS + 1];
  static kabi_status_t statuses[2 * SPOILS + 1];
  size_t count = 2 * SPOILS + 1, accepted = 99, good = 0;
  for (size_t i = 0; i < count; i++) {
    messages[i] = message_of(topic, (int32_t)(i / 4 % 2), "key", "value");
    if (i % 2 != 0) spoil(&messages[i], (int)(i / 2), &headers[i]);
    else messages[i].token = good++;
    statuses[i] = 99;
  }
  kabi_status_t status = kabi_producer_send_many(producer, messages, count, patience(10000), statuses, &accepted, ERR);
  CHECK(status != 0 && status == last_error()->code);
  CHECK_EQ(good, accepted);
  for (size_t i = 0; i < count; i++) {
    if (i % 2 == 0) CHECK_EQ(0, statuses[i]);
    else CHECK(statuses[i] != 0 && statuses[i] != 99);
  }
  flush(producer);
  CHECK_EQ(good, drain_reports(producer, reports, good));
  check_tokens(reports, good, 0, 0);
  CHECK_EQ(0, drain_rest(producer, reports, 10));
  /* Neither statuses nor accepted need be wanted; no messages are none. */
  OK(kabi_producer_send_many(producer, messages, 1, 0, NULL, NULL, NULL));
  OK(kabi_producer_send_many(producer, messages, 0, 0, statuses, &accepted, ERR));
  CHECK_EQ(0, accepted);
  OK(kabi_producer_send_many(producer, NULL, 0, 0, NULL, &accepted, ERR));
  MUST(drain_reports(producer, reports, 1) == 1);
  end(producer);
}

TEST(send_many_mixes_topics_and_partitions_in_order) {
  enum { COUNT = 1200 };
  kabi_producer_t *producer = start(3);
  new_topic(cluster, "second", 3);
  int32_t topics[2] = {topic_of(producer, "sent"), topic_of(producer, "second")};
  static kabi_message_t messages[COUNT];
  static kabi_status_t statuses[COUNT];
  size_t accepted;
  int64_t next[2][3] = {{0, 0, 0}, {0, 0, 0}};
  for (uint64_t i = 0; i < COUNT; i++) {
    messages[i] = message_of(topics[i % 7 < 3], (int32_t)(i % 5 % 3), NULL, "m");
    messages[i].token = i;
  }
  MUST_OK(kabi_producer_send_many(producer, messages, COUNT, patience(10000), statuses, &accepted, ERR));
  CHECK_EQ(COUNT, accepted);
  MUST(drain_reports(producer, reports, COUNT) == COUNT);
  check_tokens(reports, COUNT, 0, 0);
  /* In each partition offsets follow the order of sending. */
  static int64_t offsets[COUNT];
  for (size_t i = 0; i < COUNT; i++) offsets[reports[i].token] = reports[i].offset;
  for (uint64_t i = 0; i < COUNT; i++) CHECK_EQ(next[i % 7 < 3][i % 5 % 3]++, offsets[i]);
  end(producer);
}

TEST(a_full_queue_marks_the_rest_and_a_retry_of_those_doubles_none) {
  enum { COUNT = 3000 };
  cluster = new_cluster(1);
  new_topic(cluster, "sent", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "queue.buffering.max.messages", "1000", NULL);
  int32_t topic = topic_of(producer, "sent");
  static kabi_message_t messages[COUNT], left[COUNT];
  static kabi_status_t statuses[COUNT];
  size_t accepted = 0, remaining = COUNT, have = 0;
  int64_t until = now_ms() + patience(30000);
  for (uint64_t i = 0; i < COUNT; i++) {
    left[i] = message_of(topic, 0, NULL, "m");
    left[i].token = i;
  }
  while (remaining > 0 && now_ms() < until) { /* the room of a report that is drained comes a moment later */
    memcpy(messages, left, remaining * sizeof messages[0]);
    size_t count = remaining;
    kabi_status_t status = kabi_producer_send_many(producer, messages, count, 0, statuses, &accepted, ERR);
    CHECK_EQ(accepted == count ? 0 : KABI_STATUS_QUEUE_FULL, status);
    remaining = 0;
    for (size_t i = 0; i < count; i++) {
      CHECK(statuses[i] == 0 || statuses[i] == KABI_STATUS_QUEUE_FULL);
      if (statuses[i] != 0) left[remaining++] = messages[i];
    }
    CHECK_EQ(count - accepted, remaining);
    have += drain_reports(producer, reports + have, accepted);
  }
  CHECK_EQ(COUNT, have);
  check_tokens(reports, have, 0, 0);
  end(producer);
}

TEST(a_large_record_goes_and_a_too_large_one_is_refused) {
  kabi_producer_t *producer = start(1);
  static char value[1200000];
  memset(value, 'L', sizeof value);
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, NULL);
  message.value = value;
  message.value_length = 900000;
  send(producer, &message);
  message.value_length = sizeof value;
  GIVES(10, kabi_producer_send(producer, &message, 0, ERR)); /* MSG_SIZE_TOO_LARGE */
  flush(producer);
  kabi_consumer_t *consumer;
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  read_all(1, &consumer, &batch, &info);
  CHECK_EQ(900000, info.records[0].value_length);
  CHECK(memcmp(value, info.records[0].value, 900000) == 0);
  read_done(consumer, batch);
  end(producer);
}

/* ---- flush, purge, close, free ---- */

/* Each flush returns once its record is acknowledged; the trap is a wait of 100 ms for each. */
TEST(flush_returns_as_soon_as_it_is_done) {
  kabi_producer_t *producer = start(1);
  fill(producer, "sent", 0, 0, 1);
  int64_t begin = now_ms();
  for (int i = 0; i < 50; i++) fill(producer, "sent", 0, i, 1);
  CHECK_WITHIN(2500, begin);
  begin = now_ms();
  OK(kabi_producer_flush(producer, -1, NULL, ERR)); /* nothing to do */
  OK(kabi_producer_flush(producer, 0, NULL, ERR));
  CHECK_WITHIN(1000, begin);
  end(producer);
}

TEST(flush_does_not_wait_for_linger) {
  cluster = new_cluster(1);
  new_topic(cluster, "sent", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "linger.ms", "60000", NULL);
  int64_t begin = now_ms();
  fill(producer, "sent", 0, 0, 10);
  CHECK_WITHIN(10000, begin);
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "l");
  send(producer, &message);
  begin = now_ms();
  close_producer(producer); /* nor does close */
  CHECK_WITHIN(10000, begin);
  kabi_cluster_free(cluster);
}

/* What was acknowledged before flush returned is there to be drained without another wait. */
TEST(flush_leaves_every_report_ready) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < 500; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "f");
    message.token = i;
    send(producer, &message);
  }
  flush(producer);
  CHECK_EQ(500, drain_rest(producer, reports, 600));
  check_tokens(reports, 500, 0, 0);
  end(producer);
}

TEST(flush_times_out_and_a_later_one_goes_on) {
  kabi_producer_t *producer = start(1);
  fill(producer, "sent", 0, 0, 1);
  OK(kabi_cluster_broker_down(cluster, KABI_BROKER_ALL, ERR));
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "later");
  send(producer, &message);
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_flush(producer, 300, NULL, ERR));
  CHECK(now_ms() - begin >= 290);
  CHECK_WITHIN(5000, begin);
  OK(kabi_cluster_broker_up(cluster, KABI_BROKER_ALL, ERR));
  OK(kabi_producer_flush(producer, patience(30000), NULL, ERR));
  CHECK_EQ(1, drain_reports(producer, reports, 1));
  CHECK_EQ(0, reports[0].code);
  end(producer);
}

TEST(flush_counts_failures_since_the_last_that_succeeded) {
  kabi_producer_t *producer = start(1);
  uint64_t failed = 99;
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "f");
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 44, 1, ERR)); /* POLICY_VIOLATION */
  send(producer, &message);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(1, failed);
  send(producer, &message);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(0, failed);
  CHECK_EQ(2, drain_reports(producer, reports, 2));
  end(producer);
}

TEST(purge_of_the_queue) {
  kabi_producer_t *producer = new_producer(NOWHERE, NULL);
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < 20; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "p");
    message.token = i;
    send(producer, &message);
  }
  OK(kabi_producer_purge(producer, KABI_PURGE_QUEUED, ERR));
  CHECK_EQ(20, drain_reports(producer, reports, 20));
  check_tokens(reports, 20, 0, KABI_STATUS_PURGE_QUEUE);
  for (size_t i = 0; i < 20; i++) {
    CHECK_EQ(KABI_PERSISTED_NO, reports[i].persisted);
    CHECK_EQ(KABI_OFFSET_INVALID, reports[i].offset);
    CHECK((reports[i].flags & KABI_ERROR_OUTCOME_UNKNOWN) == 0);
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_purge(producer, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_purge(producer, 4, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_purge(producer, UINT32_MAX, ERR));
  uint64_t undelivered = 99, failed = 99;
  OK(kabi_producer_flush(producer, patience(10000), &failed, ERR));
  CHECK_EQ(20, failed);
  OK(kabi_producer_close(producer, patience(10000), &undelivered, ERR));
  CHECK_EQ(0, undelivered); /* since that flush */
  kabi_producer_free(producer);
}

TEST(purge_in_flight) {
  kabi_producer_t *producer = start(1);
  fill(producer, "sent", 0, 0, 1);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, patience(60000), ERR)); /* no answer comes */
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "p");
  message.token = 5;
  send(producer, &message);
  /* Until it is in flight a purge passes it by. */
  size_t count = 0;
  int64_t until = now_ms() + patience(20000);
  while (count == 0 && now_ms() < until) {
    OK(kabi_producer_purge(producer, KABI_PURGE_IN_FLIGHT, ERR));
    OK(kabi_producer_drain(producer, 50, reports, 1, &count, NULL, 0, NULL, ERR));
  }
  MUST(count == 1);
  check_tokens(reports, 1, 5, KABI_STATUS_PURGE_INFLIGHT);
  CHECK_EQ(KABI_PERSISTED_POSSIBLY, reports[0].persisted);
  CHECK((reports[0].flags & KABI_ERROR_OUTCOME_UNKNOWN) != 0);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 0, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(close_tells_what_was_not_delivered) {
  kabi_producer_t *producer = start(1);
  fill(producer, "sent", 0, 0, 1);
  OK(kabi_cluster_broker_down(cluster, KABI_BROKER_ALL, ERR));
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < 10; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "c");
    message.token = i;
    send(producer, &message);
  }
  uint64_t undelivered = 99;
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_close(producer, 500, &undelivered, ERR));
  CHECK_WITHIN(5000, begin);
  CHECK_EQ(10, undelivered);
  /* Its reports are there, each once, and then the end. */
  CHECK_EQ(10, drain_rest(producer, reports, 20));
  check_tokens(reports, 10, 0, ANY_CODE);
  for (size_t i = 0; i < 10; i++) CHECK(reports[i].code == KABI_STATUS_PURGE_QUEUE || reports[i].code == KABI_STATUS_PURGE_INFLIGHT);
  OK(kabi_producer_close(producer, patience(10000), &undelivered, ERR)); /* finishes the teardown */
  begin = now_ms();
  OK(kabi_producer_close(producer, 0, NULL, ERR)); /* and again */
  CHECK_WITHIN(1000, begin);
  size_t count = 0;
  GIVES(KABI_STATUS_CLOSED, kabi_producer_poll(producer, 0, &count, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(close_with_no_time_still_reports_everything) {
  kabi_producer_t *producer = new_producer(NOWHERE, NULL);
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < 10; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "c");
    message.token = i;
    send(producer, &message);
  }
  uint64_t undelivered = 99;
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_close(producer, 0, &undelivered, ERR));
  CHECK_WITHIN(5000, begin);
  CHECK_EQ(10, undelivered);
  CHECK_EQ(10, drain_reports(producer, reports, 10));
  check_tokens(reports, 10, 0, KABI_STATUS_PURGE_QUEUE);
  kabi_producer_free(producer);
}

TEST(close_delivers_what_was_sent) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < 1000; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "c");
    message.token = i;
    send(producer, &message);
  }
  uint64_t undelivered = 99;
  OK(kabi_producer_close(producer, patience(20000), &undelivered, ERR));
  CHECK_EQ(0, undelivered);
  CHECK_EQ(1000, drain_rest(producer, reports, 2000));
  check_tokens(reports, 1000, 0, 0);
  /* Drained after the close, to the end. */
  kabi_event_t event;
  size_t count;
  int32_t fd;
  GIVES(KABI_STATUS_CLOSED, kabi_producer_drain(producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
  GIVES(KABI_STATUS_CLOSED, kabi_producer_poll(producer, -1, &count, ERR)); /* at once */
  OK(kabi_producer_event_fd(producer, &fd, ERR));
  CHECK(readable(fd, 0)); /* for good: an event loop sees the end */
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(free_without_close_delivers_in_the_background) {
  kabi_producer_t *producer = start(1);
  int32_t topic = topic_of(producer, "sent");
  kabi_message_t message = message_of(topic, 0, NULL, "b");
  for (int i = 0; i < 100; i++) send(producer, &message);
  int64_t begin = now_ms();
  kabi_producer_free(producer);
  CHECK(now_ms() - begin < patience(1000));
  GIVES(KABI_STATUS_HANDLE, kabi_producer_send(producer, &message, 0, ERR));
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "sent", 0, KABI_OFFSET_BEGINNING);
  seen_t seen[100];
  CHECK_EQ(100, take(consumer, seen, 100));
  close_consumer(consumer);
  OK(kabi_shutdown(patience(20000), ERR));
  kabi_cluster_free(cluster);
}

/* Without a broker the background flush ends with the records' own time-out. */
TEST(free_without_a_broker_ends_with_the_message_timeout) {
  kabi_producer_t *producer = new_producer(NOWHERE, "message.timeout.ms", "500", NULL);
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "b");
  for (int i = 0; i < 10; i++) send(producer, &message);
  int64_t begin = now_ms();
  kabi_producer_free(producer);
  CHECK(now_ms() - begin < patience(400));
  OK(kabi_shutdown(patience(20000), ERR));
  CHECK_WITHIN(15000, begin);
}

/* ---- when brokers fail ---- */

static kabi_event_t one_report(kabi_producer_t *producer) {
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "v");
  message.token = 42;
  send(producer, &message);
  MUST(drain_reports(producer, reports, 1) == 1);
  CHECK_EQ(42, reports[0].token);
  flush(producer);
  CHECK_EQ(0, drain_rest(producer, reports + 1, 1)); /* once */
  return reports[0];
}

TEST(reports_say_whether_a_record_was_written) {
  kabi_producer_t *producer = start(1);
  kabi_event_t report = one_report(producer);
  CHECK(report.code == 0 && report.persisted == KABI_PERSISTED_YES);
  close_producer(producer);

  producer = new_producer(bootstrap(cluster), "enable.idempotence", "false", "retries", "0", NULL);
  fill(producer, "sent", 0, 0, 1);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 44, 1, ERR)); /* POLICY_VIOLATION */
  report = one_report(producer);
  CHECK_EQ(44, report.code);
  CHECK_EQ(KABI_PERSISTED_NO, report.persisted);
  CHECK_EQ(KABI_OFFSET_INVALID, report.offset);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 20, 1, ERR)); /* NOT_ENOUGH_REPLICAS_AFTER_APPEND */
  report = one_report(producer);
  CHECK_EQ(20, report.code);
  CHECK_EQ(KABI_PERSISTED_POSSIBLY, report.persisted);
  end(producer);
}

TEST(a_passing_error_is_retried_and_reported_once) {
  kabi_producer_t *producer = start(1);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 19, 3, ERR)); /* NOT_ENOUGH_REPLICAS, thrice */
  kabi_event_t report = one_report(producer);
  CHECK(report.code == 0 && report.persisted == KABI_PERSISTED_YES);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "sent", 0, KABI_OFFSET_BEGINNING);
  seen_t seen;
  CHECK_EQ(1, take(consumer, &seen, 1));
  poll_empty(consumer, 300); /* written once */
  close_consumer(consumer);
  end(producer);
}

TEST(a_record_times_out_without_a_broker) {
  kabi_producer_t *producer = new_producer(NOWHERE, "message.timeout.ms", "300", NULL);
  kabi_event_t report = one_report(producer);
  CHECK_EQ(KABI_STATUS_MSG_TIMED_OUT, report.code);
  CHECK_EQ(KABI_PERSISTED_NO, report.persisted); /* it never left */
  close_producer(producer);
}

/* The default producer is idempotent: only such a one asks for a producer id, and fails for good without one. */
TEST(a_producer_is_idempotent_unless_told_otherwise) {
  static kabi_event_t events[16];
  static uint8_t bytes[65536];
  size_t count, used;
  int fatal = 0;
  int64_t until = now_ms() + patience(20000);
  cluster = new_cluster(1);
  new_topic(cluster, "sent", 1);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_INIT_PRODUCER_ID, 31, 100, ERR)); /* CLUSTER_AUTHORIZATION_FAILED */
  kabi_producer_t *plain = new_producer(bootstrap(cluster), "enable.idempotence", "false", NULL);
  fill(plain, "sent", 0, 0, 1);
  kabi_producer_t *acks_one = new_producer(bootstrap(cluster), "acks", "1", NULL); /* conflicts, so it yields */
  fill(acks_one, "sent", 0, 0, 1);
  kabi_producer_t *unordered = new_producer(bootstrap(cluster), "max.in.flight.requests.per.connection", "100", NULL);
  fill(unordered, "sent", 0, 0, 1);
  kabi_producer_t *once = new_producer(bootstrap(cluster), "retries", "0", NULL);
  fill(once, "sent", 0, 0, 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  while (!fatal && now_ms() < until) {
    MUST_OK(kabi_producer_drain(producer, patience(1000), events, 16, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++)
      if (events[i].kind == KABI_EVENT_ERROR && (events[i].flags & KABI_ERROR_FATAL) != 0) fatal = 1;
  }
  CHECK(fatal);
  kabi_message_t message = message_of(topic_of(producer, "sent"), 0, NULL, "v");
  kabi_status_t status = kabi_producer_send(producer, &message, 0, ERR);
  CHECK(status != 0 && (last_error()->flags & KABI_ERROR_FATAL) != 0);
  kabi_producer_free(producer);
  close_producer(plain);
  close_producer(acks_one);
  close_producer(unordered);
  end(once);
}

/* ---- threads ---- */

enum { THREADS = 5 };
typedef struct sender_t { kabi_producer_t *producer; int number, count; } sender_t;

static void *send_all(void *argument) {
  sender_t *sender = (sender_t *)argument;
  int32_t topic = topic_of(sender->producer, "sent");
  for (int i = 0; i < sender->count; i++) {
    kabi_message_t messages[3];
    kabi_status_t statuses[3];
    size_t accepted, n = 1 + (size_t)(i % 3);
    for (size_t k = 0; k < n; k++) {
      messages[k] = message_of(topic, sender->number % 2, NULL, "t");
      messages[k].token = (uint64_t)(sender->number * sender->count + i) + k;
    }
    if (n > (size_t)(sender->count - i)) n = (size_t)(sender->count - i);
    if (i % 2 == 0) {
      for (size_t k = 0; k < n; k++) send(sender->producer, &messages[k]);
    } else {
      MUST_OK(kabi_producer_send_many(sender->producer, messages, n, patience(20000), statuses, &accepted, ERR));
    }
    i += (int)n - 1;
  }
  return NULL;
}

TEST(five_threads_send_at_once) {
  kabi_producer_t *producer = start(2);
  sender_t senders[THREADS];
  pthread_t threads[THREADS];
  int count = scaled(4000, 200);
  for (int i = 0; i < THREADS; i++) {
    sender_t sender = {producer, i, count};
    senders[i] = sender;
    MUST(pthread_create(&threads[i], NULL, send_all, &senders[i]) == 0);
  }
  size_t want = (size_t)(THREADS * count);
  CHECK_EQ(want, drain_reports(producer, reports, want));
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  check_tokens(reports, want, 0, 0);
  CHECK_EQ(0, drain_rest(producer, reports, 10));
  end(producer);
}

/* One producer is closed while five threads send: each send gives a status, each accepted one a report. */
typedef struct racer_t { kabi_producer_t *producer; int32_t topic; uint64_t accepted; kabi_status_t last; } racer_t;

static void *send_until_closed(void *argument) {
  racer_t *racer = (racer_t *)argument;
  kabi_message_t message = message_of(racer->topic, 0, NULL, "r");
  do {
    racer->last = kabi_producer_send(racer->producer, &message, 10, NULL);
    if (racer->last == 0) racer->accepted++;
  } while (racer->last == 0 || racer->last == KABI_STATUS_QUEUE_FULL);
  return NULL;
}

TEST(close_while_threads_send) {
  static kabi_event_t events[1000];
  kabi_producer_t *producer = start(1);
  racer_t racers[THREADS];
  pthread_t threads[THREADS];
  int32_t topic = topic_of(producer, "sent");
  fill(producer, "sent", 0, 0, 1);
  for (int i = 0; i < THREADS; i++) {
    racer_t racer = {producer, topic, 0, 0};
    racers[i] = racer;
    MUST(pthread_create(&threads[i], NULL, send_until_closed, &racers[i]) == 0);
  }
  uint64_t have = drain_reports(producer, events, 1000), sent = 0, undelivered = 99; /* they are at it */
  OK(kabi_producer_close(producer, patience(30000), &undelivered, ERR));
  CHECK_EQ(0, undelivered);
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK_EQ(KABI_STATUS_CLOSED, racers[i].last);
    sent += racers[i].accepted;
  }
  for (size_t got = 1; got > 0;) have += got = drain_rest(producer, events, 1000);
  CHECK_EQ(sent, have);
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}
