/* Administration on a real broker: every operation, what it answers, and what it leaves behind. Profiles: single */
#include "admins.h"
#include "real.h"

static kabi_admin_t *admin(void) { return new_admin(SINGLE); }

/* Makes a topic and waits until the broker knows it. */
static void create(kabi_admin_t *a, const char *name, int partitions) {
  MUST_OK(kabi_admin_topic_create(a, name, partitions, 1, LONG, ERR));
  ask_until(a, "topics_describe", say("{\"topics\":[\"%s\"]}", name), "failed", 0);
}

/* ---- topics ---- */

TEST(topics_are_created_described_and_deleted) {
  kabi_admin_t *a = admin();
  const char *name = fresh("topics");
  ask(a, "topics_create",
      say("{\"topics\":[{\"topic\":\"%s\",\"partitions\":3,\"replication\":1,\"configs\":{\"retention.ms\":\"60000\"}}]}", name));
  CHECK_TEXT(name, text_at("topics/0/topic"));
  CHECK_EQ(0, number_at("topics/0/status/code"));
  CHECK_EQ(0, number_at("failed"));

  ask(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\",\"partitions\":3}]}", name));
  CHECK_EQ(KABI_STATUS_TOPIC_ALREADY_EXISTS, number_at("topics/0/status/code"));
  CHECK_TEXT("TOPIC_ALREADY_EXISTS", text_at("topics/0/status/name"));
  CHECK(has(text_at("topics/0/status/text"), name));
  CHECK_EQ(1, number_at("failed"));

  ask_until(a, "topics_describe", say("{\"topics\":[\"%s\"]}", name), "failed", 0);
  ask(a, "topics_describe", say("{\"topics\":[\"%s\",\"no-such-topic\"],\"authorized_operations\":true}", name));
  CHECK_EQ(3, count_at("topics/0/partitions"));
  CHECK_EQ(1, number_at("topics/0/partitions/2/leader/id"));
  CHECK_TEXT("rack1", text_at("topics/0/partitions/2/leader/rack"));
  CHECK_EQ(1, count_at("topics/0/partitions/2/replicas"));
  CHECK_EQ(1, count_at("topics/0/partitions/2/in_sync"));
  CHECK_EQ(22, strlen(text_at("topics/0/id")));
  CHECK(count_at("topics/0/authorized_operations") > 3);
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("topics/1/status/code"));
  CHECK_EQ(1, number_at("failed"));
  ask(a, "topics_describe", say("{\"topics\":[\"%s\"]}", name));
  CHECK(is_null("topics/0/authorized_operations"));

  ask(a, "topics_delete", say("{\"topics\":[\"%s\",\"no-such-topic\"]}", name));
  CHECK_EQ(0, number_at("topics/0/status/code"));
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("topics/1/status/code"));
  close_admin(a);
}

TEST(topics_may_be_tried_out_and_placed) {
  kabi_admin_t *a = admin();
  const char *name = fresh("placed");
  ask(a, "topics_create", say("{\"validate_only\":true,\"topics\":[{\"topic\":\"%s\",\"partitions\":2}]}", name));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "topics_describe", say("{\"topics\":[\"%s\"]}", name));
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("topics/0/status/code"));
  ask(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\",\"placement\":[[1],[1]]}]}", name));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "partitions_create", say("{\"topics\":[{\"topic\":\"%s\",\"total\":4,\"placement\":[[1],[1]]}]}", name));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "partitions_create", say("{\"topics\":[{\"topic\":\"%s\",\"total\":5,\"placement\":[[77]]}]}", name));
  CHECK_EQ(1, number_at("failed"));
  int64_t end = now_ms() + patience(30000);
  do ask(a, "topics_describe", say("{\"topics\":[\"%s\"]}", name));
  while (count_at("topics/0/partitions") != 4 && now_ms() < end);
  CHECK_EQ(4, count_at("topics/0/partitions"));
  ask(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s-x\",\"placement\":[[77]]}]}", name));
  CHECK_EQ(1, number_at("failed"));
  close_admin(a);
}

