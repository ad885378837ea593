/* Admins without a broker that answers: arguments, numbers, waits and their ends, and what the embedded cluster can do.
   What operations do is in real_admin.c. */
#include "admins.h"

static kabi_admin_t *lonely(void) { return new_admin(NOWHERE); }

/* ---- arguments ---- */

/* The arguments are refused with an error whose message holds each part. */
static void refuses(kabi_admin_t *a, const char *operation, const char *arguments, const char *part, const char *more) {
  uint64_t request = 77;
  size_t length = 0;
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_call(a, operation, arguments, 0, &request, NULL, 0, &length, ERR));
  CHECK_EQ(0, request);
  if (!CHECK(has(last_error()->message, part))) note("\"%s\" is not in: %s", part, last_error()->message);
  if (more != NULL && !CHECK(has(last_error()->message, more))) note("\"%s\" is not in: %s", more, last_error()->message);
  request = 77;
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_start(a, operation, arguments, 0, KABI_OUTCOME_KEPT, &request, ERR));
  CHECK_EQ(0, request);
}

TEST(faults_in_arguments_are_found_and_named) {
  kabi_admin_t *a = lonely();
  static const char *const faults[][4] = {
      {"topic_create", "{}", "there is no operation \"topic_create\"", "did you mean \"topics_create\""},
      {"", "{}", "there is no operation", "topics_create"},
      {"topics_create", "", "topics_create", "EOF"},
      {"topics_create", NULL, "missing field `topics`", NULL},
      {"topics_create", "{\"topics\":[", "EOF", "line 1"},
      {"topics_create", "{\"topics\":[]}", "at topics", "empty"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\"}]} x", "trailing characters", NULL},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\"},{\"topic\":\"t\",\"partitons\":1}]}", "at topics[1].partitons",
       "did you mean `partitions`?"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"partitions\":\"one\"}]}", "at topics[0].partitions", "expected i32"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"partitions\":99999999999}]}", "at topics[0].partitions", NULL},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"partitions\":0}]}", "at topics[0].partitions: 0 is less than 1", NULL},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\"},{\"topic\":\"a b\"}]}", "at topics[1].topic", "ASCII"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"placement\":[[1],[]]}]}", "at topics[0].placement[1]", "no broker"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"placement\":[[1]],\"partitions\":2}]}", "at topics[0].partitions", "lists 1"},
      {"topics_create", "{\"topics\":[{\"topic\":\"t\",\"placement\":[[1]],\"replication\":1}]}", "at topics[0].replication", NULL},
      {"topics_delete", "{\"topics\":[\"t\",\"..\"]}", "at topics[1]", "\"..\""},
      {"partitions_create", "{\"topics\":[{\"topic\":\"t\",\"total\":-1}]}", "at topics[0].total", "less than 1"},
      {"configs_describe", "{\"resources\":[{\"type\":\"topics\",\"name\":\"t\"}]}", "at resources[0].type", "did you mean `topic`?"},
      {"configs_describe", "{\"resources\":[{\"type\":\"broker\",\"name\":\"one\"}]}", "at resources[0].name", "not a broker's number"},
      {"configs_describe", "{\"resources\":[{\"type\":\"broker\",\"name\":\"1\"},{\"type\":\"broker\",\"name\":\"2\"}]}",
       "more than one broker", NULL},
      {"configs_alter_incremental", "{\"resources\":[{\"type\":\"topic\",\"name\":\"t\",\"changes\":[{\"name\":\"x\",\"operation\":\"set\"}]}]}",
       "at resources[0].changes[0].value", "missing"},
      {"configs_alter_incremental",
       "{\"resources\":[{\"type\":\"topic\",\"name\":\"t\",\"changes\":[{\"name\":\"x\",\"operation\":\"delete\",\"value\":\"\"}]}]}",
       "at resources[0].changes[0].value", "takes none"},
      {"group_offsets_alter", "{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":0,\"offset\":-1}]}", "at offsets[0].offset", "negative"},
      {"group_offsets_list", "{\"group\":\"\"}", "at group", "empty"},
      {"group_offsets_list", "{\"group\":\"g\",\"partitions\":[{\"topic\":\"t\",\"partition\":-1}]}", "at partitions[0].partition", "negative"},
      {"offsets_list", "{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"at\":\"timestamp\"}]}", "at partitions[0].timestamp", "missing"},
      {"offsets_list", "{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"at\":\"latest\",\"timestamp\":1}]}", "at partitions[0].timestamp", NULL},
      {"records_delete", "{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"before\":-2}]}", "at partitions[0].before", NULL},
      {"acls_create",
       "{\"acls\":[{\"resource_type\":\"topic\",\"resource\":\"t\",\"pattern\":\"any\",\"principal\":\"User:a\",\"host\":\"*\","
       "\"operation\":\"read\",\"permission\":\"allow\"}]}",
       "at acls[0].pattern", "filters only"},
      {"acls_delete", "{\"filters\":[{\"resource\":\"t\"},{}]}", "at filters[1]", "delete every rule"},
      {"acls_describe", "{\"filter\":{\"resource\":\"\"}}", "at filter.resource", "leave it out"},
      {"acls_describe", "{\"filter\":{\"resource_typ\":\"topic\"}}", "at filter.resource_typ", "did you mean `resource_type`?"},
      {"scram_users_alter", "{}", "neither upsertions nor deletions", NULL},
      {"leaders_elect", "{\"election\":\"prefered\"}", "at election", "did you mean `preferred`?"},
      {"groups_list", "{\"states\":[\"stable\",\"sleeping\"]}", "at states[1]", "sleeping"},
      {"groups_describe", "{\"groups\":[\"\"]}", "at groups[0]", "empty"},
      {"metadata", "{\"topics\":[]}", "at topics", "empty"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    refuses(a, faults[i][0], faults[i][1], faults[i][2], faults[i][3]);
    if (faults[i][0][0] != 0 && strcmp(faults[i][0], "topic_create") != 0) CHECK(has(last_error()->message, faults[i][0]));
  }
  char deep[4096] = "{\"topics\":";
  memset(deep + 10, '[', sizeof deep - 11);
  deep[sizeof deep - 1] = 0;
  refuses(a, "topics_create", deep, "topics", NULL);
  refuses(a, "topics_create", "{\"topics\":[{\"topic\":\"\xff\"}]}", "UTF-8", NULL);
  close_admin(a);
}

