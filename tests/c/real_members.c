/* Members of a group by the protocol of KIP-848 that drop out and come back: one that polls too seldom, and one whose process
   stood still for longer than its session. Another member has their partitions meanwhile; they are told that theirs are lost,
   and have a share again after. Profiles: single
   Time goes into time-outs, which are not waited for twice. Modes: plain */
#include "real.h"

enum { PARTITIONS = 4 };

typedef struct member_t {
  kabi_consumer_t *consumer;
  unsigned owned[PARTITIONS];
  int assigns, revokes, losts, exceeded;
  int last_lost; /* how many partitions the last loss named */
  int records[PARTITIONS];
  FILE *out; /* where changes are told too */
} member_t;

static int owned(const member_t *m) {
  int count = 0;
  for (int i = 0; i < PARTITIONS; i++) count += m->owned[i] != 0;
  return count;
}

static int32_t on_change(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  member_t *m = (member_t *)user;
  MUST(count == 1);
  const kabi_partition_t *list = (const kabi_partition_t *)(const void *)(bytes + events->data_offset);
  int gives = events->code == KABI_ASSIGNMENT_ASSIGN;
  for (uint64_t i = 0; i < events->data_count; i++) {
    MUST(list[i].partition >= 0 && list[i].partition < PARTITIONS);
    CHECK_EQ(!gives, m->owned[list[i].partition]);
    m->owned[list[i].partition] = (unsigned)gives;
  }
  m->assigns += gives;
  m->revokes += events->code == KABI_ASSIGNMENT_REVOKE;
  if (events->code == KABI_ASSIGNMENT_LOST) m->losts++, m->last_lost = (int)events->data_count;
  if (m->out != NULL && events->data_count > 0) {
    fprintf(m->out, "%s %d\n", gives ? "assign" : events->code == KABI_ASSIGNMENT_LOST ? "lost" : "revoke", owned(m));
    fflush(m->out);
  }
  return 0;
}

static void join(member_t *m, const char *group, const char *topic, const char *max_poll) {
  kabi_config_t *config = new_config(SINGLE, "group.id", group, "group.protocol", "consumer", "auto.offset.reset", "earliest",
                                     "max.poll.interval.ms", max_poll, NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_ASSIGNMENT, ERR));
  MUST_OK(kabi_config_handler(config, KABI_EVENT_ASSIGNMENT, on_change, m, NULL, ERR));
  m->consumer = consumer_from(config);
  subscribe(m->consumer, topic);
}

static void pump(member_t *m) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  MUST_OK(kabi_consumer_poll(m->consumer, 100, 100, &batch, &info, ERR));
  for (size_t i = 0; i < info.count; i++) {
    const kabi_record_t *record = &info.records[i];
    if (record->code == 0) CHECK(m->owned[record->partition]), m->records[record->partition]++;
    else m->exceeded += record->code == KABI_STATUS_MAX_POLL_EXCEEDED;
  }
  kabi_batch_free(batch);
}

/* Polls both, or one if `b` is NULL, until what is asked for holds. */
#define PUMP_UNTIL(a, b, holds)                                            \
  do {                                                                     \
    int64_t end_ = now_ms() + patience(50000);                             \
    while (!(holds) && now_ms() < end_) {                                  \
      pump(a);                                                             \
      if ((b) != NULL) pump((member_t *)(b));                              \
    }                                                                      \
    MUST(holds);                                                           \
  } while (0)

/* A new record in each partition reaches whoever has it. */
static void all_flow(const char *topic, member_t *a, member_t *b) {
  static int round;
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  int before[PARTITIONS], missing = PARTITIONS;
  for (int i = 0; i < PARTITIONS; i++) {
    before[i] = a->records[i] + (b == NULL ? 0 : b->records[i]);
    fill(producer, topic, i, ++round, 1);
  }
  close_producer(producer);
  for (int64_t end = now_ms() + patience(30000); missing > 0 && now_ms() < end;) {
    pump(a);
    if (b != NULL) pump(b);
    missing = 0;
    for (int i = 0; i < PARTITIONS; i++) missing += a->records[i] + (b == NULL ? 0 : b->records[i]) == before[i];
  }
  CHECK_EQ(0, missing);
}

static const char *shared_topic(void) {
  const char *topic = fresh("members");
  real_topic("single", topic, PARTITIONS, NULL);
  return topic;
}

TEST(polled_too_seldom_by_the_new_protocol) {
  const char *topic = shared_topic(), *group = fresh("group");
  member_t seldom, other;
  memset(&seldom, 0, sizeof seldom);
  memset(&other, 0, sizeof other);
  join(&seldom, group, topic, "5000");
  PUMP_UNTIL(&seldom, NULL, owned(&seldom) == PARTITIONS);
  join(&other, group, topic, "300000");
  PUMP_UNTIL(&seldom, &other, owned(&seldom) == 2 && owned(&other) == 2);
  int losts = seldom.losts; /* none, but on a machine that stood still */
  all_flow(topic, &seldom, &other);

  PUMP_UNTIL(&other, NULL, owned(&other) == PARTITIONS); /* nobody polls the first */
  all_flow(topic, &other, NULL);

  PUMP_UNTIL(&seldom, &other, seldom.exceeded > 0 && seldom.losts > losts && owned(&seldom) == 2 && owned(&other) == 2);
  CHECK_EQ(2, seldom.last_lost);
  all_flow(topic, &seldom, &other);
  close_consumer(seldom.consumer);
  close_consumer(other.consumer);
}

ROLE(member) {
  static member_t m;
  if (argc != 2) return 2;
  m.out = stdout;
  join(&m, argv[0], argv[1], "300000");
  for (;;) pump(&m);
}

/* Reads what the other process tells until this line; what it has to tell must be told. */
static void await_line(FILE *out, const char *want) {
  char line[64] = "";
  while (fgets(line, sizeof line, out) != NULL && strncmp(line, want, strlen(want)) != 0) continue;
  MUST(strncmp(line, want, strlen(want)) == 0);
}

TEST(a_member_that_stood_still_has_lost_its_partitions) {
  const char *topic = shared_topic(), *group = fresh("group");
  member_t other;
  memset(&other, 0, sizeof other);
  FILE *out;
  pid_t child = start_role("member", &out, group, topic, NULL);
  await_line(out, "assign 4");
  kill(child, SIGSTOP);
  join(&other, group, topic, "300000");
  PUMP_UNTIL(&other, NULL, owned(&other) == PARTITIONS); /* once the session is over */
  all_flow(topic, &other, NULL);
  kill(child, SIGCONT);
  await_line(out, "lost 0");
  PUMP_UNTIL(&other, NULL, owned(&other) == 2);
  await_line(out, "assign 2");
  close_consumer(other.consumer); /* and then it has them all */
  await_line(out, "assign 4");
  kill(child, SIGKILL);
  CHECK_EQ(-SIGKILL, wait_child(child, 10000));
  fclose(out);
}