TEST(typed_calls_give_the_brokers_status) {
  kabi_admin_t *a = admin();
  const char *name = fresh("typed");
  OK(kabi_admin_topic_create(a, name, 2, 1, LONG, ERR));
  GIVES(KABI_STATUS_TOPIC_ALREADY_EXISTS, kabi_admin_topic_create(a, name, -1, -1, LONG, ERR));
  CHECK(has(last_error()->message, name));
  OK(kabi_admin_partitions_add(a, name, 5, LONG, ERR));
  GIVES(KABI_STATUS_INVALID_PARTITIONS, kabi_admin_partitions_add(a, name, 5, LONG, ERR));
  int64_t end = now_ms() + patience(30000);
  do ask(a, "metadata", say("{\"topics\":[\"%s\"]}", name));
  while (count_at("topics/0/partitions") != 5 && now_ms() < end);
  CHECK_EQ(5, count_at("topics/0/partitions"));
  OK(kabi_admin_topic_delete(a, name, LONG, ERR));
  GIVES(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, kabi_admin_topic_delete(a, name, LONG, ERR));
  GIVES(KABI_STATUS_INVALID_REPLICATION_FACTOR, kabi_admin_topic_create(a, name, 1, 3, LONG, ERR));
  close_admin(a);
}

/* ---- configurations ---- */

/* Asks until the property number `at` has this value. */
static void described(kabi_admin_t *a, const char *describe, int at, const char *value) {
  int64_t end = now_ms() + patience(30000);
  do ask(a, "configs_describe", describe);
  while (strcmp(text_at(say("resources/0/properties/%d/value", at)), value) != 0 && now_ms() < end);
}

TEST(configs_are_described_altered_and_replaced) {
  kabi_admin_t *a = admin();
  const char *name = fresh("configs");
  create(a, name, 1);
  const char *describe = say("{\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"properties\":[\"retention.ms\","
                             "\"cleanup.policy\"]}]}", name);
  ask(a, "configs_describe", describe);
  CHECK_EQ(2, count_at("resources/0/properties"));
  CHECK_TEXT("cleanup.policy", text_at("resources/0/properties/0/name"));
  CHECK_TEXT("delete", text_at("resources/0/properties/0/value"));
  CHECK_TEXT("default", text_at("resources/0/properties/0/source"));
  CHECK_TEXT("604800000", text_at("resources/0/properties/1/value"));

  ask(a, "configs_alter_incremental",
      say("{\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"changes\":[{\"name\":\"retention.ms\",\"operation\":\"set\","
          "\"value\":\"1000\"},{\"name\":\"cleanup.policy\",\"operation\":\"append\",\"value\":\"compact\"}]}]}", name));
  CHECK_EQ(0, number_at("failed"));
  described(a, describe, 1, "1000");
  CHECK_TEXT("delete,compact", text_at("resources/0/properties/0/value"));
  CHECK_TEXT("1000", text_at("resources/0/properties/1/value"));
  CHECK_TEXT("topic", text_at("resources/0/properties/1/source"));
  CHECK(count_at("resources/0/properties/1/synonyms") >= 1);
  ask(a, "configs_alter_incremental",
      say("{\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"changes\":[{\"name\":\"retention.ms\",\"operation\":\"delete\"},"
          "{\"name\":\"cleanup.policy\",\"operation\":\"subtract\",\"value\":\"delete\"}]}]}", name));
  described(a, describe, 1, "604800000");
  CHECK_TEXT("compact", text_at("resources/0/properties/0/value"));
  CHECK_TEXT("604800000", text_at("resources/0/properties/1/value"));

  /* The full form takes what is not listed back to its default. */
  ask(a, "configs_alter", say("{\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"configs\":{\"retention.ms\":\"2000\"}}]}", name));
  if (number_at("failed") == 0) {
    described(a, describe, 1, "2000");
    CHECK_TEXT("delete", text_at("resources/0/properties/0/value"));
    CHECK_TEXT("2000", text_at("resources/0/properties/1/value"));
  } else {
    note("configs_alter: %s", answer());
    CHECK(0);
  }

  /* Refused, and only tried. */
  ask(a, "configs_alter_incremental",
      say("{\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"changes\":[{\"name\":\"retention.ms\",\"operation\":\"set\","
          "\"value\":\"soon\"}]}]}", name));
  CHECK_EQ(KABI_STATUS_INVALID_CONFIG, number_at("resources/0/status/code"));
  ask(a, "configs_alter_incremental",
      say("{\"validate_only\":true,\"resources\":[{\"type\":\"topic\",\"name\":\"%s\",\"changes\":[{\"name\":\"retention.ms\","
          "\"operation\":\"set\",\"value\":\"77\"}]}]}", name));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "configs_describe", describe);
  CHECK_TEXT("2000", text_at("resources/0/properties/1/value"));

  ask(a, "configs_describe", "{\"resources\":[{\"type\":\"broker\",\"name\":\"1\"}]}");
  CHECK_TEXT("broker", text_at("resources/0/type"));
  CHECK(count_at("resources/0/properties") > 100);
  CHECK(has(answer(), "\"name\":\"num.io.threads\",\"value\":\"2\",\"source\":\"file\""));
  ask(a, "configs_describe", "{\"resources\":[{\"type\":\"topic\",\"name\":\"no-such-topic\"}]}");
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("resources/0/status/code"));
  close_admin(a);
}

