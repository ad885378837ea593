/* Brokers of the embedded cluster that come and go, say that they are elsewhere or that another one leads, and ask clients for
   metrics; and which broker a record came from. */
#include "harness.h"

#include <netinet/in.h>
#include <sys/socket.h>

static kabi_cluster_t *cluster;
static seen_t seen[100];

static int32_t send_one(kabi_producer_t *producer, int32_t partition) {
  kabi_event_t report;
  kabi_message_t message = message_of(topic_of(producer, "t"), partition, NULL, "0");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  MUST(drain_reports(producer, &report, 1) == 1);
  return report.code;
}

static void await_requests(int32_t broker, int32_t request, size_t count) {
  for (int64_t until = now_ms() + patience(30000); requests_of(cluster, broker, request) < count;) {
    MUST(now_ms() < until);
    unseen(10);
  }
}

/* ---- brokers come and go ---- */

TEST(a_broker_comes) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 10);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_leader(cluster, "t", 0, 7, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "twice", 1, 2, ERR));
  OK(kabi_cluster_broker_add(cluster, 7, ERR));
  static const int32_t bad[] = {7, 1, 0, KABI_BROKER_ALL, KABI_BROKER_NONE, 10001, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_add(cluster, bad[i], ERR));
  OK(kabi_cluster_topic_create(cluster, "twice", 1, 2, ERR));
  OK(kabi_cluster_leader(cluster, "t", 0, 7, ERR));
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  CHECK_EQ(0, send_one(producer, 0));
  CHECK(requests_of(cluster, 7, KABI_REQUEST_PRODUCE) > 0);
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(11, take(consumer, seen, 11)); /* what was there is there */
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* A group and its records go on at the brokers that are left. */
TEST(a_broker_goes_and_others_take_over) {
  cluster = new_cluster(3);
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, 3, ERR));
  OK(kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "g", 3, ERR));
  fill_topic(cluster, "t", 0, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", "session.timeout.ms", "6000", NULL);
  subscribe(consumer, "t");
  MUST(take(consumer, seen, 10) == 10);
  OK(kabi_cluster_broker_remove(cluster, 3, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_remove(cluster, 3, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_remove(cluster, KABI_BROKER_ALL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_coordinator(cluster, KABI_COORDINATOR_GROUP, "g", 3, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_broker_errors(cluster, 3, KABI_REQUEST_FETCH, 6, 0, 1, ERR));
  OK(kabi_cluster_inject_broker_errors(cluster, KABI_BROKER_ALL, KABI_REQUEST_LEAVE_GROUP, 0, 0, 1, ERR)); /* of those that are left */
  fill_topic(cluster, "t", 0, 10);
  MUST(take(consumer, seen, 10) == 10);
  for (int i = 0; i < 10; i++) CHECK_EQ(10 + i, seen[i].offset);
  poll_empty(consumer, 0); /* handled; the embedded cluster refuses commits of what an earlier leader gave */
  close_consumer(consumer);
  OK(kabi_cluster_broker_remove(cluster, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_remove(cluster, 2, ERR));
  CHECK(has(last_error()->message, "kabi_cluster_bootstrap"));
  OK(kabi_cluster_broker_add(cluster, 1, ERR)); /* at another port, so that it is no way in */
  GIVES(0, kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  CHECK_EQ(20, group_offset(cluster, "g", "t", 0));
  kabi_cluster_free(cluster);
}

/* ---- another address ---- */

static int listening(int *port) {
  struct sockaddr_in place;
  socklen_t size = sizeof place;
  memset(&place, 0, sizeof place);
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  MUST(listener >= 0 && bind(listener, (struct sockaddr *)&place, sizeof place) == 0 && listen(listener, 16) == 0);
  MUST(getsockname(listener, (struct sockaddr *)&place, &size) == 0);
  *port = ntohs(place.sin_port);
  return listener;
}

TEST(clients_go_where_a_broker_says_it_is) {
  int port = 0, listener = listening(&port);
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  int home = atoi(strrchr(bootstrap(cluster), ':') + 1);
  OK(kabi_cluster_broker_address(cluster, 1, "127.0.0.1", port, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "topic.metadata.refresh.interval.ms", "200", NULL);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  MUST(readable(listener, patience(20000))); /* it comes to us */
  OK(kabi_cluster_broker_address(cluster, 1, "localhost", home, ERR));
  close(listener);
  MUST_OK(kabi_producer_flush(producer, patience(30000), NULL, ERR)); /* and goes back */
  kabi_event_t report;
  MUST(drain_reports(producer, &report, 1) == 1);
  CHECK_EQ(0, report.code);
  close_producer(producer);
  static char long_name[200];
  memset(long_name, 'a', 128);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, 1, "", 9092, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, 1, long_name, 9092, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, 1, "localhost", 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, 1, "localhost", 65536, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, 2, "localhost", 9092, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_address(cluster, KABI_BROKER_ALL, "localhost", 9092, ERR));
  kabi_cluster_free(cluster);
}

/* ---- another leader, in words only ---- */

TEST(a_stale_answer_is_got_over) {
  cluster = new_cluster(2);
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_leader(cluster, "t", 0, 1, ERR));
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  for (int i = 0; i < 4; i++) OK(kabi_cluster_leader_answer(cluster, "t", 0, 2, 0, ERR)); /* a client may ask more than once first */
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  CHECK_EQ(0, send_one(producer, 0));
  CHECK(requests_of(cluster, 2, KABI_REQUEST_PRODUCE) > 0); /* as it was told */
  CHECK(requests_of(cluster, 1, KABI_REQUEST_PRODUCE) > 0); /* as it is */
  close_producer(producer);
  OK(kabi_cluster_leader_answer(cluster, "t", 0, KABI_BROKER_NONE, -1, ERR));
  fill_topic(cluster, "t", 0, 1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_leader_answer(cluster, "t", 0, 3, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_leader_answer(cluster, "t", 0, KABI_BROKER_ALL, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_leader_answer(cluster, "t", 0, 1, -2, ERR));
  GIVES(3, kabi_cluster_leader_answer(cluster, "t", 1, 1, 0, ERR));
  GIVES(3, kabi_cluster_leader_answer(cluster, "unknown", 0, 1, 0, ERR));
  kabi_cluster_free(cluster);
}

/* ---- metrics that brokers ask for ---- */

TEST(clients_send_the_metrics_that_are_asked_for) {
  static const char *const all[] = {""}, *const some[] = {"org.apache.kafka.producer.connection.", "org.apache.kafka.consumer."};
  cluster = new_cluster(1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_telemetry(cluster, some, 0, 100, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_telemetry(cluster, some, 2, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_telemetry(cluster, some, 2, 600001, ERR));
  OK(kabi_cluster_telemetry(cluster, some, 2, 100, ERR));
  GIVES(KABI_STATUS_STATE, kabi_cluster_telemetry(cluster, all, 1, 100, ERR));
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  await_requests(1, KABI_REQUEST_PUSH_TELEMETRY, 3);
  close_producer(producer);
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  producer = new_producer(bootstrap(cluster), "enable.metrics.push", "false", NULL);
  new_topic(cluster, "t", 1);
  CHECK_EQ(0, send_one(producer, 0));
  unseen(300); /* it sends none */
  CHECK_EQ(0, requests_of(cluster, 1, KABI_REQUEST_PUSH_TELEMETRY));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* ---- where a record came from ---- */

TEST(records_tell_the_broker_that_they_came_from) {
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  int32_t broker = -99;
  cluster = new_cluster(2);
  new_topic(cluster, "t", 2);
  for (int32_t i = 0; i < 2; i++) OK(kabi_cluster_leader(cluster, "t", i, i + 1, ERR));
  OK(kabi_cluster_follower(cluster, "t", 1, 1, ERR)); /* both are read at the first */
  for (int follower = 0; follower < 2; follower++) {
    if (!follower) OK(kabi_cluster_follower(cluster, "t", 1, KABI_BROKER_NONE, ERR));
    else OK(kabi_cluster_follower(cluster, "t", 1, 1, ERR));
    for (int32_t i = 0; i < 2; i++) fill_topic(cluster, "t", i, 3);
    kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
    int32_t topic = consumer_topic_of(consumer, "t");
    kabi_partition_t both[2] = {partition_of(topic, 0, KABI_OFFSET_BEGINNING), partition_of(topic, 1, KABI_OFFSET_BEGINNING)};
    MUST_OK(kabi_consumer_assign(consumer, both, 2, ERR));
    for (size_t records = 0; records < 6;) {
      take_batch(consumer, 10, &batch, &info);
      for (size_t i = 0; i < info.count; i++) {
        OK(kabi_batch_broker(batch, i, &broker, ERR));
        CHECK_EQ(info.records[i].partition == 0 || follower ? 1 : 2, broker);
      }
      GIVES(KABI_STATUS_ARGUMENT, kabi_batch_broker(batch, info.count, &broker, ERR));
      GIVES(KABI_STATUS_ARGUMENT, kabi_batch_broker(batch, SIZE_MAX, &broker, ERR));
      records += info.count;
      kabi_batch_free(batch);
    }
    close_consumer(consumer);
  }
  GIVES(KABI_STATUS_HANDLE, kabi_batch_broker(batch, 0, &broker, ERR));
  kabi_cluster_free(cluster);
}
