/* A consumer in trouble: polled too seldom, closed while the coordinator is down, slow or in a rebalance, or while another thread
   polls; two polls at once; static members. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[1000];

static void start(int partitions, int records) { cluster = filled_cluster("work", partitions, records); }

static kabi_consumer_t *member(const char *group, const char *protocol, const char *name, const char *value) {
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", group, "auto.offset.reset", "earliest", NULL);
  if (strcmp(protocol, "consumer") == 0) put(config, "group.protocol", protocol);
  else {
    put(config, "partition.assignment.strategy", protocol);
    put(config, "session.timeout.ms", "6000");
    put(config, "heartbeat.interval.ms", "100");
  }
  if (name != NULL) put(config, name, value);
  MUST_OK(kabi_config_events(config, KABI_EVENT_DEFAULT | KABI_EVENT_ASSIGNMENT, ERR));
  return consumer_from(config);
}

/* ---- polled too seldom ---- */

static void too_seldom(const char *protocol) {
  start(1, 100);
  kabi_consumer_t *consumer = member("seldom", protocol, NULL, NULL);
  kabi_consumer_free(consumer);
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", "seldom", "auto.offset.reset", "earliest", "max.poll.interval.ms", "6000",
                                     "session.timeout.ms", "6000", "heartbeat.interval.ms", "500", "partition.assignment.strategy", protocol,
                                     "auto.commit.interval.ms", "100", NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_ASSIGNMENT, ERR));
  consumer = consumer_from(config);
  subscribe(consumer, "work");
  MUST(take(consumer, seen, 10) == 10);
  unseen(7500); /* there is nothing to await: the point is that nobody polls */
  int exceeded = 0;
  size_t after = 0;
  int64_t until = now_ms() + patience(30000);
  while ((after == 0 || !exceeded) && now_ms() < until) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(consumer, 10, patience(500), &batch, &info, ERR));
    for (size_t i = 0; i < info.count; i++) {
      if (info.records[i].code == 0) after++;
      else exceeded += info.records[i].code == KABI_STATUS_MAX_POLL_EXCEEDED;
    }
    kabi_batch_free(batch);
  }
  CHECK_EQ(1, exceeded); /* an entry says so, and polling again is all it takes */
  CHECK(after > 0);
  kabi_event_t events[8];
  static int64_t bytes[4096];
  size_t count = 0, used;
  int lost = 0;
  OK(kabi_consumer_drain(consumer, 0, events, 8, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
  for (size_t i = 0; i < count; i++) lost += events[i].kind == KABI_EVENT_ASSIGNMENT && events[i].code == KABI_ASSIGNMENT_LOST;
  CHECK_EQ(1, lost);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

TEST(polled_too_seldom_range) { too_seldom("range"); }
TEST(polled_too_seldom_cooperative) { too_seldom("cooperative-sticky"); }

/* While the slow one is out another member has its partition, from what was handled on: the record that the slow one took is not. */
static void taken_over(const char *protocol) {
  start(1, 100);
  kabi_consumer_t *members[2];
  seen_t seen_of[2];
  int slow = -1;
  int64_t since = 0;
  OK(kabi_cluster_group_delay(cluster, 1000, ERR)); /* for both to join at once */
  for (int i = 0; i < 2; i++) {
    members[i] = consumer_from(new_config(bootstrap(cluster), "group.id", "out", "auto.offset.reset", "earliest", "max.poll.interval.ms",
                                          "6000", "session.timeout.ms", "6000", "heartbeat.interval.ms", "500",
                                          "partition.assignment.strategy", protocol, NULL));
    subscribe(members[i], "work");
  }
  for (int64_t until = now_ms() + patience(20000); slow < 0 && now_ms() < until;) {
    for (int i = 0; i < 2 && slow < 0; i++) {
      kabi_batch_t *batch = NULL;
      kabi_batch_info_t info;
      memset(&info, 0, sizeof info);
      since = now_ms();
      MUST_OK(kabi_consumer_poll(members[i], 1, 100, &batch, &info, ERR));
      if (info.count > 0 && CHECK(info.records[0].code == 0 && info.records[0].offset == 0)) slow = i;
      kabi_batch_free(batch);
    }
  }
  MUST(slow >= 0);
  int other = 1 - slow;
  MUST(take(members[other], seen_of, 2) == 2);
  CHECK(now_ms() - since >= 6000); /* not before the slow one was out */
  CHECK(seen_of[0].offset == 0 && seen_of[1].offset == 1);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(members[slow], 10, &batch, &info);
  CHECK_EQ(KABI_STATUS_MAX_POLL_EXCEEDED, info.records[0].code); /* first of all it is told */
  kabi_batch_free(batch);
  /* Its partition is lost. Usually it learns that at once, but only by the session time-out if its group was in the middle of a change,
     and what it had fetched still comes until then. A close before that would say that what it handled too late is not saved. */
  kabi_partition_t held;
  size_t count = 1;
  for (int64_t until = now_ms() + patience(30000); count > 0 && now_ms() < until;) {
    MUST_OK(kabi_consumer_poll(members[slow], 1, 50, &batch, &info, ERR));
    kabi_batch_free(batch);
    OK(kabi_consumer_assignment(members[slow], &held, 1, &count, ERR));
  }
  CHECK_EQ(0, count);
  close_consumer(members[slow]);
  close_consumer(members[other]);
  kabi_cluster_free(cluster);
}

TEST(another_member_takes_over_range) { taken_over("range"); }
TEST(another_member_takes_over_cooperative) { taken_over("cooperative-sticky"); }

/* Polls that are served from records pulled before count as polls too. */
TEST(small_polls_count_as_polls) {
  start(1, 1000);
  kabi_consumer_t *consumer = member("small", "range", "max.poll.interval.ms", "6000");
  subscribe(consumer, "work");
  static int64_t buffer[256];
  int64_t next = 0, until = now_ms() + 8000; /* longer than max.poll.interval.ms, on one pull's records */
  int first = 1;
  while (now_ms() < until) {
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll_packed(consumer, 1000, patience(500), buffer, sizeof(kabi_packed_t) + 8, &info, ERR));
    if (info.count == 0) continue;
    const kabi_packed_t *record = (const kabi_packed_t *)(const void *)buffer;
    CHECK_EQ(0, record->code);
    CHECK_EQ(next++, record->offset);
    if (!first) unseen(50);
    first = 0;
  }
  CHECK(next > 50 && next < 1000);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* ---- close in its time ---- */

static void handle_some(kabi_consumer_t *consumer) {
  subscribe(consumer, "work");
  MUST(take(consumer, seen, 10) == 10);
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  MUST_OK(kabi_consumer_poll(consumer, 1, 0, &batch, &info, ERR)); /* so that there is something to commit */
  kabi_batch_free(batch);
}

static void end_all(kabi_consumer_t *consumer) {
  kabi_consumer_free(consumer);
  OK(kabi_shutdown(patience(20000), ERR));
  kabi_cluster_free(cluster);
}

TEST(close_with_the_coordinator_down) {
  static const char *const protocols[] = {"range", "cooperative-sticky"};
  for (int i = 0; i < 2; i++) {
    start(1, 100);
    kabi_consumer_t *consumer = member("down", protocols[i], NULL, NULL);
    handle_some(consumer);
    OK(kabi_cluster_broker_down(cluster, 1, ERR));
    int64_t begin = now_ms();
    GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_close(consumer, 700, ERR));
    CHECK(has(last_error()->message, "not saved"));
    CHECK(now_ms() - begin >= 600);
    CHECK_WITHIN(1500, begin);
    OK(kabi_consumer_close(consumer, 0, ERR)); /* it is closed */
    end_all(consumer);
  }
}

/* Not even for the session time-out, which end_all() does not wait out. */
TEST(nothing_outlives_a_close_with_the_coordinator_down) {
  for (int i = 0; i < 2; i++) {
    start(1, 100);
    kabi_consumer_t *consumer = i == 0 ? member("long", "range", "session.timeout.ms", "300000") : member("long", "consumer", NULL, NULL);
    handle_some(consumer);
    OK(kabi_cluster_broker_down(cluster, 1, ERR));
    GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_close(consumer, 700, ERR));
    end_all(consumer);
  }
}

