/* Transactions as only a real broker has them: what is seen of them, offsets in them, fencing, time-outs, ends.
   Profiles: single */
#include "real.h"

#include <dirent.h>

enum { WAIT = 30000 };

static kabi_producer_t *transactional(const char *id) {
  kabi_producer_t *producer = new_producer(SINGLE, "transactional.id", id, NULL);
  MUST_OK(kabi_producer_transactions_init(producer, WAIT, ERR));
  return producer;
}

static void send_number(kabi_producer_t *producer, const char *topic, int number) {
  char value[16];
  snprintf(value, sizeof value, "%d", number);
  kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, value);
  MUST_OK(kabi_producer_send(producer, &message, WAIT, ERR));
}

static void begin(kabi_producer_t *producer) { MUST_OK(kabi_producer_transaction_begin(producer, ERR)); }
static void commit(kabi_producer_t *producer) { MUST_OK(kabi_producer_transaction_commit(producer, WAIT, ERR)); }
static void abort_it(kabi_producer_t *producer) { MUST_OK(kabi_producer_transaction_abort(producer, WAIT, ERR)); }

/* What a reader gets of partition 0, up to its end. */
static int read_numbers(const char *topic, const char *isolation, int64_t *into, int most) {
  kabi_consumer_t *consumer = new_consumer(SINGLE, NULL, "isolation.level", isolation, "enable.partition.eof", "true", NULL);
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  int count = 0;
  for (int ended = 0; !ended;) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 100, &batch, &info);
    for (size_t i = 0; i < info.count; i++) {
      if (info.records[i].code == KABI_STATUS_PARTITION_EOF) ended = 1;
      else if (CHECK_EQ(0, info.records[i].code) && CHECK(count < most)) into[count++] = number_of(&info.records[i]);
    }
    kabi_batch_free(batch);
  }
  close_consumer(consumer);
  return count;
}

static void expect(const char *topic, const char *isolation, int count, ...) {
  int64_t got[64];
  va_list list;
  va_start(list, count);
  CHECK_EQ(count, read_numbers(topic, isolation, got, 64));
  for (int i = 0; i < count; i++) CHECK_EQ(va_arg(list, int), got[i]);
  va_end(list);
}

TEST(what_is_committed_is_read_and_what_is_aborted_is_not) {
  const char *topic = fresh("seen");
  kabi_producer_t *producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  send_number(producer, topic, 2);
  expect(topic, "read_committed", 0);
  commit(producer);
  begin(producer);
  send_number(producer, topic, 3);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  abort_it(producer);
  begin(producer);
  send_number(producer, topic, 4);
  commit(producer);
  expect(topic, "read_committed", 3, 1, 2, 4);
  expect(topic, "read_uncommitted", 4, 1, 2, 3, 4);
  kabi_event_t reports[8];
  CHECK_EQ(4, drain_reports(producer, reports, 4));
  for (int i = 0; i < 4; i++) CHECK_EQ(0, reports[i].code);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
}

/* Nobody drains: neither commits nor aborts need it, and neither takes steps of 100 ms. */
TEST(commits_and_aborts_return_when_they_are_done) {
  enum { ROUNDS = 30 };
  const char *topic = fresh("quick");
  kabi_producer_t *producer = new_producer(SINGLE, "transactional.id", fresh("tx"), "linger.ms", "0", NULL);
  MUST_OK(kabi_producer_transactions_init(producer, WAIT, ERR));
  begin(producer);
  send_number(producer, topic, -1);
  commit(producer); /* the topic and the coordinator are known now */
  int64_t quickest[2] = {1000, 1000};
  for (int i = 0; i < ROUNDS; i++) {
    begin(producer);
    send_number(producer, topic, i);
    int64_t since = now_ms();
    if (i % 2) commit(producer);
    else abort_it(producer);
    int64_t took = now_ms() - since;
    if (took < quickest[i % 2]) quickest[i % 2] = took;
  }
  CHECK(quickest[0] < patience(60));
  CHECK(quickest[1] < patience(60));
  /* Aborts at once, before the coordinator knows of the transaction: in librdkafka some of these are fatal. */
  for (int i = 0; i < 60; i++) {
    begin(producer);
    send_number(producer, topic, i);
    commit(producer);
    begin(producer);
    send_number(producer, topic, i);
    abort_it(producer);
  }
  note("quickest abort %d ms, commit %d ms", (int)quickest[0], (int)quickest[1]);
  kabi_producer_close(producer, WAIT, NULL, NULL);
  kabi_producer_free(producer);
}

