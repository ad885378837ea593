/* What needs no client: versions, the check of header against library, error names and texts, the error record. */
#include "harness.h"

static void sizes_of_records(uint32_t sizes[8]) {
  const uint32_t right[8] = {sizeof(kabi_batch_info_t), sizeof(kabi_error_t), sizeof(kabi_event_t), sizeof(kabi_header_t),
                             sizeof(kabi_message_t), sizeof(kabi_packed_t), sizeof(kabi_partition_t), sizeof(kabi_record_t)};
  memcpy(sizes, right, sizeof right);
}

TEST(records_have_the_sizes_of_the_contract) {
  CHECK_EQ(64, sizeof(kabi_batch_info_t));
  CHECK_EQ(512, sizeof(kabi_error_t));
  CHECK_EQ(96, sizeof(kabi_event_t));
  CHECK_EQ(32, sizeof(kabi_header_t));
  CHECK_EQ(88, sizeof(kabi_message_t));
  CHECK_EQ(64, sizeof(kabi_packed_t));
  CHECK_EQ(48, sizeof(kabi_partition_t));
  CHECK_EQ(72, sizeof(kabi_record_t));
}

TEST(versions) {
  CHECK_EQ(KABI_ABI_VERSION, kabi_abi_version());
  CHECK_TEXT("0.1.0", kabi_version());
  CHECK(strncmp(kabi_librdkafka_version(), "2.12.1", 6) == 0);
  CHECK(kabi_version() == kabi_version()); /* static memory */
}

TEST(abi_check_accepts_the_header_it_came_with) {
  uint32_t sizes[8];
  sizes_of_records(sizes);
  OK(kabi_abi_check(KABI_ABI_VERSION, sizes, 8, ERR));
  OK(kabi_abi_check(KABI_ABI_VERSION, sizes, 8, NULL));
}

TEST(abi_check_refuses_another_version) {
  uint32_t sizes[8];
  sizes_of_records(sizes);
  GIVES(KABI_STATUS_ABI, kabi_abi_check(KABI_ABI_VERSION + 0x10000, sizes, 8, ERR)); /* the next major */
  GIVES(KABI_STATUS_ABI, kabi_abi_check(KABI_ABI_VERSION - 0x10000, sizes, 8, ERR)); /* the one before */
  GIVES(KABI_STATUS_ABI, kabi_abi_check(KABI_ABI_VERSION + 1, sizes, 8, ERR)); /* a newer header may call what this lacks */
  GIVES(KABI_STATUS_ABI, kabi_abi_check(0, sizes, 8, NULL));
  GIVES(KABI_STATUS_ABI, kabi_abi_check(UINT32_MAX, sizes, 8, ERR));
}

TEST(abi_check_refuses_wrong_sizes) {
  uint32_t sizes[9] = {0};
  for (int i = 0; i < 8; i++) {
    sizes_of_records(sizes);
    sizes[i] += 8;
    GIVES(KABI_STATUS_ABI, kabi_abi_check(KABI_ABI_VERSION, sizes, 8, ERR));
    sizes[i] -= 16;
    GIVES(KABI_STATUS_ABI, kabi_abi_check(KABI_ABI_VERSION, sizes, 8, ERR));
  }
  sizes_of_records(sizes);
  sizes[8] = 8;
  CHECK(kabi_abi_check(KABI_ABI_VERSION, sizes, 9, ERR) != 0); /* a record the library does not know */
  CHECK(kabi_abi_check(KABI_ABI_VERSION, sizes, SIZE_MAX, ERR) != 0);
  GIVES(KABI_STATUS_ARGUMENT, kabi_abi_check(KABI_ABI_VERSION, NULL, 8, ERR));
}

typedef struct code_name_t { int32_t code; const char *name; } code_name_t;

