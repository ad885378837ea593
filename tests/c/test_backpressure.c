/* A program that never drains: memory stays bounded, sends say so, flush and close end, and in the end no report is lost. */
#include "harness.h"

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  MUST(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static kabi_cluster_t *cluster;
static int32_t topic;

/* Sends without draining until the library says that it is full; returns how many it took. */
static size_t send_until_full(kabi_producer_t *producer, size_t first, size_t most) {
  size_t taken = 0;
  while (taken < most) {
    kabi_message_t message = message_of(topic, 0, NULL, "a value of some bytes");
    message.token = first + taken;
    kabi_status_t status = kabi_producer_send(producer, &message, 0, ERR);
    if (status == KABI_STATUS_QUEUE_FULL) {
      CHECK((last_error()->flags & KABI_ERROR_RETRIABLE) != 0);
      break;
    }
    MUST_OK(status);
    taken++;
  }
  return taken;
}

static kabi_producer_t *start(const char *room) {
  cluster = new_cluster(1);
  new_topic(cluster, "full", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "queue.buffering.max.messages", room, "statistics.interval.ms", "10", NULL);
  topic = topic_of(producer, "full");
  return producer;
}

TEST(never_drained) {
  const char *room = run_mode() == MODE_PLAIN ? "20000" : "2000";
  size_t most = 4 * (size_t)atoi(room);
  uint64_t failed = 99, undelivered = 99;
  kabi_producer_t *producer = start(room);
  /* Full while brokers may still take some; when all is acknowledged, full for want of a place for reports. */
  size_t taken = send_until_full(producer, 0, most);
  CHECK(taken > 0 && taken < most);
  int64_t begin = now_ms();
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_WITHIN(15000, begin);
  CHECK_EQ(0, failed);
  taken += send_until_full(producer, taken, most);
  CHECK(taken < most);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(0, send_until_full(producer, taken, 1)); /* delivered, but reports wait: still full */
  note("full after %zu records", taken);

  /* With a time-out it waits, then says the same. */
  kabi_message_t message = message_of(topic, 0, NULL, "late");
  begin = now_ms();
  GIVES(KABI_STATUS_QUEUE_FULL, kabi_producer_send(producer, &message, 300, ERR));
  CHECK(now_ms() - begin >= 290);
  CHECK_WITHIN(5000, begin);

  /* Memory does not grow with more attempts, nor with statistics (fifty documents and more meanwhile). */
  long before = resident_kib();
  int attempts = scaled(500000, 10000);
  for (int i = 0; i < attempts; i++) MUST(send_until_full(producer, taken, 1) == 0);
  unseen(500);
  if (run_mode() == MODE_PLAIN) CHECK(resident_kib() - before < 16 * 1024);

  begin = now_ms();
  OK(kabi_producer_close(producer, patience(20000), &undelivered, ERR));
  CHECK_WITHIN(15000, begin);
  CHECK_EQ(0, undelivered);

  /* Every report is still there, once, and at most one document. */
  kabi_event_t *reports = (kabi_event_t *)calloc(most, sizeof *reports);
  static kabi_event_t events[1000];
  static uint8_t bytes[1 << 18];
  size_t have = 0, statistics = 0, count, used;
  kabi_status_t status;
  while ((status = kabi_producer_drain(producer, 0, events, 1000, &count, bytes, sizeof bytes, &used, NULL)) == 0) {
    MUST(count > 0 && have + count <= most); /* an end comes as CLOSED */
    for (size_t i = 0; i < count; i++) {
      if (events[i].kind == KABI_EVENT_REPORT) reports[have++] = events[i];
      else statistics += events[i].kind == KABI_EVENT_STATISTICS;
    }
  }
  CHECK_EQ(KABI_STATUS_CLOSED, status);
  CHECK_EQ(taken, have);
  CHECK(statistics <= 1);
  check_tokens(reports, have, 0, 0);
  free(reports);
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

/* What is drained makes room for as much. */
TEST(draining_makes_room) {
  kabi_producer_t *producer = start("1000");
  static kabi_event_t reports[4000];
  size_t taken = send_until_full(producer, 0, 4000);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  taken += send_until_full(producer, taken, 4000);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  CHECK_EQ(0, send_until_full(producer, taken, 1));
  size_t have = drain_reports(producer, reports, 100);
  CHECK_EQ(100, have);
  CHECK_EQ(100, send_until_full(producer, taken, 4000));
  have += drain_reports(producer, reports + have, taken); /* all of the rest */
  CHECK_EQ(taken + 100, have);
  check_tokens(reports, have, 0, 0);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

typedef struct sender_t { kabi_producer_t *producer; size_t count; size_t sent; } sender_t;

static void *send_waiting(void *argument) {
  sender_t *sender = (sender_t *)argument;
  for (size_t i = 0; i < sender->count; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "waits");
    message.token = i;
    if (!OK(kabi_producer_send(sender->producer, &message, patience(20000), ERR))) break;
    sender->sent++;
  }
  return NULL;
}

/* A sender that waits for room is let go on by another thread's drain. */
TEST(a_waiting_send_goes_on_when_another_thread_drains) {
  kabi_producer_t *producer = start("1000");
  static kabi_event_t reports[10000];
  sender_t sender = {producer, 5000, 0};
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, send_waiting, &sender) == 0);
  CHECK_EQ(5000, drain_reports(producer, reports, 5000));
  pthread_join(thread, NULL);
  CHECK_EQ(5000, sender.sent);
  check_tokens(reports, 5000, 0, 0);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

static kabi_status_t status_in_handler;
static int64_t waited_in_handler;

static int32_t sends_when_full(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  kabi_producer_t *producer = *(kabi_producer_t **)user;
  (void)events, (void)count, (void)bytes;
  kabi_message_t message = message_of(topic, 0, NULL, "from the handler");
  int64_t begin = now_ms();
  for (int i = 0; i < 100000 && status_in_handler == 0; i++) status_in_handler = kabi_producer_send(producer, &message, patience(20000), NULL);
  waited_in_handler = now_ms() - begin;
  return 0;
}

/* Inside of a callback nobody else may be there to drain: a full queue is told at once. */
TEST(a_send_never_waits_inside_a_callback) {
  static kabi_producer_t *producer;
  cluster = new_cluster(1);
  new_topic(cluster, "full", 1);
  kabi_config_t *config = new_config(bootstrap(cluster), "queue.buffering.max.messages", "1000", NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_REPORT, sends_when_full, &producer, NULL, ERR));
  producer = producer_from(config);
  topic = topic_of(producer, "full");
  size_t taken = send_until_full(producer, 0, 4000);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  taken += send_until_full(producer, taken, 4000);
  MUST_OK(kabi_producer_poll(producer, patience(5000), NULL, ERR));
  CHECK_EQ(KABI_STATUS_QUEUE_FULL, status_in_handler);
  CHECK(waited_in_handler < patience(10000));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

/* Freed with thousands of reports that nobody took: nothing hangs, nothing leaks. */
TEST(free_with_undrained_reports) {
  kabi_producer_t *producer = start("2000");
  send_until_full(producer, 0, 8000);
  int64_t begin = now_ms();
  kabi_producer_free(producer);
  CHECK(now_ms() - begin < patience(1000)); /* it never blocks */
  OK(kabi_shutdown(patience(20000), ERR));
  kabi_cluster_free(cluster);
}

/* With reports off nothing tells of space either, and yet a send that waits finds it. */
TEST(waits_for_space_without_reports) {
  kabi_cluster_t *home = new_cluster(1);
  new_topic(home, "off", 1);
  MUST_OK(kabi_cluster_latency(home, 1, 50, ERR));
  kabi_config_t *config = new_config(bootstrap(home), "queue.buffering.max.messages", "10", "linger.ms", "0", NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_ERROR, ERR));
  kabi_producer_t *producer = producer_from(config);
  int32_t off = topic_of(producer, "off");
  int64_t begin = now_ms();
  for (int i = 0; i < 50; i++) {
    kabi_message_t message = message_of(off, 0, NULL, "a record");
    OK(kabi_producer_send(producer, &message, patience(20000), ERR));
  }
  CHECK_WITHIN(15000, begin);
  uint64_t failed = 99;
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(0, failed);
  close_producer(producer);
  kabi_cluster_free(home);
}

