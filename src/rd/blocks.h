/* Memory for the records of a run, which one thread takes and another gives back: in blocks, that are used again and again. malloc would
 * hand pages back to the system whenever a batch is freed and ask for them once more for the next. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stddef.h>

typedef struct block_t block_t;

/* What a block can hold at most. */
size_t kafkabi_block_most(void);
/* One for `count` pieces of `bytes` in all; NULL if that is too much for one, or there is no memory. */
block_t *kafkabi_block_take(size_t bytes, int count);
/* The next piece, aligned like malloc's. Its size counts with kafkabi_block_piece(). */
void *kafkabi_block_next(block_t *block, size_t size);
/* What a piece of `size` bytes takes up. */
size_t kafkabi_block_piece(size_t size);
block_t *kafkabi_block_of(const void *piece);
/* `count` of its pieces are not used any more. With the last it is free. */
void kafkabi_block_release(block_t *block, int count);

#endif
