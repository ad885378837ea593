/* Leaders that are elected by request, on brokers that leave leaders where they are: back to the preferred replica after its
   broker came back, and to one that is not in sync when nothing else is left. Profiles: three
   The brokers take most of the time, so that it is not spent twice. Modes: plain */
#include "admins.h"
#include "real.h"

/* Asks for a topic's only partition while brokers come and go. False if there is no answer now. */
static int look(kabi_admin_t *a, const char *topic) {
  return try_ask(a, "topics_describe", say("{\"topics\":[\"%s\"]}", topic), 3000) == 0 && number_at("failed") == 0;
}

/* Waits until this broker leads (0: none does) and so many replicas are in sync. */
static void await_leader(kabi_admin_t *a, const char *topic, int leader, int in_sync) {
  int64_t end = now_ms() + patience(50000);
  int leads = -1, alive = -1;
  while (now_ms() < end) {
    poll(NULL, 0, 50); /* brokers tell nobody of a change */
    if (!look(a, topic)) continue;
    leads = is_null("topics/0/partitions/0/leader") ? 0 : (int)number_at("topics/0/partitions/0/leader/id");
    alive = (int)count_at("topics/0/partitions/0/in_sync");
    if (leads == leader && (leader == 0 || alive == in_sync)) return;
  }
  note("broker %d leads, %d in sync, instead of %d, %d", leads, alive, leader, in_sync);
  MUST(!"the leader is as wanted");
}

/* How the election of the partition fared; repeated while the controller moves. */
static kabi_status_t elect(kabi_admin_t *a, const char *kind, const char *topic) {
  const char *arguments = say("{\"election\":\"%s\",\"partitions\":[{\"topic\":\"%s\",\"partition\":0}]}", kind, topic);
  int64_t end = now_ms() + patience(50000);
  while (try_ask(a, "leaders_elect", arguments, 10000) != 0) MUST(now_ms() < end);
  CHECK_EQ(1, count_at("partitions"));
  CHECK_TEXT(topic, text_at("partitions/0/topic"));
  return (kabi_status_t)number_at("partitions/0/status/code");
}

static const char *placed(kabi_admin_t *a, const char *replicas, const char *configs) {
  const char *topic = fresh("election");
  ask(a, "topics_create", say("{\"topics\":[{\"topic\":\"%s\",\"placement\":[[%s]],\"configs\":{%s}}]}", topic, replicas, configs));
  CHECK_EQ(0, number_at("failed"));
  return topic;
}

TEST(the_preferred_replica_leads_again_after_an_election) {
  broker("start", "three", NULL);
  kabi_admin_t *a = new_admin(THREE);
  const char *topic = placed(a, "2,3,1", "");
  await_leader(a, topic, 2, 3);
  CHECK_EQ(KABI_STATUS_ELECTION_NOT_NEEDED, elect(a, "preferred", topic));
  kabi_producer_t *producer = new_producer(THREE, "acks", "all", NULL);
  fill(producer, topic, 0, 0, 100);
  broker("kill", "three", "2");
  await_leader(a, topic, 3, 2);
  CHECK_EQ(KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE, elect(a, "preferred", topic));
  fill(producer, topic, 0, 100, 100);
  broker("start", "three", "2");
  await_leader(a, topic, 3, 3); /* in sync again, but nothing moves by itself */
  CHECK_EQ(0, elect(a, "preferred", topic));
  await_leader(a, topic, 2, 3);
  fill(producer, topic, 0, 200, 100); /* the producer finds it */
  close_producer(producer);
  close_admin(a);

  kabi_consumer_t *consumer = new_consumer(THREE, NULL, NULL);
  static seen_t seen[300];
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 300) == 300);
  for (int i = 0; i < 300; i++) CHECK(seen[i].code == 0 && seen[i].number == i && seen[i].offset == i);
  close_consumer(consumer);
}

/* The only replica in sync is dead, the other has missed what came last: it leads only when asked for, and what it missed is gone. */
TEST(a_replica_that_is_not_in_sync_leads_after_an_unclean_election) {
  broker("start", "three", NULL);
  kabi_admin_t *a = new_admin(THREE);
  const char *topic = placed(a, "2,3", "\"min.insync.replicas\":\"1\"");
  await_leader(a, topic, 2, 2);
  kabi_producer_t *producer = new_producer(THREE, "acks", "all", NULL);
  fill(producer, topic, 0, 0, 10);
  broker("kill", "three", "2");
  await_leader(a, topic, 3, 1);
  fill(producer, topic, 0, 10, 5);
  close_producer(producer);
  broker("kill", "three", "3");
  broker("start", "three", "2");
  await_leader(a, topic, 0, 0);
  CHECK_EQ(KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE, elect(a, "preferred", topic));
  CHECK_EQ(0, elect(a, "unclean", topic));
  await_leader(a, topic, 2, 1);

  kabi_consumer_t *consumer = new_consumer(THREE, NULL, "enable.partition.eof", "true", NULL);
  seen_t seen[10];
  assign(consumer, topic, 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 10) == 10);
  for (int i = 0; i < 10; i++) CHECK(seen[i].code == 0 && seen[i].number == i);
  int64_t low = -1, high = -1;
  OK(kabi_consumer_watermarks(consumer, consumer_topic_of(consumer, topic), 0, patience(20000), &low, &high, ERR));
  CHECK_EQ(10, high);
  close_consumer(consumer);
  close_admin(a);
  broker("start", "three", "3");
}