/* ---- the cluster ---- */

TEST(the_cluster_is_described) {
  kabi_admin_t *a = admin();
  ask(a, "cluster_describe", "{\"authorized_operations\":true}");
  CHECK(strlen(text_at("id")) > 10);
  CHECK_EQ(1, number_at("controller/id"));
  CHECK_EQ(1, count_at("brokers"));
  CHECK_TEXT("rack1", text_at("brokers/0/rack"));
  CHECK_TEXT("127.0.0.1", text_at("brokers/0/host"));
  CHECK(number_at("brokers/0/port") > 0);
  CHECK(has(answer(), "\"alter_configs\""));
  ask(a, "cluster_describe", NULL);
  CHECK(is_null("authorized_operations"));
  close_admin(a);
}

TEST(metadata_tells_all_topics_or_some) {
  kabi_admin_t *a = admin();
  const char *name = fresh("metadata");
  create(a, name, 2);
  ask(a, "metadata", NULL);
  CHECK(has(answer(), name));
  CHECK_EQ(1, number_at("controller"));
  CHECK_TEXT("rack1", text_at("brokers/0/rack"));
  ask(a, "metadata", say("{\"topics\":[\"%s\",\"no-such-topic\"]}", name));
  CHECK_EQ(2, count_at("topics"));
  CHECK_EQ(2, count_at("topics/0/partitions"));
  CHECK_EQ(1, number_at("topics/0/partitions/0/leader"));
  CHECK_EQ(1, number_at("topics/0/partitions/0/replicas/0"));
  CHECK_EQ(1, number_at("topics/0/partitions/0/in_sync/0"));
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("topics/1/status/code"));
  CHECK_EQ(1, number_at("failed"));
  /* Asking has not created it. */
  ask(a, "metadata", "{\"topics\":[\"no-such-topic\"]}");
  CHECK_EQ(1, number_at("failed"));
  close_admin(a);
}

