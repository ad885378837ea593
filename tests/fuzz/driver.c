/* Runs a fuzz target where there is no libFuzzer: mutates its seeds with a pseudo-random generator, the same way each time.
   usage: fuzz_X SECONDS [SEED] [CURRENT]   CURRENT is a file that always holds the input in work, for after a crash
          fuzz_X --seeds DIRECTORY          writes the seeds as files, for libFuzzer
          fuzz_X --replay FILE... */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;

static uint64_t random_number(void) { /* xorshift64* */
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1dull;
}

static size_t below(size_t bound) { return bound == 0 ? 0 : (size_t)(random_number() >> 16) % bound; }

/* Numbers that catch errors of length and sign, in 1, 2, 4 or 8 bytes. */
static void put_number(uint8_t *data, size_t size) {
  static const int64_t numbers[] = {0, 1, -1, 2, -2, 7, 8, 63, 64, 65, 72, 127, 128, 255, 256, 4096, 32767, 32768, 65535, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  size_t width = (size_t)1 << below(4);
  if (size < width) return;
  int64_t number = numbers[below(sizeof numbers / sizeof numbers[0])] + (int64_t)below(3) - 1;
  size_t at = below(size - width + 1);
  if (below(2) != 0) at = at / width * width;
  memcpy(data + at, &number, width);
}

static size_t mutate(uint8_t *data, size_t size) {
  uint8_t other[FUZZ_MAX];
  size_t at = below(size), length = 1 + below(below(4) != 0 ? 8 : size + 1);
  switch (below(8)) {
    case 0: if (size > 0) data[at] ^= (uint8_t)(1u << below(8)); break;
    case 1: if (size > 0) data[at] = (uint8_t)random_number(); break;
    case 2:
    case 3: put_number(data, size); break;
    case 4: /* cut out */
      if (at + length > size) length = size - at;
      memmove(data + at, data + at + length, size - at - length);
      size -= length;
      break;
    case 5: /* double a part */
      if (at + length > size) length = size - at;
      if (size + length > FUZZ_MAX) break;
      memmove(data + at + length, data + at, size - at);
      size += length;
      break;
    case 6: size = at; break; /* truncate */
    default: { /* the tail of another seed */
      unsigned count = 0;
      while (fuzz_seed(count, other) > 0) count++;
      size_t theirs = fuzz_seed((unsigned)below(count), other), from = below(theirs);
      if (at + theirs - from > FUZZ_MAX) break;
      memcpy(data + at, other + from, theirs - from);
      size = at + theirs - from;
    }
  }
  return size;
}

static int write_seeds(const char *directory) {
  uint8_t data[FUZZ_MAX];
  char path[4096];
  size_t size;
  for (unsigned n = 0; (size = fuzz_seed(n, data)) > 0; n++) {
    snprintf(path, sizeof path, "%s/seed-%u", directory, n);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) return 1;
  }
  return 0;
}

static int replay(const char *path) {
  static uint8_t data[1 << 20];
  FILE *file = fopen(path, "rb");
  if (file == NULL) return 1;
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  LLVMFuzzerTestOneInput(data, size);
  return 0;
}

/* A file in memory that survives a crash: its size, then the input. */
static uint8_t *current_input(const char *path) {
  int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  RULE(fd >= 0 && ftruncate(fd, FUZZ_MAX + 8) == 0);
  void *map = mmap(NULL, FUZZ_MAX + 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  RULE(map != MAP_FAILED);
  return (uint8_t *)map;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
  if (argc >= 3 && strcmp(argv[1], "--replay") == 0) {
    for (int i = 2; i < argc; i++)
      if (replay(argv[i]) != 0) return 1;
    return 0;
  }
  time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 30);
  state = argc > 2 ? strtoull(argv[2], NULL, 10) * 2 + 1 : 4711;
  uint8_t *current = argc > 3 ? current_input(argv[3]) : NULL;
  uint8_t data[FUZZ_MAX];
  uint64_t runs = 0;
  unsigned count = 0;
  for (size_t size; (size = fuzz_seed(count, data)) > 0; count++) LLVMFuzzerTestOneInput(data, size);
  while (time(NULL) < end) {
    for (int i = 0; i < 100; i++, runs++) {
      size_t size = fuzz_seed((unsigned)below(count), data), mutations = 1 + below(8);
      while (mutations-- > 0) size = mutate(data, size);
      if (current != NULL) {
        uint64_t length = size;
        memcpy(current, &length, sizeof length);
        memcpy(current + 8, data, size);
      }
      LLVMFuzzerTestOneInput(data, size);
    }
  }
  printf("%llu inputs\n", (unsigned long long)runs);
  return 0;
}
