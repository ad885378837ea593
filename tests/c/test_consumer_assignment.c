/* Changes of the assignment that the group decides: told by an event, met by a handler inside the poll, or applied by a call;
   with range (eager), cooperative-sticky and the protocol of KIP-848. */
#include "harness.h"

static kabi_cluster_t *cluster;
enum { PARTITIONS = 4, RECORDS = 30 };

static const char *const protocols[] = {"range", "cooperative-sticky", "consumer"};

static void start(void) { cluster = filled_cluster("shared", PARTITIONS, RECORDS); }

static void end(void) { kabi_cluster_free(cluster); }

/* ---- a member of the group, with what its handler saw and what it is to do ---- */

typedef struct member_t {
  kabi_consumer_t *consumer;
  int32_t topic;
  int calls, assigns, revokes, losts, answer, fails_once;
  int64_t seek_to;   /* in the handler of an assign, if not negative */
  int commit, pause, in_poll, misuse, free_inside;
  int owned[PARTITIONS];
  uint64_t generation;
  int64_t next[PARTITIONS]; /* after the last record of each, -1 before the first since it was assigned */
  size_t records;
  pthread_t thread;
} member_t;

static void in_assign(member_t *m, const kabi_partition_t *list, size_t count) {
  kabi_partition_t copy[PARTITIONS];
  memcpy(copy, list, count * sizeof *list);
  if (m->seek_to >= 0 && count > 0) {
    for (size_t i = 0; i < count; i++) copy[i].offset = m->seek_to;
    OK(kabi_consumer_seek(m->consumer, copy, count, patience(5000), ERR));
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ(0, copy[i].code);
      kabi_partition_t asked = copy[i];
      OK(kabi_consumer_position(m->consumer, &asked, 1, ERR));
      CHECK_EQ(m->seek_to, asked.offset);
    }
  }
  if (m->pause && count > 0) OK(kabi_consumer_pause(m->consumer, copy, count, ERR));
}

static void in_revoke(member_t *m, const kabi_partition_t *list, size_t count) {
  kabi_partition_t copy[PARTITIONS];
  memcpy(copy, list, count * sizeof *list);
  if (m->commit && count > 0) {
    size_t have = 0;
    OK(kabi_consumer_position(m->consumer, copy, count, ERR));
    for (size_t i = 0; i < count; i++)
      if (copy[i].offset >= 0) copy[have++] = copy[i];
    /* the embedded cluster refuses commits in the middle of an eager rebalance */
    if (have > 0) {
      kabi_status_t status = kabi_consumer_commit(m->consumer, copy, have, patience(5000), ERR);
      CHECK(status == 0 || status == 27);
      OK(kabi_consumer_store(m->consumer, copy, have, ERR));
    }
  }
}

/* What would deadlock, or change what is about to be applied, is refused. */
static void misuse(member_t *m) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  kabi_partition_t one = partition_of(m->topic, 0, 0);
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_poll(m->consumer, 1, 0, &batch, &info, ERR));
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_poll_packed(m->consumer, 1, 0, NULL, 0, &info, ERR));
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_close(m->consumer, 0, ERR));
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_assign(m->consumer, &one, 1, ERR));
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_incremental_assign(m->consumer, &one, 1, ERR));
  GIVES(KABI_STATUS_REENTERED, kabi_consumer_incremental_unassign(m->consumer, &one, 1, ERR));
}

