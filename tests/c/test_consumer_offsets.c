/* Commits that nobody waits for, metadata, and questions about offsets: times, watermarks, lag. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[500];
static int64_t bytes[64 * 1024 / 8];

static void start(int partitions, int records) { cluster = filled_cluster("ask", partitions, records); }

static void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

static kabi_consumer_t *committer(const char *group, uint32_t mask, const char *events_max) {
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", group, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
                                     "kafkabi.events.max", events_max, "session.timeout.ms", "6000", NULL);
  MUST_OK(kabi_config_events(config, mask, ERR));
  return consumer_from(config);
}

/* Drains commit events until `want` came or patience ends; CLOSED ends it too. */
static size_t drain_commits(kabi_consumer_t *consumer, kabi_event_t *into, kabi_partition_t *first, size_t want) {
  int64_t until = now_ms() + patience(20000);
  size_t have = 0;
  while (have < want && now_ms() < until) {
    kabi_event_t event;
    size_t count = 0, used = 0;
    kabi_status_t status = kabi_consumer_drain(consumer, patience(500), &event, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR);
    if (status == KABI_STATUS_CLOSED) break;
    MUST(status == 0);
    if (count == 0 || event.kind != KABI_EVENT_COMMIT) continue;
    memset(&first[have], 0, sizeof *first);
    if (event.data_count > 0) memcpy(&first[have], (const char *)bytes + event.data_offset, sizeof *first);
    into[have++] = event;
  }
  return have;
}

/* ---- commits without waiting ---- */

TEST(async_commits_are_told_once_each) {
  enum { COMMITS = 50 };
  start(2, 10);
  kabi_consumer_t *consumer = committer("async", KABI_EVENT_COMMIT, "100");
  int32_t topic = consumer_topic_of(consumer, "ask");
  static kabi_event_t events[COMMITS + 1];
  static kabi_partition_t firsts[COMMITS + 1];
  uint64_t number = 0, last = 0;
  assign(consumer, "ask", 0, 0);
  kabi_partition_t before = partition_of(topic, 0, 0);
  OK(kabi_consumer_commit(consumer, &before, 1, patience(20000), ERR)); /* the coordinator is known: order is kept from then on */
  for (int i = 0; i < COMMITS; i++) {
    kabi_partition_t list[2] = {partition_of(topic, 0, i), partition_of(topic, 1, i + 100)};
    MUST_OK(kabi_consumer_commit_async(consumer, list, 2, &number, ERR));
    CHECK(number > last);
    last = number;
  }
  MUST(drain_commits(consumer, events, firsts, COMMITS) == COMMITS);
  for (int i = 0; i < COMMITS; i++) {
    CHECK_EQ(0, events[i].code);
    CHECK_EQ((uint64_t)i + last - COMMITS + 1, events[i].token);
    CHECK(events[i].data_count == 2 && firsts[i].topic == topic && firsts[i].partition == 0 && firsts[i].offset == i && firsts[i].code == 0);
  }
  CHECK_EQ(COMMITS - 1, group_offset(cluster, "async", "ask", 0));
  CHECK_EQ(COMMITS + 99, group_offset(cluster, "async", "ask", 1));
  size_t count = 9, used;
  OK(kabi_consumer_drain(consumer, 200, events, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
  CHECK_EQ(0, count);
  end(consumer);
}

TEST(async_commit_of_what_is_handled) {
  start(1, 10);
  kabi_consumer_t *consumer = committer("handled", KABI_EVENT_COMMIT, "100");
  kabi_event_t event;
  kabi_partition_t first;
  uint64_t number = 0;
  assign(consumer, "ask", 0, 0);
  OK(kabi_consumer_commit_async(consumer, NULL, 0, &number, ERR)); /* nothing yet: a success */
  MUST(drain_commits(consumer, &event, &first, 1) == 1);
  CHECK(event.code == 0 && event.data_count == 0 && event.token == number);
  MUST(take(consumer, seen, 10) == 10);
  poll_empty(consumer, 0);
  OK(kabi_consumer_commit_async(consumer, NULL, 0, &number, ERR));
  MUST(drain_commits(consumer, &event, &first, 1) == 1);
  CHECK(event.code == 0 && event.data_count == 1 && first.offset == 10 && event.token == number);
  CHECK_EQ(10, group_offset(cluster, "handled", "ask", 0));
  end(consumer);
}

TEST(async_commit_errors) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("errors", KABI_EVENT_COMMIT, "100");
  int32_t topic = consumer_topic_of(consumer, "ask");
  kabi_partition_t list = partition_of(topic, 0, -5);
  kabi_event_t event;
  kabi_partition_t first;
  uint64_t number = 7;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_async(consumer, NULL, 1, &number, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_async(consumer, NULL, 0, NULL, ERR));
  CHECK_EQ(7, number);
  list.offset = 1;
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_COMMIT, 12 /* metadata too large */, 1, ERR));
  OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  MUST(drain_commits(consumer, &event, &first, 1) == 1);
  CHECK_EQ(12, event.code);
  CHECK(event.token == number && event.text_length > 0);
  kabi_consumer_t *alone = new_consumer(bootstrap(cluster), NULL, NULL);
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_consumer_commit_async(alone, &list, 1, &number, ERR));
  close_consumer(alone);
  end(consumer);
}

