/* The embedded cluster on purpose: leaders, followers, coordinators, racks, errors by broker and by topic, versions, groups. */
#include "harness.h"

static kabi_event_t reports[64];

static int32_t send_one(kabi_producer_t *producer, const char *topic, int32_t partition) {
  kabi_message_t message = message_of(topic_of(producer, topic), partition, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  MUST(drain_reports(producer, reports, 1) == 1);
  return reports[0].code;
}

TEST(the_leader_gets_the_records) {
  kabi_cluster_t *cluster = new_cluster(3);
  new_topic(cluster, "t", 2);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  for (int32_t broker = 1; broker <= 3; broker++) {
    OK(kabi_cluster_leader(cluster, "t", 1, broker, ERR));
    CHECK_EQ(0, send_one(producer, "t", 1)); /* by whatever way */
    OK(kabi_cluster_track_requests(cluster, 1, ERR));
    CHECK_EQ(0, send_one(producer, "t", 1));
    CHECK_EQ(1, requests_of(cluster, broker, KABI_REQUEST_PRODUCE));
    CHECK_EQ(1, requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_PRODUCE));
  }
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(no_leader_until_there_is_one_again) {
  kabi_cluster_t *cluster = new_cluster(2);
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, KABI_BROKER_NONE, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_flush(producer, 300, NULL, ERR));
  OK(kabi_cluster_leader(cluster, "t", 0, 2, ERR));
  MUST_OK(kabi_producer_flush(producer, patience(30000), NULL, ERR));
  MUST(drain_reports(producer, reports, 1) == 1);
  CHECK_EQ(0, reports[0].code);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Who sends to it or reads it all the while goes on when it has a leader again. */
TEST(a_partition_loses_its_leader_while_it_is_used) {
  kabi_cluster_t *cluster = new_cluster(2);
  seen_t seen[20];
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  fill(producer, "t", 0, 0, 10);
  MUST(take(consumer, seen, 10) == 10);
  for (int32_t broker = 1; broker <= 2; broker++) {
    OK(kabi_cluster_leader(cluster, "t", 0, KABI_BROKER_NONE, ERR));
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "10");
    MUST_OK(kabi_producer_send(producer, &message, 0, ERR)); /* to the leader that was */
    poll_empty(consumer, 700);
    OK(kabi_cluster_leader(cluster, "t", 0, broker, ERR));
    MUST_OK(kabi_producer_flush(producer, patience(30000), NULL, ERR));
    MUST(drain_reports(producer, reports, 1) == 1);
    CHECK_EQ(0, reports[0].code);
    MUST(take(consumer, seen, 1) == 1);
    CHECK_EQ(9 + broker, seen[0].offset);
  }
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_follower_is_read_from) {
  kabi_cluster_t *cluster = new_cluster(2);
  seen_t seen[10];
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  OK(kabi_cluster_follower(cluster, "t", 0, 2, ERR));
  OK(kabi_cluster_rack(cluster, 2, "here", ERR));
  fill_topic(cluster, "t", 0, 10);
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "client.rack", "here", NULL);
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(10, take(consumer, seen, 10));
  CHECK(requests_of(cluster, 2, KABI_REQUEST_FETCH) > 0);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* A follower that lags behind: what it does not have yet comes once it has it. */
TEST(a_follower_that_lags) {
  kabi_cluster_t *cluster = new_cluster(2);
  seen_t seen[10];
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  for (int i = 0; i < 10; i++) fill(producer, "t", 0, i, 1); /* a batch each */
  OK(kabi_cluster_follower(cluster, "t", 0, 2, ERR));
  OK(kabi_cluster_follower_watermarks(cluster, "t", 0, -1, 5, ERR));
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(5, take(consumer, seen, 5));
  OK(kabi_cluster_follower_watermarks(cluster, "t", 0, -1, -1, ERR));
  CHECK_EQ(5, take(consumer, seen, 5));
  CHECK_EQ(9, seen[4].number);
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(coordinators_are_where_they_are_put) {
  kabi_cluster_t *cluster = new_cluster(3);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 1);
  for (int32_t broker = 1; broker <= 3; broker++) {
    seen_t seen;
    char group[24];
    snprintf(group, sizeof group, "group-%d", broker);
    OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, group, broker, ERR));
    OK(kabi_cluster_track_requests(cluster, 1, ERR));
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), group, NULL);
    subscribe(consumer, "t");
    MUST(take(consumer, &seen, 1) == 1);
    close_consumer(consumer);
    CHECK(requests_of(cluster, broker, KABI_REQUEST_JOIN_GROUP) > 0);
    CHECK_EQ(requests_of(cluster, KABI_BROKER_ALL, KABI_REQUEST_JOIN_GROUP), requests_of(cluster, broker, KABI_REQUEST_JOIN_GROUP));
  }
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_TRANSACTION, "tx", 2, ERR));
  kabi_cluster_free(cluster);
}

