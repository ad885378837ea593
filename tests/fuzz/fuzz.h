/* What a fuzz target gives: libFuzzer's entry, and seeds to start from (for driver.c and for libFuzzer's corpus). */
#ifndef FUZZ_H
#define FUZZ_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Seed number n into `out` (room for FUZZ_MAX); returns its size, 0 when there are no more. */
size_t fuzz_seed(unsigned n, uint8_t *out);
#define FUZZ_MAX 4096

/* A rule of the ABI that does not hold. */
#define RULE(holds)                                                        \
  do {                                                                     \
    if (!(holds)) {                                                        \
      fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #holds);  \
      abort();                                                             \
    }                                                                      \
  } while (0)

#endif
