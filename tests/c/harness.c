/* The runner and the helpers of harness.h.
   usage: test_X [-n] [filter]     tests whose name contains the filter; -n: in this process, for a debugger
          test_X --role NAME ...   see start_role */
#include "harness.h"

#include <sys/prctl.h>

#define TESTS_MAX 256
#define TEST_MS 60000

static struct { const char *name; test_body_t body; } tests[TESTS_MAX];
static int tests_count;
static struct { const char *name; role_body_t body; } roles[16];
static int roles_count;
static const char *self; /* this binary, for start_role */
static const char *current = "";
static int failures;

#define SKIPPED 77

void harness_register(const char *name, test_body_t body) {
  if (tests_count == TESTS_MAX) abort();
  tests[tests_count].name = name;
  tests[tests_count++].body = body;
}

void harness_role(const char *name, role_body_t body) {
  if (roles_count == 16) abort();
  roles[roles_count].name = name;
  roles[roles_count++].body = body;
}

/* ---- checks ---- */

#define SHOWN_MAX 20 /* of a failure in a loop the first tell enough */

/* Counts a failure; true if it is to be shown. */
static int failed(const char *file, int line) {
  int number = __atomic_add_fetch(&failures, 1, __ATOMIC_SEQ_CST);
  if (number == SHOWN_MAX + 1) printf("# %s: more failures are not shown\n", current);
  if (number > SHOWN_MAX) return 0;
  printf("# %s: %s:%d: ", current, file, line);
  return 1;
}

int harness_check(const char *file, int line, const char *expression, int holds) {
  if (holds) return 1;
  if (failed(file, line)) printf("not so: %s\n", expression);
  fflush(stdout);
  return 0;
}

int harness_equal(const char *file, int line, const char *expression, int64_t want, int64_t got) {
  if (want == got) return 1;
  if (failed(file, line)) printf("%s is %" PRId64 ", not %" PRId64 "\n", expression, got, want);
  fflush(stdout);
  return 0;
}

int harness_text(const char *file, int line, const char *expression, const char *want, const char *got) {
  if (got != NULL && strcmp(want, got) == 0) return 1;
  if (failed(file, line)) printf("%s is \"%s\", not \"%s\"\n", expression, got ? got : "(NULL)", want);
  fflush(stdout);
  return 0;
}

static __thread kabi_error_t thread_error;
static __thread int error_is_fresh; /* given to a call that has not been checked yet */

kabi_error_t *harness_error(void) {
  memset(&thread_error, 0, sizeof thread_error);
  thread_error.size = sizeof thread_error;
  error_is_fresh = 1;
  return &thread_error;
}

const kabi_error_t *last_error(void) { return &thread_error; }

int is_utf8(const char *text, size_t length) {
  const unsigned char *at = (const unsigned char *)text, *end = at + length;
  while (at < end) {
    int more = *at < 0x80 ? 0 : *at >= 0xc2 && *at < 0xe0 ? 1 : (*at & 0xf0) == 0xe0 ? 2 : *at >= 0xf0 && *at < 0xf5 ? 3 : -1;
    unsigned char lead = *at++;
    if (more < 0 || end - at < more) return 0;
    if (more > 0) {
      unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80; /* overlong forms */
      unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf; /* surrogates, beyond 10ffff */
      if (*at < low || *at > high) return 0;
    }
    for (; more > 0; more--)
      if ((*at++ & 0xc0) != 0x80) return 0;
  }
  return 1;
}

/* What must hold for every error that a call has filled in. */
static const char *fault_of_error(kabi_status_t status) {
  if (thread_error.size != sizeof thread_error) return "its size was changed";
  if (thread_error.code != status) return "its code is not the status";
  if (memchr(thread_error.message, 0, sizeof thread_error.message) == NULL) return "its message has no end";
  if (!is_utf8(thread_error.message, strlen(thread_error.message))) return "its message is not UTF-8";
  if (status != 0 && thread_error.message[0] == 0) return "it has no message";
  return NULL;
}

