/* Runs of records, which go to librdkafka together: in order, with the partition that each would have by itself, and one by one where
   something about them is not plain. */
#include "runs.h"

static kabi_cluster_t *cluster;
static kabi_event_t reports[2000];

static kabi_producer_t *start(const char *property, const char *value) {
  cluster = new_cluster(1);
  new_topic(cluster, "runs", RUN_PARTITIONS);
  return new_producer(bootstrap(cluster), property, value, NULL);
}

static void end(kabi_producer_t *producer) {
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Sends `count` equal records in one call, all of which are taken. */
static void send_run(kabi_producer_t *producer, size_t count, int32_t partition) {
  kabi_message_t messages[RUN_LENGTH];
  kabi_status_t statuses[RUN_LENGTH];
  int32_t topic = topic_of(producer, "runs");
  size_t accepted;
  MUST(count <= RUN_LENGTH);
  for (size_t i = 0; i < count; i++) messages[i] = message_of(topic, partition, NULL, "v");
  MUST_OK(kabi_producer_send_many(producer, messages, count, patience(10000), statuses, &accepted, ERR));
  CHECK_EQ(count, accepted);
}

static void threads_keep_their_order(const char *property, const char *value) {
  kabi_producer_t *producer = start(property, value);
  runs_of_threads(producer, topic_of(producer, "runs"), scaled(60, 6));
  end(producer);
}

TEST(threads_keep_their_order_idempotent) { threads_keep_their_order("linger.ms", "5"); }
TEST(threads_keep_their_order_plain) { threads_keep_their_order("enable.idempotence", "false"); }
TEST(threads_keep_their_order_in_batches_of_one) { threads_keep_their_order("batch.num.messages", "1"); }

/* A run waits for its partition's linger like a single record, and is sent when a batch is full. */
TEST(a_run_is_sent_as_soon_as_a_batch_is_full) {
  kabi_producer_t *producer = start("linger.ms", "100000");
  for (size_t sent = 0; sent < 10000 + RUN_LENGTH; sent += RUN_LENGTH) send_run(producer, RUN_LENGTH, 1); /* batch.num.messages is 10,000 */
  CHECK_EQ(1000, drain_reports(producer, reports, 1000));
  OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  end(producer);
}

/* Partitions of keys are those of single records, whatever the partitioner. */
static void same_partitions(const char *partitioner) {
  enum { KEYS = 200 };
  kabi_producer_t *producer = start("partitioner", partitioner);
  int32_t topic = topic_of(producer, "runs"), alone[KEYS];
  kabi_message_t messages[KEYS];
  kabi_status_t statuses[KEYS];
  char keys[KEYS][16];
  size_t accepted;
  for (int i = 0; i < KEYS; i++) {
    (void)snprintf(keys[i], sizeof keys[i], "%d", i);
    messages[i] = message_of(topic, KABI_PARTITION_ANY, keys[i], "v");
    messages[i].token = (uint64_t)i;
    MUST_OK(kabi_producer_send(producer, &messages[i], patience(10000), ERR));
  }
  MUST(drain_reports(producer, reports, KEYS) == KEYS);
  for (size_t i = 0; i < KEYS; i++) alone[reports[i].token] = reports[i].partition;
  MUST_OK(kabi_producer_send_many(producer, messages, KEYS, patience(10000), statuses, &accepted, ERR));
  MUST(drain_reports(producer, reports, KEYS) == KEYS);
  for (size_t i = 0; i < KEYS; i++) CHECK_EQ(alone[reports[i].token], reports[i].partition);
  end(producer);
}

TEST(keys_choose_as_alone_murmur2_random) { same_partitions("murmur2_random"); }
TEST(keys_choose_as_alone_consistent_random) { same_partitions("consistent_random"); }
TEST(keys_choose_as_alone_fnv1a) { same_partitions("fnv1a"); }

/* Records without a key go to all partitions, one after the other, unless stickiness is off: then at random. */
static void spread(const char *linger, size_t runs) {
  kabi_producer_t *producer = start("sticky.partitioning.linger.ms", linger);
  size_t counts[RUN_PARTITIONS] = {0, 0, 0}, used = 0;
  int64_t until = now_ms() + patience(20000);
  for (size_t run = 0; used < RUN_PARTITIONS && now_ms() < until; run++) {
    send_run(producer, RUN_LENGTH, KABI_PARTITION_ANY);
    MUST(drain_reports(producer, reports, RUN_LENGTH) == RUN_LENGTH);
    for (size_t i = 0; i < RUN_LENGTH; i++) {
      MUST(reports[i].partition >= 0 && reports[i].partition < RUN_PARTITIONS);
      used += counts[reports[i].partition]++ == 0;
    }
    if (run + 1 == runs) break;
  }
  CHECK_EQ(RUN_PARTITIONS, used);
  end(producer);
}

TEST(no_keys_stick_to_a_partition_for_a_while) { spread("5", 0); }
TEST(no_keys_spread_at_once_without_stickiness) { spread("0", 1); }

/* What is wrong with one of a run is told of that one. */
TEST(one_of_a_run_is_refused) {
  enum { SIZE = 5000 };
  static char large[SIZE];
  kabi_producer_t *producer = start("message.max.bytes", "2000");
  kabi_message_t messages[3];
  kabi_status_t statuses[3];
  int32_t topic = topic_of(producer, "runs");
  size_t accepted;
  for (size_t i = 0; i < 3; i++) messages[i] = message_of(topic, 0, NULL, "v");
  messages[1].value = large;
  messages[1].value_length = SIZE;
  GIVES(KABI_STATUS_MSG_SIZE_TOO_LARGE, kabi_producer_send_many(producer, messages, 3, patience(10000), statuses, &accepted, ERR));
  CHECK(accepted == 2 && statuses[0] == 0 && statuses[1] == KABI_STATUS_MSG_SIZE_TOO_LARGE && statuses[2] == 0);
  CHECK_EQ(2, drain_reports(producer, reports, 2));
  for (size_t i = 0; i < 3; i++) messages[i] = message_of(topic, RUN_PARTITIONS, NULL, "v");
  CHECK(kabi_producer_send_many(producer, messages, 3, patience(10000), statuses, &accepted, ERR) != 0);
  CHECK(accepted == 0 && statuses[0] != 0 && statuses[1] == statuses[0] && statuses[2] == statuses[0]);
  end(producer);
}

/* Before anything is known of a topic, runs wait for it like single records. */
TEST(runs_go_to_a_topic_that_is_not_known_yet) {
  enum { COUNT = 100 };
  kabi_producer_t *producer = start(NULL, NULL);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 200, ERR));
  kabi_message_t messages[COUNT];
  kabi_status_t statuses[COUNT];
  int32_t topic = topic_of(producer, "runs");
  size_t accepted;
  for (size_t i = 0; i < COUNT; i++) messages[i] = message_of(topic, i % 2 == 0 ? 1 : KABI_PARTITION_ANY, NULL, "v");
  MUST_OK(kabi_producer_send_many(producer, messages, COUNT, patience(10000), statuses, &accepted, ERR));
  CHECK_EQ(COUNT, accepted);
  MUST(drain_reports(producer, reports, COUNT) == COUNT);
  for (size_t i = 0; i < COUNT; i++) CHECK_EQ(0, reports[i].code);
  end(producer);
}
