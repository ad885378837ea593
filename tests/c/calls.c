#include "calls.h"
#include "admins.h"

/* Of the newest world. */
static int32_t producer_topic, consumer_topic;
static kabi_record_t first_record;
static uint64_t batch_number;

int32_t calls_timeout = 10000;

/* Memory that outputs go to: their content is looked at by other tests. */
static char text[1 << 20];
static uint8_t bytes[1 << 18];
static size_t length, count, used;
static kabi_event_t events[16];
static int32_t number;
static uint64_t total;
static kabi_batch_info_t info;
static kabi_status_t statuses[4];
static kabi_message_t message;
static kabi_partition_t one;
static kabi_header_t headers[4];
static union { uint64_t align[512]; uint8_t bytes[4096]; } packed;

static kabi_consumer_t *a_consumer;
/* For a call that this world's clients refuse, and for this reason only. */
static kabi_status_t refused(kabi_status_t want, kabi_status_t got, kabi_error_t *error) {
  if (got != want) return got;
  if (error != NULL && error->size == sizeof *error) error->code = 0;
  return 0;
}

#define OR_NULL(n, pointer) (null == (n) ? NULL : (pointer))
#define CALL(name) static kabi_status_t call_##name(void *handle, int null, kabi_error_t *error)
#define UNUSED ((void)handle, (void)null, (void)error)

static kabi_partition_t *partition(int64_t offset) {
  one = partition_of(consumer_topic, 0, offset);
  return &one;
}

static int32_t on_event(const kabi_event_t *event, size_t n, const uint8_t *data, void *user) {
  (void)event, (void)n, (void)data, (void)user;
  return 0;
}

