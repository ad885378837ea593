/* Threads of the library in a program that is not its own: signals are none of theirs, and after a shutdown nothing of them is left. */
#include "admins.h"

#include <dirent.h>

static int count_in(const char *folder) {
  int count = 0;
  DIR *dir = opendir(folder);
  MUST(dir != NULL);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) count += entry->d_name[0] != '.';
  closedir(dir);
  return count;
}

static int threads_now(void) { return count_in("/proc/self/task"); }
static int fds_now(void) { return count_in("/proc/self/fd"); }

/* The mask of blocked signals of a thread, or 0 if it is gone. */
static unsigned long long blocked_in(const char *thread) {
  char path[300], line[256];
  unsigned long long mask = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) sscanf(line, "SigBlk: %llx", &mask);
  fclose(file);
  return mask;
}

/* Bits of signals that can't be blocked: KILL, STOP, and the two that the C library keeps. */
#define FREE_SIGNALS ((1ull << (SIGKILL - 1)) | (1ull << (SIGSTOP - 1)) | (1ull << 31) | (1ull << 32))

static int check_masks(void) {
  int others = 0;
  char own[32];
  snprintf(own, sizeof own, "%d", (int)getpid());
  DIR *dir = opendir("/proc/self/task");
  MUST(dir != NULL);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, own) == 0) continue;
    unsigned long long mask = blocked_in(entry->d_name);
    if (mask == 0 && access("/proc/self/task", F_OK) == 0 && blocked_in(entry->d_name) == 0) {
      char path[300];
      snprintf(path, sizeof path, "/proc/self/task/%s", entry->d_name);
      if (access(path, F_OK) != 0) continue; /* it ended meanwhile */
    }
    if (!CHECK((mask | FREE_SIGNALS) == ~0ull)) note("thread %s blocks %llx", entry->d_name, mask);
    others++;
  }
  closedir(dir);
  return others;
}

TEST(every_thread_blocks_every_signal) {
  if (run_mode() == MODE_VALGRIND) harness_skip("valgrind has masks of its own");
  kabi_cluster_t *cluster = new_cluster(2);
  seen_t seen;
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "g", NULL);
  fill(producer, "t", 0, 0, 1);
  subscribe(consumer, "t");
  MUST(take(consumer, &seen, 1) == 1);
  CHECK(check_masks() >= 8); /* two services, two main threads, brokers, the cluster's */
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, NULL, &mask);
  for (int i = 1; i < 32; i++) CHECK(sigismember(&mask, i) == 0); /* ours is as it was */
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

static volatile sig_atomic_t wrong_thread, right_thread;
static pthread_t main_thread;
static void on_signal(int number) {
  (void)number;
  if (pthread_equal(pthread_self(), main_thread)) right_thread++;
  else wrong_thread++;
}

