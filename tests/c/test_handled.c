/* At least once: what counts as handled, what is committed when, and what never is. Offsets are asked for by a client of another
   process's standing (group_offset), so that what is seen is what a successor would get. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[500];
#define NONE KABI_OFFSET_INVALID

static void start(int partitions, int records) { cluster = filled_cluster("work", partitions, records); }

static void end(void) { kabi_cluster_free(cluster); }

static kabi_consumer_t *implicit(const char *group) {
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), group, NULL);
  assign(consumer, "work", 0, KABI_OFFSET_STORED);
  return consumer;
}

static kabi_consumer_t *explicitly(const char *group) {
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), group, "kafkabi.handled", "explicit", NULL);
  assign(consumer, "work", 0, KABI_OFFSET_STORED);
  return consumer;
}

/* Hands out exactly `want` records in one batch and frees it; returns the batch's number. */
static uint64_t hand_out(kabi_consumer_t *consumer, size_t want) {
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, want, &batch, &info);
  MUST(info.count == want);
  kabi_batch_free(batch); /* says nothing */
  return info.number;
}

/* Commits what is handled. Nothing handled is nothing to commit, which is no failure. */
static void commit(kabi_consumer_t *consumer) { OK(kabi_consumer_commit(consumer, NULL, 0, patience(10000), ERR)); }

static int64_t committed(const char *group) { return group_offset(cluster, group, "work", 0); }

/* ---- implicit: the next poll says so ---- */

TEST(the_next_poll_says_handled) {
  start(1, 20);
  kabi_consumer_t *consumer = implicit("next-poll");
  hand_out(consumer, 1);
  commit(consumer);
  CHECK_EQ(NONE, committed("next-poll")); /* in hand, not handled */
  hand_out(consumer, 5);
  commit(consumer);
  CHECK_EQ(1, committed("next-poll"));
  hand_out(consumer, 5);
  commit(consumer);
  CHECK_EQ(6, committed("next-poll"));
  CHECK_EQ(11, position_of(consumer, "work", 0));
  close_consumer(consumer);
  CHECK_EQ(6, committed("next-poll")); /* the five in hand are not committed by the close */
  end();
}

TEST(a_poll_that_gives_nothing_says_handled_too) {
  start(1, 5);
  kabi_consumer_t *consumer = implicit("empty-poll");
  MUST(take(consumer, seen, 5) == 5);
  poll_empty(consumer, 0);
  commit(consumer);
  CHECK_EQ(5, committed("empty-poll"));
  close_consumer(consumer);
  end();
}

TEST(a_packed_poll_says_handled_as_well) {
  static union { uint64_t align; uint8_t bytes[72 * 4]; } buffer;
  start(1, 20);
  kabi_consumer_t *consumer = implicit("packed");
  kabi_batch_info_t info;
  size_t all = 0, last = 0;
  while (all < 12) {
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll_packed(consumer, 4, patience(10000), buffer.bytes, sizeof buffer.bytes, &info, ERR));
    last = all;
    all += info.count;
  }
  commit(consumer);
  CHECK_EQ(last, committed("packed"));
  close_consumer(consumer);
  CHECK_EQ(last, committed("packed"));
  end();
}

TEST(close_commits_what_is_handled_and_no_more) {
  start(1, 20);
  kabi_consumer_t *consumer = implicit("close");
  hand_out(consumer, 1);
  hand_out(consumer, 5);
  hand_out(consumer, 5);
  close_consumer(consumer);
  CHECK_EQ(6, committed("close"));
  consumer = implicit("close"); /* the next one goes on there */
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(6, seen[0].offset);
  close_consumer(consumer);
  end();
}

/* handled is for the implicit way too: of the batch in hand, three are done. */
TEST(part_of_a_batch_may_be_said_handled) {
  start(1, 20);
  kabi_consumer_t *consumer = implicit("part");
  hand_out(consumer, 1);
  uint64_t batch = hand_out(consumer, 10);
  OK(kabi_consumer_handled(consumer, batch, 3, ERR));
  close_consumer(consumer);
  CHECK_EQ(4, committed("part"));
  end();
}

