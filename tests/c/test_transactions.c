/* Transactions as the embedded cluster has them: states, waits that end early, time-outs, ends. It takes an abort for a
   commit, so what is seen of transactions is tested on a real broker, in real_transactions.c. */
#include "harness.h"

enum { WAIT = 20000, INIT_PRODUCER_ID = 22, END_TXN = 26 };

static kabi_cluster_t *cluster;

static void start(void) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
}

static kabi_producer_t *untouched(void) { return new_producer(bootstrap(cluster), "transactional.id", "tx", "linger.ms", "0", NULL); }

static kabi_producer_t *ready(void) {
  kabi_producer_t *producer = untouched();
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  return producer;
}

static void begin(kabi_producer_t *producer) { MUST_OK(kabi_producer_transaction_begin(producer, ERR)); }

static void send(kabi_producer_t *producer) {
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0");
  MUST_OK(kabi_producer_send(producer, &message, patience(WAIT), ERR));
}

static void end(kabi_producer_t *producer) {
  OK(kabi_producer_close(producer, patience(WAIT), NULL, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

static int says(const char *part) {
  if (has(last_error()->message, part)) return 1;
  note("the message is: %s", last_error()->message);
  return 0;
}

TEST(calls_in_the_wrong_state_say_which_it_is) {
  start();
  kabi_producer_t *producer = untouched();
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0"), many[3] = {message, message, message};
  kabi_status_t statuses[3];
  size_t accepted = 9;
  GIVES(KABI_STATUS_STATE, kabi_producer_transaction_begin(producer, ERR));
  CHECK(says("Init"));
  GIVES(KABI_STATUS_STATE, kabi_producer_send(producer, &message, 0, ERR));
  CHECK(says("begin one"));
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  CHECK(says("Ready"));
  GIVES(KABI_STATUS_STATE, kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  kabi_partition_t one = partition_of(topic_of(producer, "t"), 0, 1);
  GIVES(KABI_STATUS_STATE, kabi_producer_transaction_offsets_group(producer, "g", &one, 1, patience(WAIT), ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_send_many(producer, many, 3, 0, statuses, &accepted, ERR));
  CHECK(says("begin one"));
  CHECK_EQ(0, accepted);
  for (int i = 0; i < 3; i++) CHECK_EQ(KABI_STATUS_STATE, statuses[i]);
  begin(producer);
  GIVES(KABI_STATUS_STATE, kabi_producer_transaction_begin(producer, ERR));
  CHECK(says("InTransaction"));
  OK(kabi_producer_send_many(producer, many, 3, 0, statuses, &accepted, ERR));
  OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_send(producer, &message, 0, ERR));
  end(producer);
}

TEST(a_producer_without_an_id_has_no_transactions) {
  start();
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "t"), 0, 1);
  GIVES(KABI_STATUS_NOT_CONFIGURED, kabi_producer_transactions_init(producer, 0, ERR));
  CHECK(says("transactional.id"));
  GIVES(KABI_STATUS_NOT_CONFIGURED, kabi_producer_transaction_begin(producer, ERR));
  GIVES(KABI_STATUS_NOT_CONFIGURED, kabi_producer_transaction_commit(producer, 0, ERR));
  GIVES(KABI_STATUS_NOT_CONFIGURED, kabi_producer_transaction_abort(producer, 0, ERR));
  GIVES(KABI_STATUS_NOT_CONFIGURED, kabi_producer_transaction_offsets(producer, consumer, &one, 1, 0, ERR));
  GIVES(KABI_STATUS_WRONG_TYPE, kabi_producer_transaction_offsets(producer, (kabi_consumer_t *)producer, &one, 1, 0, ERR));
  GIVES(KABI_STATUS_HANDLE, kabi_producer_transaction_offsets(producer, NULL, &one, 1, 0, ERR));
  kabi_producer_t *with = ready();
  begin(with);
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_producer_transaction_offsets(with, consumer, &one, 1, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_transaction_commit(with, -2, ERR));
  close_consumer(consumer);
  GIVES(KABI_STATUS_HANDLE, kabi_producer_transaction_offsets(with, consumer, &one, 1, 0, ERR));
  close_producer(producer);
  end(with);
}

TEST(nobody_has_to_drain) {
  start();
  kabi_producer_t *producer = ready();
  int rounds = scaled(50, 10);
  int64_t since = now_ms();
  for (int i = 0; i < rounds; i++) {
    begin(producer);
    for (int n = 0; n < 20; n++) send(producer);
    if (i % 3 == 2) OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
    else OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  }
  CHECK(now_ms() - since < rounds * patience(50)); /* no steps of 100 ms */
  static kabi_event_t reports[2000];
  CHECK_EQ(rounds * 20, drain_reports(producer, reports, (size_t)rounds * 20));
  end(producer);
}

/* A wait ends, what it waited for goes on, and the same call tells the outcome. */
typedef struct waiting_t {
  kabi_producer_t *producer;
  kabi_status_t (*call)(kabi_producer_t *, int32_t, kabi_error_t *);
  kabi_status_t status;
  uint32_t flags;
  int done;
} waiting_t;

static void *wait_aside(void *user) {
  waiting_t *waiting = (waiting_t *)user;
  kabi_error_t error = KABI_ERROR_INIT;
  waiting->status = waiting->call(waiting->producer, -1, &error);
  waiting->flags = error.flags;
  __atomic_store_n(&waiting->done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

static void check_wake(kabi_producer_t *producer, kabi_status_t (*call)(kabi_producer_t *, int32_t, kabi_error_t *)) {
  waiting_t waiting = {producer, call, 0, 0, 0};
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, wait_aside, &waiting) == 0);
  unseen(100); /* let it wait */
  CHECK(!__atomic_load_n(&waiting.done, __ATOMIC_SEQ_CST));
  GIVES(KABI_STATUS_PREV_IN_PROGRESS, call(producer, 0, ERR));
  int64_t since = now_ms();
  OK(kabi_producer_wake(producer, ERR));
  pthread_join(thread, NULL);
  CHECK_WITHIN(100, since);
  CHECK_EQ(KABI_STATUS_INTERRUPTED, waiting.status);
  CHECK(waiting.flags & KABI_ERROR_RETRIABLE);
}

TEST(a_wake_ends_the_wait_and_the_same_call_goes_on) {
  start();
  kabi_producer_t *producer = untouched();
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  check_wake(producer, kabi_producer_transactions_init);
  GIVES(KABI_STATUS_CONFLICT, kabi_producer_transaction_begin(producer, ERR));
  OK(kabi_cluster_broker_up(cluster, 1, ERR));
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  for (int round = 0; round < 2; round++) {
    begin(producer);
    send(producer);
    MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
    OK(kabi_cluster_broker_down(cluster, 1, ERR));
    check_wake(producer, round == 0 ? kabi_producer_transaction_commit : kabi_producer_transaction_abort);
    OK(kabi_cluster_broker_up(cluster, 1, ERR));
    if (round == 0) OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
    else OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  }
  end(producer);
}

TEST(time_outs_are_kept_and_the_call_can_be_repeated) {
  start();
  kabi_producer_t *producer = untouched();
  static const int times[] = {0, 50, 400, 1200};
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  for (int i = 0; i < 4; i++) {
    int64_t since = now_ms();
    GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_transactions_init(producer, times[i], ERR));
    CHECK(last_error()->flags & KABI_ERROR_RETRIABLE);
    CHECK(now_ms() - since >= times[i] - 1);
    CHECK_WITHIN(times[i] + 200, since);
  }
  OK(kabi_cluster_broker_up(cluster, 1, ERR));
  MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  begin(producer);
  send(producer);
  MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  for (int i = 0; i < 4; i++) {
    int64_t since = now_ms();
    GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_transaction_commit(producer, times[i], ERR));
    CHECK_WITHIN(times[i] + 200, since);
  }
  OK(kabi_cluster_broker_up(cluster, 1, ERR));
  OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  end(producer);
}

