/* The helpers of admins.h: asking, and a small reader of JSON that trusts its text to be JSON. */
#include "admins.h"

static char *kept_answer;
static size_t kept_size;

kabi_admin_t *admin_from(kabi_config_t *config) {
  kabi_admin_t *admin = NULL;
  MUST_OK(kabi_admin_new(config, &admin, ERR));
  kabi_config_free(config);
  return admin;
}

kabi_admin_t *new_admin(const char *servers) { return admin_from(new_config(servers, NULL)); }

void close_admin(kabi_admin_t *admin) {
  OK(kabi_admin_close(admin, patience(10000), ERR));
  kabi_admin_free(admin);
}

const char *say(const char *format, ...) {
  static void *volatile kept[1024]; /* reachable, hence no leak */
  static size_t count;
  char *text = NULL;
  va_list list;
  va_start(list, format);
  MUST(vasprintf(&text, format, list) > 0);
  va_end(list);
  MUST(count < sizeof kept / sizeof kept[0]);
  kept[count] = text;
  return (const char *)kept[count++];
}

kabi_status_t try_ask(kabi_admin_t *admin, const char *operation, const char *arguments, int32_t timeout_ms) {
  size_t length = 0;
  uint64_t request = 0;
  kabi_status_t status =
      kabi_admin_call(admin, operation, arguments, timeout_ms, &request, kept_answer, kept_size, &length, ERR);
  if (status == KABI_STATUS_BUFFER_TOO_SMALL) {
    kept_size = length + 1;
    kept_answer = (char *)realloc(kept_answer, kept_size);
    status = kabi_admin_result(admin, request, LONG, kept_answer, kept_size, &length, ERR);
  }
  if (status != 0) return status;
  CHECK_EQ(length, strlen(kept_answer));
  MUST(is_json(kept_answer));
  return 0;
}

void ask(kabi_admin_t *admin, const char *operation, const char *arguments) {
  kabi_status_t status = try_ask(admin, operation, arguments, LONG);
  if (status != 0) note("%s %s: %s", operation, arguments == NULL ? "" : arguments, last_error()->message);
  MUST(status == 0);
}

const char *answer(void) { return kept_answer; }

/* ---- reading ---- */

static const char *skip_text(const char *at) {
  for (at++; *at != '"'; at++)
    if (*at == '\\') at++;
  return at + 1;
}

static const char *skip_value(const char *at) {
  int depth = 0;
  do {
    if (*at == '"') {
      at = skip_text(at);
      continue;
    }
    if (*at == '{' || *at == '[') depth++;
    if (*at == '}' || *at == ']') depth--;
    at++;
    if (depth == 0 && (at[-1] == '}' || at[-1] == ']')) break;
  } while (depth > 0 || (*at != 0 && strchr(",]}", *at) == NULL));
  return at;
}

/* The value of a key or index; serde writes no spaces. NULL if it is not there. */
static const char *step(const char *at, const char *name, size_t length) {
  int array = *at == '[';
  long index = array ? strtol(name, NULL, 10) : 0;
  if (!array && *at != '{') return NULL;
  for (at++; *at != ']' && *at != '}';) {
    if (array) {
      if (index-- == 0) return at;
    } else {
      const char *key = at + 1, *end = skip_text(at);
      at = end + 1;
      if ((size_t)(end - 1 - key) == length && strncmp(key, name, length) == 0) return at;
    }
    at = skip_value(at);
    if (*at == ',') at++;
  }
  return NULL;
}

static const char *find(const char *path) {
  const char *at = kept_answer, *name = path;
  while (at != NULL && *name != 0) {
    size_t length = strcspn(name, "/");
    at = step(at, name, length);
    name += length + (name[length] == '/');
  }
  if (at == NULL) note("%s is not in %.2000s", path, kept_answer);
  MUST(at != NULL);
  return at;
}

const char *text_at(const char *path) {
  const char *at = find(path);
  MUST(*at == '"');
  return say("%.*s", (int)(skip_text(at) - 2 - at), at + 1);
}

int64_t number_at(const char *path) {
  const char *at = find(path);
  if (*at != '-' && (*at < '0' || *at > '9')) note("%s is no number in %.2000s", path, kept_answer);
  MUST(*at == '-' || (*at >= '0' && *at <= '9'));
  return strtoll(at, NULL, 10);
}

size_t count_at(const char *path) {
  const char *at = find(path);
  size_t count = 0;
  MUST(*at == '[');
  for (at++; *at != ']'; count++) {
    at = skip_value(at);
    if (*at == ',') at++;
  }
  return count;
}

void ask_until(kabi_admin_t *admin, const char *operation, const char *arguments, const char *path, int64_t want) {
  int64_t end = now_ms() + patience(30000);
  do ask(admin, operation, arguments);
  while (number_at(path) != want && now_ms() < end);
  CHECK_EQ(want, number_at(path));
}

int is_null(const char *path) { return strncmp(find(path), "null", 4) == 0; }