TEST(own_codes_have_names_and_texts) {
  static const code_name_t own[] = {
      {KABI_STATUS_OK, "OK"}, {KABI_STATUS_HANDLE, "HANDLE"}, {KABI_STATUS_CLOSED, "CLOSED"}, {KABI_STATUS_WRONG_TYPE, "WRONG_TYPE"},
      {KABI_STATUS_ARGUMENT, "ARGUMENT"}, {KABI_STATUS_BUFFER_TOO_SMALL, "BUFFER_TOO_SMALL"}, {KABI_STATUS_FORKED, "FORKED"},
      {KABI_STATUS_REENTERED, "REENTERED"}, {KABI_STATUS_BUSY, "BUSY"}, {KABI_STATUS_CALLBACK_FAILED, "CALLBACK_FAILED"},
      {KABI_STATUS_INTERRUPTED, "INTERRUPTED"}, {KABI_STATUS_PANIC, "PANIC"}, {KABI_STATUS_SYSTEM, "SYSTEM"}, {KABI_STATUS_ABI, "ABI"}};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
    CHECK_TEXT(own[i].name, kabi_error_name(own[i].code));
    CHECK(strlen(kabi_error_text(own[i].code)) > 0);
  }
}

TEST(codes_of_librdkafka_and_brokers_have_names_and_texts) {
  static const code_name_t codes[] = {
      {-199, "BAD_MSG"}, {-198, "BAD_COMPRESSION"}, {-197, "DESTROY"}, {-196, "FAIL"}, {-195, "TRANSPORT"}, {-193, "RESOLVE"},
      {KABI_STATUS_MSG_TIMED_OUT, "MSG_TIMED_OUT"}, {KABI_STATUS_PARTITION_EOF, "PARTITION_EOF"},
      {KABI_STATUS_UNKNOWN_PARTITION, "UNKNOWN_PARTITION"}, {KABI_STATUS_UNKNOWN_TOPIC, "UNKNOWN_TOPIC"}, {-187, "ALL_BROKERS_DOWN"},
      {-186, "INVALID_ARG"}, {KABI_STATUS_TIMED_OUT, "TIMED_OUT"}, {KABI_STATUS_QUEUE_FULL, "QUEUE_FULL"}, {-181, "SSL"},
      {KABI_STATUS_STATE, "STATE"}, {KABI_STATUS_NO_OFFSET, "NO_OFFSET"}, {KABI_STATUS_NOENT, "NOENT"},
      {KABI_STATUS_PURGE_QUEUE, "PURGE_QUEUE"}, {KABI_STATUS_PURGE_INFLIGHT, "PURGE_INFLIGHT"}, {-150, "FATAL"}, {-144, "FENCED"},
      {-140, "AUTO_OFFSET_RESET"}, {-1, "UNKNOWN"}, {1, "OFFSET_OUT_OF_RANGE"}, {2, "INVALID_MSG"}, {3, "UNKNOWN_TOPIC_OR_PART"},
      {5, "LEADER_NOT_AVAILABLE"}, {6, "NOT_LEADER_FOR_PARTITION"}, {7, "REQUEST_TIMED_OUT"}, {10, "MSG_SIZE_TOO_LARGE"},
      {16, "NOT_COORDINATOR"}, {17, "TOPIC_EXCEPTION"}, {19, "NOT_ENOUGH_REPLICAS"}, {20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"},
      {22, "ILLEGAL_GENERATION"}, {25, "UNKNOWN_MEMBER_ID"}, {27, "REBALANCE_IN_PROGRESS"}, {29, "TOPIC_AUTHORIZATION_FAILED"},
      {31, "CLUSTER_AUTHORIZATION_FAILED"}, {36, "TOPIC_ALREADY_EXISTS"}, {45, "OUT_OF_ORDER_SEQUENCE_NUMBER"}, {58, "SASL_AUTHENTICATION_FAILED"},
      {76, "UNSUPPORTED_COMPRESSION_TYPE"}, {89, "THROTTLING_QUOTA_EXCEEDED"}, {100, "UNKNOWN_TOPIC_ID"}};
  for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
    CHECK_TEXT(codes[i].name, kabi_error_name(codes[i].code));
    CHECK(strlen(kabi_error_text(codes[i].code)) > 0);
  }
}

