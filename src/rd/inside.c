/* What is known inside librdkafka and asked for too dearly from outside. */
#include "rdkafka_int.h"

/* Whether a message may have headers. rd_kafka_message_headers() makes a parsing buffer for each consumed message to find that it
 * has none; the count of headers, a varint, is the first byte of what it would parse, and all of it if the count is 0. */
int kafkabi_inside_may_have_headers(const rd_kafka_message_t *message) {
  const rd_kafka_msg_t *inside = rd_kafka_message2msg((rd_kafka_message_t *)message);
  if (inside->rkm_headers != NULL || (inside->rkm_flags & RD_KAFKA_MSG_F_PRODUCER)) return 1;
  return RD_KAFKAP_BYTES_LEN(&inside->rkm_u.consumer.binhdrs) > 1;
}
