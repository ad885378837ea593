/* Taking batches and single records out of a consumer's queue, on the program's thread. As rd_kafka_consume_batch_queue(), but that the
 * position moves with each batch and record, in their order, when it is handed out: a partition that was moved meanwhile is noticed
 * then, and errors and what came before a reset of the offset move nothing. */
#include "fetch.h"
#include "rdkafka_offset.h"

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

/* Drops what was taken of a partition before it was moved, and tells how much is left. */
static int drop_outdated(const rd_kafka_op_t *barrier, fetched_t *taken, int count) {
  int i, left = 0;
  for (i = 0; i < count; i++) {
    if (taken[i].op->rko_rktp == barrier->rko_rktp && rd_kafka_op_version_outdated(taken[i].op, barrier->rko_version))
      rd_kafka_op_destroy(taken[i].op);
    else
      taken[left++] = taken[i];
  }
  return left;
}

static int64_t records_in(const fetched_t *taken, int count) {
  int64_t records = 0;
  int i;
  for (i = 0; i < count; i++) records += taken[i].left > 1 ? taken[i].left : 1;
  return records;
}

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
  into->op = op;
}

int kafkabi_inside_take(rd_kafka_queue_t *of_program, int timeout_ms, fetched_t *taken, int room, int64_t most) {
  rd_kafka_q_t *queue = end_of(of_program);
  rd_kafka_t *rk = queue->rkq_rk;
  rd_ts_t until = rd_timeout_init(timeout_ms);
  rd_kafka_op_t *op;
  int64_t records = 0;
  int count = 0;
  rd_kafka_app_poll_start(rk, queue, 0, timeout_ms != 0);
  while (count < room && records < most && (op = next_op(queue, until)) != NULL) {
    rd_kafka_op_res_t outcome;
    if (op->rko_type == RD_KAFKA_OP_BARRIER) {
      count = drop_outdated(op, taken, count);
      records = records_in(taken, count);
    }
    if (op->rko_type == RD_KAFKA_OP_BARRIER || rd_kafka_op_version_outdated(op, 0)) {
      rd_kafka_op_destroy(op);
      continue;
    }
    outcome = rd_kafka_poll_cb(rk, queue, op, RD_KAFKA_Q_CB_RETURN, NULL);
    if (outcome == RD_KAFKA_OP_RES_YIELD) break;
    if (outcome != RD_KAFKA_OP_RES_PASS) continue; /* a callback had it */
    fill(&taken[count], op);
    records += records_in(&taken[count++], 1);
  }
  rd_kafka_app_polled(rk, queue);
  rd_kafka_q_destroy(queue);
  return count;
}

enum { NOWHERE = -1 };

/* Moves the program's position, unless the partition was moved since. Whoever moves it reads the position under the same lock. */
static int move_to(const rd_kafka_op_t *op, int64_t offset, int32_t epoch) {
  rd_kafka_toppar_t *partition = op->rko_rktp;
  int is_current;
  if (partition == NULL) return 1;
  rd_kafka_toppar_lock(partition);
  is_current = !rd_kafka_op_version_outdated((rd_kafka_op_t *)op, 0);
  if (is_current && offset != NOWHERE)
    rd_kafka_update_app_pos(partition->rktp_rkt->rkt_rk, partition, RD_KAFKA_FETCH_POS(offset, epoch), RD_DONT_LOCK);
  rd_kafka_toppar_unlock(partition);
  return is_current;
}

rd_kafka_message_t *kafkabi_inside_message(const fetched_t *single) {
  rd_kafka_op_t *op = single->op;
  rd_kafka_message_t *message = rd_kafka_message_get(op);
  int is_marker = rd_kafka_op_is_ctrl_msg(op); /* between the records of transactions: it only moves the position */
  int64_t next = message->err ? NOWHERE : message->offset + 1;
  if (move_to(op, next, message->err ? -1 : rd_kafka_message_leader_epoch(message)) && !is_marker) return message;
  rd_kafka_op_destroy(op);
  return NULL;
}

int kafkabi_inside_read(const fetched_t *now) {
  rd_kafka_op_t *op = now->op;
  fetched_t *batch = batch_of(op);
  if (!move_to(op, now->from > batch->from ? now->from : NOWHERE, now->leader_epoch)) {
    rd_kafka_op_destroy(op);
    return 0;
  }
  *batch = *now;
  op->rko_u.fetch.rkm.rkm_offset = now->from - 1;
  op->rko_len = kafkabi_inside_weight(op->rko_rktp->rktp_rkt->rkt_rk, now->left, now->size);
  return 1;
}

rd_kafka_message_t *kafkabi_inside_spoilt(const fetched_t *now) {
  rd_kafka_op_t *op = now->op, *told;
  rd_kafka_resp_err_t code = now->code ? now->code : RD_KAFKA_RESP_ERR__BAD_MSG;
  int64_t last = now->base_offset + now->last_delta, first = RD_MAX(now->from, now->base_offset);
  rd_kafka_q_t apart;
  rd_kafka_q_init(&apart, op->rko_rktp->rktp_rkt->rkt_rk);
  if (first > last)
    rd_kafka_consumer_err(&apart, now->broker, code, op->rko_version, NULL, op->rko_rktp, first,
                          "the record batch at offset %" PRId64 " is damaged: it has fewer records than it says, up to its last offset",
                          now->base_offset);
  else
    rd_kafka_consumer_err(&apart, now->broker, code, op->rko_version, NULL, op->rko_rktp, first,
                          "the record batch at offset %" PRId64 " is damaged: its records from offset %" PRId64 " to %" PRId64
                          " can't be read and are passed over",
                          now->base_offset, first, last);
  told = rd_kafka_q_pop(&apart, RD_POLL_NOWAIT, 0);
  rd_kafka_q_destroy_owner(&apart);
  if (!move_to(op, last + 1, now->leader_epoch) && told != NULL) {
    rd_kafka_op_destroy(told);
    told = NULL;
  }
  rd_kafka_op_destroy(op);
  return told == NULL ? NULL : rd_kafka_message_get(told);
}

void kafkabi_inside_done(const fetched_t *batch) { rd_kafka_op_destroy(batch->op); }

/* Before the others, but those that overtake it. */
void kafkabi_inside_put_back(rd_kafka_queue_t *of_program, const fetched_t *taken) {
  rd_kafka_q_t *queue = end_of(of_program);
  rd_kafka_op_t *next, *op = taken->op;
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

rd_kafka_buf_t *kafkabi_inside_hold(rd_kafka_buf_t *buffer) {
  rd_kafka_buf_keep(buffer);
  return buffer;
}

void kafkabi_inside_let_go(rd_kafka_buf_t *buffer) { rd_kafka_buf_destroy(buffer); }
