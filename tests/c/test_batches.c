/* Record batches as they are stored, and what consumers read out of them: in polls of any size, from any offset on. */
#include "batches.h"

static seen_t seen[1000];

/* Takes a batch of records of these offsets, which their texts tell too, from `next` on; tells where it ends. */
static size_t read_on(kabi_consumer_t *consumer, size_t at_once, const int64_t *offsets, size_t next, size_t count) {
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, at_once, &batch, &info);
  MUST(info.count >= 1 && info.count <= at_once && next + info.count <= count);
  for (size_t i = 0; i < info.count; i++, next++) {
    CHECK_EQ(offsets[next], info.records[i].offset);
    CHECK_EQ(offsets[next], number_of(&info.records[i]));
  }
  kabi_batch_free(batch);
  return next;
}

TEST(polls_of_any_size_read_a_batch) {
  int64_t offsets[100];
  start();
  for (int i = 0; i < 100; i++) offsets[i] = i;
  for (int i = 0; i < 5; i++) put_batch(&made, i * 20, i * 20, 20);
  set_number(made.data + AT_COUNT, 4, 20);
  append(cluster, "stored", &made); /* counts for 20 records */
  bytes_t more = {{0}, 0};
  put_batch(&more, 0, 20, 80);
  append(cluster, "stored", &more);
  static const size_t sizes[] = {1, 3, 7, 19, 20, 21, 64, 1000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
    for (size_t next = 0; next < 100;) {
      next = read_on(consumer, sizes[s], offsets, next, 100);
      CHECK_EQ(next, position_of(consumer, "stored", 0));
    }
    close_consumer(consumer);
  }
  kabi_cluster_free(cluster);
}

TEST(a_batch_is_entered_at_any_offset) {
  start();
  put_batch(&made, 0, 0, 20);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  for (int from = 19; from >= 0; from--) {
    assign(consumer, "stored", 0, from);
    MUST(take(consumer, seen, (size_t)(20 - from)) == (size_t)(20 - from));
    for (int i = from; i < 20; i++) expect(&seen[i - from], i, i);
  }
  end(consumer);
}

/* As compaction leaves them. */
TEST(batches_with_holes) {
  start();
  put_batch(&made, 0, 0, 10);
  size_t holed = begin_batch(&made, 20, 1000);
  put_record(&made, 0, 0, NULL, "20", NULL);
  put_record(&made, 3, 0, NULL, "23", NULL);
  put_record(&made, 7, 0, NULL, "27", NULL);
  put_record(&made, 8, 0, NULL, "28", NULL);
  end_batch(&made, holed, 4, 9, 0);
  append(cluster, "stored", &made); /* counts for 10 records */
  made.size = 0;
  put_batch(&made, 0, 0, 20); /* read already: up to the same end */
  append(cluster, "stored", &made);
  made.size = 0;
  put_batch(&made, 0, 30, 5);
  append(cluster, "stored", &made);
  static const int64_t offsets[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 23, 27, 28, 30, 31, 32, 33, 34};
  enum { COUNT = sizeof offsets / sizeof *offsets };
  static const size_t sizes[] = {1, 12, 100};
  for (int s = 0; s < 3; s++) {
    kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
    for (size_t next = 0; next < COUNT;) next = read_on(consumer, sizes[s], offsets, next, COUNT);
    poll_empty(consumer, 0);
    close_consumer(consumer);
  }
  kabi_cluster_free(cluster);
}