static int32_t on_change(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  member_t *m = (member_t *)user;
  CHECK_EQ(1, count);
  CHECK_EQ(KABI_EVENT_ASSIGNMENT, events->kind);
  CHECK(m->in_poll && pthread_equal(m->thread, pthread_self()));
  CHECK(events->token > m->generation);
  m->generation = events->token;
  m->calls++;
  CHECK(events->data_count <= PARTITIONS && events->data_offset % 8 == 0);
  kabi_partition_t list[PARTITIONS];
  memset(list, 0, sizeof list);
  if (events->data_count > 0) memcpy(list, bytes + events->data_offset, events->data_count * sizeof *list);
  int gives = events->code == KABI_ASSIGNMENT_ASSIGN;
  for (size_t i = 0; i < events->data_count; i++) {
    MUST(list[i].topic == m->topic && list[i].partition >= 0 && list[i].partition < PARTITIONS);
    CHECK_EQ(!gives, m->owned[list[i].partition]);
  }
  if (m->misuse) misuse(m);
  if (gives) {
    m->assigns++;
    in_assign(m, list, events->data_count);
  } else {
    CHECK(events->code == KABI_ASSIGNMENT_REVOKE || events->code == KABI_ASSIGNMENT_LOST);
    m->revokes += events->code == KABI_ASSIGNMENT_REVOKE;
    m->losts += events->code == KABI_ASSIGNMENT_LOST;
    in_revoke(m, list, events->data_count);
  }
  for (size_t i = 0; i < events->data_count; i++) {
    m->owned[list[i].partition] = gives;
    m->next[list[i].partition] = -1;
  }
  if (m->free_inside) kabi_consumer_free(m->consumer);
  if (m->fails_once) {
    m->fails_once = 0;
    return 42;
  }
  return m->answer;
}

static void group_config(kabi_config_t *config, const char *protocol) {
  if (strcmp(protocol, "consumer") == 0) {
    put(config, "group.protocol", "consumer");
    return;
  }
  put(config, "partition.assignment.strategy", protocol);
  put(config, "session.timeout.ms", "6000");
  put(config, "heartbeat.interval.ms", "100");
}

static kabi_config_t *member_config(const char *group, const char *protocol) {
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", group, "auto.offset.reset", "earliest", NULL);
  group_config(config, protocol);
  MUST_OK(kabi_config_events(config, KABI_EVENT_DEFAULT | KABI_EVENT_ASSIGNMENT, ERR));
  return config;
}

static void join(member_t *m, const char *group, const char *protocol) {
  kabi_config_t *config = member_config(group, protocol);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_ASSIGNMENT, on_change, m, NULL, ERR));
  m->consumer = consumer_from(config);
  m->topic = consumer_topic_of(m->consumer, "shared");
  m->thread = pthread_self();
  for (int i = 0; i < PARTITIONS; i++) m->next[i] = -1;
  subscribe(m->consumer, "shared");
}

/* One poll; what comes must be of partitions that the member has, in order, and stamped with its generation. */
static kabi_status_t poll_once(member_t *m, size_t most, int timeout_ms) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  m->in_poll = 1;
  kabi_status_t status = kabi_consumer_poll(m->consumer, most, timeout_ms, &batch, &info, ERR);
  m->in_poll = 0;
  if (status != 0) CHECK_EQ(0, info.count);
  if (info.count > 0) CHECK_EQ(m->generation, info.generation);
  for (size_t i = 0; i < info.count; i++) {
    const kabi_record_t *record = &info.records[i];
    if (record->code != 0) continue;
    MUST(record->partition >= 0 && record->partition < PARTITIONS);
    if (!CHECK(m->owned[record->partition])) note("a record of partition %d, which is not owned", record->partition);
    if (m->next[record->partition] >= 0) CHECK_EQ(m->next[record->partition], record->offset);
    else if (m->seek_to >= 0) CHECK_EQ(m->seek_to, record->offset);
    m->next[record->partition] = record->offset + 1;
    m->records++;
  }
  kabi_batch_free(batch);
  return status;
}

static int owned_count(const member_t *m) {
  int count = 0;
  for (int i = 0; i < PARTITIONS; i++) count += m->owned[i];
  return count;
}

/* Both poll until they have this many partitions. */
static int settle(member_t *a, int want_a, member_t *b, int want_b) {
  int64_t until = now_ms() + patience(40000);
  while (now_ms() < until) {
    OK(poll_once(a, 7, 50));
    if (b != NULL) OK(poll_once(b, 7, 50));
    if (owned_count(a) == want_a && (b == NULL || owned_count(b) == want_b)) return 1;
  }
  return 0;
}