int harness_status(const char *file, int line, const char *expression, kabi_status_t want, kabi_status_t got) {
  const char *fault = NULL;
  if (error_is_fresh) fault = fault_of_error(got);
  if (want == got && fault == NULL) {
    error_is_fresh = 0;
    return 1;
  }
  int shown = failed(file, line), fresh = error_is_fresh;
  error_is_fresh = 0;
  if (!shown) return 0;
  if (want != got)
    printf("%s gave %s (%d), not %s (%d)", expression, kabi_error_name(got), got, kabi_error_name(want), want);
  else
    printf("%s gave %s with a bad error: %s", expression, kabi_error_name(got), fault);
  if (fresh) printf("; error: code %d, \"%.*s\"", thread_error.code, KABI_ERROR_MESSAGE_SIZE - 1, thread_error.message);
  printf("\n");
  fflush(stdout);
  return 0;
}

void harness_leave(void) {
  printf("# %s: left here\n", current);
  fflush(stdout);
  _exit(1);
}

void harness_skip(const char *why) {
  printf("# %s: skipped: %s\n", current, why);
  fflush(stdout);
  _exit(failures ? 1 : SKIPPED);
}

void note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("# %s: ", current);
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  fflush(stdout);
}

/* ---- time and size ---- */

int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

run_mode_t run_mode(void) {
  const char *mode = getenv("KABI_TEST_MODE");
  if (mode != NULL && strcmp(mode, "asan") == 0) return MODE_ASAN;
  if (mode != NULL && strcmp(mode, "valgrind") == 0) return MODE_VALGRIND;
  return MODE_PLAIN;
}

int patience(int ms) { return run_mode() == MODE_VALGRIND ? ms * 5 : run_mode() == MODE_ASAN ? ms * 2 : ms; }

int scaled(int full, int least) {
  int size = run_mode() == MODE_VALGRIND ? full / 20 : run_mode() == MODE_ASAN ? full / 2 : full;
  return size < least ? least : size;
}

void unseen(int ms) {
  struct timespec left = {ms / 1000, (long)(ms % 1000) * 1000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

int readable(int fd, int ms) {
  int64_t end = now_ms() + ms;
  for (;;) {
    struct pollfd wait = {fd, POLLIN, 0};
    int64_t left = end - now_ms();
    int got = poll(&wait, 1, left > 0 ? (int)left : 0);
    if (got >= 0 || errno != EINTR) return got > 0 && (wait.revents & POLLIN) != 0;
  }
}

/* ---- the runner ---- */

/* Who hangs is asked for its stacks first, if KABI_TEST_STACKS is set and there is a debugger: those inside of kafkabi or of the test. */
static void show_stacks(pid_t child) {
  char command[512];
  if (getenv("KABI_TEST_STACKS") == NULL || run_mode() == MODE_VALGRIND) return;
  snprintf(command, sizeof command,
           "timeout 30 gdb -p %d -batch -ex 'thread apply all bt 40' 2>/dev/null | awk 'BEGIN{RS=\"\"; FS=\"\\n\"} /src\\/(client|abi)|test_|"
           "rdk:/ {"
           "for (i = 1; i <= NF; i++) if ($i !~ /library\\/|futex|pthread_cond/) print \"#   \" substr($i, 1, 150)}'",
           (int)child);
  if (system(command) != 0) printf("#   (no stacks)\n");
}

/* A child's last words: all clients gone, so that a leak checker sees true leaks only. */
static int run_body(int index) {
  tests[index].body();
  if (!OK(kabi_shutdown(patience(30000), ERR))) show_stacks(getpid());
  fflush(stdout);
  return failures ? 1 : 0;
}

/* SIGCHLD is blocked in the runner: waits for it with a bound, without polling. */
static int wait_bounded(pid_t child, int ms, int *status) {
  sigset_t set;
  int64_t end = now_ms() + ms;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (;;) {
    if (waitpid(child, status, WNOHANG) == child) return 1;
    int64_t left = end - now_ms();
    if (left <= 0) return 0;
    struct timespec wait = {left / 1000, (long)(left % 1000) * 1000000L};
    sigtimedwait(&set, NULL, &wait);
  }
}

static int run_test(int index) {
  int64_t start = now_ms();
  int status = 0;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    sigset_t none;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    exit(run_body(index));
  }
  int ended = wait_bounded(child, patience(TEST_MS), &status);
  if (!ended) {
    show_stacks(child);
    kill(-child, SIGKILL);
    waitpid(child, &status, 0);
  }
  kill(-child, SIGKILL); /* children that a failed test has left */
  const char *seconds = "";
  char text[48];
  snprintf(text, sizeof text, " # %.1f s", (double)(now_ms() - start) / 1000.0);
  if (now_ms() - start > 2000) seconds = text;
  if (ended && WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == SKIPPED)) {
    printf("ok %s%s%s\n", tests[index].name, seconds, WEXITSTATUS(status) == SKIPPED ? " # skipped" : "");
    return 1;
  }
  printf("not ok %s", tests[index].name);
  if (!ended) printf(" # hung\n");
  else if (WIFSIGNALED(status)) printf(" # killed by signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
  else printf(" # exit code %d%s\n", WEXITSTATUS(status), seconds);
  return 0;
}

int main(int argc, char **argv) {
  int here = 0, passed = 0, bad = 0;
  const char *filter = "";
  static char path[4096];
  self = realpath(argv[0], path) != NULL ? path : argv[0];
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 2 && strcmp(argv[1], "--role") == 0) {
    current = argv[2];
    for (int i = 0; i < roles_count; i++)
      if (strcmp(roles[i].name, argv[2]) == 0) return roles[i].body(argc - 3, argv + 3);
    return 2;
  }
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "-n") == 0) here = 1;
    else filter = argv[i];
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  if (!here) sigprocmask(SIG_BLOCK, &set, NULL);
  for (int i = 0; i < tests_count; i++) {
    if (strstr(tests[i].name, filter) == NULL) continue;
    current = tests[i].name;
    if (here) return run_body(i);
    if (run_test(i)) passed++;
    else bad++;
  }
  printf("%d passed, %d failed\n", passed, bad);
  return bad != 0;
}

