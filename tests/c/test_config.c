/* Configuration: properties by name, what is refused and how, secrets, texts into the caller's buffer, finalizers. */
#include "harness.h"

static char text[1 << 20];
static size_t length;

static const char *get(kabi_config_t *config, const char *name) {
  text[0] = 0;
  OK(kabi_config_get(config, name, text, sizeof text, &length, ERR));
  CHECK_EQ(strlen(text), length);
  return text;
}

TEST(set_get_unset) {
  kabi_config_t *config = new_config(NULL, NULL);
  char first[256];
  snprintf(first, sizeof first, "%s", get(config, "linger.ms"));
  OK(kabi_config_set(config, "linger.ms", "37", ERR));
  CHECK_TEXT("37", get(config, "linger.ms"));
  OK(kabi_config_set(config, "linger.ms", "38", ERR));
  CHECK_TEXT("38", get(config, "linger.ms"));
  OK(kabi_config_unset(config, "linger.ms", ERR));
  CHECK_TEXT(first, get(config, "linger.ms"));
  OK(kabi_config_unset(config, "linger.ms", ERR)); /* again */
  OK(kabi_config_set(config, "client.id", "gr\xc3\xbc\xc3\x9f" "e", ERR));
  CHECK_TEXT("gr\xc3\xbc\xc3\x9f" "e", get(config, "client.id"));
  kabi_config_free(config);
}

TEST(own_properties) {
  kabi_config_t *config = new_config(NULL, NULL);
  OK(kabi_config_set(config, "kafkabi.handled", "explicit", ERR));
  CHECK_TEXT("explicit", get(config, "kafkabi.handled"));
  OK(kabi_config_set(config, "kafkabi.report.latency", "true", ERR));
  CHECK_TEXT("true", get(config, "kafkabi.report.latency"));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "kafkabi.handled", "sometimes", ERR));
  CHECK(has(last_error()->message, "kafkabi.handled"));
  CHECK_TEXT("explicit", get(config, "kafkabi.handled")); /* as before */
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "kafkabi.report.latency", "maybe", ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "kafkabi.handledd", "explicit", ERR));
  CHECK(has(last_error()->message, "kafkabi.handled"));
  kabi_config_free(config);
}

TEST(an_unknown_property_is_named_with_the_nearest) {
  static const char *const wrong[][2] = {{"boostrap.servers", "bootstrap.servers"}, {"linger_ms", "linger.ms"}, {"Client.Id", "client.id"},
                                         {"enable.auto.comit", "enable.auto.commit"}, {"compresion.type", "compression.type"}};
  kabi_config_t *config = new_config(NULL, NULL);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, wrong[i][0], "1", ERR));
    if (!CHECK(has(last_error()->message, wrong[i][0]) && has(last_error()->message, wrong[i][1]))) note("%s", last_error()->message);
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_get(config, wrong[i][0], text, sizeof text, &length, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_unset(config, wrong[i][0], ERR));
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "", "1", ERR));
  kabi_config_free(config);
}

TEST(an_invalid_value_is_named) {
  static const char *const wrong[][2] = {{"linger.ms", "soon"}, {"linger.ms", "-5"}, {"linger.ms", "99999999999"}, {"enable.idempotence", "perhaps"},
                                         {"compression.type", "rar"}, {"acks", "many"}, {"auto.offset.reset", "middle"}};
  kabi_config_t *config = new_config(NULL, NULL);
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    char before[256];
    snprintf(before, sizeof before, "%s", get(config, wrong[i][0]));
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, wrong[i][0], wrong[i][1], ERR));
    if (!CHECK(has(last_error()->message, wrong[i][0]))) note("%s", last_error()->message);
    CHECK_TEXT(before, get(config, wrong[i][0]));
  }
  kabi_config_free(config);
}

