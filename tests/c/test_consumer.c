/* Reading: subscribe and assign, batches of views and their lives, entries, wake, busy, close.
   Positions and seeks are in test_consumer_seek.c, what is committed when in test_handled.c. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[2000];

static void start(int partitions, int records) { cluster = filled_cluster("read", partitions, records); }

static void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

static kabi_consumer_t *reader(const char *group) { return new_consumer(bootstrap(cluster), group, NULL); }

/* Each number of 0..count once in each of the partitions. */
static void check_seen(size_t partitions, size_t count) {
  static unsigned char times[16][1000];
  memset(times, 0, sizeof times);
  for (size_t i = 0; i < partitions * count; i++) {
    MUST(seen[i].partition >= 0 && (size_t)seen[i].partition < partitions && seen[i].number >= 0 && (size_t)seen[i].number < count);
    CHECK_EQ(seen[i].offset, seen[i].number);
    times[seen[i].partition][seen[i].number]++;
  }
  for (size_t p = 0; p < partitions; p++)
    for (size_t n = 0; n < count; n++) CHECK_EQ(1, times[p][n]);
}

/* ---- subscribe ---- */

TEST(subscribe_by_name) {
  start(3, 50);
  new_topic(cluster, "second", 1);
  fill_topic(cluster, "second", 0, 20);
  kabi_consumer_t *consumer = reader("by-name");
  const char *topics[2] = {"read", "second"};
  MUST_OK(kabi_consumer_subscribe(consumer, topics, 2, ERR));
  MUST(take(consumer, seen, 170) == 170);
  int counts[2] = {0, 0};
  int32_t second = consumer_topic_of(consumer, "second"), read = consumer_topic_of(consumer, "read");
  CHECK(second != read);
  for (int i = 0; i < 170; i++) {
    CHECK(seen[i].topic == second || seen[i].topic == read);
    counts[seen[i].topic == second]++;
  }
  CHECK(counts[0] == 150 && counts[1] == 20);
  end(consumer);
}

TEST(subscribe_by_pattern) {
  start(1, 5);
  new_topic(cluster, "match-1", 1);
  new_topic(cluster, "match-2", 1);
  fill_topic(cluster, "match-1", 0, 10);
  fill_topic(cluster, "match-2", 0, 10);
  kabi_consumer_t *consumer = reader("by-pattern");
  char name[32];
  size_t length;
  subscribe(consumer, "^match-[0-9]$");
  MUST(take(consumer, seen, 20) == 20);
  for (int i = 0; i < 20; i++) { /* topics that it met by itself have numbers and names */
    OK(kabi_consumer_topic_name(consumer, seen[i].topic, name, sizeof name, &length, ERR));
    CHECK(strncmp(name, "match-", 6) == 0);
  }
  poll_empty(consumer, 300);
  end(consumer);
}

TEST(subscribe_refuses_bad_names) {
  start(1, 1);
  kabi_consumer_t *consumer = reader("bad-names");
  static char name[4096];
  memset(name, 'n', sizeof name - 1);
  const char *bad[] = {"", "\xff", NULL, name, "^(unclosed"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const char *topics[2] = {"read", bad[i]};
    kabi_status_t status = kabi_consumer_subscribe(consumer, topics, 2, ERR);
    if (!CHECK(status == KABI_STATUS_ARGUMENT || (i == 4 && status == -186))) note("name %zu: %d", i, status);
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_subscribe(consumer, NULL, 1, ERR));
  end(consumer);
}

TEST(unsubscribe_stops_the_flow) {
  start(1, 10);
  /* The embedded cluster makes a member that comes back wait for the session time-out less a second. */
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "stops", "session.timeout.ms", "2000", "heartbeat.interval.ms", "100", NULL);
  subscribe(consumer, "read");
  MUST(take(consumer, seen, 5) == 5);
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  poll_empty(consumer, 300);
  size_t count = 99;
  kabi_partition_t list[4];
  OK(kabi_consumer_assignment(consumer, list, 4, &count, ERR));
  CHECK_EQ(0, count);
  subscribe(consumer, "read"); /* and on again */
  MUST(take(consumer, seen, 5) == 5);
  end(consumer);
}

