/* Record batches made by hand, as no producer makes them, and their way to the embedded cluster, which keeps them as they are: it
   sets the first offset and the leader's epoch. https://kafka.apache.org/documentation/#recordbatch */
#ifndef BATCHES_H
#define BATCHES_H

#include "harness.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BATCH_HEADER = 61, AT_LENGTH = 8, AT_MAGIC = 16, AT_ATTRIBUTES = 21, AT_LAST_DELTA = 23, AT_BASE_TIME = 27,
       AT_MAX_TIME = 35, AT_PRODUCER = 43, AT_COUNT = 57 };
enum { LOG_APPEND = 1 << 3, GZIP = 1, SNAPPY = 2, LZ4 = 3, ZSTD = 4, NO_CODEC = 5 };

typedef struct bytes_t {
  unsigned char data[64 * 1024];
  size_t size;
} bytes_t;

static inline void put_bytes(bytes_t *to, const void *from, size_t size) {
  MUST(to->size + size <= sizeof to->data);
  if (size > 0) memcpy(to->data + to->size, from, size);
  to->size += size;
}

/* Big-endian. */
static inline void set_number(unsigned char *at, int bytes, int64_t value) {
  for (int i = bytes - 1; i >= 0; i--, value >>= 8) at[i] = (unsigned char)(value & 0xff);
}

static inline void put_number(bytes_t *to, int bytes, int64_t value) {
  unsigned char number[8];
  set_number(number, bytes, value);
  put_bytes(to, number, (size_t)bytes);
}

static inline void put_varint(bytes_t *to, int64_t value) {
  uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
  for (; bits >= 0x80; bits >>= 7) put_number(to, 1, (int64_t)(bits & 0x7f) | 0x80);
  put_number(to, 1, (int64_t)bits);
}

/* NULL is null. */
static inline void put_text(bytes_t *to, const char *text) {
  put_varint(to, text == NULL ? -1 : (int64_t)strlen(text));
  if (text != NULL) put_bytes(to, text, strlen(text));
}

/* A record of these offset and time, counted from the batch's; `headers` is what is behind the value. */
static inline void put_record(bytes_t *to, int64_t offset, int64_t time, const char *key, const char *value, const bytes_t *headers) {
  bytes_t body = {{0}, 1};
  put_varint(&body, time);
  put_varint(&body, offset);
  put_text(&body, key);
  put_text(&body, value);
  if (headers == NULL)
    put_varint(&body, 0);
  else
    put_bytes(&body, headers->data, headers->size);
  put_varint(to, (int64_t)body.size);
  put_bytes(to, body.data, body.size);
}

/* Begins a batch at the end of `to`; tells where it begins. */
static inline size_t begin_batch(bytes_t *to, int64_t base_offset, int64_t base_time) {
  size_t start = to->size;
  unsigned char header[BATCH_HEADER] = {0};
  set_number(header, 8, base_offset);
  header[AT_MAGIC] = 2;
  set_number(header + AT_BASE_TIME, 8, base_time);
  set_number(header + AT_MAX_TIME, 8, base_time);
  memset(header + AT_PRODUCER, 0xff, 14); /* none */
  put_bytes(to, header, sizeof header);
  return start;
}

/* Not the checksum of the batch: the cluster looks at none, and consumers with check.crcs only. */
static inline void end_batch(bytes_t *to, size_t start, int count, int32_t last_delta, int attributes) {
  unsigned char *header = to->data + start;
  set_number(header + AT_LENGTH, 4, (int64_t)(to->size - start) - 12);
  set_number(header + AT_ATTRIBUTES, 2, attributes);
  set_number(header + AT_LAST_DELTA, 4, last_delta);
  set_number(header + AT_COUNT, 4, count);
}