TEST(auto_commit_commits_only_what_is_handled) {
  start(1, 20);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "auto", "auto.commit.interval.ms", "50", NULL);
  assign(consumer, "work", 0, KABI_OFFSET_STORED);
  hand_out(consumer, 1);
  hand_out(consumer, 5);
  hand_out(consumer, 5);
  int64_t until = now_ms() + patience(20000);
  while (committed("auto") != 6 && now_ms() < until) poll(NULL, 0, 20);
  CHECK_EQ(6, committed("auto"));
  unseen(300); /* six more intervals */
  CHECK_EQ(6, committed("auto"));
  close_consumer(consumer);
  end();
}

TEST(without_auto_commit_only_a_commit_commits) {
  start(1, 20);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "manual", "enable.auto.commit", "false", "auto.commit.interval.ms", "50", NULL);
  assign(consumer, "work", 0, KABI_OFFSET_STORED);
  hand_out(consumer, 1);
  hand_out(consumer, 5);
  commit(consumer);
  CHECK_EQ(1, committed("manual"));
  hand_out(consumer, 5);
  close_consumer(consumer);
  CHECK_EQ(1, committed("manual"));
  end();
}

/* ---- explicit: only the call counts ---- */

TEST(only_the_call_counts) {
  start(1, 30);
  kabi_consumer_t *consumer = explicitly("only-call");
  uint64_t first = hand_out(consumer, 1), second = hand_out(consumer, 10);
  hand_out(consumer, 5);
  hand_out(consumer, 1);
  commit(consumer);
  CHECK_EQ(NONE, committed("only-call"));
  OK(kabi_consumer_handled(consumer, first, 1, ERR));
  commit(consumer);
  CHECK_EQ(1, committed("only-call"));
  OK(kabi_consumer_handled(consumer, second, 4, ERR));
  commit(consumer);
  CHECK_EQ(5, committed("only-call"));
  OK(kabi_consumer_handled(consumer, second, 2, ERR)); /* less than before: nothing goes back */
  OK(kabi_consumer_handled(consumer, second, 0, ERR));
  commit(consumer);
  CHECK_EQ(5, committed("only-call"));
  OK(kabi_consumer_handled(consumer, second, 10, ERR));
  close_consumer(consumer); /* commits it */
  CHECK_EQ(11, committed("only-call"));
  end();
}

/* Up to the oldest record that is not handled, whatever comes after. */
TEST(handled_out_of_order_waits_for_the_oldest) {
  start(1, 40);
  kabi_consumer_t *consumer = explicitly("order");
  uint64_t batches[4];
  batches[0] = hand_out(consumer, 1);
  for (int i = 1; i < 4; i++) batches[i] = hand_out(consumer, 5);
  OK(kabi_consumer_handled(consumer, batches[2], 5, ERR));
  OK(kabi_consumer_handled(consumer, batches[3], 3, ERR));
  commit(consumer);
  CHECK_EQ(NONE, committed("order"));
  OK(kabi_consumer_handled(consumer, batches[0], 1, ERR));
  commit(consumer);
  CHECK_EQ(1, committed("order"));
  OK(kabi_consumer_handled(consumer, batches[1], 4, ERR));
  commit(consumer);
  CHECK_EQ(5, committed("order"));
  OK(kabi_consumer_handled(consumer, batches[1], 5, ERR)); /* the gap closes */
  commit(consumer);
  CHECK_EQ(14, committed("order"));
  close_consumer(consumer);
  end();
}