/* ---- without a handle ---- */
CALL(abi_version) { UNUSED; return kabi_abi_version() == KABI_ABI_VERSION ? 0 : -1; }
CALL(version) { UNUSED; return kabi_version() != NULL ? 0 : -1; }
CALL(librdkafka_version) { UNUSED; return kabi_librdkafka_version() != NULL ? 0 : -1; }
CALL(error_name) { UNUSED; return kabi_error_name(-185) != NULL ? 0 : -1; }
CALL(error_text) { UNUSED; return kabi_error_text(-185) != NULL ? 0 : -1; }
CALL(abi_check) {
  UNUSED;
  static const uint32_t sizes[8] = {sizeof(kabi_batch_info_t), sizeof(kabi_error_t), sizeof(kabi_event_t), sizeof(kabi_header_t),
                                    sizeof(kabi_message_t), sizeof(kabi_packed_t), sizeof(kabi_partition_t), sizeof(kabi_record_t)};
  return kabi_abi_check(KABI_ABI_VERSION, (const uint32_t *)OR_NULL(1, sizes), 8, error);
}
CALL(config_describe) { UNUSED; return kabi_config_describe(text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(config_new) {
  UNUSED;
  kabi_config_t *made = NULL;
  kabi_status_t status = kabi_config_new((kabi_config_t **)OR_NULL(1, &made), error);
  kabi_config_free(made);
  return status;
}
CALL(cluster_new) {
  UNUSED;
  kabi_cluster_t *made = NULL;
  kabi_status_t status = kabi_cluster_new(1, (kabi_cluster_t **)OR_NULL(1, &made), error);
  kabi_cluster_free(made);
  return status;
}

/* ---- config ---- */
#define CONFIG ((kabi_config_t *)handle)
CALL(config_set) { return kabi_config_set(CONFIG, (const char *)OR_NULL(1, "client.id"), (const char *)OR_NULL(2, "calls"), error); }
CALL(config_get) { return kabi_config_get(CONFIG, (const char *)OR_NULL(1, "client.id"), text, sizeof text, (size_t *)OR_NULL(2, &length), error); }
CALL(config_unset) { return kabi_config_unset(CONFIG, (const char *)OR_NULL(1, "client.id"), error); }
CALL(config_dump) { return kabi_config_dump(CONFIG, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(config_events) { (void)null; return kabi_config_events(CONFIG, KABI_EVENT_DEFAULT, error); }
CALL(config_handler) { (void)null; return kabi_config_handler(CONFIG, KABI_EVENT_REPORT, on_event, NULL, NULL, error); }
CALL(producer_new) {
  kabi_producer_t *made = NULL;
  kabi_status_t status = kabi_producer_new(CONFIG, (kabi_producer_t **)OR_NULL(1, &made), error);
  kabi_producer_free(made);
  return status;
}
CALL(consumer_new) {
  kabi_consumer_t *made = NULL;
  kabi_status_t status = kabi_consumer_new(CONFIG, (kabi_consumer_t **)OR_NULL(1, &made), error);
  kabi_consumer_free(made);
  return status;
}
CALL(admin_new) {
  kabi_admin_t *made = NULL;
  kabi_status_t status = kabi_admin_new(CONFIG, (kabi_admin_t **)OR_NULL(1, &made), error);
  kabi_admin_free(made);
  return status;
}
CALL(config_free) { (void)null, (void)error; kabi_config_free(CONFIG); return 0; }

/* ---- producer ---- */
#define PRODUCER ((kabi_producer_t *)handle)
static const kabi_message_t *a_message(void) {
  message = message_of(producer_topic, 0, "key", "7");
  return &message;
}
static const void *a_packed(void) {
  kabi_packed_t head;
  memset(&head, 0, sizeof head);
  head.size = 72;
  head.header_size = 64;
  head.topic = producer_topic;
  head.key_length = -1;
  head.value_length = 1;
  memcpy(packed.bytes, &head, sizeof head);
  memset(packed.bytes + 64, 0, 8);
  packed.bytes[64] = '7';
  return packed.bytes;
}
CALL(producer_topic) { return kabi_producer_topic(PRODUCER, (const char *)OR_NULL(1, "calls"), (int32_t *)OR_NULL(2, &number), error); }
CALL(producer_topic_name) { return kabi_producer_topic_name(PRODUCER, producer_topic, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(producer_send) { return kabi_producer_send(PRODUCER, (const kabi_message_t *)OR_NULL(1, a_message()), calls_timeout, error); }
CALL(producer_send_many) { return kabi_producer_send_many(PRODUCER, (const kabi_message_t *)OR_NULL(1, a_message()), 1, calls_timeout, statuses, &count, error); }
CALL(producer_send_packed) {
  return kabi_producer_send_packed(PRODUCER, OR_NULL(1, a_packed()), 72, 1, KABI_TOPIC_RECORD, KABI_PARTITION_RECORD, calls_timeout, statuses, &count, error);
}
CALL(producer_flush) { (void)null; return kabi_producer_flush(PRODUCER, calls_timeout, &total, error); }
CALL(producer_purge) { (void)null; return kabi_producer_purge(PRODUCER, KABI_PURGE_QUEUED, error); }
CALL(producer_poll) { (void)null; return kabi_producer_poll(PRODUCER, 0, &count, error); }
CALL(producer_drain) {
  return kabi_producer_drain(PRODUCER, 0, (kabi_event_t *)OR_NULL(1, events), 16, (size_t *)OR_NULL(2, &count), bytes, sizeof bytes, &used, error);
}
CALL(producer_event_fd) { return kabi_producer_event_fd(PRODUCER, (int32_t *)OR_NULL(1, &number), error); }
CALL(producer_wake) { (void)null; return kabi_producer_wake(PRODUCER, error); }
#define OUTSIDE(call) return refused(KABI_STATUS_NOT_CONFIGURED, call, error) /* it has no transactional.id */
CALL(producer_transactions_init) { (void)null; OUTSIDE(kabi_producer_transactions_init(PRODUCER, 0, error)); }
CALL(producer_transaction_begin) { (void)null; OUTSIDE(kabi_producer_transaction_begin(PRODUCER, error)); }
CALL(producer_transaction_offsets) {
  OUTSIDE(kabi_producer_transaction_offsets(PRODUCER, a_consumer, (const kabi_partition_t *)OR_NULL(1, partition(0)), 1, 0, error));
}
CALL(producer_transaction_offsets_metadata) {
  OUTSIDE(kabi_producer_transaction_offsets_metadata(PRODUCER, (const uint8_t *)OR_NULL(1, bytes), 9, (const kabi_partition_t *)OR_NULL(2, partition(0)), 1, 0, error));
}
CALL(producer_transaction_offsets_group) {
  OUTSIDE(kabi_producer_transaction_offsets_group(PRODUCER, (const char *)OR_NULL(1, "group"), (const kabi_partition_t *)OR_NULL(2, partition(0)), 1, 0, error));
}
CALL(producer_transaction_commit) { (void)null; OUTSIDE(kabi_producer_transaction_commit(PRODUCER, 0, error)); }
CALL(producer_transaction_abort) { (void)null; OUTSIDE(kabi_producer_transaction_abort(PRODUCER, 0, error)); }
#define TOKENLESS(call) return refused(KABI_STATUS_STATE, call, error) /* it has no SASL */
CALL(producer_token_set) {
  TOKENLESS(kabi_producer_token_set(PRODUCER, (const char *)OR_NULL(1, "token"), INT64_MAX, (const char *)OR_NULL(2, "me"), NULL, error));
}
CALL(producer_credentials_set) {
  TOKENLESS(kabi_producer_credentials_set(PRODUCER, (const char *)OR_NULL(1, "me"), (const char *)OR_NULL(2, "secret"), error));
}
CALL(producer_token_failure) { TOKENLESS(kabi_producer_token_failure(PRODUCER, (const char *)OR_NULL(1, "why"), error)); }
CALL(producer_metrics) { return kabi_producer_metrics(PRODUCER, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(admin_of_producer) {
  kabi_admin_t *made = NULL;
  kabi_status_t status = kabi_admin_of_producer(PRODUCER, (kabi_admin_t **)OR_NULL(1, &made), error);
  kabi_admin_free(made);
  return status;
}
CALL(producer_close) { (void)null; return kabi_producer_close(PRODUCER, calls_timeout, &total, error); }
CALL(producer_free) { (void)null, (void)error; kabi_producer_free(PRODUCER); return 0; }

/* ---- consumer ---- */
#define CONSUMER ((kabi_consumer_t *)handle)
CALL(consumer_topic) { return kabi_consumer_topic(CONSUMER, (const char *)OR_NULL(1, "calls"), (int32_t *)OR_NULL(2, &number), error); }
CALL(consumer_topic_name) { return kabi_consumer_topic_name(CONSUMER, consumer_topic, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(consumer_subscribe) {
  const char *topics[1] = {"calls"};
  kabi_consumer_assign(CONSUMER, NULL, 0, NULL); /* what is assigned by hand stands in the way */
  return kabi_consumer_subscribe(CONSUMER, (const char *const *)OR_NULL(1, topics), 1, error);
}
CALL(consumer_unsubscribe) { (void)null; return kabi_consumer_unsubscribe(CONSUMER, error); }
CALL(consumer_assign) { return kabi_consumer_assign(CONSUMER, (const kabi_partition_t *)OR_NULL(1, partition(0)), 1, error); }
CALL(consumer_assignment) {
  static kabi_partition_t list[4];
  return kabi_consumer_assignment(CONSUMER, (kabi_partition_t *)OR_NULL(1, list), 4, (size_t *)OR_NULL(2, &count), error);
}
CALL(consumer_poll) {
  kabi_batch_t *batch = NULL;
  kabi_status_t status = kabi_consumer_poll(CONSUMER, 1, 0, (kabi_batch_t **)OR_NULL(1, &batch), (kabi_batch_info_t *)OR_NULL(2, &info), error);
  kabi_batch_free(batch);
  return status;
}
CALL(consumer_poll_packed) {
  return kabi_consumer_poll_packed(CONSUMER, 1, 0, OR_NULL(1, packed.bytes), sizeof packed.bytes, (kabi_batch_info_t *)OR_NULL(2, &info), error);
}
CALL(consumer_handled) { (void)null; return kabi_consumer_handled(CONSUMER, batch_number, 1, error); }
CALL(consumer_commit) { return kabi_consumer_commit(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(1)), 1, calls_timeout, error); }
CALL(consumer_commit_record) { return kabi_consumer_commit_record(CONSUMER, (const kabi_record_t *)OR_NULL(1, &first_record), calls_timeout, error); }
CALL(consumer_seek) { return kabi_consumer_seek(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), 1, calls_timeout, error); }
/* Partition 1 is for these two; the other calls use partition 0, which stays assigned. */
static kabi_partition_t *other_partition(void) {
  one = partition_of(consumer_topic, 1, 0);
  return &one;
}
CALL(consumer_incremental_assign) {
  return kabi_consumer_incremental_assign(CONSUMER, (const kabi_partition_t *)OR_NULL(1, other_partition()), 1, error);
}
CALL(consumer_incremental_unassign) {
  return kabi_consumer_incremental_unassign(CONSUMER, (const kabi_partition_t *)OR_NULL(1, other_partition()), 1, error);
}
CALL(consumer_pause) { return kabi_consumer_pause(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), 1, error); }
CALL(consumer_resume) { return kabi_consumer_resume(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), 1, error); }
CALL(consumer_paused) {
  static kabi_partition_t list[4];
  return kabi_consumer_paused(CONSUMER, (kabi_partition_t *)OR_NULL(1, list), 4, (size_t *)OR_NULL(2, &count), error);
}
CALL(consumer_assignment_pending) {
  static kabi_partition_t list[4];
  return kabi_consumer_assignment_pending(CONSUMER, (int32_t *)OR_NULL(1, &number), (kabi_partition_t *)OR_NULL(2, list), 4, (size_t *)OR_NULL(3, &count),
                                          error);
}
CALL(consumer_assignment_apply) {
  return kabi_consumer_assignment_apply(CONSUMER, (const kabi_partition_t *)OR_NULL(1, partition(0)), 1, error);
}
CALL(consumer_subscription) { return kabi_consumer_subscription(CONSUMER, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(consumer_member_id) { return kabi_consumer_member_id(CONSUMER, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(consumer_rebalance_protocol) {
  return kabi_consumer_rebalance_protocol(CONSUMER, text, sizeof text, (size_t *)OR_NULL(1, &length), error);
}
CALL(consumer_group_generation) { return kabi_consumer_group_generation(CONSUMER, (int32_t *)OR_NULL(1, &number), error); }
CALL(consumer_group_metadata) { return kabi_consumer_group_metadata(CONSUMER, bytes, sizeof bytes, (size_t *)OR_NULL(1, &length), error); }
CALL(consumer_store) { return kabi_consumer_store(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(1)), 1, error); }
CALL(consumer_commit_async) {
  static uint64_t commit_number;
  return kabi_consumer_commit_async(CONSUMER, (const kabi_partition_t *)OR_NULL(1, partition(1)), 1, (uint64_t *)OR_NULL(2, &commit_number), error);
}
CALL(consumer_offsets_for_times) {
  return kabi_consumer_offsets_for_times(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(1)), 1, calls_timeout, error);
}
CALL(consumer_seek_to_times) {
  return kabi_consumer_seek_to_times(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(1)), 1, calls_timeout, error);
}
static int64_t low_offset, high_offset;
CALL(consumer_watermarks) {
  return kabi_consumer_watermarks(CONSUMER, consumer_topic, 0, calls_timeout, (int64_t *)OR_NULL(1, &low_offset), (int64_t *)OR_NULL(2, &high_offset),
                                  error);
}
CALL(consumer_watermarks_cached) {
  return kabi_consumer_watermarks_cached(CONSUMER, consumer_topic, 0, (int64_t *)OR_NULL(1, &low_offset), (int64_t *)OR_NULL(2, &high_offset), error);
}
CALL(consumer_lag) {
  return kabi_consumer_lag(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), (int64_t *)OR_NULL(2, &low_offset), 1, calls_timeout, error);
}
CALL(consumer_position) { return kabi_consumer_position(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), 1, error); }
CALL(consumer_committed) {
  return kabi_consumer_committed(CONSUMER, (kabi_partition_t *)OR_NULL(1, partition(0)), 1, calls_timeout, bytes, sizeof bytes, &used, error);
}
CALL(consumer_serve) { (void)null; return kabi_consumer_serve(CONSUMER, 0, &count, error); }
CALL(consumer_drain) {
  return kabi_consumer_drain(CONSUMER, 0, (kabi_event_t *)OR_NULL(1, events), 16, (size_t *)OR_NULL(2, &count), bytes, sizeof bytes, &used, error);
}
CALL(consumer_event_fd) { return kabi_consumer_event_fd(CONSUMER, (int32_t *)OR_NULL(1, &number), error); }
CALL(consumer_wake) { (void)null; return kabi_consumer_wake(CONSUMER, error); }
CALL(consumer_token_set) {
  TOKENLESS(kabi_consumer_token_set(CONSUMER, (const char *)OR_NULL(1, "token"), INT64_MAX, (const char *)OR_NULL(2, "me"), NULL, error));
}
CALL(consumer_credentials_set) {
  TOKENLESS(kabi_consumer_credentials_set(CONSUMER, (const char *)OR_NULL(1, "me"), (const char *)OR_NULL(2, "secret"), error));
}
CALL(consumer_token_failure) { TOKENLESS(kabi_consumer_token_failure(CONSUMER, (const char *)OR_NULL(1, "why"), error)); }
CALL(consumer_metrics) { return kabi_consumer_metrics(CONSUMER, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(admin_of_consumer) {
  kabi_admin_t *made = NULL;
  kabi_status_t status = kabi_admin_of_consumer(CONSUMER, (kabi_admin_t **)OR_NULL(1, &made), error);
  kabi_admin_free(made);
  return status;
}
CALL(consumer_close) { (void)null; return kabi_consumer_close(CONSUMER, calls_timeout, error); }
CALL(consumer_free) { (void)null, (void)error; kabi_consumer_free(CONSUMER); return 0; }

/* ---- admin ---- */
#define ADMIN ((kabi_admin_t *)handle)
#define AN_OPERATION "offsets_list"
#define ITS_ARGUMENTS "{\"partitions\":[{\"topic\":\"calls\",\"partition\":0,\"at\":\"latest\"}]}"
static uint64_t request;
#define ENDLESS(call) return refused(KABI_STATUS_TIMED_OUT, call, error) /* the embedded cluster does not answer it */
CALL(admin_start) {
  return kabi_admin_start(ADMIN, (const char *)OR_NULL(1, AN_OPERATION), ITS_ARGUMENTS, calls_timeout, KABI_OUTCOME_EVENT,
                          (uint64_t *)OR_NULL(2, &request), error);
}
CALL(admin_call) {
  return kabi_admin_call(ADMIN, (const char *)OR_NULL(1, AN_OPERATION), ITS_ARGUMENTS, calls_timeout, (uint64_t *)OR_NULL(2, &request), text,
                         sizeof text, (size_t *)OR_NULL(3, &length), error);
}
CALL(admin_result) { return refused(KABI_STATUS_NOENT, kabi_admin_result(ADMIN, 0, 0, text, sizeof text, (size_t *)OR_NULL(1, &length), error), error); }
CALL(admin_discard) { (void)null; return refused(KABI_STATUS_NOENT, kabi_admin_discard(ADMIN, 0, error), error); }
CALL(admin_topic_create) { ENDLESS(kabi_admin_topic_create(ADMIN, (const char *)OR_NULL(1, "calls"), 1, 1, 50, error)); }
CALL(admin_topic_delete) { ENDLESS(kabi_admin_topic_delete(ADMIN, (const char *)OR_NULL(1, "nowhere"), 50, error)); }
CALL(admin_partitions_add) { ENDLESS(kabi_admin_partitions_add(ADMIN, (const char *)OR_NULL(1, "calls"), 2, 50, error)); }
CALL(admin_poll) { (void)null; return kabi_admin_poll(ADMIN, 0, &count, error); }
CALL(admin_drain) {
  return kabi_admin_drain(ADMIN, 0, (kabi_event_t *)OR_NULL(1, events), 16, (size_t *)OR_NULL(2, &count), bytes, sizeof bytes, &used, error);
}
CALL(admin_event_fd) { return kabi_admin_event_fd(ADMIN, (int32_t *)OR_NULL(1, &number), error); }
CALL(admin_wake) { (void)null; return kabi_admin_wake(ADMIN, error); }
CALL(admin_token_set) {
  TOKENLESS(kabi_admin_token_set(ADMIN, (const char *)OR_NULL(1, "token"), INT64_MAX, (const char *)OR_NULL(2, "me"), NULL, error));
}
CALL(admin_token_failure) { TOKENLESS(kabi_admin_token_failure(ADMIN, (const char *)OR_NULL(1, "why"), error)); }
CALL(admin_credentials_set) {
  TOKENLESS(kabi_admin_credentials_set(ADMIN, (const char *)OR_NULL(1, "me"), (const char *)OR_NULL(2, "secret"), error));
}
CALL(admin_metrics) { return kabi_admin_metrics(ADMIN, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(admin_close) { (void)null; return kabi_admin_close(ADMIN, calls_timeout, error); }
CALL(admin_free) { (void)null, (void)error; kabi_admin_free(ADMIN); return 0; }

/* ---- batch ---- */
#define BATCH ((kabi_batch_t *)handle)
CALL(batch_headers) { return kabi_batch_headers(BATCH, 0, (kabi_header_t *)OR_NULL(1, headers), 4, (size_t *)OR_NULL(2, &count), error); }
CALL(batch_broker) { return kabi_batch_broker(BATCH, 0, (int32_t *)OR_NULL(1, &number), error); }
CALL(batch_free) { (void)null, (void)error; kabi_batch_free(BATCH); return 0; }

/* ---- cluster ---- */
#define CLUSTER ((kabi_cluster_t *)handle)
CALL(cluster_bootstrap) { return kabi_cluster_bootstrap(CLUSTER, text, sizeof text, (size_t *)OR_NULL(1, &length), error); }
CALL(cluster_topic_create) {
  char name[32];
  static int topics;
  snprintf(name, sizeof name, "more-%d", topics++);
  return kabi_cluster_topic_create(CLUSTER, (const char *)OR_NULL(1, name), 1, 1, error);
}
CALL(cluster_broker_down) { (void)null; return kabi_cluster_broker_down(CLUSTER, 2, error); }
CALL(cluster_broker_up) { (void)null; return kabi_cluster_broker_up(CLUSTER, 2, error); }
CALL(cluster_latency) { (void)null; return kabi_cluster_latency(CLUSTER, KABI_BROKER_ALL, 0, error); }
CALL(cluster_inject_errors) { (void)null; return kabi_cluster_inject_errors(CLUSTER, KABI_REQUEST_LEAVE_GROUP, 16, 1, error); }
CALL(cluster_inject_broker_errors) { (void)null; return kabi_cluster_inject_broker_errors(CLUSTER, 2, KABI_REQUEST_LEAVE_GROUP, 16, 0, 1, error); }
CALL(cluster_broker_errors_left) { return kabi_cluster_broker_errors_left(CLUSTER, 2, KABI_REQUEST_LEAVE_GROUP, (size_t *)OR_NULL(1, &count), error); }
CALL(cluster_clear_errors) { (void)null; return kabi_cluster_clear_errors(CLUSTER, KABI_REQUEST_LEAVE_GROUP, error); }
CALL(cluster_topic_error) { return kabi_cluster_topic_error(CLUSTER, (const char *)OR_NULL(1, "calls"), 0, error); }
CALL(cluster_api_versions) { (void)null; return kabi_cluster_api_versions(CLUSTER, KABI_REQUEST_LEAVE_GROUP, 0, 1, error); }
CALL(cluster_leader) { return kabi_cluster_leader(CLUSTER, (const char *)OR_NULL(1, "calls"), 0, 1, error); }
CALL(cluster_leader_answer) { return kabi_cluster_leader_answer(CLUSTER, (const char *)OR_NULL(1, "calls"), 1, 1, 0, error); }
CALL(cluster_broker_add) { (void)null; return kabi_cluster_broker_add(CLUSTER, 7, error); }
CALL(cluster_broker_remove) { (void)null; return kabi_cluster_broker_remove(CLUSTER, 7, error); }
CALL(cluster_broker_address) { /* where it is */
  const char *colon = kabi_cluster_bootstrap(CLUSTER, text, sizeof text, &length, NULL) == 0 ? strrchr(text, ':') : NULL;
  return kabi_cluster_broker_address(CLUSTER, 2, (const char *)OR_NULL(1, "127.0.0.1"), colon != NULL ? atoi(colon + 1) : 1, error);
}
CALL(cluster_telemetry) {
  static const char *const all[] = {""};
  return kabi_cluster_telemetry(CLUSTER, (const char *const *)OR_NULL(1, all), 1, 600000, error);
}
CALL(cluster_follower) { return kabi_cluster_follower(CLUSTER, (const char *)OR_NULL(1, "calls"), 0, KABI_BROKER_NONE, error); }
CALL(cluster_follower_watermarks) { return kabi_cluster_follower_watermarks(CLUSTER, (const char *)OR_NULL(1, "calls"), 0, -1, -1, error); }
CALL(cluster_rack) { return kabi_cluster_rack(CLUSTER, 2, (const char *)OR_NULL(1, "rack"), error); }
CALL(cluster_coordinator) { return kabi_cluster_coordinator(CLUSTER, KABI_COORDINATOR_GROUP, (const char *)OR_NULL(1, "nobody"), 2, error); }
CALL(cluster_group_delay) { (void)null; return kabi_cluster_group_delay(CLUSTER, 0, error); }
CALL(cluster_group_timing) { (void)null; return kabi_cluster_group_timing(CLUSTER, 30000, 3000, error); }
CALL(cluster_group_target) { return kabi_cluster_group_target(CLUSTER, (const char *)OR_NULL(1, "nobody"), NULL, error); }
CALL(cluster_track_requests) { (void)null; return kabi_cluster_track_requests(CLUSTER, 0, error); }
CALL(cluster_requests) { return kabi_cluster_requests(CLUSTER, NULL, 0, (size_t *)OR_NULL(1, &count), error); }
CALL(cluster_records) {
  return kabi_cluster_records(CLUSTER, (const char *)OR_NULL(1, "calls"), 0, KABI_OFFSET_BEGINNING, packed.bytes, sizeof packed,
                              (kabi_batch_info_t *)OR_NULL(2, &info), 20000, error);
}
CALL(cluster_free) { (void)null, (void)error; kabi_cluster_free(CLUSTER); return 0; }

#define ROW(name, kind, role, required) {"kabi_" #name, kind, role, required, call_##name, 0}
#define ROW_GIVES(name, kind, role, required, good) {"kabi_" #name, kind, role, required, call_##name, good}
/* Those that free or close come last of their kind, so that the table may be run from top to bottom on one world. */
const call_t calls[] = {
    ROW(abi_version, KIND_NONE, WORKS, 0),
    ROW(version, KIND_NONE, WORKS, 0),
    ROW(librdkafka_version, KIND_NONE, WORKS, 0),
    ROW(error_name, KIND_NONE, WORKS, 0),
    ROW(error_text, KIND_NONE, WORKS, 0),
    ROW(abi_check, KIND_NONE, WORKS, 1),
    ROW(config_describe, KIND_NONE, WORKS, 1),
    ROW(config_new, KIND_NONE, WORKS, 1),
    ROW(cluster_new, KIND_NONE, WORKS, 1),
    ROW(config_set, KIND_CONFIG, WORKS, 2),
    ROW(config_get, KIND_CONFIG, WORKS, 2),
    ROW(config_unset, KIND_CONFIG, WORKS, 1),
    ROW(config_dump, KIND_CONFIG, WORKS, 1),
    ROW(config_events, KIND_CONFIG, WORKS, 0),
    ROW(config_handler, KIND_CONFIG, WORKS, 0),
    ROW(producer_new, KIND_CONFIG, WORKS, 1),
    ROW(consumer_new, KIND_CONFIG, WORKS, 1),
    ROW(admin_new, KIND_CONFIG, WORKS, 1),
    ROW(config_free, KIND_CONFIG, FREES, 0),
    ROW(admin_start, KIND_ADMIN, WORKS, 2),
    ROW(admin_call, KIND_ADMIN, WORKS, 3),
    ROW(admin_result, KIND_ADMIN, WORKS, 1),
    ROW(admin_discard, KIND_ADMIN, WORKS, 0),
    ROW(admin_topic_create, KIND_ADMIN, WORKS, 1),
    ROW(admin_topic_delete, KIND_ADMIN, WORKS, 1),
    ROW(admin_partitions_add, KIND_ADMIN, WORKS, 1),
    ROW(admin_poll, KIND_ADMIN, DRAINS, 0),
    ROW(admin_drain, KIND_ADMIN, DRAINS, 2),
    ROW(admin_event_fd, KIND_ADMIN, STAYS, 1),
    ROW(admin_wake, KIND_ADMIN, WORKS, 0),
    ROW(admin_token_set, KIND_ADMIN, WORKS, 2),
    ROW(admin_token_failure, KIND_ADMIN, WORKS, 1),
    ROW(admin_credentials_set, KIND_ADMIN, WORKS, 2),
    ROW(admin_metrics, KIND_ADMIN, WORKS, 1),
    ROW(admin_close, KIND_ADMIN, CLOSES, 0),
    ROW(admin_free, KIND_ADMIN, FREES, 0),
    ROW(producer_topic, KIND_PRODUCER, WORKS, 2),
    ROW(producer_topic_name, KIND_PRODUCER, WORKS, 1),
    ROW(producer_send, KIND_PRODUCER, WORKS, 1),
    ROW(producer_send_many, KIND_PRODUCER, WORKS, 1),
    ROW(producer_send_packed, KIND_PRODUCER, WORKS, 1),
    ROW(producer_flush, KIND_PRODUCER, WORKS, 0),
    ROW(producer_purge, KIND_PRODUCER, WORKS, 0),
    ROW(producer_poll, KIND_PRODUCER, DRAINS, 0),
    ROW(producer_drain, KIND_PRODUCER, DRAINS, 2),
    ROW(producer_event_fd, KIND_PRODUCER, STAYS, 1),
    ROW(producer_wake, KIND_PRODUCER, WORKS, 0),
    ROW(producer_transactions_init, KIND_PRODUCER, WORKS, 0),
    ROW(producer_transaction_begin, KIND_PRODUCER, WORKS, 0),
    ROW(producer_transaction_offsets, KIND_PRODUCER, WORKS, 1),
    ROW(producer_transaction_offsets_metadata, KIND_PRODUCER, WORKS, 2),
    ROW(producer_transaction_offsets_group, KIND_PRODUCER, WORKS, 2),
    ROW(producer_transaction_commit, KIND_PRODUCER, WORKS, 0),
    ROW(producer_transaction_abort, KIND_PRODUCER, WORKS, 0),
    ROW(producer_token_set, KIND_PRODUCER, WORKS, 2),
    ROW(producer_credentials_set, KIND_PRODUCER, WORKS, 2),
    ROW(producer_token_failure, KIND_PRODUCER, WORKS, 1),
    ROW(producer_metrics, KIND_PRODUCER, WORKS, 0),
    ROW(admin_of_producer, KIND_PRODUCER, WORKS, 1),
    ROW(producer_close, KIND_PRODUCER, CLOSES, 0),
    ROW(producer_free, KIND_PRODUCER, FREES, 0),
    ROW(consumer_topic, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_topic_name, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_assign, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_assignment, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_incremental_assign, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_incremental_unassign, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_pause, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_paused, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_resume, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_assignment_pending, KIND_CONSUMER, WORKS, 3),
    ROW_GIVES(consumer_assignment_apply, KIND_CONSUMER, WORKS, 1, KABI_STATUS_STATE), /* no change waits */
    ROW(consumer_subscription, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_member_id, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_rebalance_protocol, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_group_generation, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_group_metadata, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_store, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_commit_async, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_offsets_for_times, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_seek_to_times, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_watermarks, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_watermarks_cached, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_lag, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_poll, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_poll_packed, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_handled, KIND_CONSUMER, WORKS, 0),
    ROW(consumer_commit, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_commit_record, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_seek, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_position, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_committed, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_serve, KIND_CONSUMER, DRAINS, 0),
    ROW(consumer_drain, KIND_CONSUMER, DRAINS, 2),
    ROW(consumer_event_fd, KIND_CONSUMER, STAYS, 1),
    ROW(consumer_wake, KIND_CONSUMER, WORKS, 0),
    ROW(consumer_token_set, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_credentials_set, KIND_CONSUMER, WORKS, 2),
    ROW(consumer_token_failure, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_metrics, KIND_CONSUMER, WORKS, 0),
    ROW(admin_of_consumer, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_subscribe, KIND_CONSUMER, WORKS, 1),
    ROW(consumer_unsubscribe, KIND_CONSUMER, WORKS, 0),
    ROW(batch_headers, KIND_BATCH, WORKS, 2),
    ROW(batch_broker, KIND_BATCH, WORKS, 1),
    ROW(batch_free, KIND_BATCH, FREES, 0),
    ROW(consumer_close, KIND_CONSUMER, CLOSES, 0),
    ROW(consumer_free, KIND_CONSUMER, FREES, 0),
    ROW(cluster_bootstrap, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_topic_create, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_broker_down, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_broker_up, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_latency, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_inject_errors, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_inject_broker_errors, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_broker_errors_left, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_clear_errors, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_topic_error, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_api_versions, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_leader, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_leader_answer, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_broker_add, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_broker_remove, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_broker_address, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_telemetry, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_follower, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_follower_watermarks, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_rack, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_coordinator, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_group_delay, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_group_timing, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_group_target, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_track_requests, KIND_CLUSTER, WORKS, 0),
    ROW(cluster_requests, KIND_CLUSTER, WORKS, 1),
    ROW(cluster_records, KIND_CLUSTER, WORKS, 2),
    ROW(cluster_free, KIND_CLUSTER, FREES, 0),
};
const size_t calls_count = sizeof calls / sizeof calls[0];

/* ---- the world ---- */

world_t new_world(void) {
  world_t world;
  kabi_cluster_t *cluster = new_cluster(2);
  new_topic(cluster, "calls", 2);
  /* Freed without a close it would go on with what is in its queue, beyond the cluster's end, for the usual five minutes. */
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "message.timeout.ms", "10000", NULL);
  fill(producer, "calls", 0, 0, 4);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "calls-group", "session.timeout.ms", "6000", NULL);
  assign(consumer, "calls", 0, KABI_OFFSET_BEGINNING);
  kabi_batch_t *batch;
  kabi_batch_info_t got;
  take_batch(consumer, 1, &batch, &got);
  a_consumer = consumer;
  first_record = got.records[0];
  batch_number = got.number;
  producer_topic = topic_of(producer, "calls");
  consumer_topic = consumer_topic_of(consumer, "calls");
  world.handle[KIND_NONE] = NULL;
  world.handle[KIND_CONFIG] = new_config(bootstrap(cluster), "group.id", "calls-other", NULL);
  world.handle[KIND_PRODUCER] = producer;
  world.handle[KIND_CONSUMER] = consumer;
  world.handle[KIND_ADMIN] = new_admin(bootstrap(cluster));
  world.handle[KIND_BATCH] = batch;
  world.handle[KIND_CLUSTER] = cluster;
  return world;
}

void free_handle(kind_t kind, void *handle) {
  switch (kind) {
    case KIND_CONFIG: kabi_config_free((kabi_config_t *)handle); break;
    case KIND_PRODUCER: kabi_producer_free((kabi_producer_t *)handle); break;
    case KIND_CONSUMER: kabi_consumer_free((kabi_consumer_t *)handle); break;
    case KIND_ADMIN: kabi_admin_free((kabi_admin_t *)handle); break;
    case KIND_BATCH: kabi_batch_free((kabi_batch_t *)handle); break;
    case KIND_CLUSTER: kabi_cluster_free((kabi_cluster_t *)handle); break;
    default: break;
  }
}

/* In order, and each client closed before: otherwise its goodbye to the cluster would go on in the background, to nobody. */
void end_world(world_t *world) {
  kabi_consumer_close((kabi_consumer_t *)world->handle[KIND_CONSUMER], patience(10000), NULL);
  kabi_producer_close((kabi_producer_t *)world->handle[KIND_PRODUCER], patience(10000), NULL, NULL);
  kabi_admin_close((kabi_admin_t *)world->handle[KIND_ADMIN], patience(10000), NULL);
  static const kind_t order[] = {KIND_ADMIN, KIND_BATCH, KIND_CONSUMER, KIND_PRODUCER, KIND_CONFIG, KIND_CLUSTER};
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    free_handle(order[i], world->handle[order[i]]);
    world->handle[order[i]] = NULL;
  }
}

const char *kind_name(kind_t kind) {
  static const char *const names[] = {"none", "config", "producer", "consumer", "admin", "batch", "cluster"};
  return names[kind];
}