static size_t assigned_count(kabi_consumer_t *consumer) {
  size_t count = 0;
  kabi_partition_t list[PARTITIONS];
  OK(kabi_consumer_assignment(consumer, list, PARTITIONS, &count, ERR));
  return count;
}

static void check_assignment(member_t *m) {
  size_t count = 0;
  kabi_partition_t list[PARTITIONS];
  OK(kabi_consumer_assignment(m->consumer, list, PARTITIONS, &count, ERR));
  CHECK_EQ(owned_count(m), count);
  for (size_t i = 0; i < count; i++) CHECK(m->owned[list[i].partition]);
}

/* ---- handlers ---- */

static void two_members(const char *protocol) {
  start();
  member_t a, b;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  a.seek_to = b.seek_to = -1;
  a.commit = b.commit = a.misuse = b.misuse = 1;
  char text[32];
  size_t length;
  join(&a, "two", protocol);
  MUST(settle(&a, PARTITIONS, NULL, 0));
  join(&b, "two", protocol);
  MUST(settle(&a, PARTITIONS / 2, &b, PARTITIONS / 2));
  check_assignment(&a);
  check_assignment(&b);
  OK(kabi_consumer_rebalance_protocol(a.consumer, text, sizeof text, &length, ERR));
  CHECK_TEXT(strcmp(protocol, "range") == 0 ? "EAGER" : "COOPERATIVE", text);
  CHECK(a.assigns > 0 && a.revokes > 0 && a.losts == 0 && b.assigns > 0);
  close_consumer(b.consumer); /* its partitions come back, and all the records are read */
  MUST(settle(&a, PARTITIONS, NULL, 0));
  int64_t until = now_ms() + patience(20000);
  for (int i = 0; i < PARTITIONS; i++)
    while (a.next[i] != RECORDS && now_ms() < until && a.records + b.records < PARTITIONS * RECORDS) OK(poll_once(&a, 100, 100));
  CHECK(a.records + b.records >= PARTITIONS * RECORDS); /* at least once */
  close_consumer(a.consumer);
  end();
}

TEST(handlers_meet_changes_range) { two_members(protocols[0]); }
TEST(handlers_meet_changes_cooperative) { two_members(protocols[1]); }
TEST(handlers_meet_changes_kip848) { two_members(protocols[2]); }

/* A seek in the handler is where the partition begins: no record from elsewhere comes, ever. */
static void seeks(const char *protocol) {
  start();
  member_t a, b;
  memset(&a, 0, sizeof a);
  memset(&b, 0, sizeof b);
  a.seek_to = b.seek_to = 20;
  join(&a, "seeks", protocol);
  MUST(settle(&a, PARTITIONS, NULL, 0));
  int64_t until = now_ms() + patience(20000);
  while (a.records < PARTITIONS * 10 && now_ms() < until) OK(poll_once(&a, 100, 100));
  CHECK_EQ(PARTITIONS * 10, a.records);
  join(&b, "seeks", protocol);
  MUST(settle(&a, PARTITIONS / 2, &b, PARTITIONS / 2));
  while (b.records < PARTITIONS / 2 * 10 && now_ms() < until) OK(poll_once(&b, 100, 100));
  CHECK(b.records >= PARTITIONS / 2 * 10);
  close_consumer(a.consumer);
  MUST(settle(&b, PARTITIONS, NULL, 0)); /* the embedded cluster refuses commits in the middle of a rebalance */
  close_consumer(b.consumer);
  end();
}

TEST(a_handler_seeks_range) { seeks(protocols[0]); }
TEST(a_handler_seeks_cooperative) { seeks(protocols[1]); }
TEST(a_handler_seeks_kip848) { seeks(protocols[2]); }

