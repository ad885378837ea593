/* Does one operation of administration and prints its answer, a JSON document.
   Usage: admin BOOTSTRAP OPERATION [ARGUMENTS]
   For example: admin localhost:9092 topics_create '{"topics":[{"topic":"orders","partitions":6}]}'
   api/admin.schema.json lists the operations, and what each takes and gives. */
#include <kafkabi.h>

#include "check.h"

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    fprintf(stderr, "usage: admin BOOTSTRAP OPERATION [ARGUMENTS]\n");
    return EXIT_FAILURE;
  }
  kabi_error_t error = KABI_ERROR_INIT;
  kabi_config_t *config;
  CHECK(kabi_config_new(&config, &error));
  CHECK(kabi_config_set(config, "bootstrap.servers", argv[1], &error));
  kabi_admin_t *admin;
  CHECK(kabi_admin_new(config, &admin, &error));
  kabi_config_free(config);

  size_t size = 4096, length;
  char *answer = (char *)malloc(size);
  uint64_t request;
  kabi_status_t status = kabi_admin_call(admin, argv[2], argc > 3 ? argv[3] : NULL, 15000, &request, answer, size, &length, &error);
  if (status == KABI_STATUS_BUFFER_TOO_SMALL) { /* it is done already: only fetch the answer */
    size = length + 1;
    answer = (char *)realloc(answer, size);
    status = kabi_admin_result(admin, request, 0, answer, size, &length, &error);
  }
  CHECK(status);
  printf("%s\n", answer);

  free(answer);
  CHECK(kabi_admin_close(admin, 10000, &error));
  kabi_admin_free(admin);
  return EXIT_SUCCESS;
}
