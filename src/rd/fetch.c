/* Records received batch by batch, as the broker stores them. librdkafka makes an object of 300 bytes for each record on the broker's
 * thread, which the program's thread frees; here it is one for each batch, and the program's thread reads the records out of it
 * (records.rs). A batch that takes more than reading is left to librdkafka, which makes its objects. */
#include "fetch.h"
#include "rdkafka_interceptor.h"
#include "rdkafka_lz4.h"
#include "rdkafka_msgset.h"
#include "rdkafka_offset.h"
#include "crc32c.h"
#if WITH_ZLIB
#include "rdgz.h"
#endif
#if WITH_SNAPPY
#include "snappy.h"
#endif
#if WITH_ZSTD
#include "rdkafka_zstd.h"
#endif

/* The fixed part of a batch (https://kafka.apache.org/documentation/#recordbatch), up to its records. */
enum { HEADER = 61 };
enum { AT_LENGTH = 8, AT_EPOCH = 12, AT_MAGIC = 16, AT_CRC = 17, AT_ATTRIBUTES = 21, AT_LAST = 23, AT_TIME = 27, AT_MAX_TIME = 35, AT_COUNT = 57 };

typedef struct header_t {
  size_t size; /* of the whole batch */
  int64_t base_offset, last_offset, base_time, max_time;
  int32_t epoch, count;
  uint32_t crc;
  int attributes, magic;
} header_t;

static uint64_t number(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (; bytes > 0; bytes--) value = value << 8 | *at++;
  return value;
}

/* Whether a whole batch comes next. */
static int peek(const rd_slice_t *reader, header_t *header) {
  unsigned char bytes[HEADER] = {0};
  size_t there = rd_slice_remains(reader);
  if (there <= AT_MAGIC || rd_slice_peek(reader, rd_slice_offset(reader), bytes, RD_MIN(there, (size_t)HEADER)) == 0) return 0;
  header->size = AT_EPOCH + (size_t)(uint32_t)number(bytes + AT_LENGTH, 4);
  header->base_offset = (int64_t)number(bytes, 8);
  header->epoch = (int32_t)number(bytes + AT_EPOCH, 4);
  header->magic = bytes[AT_MAGIC];
  header->crc = (uint32_t)number(bytes + AT_CRC, 4);
  header->attributes = (int)number(bytes + AT_ATTRIBUTES, 2);
  header->last_offset = header->base_offset + (int32_t)number(bytes + AT_LAST, 4);
  header->base_time = (int64_t)number(bytes + AT_TIME, 8);
  header->max_time = (int64_t)number(bytes + AT_MAX_TIME, 8);
  header->count = (int32_t)number(bytes + AT_COUNT, 4);
  return header->size > AT_MAGIC && header->size <= there;
}

static int is_known(int codec) {
  switch (codec) {
#if WITH_ZLIB
    case RD_KAFKA_COMPRESSION_GZIP:
#endif
#if WITH_SNAPPY
    case RD_KAFKA_COMPRESSION_SNAPPY:
#endif
#if WITH_ZSTD
    case RD_KAFKA_COMPRESSION_ZSTD:
#endif
    case RD_KAFKA_COMPRESSION_LZ4:
    case RD_KAFKA_COMPRESSION_NONE: return 1;
    default: return 0;
  }
}

/* Whether the records are there to be read by anybody who asks for them. Those of an aborted transaction are not, and how to uncompress
 * them is to be known. */
static int is_plain(const header_t *header, const rd_kafka_aborted_txns_t *aborted) {
  return header->magic == 2 && is_known(header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK) && header->size >= HEADER && header->count > 0 && header->base_offset >= 0 &&
         header->last_offset >= header->base_offset && !(header->attributes & RD_KAFKA_MSGSET_V2_ATTR_CONTROL) &&
         !(aborted != NULL && header->attributes & RD_KAFKA_MSGSET_V2_ATTR_TRANSACTIONAL);
}

