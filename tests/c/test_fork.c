/* After a fork: the child's handles from before are refused, its own work; the parent is unharmed. */
#include "calls.h"

static int bad; /* what a child found wrong */
#define EXPECT(expression) (bad |= !CHECK(expression))

static void in_child(void (*body)(world_t *), world_t *world) {
  fflush(stdout);
  int64_t begin = now_ms();
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    body(world);
    leave_child(bad);
  }
  CHECK_EQ(0, wait_child(child, 30000));
  CHECK_WITHIN(25000, begin);
}

static void check_parent(world_t *world) {
  kabi_producer_t *producer = (kabi_producer_t *)world->handle[KIND_PRODUCER];
  kabi_consumer_t *consumer = (kabi_consumer_t *)world->handle[KIND_CONSUMER];
  seen_t seen;
  fill(producer, "calls", 0, 100, 1);
  CHECK_EQ(1, take(consumer, &seen, 1));
  OK(kabi_cluster_latency((kabi_cluster_t *)world->handle[KIND_CLUSTER], KABI_BROKER_ALL, 0, ERR));
}

static void handles_of_before(world_t *world) {
  for (size_t i = 0; i < calls_count; i++) {
    const call_t *call = &calls[i];
    if (call->kind == KIND_NONE) continue;
    kabi_status_t want = call->role == FREES ? KABI_STATUS_OK : KABI_STATUS_FORKED;
    int64_t begin = now_ms();
    kabi_status_t status = call->run(world->handle[call->kind], 0, ERR);
    EXPECT(status == want && (call->role == FREES || last_error()->code == want));
    if (status != want) note("%s gave %s", call->name, kabi_error_name(status));
    EXPECT(now_ms() - begin < patience(2000)); /* at once */
  }
}

static void nothing(world_t *world) { (void)world; }

static void only_shutdown(world_t *world) {
  (void)world;
  EXPECT(kabi_shutdown(patience(5000), NULL) == 0);
}

static char servers[256];

static void clients_of_its_own(world_t *world) {
  handles_of_before(world);
  kabi_producer_t *producer = new_producer(servers, NULL);
  fill(producer, "calls", 0, 200, 10);
  close_producer(producer);
  kabi_consumer_t *consumer = new_consumer(servers, "child", NULL);
  seen_t seen[5];
  assign(consumer, "calls", 0, KABI_OFFSET_BEGINNING);
  EXPECT(take(consumer, seen, 5) == 5);
  close_consumer(consumer);
  EXPECT(kabi_shutdown(patience(20000), NULL) == 0);
}

TEST(handles_from_before_are_refused_in_the_child) {
  needs_forks_beside_threads();
  world_t world = new_world();
  in_child(handles_of_before, &world);
  check_parent(&world);
  end_world(&world);
}

TEST(a_child_that_does_nothing_ends) {
  needs_forks_beside_threads();
  world_t world = new_world();
  in_child(nothing, &world);
  in_child(only_shutdown, &world);
  check_parent(&world);
  end_world(&world);
}

TEST(a_child_makes_clients_of_its_own) {
  needs_forks_beside_threads();
  world_t world = new_world();
  snprintf(servers, sizeof servers, "%s", bootstrap((kabi_cluster_t *)world.handle[KIND_CLUSTER]));
  in_child(clients_of_its_own, &world);
  check_parent(&world);
  end_world(&world);
}

static void a_grandchild(world_t *world) {
  kabi_config_t *config = new_config(NULL, NULL);
  pid_t child = fork();
  if (child == 0) {
    /* Two forks on, handles of both generations are refused. */
    int right = kabi_config_set(config, "client.id", "x", NULL) == KABI_STATUS_FORKED &&
                kabi_producer_wake((kabi_producer_t *)world->handle[KIND_PRODUCER], NULL) == KABI_STATUS_FORKED;
    kabi_config_t *own = NULL;
    right = right && kabi_config_new(&own, NULL) == 0 && kabi_config_set(own, "client.id", "x", NULL) == 0;
    kabi_config_free(own);
    bad = !right;
    leave_child(bad);
  }
  EXPECT(wait_child(child, 10000) == 0);
  EXPECT(kabi_config_set(config, "client.id", "x", NULL) == 0);
  kabi_config_free(config);
}

TEST(a_child_of_a_child) {
  needs_forks_beside_threads();
  world_t world = new_world();
  in_child(a_grandchild, &world);
  check_parent(&world);
  end_world(&world);
}

/* Forks at any moment: whatever lock another thread held, the child gets on. */
typedef struct worker_t { world_t *world; int over; } worker_t;

static void *work(void *argument) {
  worker_t *worker = (worker_t *)argument;
  kabi_producer_t *producer = (kabi_producer_t *)worker->world->handle[KIND_PRODUCER];
  for (int i = 0; !__atomic_load_n(&worker->over, __ATOMIC_ACQUIRE); i++) {
    fill(producer, "calls", 0, i, 5);
    topic_of(producer, i % 2 != 0 ? "calls" : "another");
    kabi_config_t *config = new_config(NOWHERE, "client.id", "busy", NULL);
    kabi_config_free(config);
  }
  return NULL;
}

static void makes_and_frees(world_t *world) {
  kabi_config_t *config = new_config(NOWHERE, "client.id", "child", NULL);
  kabi_producer_t *producer = NULL;
  EXPECT(kabi_producer_new(config, &producer, NULL) == 0);
  EXPECT(kabi_producer_wake(producer, NULL) == 0);
  EXPECT(kabi_producer_wake((kabi_producer_t *)world->handle[KIND_PRODUCER], NULL) == KABI_STATUS_FORKED);
  kabi_producer_free(producer);
  kabi_config_free(config);
  kabi_producer_free((kabi_producer_t *)world->handle[KIND_PRODUCER]);
}

TEST(forks_in_the_middle_of_work) {
  needs_forks_beside_threads();
  world_t world = new_world();
  worker_t worker = {&world, 0};
  pthread_t thread;
  int forks = scaled(40, 3);
  MUST(pthread_create(&thread, NULL, work, &worker) == 0);
  for (int i = 0; i < forks; i++) in_child(makes_and_frees, &world);
  __atomic_store_n(&worker.over, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  check_parent(&world);
  end_world(&world);
}

static int finalized;
static void finalize(void *user) {
  (void)user;
  finalized++;
}
static int32_t ignore(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)events, (void)count, (void)bytes, (void)user;
  return 0;
}

static kabi_config_t *config_of_parent;
static void frees_what_is_not_its_own(world_t *world) {
  (void)world;
  kabi_config_free(config_of_parent);
  EXPECT(finalized == 0); /* the parent still holds it */
}

TEST(free_in_the_child_does_nothing) {
  needs_forks_beside_threads();
  world_t world = new_world();
  config_of_parent = new_config(NULL, NULL);
  MUST_OK(kabi_config_handler(config_of_parent, KABI_EVENT_REPORT, ignore, NULL, finalize, ERR));
  in_child(frees_what_is_not_its_own, &world);
  OK(kabi_config_set(config_of_parent, "client.id", "x", ERR));
  CHECK_EQ(0, finalized);
  kabi_config_free(config_of_parent);
  CHECK_EQ(1, finalized);
  end_world(&world);
}