TEST(a_close_ends_waits_and_keeps_its_time) {
  start();
  kabi_producer_t *producer = ready();
  begin(producer);
  send(producer);
  MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  waiting_t waiting = {producer, kabi_producer_transaction_commit, 0, 0, 0};
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, wait_aside, &waiting) == 0);
  unseen(100);
  int64_t since = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_producer_close(producer, 500, NULL, ERR));
  CHECK_WITHIN(900, since);
  pthread_join(thread, NULL);
  CHECK_EQ(KABI_STATUS_CLOSED, waiting.status);
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(a_free_with_an_open_transaction_does_not_block) {
  start();
  for (int down = 0; down < 2; down++) {
    kabi_producer_t *producer = new_producer(bootstrap(cluster), "transactional.id", "free", "transaction.timeout.ms", "2000", NULL);
    MUST_OK(kabi_producer_transactions_init(producer, patience(WAIT), ERR));
    begin(producer);
    send(producer);
    MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
    if (down) OK(kabi_cluster_broker_down(cluster, 1, ERR));
    int64_t since = now_ms();
    kabi_producer_free(producer);
    CHECK_WITHIN(100, since);
    since = now_ms();
    OK(kabi_shutdown(patience(WAIT), ERR)); /* all of it has ended */
    CHECK_WITHIN(10000, since);
    if (!down) start();
  }
}

