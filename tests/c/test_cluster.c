/* The embedded cluster: addresses, topics, brokers that go and come, latency, injected errors. */
#include "harness.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static kabi_event_t reports[64];

/* "127.0.0.1:9092,127.0.0.1:9093": numeric addresses of this machine, one a broker, each listening. */
static int check_addresses(const char *servers) {
  char copy[1024], *rest = copy, *one;
  int count = 0;
  snprintf(copy, sizeof copy, "%s", servers);
  while ((one = strsep(&rest, ",")) != NULL) {
    char *colon = strrchr(one, ':');
    MUST(colon != NULL);
    *colon = 0;
    CHECK_TEXT("127.0.0.1", one);
    int port = atoi(colon + 1);
    CHECK(port > 0 && port < 65536);
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    close(fd);
    count++;
  }
  return count;
}

TEST(bootstrap_names_every_broker) {
  for (int brokers = 1; brokers <= 5; brokers += 2) {
    kabi_cluster_t *cluster = new_cluster(brokers);
    char buffer[256];
    size_t length = 0, again = 0;
    CHECK_EQ(brokers, check_addresses(bootstrap(cluster)));
    GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_cluster_bootstrap(cluster, NULL, 0, &length, ERR));
    GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_cluster_bootstrap(cluster, buffer, length, &again, ERR));
    CHECK_EQ(length, again);
    OK(kabi_cluster_bootstrap(cluster, buffer, length + 1, &again, ERR));
    kabi_cluster_free(cluster);
  }
}

TEST(new_refuses_odd_numbers_of_brokers) {
  static const int32_t bad[] = {0, -1, INT32_MIN, 1000000, INT32_MAX};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    kabi_cluster_t *cluster = NULL;
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_new(bad[i], &cluster, ERR));
    CHECK(cluster == NULL);
  }
}

TEST(topic_create_refuses_what_makes_no_sense) {
  static char name[1000];
  kabi_cluster_t *cluster = new_cluster(2);
  memset(name, 'n', sizeof name - 1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "", 1, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, name, 1, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "\xff", 1, 1, ERR));
  static const int32_t bad[] = {0, -1, INT32_MIN, INT32_MAX};
  for (size_t i = 0; i < 4; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "t", bad[i], 1, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "t", 1, bad[i], ERR));
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_topic_create(cluster, "t", 1, 3, ERR)); /* more copies than brokers */
  OK(kabi_cluster_topic_create(cluster, "t", 3, 2, ERR));
  GIVES(36, kabi_cluster_topic_create(cluster, "t", 3, 2, ERR)); /* TOPIC_ALREADY_EXISTS */
  kabi_cluster_free(cluster);
}

TEST(a_topic_has_its_partitions) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "three", 3);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "count", NULL);
  kabi_partition_t list[8];
  size_t count = 0;
  int64_t until = now_ms() + patience(20000);
  subscribe(consumer, "three");
  while (count == 0 && now_ms() < until) {
    poll_empty(consumer, 100);
    MUST_OK(kabi_consumer_assignment(consumer, list, 8, &count, ERR));
  }
  CHECK_EQ(3, count);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

TEST(a_broker_goes_down_and_up) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  for (int i = 0; i < 2; i++) {
    fill(producer, "t", 0, i, 1);
    OK(kabi_cluster_broker_down(cluster, 1, ERR));
    OK(kabi_cluster_broker_down(cluster, 1, ERR)); /* is down already */
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
    MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
    GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_flush(producer, 200, NULL, ERR));
    OK(kabi_cluster_broker_up(cluster, 1, ERR));
    OK(kabi_cluster_broker_up(cluster, 1, ERR));
    MUST_OK(kabi_producer_flush(producer, patience(30000), NULL, ERR));
    MUST(drain_reports(producer, reports, 1) == 1);
    CHECK_EQ(0, reports[0].code);
  }
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(unknown_brokers_are_refused) {
  static const int32_t bad[] = {0, 3, -2, INT32_MIN, INT32_MAX};
  kabi_cluster_t *cluster = new_cluster(2);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_down(cluster, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_broker_up(cluster, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_latency(cluster, bad[i], 1, ERR));
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_latency(cluster, 1, -1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_latency(cluster, 1, INT32_MIN, ERR));
  kabi_cluster_free(cluster);
}

TEST(latency_is_felt_and_taken_back) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  fill(producer, "t", 0, 0, 1);
  OK(kabi_cluster_latency(cluster, KABI_BROKER_ALL, 400, ERR));
  int64_t begin = now_ms();
  fill(producer, "t", 0, 1, 1);
  CHECK(now_ms() - begin >= 350);
  OK(kabi_cluster_latency(cluster, 1, 0, ERR));
  begin = now_ms();
  for (int i = 0; i < 20; i++) fill(producer, "t", 0, i, 1);
  CHECK_WITHIN(4000, begin); /* twenty at 400 ms would be eight seconds */
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(errors_come_as_often_as_injected) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "enable.idempotence", "false", "retries", "0", NULL);
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 44, 2, ERR)); /* POLICY_VIOLATION, twice */
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 20, 1, ERR)); /* and then another */
  static const int32_t want[] = {44, 44, 20, 0, 0};
  for (size_t i = 0; i < 5; i++) {
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
    MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
    MUST(drain_reports(producer, reports, 1) == 1);
    CHECK_EQ(want[i], reports[0].code);
  }
  OK(kabi_producer_flush(producer, patience(10000), NULL, ERR)); /* the failures are told here, not by the close */
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Each kind of request on its own: what it does to a client says that it arrived. */
TEST(errors_of_other_requests) {
  kabi_cluster_t *cluster = new_cluster(1);
  seen_t seen[10];
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 10);
  static const int32_t passing[][2] = {{KABI_REQUEST_METADATA, 7}, {KABI_REQUEST_FIND_COORDINATOR, 15}, {KABI_REQUEST_JOIN_GROUP, 16}, {KABI_REQUEST_SYNC_GROUP, 27},
                                       {KABI_REQUEST_OFFSET_FETCH, 14}, {KABI_REQUEST_LIST_OFFSETS, 6}, {KABI_REQUEST_FETCH, 6}, {KABI_REQUEST_HEARTBEAT, 15},
                                       {KABI_REQUEST_LEAVE_GROUP, 15}};
  for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++) OK(kabi_cluster_inject_errors(cluster, passing[i][0], passing[i][1], 1, ERR));
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "passing", "session.timeout.ms", "2000", "heartbeat.interval.ms", "100", NULL);
  subscribe(consumer, "t");
  CHECK_EQ(10, take(consumer, seen, 10)); /* it gets over all of them */
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

