/* A broker with a quota slows a client down and says so. Profiles: single */
#include "real.h"

/* Sets the quota by Kafka's own tool, for clients with this id. */
static void set_quota(const char *client, const char *quota) {
  char command[1024];
  snprintf(command, sizeof command, "'%s' tool single org.apache.kafka.tools.ConfigCommand --alter --entity-type clients --entity-name %s --%s >&2",
           setting("KABI_KAFKA_BROKER"), client, quota);
  MUST(system(command) == 0);
}

static int told;
static int64_t longest;

static int32_t on_throttle(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)user;
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(KABI_EVENT_THROTTLE, events[i].kind);
    CHECK_EQ(1, events[i].token);
    CHECK(events[i].latency_us >= 0 && events[i].latency_us % 1000 == 0);
    CHECK(has((const char *)bytes + events[i].text_offset, "127.0.0.1:"));
    if (events[i].latency_us > longest) longest = events[i].latency_us;
    told++;
  }
  return 0;
}

TEST(throttling_is_told_by_an_event) {
  const char *client = fresh("slow"), *topic = fresh("slow");
  static char value[20000];
  memset(value, 'x', sizeof value);
  set_quota(client, "add-config producer_byte_rate=20000");
  kabi_config_t *config = new_config(SINGLE, "client.id", client, "compression.codec", "none", "linger.ms", "0", NULL);
  OK(kabi_config_events(config, KABI_EVENT_REPORT | KABI_EVENT_THROTTLE, ERR));
  OK(kabi_config_handler(config, KABI_EVENT_THROTTLE, on_throttle, NULL, NULL, ERR));
  kabi_producer_t *producer = producer_from(config);
  for (int64_t since = now_ms(); longest == 0 && now_ms() - since < 40000;) {
    kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, NULL);
    message.value = value;
    message.value_length = sizeof value;
    MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
    OK(kabi_producer_flush(producer, 30000, NULL, ERR));
    OK(kabi_producer_poll(producer, 0, NULL, ERR));
  }
  CHECK(longest > 0);
  note("%d events, up to %d ms", told, (int)(longest / 1000));
  OK(kabi_producer_close(producer, 30000, NULL, ERR));
  kabi_producer_free(producer);
  set_quota(client, "delete-config producer_byte_rate");
}
