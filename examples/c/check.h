/* What the short examples do with a status that is not 0: say which call failed and why, and leave.
   Each caller has a `kabi_error_t error` in scope and passes its address to the call. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    if ((call) != KABI_STATUS_OK) {                                                       \
      fprintf(stderr, "%s: %s (%s)\n", #call, error.message, kabi_error_name(error.code)); \
      exit(EXIT_FAILURE);                                                                 \
    }                                                                                     \
  } while (0)

#endif
