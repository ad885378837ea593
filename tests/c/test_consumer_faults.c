/* What a consumer tells of brokers that refuse, are cut off or are gone, and what it gets over by itself: librdkafka's own tests
   0022, 0034, 0095, 0105 and 0117, as far as they are about consumers. tests/COVERAGE.md tells which is which. */
#include "harness.h"

enum { UNSTABLE_OFFSET_COMMIT = 88 };

static kabi_cluster_t *cluster;
static seen_t seen[100];

static void start(int records) { cluster = filled_cluster("t", 1, records); }

static void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* The next record or entry; its text is cut to `size`. */
static kabi_record_t await_one(kabi_consumer_t *consumer, char *text, size_t size) {
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 1, &batch, &info);
  kabi_record_t one = info.records[0];
  size_t length = one.value_length < (int64_t)size ? (size_t)one.value_length : size - 1;
  if (one.value != NULL) memcpy(text, one.value, length);
  text[one.value != NULL ? length : 0] = 0;
  kabi_batch_free(batch);
  return one;
}

/* Number 0022. Once the topic is there, polling on is enough. */
TEST(a_subscribed_topic_that_does_not_exist_is_told) {
  char text[512], name[64];
  size_t length = 0;
  start(0);
  /* When a member joins anew the embedded cluster waits for others nearly as long as the session time-out. */
  kabi_consumer_t *consumer =
      new_consumer(bootstrap(cluster), "g", "topic.metadata.refresh.interval.ms", "200", "session.timeout.ms", "6000", NULL);
  subscribe(consumer, "missing");
  kabi_record_t entry = await_one(consumer, text, sizeof text);
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, entry.code);
  CHECK(has(text, "missing"));
  OK(kabi_consumer_topic_name(consumer, entry.topic, name, sizeof name, &length, ERR));
  CHECK_TEXT("missing", name);
  new_topic(cluster, "missing", 1);
  fill_topic(cluster, "missing", 0, 5);
  CHECK_EQ(5, take(consumer, seen, 5));
  end(consumer);
}

/* ---- Number 0034: a look-up of an offset fails, with auto.offset.reset=error ---- */

static kabi_consumer_t *without_reset(void) {
  return new_consumer(bootstrap(cluster), "g", "auto.offset.reset", "error", "enable.auto.commit", "false", NULL);
}

/* Cut off again and again: that says nothing about the offset, so the look-up is repeated, and no reset is told. */
TEST(a_lookup_that_is_cut_off_is_repeated) {
  for (int down = 0; down < 2; down++) {
    start(10);
    kabi_consumer_t *consumer = without_reset();
    if (down) OK(kabi_cluster_broker_down(cluster, 1, ERR));
    else OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_LIST_OFFSETS, KABI_STATUS_TRANSPORT, 5, ERR));
    assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
    if (down) {
      poll_empty(consumer, 300);
      OK(kabi_cluster_broker_up(cluster, 1, ERR));
    }
    char text[512];
    for (int64_t next = 0; next < 10; next++) {
      kabi_record_t one = await_one(consumer, text, sizeof text);
      if (!CHECK_EQ(0, one.code)) note("%s", text);
      MUST(one.offset == next);
    }
    end(consumer);
  }
}

static void refused(int32_t code, int64_t offset, const char *reason) {
  char text[512];
  start(10);
  kabi_consumer_t *consumer = without_reset();
  if (code != 0) OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_LIST_OFFSETS, code, 5, ERR));
  assign(consumer, "t", 0, offset);
  kabi_record_t entry = await_one(consumer, text, sizeof text);
  CHECK_EQ(KABI_STATUS_AUTO_OFFSET_RESET, entry.code);
  CHECK(entry.topic == consumer_topic_of(consumer, "t") && entry.partition == 0);
  if (!CHECK(has(text, reason))) note("the text is: %s", text);
  end(consumer);
}

TEST(a_lookup_that_is_refused_is_told_with_the_reason) {
  refused(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, KABI_OFFSET_BEGINNING, kabi_error_text(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED));
  refused(0, KABI_OFFSET_STORED, "o offset"); /* nothing was committed */
}

/* Number 0095. The consumer of a group has a broker that is only a role, its coordinator, which must not hide it. */
TEST(a_member_tells_that_all_brokers_are_down) {
  static uint8_t bytes[1 << 16];
  kabi_event_t events[16];
  int told = 0;
  kabi_consumer_t *consumer = new_consumer(NOWHERE ",127.0.0.1:2", "g", NULL);
  subscribe(consumer, "t");
  for (int64_t until = now_ms() + patience(30000); !told && now_ms() < until;) {
    size_t count = 0, used = 0;
    poll_empty(consumer, 20);
    MUST_OK(kabi_consumer_drain(consumer, 20, events, 16, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) told += events[i].kind == KABI_EVENT_ERROR && events[i].code == KABI_STATUS_ALL_BROKERS_DOWN;
  }
  CHECK(told);
  OK(kabi_consumer_close(consumer, patience(20000), ERR));
  kabi_consumer_free(consumer);
}

/* Number 0117: the broker's own time-out is got over by repeating, in a commit as in that of the close. */
TEST(a_commit_that_times_out_at_the_broker_is_repeated) {
  for (int by_close = 0; by_close < 2; by_close++) {
    start(3);
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", "auto.commit.interval.ms", "600000", NULL);
    subscribe(consumer, "t");
    MUST(take(consumer, seen, 3) == 3);
    poll_empty(consumer, 0); /* handled */
    OK(kabi_cluster_track_requests(cluster, 1, ERR));
    OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_COMMIT, KABI_STATUS_REQUEST_TIMED_OUT, 2, ERR));
    if (!by_close) OK(kabi_consumer_commit(consumer, NULL, 0, patience(20000), ERR));
    close_consumer(consumer);
    CHECK(requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_OFFSET_COMMIT) >= 3);
    CHECK_EQ(3, group_offset(cluster, "g", "t", 0));
    kabi_cluster_free(cluster);
  }
}

