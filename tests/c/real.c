/* Brokers' addresses, names, topics and certificates for the real_*.c tests. */
#include "real.h"

#include "admins.h"

const char *setting(const char *variable) {
  const char *value = getenv(variable);
  if (value == NULL || *value == 0) {
    note("%s is not set: run this by scripts/test-real", variable);
    MUST(!"a broker's address is set");
  }
  return value;
}

static const char *keep(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *keep(const char *format, ...) {
  char *text = NULL;
  va_list list;
  va_start(list, format);
  MUST(vasprintf(&text, format, list) > 0);
  va_end(list);
  static void *kept[4096] __attribute__((used)); /* so that leak checkers find them, though nothing reads it */
  static unsigned count;
  unsigned at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  MUST(at < sizeof kept / sizeof *kept);
  kept[at] = text;
  return text;
}

const char *fresh(const char *prefix) {
  static int counter;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return keep("%s-%lld%03ld-%d-%d", prefix, (long long)now.tv_sec, now.tv_nsec / 1000000, (int)getpid(), ++counter);
}

/* Runs a program to its end; its output only matters when it fails. */
static void run(char **arguments) {
  int status = 0;
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    dup2(2, 1);
    execv(arguments[0], arguments);
    _exit(127);
  }
  while (waitpid(child, &status, 0) < 0) MUST(errno == EINTR);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) note("%s %s failed", arguments[0], arguments[1]);
  MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void real_topic(const char *profile, const char *name, int partitions, ...) {
  kabi_admin_t *admin = new_admin(strcmp(profile, "three") == 0 ? THREE : SINGLE);
  const char *configs = "", *pair;
  va_list list;
  va_start(list, partitions);
  while ((pair = va_arg(list, const char *)) != NULL) {
    const char *value = strchr(pair, '=');
    MUST(value != NULL);
    configs = keep("%s%s\"%.*s\":\"%s\"", configs, *configs == 0 ? "" : ",", (int)(value - pair), pair, value + 1);
  }
  va_end(list);
  ask(admin, "topics_create", keep("{\"topics\":[{\"topic\":\"%s\",\"partitions\":%d,\"configs\":{%s}}]}", name, partitions, configs));
  CHECK_EQ(0, number_at("failed"));
  ask_until(admin, "topics_describe", keep("{\"topics\":[\"%s\"]}", name), "failed", 0);
  close_admin(admin);
}

void broker(const char *command, const char *profile, const char *node) {
  char *arguments[] = {(char *)setting("KABI_KAFKA_BROKER"), (char *)command, (char *)profile, (char *)node, NULL};
  run(arguments);
}

const char *tls_path(const char *file) { return keep("%s/%s", setting("KABI_KAFKA_TLS"), file); }

const char *tls_text(const char *file) {
  char text[16384];
  FILE *stream = fopen(tls_path(file), "r");
  MUST(stream != NULL);
  size_t length = fread(text, 1, sizeof text - 1, stream);
  fclose(stream);
  text[length] = 0;
  return keep("%s", text);
}

kabi_config_t *sasl_config(const char *servers, const char *protocol, const char *mechanism, const char *user,
                           const char *password) {
  kabi_config_t *config = new_config(servers, "security.protocol", protocol, NULL);
  if (strcasestr(protocol, "ssl") != NULL) put(config, "ssl.ca.location", tls_path("ca.pem"));
  if (mechanism != NULL) put(config, "sasl.mechanisms", mechanism);
  if (user != NULL) put(config, "sasl.username", user);
  if (password != NULL) put(config, "sasl.password", password);
  return config;
}