/* Slots bound what is owed; draining gives them back. */
TEST(async_commits_without_draining_fill_up) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("fills", KABI_EVENT_COMMIT, "10");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1);
  kabi_event_t events[10];
  kabi_partition_t firsts[10];
  uint64_t number;
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 10; i++) OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
    GIVES(KABI_STATUS_QUEUE_FULL, kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
    CHECK(last_error()->flags & KABI_ERROR_RETRIABLE);
    MUST(drain_commits(consumer, events, firsts, 10) == 10);
  }
  end(consumer);
}

TEST(async_commits_that_nobody_wants_to_hear_of) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("deaf", 0, "10");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1);
  uint64_t number;
  OK(kabi_consumer_commit(consumer, &list, 1, patience(10000), ERR)); /* the coordinator is known: until then their order is librdkafka's */
  for (int i = 1; i <= 100; i++) {
    list.offset = i;
    OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  }
  OK(kabi_consumer_commit(consumer, &list, 1, patience(10000), ERR)); /* behind them all */
  CHECK_EQ(100, group_offset(cluster, "deaf", "ask", 0));
  end(consumer);
}

/* Never drained before the close: each is told exactly once all the same. */
TEST(async_commits_are_told_after_the_close) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("late", KABI_EVENT_COMMIT, "100");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1);
  static kabi_event_t events[100];
  static kabi_partition_t firsts[100];
  uint64_t number = 0;
  OK(kabi_consumer_commit(consumer, &list, 1, patience(10000), ERR)); /* the coordinator is known */
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 200, ERR));
  for (int i = 0; i < 20; i++) OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  OK(kabi_consumer_close(consumer, patience(10000), ERR));
  CHECK_EQ(20, drain_commits(consumer, events, firsts, 100));
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < i; j++) CHECK(events[i].token != events[j].token);
  kabi_consumer_free(consumer);
  kabi_cluster_free(cluster);
}

/* And when the coordinator never answers. */
TEST(async_commits_without_a_broker_are_told_after_the_close) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("gone", KABI_EVENT_COMMIT, "100");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1);
  static kabi_event_t events[100];
  static kabi_partition_t firsts[100];
  uint64_t number = 0;
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  for (int i = 0; i < 5; i++) OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  int64_t begin = now_ms();
  kabi_status_t status = kabi_consumer_close(consumer, 1000, ERR);
  CHECK(status == 0 || status == KABI_STATUS_TIMED_OUT);
  CHECK_WITHIN(3000, begin);
  CHECK_EQ(5, drain_commits(consumer, events, firsts, 100));
  for (int i = 0; i < 5; i++) CHECK(events[i].code != 0);
  kabi_consumer_free(consumer);
  OK(kabi_shutdown(patience(20000), ERR));
  kabi_cluster_free(cluster);
}