TEST(every_number_has_a_name_and_a_text) {
  static const int32_t far[] = {INT32_MIN, INT32_MIN + 1, -100000, -999, 5000, INT32_MAX - 1, INT32_MAX};
  for (int32_t code = -1300; code < 1300; code++) {
    const char *name = kabi_error_name(code), *text = kabi_error_text(code);
    MUST(name != NULL && text != NULL);
    if (!is_utf8(text, strlen(text)) || text[0] == 0 || name[0] == 0 || name[0] == '_') note("code %d: \"%s\", \"%s\"", code, name, text);
    CHECK(is_utf8(text, strlen(text)) && text[0] != 0 && name[0] != 0 && name[0] != '_');
    for (const char *at = name; *at != 0; at++) CHECK((*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') || *at == '_');
  }
  for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
    CHECK_TEXT("UNKNOWN_CODE", kabi_error_name(far[i]));
    CHECK(strlen(kabi_error_text(far[i])) > 0);
  }
  CHECK_TEXT("UNKNOWN_CODE", kabi_error_name(-1000));
  CHECK_TEXT("UNKNOWN_CODE", kabi_error_name(-999));
}

TEST(an_error_of_another_size_is_never_written_to) {
  static const uint32_t sizes[] = {0, 1, 8, 16, 496, 511, 513, 1024, UINT32_MAX};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    kabi_error_t error, before;
    memset(&error, 0x5a, sizeof error);
    error.size = sizes[i];
    before = error;
    CHECK_EQ(KABI_STATUS_HANDLE, kabi_config_set(NULL, "client.id", "x", &error));
    CHECK(memcmp(&before, &error, sizeof error) == 0);
  }
}

TEST(an_error_is_filled_whole) {
  kabi_error_t error = KABI_ERROR_INIT;
  CHECK_EQ(512, error.size);
  memset(error.message, 'x', sizeof error.message);
  error.code = 17;
  error.flags = UINT32_MAX;
  CHECK_EQ(KABI_STATUS_HANDLE, kabi_config_set(NULL, "client.id", "x", &error));
  CHECK_EQ(sizeof error, error.size);
  CHECK_EQ(KABI_STATUS_HANDLE, error.code);
  CHECK_EQ(0, error.flags);
  MUST(memchr(error.message, 0, sizeof error.message) != NULL);
  CHECK(strlen(error.message) > 0 && is_utf8(error.message, strlen(error.message)));
}

/* A message that must be cut, at a place inside a character of three bytes, whatever its beginning. */
TEST(a_long_message_is_cut_between_characters) {
  kabi_config_t *config = new_config(NULL, NULL);
  static char name[1400];
  for (int shift = 0; shift < 3; shift++) {
    memset(name, 'a', (size_t)shift);
    for (int i = 0; i < 400; i++) memcpy(name + shift + 3 * i, "\xe2\x82\xac", 3); /* the euro sign */
    name[shift + 1200] = 0;
    kabi_error_t error = KABI_ERROR_INIT;
    CHECK(kabi_config_set(config, name, "x", &error) != 0);
    MUST(memchr(error.message, 0, sizeof error.message) != NULL);
    CHECK(is_utf8(error.message, strlen(error.message)));
  }
  kabi_config_free(config);
}

TEST(shutdown_with_nothing_open) {
  OK(kabi_shutdown(1000, ERR));
  OK(kabi_shutdown(0, ERR));
  OK(kabi_shutdown(0, NULL));
}

TEST(shutdown_frees_what_is_open) {
  kabi_cluster_t *cluster = new_cluster(1);
  new_topic(cluster, "left", 1);
  kabi_producer_t *producer = new_producer(bootstrap(cluster), NULL);
  fill(producer, "left", 0, 0, 10);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), "left", NULL);
  assign(consumer, "left", 0, KABI_OFFSET_BEGINNING);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 10, &batch, &info);
  kabi_config_t *config = new_config(NULL, NULL);
  int64_t start = now_ms();
  OK(kabi_shutdown(patience(20000), ERR));
  CHECK_WITHIN(20000, start);
  /* Freed: the handles are stale now. */
  GIVES(KABI_STATUS_HANDLE, kabi_producer_wake(producer, ERR));
  GIVES(KABI_STATUS_HANDLE, kabi_consumer_wake(consumer, ERR));
  kabi_producer_free(producer);
  kabi_consumer_free(consumer);
  kabi_batch_free(batch);
  kabi_config_free(config);
  kabi_cluster_free(cluster);
}
