/* Counts allocations of threads named quern-cpu-N, between the first and the second access(COUNT_MALLOC_MARK).
   Preloaded by steady-state.mjs. At process end it writes to the file named by COUNT_MALLOC: the number of marks, and
   one line per thread (name, count). glibc. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { threads = 64 };
static atomic_long counts[threads];
static atomic_int marks;

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static void count(void) {
  if (marks != 1) return;
  char name[16] = "";
  prctl(PR_GET_NAME, name);
  if (strncmp(name, "quern-cpu-", 10) != 0) return;
  const int thread = atoi(name + 10);
  if (thread >= 0 && thread < threads) counts[thread]++;
}

void *malloc(size_t bytes) { return count(), __libc_malloc(bytes); }
void *calloc(size_t number, size_t bytes) { return count(), __libc_calloc(number, bytes); }
void *realloc(void *memory, size_t bytes) { return count(), __libc_realloc(memory, bytes); }
void *memalign(size_t alignment, size_t bytes) { return count(), __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

int access(const char *path, int mode) {
  const char *const mark = getenv("COUNT_MALLOC_MARK");
  if (mark && strcmp(path, mark) == 0) marks++;
  return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

__attribute__((destructor)) static void report(void) {
  const char *const path = getenv("COUNT_MALLOC");
  FILE *const out = path ? fopen(path, "w") : NULL;
  if (!out) return;
  fprintf(out, "marks %d\n", (int)marks);
  for (int thread = 0; thread < threads; thread++)
    if (counts[thread]) fprintf(out, "quern-cpu-%d %ld\n", thread, (long)counts[thread]);
  fclose(out);
}