TEST(secrets_are_never_repeated) {
  kabi_admin_t *a = lonely();
  static const char *const leaks[] = {
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"password\":[\"sesame\"]}]}",
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"password\":73737373}]}",
      "{\"upsertions\":[\"sesame\"]}",
      "{\"upsertions\":\"sesame\"}",
      "\"sesame\"",
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"iterations\":\"sesame, expected sesame\",\"password\":\"p\"}]}",
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"iterations\":0,\"password\":\"sesame\"}]}",
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"password\":\"sesame\",\"salt_hex\":\"sesame\"}]}",
      "{\"upsertions\":[{\"user\":\"u\",\"mechanism\":\"SCRAM-SHA-256\",\"password\":\"sesame\",\"salt\":1}]}",
  };
  for (size_t i = 0; i < sizeof leaks / sizeof leaks[0]; i++) {
    uint64_t request = 0;
    size_t length = 0;
    GIVES(KABI_STATUS_ARGUMENT, kabi_admin_call(a, "scram_users_alter", leaks[i], 0, &request, NULL, 0, &length, ERR));
    CHECK(!has(last_error()->message, "sesame"));
    CHECK(!has(last_error()->message, "7373"));
    CHECK(has(last_error()->message, "scram_users_alter"));
  }
  close_admin(a);
}

