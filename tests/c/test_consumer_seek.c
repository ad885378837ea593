/* Where a consumer reads: its position, seeks, and assignments that overtake a question where a partition begins. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[2000];

static void start(int partitions, int records) { cluster = filled_cluster("read", partitions, records); }

static void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

static kabi_consumer_t *reader(const char *group) { return new_consumer(bootstrap(cluster), group, NULL); }

TEST(position_follows_what_was_handed_out) {
  start(2, 10);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(KABI_OFFSET_INVALID, position_of(consumer, "read", 0));
  MUST(take(consumer, seen, 4) == 4);
  CHECK_EQ(4, position_of(consumer, "read", 0)); /* not of what was only fetched */
  MUST(take(consumer, seen, 6) == 6);
  CHECK_EQ(10, position_of(consumer, "read", 0));
  CHECK_EQ(KABI_OFFSET_INVALID, position_of(consumer, "read", 1)); /* not assigned */
  kabi_partition_t bad = partition_of(4711, 0, 0);
  kabi_status_t status = kabi_consumer_position(consumer, &bad, 1, ERR);
  CHECK_EQ(KABI_STATUS_ARGUMENT, status);
  OK(kabi_consumer_position(consumer, NULL, 0, ERR));
  end(consumer);
}

static kabi_status_t seek_to(kabi_consumer_t *consumer, int32_t partition, int64_t offset) {
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "read"), partition, offset);
  kabi_status_t status = kabi_consumer_seek(consumer, &one, 1, patience(10000), ERR);
  if (status != KABI_STATUS_ARGUMENT) CHECK_EQ(status, one.code); /* a refused call tells of no partition */
  return status;
}

TEST(seek_right_after_assign) {
  start(1, 100);
  kabi_consumer_t *consumer = reader(NULL);
  for (int64_t to = 90; to >= 0; to -= 45) {
    assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
    MUST_OK(seek_to(consumer, 0, to));
    MUST(take(consumer, seen, 5) == 5);
    for (int i = 0; i < 5; i++) CHECK_EQ(to + i, seen[i].offset);
  }
  end(consumer);
}

static const int64_t ends[] = {KABI_OFFSET_END, KABI_OFFSET_BEGINNING};

/* Amid 100 records, of brokers whose answers take a while from now on. */
static kabi_consumer_t *reader_of_slow_brokers(void) {
  start(1, 100);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 10) == 10);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 200, ERR));
  return consumer;
}

/* The records from `first` on, to the end: what a late answer moves would not be the first of them. */
static void take_from(kabi_consumer_t *consumer, int first) {
  size_t count = (size_t)(100 - first);
  MUST(take(consumer, seen, count) == count);
  for (size_t i = 0; i < count; i++) CHECK_EQ(first + (int64_t)i, seen[i].offset);
}

/* A lookup that is still on its way must not move a partition that was sought since: by a seek to an end, by an assignment. */
TEST(seek_overtakes_no_lookup) {
  kabi_consumer_t *consumer = reader_of_slow_brokers();
  for (size_t i = 0; i < 2; i++) {
    MUST_OK(seek_to(consumer, 0, ends[i]));
    MUST_OK(seek_to(consumer, 0, 5));
    take_from(consumer, 5);
    assign(consumer, "read", 0, ends[i]);
    MUST_OK(seek_to(consumer, 0, 7));
    take_from(consumer, 7);
  }
  end(consumer);
}

TEST(assign_overtakes_no_lookup) {
  kabi_consumer_t *consumer = reader_of_slow_brokers();
  for (size_t i = 0; i < 4; i++) {
    kabi_partition_t one = partition_of(consumer_topic_of(consumer, "read"), 0, 5);
    OK(kabi_cluster_track_requests(cluster, 1, ERR));
    assign(consumer, "read", 0, ends[i % 2]);
    /* It is asked, and the answer takes a while; a beginning may be known. */
    while (ends[i % 2] == KABI_OFFSET_END && requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_LIST_OFFSETS) == 0) unseen(1);
    if (i < 2) {
      OK(kabi_consumer_assign(consumer, &one, 1, ERR));
    } else {
      OK(kabi_consumer_incremental_unassign(consumer, &one, 1, ERR));
      OK(kabi_consumer_incremental_assign(consumer, &one, 1, ERR));
    }
    take_from(consumer, 5);
  }
  end(consumer);
}

TEST(seek_backward_forward_and_to_the_ends) {
  start(1, 100);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 10) == 10);
  static const int64_t to[] = {3, 77, 0, 99, 50};
  for (size_t i = 0; i < sizeof to / sizeof to[0]; i++) {
    MUST_OK(seek_to(consumer, 0, to[i]));
    MUST(take(consumer, seen, 1) == 1);
    CHECK_EQ(to[i], seen[0].offset); /* nothing that was fetched before comes through */
    CHECK_EQ(to[i] + 1, position_of(consumer, "read", 0));
  }
  MUST_OK(seek_to(consumer, 0, KABI_OFFSET_BEGINNING));
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(0, seen[0].offset);
  MUST_OK(seek_to(consumer, 0, KABI_OFFSET_END));
  poll_empty(consumer, 300);
  fill_topic(cluster, "read", 0, 1);
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(100, seen[0].offset);
  end(consumer);
}

