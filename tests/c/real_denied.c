/* Groups and topics that a consumer may not use: every call that needs them tells so soon, far before its time-out, a close
   is not held up, and what is allowed later works. alice may use what is named alice-... Profiles: secure */
#include "admins.h"
#include "real.h"

/* What must not be waited out. */
#define TIME_OUT 120000
#define SOON 30000

static kabi_admin_t *super_user(void) {
  return admin_from(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "admin", "admin-secret"));
}

static void allow(kabi_admin_t *a, const char *type, const char *name) {
  ask(a, "acls_create", say("{\"acls\":[{\"resource_type\":\"%s\",\"resource\":\"%s\",\"pattern\":\"literal\",\"principal\":"
                            "\"User:alice\",\"host\":\"*\",\"operation\":\"all\",\"permission\":\"allow\"}]}", type, name));
  CHECK_EQ(0, number_at("failed"));
}

static const char *topic_with(const char *prefix, int records) {
  const char *name = fresh(prefix);
  kabi_producer_t *producer = producer_from(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "admin", "admin-secret"));
  fill(producer, name, 0, 0, records);
  close_producer(producer);
  return name;
}

/* alice's consumer of this group; commit outcomes are events. */
static kabi_consumer_t *alice(const char *group, const char *auto_commit) {
  kabi_config_t *config = sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "alice", "alice-secret");
  if (group != NULL) put(config, "group.id", group);
  if (auto_commit != NULL) put(config, "enable.auto.commit", auto_commit);
  put(config, "auto.offset.reset", "earliest");
  MUST_OK(kabi_config_events(config, KABI_EVENT_COMMIT | KABI_EVENT_ERROR, ERR));
  return consumer_from(config);
}

/* The next event of a kind with this number or code; its text is in `text`. */
static int next_event(kabi_consumer_t *consumer, uint32_t kind, kabi_event_t *event, char *text, size_t size) {
  static uint8_t bytes[8192];
  int64_t end = now_ms() + patience(SOON);
  while (now_ms() < end) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_consumer_drain(consumer, patience(1000), event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 0 || event->kind != kind) continue;
    snprintf(text, size, "%s", (const char *)bytes + event->text_offset);
    return 1;
  }
  return 0;
}

static void closes_soon(kabi_consumer_t *consumer, kabi_status_t want) {
  int64_t since = now_ms();
  GIVES(want, kabi_consumer_close(consumer, TIME_OUT, ERR));
  CHECK_WITHIN(SOON, since);
  kabi_consumer_free(consumer);
}

TEST(a_denied_group_ends_every_wait) {
  const char *topic = topic_with("alice-denied", 5);
  kabi_consumer_t *consumer = alice(fresh("foreign-group"), "false");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, topic), 0, 3);
  char text[512];
  seen_t seen[5];
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(5, take(consumer, seen, 5)); /* reading needs no group */
  for (int i = 0; i < 2; i++) {
    int64_t since = now_ms();
    GIVES(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, kabi_consumer_commit(consumer, &list, 1, TIME_OUT, ERR));
    CHECK(has(last_error()->message, "commit"));
    GIVES(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, kabi_consumer_committed(consumer, &list, 1, TIME_OUT, NULL, 0, NULL, ERR));
    CHECK(has(last_error()->message, "committed"));
    int64_t lag;
    list.offset = 3;
    uint64_t number = 0;
    kabi_event_t event;
    OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
    MUST(next_event(consumer, KABI_EVENT_COMMIT, &event, text, sizeof text));
    CHECK_EQ(number, event.token);
    CHECK_EQ(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, event.code);
    CHECK(has(text, "authorization"));
    OK(kabi_consumer_lag(consumer, &list, &lag, 1, TIME_OUT, ERR)); /* there is a position, so the group is not asked */
    CHECK_EQ(0, lag);
    list.offset = 3;
    CHECK_WITHIN(SOON, since);
  }
  closes_soon(consumer, 0);
}

TEST(a_close_after_an_async_commit_of_a_denied_group) {
  const char *topic = topic_with("alice-async", 1);
  kabi_consumer_t *consumer = alice(fresh("foreign-group"), "false");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, topic), 0, 1);
  uint64_t number;
  kabi_event_t event;
  char text[512];
  OK(kabi_consumer_commit_async(consumer, &list, 1, &number, ERR));
  int64_t since = now_ms();
  OK(kabi_consumer_close(consumer, TIME_OUT, ERR));
  CHECK_WITHIN(SOON, since);
  MUST(next_event(consumer, KABI_EVENT_COMMIT, &event, text, sizeof text)); /* a closed consumer's events are still to be had */
  CHECK_EQ(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, event.code);
  kabi_consumer_free(consumer);
}

