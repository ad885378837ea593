/* Configuration with any text: set, get, unset and dump. An input is a run of operations, each one byte, a name and a value, both ended
   by a NUL. No client is made of it: that would open files and plug-ins by these names. */
#include "fuzz.h"

#include <kafkabi.h>

static char text[1 << 21];

/* A failed call has filled its error well. */
static void check(kabi_status_t status, const kabi_error_t *error) {
  RULE(status == error->code);
  RULE(memchr(error->message, 0, sizeof error->message) != NULL);
  RULE((status != 0) == (error->message[0] != 0));
  RULE(status == 0 || status == KABI_STATUS_ARGUMENT || status == KABI_STATUS_BUFFER_TOO_SMALL || (status < 0 && status > -200));
}

/* Text of exactly the length that was promised, whatever the room. */
static void read_back(kabi_config_t *config, const char *name, size_t room) {
  kabi_error_t error = KABI_ERROR_INIT;
  size_t length = 0, again = 0;
  kabi_status_t status = kabi_config_get(config, name, NULL, 0, &length, &error);
  check(status, &error);
  if (status != KABI_STATUS_BUFFER_TOO_SMALL) return;
  RULE(length < sizeof text);
  memset(text, 'x', length + 2);
  RULE(kabi_config_get(config, name, text, room, &again, NULL) == (room > length ? KABI_STATUS_OK : KABI_STATUS_BUFFER_TOO_SMALL));
  RULE(again == length);
  RULE(kabi_config_get(config, name, text, length + 1, &again, NULL) == 0);
  RULE(again == length && strlen(text) == length && text[length + 1] == 'x');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  kabi_config_t *config = NULL;
  char *copy = (char *)malloc(size + 1);
  RULE(copy != NULL && kabi_config_new(&config, NULL) == 0);
  memcpy(copy, data, size);
  copy[size] = 0;
  const char *at = copy, *end = copy + size;
  while (at < end) {
    kabi_error_t error = KABI_ERROR_INIT;
    size_t length = 0;
    int operation = (unsigned char)*at++ % 8;
    const char *name = at;
    at += strlen(at);
    const char *value = at < end ? at + 1 : at;
    at = value + strlen(value) + 1;
    switch (operation) {
      default:
        check(kabi_config_set(config, name, value, &error), &error);
        break;
      case 5:
        check(kabi_config_unset(config, name, &error), &error);
        break;
      case 6:
        read_back(config, name, strlen(value));
        break;
      case 7:
        check(kabi_config_dump(config, text, sizeof text, &length, &error), &error);
        RULE(length == strlen(text));
        break;
    }
  }
  kabi_config_free(config);
  free(copy);
  return 0;
}

size_t fuzz_seed(unsigned n, uint8_t *out) {
  static const char *const pairs[][2] = {
      {"bootstrap.servers", "127.0.0.1:9092,[::1]:9093"}, {"linger.ms", "5"}, {"enable.idempotence", "true"}, {"compression.type", "lz4"},
      {"acks", "all"}, {"request.required.acks", "-1"}, {"debug", "broker,topic,msg"}, {"sasl.password", "secret"}, {"ssl.key.pem", "-----BEGIN"},
      {"kafkabi.handled", "explicit"}, {"kafkabi.report.latency", "true"}, {"kafkabi.events.max", "1000"}, {"auto.offset.reset", "earliest"},
      {"partitioner", "murmur2_random"}, {"statistics.interval.ms", "0x10"}, {"queue.buffering.max.kbytes", "2147483647"}, {"client.id", "gr\xc3\xbc\xc3\x9f" "e"},
      {"message.max.bytes", "1000000"}, {"sasl.mechanisms", "PLAIN"}, {"security.protocol", "sasl_ssl"}, {"boostrap.servers", "x"}, {"socket.keepalive.enable", "1"},
      {"queue.buffering.backpressure.threshold", "1"}, {"plugin.library.paths", ""}, {"topic.blacklist", "^a,b"}, {"reconnect.backoff.jitter.ms", "-1"}};
  unsigned count = sizeof pairs / sizeof pairs[0];
  if (n >= count) return 0;
  size_t size = 0;
  for (unsigned i = 0; i < 3; i++) { /* each set, read back, unset or dumped */
    const char *const *pair = pairs[(n + i) % count];
    out[size++] = (uint8_t)(i == 0 ? 0 : i == 1 ? 6 : 5 + n % 3);
    size += (size_t)sprintf((char *)out + size, "%s", pair[0]) + 1;
    size += (size_t)sprintf((char *)out + size, "%s", pair[1]) + 1;
  }
  return size;
}
