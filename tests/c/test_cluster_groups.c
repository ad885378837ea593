/* Groups on the embedded cluster: the program chooses what each member by group.protocol=consumer is to have, and a member tells the
   generation that its group is in. */
#include "harness.h"

enum { PARTITIONS = 4 };

static kabi_cluster_t *cluster;

typedef struct member_t {
  kabi_consumer_t *consumer;
  char id[64];
} member_t;

static void poll_some(member_t *member) {
  kabi_batch_t *batch = NULL;
  kabi_batch_info_t info;
  MUST_OK(kabi_consumer_poll(member->consumer, 10, 50, &batch, &info, ERR));
  kabi_batch_free(batch);
}

/* Its partitions as bits. */
static int has_now(member_t *member) {
  kabi_partition_t list[PARTITIONS];
  size_t count = 0;
  int bits = 0;
  OK(kabi_consumer_assignment(member->consumer, list, PARTITIONS, &count, ERR));
  for (size_t i = 0; i < count; i++) bits |= 1 << list[i].partition;
  return bits;
}

static int32_t generation_of(member_t *member) {
  int32_t generation = -99;
  OK(kabi_consumer_group_generation(member->consumer, &generation, ERR));
  return generation;
}

static member_t member_of(const char *group, const char *protocol) {
  member_t member = {NULL, ""};
  kabi_config_t *config = new_config(bootstrap(cluster), "group.id", group, "group.protocol", protocol, "auto.offset.reset", "earliest", NULL);
  if (strcmp(protocol, "classic") == 0) { /* the embedded cluster lets the second one in when about this time is over */
    put(config, "session.timeout.ms", "6000");
    put(config, "heartbeat.interval.ms", "100");
  }
  member.consumer = consumer_from(config);
  return member;
}

/* Joins, while the other member polls on. */
static member_t join(const char *group, member_t *other) {
  member_t member = member_of(group, "consumer");
  size_t length = 0;
  subscribe(member.consumer, "t");
  /* It has its id from the beginning, and a generation once the group has it. */
  for (int64_t until = now_ms() + patience(30000); generation_of(&member) <= 0; poll_some(&member)) {
    MUST(now_ms() < until);
    if (other != NULL) poll_some(other);
  }
  OK(kabi_consumer_member_id(member.consumer, member.id, sizeof member.id, &length, ERR));
  MUST(length > 0);
  return member;
}

/* Both poll until they have just these partitions. */
static void await_partitions(member_t *first, int of_first, member_t *second, int of_second) {
  for (int64_t until = now_ms() + patience(30000); has_now(first) != of_first || has_now(second) != of_second;) {
    if (now_ms() > until) note("%x and %x instead of %x and %x", has_now(first), has_now(second), of_first, of_second);
    MUST(now_ms() < until);
    poll_some(first);
    poll_some(second);
  }
}

static void target(const member_t *first, const char *of_first, const member_t *second, const char *of_second) {
  char json[512];
  snprintf(json, sizeof json, "{\"%s\": {\"t\": %s}, \"%s\": {\"t\": %s}}", first->id, of_first, second->id, of_second);
  OK(kabi_cluster_group_target(cluster, "g", json, ERR));
}

TEST(members_get_what_was_chosen_for_them) {
  cluster = new_cluster(1);
  new_topic(cluster, "t", PARTITIONS);
  OK(kabi_cluster_group_timing(cluster, 30000, 100, ERR));
  member_t first = join("g", NULL), second = join("g", &first);
  CHECK(strcmp(first.id, second.id) != 0);
  target(&first, "[0, 1, 2]", &second, "[3]");
  await_partitions(&first, 0x7, &second, 0x8);
  target(&first, "[3]", &second, "[0, 1, 2]"); /* each gives up what the other is to have */
  await_partitions(&first, 0x8, &second, 0x7);
  target(&first, "[]", &second, "[0, 1, 2, 3]");
  await_partitions(&first, 0, &second, 0xf);
  for (int32_t i = 0; i < PARTITIONS; i++) fill_topic(cluster, "t", i, 1);
  seen_t seen[PARTITIONS];
  CHECK_EQ(PARTITIONS, take(second.consumer, seen, PARTITIONS));
  poll_empty(first.consumer, 300);
  /* One that is not named keeps what it has. */
  char json[128];
  snprintf(json, sizeof json, "{\"%s\": {\"t\": [1]}}", second.id);
  OK(kabi_cluster_group_target(cluster, "g", json, ERR));
  await_partitions(&first, 0, &second, 0x2);
  /* By itself again, with the next change of the group. */
  OK(kabi_cluster_group_target(cluster, "g", NULL, ERR));
  close_consumer(second.consumer);
  second = join("g", &first);
  for (int64_t until = now_ms() + patience(30000); (has_now(&first) | has_now(&second)) != 0xf;) {
    MUST(now_ms() < until);
    poll_some(&first);
    poll_some(&second);
  }
  CHECK_EQ(0, has_now(&first) & has_now(&second));
  close_consumer(first.consumer);
  close_consumer(second.consumer);
  kabi_cluster_free(cluster);
}

/* Polls until the generation is above this one; tells it. */
static int32_t await_generation(member_t *member, member_t *other, int32_t above) {
  int64_t until = now_ms() + patience(30000);
  for (; generation_of(member) <= above; poll_some(member)) {
    MUST(now_ms() < until);
    if (other != NULL) poll_some(other);
  }
  return generation_of(member);
}

static void generations_grow(const char *protocol) {
  int32_t generation = -99;
  cluster = new_cluster(1);
  new_topic(cluster, "t", PARTITIONS);
  OK(kabi_cluster_group_timing(cluster, 30000, 100, ERR));
  kabi_consumer_t *stranger = new_consumer(bootstrap(cluster), NULL, NULL);
  GIVES(KABI_STATUS_UNKNOWN_GROUP, kabi_consumer_group_generation(stranger, &generation, ERR));
  CHECK_EQ(-99, generation);
  close_consumer(stranger);
  member_t first = member_of("g", protocol), second = member_of("g", protocol);
  CHECK(generation_of(&first) <= 0); /* it has not joined */
  subscribe(first.consumer, "t");
  int32_t alone = await_generation(&first, NULL, 0);
  subscribe(second.consumer, "t");
  int32_t together = await_generation(&first, &second, alone);
  await_generation(&second, &first, together - 1);
  close_consumer(first.consumer);
  close_consumer(second.consumer);
  kabi_cluster_free(cluster);
}

TEST(generations_grow_classic) { generations_grow("classic"); }
TEST(generations_grow_kip848) { generations_grow("consumer"); }
