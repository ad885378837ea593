/* What is known inside librdkafka and asked for too dearly from outside, and what has to be mended there. */
#include "rdkafka_int.h"
#include "rdkafka_idempotence.h"

/* Whether a message may have headers. rd_kafka_message_headers() makes a parsing buffer for each consumed message to find that it
 * has none; the count of headers, a varint, is the first byte of what it would parse, and all of it if the count is 0. */
int kafkabi_inside_may_have_headers(const rd_kafka_message_t *message) {
  const rd_kafka_msg_t *inside = rd_kafka_message2msg((rd_kafka_message_t *)message);
  if (inside->rkm_headers != NULL || (inside->rkm_flags & RD_KAFKA_MSG_F_PRODUCER)) return 1;
  return RD_KAFKAP_BYTES_LEN(&inside->rkm_u.consumer.binhdrs) > 1;
}

/* On librdkafka's main thread, which the assignment belongs to. */
static rd_kafka_op_res_t ask_committed_again(rd_kafka_t *rk, rd_kafka_q_t *queue, rd_kafka_op_t *op) {
  rd_kafka_topic_partition_list_t *pending = rk->rk_consumer.assignment.pending, *queried = rk->rk_consumer.assignment.queried;
  rd_kafka_topic_partition_t *assigned;
  int again = 0;
  (void)queue;
  if (op->rko_err == RD_KAFKA_RESP_ERR__DESTROY || rd_kafka_terminating(rk)) return RD_KAFKA_OP_RES_HANDLED;
  RD_KAFKA_TPLIST_FOREACH(assigned, rk->rk_consumer.assignment.all) {
    rd_kafka_toppar_t *partition = rd_kafka_topic_partition_ensure_toppar(rk, assigned, rd_true);
    if (partition->rktp_started || rd_kafka_topic_partition_list_find(pending, assigned->topic, assigned->partition)) continue;
    rd_kafka_topic_partition_list_del(queried, assigned->topic, assigned->partition);
    rd_kafka_topic_partition_list_add_copy(pending, assigned)->offset = RD_KAFKA_OFFSET_STORED;
    again++;
  }
  if (again > 0) {
    rd_kafka_dbg(rk, CGRP, "OFFSETFETCH", "Asking again what is committed for %d assigned partition(s) that have not begun", again);
    rd_kafka_assignment_serve(rk);
  }
  return RD_KAFKA_OP_RES_HANDLED;
}

/* Has the coordinator asked again what is committed for assigned partitions that have not begun. librdkafka never does when its
 * question was refused (https://github.com/confluentinc/librdkafka/issues/5586): they would be assigned and never read. If an
 * answer is on its way after all, the one that comes first counts and librdkafka ignores the other. */
void kafkabi_inside_ask_committed_again(rd_kafka_t *rk) {
  rd_kafka_q_enq(rk->rk_ops, rd_kafka_op_new_cb(rk, RD_KAFKA_OP_TXN, ask_committed_again));
}

/* The linker gives calls of rd_kafka_offset_reset() from librdkafka's other files to the first of these and calls the second by that name
 * (build.rs); where it was not asked to, neither is used. A broker thread that is told OFFSET_OUT_OF_RANGE while its client is
 * destroyed would wait for a lock that it holds, and the destruction for the thread
 * (https://github.com/confluentinc/librdkafka/issues/4514). Nothing is to be reset any more then. */
void __wrap_rd_kafka_offset_reset(rd_kafka_toppar_t *partition, int32_t broker, rd_kafka_fetch_pos_t at, rd_kafka_resp_err_t why,
                                  const char *format, ...);
__attribute__((weak)) void __real_rd_kafka_offset_reset(rd_kafka_toppar_t *partition, int32_t broker, rd_kafka_fetch_pos_t at,
                                                        rd_kafka_resp_err_t why, const char *format, ...);

void __wrap_rd_kafka_offset_reset(rd_kafka_toppar_t *partition, int32_t broker, rd_kafka_fetch_pos_t at, rd_kafka_resp_err_t why,
                                  const char *format, ...) {
  rd_kafka_t *rk = partition->rktp_rkt->rkt_rk;
  char reason[512];
  va_list list;
  if (rd_kafka_terminating(rk) && !thrd_is_current(rk->rk_thread)) return;
  va_start(list, format);
  vsnprintf(reason, sizeof reason, format, list);
  va_end(list);
  __real_rd_kafka_offset_reset(partition, broker, at, why, "%s", reason);
}

