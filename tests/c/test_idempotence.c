/* The idempotent producer when it can't know whether a record was written: the answer got lost, or says that it may have been. Each
   record has one report, that it was written, and the producer goes on. Number 0144 of librdkafka's own tests; that nothing is doubled
   can't be asked of the embedded cluster, which takes any sequence number: real_restart.c and real_failover.c do. */
#include "harness.h"

enum { RECORDS = 5, IN_FLIGHT = 5, LATENCY = 750 };

static kabi_cluster_t *cluster;
static uint64_t token, reported;
static int times[64]; /* that each token was reported */

/* Each record in a request of its own, for the cluster's answers are one a request. */
static kabi_producer_t *start(void) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  return new_producer(bootstrap(cluster), "batch.num.messages", "1", "linger.ms", "0", "reconnect.backoff.max.ms", "500", NULL);
}

static void send(kabi_producer_t *producer, size_t count) {
  for (; count > 0; count--) {
    kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "v");
    message.token = token++;
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
}

static void answer(int32_t code, int32_t latency) {
  OK(kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_PRODUCE, code, latency, 1, ERR));
}

/* All records sent so far have one report each, that they are written; no error is fatal. */
static void all_written(kabi_producer_t *producer) {
  static uint8_t bytes[1 << 16];
  kabi_event_t events[64];
  for (int64_t until = now_ms() + patience(30000); reported < token && now_ms() < until;) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, patience(1000), events, 64, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) {
      if (!CHECK(!(events[i].flags & KABI_ERROR_FATAL))) note("%s", (const char *)bytes + events[i].text_offset);
      if (events[i].kind != KABI_EVENT_REPORT) continue;
      CHECK(events[i].code == 0 && events[i].persisted == KABI_PERSISTED_YES);
      MUST(events[i].token < token && events[i].token < 64);
      CHECK_EQ(1, ++times[events[i].token]);
      reported++;
    }
  }
  CHECK_EQ(token, reported);
}

static void end(kabi_producer_t *producer) {
  send(producer, RECORDS);
  all_written(producer); /* it goes on */
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* So many requests to write have arrived; their answers are held back. */
static void await_requests(size_t count) {
  for (int64_t until = now_ms() + patience(20000); requests_of(cluster, 1, KABI_REQUEST_PRODUCE) < count;) {
    MUST(now_ms() < until);
    unseen(5);
  }
}

/* `lost` records are written, but their answers are cut off with the connection. When they are sent again the broker is short of
   replicas first, which makes those behind it out of order. */
static void answers_get_lost(size_t lost) {
  kabi_producer_t *producer = start();
  send(producer, RECORDS);
  all_written(producer);
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  for (size_t i = 0; i < lost; i++) answer(0, LATENCY);
  answer(KABI_STATUS_NOT_ENOUGH_REPLICAS, LATENCY);
  for (int i = 1; i < IN_FLIGHT; i++) answer(KABI_STATUS_OUT_OF_ORDER_SEQUENCE_NUMBER, 1);
  send(producer, lost);
  await_requests(lost);
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  send(producer, IN_FLIGHT - lost);
  OK(kabi_cluster_broker_up(cluster, 1, ERR));
  all_written(producer);
  end(producer);
}

TEST(one_answer_gets_lost) { answers_get_lost(1); }
TEST(some_answers_get_lost) { answers_get_lost(3); }
TEST(all_answers_get_lost) { answers_get_lost(IN_FLIGHT); }

/* The broker knows the record already when it is sent again. */
TEST(a_record_that_the_broker_has_already_is_written) {
  kabi_producer_t *producer = start();
  send(producer, RECORDS);
  all_written(producer);
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  answer(0, LATENCY);
  answer(KABI_STATUS_DUPLICATE_SEQUENCE_NUMBER, 0);
  send(producer, 1);
  await_requests(1);
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  OK(kabi_cluster_broker_up(cluster, 1, ERR));
  all_written(producer);
  end(producer);
}

/* Written, though not to enough replicas: it is sent again, or the ones behind it say that it is there. */
TEST(a_record_written_to_too_few_replicas_is_written) {
  kabi_producer_t *producer = start();
  answer(KABI_STATUS_NOT_ENOUGH_REPLICAS_AFTER_APPEND, 0);
  send(producer, RECORDS);
  all_written(producer);
  end(producer);
}