/* Two members share four partitions; each record goes to one of them; the generation grows with the assignment. */
TEST(a_group_shares_partitions) {
  start(4, 50);
  kabi_consumer_t *members[2] = {new_consumer(bootstrap(cluster), "shared", "session.timeout.ms", "6000", "heartbeat.interval.ms", "100", NULL),
                                 new_consumer(bootstrap(cluster), "shared", "session.timeout.ms", "6000", "heartbeat.interval.ms", "100", NULL)};
  int64_t until = now_ms() + patience(40000);
  size_t counts[2] = {0, 0};
  uint64_t generation[2] = {0, 0}, changes = 0;
  kabi_partition_t list[4];
  subscribe(members[0], "read");
  size_t have = take(members[0], seen, 1); /* it has them all now */
  subscribe(members[1], "read");
  for (int turn = 0; now_ms() < until && !(counts[0] == 2 && counts[1] == 2); turn++) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(members[turn % 2], 1, 50, &batch, &info, ERR));
    if (info.count != 0) {
      CHECK(info.generation >= generation[turn % 2]);
      changes += info.generation > generation[turn % 2];
      generation[turn % 2] = info.generation;
      have++;
    }
    kabi_batch_free(batch);
    MUST_OK(kabi_consumer_assignment(members[turn % 2], list, 4, &counts[turn % 2], ERR));
  }
  CHECK(counts[0] == 2 && counts[1] == 2);
  CHECK(changes > 0 && have > 0);
  close_consumer(members[0]);
  end(members[1]);
}

/* ---- assign ---- */

TEST(assign_at_offsets) {
  start(4, 10);
  kabi_consumer_t *consumer = reader("at-offsets");
  int32_t topic = consumer_topic_of(consumer, "read");
  kabi_partition_t list[4] = {partition_of(topic, 0, KABI_OFFSET_BEGINNING), partition_of(topic, 1, 7), partition_of(topic, 2, KABI_OFFSET_END),
                              partition_of(topic, 3, KABI_OFFSET_STORED)};
  MUST_OK(kabi_consumer_assign(consumer, list, 4, ERR));
  MUST(take(consumer, seen, 23) == 23);
  poll_empty(consumer, 300);
  int counts[4] = {0, 0, 0, 0};
  int64_t next[4] = {0, 7, 10, 0};
  for (int i = 0; i < 23; i++) {
    counts[seen[i].partition]++;
    CHECK_EQ(next[seen[i].partition]++, seen[i].offset);
  }
  CHECK(counts[0] == 10 && counts[1] == 3 && counts[2] == 0 && counts[3] == 10);
  kabi_partition_t got[4];
  size_t count = 0;
  OK(kabi_consumer_assignment(consumer, got, 4, &count, ERR));
  CHECK_EQ(4, count);
  for (size_t i = 0; i < count; i++) CHECK(got[i].topic == topic && got[i].partition >= 0 && got[i].partition < 4);
  memset(got, 0x5a, sizeof got);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_assignment(consumer, got, 2, &count, ERR));
  CHECK_EQ(4, count);
  CHECK_EQ(0x5a5a5a5a, got[2].topic);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_assignment(consumer, NULL, 0, &count, ERR));
  CHECK_EQ(4, count);
  OK(kabi_consumer_assign(consumer, NULL, 0, ERR)); /* none any more */
  OK(kabi_consumer_assignment(consumer, NULL, 0, &count, ERR));
  CHECK_EQ(0, count);
  end(consumer);
}