TEST(offsets_are_committed_with_the_transaction) {
  const char *topic = fresh("in"), *group = fresh("group"), *out = fresh("out");
  kabi_producer_t *filler = new_producer(SINGLE, NULL);
  fill(filler, topic, 0, 0, 10);
  close_producer(filler);
  kabi_producer_t *producer = transactional(fresh("tx"));
  kabi_consumer_t *consumer = new_consumer(SINGLE, group, "enable.auto.commit", "false", "auto.offset.reset", "earliest", NULL);
  kabi_consumer_t *asker = new_consumer(SINGLE, group, "enable.auto.commit", "false", NULL);
  subscribe(consumer, topic);
  seen_t seen[10];
  MUST(take(consumer, seen, 10) == 10);
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, topic), 0, position_of(consumer, topic, 0));
  CHECK_EQ(10, one.offset);
  one.metadata = (const uint8_t *)"m\0n";
  one.metadata_length = 3;

  begin(producer);
  send_number(producer, out, 1);
  OK(kabi_producer_transaction_offsets(producer, consumer, &one, 1, WAIT, ERR));
  abort_it(producer);
  CHECK_EQ(KABI_OFFSET_INVALID, committed_offset(asker, topic, 0));

  begin(producer);
  send_number(producer, out, 2);
  OK(kabi_producer_transaction_offsets(producer, consumer, NULL, 0, WAIT, ERR));
  OK(kabi_producer_transaction_offsets(producer, consumer, &one, 1, WAIT, ERR));
  commit(producer);
  kabi_partition_t got = partition_of(consumer_topic_of(asker, topic), 0, 0);
  uint8_t bytes[16];
  size_t used = 0;
  OK(kabi_consumer_committed(asker, &got, 1, WAIT, bytes, sizeof bytes, &used, ERR));
  CHECK_EQ(10, got.offset);
  CHECK(used == 3 && memcmp(bytes, "m\0n", 3) == 0);
  expect(out, "read_committed", 1, 2);

  /* Topic numbers are the consumer's: this one's of `out` is unknown to it. */
  begin(producer);
  one.topic = 12345;
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets(producer, consumer, &one, 1, WAIT, ERR));
  one.topic = got.topic;
  one.offset = KABI_OFFSET_INVALID;
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets(producer, consumer, &one, 1, WAIT, ERR));
  abort_it(producer);
  close_consumer(consumer);
  close_consumer(asker);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
}

/* What rd_kafka_consumer_group_metadata_write() makes of a member without an instance id. */
static size_t metadata_of(uint8_t *into, int32_t generation, const char *group, const char *member) {
  size_t at = 7;
  memcpy(into, "CGMDv2:", at);
  memcpy(into + at, &generation, 4);
  at += 4;
  memcpy(into + at, group, strlen(group) + 1);
  at += strlen(group) + 1;
  memcpy(into + at, member, strlen(member) + 1);
  at += strlen(member) + 1;
  into[at++] = 1;
  return at;
}

