/* A Kafka to try things against: prints its address and serves it to any process until standard input ends.
   Usage: cluster [TOPIC PARTITIONS]... */
#include <string.h>

#include <kafkabi.h>

#include "check.h"

int main(int argc, char **argv) {
  kabi_error_t error = KABI_ERROR_INIT;
  char bootstrap[256];
  size_t length;

  kabi_cluster_t *cluster;
  CHECK(kabi_cluster_new(3, &cluster, &error)); /* three brokers inside this process */
  for (int i = 1; i + 1 < argc; i += 2) {
    CHECK(kabi_cluster_topic_create(cluster, argv[i], atoi(argv[i + 1]), 3, &error));
  }
  CHECK(kabi_cluster_bootstrap(cluster, bootstrap, sizeof bootstrap, &length, &error));
  printf("%s\n", bootstrap);
  fflush(stdout);

  while (getchar() != EOF) continue;
  kabi_cluster_free(cluster);
  return EXIT_SUCCESS;
}
