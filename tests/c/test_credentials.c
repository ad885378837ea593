/* Another user name and password for a living client. Whether a broker takes them is tested on a real broker, in real_security.c. */
#include "harness.h"

#define SECRET "kept-to-itself-4711"

static kabi_config_t *with_sasl(const char *mechanism) {
  kabi_config_t *config = new_config(NOWHERE, "security.protocol", "sasl_plaintext", "sasl.mechanisms", mechanism, "sasl.username", "me",
                                     "sasl.password", "first-" SECRET, "kafkabi.log", "off", NULL);
  return config;
}

TEST(clients_with_a_password_take_another) {
  static const char *const mechanisms[] = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"};
  for (int i = 0; i < 3; i++) {
    kabi_config_t *config = with_sasl(mechanisms[i]);
    kabi_admin_t *admin = NULL, *above = NULL;
    MUST_OK(kabi_admin_new(config, &admin, ERR));
    OK(kabi_admin_credentials_set(admin, "me", SECRET, ERR));
    kabi_admin_free(admin);
    kabi_consumer_t *consumer = consumer_from(config);
    OK(kabi_consumer_credentials_set(consumer, "me", SECRET, ERR));
    MUST_OK(kabi_admin_of_consumer(consumer, &above, ERR));
    OK(kabi_admin_credentials_set(above, "me", SECRET, ERR));
    kabi_admin_free(above);
    OK(kabi_consumer_close(consumer, patience(10000), ERR));
    GIVES(KABI_STATUS_CLOSED, kabi_consumer_credentials_set(consumer, "me", SECRET, ERR));
    kabi_consumer_free(consumer);
  }
}

TEST(clients_without_a_password_refuse_one) {
  static const char *const others[][2] = {
      {"plaintext", "PLAIN"}, {"ssl", "PLAIN"}, {"sasl_plaintext", "OAUTHBEARER"}, {"sasl_plaintext", NULL}};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    kabi_config_t *config = new_config(NOWHERE, "security.protocol", others[i][0], "kafkabi.log", "off", NULL);
    if (others[i][1] != NULL) put(config, "sasl.mechanisms", others[i][1]);
    kabi_producer_t *producer = NULL;
    if (others[i][1] == NULL && kabi_producer_new(config, &producer, NULL) != 0) { /* GSSAPI, without which this library may be built */
      kabi_config_free(config);
      continue;
    }
    if (producer == NULL) producer = producer_from(config);
    else kabi_config_free(config);
    GIVES(KABI_STATUS_STATE, kabi_producer_credentials_set(producer, "me", SECRET, ERR));
    CHECK(has(last_error()->message, "sasl.mechanisms") && !has(last_error()->message, SECRET));
    kabi_producer_free(producer);
  }
}

/* Neither a refusal nor any log line, error or document tells the password. */
TEST(passwords_are_told_nowhere) {
  static uint8_t bytes[1 << 18];
  static char document[1 << 20];
  static kabi_event_t events[256];
  size_t length = 0, lines = 0;
  kabi_config_t *config = with_sasl("PLAIN");
  put(config, "debug", "all");
  put(config, "statistics.interval.ms", "100");
  OK(kabi_config_events(config, KABI_EVENT_LOG | KABI_EVENT_ERROR | KABI_EVENT_STATISTICS, ERR));
  kabi_producer_t *producer = producer_from(config);
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_credentials_set(producer, "", SECRET, ERR));
  CHECK(!has(last_error()->message, SECRET));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_credentials_set(producer, "me", "", ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_producer_credentials_set(producer, "me", SECRET "\xff", ERR));
  CHECK(!has(last_error()->message, SECRET));
  OK(kabi_producer_credentials_set(producer, "me", SECRET, ERR));
  int statistics = 0;
  for (int64_t until = now_ms() + patience(20000); statistics < 3 && now_ms() < until;) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, 200, events, 256, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) {
      lines += events[i].kind == KABI_EVENT_LOG;
      statistics += events[i].kind == KABI_EVENT_STATISTICS;
      CHECK(!has((const char *)bytes + events[i].text_offset, SECRET));
    }
  }
  CHECK(lines > 10 && statistics == 3);
  OK(kabi_producer_metrics(producer, document, sizeof document, &length, ERR));
  CHECK(length > 0 && !has(document, SECRET));
  kabi_producer_free(producer);
}