/* Wrapped in the same way: lists of offsets and deletions of records begin with a search for the partitions' leaders, which would
 * run on the caller's thread, while librdkafka's own goes on with it at once when the time is up or metadata comes, and frees it:
 * the caller's then read what was freed (valgrind saw it with a time-out of 5 ms). Both are librdkafka's thread now. */
typedef void search_t(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *partitions, int timeout_ms, rd_kafka_replyq_t replyq,
                      rd_kafka_op_cb_t *found, void *opaque);
search_t __wrap_rd_kafka_topic_partition_list_query_leaders_async;
__attribute__((weak)) search_t __real_rd_kafka_topic_partition_list_query_leaders_async;

static rd_kafka_op_res_t search_leaders(rd_kafka_t *rk, rd_kafka_q_t *queue, rd_kafka_op_t *op) {
  rd_kafka_replyq_t replyq = op->rko_u.leaders.replyq;
  (void)queue;
  memset(&op->rko_u.leaders.replyq, 0, sizeof op->rko_u.leaders.replyq); /* handed on */
  if (op->rko_err == RD_KAFKA_RESP_ERR__DESTROY) {
    rd_kafka_op_t *reply = rd_kafka_op_new_cb(rk, RD_KAFKA_OP_LEADERS, op->rko_u.leaders.cb);
    reply->rko_err = op->rko_err;
    reply->rko_u.leaders.opaque = op->rko_u.leaders.opaque;
    rd_kafka_replyq_enq(&replyq, reply, 0);
  } else {
    int left = rd_timeout_remains(op->rko_u.leaders.ts_timeout);
    __real_rd_kafka_topic_partition_list_query_leaders_async(rk, op->rko_u.leaders.partitions, left == 0 ? 1 : left, replyq,
                                                             op->rko_u.leaders.cb, op->rko_u.leaders.opaque);
  }
  return RD_KAFKA_OP_RES_HANDLED;
}

void __wrap_rd_kafka_topic_partition_list_query_leaders_async(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *partitions,
                                                              int timeout_ms, rd_kafka_replyq_t replyq, rd_kafka_op_cb_t *found,
                                                              void *opaque) {
  rd_kafka_op_t *op = rd_kafka_op_new_cb(rk, RD_KAFKA_OP_LEADERS, search_leaders);
  op->rko_u.leaders.replyq = replyq;
  op->rko_u.leaders.partitions = rd_kafka_topic_partition_list_copy(partitions);
  op->rko_u.leaders.ts_timeout = rd_timeout_init(timeout_ms);
  op->rko_u.leaders.cb = found;
  op->rko_u.leaders.opaque = opaque;
  rd_kafka_q_enq(rk->rk_ops, op);
}

/* Wrapped in the same way: the question where a partition begins or ends, on the way to reading it from there. librdkafka asks
 * once more when the answer is out of date, as after a seek or a revocation, whatever has become of the partition meanwhile: one
 * that had been taken away was read again, one that a seek had moved went to its beginning after all. Now the answer counts only
 * while the partition waits to be told where to begin, and once it knows that, nothing is left to be asked. */
typedef void ask_t(rd_kafka_broker_t *broker, rd_kafka_topic_partition_list_t *partitions, rd_kafka_replyq_t replyq,
                   rd_kafka_resp_cb_t *answered, int timeout_ms, void *opaque);
ask_t __wrap_rd_kafka_ListOffsetsRequest;
__attribute__((weak)) ask_t __real_rd_kafka_ListOffsetsRequest;

/* librdkafka's function for the answer, the same for all these questions and out of reach by name. */
static rd_kafka_resp_cb_t *goes_there;

/* Also where an answer of before was an error, after which there is no place to begin (auto.offset.reset=error). */
static int waits_to_begin(rd_kafka_toppar_t *partition) {
  int state;
  rd_kafka_toppar_lock(partition);
  state = partition->rktp_fetch_state;
  rd_kafka_toppar_unlock(partition);
  return state == RD_KAFKA_TOPPAR_FETCH_NONE || state == RD_KAFKA_TOPPAR_FETCH_OFFSET_QUERY ||
         state == RD_KAFKA_TOPPAR_FETCH_OFFSET_WAIT;
}