TEST(assign_refuses_bad_partitions) {
  start(1, 3);
  kabi_consumer_t *consumer = reader("bad-partitions");
  int32_t topic = consumer_topic_of(consumer, "read");
  kabi_partition_t good = partition_of(topic, 0, 1), bad[8];
  for (int i = 0; i < 8; i++) bad[i] = good;
  bad[0].topic = 4711;
  bad[1].topic = -1;
  bad[2].partition = -1;
  bad[3].partition = INT32_MIN;
  bad[4].offset = -3;
  bad[5].offset = INT64_MIN;
  bad[6].reserved = 1;
  bad[7].metadata_length = -1;
  MUST_OK(kabi_consumer_assign(consumer, &good, 1, ERR));
  for (int i = 0; i < 8; i++) {
    kabi_partition_t list[2] = {good, bad[i]};
    if (!GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_assign(consumer, list, 2, ERR))) note("bad in way %d", i);
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_assign(consumer, NULL, 1, ERR));
  MUST(take(consumer, seen, 2) == 2); /* the good assignment stands */
  CHECK_EQ(1, seen[0].offset);
  end(consumer);
}

/* Faster than librdkafka stops and starts a partition. */
TEST(assign_again_and_again) {
  start(1, 10);
  kabi_consumer_t *consumer = reader("again");
  for (int i = 0; i < 100; i++) {
    assign(consumer, "read", 0, i % 10);
    if (i % 7 == 0) MUST_OK(kabi_consumer_assign(consumer, NULL, 0, ERR));
  }
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(9, seen[0].offset); /* the last one holds */
  end(consumer);
}

TEST(a_consumer_without_a_group_reads) {
  start(1, 10);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 10) == 10);
  check_seen(1, 10);
  end(consumer);
}

TEST(topics_have_numbers_and_names) {
  start(1, 1);
  kabi_consumer_t *consumer = reader(NULL);
  int32_t one = consumer_topic_of(consumer, "read"), two = consumer_topic_of(consumer, "unheard-of"), topic = 77;
  char name[32];
  size_t length = 0;
  CHECK(one >= 0 && two >= 0 && one != two && one == consumer_topic_of(consumer, "read"));
  OK(kabi_consumer_topic_name(consumer, two, name, sizeof name, &length, ERR));
  CHECK_TEXT("unheard-of", name);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_topic_name(consumer, two, name, 10, &length, ERR));
  CHECK_EQ(10, length);
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_topic_name(consumer, 4711, name, sizeof name, &length, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_topic_name(consumer, -1, name, sizeof name, &length, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_topic(consumer, "", &topic, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_topic(consumer, "\xff", &topic, ERR));
  CHECK_EQ(77, topic);
  end(consumer);
}

/* ---- batches ---- */

TEST(a_batch_is_no_larger_than_asked) {
  start(1, 100);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  int64_t next = 0;
  uint64_t number = 0;
  for (size_t most = 1; next < 100; most = most * 2 + 1) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, most, &batch, &info);
    CHECK(info.count <= most && info.size == 0 && info.number > number && info.generation > 0);
    number = info.number;
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      CHECK_EQ(next++, record->offset);
      CHECK(record->code == 0 && record->reserved == 0 && record->key == NULL && record->timestamp > 0 && record->leader_epoch >= -1);
    }
    kabi_batch_free(batch);
  }
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll(consumer, 0, 0, &batch, &info, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll(consumer, 1, -2, &batch, &info, ERR));
  OK(kabi_consumer_poll(consumer, SIZE_MAX, 0, &batch, &info, ERR)); /* as many as there are */
  CHECK(batch == NULL && info.count == 0);
  end(consumer);
}

static void check_batch(const kabi_batch_info_t *info, int64_t first) {
  for (size_t i = 0; i < info->count; i++) {
    CHECK_EQ(first + (int64_t)i, info->records[i].offset);
    CHECK_EQ(first + (int64_t)i, number_of(&info->records[i]));
  }
}

