/* Nothing is lost when a consumer dies: another process reads from this one's cluster, is killed (by itself, at an exact step) after
   the first of 500 records, and a second consumer of the group must see every record that the first had not worked off.
   What was worked off is told by the dying process itself, before it says "handled". */
#include "harness.h"

enum { RECORDS = 500 };

typedef enum step_t {
  AFTER_POLL,          /* nothing worked off */
  IN_FIRST_BATCH,      /* one worked off, implicit */
  AFTER_HANDLED,       /* one worked off and said so, not committed */
  AFTER_COMMIT,        /* ... and committed */
  AFTER_COMMIT_RECORD, /* one worked off and committed by itself */
  AFTER_AUTO_COMMIT,   /* said so, and the interval has passed */
  IN_SECOND_BATCH,     /* the first batch is handled by the next poll and committed, one of the second worked off */
  IN_PACKED_BATCH,     /* as IN_FIRST_BATCH, with packed polls */
  AFTER_CLOSE          /* closed in the middle of the first batch */
} step_t;

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static void work_off(int64_t number) {
  printf("%" PRId64 "\n", number);
  fflush(stdout);
}

ROLE(consume) {
  if (argc != 3) return 2;
  step_t step = (step_t)atoi(argv[2]);
  int explicitly = step == AFTER_HANDLED || step == AFTER_COMMIT || step == AFTER_AUTO_COMMIT;
  kabi_consumer_t *consumer = new_consumer(argv[0], argv[1], "session.timeout.ms", "1000", "heartbeat.interval.ms", "100", "kafkabi.handled",
                                           explicitly ? "explicit" : "poll", "auto.commit.interval.ms", step == AFTER_AUTO_COMMIT ? "50" : "60000", NULL);
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  subscribe(consumer, "work");
  if (step == IN_PACKED_BATCH) {
    static union { uint64_t align; uint8_t bytes[1 << 16]; } buffer;
    do {
      memset(&info, 0, sizeof info);
      MUST_OK(kabi_consumer_poll_packed(consumer, RECORDS, 10000, buffer.bytes, sizeof buffer.bytes, &info, ERR));
    } while (info.count == 0);
    work_off(0);
    die();
  }
  take_batch(consumer, step == IN_SECOND_BATCH ? 10 : RECORDS, &batch, &info);
  if (step == AFTER_POLL) die();
  work_off(number_of(&info.records[0]));
  switch (step) {
    case AFTER_HANDLED:
    case AFTER_COMMIT:
    case AFTER_AUTO_COMMIT:
      MUST_OK(kabi_consumer_handled(consumer, info.number, 1, ERR));
      break;
    case AFTER_COMMIT_RECORD:
      MUST_OK(kabi_consumer_commit_record(consumer, &info.records[0], 10000, ERR));
      break;
    case IN_SECOND_BATCH:
      for (size_t i = 1; i < info.count; i++) work_off(number_of(&info.records[i]));
      kabi_batch_free(batch);
      take_batch(consumer, RECORDS, &batch, &info);
      work_off(number_of(&info.records[0]));
      break;
    case AFTER_CLOSE:
      MUST_OK(kabi_consumer_close(consumer, 10000, ERR));
      break;
    default:
      break;
  }
  if (step == AFTER_COMMIT || step == IN_SECOND_BATCH) MUST_OK(kabi_consumer_commit(consumer, NULL, 0, 10000, ERR));
  if (step == AFTER_AUTO_COMMIT) {
    int64_t until = now_ms() + 20000;
    while (committed_offset(consumer, "work", 0) != 1 && now_ms() < until) poll(NULL, 0, 20);
  }
  die();
  return 1;
}

