/* Events: to handlers and into records, masks, descriptors, wakes, handlers that fail or call back, what merges and what is replaced. */
#include "harness.h"

#include <fcntl.h>

#define REPORTS 100

static kabi_cluster_t *cluster;

static void start(void) {
  cluster = new_cluster(1);
  new_topic(cluster, "events", 1);
}

static void send_tokens(kabi_producer_t *producer, int first, int count) {
  int32_t topic = topic_of(producer, "events");
  for (int i = first; i < first + count; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "value");
    message.token = (uint64_t)i;
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
}

/* ---- handlers ---- */

typedef struct log_t {
  kabi_producer_t *producer;
  kabi_event_t events[4 * REPORTS];
  size_t count, calls;
  size_t fail_at; /* the call that returns 5 */
  size_t budget;  /* of calls that a handler makes itself */
  pthread_t thread;
} log_t;

static int32_t on_events(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  log_t *log = (log_t *)user;
  (void)bytes;
  log->thread = pthread_self();
  CHECK(count > 0 && count <= sizeof log->events / sizeof log->events[0] - log->count);
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(events[0].kind, events[i].kind);
    log->events[log->count++] = events[i];
  }
  return ++log->calls == log->fail_at ? 5 : 0;
}

static kabi_producer_t *producer_with(uint32_t kinds, kabi_event_handler_t handler, void *user, const char *name, const char *value) {
  kabi_config_t *config = new_config(bootstrap(cluster), name, value, NULL);
  MUST_OK(kabi_config_handler(config, kinds, handler, user, NULL, ERR));
  return producer_from(config);
}

/* Polls until the log holds `want` events. */
static void poll_until(log_t *log, size_t want) {
  int64_t end = now_ms() + patience(20000);
  while (log->count < want && now_ms() < end) {
    size_t before = log->count, count = 0;
    MUST_OK(kabi_producer_poll(log->producer, patience(1000), &count, ERR));
    CHECK_EQ(log->count - before, count);
  }
  CHECK_EQ(want, log->count);
}

TEST(reports_reach_a_handler) {
  static log_t log;
  start();
  log.producer = producer_with(KABI_EVENT_REPORT, on_events, &log, NULL, NULL);
  send_tokens(log.producer, 0, REPORTS);
  CHECK_EQ(0, log.calls); /* not before the poll */
  poll_until(&log, REPORTS);
  CHECK(pthread_equal(log.thread, pthread_self()));
  check_tokens(log.events, log.count, 0, 0);
  for (size_t i = 0; i < log.count; i++) {
    const kabi_event_t *event = &log.events[i];
    CHECK_EQ(KABI_EVENT_REPORT, event->kind);
    CHECK_EQ(i, event->offset); /* one partition: in order */
    CHECK_EQ(i, event->token);
    CHECK_EQ(topic_of(log.producer, "events"), event->topic);
    CHECK_EQ(0, event->partition);
    CHECK_EQ(KABI_PERSISTED_YES, event->persisted);
    CHECK_EQ(0, event->flags);
    CHECK_EQ(-1, event->latency_us);
    CHECK(event->timestamp > 0);
    CHECK(event->data_offset == 0 && event->data_count == 0);
  }
  size_t count = 99;
  OK(kabi_producer_poll(log.producer, 0, &count, ERR)); /* empty: success */
  CHECK_EQ(0, count);
  OK(kabi_producer_poll(log.producer, 0, NULL, NULL));
  close_producer(log.producer);
  kabi_cluster_free(cluster);
}

TEST(reports_are_drained_into_records) {
  static kabi_event_t events[REPORTS];
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "kafkabi.report.latency", "true", NULL);
  send_tokens(producer, 0, REPORTS);
  CHECK_EQ(REPORTS, drain_reports(producer, events, REPORTS));
  check_tokens(events, REPORTS, 0, 0);
  for (size_t i = 0; i < REPORTS; i++) CHECK(events[i].latency_us > 0 && events[i].latency_us < 60000000);
  size_t count = 99, used = 99;
  OK(kabi_producer_drain(producer, 0, events, REPORTS, &count, NULL, 0, &used, ERR));
  CHECK(count == 0 && used == 0);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Reports need no bytes, and capacity bounds a drain. */
