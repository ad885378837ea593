/* Guests keep their house: the caller's floating-point environment, signal mask and errno are as before after every call, clients work
   whatever these are, and no signal of the program's runs on a thread of ours. */
#include "calls.h"

#include <dirent.h>
#include <fenv.h>
#include <sys/syscall.h>
#include <sys/time.h>

typedef struct house_t { int traps, rounding, flags, error; sigset_t mask; } house_t;

static house_t look(void) {
  house_t house;
  house.error = errno;
  house.traps = fegetexcept();
  house.rounding = fegetround();
  house.flags = fetestexcept(FE_ALL_EXCEPT);
  pthread_sigmask(SIG_SETMASK, NULL, &house.mask);
  return house;
}

static int same_mask(const sigset_t *one, const sigset_t *two) {
  for (int i = 1; i < SIGRTMAX; i++)
    if (sigismember(one, i) != sigismember(two, i)) return 0;
  return 1;
}

static void check_house(const house_t *before, const char *call) {
  house_t after = look();
  int kept = after.traps == before->traps && after.rounding == before->rounding && after.flags == before->flags && after.error == before->error &&
             same_mask(&after.mask, &before->mask);
  if (!CHECK(kept))
    note("after %s: traps %#x (%#x before), rounding %#x (%#x), flags %#x (%#x), errno %d (%d)", call, after.traps, before->traps, after.rounding,
         before->rounding, after.flags, before->flags, after.error, before->error);
}

/* Every function of the table, well called, then badly: the house is looked at after each. Ends with frees of all. */
static void walk(world_t *world) {
  for (size_t i = 0; i < calls_count; i++) {
    const call_t *call = &calls[i];
    void *handle = world->handle[call->kind];
    kabi_error_t error = KABI_ERROR_INIT;
    for (int null = call->required; null >= 0; null--) { /* the good call last */
      errno = 4242;
      house_t before = look();
      kabi_status_t status = call->run(handle, null, &error);
      check_house(&before, call->name);
      if (null == 0 && !CHECK_EQ(call->good, status)) note("%s: %s", call->name, error.message);
    }
    if (call->kind == KIND_NONE || call->role == FREES) continue;
    errno = 4243;
    house_t before = look();
    call->run((void *)(uintptr_t)1, 0, &error);
    check_house(&before, call->name);
  }
}

TEST(unmasked_traps) {
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_ALL_EXCEPT);
  if (fegetexcept() != FE_ALL_EXCEPT) harness_skip("no floating-point traps here (valgrind has none)");
  world_t world = new_world(); /* clients made and used with every trap unmasked */
  walk(&world);
  errno = 4244;
  house_t before = look();
  OK(kabi_shutdown(patience(20000), NULL));
  check_house(&before, "kabi_shutdown");
  fedisableexcept(FE_ALL_EXCEPT);
}

/* Statistics and their average computations, over some intervals. */
TEST(unmasked_traps_while_working) {
  static kabi_event_t reports[2000];
  feclearexcept(FE_ALL_EXCEPT);
  feenableexcept(FE_ALL_EXCEPT);
  if (fegetexcept() != FE_ALL_EXCEPT) harness_skip("no floating-point traps here (valgrind has none)");
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "house", 2);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "statistics.interval.ms", "10", "compression.type", "zstd", NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "house", "statistics.interval.ms", "10", NULL);
  int32_t topic = topic_of(producer, "house");
  seen_t seen[1000];
  subscribe(consumer, "house");
  for (uint64_t i = 0; i < 1000; i++) {
    kabi_message_t message = message_of(topic, KABI_PARTITION_ANY, "key", "12");
    message.token = i;
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
  MUST(drain_reports(producer, reports, 1000) == 1000);
  MUST(take(consumer, seen, 1000) == 1000);
  OK(kabi_consumer_commit(consumer, NULL, 0, patience(10000), ERR));
  CHECK_EQ(FE_ALL_EXCEPT, fegetexcept());
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
  CHECK_EQ(FE_ALL_EXCEPT, fegetexcept());
  fedisableexcept(FE_ALL_EXCEPT);
}

TEST(another_rounding_and_raised_flags) {
  world_t world = new_world();
  fesetround(FE_TOWARDZERO);
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO | FE_OVERFLOW);
  walk(&world);
  CHECK_EQ(FE_TOWARDZERO, fegetround());
  feclearexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
}

TEST(the_signal_mask_is_kept) {
  sigset_t mask;
  world_t world = new_world();
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigaddset(&mask, SIGTERM);
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  walk(&world);
}

/* ---- signals ---- */

static int known[4]; /* threads that may run handlers */
static int handled, handled_by_strangers;

static int thread_id(void) { return (int)syscall(SYS_gettid); }

static void on_signal(int number) {
  int error = errno, self = thread_id(), mine = 0;
  (void)number;
  for (int i = 0; i < 4; i++) mine |= known[i] == self;
  __atomic_add_fetch(mine ? &handled : &handled_by_strangers, 1, __ATOMIC_RELAXED);
  errno = error;
}

static void set_handler(int number) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal; /* without SA_RESTART: what is interrupted, is interrupted */
  sigaction(number, &action, NULL);
}

typedef struct storm_t { pthread_t target; int over; } storm_t;

