/* A run of plain records of one topic handed over together, and their reports taken back together. rd_kafka_produce_batch() takes two
 * locks, three counters and two readings of the clock for each record, and the end of a record two of each once more, in competition
 * with the threads that send and report; here it is once for each run of a partition, once for each event of reports. */
#include "blocks.h"
#include "fetch.h"
#include "rdkafka_int.h"
#include "rdkafka_interceptor.h"
#include "rdkafka_msg.h"
#include "rdkafka_txnmgr.h"

/* Of rdkafka_msg.c, and in no header. */
int32_t rd_kafka_msg_sticky_partition(rd_kafka_topic_t *topic, const void *key, size_t key_length, int32_t partitions, void *opaque,
                                      void *record_opaque);

/* Reached through the linker's --wrap, as those of inside.c are; without it, records are allocated one by one. */
typedef void destroy_t(rd_kafka_t *rk, rd_kafka_msg_t *record);
destroy_t __wrap_rd_kafka_msg_destroy;
__attribute__((weak)) destroy_t __real_rd_kafka_msg_destroy;

/* Of a record in a block; librdkafka uses the bits below. Fewer records than this are not worth one. */
enum { IN_BLOCK = 0x1000000, FEW = 4 };

/* Records for one partition, in order, that are not yet its. */
typedef struct run_t {
  rd_kafka_topic_t *topic;
  rd_kafka_toppar_t *partition;
  rd_kafka_msgq_t records;
  uint64_t last_id; /* the partition's, when the first was made: a guess, since others send too */
  int64_t wall_ms;
  rd_ts_t now, timeout;
} run_t;

static int is_plain_client(rd_kafka_t *rk) {
  return !rd_kafka_fatal_error_code(rk) && rd_kafka_txn_may_enq_msg(rk) && rd_list_cnt(&rk->rk_conf.interceptors.on_send) == 0;
}

static int is_plain_topic(const rd_kafka_topic_t *topic, int32_t partition) {
  return topic->rkt_state == RD_KAFKA_TOPIC_S_EXISTS && topic->rkt_partition_cnt > 0 && partition < topic->rkt_partition_cnt &&
         topic->rkt_conf.queuing_strategy == RD_KAFKA_QUEUE_FIFO;
}

/* As rd_kafka_msg_partitioner() decides; a sticky partition is asked for once a run. */
static int32_t choose(rd_kafka_topic_t *topic, const rd_kafka_message_t *record, int32_t *sticky) {
  int sticks = !topic->rkt_conf.random_partitioner &&
               (record->key == NULL ||
                (record->key_len == 0 && topic->rkt_conf.partitioner == rd_kafka_msg_partitioner_consistent_random));
  if (sticks && *sticky >= 0) return *sticky;
  if (sticks)
    return *sticky = rd_kafka_msg_sticky_partition(topic, record->key, record->key_len, topic->rkt_partition_cnt,
                                                   topic->rkt_conf.opaque, record->_private);
  return topic->rkt_conf.partitioner(topic, record->key, record->key_len, topic->rkt_partition_cnt, topic->rkt_conf.opaque,
                                     record->_private);
}

static int fits(const rd_kafka_topic_t *topic, const rd_kafka_message_t *record) {
  return record->len <= INT32_MAX && record->key_len <= INT32_MAX &&
         rd_kafka_msg_max_wire_size(record->key_len, record->len, 0) <= (size_t)topic->rkt_rk->rk_conf.max_msg_size;
}

static int all_fit(const rd_kafka_topic_t *topic, const rd_kafka_message_t *records, int count) {
  int i;
  for (i = 0; i < count; i++)
    if (!fits(topic, &records[i])) return 0;
  return 1;
}

/* Chooses each record's partition; says no if a partitioner finds none. */
static int choose_all(rd_kafka_topic_t *topic, int32_t partition, rd_kafka_message_t *records, int count) {
  int32_t sticky = -1;
  int i;
  for (i = 0; i < count; i++) {
    rd_kafka_message_t *record = &records[i];
    record->partition = partition == RD_KAFKA_PARTITION_UA ? choose(topic, record, &sticky) : partition;
    if (record->partition < 0 || record->partition >= topic->rkt_partition_cnt) return 0;
  }
  return 1;
}