TEST(a_drain_takes_no_more_than_its_capacity) {
  static kabi_event_t events[REPORTS + 8];
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  send_tokens(producer, 0, REPORTS);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  size_t have = 0;
  for (size_t capacity = 1; have < REPORTS; capacity++) {
    size_t count = 0;
    memset(&events[have], 0x5a, sizeof events - have * sizeof events[0]);
    size_t room = capacity < REPORTS - have ? capacity : REPORTS - have;
    MUST_OK(kabi_producer_drain(producer, patience(1000), events + have, room, &count, NULL, 0, NULL, ERR));
    MUST(count > 0 && count <= room);
    CHECK_EQ(0x5a5a5a5a, events[have + count].kind); /* untouched */
    have += count;
  }
  check_tokens(events, REPORTS, 0, 0);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(events_outside_of_the_mask_are_not_queued) {
  kabi_event_t event;
  size_t count = 99;
  uint64_t failed = 99;
  start();
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  MUST_OK(kabi_config_events(config, 0, ERR));
  kabi_producer_t *producer = producer_from(config);
  send_tokens(producer, 0, REPORTS);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(0, failed);
  OK(kabi_producer_drain(producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
  CHECK_EQ(0, count);
  /* Failures are counted for the next flush, and counted once. */
  OK(kabi_cluster_inject_errors(cluster, KABI_REQUEST_PRODUCE, 29, 1, ERR)); /* TOPIC_AUTHORIZATION_FAILED: for good */
  send_tokens(producer, 0, 1);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(1, failed);
  OK(kabi_producer_flush(producer, patience(20000), &failed, ERR));
  CHECK_EQ(0, failed);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_handler_that_fails_ends_the_poll_and_loses_nothing) {
  static log_t log;
  start();
  log.producer = producer_with(KABI_EVENT_REPORT, on_events, &log, NULL, NULL);
  send_tokens(log.producer, 0, REPORTS);
  MUST_OK(kabi_producer_flush(log.producer, patience(20000), NULL, ERR));
  log.fail_at = 1;
  GIVES(KABI_STATUS_CALLBACK_FAILED, kabi_producer_poll(log.producer, patience(5000), NULL, ERR));
  send_tokens(log.producer, REPORTS, REPORTS);
  poll_until(&log, 2 * REPORTS);
  check_tokens(log.events, log.count, 0, 0);
  for (size_t i = 0; i < log.count; i++) CHECK_EQ(i, log.events[i].token); /* in order still */
  close_producer(log.producer);
  kabi_cluster_free(cluster);
}

/* ---- what a handler may call ---- */

static int32_t calls_everything(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  log_t *log = (log_t *)user;
  kabi_event_t event;
  size_t n = 0;
  if (log->budget-- == 5) {
    GIVES(KABI_STATUS_REENTERED, kabi_producer_poll(log->producer, 0, &n, ERR));
    GIVES(KABI_STATUS_REENTERED, kabi_producer_drain(log->producer, 0, &event, 1, &n, NULL, 0, NULL, ERR));
    OK(kabi_producer_flush(log->producer, patience(10000), NULL, ERR)); /* needs nobody to drain */
    OK(kabi_producer_wake(log->producer, ERR));
    topic_of(log->producer, "another");
  }
  if (log->budget > 0 && log->budget < 5) send_tokens(log->producer, 1000 + (int)log->budget, 1);
  return on_events(events, count, bytes, user);
}

TEST(a_handler_may_send_but_not_poll) {
  static log_t log;
  int64_t end = now_ms() + patience(20000);
  start();
  log.budget = 5;
  log.producer = producer_with(KABI_EVENT_REPORT, calls_everything, &log, NULL, NULL);
  send_tokens(log.producer, 1005, 1);
  while (log.count < 5 && now_ms() < end) {
    kabi_status_t status = kabi_producer_poll(log.producer, patience(1000), NULL, NULL);
    CHECK(status == 0 || status == KABI_STATUS_INTERRUPTED); /* by its own wake, once */
  }
  CHECK_EQ(5, log.count); /* 1005 from here, 1004 to 1001 from the handler */
  check_tokens(log.events, log.count, 1001, 0);
  close_producer(log.producer);
  kabi_cluster_free(cluster);
}

/* A close needs no other call of the producer to end, so a handler may make it; later events of the same poll still come. */
static int32_t closes_its_producer(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  log_t *log = (log_t *)user;
  uint64_t undelivered = 99;
  if (log->calls == 0) {
    OK(kabi_producer_close(log->producer, patience(10000), &undelivered, ERR));
    CHECK_EQ(0, undelivered);
    kabi_message_t message = message_of(0, 0, NULL, "late");
    GIVES(KABI_STATUS_CLOSED, kabi_producer_send(log->producer, &message, 0, ERR));
  }
  return on_events(events, count, bytes, user);
}

TEST(a_handler_may_close_its_producer) {
  static log_t log;
  kabi_status_t status = 0;
  start();
  log.producer = producer_with(KABI_EVENT_REPORT, closes_its_producer, &log, NULL, NULL);
  send_tokens(log.producer, 0, REPORTS);
  while (status == 0) status = kabi_producer_poll(log.producer, patience(10000), NULL, NULL);
  CHECK_EQ(KABI_STATUS_CLOSED, status);
  CHECK_EQ(REPORTS, log.count);
  check_tokens(log.events, log.count, 0, 0);
  kabi_producer_free(log.producer);
  kabi_cluster_free(cluster);
}

static int finalized;
static void finalize(void *user) {
  (void)user;
  finalized++;
}

static int32_t frees_its_producer(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  log_t *log = (log_t *)user;
  kabi_producer_free(log->producer);
  kabi_producer_free(log->producer);
  CHECK_EQ(0, finalized); /* put off: this handler still runs */
  return on_events(events, count, bytes, user);
}

TEST(a_handler_may_free_its_producer) {
  static log_t log;
  size_t count = 0;
  start();
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_REPORT, frees_its_producer, &log, finalize, ERR));
  log.producer = producer_from(config);
  send_tokens(log.producer, 0, 1);
  MUST_OK(kabi_producer_flush(log.producer, patience(20000), NULL, ERR));
  OK(kabi_producer_poll(log.producer, patience(10000), &count, ERR));
  CHECK(log.count == 1 && count == 1);
  CHECK_EQ(1, finalized); /* at the end of that poll */
  GIVES(KABI_STATUS_HANDLE, kabi_producer_poll(log.producer, 0, &count, ERR));
  OK(kabi_shutdown(patience(20000), ERR));
  CHECK_EQ(1, finalized);
  kabi_cluster_free(cluster);
}

/* ---- descriptor and wakes ---- */

TEST(the_descriptor_is_readable_until_drained) {
  kabi_event_t event;
  size_t count;
  int32_t fd = -1, again = -1;
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  MUST_OK(kabi_producer_event_fd(producer, &fd, ERR));
  OK(kabi_producer_event_fd(producer, &again, ERR));
  CHECK(fd >= 0 && fd == again);
  CHECK((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0); /* no other program inherits it */
  CHECK(!readable(fd, 0));
  send_tokens(producer, 0, 10);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  for (int i = 0; i < 10; i++) {
    CHECK(readable(fd, patience(10000)));
    MUST_OK(kabi_producer_drain(producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
    CHECK_EQ(1, count);
  }
  MUST_OK(kabi_producer_drain(producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
  CHECK_EQ(0, count);
  CHECK(!readable(fd, 0));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Not one of many wake-ups may be missed, whether the descriptor was made before or after the event. */
TEST(no_wake_up_is_missed) {
  kabi_event_t event[4];
  size_t count;
  int32_t fd = -1;
  int rounds = scaled(2000, 100);
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "linger.ms", "0", NULL);
  send_tokens(producer, 0, 1);
  MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  MUST_OK(kabi_producer_event_fd(producer, &fd, ERR)); /* the report is there already */
  for (int i = 1; i <= rounds; i++) {
    MUST(readable(fd, patience(10000)));
    int got = 0;
    do {
      MUST_OK(kabi_producer_drain(producer, 0, event, 4, &count, NULL, 0, NULL, ERR));
      got += (int)count;
    } while (count > 0);
    if (got == 0) { i--; continue; } /* readable for nothing is allowed, staying silent is not */
    MUST(got == 1 && event[0].token == (uint64_t)(i - 1));
    send_tokens(producer, i, 1);
  }
  MUST(readable(fd, patience(10000)));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

typedef struct poller_t { kabi_producer_t *producer; int32_t timeout; kabi_status_t status; int started; } poller_t;

static void *poll_once(void *argument) {
  poller_t *poller = (poller_t *)argument;
  __atomic_store_n(&poller->started, 1, __ATOMIC_SEQ_CST);
  do {
    poller->status = kabi_producer_poll(poller->producer, poller->timeout, NULL, NULL);
  } while (poller->status == KABI_STATUS_BUSY); /* the other was first */
  return NULL;
}

TEST(a_wake_ends_a_poll_in_progress_or_the_next) {
  start();
  poller_t poller = {new_producer(bootstrap(cluster), NULL), -1, 99, 0};
  pthread_t thread;
  size_t count;
  for (int i = 0; i < 20; i++) { /* sometimes before, sometimes after the poll began */
    MUST(pthread_create(&thread, NULL, poll_once, &poller) == 0);
    if (i % 2 != 0) while (!__atomic_load_n(&poller.started, __ATOMIC_SEQ_CST)) sched_yield();
    OK(kabi_producer_wake(poller.producer, ERR));
    pthread_join(thread, NULL);
    CHECK_EQ(KABI_STATUS_INTERRUPTED, poller.status);
    poller.started = 0;
  }
  OK(kabi_producer_poll(poller.producer, 0, &count, ERR)); /* none is left over */
  OK(kabi_producer_wake(poller.producer, ERR));
  OK(kabi_producer_wake(poller.producer, ERR)); /* several merge */
  kabi_event_t event;
  GIVES(KABI_STATUS_INTERRUPTED, kabi_producer_drain(poller.producer, -1, &event, 1, &count, NULL, 0, NULL, ERR));
  OK(kabi_producer_drain(poller.producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
  close_producer(poller.producer);
  kabi_cluster_free(cluster);
}

TEST(a_wake_makes_the_descriptor_readable) {
  int32_t fd = -1;
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  MUST_OK(kabi_producer_event_fd(producer, &fd, ERR));
  OK(kabi_producer_wake(producer, ERR));
  CHECK(readable(fd, patience(5000)));
  GIVES(KABI_STATUS_INTERRUPTED, kabi_producer_poll(producer, 0, NULL, ERR));
  CHECK(!readable(fd, 0));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_second_poll_at_once_is_busy) {
  start();
  poller_t poller = {new_producer(bootstrap(cluster), NULL), -1, 99, 0};
  pthread_t thread;
  kabi_status_t status = 0;
  kabi_event_t event;
  size_t count;
  int64_t end = now_ms() + patience(10000);
  MUST(pthread_create(&thread, NULL, poll_once, &poller) == 0);
  while (status == 0 && now_ms() < end) status = kabi_producer_poll(poller.producer, 0, NULL, NULL);
  CHECK_EQ(KABI_STATUS_BUSY, status);
  GIVES(KABI_STATUS_BUSY, kabi_producer_poll(poller.producer, -1, NULL, ERR)); /* at once, not after a wait */
  GIVES(KABI_STATUS_BUSY, kabi_producer_drain(poller.producer, 0, &event, 1, &count, NULL, 0, NULL, ERR));
  send_tokens(poller.producer, 0, 1); /* its report ends the other's poll */
  pthread_join(thread, NULL);
  CHECK_EQ(0, poller.status);
  close_producer(poller.producer);
  kabi_cluster_free(cluster);
}

TEST(a_poll_waits_its_time_and_no_longer) {
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  size_t count = 99;
  int64_t begin = now_ms();
  OK(kabi_producer_poll(producer, 200, &count, ERR));
  CHECK_EQ(0, count);
  CHECK(now_ms() - begin >= 190);
  CHECK_WITHIN(5000, begin);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_poll(producer, -2, &count, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_poll(producer, INT32_MIN, &count, ERR));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* ---- texts: errors, logs, statistics ---- */

static kabi_event_t texts[512];
static uint8_t bytes[1 << 20];

/* Drains what is there; checks that each text is whole. Returns how many events. */
static size_t drain_texts(kabi_producer_t *producer, int32_t timeout) {
  size_t count = 0, used = 0;
  MUST_OK(kabi_producer_drain(producer, timeout, texts, 512, &count, bytes, sizeof bytes, &used, ERR));
  for (size_t i = 0; i < count; i++) {
    if (texts[i].kind == KABI_EVENT_REPORT) continue;
    MUST(texts[i].text_offset + texts[i].text_length < used && used <= sizeof bytes);
    const char *text = (const char *)bytes + texts[i].text_offset;
    CHECK_EQ(texts[i].text_length, strlen(text));
    CHECK(texts[i].text_length > 0 && is_utf8(text, texts[i].text_length));
  }
  return count;
}

static const char *text_of(size_t i) { return (const char *)bytes + texts[i].text_offset; }

TEST(statistics_are_replaced_not_piled_up) {
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "statistics.interval.ms", "10", NULL);
  unseen(500); /* fifty documents that nobody takes */
  size_t count = drain_texts(producer, patience(5000)), statistics = 0;
  for (size_t i = 0; i < count; i++) {
    if (texts[i].kind != KABI_EVENT_STATISTICS) continue;
    statistics++;
    CHECK(is_json(text_of(i)));
    CHECK(has(text_of(i), "\"type\""));
  }
  CHECK_EQ(1, statistics);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Two events of one drain with one kind, code and text would be one event too many. */
TEST(equal_errors_merge_and_are_counted) {
  int64_t end = now_ms() + patience(30000);
  int merged = 0;
  kabi_producer_t *producer = new_producer(NOWHERE, "reconnect.backoff.ms", "1", "reconnect.backoff.max.ms", "2", NULL);
  while (!merged && now_ms() < end) {
    unseen(2000); /* reconnects that nobody hears of */
    size_t count = drain_texts(producer, patience(1000));
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ(KABI_EVENT_ERROR, texts[i].kind);
      CHECK(texts[i].code == -195 || texts[i].code == -187); /* TRANSPORT, ALL_BROKERS_DOWN */
      CHECK(texts[i].count >= 1 && texts[i].timestamp > 1500000000000);
      CHECK_EQ(-1, texts[i].topic);
      CHECK((texts[i].flags & KABI_ERROR_FATAL) == 0);
      if (texts[i].count > 1) merged = 1;
      for (size_t j = 0; j < i; j++) CHECK(texts[i].code != texts[j].code || strcmp(text_of(i), text_of(j)) != 0);
    }
  }
  CHECK(merged);
  kabi_producer_free(producer);
}

TEST(logs_are_events_with_levels) {
  kabi_config_t *config = new_config(NOWHERE, "debug", "broker", NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_LOG, ERR));
  kabi_producer_t *producer = producer_from(config);
  int64_t end = now_ms() + patience(10000);
  size_t seen = 0;
  while (seen < 5 && now_ms() < end) {
    size_t count = drain_texts(producer, 500);
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ(KABI_EVENT_LOG, texts[i].kind);
      CHECK(texts[i].code >= 0 && texts[i].code <= 7);
      CHECK(texts[i].count >= 1);
      seen++;
    }
  }
  CHECK(seen >= 5);
  kabi_producer_free(producer);
}

/* Past their bound the oldest lines go, and how many went is said. */
TEST(logs_past_their_bound_are_dropped_and_counted) {
  start();
  kabi_config_t *config = new_config(bootstrap(cluster), "debug", "all", "linger.ms", "0", NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_LOG, ERR));
  kabi_producer_t *producer = producer_from(config);
  int64_t end = now_ms() + patience(30000);
  uint64_t dropped = 0, entries = 0;
  while (dropped == 0 && now_ms() < end) {
    for (int i = 0; i < 300; i++) { /* each of them a request, a dozen lines */
      send_tokens(producer, i, 1);
      MUST_OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
    }
    for (size_t count = 1; count > 0;) {
      count = drain_texts(producer, 0);
      for (size_t i = 0; i < count; i++) dropped += texts[i].count - 1;
      entries += count;
    }
  }
  CHECK(dropped > 0);
  note("%" PRIu64 " lines dropped, %" PRIu64 " kept", dropped, entries);
  close_producer(producer);
  kabi_cluster_free(cluster);
}

TEST(a_text_that_does_not_fit_stays_first) {
  size_t count = 99, need = 0, used = 0;
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "statistics.interval.ms", "100", NULL);
  int32_t fd;
  MUST_OK(kabi_producer_event_fd(producer, &fd, ERR));
  MUST(readable(fd, patience(10000)));
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_producer_drain(producer, 0, texts, 512, &count, bytes, 16, &need, ERR));
  CHECK_EQ(0, count);
  CHECK(need > 16);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_producer_drain(producer, 0, texts, 512, &count, NULL, 0, &need, ERR));
  CHECK(readable(fd, 0)); /* still there */
  MUST(need < sizeof bytes / 2);
  OK(kabi_producer_drain(producer, 0, texts, 512, &count, bytes, 2 * need, &used, ERR)); /* a newer document may be longer */
  CHECK(count == 1 && texts[0].kind == KABI_EVENT_STATISTICS && is_json(text_of(0)));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* Texts reach handlers as well, through bytes. */
static int32_t on_text(const kabi_event_t *events, size_t count, const uint8_t *data, void *user) {
  log_t *log = (log_t *)user;
  for (size_t i = 0; i < count; i++) {
    const char *text = (const char *)data + events[i].text_offset;
    CHECK_EQ(KABI_EVENT_STATISTICS, events[i].kind);
    CHECK(events[i].text_length == strlen(text) && is_json(text));
  }
  return on_events(events, count, data, log);
}

TEST(statistics_reach_a_handler) {
  static log_t log;
  start();
  log.producer = producer_with(KABI_EVENT_STATISTICS, on_text, &log, "statistics.interval.ms", "20");
  int64_t end = now_ms() + patience(20000);
  while (log.count < 3 && now_ms() < end) OK(kabi_producer_poll(log.producer, patience(1000), NULL, ERR));
  CHECK(log.count >= 3);
  close_producer(log.producer);
  kabi_cluster_free(cluster);
}

/* ---- a consumer's events ---- */

TEST(a_consumer_serves_its_events) {
  static log_t log;
  int64_t end = now_ms() + patience(20000);
  size_t count = 0, used = 0, statistics = 0;
  start();
  fill_topic(cluster, "events", 0, 10);
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", "serve", "statistics.interval.ms", "20", NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_STATISTICS, on_text, &log, NULL, ERR));
  kabi_consumer_t *consumer = consumer_from(config);
  while (log.count < 2 && now_ms() < end) OK(kabi_consumer_serve(consumer, patience(1000), &count, ERR));
  CHECK(log.count >= 2);
  size_t served = log.count;
  assign(consumer, "events", 0, 0);
  seen_t seen[10];
  CHECK_EQ(10, take(consumer, seen, 10));
  while (log.count == served && now_ms() < end) poll_empty(consumer, 50); /* handlers run inside of polls too */
  CHECK(log.count > served);
  while (statistics == 0 && now_ms() < end) {
    OK(kabi_consumer_drain(consumer, patience(1000), texts, 8, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) statistics += texts[i].kind == KABI_EVENT_STATISTICS;
  }
  CHECK(statistics > 0);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

/* A handler that fails inside of a poll for records must not cost a record. */
TEST(a_failing_handler_costs_a_consumer_no_record) {
  static log_t log;
  int64_t end = now_ms() + patience(20000);
  int failed = 0, next = 0, polls = 0;
  start();
  fill_topic(cluster, "events", 0, 200);
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", "fails", "statistics.interval.ms", "5", NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_STATISTICS, on_text, &log, NULL, ERR));
  kabi_consumer_t *consumer = consumer_from(config);
  assign(consumer, "events", 0, 0);
  while ((next < 200 || failed == 0) && now_ms() < end) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    log.count = 0;
    log.fail_at = polls++ % 2 != 0 ? log.calls + 1 : 0; /* every other poll, if it calls */
    kabi_status_t status = kabi_consumer_poll(consumer, 3, patience(1000), &batch, &info, NULL);
    CHECK(status == 0 || status == KABI_STATUS_CALLBACK_FAILED);
    if (status != 0) failed++;
    for (size_t i = 0; i < info.count; i++) CHECK_EQ(next++, number_of(&info.records[i]));
    kabi_batch_free(batch);
    unseen(6); /* for another document */
  }
  CHECK_EQ(200, next);
  CHECK(failed > 0);
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}