TEST(leaders_are_elected) {
  kabi_admin_t *a = admin();
  const char *name = fresh("leaders");
  create(a, name, 1);
  ask(a, "leaders_elect", say("{\"election\":\"preferred\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0},"
                              "{\"topic\":\"%s\",\"partition\":9}]}", name, name));
  CHECK_EQ(2, count_at("partitions"));
  CHECK_EQ(KABI_STATUS_ELECTION_NOT_NEEDED, number_at("partitions/0/status/code"));
  CHECK_EQ(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, number_at("partitions/1/status/code"));
  ask(a, "leaders_elect", "{\"election\":\"preferred\"}");
  CHECK_EQ(0, number_at("failed"));
  close_admin(a);
}

/* ---- records and offsets ---- */

TEST(offsets_are_listed_and_records_deleted) {
  kabi_admin_t *a = admin();
  const char *name = fresh("offsets");
  create(a, name, 2);
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  int32_t topic = topic_of(producer, name);
  static const int64_t timestamps[] = {1000000, 3000000, 2000000};
  for (int i = 0; i < 3; i++) {
    kabi_message_t message = message_of(topic, 0, NULL, "x");
    message.timestamp = timestamps[i];
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
    MUST_OK(kabi_producer_flush(producer, 10000, NULL, ERR));
  }
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"earliest\"}]}", name));
  CHECK_EQ(0, number_at("partitions/0/offset"));
  CHECK(is_null("partitions/0/timestamp"));
  ask(a, "offsets_list", say("{\"isolation\":\"read_committed\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"latest\"},"
                             "{\"topic\":\"%s\",\"partition\":1,\"at\":\"latest\"}]}", name, name));
  CHECK_EQ(3, number_at("partitions/0/offset") + number_at("partitions/1/offset"));
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"max_timestamp\"}]}", name));
  CHECK_EQ(1, number_at("partitions/0/offset"));
  CHECK_EQ(3000000, number_at("partitions/0/timestamp"));
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"timestamp\",\"timestamp\":1500000}]}", name));
  CHECK_EQ(1, number_at("partitions/0/offset"));
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"timestamp\",\"timestamp\":9000000}]}", name));
  CHECK(is_null("partitions/0/offset"));
  CHECK_EQ(0, number_at("partitions/0/status/code"));

  ask(a, "records_delete", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"before\":2},"
                               "{\"topic\":\"%s\",\"partition\":1,\"before\":5}]}", name, name));
  CHECK_EQ(1, number_at("failed"));
  CHECK_EQ(2, number_at("partitions/0/first_offset"));
  CHECK_EQ(KABI_STATUS_OFFSET_OUT_OF_RANGE, number_at("partitions/1/status/code"));
  CHECK(is_null("partitions/1/first_offset"));
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"earliest\"}]}", name));
  CHECK_EQ(2, number_at("partitions/0/offset"));
  ask(a, "records_delete", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"before\":-1}]}", name));
  CHECK_EQ(3, number_at("partitions/0/first_offset"));
  close_producer(producer);
  close_admin(a);
}

/* ---- groups ---- */

static void join(kabi_consumer_t *consumer, const char *topic) {
  seen_t seen;
  subscribe(consumer, topic);
  MUST(take(consumer, &seen, 1) == 1);
}

static kabi_consumer_t *member(const char *group, const char *protocol) {
  return new_consumer(SINGLE, group, "group.protocol", protocol, "auto.offset.reset", "earliest", "client.id", "member-client",
                      NULL);
}