TEST(offsets_of_a_group_known_by_name_or_by_bytes) {
  const char *topic = fresh("in"), *group = fresh("group"), *other = fresh("group");
  kabi_producer_t *producer = transactional(fresh("tx"));
  uint8_t bytes[512];
  kabi_partition_t one = partition_of(topic_of(producer, topic), 0, 42);
  begin(producer);
  send_number(producer, topic, 1);
  OK(kabi_producer_transaction_offsets_group(producer, group, &one, 1, WAIT, ERR));
  commit(producer);
  begin(producer);
  one.offset = 43;
  OK(kabi_producer_transaction_offsets_metadata(producer, bytes, metadata_of(bytes, -1, other, ""), &one, 1, WAIT, ERR));
  commit(producer);
  kabi_consumer_t *asker = new_consumer(SINGLE, group, NULL);
  CHECK_EQ(42, committed_offset(asker, topic, 0));
  close_consumer(asker);
  asker = new_consumer(SINGLE, other, NULL);
  CHECK_EQ(43, committed_offset(asker, topic, 0));
  close_consumer(asker);

  /* A member that the group does not have: its transaction must not commit. */
  begin(producer);
  one.offset = 44;
  size_t size = metadata_of(bytes, 7, group, "nobody");
  kabi_status_t status = kabi_producer_transaction_offsets_metadata(producer, bytes, size, &one, 1, WAIT, ERR);
  CHECK(status == KABI_STATUS_UNKNOWN_MEMBER_ID || status == KABI_STATUS_ILLEGAL_GENERATION);
  CHECK(last_error()->flags & KABI_ERROR_ABORT_REQUIRED);
  CHECK(!(last_error()->flags & (KABI_ERROR_RETRIABLE | KABI_ERROR_FATAL)));
  GIVES(status, kabi_producer_transaction_commit(producer, WAIT, ERR));
  CHECK(last_error()->flags & KABI_ERROR_ABORT_REQUIRED);
  kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, "9");
  GIVES(KABI_STATUS_STATE, kabi_producer_send(producer, &message, 0, ERR));
  CHECK(last_error()->flags & KABI_ERROR_ABORT_REQUIRED);
  abort_it(producer);
  begin(producer);
  send_number(producer, topic, 2);
  commit(producer);
  expect(topic, "read_committed", 2, 1, 2);

  /* Bytes that are none, cut at each place and with each byte changed. */
  begin(producer);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets_metadata(producer, NULL, 0, &one, 1, WAIT, ERR));
  for (size_t cut = 0; cut < size; cut++)
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets_metadata(producer, bytes, cut, &one, 1, WAIT, ERR));
  bytes[0] = 'X';
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets_metadata(producer, bytes, size, &one, 1, WAIT, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_offsets_group(producer, "", &one, 1, WAIT, ERR));
  abort_it(producer);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
}

/* A transaction without a record, with or without offsets, ends either way. */
TEST(transactions_without_a_record) {
  const char *topic = fresh("in");
  kabi_producer_t *filler = new_producer(SINGLE, NULL);
  fill(filler, topic, 0, 0, 10);
  close_producer(filler);
  for (int offsets = 0; offsets < 2; offsets++)
    for (int committed = 0; committed < 2; committed++) {
      const char *group = fresh("group");
      kabi_producer_t *producer = transactional(fresh("tx"));
      kabi_consumer_t *consumer = new_consumer(SINGLE, group, "enable.auto.commit", "false", "auto.offset.reset", "earliest", NULL);
      seen_t seen[10];
      subscribe(consumer, topic);
      MUST(take(consumer, seen, 10) == 10);
      for (int round = 0; round < 2; round++) {
        begin(producer);
        if (offsets) {
          kabi_partition_t one = partition_of(consumer_topic_of(consumer, topic), 0, 7 + round);
          OK(kabi_producer_transaction_offsets(producer, consumer, &one, 1, WAIT, ERR));
        }
        if (committed) commit(producer);
        else abort_it(producer);
        CHECK_EQ(offsets && committed ? 7 + round : KABI_OFFSET_INVALID, committed_offset(consumer, topic, 0));
      }
      begin(producer);
      send_number(producer, topic, 1);
      abort_it(producer);
      close_consumer(consumer);
      OK(kabi_producer_close(producer, WAIT, NULL, ERR));
      kabi_producer_free(producer);
    }
}

/* Polls until the position is what it should be: markers are passed by polls that find nothing. */
static void await_position(kabi_consumer_t *consumer, const char *topic, int64_t want) {
  int64_t end = now_ms() + patience(30000);
  while (position_of(consumer, topic, 0) != want && now_ms() < end) poll_empty(consumer, 50);
  CHECK_EQ(want, position_of(consumer, topic, 0));
}

static void committed_at(kabi_consumer_t *consumer, const char *topic, int64_t offset, int32_t epoch) {
  kabi_partition_t got = partition_of(consumer_topic_of(consumer, topic), 0, 0);
  OK(kabi_consumer_committed(consumer, &got, 1, WAIT, NULL, 0, NULL, ERR));
  CHECK_EQ(offset, got.offset);
  CHECK_EQ(epoch, got.leader_epoch);
}

