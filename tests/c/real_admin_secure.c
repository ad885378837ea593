/* Access control and SCRAM users, administered on a secured broker. Profiles: secure */
#include "admins.h"
#include "real.h"

static kabi_admin_t *super_user(void) {
  return admin_from(sasl_config(SASL_SSL, "sasl_ssl", "PLAIN", "admin", "admin-secret"));
}

static void create(kabi_admin_t *a, const char *resource, const char *pattern, const char *principal, const char *host,
                   const char *operation, const char *permission) {
  ask(a, "acls_create",
      say("{\"acls\":[{\"resource_type\":\"topic\",\"resource\":\"%s\",\"pattern\":\"%s\",\"principal\":\"%s\",\"host\":\"%s\","
          "\"operation\":\"%s\",\"permission\":\"%s\"}]}", resource, pattern, principal, host, operation, permission));
  CHECK_EQ(0, number_at("failed"));
}

static size_t matching(kabi_admin_t *a, const char *filter) {
  ask(a, "acls_describe", say("{\"filter\":%s}", filter));
  return count_at("acls");
}

/* What was created or deleted is seen by the broker within moments. */
static size_t settled(kabi_admin_t *a, const char *filter, size_t want) {
  int64_t end = now_ms() + patience(30000);
  while (matching(a, filter) != want && now_ms() < end) continue;
  return count_at("acls");
}

TEST(filters_match_exactly_what_they_say) {
  kabi_admin_t *a = super_user();
  const char *name = fresh("acl"), *who = say("User:%s", name);
  const char *longer = say("%s-longer", name);
  create(a, name, "literal", who, "*", "read", "allow");
  create(a, name, "literal", who, "127.0.0.1", "write", "deny");
  create(a, name, "prefixed", who, "*", "describe", "allow");
  create(a, longer, "literal", who, "*", "read", "allow");

  CHECK_EQ(4, settled(a, say("{\"principal\":\"%s\"}", who), 4));
  CHECK_EQ(0, matching(a, say("{\"principal\":\"%s-other\"}", who)));
  CHECK_EQ(3, matching(a, say("{\"resource\":\"%s\"}", name)));
  CHECK_EQ(2, matching(a, say("{\"resource\":\"%s\",\"pattern\":\"literal\"}", name)));
  CHECK_EQ(1, matching(a, say("{\"resource\":\"%s\",\"pattern\":\"prefixed\"}", name)));
  /* What applies to the longer name: its own rule, and the prefix. */
  CHECK_EQ(2, matching(a, say("{\"resource\":\"%s\",\"pattern\":\"match\",\"principal\":\"%s\"}", longer, who)));
  CHECK_EQ(1, matching(a, say("{\"principal\":\"%s\",\"operation\":\"write\"}", who)));
  CHECK_EQ(0, matching(a, say("{\"principal\":\"%s\",\"operation\":\"all\"}", who)));
  CHECK_EQ(1, matching(a, say("{\"principal\":\"%s\",\"permission\":\"deny\"}", who)));
  CHECK_EQ(3, matching(a, say("{\"principal\":\"%s\",\"host\":\"*\"}", who)));
  CHECK_EQ(1, matching(a, say("{\"principal\":\"%s\",\"host\":\"127.0.0.1\"}", who)));
  CHECK_TEXT("topic", text_at("acls/0/resource_type"));
  CHECK_TEXT(name, text_at("acls/0/resource"));
  CHECK_TEXT("literal", text_at("acls/0/pattern"));
  CHECK_TEXT(who, text_at("acls/0/principal"));
  CHECK_TEXT("127.0.0.1", text_at("acls/0/host"));
  CHECK_TEXT("write", text_at("acls/0/operation"));
  CHECK_TEXT("deny", text_at("acls/0/permission"));
  CHECK_EQ(0, matching(a, say("{\"principal\":\"%s\",\"resource_type\":\"group\"}", who)));

  ask(a, "acls_delete", say("{\"filters\":[{\"principal\":\"%s\",\"operation\":\"read\"},{\"resource\":\"%s\",\"pattern\":\"prefixed\"}]}",
                            who, name));
  CHECK_EQ(0, number_at("failed"));
  CHECK_EQ(2, count_at("filters/0/acls"));
  CHECK_EQ(1, count_at("filters/1/acls"));
  CHECK_EQ(0, number_at("filters/1/acls/0/status/code"));
  CHECK_TEXT("prefixed", text_at("filters/1/acls/0/pattern"));
  CHECK_EQ(1, settled(a, say("{\"principal\":\"%s\"}", who), 1));
  ask(a, "acls_delete", say("{\"filters\":[{\"principal\":\"%s\"}]}", who));
  CHECK_EQ(1, count_at("filters/0/acls"));
  CHECK_EQ(0, settled(a, say("{\"principal\":\"%s\"}", who), 0));
  close_admin(a);
}