/* Several at once, freed in any order: before the close, after it, after the consumer is freed. */
TEST(batches_outlive_polls_close_and_consumer) {
  enum { BATCHES = 12 };
  static const int order[BATCHES] = {5, 0, 11, 3, 8, 1, 10, 2, 7, 9, 4, 6};
  start(1, 100);
  kabi_consumer_t *consumer = reader(NULL);
  kabi_batch_t *batches[BATCHES];
  kabi_batch_info_t infos[BATCHES];
  int64_t firsts[BATCHES], next = 0;
  kabi_header_t header;
  size_t count;
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  for (int i = 0; i < BATCHES; i++) {
    take_batch(consumer, 5, &batches[i], &infos[i]);
    firsts[i] = next;
    next += (int64_t)infos[i].count;
  }
  for (int i = 0; i < BATCHES; i++) {
    check_batch(&infos[order[i]], firsts[order[i]]);
    OK(kabi_batch_headers(batches[order[i]], 0, &header, 1, &count, ERR));
    CHECK_EQ(0, count);
    kabi_batch_free(batches[order[i]]);
    GIVES(KABI_STATUS_HANDLE, kabi_batch_headers(batches[order[i]], 0, &header, 1, &count, ERR));
    if (i == 3) {
      int64_t begin = now_ms();
      OK(kabi_consumer_close(consumer, patience(10000), ERR)); /* live batches don't hold it up */
      CHECK_WITHIN(5000, begin);
    }
    if (i == 7) kabi_consumer_free(consumer);
  }
  OK(kabi_shutdown(patience(10000), ERR));
  kabi_cluster_free(cluster);
}

/* A live batch keeps its own client alive, and no other's teardown waits for it. */
TEST(a_live_batch_delays_no_other_client) {
  start(1, 10);
  kabi_consumer_t *holder = reader(NULL), *other = reader(NULL);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  assign(holder, "read", 0, KABI_OFFSET_BEGINNING);
  take_batch(holder, 10, &batch, &info);
  kabi_consumer_free(holder);
  assign(other, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(take(other, seen, 10) == 10);
  int64_t begin = now_ms();
  close_consumer(other);
  CHECK_WITHIN(10000, begin);
  check_batch(&info, 0);
  kabi_batch_free(batch);
  OK(kabi_shutdown(patience(10000), ERR));
  kabi_cluster_free(cluster);
}

/* One thread takes batches, another frees them. */
static void *free_batches(void *argument) {
  kabi_batch_t **batches = (kabi_batch_t **)argument;
  for (int i = 0; i < 50; i++) {
    kabi_batch_t *batch;
    while ((batch = __atomic_load_n(&batches[i], __ATOMIC_ACQUIRE)) == NULL) sched_yield();
    kabi_batch_free(batch);
  }
  return NULL;
}

TEST(batches_may_be_freed_by_another_thread) {
  static kabi_batch_t *batches[50];
  start(1, 50);
  kabi_consumer_t *consumer = reader(NULL);
  pthread_t thread;
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(pthread_create(&thread, NULL, free_batches, batches) == 0);
  for (int i = 0; i < 50; i++) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 1, &batch, &info);
    CHECK_EQ(i, number_of(&info.records[0]));
    __atomic_store_n(&batches[i], batch, __ATOMIC_RELEASE);
  }
  pthread_join(thread, NULL);
  end(consumer);
}

TEST(every_codec_can_be_read) {
  static const char *const codecs[] = {"none", "gzip", "snappy", "lz4", "zstd"};
  static char value[20000];
  memset(value, 'z', sizeof value - 1);
  cluster = new_cluster(1);
  new_topic(cluster, "read", 5);
  kabi_consumer_t *consumer = reader(NULL);
  kabi_partition_t list[5];
  for (int32_t i = 0; i < 5; i++) {
    kabi_producer_t *producer = new_producer(bootstrap(cluster), "compression.type", codecs[i], "enable.idempotence", "false", NULL);
    kabi_message_t message = message_of(topic_of(producer, "read"), i, codecs[i], value);
    MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
    close_producer(producer);
    list[i] = partition_of(consumer_topic_of(consumer, "read"), i, KABI_OFFSET_BEGINNING);
  }
  MUST_OK(kabi_consumer_assign(consumer, list, 5, ERR));
  for (int i = 0; i < 5; i++) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 1, &batch, &info);
    const char *codec = codecs[info.records[0].partition];
    CHECK_EQ(strlen(codec), info.records[0].key_length);
    CHECK(memcmp(info.records[0].key, codec, strlen(codec)) == 0);
    CHECK_EQ(sizeof value - 1, info.records[0].value_length);
    CHECK(memcmp(info.records[0].value, value, sizeof value - 1) == 0);
    kabi_batch_free(batch);
  }
  end(consumer);
}