static int handled_commits;
static int32_t on_commit(const kabi_event_t *events, size_t count, const uint8_t *data, void *user) {
  (void)user;
  for (size_t i = 0; i < count; i++) {
    kabi_partition_t list;
    MUST(events[i].kind == KABI_EVENT_COMMIT && events[i].data_count == 1);
    memcpy(&list, data + events[i].data_offset, sizeof list);
    CHECK(list.offset == 4 && list.code == 0);
    handled_commits++;
  }
  return 0;
}

TEST(a_handler_is_told_of_commits) {
  start(1, 5);
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", "told", NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_COMMIT, ERR));
  MUST_OK(kabi_config_handler(config, KABI_EVENT_COMMIT, on_commit, NULL, NULL, ERR));
  kabi_consumer_t *consumer = consumer_from(config);
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 4);
  uint64_t number;
  OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  int64_t until = now_ms() + patience(10000);
  while (handled_commits == 0 && now_ms() < until) poll_empty(consumer, patience(1000));
  CHECK_EQ(1, handled_commits);
  end(consumer);
}

/* Several threads commit at once. */
static void *commit_many(void *argument) {
  kabi_consumer_t *consumer = (kabi_consumer_t *)argument;
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1);
  uint64_t number;
  for (int i = 0; i < 50; i++) OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  return NULL;
}

TEST(async_commits_from_several_threads) {
  start(1, 1);
  kabi_consumer_t *consumer = committer("threads", KABI_EVENT_COMMIT, "1000");
  static kabi_event_t events[201];
  static kabi_partition_t firsts[201];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) MUST(pthread_create(&threads[i], NULL, commit_many, consumer) == 0);
  CHECK_EQ(200, drain_commits(consumer, events, firsts, 200));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  static int times[201];
  for (int i = 0; i < 200; i++) {
    MUST(events[i].token >= 1 && events[i].token <= 200);
    CHECK_EQ(1, ++times[events[i].token]);
  }
  end(consumer);
}

/* ---- metadata ---- */

/* NULs are kept, by each way to commit. librdkafka sends null as empty and reads empty as null, so those two can't be told apart. */
TEST(metadata_is_binary) {
  start(1, 10);
  kabi_consumer_t *consumer = committer("metadata", KABI_EVENT_COMMIT, "100");
  int32_t topic = consumer_topic_of(consumer, "ask");
  static uint8_t long_text[3000];
  memset(long_text, 'm', sizeof long_text);
  struct { const void *data; int64_t length; } cases[] = {{NULL, 0}, {"", 0}, {"a\0b\0", 4}, {long_text, sizeof long_text}};
  kabi_event_t event;
  kabi_partition_t first;
  assign(consumer, "ask", 0, 0);
  MUST(take(consumer, seen, 10) == 10);
  for (int way = 0; way < 3; way++)
    for (int i = 0; i < 4; i++) {
      kabi_partition_t list = partition_of(topic, 0, way * 4 + i), asked = partition_of(topic, 0, 0);
      uint64_t number;
      uint8_t room[4000];
      size_t used = 99;
      list.metadata = (const uint8_t *)cases[i].data;
      list.metadata_length = cases[i].length;
      if (way == 0) OK(kabi_consumer_commit(consumer, &list, 1, patience(10000), ERR));
      if (way == 1) {
        OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
        MUST(drain_commits(consumer, &event, &first, 1) == 1);
      }
      if (way == 2) {
        OK(kabi_consumer_store(consumer, &list, 1, ERR));
        OK(kabi_consumer_commit(consumer, NULL, 0, patience(10000), ERR));
      }
      OK(kabi_consumer_committed(consumer, &asked, 1, patience(10000), room, sizeof room, &used, ERR));
      CHECK_EQ(list.offset, asked.offset);
      CHECK_EQ(cases[i].length, asked.metadata_length);
      CHECK_EQ(cases[i].length, used);
      CHECK_EQ(cases[i].length > 0, asked.metadata != NULL);
      if (cases[i].length > 0) CHECK(memcmp(asked.metadata, cases[i].data, (size_t)cases[i].length) == 0);
    }
  end(consumer);
}