TEST(a_rule_opens_a_topic_and_its_end_closes_it) {
  kabi_admin_t *a = super_user(), *alice = admin_from(sasl_config(SASL_SSL, "sasl_ssl", "PLAIN", "alice", "alice-secret"));
  const char *topic = fresh("closed"), *describe = say("{\"topics\":[\"%s\"]}", topic);
  OK(kabi_admin_topic_create(a, topic, 1, 1, LONG, ERR));
  ask_until(a, "topics_describe", describe, "failed", 0);
  ask(alice, "topics_describe", describe);
  CHECK_EQ(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, number_at("topics/0/status/code"));
  GIVES(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, kabi_admin_topic_delete(alice, topic, LONG, ERR));
  create(a, topic, "literal", "User:alice", "*", "describe", "allow");
  int64_t end = now_ms() + patience(30000);
  do ask(alice, "topics_describe", describe);
  while (number_at("failed") != 0 && now_ms() < end);
  CHECK_EQ(0, number_at("failed"));
  ask(a, "acls_delete", say("{\"filters\":[{\"resource\":\"%s\"}]}", topic));
  do ask(alice, "topics_describe", describe);
  while (number_at("failed") == 0 && now_ms() < end);
  CHECK_EQ(KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, number_at("topics/0/status/code"));
  OK(kabi_admin_topic_delete(a, topic, LONG, ERR));
  close_admin(alice);
  close_admin(a);
}

TEST(who_may_not_is_told_so) {
  kabi_admin_t *alice = admin_from(sasl_config(SASL_SSL, "sasl_ssl", "PLAIN", "alice", "alice-secret"));
  size_t length;
  uint64_t request;
  kabi_status_t status = kabi_admin_call(alice, "acls_describe", NULL, LONG, &request, NULL, 0, &length, ERR);
  CHECK_EQ(KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED, status);
  CHECK(has(last_error()->message, "acls_describe"));
  ask(alice, "cluster_describe", "{\"authorized_operations\":true}");
  CHECK(!has(answer(), "\"alter\""));
  close_admin(alice);
}

/* Whether a user gets in: a topic of its own may be described or is unknown; else nothing is answered. */
static kabi_status_t login(const char *user, const char *mechanism, const char *password, int ms) {
  kabi_admin_t *a = admin_from(sasl_config(SASL_PLAINTEXT, "sasl_plaintext", mechanism, user, password));
  char buffer[4096];
  size_t length;
  uint64_t request;
  kabi_status_t status =
      kabi_admin_call(a, "cluster_describe", NULL, ms, &request, buffer, sizeof buffer, &length, ERR);
  if (status != 0) CHECK(!has(last_error()->message, password));
  close_admin(a);
  return status;
}

TEST(scram_users_are_made_described_and_deleted) {
  kabi_admin_t *a = super_user();
  const char *user = fresh("scram");
  ask(a, "scram_users_describe", say("{\"users\":[\"%s\"]}", user));
  CHECK_EQ(KABI_STATUS_RESOURCE_NOT_FOUND, number_at("users/0/status/code"));
  CHECK_EQ(1, number_at("failed"));
  ask(a, "scram_users_alter",
      say("{\"upsertions\":[{\"user\":\"%s\",\"mechanism\":\"SCRAM-SHA-256\",\"iterations\":4096,\"password\":\"open-sesame\"},"
          "{\"user\":\"%s-2\",\"mechanism\":\"SCRAM-SHA-512\",\"password\":\"open-sesame\",\"salt_hex\":\"00ff10ab00ff10ab\"}]}", user, user));
  CHECK_EQ(0, number_at("failed"));
  CHECK_EQ(2, count_at("users"));
  CHECK(!has(answer(), "sesame"));
  ask(a, "scram_users_describe", say("{\"users\":[\"%s\"]}", user));
  CHECK_TEXT("SCRAM-SHA-256", text_at("users/0/credentials/0/mechanism"));
  CHECK_EQ(4096, number_at("users/0/credentials/0/iterations"));
  ask(a, "scram_users_describe", NULL);
  CHECK(has(answer(), say("%s-2", user)));
  CHECK(has(answer(), "\"bob\""));
  int64_t end = now_ms() + patience(30000);
  kabi_status_t status;
  do status = login(user, "SCRAM-SHA-256", "open-sesame", 2500);
  while (status != 0 && now_ms() < end);
  CHECK_EQ(0, status);
  CHECK_EQ(0, login(say("%s-2", user), "SCRAM-SHA-512", "open-sesame", LONG));
  CHECK(login(user, "SCRAM-SHA-256", "open-says-me", 2500) != 0);
  ask(a, "scram_users_alter", say("{\"deletions\":[{\"user\":\"%s\",\"mechanism\":\"SCRAM-SHA-256\"},"
                                  "{\"user\":\"%s-2\",\"mechanism\":\"SCRAM-SHA-512\"}]}", user, user));
  CHECK_EQ(0, number_at("failed"));
  ask(a, "scram_users_alter", say("{\"deletions\":[{\"user\":\"%s\",\"mechanism\":\"SCRAM-SHA-256\"}]}", user));
  CHECK_EQ(KABI_STATUS_RESOURCE_NOT_FOUND, number_at("users/0/status/code"));
  /* Refused by the broker, and not told. */
  ask(a, "scram_users_alter",
      say("{\"upsertions\":[{\"user\":\"%s\",\"mechanism\":\"SCRAM-SHA-256\",\"iterations\":1,\"password\":\"open-sesame\"}]}", user));
  CHECK_EQ(KABI_STATUS_UNACCEPTABLE_CREDENTIAL, number_at("users/0/status/code"));
  CHECK(!has(answer(), "sesame"));
  close_admin(a);
}