/* Paused before the first record: none comes until it is resumed. */
static void pauses(const char *protocol) {
  start();
  member_t a;
  memset(&a, 0, sizeof a);
  a.seek_to = 3;
  a.pause = 1;
  join(&a, "pauses", protocol);
  MUST(settle(&a, PARTITIONS, NULL, 0));
  for (int i = 0; i < 10; i++) OK(poll_once(&a, 100, 50));
  CHECK_EQ(0, a.records);
  kabi_partition_t list[PARTITIONS];
  size_t count;
  OK(kabi_consumer_paused(a.consumer, list, PARTITIONS, &count, ERR));
  CHECK_EQ(PARTITIONS, count);
  OK(kabi_consumer_resume(a.consumer, list, count, ERR));
  int64_t until = now_ms() + patience(20000);
  while (a.records < PARTITIONS * (RECORDS - 3) && now_ms() < until) OK(poll_once(&a, 100, 100));
  CHECK_EQ(PARTITIONS * (RECORDS - 3), a.records);
  close_consumer(a.consumer);
  end();
}

TEST(a_handler_pauses_range) { pauses(protocols[0]); }
TEST(a_handler_pauses_kip848) { pauses(protocols[2]); }

/* A handler that fails ends its poll; the change is applied and no record is lost. */
static void fails(const char *protocol) {
  start();
  member_t a;
  memset(&a, 0, sizeof a);
  a.seek_to = -1;
  a.fails_once = 1;
  join(&a, "fails", protocol);
  int64_t until = now_ms() + patience(20000);
  kabi_status_t status = 0;
  while (a.calls == 0 && now_ms() < until) {
    CHECK_EQ(0, status);
    status = poll_once(&a, 5, 50);
  }
  CHECK_EQ(KABI_STATUS_CALLBACK_FAILED, status);
  CHECK(has(last_error()->message, "42"));
  check_assignment(&a);
  MUST(settle(&a, PARTITIONS, NULL, 0));
  while (a.records < PARTITIONS * RECORDS && now_ms() < until) OK(poll_once(&a, 100, 100));
  CHECK_EQ(PARTITIONS * RECORDS, a.records);
  close_consumer(a.consumer);
  end();
}

TEST(a_handler_fails_range) { fails(protocols[0]); }
TEST(a_handler_fails_cooperative) { fails(protocols[1]); }

TEST(a_handler_frees_its_consumer) {
  start();
  member_t a;
  memset(&a, 0, sizeof a);
  a.seek_to = -1;
  a.free_inside = 1;
  join(&a, "frees", "range");
  int64_t until = now_ms() + patience(20000);
  kabi_status_t status = 0;
  while (a.calls == 0 && now_ms() < until) status = poll_once(&a, 5, 100);
  CHECK(a.calls == 1 && (status == 0 || status == KABI_STATUS_CLOSED));
  GIVES(KABI_STATUS_HANDLE, kabi_consumer_wake(a.consumer, ERR));
  OK(kabi_shutdown(patience(20000), ERR));
  end();
}

/* The finalizer of the handler's pointer runs once, on a thread of the program. */
static int finalized;
static pthread_t finalizer_thread;
static void finalize(void *user) {
  (void)user;
  finalized++;
  finalizer_thread = pthread_self();
}

TEST(the_finalizer_of_a_handler_runs_on_our_thread) {
  start();
  member_t a;
  memset(&a, 0, sizeof a);
  a.seek_to = -1;
  kabi_config_t *config = member_config("finalizer", "range");
  MUST_OK(kabi_config_handler(config, KABI_EVENT_ASSIGNMENT, on_change, &a, finalize, ERR));
  a.consumer = consumer_from(config);
  a.topic = consumer_topic_of(a.consumer, "shared");
  a.thread = pthread_self();
  for (int i = 0; i < PARTITIONS; i++) a.next[i] = -1;
  subscribe(a.consumer, "shared");
  MUST(settle(&a, PARTITIONS, NULL, 0));
  OK(kabi_consumer_close(a.consumer, patience(10000), ERR));
  CHECK_EQ(0, finalized);
  kabi_consumer_free(a.consumer);
  CHECK(finalized == 1 && pthread_equal(finalizer_thread, pthread_self()));
  end();
}

/* ---- without a handler: automatic, and an event tells ---- */