/* Takes the client's space for as many of the records as there is space for. */
static int reserve(rd_kafka_t *rk, const rd_kafka_message_t *records, int count, size_t *bytes) {
  int taken = 0;
  *bytes = 0;
  mtx_lock(&rk->rk_curr_msgs.lock);
  while (taken < count &&
         (rk->rk_curr_msgs.max_cnt == 0 || rk->rk_curr_msgs.cnt + (unsigned int)taken < rk->rk_curr_msgs.max_cnt) &&
         rk->rk_curr_msgs.size + *bytes + records[taken].len <= rk->rk_curr_msgs.max_size)
    *bytes += records[taken++].len;
  rk->rk_curr_msgs.cnt += (unsigned int)taken;
  rk->rk_curr_msgs.size += *bytes;
  mtx_unlock(&rk->rk_curr_msgs.lock);
  return taken;
}

static size_t size_of(const rd_kafka_message_t *record) { return sizeof(rd_kafka_msg_t) + record->len + record->key_len; }

static rd_kafka_msg_t *copy_of(const run_t *run, const rd_kafka_message_t *record, block_t *block) {
  rd_kafka_msg_t *copy = block == NULL ? rd_malloc(size_of(record)) : kafkabi_block_next(block, size_of(record));
  char *data = (char *)(copy + 1);
  memset(copy, 0, sizeof *copy);
  copy->rkm_flags = RD_KAFKA_MSG_F_PRODUCER | RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_ACCOUNT |
                    (block == NULL ? RD_KAFKA_MSG_F_FREE_RKM : IN_BLOCK);
  copy->rkm_rkmessage.rkt = run->topic; /* counted in hand_over() */
  copy->rkm_partition = record->partition;
  copy->rkm_offset = RD_KAFKA_OFFSET_INVALID;
  copy->rkm_opaque = record->_private;
  copy->rkm_len = record->len;
  copy->rkm_broker_id = -1;
  copy->rkm_status = RD_KAFKA_MSG_STATUS_NOT_PERSISTED;
  copy->rkm_tstype = RD_KAFKA_TIMESTAMP_CREATE_TIME;
  copy->rkm_timestamp = run->wall_ms;
  copy->rkm_ts_enq = run->now;
  copy->rkm_ts_timeout = run->timeout;
  if (record->payload != NULL) copy->rkm_payload = memcpy(data, record->payload, record->len);
  if (record->key != NULL) {
    copy->rkm_key = memcpy(data + record->len, record->key, record->key_len);
    copy->rkm_key_len = record->key_len;
  }
  return copy;
}

/* Whether the broker's thread is to be told: as rd_kafka_msgq_may_wakeup(), which counts on records coming one by one. */
static int is_due(const rd_kafka_msgq_t *queue, int before, rd_ts_t now) {
  return !queue->rkmq_wakeup.signalled &&
         (now >= queue->rkmq_wakeup.abstime || (before == 0 && queue->rkmq_wakeup.on_first) ||
          queue->rkmq_msg_cnt >= queue->rkmq_wakeup.msg_cnt || queue->rkmq_msg_bytes > queue->rkmq_wakeup.msg_bytes);
}

static void refer(rd_kafka_topic_t *topic, int count) {
#ifdef RD_REFCNT_USE_LOCKS
  for (; count > 0; count--) rd_refcnt_add(&topic->rkt_refcnt);
  for (; count < 0; count++) rd_refcnt_sub(&topic->rkt_refcnt);
#else
  rd_atomic32_add(&topic->rkt_refcnt, count);
#endif
}

/* Appends what was collected to its partition's queue. The records are numbered already, if nobody came in between, so that the lock,
 * which the broker's thread wants too, is held for a moment only. */