/* NULL if that fails. */
static void *unpack(rd_kafka_broker_t *broker, const header_t *header, const char *from, size_t size, size_t *length) {
  void *to = NULL;
  switch (header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK) {
#if WITH_ZLIB
    case RD_KAFKA_COMPRESSION_GZIP: {
      uint64_t written = 0;
      to = rd_gz_decompress(from, (int)size, &written);
      *length = (size_t)written;
      return to;
    }
#endif
#if WITH_SNAPPY
    case RD_KAFKA_COMPRESSION_SNAPPY: {
      /* snappy-java's framing begins with this, two versions of 4 bytes, and goes on in pieces. */
      static const char framed[8] = {(char)0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
      enum { FRAME = sizeof framed + 4 + 4 };
      char why[128];
      if (size > FRAME + 4 && memcmp(from, framed, sizeof framed) == 0)
        return rd_kafka_snappy_java_uncompress(from + FRAME, size - FRAME, length, why, sizeof why);
      if (!rd_kafka_snappy_uncompressed_length(from, size, length) || (to = malloc(*length)) == NULL) return NULL;
      if (rd_kafka_snappy_uncompress(from, size, to) == 0) return to;
      free(to);
      return NULL;
    }
#endif
    case RD_KAFKA_COMPRESSION_LZ4:
      return rd_kafka_lz4_decompress(broker, 1, header->base_offset, (char *)from, size, &to, length) ? NULL : to;
#if WITH_ZSTD
    case RD_KAFKA_COMPRESSION_ZSTD: return rd_kafka_zstd_decompress(broker, (char *)from, size, &to, length) ? NULL : to;
#endif
    default: return NULL;
  }
}

/* Finds the records, or sets the code of what is wrong with them. What they lie in is for the caller to give up. */
static rd_kafka_buf_t *find_records(rd_kafka_buf_t *answer, const header_t *header, const unsigned char *batch, fetched_t *fetched) {
  const rd_kafka_t *rk = answer->rkbuf_rkb->rkb_rk;
  rd_kafka_buf_t *buffer = answer;
  void *plain;
  rd_kafka_buf_keep(answer);
  fetched->bytes = batch + HEADER;
  if (rk->rk_conf.check_crcs && rd_crc32c(0, batch + AT_ATTRIBUTES, header->size - AT_ATTRIBUTES) != header->crc) {
    fetched->code = RD_KAFKA_RESP_ERR__BAD_MSG;
  } else if (!(header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK)) {
    fetched->size = header->size - HEADER;
  } else if ((plain = unpack(answer->rkbuf_rkb, header, (const char *)batch + HEADER, header->size - HEADER, &fetched->size)) == NULL) {
    fetched->code = RD_KAFKA_RESP_ERR__BAD_COMPRESSION;
    fetched->size = 0;
  } else {
    fetched->bytes = plain;
    buffer = rd_kafka_buf_new_shadow(plain, fetched->size, rd_free);
    buffer->rkbuf_rkb = answer->rkbuf_rkb;
    rd_kafka_broker_keep(buffer->rkbuf_rkb);
    rd_kafka_buf_destroy(answer);
  }
  return buffer;
}

/* What a batch counts in its queue: its bytes, or as many as fill the queue up with queued.min.messages records. So both limits hold,
 * though librdkafka counts a batch for one record. */
static int32_t weight(const rd_kafka_t *rk, int32_t count, size_t size) {
  int64_t each = rk->rk_conf.queued_max_msg_bytes / RD_MAX(rk->rk_conf.queued_min_msgs, 1);
  int64_t bytes = RD_MAX((int64_t)size, RD_MIN(each, INT32_MAX) * count);
  return (int32_t)RD_MIN(bytes, INT32_MAX);
}

/* Queues a batch and tells how many bytes its records have; -1 if the queue takes no more. */
static int64_t queue_batch(rd_kafka_buf_t *answer, const header_t *header, const unsigned char *batch, rd_kafka_toppar_t *partition,
                           int32_t version) {
  int64_t size, from = partition->rktp_offsets.fetch_pos.offset;
  fetched_t *fetched = rd_calloc(1, sizeof *fetched);
  rd_kafka_buf_t *buffer = find_records(answer, header, batch, fetched);
  rd_kafka_msg_t *record;
  /* Whoever took this for a record and went on after it would go on with the batch. */
  rd_kafka_op_t *op = rd_kafka_op_new_fetch_msg(
      &record, partition, version, buffer, RD_KAFKA_FETCH_POS(RD_MAX(from, header->base_offset) - 1, header->epoch), 0, NULL, 0, NULL);
  rd_kafka_buf_destroy(buffer); /* the op has it */
  record->rkm_flags |= IS_BATCH;
  record->rkm_u.consumer.binhdrs.data = fetched;
  fetched->op = op;
  fetched->buffer = buffer;
  fetched->topic = partition->rktp_rkt;
  fetched->base_offset = header->base_offset;
  fetched->from = from;
  fetched->is_log_append = (header->attributes & RD_KAFKA_MSG_ATTR_LOG_APPEND_TIME) != 0;
  fetched->timestamp = fetched->is_log_append ? header->max_time : header->base_time;
  fetched->left = header->count;
  fetched->partition = partition->rktp_partition;
  fetched->leader_epoch = header->epoch;
  fetched->last_delta = (int32_t)(header->last_offset - header->base_offset);
  fetched->broker = rd_kafka_broker_id(answer->rkbuf_rkb);
  size = (int64_t)fetched->size;
  op->rko_len = weight(partition->rktp_rkt->rkt_rk, header->count, fetched->size);
  if (!rd_kafka_q_enq(partition->rktp_fetchq, op)) return -1;
  partition->rktp_offsets.fetch_pos = RD_KAFKA_FETCH_POS(header->last_offset + 1, header->epoch);
  return size;
}

/* Reached through the linker's --wrap, as those of inside.c are; without it, and for clients that are not told of here, librdkafka
 * reads all by itself. */
typedef rd_kafka_resp_err_t parse_t(rd_kafka_buf_t *answer, rd_kafka_buf_t *request, rd_kafka_toppar_t *partition,
                                    rd_kafka_aborted_txns_t *aborted, const struct rd_kafka_toppar_ver *version);
parse_t __wrap_rd_kafka_msgset_parse;
__attribute__((weak)) parse_t __real_rd_kafka_msgset_parse;

/* Called by nobody: librdkafka hands records to it only where we don't ask for them. It marks our consumers. */
static void marks_ours(rd_kafka_message_t *record, void *opaque) {
  (void)record;
  (void)opaque;
}

void kafkabi_inside_receive_batches(rd_kafka_conf_t *conf) { rd_kafka_conf_set_consume_cb(conf, marks_ours); }

static int takes_batches(const rd_kafka_t *rk) {
  return rk->rk_conf.consume_cb == marks_ours && rd_list_cnt(&rk->rk_conf.interceptors.on_consume) == 0;
}

/* One batch, by librdkafka. */
static rd_kafka_resp_err_t parse_one(rd_kafka_buf_t *answer, rd_kafka_buf_t *request, rd_kafka_toppar_t *partition,
                                     rd_kafka_aborted_txns_t *aborted, const struct rd_kafka_toppar_ver *version, size_t size) {
  rd_kafka_resp_err_t err;
  rd_slice_t whole;
  if (!rd_slice_narrow_relative(&answer->rkbuf_reader, &whole, size)) return RD_KAFKA_RESP_ERR__UNDERFLOW;
  err = __real_rd_kafka_msgset_parse(answer, request, partition, aborted, version);
  rd_slice_widen(&answer->rkbuf_reader, &whole);
  return err;
}

/* For the statistics. The bytes are the records' with their framing, where librdkafka counts keys and values alone. */
static void count(rd_kafka_toppar_t *partition, int64_t records, int64_t bytes) {
  if (records == 0) return;
  rd_atomic64_add(&partition->rktp_c.rx_msgs, records);
  rd_atomic64_add(&partition->rktp_c.rx_msg_bytes, bytes);
  rd_avg_add(&partition->rktp_rkt->rkt_avg_batchcnt, records);
  rd_avg_add(&partition->rktp_rkt->rkt_avg_batchsize, bytes);
}

rd_kafka_resp_err_t __wrap_rd_kafka_msgset_parse(rd_kafka_buf_t *answer, rd_kafka_buf_t *request, rd_kafka_toppar_t *partition,
                                                 rd_kafka_aborted_txns_t *aborted, const struct rd_kafka_toppar_ver *version) {
  rd_slice_t *reader = &answer->rkbuf_reader;
  int32_t most = partition->rktp_fetch_msg_max_bytes;
  int64_t records = 0, bytes = 0;
  rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
  header_t header;
  if (!takes_batches(partition->rktp_rkt->rkt_rk) || !peek(reader, &header) || !is_plain(&header, aborted) ||
      header.last_offset < partition->rktp_offsets.fetch_pos.offset)
    return __real_rd_kafka_msgset_parse(answer, request, partition, aborted, version);
  do {
    rd_slice_t here = *reader;
    const unsigned char *batch = rd_slice_ensure_contig(reader, header.size);
    if (batch != NULL && is_plain(&header, aborted)) {
      int64_t size;
      if (header.last_offset < partition->rktp_offsets.fetch_pos.offset) continue;
      size = queue_batch(answer, &header, batch, partition, version->version);
      if (size < 0) break;
      records += header.count;
      bytes += size;
      continue;
    }
    *reader = here;
    err = parse_one(answer, request, partition, aborted, version, header.size);
    /* What stops librdkafka is asked for again. */
    if (err || partition->rktp_offsets.fetch_pos.offset <= header.last_offset) break;
  } while (peek(reader, &header)); /* a broker cuts the last batch off where it has sent enough */
  /* librdkafka takes an answer without a record, as that of an aborted transaction, for one that had no room for any. */
  partition->rktp_fetch_msg_max_bytes = most;
  count(partition, records, bytes);
  rd_slice_read(reader, NULL, rd_slice_remains(reader));
  return err;
}

void kafkabi_inside_batch_destroyed(rd_kafka_msg_t *record) { free((void *)record->rkm_u.consumer.binhdrs.data); }

static fetched_t *batch_of(const rd_kafka_op_t *op) {
  const rd_kafka_msg_t *record = &op->rko_u.fetch.rkm;
  if (op->rko_type != RD_KAFKA_OP_FETCH || op->rko_err || !(record->rkm_flags & IS_BATCH)) return NULL;
  return (fetched_t *)record->rkm_u.consumer.binhdrs.data;
}

/* The queue that this one ends in, which is held on to. */
static rd_kafka_q_t *end_of(rd_kafka_queue_t *queue) {
  rd_kafka_q_t *end = queue->rkqu_q, *next;
  rd_kafka_q_keep(end);
  while ((next = rd_kafka_q_fwd_get(end, 1)) != NULL) {
    rd_kafka_q_destroy(end);
    end = next;
  }
  return end;
}

static void reached(rd_kafka_t *rk, rd_kafka_toppar_t *partition, int64_t next, int32_t epoch) {
  if (partition != NULL && partition->rktp_app_pos.offset < next)
    rd_kafka_update_app_pos(rk, partition, RD_KAFKA_FETCH_POS(next, epoch), RD_DO_LOCK);
}

static rd_kafka_op_t *op_of(const fetched_t *fetched) {
  return fetched->message != NULL ? (rd_kafka_op_t *)fetched->message->_private : fetched->op;
}

/* Drops what was taken of a partition before it was moved, and tells how much is left. */
static int drop_outdated(rd_kafka_op_t *barrier, fetched_t *taken, int count) {
  int i, left = 0;
  for (i = 0; i < count; i++) {
    rd_kafka_op_t *op = op_of(&taken[i]);
    if (op->rko_rktp == barrier->rko_rktp && rd_kafka_op_version_outdated(op, barrier->rko_version))
      rd_kafka_op_destroy(op);
    else
      taken[left++] = taken[i];
  }
  return left;
}

static int64_t records_in(const fetched_t *fetched) { return fetched->message != NULL || fetched->left < 1 ? 1 : fetched->left; }

/* Whether somebody ended the wait. */
static int is_called(rd_kafka_q_t *queue) {
  int called = queue->rkq_flags & RD_KAFKA_Q_F_YIELD;
  queue->rkq_flags &= ~RD_KAFKA_Q_F_YIELD;
  return called;
}

/* The next thing in the queue; NULL if there is none in time or somebody calls. */
static rd_kafka_op_t *next_op(rd_kafka_q_t *queue, rd_ts_t until) {
  rd_kafka_op_t *op;
  mtx_lock(&queue->rkq_lock);
  while ((op = TAILQ_FIRST(&queue->rkq_q)) == NULL && !is_called(queue) &&
         cnd_timedwait_abs(&queue->rkq_cond, &queue->rkq_lock, until) == thrd_success) continue;
  rd_kafka_q_mark_served(queue);
  if (op != NULL) rd_kafka_q_deq0(queue, op);
  mtx_unlock(&queue->rkq_lock);
  return op;
}

static void fill(fetched_t *into, rd_kafka_op_t *op) {
  const fetched_t *batch = batch_of(op);
  if (batch != NULL) {
    *into = *batch;
    return;
  }
  memset(into, 0, sizeof *into);
  into->message = rd_kafka_message_get(op);
}

/* What is between the records of transactions only moves positions. */
static void pass(rd_kafka_t *rk, rd_kafka_op_t *marker) {
  rd_kafka_message_t *message = &marker->rko_u.fetch.rkm.rkm_rkmessage;
  if (!rd_kafka_op_version_outdated(marker, 0))
    reached(rk, marker->rko_rktp, message->offset + 1, rd_kafka_message_leader_epoch(message));
  rd_kafka_op_destroy(marker);
}

int kafkabi_inside_take(rd_kafka_queue_t *of_program, int timeout_ms, fetched_t *taken, int room, int64_t most) {
  rd_kafka_q_t *queue = end_of(of_program);
  rd_kafka_t *rk = queue->rkq_rk;
  rd_ts_t until = rd_timeout_init(timeout_ms);
  rd_kafka_op_t *op;
  struct rd_kafka_op_tailq markers = TAILQ_HEAD_INITIALIZER(markers);
  int64_t records = 0;
  int count = 0, i;
  rd_kafka_app_poll_start(rk, queue, 0, timeout_ms != 0);
  while (count < room && records < most && (op = next_op(queue, until)) != NULL) {
    rd_kafka_op_res_t outcome;
    if (op->rko_type == RD_KAFKA_OP_BARRIER) {
      count = drop_outdated(op, taken, count);
      for (records = 0, i = 0; i < count; i++) records += records_in(&taken[i]);
    }
    if (op->rko_type == RD_KAFKA_OP_BARRIER || rd_kafka_op_version_outdated(op, 0)) {
      rd_kafka_op_destroy(op);
      continue;
    }
    outcome = rd_kafka_poll_cb(rk, queue, op, RD_KAFKA_Q_CB_RETURN, NULL);
    if (outcome == RD_KAFKA_OP_RES_YIELD) break;
    if (outcome != RD_KAFKA_OP_RES_PASS) continue; /* a callback had it */
    if (rd_kafka_op_is_ctrl_msg(op)) {
      TAILQ_INSERT_TAIL(&markers, op, rko_link);
      continue;
    }
    fill(&taken[count], op);
    records += records_in(&taken[count++]);
  }
  /* The last first: a position moves once. That of a batch moves when its records are read. */
  for (i = count - 1; i >= 0; i--)
    if (taken[i].message != NULL)
      reached(rk, op_of(&taken[i])->rko_rktp, taken[i].message->offset + 1, rd_kafka_message_leader_epoch(taken[i].message));
  while ((op = TAILQ_FIRST(&markers)) != NULL) {
    TAILQ_REMOVE(&markers, op, rko_link);
    pass(rk, op);
  }
  rd_kafka_app_polled(rk, queue);
  rd_kafka_q_destroy(queue);
  return count;
}

/* Puts it before the others, but those that overtake it. */
static void put_first(rd_kafka_queue_t *of_program, rd_kafka_op_t *op) {
  rd_kafka_q_t *queue = end_of(of_program);
  rd_kafka_op_t *next;
  int is_open;
  mtx_lock(&queue->rkq_lock);
  if ((is_open = (queue->rkq_flags & RD_KAFKA_Q_F_READY) != 0)) {
    next = TAILQ_FIRST(&queue->rkq_q);
    while (next != NULL && next->rko_prio > op->rko_prio) next = TAILQ_NEXT(next, rko_link);
    if (next != NULL)
      TAILQ_INSERT_BEFORE(next, op, rko_link);
    else
      TAILQ_INSERT_TAIL(&queue->rkq_q, op, rko_link);
    queue->rkq_qsize += op->rko_len;
    if (++queue->rkq_qlen == 1) rd_kafka_q_io_event(queue);
  }
  mtx_unlock(&queue->rkq_lock);
  if (!is_open) rd_kafka_op_destroy(op);
  rd_kafka_q_destroy(queue);
}

void kafkabi_inside_read(rd_kafka_queue_t *queue, const fetched_t *now) {
  rd_kafka_op_t *op = now->op;
  fetched_t *batch = batch_of(op);
  rd_kafka_t *rk = op->rko_rktp->rktp_rkt->rkt_rk;
  if (now->from > batch->from) reached(rk, op->rko_rktp, now->from, now->leader_epoch);
  *batch = *now;
  op->rko_u.fetch.rkm.rkm_offset = now->from - 1;
  op->rko_len = weight(rk, now->left, now->size);
  if (now->size > 0)
    put_first(queue, op);
  else
    rd_kafka_op_destroy(op);
}

rd_kafka_message_t *kafkabi_inside_spoilt(const fetched_t *now) {
  rd_kafka_op_t *op = now->op, *told;
  rd_kafka_q_t apart;
  rd_kafka_q_init(&apart, op->rko_rktp->rktp_rkt->rkt_rk);
  rd_kafka_consumer_err(&apart, now->broker, now->code ? now->code : RD_KAFKA_RESP_ERR__BAD_MSG, op->rko_version, NULL, op->rko_rktp,
                        now->from,
                        "the record batch at offset %" PRId64 " is damaged: its records from offset %" PRId64 " to %" PRId64
                        " can't be read and are passed over",
                        now->base_offset, RD_MAX(now->from, now->base_offset), now->base_offset + now->last_delta);
  told = rd_kafka_q_pop(&apart, RD_POLL_NOWAIT, 0);
  rd_kafka_q_destroy_owner(&apart);
  rd_kafka_op_destroy(op);
  return told == NULL ? NULL : rd_kafka_message_get(told);
}

rd_kafka_buf_t *kafkabi_inside_hold(rd_kafka_buf_t *buffer) {
  rd_kafka_buf_keep(buffer);
  return buffer;
}

void kafkabi_inside_let_go(rd_kafka_buf_t *buffer) { rd_kafka_buf_destroy(buffer); }
