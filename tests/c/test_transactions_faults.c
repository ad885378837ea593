/* Transactions when brokers refuse what they need: each error of the requests that offsets of a transaction take, and a topic that is
   gone for a while. Number 0105 of librdkafka's own tests. */
#include "harness.h"

enum { WAIT = 20000 };

static kabi_cluster_t *cluster;

/* The coordinators of the group and of the transactions are different brokers: each request must find its own. */
static void start(void) {
  cluster = new_cluster(2);
  new_topic(cluster, "t", 2);
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "g", 1, ERR));
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_TRANSACTION, "tx", 2, ERR));
}

static kabi_producer_t *ready(void) {
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "transactional.id", "tx", "linger.ms", "0", "kafkabi.log", "off",
                                           "topic.metadata.propagation.max.ms", "0", NULL);
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  return producer;
}

static void begin(kabi_producer_t *producer) {
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0");
  MUST_OK(kabi_producer_transaction_begin(producer, ERR));
  MUST_OK(kabi_producer_send(producer, &message, patience(WAIT), ERR));
  MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
}

static kabi_status_t offsets(kabi_producer_t *producer) {
  kabi_partition_t both[2] = {partition_of(topic_of(producer, "t"), 0, 12), partition_of(topic_of(producer, "t"), 1, 999999111)};
  return kabi_producer_transaction_offsets_group(producer, "g", both, 2, patience(WAIT), ERR);
}

static void end(kabi_producer_t *producer) {
  OK(kabi_producer_close(producer, patience(WAIT), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

/* ---- what is repeated until it works ---- */

static void is_repeated(int32_t request) {
  static const int32_t passing[] = {KABI_STATUS_COORDINATOR_NOT_AVAILABLE,
                                    KABI_STATUS_NOT_COORDINATOR,
                                    KABI_STATUS_REQUEST_TIMED_OUT,
                                    KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS,
                                    KABI_STATUS_CONCURRENT_TRANSACTIONS,
                                    KABI_STATUS_UNKNOWN_TOPIC_OR_PART,
                                    KABI_STATUS_TRANSPORT};
  start();
  kabi_producer_t *producer = ready();
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) {
    begin(producer);
    OK(kabi_cluster_inject_errors(cluster, request, passing[i], 2, ERR));
    size_t before = requests_of(cluster, KABI_BROKER_ALL, request);
    if (!CHECK_EQ(0, offsets(producer))) note("after %s: %s", kabi_error_name(passing[i]), last_error()->message);
    CHECK_EQ(3, requests_of(cluster, KABI_BROKER_ALL, request) - before);
    OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  }
  end(producer);
}

TEST(adding_offsets_is_repeated) { is_repeated(KABI_REQUEST_ADD_OFFSETS_TO_TXN); }
TEST(committing_offsets_is_repeated) { is_repeated(KABI_REQUEST_TXN_OFFSET_COMMIT); }

/* ---- what asks for an abort, after which the producer goes on ---- */

static void asks_for_an_abort(int32_t request, const int32_t *codes, size_t count) {
  start();
  kabi_producer_t *producer = ready();
  for (size_t i = 0; i < count; i++) {
    begin(producer);
    OK(kabi_cluster_inject_errors(cluster, request, codes[i], 1, ERR));
    GIVES(codes[i], offsets(producer));
    CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
    CHECK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR) != 0);
    CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
    MUST_OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  }
  begin(producer);
  OK(offsets(producer));
  OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  end(producer);
}

TEST(adding_offsets_asks_for_an_abort) {
  static const int32_t codes[] = {KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, KABI_STATUS_GROUP_AUTHORIZATION_FAILED, KABI_STATUS_INVALID_GROUP_ID,
                                  KABI_STATUS_INVALID_PRODUCER_ID_MAPPING};
  asks_for_an_abort(KABI_REQUEST_ADD_OFFSETS_TO_TXN, codes, sizeof codes / sizeof codes[0]);
}

TEST(committing_offsets_asks_for_an_abort) {
  static const int32_t codes[] = {KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, KABI_STATUS_GROUP_AUTHORIZATION_FAILED, KABI_STATUS_ILLEGAL_GENERATION,
                                  KABI_STATUS_UNKNOWN_MEMBER_ID, KABI_STATUS_FENCED_INSTANCE_ID, KABI_STATUS_OFFSET_METADATA_TOO_LARGE};
  asks_for_an_abort(KABI_REQUEST_TXN_OFFSET_COMMIT, codes, sizeof codes / sizeof codes[0]);
}

/* ---- what no repeating and no abort helps against ---- */

