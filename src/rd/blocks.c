#include "blocks.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = 16, SMALLEST = 1024, SIZES = 7, LARGEST = SMALLEST << (SIZES - 1) };

/* So much is kept for the next runs. */
enum { KEPT_MOST = 16 << 20 };

struct block_t {
  block_t *next; /* of those that are kept */
  size_t used;
  int size; /* SMALLEST << size bytes, this header included */
  int left; /* pieces */
};

/* In front of each piece. */
typedef union tag_t {
  block_t *block;
  char alignment[ALIGNMENT];
} tag_t;

enum { HEADER = (sizeof(block_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static block_t *kept[SIZES];
static size_t kept_bytes;

/* Not waited for: a fork may have left it taken for ever, and malloc will do. */
static int enter(void) { return pthread_mutex_trylock(&lock) == 0; }

static void leave(void) { (void)pthread_mutex_unlock(&lock); }

size_t kafkabi_block_most(void) { return LARGEST - HEADER; }

size_t kafkabi_block_piece(size_t size) { return sizeof(tag_t) + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

block_t *kafkabi_block_take(size_t bytes, int count) {
  block_t *block = NULL;
  int size = 0;
  if (bytes > LARGEST - HEADER) return NULL;
  while ((size_t)SMALLEST << size < HEADER + bytes) size++;
  if (enter()) {
    if ((block = kept[size]) != NULL) {
      kept[size] = block->next;
      kept_bytes -= (size_t)SMALLEST << size;
    }
    leave();
  }
  if (block == NULL && (block = malloc((size_t)SMALLEST << size)) == NULL) return NULL;
  block->next = NULL;
  block->used = HEADER;
  block->size = size;
  block->left = count;
  return block;
}

void *kafkabi_block_next(block_t *block, size_t size) {
  tag_t *tag = (tag_t *)((char *)block + block->used);
  block->used += kafkabi_block_piece(size);
  tag->block = block;
  return tag + 1;
}

block_t *kafkabi_block_of(const void *piece) { return ((const tag_t *)piece - 1)->block; }

static int keep(block_t *block) {
  size_t bytes = (size_t)SMALLEST << block->size;
  int keeps;
  if (!enter()) return 0;
  keeps = kept_bytes + bytes <= KEPT_MOST;
  if (keeps) {
    block->next = kept[block->size];
    kept[block->size] = block;
    kept_bytes += bytes;
  }
  leave();
  return keeps;
}

void kafkabi_block_release(block_t *block, int count) {
  if (__atomic_sub_fetch(&block->left, count, __ATOMIC_ACQ_REL) > 0) return;
  if (!keep(block)) free(block);
}