static void hand_over(run_t *run) {
  rd_kafka_toppar_t *partition = run->partition;
  rd_kafka_q_t *sleeper = NULL;
  rd_kafka_msg_t *record;
  int count = rd_kafka_msgq_len(&run->records), before;
  if (count == 0) return;
  refer(run->topic, count);
  rd_atomic64_add(&partition->rktp_c.producer_enq_msgs, count);
  rd_kafka_toppar_lock(partition);
  if (partition->rktp_msgid + (uint64_t)count != run->last_id) {
    run->last_id = partition->rktp_msgid;
    RD_KAFKA_MSGQ_FOREACH(record, &run->records) record->rkm_msgid = ++run->last_id;
  }
  partition->rktp_msgid = run->last_id;
  before = rd_kafka_msgq_len(&partition->rktp_msgq);
  rd_kafka_msgq_concat(&partition->rktp_msgq, &run->records);
  if (is_due(&partition->rktp_msgq, before, run->now) && (sleeper = partition->rktp_msgq_wakeup_q) != NULL) {
    partition->rktp_msgq.rkmq_wakeup.signalled = rd_true;
    rd_kafka_q_keep(sleeper);
  }
  rd_kafka_toppar_unlock(partition);
  if (sleeper != NULL) {
    rd_kafka_q_yield(sleeper);
    rd_kafka_q_destroy(sleeper);
  }
  if (rd_kafka_is_transactional(run->topic->rkt_rk)) rd_kafka_txn_add_partition(partition);
}

/* How many of the records go to the first one's partition and into one block, and one for them. */
static int stretch(const rd_kafka_message_t *records, int count, block_t **block) {
  size_t bytes = 0, most = kafkabi_block_most();
  int length;
  for (length = 0; length < count && records[length].partition == records[0].partition; length++) {
    size_t piece = kafkabi_block_piece(size_of(&records[length]));
    if (bytes + piece > most) break;
    bytes += piece;
  }
  *block = length < FEW || __real_rd_kafka_msg_destroy == NULL ? NULL : kafkabi_block_take(bytes, length);
  return length > 0 ? length : 1;
}

/* The topic is locked, so that its partitions stay. */
static void send_all(rd_kafka_topic_t *topic, const rd_kafka_message_t *records, int count) {
  run_t run = {.topic = topic, .wall_ms = rd_uclock() / 1000, .now = rd_clock()};
  block_t *block;
  int i = 0, end;
  rd_kafka_msgq_init(&run.records);
  run.timeout = topic->rkt_conf.message_timeout_ms == 0 ? INT64_MAX : run.now + (rd_ts_t)topic->rkt_conf.message_timeout_ms * 1000;
  while (i < count) {
    rd_kafka_toppar_t *partition = topic->rkt_p[records[i].partition];
    if (partition != run.partition || rd_kafka_msgq_size(&run.records) >= (size_t)topic->rkt_rk->rk_conf.batch_size) {
      hand_over(&run); /* a whole batch need not wait until the next is copied */
      run.partition = partition;
      run.last_id = __atomic_load_n(&partition->rktp_msgid, __ATOMIC_RELAXED);
    }
    for (end = i + stretch(&records[i], count - i, &block); i < end; i++) {
      rd_kafka_msg_t *copy = copy_of(&run, &records[i], block);
      copy->rkm_msgid = ++run.last_id;
      rd_kafka_msgq_enq(&run.records, copy);
    }
  }
  hand_over(&run);
}

/* Takes records, in order, as many as there is space for, and tells how many; -1 if rd_kafka_produce_batch() has to look at them. */
int kafkabi_inside_produce(rd_kafka_topic_t *of_program, int32_t partition, rd_kafka_message_t *records, int count) {
  rd_kafka_topic_t *topic = rd_kafka_topic_proper(of_program);
  rd_kafka_t *rk = topic->rkt_rk;
  size_t bytes;
  int taken = -1;
  if (!is_plain_client(rk)) return -1;
  rd_kafka_topic_rdlock(topic);
  if (is_plain_topic(topic, partition) && all_fit(topic, records, count)) {
    taken = reserve(rk, records, count, &bytes);
    if (choose_all(topic, partition, records, taken)) {
      if (taken > 0) send_all(topic, records, taken);
    } else {
      rd_kafka_curr_msgs_sub(rk, (unsigned int)taken, bytes);
      taken = -1;
    }
  }
  rd_kafka_topic_rdunlock(topic);
  return taken;
}