/* ---- other processes ---- */

pid_t start_role(const char *name, FILE **out, ...) {
  char *arguments[16];
  int count = 0, ends[2];
  arguments[count++] = (char *)self;
  arguments[count++] = (char *)"--role";
  arguments[count++] = (char *)name;
  va_list list;
  va_start(list, out);
  while (count < 15 && (arguments[count] = va_arg(list, char *)) != NULL) count++;
  va_end(list);
  arguments[count] = NULL;
  MUST(pipe(ends) == 0);
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    execv(self, arguments);
    _exit(127);
  }
  close(ends[1]);
  *out = fdopen(ends[0], "r");
  MUST(*out != NULL);
  return child;
}

int wait_child(pid_t child, int ms) {
  int status = 0;
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  int ended = wait_bounded(child, patience(ms), &status);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (!ended) {
    CHECK(!"a child process hangs");
    show_stacks(child);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void leave_child(int code) {
  fflush(stdout);
  if (run_mode() == MODE_PLAIN) exit(code);
  execl("/bin/sh", "sh", "-c", code != 0 ? "exit 1" : "exit 0", (char *)NULL);
  _exit(1);
}

/* Its allocator takes its locks without a handler for forks (GCC 12): one that another thread held is nobody's in the child. */
void needs_forks_beside_threads(void) {
  if (run_mode() == MODE_ASAN) harness_skip("AddressSanitizer's allocator stays locked in a child whose parent's threads were using it");
}

/* ---- clients ---- */

kabi_cluster_t *new_cluster(int brokers) {
  kabi_cluster_t *cluster = NULL;
  MUST_OK(kabi_cluster_new(brokers, &cluster, ERR));
  MUST(cluster != NULL);
  return cluster;
}

const char *bootstrap(kabi_cluster_t *cluster) {
  static __thread char text[1024];
  size_t length = 0;
  MUST_OK(kabi_cluster_bootstrap(cluster, text, sizeof text, &length, ERR));
  MUST(length == strlen(text) && length > 0);
  return text;
}

void new_topic(kabi_cluster_t *cluster, const char *name, int partitions) {
  MUST_OK(kabi_cluster_topic_create(cluster, name, partitions, 1, ERR));
}

size_t requests_of(kabi_cluster_t *cluster, int32_t broker, int32_t request) {
  static kabi_request_t requests[20000];
  size_t count = 0, matching = 0;
  MUST_OK(kabi_cluster_requests(cluster, requests, 20000, &count, ERR));
  for (size_t i = 0; i < count; i++) {
    CHECK(i == 0 || requests[i].time_us >= requests[i - 1].time_us);
    CHECK(requests[i].time_us > 0 && requests[i].reserved == 0);
    if (requests[i].request == request && (broker == KABI_BROKER_ALL || requests[i].broker == broker)) matching++;
  }
  return matching;
}

void put(kabi_config_t *config, const char *name, const char *value) { MUST_OK(kabi_config_set(config, name, value, ERR)); }

static kabi_config_t *config_of(const char *servers, const char *group, int fetching, va_list pairs) {
  kabi_config_t *config = NULL;
  const char *name;
  MUST_OK(kabi_config_new(&config, ERR));
  if (servers != NULL) put(config, "bootstrap.servers", servers);
  if (group != NULL) {
    put(config, "group.id", group);
    put(config, "auto.offset.reset", "earliest");
  }
  if (fetching) put(config, "fetch.wait.max.ms", "20"); /* the embedded cluster looks for new records once, then sleeps this long */
  while ((name = va_arg(pairs, const char *)) != NULL) put(config, name, va_arg(pairs, const char *));
  return config;
}

kabi_config_t *new_config(const char *servers, ...) {
  va_list pairs;
  va_start(pairs, servers);
  kabi_config_t *config = config_of(servers, NULL, 0, pairs);
  va_end(pairs);
  return config;
}

kabi_producer_t *producer_from(kabi_config_t *config) {
  kabi_producer_t *producer = NULL;
  MUST_OK(kabi_producer_new(config, &producer, ERR));
  kabi_config_free(config);
  return producer;
}

kabi_consumer_t *consumer_from(kabi_config_t *config) {
  kabi_consumer_t *consumer = NULL;
  MUST_OK(kabi_consumer_new(config, &consumer, ERR));
  kabi_config_free(config);
  return consumer;
}

kabi_producer_t *new_producer(const char *servers, ...) {
  va_list pairs;
  va_start(pairs, servers);
  kabi_config_t *config = config_of(servers, NULL, 0, pairs);
  va_end(pairs);
  return producer_from(config);
}

kabi_consumer_t *new_consumer(const char *servers, const char *group, ...) {
  va_list pairs;
  va_start(pairs, group);
  kabi_config_t *config = config_of(servers, group, 1, pairs);
  va_end(pairs);
  return consumer_from(config);
}

int32_t topic_of(kabi_producer_t *producer, const char *name) {
  int32_t topic = -1;
  MUST_OK(kabi_producer_topic(producer, name, &topic, ERR));
  return topic;
}

int32_t consumer_topic_of(kabi_consumer_t *consumer, const char *name) {
  int32_t topic = -1;
  MUST_OK(kabi_consumer_topic(consumer, name, &topic, ERR));
  return topic;
}

void close_producer(kabi_producer_t *producer) {
  uint64_t undelivered = 99;
  OK(kabi_producer_close(producer, patience(20000), &undelivered, ERR));
  CHECK_EQ(0, undelivered);
  kabi_producer_free(producer);
}

void close_consumer(kabi_consumer_t *consumer) {
  OK(kabi_consumer_close(consumer, patience(20000), ERR));
  kabi_consumer_free(consumer);
}

/* ---- records ---- */

kabi_message_t message_of(int32_t topic, int32_t partition, const char *key, const char *value) {
  kabi_message_t message;
  memset(&message, 0, sizeof message);
  message.topic = topic;
  message.partition = partition;
  message.key = key;
  message.key_length = key != NULL ? (int64_t)strlen(key) : 0;
  message.value = value;
  message.value_length = value != NULL ? (int64_t)strlen(value) : 0;
  return message;
}

kabi_partition_t partition_of(int32_t topic, int32_t partition, int64_t offset) {
  kabi_partition_t one;
  memset(&one, 0, sizeof one);
  one.topic = topic;
  one.partition = partition;
  one.offset = offset;
  one.leader_epoch = -1;
  return one;
}

void fill(kabi_producer_t *producer, const char *topic, int32_t partition, int first, int count) {
  int32_t number = topic_of(producer, topic);
  uint64_t failed_count = 0;
  kabi_event_t events[256];
  for (int i = first; i < first + count; i++) {
    char value[16];
    snprintf(value, sizeof value, "%d", i);
    kabi_message_t message = message_of(number, partition, NULL, value);
    message.token = (uint64_t)i;
    MUST_OK(kabi_producer_send(producer, &message, patience(10000), ERR));
  }
  MUST_OK(kabi_producer_flush(producer, patience(20000), &failed_count, ERR));
  CHECK_EQ(0, failed_count);
  for (int left = count; left > 0;) {
    size_t got = drain_reports(producer, events, left < 256 ? (size_t)left : 256);
    MUST(got > 0);
    left -= (int)got;
  }
}

void fill_topic(kabi_cluster_t *cluster, const char *topic, int32_t partition, int count) {
  /* Lingering until the flush: all records in one message set, so that one poll can give them all. An idempotent producer would wait
     half a second for its producer id. */
  kabi_producer_t *producer = new_producer(bootstrap(cluster), "linger.ms", "1000", "enable.idempotence", "false", NULL);
  fill(producer, topic, partition, 0, count);
  close_producer(producer);
}

kabi_cluster_t *filled_cluster(const char *topic, int partitions, int records) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, topic, partitions);
  for (int32_t i = 0; i < partitions; i++)
    if (records > 0) fill_topic(cluster, topic, i, records);
  return cluster;
}

