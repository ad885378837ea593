/* Packed records by hand, as a binding writes and reads them, and memory that ends where a page that may not be touched begins.
   Shared with the fuzz targets, so it needs nothing of the harness. */
#ifndef PACKING_H
#define PACKING_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kafkabi.h>

typedef struct packed_header_t {
  const char *name;
  const char *value; /* NULL is null */
} packed_header_t;

static inline size_t pack_part(uint8_t *at, const char *part) {
  if (part == NULL) return 0;
  memcpy(at, part, strlen(part));
  return strlen(part);
}

/* Writes one record and returns its size. NULL parts are null. */
static inline size_t pack_record(uint8_t *at, int32_t topic, int32_t partition, uint64_t token, const char *key, const char *value,
                                 const packed_header_t *headers, int32_t header_count) {
  kabi_packed_t head;
  size_t size = sizeof head;
  memset(&head, 0, sizeof head);
  head.header_size = sizeof head;
  head.topic = topic;
  head.partition = partition;
  head.token = token;
  head.leader_epoch = -1;
  head.key_length = key != NULL ? (int32_t)strlen(key) : -1;
  head.value_length = value != NULL ? (int32_t)strlen(value) : -1;
  head.header_count = header_count;
  size += pack_part(at + size, key);
  size += pack_part(at + size, value);
  for (int32_t i = 0; i < header_count; i++) {
    int32_t lengths[2] = {(int32_t)strlen(headers[i].name), headers[i].value != NULL ? (int32_t)strlen(headers[i].value) : -1};
    memcpy(at + size, lengths, sizeof lengths);
    size += sizeof lengths;
    size += pack_part(at + size, headers[i].name);
    at[size++] = 0;
    size += pack_part(at + size, headers[i].value);
  }
  while (size % 8 != 0) at[size++] = 0;
  head.size = (uint32_t)size;
  memcpy(at, &head, sizeof head);
  return size;
}

/* A copy aligned to 8 that ends (up to 7 bytes) before a page without access: who reads on, dies. */
typedef struct guarded_t {
  uint8_t *bytes;
  uint8_t *map;
  size_t map_size;
} guarded_t;

static inline guarded_t guard(const void *bytes, size_t size) {
  guarded_t guarded;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + 7) / 8 * 8, pages = (room + page - 1) / page + 1;
  guarded.map_size = pages * page;
  guarded.map = (uint8_t *)mmap(NULL, guarded.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (guarded.map == (uint8_t *)MAP_FAILED || mprotect(guarded.map + (pages - 1) * page, page, PROT_NONE) != 0) abort();
  guarded.bytes = guarded.map + (pages - 1) * page - room;
  if (size > 0) memcpy(guarded.bytes, bytes, size);
  return guarded;
}

static inline void unguard(guarded_t *guarded) { munmap(guarded->map, guarded->map_size); }

#endif
