/* What is read back from the embedded cluster: records of a partition, and the requests that came. */
#include "harness.h"
#include "packing.h"

static union { uint64_t align[1 << 14]; uint8_t bytes[1 << 17]; } buffer;

static const kabi_packed_t *packed_at(const uint8_t *at) { return (const kabi_packed_t *)(const void *)at; }

TEST(records_come_back_whole) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  new_topic(cluster, "t", 2);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_header_t header;
  kabi_message_t message = message_of(topic_of(producer, "t"), 1, "key", "value");
  memset(&header, 0, sizeof header);
  header.name = "name";
  header.name_length = 4;
  header.value = (const uint8_t *)"with";
  header.value_length = 4;
  message.headers = &header;
  message.header_count = 1;
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  message = message_of(topic_of(producer, "t"), 1, NULL, NULL);
  MUST_OK(kabi_producer_send(producer, &message, 0, ERR));
  close_producer(producer);
  MUST_OK(kabi_cluster_records(cluster, "t", 1, KABI_OFFSET_BEGINNING, buffer.bytes, sizeof buffer, &info, patience(20000), ERR));
  MUST(info.count == 2);
  const kabi_packed_t *first = packed_at(buffer.bytes), *second = packed_at(buffer.bytes + first->size);
  CHECK_EQ(info.size, first->size + second->size);
  CHECK_EQ(-1, first->topic);
  CHECK_EQ(1, first->partition);
  CHECK_EQ(0, first->offset);
  CHECK_EQ(3, first->key_length);
  CHECK_EQ(5, first->value_length);
  CHECK_EQ(1, first->header_count);
  CHECK(memcmp(first + 1, "keyvalue", 8) == 0);
  CHECK_EQ(1, second->offset);
  CHECK_EQ(-1, second->key_length);
  CHECK_EQ(-1, second->value_length);
  MUST_OK(kabi_cluster_records(cluster, "t", 0, KABI_OFFSET_BEGINNING, NULL, 0, &info, patience(20000), ERR)); /* empty */
  CHECK_EQ(0, info.count);
  kabi_cluster_free(cluster);
}

TEST(many_records_come_in_parts) {
  enum { COUNT = 5000 };
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  int64_t next = 0;
  int calls = 0;
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, COUNT);
  int64_t begin = now_ms();
  for (;; calls++) {
    MUST_OK(kabi_cluster_records(cluster, "t", 0, next, buffer.bytes, sizeof buffer, &info, patience(20000), ERR));
    if (info.count == 0) break;
    const uint8_t *at = buffer.bytes;
    for (size_t i = 0; i < info.count; i++) {
      MUST(packed_at(at)->offset == next);
      next++;
      at += packed_at(at)->size;
    }
    CHECK_EQ(info.size, at - buffer.bytes);
  }
  CHECK_EQ(COUNT, next);
  CHECK(calls > 1);
  note("%d calls, %lld ms", calls, (long long)(now_ms() - begin));
  CHECK_WITHIN(10000, begin);
  GIVES(KABI_STATUS_AUTO_OFFSET_RESET, kabi_cluster_records(cluster, "t", 0, COUNT + 10, buffer.bytes, sizeof buffer, &info, patience(20000), ERR));
  kabi_cluster_free(cluster);
}

TEST(a_buffer_that_is_too_small) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  new_topic(cluster, "t", 1);
  fill_topic(cluster, "t", 0, 3);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_cluster_records(cluster, "t", 0, 0, buffer.bytes, 8, &info, patience(20000), ERR));
  CHECK_EQ(0, info.count);
  size_t need = info.size;
  CHECK(need > sizeof(kabi_packed_t));
  OK(kabi_cluster_records(cluster, "t", 0, 0, buffer.bytes, need, &info, patience(20000), ERR));
  CHECK_EQ(1, info.count);
  CHECK_EQ(need, info.size);
  kabi_cluster_free(cluster);
}

TEST(what_is_not_there) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  new_topic(cluster, "t", 1);
  int64_t begin = now_ms();
  GIVES(3, kabi_cluster_records(cluster, "t", 1, 0, NULL, 0, &info, 1000, ERR));
  GIVES(3, kabi_cluster_records(cluster, "unknown", 0, 0, NULL, 0, &info, patience(20000), ERR));
  CHECK_WITHIN(5000, begin); /* not after librdkafka's half minute */
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "t", -1, 0, NULL, 0, &info, 1000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "t", 0, -1, NULL, 0, &info, 1000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "a b", 0, 0, NULL, 0, &info, 1000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "t", 0, 0, buffer.bytes + 1, 64, &info, 1000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "t", 0, 0, NULL, 64, &info, 1000, ERR));
  GIVES(KABI_STATUS_ARGUMENT, kabi_cluster_records(cluster, "t", 0, 0, NULL, 0, &info, -2, ERR));
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  begin = now_ms();
  GIVES(KABI_STATUS_TIMED_OUT, kabi_cluster_records(cluster, "t", 0, 0, NULL, 0, &info, 200, ERR));
  CHECK_WITHIN(2000, begin);
  kabi_cluster_free(cluster);
}

static void *free_soon(void *cluster) {
  unseen(100); /* the other thread is in the call by then, or comes later and finds the handle gone */
  kabi_cluster_free((kabi_cluster_t *)cluster);
  return NULL;
}

TEST(free_ends_a_read) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_batch_info_t info;
  pthread_t thread;
  new_topic(cluster, "t", 1);
  OK(kabi_cluster_broker_down(cluster, 1, ERR));
  int64_t begin = now_ms();
  MUST(pthread_create(&thread, NULL, free_soon, cluster) == 0);
  kabi_status_t status = kabi_cluster_records(cluster, "t", 0, 0, NULL, 0, &info, -1, ERR);
  CHECK(status == KABI_STATUS_CLOSED || status == KABI_STATUS_HANDLE);
  pthread_join(thread, NULL);
  CHECK_WITHIN(3000, begin);
}

TEST(requests_are_kept_while_tracked) {
  kabi_cluster_t *cluster = new_cluster(1);
  kabi_request_t requests[256];
  size_t count = 99, produced = 0;
  new_topic(cluster, "t", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  fill(producer, "t", 0, 0, 1);
  OK(kabi_cluster_requests(cluster, NULL, 0, &count, ERR));
  CHECK_EQ(0, count);
  OK(kabi_cluster_track_requests(cluster, 1, ERR));
  for (int i = 0; i < 3; i++) fill(producer, "t", 0, i, 1);
  GIVES(KABI_STATUS_BUFFER_TOO_SMALL, kabi_cluster_requests(cluster, requests, 1, &count, ERR));
  CHECK(count >= 3);
  MUST_OK(kabi_cluster_requests(cluster, requests, 256, &count, ERR));
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ(1, requests[i].broker);
    produced += requests[i].request == KABI_REQUEST_PRODUCE;
  }
  CHECK_EQ(3, produced);
  OK(kabi_cluster_track_requests(cluster, 0, ERR));
  OK(kabi_cluster_requests(cluster, NULL, 0, &count, ERR));
  CHECK_EQ(0, count);
  close_producer(producer);
  kabi_cluster_free(cluster);
}