/* A group of this protocol, from its birth to its end. */
static void group_life(const char *protocol) {
  kabi_admin_t *a = admin();
  const char *topic = fresh("group-topic"), *group = fresh("group");
  create(a, topic, 2);
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  fill(producer, topic, 0, 0, 3);
  close_producer(producer);
  kabi_consumer_t *consumer = member(group, protocol);
  join(consumer, topic);

  ask(a, "groups_list", say("{\"types\":[\"%s\"],\"states\":[\"stable\"]}", protocol));
  CHECK(has(answer(), say("{\"group\":\"%s\",\"state\":\"stable\",\"type\":\"%s\",\"simple\":false}", group, protocol)));
  ask(a, "groups_list", say("{\"types\":[\"%s\"]}", strcmp(protocol, "classic") == 0 ? "consumer" : "classic"));
  CHECK(!has(answer(), group));

  ask(a, "groups_describe", say("{\"groups\":[\"%s\"],\"authorized_operations\":true}", group));
  CHECK_EQ(0, number_at("failed"));
  CHECK_TEXT("stable", text_at("groups/0/state"));
  CHECK_TEXT(protocol, text_at("groups/0/type"));
  CHECK_EQ(1, number_at("groups/0/coordinator/id"));
  CHECK_EQ(1, count_at("groups/0/members"));
  CHECK_TEXT("member-client", text_at("groups/0/members/0/client"));
  CHECK_EQ(2, count_at("groups/0/members/0/assignment"));
  CHECK_TEXT(topic, text_at("groups/0/members/0/assignment/0/topic"));
  CHECK(count_at("groups/0/authorized_operations") > 0);
  if (strcmp(protocol, "consumer") == 0) CHECK_EQ(2, count_at("groups/0/members/0/target_assignment"));
  else CHECK(is_null("groups/0/members/0/target_assignment"));

  ask(a, "groups_delete", say("{\"groups\":[\"%s\"]}", group));
  CHECK_EQ(KABI_STATUS_NON_EMPTY_GROUP, number_at("groups/0/status/code"));
  ask(a, "group_offsets_delete", say("{\"group\":\"%s\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0}]}", group, topic));
  CHECK(number_at("failed") > 0); /* a member subscribes to it */
  close_consumer(consumer);

  ask(a, "groups_describe", say("{\"groups\":[\"%s\"]}", group));
  CHECK_TEXT("empty", text_at("groups/0/state"));
  CHECK(is_null("groups/0/authorized_operations"));
  ask(a, "groups_delete", say("{\"groups\":[\"%s\",\"no-such-group\"]}", group));
  CHECK_EQ(0, number_at("groups/0/status/code"));
  CHECK_EQ(KABI_STATUS_GROUP_ID_NOT_FOUND, number_at("groups/1/status/code"));
  close_admin(a);
}

TEST(a_classic_group_lives_and_ends) { group_life("classic"); }
TEST(a_group_of_the_consumer_protocol_lives_and_ends) { group_life("consumer"); }

TEST(group_offsets_are_listed_altered_and_deleted) {
  kabi_admin_t *a = admin();
  const char *topic = fresh("group-offsets"), *group = fresh("offsets-group");
  create(a, topic, 3);
  ask(a, "group_offsets_alter",
      say("{\"group\":\"%s\",\"offsets\":[{\"topic\":\"%s\",\"partition\":0,\"offset\":7,\"metadata\":\"with \\u00e4\"},"
          "{\"topic\":\"%s\",\"partition\":1,\"offset\":8}]}", group, topic, topic));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "group_offsets_list", say("{\"group\":\"%s\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0},"
                                   "{\"topic\":\"%s\",\"partition\":1},{\"topic\":\"%s\",\"partition\":2}]}", group, topic, topic, topic));
  CHECK_EQ(7, number_at("partitions/0/offset"));
  CHECK_TEXT("with \xc3\xa4", text_at("partitions/0/metadata"));
  CHECK_EQ(8, number_at("partitions/1/offset"));
  CHECK(is_null("partitions/2/offset"));
  ask(a, "group_offsets_list", say("{\"group\":\"%s\",\"require_stable\":true}", group));
  CHECK_EQ(2, count_at("partitions"));
  /* What a consumer of the group sees is the same. */
  kabi_consumer_t *consumer = new_consumer(SINGLE, group, NULL);
  CHECK_EQ(7, committed_offset(consumer, topic, 0));
  close_consumer(consumer);
  ask(a, "group_offsets_delete", say("{\"group\":\"%s\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0}]}", group, topic));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "group_offsets_list", say("{\"group\":\"%s\"}", group));
  CHECK_EQ(1, count_at("partitions"));
  CHECK_EQ(1, number_at("partitions/0/partition"));
  close_admin(a);
}

