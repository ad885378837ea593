/* The example that copies each record exactly once, killed again and again. Profiles: single
   Time goes into restarts, which are not done twice. Modes: plain */
#include "real.h"

enum { RECORDS = 20000, PARTITIONS = 3, KILLS = 20, KEYS = 7 };

/* All records of a topic at this isolation level, by number: how often each came. Returns how many came. */
static int64_t count_copies(const char *topic, const char *isolation, int *copies) {
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, "isolation.level", isolation, "enable.partition.eof", "true", NULL);
  kabi_partition_t list[PARTITIONS];
  int64_t came = 0, last[KEYS];
  for (int i = 0; i < KEYS; i++) last[i] = -1;
  for (int i = 0; i < PARTITIONS; i++) list[i] = partition_of(consumer_topic_of(consumer, topic), i, KABI_OFFSET_BEGINNING);
  MUST_OK(kabi_consumer_assign(consumer, list, PARTITIONS, ERR));
  for (int ends = 0; ends < PARTITIONS;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 1000, &batch, &info);
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      if (record->code == KABI_STATUS_PARTITION_EOF) {
        ends++;
        continue;
      }
      MUST(record->code == 0);
      int64_t number = number_of(record);
      MUST(number >= 0 && number < RECORDS);
      copies[number]++;
      came++;
      if (strcmp(isolation, "read_committed") == 0) CHECK(number > last[number % KEYS]); /* each key in order */
      last[number % KEYS] = number;
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
  return came;
}

static void make_input(const char *topic) {
  kabi_producer_t *producer = new_producer(SINGLE, "partitioner", "murmur2_random", NULL);
  int32_t number = topic_of(producer, topic);
  for (int i = 0; i < RECORDS; i++) {
    char value[16], key[16];
    snprintf(value, sizeof value, "%d", i);
    snprintf(key, sizeof key, "k%d", i % KEYS);
    kabi_message_t message = message_of(number, KABI_PARTITION_ANY, key, value);
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  }
  uint64_t failed = 1;
  MUST_OK(kabi_producer_flush(producer, 30000, &failed, ERR));
  CHECK_EQ(0, failed);
  kabi_producer_free(producer);
}

static pid_t start_copying(const char *from, const char *to, FILE **out) {
  return start_role("exactly_once", out, "exactly_once", SINGLE, from, to, from, NULL);
}

/* The last line that the copier printed. */
static void last_line(FILE *out, char *line, int size) {
  line[0] = 0;
  while (fgets(line, size, out) != NULL) {}
}

/* What the group has committed, or 0 while its coordinator can't tell. */
static int64_t sum_of_offsets(kabi_consumer_t *consumer, const char *topic) {
  kabi_partition_t list[PARTITIONS];
  int64_t sum = 0;
  for (int i = 0; i < PARTITIONS; i++) list[i] = partition_of(consumer_topic_of(consumer, topic), i, 0);
  kabi_status_t status = kabi_consumer_committed(consumer, list, PARTITIONS, 5000, NULL, 0, NULL, ERR);
  if (status != KABI_STATUS_OK) {
    MUST(last_error()->flags & KABI_ERROR_RETRIABLE);
    return 0;
  }
  for (int i = 0; i < PARTITIONS; i++) sum += list[i].offset > 0 && list[i].code == 0 ? list[i].offset : 0;
  return sum;
}

TEST(each_record_is_copied_exactly_once_over_twenty_kills) {
  static int copies[RECORDS], raw[RECORDS];
  const char *from = fresh("from"), *to = fresh("to");
  real_topic("single", from, PARTITIONS, NULL);
  real_topic("single", to, PARTITIONS, NULL);
  make_input(from);
  unsigned seed = (unsigned)now_ms();
  note("seed %u", seed);
  int in_work = 0;
  for (int kill_number = 0; kill_number < KILLS; kill_number++) {
    FILE *out;
    char line[128] = "";
    pid_t copier = start_copying(from, to, &out);
    /* Every fourth at any point of its start, the others once they copy. */
    if (kill_number % 4 != 0 && fgets(line, sizeof line, out) != NULL) in_work++;
    unseen(rand_r(&seed) % (kill_number % 4 != 0 ? 60 : 900));
    MUST(kill(copier, SIGKILL) == 0);
    CHECK_EQ(-SIGKILL, wait_child(copier, 10000));
    last_line(out, line, sizeof line);
    fclose(out);
  }
  note("%d of %d were killed while copying", in_work, KILLS);
  CHECK_EQ(KILLS - KILLS / 4, in_work);
  FILE *out;
  char line[128] = "";
  pid_t copier = start_copying(from, to, &out);
  /* Until the group's offsets are at the input's end. */
  int64_t since = now_ms(), done = 0;
  char group[300];
  snprintf(group, sizeof group, "exactly-once-%s", from);
  kabi_consumer_t *asking = new_consumer(SINGLE, group, "enable.auto.commit", "false", NULL);
  while (done < RECORDS && now_ms() - since < 40000) {
    unseen(100);
    done = sum_of_offsets(asking, from);
  }
  CHECK_EQ(RECORDS, done);
  close_consumer(asking);
  MUST(kill(copier, SIGTERM) == 0);
  CHECK_EQ(0, wait_child(copier, 20000));
  last_line(out, line, sizeof line);
  fclose(out);

  CHECK_EQ(RECORDS, count_copies(to, "read_committed", copies));
  int lost = 0, doubled = 0;
  for (int i = 0; i < RECORDS; i++) {
    lost += copies[i] == 0;
    doubled += copies[i] > 1;
  }
  CHECK_EQ(0, lost);
  CHECK_EQ(0, doubled);
  note("%d records, %d lost, %d doubled, %" PRId64 " written in transactions that were aborted", RECORDS, lost, doubled,
       count_copies(to, "read_uncommitted", raw) - RECORDS);
}

/* The example itself is what is killed. */
#undef CHECK
#define main example
#include "../../examples/c/exactly_once.c"
#undef main

ROLE(exactly_once) { return example(argc, argv); }