/* `first`: where the successor must start. */
static void killed(step_t step, int64_t first) {
  char number[8], line[64];
  unsigned char worked_off[RECORDS] = {0};
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "work", 1);
  fill_topic(cluster, "work", 0, RECORDS);
  snprintf(number, sizeof number, "%d", (int)step);
  FILE *out;
  pid_t child = start_role("consume", &out, bootstrap(cluster), "killed", number, NULL);
  int64_t handled = 0;
  while (fgets(line, sizeof line, out) != NULL) {
    int at = atoi(line);
    if (line[0] == '#') {
      printf("%s", line);
    } else if (at >= 0 && at < RECORDS) {
      worked_off[at] = 1;
      handled++;
    }
  }
  fclose(out);
  MUST(wait_child(child, 60000) == -SIGKILL);
  if (step == IN_SECOND_BATCH) first = handled - 1; /* what the first batch held */
  static seen_t seen[RECORDS];
  kabi_consumer_t *second = new_consumer(bootstrap(cluster), "killed", "session.timeout.ms", "1000", "heartbeat.interval.ms", "100", NULL);
  subscribe(second, "work");
  size_t want = (size_t)(RECORDS - first);
  CHECK_EQ(want, take(second, seen, want));
  CHECK_EQ(first, seen[0].number);
  for (size_t i = 0; i < want; i++) worked_off[seen[i].number] |= 2;
  int lost = 0;
  for (int i = 0; i < RECORDS; i++) lost += worked_off[i] == 0;
  CHECK_EQ(0, lost);
  close_consumer(second);
  kabi_cluster_free(cluster);
}

TEST(killed_after_poll) { killed(AFTER_POLL, 0); }
TEST(killed_in_the_first_batch) { killed(IN_FIRST_BATCH, 0); }
TEST(killed_after_handled) { killed(AFTER_HANDLED, 0); }
TEST(killed_after_commit) { killed(AFTER_COMMIT, 1); }
TEST(killed_after_commit_of_a_record) { killed(AFTER_COMMIT_RECORD, 1); }
TEST(killed_after_auto_commit) { killed(AFTER_AUTO_COMMIT, 1); }
TEST(killed_in_the_second_batch) { killed(IN_SECOND_BATCH, -1); }
TEST(killed_in_a_packed_batch) { killed(IN_PACKED_BATCH, 0); }
TEST(killed_after_a_close_in_a_batch) { killed(AFTER_CLOSE, 0); }

/* A producer's process is killed too: what was reported as delivered is there. */
ROLE(produce) {
  if (argc != 1) return 2;
  kabi_producer_t *producer = new_producer(argv[0], NULL);
  int32_t topic = topic_of(producer, "work");
  kabi_event_t event;
  uint64_t reported = 0;
  for (uint64_t i = 0;; i++) {
    char value[16];
    snprintf(value, sizeof value, "%" PRIu64, i);
    kabi_message_t message = message_of(topic, 0, NULL, value);
    message.token = i;
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
    while (i + 1 - reported > 100 ? drain_reports(producer, &event, 1) == 1 : drain_rest(producer, &event, 1) == 1) {
      MUST(event.code == 0 && event.token == reported++);
      work_off((int64_t)event.token);
    }
  }
}

TEST(what_a_killed_producer_had_reported_is_there) {
  char line[64];
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "work", 1);
  FILE *out;
  pid_t child = start_role("produce", &out, bootstrap(cluster), NULL);
  static unsigned char reported[1000];
  int64_t last = -1;
  while (last < 300 && fgets(line, sizeof line, out) != NULL) {
    int at = atoi(line);
    if (line[0] == '#') { printf("%s", line); continue; }
    if (at >= 0 && at < 1000) reported[at] = 1;
    last = at;
  }
  kill(child, SIGKILL);
  CHECK_EQ(-SIGKILL, wait_child(child, 20000));
  while (fgets(line, sizeof line, out) != NULL) {
    int at = atoi(line);
    if (strchr(line, '\n') != NULL && at >= 0 && at < 1000) reported[at] = 1;
  }
  fclose(out);
  static seen_t seen[1000];
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  assign(consumer, "work", 0, KABI_OFFSET_BEGINNING);
  CHECK(take(consumer, seen, 301) == 301);
  for (int i = 0; i < 301; i++) {
    CHECK_EQ(i, seen[i].number);
    CHECK(reported[i]); /* one partition: reported in order */
  }
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}