/* ---- how requests go ---- */

TEST(events_bring_the_answers) {
  kabi_admin_t *a = admin();
  const char *name = fresh("events");
  uint64_t create = 0, broken = 0;
  MUST_OK(kabi_admin_start(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\"}]}", name), LONG, KABI_OUTCOME_EVENT, &create, ERR));
  MUST_OK(kabi_admin_start(a, "configs_describe", "{\"resources\":[{\"type\":\"broker\",\"name\":\"99\"}]}", 1500, KABI_OUTCOME_EVENT,
                           &broken, ERR));
  CHECK(create != 0 && broken != create);
  /* Its outcome is an event, so it can't be fetched. */
  size_t length;
  GIVES(KABI_STATUS_NOENT, kabi_admin_result(a, create, 0, NULL, 0, &length, ERR));
  int fd = -1;
  MUST_OK(kabi_admin_event_fd(a, &fd, ERR));
  int seen = 0;
  while (seen < 2) {
    MUST(readable(fd, patience(10000)));
    kabi_event_t event;
    uint8_t bytes[4096];
    size_t count = 0, used = 0;
    MUST_OK(kabi_admin_drain(a, 0, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 0 || event.kind != KABI_EVENT_REQUEST) continue;
    const char *text = (const char *)bytes + event.text_offset;
    CHECK(is_json(text));
    if (event.token == create) {
      CHECK_EQ(0, event.code);
      CHECK_EQ(0, event.flags);
      CHECK(has(text, "\"failed\":0"));
    } else {
      CHECK_EQ(broken, event.token);
      CHECK_EQ(KABI_STATUS_TIMED_OUT, event.code);
      CHECK(event.flags & KABI_ERROR_OUTCOME_UNKNOWN);
      CHECK(has(text, "{\"error\":{\"code\":-185,\"name\":\"TIMED_OUT\""));
    }
    seen++;
  }
  CHECK(!readable(fd, 0));
  close_admin(a);
}

TEST(a_small_buffer_does_not_repeat_the_request) {
  kabi_admin_t *a = admin();
  const char *name = fresh("small");
  char buffer[1024];
  size_t length = 0;
  uint64_t request = 0;
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_admin_call(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\"}]}", name), LONG, &request,
                                                      buffer, 4, &length, ERR));
  CHECK(request != 0 && length > 4);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_admin_result(a, request, LONG, NULL, 0, &length, ERR));
  OK(kabi_admin_result(a, request, LONG, buffer, length + 1, &length, ERR));
  CHECK(has(buffer, "\"code\":0"));
  GIVES(KABI_STATUS_NOENT, kabi_admin_result(a, request, 0, buffer, sizeof buffer, &length, ERR));
  close_admin(a);
}

TEST(kept_outcomes_wait_and_can_be_dropped) {
  kabi_admin_t *a = admin();
  char buffer[4096];
  size_t length = 0;
  uint64_t request = 0, dropped = 0;
  MUST_OK(kabi_admin_start(a, "cluster_describe", NULL, LONG, KABI_OUTCOME_KEPT, &request, ERR));
  MUST_OK(kabi_admin_start(a, "cluster_describe", NULL, LONG, KABI_OUTCOME_KEPT, &dropped, ERR));
  OK(kabi_admin_discard(a, dropped, ERR));
  GIVES(KABI_STATUS_NOENT, kabi_admin_discard(a, dropped, ERR));
  GIVES(KABI_STATUS_NOENT, kabi_admin_result(a, dropped, 0, buffer, sizeof buffer, &length, ERR));
  kabi_status_t status;
  while ((status = kabi_admin_result(a, request, 20, buffer, sizeof buffer, &length, ERR)) == KABI_STATUS_TIMED_OUT)
    CHECK(!(last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN));
  CHECK_EQ(0, status);
  CHECK(is_json(buffer));
  close_admin(a);
}