/* On librdkafka's main thread, as are all that moves a partition and the timer that asks again. */
static void told_where(rd_kafka_t *rk, rd_kafka_broker_t *broker, rd_kafka_resp_err_t err, rd_kafka_buf_t *answer,
                       rd_kafka_buf_t *question, void *opaque) {
  rd_kafka_toppar_t *partition = opaque;
  if (err != RD_KAFKA_RESP_ERR__DESTROY && !waits_to_begin(partition)) {
    rd_kafka_toppar_destroy(partition); /* the question's hold on it */
    return;
  }
  rd_kafka_toppar_keep(partition);
  __atomic_load_n(&goes_there, __ATOMIC_ACQUIRE)(rk, broker, err, answer, question, opaque);
  if (err != RD_KAFKA_RESP_ERR__DESTROY && !waits_to_begin(partition))
    rd_kafka_timer_stop(&rk->rk_timers, &partition->rktp_offset_query_tmr, 1);
  rd_kafka_toppar_destroy(partition);
}

/* Of librdkafka's questions only these are stamped with a partition's version. */
void __wrap_rd_kafka_ListOffsetsRequest(rd_kafka_broker_t *broker, rd_kafka_topic_partition_list_t *partitions,
                                        rd_kafka_replyq_t replyq, rd_kafka_resp_cb_t *answered, int timeout_ms, void *opaque) {
  if (replyq.version > 0) {
    __atomic_store_n(&goes_there, answered, __ATOMIC_RELEASE);
    answered = told_where;
  }
  __real_rd_kafka_ListOffsetsRequest(broker, partitions, replyq, answered, timeout_ms, opaque);
}

/* Wrapped in the same way: a partition's leader becomes known. A partition to be read from its beginning or end that had none asks
 * where that is half a second after it was assigned, though the first leader is known a millisecond later: the first record of most
 * consumers was half a second late. */
typedef void delegate_t(rd_kafka_toppar_t *partition, rd_kafka_broker_t *leader);
delegate_t __wrap_rd_kafka_toppar_broker_delegate;
__attribute__((weak)) delegate_t __real_rd_kafka_toppar_broker_delegate;

/* The partition is locked. */
void __wrap_rd_kafka_toppar_broker_delegate(rd_kafka_toppar_t *partition, rd_kafka_broker_t *leader) {
  rd_kafka_t *rk = partition->rktp_rkt->rkt_rk;
  rd_kafka_timer_t *asks = &partition->rktp_offset_query_tmr;
  __real_rd_kafka_toppar_broker_delegate(partition, leader);
  if (leader != NULL && partition->rktp_fetch_state == RD_KAFKA_TOPPAR_FETCH_OFFSET_QUERY && thrd_is_current(rk->rk_thread) &&
      rd_kafka_timer_is_started(&rk->rk_timers, asks))
    rd_kafka_timer_override_once(&rk->rk_timers, asks, 1);
}

/* Wrapped in the same way: when a broker's thread looks at a partition again. While records of it are under way an idempotent producer
 * sends no more, yet librdkafka has the thread look again at once, over and over until the answer comes: a processor's whole time
 * wherever the broker is slower than the program. The answer wakes the thread. It looks now and then all the same, for after a change
 * of the leader another broker's thread gets the answer. */
typedef rd_bool_t wakeup_t(rd_kafka_msgq_t *queue, const rd_kafka_msgq_t *ready, rd_ts_t *next, rd_ts_t now, rd_ts_t linger,
                           int32_t most_records, int64_t most_bytes);
wakeup_t __wrap_rd_kafka_msgq_allow_wakeup_at;
__attribute__((weak)) wakeup_t __real_rd_kafka_msgq_allow_wakeup_at;

enum { LOOK_AGAIN_US = 1000 };

static int awaits_answer(rd_kafka_msgq_t *queue) {
  rd_kafka_toppar_t *partition = (rd_kafka_toppar_t *)((char *)queue - offsetof(rd_kafka_toppar_t, rktp_msgq));
  return rd_kafka_is_idempotent(partition->rktp_rkt->rkt_rk) &&
         rd_atomic32_get(&partition->rktp_msgs_inflight) >= RD_KAFKA_IDEMP_MAX_INFLIGHT;
}

rd_bool_t __wrap_rd_kafka_msgq_allow_wakeup_at(rd_kafka_msgq_t *queue, const rd_kafka_msgq_t *ready, rd_ts_t *next, rd_ts_t now,
                                               rd_ts_t linger, int32_t most_records, int64_t most_bytes) {
  rd_ts_t before = next == NULL ? 0 : *next;
  rd_bool_t is_ready = __real_rd_kafka_msgq_allow_wakeup_at(queue, ready, next, now, linger, most_records, most_bytes);
  if (next != NULL && *next < before && *next < now + LOOK_AGAIN_US && awaits_answer(queue))
    *next = RD_MIN(before, now + LOOK_AGAIN_US);
  return is_ready;
}
