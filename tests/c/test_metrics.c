/* Figures on demand: librdkafka's latest statistics and counters of our own. */
#include "harness.h"

static char text[1 << 20];

static const char *producer_metrics(kabi_producer_t *producer) {
  size_t length = 0;
  MUST_OK(kabi_producer_metrics(producer, text, sizeof text, &length, ERR));
  CHECK_EQ(strlen(text), length);
  CHECK(is_json(text));
  return text;
}

/* The number (or -1 for null) after "name": in the document. */
static int64_t figure(const char *document, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", name);
  const char *at = strstr(document, key);
  MUST(at != NULL);
  at += strlen(key);
  return strncmp(at, "null", 4) == 0 ? -1 : strtoll(at, NULL, 10);
}

TEST(counters_follow_what_happens) {
  enum { COUNT = 100 };
  static kabi_event_t reports[COUNT];
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "kafkabi.events.max", "1000", NULL);
  const char *document = producer_metrics(producer);
  CHECK(has(document, "\"client\":\"producer\""));
  CHECK(has(document, "\"librdkafka\":null")); /* no statistics.interval.ms */
  static const char *const zero[] = {"accepted", "delivered", "failed", "drained", "errors", "channel_depth"};
  for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++) CHECK_EQ(0, figure(document, zero[i]));
  CHECK_EQ(1000, figure(document, "slots"));
  CHECK_EQ(1000, figure(document, "slots_free"));
  CHECK_EQ(2, figure(document, "handles_alive")); /* the cluster too */

  kabi_message_t many[COUNT / 2];
  size_t accepted = 0;
  for (int i = 0; i < COUNT / 2; i++) {
    many[i] = message_of(topic_of(producer, "t"), 0, NULL, "v");
    MUST_OK(kabi_producer_send(producer, &many[i], patience(10000), ERR));
  }
  many[7].partition = -7; /* not accepted, not counted */
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_many(producer, many, COUNT / 2, patience(10000), NULL, &accepted, ERR));
  CHECK_EQ(COUNT / 2 - 1, accepted);
  MUST_OK(kabi_producer_flush(producer, patience(10000), NULL, ERR));
  document = producer_metrics(producer);
  CHECK_EQ(COUNT - 1, figure(document, "accepted"));
  CHECK_EQ(COUNT - 1, figure(document, "delivered"));
  CHECK_EQ(0, figure(document, "failed"));
  CHECK_EQ(0, figure(document, "drained"));
  CHECK(figure(document, "channel_depth") > 0);
  CHECK_EQ(1000 - COUNT + 1, figure(document, "slots_free"));
  MUST(drain_reports(producer, reports, COUNT - 1) == COUNT - 1);
  document = producer_metrics(producer);
  CHECK(figure(document, "drained") >= COUNT - 1);
  CHECK_EQ(0, figure(document, "channel_depth"));
  CHECK_EQ(1000, figure(document, "slots_free"));

  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "v");
  MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  OK(kabi_producer_purge(producer, KABI_PURGE_QUEUED | KABI_PURGE_IN_FLIGHT, ERR));
  MUST(drain_reports(producer, reports, 1) == 1);
  CHECK_EQ(1, figure(producer_metrics(producer), "failed"));
  kabi_producer_close(producer, patience(5000), NULL, NULL);
  GIVES(KABI_STATUS_CLOSED, kabi_producer_metrics(producer, text, sizeof text, &accepted, ERR));
  kabi_producer_free(producer);
  kabi_cluster_free(cluster);
}

TEST(without_reports_nobody_tells_of_success) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  OK(kabi_config_events(config, KABI_EVENT_ERROR, ERR));
  kabi_producer_t *producer = producer_from(config);
  kabi_message_t message = message_of(topic_of(producer, "t"), 0, NULL, "v");
  MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  MUST_OK(kabi_producer_flush(producer, patience(10000), NULL, ERR));
  CHECK_EQ(1, figure(producer_metrics(producer), "accepted"));
  CHECK_EQ(-1, figure(text, "delivered"));
  close_producer(producer);
  kabi_cluster_free(cluster);
}

/* librdkafka makes statistics by the clock only; the latest are kept, whether the program drains events of them or wants none. */
TEST(the_latest_statistics_are_in_the_document) {
  kabi_cluster_t *cluster = new_cluster(1);
  for (int wanted = 0; wanted < 2; wanted++) {
    kabi_config_t *config = new_config(bootstrap(cluster), "statistics.interval.ms", "50", "client.id", "measured", NULL);
    OK(kabi_config_events(config, wanted ? KABI_EVENT_STATISTICS : KABI_EVENT_ERROR, ERR));
    kabi_producer_t *producer = producer_from(config);
    int64_t since = now_ms();
    while (has(producer_metrics(producer), "\"librdkafka\":null") && now_ms() - since < patience(5000)) unseen(10);
    CHECK(has(text, "\"librdkafka\":{"));
    CHECK(has(text, "\"client_id\":") && has(text, "measured"));
    int64_t first = figure(strstr(text, "\"librdkafka\""), "ts");
    since = now_ms();
    while (figure(strstr(producer_metrics(producer), "\"librdkafka\""), "ts") == first && now_ms() - since < patience(5000)) unseen(10);
    CHECK(figure(strstr(text, "\"librdkafka\""), "ts") > first);
    close_producer(producer);
  }
  kabi_cluster_free(cluster);
}

TEST(a_consumers_document_counts_batches) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, NULL);
  size_t length = 0;
  assign(consumer, "t", 0, KABI_OFFSET_BEGINNING);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 5, &batch, &info);
  MUST_OK(kabi_consumer_metrics(consumer, text, sizeof text, &length, ERR));
  CHECK(is_json(text) && has(text, "\"client\":\"consumer\""));
  CHECK_EQ(1, figure(text, "batches_alive"));
  CHECK_EQ(3, figure(text, "handles_alive"));
  CHECK(!has(text, "\"records\""));
  kabi_batch_free(batch);
  MUST_OK(kabi_consumer_metrics(consumer, text, sizeof text, &length, ERR));
  CHECK_EQ(0, figure(text, "batches_alive"));
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_metrics(consumer, text, 10, &length, ERR));
  CHECK(length > 100);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_consumer_metrics(consumer, NULL, 0, &length, ERR));
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}
