/* Records received batch by batch, as the broker stores them. librdkafka makes an object of 300 bytes for each record on the broker's
 * thread, which the program's thread frees; here it is one for each batch, and the program's thread reads the records out of it
 * (take.c, records.rs). A batch that takes more than reading is left to librdkafka, which makes its objects. */
#include "fetch.h"
#include "rdkafka_interceptor.h"
#include "rdkafka_lz4.h"
#include "rdkafka_msgset.h"
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
enum { AT_LENGTH = 8, AT_EPOCH = 12, AT_MAGIC = 16, AT_CRC = 17, AT_ATTRIBUTES = 21, AT_LAST = 23, AT_TIME = 27, AT_MAX_TIME = 35,
       AT_COUNT = 57 };

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
  return header->magic == 2 && header->size >= HEADER && header->count > 0 && header->base_offset >= 0 &&
         is_known(header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK) && header->last_offset >= header->base_offset && !(header->attributes & RD_KAFKA_MSGSET_V2_ATTR_CONTROL) &&
         !(aborted != NULL && header->attributes & RD_KAFKA_MSGSET_V2_ATTR_TRANSACTIONAL);
}

/* What is wrong with what can't be uncompressed. */
enum { DAMAGED = RD_KAFKA_RESP_ERR__BAD_COMPRESSION, TOO_LARGE = RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE };

#if WITH_SNAPPY
static int unpack_snappy(const char *from, size_t size, void **to, size_t *length) {
  /* snappy-java's framing begins with this, two versions of 4 bytes, and goes on in pieces. */
  static const char framed[8] = {(char)0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
  enum { FRAME = sizeof framed + 4 + 4 };
  char why[128];
  if (size > FRAME + 4 && memcmp(from, framed, sizeof framed) == 0)
    return (*to = rd_kafka_snappy_java_uncompress(from + FRAME, size - FRAME, length, why, sizeof why)) != NULL ? 0 : DAMAGED;
  if (!rd_kafka_snappy_uncompressed_length(from, size, length) || (*to = malloc(*length)) == NULL) return DAMAGED;
  if (rd_kafka_snappy_uncompress(from, size, *to) == 0) return 0;
  free(*to);
  return DAMAGED;
}
#endif

#if WITH_ZSTD
/* Of zstd.h, whose place we don't know. */
unsigned long long ZSTD_getFrameContentSize(const void *from, size_t size);
#define ZSTD_ERROR (0ULL - 2)

/* librdkafka uncompresses no more than receive.message.max.bytes, which a larger value gets over. */
static int unpack_zstd(rd_kafka_broker_t *broker, char *from, size_t size, void **to, size_t *length) {
  unsigned long long needed = ZSTD_getFrameContentSize(from, size);
  if (rd_kafka_zstd_decompress(broker, from, size, to, length) == 0) return 0;
  return needed == ZSTD_ERROR || needed <= (unsigned long long)broker->rkb_rk->rk_conf.recv_max_msg_size ? DAMAGED : TOO_LARGE;
}
#endif

/* 0, DAMAGED, or TOO_LARGE for what is wanting here. */
static int unpack(rd_kafka_broker_t *broker, const header_t *header, const char *from, size_t size, void **to, size_t *length) {
  switch (header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK) {
#if WITH_ZLIB
    case RD_KAFKA_COMPRESSION_GZIP: {
      uint64_t written = 0;
      *to = rd_gz_decompress(from, (int)size, &written);
      *length = (size_t)written;
      return *to != NULL ? 0 : DAMAGED;
    }
#endif
#if WITH_SNAPPY
    case RD_KAFKA_COMPRESSION_SNAPPY: return unpack_snappy(from, size, to, length);
#endif
#if WITH_ZSTD
    case RD_KAFKA_COMPRESSION_ZSTD: return unpack_zstd(broker, (char *)from, size, to, length);
#endif
    case RD_KAFKA_COMPRESSION_LZ4:
      return (int)rd_kafka_lz4_decompress(broker, 1, header->base_offset, (char *)from, size, to, length);
    default: return DAMAGED;
  }
}

static int is_whole(const rd_kafka_t *rk, const header_t *header, const unsigned char *batch) {
  return !rk->rk_conf.check_crcs || rd_crc32c(0, batch + AT_ATTRIBUTES, header->size - AT_ATTRIBUTES) == header->crc;
}

/* Finds the records, or sets the code of what is wrong with them. The caller gives up what they lie in; NULL if librdkafka has to look at
 * them, and to tell and ask again. */
static rd_kafka_buf_t *find_records(rd_kafka_buf_t *answer, const header_t *header, const unsigned char *batch, fetched_t *fetched) {
  rd_kafka_broker_t *broker = answer->rkbuf_rkb;
  const char *records = (const char *)batch + HEADER;
  size_t size = header->size - HEADER, length = 0;
  rd_kafka_buf_t *buffer;
  void *plain = NULL;
  fetched->bytes = batch + HEADER;
  if (!is_whole(broker->rkb_rk, header, batch)) {
    fetched->code = RD_KAFKA_RESP_ERR__BAD_MSG;
  } else if (!(header->attributes & RD_KAFKA_MSG_ATTR_COMPRESSION_MASK)) {
    fetched->size = size;
  } else if ((fetched->code = unpack(broker, header, records, size, &plain, &length)) == TOO_LARGE) {
    return NULL;
  } else if (fetched->code == 0) {
    fetched->bytes = plain;
    fetched->size = length;
    buffer = rd_kafka_buf_new_shadow(plain, length, rd_free);
    buffer->rkbuf_rkb = broker;
    rd_kafka_broker_keep(broker);
    return buffer;
  }
  rd_kafka_buf_keep(answer);
  return answer;
}

/* The offset behind a batch. One that fails its checksum may lie about its last offset, which nothing good may be lost by: then the next
 * batch counts, if it is there. Else the offset is the one behind as many records as it says; if the batch has more offsets than records,
 * it comes again, and twice as far is gone each time. */
static int64_t end_of_batch(const header_t *header, int is_spoilt, const header_t *next, int64_t from) {
  int64_t end = header->last_offset + 1, base = header->base_offset;
  if (!is_spoilt) return end;
  if (next != NULL && next->base_offset > base) return next->base_offset;
  end = RD_MIN(end, base + RD_MAX(header->count, 2 * (from - base)));
  return RD_MAX(end, RD_MAX(from, base) + 1);
}

/* What a batch counts in its queue: its bytes, or as many as fill the queue up with queued.min.messages records. So both limits hold,
 * though librdkafka counts a batch for one record. */
int32_t kafkabi_inside_weight(const rd_kafka_t *rk, int32_t count, size_t size) {
  int64_t each = rk->rk_conf.queued_max_msg_bytes / RD_MAX(rk->rk_conf.queued_min_msgs, 1);
  int64_t bytes = RD_MAX((int64_t)size, RD_MIN(each, INT32_MAX) * RD_MAX(count, 0));
  return (int32_t)RD_MIN(bytes, INT32_MAX);
}

enum { QUEUED, LEFT_TO_LIBRDKAFKA, CLOSED };

/* Queues a batch, `next` behind it or NULL, and adds its size to `bytes`. */
static int queue_batch(rd_kafka_buf_t *answer, const header_t *header, const unsigned char *batch, const header_t *next,
                       rd_kafka_toppar_t *partition, int32_t version, int64_t *bytes) {
  int64_t end, from = partition->rktp_offsets.fetch_pos.offset;
  fetched_t *fetched = rd_calloc(1, sizeof *fetched);
  rd_kafka_buf_t *buffer = find_records(answer, header, batch, fetched);
  rd_kafka_msg_t *record;
  rd_kafka_op_t *op;
  if (buffer == NULL) {
    rd_free(fetched);
    return LEFT_TO_LIBRDKAFKA;
  }
  /* Whoever took this for a record and went on after it would go on with the batch. */
  op = rd_kafka_op_new_fetch_msg(&record, partition, version, buffer,
                                 RD_KAFKA_FETCH_POS(RD_MAX(from, header->base_offset) - 1, header->epoch), 0, NULL, 0, NULL);
  rd_kafka_buf_destroy(buffer); /* the op has it */
  record->rkm_flags |= IS_BATCH;
  record->rkm_u.consumer.binhdrs.data = fetched;
  end = end_of_batch(header, fetched->code == RD_KAFKA_RESP_ERR__BAD_MSG, next, from);
  fetched->op = op;
  fetched->is_batch = 1;
  fetched->buffer = buffer;
  fetched->topic = partition->rktp_rkt;
  fetched->base_offset = header->base_offset;
  fetched->from = from;
  fetched->is_log_append = (header->attributes & RD_KAFKA_MSG_ATTR_LOG_APPEND_TIME) != 0;
  fetched->timestamp = fetched->is_log_append ? header->max_time : header->base_time;
  fetched->left = header->count;
  fetched->partition = partition->rktp_partition;
  fetched->leader_epoch = header->epoch;
  fetched->last_delta = (int32_t)(end - 1 - header->base_offset);
  fetched->broker = rd_kafka_broker_id(answer->rkbuf_rkb);
  *bytes += (int64_t)fetched->size;
  op->rko_len = kafkabi_inside_weight(partition->rktp_rkt->rkt_rk, header->count, fetched->size);
  if (!rd_kafka_q_enq(partition->rktp_fetchq, op)) return CLOSED;
  partition->rktp_offsets.fetch_pos = RD_KAFKA_FETCH_POS(end, header->epoch);
  return QUEUED;
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

/* One batch, by librdkafka. It takes an answer without a record, as that of an aborted transaction, for one that had no room for any,
 * and asks for more from then on. */
static rd_kafka_resp_err_t parse_one(rd_kafka_buf_t *answer, rd_kafka_buf_t *request, rd_kafka_toppar_t *partition,
                                     rd_kafka_aborted_txns_t *aborted, const struct rd_kafka_toppar_ver *version, size_t size) {
  int32_t most = partition->rktp_fetch_msg_max_bytes;
  rd_kafka_resp_err_t err;
  rd_slice_t whole;
  if (!rd_slice_narrow_relative(&answer->rkbuf_reader, &whole, size)) return RD_KAFKA_RESP_ERR__UNDERFLOW;
  partition->rktp_fetch_msg_max_bytes = 1;
  err = __real_rd_kafka_msgset_parse(answer, request, partition, aborted, version);
  partition->rktp_fetch_msg_max_bytes = most;
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
  int64_t records = 0, bytes = 0;
  rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
  header_t header, next = {0};
  int goes_on = takes_batches(partition->rktp_rkt->rkt_rk) && peek(reader, &header);
  if (!goes_on || !is_plain(&header, aborted) || header.last_offset < partition->rktp_offsets.fetch_pos.offset)
    return __real_rd_kafka_msgset_parse(answer, request, partition, aborted, version);
  for (; goes_on; header = next) {
    rd_slice_t here = *reader;
    const unsigned char *batch = rd_slice_ensure_contig(reader, header.size);
    int outcome = LEFT_TO_LIBRDKAFKA;
    goes_on = batch != NULL && peek(reader, &next); /* a broker cuts the last batch off where it has sent enough */
    if (batch != NULL && is_plain(&header, aborted)) {
      if (header.last_offset < partition->rktp_offsets.fetch_pos.offset) continue;
      outcome = queue_batch(answer, &header, batch, goes_on ? &next : NULL, partition, version->version, &bytes);
      if (outcome == CLOSED) break;
    }
    if (outcome == QUEUED) {
      records += header.count;
      continue;
    }
    *reader = here;
    err = parse_one(answer, request, partition, aborted, version, header.size);
    /* What stops librdkafka is asked for again. */
    if (err || partition->rktp_offsets.fetch_pos.offset <= header.last_offset) break;
  }
  count(partition, records, bytes);
  rd_slice_read(reader, NULL, rd_slice_remains(reader));
  return err;
}

void kafkabi_inside_batch_destroyed(rd_kafka_msg_t *record) { rd_free((void *)record->rkm_u.consumer.binhdrs.data); }
