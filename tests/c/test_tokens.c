/* Tokens for OAUTHBEARER: the client asks by an event, nobody has to poll for it, and is answered by a token or a failure.
   Whether a broker takes one is tested on a real broker, in real_tokens.c. */
#include "harness.h"

static int64_t wall_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static kabi_config_t *bearer(void) {
  return new_config(NOWHERE, "security.protocol", "sasl_plaintext", "sasl.mechanisms", "OAUTHBEARER", "sasl.oauthbearer.config",
                    "who=me", "kafkabi.log", "off", NULL);
}

/* The next event of these kinds. Its text is in `text`. */
static int next_event(kabi_producer_t *producer, uint32_t kinds, int ms, kabi_event_t *event, const char **text) {
  static uint64_t bytes[4096];
  for (int64_t since = now_ms(); now_ms() - since < ms;) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, 200, event, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
    if (count == 0 || !(event->kind & kinds)) continue;
    *text = (const char *)bytes + event->text_offset;
    CHECK_EQ(strlen(*text), event->text_length);
    return 1;
  }
  return 0;
}

TEST(a_client_asks_for_a_token_and_again_before_it_ends) {
  kabi_producer_t *producer = producer_from(bearer());
  kabi_event_t event;
  const char *text = "";
  int32_t fd;
  OK(kabi_producer_event_fd(producer, &fd, ERR));
  CHECK(readable(fd, patience(5000))); /* nobody polls */
  MUST(next_event(producer, KABI_EVENT_TOKEN, patience(5000), &event, &text));
  CHECK_EQ(KABI_EVENT_TOKEN, event.kind);
  CHECK_TEXT("who=me", text);
  OK(kabi_producer_token_set(producer, "a.b.c", wall_ms() + 2500, "me", "{\"scope\": \"all\", \"trace\": \"x\"}", ERR));
  int64_t since = now_ms();
  MUST(next_event(producer, KABI_EVENT_TOKEN, patience(6000), &event, &text));
  CHECK(now_ms() - since >= 1000);
  OK(kabi_producer_close(producer, patience(2000), NULL, ERR));
  GIVES(KABI_STATUS_CLOSED, kabi_producer_token_set(producer, "a.b.c", wall_ms() + 2500, "me", NULL, ERR));
  kabi_producer_free(producer);
}

static kabi_producer_t *asking;
static int asked;

static int32_t give_token(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  CHECK(count == 1 && events[0].kind == KABI_EVENT_TOKEN && user == &asked);
  CHECK_TEXT("who=me", (const char *)bytes + events[0].text_offset);
  OK(kabi_producer_token_set(asking, "a.b.c", wall_ms() + 3600000, "me", NULL, ERR));
  asked++;
  return 0;
}

TEST(a_handler_gives_the_token) {
  kabi_config_t *config = bearer();
  OK(kabi_config_handler(config, KABI_EVENT_TOKEN, give_token, &asked, NULL, ERR));
  asking = producer_from(config);
  for (int64_t since = now_ms(); asked == 0 && now_ms() - since < patience(5000);) OK(kabi_producer_poll(asking, 100, NULL, ERR));
  CHECK_EQ(1, asked);
  kabi_producer_close(asking, patience(2000), NULL, NULL);
  kabi_producer_free(asking);
}

TEST(a_failure_is_told_as_an_error) {
  kabi_producer_t *producer = producer_from(bearer());
  kabi_event_t event;
  const char *text = "";
  MUST(next_event(producer, KABI_EVENT_TOKEN, patience(5000), &event, &text));
  OK(kabi_producer_token_failure(producer, "the vault is shut", ERR));
  int found = 0;
  while (!found && next_event(producer, KABI_EVENT_ERROR, patience(5000), &event, &text))
    found = event.code == KABI_STATUS_AUTHENTICATION && has(text, "the vault is shut");
  CHECK(found);
  kabi_producer_close(producer, patience(2000), NULL, NULL);
  kabi_producer_free(producer);
}

TEST(bad_tokens_are_refused) {
  kabi_producer_t *producer = producer_from(bearer()), *plain = new_producer(NOWHERE, "kafkabi.log", "off", NULL);
  int64_t later = wall_ms() + 60000;
  static const char *const bad[] = {"", "{", "[]", "1", "{\"a\":1}", "{\"a\":null}", "{\"a\":{}}", "\xff"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) GIVES(KABI_STATUS_ARGUMENT, kabi_producer_token_set(producer, "t", later, "me", bad[i], ERR));
  /* librdkafka knows what RFC 7628 allows. */
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t", later, "me", "{\"auth\":\"x\"}", ERR));
  CHECK(has(last_error()->message, "auth"));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t", later, "me", "{\"k\":\"\\u0001\"}", ERR));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t\001", later, "me", NULL, ERR));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t", wall_ms() - 1, "me", NULL, ERR));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t", 0, "me", NULL, ERR));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_producer_token_set(producer, "t", INT64_MIN, "me", NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_token_set(producer, NULL, later, "me", NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_token_set(producer, "t", later, NULL, NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_token_failure(producer, NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_token_failure(producer, "", ERR));
  OK(kabi_producer_token_set(producer, "t", INT64_MAX, "me", "{}", ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_token_set(plain, "t", later, "me", NULL, ERR));
  GIVES(KABI_STATUS_STATE, kabi_producer_token_failure(plain, "why", ERR));
  kabi_producer_free(producer);
  kabi_producer_free(plain);
}