TEST(a_close_after_a_commit_of_a_denied_group_timed_out) {
  const char *topic = topic_with("alice-timed-out", 1);
  kabi_consumer_t *consumer = alice(fresh("foreign-group"), "false");
  kabi_partition_t list = partition_of(consumer_topic_of(consumer, topic), 0, 1);
  GIVES(KABI_STATUS_TIMED_OUT, kabi_consumer_commit(consumer, &list, 1, 10, ERR));
  closes_soon(consumer, 0);
}

TEST(a_close_tells_that_handled_records_of_a_denied_group_are_not_saved) {
  const char *topic = topic_with("alice-handled", 5);
  kabi_consumer_t *consumer = alice(fresh("foreign-group"), NULL);
  seen_t seen[5];
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(5, take(consumer, seen, 5));
  poll_empty(consumer, 0);
  closes_soon(consumer, KABI_STATUS_GROUP_AUTHORIZATION_FAILED);
  CHECK(has(last_error()->message, "not saved"));
}

/* Told to a poll first, as an entry: then no call hands librdkafka a commit that it would keep. */
static void denied_then_allowed(const char *protocol) {
  const char *topic = topic_with("alice-allowed", 5), *group = fresh("foreign-group");
  kabi_config_t *config = sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "alice", "alice-secret");
  put(config, "group.id", group);
  put(config, "group.protocol", protocol);
  put(config, "auto.offset.reset", "earliest");
  kabi_consumer_t *consumer = consumer_from(config);
  int32_t number = consumer_topic_of(consumer, topic);
  kabi_partition_t list = partition_of(number, 0, 1);
  subscribe(consumer, topic);
  int64_t since = now_ms();
  for (int denied = 0; !denied && now_ms() < since + patience(SOON);) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(consumer, 10, 1000, &batch, &info, ERR));
    for (size_t i = 0; i < info.count; i++) {
      denied |= info.records[i].code == KABI_STATUS_GROUP_AUTHORIZATION_FAILED;
      CHECK_EQ(-1, info.records[i].topic);
    }
    kabi_batch_free(batch);
  }
  GIVES(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, kabi_consumer_commit(consumer, &list, 1, TIME_OUT, ERR));
  GIVES(KABI_STATUS_GROUP_AUTHORIZATION_FAILED, kabi_consumer_committed(consumer, &list, 1, TIME_OUT, NULL, 0, NULL, ERR));
  CHECK_WITHIN(SOON, since);

  kabi_admin_t *admin = super_user();
  allow(admin, "group", group);
  close_admin(admin);
  seen_t seen[5];
  CHECK_EQ(5, take(consumer, seen, 5));
  list.offset = 4;
  OK(kabi_consumer_commit(consumer, &list, 1, TIME_OUT, ERR));
  CHECK_EQ(4, committed_offset(consumer, topic, 0));
  poll_empty(consumer, 0);
  int64_t closing = now_ms();
  close_consumer(consumer); /* what is handled is saved */
  CHECK_WITHIN(SOON, closing);
  consumer = alice(group, NULL);
  CHECK_EQ(5, committed_offset(consumer, topic, 0));
  close_consumer(consumer);
}

TEST(a_group_that_is_allowed_later_works) { denied_then_allowed("classic"); }
TEST(a_group_that_is_allowed_later_works_by_the_new_protocol) { denied_then_allowed("consumer"); }

TEST(a_denied_topic_assigned_by_hand_is_an_error_event) {
  const char *own = topic_with("alice-own", 5), *foreign = topic_with("foreign", 5);
  kabi_consumer_t *consumer = alice(NULL, NULL);
  kabi_partition_t list[2] = {partition_of(consumer_topic_of(consumer, own), 0, KABI_OFFSET_BEGINNING),
                              partition_of(consumer_topic_of(consumer, foreign), 0, KABI_OFFSET_BEGINNING)};
  seen_t seen[5];
  kabi_event_t event;
  char text[512];
  for (int more = 0; more < 2; more++) { /* by either way to assign */
    if (more == 0) MUST_OK(kabi_consumer_assign(consumer, list, 2, ERR));
    else MUST_OK(kabi_consumer_incremental_unassign(consumer, &list[1], 1, ERR));
    if (more == 1) MUST_OK(kabi_consumer_incremental_assign(consumer, &list[1], 1, ERR));
    MUST(next_event(consumer, KABI_EVENT_ERROR, &event, text, sizeof text));
    CHECK_EQ(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, event.code);
    if (!CHECK(has(text, foreign) && has(text, "authorization"))) note("%s", text);
    CHECK(!has(text, own));
  }
  MUST(take(consumer, seen, 5) == 5);
  for (int i = 0; i < 5; i++) CHECK_EQ(list[0].topic, seen[i].topic);
  kabi_admin_t *admin = super_user();
  allow(admin, "topic", foreign);
  close_admin(admin);
  MUST(take(consumer, seen, 5) == 5);
  for (int i = 0; i < 5; i++) CHECK_EQ(list[1].topic, seen[i].topic);
  close_consumer(consumer);
}
