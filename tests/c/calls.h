/* Every function of the ABI that takes a handle, as one table: misuse, "use after close" and "guests keep their house" walk it.
   test_handles checks that the table names every function of kafkabi.h. */
#ifndef CALLS_H
#define CALLS_H
#include "harness.h"

typedef enum kind_t {
  KIND_NONE, /* takes no handle */
  KIND_CONFIG,
  KIND_PRODUCER,
  KIND_CONSUMER,
  KIND_ADMIN,
  KIND_BATCH,
  KIND_CLUSTER,
  KINDS
} kind_t;

/* One living handle of each kind. */
typedef struct world_t {
  void *handle[KINDS];
} world_t;
/* A cluster of two brokers with the topic "calls" of two partitions, the first holding some records; a producer of it; a consumer that is
   assigned it and has handed out a batch; an admin of its own. */
world_t new_world(void);
void end_world(world_t *world); /* frees what is left */
void free_handle(kind_t kind, void *handle);
const char *kind_name(kind_t kind);

typedef enum role_of_call_t {
  WORKS,       /* CLOSED once the client is closed */
  DRAINS,      /* works on until the last event is drained */
  STAYS,       /* works on until the free */
  CLOSES,      /* may be repeated */
  FREES        /* no status, accepts anything */
} role_of_call_t;

typedef struct call_t {
  const char *name;
  kind_t kind;
  role_of_call_t role;
  int required; /* how many pointers must not be NULL, the handle aside */
  /* Calls it with good arguments and `handle`; the required pointer number `null` (from 1) is NULL. */
  kabi_status_t (*run)(void *handle, int null, kabi_error_t *error);
  kabi_status_t good; /* what that gives in the world as it is: 0 but where it tells that there is nothing to do */
} call_t;

/* The time-out that calls of the table wait with, 10 s at first. */
extern int32_t calls_timeout;
extern const call_t calls[];
extern const size_t calls_count;

#endif
