/* Faults that users of other bindings met and that no other file shows, and what is left of librdkafka's own tests.
   tests/COVERAGE.md tells which is which. */
#include "harness.h"

static kabi_cluster_t *cluster;
static seen_t seen[10000];
static kabi_event_t reports[20000];

/* Polls until an entry with this code comes; tells its offset. Records must not come before it. */
static int64_t await_entry(kabi_consumer_t *consumer, int32_t code) {
  int64_t until = now_ms() + patience(20000);
  while (now_ms() < until) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(consumer, 1, patience(1000), &batch, &info, ERR));
    int32_t got = info.count > 0 ? info.records[0].code : 0;
    int64_t offset = info.count > 0 ? info.records[0].offset : -1;
    CHECK(info.count == 0 || got == code);
    kabi_batch_free(batch);
    if (got == code) return offset;
  }
  MUST(!"an entry came");
  return -1;
}

/* Number 0034. The third value of the property, error, is in test_consumer. */
TEST(an_offset_out_of_range_follows_the_property) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "auto.offset.reset", "earliest", NULL);
  assign(consumer, "t", 0, 1000);
  MUST(take(consumer, seen, 10) == 10);
  for (int i = 0; i < 10; i++) CHECK_EQ(i, seen[i].offset);
  close_consumer(consumer);
  consumer = new_consumer(bootstrap(cluster), NULL, "auto.offset.reset", "latest", "enable.partition.eof", "true", NULL);
  assign(consumer, "t", 0, 1000);
  CHECK_EQ(10, await_entry(consumer, KABI_STATUS_PARTITION_EOF));
  fill_topic(cluster, "t", 0, 1);
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(10, seen[0].offset);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* Number 0095: a client that reaches none of its brokers says so. */
TEST(a_producer_tells_that_all_brokers_are_down) {
  static uint8_t bytes[1 << 16];
  kabi_event_t events[16];
  int told = 0;
  kabi_producer_t *producer = new_producer(NOWHERE ",127.0.0.1:2", NULL);
  int64_t until = now_ms() + patience(20000);
  while (!told && now_ms() < until) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, patience(1000), events, 16, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) told += events[i].kind == KABI_EVENT_ERROR && events[i].code == KABI_STATUS_ALL_BROKERS_DOWN;
  }
  CHECK(told);
  kabi_producer_free(producer);
}

/* Number 0031: asked right after the leader changed, the old one's refusal does not reach the program. */
TEST(watermarks_follow_the_leader) {
  int64_t low = -7, high = -7;
  cluster = new_cluster(2);
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  fill_topic(cluster, "t", 0, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  int32_t topic = consumer_topic_of(consumer, "t");
  for (int32_t leader = 1; leader <= 2; leader++) {
    OK(kabi_cluster_leader(cluster, "t", 0, leader, ERR));
    low = high = -7;
    OK(kabi_consumer_watermarks(consumer, topic, 0, patience(10000), &low, &high, ERR));
    CHECK(low == 0 && high == 10);
  }
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* Number 0117: KAFKA_STORAGE_ERROR is tried again as often as `retries` allows. */
static void storage_error(const char *retries, int32_t want) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer =
      new_producer(bootstrap(cluster), "enable.idempotence", "false", "retries", retries, "retry.backoff.ms", "10", NULL);
  fill(producer, "t", 0, 0, 1);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 56, 3, ERR));
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "v");
  message.token = 5;
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  MUST(drain_reports(producer, reports, 1) == 1);
  check_tokens(reports, 1, 5, want);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR)); /* takes the failure away from the close */
  CHECK_EQ(0, drain_rest(producer, reports, 1));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_storage_error_is_tried_again) { storage_error("10", 0); }
TEST(a_storage_error_is_told_after_the_last_try) { storage_error("1", 56); }

/* Number 0117: a coordinator that still loads is waited for, without an entry that tells of it. */
TEST(a_coordinator_that_loads_is_waited_for) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 1);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_FIND_COORDINATOR, 14, 1, ERR)); /* COORDINATOR_LOAD_IN_PROGRESS */
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "loads", "auto.offset.reset", "earliest", NULL);
  subscribe(consumer, "t");
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  take_batch(consumer, 1, &batch, &info);
  CHECK(info.count == 1 && info.records[0].code == 0 && info.records[0].offset == 0);
  kabi_batch_free(batch);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* Number 0105: the coordinator moves before and in the midst of transactions, and they end as they should. */
