/* A program that just ends, whatever is open, neither hangs nor crashes. Each role is a process of its own. */
#include "harness.h"

static void ends(const char *how, const char *servers, int want) {
  char line[256];
  FILE *out;
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* leaving things open is the point */
  int64_t begin = now_ms();
  pid_t child = start_role("ends", &out, how, servers, NULL);
  while (fgets(line, sizeof line, out) != NULL) printf("%s", line);
  fclose(out);
  if (!CHECK_EQ(want, wait_child(child, 20000))) note("how: %s", how);
  CHECK_WITHIN(15000, begin);
}

static kabi_cluster_t *cluster;
static void start(void) {
  cluster = new_cluster(1);
  new_topic(cluster, "left", 1);
  fill_topic(cluster, "left", 0, 10);
}

static int32_t exits(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)events, (void)count, (void)bytes, (void)user;
  exit(3);
}

static void *poll_for_ever(void *producer) {
  kabi_producer_poll((kabi_producer_t *)producer, -1, NULL, NULL);
  return NULL;
}

static void *exit_from_here(void *unused) {
  (void)unused;
  exit(4);
}

static void shutdown_at_exit(void) { kabi_shutdown(5000, NULL); }

ROLE(ends) {
  if (argc != 2) return 2;
  const char *how = argv[0], *servers = argv[1];
  kabi_message_t message;
  pthread_t thread;
  if (strcmp(how, "config") == 0) {
    new_config(servers, "client.id", "left", NULL);
    return 0;
  }
  if (strcmp(how, "cluster") == 0) {
    new_topic(new_cluster(3), "own", 3);
    return 0;
  }
  if (strcmp(how, "consumer") == 0 || strcmp(how, "batch") == 0) {
    kabi_consumer_t *consumer = new_consumer(servers, how, NULL);
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    subscribe(consumer, "left");
    take_batch(consumer, 5, &batch, &info);
    if (strcmp(how, "consumer") == 0) kabi_batch_free(batch);
    return 0;
  }
  if (strcmp(how, "tls") == 0) {
    for (int i = 0; i < 4; i++)
      new_producer(servers, "security.protocol", "ssl", "reconnect.backoff.ms", "1", "reconnect.backoff.max.ms", "1", "kafkabi.log", "off", NULL);
    unseen(20 + rand() % 50); /* handshakes begin and fail all the time */
    return 0;
  }
  kabi_config_t *config = new_config(servers, NULL);
  if (strcmp(how, "callback") == 0) MUST_OK(kabi_config_handler(config, KABI_EVENT_REPORT, exits, NULL, NULL, ERR));
  kabi_producer_t *producer = producer_from(config);
  message = message_of(topic_of(producer, "left"), 0, NULL, "left behind");
  for (int i = 0; i < 100; i++) MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  if (strcmp(how, "callback") == 0) {
    MUST_OK(kabi_producer_flush(producer, 10000, NULL, ERR));
    kabi_producer_poll(producer, 10000, NULL, NULL);
    return 5; /* exits did not */
  }
  if (strcmp(how, "freed") == 0) kabi_producer_free(producer);
  if (strcmp(how, "polling") == 0) MUST(pthread_create(&thread, NULL, poll_for_ever, producer) == 0);
  if (strcmp(how, "thread") == 0) {
    MUST(pthread_create(&thread, NULL, exit_from_here, NULL) == 0);
    kabi_producer_flush(producer, -1, NULL, NULL);
    for (;;) pause();
  }
  if (strcmp(how, "child") == 0) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) return 0; /* what the parent left open is not the child's */
    return wait_child(child, 10000);
  }
  if (strcmp(how, "quick") == 0) quick_exit(6);
  if (strcmp(how, "_exit") == 0) _exit(7);
  if (strcmp(how, "atexit") == 0) atexit(shutdown_at_exit);
  return 0;
}

TEST(with_a_config_open) { ends("config", NOWHERE, 0); }
TEST(with_a_cluster_open) { ends("cluster", NOWHERE, 0); }
TEST(with_records_that_can_not_be_delivered) { ends("producer", NOWHERE, 0); }
TEST(with_a_freed_producer_that_flushes_for_minutes) { ends("freed", NOWHERE, 0); }
TEST(with_another_thread_in_a_poll) { ends("polling", NOWHERE, 0); }
TEST(from_another_thread) { ends("thread", NOWHERE, 4); }

TEST(with_clients_of_a_living_cluster_open) {
  start();
  ends("producer", bootstrap(cluster), 0);
  ends("consumer", bootstrap(cluster), 0);
  ends("batch", bootstrap(cluster), 0);
  ends("atexit", bootstrap(cluster), 0);
  kabi_cluster_free(cluster);
}

TEST(from_a_callback) {
  start();
  ends("callback", bootstrap(cluster), 3);
  kabi_cluster_free(cluster);
}

/* OpenSSL takes itself apart when the program ends, while librdkafka's threads may be inside of it. */
TEST(while_tls_connects) {
  start();
  for (int i = 0; i < scaled(20, 2); i++) ends("tls", bootstrap(cluster), 0);
  kabi_cluster_free(cluster);
}

TEST(from_main_of_a_child) {
  needs_forks_beside_threads();
  start();
  ends("child", bootstrap(cluster), 0);
  kabi_cluster_free(cluster);
}

TEST(past_the_exit_handlers) {
  start();
  ends("quick", bootstrap(cluster), 6);
  ends("_exit", bootstrap(cluster), 7);
  kabi_cluster_free(cluster);
}