void __wrap_rd_kafka_msg_destroy(rd_kafka_t *rk, rd_kafka_msg_t *record) {
  block_t *block = record->rkm_flags & IN_BLOCK ? kafkabi_block_of(record) : NULL;
  if (record->rkm_flags & IS_BATCH) kafkabi_inside_batch_destroyed(record);
  __real_rd_kafka_msg_destroy(rk, record);
  if (block != NULL) kafkabi_block_release(block, 1);
}

/* Gives up the records' hold on the client's space and on their topic, which somebody else holds. */
static void settle(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records) {
  rd_kafka_msg_t *record;
  unsigned int count = 0;
  size_t bytes = 0;
  int referred = 0;
  RD_KAFKA_MSGQ_FOREACH(record, records) {
    if (record->rkm_flags & RD_KAFKA_MSG_F_ACCOUNT) {
      record->rkm_flags &= ~RD_KAFKA_MSG_F_ACCOUNT;
      bytes += record->rkm_len;
      count++;
    }
    if (record->rkm_rkmessage.rkt == topic) {
      record->rkm_rkmessage.rkt = NULL;
      referred++;
    }
  }
  if (count > 0) rd_kafka_curr_msgs_sub(topic->rkt_rk, count, bytes);
  refer(topic, -referred);
}

/* Frees all, those of a block at once, and leaves the queue empty. */
static void destroy_all(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records) {
  rd_kafka_msg_t *record, *next = TAILQ_FIRST(&records->rkmq_msgs);
  block_t *block = NULL;
  int count = 0;
  if (rd_kafka_rkt_is_lw(topic)) return;
  settle(topic, records);
  while ((record = next) != NULL) {
    next = TAILQ_NEXT(record, rkm_link);
    if (!(record->rkm_flags & IN_BLOCK)) {
      rd_kafka_msg_destroy(topic->rkt_rk, record);
      continue;
    }
    if (kafkabi_block_of(record) != block) {
      if (block != NULL) kafkabi_block_release(block, count);
      block = kafkabi_block_of(record);
      count = 0;
    }
    count++;
  }
  if (block != NULL) kafkabi_block_release(block, count);
  rd_kafka_msgq_init(records);
}

/* Frees the records of an event of reports, which is freed next. */
void kafkabi_inside_settle(rd_kafka_event_t *event) {
  if (event->rko_type != RD_KAFKA_OP_DR || event->rko_u.dr.rkt == NULL) return;
  destroy_all(event->rko_u.dr.rkt, &event->rko_u.dr.msgq);  /* not visited */
  destroy_all(event->rko_u.dr.rkt, &event->rko_u.dr.msgq2); /* visited */
}

/* What becomes of records: written ones of which nobody is told end here. */
typedef void outcome_t(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records, rd_kafka_resp_err_t err,
                       const rd_kafka_Produce_result_t *result);
outcome_t __wrap_rd_kafka_dr_msgq0;
__attribute__((weak)) outcome_t __real_rd_kafka_dr_msgq0;

void __wrap_rd_kafka_dr_msgq0(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records, rd_kafka_resp_err_t err,
                              const rd_kafka_Produce_result_t *result) {
  rd_kafka_t *rk = topic->rkt_rk;
  int is_silent = !err && (rk->rk_drmode == RD_KAFKA_DR_MODE_NONE || rk->rk_conf.dr_err_only);
  if (is_silent && rd_list_cnt(&rk->rk_conf.interceptors.on_acknowledgement) == 0) destroy_all(topic, records);
  __real_rd_kafka_dr_msgq0(topic, records, err, result);
}
