/* Pausing and resuming, alone and with seek, withheld records and changes by hand; incremental assignment; stored offsets; what
   a consumer tells of its group. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[4000];
static int64_t buffer[64 * 1024 / 8];

static void start(int partitions, int records) { cluster = filled_cluster("flow", partitions, records); }

static void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

static kabi_consumer_t *reader(void) { return new_consumer(bootstrap(cluster), "flow", NULL); }

static void assign_all(kabi_consumer_t *consumer, int partitions) {
  kabi_partition_t list[16];
  int32_t topic = consumer_topic_of(consumer, "flow");
  for (int32_t i = 0; i < partitions; i++) list[i] = partition_of(topic, i, KABI_OFFSET_BEGINNING);
  MUST_OK(kabi_consumer_assign(consumer, list, (size_t)partitions, ERR));
}

static kabi_status_t flow(kabi_consumer_t *consumer, int32_t partition, int pause) {
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "flow"), partition, 0);
  list.code = 77;
  kabi_status_t status = pause ? kabi_consumer_pause(consumer, &list, 1, ERR) : kabi_consumer_resume(consumer, &list, 1, ERR);
  CHECK_EQ(status, list.code);
  return status;
}

static void seek(kabi_consumer_t *consumer, int32_t partition, int64_t offset) {
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "flow"), partition, offset);
  MUST_OK(kabi_consumer_seek(consumer, &list, 1, patience(10000), ERR));
}

static size_t paused_count(kabi_consumer_t *consumer) {
  kabi_partition_t list[16];
  size_t count = 99;
  OK(kabi_consumer_paused(consumer, list, 16, &count, ERR));
  for (size_t i = 1; i < count; i++) CHECK(list[i - 1].partition < list[i].partition);
  return count;
}

/* One poll packed into room for `records` of the records that fill_topic makes; how many came. */
static size_t poll_small(kabi_consumer_t *consumer, size_t most, size_t records, int timeout_ms, seen_t *into) {
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  size_t size = records * (sizeof(kabi_packed_t) + 8); /* null key, a value of at most 8 bytes */
  MUST(size <= sizeof buffer);
  MUST_OK(kabi_consumer_poll_packed(consumer, most, timeout_ms, buffer, size, &info, ERR));
  const char *at = (const char *)buffer;
  for (size_t i = 0; i < info.count; i++) {
    const kabi_packed_t *record = (const kabi_packed_t *)(const void *)at;
    char text[32] = "";
    MUST(record->code == 0 && record->value_length > 0 && record->value_length < 32);
    memcpy(text, at + record->header_size, (size_t)record->value_length);
    seen_t one = {record->topic, record->partition, record->code, record->offset, atoll(text)};
    into[i] = one;
    at += record->size;
  }
  return info.count;
}

/* Polls in small steps until `want` records came; partition `without` must not be among them. */
static size_t take_small(kabi_consumer_t *consumer, size_t want, int32_t without) {
  size_t have = 0;
  int64_t until = now_ms() + patience(20000);
  while (have < want && now_ms() < until) {
    size_t count = poll_small(consumer, 1000, 2, patience(500), seen + have);
    for (size_t i = 0; i < count; i++) CHECK(seen[have + i].partition != without);
    have += count;
  }
  return have;
}

/* Each partition's offsets in `seen` go up by one from `first` of it. */
static void check_order(size_t count, int64_t *first) {
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(first[seen[i].partition], seen[i].offset);
    CHECK_EQ(seen[i].offset, seen[i].number);
    first[seen[i].partition] = seen[i].offset + 1;
  }
}

TEST(pause_and_resume_lose_nothing) {
  start(2, 100);
  kabi_consumer_t *consumer = reader();
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  MUST(take(consumer, seen, 10) == 10);
  check_order(10, next);
  OK(flow(consumer, 0, 1));
  OK(flow(consumer, 0, 1)); /* twice is once */
  CHECK_EQ(1, paused_count(consumer));
  size_t rest = (size_t)(100 - next[1]);
  MUST(take(consumer, seen, rest) == rest);
  for (size_t i = 0; i < rest; i++) CHECK_EQ(1, seen[i].partition);
  check_order(rest, next);
  poll_empty(consumer, 300);
  OK(flow(consumer, 0, 0));
  OK(flow(consumer, 0, 0));
  CHECK_EQ(0, paused_count(consumer));
  rest = (size_t)(100 - next[0]);
  MUST(take(consumer, seen, rest) == rest);
  check_order(rest, next);
  poll_empty(consumer, 300);
  end(consumer);
}