static int64_t lag_of(kabi_consumer_t *consumer, const char *topic) {
  kabi_partition_t place = partition_of(consumer_topic_of(consumer, topic), 0, 0);
  int64_t lag = -1;
  OK(kabi_consumer_lag(consumer, &place, &lag, 1, WAIT, ERR));
  return lag;
}

/* What an aborted transaction leaves, and the marker at the end of each, have offsets but are no records: a group that has
   handled all that there is gets past them, and does not lag. */
TEST(positions_pass_what_transactions_leave) {
  const char *topic = fresh("markers"), *group = fresh("group");
  kabi_producer_t *producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  abort_it(producer);
  kabi_consumer_t *consumer = new_consumer(SINGLE, group, "enable.auto.commit", "false", "auto.offset.reset", "earliest", NULL);
  subscribe(consumer, topic);
  await_position(consumer, topic, 2); /* nothing but an aborted record and its marker */
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR));
  committed_at(consumer, topic, 2, 0);
  CHECK_EQ(0, lag_of(consumer, topic));

  begin(producer);
  send_number(producer, topic, 2);
  commit(producer);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 10, &batch, &info);
  CHECK_EQ(2, number_of(&info.records[0]));
  CHECK_EQ(3, position_of(consumer, topic, 0));
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR)); /* the record in hand is not handled */
  committed_at(consumer, topic, 2, 0);
  kabi_batch_free(batch);
  await_position(consumer, topic, 4);
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR));
  committed_at(consumer, topic, 4, 0);
  CHECK_EQ(0, lag_of(consumer, topic));

  /* The offset after a record has the leader's epoch, as those after markers have. */
  kabi_producer_t *plain = new_producer(SINGLE, NULL);
  fill(plain, topic, 0, 7, 1);
  close_producer(plain);
  seen_t seen;
  MUST(take(consumer, &seen, 1) == 1);
  CHECK_EQ(7, seen.number);
  poll_empty(consumer, 0);
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR));
  committed_at(consumer, topic, 5, 0);

  /* Backward, nothing that was passed before counts. */
  kabi_partition_t back = partition_of(consumer_topic_of(consumer, topic), 0, 2);
  OK(kabi_consumer_seek(consumer, &back, 1, WAIT, ERR));
  CHECK_EQ(2, position_of(consumer, topic, 0));
  MUST(take(consumer, &seen, 1) == 1);
  CHECK_EQ(2, seen.number);
  close_consumer(consumer);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
}

/* Where only kafkabi_consumer_handled() handles, a record that was not said to be handled is not passed. */
TEST(positions_pass_no_record_that_is_not_handled) {
  const char *topic = fresh("markers"), *group = fresh("group");
  kabi_producer_t *producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  send_number(producer, topic, 2);
  commit(producer);
  kabi_consumer_t *consumer = new_consumer(SINGLE, group, "enable.auto.commit", "false", "auto.offset.reset", "earliest",
                                           "kafkabi.handled", "explicit", NULL);
  subscribe(consumer, topic);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  uint64_t number = 0;
  for (size_t have = 0; have < 2; have += info.count) {
    take_batch(consumer, 10, &batch, &info);
    kabi_batch_free(batch);
    number = info.number;
  }
  for (int i = 0; i < 25; i++) poll_empty(consumer, 50);
  CHECK_EQ(2, position_of(consumer, topic, 0));
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR));
  committed_at(consumer, topic, KABI_OFFSET_INVALID, -1);
  for (uint64_t n = 1; n <= number; n++) {
    kabi_status_t status = kabi_consumer_handled(consumer, n, n == number ? info.count : 1, ERR);
    CHECK_EQ(0, status);
  }
  await_position(consumer, topic, 3);
  OK(kabi_consumer_commit(consumer, NULL, 0, WAIT, ERR));
  committed_at(consumer, topic, 3, 0);
  close_consumer(consumer);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
}

