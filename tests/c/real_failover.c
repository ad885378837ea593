/* The leader of partitions is killed under load; with acks=all nothing is lost. Profiles: three
   Time goes into the brokers, which are not killed twice. Modes: plain */
#include "load.h"

static void *kill_node(void *node) {
  broker("kill", "three", (const char *)node);
  return NULL;
}

TEST(a_killed_leader_loses_nothing) {
  enum { COUNT = 75000 };
  static char node[] = "1";
  const char *name = fresh("failover");
  broker("start", "three", NULL); /* the node that an earlier run has left dead */
  real_topic("three", name, 6, NULL);
  static unsigned char times[COUNT];
  load_t load = {new_producer(THREE, "acks", "all", NULL), -1, 6, 0, 0, 0, 0, times};
  load.topic = topic_of(load.producer, name);
  load_send(&load, COUNT / 4);
  load_flows(&load);
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, kill_node, node) == 0);
  load_send(&load, COUNT);
  pthread_join(thread, NULL);
  load_check(&load);
  close_producer(load.producer);
  load_read_back(&load, THREE, name);
}