/* Resuming what is not paused must not read anything again: librdkafka alone does. */
TEST(resume_without_pause_reads_nothing_twice) {
  start(1, 200);
  kabi_consumer_t *consumer = reader();
  int64_t next[1] = {0};
  assign_all(consumer, 1);
  for (int i = 0; i < 10; i++) {
    MUST(take(consumer, seen, 20) == 20);
    check_order(20, next);
    OK(flow(consumer, 0, 0));
  }
  poll_empty(consumer, 300);
  end(consumer);
}

/* Records pulled but without room in the caller's buffer wait while their partition is paused, in their order. */
TEST(withheld_records_wait_while_paused) {
  start(2, 50);
  kabi_consumer_t *consumer = reader();
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  size_t have = take_small(consumer, 4, -1);
  MUST(have >= 4);
  check_order(have, next);
  for (int turn = 0; turn < 6; turn++) {
    int32_t stopped = turn % 2;
    OK(flow(consumer, stopped, 1));
    have = take_small(consumer, 4, stopped);
    MUST(have >= 4);
    check_order(have, next);
    OK(flow(consumer, stopped, 0));
  }
  size_t rest = (size_t)(100 - next[0] - next[1]);
  MUST(take_small(consumer, rest, -1) == rest);
  check_order(rest, next);
  poll_empty(consumer, 300);
  end(consumer);
}

TEST(withheld_records_of_all_paused_partitions) {
  start(1, 20);
  kabi_consumer_t *consumer = reader();
  int64_t next[1] = {0};
  assign_all(consumer, 1);
  MUST(take_small(consumer, 2, -1) == 2);
  check_order(2, next);
  OK(flow(consumer, 0, 1));
  CHECK_EQ(2, position_of(consumer, "flow", 0));
  poll_empty(consumer, 300);
  CHECK_EQ(2, position_of(consumer, "flow", 0)); /* what waits inside does not count */
  OK(flow(consumer, 0, 0));
  MUST(take_small(consumer, 18, -1) == 18);
  check_order(18, next);
  end(consumer);
}

TEST(seek_while_paused) {
  start(2, 50);
  kabi_consumer_t *consumer = reader();
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  size_t have = take_small(consumer, 6, -1);
  check_order(have, next);
  OK(flow(consumer, 0, 1));
  seek(consumer, 0, 30); /* what was set aside of it is dropped */
  CHECK_EQ(30, position_of(consumer, "flow", 0));
  have = take_small(consumer, 4, 0);
  check_order(have, next);
  CHECK_EQ(1, paused_count(consumer)); /* a seek does not resume */
  OK(flow(consumer, 0, 0));
  next[0] = 30;
  size_t rest = (size_t)(100 - next[0] - next[1]);
  MUST(take_small(consumer, rest, -1) == rest);
  check_order(rest, next);
  poll_empty(consumer, 300);
  end(consumer);
}

/* The other order, at once, with nothing read in between (librdkafka had faults here). */
TEST(seek_then_pause_then_resume) {
  start(1, 50);
  kabi_consumer_t *consumer = reader();
  int64_t next[1] = {0};
  assign_all(consumer, 1);
  MUST(take(consumer, seen, 5) == 5);
  for (int64_t target = 40; target >= 0; target -= 8) {
    seek(consumer, 0, target);
    OK(flow(consumer, 0, 1));
    OK(flow(consumer, 0, 0));
    MUST(take(consumer, seen, 3) == 3);
    next[0] = target;
    check_order(3, next);
  }
  end(consumer);
}

TEST(pause_right_after_assign) {
  start(2, 30);
  kabi_consumer_t *consumer = reader();
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  OK(flow(consumer, 0, 1));
  MUST(take(consumer, seen, 30) == 30);
  for (int i = 0; i < 30; i++) CHECK_EQ(1, seen[i].partition);
  check_order(30, next);
  OK(flow(consumer, 0, 0));
  MUST(take(consumer, seen, 30) == 30);
  check_order(30, next);
  end(consumer);
}