/* ---- questions ---- */

TEST(offsets_for_times) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  int32_t topic = consumer_topic_of(consumer, "ask");
  kabi_partition_t list[2] = {partition_of(topic, 0, 1000), partition_of(topic, 1, 0)};
  OK(kabi_consumer_offsets_for_times(consumer, list, 2, patience(10000), ERR));
  for (int i = 0; i < 2; i++) CHECK(list[i].code == 0 && list[i].offset == KABI_OFFSET_END); /* the embedded cluster knows no times */
  OK(kabi_consumer_offsets_for_times(consumer, NULL, 0, patience(10000), ERR));
  list[0].offset = -1;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_offsets_for_times(consumer, list, 1, patience(10000), ERR));
  list[0].offset = 1;
  list[0].topic = 4711;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_offsets_for_times(consumer, list, 1, patience(10000), ERR));
  end(consumer);
}

TEST(seek_to_times) {
  start(1, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "ask"), 0, 1000);
  GIVES(KABI_STATUS_STATE, kabi_consumer_seek_to_times(consumer, &list, 1, patience(10000), ERR));
  CHECK_EQ(KABI_STATUS_STATE, list.code);
  assign(consumer, "ask", 0, 0);
  list.offset = 1000;
  OK(kabi_consumer_seek_to_times(consumer, &list, 1, patience(10000), ERR));
  CHECK_EQ(KABI_OFFSET_END, list.offset); /* no record is that young, says the embedded cluster: to the end */
  poll_empty(consumer, 500);
  end(consumer);
}