/* Number 0105: offsets of a transaction that is not over yet are waited for, as long as the caller has time, and at the start of a
   partition for as long as it takes. */
TEST(unstable_offsets_are_waited_for) {
  uint8_t bytes[64];
  size_t used = 0;
  start(20);
  kabi_consumer_t *consumer = without_reset();
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "t"), 0, 10);
  OK(kabi_consumer_commit(consumer, &one, 1, patience(20000), ERR));
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_FETCH, UNSTABLE_OFFSET_COMMIT, 6, ERR));
  CHECK_EQ(10, committed_offset(consumer, "t", 0));
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_FETCH, UNSTABLE_OFFSET_COMMIT, 1000, ERR));
  one.offset = 7;
  kabi_status_t status = kabi_consumer_committed(consumer, &one, 1, 300, bytes, sizeof bytes, &used, ERR);
  CHECK_EQ(KABI_STATUS_TIMED_OUT, status);
  assign(consumer, "t", 0, KABI_OFFSET_STORED);
  poll_empty(consumer, 300);
  OK(kabi_cluster_clear_errors(cluster, KABI_REQUEST_OFFSET_FETCH, ERR));
  MUST(take(consumer, seen, 10) == 10);
  for (int i = 0; i < 10; i++) CHECK_EQ(10 + i, seen[i].offset);
  end(consumer);
}

/* ---- The coordinator refuses to tell what is committed, once or twice: it has just moved, or loads ---- */

static const int32_t refusals[] = {KABI_STATUS_NOT_COORDINATOR, KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS, KABI_STATUS_COORDINATOR_NOT_AVAILABLE};

/* All ten records come; what else is told is the refusal. */
static void await_ten(kabi_consumer_t *consumer, int32_t refusal) {
  char text[512];
  for (int64_t next = 0; next < 10;) {
    kabi_record_t one = await_one(consumer, text, sizeof text);
    if (one.code == 0) MUST(one.offset == next++);
    else if (!CHECK_EQ(refusal, one.code)) note("%s", text);
  }
}

/* librdkafka itself would leave the partition assigned and never read. */
TEST(a_partition_begins_though_the_coordinator_refused) {
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    for (int by_hand = 0; by_hand < 2; by_hand++) {
      start(10);
      kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", "session.timeout.ms", "6000", NULL);
      OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_FETCH, refusals[i], 2, ERR));
      if (by_hand) assign(consumer, "t", 0, KABI_OFFSET_STORED);
      else subscribe(consumer, "t");
      await_ten(consumer, refusals[i]);
      OK(kabi_consumer_commit(consumer, NULL, 0, patience(20000), ERR));
      end(consumer);
    }
  }
}

/* Nobody polls beside a seek that waits for the beginning. */
TEST(a_seek_is_done_though_the_coordinator_refused) {
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    start(10);
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", NULL);
    OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_FETCH, refusals[i], 2, ERR));
    assign(consumer, "t", 0, KABI_OFFSET_STORED);
    kabi_partition_t one = partition_of(consumer_topic_of(consumer, "t"), 0, 0);
    OK(kabi_consumer_seek(consumer, &one, 1, patience(20000), ERR));
    await_ten(consumer, refusals[i]);
    end(consumer);
  }
}

/* Its invented group's coordinator may be out of bounds, and need not be there. */
TEST(without_a_group_no_coordinator_is_asked) {
  static const char *const resets[] = {"earliest", "smallest", "beginning", "Earliest"};
  for (size_t i = 0; i < sizeof resets / sizeof *resets; i++) {
    start(10);
    OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_FIND_COORDINATOR, KABI_STATUS_GROUP_AUTHORIZATION_FAILED, 100000, ERR));
    OK(kabi_cluster_track_requests(cluster, 1, ERR));
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "auto.offset.reset", resets[i], NULL);
    assign(consumer, "t", 0, i % 2 == 0 ? KABI_OFFSET_INVALID : KABI_OFFSET_STORED);
    for (int read = 0; read < 10;) {
      char text[512];
      kabi_record_t one = await_one(consumer, text, sizeof text);
      if (one.code == 0) MUST(one.offset == read++);
    }
    CHECK_EQ(0, requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_OFFSET_FETCH));
    end(consumer);
  }
}