TEST(bad_injections_are_refused) {
  kabi_cluster_t *cluster = new_cluster(1);
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_errors(cluster, -1, 29, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_errors(cluster, 9999, 29, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_errors(cluster, INT32_MAX, 29, 1, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 29, SIZE_MAX, ERR)); /* no memory for that */
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, INT32_MAX, 1, ERR)); /* 16 bits on the wire */
  kabi_cluster_free(cluster);
}

TEST(clusters_at_once_are_apart) {
  kabi_cluster_t *clusters[3];
  kabi_producer_t *producers[3];
  seen_t seen[16];
  for (int i = 0; i < 3; i++) {
    clusters[i] = new_cluster(i + 1);
    new_topic(clusters[i], "same", 1);
    producers[i] = new_producer(bootstrap(clusters[i]), NULL);
    fill(producers[i], "same", 0, i * 100, 2 + i);
  }
  OK(kabi_cluster_broker_down(clusters[0], KABI_BROKER_ALL, ERR)); /* is nothing to the others */
  for (int i = 1; i < 3; i++) {
    kabi_consumer_t *consumer = new_consumer(bootstrap(clusters[i]), NULL, NULL);
    assign(consumer, "same", 0, KABI_OFFSET_BEGINNING);
    size_t want = (size_t)(2 + i);
    CHECK_EQ(want, take(consumer, seen, want));
    CHECK_EQ(i * 100, seen[0].number);
    poll_empty(consumer, 100);
    close_consumer(consumer);
  }
  for (int i = 0; i < 3; i++) {
    close_producer(producers[i]);
    kabi_cluster_free(clusters[i]);
  }
}

/* Clients outlive it: they see brokers that are gone, and end in their time. */
TEST(free_before_its_clients) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "after", NULL);
  fill(producer, "t", 0, 0, 1);
  subscribe(consumer, "t");
  seen_t seen;
  MUST(take(consumer, &seen, 1) == 1);
  kabi_cluster_free(cluster);
  GIVES(KABI_STATUS_HANDLE, kabi_cluster_broker_down(cluster, 1, ERR));
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  uint64_t undelivered = 0;
  int64_t begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_close(producer, 300, &undelivered, ERR));
  CHECK_EQ(1, undelivered);
  kabi_consumer_close(consumer, 500, NULL);
  CHECK_WITHIN(8000, begin);
  kabi_producer_free(producer);
  kabi_consumer_free(consumer);
}

/* Calls from several threads at once. */
static void *make_topics(void *argument) {
  static int number;
  char name[32];
  for (int i = 0; i < 20; i++) {
    snprintf(name, sizeof name, "topic-%d", __atomic_add_fetch(&number, 1, __ATOMIC_SEQ_CST));
    OK(kabi_cluster_topic_create((kabi_cluster_t *)argument, name, 1, 1, ERR));
  }
  return NULL;
}

TEST(threads_share_a_cluster) {
  kabi_cluster_t *cluster = new_cluster(1);
  pthread_t threads[4];
  int64_t begin = now_ms();
  for (int i = 0; i < 4; i++) MUST(pthread_create(&threads[i], NULL, make_topics, cluster) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  CHECK_WITHIN(15000, begin); /* a wake-up lost on each would be 80 s */
  kabi_cluster_free(cluster);
}
