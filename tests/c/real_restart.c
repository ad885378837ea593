/* A broker that dies at once and comes back while records are under way, and consumers that die. Profiles: single
   Time goes into restarts, which are not done twice. Modes: plain */
#include "load.h"

static void *kill_and_start(void *unused) {
  broker("kill", "single", NULL);
  broker("start", "single", NULL);
  return unused;
}

TEST(an_idempotent_producer_survives_a_killed_broker) {
  enum { COUNT = 60000 };
  const char *name = fresh("restart");
  real_topic("single", name, 3, NULL);
  static unsigned char times[COUNT];
  load_t load = {new_producer(SINGLE, NULL), -1, 3, 0, 0, 0, 0, times};
  load.topic = topic_of(load.producer, name);
  load_send(&load, COUNT / 4);
  load_flows(&load);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, kill_and_start, NULL) == 0);
  load_send(&load, COUNT);
  pthread_join(thread, NULL);
  load_check(&load);
  close_producer(load.producer);
  load_read_back(&load, SINGLE, name);
}

/* ---- two consumers of a group, the first of which is killed in the middle of a batch ---- */

/* A member by an assignor of the classic protocol, or by the new protocol, whose time-outs are the broker's. */
static kabi_consumer_t *join(const char *servers, const char *group, const char *topic, const char *assignor) {
  kabi_config_t *config = new_config(servers, "group.id", group, "auto.offset.reset", "earliest", "auto.commit.interval.ms", "100", NULL);
  if (strcmp(assignor, "consumer") == 0) {
    put(config, "group.protocol", "consumer");
  } else {
    put(config, "partition.assignment.strategy", assignor);
    put(config, "session.timeout.ms", "2000");
    put(config, "heartbeat.interval.ms", "200");
  }
  kabi_consumer_t *consumer = consumer_from(config);
  subscribe(consumer, topic);
  return consumer;
}

ROLE(member) {
  if (argc != 4) return 2;
  kabi_consumer_t *consumer = join(argv[0], argv[1], argv[2], argv[3]);
  for (;;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 50, &batch, &info);
    for (size_t i = 0; i < info.count; i++) {
      if (info.records[i].code != 0) continue;
      printf("%" PRId64 "\n", number_of(&info.records[i]));
      fflush(stdout);
      poll(NULL, 0, 1); /* work, so that the other joins in the middle */
    }
    kabi_batch_free(batch);
  }
}

/* Reads the numbers that a member worked off until `most` or its end; returns how many. */
static int read_numbers(FILE *out, unsigned char *seen, int count, int most) {
  char line[64];
  int have = 0;
  while (have < most && fgets(line, sizeof line, out) != NULL) {
    int at = atoi(line);
    if (line[0] < '0' || line[0] > '9' || strchr(line, '\n') == NULL || at >= count) continue;
    seen[at] = 1;
    have++;
  }
  return have;
}

static void killed_member(const char *assignor) {
  enum { COUNT = 3000 };
  const char *name = fresh("handover"), *group = fresh("group");
  static unsigned char seen[COUNT];
  real_topic("single", name, 4, NULL);
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  for (int i = 0; i < 4; i++) fill(producer, name, i, i * COUNT / 4, COUNT / 4);
  close_producer(producer);
  FILE *out;
  pid_t first = start_role("member", &out, SINGLE, group, name, assignor, NULL);
  CHECK_EQ(120, read_numbers(out, seen, COUNT, 120));

  kabi_consumer_t *second = join(SINGLE, group, name, assignor);
  int mine = 0, missing = COUNT;
  int64_t end = now_ms() + patience(60000);
  while (missing > 0 && now_ms() < end) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(second, 100, 500, &batch, &info, ERR));
    for (size_t i = 0; i < info.count; i++)
      if (info.records[i].code == 0) seen[number_of(&info.records[i])] = 1, mine++;
    kabi_batch_free(batch);
    if (mine > 0 && first > 0) { /* both read: now the first dies, with a batch in hand */
      kill(first, SIGKILL);
      CHECK_EQ(-SIGKILL, wait_child(first, 10000));
      first = 0;
      read_numbers(out, seen, COUNT, COUNT); /* what it said before */
    }
    missing = 0;
    for (int i = 0; i < COUNT; i++) missing += seen[i] == 0;
  }
  CHECK_EQ(0, missing);
  CHECK(first == 0);
  fclose(out);
  close_consumer(second);
}

TEST(a_killed_members_records_go_to_the_other) { killed_member("range,roundrobin"); }
TEST(a_killed_members_records_go_to_the_other_cooperatively) { killed_member("cooperative-sticky"); }
TEST(a_killed_members_records_go_to_the_other_by_the_new_protocol) { killed_member("consumer"); }