/* 87 is INVALID_RECORD: a producer neither tries again nor gives the topic up for it. */
TEST(errors_of_one_broker) {
  kabi_cluster_t *cluster = new_cluster(2);
  size_t left = 99;
  new_topic(cluster, "t", 2);
  OK(kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  OK(kabi_cluster_leader(cluster, "t", 1, 2, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "enable.idempotence", "false", "retries", "0", NULL);
  CHECK_EQ(0, send_one(producer, "t", 0));
  CHECK_EQ(0, send_one(producer, "t", 1));
  OK(kabi_cluster_broker_errors_left(cluster, KABI_BROKER_ALL, KABI_REQUEST_PRODUCE, &left, ERR));
  CHECK_EQ(0, left);
  OK(kabi_cluster_inject_broker_errors(cluster, 2, KABI_REQUEST_PRODUCE, 87, 0, 2, ERR));
  CHECK_EQ(0, send_one(producer, "t", 0));
  CHECK_EQ(87, send_one(producer, "t", 1));
  OK(kabi_cluster_broker_errors_left(cluster, 2, KABI_REQUEST_PRODUCE, &left, ERR));
  CHECK_EQ(1, left);
  CHECK_EQ(87, send_one(producer, "t", 1));
  CHECK_EQ(0, send_one(producer, "t", 1));
  OK(kabi_cluster_inject_broker_errors(cluster, KABI_BROKER_ALL, KABI_REQUEST_PRODUCE, 87, 0, 3, ERR));
  OK(kabi_cluster_broker_errors_left(cluster, KABI_BROKER_ALL, KABI_REQUEST_PRODUCE, &left, ERR));
  CHECK_EQ(6, left);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(one_answer_that_is_late) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  CHECK_EQ(0, send_one(producer, "t", 0));
  OK(kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_PRODUCE, 0, 400, 1, ERR));
  int64_t begin = now_ms();
  CHECK_EQ(0, send_one(producer, "t", 0));
  CHECK(now_ms() - begin >= 350);
  begin = now_ms();
  for (int i = 0; i < 20; i++) CHECK_EQ(0, send_one(producer, "t", 0));
  CHECK_WITHIN(4000, begin);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(errors_are_taken_back) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "enable.idempotence", "false", "retries", "0", NULL);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 87, 100, ERR));
  CHECK_EQ(87, send_one(producer, "t", 0));
  OK(kabi_cluster_clear_errors(cluster, KABI_REQUEST_PRODUCE, ERR));
  CHECK_EQ(0, send_one(producer, "t", 0));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_topic_with_an_error) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_topic_error(cluster, "t", 29, ERR)); /* TOPIC_AUTHORIZATION_FAILED */
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
  kabi_event_t report;
  int32_t code = kabi_producer_send(producer, &message, 0, NULL); /* told at once, if the topic is known already */
  if (code == 0 && CHECK(drain_reports(producer, &report, 1) == 1)) code = report.code;
  CHECK_EQ(29, code);
  kabi_producer_free(producer);
  GIVES(29, kabi_cluster_records(cluster, "t", 0, 0, NULL, 0, &info, patience(20000), ERR));
  OK(kabi_cluster_topic_error(cluster, "t", 0, ERR));
  fill_topic(cluster, "t", 0, 1);
  kabi_cluster_free(cluster);
}