TEST(a_record_that_failed_makes_the_commit_ask_for_an_abort) {
  const char *topic = fresh("small");
  real_topic("single", topic, 1, "max.message.bytes=1000", NULL);
  kabi_producer_t *producer = transactional(fresh("tx"));
  static char large[5000];
  memset(large, 'x', sizeof large);
  kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, NULL);
  message.value = large;
  message.value_length = sizeof large;
  begin(producer);
  MUST_OK(kabi_producer_send(producer, &message, WAIT, ERR));
  kabi_status_t status = kabi_producer_transaction_commit(producer, WAIT, ERR);
  CHECK(status != 0);
  CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
  note("commit: %s", last_error()->message);
  kabi_event_t report;
  MUST(drain_reports(producer, &report, 1) == 1);
  CHECK_EQ(KABI_STATUS_MSG_SIZE_TOO_LARGE, report.code);
  abort_it(producer);
  /* The flags lead out: librdkafka counts the lost record's sequence number, so that the broker refuses the next one's, and
     only the abort of that transaction starts the count anew. */
  for (int attempt = 0;; attempt++) {
    begin(producer);
    send_number(producer, topic, 5);
    status = kabi_producer_transaction_commit(producer, WAIT, ERR);
    if (status == KABI_STATUS_OK) break;
    CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
    MUST(attempt < 2);
    abort_it(producer);
  }
  expect(topic, "read_committed", 1, 5);
  kabi_producer_close(producer, WAIT, NULL, NULL);
  kabi_producer_free(producer);
}