static void *storm(void *argument) {
  storm_t *raging = (storm_t *)argument;
  /* valgrind takes so long over one that they would pile up on the stack */
  struct timespec pause = {0, run_mode() == MODE_VALGRIND ? 5000000 : 200000};
  while (!__atomic_load_n(&raging->over, __ATOMIC_ACQUIRE)) {
    pthread_kill(raging->target, SIGUSR1);
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static pthread_t start_storm(storm_t *raging) {
  pthread_t thread;
  sigset_t all, old;
  struct itimerval every = {{0, 1000}, {0, 1000}};
  known[0] = thread_id();
  set_handler(SIGUSR1);
  set_handler(SIGALRM);
  raging->target = pthread_self();
  raging->over = 0;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old); /* the storm's own thread takes none */
  MUST(pthread_create(&thread, NULL, storm, raging) == 0);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (run_mode() == MODE_VALGRIND) every.it_interval.tv_usec = every.it_value.tv_usec = 10000;
  setitimer(ITIMER_REAL, &every, NULL);
  return thread;
}

static void end_storm(storm_t *raging, pthread_t thread) {
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  __atomic_store_n(&raging->over, 1, __ATOMIC_RELEASE);
  pthread_join(thread, NULL);
  CHECK(handled > 10);
  CHECK_EQ(0, handled_by_strangers);
  note("%d signals", handled);
}

TEST(a_signal_storm_changes_nothing) {
  storm_t raging;
  pthread_t thread = start_storm(&raging);
  world_t world = new_world();
  walk(&world);
  OK(kabi_shutdown(patience(20000), ERR));
  end_storm(&raging, thread);
}

TEST(a_signal_storm_while_working) {
  static kabi_event_t reports[20000];
  static seen_t seen[20000];
  storm_t raging;
  int count = scaled(20000, 500);
  pthread_t thread = start_storm(&raging);
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "storm", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "storm", NULL);
  int32_t topic = topic_of(producer, "storm");
  subscribe(consumer, "storm");
  for (int i = 0; i < count; i++) {
    char value[16];
    snprintf(value, sizeof value, "%d", i);
    kabi_message_t message = message_of(topic, 0, NULL, value);
    message.token = (uint64_t)i;
    MUST_OK(kabi_producer_send(producer, &message, patience(20000), ERR));
  }
  OK(kabi_producer_flush(producer, patience(20000), NULL, ERR));
  CHECK_EQ(count, drain_reports(producer, reports, (size_t)count));
  check_tokens(reports, (size_t)count, 0, 0);
  CHECK_EQ(count, take(consumer, seen, (size_t)count));
  for (int i = 0; i < count; i++) CHECK_EQ(i, seen[i].number);
  /* A wait lasts its time, however often a signal comes in between. */
  int64_t begin = now_ms();
  poll_empty(consumer, 300);
  CHECK(now_ms() - begin >= 290);
  begin = now_ms();
  size_t n = 0;
  OK(kabi_producer_poll(producer, 300, &n, ERR));
  CHECK(n > 0 || now_ms() - begin >= 290);
  close_consumer(consumer);
  close_producer(producer);
  kabi_cluster_free(cluster);
  end_storm(&raging, thread);
}

/* With a signal blocked in all the program's threads it stays pending: no thread of ours takes it. */
TEST(threads_of_ours_take_no_signal) {
  sigset_t mask, pending;
  world_t world = new_world();
  set_handler(SIGUSR1);
  set_handler(SIGALRM);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigaddset(&mask, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  kill(getpid(), SIGUSR1);
  kill(getpid(), SIGALRM);
  fill((kabi_producer_t *)world.handle[KIND_PRODUCER], "calls", 0, 0, 100); /* threads of ours at work */
  sigpending(&pending);
  CHECK(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGALRM));
  CHECK(handled == 0 && handled_by_strangers == 0);
  known[0] = thread_id();
  pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
  CHECK_EQ(2, handled);
  end_world(&world);
}

/* The same asked of the system: every thread but this one blocks every signal there is. */
TEST(threads_of_ours_block_every_signal) {
  if (run_mode() != MODE_PLAIN) harness_skip("the tool has threads and masks of its own");
  world_t world = new_world();
  const uint64_t unblockable = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1) | 3ull << 31; /* 32 and 33 are glibc's */
  int threads = 0;
  DIR *tasks = opendir("/proc/self/task");
  MUST(tasks != NULL);
  for (struct dirent *entry; (entry = readdir(tasks)) != NULL;) {
    char path[300], line[256], name[64] = "";
    if (entry->d_name[0] == '.' || atoi(entry->d_name) == thread_id()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
    FILE *file = fopen(path, "r");
    if (file == NULL) continue; /* ended meanwhile */
    while (fgets(line, sizeof line, file) != NULL) {
      unsigned long long blocked;
      if (strncmp(line, "Name:", 5) == 0) snprintf(name, sizeof name, "%.60s", line + 6);
      if (sscanf(line, "SigBlk: %llx", &blocked) != 1) continue;
      threads++;
      if (!CHECK((blocked | unblockable) == UINT64_MAX)) note("a thread blocks %llx only: %s", blocked, name);
    }
    fclose(file);
  }
  closedir(tasks);
  CHECK(threads >= 4);
  end_world(&world);
}