TEST(a_consumer_asks_as_well) {
  kabi_config_t *config = bearer();
  put(config, "group.id", "g");
  kabi_consumer_t *consumer = consumer_from(config);
  static uint64_t bytes[4096];
  kabi_event_t event;
  int found = 0;
  for (int64_t since = now_ms(); !found && now_ms() - since < patience(5000);) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_consumer_drain(consumer, 200, &event, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
    found = count == 1 && event.kind == KABI_EVENT_TOKEN;
  }
  CHECK(found);
  GIVES(KABI_STATUS_INVALID_ARG, kabi_consumer_token_set(consumer, "t", 0, "me", NULL, ERR));
  OK(kabi_consumer_token_set(consumer, "t", wall_ms() + 60000, "me", NULL, ERR));
  OK(kabi_consumer_token_failure(consumer, "why", ERR));
  kabi_consumer_free(consumer);
}

/* Number 0022 of librdkafka's own tests: the handler runs inside polls for records, of either form. */
static kabi_consumer_t *polled;
static pthread_t polling_thread;
static int inside, asked_inside;

static int32_t give_inside(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)user;
  CHECK(count == 1 && events[0].kind == KABI_EVENT_TOKEN);
  CHECK(inside && pthread_equal(pthread_self(), polling_thread));
  CHECK_TEXT("who=me", (const char *)bytes + events[0].text_offset);
  OK(kabi_consumer_token_set(polled, "a.b.c", wall_ms() + 3600000, "me", NULL, ERR));
  asked_inside++;
  return 0;
}

TEST(a_handler_gives_the_token_inside_a_poll_for_records) {
  static uint64_t buffer[64];
  for (int packed = 0; packed < 2; packed++) {
    kabi_config_t *config = bearer();
    put(config, "group.id", "g");
    OK(kabi_config_handler(config, KABI_EVENT_TOKEN, give_inside, NULL, NULL, ERR));
    polled = consumer_from(config);
    polling_thread = pthread_self();
    asked_inside = 0;
    for (int64_t since = now_ms(); asked_inside == 0 && now_ms() - since < patience(10000);) {
      kabi_batch_t *batch = NULL;
      kabi_batch_info_t info;
      inside = 1;
      if (packed) OK(kabi_consumer_poll_packed(polled, 10, 100, buffer, sizeof buffer, &info, ERR));
      else OK(kabi_consumer_poll(polled, 10, 100, &batch, &info, ERR));
      inside = 0;
      CHECK(info.count == 0 && batch == NULL);
    }
    CHECK_EQ(1, asked_inside);
    kabi_consumer_free(polled);
  }
}

/* The next token event of an admin. */
static int asked_for(kabi_admin_t *admin) {
  static uint64_t bytes[4096];
  kabi_event_t event;
  for (int64_t since = now_ms(); now_ms() - since < patience(10000);) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_admin_drain(admin, 200, &event, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
    if (count != 1 || event.kind != KABI_EVENT_TOKEN) continue;
    CHECK_TEXT("who=me", (const char *)bytes + event.text_offset);
    return 1;
  }
  return 0;
}

TEST(an_admin_asks_as_well_and_again_before_its_token_ends) {
  kabi_config_t *config = bearer();
  kabi_admin_t *admin = NULL, *above = NULL;
  MUST_OK(kabi_admin_new(config, &admin, ERR));
  kabi_config_free(config);
  MUST(asked_for(admin));
  GIVES(KABI_STATUS_INVALID_ARG, kabi_admin_token_set(admin, "t", 0, "me", NULL, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_admin_token_set(admin, "t", wall_ms() + 60000, "me", "[]", ERR));
  OK(kabi_admin_token_set(admin, "a.b.c", wall_ms() + 2500, "me", "{\"scope\": \"all\"}", ERR));
  MUST(asked_for(admin));
  OK(kabi_admin_token_failure(admin, "the vault is shut", ERR));
  OK(kabi_admin_close(admin, patience(10000), ERR));
  GIVES(KABI_STATUS_CLOSED, kabi_admin_token_set(admin, "t", wall_ms() + 60000, "me", NULL, ERR));
  kabi_admin_free(admin);
  /* On top of a client it is the client that is asked. */
  kabi_producer_t *producer = producer_from(bearer());
  MUST_OK(kabi_admin_of_producer(producer, &above, ERR));
  OK(kabi_admin_token_set(above, "a.b.c", wall_ms() + 60000, "me", NULL, ERR));
  kabi_admin_free(above);
  kabi_producer_free(producer);
}

/* No events of tokens that nobody is asked for. */
TEST(unsecured_tokens_and_other_masks_ask_nobody) {
  for (int unsecured = 0; unsecured < 2; unsecured++) {
    kabi_config_t *config = bearer();
    if (unsecured) {
      put(config, "enable.sasl.oauthbearer.unsecure.jwt", "true");
      put(config, "sasl.oauthbearer.config", "principal=me lifeSeconds=1");
    } else {
      OK(kabi_config_events(config, KABI_EVENT_ERROR, ERR));
    }
    kabi_producer_t *producer = producer_from(config);
    kabi_event_t event;
    const char *text = "";
    CHECK(!next_event(producer, KABI_EVENT_TOKEN, 1500, &event, &text));
    kabi_producer_close(producer, patience(2000), NULL, NULL);
    kabi_producer_free(producer);
  }
}

TEST(oidc_needs_another_build) {
  kabi_config_t *config = bearer();
  kabi_status_t status = kabi_config_set(config, "sasl.oauthbearer.method", "oidc", ERR);
  if (status == KABI_STATUS_OK) harness_skip("this library was built with curl");
  CHECK_EQ(KABI_STATUS_ARGUMENT, status);
  CHECK(has(last_error()->message, "sasl.oauthbearer.method"));
  kabi_config_free(config);
}
