/* It can't be crashed from the outside: every function with handles that are NULL, garbage, of another type, stale or closed, and
   with each required pointer NULL. */
#include "calls.h"

#ifndef KAFKABI_HEADER
#define KAFKABI_HEADER "../../include/kafkabi.h"
#endif

/* ---- the table is whole ---- */

static char *header_without_comments(void) {
  static char text[1 << 20];
  FILE *file = fopen(KAFKABI_HEADER, "r");
  MUST(file != NULL);
  size_t size = fread(text, 1, sizeof text - 1, file), to = 0;
  fclose(file);
  MUST(size < sizeof text - 1);
  for (size_t from = 0; from < size;) {
    if (text[from] == '/' && text[from + 1] == '*') {
      const char *over = strstr(text + from, "*/");
      MUST(over != NULL);
      from = (size_t)(over - text) + 2;
    } else if (text[from] == '/' && text[from + 1] == '/') {
      from += strcspn(text + from, "\n");
    } else {
      text[to++] = text[from++];
    }
  }
  text[to] = 0;
  return text;
}

/* Those without a place in the table: shutdown ends everything, so other tests have it. */
static int in_table(const char *name) {
  if (strcmp(name, "kabi_shutdown") == 0) return 1;
  for (size_t i = 0; i < calls_count; i++)
    if (strcmp(calls[i].name, name) == 0) return 1;
  return 0;
}

TEST(the_table_names_every_function_of_the_header) {
  size_t functions = 0;
  for (const char *at = header_without_comments(); (at = strstr(at, "kabi_")) != NULL;) {
    char name[128];
    size_t length = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    at += length;
    if (*at != '(') continue;
    functions++;
    if (!CHECK(in_table(name))) note("%s is not tested", name);
  }
  CHECK_EQ(functions, calls_count + 1);
}

/* ---- handles ---- */

static void each_with(void *handle, kabi_status_t want, kind_t but, const char *what) {
  for (size_t i = 0; i < calls_count; i++) {
    const call_t *call = &calls[i];
    if (call->kind == KIND_NONE || call->kind == but) continue;
    int as_it_should = call->role == FREES ? call->run(handle, 0, NULL) == 0 : GIVES(want, call->run(handle, 0, ERR));
    if (call->role != FREES) CHECK_EQ(want, call->run(handle, 0, NULL)); /* no error wanted */
    if (!as_it_should) note("%s with %s", call->name, what);
  }
}

TEST(null_and_garbage_handles) {
  int here = 0;
  static const uintptr_t garbage[] = {1, 2, 8, 0xff, 4096, 0xdeadbeef, 0x8000000000000000, UINTPTR_MAX, UINTPTR_MAX - 1, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa,
                                      0x0001000100010001, 0x00000001ffffffff, 0xffffffff00000000};
  each_with(NULL, KABI_STATUS_HANDLE, KIND_NONE, "NULL");
  each_with(&here, KABI_STATUS_HANDLE, KIND_NONE, "an address");
  for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
    char what[32];
    snprintf(what, sizeof what, "%#" PRIxPTR, garbage[i]);
    each_with((void *)garbage[i], KABI_STATUS_HANDLE, KIND_NONE, what);
  }
}

/* Each single bit of a living handle flipped is not a living handle. */
TEST(nearly_right_handles) {
  kabi_config_t *config = new_config(NULL, NULL);
  for (int bit = 0; bit < 64; bit++) {
    kabi_config_t *near = (kabi_config_t *)((uintptr_t)config ^ (uintptr_t)1 << bit);
    kabi_status_t status = kabi_config_set(near, "client.id", "x", ERR);
    if (!CHECK(status == KABI_STATUS_HANDLE || status == KABI_STATUS_WRONG_TYPE || status == KABI_STATUS_FORKED)) note("bit %d: %s", bit, kabi_error_name(status));
    kabi_config_free(near);
    OK(kabi_config_set(config, "client.id", "x", ERR));
  }
  kabi_config_free(config);
}