/* What only the making of a client can tell. */
TEST(conflicting_properties_fail_at_new) {
  kabi_config_t *config = new_config(NOWHERE, "enable.idempotence", "true", "acks", "1", NULL);
  kabi_producer_t *producer = (kabi_producer_t *)&text;
  kabi_status_t status = kabi_producer_new(config, &producer, ERR);
  CHECK(status != 0 && status == last_error()->code && has(last_error()->message, "acks"));
  CHECK(producer == NULL || producer == (kabi_producer_t *)&text); /* no handle came */
  OK(kabi_config_unset(config, "acks", ERR)); /* the config is none the worse */
  producer = producer_from(config);
  kabi_producer_free(producer);
}

TEST(text_outputs_follow_the_buffer_protocol) {
  kabi_config_t *config = new_config(NULL, "client.id", "twelve chars", NULL);
  char buffer[32];
  for (size_t size = 0; size <= 20; size++) {
    memset(buffer, 'x', sizeof buffer);
    length = 99;
    kabi_status_t want = size > 12 ? KABI_STATUS_OK : KABI_STATUS_BUFFER_TOO_SMALL;
    GIVES(want, kabi_config_get(config, "client.id", size > 0 ? buffer : NULL, size, &length, ERR));
    CHECK_EQ(12, length);
    if (want == 0) CHECK_TEXT("twelve chars", buffer);
    for (size_t i = size > 13 ? 13 : size; i < sizeof buffer; i++) CHECK(buffer[i] == 'x'); /* nothing beyond */
  }
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_get(config, "client.id", NULL, 32, &length, ERR));
  OK(kabi_config_set(config, "client.id", "", ERR));
  OK(kabi_config_get(config, "client.id", buffer, 1, &length, ERR));
  CHECK(length == 0 && buffer[0] == 0);
  /* The same for the others that give text. */
  length = 0;
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_config_dump(config, NULL, 0, &length, ERR));
  size_t need = length;
  MUST(need > 0 && need < sizeof text);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_config_dump(config, text, need, &length, ERR));
  OK(kabi_config_dump(config, text, need + 1, &length, ERR));
  CHECK_EQ(need, strlen(text));
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_config_describe(NULL, 0, &length, ERR));
  need = length;
  MUST(need > 0 && need < sizeof text);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_config_describe(text, need, &length, ERR));
  OK(kabi_config_describe(text, need + 1, &length, ERR));
  CHECK_EQ(need, strlen(text));
  kabi_config_free(config);
}

TEST(describe_lists_every_property_as_json) {
  static const char *const names[] = {"bootstrap.servers", "linger.ms", "enable.idempotence", "auto.offset.reset", "sasl.password", "statistics.interval.ms",
                                      "kafkabi.handled", "kafkabi.report.latency", "group.id", "partitioner", "message.timeout.ms"};
  OK(kabi_config_describe(text, sizeof text, &length, ERR));
  CHECK(is_json(text));
  CHECK(is_utf8(text, length));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
    if (!CHECK(has(text, quoted))) note("%s", names[i]);
  }
  CHECK(has(text, "\"default\"") && has(text, "\"kind\"") && has(text, "\"text\""));
}

static const char *const secrets[] = {"sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password", "sasl.oauthbearer.config"};
#define SECRET "hush-4711"

TEST(dump_shows_what_was_set_but_no_secret) {
  kabi_config_t *config = new_config(NOWHERE, "client.id", "shown-4712", "kafkabi.handled", "explicit", NULL);
  for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) put(config, secrets[i], SECRET);
  OK(kabi_config_dump(config, text, sizeof text, &length, ERR));
  CHECK(has(text, "shown-4712") && has(text, NOWHERE) && has(text, "kafkabi.handled"));
  CHECK(!has(text, SECRET));
  for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
    if (!CHECK(has(text, secrets[i]))) note("%s is not named", secrets[i]); /* that it is set may be seen */
  kabi_config_free(config);
}