/* A second producer with the id takes it over; the first can do nothing more. */
TEST(a_second_producer_fences_the_first_off) {
  const char *topic = fresh("fence"), *id = fresh("tx");
  kabi_producer_t *first = transactional(id);
  begin(first);
  send_number(first, topic, 1);
  MUST_OK(kabi_producer_flush(first, WAIT, NULL, ERR));
  kabi_producer_t *second = transactional(id);
  begin(second);
  send_number(second, topic, 2);
  commit(second);
  GIVES(KABI_STATUS_FENCED, kabi_producer_transaction_commit(first, WAIT, ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  kabi_message_t message = message_of(topic_of(first, topic), 0, NULL, "3"), many[2] = {message, message};
  kabi_status_t statuses[2] = {0, 0};
  size_t accepted = 9;
  GIVES(KABI_STATUS_FENCED, kabi_producer_send(first, &message, 0, ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  GIVES(KABI_STATUS_FENCED, kabi_producer_send_many(first, many, 2, 0, statuses, &accepted, ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  CHECK(accepted == 0 && statuses[0] == KABI_STATUS_FENCED && statuses[1] == KABI_STATUS_FENCED);
  GIVES(KABI_STATUS_FENCED, kabi_producer_transaction_begin(first, ERR));
  GIVES(KABI_STATUS_FENCED, kabi_producer_transaction_abort(first, WAIT, ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  /* The event too, with the code that says what happened. */
  int fatal = 0;
  for (int64_t since = now_ms(); !fatal && now_ms() - since < WAIT;) {
    static uint8_t bytes[4096];
    kabi_event_t event;
    size_t count = 0, used;
    MUST_OK(kabi_producer_drain(first, 1000, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 1 && event.kind == KABI_EVENT_ERROR && (event.flags & KABI_ERROR_FATAL)) {
      CHECK_EQ(KABI_STATUS_FENCED, event.code);
      fatal = 1;
    }
  }
  CHECK(fatal);
  expect(topic, "read_committed", 1, 2);
  int64_t since = now_ms();
  OK(kabi_producer_close(first, WAIT, NULL, ERR));
  CHECK_WITHIN(20000, since); /* it waits for nothing */
  kabi_producer_free(first);
  close_producer(second);
}

/* The last offset that readers of committed records get to moves only once all before is decided. */
TEST(a_close_aborts_what_is_open) {
  const char *topic = fresh("left");
  kabi_producer_t *producer = transactional(fresh("tx")), *other = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  begin(other);
  send_number(other, topic, 2);
  commit(other);
  int64_t since = now_ms();
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  CHECK_WITHIN(20000, since); /* it waits for nothing */
  expect(topic, "read_committed", 1, 2);
  kabi_producer_free(producer);
  close_producer(other);
}

TEST(a_free_aborts_what_is_open_in_the_background) {
  const char *topic = fresh("freed");
  kabi_producer_t *producer = transactional(fresh("tx")), *other = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  begin(other);
  send_number(other, topic, 2);
  commit(other);
  int64_t since = now_ms(), got[4];
  kabi_producer_free(producer);
  CHECK_WITHIN(20000, since);
  while (read_numbers(topic, "read_committed", got, 4) == 0 && now_ms() - since < patience(30000)) unseen(50);
  expect(topic, "read_committed", 1, 2);
  close_producer(other);
}

/* The broker stops answering, for a while. */
static pid_t broker_process(void) {
  char path[1024];
  const char *script = setting("KABI_KAFKA_BROKER"), *folder = strrchr(script, '/');
  MUST(folder != NULL);
  snprintf(path, sizeof path, "%.*s/../../target/kafka/single/1/pid", (int)(folder - script), script);
  FILE *file = fopen(path, "r");
  if (file == NULL) harness_skip("the broker's pid is not where it is expected");
  int pid = 0;
  MUST(fscanf(file, "%d", &pid) == 1 && pid > 1);
  fclose(file);
  return pid;
}

/* How many of its threads still run: a stop reaches them one by one. */
static int running_threads(pid_t pid) {
  char path[64];
  int running = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  MUST(tasks != NULL);
  for (struct dirent *task; (task = readdir(tasks)) != NULL;) {
    char line[512] = "", *state;
    if (task->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)pid, task->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue;
    if (fgets(line, sizeof line, file) != NULL && (state = strrchr(line, ')')) != NULL) running += state[2] != 'T';
    fclose(file);
  }
  closedir(tasks);
  return running;
}

static void answers(pid_t pid, int does) {
  MUST(kill(pid, does ? SIGCONT : SIGSTOP) == 0);
  while (!does && running_threads(pid) > 0) unseen(1);
}

TEST(a_commit_that_timed_out_goes_on) {
  const char *topic = fresh("late");
  pid_t pid = broker_process();
  kabi_producer_t *producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  answers(pid, 0);
  static const int times[] = {0, 300, 0, 300, 1500, 0, 300};
  int64_t late = WAIT; /* the least so: a machine may stand still in any of them */
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    int64_t since = now_ms();
    GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_transaction_commit(producer, times[i], ERR));
    CHECK_EQ(KABI_ERROR_RETRIABLE | KABI_ERROR_OUTCOME_UNKNOWN, last_error()->flags);
    int64_t took = now_ms() - since;
    CHECK(took >= times[i] - 1);
    if (times[i] > 0 && took - times[i] < late) late = took - times[i];
  }
  CHECK(late < patience(150));
  GIVES(KABI_STATUS_CONFLICT, kabi_producer_transaction_abort(producer, 0, ERR));
  CHECK_EQ(KABI_ERROR_RETRIABLE, last_error()->flags);
  GIVES(KABI_STATUS_CONFLICT, kabi_producer_transaction_begin(producer, ERR));
  answers(pid, 1);
  commit(producer);
  expect(topic, "read_committed", 1, 1);
  /* Once more, with nobody there when it succeeds. */
  begin(producer);
  send_number(producer, topic, 2);
  answers(pid, 0);
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_transaction_commit(producer, 100, ERR));
  answers(pid, 1);
  int64_t since = now_ms(), got[4];
  while (read_numbers(topic, "read_committed", got, 4) < 2 && now_ms() - since < patience(30000)) unseen(50);
  GIVES(KABI_STATUS_CONFLICT, kabi_producer_transaction_begin(producer, ERR));
  commit(producer);
  begin(producer);
  abort_it(producer);
  close_producer(producer);
}

TEST(a_close_keeps_its_time_and_finishes_a_commit_that_was_begun) {
  const char *topic = fresh("gone");
  pid_t pid = broker_process();
  kabi_producer_t *producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 1);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  answers(pid, 0);
  int64_t since = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_close(producer, 500, NULL, ERR));
  CHECK_WITHIN(20000, since);
  kabi_producer_free(producer);
  answers(pid, 1);

  producer = transactional(fresh("tx"));
  begin(producer);
  send_number(producer, topic, 2);
  MUST_OK(kabi_producer_flush(producer, WAIT, NULL, ERR));
  answers(pid, 0);
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_transaction_commit(producer, 100, ERR));
  answers(pid, 1);
  OK(kabi_producer_close(producer, WAIT, NULL, ERR));
  kabi_producer_free(producer);
  int64_t got[4];
  since = now_ms();
  while (read_numbers(topic, "read_committed", got, 4) < 1 && now_ms() - since < patience(30000)) unseen(50);
  expect(topic, "read_committed", 1, 2); /* the first was aborted, if late */
}