TEST(handles_of_another_type) {
  world_t world = new_world();
  for (int kind = KIND_CONFIG; kind < KINDS; kind++) each_with(world.handle[kind], KABI_STATUS_WRONG_TYPE, (kind_t)kind, kind_name((kind_t)kind));
  /* Freed as something else they live on. */
  OK(kabi_config_set((kabi_config_t *)world.handle[KIND_CONFIG], "client.id", "x", ERR));
  OK(kabi_producer_wake((kabi_producer_t *)world.handle[KIND_PRODUCER], ERR));
  OK(kabi_consumer_wake((kabi_consumer_t *)world.handle[KIND_CONSUMER], ERR));
  OK(kabi_cluster_latency((kabi_cluster_t *)world.handle[KIND_CLUSTER], KABI_BROKER_ALL, 0, ERR));
  size_t count;
  OK(kabi_batch_headers((kabi_batch_t *)world.handle[KIND_BATCH], 0, NULL, 0, &count, ERR));
  end_world(&world);
}

TEST(stale_handles) {
  world_t world = new_world(), before = world;
  kabi_config_t *more[64];
  end_world(&world);
  for (int kind = KIND_CONFIG; kind < KINDS; kind++)
    for (size_t i = 0; i < calls_count; i++)
      if (calls[i].kind == (kind_t)kind && calls[i].role != FREES && !GIVES(KABI_STATUS_HANDLE, calls[i].run(before.handle[kind], 0, ERR))) note("%s", calls[i].name);
  /* New objects may take the old places, not the old handles. */
  for (int i = 0; i < 64; i++) {
    more[i] = new_config(NULL, NULL);
    for (int kind = KIND_CONFIG; kind < KINDS; kind++) {
      CHECK((void *)more[i] != before.handle[kind]);
      free_handle((kind_t)kind, before.handle[kind]); /* again and again */
    }
  }
  GIVES(KABI_STATUS_HANDLE, kabi_config_set((kabi_config_t *)before.handle[KIND_CONFIG], "client.id", "x", ERR));
  for (int i = 0; i < 64; i++) {
    OK(kabi_config_set(more[i], "client.id", "x", ERR));
    kabi_config_free(more[i]);
  }
}

/* A slot used over and over never brings an old handle back. */
TEST(handles_never_come_back) {
  int rounds = scaled(200000, 2000);
  kabi_config_t *first = new_config(NULL, NULL);
  kabi_config_free(first);
  for (int i = 0; i < rounds; i++) {
    kabi_config_t *config = NULL;
    MUST(kabi_config_new(&config, NULL) == 0);
    MUST(config != first);
    kabi_config_free(config);
  }
  GIVES(KABI_STATUS_HANDLE, kabi_config_set(first, "client.id", "x", ERR));
}

static void check_closed(world_t *world, kind_t kind) {
  for (size_t i = 0; i < calls_count; i++) {
    const call_t *call = &calls[i];
    if (call->kind != kind || call->role == FREES) continue;
    kabi_status_t want = call->role == CLOSES || call->role == STAYS ? KABI_STATUS_OK : KABI_STATUS_CLOSED;
    kabi_status_t status = call->run(world->handle[kind], 0, ERR);
    for (int64_t until = now_ms() + patience(5000); call->role == DRAINS && status == 0 && now_ms() < until; sched_yield())
      status = call->run(world->handle[kind], 0, ERR); /* the last events */
    if (!GIVES(want, status)) note("%s on a closed %s", call->name, kind_name(kind));
  }
}

TEST(closed_producers) {
  world_t world = new_world();
  MUST_OK(kabi_producer_close((kabi_producer_t *)world.handle[KIND_PRODUCER], patience(10000), NULL, ERR));
  check_closed(&world, KIND_PRODUCER);
  end_world(&world);
}

TEST(closed_consumers) {
  world_t world = new_world();
  MUST_OK(kabi_consumer_close((kabi_consumer_t *)world.handle[KIND_CONSUMER], patience(10000), ERR));
  check_closed(&world, KIND_CONSUMER);
  size_t count;
  OK(kabi_batch_headers((kabi_batch_t *)world.handle[KIND_BATCH], 0, NULL, 0, &count, ERR)); /* batches live on */
  end_world(&world);
}

TEST(closed_admins) {
  world_t world = new_world();
  MUST_OK(kabi_admin_close((kabi_admin_t *)world.handle[KIND_ADMIN], patience(10000), ERR));
  check_closed(&world, KIND_ADMIN);
  end_world(&world);
}

/* ---- pointers and numbers ---- */

