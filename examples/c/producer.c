/* Sends each line of standard input as one record, and says where each was written.
   Usage: producer BOOTSTRAP TOPIC <lines.txt */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <inttypes.h>
#include <string.h>

#include <kafkabi.h>

#include "check.h"

/* Runs inside kabi_producer_poll, on this program's own thread, with several reports a call. */
static int32_t on_reports(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  uint64_t *written = (uint64_t *)user;
  (void)bytes;
  for (size_t i = 0; i < count; i++) {
    const kabi_event_t *report = &events[i];
    if (report->code == KABI_STATUS_OK) {
      ++*written;
      printf("line %" PRIu64 ": partition %" PRId32 ", offset %" PRId64 "\n", report->token, report->partition,
             report->offset);
    } else {
      printf("line %" PRIu64 ": not written: %s\n", report->token, kabi_error_text(report->code));
    }
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s BOOTSTRAP TOPIC <lines.txt\n", argv[0]);
    return 2;
  }
  kabi_error_t error = KABI_ERROR_INIT;
  uint64_t written = 0;

  kabi_config_t *config;
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_set(config, "bootstrap.servers", argv[1], &error));
  CHECK(kabi_config_handler(config, KABI_EVENT_REPORT, on_reports, &written, NULL, &error));

  kabi_producer_t *producer;
  CHECK(kabi_producer_new(config, &producer, &error));
  kabi_config_free(config); /* the producer has its own copy */

  int32_t topic;
  CHECK(kabi_producer_topic(producer, argv[2], &topic, &error));

  char *line = NULL;
  size_t capacity = 0, count;
  uint64_t sent = 0;
  for (ssize_t length; (length = getline(&line, &capacity, stdin)) > 0;) {
    kabi_message_t message;
    memset(&message, 0, sizeof message);
    message.topic = topic;
    message.partition = KABI_PARTITION_ANY;
    message.value = line; /* copied by the call */
    message.value_length = line[length - 1] == '\n' ? length - 1 : length;
    message.token = ++sent; /* comes back in the report */
    CHECK(kabi_producer_send(producer, &message, 10000, &error)); /* waits while the queue is full */
    CHECK(kabi_producer_poll(producer, 0, &count, &error));       /* runs on_reports for what is done */
  }
  free(line);

  CHECK(kabi_producer_flush(producer, 30000, NULL, &error));
  do {
    CHECK(kabi_producer_poll(producer, 0, &count, &error));
  } while (count > 0);
  CHECK(kabi_producer_close(producer, 30000, NULL, &error));
  kabi_producer_free(producer);
  return written == sent ? EXIT_SUCCESS : EXIT_FAILURE;
}
