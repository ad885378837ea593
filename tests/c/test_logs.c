/* Where log lines go: to standard error, nowhere, or to the program. */
#include "harness.h"

/* Runs `body` and tells whether anything was written to standard error. */
static int writes_to_stderr(kabi_config_t *config, void (*body)(kabi_producer_t *)) {
  char path[] = "/tmp/kafkabi-log-XXXXXX";
  int file = mkstemp(path), before = dup(2);
  MUST(file >= 0 && before >= 0);
  dup2(file, 2);
  kabi_producer_t *producer = producer_from(config);
  body(producer);
  kabi_producer_free(producer);
  kabi_shutdown(patience(10000), NULL);
  dup2(before, 2);
  off_t size = lseek(file, 0, SEEK_END);
  close(file);
  close(before);
  unlink(path);
  return size > 0;
}

/* Until the client has noticed that nothing answers, which it logs and tells as an error. */
static void wait_for_error(kabi_producer_t *producer) {
  static uint64_t bytes[4096];
  int found = 0;
  for (int64_t since = now_ms(); !found && now_ms() - since < patience(10000);) {
    kabi_event_t event;
    size_t count = 0, used;
    MUST_OK(kabi_producer_drain(producer, 200, &event, 1, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
    found = count == 1 && event.kind == KABI_EVENT_ERROR;
  }
  CHECK(found);
}

static int lines;

static int32_t on_lines(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)user;
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(KABI_EVENT_LOG, events[i].kind);
    CHECK(events[i].code >= 0 && events[i].code <= 7);
    CHECK(strlen((const char *)bytes + events[i].text_offset) > 0);
    lines++;
  }
  return 0;
}

static void wait_for_lines(kabi_producer_t *producer) {
  for (int64_t since = now_ms(); lines == 0 && now_ms() - since < patience(10000);) OK(kabi_producer_poll(producer, 100, NULL, ERR));
  CHECK(lines > 0);
}

TEST(lines_go_to_standard_error_without_a_word) { CHECK(writes_to_stderr(new_config(NOWHERE, NULL), wait_for_error)); }

TEST(lines_go_nowhere_when_the_property_says_so) { CHECK(!writes_to_stderr(new_config(NOWHERE, "kafkabi.log", "off", NULL), wait_for_error)); }

/* A line that the property debug asks for says by which word; others come without it too. */
TEST(lines_tell_what_they_belong_to) {
  static uint64_t bytes[1 << 16];
  static kabi_event_t events[64];
  uint64_t all = 0;
  size_t plain = 0, debug = 0;
  kabi_config_t *config = new_config(NOWHERE, "debug", "broker,metadata,eos", NULL);
  OK(kabi_config_events(config, KABI_EVENT_LOG, ERR));
  kabi_producer_t *producer = producer_from(config);
  for (int64_t until = now_ms() + patience(20000); (plain == 0 || !(all & KABI_DEBUG_EOS)) && now_ms() < until;) {
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, 200, events, 64, &count, (uint8_t *)bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++) {
      plain += events[i].code < 7 && events[i].token == 0;
      debug += events[i].token != 0;
      CHECK((events[i].code == 7) == (events[i].token != 0));
      CHECK(events[i].token == 0 || events[i].token & (KABI_DEBUG_BROKER | KABI_DEBUG_METADATA | KABI_DEBUG_EOS)); /* among others */
      all |= events[i].token;
    }
  }
  CHECK(plain > 0 && debug > 0);
  CHECK(all & KABI_DEBUG_BROKER);
  CHECK(all & KABI_DEBUG_EOS); /* for its producer id */
  kabi_producer_free(producer);
}

TEST(lines_go_to_a_handler_and_then_only_there) {
  kabi_config_t *config = new_config(NOWHERE, NULL);
  OK(kabi_config_events(config, KABI_EVENT_LOG, ERR));
  OK(kabi_config_handler(config, KABI_EVENT_LOG, on_lines, NULL, NULL, ERR));
  CHECK(!writes_to_stderr(config, wait_for_lines));
}
