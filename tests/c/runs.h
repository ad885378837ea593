/* Threads that send whole runs at once, to partitions that they share, and the order in which these arrive. */
#ifndef RUNS_H
#define RUNS_H

#include "harness.h"

enum { RUN_THREADS = 4, RUN_LENGTH = 150, RUN_PARTITIONS = 3, RUNS_MAX = 100 };

typedef struct runs_t {
  kabi_producer_t *producer;
  int32_t topic;
  uint64_t number; /* of the thread */
  int runs;
} runs_t;

/* Even threads name partitions, odd ones let them be chosen: by the keys of every second run. */
static void *send_runs(void *argument) {
  runs_t *sender = (runs_t *)argument;
  for (int run = 0; run < sender->runs; run++) {
    kabi_message_t messages[RUN_LENGTH];
    kabi_status_t statuses[RUN_LENGTH];
    char keys[RUN_LENGTH][16];
    size_t accepted = 0;
    for (int i = 0; i < RUN_LENGTH; i++) {
      int keyed = run % 2 == 1;
      (void)snprintf(keys[i], sizeof keys[i], "key %d", i % 10);
      int32_t partition = sender->number % 2 == 0 ? (run + i / 50) % RUN_PARTITIONS : KABI_PARTITION_ANY;
      messages[i] = message_of(sender->topic, partition, keyed ? keys[i] : NULL, "v");
      messages[i].token = (sender->number << 32) + (uint64_t)(run * RUN_LENGTH + i);
    }
    MUST_OK(kabi_producer_send_many(sender->producer, messages, RUN_LENGTH, patience(60000), statuses, &accepted, ERR));
    CHECK_EQ(RUN_LENGTH, accepted);
  }
  return NULL;
}

/* Each record has one report, that it is written; what a thread sent to a partition has rising offsets there. */
static void runs_of_threads(kabi_producer_t *producer, int32_t topic, int runs) {
  static kabi_event_t reports[RUN_THREADS * RUNS_MAX * RUN_LENGTH];
  static int64_t offsets[RUN_THREADS][RUNS_MAX * RUN_LENGTH];
  static int32_t partitions[RUN_THREADS][RUNS_MAX * RUN_LENGTH];
  runs_t senders[RUN_THREADS];
  pthread_t threads[RUN_THREADS];
  size_t each = (size_t)(runs * RUN_LENGTH), want = RUN_THREADS * each;
  MUST(runs <= RUNS_MAX);
  memset(offsets, -1, sizeof offsets);
  for (uint64_t i = 0; i < RUN_THREADS; i++) {
    runs_t sender = {producer, topic, i, runs};
    senders[i] = sender;
    MUST(pthread_create(&threads[i], NULL, send_runs, &senders[i]) == 0);
  }
  CHECK_EQ(want, drain_reports(producer, reports, want));
  for (size_t i = 0; i < RUN_THREADS; i++) pthread_join(threads[i], NULL);
  for (size_t i = 0; i < want; i++) {
    size_t thread = (size_t)(reports[i].token >> 32), number = (size_t)(reports[i].token & 0xffffffff);
    MUST(thread < RUN_THREADS && number < each && reports[i].partition >= 0 && reports[i].partition < RUN_PARTITIONS);
    CHECK(reports[i].code == 0 && reports[i].persisted == KABI_PERSISTED_YES);
    CHECK_EQ(-1, offsets[thread][number]);
    offsets[thread][number] = reports[i].offset;
    partitions[thread][number] = reports[i].partition;
  }
  for (size_t thread = 0; thread < RUN_THREADS; thread++) {
    int64_t last[RUN_PARTITIONS] = {-1, -1, -1};
    for (size_t i = 0; i < each; i++) {
      MUST(offsets[thread][i] > last[partitions[thread][i]]);
      last[partitions[thread][i]] = offsets[thread][i];
    }
  }
}

#endif