TEST(keys_values_and_headers_of_any_kind) {
  start();
  bytes_t headers = {{0}, 0};
  put_varint(&headers, 3);
  put_text(&headers, "one");
  put_text(&headers, "1");
  put_text(&headers, "");
  put_text(&headers, NULL);
  put_text(&headers, "one");
  put_text(&headers, "");
  size_t batch = begin_batch(&made, 0, 5000);
  put_record(&made, 0, -1, NULL, NULL, &headers);
  put_record(&made, 1, 0, "", "", NULL);
  put_record(&made, 2, 70000, "key", "value", &headers);
  put_record(&made, 3, 1, "k", NULL, NULL);
  end_batch(&made, batch, 4, 3, 0);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  kabi_batch_t *taken;
  kabi_batch_info_t info;
  take_batch(consumer, 10, &taken, &info);
  MUST(info.count == 4);
  const kabi_record_t *r = info.records;
  CHECK(r[0].key == NULL && r[0].value == NULL && r[0].key_length == 0 && r[0].value_length == 0);
  CHECK(r[1].key != NULL && r[1].value != NULL && r[1].key_length == 0 && r[1].value_length == 0);
  CHECK(r[2].key_length == 3 && memcmp(r[2].key, "key", 3) == 0 && r[2].value_length == 5 && memcmp(r[2].value, "value", 5) == 0);
  CHECK(r[3].key_length == 1 && r[3].value == NULL);
  static const int64_t times[] = {4999, 5000, 75000, 5001};
  for (size_t i = 0; i < 4; i++) {
    kabi_header_t found[3];
    size_t count;
    CHECK_EQ(times[i], r[i].timestamp);
    CHECK_EQ(KABI_TIMESTAMP_CREATE, r[i].timestamp_type);
    for (int twice = 0; twice < 2; twice++) {
      OK(kabi_batch_headers(taken, i, found, 3, &count, ERR));
      CHECK_EQ(i % 2 == 0 ? 3 : 0, count);
      if (count != 3) continue;
      CHECK(strcmp(found[0].name, "one") == 0 && found[0].name_length == 3 && memcmp(found[0].value, "1", 1) == 0);
      CHECK(strcmp(found[1].name, "") == 0 && found[1].value == NULL && found[1].value_length == 0);
      CHECK(strcmp(found[2].name, "one") == 0 && found[2].value != NULL && found[2].value_length == 0);
    }
  }
  kabi_batch_free(taken);
  end(consumer);
}

TEST(the_broker_may_have_set_the_time) {
  start();
  put_batch(&made, 0, 0, 10);
  set_number(made.data + AT_ATTRIBUTES, 2, LOG_APPEND);
  set_number(made.data + AT_MAX_TIME, 8, 123456);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  kabi_batch_t *batch;
  kabi_batch_info_t info;
  take_batch(consumer, 100, &batch, &info);
  CHECK_EQ(10, info.count);
  for (size_t i = 0; i < info.count; i++) {
    CHECK_EQ(123456, info.records[i].timestamp);
    CHECK_EQ(KABI_TIMESTAMP_LOG_APPEND, info.records[i].timestamp_type);
  }
  kabi_batch_free(batch);
  end(consumer);
}

TEST(an_end_that_is_told_moves_no_position) {
  start();
  put_batch(&made, 0, 0, 10);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "enable.partition.eof", "true", NULL);
  int64_t offset;
  assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 10) == 10);
  CHECK_EQ(KABI_STATUS_PARTITION_EOF, take_one(consumer, &offset));
  for (int64_t until = now_ms() + 1200; now_ms() < until;) poll_empty(consumer, 100); /* librdkafka's position is looked at now and then */
  CHECK_EQ(10, position_of(consumer, "stored", 0));
  kabi_partition_t here = partition_of(consumer_topic_of(consumer, "stored"), 0, 0);
  OK(kabi_consumer_pause(consumer, &here, 1, ERR));
  made.size = 0;
  put_batch(&made, 0, 10, 5);
  append(cluster, "stored", &made);
  OK(kabi_consumer_resume(consumer, &here, 1, ERR));
  MUST(take(consumer, seen, 1) == 1);
  expect(seen, 10, 10);
  end(consumer);
}

TEST(a_reset_takes_the_position_back) {
  start();
  put_batch(&made, 0, 0, 100);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer =
      new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "auto.offset.reset", "earliest", NULL);
  assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 100) == 100);
  /* Two: librdkafka takes the first answer at the end of a partition for that, whatever it says. */
  OK(kabi_cluster_inject_broker_errors(cluster, 1, KABI_REQUEST_FETCH, KABI_STATUS_OFFSET_OUT_OF_RANGE, 0, 2, ERR));
  MUST(take(consumer, seen, 5) == 5);
  for (int i = 0; i < 5; i++) expect(&seen[i], i, i);
  pause_and_resume(consumer, "stored");
  MUST(take(consumer, seen, 95) == 95);
  for (int i = 0; i < 95; i++) expect(&seen[i], 5 + i, 5 + i);
  end(consumer);
}