int64_t number_of(const kabi_record_t *record) {
  char text[24];
  if (record->value == NULL || record->value_length <= 0 || record->value_length >= (int64_t)sizeof text) return -1;
  memcpy(text, record->value, (size_t)record->value_length);
  text[record->value_length] = 0;
  char *end;
  long number = strtol(text, &end, 10);
  return *end == 0 ? number : -1;
}

size_t drain_reports(kabi_producer_t *producer, kabi_event_t *into, size_t want) {
  int64_t end = now_ms() + patience(20000);
  size_t have = 0;
  static __thread uint8_t bytes[1 << 18];
  while (have < want && now_ms() < end) {
    kabi_event_t event[256];
    size_t count = 0, used = 0, room = want - have < 256 ? want - have : 256;
    MUST_OK(kabi_producer_drain(producer, patience(1000), event, room, &count, bytes, sizeof bytes, &used, ERR));
    for (size_t i = 0; i < count; i++)
      if (event[i].kind == KABI_EVENT_REPORT) into[have++] = event[i];
  }
  return have;
}

size_t drain_rest(kabi_producer_t *producer, kabi_event_t *into, size_t capacity) {
  size_t have = 0;
  static __thread uint8_t bytes[1 << 18];
  while (have < capacity) {
    kabi_event_t event[256];
    size_t count = 0, used = 0, room = capacity - have < 256 ? capacity - have : 256;
    kabi_status_t status = kabi_producer_drain(producer, 0, event, room, &count, bytes, sizeof bytes, &used, NULL);
    if (status == KABI_STATUS_CLOSED) break; /* closed, and drained to the end */
    MUST_OK(status);
    if (count == 0) break;
    for (size_t i = 0; i < count; i++)
      if (event[i].kind == KABI_EVENT_REPORT) into[have++] = event[i];
  }
  return have;
}