TEST(close_with_a_slow_coordinator) {
  start(1, 100);
  kabi_consumer_t *consumer = member("slow", "range", NULL, NULL);
  handle_some(consumer);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 3000, ERR));
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_close(consumer, 500, ERR));
  CHECK_WITHIN(1500, begin);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 0, ERR));
  end_all(consumer);
}

TEST(close_without_time) {
  start(1, 100);
  kabi_consumer_t *consumer = member("at-once", "range", NULL, NULL);
  handle_some(consumer);
  int64_t begin = now_ms();
  kabi_status_t status = kabi_consumer_close(consumer, 0, ERR);
  CHECK(status == 0 || status == KABI_STATUS_TIMED_OUT);
  CHECK_WITHIN(1000, begin);
  end_all(consumer);
}

/* In the middle of a rebalance: the first member has not met it, the second waits for it. */
static void in_a_rebalance(const char *protocol) {
  start(2, 100);
  kabi_consumer_t *first = member("middle", protocol, NULL, NULL), *second = member("middle", protocol, NULL, NULL);
  handle_some(first);
  subscribe(second, "work");
  int64_t until = now_ms() + 500;
  while (now_ms() < until) poll_empty(second, 50); /* it joins, and waits */
  int64_t begin = now_ms();
  kabi_status_t status = kabi_consumer_close(second, 5000, ERR);
  CHECK(status == 0);
  CHECK_WITHIN(3000, begin);
  begin = now_ms();
  status = kabi_consumer_close(first, 5000, ERR);
  if (!CHECK(status == 0 || status == 27 || status == 22 /* refused in a rebalance */)) note("%d: %s", status, last_error()->message);
  CHECK_WITHIN(6000, begin); /* the coordinator holds its answers back until the group is done */
  kabi_consumer_free(second);
  end_all(first);
}