static size_t drain_changes(kabi_consumer_t *consumer, kabi_event_t *into, kabi_partition_t *first, size_t most) {
  static int64_t bytes[8192];
  kabi_event_t events[32];
  size_t count = 0, used = 0, have = 0;
  kabi_status_t status = kabi_consumer_drain(consumer, 0, events, 32, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR);
  CHECK(status == 0 || status == KABI_STATUS_CLOSED);
  for (size_t i = 0; i < count && have < most; i++)
    if (events[i].kind == KABI_EVENT_ASSIGNMENT) {
      CHECK_EQ(0, events[i].data_offset % 8);
      if (events[i].data_count > 0) memcpy(&first[have], (const char *)bytes + events[i].data_offset, sizeof *first);
      into[have++] = events[i];
    }
  return have;
}

static void told(const char *protocol) {
  start();
  kabi_consumer_t *consumer = consumer_from(member_config("told", protocol));
  kabi_event_t events[8];
  kabi_partition_t firsts[8];
  static seen_t seen[PARTITIONS * RECORDS];
  subscribe(consumer, "shared");
  MUST(take(consumer, seen, PARTITIONS * RECORDS) == PARTITIONS * RECORDS);
  MUST(drain_changes(consumer, events, firsts, 8) >= 1);
  CHECK_EQ(KABI_ASSIGNMENT_ASSIGN, events[0].code);
  CHECK(events[0].token > 0 && events[0].data_count == PARTITIONS);
  CHECK_EQ(consumer_topic_of(consumer, "shared"), firsts[0].topic);
  OK(kabi_consumer_unsubscribe(consumer, ERR));
  CHECK_EQ(0, assigned_count(consumer));
  MUST(drain_changes(consumer, events, firsts, 8) == 1);
  CHECK_EQ(KABI_ASSIGNMENT_REVOKE, events[0].code);
  CHECK_EQ(PARTITIONS, events[0].data_count);
  subscribe(consumer, "shared");
  int64_t until = now_ms() + patience(20000);
  while (assigned_count(consumer) == 0 && now_ms() < until) {
    kabi_batch_t *batch = NULL; /* what was in hand at the end comes again */
    kabi_batch_info_t info;
    MUST_OK(kabi_consumer_poll(consumer, 1, 50, &batch, &info, ERR));
    kabi_batch_free(batch);
  }
  MUST(drain_changes(consumer, events, firsts, 8) >= 1);
  OK(kabi_consumer_close(consumer, patience(10000), ERR)); /* the last one is told too */
  MUST(drain_changes(consumer, events, firsts, 8) == 1);
  CHECK_EQ(KABI_ASSIGNMENT_REVOKE, events[0].code);
  kabi_consumer_free(consumer);
  end();
}

TEST(an_event_tells_of_changes_range) { told(protocols[0]); }
TEST(an_event_tells_of_changes_cooperative) { told(protocols[1]); }
TEST(an_event_tells_of_changes_kip848) { told(protocols[2]); }

/* ---- applied by a call ---- */

typedef struct puller_t {
  kabi_consumer_t *consumer;
  int32_t topic;
  int owned[PARTITIONS];
  int applied;
  size_t records;
  int64_t begin_at;
} puller_t;

/* Applies what waits; 1 if something did. */
static int apply(puller_t *p) {
  int32_t change = -1;
  size_t count = 0;
  kabi_partition_t list[PARTITIONS];
  OK(kabi_consumer_assignment_pending(p->consumer, &change, list, PARTITIONS, &count, ERR));
  if (change == 0) {
    GIVES(KABI_STATUS_STATE, kabi_consumer_assignment_apply(p->consumer, NULL, 0, ERR));
    return 0;
  }
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  GIVES(KABI_STATUS_STATE, kabi_consumer_poll(p->consumer, 1, 0, &batch, &info, ERR)); /* nothing moves until then */
  CHECK(has(last_error()->message, "kabi_consumer_assignment_apply"));
  kabi_partition_t foreign = partition_of(p->topic, 99, 0);
  GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_assignment_apply(p->consumer, &foreign, 1, ERR));
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(change != KABI_ASSIGNMENT_ASSIGN, p->owned[list[i].partition]);
    p->owned[list[i].partition] = change == KABI_ASSIGNMENT_ASSIGN;
    list[i].offset = p->begin_at;
  }
  int with_offsets = change == KABI_ASSIGNMENT_ASSIGN && p->begin_at >= 0;
  OK(kabi_consumer_assignment_apply(p->consumer, list, with_offsets ? count : 0, ERR));
  p->applied++;
  return 1;
}