/* A batch of the texts "first", "first" + 1, and so on. */
static inline void put_batch(bytes_t *to, int64_t base_offset, int first, int count) {
  size_t start = begin_batch(to, base_offset, 1000);
  for (int i = 0; i < count; i++) {
    char text[16];
    snprintf(text, sizeof text, "%d", first + i);
    put_record(to, i, i, NULL, text, NULL);
  }
  end_batch(to, start, count, count - 1, 0);
}

static inline void talk(int fd, void *buffer, size_t size, ssize_t (*call)(int, void *, size_t)) {
  char *at = (char *)buffer;
  while (size > 0) {
    ssize_t done = call(fd, at, size);
    MUST(done > 0);
    at += done;
    size -= (size_t)done;
  }
}

static inline ssize_t write_some(int fd, void *from, size_t size) { return write(fd, from, size); }

static inline int connect_to(const char *address) {
  const char *colon = strrchr(address, ':');
  struct sockaddr_in to;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  MUST(fd >= 0 && colon != NULL);
  memset(&to, 0, sizeof to);
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)atoi(colon + 1));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  MUST(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
  return fd;
}

/* Appends batches to partition 0 of a topic, by a request of kind Produce, version 3. */
static inline void append(kabi_cluster_t *cluster, const char *topic, const bytes_t *batches) {
  bytes_t request = {{0}, 4};
  unsigned char answer[512];
  size_t length = strlen(topic), at_error = 4 + 4 + 2 + length + 4 + 4;
  int fd = connect_to(bootstrap(cluster));
  put_number(&request, 2, 0); /* Produce */
  put_number(&request, 2, 3);
  put_number(&request, 4, 1);  /* correlation */
  put_number(&request, 2, -1); /* client id */
  put_number(&request, 2, -1); /* transactional id */
  put_number(&request, 2, 1);  /* acks */
  put_number(&request, 4, 5000);
  put_number(&request, 4, 1);
  put_number(&request, 2, (int64_t)length);
  put_bytes(&request, topic, length);
  put_number(&request, 4, 1);
  put_number(&request, 4, 0);
  put_number(&request, 4, (int64_t)batches->size);
  put_bytes(&request, batches->data, batches->size);
  set_number(request.data, 4, (int64_t)request.size - 4);
  talk(fd, request.data, request.size, write_some);
  talk(fd, answer, 4, read);
  size_t size = (size_t)answer[2] << 8 | answer[3];
  MUST(size <= sizeof answer && size >= at_error + 2);
  talk(fd, answer, size, read);
  CHECK_EQ(0, answer[at_error] << 8 | answer[at_error + 1]);
  close(fd);
}

/* ---- a cluster with the topic "stored", whose one partition gets such batches ---- */
static kabi_cluster_t *cluster;
static bytes_t made;

static inline void start(void) {
  cluster = new_cluster(1);
  new_topic(cluster, "stored", 1);
  made.size = 0;
}

static inline void end(kabi_consumer_t *consumer) {
  close_consumer(consumer);
  kabi_cluster_free(cluster);
}

static inline kabi_consumer_t *reader(int64_t offset) {
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", NULL);
  assign(consumer, "stored", 0, offset);
  return consumer;
}

static inline void expect(const seen_t *record, int64_t offset, int64_t number) {
  CHECK_EQ(0, record->code);
  CHECK_EQ(offset, record->offset);
  CHECK_EQ(number, record->number);
}

/* Takes one entry: its code, and where it is. */
static inline int32_t take_one(kabi_consumer_t *consumer, int64_t *offset) {
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 1, &batch, &info);
  int32_t code = info.records[0].code;
  *offset = info.records[0].offset;
  kabi_batch_free(batch);
  return code;
}

static inline void pause_and_resume(kabi_consumer_t *consumer, const char *topic) {
  kabi_partition_t here = partition_of(consumer_topic_of(consumer, topic), 0, 0);
  OK(kabi_consumer_pause(consumer, &here, 1, ERR));
  poll_empty(consumer, 0);
  OK(kabi_consumer_resume(consumer, &here, 1, ERR));
}

#endif
