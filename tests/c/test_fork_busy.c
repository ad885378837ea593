/* Forks while other threads are inside of kafkabi and librdkafka: making and ending clients, sending, connecting with TLS. Whatever
   lock they held at that moment, the child makes clients of its own, uses them, and ends by the ordinary way out. */
#include "harness.h"

static char servers[256];
static int over;

static int going_on(void) { return !__atomic_load_n(&over, __ATOMIC_ACQUIRE); }

static void *make_and_end(void *unused) {
  (void)unused;
  while (going_on()) {
    kabi_producer_t *producer = new_producer(servers, "client.id", "made", NULL);
    topic_of(producer, "t");
    OK(kabi_producer_close(producer, patience(10000), NULL, ERR));
    kabi_producer_free(producer);
  }
  return NULL;
}

static void *make_consumers(void *unused) {
  (void)unused;
  for (int i = 0; going_on(); i++) {
    kabi_consumer_t *consumer = new_consumer(servers, NULL, NULL);
    assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    OK(kabi_consumer_poll(consumer, 10, 20, &batch, &info, ERR));
    if (batch != NULL) kabi_batch_free(batch);
    kabi_consumer_free(consumer);
  }
  return NULL;
}

static void *send_on(void *producer) {
  for (int i = 0; going_on(); i++) fill((kabi_producer_t *)producer, "t", 0, i, 20);
  return NULL;
}

static void *ask_for_properties(void *unused) {
  (void)unused;
  while (going_on()) {
    kabi_config_t *config = new_config(servers, "client.id", "asked", NULL);
    kabi_config_free(config);
  }
  return NULL;
}

/* What a worker of a pre-fork server does. */
static int child(void) {
  kabi_producer_t *producer = new_producer(servers, "client.id", "child", NULL);
  fill(producer, "t", 0, 0, 5);
  OK(kabi_producer_close(producer, patience(20000), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_t *own = new_cluster(1);
  kabi_cluster_free(own);
  return last_error()->code;
}

static void leave(int how, int code) {
  fflush(stdout);
  if (how == 0) exit(code);
  _exit(code);
}

TEST(children_of_a_busy_parent) {
  if (run_mode() != MODE_PLAIN) harness_skip("the checkers' own locks don't survive such forks");
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 5);
  snprintf(servers, sizeof servers, "%s", bootstrap(cluster));
  kabi_producer_t *shared = new_producer(servers, NULL);
  pthread_t threads[5];
  MUST(pthread_create(&threads[0], NULL, make_and_end, NULL) == 0);
  MUST(pthread_create(&threads[1], NULL, make_and_end, NULL) == 0);
  MUST(pthread_create(&threads[2], NULL, make_consumers, NULL) == 0);
  MUST(pthread_create(&threads[3], NULL, send_on, shared) == 0);
  MUST(pthread_create(&threads[4], NULL, ask_for_properties, NULL) == 0);
  for (int i = 0; i < 40; i++) {
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
      int bad = kabi_producer_wake(shared, NULL) != KABI_STATUS_FORKED;
      kabi_producer_free(shared);
      leave(i % 2, bad | (child() != 0));
    }
    if (!CHECK_EQ(0, wait_child(pid, 20000))) break;
  }
  __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
  close_producer(shared);
  kabi_cluster_free(cluster);
}

/* OpenSSL's locks are taken by librdkafka's threads: the handshakes here never end well, and begin again and again. */
TEST(children_while_tls_connects) {
  if (run_mode() != MODE_PLAIN) harness_skip("the checkers' own locks don't survive such forks");
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  snprintf(servers, sizeof servers, "%s", bootstrap(cluster));
  kabi_producer_t *tls[4];
  for (int i = 0; i < 4; i++)
    tls[i] = new_producer(servers, "security.protocol", "ssl", "reconnect.backoff.ms", "1", "reconnect.backoff.max.ms", "1", "kafkabi.log", "off", NULL);
  for (int i = 0; i < 15; i++) {
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
      kabi_producer_t *own = new_producer(servers, "security.protocol", "ssl", "kafkabi.log", "off", NULL);
      kabi_producer_free(own);
      leave(i % 2, child() != 0);
    }
    if (!CHECK_EQ(0, wait_child(pid, 20000))) break;
  }
  for (int i = 0; i < 4; i++) kabi_producer_free(tls[i]);
  kabi_cluster_free(cluster);
}

/* A server that forks its workers first and has a client in each; the parent has one too. */
TEST(a_server_with_workers) {
  needs_forks_beside_threads();
  enum { WORKERS = 4, EACH = 25 };
  kabi_cluster_t *cluster = new_cluster(1);
  seen_t seen[WORKERS * EACH + 1];
  pid_t workers[WORKERS];
  new_topic(cluster, "work", 1);
  snprintf(servers, sizeof servers, "%s", bootstrap(cluster));
  kabi_producer_t *parent = new_producer(servers, NULL);
  fflush(stdout);
  for (int w = 0; w < WORKERS; w++) {
    workers[w] = fork();
    MUST(workers[w] >= 0);
    if (workers[w] == 0) {
      kabi_producer_t *own = new_producer(servers, NULL);
      fill(own, "work", 0, w * EACH, EACH);
      kabi_status_t status = kabi_producer_close(own, patience(20000), NULL, NULL);
      kabi_producer_free(own);
      status |= kabi_shutdown(patience(20000), NULL);
      leave_child(status != 0);
    }
  }
  fill(parent, "work", 0, 1000, 1);
  for (int w = 0; w < WORKERS; w++) CHECK_EQ(0, wait_child(workers[w], 30000));
  kabi_consumer_t *consumer = new_consumer(servers, NULL, NULL);
  assign(consumer, "work", 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(WORKERS * EACH + 1, take(consumer, seen, WORKERS * EACH + 1));
  close_consumer(consumer);
  close_producer(parent);
  kabi_cluster_free(cluster);
}