static void pull(puller_t *p) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  MUST_OK(kabi_consumer_poll(p->consumer, 5, 50, &batch, &info, ERR));
  for (size_t i = 0; i < info.count; i++) {
    if (info.records[i].code != 0) continue;
    CHECK(p->owned[info.records[i].partition]);
    if (p->begin_at >= 0) CHECK(info.records[i].offset >= p->begin_at);
  }
  p->records += info.count;
  kabi_batch_free(batch);
  if (info.count == 0) apply(p);
}

static int pulled_count(const puller_t *p) {
  int count = 0;
  for (int i = 0; i < PARTITIONS; i++) count += p->owned[i];
  return count;
}

static void pull_join(puller_t *p, const char *protocol) {
  kabi_config_t *config = member_config("pull", protocol);
  put(config, "kafkabi.assignment", "apply");
  memset(p, 0, sizeof *p);
  p->begin_at = 10;
  p->consumer = consumer_from(config);
  p->topic = consumer_topic_of(p->consumer, "shared");
  subscribe(p->consumer, "shared");
}

static void by_call(const char *protocol) {
  start();
  puller_t a, b;
  int64_t until = now_ms() + patience(60000);
  pull_join(&a, protocol);
  while (pulled_count(&a) < PARTITIONS && now_ms() < until) pull(&a);
  CHECK_EQ(PARTITIONS, pulled_count(&a));
  while (a.records < PARTITIONS * (RECORDS - 10) / 2 && now_ms() < until) pull(&a);
  pull_join(&b, protocol);
  while ((pulled_count(&a) != PARTITIONS / 2 || pulled_count(&b) != PARTITIONS / 2) && now_ms() < until) {
    pull(&a);
    pull(&b);
  }
  CHECK(pulled_count(&a) == PARTITIONS / 2 && pulled_count(&b) == PARTITIONS / 2);
  CHECK(a.applied >= 2 && b.applied >= 1);
  CHECK_EQ(PARTITIONS / 2, assigned_count(a.consumer));
  close_consumer(a.consumer);
  while (pulled_count(&b) != PARTITIONS && now_ms() < until) pull(&b);
  CHECK_EQ(PARTITIONS, pulled_count(&b));
  close_consumer(b.consumer);
  end();
}

TEST(changes_applied_by_a_call_range) { by_call(protocols[0]); }
TEST(changes_applied_by_a_call_cooperative) { by_call(protocols[1]); }
TEST(changes_applied_by_a_call_kip848) { by_call(protocols[2]); }

/* Closed and freed with a change that nobody applied. */
TEST(close_with_a_change_that_waits) {
  for (size_t i = 0; i < 3; i++) {
    start();
    puller_t p;
    pull_join(&p, protocols[i]);
    int32_t change = 0;
    size_t count;
    kabi_partition_t list[PARTITIONS];
    int64_t until = now_ms() + patience(20000);
    while (change == 0 && now_ms() < until) {
      poll_empty(p.consumer, 50);
      OK(kabi_consumer_assignment_pending(p.consumer, &change, list, PARTITIONS, &count, ERR));
    }
    CHECK_EQ(KABI_ASSIGNMENT_ASSIGN, change);
    GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_assignment_pending(p.consumer, &change, NULL, 0, &count, ERR));
    CHECK_EQ(PARTITIONS, count);
    int64_t begin = now_ms();
    close_consumer(p.consumer);
    CHECK_WITHIN(3000, begin);
    end();
  }
}