void check_tokens(const kabi_event_t *reports, size_t count, uint64_t first, int32_t code) {
  unsigned char *times = (unsigned char *)calloc(count + 1, 1);
  size_t strange = 0, again = 0, other = 0;
  for (size_t i = 0; i < count; i++) {
    uint64_t at = reports[i].token - first;
    if (at >= count) strange++;
    else if (times[at]++ != 0) again++;
    if (code != ANY_CODE && reports[i].code != code && other++ == 0)
      note("token %" PRIu64 " has code %s (%d)", reports[i].token, kabi_error_name(reports[i].code), reports[i].code);
  }
  CHECK_EQ(0, strange);
  CHECK_EQ(0, again);
  CHECK_EQ(0, other);
  free(times);
}

size_t take(kabi_consumer_t *consumer, seen_t *into, size_t want) {
  int64_t end = now_ms() + patience(20000);
  size_t have = 0;
  while (have < want && now_ms() < end) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    MUST_OK(kabi_consumer_poll(consumer, want - have, patience(1000), &batch, &info, ERR));
    for (size_t i = 0; i < info.count; i++) {
      const kabi_record_t *record = &info.records[i];
      if (record->code != 0) continue;
      seen_t seen = {record->topic, record->partition, record->code, record->offset, number_of(record)};
      into[have++] = seen;
    }
    kabi_batch_free(batch);
  }
  return have;
}

