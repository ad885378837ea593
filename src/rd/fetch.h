/* Batches of records as they come from the broker, to be read by records.rs. */
#ifndef FETCH_H
#define FETCH_H

#include "rdkafka_int.h"

/* Of a record that stands for a batch of them, in librdkafka's queues; it uses the bits below. */
enum { IS_BATCH = 0x2000000 };

/* What is taken from a queue; as in sys.rs. */
typedef struct fetched_t {
  rd_kafka_message_t *message; /* a single record or an error; or NULL, and a batch: */
  rd_kafka_op_t *op;
  rd_kafka_buf_t *buffer; /* keeps the bytes, and belongs to the op */
  rd_kafka_topic_t *topic;
  const uint8_t *bytes; /* of the records that are left */
  size_t size;
  int64_t base_offset, from; /* what records' offsets count from; the first that is wanted */
  int64_t timestamp;         /* what theirs count from, or all of theirs with is_log_append */
  int32_t left, partition, leader_epoch, broker, is_log_append, last_delta;
  int32_t code; /* what is wrong with it, if that is known already */
} fetched_t;

/* Has clients of this configuration take batches: by kafkabi_inside_take() only. */
void kafkabi_inside_receive_batches(rd_kafka_conf_t *conf);
/* As rd_kafka_consume_batch_queue(), for batches too: takes up to `room` of them and of single records, until they have `most` records,
 * and tells how many. Each batch goes to one of the next two. librdkafka's callbacks run inside. */
int kafkabi_inside_take(rd_kafka_queue_t *queue, int timeout_ms, fetched_t *taken, int room, int64_t most);
/* So far a batch is read. What is left of it comes first again. */
void kafkabi_inside_read(rd_kafka_queue_t *queue, const fetched_t *now);
/* What is left of a batch can't be read: it is dropped, and this error stands in its place. */
rd_kafka_message_t *kafkabi_inside_spoilt(const fetched_t *now);
/* Keeps a batch's bytes, and gives that up. */
rd_kafka_buf_t *kafkabi_inside_hold(rd_kafka_buf_t *buffer);
void kafkabi_inside_let_go(rd_kafka_buf_t *buffer);

/* By run.c, which is called for the end of every record. */
void kafkabi_inside_batch_destroyed(rd_kafka_msg_t *record);

#endif
