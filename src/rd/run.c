/* A run of plain records of one topic handed over together, and their reports taken back together. rd_kafka_produce_batch() takes two
 * locks, three counters and two readings of the clock for each record, and the end of a record two of each once more, in competition
 * with the threads that send and report; here it is once for each run of a partition, once for each event of reports. */
#include "rdkafka_int.h"
#include "rdkafka_interceptor.h"
#include "rdkafka_msg.h"
#include "rdkafka_txnmgr.h"

/* Of rdkafka_msg.c, and in no header. */
int32_t rd_kafka_msg_sticky_partition(rd_kafka_topic_t *topic, const void *key, size_t key_length, int32_t partitions, void *opaque,
                                      void *record_opaque);

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

/* Chooses each record's partition and adds up their bytes; says no if one needs more care than is taken here. */
static int prepare(rd_kafka_topic_t *topic, int32_t partition, rd_kafka_message_t *records, int count, size_t *bytes) {
  const size_t most = (size_t)topic->rkt_rk->rk_conf.max_msg_size;
  int32_t sticky = -1;
  int i;
  *bytes = 0;
  for (i = 0; i < count; i++) {
    rd_kafka_message_t *record = &records[i];
    if (record->len > INT32_MAX || record->key_len > INT32_MAX ||
        rd_kafka_msg_max_wire_size(record->key_len, record->len, 0) > most)
      return 0;
    record->partition = partition == RD_KAFKA_PARTITION_UA ? choose(topic, record, &sticky) : partition;
    if (record->partition < 0 || record->partition >= topic->rkt_partition_cnt) return 0;
    *bytes += record->len;
  }
  return 1;
}

static rd_kafka_msg_t *copy_of(const run_t *run, const rd_kafka_message_t *record) {
  rd_kafka_msg_t *copy = rd_malloc(sizeof *copy + record->len + record->key_len);
  char *data = (char *)(copy + 1);
  memset(copy, 0, sizeof *copy);
  copy->rkm_flags = RD_KAFKA_MSG_F_PRODUCER | RD_KAFKA_MSG_F_FREE_RKM | RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_ACCOUNT;
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

/* The topic is locked, so that its partitions stay. */
static void send_all(rd_kafka_topic_t *topic, const rd_kafka_message_t *records, int count) {
  run_t run = {.topic = topic, .wall_ms = rd_uclock() / 1000, .now = rd_clock()};
  int i;
  rd_kafka_msgq_init(&run.records);
  run.timeout = topic->rkt_conf.message_timeout_ms == 0 ? INT64_MAX : run.now + (rd_ts_t)topic->rkt_conf.message_timeout_ms * 1000;
  for (i = 0; i < count; i++) {
    rd_kafka_toppar_t *partition = topic->rkt_p[records[i].partition];
    rd_kafka_msg_t *copy;
    if (partition != run.partition) {
      hand_over(&run);
      run.partition = partition;
      run.last_id = __atomic_load_n(&partition->rktp_msgid, __ATOMIC_RELAXED);
    }
    copy = copy_of(&run, &records[i]);
    copy->rkm_msgid = ++run.last_id;
    rd_kafka_msgq_enq(&run.records, copy);
  }
  hand_over(&run);
}

/* Takes all records, in order, or none: then rd_kafka_produce_batch() knows why, or has no space for all. */
int kafkabi_inside_produce(rd_kafka_topic_t *of_program, int32_t partition, rd_kafka_message_t *records, int count) {
  rd_kafka_topic_t *topic = rd_kafka_topic_proper(of_program);
  size_t bytes;
  int taken;
  if (!is_plain_client(topic->rkt_rk)) return 0;
  rd_kafka_topic_rdlock(topic);
  taken = is_plain_topic(topic, partition) && prepare(topic, partition, records, count, &bytes) &&
          rd_kafka_curr_msgs_add(topic->rkt_rk, (unsigned int)count, bytes, 0, NULL) == RD_KAFKA_RESP_ERR_NO_ERROR;
  if (taken) send_all(topic, records, count);
  rd_kafka_topic_rdunlock(topic);
  return taken;
}

/* Gives up the records' hold on the client's space and on their topic, at once for all. They are freed next, somebody else holds the
 * topic. */
static void settle(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records) {
  rd_kafka_msg_t *record;
  unsigned int count = 0;
  size_t bytes = 0;
  int referred = 0;
  if (rd_kafka_rkt_is_lw(topic)) return;
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

/* Before an event of reports is freed. */
void kafkabi_inside_settle(rd_kafka_event_t *event) {
  rd_kafka_topic_t *topic = event->rko_u.dr.rkt;
  if (event->rko_type != RD_KAFKA_OP_DR || topic == NULL) return;
  settle(topic, &event->rko_u.dr.msgq);  /* not visited */
  settle(topic, &event->rko_u.dr.msgq2); /* visited */
}

/* Reached through the linker's --wrap, as those of inside.c are: what becomes of records. Those that nobody is told of are freed there. */
typedef void outcome_t(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records, rd_kafka_resp_err_t err,
                       const rd_kafka_Produce_result_t *result);
outcome_t __wrap_rd_kafka_dr_msgq0;
__attribute__((weak)) outcome_t __real_rd_kafka_dr_msgq0;

void __wrap_rd_kafka_dr_msgq0(rd_kafka_topic_t *topic, rd_kafka_msgq_t *records, rd_kafka_resp_err_t err,
                              const rd_kafka_Produce_result_t *result) {
  rd_kafka_t *rk = topic->rkt_rk;
  int is_told = rk->rk_drmode != RD_KAFKA_DR_MODE_NONE && (!rk->rk_conf.dr_err_only || err);
  if (!is_told && rd_list_cnt(&rk->rk_conf.interceptors.on_acknowledgement) == 0) settle(topic, records);
  __real_rd_kafka_dr_msgq0(topic, records, err, result);
}