void take_batch(kabi_consumer_t *consumer, size_t most, kabi_batch_t **batch, kabi_batch_info_t *info) {
  int64_t end = now_ms() + patience(20000);
  do {
    *batch = NULL;
    memset(info, 0, sizeof *info);
    MUST_OK(kabi_consumer_poll(consumer, most, patience(1000), batch, info, ERR));
  } while (info->count == 0 && now_ms() < end);
  MUST(info->count > 0 && *batch != NULL && info->records != NULL && info->number > 0);
}

void poll_empty(kabi_consumer_t *consumer, int timeout_ms) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  memset(&info, 0, sizeof info);
  OK(kabi_consumer_poll(consumer, 1, timeout_ms, &batch, &info, ERR));
  CHECK(batch == NULL);
  CHECK_EQ(0, info.count);
  CHECK_EQ(0, info.number);
}

void assign(kabi_consumer_t *consumer, const char *topic, int32_t partition, int64_t offset) {
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, topic), partition, offset);
  MUST_OK(kabi_consumer_assign(consumer, &one, 1, ERR));
}

void subscribe(kabi_consumer_t *consumer, const char *topic) { MUST_OK(kabi_consumer_subscribe(consumer, &topic, 1, ERR)); }

int64_t committed_offset(kabi_consumer_t *consumer, const char *topic, int32_t partition) {
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, topic), partition, 0);
  uint8_t bytes[64];
  size_t used = 0;
  MUST_OK(kabi_consumer_committed(consumer, &one, 1, patience(10000), bytes, sizeof bytes, &used, ERR));
  CHECK_EQ(0, one.code);
  return one.offset;
}

int64_t position_of(kabi_consumer_t *consumer, const char *topic, int32_t partition) {
  kabi_partition_t one = partition_of(consumer_topic_of(consumer, topic), partition, 0);
  MUST_OK(kabi_consumer_position(consumer, &one, 1, ERR));
  CHECK_EQ(0, one.code);
  return one.offset;
}

int64_t group_offset(kabi_cluster_t *cluster, const char *group, const char *topic, int32_t partition) {
  kabi_consumer_t *asker = new_consumer(bootstrap(cluster), group, NULL);
  int64_t offset = committed_offset(asker, topic, partition);
  close_consumer(asker);
  return offset;
}

/* ---- JSON ---- a recogniser, after RFC 8259. */

static const char *skip_blank(const char *at) {
  while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') at++;
  return at;
}

static const char *json_string(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++) {
    if ((unsigned char)*at < 0x20) return NULL; /* the end of the text too */
    if (*at != '\\') continue;
    at++;
    if (*at == 'u') {
      if (strspn(at + 1, "0123456789abcdefABCDEF") < 4) return NULL;
      at += 4;
    } else if (*at == 0 || strchr("\"\\/bfnrt", *at) == NULL) {
      return NULL;
    }
  }
  return at + 1;
}

static const char *json_number(const char *at) {
  char *end;
  if (*at != '-' && (*at < '0' || *at > '9')) return NULL;
  strtod(at, &end);
  return end;
}

static const char *json_value(const char *at);

static const char *json_items(const char *at, char last, int named) {
  at = skip_blank(at + 1);
  if (*at == last) return at + 1;
  for (;;) {
    if (named) {
      at = json_string(skip_blank(at));
      if (at == NULL || *(at = skip_blank(at)) != ':') return NULL;
      at++;
    }
    at = json_value(at);
    if (at == NULL) return NULL;
    at = skip_blank(at);
    if (*at == last) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *json_value(const char *at) {
  at = skip_blank(at);
  if (*at == '{') return json_items(at, '}', 1);
  if (*at == '[') return json_items(at, ']', 0);
  if (*at == '"') return json_string(at);
  if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  return json_number(at);
}

int is_json(const char *text) {
  const char *end = json_value(text);
  return end != NULL && *skip_blank(end) == 0;
}

int has(const char *text, const char *part) { return strstr(text, part) != NULL; }