TEST(required_pointers_that_are_null) {
  world_t world = new_world();
  for (size_t i = 0; i < calls_count; i++) {
    const call_t *call = &calls[i];
    for (int null = 1; null <= call->required; null++) {
      if (!GIVES(KABI_STATUS_ARGUMENT, call->run(world.handle[call->kind], null, ERR))) note("%s with required pointer %d NULL", call->name, null);
      CHECK_EQ(KABI_STATUS_ARGUMENT, call->run(world.handle[call->kind], null, NULL));
    }
  }
  end_world(&world);
}

/* The table's good calls are good, or the tests above prove nothing. */
TEST(good_calls_succeed) {
  world_t world = new_world();
  for (size_t i = 0; i < calls_count; i++) {
    if (calls[i].role == FREES) continue;
    if (!GIVES(calls[i].good, calls[i].run(world.handle[calls[i].kind], 0, ERR))) note("%s", calls[i].name);
  }
  end_world(&world);
}

TEST(free_of_null) {
  for (int kind = KIND_CONFIG; kind < KINDS; kind++) free_handle((kind_t)kind, NULL);
}

TEST(timeouts_below_forever_are_refused) {
  static const int32_t bad[] = {-2, -1000, INT32_MIN};
  world_t world = new_world();
  kabi_producer_t *producer = (kabi_producer_t *)world.handle[KIND_PRODUCER];
  kabi_consumer_t *consumer = (kabi_consumer_t *)world.handle[KIND_CONSUMER];
  kabi_message_t message = message_of(topic_of(producer, "calls"), 0, NULL, "x");
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, "calls"), 0, 1);
  kabi_record_t record;
  memset(&record, 0, sizeof record);
  record.topic = one.topic;
  kabi_event_t event;
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  static union { uint64_t align; uint8_t bytes[256]; } buffer;
  size_t n;
  int64_t low, high;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    GIVES(KABI_STATUS_ARGUMENT, kabi_shutdown(bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send(producer, &message, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_many(producer, &message, 1, bad[i], NULL, &n, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_send_packed(producer, buffer.bytes, 0, 0, -1, -1, bad[i], NULL, &n, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_flush(producer, bad[i], NULL, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_poll(producer, bad[i], &n, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_drain(producer, bad[i], &event, 1, &n, NULL, 0, NULL, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_producer_close(producer, bad[i], NULL, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll(consumer, 1, bad[i], &batch, &info, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_poll_packed(consumer, 1, bad[i], buffer.bytes, sizeof buffer.bytes, &info, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit(consumer, &one, 1, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_commit_record(consumer, &record, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_seek(consumer, &one, 1, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_committed(consumer, &one, 1, bad[i], NULL, 0, &n, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_offsets_for_times(consumer, &one, 1, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_seek_to_times(consumer, &one, 1, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_watermarks(consumer, one.topic, 0, bad[i], &low, &high, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_lag(consumer, &one, &low, 1, bad[i], ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_serve(consumer, bad[i], &n, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_drain(consumer, bad[i], &event, 1, &n, NULL, 0, NULL, ERR));
    GIVES(KABI_STATUS_ARGUMENT, kabi_consumer_close(consumer, bad[i], ERR));
  }
  OK(kabi_producer_wake(producer, ERR)); /* nothing of it closed anything */
  OK(kabi_consumer_wake(consumer, ERR));
  end_world(&world);
}

/* ---- races ---- */

/* Threads that use, close and free one producer as they like: statuses, never a crash. */
static void *use_at_random(void *argument) {
  world_t *world = (world_t *)argument;
  unsigned seed = (unsigned)(uintptr_t)pthread_self() | 1;
  for (int i = 0; i < 400; i++) {
    seed = seed * 1664525u + 1013904223u;
    const call_t *call = &calls[(seed >> 8) % calls_count];
    if (call->kind == KIND_NONE || call->kind == KIND_CLUSTER) continue;
    if (i < 300 && (call->role == CLOSES || call->role == FREES)) continue; /* closes and frees come late */
    if (strcmp(call->name, "kabi_producer_new") == 0 || strcmp(call->name, "kabi_consumer_new") == 0) continue; /* slow */
    call->run(world->handle[call->kind], 0, NULL);
  }
  return NULL;
}

TEST(threads_use_close_and_free_the_same_handles) {
  int rounds = scaled(2, 1);
  calls_timeout = 5; /* most of them get in each other's way */
  for (int round = 0; round < rounds; round++) {
    pthread_t threads[4];
    world_t world = new_world();
    for (int i = 0; i < 4; i++) MUST(pthread_create(&threads[i], NULL, use_at_random, &world) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    end_world(&world);
  }
}