TEST(pause_ends_with_the_assignment) {
  start(2, 30);
  kabi_consumer_t *consumer = reader();
  kabi_partition_t list[2];
  int64_t next[2] = {0, 0};
  int32_t topic = consumer_topic_of(consumer, "flow");
  assign_all(consumer, 2);
  MUST(take_small(consumer, 2, -1) == 2);
  OK(flow(consumer, 0, 1));
  OK(flow(consumer, 1, 1));
  assign_all(consumer, 2); /* anew: from the beginning, nothing paused */
  CHECK_EQ(0, paused_count(consumer));
  MUST(take(consumer, seen, 60) == 60);
  check_order(60, next);
  OK(flow(consumer, 0, 1));
  list[0] = partition_of(topic, 0, 0);
  OK(kabi_consumer_incremental_unassign(consumer, list, 1, ERR));
  CHECK_EQ(0, paused_count(consumer));
  GIVES(KABI_STATUS_STATE, flow(consumer, 0, 1));
  GIVES(KABI_STATUS_STATE, flow(consumer, 0, 0));
  list[0].offset = 10;
  OK(kabi_consumer_incremental_assign(consumer, list, 1, ERR));
  MUST(take(consumer, seen, 20) == 20);
  next[0] = 10;
  check_order(20, next);
  end(consumer);
}

TEST(pause_tells_each_partition_its_status) {
  start(2, 1);
  kabi_consumer_t *consumer = reader();
  int32_t topic = consumer_topic_of(consumer, "flow");
  assign(consumer, "flow", 0, KABI_OFFSET_BEGINNING);
  kabi_partition_t list[3] = {partition_of(topic, 0, 0), partition_of(topic, 1, 0), partition_of(topic, 0, 0)};
  GIVES(KABI_STATUS_STATE, kabi_consumer_pause(consumer, list, 3, ERR));
  CHECK(list[0].code == 0 && list[1].code == KABI_STATUS_STATE && list[2].code == 0);
  GIVES(KABI_STATUS_STATE, kabi_consumer_resume(consumer, list, 3, ERR));
  CHECK(list[0].code == 0 && list[1].code == KABI_STATUS_STATE && list[2].code == 0);
  OK(kabi_consumer_pause(consumer, NULL, 0, ERR));
  OK(kabi_consumer_resume(consumer, NULL, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_pause(consumer, NULL, 1, ERR));
  list[0].topic = 4711;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_pause(consumer, list, 1, ERR));
  size_t count = 9;
  kabi_partition_t one[1];
  OK(flow(consumer, 0, 1));
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_paused(consumer, NULL, 0, &count, ERR));
  CHECK_EQ(1, count);
  OK(kabi_consumer_paused(consumer, one, 1, &count, ERR));
  CHECK(one[0].topic == topic && one[0].partition == 0);
  end(consumer);
}

/* Another thread pauses and resumes while this one polls; nothing is lost, doubled or out of order. */
static void *pause_all_the_time(void *argument) {
  kabi_consumer_t *consumer = (kabi_consumer_t *)argument;
  for (int i = 0; i < scaled(200, 20); i++) {
    OK(flow(consumer, i % 2, 1));
    OK(flow(consumer, i % 2, 0));
  }
  return NULL;
}

TEST(pause_from_another_thread) {
  start(2, 1000);
  kabi_consumer_t *consumer = reader();
  pthread_t thread;
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  MUST(take(consumer, seen, 1) == 1);
  check_order(1, next);
  MUST(pthread_create(&thread, NULL, pause_all_the_time, consumer) == 0);
  size_t have = 1;
  int64_t until = now_ms() + patience(60000);
  while (have < 2000 && now_ms() < until) {
    size_t count = poll_small(consumer, 100, 10, patience(200), seen);
    check_order(count, next);
    have += count;
  }
  CHECK_EQ(2000, have);
  pthread_join(thread, NULL);
  end(consumer);
}

/* ---- by hand, step by step ---- */