TEST(watermarks_asked_and_cached) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  int32_t topic = consumer_topic_of(consumer, "ask");
  int64_t low = 5, high = 5;
  OK(kabi_consumer_watermarks_cached(consumer, topic, 0, &low, &high, ERR));
  CHECK(low == KABI_OFFSET_INVALID && high == KABI_OFFSET_INVALID);
  OK(kabi_consumer_watermarks(consumer, topic, 0, patience(10000), &low, &high, ERR));
  CHECK(low == 0 && high == 10);
  assign(consumer, "ask", 1, 3);
  MUST(take(consumer, seen, 7) == 7);
  OK(kabi_consumer_watermarks_cached(consumer, topic, 1, &low, &high, ERR));
  CHECK_EQ(10, high);
  CHECK(kabi_consumer_watermarks(consumer, topic, 99, patience(3000), &low, &high, ERR) != 0);
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_watermarks(consumer, topic, -1, 0, &low, &high, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_watermarks(consumer, 4711, 0, 0, &low, &high, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_watermarks_cached(consumer, 4711, 0, &low, &high, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_watermarks(consumer, topic, 0, 0, NULL, &high, ERR));
  end(consumer);
}

TEST(lag_of_partitions) {
  start(3, 10);
  kabi_consumer_t *consumer = committer("lag", 0, "10");
  int32_t topic = consumer_topic_of(consumer, "ask");
  kabi_partition_t list[3] = {partition_of(topic, 0, 0), partition_of(topic, 1, 0), partition_of(topic, 2, 0)};
  int64_t lags[3] = {7, 7, 7};
  list[1].offset = 6;
  OK(kabi_consumer_commit(consumer, list + 1, 1, patience(10000), ERR));
  assign(consumer, "ask", 0, 0);
  MUST(take(consumer, seen, 4) == 4);
  OK(kabi_consumer_lag(consumer, list, lags, 3, patience(10000), ERR));
  CHECK(lags[0] == 6 && list[0].code == 0); /* from the position */
  CHECK(lags[1] == 4 && list[1].code == 0); /* from what is committed */
  CHECK(lags[2] == -1 && list[2].code == KABI_STATUS_NO_OFFSET);
  OK(kabi_consumer_lag(consumer, list, lags, 3, 0, ERR)); /* only what is known */
  CHECK(lags[0] == 6 && list[0].code == 0);
  CHECK(lags[1] == -1 && list[1].code == KABI_STATUS_NO_OFFSET);
  OK(kabi_consumer_lag(consumer, NULL, NULL, 0, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_lag(consumer, list, NULL, 1, 0, ERR));
  end(consumer);
}

/* ---- each question ends when it should ---- */

typedef struct asker_t {
  kabi_consumer_t *consumer;
  int what, timeout_ms;
  kabi_status_t status;
  int64_t took;
} asker_t;

static void *ask(void *argument) {
  asker_t *a = (asker_t *)argument;
  kabi_partition_t list = partition_of(0, 0, 1);
  int64_t low, high, begin = now_ms();
  size_t used;
  switch (a->what) {
    case 0: a->status = kabi_consumer_offsets_for_times(a->consumer, &list, 1, a->timeout_ms, ERR); break;
    case 1: a->status = kabi_consumer_watermarks(a->consumer, 0, 0, a->timeout_ms, &low, &high, ERR); break;
    case 2: a->status = kabi_consumer_lag(a->consumer, &list, &low, 1, a->timeout_ms, ERR); break;
    case 3: a->status = kabi_consumer_seek_to_times(a->consumer, &list, 1, a->timeout_ms, ERR); break;
    case 4: a->status = kabi_consumer_committed(a->consumer, &list, 1, a->timeout_ms, NULL, 0, &used, ERR); break;
    case 5: a->status = kabi_consumer_commit(a->consumer, &list, 1, a->timeout_ms, ERR); break;
    case 6: list.offset = KABI_OFFSET_STORED; a->status = kabi_consumer_seek(a->consumer, &list, 1, a->timeout_ms, ERR); break;
    default: a->status = kabi_consumer_seek(a->consumer, &list, 1, a->timeout_ms, ERR); break;
  }
  a->took = now_ms() - begin;
  return NULL;
}

/* how: 0 a time-out, 1 a wake, 2 a close */
static void cut_short(int how) {
  for (int what = 0; what < 8; what++) {
    start(1, 3);
    kabi_consumer_t *consumer = committer("cut", 0, "10");
    CHECK_EQ(0, consumer_topic_of(consumer, "ask"));
    if (what == 7) assign(consumer, "ask", 0, KABI_OFFSET_STORED); /* whose start is never known */
    OK(kabi_cluster_broker_down(cluster, 1, ERR));
    asker_t a = {consumer, what, how == 0 ? 300 : -1, 0, 0};
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, ask, &a) == 0);
    if (how != 0) unseen(300); /* it is inside */
    if (how == 1) OK(kabi_consumer_wake(consumer, ERR));
    int64_t begin = now_ms();
    if (how == 2) {
      kabi_status_t status = kabi_consumer_close(consumer, 1000, ERR);
      CHECK(status == 0 || status == KABI_STATUS_TIMED_OUT);
      CHECK_WITHIN(2500, begin);
    }
    pthread_join(thread, NULL);
    kabi_status_t want[] = {KABI_STATUS_TIMED_OUT, KABI_STATUS_INTERRUPTED, KABI_STATUS_CLOSED};
    /* the last one's partition may have started before the broker went down */
    if (!CHECK(a.status == want[how] || (what == 7 && a.status == 0))) note("question %d gave %d", what, a.status);
    CHECK(a.took < patience(1500));
    kabi_consumer_close(consumer, 0, NULL);
    kabi_consumer_free(consumer);
    kabi_cluster_free(cluster);
  }
}

TEST(questions_time_out) { cut_short(0); }
TEST(questions_are_woken) { cut_short(1); }
TEST(questions_end_with_a_close) { cut_short(2); }