/* ---- waiting costs nothing ---- */

enum { SLOW_MS = 1000 };

static double thread_cpu_ms(void) {
  struct timespec used;
  MUST(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
  return 1e3 * (double)used.tv_sec + 1e-6 * (double)used.tv_nsec;
}

/* Room for some bytes, which slow answers free late: who waits for it sleeps, though there are slots enough for reports. */
static void sleeps_until_there_is_room(int many) {
  static char value[1000];
  cluster = new_cluster(1);
  new_topic(cluster, "full", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "queue.buffering.max.kbytes", "64", "linger.ms", "0", NULL);
  kabi_message_t messages[100];
  kabi_status_t statuses[100];
  kabi_event_t report;
  size_t accepted, sent = 0;
  topic = topic_of(producer, "full");
  for (size_t i = 0; i < 100; i++) {
    messages[i] = message_of(topic, 0, NULL, NULL);
    messages[i].value = value;
    messages[i].value_length = sizeof value;
  }
  MUST_OK(kabi_producer_send(producer, &messages[0], patience(10000), ERR));
  MUST(drain_reports(producer, &report, 1) == 1);
  MUST_OK(kabi_cluster_latency(cluster, 1, SLOW_MS, ERR));
  while (kabi_producer_send(producer, &messages[0], 0, NULL) == 0) sent++;
  MUST(sent > 0);
  double before = thread_cpu_ms();
  if (many) MUST_OK(kabi_producer_send_many(producer, messages, 100, patience(30000), statuses, &accepted, ERR));
  else MUST_OK(kabi_producer_send(producer, &messages[0], patience(30000), ERR));
  double used = thread_cpu_ms() - before;
  if (!CHECK(used < SLOW_MS / 4.0)) note("%.0f ms of processor time", used);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_send_sleeps_until_there_is_room_for_its_bytes) { sleeps_until_there_is_room(0); }
TEST(a_run_sleeps_until_there_is_room_for_its_bytes) { sleeps_until_there_is_room(1); }

/* An idempotent producer that waits for an answer before it may send more looks again when it comes, not all the time. librdkafka's
   statistics count how often a broker's thread wakes up. */
TEST(the_broker_thread_sleeps_until_there_is_an_answer) {
  enum { COUNT = 50, WAKEUPS_MOST = 8000 };
  static uint8_t bytes[1 << 20];
  kabi_event_t events[100];
  size_t count, used, reported = 0;
  long wakeups = 0;
  cluster = new_cluster(1);
  new_topic(cluster, "full", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "linger.ms", "20", "statistics.interval.ms", "100", NULL);
  topic = topic_of(producer, "full");
  kabi_message_t message = message_of(topic, 0, NULL, "v");
  MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  MUST(drain_reports(producer, events, 1) == 1);
  MUST_OK(kabi_cluster_latency(cluster, 1, SLOW_MS, ERR));
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < COUNT; i++) MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
    while (requests_of(cluster, 1, KABI_REQUEST_PRODUCE) == 0) unseen(5);
  }
  while (reported < 2 * COUNT) {
    MUST_OK(kabi_producer_drain(producer, patience(20000), events, 100, &count, bytes, sizeof bytes, &used, ERR));
    MUST(count > 0);
    for (size_t i = 0; i < count; i++) {
      reported += events[i].kind == KABI_EVENT_REPORT;
      if (events[i].kind != KABI_EVENT_STATISTICS) continue;
      const char *at = (const char *)bytes + events[i].text_offset;
      while ((at = strstr(at, "\"wakeups\":")) != NULL) {
        at += strlen("\"wakeups\":");
        long now = strtol(at, NULL, 10);
        if (now > wakeups) wakeups = now;
      }
    }
  }
  CHECK(wakeups > 0);
  if (!CHECK(wakeups < WAKEUPS_MOST)) note("%ld times", wakeups);
  close_producer(producer);
  kabi_cluster_free(cluster);
}