TEST(pauses_and_seeks_amid_a_batch) {
  start();
  put_batch(&made, 0, 0, 100);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  kabi_partition_t here = partition_of(consumer_topic_of(consumer, "stored"), 0, 0);
  for (int i = 0; i < 50; i++) {
    MUST(take(consumer, seen, 1) == 1);
    expect(seen, i, i);
    OK(kabi_consumer_pause(consumer, &here, 1, ERR));
    poll_empty(consumer, 0);
    OK(kabi_consumer_resume(consumer, &here, 1, ERR));
  }
  for (int i = 98; i >= 0; i -= 7) {
    here.offset = i;
    MUST_OK(kabi_consumer_seek(consumer, &here, 1, patience(10000), ERR));
    MUST(take(consumer, seen, 2) == 2);
    expect(&seen[0], i, i);
    expect(&seen[1], i + 1, i + 1);
  }
  end(consumer);
}

/* The offset up to which is fetched, once statistics have shown it, at least this one, ten times in a row. */
static int64_t fetched_up_to(kabi_consumer_t *consumer, int64_t least) {
  static uint8_t text[1 << 20];
  int64_t give_up = now_ms() + patience(20000), last = -1;
  for (int times = 0; times < 10 && now_ms() < give_up;) {
    kabi_event_t event;
    size_t count = 0, used;
    OK(kabi_consumer_drain(consumer, patience(5000), &event, 1, &count, text, sizeof text, &used, ERR));
    if (count == 0 || event.kind != KABI_EVENT_STATISTICS) continue;
    const char *at = strstr((const char *)text, "\"partition\":0");
    if (at == NULL || (at = strstr(at, "\"next_offset\":")) == NULL) continue;
    int64_t next = strtoll(at + strlen("\"next_offset\":"), NULL, 10);
    times = next == last && next >= least ? times + 1 : 0;
    last = next;
  }
  return last;
}

TEST(no_more_is_fetched_ahead_than_asked_for) {
  start();
  for (int i = 0; i < 20; i++) {
    made.size = 0;
    put_batch(&made, 0, i * 100, 100);
    append(cluster, "stored", &made);
  }
  kabi_consumer_t *consumer = new_consumer(bootstrap(cluster), NULL, "fetch.wait.max.ms", "10", "fetch.message.max.bytes", "1000",
                                           "queued.min.messages", "250", "fetch.queue.backoff.ms", "1", "statistics.interval.ms", "20",
                                           NULL);
  assign(consumer, "stored", 0, KABI_OFFSET_BEGINNING);
  MUST(take(consumer, seen, 1) == 1);
  CHECK_EQ(300, fetched_up_to(consumer, 300)); /* 99 and 199 that wait are too few, 299 are not */
  MUST(take(consumer, seen, 60) == 60);            /* 239 wait */
  CHECK_EQ(400, fetched_up_to(consumer, 400));
  MUST(take(consumer, seen, 939) == 939);
  expect(&seen[938], 999, 999);
  end(consumer);
}

TEST(batches_outlive_what_comes_after) {
  start();
  put_batch(&made, 0, 0, 100);
  append(cluster, "stored", &made);
  kabi_consumer_t *consumer = reader(KABI_OFFSET_BEGINNING);
  kabi_batch_t *batches[100];
  kabi_batch_info_t infos[100];
  for (int i = 0; i < 100; i++) take_batch(consumer, 1, &batches[i], &infos[i]);
  close_consumer(consumer);
  for (int i = 0; i < 100; i++) {
    CHECK_EQ(i, number_of(&infos[i].records[0]));
    kabi_batch_free(batches[i]);
  }
  kabi_cluster_free(cluster);
}