static void is_fatal(int32_t request, int32_t code, int32_t want) {
  start();
  kabi_producer_t *producer = ready();
  begin(producer);
  OK(kabi_cluster_inject_errors(cluster, request, code, 1, ERR));
  GIVES(want, offsets(producer));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  GIVES(want, kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  kabi_producer_close(producer, patience(WAIT), NULL, NULL); /* what is open can't be aborted either */
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

static void ends_the_producer(int32_t request) {
  is_fatal(request, KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
  is_fatal(request, KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED, KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED);
  is_fatal(request, KABI_STATUS_INVALID_TXN_STATE, KABI_STATUS_INVALID_TXN_STATE);
  is_fatal(request, KABI_STATUS_UNSUPPORTED_FOR_MESSAGE_FORMAT, KABI_STATUS_UNSUPPORTED_FOR_MESSAGE_FORMAT);
  is_fatal(request, KABI_STATUS_INVALID_PRODUCER_EPOCH, KABI_STATUS_FENCED);
}

TEST(adding_offsets_ends_the_producer) { ends_the_producer(KABI_REQUEST_ADD_OFFSETS_TO_TXN); }
TEST(committing_offsets_ends_the_producer) { ends_the_producer(KABI_REQUEST_TXN_OFFSET_COMMIT); }

/* ---- a member's own words about itself ---- */

/* The bytes of a member go to its group's coordinator, whoever hands them over; part of them are no such bytes. What the coordinator
   makes of them is tested on a real broker. */
TEST(group_metadata_goes_the_whole_way) {
  uint8_t bytes[512];
  size_t length = 0;
  seen_t seen;
  start();
  fill_topic(cluster, "t", 0, 1);
  fill_topic(cluster, "t", 1, 1);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", "enable.auto.commit", "false", NULL);
  subscribe(consumer, "t");
  MUST(take(consumer, &seen, 1) == 1);
  MUST_OK(kabi_consumer_group_metadata(consumer, bytes, sizeof bytes, &length, ERR));
  MUST(length > 0 && length < sizeof bytes);
  kabi_producer_t *producer = ready();
  kabi_partition_t one = partition_of(topic_of(producer, "t"), 0, 1);
  begin(producer);
  for (size_t cut = 0; cut < length; cut++) {
    uint8_t *part = (uint8_t *)malloc(cut + 1); /* of just this size, for who looks at what is read */
    MUST(part != NULL);
    memcpy(part + 1, bytes, cut);
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets_metadata(producer, part + 1, cut, &one, 1, patience(WAIT), ERR));
    free(part);
  }
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  OK(kabi_producer_transaction_offsets_metadata(producer, bytes, length, &one, 1, patience(WAIT), ERR));
  CHECK_EQ(1, requests_of(cluster, 1, KABI_REQUEST_TXN_OFFSET_COMMIT));
  CHECK_EQ(1, requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_TXN_OFFSET_COMMIT));
  CHECK_EQ(1, requests_of(cluster, 2, KABI_REQUEST_ADD_OFFSETS_TO_TXN));
  OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  close_consumer(consumer);
  end(producer);
}

/* ---- a topic that is gone for a while ---- */

/* Has the producer look all topics up. */
static void look_up(kabi_admin_t *admin, const char *part) {
  static char text[8192];
  uint64_t request = 0;
  size_t length = 0;
  MUST_OK(kabi_admin_call(admin, "metadata", NULL, patience(WAIT), &request, text, sizeof text, &length, ERR));
  if (!CHECK(has(text, part))) note("%s", text);
}

static void transaction_of(kabi_producer_t *producer, int count) {
  MUST_OK(kabi_producer_transaction_begin(producer, ERR));
  for (int i = 0; i < count; i++) {
    kabi_message_t message = message_of(topic_of(producer, "t"), i % 2, NULL, "v");
    MUST_OK(kabi_producer_send(producer, &message, patience(WAIT), ERR));
  }
  MUST_OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
}

static size_t records_of(int32_t partition) {
  static int64_t buffer[8192];
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  MUST_OK(kabi_cluster_records(cluster, "t", partition, KABI_OFFSET_BEGINNING, buffer, sizeof buffer, &info, patience(WAIT), ERR));
  return info.count;
}

/* The producer forgets the topic's partitions, but not how far their sequence numbers were: or what it sends after would be taken for
   what the broker has already. */
TEST(a_topic_is_gone_for_a_while) {
  start();
  kabi_producer_t *producer = ready();
  kabi_admin_t *admin = NULL;
  MUST_OK(kabi_admin_of_producer(producer, &admin, ERR));
  transaction_of(producer, 40);
  OK(kabi_cluster_topic_error(cluster, "t", KABI_STATUS_UNKNOWN_TOPIC_OR_PART, ERR));
  look_up(admin, "UNKNOWN_TOPIC_OR_PART");
  MUST_OK(kabi_producer_transaction_begin(producer, ERR));
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "v");
  GIVES(KABI_STATUS_UNKNOWN_TOPIC, kabi_producer_send(producer, &message, 0, ERR));
  OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  OK(kabi_cluster_topic_error(cluster, "t", 0, ERR));
  look_up(admin, "\"leader\"");
  transaction_of(producer, 60);
  CHECK_EQ(50, records_of(0));
  CHECK_EQ(50, records_of(1));
  kabi_admin_free(admin);
  end(producer);
}

/* A record's time is up, which only an abort gets over. TIMED_OUT would be the call's time, after which the same call goes on. */
TEST(a_record_that_times_out_asks_for_an_abort) {
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "transactional.id", "tx", "message.timeout.ms", "500", "kafkabi.log", "off", NULL);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "late");
  kabi_event_t reports[2];
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  begin(producer);
  for (int32_t broker = 1; broker <= 2; broker++) OK(kabi_cluster_broker_down(cluster, broker, ERR));
  MUST_OK(kabi_producer_send(producer, &message, patience(WAIT), ERR));
  MUST(drain_reports(producer, reports, 2) == 2);
  CHECK(reports[0].code == 0 && reports[1].code != 0);
  for (int32_t broker = 1; broker <= 2; broker++) OK(kabi_cluster_broker_up(cluster, broker, ERR));
  kabi_status_t status = kabi_producer_transaction_commit(producer, patience(WAIT), ERR);
  if (!CHECK(status != 0 && status != KABI_STATUS_TIMED_OUT)) note("%s", last_error()->message);
  CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
  OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  /* The next one may have to be aborted too: librdkafka's sequence numbers may have a gap where the record was. */
  for (int times = 0; times < 3 && status != 0; times++) {
    begin(producer);
    if ((status = kabi_producer_transaction_commit(producer, patience(WAIT), ERR)) == 0) break;
    CHECK(status != KABI_STATUS_TIMED_OUT && last_error()->flags == KABI_ERROR_ABORT_REQUIRED);
    OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  }
  CHECK_EQ(0, status);
  end(producer);
}