TEST(partitions_wait_for_their_own_oldest) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "two", "kafkabi.handled", "explicit", NULL);
  int32_t topic = consumer_topic_of(consumer, "work");
  kabi_partition_t list[2] = {partition_of(topic, 0, 0), partition_of(topic, 1, 0)};
  MUST_OK(kabi_consumer_assign(consumer, list, 2, ERR));
  /* Each batch of one record: say handled those of partition 1 only, and the first two of partition 0. */
  int got[2] = {0, 0};
  while (got[0] + got[1] < 20) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 1, &batch, &info);
    int32_t partition = info.records[0].partition;
    if (partition == 1 || got[0] < 2) OK(kabi_consumer_handled(consumer, info.number, 1, ERR));
    got[partition]++;
    kabi_batch_free(batch);
  }
  commit(consumer);
  CHECK_EQ(2, group_offset(cluster, "two", "work", 0));
  CHECK_EQ(10, group_offset(cluster, "two", "work", 1));
  close_consumer(consumer);
  end();
}

TEST(handled_of_what_never_was) {
  start(1, 10);
  kabi_consumer_t *consumer = explicitly("never");
  uint64_t batch = hand_out(consumer, 1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_handled(consumer, batch, 2, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_handled(consumer, batch, SIZE_MAX, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_handled(consumer, batch + 1, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_handled(consumer, 0, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_handled(consumer, UINT64_MAX, 1, ERR));
  commit(consumer);
  CHECK_EQ(NONE, committed("never"));
  OK(kabi_consumer_handled(consumer, batch, 1, ERR));
  OK(kabi_consumer_handled(consumer, batch, 1, ERR)); /* said twice */
  commit(consumer);
  CHECK_EQ(1, committed("never"));
  close_consumer(consumer);
  end();
}

/* ---- marks that must go ---- */

/* Nothing yet, or where the seek went: never what was handled before it. */
static void check_not_beyond(int64_t target, const char *group) {
  int64_t offset = committed(group);
  if (!CHECK(offset == NONE || offset == target)) note("%" PRId64 " is committed", offset);
}

static void seek_to(kabi_consumer_t *consumer, int64_t offset) {
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "work"), 0, offset);
  MUST_OK(kabi_consumer_seek(consumer, &one, 1, patience(10000), ERR));
}

TEST(seek_discards_the_marks) {
  start(1, 30);
  kabi_consumer_t *consumer = explicitly("seek");
  hand_out(consumer, 1);
  uint64_t before = hand_out(consumer, 10);
  OK(kabi_consumer_handled(consumer, before - 1, 1, ERR));
  OK(kabi_consumer_handled(consumer, before, 10, ERR)); /* up to 11, stored and not committed */
  seek_to(consumer, 2);
  commit(consumer);
  check_not_beyond(2, "seek");
  uint64_t after = hand_out(consumer, 1);
  OK(kabi_consumer_handled(consumer, before, 10, ERR)); /* of before the seek: too late, no harm */
  commit(consumer);
  check_not_beyond(2, "seek");
  OK(kabi_consumer_handled(consumer, after, 1, ERR));
  close_consumer(consumer);
  CHECK_EQ(3, committed("seek"));
  end();
}

TEST(seek_discards_the_batch_in_hand) {
  start(1, 30);
  kabi_consumer_t *consumer = implicit("seek-in-hand");
  hand_out(consumer, 1);
  hand_out(consumer, 10); /* 0 is handled */
  seek_to(consumer, 0);
  hand_out(consumer, 1); /* does not make those of before the seek handled */
  close_consumer(consumer);
  check_not_beyond(0, "seek-in-hand");
  end();
}

TEST(assign_discards_the_marks) {
  start(1, 30);
  kabi_consumer_t *consumer = explicitly("assign");
  uint64_t batch = hand_out(consumer, 1);
  OK(kabi_consumer_handled(consumer, batch, 1, ERR));
  commit(consumer);
  CHECK_EQ(1, committed("assign"));
  batch = hand_out(consumer, 5);
  assign(consumer, "work", 0, 20);
  OK(kabi_consumer_handled(consumer, batch, 5, ERR)); /* of the old assignment */
  commit(consumer);
  CHECK_EQ(1, committed("assign"));
  batch = hand_out(consumer, 1);
  OK(kabi_consumer_handled(consumer, batch, 1, ERR));
  close_consumer(consumer);
  CHECK_EQ(21, committed("assign"));
  end();
}

/* A revoke stores and commits what was handled first, and never the batch in hand. */
TEST(revoke_commits_what_was_handled) {
  start(1, 30);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "revoke", "kafkabi.handled", "explicit", "auto.commit.interval.ms", "60000", NULL);
  subscribe(consumer, "work");
  uint64_t batch = hand_out(consumer, 1);
  OK(kabi_consumer_handled(consumer, batch, 1, ERR));
  batch = hand_out(consumer, 9);
  OK(kabi_consumer_handled(consumer, batch, 4, ERR));
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  int64_t until = now_ms() + patience(20000);
  size_t left = 1;
  while (left > 0 && now_ms() < until) {
    poll_empty(consumer, 100); /* the revoke is served in polls */
    kabi_partition_t one;
    MUST_OK(kabi_consumer_assignment(consumer, &one, 1, &left, ERR));
  }
  CHECK_EQ(0, left);
  while (committed("revoke") == NONE && now_ms() < until) poll_empty(consumer, 100);
  CHECK_EQ(5, committed("revoke"));
  close_consumer(consumer);
  CHECK_EQ(5, committed("revoke"));
  end();
}

/* ---- commits ---- */

TEST(commit_of_a_record_is_its_offset_and_one) {
  start(1, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "record", "enable.auto.commit", "false", NULL);
  assign(consumer, "work", 0, 0);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  MUST(take(consumer, seen, 3) == 3);
  take_batch(consumer, 1, &batch, &info);
  OK(kabi_consumer_commit_record(consumer, &info.records[0], patience(10000), ERR));
  CHECK_EQ(4, committed("record"));
  kabi_record_t bad = info.records[0];
  bad.topic = 4711;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_record(consumer, &bad, patience(10000), ERR));
  bad = info.records[0];
  bad.offset = -5;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_record(consumer, &bad, patience(10000), ERR));
  bad = info.records[0];
  bad.code = KABI_STATUS_PARTITION_EOF; /* an entry is no record */
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_record(consumer, &bad, patience(10000), ERR));
  kabi_batch_free(batch);
  close_consumer(consumer);
  CHECK_EQ(4, committed("record"));
  end();
}