/* ---- entries ---- */

/* Polls until an entry comes; records before it are counted. */
static kabi_record_t take_entry(kabi_consumer_t *consumer, size_t *records, char *text, size_t size) {
  int64_t until = now_ms() + patience(20000);
  *records = 0;
  while (now_ms() < until) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(consumer, 1, patience(1000), &batch, &info, ERR));
    if (info.count == 1 && info.records[0].code != 0) {
      kabi_record_t entry = info.records[0];
      CHECK(entry.value != NULL && entry.value_length > 0 && (size_t)entry.value_length < size);
      memcpy(text, entry.value, (size_t)entry.value_length);
      text[entry.value_length] = 0;
      CHECK(is_utf8(text, (size_t)entry.value_length));
      kabi_batch_free(batch);
      return entry;
    }
    *records += info.count;
    kabi_batch_free(batch);
  }
  MUST(!"an entry came");
  abort();
}

TEST(the_end_of_a_partition_is_an_entry) {
  start(1, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "enable.partition.eof", "true", NULL);
  size_t records;
  char text[512];
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  kabi_record_t entry = take_entry(consumer, &records, text, sizeof text);
  CHECK_EQ(KABI_STATUS_PARTITION_EOF, entry.code);
  CHECK_EQ(10, records);
  CHECK_EQ(10, entry.offset);
  CHECK_EQ(0, entry.partition);
  CHECK_EQ(consumer_topic_of(consumer, "read"), entry.topic);
  CHECK(entry.key == NULL && entry.key_length == 0);
  fill_topic(cluster, "read", 0, 3);
  entry = take_entry(consumer, &records, text, sizeof text);
  CHECK(entry.code == KABI_STATUS_PARTITION_EOF && records == 3 && entry.offset == 13);
  end(consumer);
}

/* A partition's error is an entry, and the other partition goes on. */
TEST(a_partitions_error_is_an_entry) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "auto.offset.reset", "error", NULL);
  int32_t topic = consumer_topic_of(consumer, "read");
  kabi_partition_t list[2] = {partition_of(topic, 0, 1000), partition_of(topic, 1, 0)};
  size_t records, before;
  char text[512];
  MUST_OK(kabi_consumer_assign(consumer, list, 2, ERR));
  kabi_record_t entry = take_entry(consumer, &records, text, sizeof text);
  before = records;
  CHECK_EQ(-140, entry.code); /* AUTO_OFFSET_RESET */
  CHECK_EQ(0, entry.partition);
  CHECK_EQ(10 - before, take(consumer, seen, 10 - before));
  end(consumer);
}

/* ---- wake, busy, close ---- */

typedef struct poller_t { kabi_consumer_t *consumer; int packed; int started; kabi_status_t status; } poller_t;

static void *poll_forever(void *argument) {
  poller_t *poller = (poller_t *)argument;
  static union { uint64_t align; uint8_t bytes[4096]; } buffer;
  kabi_batch_info_t info;
  kabi_batch_t *batch = NULL;
  __atomic_store_n(&poller->started, 1, __ATOMIC_SEQ_CST);
  do {
    poller->status = poller->packed ? kabi_consumer_poll_packed(poller->consumer, 1, -1, buffer.bytes, sizeof buffer.bytes, &info, NULL)
                                    : kabi_consumer_poll(poller->consumer, 1, -1, &batch, &info, NULL);
    kabi_batch_free(batch);
    batch = NULL;
  } while (poller->status == KABI_STATUS_BUSY);
  return NULL;
}

