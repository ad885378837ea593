/* TLS, SASL and access control against a secured broker: what is right works, what is wrong is refused with an error that
   says why and what to do, and never tells a password. Profiles: secure */
#include "real.h"

#include <sched.h>
#include <sys/mount.h>

#define SHORT_LIVED "message.timeout.ms", "3000"
#define OWN_CA "ssl.ca.location", tls_path("ca.pem")

/* Sends one record and expects it delivered. */
static void works(kabi_config_t *config, const char *topic) {
  kabi_event_t report;
  put(config, "message.timeout.ms", "60000");
  kabi_producer_t *producer = producer_from(config);
  kabi_message_t message = message_of(topic_of(producer, topic), 0, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  MUST(drain_reports(producer, &report, 1) == 1);
  CHECK_EQ(0, report.code);
  close_producer(producer);
}

/* Waits for an error event with this code. Its text holds each of `parts` (ending with NULL) and never a password. */
static void says(kabi_config_t *config, kabi_status_t code, const char *const *parts) {
  kabi_producer_t *producer = producer_from(config);
  char text[2048] = "";
  uint8_t bytes[8192];
  int64_t end = now_ms() + patience(20000);
  int found = 0;
  while (!found && now_ms() < end) {
    kabi_event_t event;
    size_t count = 0, used = 0;
    MUST_OK(kabi_producer_drain(producer, patience(1000), &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 0 || event.kind != KABI_EVENT_ERROR) continue;
    snprintf(text, sizeof text, "%s", (const char *)bytes + event.text_offset);
    CHECK(!has(text, "-secret"));
    found = event.code == code;
  }
  MUST(found);
  for (; *parts != NULL; parts++)
    if (!CHECK(has(text, *parts))) note("\"%s\" is not in: %s", *parts, text);
  CHECK(is_utf8(text, strlen(text)));
  kabi_producer_free(producer);
}
#define SAYS(config, code, ...)                        \
  do {                                                 \
    const char *const parts_[] = {__VA_ARGS__, NULL};  \
    says(config, code, parts_);                        \
  } while (0)

/* The configuration is refused when a client is made of it. */
static void refused(kabi_config_t *config, const char *part) {
  kabi_producer_t *producer = NULL;
  kabi_status_t status = kabi_producer_new(config, &producer, ERR);
  CHECK(status != 0 && producer == NULL);
  CHECK_EQ(status, last_error()->code);
  if (!CHECK(has(last_error()->message, part))) note("\"%s\" is not in: %s", part, last_error()->message);
  CHECK(!has(last_error()->message, "-secret"));
  kabi_config_free(config);
}

/* ---- TLS ---- */

static kabi_config_t *tls(const char *servers) { return new_config(servers, "security.protocol", "ssl", SHORT_LIVED, NULL); }

static kabi_config_t *mutual(const char *certificate, const char *key) {
  kabi_config_t *config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  put(config, "ssl.certificate.location", tls_path(certificate));
  put(config, "ssl.key.location", tls_path(key));
  return config;
}

TEST(mutual_tls_by_files) { works(mutual("client.pem", "client.key"), fresh("dave-files")); }

TEST(mutual_tls_by_texts) {
  kabi_config_t *config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.pem", tls_text("ca.pem"));
  put(config, "ssl.certificate.pem", tls_text("client.pem"));
  put(config, "ssl.key.pem", tls_text("client.key"));
  works(config, fresh("dave-texts"));
}

TEST(mutual_tls_by_an_encrypted_key) {
  kabi_config_t *config = mutual("client.pem", "client-encrypted.key");
  put(config, "ssl.key.password", "client-secret");
  works(config, fresh("dave-encrypted"));
  config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.pem", tls_text("ca.pem"));
  put(config, "ssl.certificate.pem", tls_text("client.pem"));
  put(config, "ssl.key.pem", tls_text("client-encrypted.key"));
  put(config, "ssl.key.password", "client-secret");
  works(config, fresh("dave-encrypted"));
}

TEST(a_host_name_is_checked_and_localhost_is_in_the_certificate) {
  char servers[64];
  snprintf(servers, sizeof servers, "localhost%s", strchr(SASL_SSL, ':'));
  kabi_config_t *config = sasl_config(servers, "sasl_ssl", "PLAIN", "alice", "alice-secret");
  put(config, "broker.address.family", "v4");
  works(config, fresh("alice-localhost"));
}

TEST(a_wrong_host_name_is_refused) {
  kabi_config_t *config = tls(setting("KABI_KAFKA_WRONG_HOST"));
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  SAYS(config, KABI_STATUS_SSL, setting("KABI_KAFKA_WRONG_HOST"), "certificate", "another address",
       "ssl.endpoint.identification.algorithm");
  char servers[64];
  snprintf(servers, sizeof servers, "localhost%s", strchr(setting("KABI_KAFKA_WRONG_HOST"), ':'));
  config = tls(servers);
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  put(config, "broker.address.family", "v4");
  SAYS(config, KABI_STATUS_SSL, servers, "certificate", "another host name");
}

TEST(an_expired_certificate_is_refused) {
  kabi_config_t *config = tls(setting("KABI_KAFKA_EXPIRED"));
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  SAYS(config, KABI_STATUS_SSL, setting("KABI_KAFKA_EXPIRED"), "certificate has expired");
}

TEST(an_unknown_authority_is_refused) {
  kabi_config_t *config = tls(setting("KABI_KAFKA_UNTRUSTED"));
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  SAYS(config, KABI_STATUS_SSL, "authority is not trusted", "ssl.ca.location");
  SAYS(tls(MUTUAL_TLS), KABI_STATUS_SSL, "authority is not trusted", "ssl.ca.pem"); /* the system's authorities */
}

/* ---- the system's authorities ---- scripts/test-portable runs these with a library that has an OpenSSL of its own. */

/* Without a word on certificates, but for the client's own. */
static kabi_config_t *mutual_by_default(void) {
  kabi_config_t *config = tls(MUTUAL_TLS);
  put(config, "ssl.certificate.location", tls_path("client.pem"));
  put(config, "ssl.key.location", tls_path("client.key"));
  return config;
}

TEST(authorities_named_by_the_environment_are_trusted) {
  unsetenv("SSL_CERT_DIR");
  setenv("SSL_CERT_FILE", tls_path("ca.pem"), 1);
  works(mutual_by_default(), fresh("dave-environment"));
}

static void bind_over(const char *from, const char *to) {
  if (access(to, F_OK) == 0) MUST(mount(from, to, NULL, MS_BIND, NULL) == 0);
}

/* Makes our authority the only one that the system trusts, for this process, by putting other files into the usual places. */
static void become_the_systems_authority(void) {
  char command[1024];
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) harness_skip("no mount namespace is to be had");
  MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
  if (access("/etc/ssl/certs", F_OK) != 0) harness_skip("there is no /etc/ssl/certs");
  MUST(mount("tmpfs", "/etc/ssl/certs", "tmpfs", 0, NULL) == 0);
  /* As Debian has it: all in one file, and each by the hash of its subject. */
  snprintf(command, sizeof command, "cd /etc/ssl/certs && cp '%s' ca-certificates.crt && "
           "ln -s ca-certificates.crt $(openssl x509 -noout -hash -in ca-certificates.crt).0", tls_path("ca.pem"));
  MUST(system(command) == 0);
  bind_over(tls_path("ca.pem"), "/etc/ssl/cert.pem");
  bind_over(tls_path("ca.pem"), "/etc/pki/tls/certs/ca-bundle.crt");
  bind_over(tls_path("ca.pem"), "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem");
}

TEST(authorities_of_the_system_are_trusted) {
  unsetenv("SSL_CERT_FILE");
  unsetenv("SSL_CERT_DIR");
  become_the_systems_authority();
  works(mutual_by_default(), fresh("dave-system"));
}

TEST(a_missing_or_strange_client_certificate_is_refused) {
  kabi_config_t *config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  SAYS(config, KABI_STATUS_TRANSPORT, "refused this client's certificate", "ssl.certificate.location");
  SAYS(mutual("stranger.pem", "stranger.key"), KABI_STATUS_TRANSPORT, "refused this client's certificate");
}

TEST(a_protocol_that_does_not_fit_the_port_is_told) {
  kabi_config_t *config = tls(SASL_PLAINTEXT);
  put(config, "ssl.ca.location", tls_path("ca.pem"));
  SAYS(config, KABI_STATUS_TRANSPORT, "check bootstrap.servers and security.protocol");
  SAYS(new_config(SASL_SSL, SHORT_LIVED, NULL), KABI_STATUS_ALL_BROKERS_DOWN, "no broker can be reached", "security.protocol");
}

TEST(broken_key_material_is_refused_at_once) {
  refused(mutual("client.pem", "client-encrypted.key"), "ssl.key.password");
  kabi_config_t *config = mutual("client.pem", "client-encrypted.key");
  put(config, "ssl.key.password", "wrong-secret");
  refused(config, "ssl.key.password");
  refused(mutual("client.pem", "stranger.key"), "does not belong to the certificate");
  refused(mutual("client.pem", "nowhere.key"), "ssl.key.location");
  refused(mutual("nowhere.pem", "client.key"), "ssl.certificate.location");
  config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.location", tls_path("nowhere.pem"));
  refused(config, "is it a readable file");
  config = tls(MUTUAL_TLS);
  put(config, "ssl.ca.pem", tls_path("ca.pem"));
  refused(config, "takes the text itself");
  config = tls(MUTUAL_TLS);
  put(config, "ssl.key.pem", tls_path("client.key"));
  refused(config, "ssl.key.pem");
}

/* ---- SASL ---- */

static void mechanism(const char *name, const char *user) {
  char password[32], topic[32];
  snprintf(password, sizeof password, "%s-secret", user);
  snprintf(topic, sizeof topic, "%s-sasl", user);
  works(sasl_config(SASL_SSL, "sasl_ssl", name, user, password), fresh(topic));
  works(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", name, user, password), fresh(topic));
  SAYS(sasl_config(SASL_SSL, "sasl_ssl", name, user, "wrong-secret"), KABI_STATUS_AUTHENTICATION, name, "sasl.password");
  SAYS(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", name, user, "wrong-secret"), KABI_STATUS_AUTHENTICATION, name, "sasl.password");
  SAYS(sasl_config(SASL_SSL, "sasl_ssl", name, "nobody", password), KABI_STATUS_AUTHENTICATION, name);
}

TEST(sasl_plain) { mechanism("PLAIN", "alice"); }
TEST(sasl_scram_sha_256) { mechanism("SCRAM-SHA-256", "bob"); }
TEST(sasl_scram_sha_512) { mechanism("SCRAM-SHA-512", "carol"); }

/* A client that is refused is given the right password and goes on; one that is connected is left alone, whatever it is given. */
static void takes_another(const char *name, const char *user) {
  kabi_event_t event;
  char password[64], topic[64];
  uint8_t bytes[8192];
  size_t count = 0, used = 0;
  int refused_once = 0;
  snprintf(password, sizeof password, "%s-secret", user);
  snprintf(topic, sizeof topic, "%s-given", user);
  kabi_producer_t *producer = producer_from(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", name, user, "wrong-secret"));
  for (int64_t end = now_ms() + patience(20000); !refused_once && now_ms() < end;) {
    MUST_OK(kabi_producer_drain(producer, patience(1000), &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    refused_once = count == 1 && event.kind == KABI_EVENT_ERROR && event.code == KABI_STATUS_AUTHENTICATION;
  }
  MUST(refused_once);
  OK(kabi_producer_credentials_set(producer, user, password, ERR));
  kabi_message_t message = message_of(topic_of(producer, fresh(topic)), 0, NULL, "x");
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  MUST(drain_reports(producer, &event, 1) == 1);
  CHECK_EQ(0, event.code);
  OK(kabi_producer_credentials_set(producer, user, "wrong-secret", ERR));
  MUST_OK(kabi_producer_send(producer, &message, 10000, ERR));
  MUST(drain_reports(producer, &event, 1) == 1);
  CHECK_EQ(0, event.code);
  close_producer(producer);
}

TEST(credentials_of_a_living_client_plain) { takes_another("PLAIN", "alice"); }
TEST(credentials_of_a_living_client_scram) { takes_another("SCRAM-SHA-256", "bob"); }

TEST(sasl_needs_a_mechanism_and_a_user) {
  refused(sasl_config(SASL_SSL, "sasl_ssl", NULL, "alice", "alice-secret"), "set sasl.mechanism to");
  refused(sasl_config(SASL_SSL, "sasl_ssl", "NONSENSE", "alice", "alice-secret"), "NONSENSE");
  refused(sasl_config(SASL_SSL, "sasl_ssl", "PLAIN", NULL, NULL), "sasl.username");
  refused(sasl_config(SASL_SSL, "sasl_ssl", "SCRAM-SHA-256", "bob", NULL), "sasl.password");
}

/* ---- access control ---- alice may do all with what is named alice-..., and nothing else. */

static kabi_config_t *alice(void) { return sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "alice", "alice-secret"); }

/* A topic of the administrator's, with a record in it. */
static const char *foreign_topic(void) {
  const char *name = fresh("foreign");
  works(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", "PLAIN", "admin", "admin-secret"), name);
  return name;
}

TEST(a_topic_denied_to_a_producer_is_in_the_report) {
  kabi_event_t reports[2];
  size_t sent = 0;
  kabi_producer_t *producer = producer_from(alice());
  const char *names[2] = {foreign_topic(), fresh("alice-own")};
  for (int i = 0; i < 2; i++) {
    kabi_message_t message = message_of(topic_of(producer, names[i]), 0, NULL, "x");
    message.token = (uint64_t)i;
    kabi_status_t status = kabi_producer_send(producer, &message, 10000, ERR);
    /* Unless the metadata came first, by which the send itself is refused. */
    if (i == 0 && status == KABI_STATUS_TOPIC_AUTHORIZATION_FAILED) continue;
    MUST(status == 0);
    sent++;
  }
  MUST(drain_reports(producer, reports, sent) == sent);
  for (size_t i = 0; i < sent; i++) CHECK_EQ(reports[i].token == 0 ? KABI_STATUS_TOPIC_AUTHORIZATION_FAILED : 0, reports[i].code);
  for (size_t i = 0; i < sent; i++) CHECK_EQ(reports[i].token == 0 ? KABI_PERSISTED_NO : KABI_PERSISTED_YES, reports[i].persisted);
  uint64_t undelivered = 0;
  OK(kabi_producer_close(producer, patience(20000), &undelivered, ERR));
  CHECK_EQ(0, undelivered); /* the report was there before the close */
  kabi_producer_free(producer);
}

/* Polls until an entry, an event or the call itself has the code; tells which: 'e'ntry, e'v'ent, 'c'all, or 0 for none. */
static char where_denied(kabi_consumer_t *consumer, kabi_status_t code, const char *part) {
  int64_t end = now_ms() + patience(20000);
  uint8_t bytes[8192];
  while (now_ms() < end) {
    kabi_batch_t *batch = NULL;
    kabi_batch_info_t info;
    memset(&info, 0, sizeof info);
    kabi_status_t status = kabi_consumer_poll(consumer, 10, 200, &batch, &info, ERR);
    if (status == code) {
      if (!CHECK(has(last_error()->message, part))) note("%s", last_error()->message);
      return 'c';
    }
    MUST(status == 0);
    for (size_t i = 0; i < info.count; i++) {
      char text[512];
      const kabi_record_t *record = &info.records[i];
      CHECK(record->code != 0); /* no record */
      if (record->code != code) continue;
      snprintf(text, sizeof text, "%.*s", (int)record->value_length, (const char *)record->value);
      if (!CHECK(has(text, part))) note("entry: %s", text);
      kabi_batch_free(batch);
      return 'e';
    }
    kabi_batch_free(batch);
    kabi_event_t event;
    size_t count = 0, used = 0;
    MUST_OK(kabi_consumer_drain(consumer, 0, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
    if (count == 0) continue;
    const char *text = (const char *)bytes + event.text_offset;
    if (event.kind == KABI_EVENT_ERROR && event.code == code) {
      if (!CHECK(has(text, part))) note("event: %s", text);
      return 'v';
    }
    note("event %s: %s", kabi_error_name(event.code), text);
  }
  return 0;
}

TEST(a_subscribed_topic_denied_is_an_entry) {
  const char *name = foreign_topic();
  kabi_config_t *config = alice();
  put(config, "group.id", fresh("alice-group"));
  kabi_consumer_t *consumer = consumer_from(config);
  subscribe(consumer, name);
  CHECK_EQ('e', where_denied(consumer, KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, name));
  close_consumer(consumer);
}

TEST(a_group_denied_is_told) {
  const char *own = fresh("alice-own");
  works(alice(), own);
  kabi_config_t *config = alice();
  put(config, "group.id", fresh("foreign-group"));
  kabi_consumer_t *consumer = consumer_from(config);
  subscribe(consumer, own);
  CHECK(where_denied(consumer, KABI_STATUS_GROUP_AUTHORIZATION_FAILED, "Group authorization failed") != 0);
  close_consumer(consumer);
}

TEST(a_transactional_id_denied_is_the_status_of_init) {
  kabi_config_t *config = alice();
  put(config, "transactional.id", fresh("foreign-txn"));
  kabi_producer_t *producer = producer_from(config);
  GIVES(KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, kabi_producer_transactions_init(producer, patience(20000), ERR));
  CHECK(last_error()->flags & KABI_ERROR_FATAL);
  kabi_producer_free(producer);

  config = alice();
  put(config, "transactional.id", fresh("alice-txn"));
  producer = producer_from(config);
  OK(kabi_producer_transactions_init(producer, patience(30000), ERR));
  close_producer(producer);
}

/* ---- OAUTHBEARER ---- with tokens that are not signed, which this broker takes from erin. */

static void base64url(char *out, const char *text) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  size_t length = strlen(text);
  for (size_t i = 0; i < length; i += 3) {
    uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;
    if (i + 1 < length) bits |= (uint32_t)(unsigned char)text[i + 1] << 8;
    if (i + 2 < length) bits |= (uint32_t)(unsigned char)text[i + 2];
    for (size_t j = 0; j < 4 && j <= length - i; j++) *out++ = digits[bits >> (18 - 6 * j) & 63];
  }
  *out = 0;
}

/* Seconds since 1970. */
static int64_t seconds(void) { return (int64_t)time(NULL); }

static void make_token(char *token, size_t size, const char *user, int64_t until) {
  char claims[256], head[64], body[400];
  snprintf(claims, sizeof claims, "{\"sub\":\"%s\",\"iat\":%" PRId64 ",\"exp\":%" PRId64 "}", user, seconds() - 7200, until);
  base64url(head, "{\"alg\":\"none\"}");
  base64url(body, claims);
  snprintf(token, size, "%s.%s.", head, body);
}

static kabi_config_t *bearer(void) {
  kabi_config_t *config = sasl_config(SASL_SSL, "sasl_ssl", "OAUTHBEARER", NULL, NULL);
  MUST_OK(kabi_config_events(config, KABI_EVENT_DEFAULT | KABI_EVENT_TOKEN, ERR));
  return config;
}

typedef struct asked_t {
  kabi_producer_t *producer;
  int times, delivered;
} asked_t;

static int32_t on_token(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  asked_t *asked = (asked_t *)user;
  char token[600];
  (void)events;
  (void)bytes;
  make_token(token, sizeof token, "erin", seconds() + 3600);
  asked->times += (int)count;
  OK(kabi_producer_token_set(asked->producer, token, (seconds() + 3600) * 1000, "erin", NULL, ERR));
  return 0;
}

static int32_t on_report(const kabi_event_t *events, size_t count, const uint8_t *bytes, void *user) {
  (void)bytes;
  for (size_t i = 0; i < count; i++) CHECK_EQ(0, events[i].code);
  ((asked_t *)user)->delivered += (int)count;
  return 0;
}

TEST(oauthbearer_by_the_handler) {
  asked_t asked = {NULL, 0, 0};
  kabi_config_t *config = bearer();
  MUST_OK(kabi_config_handler(config, KABI_EVENT_TOKEN, on_token, &asked, NULL, ERR));
  MUST_OK(kabi_config_handler(config, KABI_EVENT_REPORT, on_report, &asked, NULL, ERR));
  asked.producer = producer_from(config);
  kabi_message_t message = message_of(topic_of(asked.producer, fresh("erin-own")), 0, NULL, "x");
  MUST_OK(kabi_producer_send(asked.producer, &message, 10000, ERR));
  int64_t end = now_ms() + patience(20000);
  while (asked.delivered == 0 && now_ms() < end) MUST_OK(kabi_producer_poll(asked.producer, 1000, NULL, ERR));
  CHECK_EQ(1, asked.delivered);
  CHECK_EQ(1, asked.times);
  close_producer(asked.producer);
}

TEST(oauthbearer_for_a_consumer_by_events) {
  char token[600];
  const char *topic = fresh("erin-own");
  works(sasl_config(SASL_SSL, "sasl_ssl", "PLAIN", "admin", "admin-secret"), topic);
  kabi_consumer_t *consumer = consumer_from(bearer());
  make_token(token, sizeof token, "erin", seconds() + 3600);
  OK(kabi_consumer_token_set(consumer, token, (seconds() + 3600) * 1000, "erin", NULL, ERR)); /* before it asks */
  seen_t seen;
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  CHECK_EQ(1, take(consumer, &seen, 1));
  close_consumer(consumer);
}

TEST(oauthbearer_refused_or_not_to_be_had_is_told) {
  char token[600];
  const char *wrong[] = {"refused", "failure"};
  for (int i = 0; i < 2; i++) {
    kabi_producer_t *producer = producer_from(bearer());
    uint8_t bytes[8192];
    int found = 0;
    int64_t end = now_ms() + patience(20000);
    make_token(token, sizeof token, "erin", seconds() - 3600); /* expired, which the broker sees */
    if (i == 0) OK(kabi_producer_token_set(producer, token, (seconds() + 3600) * 1000, "erin", NULL, ERR));
    else OK(kabi_producer_token_failure(producer, "the shop is closed", ERR));
    while (!found && now_ms() < end) {
      kabi_event_t event;
      size_t count = 0, used = 0;
      MUST_OK(kabi_producer_drain(producer, 1000, &event, 1, &count, bytes, sizeof bytes, &used, ERR));
      if (count == 0 || event.kind != KABI_EVENT_ERROR || event.code != KABI_STATUS_AUTHENTICATION) continue;
      const char *text = (const char *)bytes + event.text_offset;
      CHECK(!has(text, token));
      if (!CHECK(has(text, i == 0 ? "OAUTHBEARER" : "the shop is closed"))) note("%s: %s", wrong[i], text);
      found = 1;
    }
    CHECK(found);
    kabi_producer_free(producer);
  }
}
