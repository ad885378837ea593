/* Batches of records as they come from the broker (fetch.c), to be taken (take.c) and read (records.rs) by the program's thread. */
#ifndef FETCH_H
#define FETCH_H

#include "rdkafka_int.h"

/* Of a record that stands for a batch of them, in librdkafka's queues; it uses the bits below. */
enum { IS_BATCH = 0x2000000 };

/* What is taken from a queue; as in sys.rs. */
typedef struct fetched_t {
  rd_kafka_op_t *op;
  rd_kafka_buf_t *buffer; /* keeps the bytes, and belongs to the op; this and the rest of a batch only */
  rd_kafka_topic_t *topic;
  const uint8_t *bytes; /* of the records that are left */
  size_t size;
  int64_t base_offset, from; /* what records' offsets count from; the first that is wanted */
  int64_t timestamp;         /* what theirs count from, or all of theirs with is_log_append */
  int32_t left, partition, leader_epoch, broker, is_log_append, last_delta;
  int32_t code; /* what is wrong with it, if that is known already */
  int32_t is_batch;
} fetched_t;

/* Has clients of this configuration take batches: by kafkabi_inside_take() only. */
void kafkabi_inside_receive_batches(rd_kafka_conf_t *conf);
/* Takes up to `room` batches and single messages, until they have `most` records, and tells how many. librdkafka's callbacks run inside.
 * Each one goes to one of the following, in their order; what is not read after all is put back, the last first. */
int kafkabi_inside_take(rd_kafka_queue_t *queue, int timeout_ms, fetched_t *taken, int room, int64_t most);
/* A single record or an error, which the caller owns; NULL if it is none for the program. */
rd_kafka_message_t *kafkabi_inside_message(const fetched_t *single);
/* So far a batch is read, and goes to one of the last two now. Says no if the partition was moved: its records are not to be handed out, and
 * it is gone. */
int kafkabi_inside_read(const fetched_t *now);
/* What is left of a batch can't be read: it is gone, and this error, which the caller owns, stands in its place; or NULL. */
rd_kafka_message_t *kafkabi_inside_spoilt(const fetched_t *now);
void kafkabi_inside_done(const fetched_t *batch);
void kafkabi_inside_put_back(rd_kafka_queue_t *queue, const fetched_t *taken);
/* Keeps a batch's bytes, and gives that up. */
rd_kafka_buf_t *kafkabi_inside_hold(rd_kafka_buf_t *buffer);
void kafkabi_inside_let_go(rd_kafka_buf_t *buffer);

/* By run.c, which is called for the end of every record. */
void kafkabi_inside_batch_destroyed(rd_kafka_msg_t *record);
/* What a batch counts in its queue. */
int32_t kafkabi_inside_weight(const rd_kafka_t *rk, int32_t count, size_t size);

#endif