TEST(seek_tells_each_partition) {
  start(2, 10);
  kabi_consumer_t *consumer = reader(NULL);
  assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 1) == 1);
  int32_t topic = consumer_topic_of(consumer, "read");
  kabi_partition_t list[2] = {partition_of(topic, 0, 7), partition_of(topic, 1, 3)};
  int64_t begin = now_ms();
  kabi_status_t status = kabi_consumer_seek(consumer, list, 2, patience(10000), ERR);
  CHECK(status != 0 && list[1].code != 0); /* 1 is not assigned: told at once, not after the time-out */
  CHECK_WITHIN(5000, begin);
  CHECK_EQ(0, list[0].code);
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(7, seen[0].offset);
  GIVES(KABI_STATUS_ARGUMENT, seek_to(consumer, 0, KABI_OFFSET_INVALID));
  GIVES(KABI_STATUS_ARGUMENT, seek_to(consumer, 0, -3));
  GIVES(KABI_STATUS_ARGUMENT, seek_to(consumer, -1, 0));
  end(consumer);
}

/* ---- the group moves them ---- */

enum { COORDINATOR = 1, LEADER = 2, PARTITIONS = 4, RECORDS = 30, PLACE = 20 };

typedef struct member_t { kabi_consumer_t *consumer; size_t assigned; int revoked, seeks; } member_t;

static int32_t on_change(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  member_t *member = (member_t *)user;
  kabi_partition_t list[PARTITIONS];
  CHECK_EQ(1, count);
  MUST(events->data_count <= PARTITIONS);
  memcpy(list, bytes + events->data_offset, events->data_count * sizeof *list);
  member->revoked += events->code == KABI_ASSIGNMENT_REVOKE;
  member->assigned = events->code == KABI_ASSIGNMENT_ASSIGN ? events->data_count : 0;
  for (size_t i = 0; i < member->assigned; i++) list[i].offset = PLACE;
  if (member->assigned > 0 && member->seeks) OK(kabi_consumer_seek(member->consumer, list, member->assigned, patience(5000), ERR));
  return 0;
}

static void join(member_t *member) {
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", "overtaken", "auto.offset.reset", "earliest", NULL);
  char session[16];
  (void)snprintf(session, sizeof session, "%d", patience(2000)); /* the embedded cluster waits a second less for all to rejoin */
  put(config, "session.timeout.ms", session);
  put(config, "heartbeat.interval.ms", "100");
  MUST_OK(kabi_config_events(config, KABI_EVENT_DEFAULT | KABI_EVENT_ASSIGNMENT, ERR));
  MUST_OK(kabi_config_handler(config, KABI_EVENT_ASSIGNMENT, on_change, member, NULL, ERR));
  member->consumer = consumer_from(config);
  subscribe(member->consumer, "shared");
}

static void poll_and_drop(member_t *member) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  OK(kabi_consumer_poll(member->consumer, 1000, 20, &batch, &info, ERR));
  kabi_batch_free(batch);
}

/* Records from `first` on and no others, `each` of every partition. */
static void take_of_each(member_t *member, int64_t first, size_t each) {
  int64_t next[PARTITIONS];
  for (size_t i = 0; i < PARTITIONS; i++) next[i] = first;
  size_t count = PARTITIONS * each;
  MUST(take(member->consumer, seen, count) == count);
  for (size_t i = 0; i < count; i++) CHECK_EQ(next[seen[i].partition]++, seen[i].offset);
}

/* The group takes partitions away and gives them back while their leader still looks up where they begin. They begin where the second
   assignment's handler says; the answers to the questions before, which come late, move nothing. */
TEST(a_rebalance_overtakes_no_lookup) {
  cluster = new_cluster(2);
  new_topic(cluster, "shared", PARTITIONS);
  for (int32_t i = 0; i < PARTITIONS; i++) {
    OK(kabi_cluster_leader(cluster, "shared", i, LEADER, ERR));
    fill_topic(cluster, "shared", i, RECORDS);
  }
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "overtaken", COORDINATOR, ERR));
  OK(kabi_cluster_inject_broker_errors(cluster, LEADER, KABI_REQUEST_LIST_OFFSETS, 0, patience(3000), PARTITIONS, ERR));
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  member_t member = {NULL, 0, 0, 0};
  int64_t until = now_ms() + patience(40000);
  join(&member);
  while (requests_of(cluster, LEADER, KABI_REQUEST_LIST_OFFSETS) < PARTITIONS && now_ms() < until) poll_and_drop(&member);
  CHECK_EQ(PARTITIONS, member.assigned);
  member.seeks = 1;
  OK(kabi_cluster_inject_broker_errors(cluster, COORDINATOR, KABI_REQUEST_HEARTBEAT, KABI_STATUS_REBALANCE_IN_PROGRESS, 0, 1, ERR));
  while (!(member.revoked == 1 && member.assigned == PARTITIONS) && now_ms() < until) poll_and_drop(&member);
  take_of_each(&member, PLACE, RECORDS - PLACE);
  for (int32_t i = 0; i < PARTITIONS; i++) fill_topic(cluster, "shared", i, 1);
  take_of_each(&member, RECORDS, 1);
  end(member.consumer);
}
