/* Numbered records under way while brokers die: sent, each reported once, read back and counted. */
#ifndef LOAD_H
#define LOAD_H

#include "real.h"

typedef struct load_t {
  kabi_producer_t *producer;
  int32_t topic;
  int partitions, sent, reported, failed, strange;
  unsigned char *times; /* reports of each record */
} load_t;

static void load_take(load_t *load) {
  kabi_event_t events[256];
  size_t count;
  while ((count = drain_rest(load->producer, events, 256)) > 0)
    for (size_t i = 0; i < count; i++) {
      if (events[i].token >= (uint64_t)load->sent) load->strange++;
      else load->times[events[i].token]++;
      if (events[i].code != 0 && load->failed++ == 0)
        note("record %d: %s", (int)events[i].token, kabi_error_name(events[i].code));
      load->reported++;
    }
}

/* Sends up to record `until`, evenly over the partitions, some 10,000 a second, so that it takes as long as a failover. */
static void load_send(load_t *load, int until) {
  while (load->sent < until) {
    char value[16];
    snprintf(value, sizeof value, "%d", load->sent);
    kabi_message_t message = message_of(load->topic, load->sent % load->partitions, NULL, value);
    message.token = (uint64_t)load->sent;
    MUST_OK(kabi_producer_send(load->producer, &message, patience(60000), ERR));
    if (++load->sent % 10 == 0) poll(NULL, 0, 1);
    if (load->sent % 1000 == 0) load_take(load);
  }
}

/* The broker takes records: from here on it can die. */
static void load_flows(load_t *load) {
  int64_t end = now_ms() + patience(20000);
  while (load->reported == 0 && now_ms() < end) {
    poll(NULL, 0, 5);
    load_take(load);
  }
  MUST(load->reported > 0);
}

static void load_check(load_t *load) {
  int64_t end = now_ms() + patience(60000);
  while (load->reported < load->sent && now_ms() < end) {
    load_take(load);
    poll(NULL, 0, 5);
  }
  int wrong = 0;
  for (int i = 0; i < load->sent; i++) wrong += load->times[i] != 1;
  CHECK_EQ(load->sent, load->reported);
  CHECK_EQ(0, wrong);
  CHECK_EQ(0, load->strange);
  CHECK_EQ(0, load->failed);
}

/* Every record is in its partition exactly once, in order. */
static void load_read_back(load_t *load, const char *servers, const char *topic) {
  kabi_consumer_t *consumer = new_consumer(servers, NULL, NULL);
  kabi_partition_t list[16];
  int next[16], have = 0, disorder = 0;
  int64_t end = now_ms() + patience(60000);
  for (int i = 0; i < load->partitions; i++) {
    list[i] = partition_of(consumer_topic_of(consumer, topic), i, KABI_OFFSET_BEGINNING);
    next[i] = i;
  }
  MUST_OK(kabi_consumer_assign(consumer, list, (size_t)load->partitions, ERR));
  while (have < load->sent && now_ms() < end) {
    kabi_batch_t *batch;
    kabi_batch_info_t info;
    take_batch(consumer, 1000, &batch, &info);
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      if (record->code != 0) continue;
      have++;
      if (number_of(record) != next[record->partition]) disorder++;
      next[record->partition] += load->partitions;
    }
    kabi_batch_free(batch);
  }
  CHECK_EQ(load->sent, have);
  CHECK_EQ(0, disorder); /* none lost, doubled or overtaken */
  poll_empty(consumer, 500);
  close_consumer(consumer);
}

#endif