TEST(errors_show_no_secret) {
  kabi_config_t *config = new_config(NOWHERE, "security.protocol", "ssl", "ssl.key.pem", SECRET, "ssl.certificate.pem", SECRET, NULL);
  kabi_producer_t *producer = NULL;
  kabi_status_t status = kabi_producer_new(config, &producer, ERR); /* it is no key */
  CHECK(status != 0);
  CHECK(!has(last_error()->message, SECRET));
  kabi_producer_free(producer);
  kabi_config_free(config);
  /* A value that is wrong for a property with a secret in it, and a secret under a misspelt name. */
  config = new_config(NULL, NULL);
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "sasl.pasword", SECRET, ERR));
  CHECK(!has(last_error()->message, SECRET));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "sasl.password", SECRET "\xff", ERR));
  CHECK(!has(last_error()->message, SECRET));
  kabi_config_free(config);
}

TEST(logs_show_no_secret) {
  kabi_config_t *config = new_config(NOWHERE, "debug", "all", "security.protocol", "sasl_plaintext", "sasl.mechanism", "PLAIN", "sasl.username", "u", "sasl.password", SECRET, NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_LOG, ERR));
  kabi_producer_t *producer = producer_from(config);
  static kabi_event_t events[64];
  static uint8_t bytes[1 << 18];
  size_t count, used, lines = 0;
  int64_t end = now_ms() + patience(10000);
  while (lines < 20 && now_ms() < end) {
    MUST_OK(kabi_producer_drain(producer, 500, events, 64, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) {
      CHECK_EQ(KABI_EVENT_LOG, events[i].kind);
      CHECK(!has((const char *)bytes + events[i].text_offset, SECRET));
      lines++;
    }
  }
  CHECK(lines >= 20);
  kabi_producer_free(producer);
}

TEST(bad_text_is_refused) {
  static const char *const bad[] = {"\xff", "a\xc3", "\xc3(", "\xed\xa0\x80", "\xc0\x80", "\xf5\x80\x80\x80", "ok\x80"};
  kabi_config_t *config = new_config(NULL, NULL);
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, bad[i], "1", ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "client.id", bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_get(config, bad[i], text, sizeof text, &length, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_config_unset(config, bad[i], ERR));
  }
  /* Over-long: a megabyte for a name. */
  memset(text, 'n', sizeof text - 1);
  text[sizeof text - 1] = 0;
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, text, "1", ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_unset(config, text, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, NULL, "1", ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_set(config, "client.id", NULL, ERR));
  CHECK_TEXT("rdkafka", get(config, "client.id")); /* nothing of it stuck */
  kabi_config_free(config);
}

TEST(masks_and_handlers_of_unknown_kinds_are_refused) {
  kabi_config_t *config = new_config(NULL, NULL);
  OK(kabi_config_events(config, 0, ERR));
  OK(kabi_config_events(config, KABI_EVENT_REPORT | KABI_EVENT_LOG, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_events(config, 0x80000000u, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_config_handler(config, 0x80000000u, NULL, NULL, NULL, ERR));
  kabi_config_free(config);
}

TEST(handles_of_configs) {
  kabi_config_t *config = new_config(NULL, NULL), *other = new_config(NULL, NULL);
  kabi_config_free(config);
  GIVES(KABI_STATUS_HANDLE, kabi_config_set(config, "linger.ms", "1", ERR));
  GIVES(KABI_STATUS_HANDLE, kabi_config_get(config, "linger.ms", text, sizeof text, &length, ERR));
  kabi_config_free(config); /* twice */
  kabi_config_free(NULL);
  kabi_config_t *third = new_config(NULL, NULL); /* may take the slot, not the handle */
  CHECK(third != config);
  GIVES(KABI_STATUS_HANDLE, kabi_config_set(config, "linger.ms", "1", ERR));
  OK(kabi_config_set(other, "linger.ms", "1", ERR));
  GIVES(KABI_STATUS_WRONG_TYPE, kabi_producer_wake((kabi_producer_t *)(void *)other, ERR));
  kabi_config_free(third);
  kabi_config_free(other);
}

TEST(one_config_makes_two_clients_and_may_change_after) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "both", 1);
  kabi_config_t *config = new_config(bootstrap(cluster), NULL);
  kabi_producer_t *first = NULL, *second = NULL;
  MUST_OK(kabi_producer_new(config, &first, ERR));
  MUST_OK(kabi_producer_new(config, &second, ERR));
  OK(kabi_config_set(config, "bootstrap.servers", NOWHERE, ERR));
  OK(kabi_config_events(config, 0, ERR));
  fill(first, "both", 0, 0, 5); /* its broker and its reports are as they were */
  kabi_config_free(config);
  fill(second, "both", 0, 5, 5);
  close_producer(first);
  close_producer(second);
  kabi_cluster_free(cluster);
}