TEST(signals_reach_the_programs_thread) {
  kabi_cluster_t *cluster = new_cluster(1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  main_thread = pthread_self();
  sigaction(SIGUSR1, &action, NULL);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  for (int i = 0; i < 200; i++) kill(getpid(), SIGUSR1); /* to the process: any thread that lets it in */
  CHECK_EQ(0, wrong_thread);
  CHECK(right_thread > 0);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Writes to connections that are closed are answered by SIGPIPE, whose default would end the program. */
TEST(sigpipe_never_ends_the_program) {
  signal(SIGPIPE, SIG_DFL);
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "reconnect.backoff.ms", "1", "reconnect.backoff.max.ms", "5", "kafkabi.log", "off", NULL);
  for (int i = 0; i < scaled(30, 3); i++) {
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "x");
    for (int n = 0; n < 50; n++) MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
    OK(kabi_cluster_broker_down(cluster, KABI_BROKER_ALL, ERR));
    OK(kabi_cluster_broker_up(cluster, KABI_BROKER_ALL, ERR));
  }
  OK(kabi_producer_flush(producer, patience(30000), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

static void one_of_each(kabi_cluster_t *cluster, int used) {
  kabi_event_t events[4];
  size_t count;
  int32_t fd;
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), used ? "leak" : NULL, NULL);
  if (used) {
    OK(kabi_producer_event_fd(producer, &fd, ERR));
    OK(kabi_consumer_event_fd(consumer, &fd, ERR));
    fill(producer, "t", 0, 0, 3);
    OK(kabi_producer_drain(producer, 0, events, 4, &count, NULL, 0, NULL, ERR));
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
    take_batch(consumer, 1, &batch, &info);
    kabi_batch_free(batch);
  }
  OK(kabi_producer_close(producer, patience(10000), NULL, ERR));
  if (used) OK(kabi_consumer_close(consumer, patience(10000), ERR));
  kabi_producer_free(producer);
  kabi_consumer_free(consumer);
}

/* A thread that is done takes the system a moment to put away, which nothing tells of. */
static int threads_in_the_end(int want) {
  int64_t until = now_ms() + patience(5000);
  while (threads_now() != want && now_ms() < until) sched_yield();
  return threads_now();
}

TEST(nothing_is_left_after_200_clients) {
  kabi_config_t *first = new_config(NULL, NULL); /* what is made once for the process */
  kabi_config_free(first);
  int threads = threads_now(), fds = fds_now();
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  int64_t begin = now_ms();
  int rounds = scaled(100, 4);
  for (int i = 0; i < rounds; i++) one_of_each(cluster, i % 10 == 0);
  note("%d clients in %lld ms", 2 * rounds, (long long)(now_ms() - begin));
  kabi_cluster_free(cluster);
  MUST_OK(kabi_shutdown(patience(30000), ERR));
  CHECK_EQ(threads, threads_in_the_end(threads));
  CHECK_EQ(fds, fds_now());
  /* And again after the shutdown. */
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  one_of_each(cluster, 1);
  OK(kabi_shutdown(patience(30000), ERR)); /* takes the cluster too */
  GIVES(KABI_STATUS_HANDLE, kabi_cluster_broker_up(cluster, 1, ERR));
  CHECK_EQ(threads, threads_in_the_end(threads));
  CHECK_EQ(fds, fds_now());
}

/* ---- a free beside a call of another thread that waits for ever ---- */

typedef struct waiter_t { int kind; void *handle; } waiter_t;

static void *wait_for_events(void *argument) {
  static uint8_t bytes[3][1 << 16];
  waiter_t *waiter = (waiter_t *)argument;
  kabi_event_t event;
  kabi_status_t status;
  do {
    size_t count = 0, used = 0;
    uint8_t *own = bytes[waiter->kind % 3];
    switch (waiter->kind) {
      case 0: status = kabi_producer_drain((kabi_producer_t *)waiter->handle, -1, &event, 1, &count, own, sizeof bytes[0], &used, NULL); break;
      case 1: status = kabi_consumer_drain((kabi_consumer_t *)waiter->handle, -1, &event, 1, &count, own, sizeof bytes[0], &used, NULL); break;
      case 2: status = kabi_admin_drain((kabi_admin_t *)waiter->handle, -1, &event, 1, &count, own, sizeof bytes[0], &used, NULL); break;
      case 3: status = kabi_producer_poll((kabi_producer_t *)waiter->handle, -1, &count, NULL); break;
      case 4: status = kabi_consumer_serve((kabi_consumer_t *)waiter->handle, -1, &count, NULL); break;
      default: status = kabi_admin_poll((kabi_admin_t *)waiter->handle, -1, &count, NULL); break;
    }
  } while (status == KABI_STATUS_OK);
  /* Out of the wait, or never in. */
  return status == KABI_STATUS_CLOSED || status == KABI_STATUS_HANDLE ? NULL : argument;
}

/* The client could not end as long as the thread is inside. */
TEST(a_free_ends_the_wait_for_events_of_another_thread) {
  kabi_cluster_t *cluster = new_cluster(1);
  for (int kind = 0; kind < 6; kind++) {
    pthread_t thread;
    waiter_t waiter = {kind, NULL};
    void *bad = NULL;
    if (kind % 3 == 0) waiter.handle = new_producer(bootstrap(cluster), NULL);
    else if (kind % 3 == 1) waiter.handle = new_consumer(bootstrap(cluster), NULL, NULL);
    else waiter.handle = new_admin(bootstrap(cluster));
    MUST(pthread_create(&thread, NULL, wait_for_events, &waiter) == 0);
    unseen(50); /* it is in */
    if (kind % 3 == 0) kabi_producer_free((kabi_producer_t *)waiter.handle);
    else if (kind % 3 == 1) kabi_consumer_free((kabi_consumer_t *)waiter.handle);
    else kabi_admin_free((kabi_admin_t *)waiter.handle);
    pthread_join(thread, &bad); /* a test that hangs fails */
    CHECK(bad == NULL);
  }
  kabi_cluster_free(cluster);
}