/* Without InitProducerId there are no idempotent producers, and a plain one works. */
TEST(a_broker_that_is_too_old) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_api_versions(cluster, KABI_REQUEST_INIT_PRODUCER_ID, -1, -1, ERR));
  OK(kabi_cluster_api_versions(cluster, KABI_REQUEST_PRODUCE, 0, 7, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "enable.idempotence", "false", NULL);
  CHECK_EQ(0, send_one(producer, "t", 0));
  close_producer(producer);
  producer = new_producer(bootstrap(cluster), NULL);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  kabi_event_t report;
  uint64_t failed = 0;
  MUST(drain_reports(producer, &report, 1) == 1); /* a fatal error fails it */
  CHECK(report.code != 0 && report.persisted == KABI_PERSISTED_NO);
  OK(kabi_producer_flush(producer, patience(10000), &failed, ERR));
  CHECK_EQ(1, failed);
  OK(kabi_producer_close(producer, patience(10000), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(a_group_waits_for_members) {
  kabi_cluster_t *cluster = new_cluster(1);
  seen_t seen;
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 1);
  OK(kabi_cluster_group_delay(cluster, 1500, ERR));
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "slow", NULL);
  int64_t begin = now_ms();
  subscribe(consumer, "t");
  CHECK_EQ(1, take(consumer, &seen, 1));
  CHECK(now_ms() - begin >= 1400);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

TEST(what_makes_no_sense_is_refused) {
  kabi_cluster_t *cluster = new_cluster(2);
  size_t count;
  new_topic(cluster, "t", 2);
  static const int32_t brokers[] = {0, 3, -3, INT32_MIN, INT32_MAX, KABI_BROKER_ALL};
  for (size_t i = 0; i < sizeof brokers / sizeof brokers[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_leader(cluster, "t", 0, brokers[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_follower(cluster, "t", 0, brokers[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "g", brokers[i], ERR));
    if (brokers[i] == KABI_BROKER_ALL) continue;
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_rack(cluster, brokers[i], "r", ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, brokers[i], KABI_REQUEST_FETCH, 6, 0, 1, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_errors_left(cluster, brokers[i], KABI_REQUEST_FETCH, &count, ERR));
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "g", KABI_BROKER_NONE, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_coordinator(cluster, 2, "g", 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "", 1, ERR));
  static const int32_t partitions[] = {2, -1, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < 4; i++) {
    GIVES(3, kabi_cluster_leader(cluster, "t", partitions[i], 1, ERR));
    GIVES(3, kabi_cluster_follower(cluster, "t", partitions[i], 1, ERR));
    GIVES(3, kabi_cluster_follower_watermarks(cluster, "t", partitions[i], -1, -1, ERR));
  }
  GIVES(3, kabi_cluster_leader(cluster, "unknown", 0, 1, ERR));
  GIVES(3, kabi_cluster_topic_error(cluster, "unknown", 29, ERR));
  OK(kabi_cluster_topic_create(cluster, "unknown", 1, 1, ERR)); /* none of these made it */
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_follower_watermarks(cluster, "t", 0, -2, -1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_follower_watermarks(cluster, "t", 0, 5, 4, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_error(cluster, "t", -185, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_error(cluster, "t", 30000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, 1, 4, 6, 0, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_FETCH, -185, 0, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_FETCH, 6, -1, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_FETCH, 6, 0, SIZE_MAX, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_clear_errors(cluster, 999, ERR));
  static const int32_t versions[][2] = {{-1, 0}, {0, -1}, {3, 2}, {0, 100}, {INT32_MIN, INT32_MAX}, {-2, -2}};
  for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_api_versions(cluster, KABI_REQUEST_FETCH, versions[i][0], versions[i][1], ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_group_delay(cluster, -1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_group_timing(cluster, 0, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_group_timing(cluster, 10, 11, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_track_requests(cluster, 2, ERR));
  kabi_cluster_free(cluster);
}

TEST(target_assignments_are_checked) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 2);
  static const char *const bad[] = {"", "[]", "{\"m\": 1}", "{\"m\": {\"t\": [\"0\"]}}", "{\"m\": {\"t\": [0]}", "{\"m\": {\"t\": [99999999999]}}"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_group_target(cluster, "g", bad[i], ERR));
  GIVES(3, kabi_cluster_group_target(cluster, "g", "{\"m\": {\"t\": [0, 2]}}", ERR));
  CHECK(has(last_error()->message, "/m/t"));
  GIVES(3, kabi_cluster_group_target(cluster, "g", "{\"m\": {\"u\": [0]}}", ERR));
  OK(kabi_cluster_group_target(cluster, "g", "{\"m\": {\"t\": [0, 1]}, \"n\": {}}", ERR));
  OK(kabi_cluster_group_target(cluster, "g", NULL, ERR));
  kabi_cluster_free(cluster);
}