/* ---- finalizers ---- */

typedef struct final_t { int times; pthread_t thread; } final_t;

static void finalize(void *user) {
  final_t *final = (final_t *)user;
  final->thread = pthread_self();
  __atomic_add_fetch(&final->times, 1, __ATOMIC_SEQ_CST);
}

static int32_t ignore(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)events, (void)count, (void)bytes, (void)user;
  return 0;
}

static void *free_producer(void *producer) {
  kabi_producer_free((kabi_producer_t *)producer);
  return NULL;
}

TEST(a_finalizer_runs_once_when_the_config_goes) {
  final_t final = {0, 0};
  kabi_config_t *config = new_config(NULL, NULL);
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, ignore, &final, finalize, ERR));
  CHECK_EQ(0, final.times);
  kabi_config_free(config);
  CHECK_EQ(1, final.times);
  CHECK(pthread_equal(final.thread, pthread_self()));
}

TEST(a_replaced_handler_is_finalized) {
  final_t first = {0, 0}, second = {0, 0};
  kabi_config_t *config = new_config(NULL, NULL);
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, ignore, &first, finalize, ERR));
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, ignore, &second, finalize, ERR));
  CHECK_EQ(1, first.times);
  CHECK_EQ(0, second.times);
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, NULL, NULL, NULL, ERR)); /* none any more */
  CHECK_EQ(1, second.times);
  kabi_config_free(config);
  CHECK(first.times == 1 && second.times == 1);
}

TEST(a_handler_of_two_kinds_is_finalized_once) {
  final_t final = {0, 0};
  kabi_config_t *config = new_config(NULL, NULL);
  OK(kabi_config_handler(config, KABI_EVENT_REPORT | KABI_EVENT_ERROR, ignore, &final, finalize, ERR));
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, NULL, NULL, NULL, ERR)); /* still of ERROR */
  CHECK_EQ(0, final.times);
  kabi_config_free(config);
  CHECK_EQ(1, final.times);
}

TEST(a_finalizer_waits_for_the_last_client_and_runs_on_the_freeing_thread) {
  final_t final = {0, 0};
  kabi_config_t *config = new_config(NOWHERE, NULL);
  kabi_producer_t *first = NULL, *second = NULL;
  pthread_t thread;
  OK(kabi_config_handler(config, KABI_EVENT_REPORT, ignore, &final, finalize, ERR));
  MUST_OK(kabi_producer_new(config, &first, ERR));
  MUST_OK(kabi_producer_new(config, &second, ERR));
  kabi_config_free(config);
  CHECK_EQ(0, final.times);
  kabi_producer_free(first);
  CHECK_EQ(0, final.times);
  MUST(pthread_create(&thread, NULL, free_producer, second) == 0);
  pthread_join(thread, NULL);
  CHECK_EQ(1, final.times);
  CHECK(pthread_equal(final.thread, thread));
}

TEST(a_refused_handler_is_not_finalized) {
  final_t final = {0, 0};
  GIVES(KABI_STATUS_HANDLE, kabi_config_handler(NULL, KABI_EVENT_REPORT, ignore, &final, finalize, ERR));
  CHECK_EQ(0, final.times); /* the caller still owns it */
}