TEST(incremental_assignment_by_hand) {
  start(3, 20);
  kabi_consumer_t *consumer = reader();
  int32_t topic = consumer_topic_of(consumer, "flow");
  kabi_partition_t list[3] = {partition_of(topic, 0, 5), partition_of(topic, 1, 10), partition_of(topic, 2, KABI_OFFSET_BEGINNING)};
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  size_t count;
  MUST_OK(kabi_consumer_incremental_assign(consumer, list, 2, ERR));
  CHECK_EQ(5, position_of(consumer, "flow", 0));
  take_batch(consumer, 1, &batch, &info);
  uint64_t generation = info.generation;
  kabi_batch_free(batch);
  MUST(take(consumer, seen, 24) == 24);
  GIVES(KABI_STATUS_STATE, kabi_consumer_incremental_assign(consumer, list + 1, 2, ERR)); /* all or none */
  OK(kabi_consumer_assignment(consumer, list, 3, &count, ERR));
  CHECK_EQ(2, count);
  kabi_partition_t third = partition_of(topic, 2, KABI_OFFSET_BEGINNING);
  OK(kabi_consumer_incremental_assign(consumer, &third, 1, ERR));
  take_batch(consumer, 1, &batch, &info);
  CHECK(info.generation > generation);
  CHECK(info.records[0].partition == 2 && info.records[0].offset == 0);
  kabi_batch_free(batch);
  OK(kabi_consumer_incremental_unassign(consumer, &third, 1, ERR));
  GIVES(KABI_STATUS_STATE, kabi_consumer_incremental_unassign(consumer, &third, 1, ERR));
  poll_empty(consumer, 300);
  CHECK_EQ(KABI_OFFSET_INVALID, position_of(consumer, "flow", 2));
  CHECK_EQ(20, position_of(consumer, "flow", 0));
  third.partition = -1;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_incremental_assign(consumer, &third, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_incremental_unassign(consumer, &third, 1, ERR));
  end(consumer);
}

/* Withheld records of a partition taken away by hand are gone; others stay. */
TEST(unassign_drops_withheld_records) {
  start(2, 30);
  kabi_consumer_t *consumer = reader();
  int64_t next[2] = {0, 0};
  assign_all(consumer, 2);
  size_t have = take_small(consumer, 4, -1);
  check_order(have, next);
  kabi_partition_t gone = partition_of(consumer_topic_of(consumer, "flow"), 0, 0);
  OK(kabi_consumer_incremental_unassign(consumer, &gone, 1, ERR));
  size_t rest = (size_t)(30 - next[1]);
  MUST(take_small(consumer, rest, 0) == rest);
  check_order(rest, next);
  poll_empty(consumer, 300);
  end(consumer);
}

TEST(subscribed_or_by_hand_but_not_both) {
  start(1, 5);
  kabi_consumer_t *consumer = reader();
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "flow"), 0, 0);
  const char *topic = "flow";
  subscribe(consumer, "flow");
  GIVES(KABI_STATUS_STATE, kabi_consumer_assign(consumer, &list, 1, ERR));
  GIVES(KABI_STATUS_STATE, kabi_consumer_incremental_assign(consumer, &list, 1, ERR));
  GIVES(KABI_STATUS_STATE, kabi_consumer_incremental_unassign(consumer, &list, 1, ERR));
  CHECK(has(last_error()->message, "unsubscribe"));
  MUST(take(consumer, seen, 5) == 5);
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  poll_empty(consumer, 300);
  MUST_OK(kabi_consumer_assign(consumer, &list, 1, ERR));
  GIVES(KABI_STATUS_STATE, kabi_consumer_subscribe(consumer, &topic, 1, ERR));
  MUST(take(consumer, seen, 5) == 5);
  OK(kabi_consumer_assign(consumer, NULL, 0, ERR));
  subscribe(consumer, "flow");
  poll_empty(consumer, 300);
  end(consumer);
}

/* Assigned by hand right after an unsubscribe, with the revocation not met yet. */
TEST(assign_right_after_unsubscribe) {
  start(1, 5);
  kabi_consumer_t *consumer = reader();
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "flow"), 0, 1);
  subscribe(consumer, "flow");
  MUST(take(consumer, seen, 5) == 5);
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  MUST_OK(kabi_consumer_assign(consumer, &list, 1, ERR));
  MUST(take(consumer, seen, 4) == 4);
  CHECK_EQ(1, seen[0].offset);
  end(consumer);
}

/* ---- stored offsets ---- */