TEST(a_wake_ends_a_poll_in_progress_or_the_next) {
  start(1, 0);
  poller_t poller = {reader(NULL), 0, 0, 0};
  pthread_t thread;
  assign(poller.consumer, "read", 0, KABI_OFFSET_BEGINNING);
  for (int i = 0; i < 20; i++) {
    poller.packed = i % 4 / 2;
    poller.started = 0;
    MUST(pthread_create(&thread, NULL, poll_forever, &poller) == 0);
    if (i % 2 != 0) while (!__atomic_load_n(&poller.started, __ATOMIC_SEQ_CST)) sched_yield();
    OK(kabi_consumer_wake(poller.consumer, ERR));
    pthread_join(thread, NULL);
    CHECK_EQ(KABI_STATUS_INTERRUPTED, poller.status);
  }
  poll_empty(poller.consumer, 0); /* none is left over */
  end(poller.consumer);
}

TEST(a_second_poll_at_once_is_busy) {
  start(1, 0);
  poller_t poller = {reader(NULL), 0, 0, 0};
  pthread_t thread;
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  kabi_status_t status = 0;
  int64_t until = now_ms() + patience(10000);
  assign(poller.consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(pthread_create(&thread, NULL, poll_forever, &poller) == 0);
  while (status == 0 && now_ms() < until) status = kabi_consumer_poll(poller.consumer, 1, 0, &batch, &info, NULL);
  CHECK_EQ(KABI_STATUS_BUSY, status);
  CHECK(batch == NULL);
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_BUSY, kabi_consumer_poll(poller.consumer, 1, 60000, &batch, &info, ERR)); /* at once */
  CHECK_WITHIN(5000, begin);
  CHECK_EQ(KABI_OFFSET_INVALID, position_of(poller.consumer, "read", 0)); /* other calls go on meanwhile */
  OK(kabi_consumer_wake(poller.consumer, ERR));
  pthread_join(thread, NULL);
  CHECK_EQ(KABI_STATUS_INTERRUPTED, poller.status);
  end(poller.consumer);
}

/* The descriptor is for records as well. */
TEST(the_descriptor_tells_of_records) {
  start(1, 0);
  kabi_consumer_t *consumer = reader(NULL);
  int32_t fd = -1;
  MUST_OK(kabi_consumer_event_fd(consumer, &fd, ERR));
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  int rounds = scaled(100, 20), next = 0;
  for (int i = 0; i < rounds; i++) {
    fill(producer, "read", 0, i, 1);
    while (next <= i) { /* readable now and then for nothing, but never silent */
      if (!CHECK(readable(fd, patience(10000)))) break;
      kabi_batch_t *batch = NULL;
      kabi_batch_info_t info;
      memset(&info, 0, sizeof info);
      MUST_OK(kabi_consumer_poll(consumer, 100, 0, &batch, &info, ERR));
      for (size_t k = 0; k < info.count; k++) CHECK_EQ(next++, number_of(&info.records[k]));
      kabi_batch_free(batch);
    }
  }
  close_producer(producer);
  end(consumer);
}

static void close_under_a_poll(int packed) {
  start(1, 0);
  poller_t poller = {new_consumer(bootstrap(cluster), "closes", NULL), packed, 0, 0};
  pthread_t thread;
  subscribe(poller.consumer, "read");
  poll_empty(poller.consumer, 500);
  MUST(pthread_create(&thread, NULL, poll_forever, &poller) == 0);
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  int64_t until = now_ms() + patience(10000);
  kabi_status_t status = 0;
  while (status == 0 && now_ms() < until) status = kabi_consumer_poll(poller.consumer, 1, 0, &batch, &info, NULL);
  CHECK_EQ(KABI_STATUS_BUSY, status); /* it is in there */
  int64_t begin = now_ms();
  OK(kabi_consumer_close(poller.consumer, patience(10000), ERR));
  CHECK_WITHIN(8000, begin);
  pthread_join(thread, NULL);
  CHECK_EQ(KABI_STATUS_CLOSED, poller.status);
  GIVES(KABI_STATUS_CLOSED, kabi_consumer_poll(poller.consumer, 1, -1, &batch, &info, ERR));
  kabi_consumer_free(poller.consumer);
  kabi_cluster_free(cluster);
}

TEST(close_ends_a_poll_of_another_thread) { close_under_a_poll(0); }
TEST(close_ends_a_packed_poll_of_another_thread) { close_under_a_poll(1); }

