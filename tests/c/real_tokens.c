/* Tokens that a real broker takes or refuses. Profiles: secure */
#include "real.h"

static int64_t wall_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void base64url(const char *text, char *into) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  size_t length = strlen(text), at = 0;
  for (size_t i = 0; i < length; i += 3) {
    uint32_t group = 0;
    for (size_t b = 0; b < 3; b++) group = group << 8 | (i + b < length ? (uint8_t)text[i + b] : 0);
    for (size_t c = 0; c < 4 && c <= length - i; c++) into[at++] = letters[group >> (18 - 6 * c) & 63];
  }
  into[at] = 0;
}

/* A token without a signature, as the broker of the tests takes it. */
static const char *token_of(const char *user, int seconds) {
  static char token[1024];
  char claims[256], header[128], body[512];
  int64_t now = wall_ms() / 1000;
  snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}", user, now, now + seconds);
  base64url("{\"alg\":\"none\"}", header);
  base64url(claims, body);
  snprintf(token, sizeof token, "%s.%s.", header, body);
  return token;
}

static kabi_config_t *bearer(void) {
  return new_config(SASL_PLAINTEXT, "security.protocol", "sasl_plaintext", "sasl.mechanisms", "OAUTHBEARER", "kafkabi.log", "off", NULL);
}

typedef struct giver_t {
  kabi_producer_t *producer;
  const char *user;
  int seconds, given;
} giver_t;

static int32_t give(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)events, (void)count, (void)bytes;
  giver_t *giver = (giver_t *)user;
  OK(kabi_producer_token_set(giver->producer, token_of(giver->user, giver->seconds), wall_ms() + giver->seconds * 1000, giver->user, NULL, ERR));
  giver->given++;
  return 0;
}

static kabi_status_t send_one(kabi_producer_t *producer, const char *topic) {
  kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, "0");
  kabi_event_t report;
  message.token = 1;
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  if (drain_reports(producer, &report, 1) != 1) return KABI_STATUS_TIMED_OUT;
  return report.code;
}

/* A handler gives short-lived tokens, again and again: the broker closes connections whose token has ended. */
TEST(a_handlers_tokens_let_the_program_in_and_are_renewed) {
  giver_t giver = {NULL, "alice", 3, 0};
  kabi_config_t *config = bearer();
  OK(kabi_config_handler(config, KABI_EVENT_TOKEN, give, &giver, NULL, ERR));
  giver.producer = producer_from(config);
  while (giver.given == 0) MUST_OK(kabi_producer_poll(giver.producer, 1000, NULL, ERR));
  const char *topic = fresh("alice-tokens");
  MUST(send_one(giver.producer, topic) == 0);
  int64_t since = now_ms();
  while (giver.given < 4 && now_ms() - since < patience(30000)) OK(kabi_producer_poll(giver.producer, 500, NULL, ERR));
  CHECK(giver.given >= 4); /* the first two have ended */
  CHECK_EQ(0, send_one(giver.producer, topic));
  OK(kabi_producer_close(giver.producer, 10000, NULL, ERR));
  kabi_producer_free(giver.producer);
}

/* Nobody polls at all: the token was there before the client asked. */
TEST(a_token_set_beforehand_needs_no_poll) {
  kabi_producer_t *producer = producer_from(bearer());
  OK(kabi_producer_token_set(producer, token_of("alice", 60), wall_ms() + 60000, "alice", NULL, ERR));
  kabi_message_t message = message_of(topic_of(producer, fresh("alice-quiet")), 0, NULL, "0");
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  uint64_t failed = 1;
  OK(kabi_producer_flush(producer, 20000, &failed, ERR));
  CHECK_EQ(0, failed);
  OK(kabi_producer_close(producer, 10000, NULL, ERR));
  kabi_producer_free(producer);
}

/* librdkafka makes them itself, and anew each time one ends, while nobody polls. */
TEST(unsecured_tokens_are_renewed_in_the_background) {
  kabi_config_t *config = bearer();
  put(config, "enable.sasl.oauthbearer.unsecure.jwt", "true");
  put(config, "sasl.oauthbearer.config", "principal=alice lifeSeconds=3");
  kabi_producer_t *producer = producer_from(config);
  const char *topic = fresh("alice-unsecured");
  MUST(send_one(producer, topic) == 0);
  unseen(5000); /* the first token has ended */
  CHECK_EQ(0, send_one(producer, topic));
  OK(kabi_producer_close(producer, 10000, NULL, ERR));
  kabi_producer_free(producer);
}

static uint8_t bytes[8192];

TEST(a_token_that_has_ended_is_refused_with_a_reason) {
  kabi_producer_t *producer = producer_from(bearer());
  OK(kabi_producer_token_set(producer, token_of("alice", -100), wall_ms() + 60000, "alice", NULL, ERR));
  int found = 0;
  for (int64_t since = now_ms(); !found && now_ms() - since < 20000;) {
    kabi_event_t event;
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, 500, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    found = count == 1 && event.kind == KABI_EVENT_ERROR && event.code == KABI_STATUS_AUTHENTICATION;
    if (found) note("the error: %s", (const char *)bytes + event.text_offset);
  }
  CHECK(found);
  kabi_producer_close(producer, 1000, NULL, NULL);
  kabi_producer_free(producer);
}