TEST(commit_of_a_list_with_metadata) {
  static const uint8_t binary[5] = {0, 1, 0xff, 0, 2};
  start(4, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "list", "enable.auto.commit", "false", NULL);
  int32_t topic = consumer_topic_of(consumer, "work");
  kabi_partition_t list[4];
  for (int32_t i = 0; i < 4; i++) list[i] = partition_of(topic, i, i + 1);
  list[1].metadata = (const uint8_t *)"note";
  list[1].metadata_length = 4;
  list[2].metadata = (const uint8_t *)"";
  list[3].metadata = binary;
  list[3].metadata_length = 5;
  OK(kabi_consumer_commit(consumer, list, 4, patience(10000), ERR));
  for (int i = 0; i < 4; i++) CHECK_EQ(0, list[i].code);
  uint8_t bytes[64];
  size_t used = 0;
  for (int32_t i = 0; i < 4; i++) list[i] = partition_of(topic, i, 77);
  MUST_OK(kabi_consumer_committed(consumer, list, 4, patience(10000), bytes, sizeof bytes, &used, ERR));
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(0, list[i].code);
    CHECK_EQ(i + 1, list[i].offset);
  }
  CHECK(list[1].metadata_length == 4 && list[1].metadata >= bytes && list[1].metadata + 4 <= bytes + used && memcmp(list[1].metadata, "note", 4) == 0);
  CHECK(list[3].metadata_length == 5 && list[3].metadata != NULL && memcmp(list[3].metadata, binary, 5) == 0);
  CHECK(list[2].metadata_length == 0 && list[0].metadata_length == 0);
  /* Too small a place for the metadata: how much is needed. */
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_committed(consumer, list, 4, patience(10000), bytes, 3, &used, ERR));
  CHECK(used >= 9 && used <= sizeof bytes);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_committed(consumer, list, 4, patience(10000), NULL, 0, &used, ERR));
  OK(kabi_consumer_committed(consumer, list, 1, patience(10000), NULL, 0, &used, ERR)); /* none to place */
  close_consumer(consumer);
  end();
}