TEST(stored_offsets_are_committed) {
  start(2, 20);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "stored", "kafkabi.handled", "explicit", NULL);
  int32_t topic = consumer_topic_of(consumer, "flow");
  assign(consumer, "flow", 0, 0);
  MUST(take(consumer, seen, 20) == 20);
  kabi_partition_t list[2] = {partition_of(topic, 0, 7), partition_of(topic, 1, 3)};
  list[0].metadata = (const uint8_t *)"a\0b";
  list[0].metadata_length = 3;
  GIVES(KABI_STATUS_STATE, kabi_consumer_store(consumer, list, 2, ERR));
  CHECK(list[0].code == 0 && list[1].code == KABI_STATUS_STATE);
  OK(kabi_consumer_commit(consumer, NULL, 0, patience(10000), ERR));
  CHECK_EQ(7, group_offset(cluster, "stored", "flow", 0));
  CHECK_EQ(KABI_OFFSET_INVALID, group_offset(cluster, "stored", "flow", 1));
  uint8_t bytes[16];
  size_t used = 0;
  kabi_partition_t asked = partition_of(topic, 0, 0);
  OK(kabi_consumer_committed(consumer, &asked, 1, patience(10000), bytes, sizeof bytes, &used, ERR));
  CHECK(asked.metadata_length == 3 && memcmp(asked.metadata, "a\0b", 3) == 0);
  list[0].offset = -1;
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_store(consumer, list, 1, ERR));
  list[0].offset = 9; /* and by close */
  OK(kabi_consumer_store(consumer, list, 1, ERR));
  close_consumer(consumer);
  CHECK_EQ(9, group_offset(cluster, "stored", "flow", 0));
  kabi_consumer_t *alone = new_consumer(bootstrap(cluster), NULL, NULL);
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_consumer_store(alone, list, 1, ERR));
  end(alone);
}

TEST(seek_to_what_is_committed) {
  start(1, 20);
  kabi_consumer_t *consumer = reader();
  assign(consumer, "flow", 0, 0);
  MUST(take(consumer, seen, 20) == 20);
  seek(consumer, 0, KABI_OFFSET_STORED); /* nothing is: auto.offset.reset says the beginning */
  MUST(take(consumer, seen, 20) == 20);
  CHECK_EQ(0, seen[0].offset);
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, "flow"), 0, 12);
  OK(kabi_consumer_commit(consumer, &list, 1, patience(10000), ERR));
  seek(consumer, 0, KABI_OFFSET_STORED);
  MUST(take(consumer, seen, 8) == 8);
  CHECK_EQ(12, seen[0].offset);
  end(consumer);
}

/* ---- what it tells of its group ---- */

TEST(a_consumer_tells_of_its_group) {
  start(1, 3);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "told", "group.instance.id", "desk-7", "client.rack", "left", NULL);
  char text[256];
  size_t length = 0;
  uint8_t bytes[512];
  OK(kabi_consumer_subscription(consumer, text, sizeof text, &length, ERR));
  CHECK_TEXT("[]", text);
  OK(kabi_consumer_rebalance_protocol(consumer, text, sizeof text, &length, ERR));
  CHECK_TEXT("NONE", text);
  const char *topics[2] = {"flow", "^other-.*\\d"};
  MUST_OK(kabi_consumer_subscribe(consumer, topics, 2, ERR));
  MUST(take(consumer, seen, 3) == 3);
  OK(kabi_consumer_subscription(consumer, text, sizeof text, &length, ERR));
  CHECK(is_json(text) && has(text, "\"flow\"") && has(text, "\"^other-.*\\\\d\""));
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_subscription(consumer, text, 3, &length, ERR));
  OK(kabi_consumer_rebalance_protocol(consumer, text, sizeof text, &length, ERR));
  CHECK_TEXT("EAGER", text);
  OK(kabi_consumer_member_id(consumer, text, sizeof text, &length, ERR));
  CHECK(length > 0);
  OK(kabi_consumer_group_metadata(consumer, bytes, sizeof bytes, &length, ERR));
  CHECK(length > 20 && memmem(bytes, length, "told", 4) != NULL && memmem(bytes, length, "desk-7", 6) != NULL);
  CHECK(memmem(bytes, length, text, strlen(text)) != NULL);
  size_t needed = length;
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_group_metadata(consumer, NULL, 0, &length, ERR));
  CHECK_EQ(needed, length);
  close_consumer(consumer);
  kabi_consumer_t *alone = new_consumer(bootstrap(cluster), NULL, NULL);
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_consumer_member_id(alone, text, sizeof text, &length, ERR));
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_consumer_group_metadata(alone, bytes, sizeof bytes, &length, ERR));
  OK(kabi_consumer_subscription(alone, text, sizeof text, &length, ERR));
  CHECK_TEXT("[]", text);
  end(alone);
}
