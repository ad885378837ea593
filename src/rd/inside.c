/* What is known inside librdkafka and asked for too dearly from outside. */
#include "rdkafka_int.h"

/* Whether a message may have headers. rd_kafka_message_headers() makes a parsing buffer for each consumed message to find that it
 * has none; the count of headers, a varint, is the first byte of what it would parse, and all of it if the count is 0. */
int kafkabi_inside_may_have_headers(const rd_kafka_message_t *message) {
  const rd_kafka_msg_t *inside = rd_kafka_message2msg((rd_kafka_message_t *)message);
  if (inside->rkm_headers != NULL || (inside->rkm_flags & RD_KAFKA_MSG_F_PRODUCER)) return 1;
  return RD_KAFKAP_BYTES_LEN(&inside->rkm_u.consumer.binhdrs) > 1;
}

/* Whether a partition's place to read from is being looked up: its leader was asked where it begins or ends, or is to be. A seek
 * meanwhile would not last: the answer to a question that a seek overtook makes librdkafka ask the same again, and go there. */
int kafkabi_inside_is_locating(rd_kafka_t *rk, const char *topic, int32_t partition) {
  rd_kafka_toppar_t *known = rd_kafka_toppar_get2(rk, topic, partition, 0, rd_false);
  rd_bool_t locating;
  if (known == NULL) return 0;
  rd_kafka_toppar_lock(known);
  locating = known->rktp_fetch_state == RD_KAFKA_TOPPAR_FETCH_OFFSET_QUERY ||
             known->rktp_fetch_state == RD_KAFKA_TOPPAR_FETCH_OFFSET_WAIT ||
             known->rktp_fetch_state == RD_KAFKA_TOPPAR_FETCH_VALIDATE_EPOCH_WAIT;
  rd_kafka_toppar_unlock(known);
  rd_kafka_toppar_destroy(known);
  return locating;
}