/* ---- on top of other clients ---- */

TEST(an_admin_on_a_producer_ends_with_it) {
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  kabi_admin_t *a = NULL;
  MUST_OK(kabi_admin_of_producer(producer, &a, ERR));
  const char *name = fresh("on-producer");
  create(a, name, 1);
  fill(producer, name, 0, 0, 10);
  ask(a, "offsets_list", say("{\"partitions\":[{\"topic\":\"%s\",\"partition\":0,\"at\":\"latest\"}]}", name));
  CHECK_EQ(10, number_at("partitions/0/offset"));
  uint64_t request = 0;
  MUST_OK(kabi_admin_start(a, "cluster_describe", NULL, LONG, KABI_OUTCOME_KEPT, &request, ERR));
  close_producer(producer);
  size_t length = 0;
  GIVES(KABI_STATUS_CLOSED, kabi_admin_call(a, "cluster_describe", NULL, LONG, &request, NULL, 0, &length, ERR));
  CHECK(has(last_error()->message, "the client that this admin is on top of is closed"));
  CHECK_EQ(0, request);
  OK(kabi_admin_close(a, LONG, ERR));
  kabi_admin_free(a);
}

TEST(an_admin_on_a_consumer_leaves_it_alone) {
  const char *name = fresh("on-consumer");
  kabi_admin_t *a = NULL;
  kabi_consumer_t *consumer = new_consumer(SINGLE, fresh("on-consumer-group"), "auto.offset.reset", "earliest", NULL);
  MUST_OK(kabi_admin_of_consumer(consumer, &a, ERR));
  create(a, name, 1);
  kabi_producer_t *producer = new_producer(SINGLE, NULL);
  fill(producer, name, 0, 0, 5);
  close_producer(producer);
  join(consumer, name);
  ask(a, "metadata", NULL);
  CHECK(has(answer(), name));
  OK(kabi_admin_close(a, LONG, ERR));
  kabi_admin_free(a);
  seen_t seen[4];
  CHECK_EQ(4, take(consumer, seen, 4));
  close_consumer(consumer);
}

TEST(an_admin_freed_without_a_close_still_does_its_work) {
  kabi_admin_t *first = admin(), *second = admin();
  const char *name = fresh("freed");
  uint64_t request = 0;
  MUST_OK(kabi_admin_start(first, "topics_create", say("{\"topics\":[{\"topic\":\"%s\"}]}", name), LONG, KABI_OUTCOME_KEPT, &request, ERR));
  kabi_admin_free(first);
  int64_t end = now_ms() + patience(30000);
  do ask(second, "topics_describe", say("{\"topics\":[\"%s\"]}", name));
  while (number_at("failed") != 0 && now_ms() < end);
  CHECK_EQ(0, number_at("failed"));
  close_admin(second);
}

TEST(a_close_waits_for_answers) {
  kabi_admin_t *a = admin();
  const char *name = fresh("closing");
  uint64_t request = 0;
  MUST_OK(kabi_admin_start(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\"}]}", name), LONG, KABI_OUTCOME_EVENT, &request, ERR));
  OK(kabi_admin_close(a, LONG, ERR));
  kabi_event_t event;
  uint8_t bytes[4096];
  size_t count = 0;
  MUST_OK(kabi_admin_drain(a, 0, &event, 1, &count, bytes, sizeof bytes, NULL, ERR));
  CHECK_EQ(1, count);
  CHECK_EQ(request, event.token);
  CHECK_EQ(0, event.code);
  GIVES(KABI_STATUS_CLOSED, kabi_admin_drain(a, 0, &event, 1, &count, bytes, sizeof bytes, NULL, ERR));
  kabi_admin_free(a);
}