TEST(close_in_a_rebalance_range) { in_a_rebalance("range"); }
TEST(close_in_a_rebalance_cooperative) { in_a_rebalance("cooperative-sticky"); }
TEST(close_in_a_rebalance_kip848) { in_a_rebalance("consumer"); }

/* A close before anything came of the subscription. */
TEST(close_right_after_subscribe) {
  static const char *const protocols[] = {"range", "cooperative-sticky", "consumer"};
  for (int i = 0; i < 9; i++) {
    start(1, 1);
    kabi_consumer_t *consumer = member("hasty", protocols[i % 3], NULL, NULL);
    subscribe(consumer, "work");
    if (i >= 3) poll_empty(consumer, 0);
    if (i >= 6) unseen(100);
    int64_t begin = now_ms();
    OK(kabi_consumer_close(consumer, patience(10000), ERR));
    CHECK_WITHIN(5000, begin);
    end_all(consumer);
  }
}

static kabi_status_t poller_status;
static void *poll_on(void *argument) {
  kabi_consumer_t *consumer = (kabi_consumer_t *)argument;
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  do {
    batch = NULL;
    poller_status = kabi_consumer_poll(consumer, 10, -1, &batch, &info, ERR);
    kabi_batch_free(batch);
  } while (poller_status == 0);
  return NULL;
}

TEST(close_while_another_thread_polls) {
  static const char *const protocols[] = {"range", "cooperative-sticky", "consumer"};
  for (int i = 0; i < 3; i++) {
    start(1, 100);
    kabi_consumer_t *consumer = member("polled", protocols[i], NULL, NULL);
    pthread_t thread;
    subscribe(consumer, "work");
    MUST(take(consumer, seen, 1) == 1);
    MUST(pthread_create(&thread, NULL, poll_on, consumer) == 0);
    unseen(200); /* it is inside */
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    GIVES(KABI_STATUS_BUSY, kabi_consumer_poll(consumer, 1, 0, &batch, &info, ERR));
    int64_t begin = now_ms();
    OK(kabi_consumer_close(consumer, patience(10000), ERR));
    CHECK_WITHIN(4000, begin);
    pthread_join(thread, NULL);
    CHECK_EQ(KABI_STATUS_CLOSED, poller_status);
    end_all(consumer);
  }
}

/* A poll keeps to its time while another thread's seek waits for a broker that is down. */
static void *seek_for_long(void *argument) {
  kabi_partition_t list = partition_of(0, 0, 1);
  kabi_status_t status = kabi_consumer_seek((kabi_consumer_t *)argument, &list, 1, -1, ERR);
  CHECK(status == 0 || status == KABI_STATUS_INTERRUPTED || status == KABI_STATUS_CLOSED);
  return NULL;
}

TEST(a_poll_keeps_its_time_beside_a_seek) {
  start(1, 1);
  kabi_consumer_t *consumer = member("beside", "range", NULL, NULL);
  pthread_t thread;
  CHECK_EQ(0, consumer_topic_of(consumer, "work"));
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  assign(consumer, "work", 0, KABI_OFFSET_STORED);
  MUST(pthread_create(&thread, NULL, seek_for_long, consumer) == 0);
  unseen(200);
  int64_t begin = now_ms();
  poll_empty(consumer, 300);
  CHECK_WITHIN(800, begin);
  OK(kabi_consumer_wake(consumer, ERR));
  pthread_join(thread, NULL);
  kabi_consumer_close(consumer, 0, NULL);
  end_all(consumer);
}

/* ---- a member that has a name ---- */

TEST(a_static_member_comes_back_to_its_partitions) {
  start(2, 20);
  kabi_consumer_t *consumer = member("static", "range", "group.instance.id", "desk-1");
  handle_some(consumer);
  char id[128], again[128];
  size_t length;
  OK(kabi_consumer_member_id(consumer, id, sizeof id, &length, ERR));
  CHECK(length > 0);
  OK(kabi_consumer_close(consumer, patience(10000), ERR));
  kabi_consumer_free(consumer);
  consumer = member("static", "range", "group.instance.id", "desk-1");
  subscribe(consumer, "work");
  MUST(take(consumer, seen, 30) == 30); /* from what was committed at the close */
  OK(kabi_consumer_member_id(consumer, again, sizeof again, &length, ERR));
  CHECK(length > 0);
  OK(kabi_consumer_close(consumer, patience(10000), ERR));
  end_all(consumer);
}