/* A refusal that no repeating helps against is fatal, with its own code, in the call and as an event. */
TEST(a_fatal_error_has_its_own_code) {
  start();
  kabi_producer_t *producer = untouched();
  OK(kabi_cluster_inject_errors(cluster, INIT_PRODUCER_ID, KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 1, ERR));
  GIVES(KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, kabi_producer_transactions_init(producer, patience(WAIT), ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0");
  GIVES(KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, kabi_producer_send(producer, &message, 0, ERR));
  CHECK_EQ(KABI_ERROR_FATAL, last_error()->flags);
  int seen = 0;
  for (int64_t since = now_ms(); !seen && now_ms() - since < patience(WAIT);) {
    static uint8_t bytes[4096];
    kabi_event_t event;
    size_t count = 0, used;
    MUST_OK(kabi_producer_drain(producer, 1000, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 0 || event.kind != KABI_EVENT_ERROR || !(event.flags & KABI_ERROR_FATAL)) continue;
    CHECK_EQ(KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, event.code);
    seen = 1;
  }
  CHECK(seen);
  end(producer);
}

TEST(an_error_that_asks_for_an_abort_leads_to_one) {
  start();
  kabi_producer_t *producer = ready();
  begin(producer);
  send(producer);
  MUST_OK(kabi_producer_flush(producer, patience(WAIT), NULL, ERR));
  OK(kabi_cluster_inject_errors(cluster, END_TXN, KABI_STATUS_INVALID_PRODUCER_ID_MAPPING, 1, ERR));
  GIVES(KABI_STATUS_INVALID_PRODUCER_ID_MAPPING, kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "0");
  GIVES(KABI_STATUS_STATE, kabi_producer_send(producer, &message, 0, ERR));
  CHECK_EQ(KABI_ERROR_ABORT_REQUIRED, last_error()->flags);
  OK(kabi_producer_transaction_abort(producer, patience(WAIT), ERR));
  begin(producer);
  send(producer);
  OK(kabi_producer_transaction_commit(producer, patience(WAIT), ERR));
  end(producer);
}

/* Many threads call all of it at random: each call ends, and none breaks anything. */
static void *at_random(void *user) {
  kabi_producer_t *producer = (kabi_producer_t *)user;
  unsigned seed = (unsigned)(uintptr_t)&seed;
  for (int i = 0; i < scaled(300, 60); i++) {
    kabi_message_t message = message_of(0, 0, NULL, "0");
    kabi_partition_t one = partition_of(0, 0, i);
    switch (rand_r(&seed) % 7) {
      case 0: kabi_producer_transaction_begin(producer, NULL); break;
      case 1: kabi_producer_transaction_commit(producer, rand_r(&seed) % 20, NULL); break;
      case 2: kabi_producer_transaction_abort(producer, rand_r(&seed) % 20, NULL); break;
      case 3: kabi_producer_transaction_offsets_group(producer, "g", &one, 1, rand_r(&seed) % 20, NULL); break;
      case 4: kabi_producer_wake(producer, NULL); break;
      default: kabi_producer_send(producer, &message, 1, NULL); break;
    }
  }
  return NULL;
}

TEST(threads_call_at_random) {
  start();
  kabi_producer_t *producer = ready();
  topic_of(producer, "t");
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) MUST(pthread_create(&threads[i], NULL, at_random, producer) == 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  kabi_producer_close(producer, patience(WAIT), NULL, NULL);
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}