TEST(commit_tells_each_partition) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "each", "enable.auto.commit", "false", NULL);
  int32_t topic = consumer_topic_of(consumer, "work");
  kabi_partition_t list[3] = {partition_of(topic, 0, 3), partition_of(topic, 99, 4), partition_of(topic, 1, 5)};
  kabi_status_t status = kabi_consumer_commit(consumer, list, 3, patience(10000), ERR);
  CHECK(status != 0 && last_error()->code == status);
  CHECK_EQ(0, list[0].code);
  CHECK_EQ(3, list[1].code); /* UNKNOWN_TOPIC_OR_PART */
  CHECK_EQ(0, list[2].code);
  CHECK_EQ(3, group_offset(cluster, "each", "work", 0));
  CHECK_EQ(5, group_offset(cluster, "each", "work", 1));
  static const int64_t bad[] = {-1, -2, -1000, -1001, INT64_MIN};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    kabi_partition_t one = partition_of(topic, 0, bad[i]);
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit(consumer, &one, 1, patience(10000), ERR));
  }
  kabi_partition_t none = partition_of(topic, 0, 1);
  none.metadata_length = 3; /* of nothing */
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit(consumer, &none, 1, patience(10000), ERR));
  CHECK_EQ(3, group_offset(cluster, "each", "work", 0));
  close_consumer(consumer);
  end();
}

TEST(commit_without_a_broker_times_out_and_goes_through_later) {
  start(1, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "later", "enable.auto.commit", "false", NULL);
  assign(consumer, "work", 0, 0);
  MUST(take(consumer, seen, 3) == 3);
  OK(kabi_cluster_broker_down(cluster, KABI_BROKER_ALL, ERR));
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "work"), 0, 3);
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_commit(consumer, &one, 1, 300, ERR));
  CHECK((last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN) != 0);
  CHECK_WITHIN(5000, begin);
  OK(kabi_cluster_broker_up(cluster, KABI_BROKER_ALL, ERR));
  OK(kabi_consumer_commit(consumer, &one, 1, patience(30000), ERR));
  close_consumer(consumer);
  CHECK_EQ(3, committed("later"));
  end();
}

TEST(a_commit_that_brokers_refuse_says_so) {
  start(1, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "refused", "enable.auto.commit", "false", NULL);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_OFFSET_COMMIT, 30, 1, ERR)); /* GROUP_AUTHORIZATION_FAILED */
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "work"), 0, 3);
  GIVES(30, kabi_consumer_commit(consumer, &one, 1, patience(10000), ERR));
  CHECK_EQ(30, one.code);
  CHECK_EQ(NONE, committed("refused"));
  close_consumer(consumer);
  end();
}

TEST(committed_of_what_was_never_committed) {
  start(2, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "fresh", NULL);
  CHECK_EQ(NONE, committed_offset(consumer, "work", 0));
  CHECK_EQ(NONE, committed_offset(consumer, "work", 1));
  kabi_partition_t bad = partition_of(4711, 0, 0);
  size_t used;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_committed(consumer, &bad, 1, 0, NULL, 0, &used, ERR));
  bad = partition_of(consumer_topic_of(consumer, "work"), -1, 0);
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_committed(consumer, &bad, 1, 0, NULL, 0, &used, ERR));
  close_consumer(consumer);
  end();
}