TEST(a_transactions_coordinator_may_move) {
  cluster = new_cluster(3);
  new_topic(cluster, "t", 3);
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_TRANSACTION, "moves", 1, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "transactional.id", "moves", NULL);
  int32_t topic = topic_of(producer, "t");
  MUST_OK(kabi_producer_transactions_init(producer, patience(20000), ERR));
  for (int32_t i = 0; i < 6; i++) {
    OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_TRANSACTION, "moves", 1 + i % 3, ERR));
    MUST_OK(kabi_producer_transaction_begin(producer, ERR));
    for (int32_t n = 0; n < 30; n++) {
      kabi_message_t message = message_of(topic, n % 3, NULL, "v");
      MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
      if (n == 15) OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_TRANSACTION, "moves", 1 + (i + 1) % 3, ERR));
    }
    if (i % 2 == 0) MUST_OK(kabi_producer_transaction_commit(producer, patience(30000), ERR));
    else {
      MUST_OK(kabi_producer_flush(producer, patience(30000), NULL, ERR)); /* or the abort would drop what waits, and the close tell of it */
      MUST_OK(kabi_producer_transaction_abort(producer, patience(30000), ERR));
    }
  }
  OK(kabi_producer_close(producer, patience(20000), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

/* A handler that is stuck, and then fails, is its own client's trouble: others send, report and read meanwhile. */
typedef struct stuck_t { kabi_producer_t *producer; int inside, go; kabi_status_t status; } stuck_t;

static int32_t gets_stuck(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  stuck_t *stuck = (stuck_t *)user;
  (void)events, (void)count, (void)bytes;
  __atomic_store_n(&stuck->inside, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&stuck->go, __ATOMIC_SEQ_CST)) unseen(5);
  return 42;
}

static void *poll_once(void *user) {
  stuck_t *stuck = (stuck_t *)user;
  stuck->status = kabi_producer_poll(stuck->producer, patience(20000), NULL, NULL);
  return NULL;
}

TEST(a_stuck_handler_holds_no_other_client) {
  static stuck_t stuck;
  pthread_t thread;
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_REPORT, gets_stuck, &stuck, NULL, ERR));
  stuck.producer = producer_from(config);
  kabi_message_t message = message_of(topic_of(stuck.producer, "t"), 0, NULL, "0");
  MUST_OK(kabi_producer_send(stuck.producer, &message, 0, ERR));
  MUST(pthread_create(&thread, NULL, poll_once, &stuck) == 0);
  int64_t until = now_ms() + patience(20000);
  while (!__atomic_load_n(&stuck.inside, __ATOMIC_SEQ_CST) && now_ms() < until) unseen(5);
  MUST(__atomic_load_n(&stuck.inside, __ATOMIC_SEQ_CST));
  kabi_producer_t *other = new_producer(bootstrap(cluster), NULL);
  fill(other, "t", 0, 1, 100);
  kabi_consumer_t *reader = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(reader, "t", 0, KABI_OFFSET_BEGINNING);
  MUST(take(reader, seen, 101) == 101);
  for (int i = 0; i < 101; i++) CHECK_EQ(i, seen[i].number);
  close_consumer(reader);
  close_producer(other);
  __atomic_store_n(&stuck.go, 1, __ATOMIC_SEQ_CST);
  pthread_join(thread, NULL);
  CHECK_EQ(KABI_STATUS_CALLBACK_FAILED, stuck.status);
  OK(kabi_producer_close(stuck.producer, patience(20000), NULL, ERR));
  kabi_producer_free(stuck.producer);
  kabi_cluster_free(cluster);
}

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  MUST(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A million records sent, reported and read; what stays must not grow with them. */
TEST(a_million_records_leave_nothing) {
  enum { EACH = 10000 };
  static kabi_message_t messages[EACH];
  static kabi_status_t statuses[EACH];
  int rounds = scaled(100, 3), settled = scaled(30, 1);
  long before = 0;
  cluster = new_cluster(1);
  new_topic(cluster, "sent", 1);
  new_topic(cluster, "read", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  fill(producer, "read", 0, 0, EACH);
  int32_t topic = topic_of(producer, "sent");
  for (uint64_t i = 0; i < EACH; i++) {
    messages[i] = message_of(topic, 0, "key", "value");
    messages[i].token = i;
  }
  for (int round = 0; round < rounds; round++) {
    size_t accepted = 0;
    MUST_OK(kabi_producer_send_many(producer, messages, EACH, patience(20000), statuses, &accepted, ERR));
    MUST(accepted == EACH && drain_reports(producer, reports, EACH) == EACH);
    check_tokens(reports, EACH, 0, 0);
    assign(consumer, "read", 0, KABI_OFFSET_BEGINNING);
    MUST(take(consumer, seen, EACH) == EACH);
    if (round == settled) before = resident_kib();
  }
  note("%d records each way, %ld KiB more than after %d", rounds * EACH, resident_kib() - before, (settled + 1) * EACH);
  if (run_mode() == MODE_PLAIN) CHECK(resident_kib() - before < 32 * 1024); /* 48 bytes a record would show */
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
}