TEST(close_leaves_the_group) {
  start(1, 10);
  kabi_consumer_t *first = new_consumer(bootstrap(cluster), "leaves", "session.timeout.ms", "2000", NULL);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  subscribe(first, "read");
  take_batch(first, 5, &batch, &info); /* in hand at the close, so not handled */
  kabi_batch_free(batch);
  MUST_OK(kabi_cluster_track_requests(cluster, 1, ERR));
  int64_t begin = now_ms();
  OK(kabi_consumer_close(first, patience(10000), ERR));
  CHECK_WITHIN(8000, begin);
  CHECK_EQ(1, requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_LEAVE_GROUP));
  MUST_OK(kabi_cluster_track_requests(cluster, 0, ERR));
  OK(kabi_consumer_close(first, 0, ERR)); /* again */
  kabi_consumer_t *second = new_consumer(bootstrap(cluster), "leaves", "session.timeout.ms", "2000", NULL);
  subscribe(second, "read");
  MUST(take(second, seen, 1) == 1);
  CHECK_EQ(0, seen[0].offset);
  kabi_consumer_free(first);
  end(second);
}

TEST(close_in_a_rebalance_returns) {
  start(2, 10);
  kabi_consumer_t *first = reader("rebalances"), *second = reader("rebalances");
  subscribe(first, "read");
  MUST(take(first, seen, 2) == 2);
  subscribe(second, "read"); /* sets off a rebalance that the first does not serve */
  poll_empty(second, 500);
  int64_t begin = now_ms();
  /* The coordinator may take no offsets then: the close says so. */
  kabi_status_t status = kabi_consumer_close(first, patience(10000), ERR);
  CHECK(status == 0 || status == KABI_STATUS_REBALANCE_IN_PROGRESS);
  OK(kabi_consumer_close(second, patience(10000), ERR));
  CHECK_WITHIN(18000, begin);
  kabi_consumer_free(first);
  kabi_consumer_free(second);
  kabi_cluster_free(cluster);
}

/* With offsets to commit and nobody to take them, it says so in its time. */
TEST(close_without_a_broker_returns_in_its_time) {
  start(1, 10);
  /* Its goodbye goes on in the background for the session time-out, which librdkafka can't be talked out of. */
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "unsaved", "session.timeout.ms", "6000", NULL);
  subscribe(consumer, "read");
  MUST(take(consumer, seen, 5) == 5);
  MUST(take(consumer, seen, 1) == 1); /* five are handled now */
  OK(kabi_cluster_broker_down(cluster, KABI_BROKER_ALL, ERR));
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_close(consumer, 1000, ERR));
  CHECK_WITHIN(6000, begin);
  begin = now_ms();
  kabi_consumer_free(consumer);
  CHECK(now_ms() - begin < patience(1000));
  begin = now_ms();
  OK(kabi_shutdown(patience(30000), ERR));
  CHECK_WITHIN(28000, begin);
  kabi_cluster_free(cluster);
}

TEST(close_of_an_idle_consumer) {
  kabi_consumer_t *consumer = new_consumer(NOWHERE, "idle", NULL);
  int64_t begin = now_ms();
  OK(kabi_consumer_close(consumer, patience(5000), ERR)); /* nothing to save, nothing to leave */
  CHECK_WITHIN(4000, begin);
  kabi_consumer_free(consumer);
  consumer = new_consumer(NOWHERE, "idle", NULL);
  subscribe(consumer, "read");
  begin = now_ms();
  kabi_consumer_close(consumer, 500, NULL);
  CHECK_WITHIN(5000, begin);
  kabi_consumer_free(consumer);
}

TEST(free_without_close) {
  start(1, 10);
  kabi_consumer_t *consumer = reader("just-freed");
  subscribe(consumer, "read");
  MUST(take(consumer, seen, 5) == 5);
  int64_t begin = now_ms();
  kabi_consumer_free(consumer);
  CHECK(now_ms() - begin < patience(1000));
  GIVES(KABI_STATUS_HANDLE, kabi_consumer_wake(consumer, ERR));
  OK(kabi_shutdown(patience(20000), ERR));
  kabi_cluster_free(cluster);
}