TEST(numbers_and_outcomes_are_checked) {
  kabi_admin_t *a = lonely();
  uint64_t request = 0;
  size_t length = 0;
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_start(a, "cluster_describe", NULL, -2, KABI_OUTCOME_KEPT, &request, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_start(a, "cluster_describe", NULL, 0, 2, &request, ERR));
  GIVES(KABI_STATUS_NOENT, kabi_admin_result(a, 0, 0, NULL, 0, &length, ERR));
  GIVES(KABI_STATUS_NOENT, kabi_admin_discard(a, UINT64_MAX, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_topic_create(a, "a/b", 1, 1, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_topic_create(a, "t", 0, 1, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_topic_create(a, "t", 1, -2, 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_topic_delete(a, "", 0, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_partitions_add(a, "t", 0, 0, ERR));
  close_admin(a);
}

TEST(an_event_that_the_mask_leaves_out_is_refused) {
  kabi_config_t *config = new_config(NOWHERE, NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_ERROR, ERR));
  kabi_admin_t *a = admin_from(config);
  uint64_t request = 0;
  GIVES(KABI_STATUS_STATE, kabi_admin_start(a, "cluster_describe", NULL, 100, KABI_OUTCOME_EVENT, &request, ERR));
  CHECK(has(last_error()->message, "KABI_EVENT_REQUEST"));
  OK(kabi_admin_start(a, "cluster_describe", NULL, 100, KABI_OUTCOME_KEPT, &request, ERR));
  close_admin(a);
}

TEST(outcomes_that_nobody_takes_are_bounded) {
  kabi_admin_t *a = admin_from(new_config(NOWHERE, "kafkabi.events.max", "1000", NULL));
  uint64_t request = 0, first = 0;
  for (int i = 0; i < 1000; i++) {
    MUST_OK(kabi_admin_start(a, "cluster_describe", NULL, 60000, i % 2 ? KABI_OUTCOME_KEPT : KABI_OUTCOME_EVENT, &request, ERR));
    if (i == 1) first = request;
  }
  GIVES(KABI_STATUS_QUEUE_FULL, kabi_admin_start(a, "cluster_describe", NULL, 60000, KABI_OUTCOME_EVENT, &request, ERR));
  OK(kabi_admin_discard(a, first, ERR));
  OK(kabi_admin_start(a, "cluster_describe", NULL, 60000, KABI_OUTCOME_EVENT, &request, ERR));
  /* Each of those that are to be events has exactly one, after the close too. */
  kabi_status_t status = kabi_admin_close(a, 0, ERR);
  CHECK(status == 0 || status == KABI_STATUS_TIMED_OUT);
  OK(kabi_admin_close(a, patience(10000), ERR));
  int events = 0;
  kabi_event_t event;
  uint8_t bytes[4096];
  size_t count;
  while ((status = kabi_admin_drain(a, 0, &event, 1, &count, bytes, sizeof bytes, NULL, ERR)) == 0 && count == 1) {
    if (event.kind != KABI_EVENT_REQUEST) continue;
    CHECK_EQ(KABI_STATUS_CLOSED, event.code);
    CHECK(event.flags & KABI_ERROR_OUTCOME_UNKNOWN);
    events++;
  }
  CHECK_EQ(KABI_STATUS_CLOSED, status);
  CHECK_EQ(501, events);
  kabi_admin_free(a);
}

/* ---- waits ---- */

TEST(a_request_that_no_broker_answers_ends_in_time) {
  kabi_admin_t *a = lonely();
  static const char *const operations[][2] = {{"cluster_describe", NULL},
                                              {"metadata", NULL},
                                              {"metadata", "{\"topics\":[\"t\"]}"},
                                              {"topics_create", "{\"topics\":[{\"topic\":\"t\"}]}"},
                                              {"group_offsets_list", "{\"group\":\"g\"}"},
                                              {"offsets_list", "{\"partitions\":[{\"topic\":\"t\",\"partition\":0,\"at\":\"latest\"}]}"},
                                              {"scram_users_describe", NULL}};
  for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
    uint64_t request = 0;
    size_t length = 0;
    int64_t since = now_ms();
    GIVES(KABI_STATUS_TIMED_OUT, kabi_admin_call(a, operations[i][0], operations[i][1], 300, &request, NULL, 0, &length, ERR));
    CHECK(now_ms() - since >= 290);
    CHECK_WITHIN(1500, since);
    CHECK(has(last_error()->message, operations[i][0]));
    CHECK(last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN);
    GIVES(KABI_STATUS_NOENT, kabi_admin_result(a, request, 0, NULL, 0, &length, ERR)); /* done with */
  }
  GIVES(KABI_STATUS_TIMED_OUT, kabi_admin_topic_create(a, "t", 1, 1, 200, ERR));
  close_admin(a);
}

/* Where each item, or each broker, is asked by itself, it has the time-out for its status. */
TEST(items_that_no_broker_answers_end_in_time) {
  kabi_admin_t *a = lonely();
  char text[4096];
  size_t length = 0;
  uint64_t request = 0;
  int64_t since = now_ms();
  OK(kabi_admin_call(a, "groups_list", NULL, 300, &request, text, sizeof text, &length, ERR));
  CHECK(has(text, "\"errors\":[{\"code\":-185,\"name\":\"TIMED_OUT\""));
  OK(kabi_admin_call(a, "groups_describe", "{\"groups\":[\"g\"]}", 300, &request, text, sizeof text, &length, ERR));
  CHECK(has(text, "\"status\":{\"code\":-185,\"name\":\"TIMED_OUT\""));
  CHECK_WITHIN(3000, since);
  close_admin(a);
}

static int woken; /* the call that waits is back */

/* From time to time: a wake only ends the calls that are there already. */
static void *waker(void *admin) {
  do {
    unseen(100);
    OK(kabi_admin_wake((kabi_admin_t *)admin, NULL));
  } while (!__atomic_load_n(&woken, __ATOMIC_ACQUIRE));
  return NULL;
}

static void start_waker(kabi_admin_t *admin, pthread_t *thread) {
  __atomic_store_n(&woken, 0, __ATOMIC_RELEASE);
  MUST(pthread_create(thread, NULL, waker, admin) == 0);
}

static void stop_waker(pthread_t thread) {
  __atomic_store_n(&woken, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
}

static void *closer(void *admin) {
  unseen(200);
  kabi_admin_close((kabi_admin_t *)admin, 0, NULL);
  return NULL;
}

TEST(a_wake_ends_a_wait_and_the_request_goes_on) {
  kabi_admin_t *a = lonely();
  uint64_t request = 0;
  size_t length = 0;
  pthread_t thread;
  start_waker(a, &thread);
  int64_t since = now_ms();
  GIVES(KABI_STATUS_INTERRUPTED, kabi_admin_call(a, "cluster_describe", NULL, 60000, &request, NULL, 0, &length, ERR));
  CHECK_WITHIN(2000, since);
  CHECK(request != 0);
  stop_waker(thread);
  GIVES(KABI_STATUS_TIMED_OUT, kabi_admin_result(a, request, 50, NULL, 0, &length, ERR));
  CHECK(!(last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN));
  OK(kabi_admin_discard(a, request, ERR));
  start_waker(a, &thread);
  since = now_ms();
  GIVES(KABI_STATUS_INTERRUPTED, kabi_admin_topic_create(a, "t", 1, 1, 60000, ERR));
  CHECK_WITHIN(2000, since);
  CHECK(last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN);
  stop_waker(thread);
  close_admin(a);
}

TEST(a_close_ends_a_wait) {
  kabi_admin_t *a = lonely();
  uint64_t request = 0;
  size_t length = 0;
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, closer, a) == 0);
  int64_t since = now_ms();
  GIVES(KABI_STATUS_CLOSED, kabi_admin_call(a, "topics_create", "{\"topics\":[{\"topic\":\"t\"}]}", 60000, &request, NULL, 0, &length, ERR));
  CHECK(last_error()->flags & KABI_ERROR_OUTCOME_UNKNOWN);
  CHECK_WITHIN(2000, since);
  pthread_join(thread, NULL);
  kabi_admin_close(a, 0, NULL); /* gives the request up, unless the other did: its answer never comes */
  OK(kabi_admin_close(a, patience(10000), ERR));
  GIVES(KABI_STATUS_CLOSED, kabi_admin_call(a, "cluster_describe", NULL, 0, &request, NULL, 0, &length, ERR));
  kabi_admin_free(a);
}

TEST(metadata_under_way_does_not_hold_a_close_up) {
  kabi_admin_t *a = lonely();
  uint64_t request = 0;
  MUST_OK(kabi_admin_start(a, "metadata", NULL, 60000, KABI_OUTCOME_KEPT, &request, ERR));
  int64_t since = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_admin_close(a, 100, ERR));
  CHECK(has(last_error()->message, "1 requests were given up"));
  OK(kabi_admin_close(a, patience(10000), ERR));
  CHECK_WITHIN(6000, since);
  kabi_admin_free(a);
}

TEST(admins_are_freed_in_any_state) {
  for (int i = 0; i < 3; i++) {
    kabi_admin_t *a = lonely();
    uint64_t request = 0;
    if (i > 0) MUST_OK(kabi_admin_start(a, "metadata", NULL, 500, KABI_OUTCOME_KEPT, &request, ERR));
    if (i > 1) MUST_OK(kabi_admin_start(a, "cluster_describe", NULL, 500, KABI_OUTCOME_EVENT, &request, ERR));
    kabi_admin_free(a);
    kabi_admin_free(a);
  }
  kabi_admin_free(NULL);
  OK(kabi_shutdown(patience(15000), ERR));
}

/* ---- on top of other clients ---- */

TEST(closing_the_client_below_ends_the_admin) {
  kabi_producer_t *producer = new_producer(NOWHERE, NULL);
  kabi_admin_t *first = NULL, *second = NULL;
  MUST_OK(kabi_admin_of_producer(producer, &first, ERR));
  MUST_OK(kabi_admin_of_producer(producer, &second, ERR));
  uint64_t event = 0, kept = 0;
  MUST_OK(kabi_admin_start(first, "metadata", NULL, 60000, KABI_OUTCOME_EVENT, &event, ERR));
  MUST_OK(kabi_admin_start(second, "topics_delete", "{\"topics\":[\"t\"]}", 60000, KABI_OUTCOME_KEPT, &kept, ERR));
  int64_t since = now_ms();
  OK(kabi_producer_close(producer, patience(10000), NULL, ERR));
  CHECK_WITHIN(8000, since);
  kabi_event_t told;
  uint8_t bytes[4096];
  size_t count = 0, length = 0;
  MUST_OK(kabi_admin_drain(first, patience(1000), &told, 1, &count, bytes, sizeof bytes, NULL, ERR));
  CHECK_EQ(1, count);
  CHECK_EQ(event, told.token);
  CHECK_EQ(KABI_STATUS_CLOSED, told.code);
  CHECK(has((const char *)bytes + told.text_offset, "given up"));
  GIVES(KABI_STATUS_CLOSED, kabi_admin_result(second, kept, 1000, NULL, 0, &length, ERR));
  GIVES(KABI_STATUS_CLOSED, kabi_admin_topic_create(second, "t", 1, 1, 100, ERR));
  OK(kabi_admin_close(first, patience(10000), ERR));
  kabi_producer_free(producer);
  kabi_admin_free(second);
  kabi_admin_free(first);
}

TEST(freeing_the_client_below_does_not_wait_for_the_admin) {
  kabi_consumer_t *consumer = new_consumer(NOWHERE, "group", NULL);
  kabi_admin_t *a = NULL;
  MUST_OK(kabi_admin_of_consumer(consumer, &a, ERR));
  kabi_consumer_free(consumer);
  GIVES(KABI_STATUS_HANDLE, kabi_admin_of_consumer(consumer, &a, ERR));
  OK(kabi_shutdown(patience(20000), ERR));
}

TEST(an_admin_may_go_before_its_client) {
  kabi_producer_t *producer = new_producer(NOWHERE, NULL);
  for (int i = 0; i < 20; i++) {
    kabi_admin_t *a = NULL;
    MUST_OK(kabi_admin_of_producer(producer, &a, ERR));
    if (i % 2) OK(kabi_admin_close(a, patience(5000), ERR));
    kabi_admin_free(a);
  }
  OK(kabi_producer_close(producer, patience(10000), NULL, ERR));
  kabi_producer_free(producer);
}

/* ---- on the embedded cluster ---- */

TEST(the_embedded_cluster_answers_what_it_can) {
  kabi_cluster_t *cluster = new_cluster(2);
  new_topic(cluster, "known", 2);
  MUST_OK(kabi_cluster_rack(cluster, 1, "east", ERR));
  kabi_admin_t *a = new_admin(bootstrap(cluster));
  fill_topic(cluster, "known", 0, 5);
  ask(a, "offsets_list", "{\"partitions\":[{\"topic\":\"known\",\"partition\":0,\"at\":\"latest\"},"
                         "{\"topic\":\"known\",\"partition\":1,\"at\":\"latest\"}]}");
  CHECK_EQ(5, number_at("partitions/0/offset") + number_at("partitions/1/offset"));
  ask(a, "metadata", NULL);
  CHECK_EQ(2, count_at("brokers"));
  CHECK(has(answer(), "\"rack\":\"east\""));
  CHECK_TEXT("known", text_at("topics/0/topic"));
  CHECK_EQ(2, count_at("topics/0/partitions"));
  CHECK_EQ(1, count_at("topics/0/partitions/0/replicas"));
  ask(a, "metadata", "{\"topics\":[\"known\"]}");
  CHECK_EQ(2, count_at("topics/0/partitions"));
  /* The rest ends by its time-out, with an error that says what. */
  int64_t since = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_admin_topic_create(a, "new", 1, 1, 300, ERR));
  CHECK(has(last_error()->message, "topics_create"));
  CHECK_WITHIN(2000, since);
  close_admin(a);
  kabi_cluster_free(cluster);
}

static int32_t on_request(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  uint64_t *seen = (uint64_t *)user;
  CHECK_EQ(1, count);
  CHECK_EQ(KABI_EVENT_REQUEST, events[0].kind);
  CHECK(is_json((const char *)bytes + events[0].text_offset));
  *seen = events[0].token;
  return 0;
}

TEST(handlers_get_requests) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "known", 1);
  uint64_t seen = 0, request = 0;
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  MUST_OK(kabi_config_handler(config, KABI_EVENT_REQUEST, on_request, &seen, NULL, ERR));
  kabi_producer_t *producer = producer_from(config);
  kabi_admin_t *a = NULL;
  MUST_OK(kabi_admin_of_producer(producer, &a, ERR));
  MUST_OK(kabi_admin_start(a, "offsets_list", "{\"partitions\":[{\"topic\":\"known\",\"partition\":0,\"at\":\"earliest\"}]}", LONG,
                           KABI_OUTCOME_EVENT, &request, ERR));
  size_t count = 0;
  while (count == 0) MUST_OK(kabi_admin_poll(a, patience(10000), &count, ERR));
  CHECK_EQ(1, count);
  CHECK_EQ(request, seen);
  close_admin(a);
  close_producer(producer);
  kabi_cluster_free(cluster);
}
