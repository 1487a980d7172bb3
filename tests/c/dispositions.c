/* HZ-F14: loading the library, using it and unloading it changes no signal disposition. It is loaded
 * at run time here, so that what was before can be seen: dispositions LIBRARY. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { SIGNALS = 65 };

typedef int32_t status;
typedef status (*gate_new)(uint64_t, void **);
typedef status (*gate_acquire)(const void *, uint64_t, int64_t);
typedef status (*gate_grant)(const void *, uint64_t);
typedef status (*gate_release)(void *);
typedef status (*debug_panic)(const void *);

/* ISO C has no cast from an object pointer to a function pointer; POSIX has dlsym. */
static int find(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static void record(struct sigaction *out) {
  int number;
  for (number = 1; number < SIGNALS; number++) {
    memset(&out[number], 0, sizeof out[number]);
    sigaction(number, NULL, &out[number]);
  }
}

static int differences(const struct sigaction *before, const char *when) {
  struct sigaction after[SIGNALS];
  int number, count = 0;
  record(after);
  for (number = 1; number < SIGNALS; number++) {
    if (before[number].sa_handler != after[number].sa_handler ||
        before[number].sa_flags != after[number].sa_flags) {
      fprintf(stderr, "FAILED dispositions: signal %d changed %s\n", number, when);
      count += 1;
    }
  }
  return count;
}

static gate_acquire acquire;

static void *wait_for_credit(void *gate) {
  return (void *)(intptr_t)acquire(gate, 1, -1);
}

int main(int argc, char **argv) {
  struct sigaction before[SIGNALS];
  gate_new make;
  gate_grant grant;
  gate_release release;
  debug_panic panics;
  pthread_t thread;
  void *library, *gate = NULL, *answer = (void *)1;
  int failed = 0;
  record(before);
  library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (library == NULL || !find(library, "sluice_gate_new", &make) ||
      !find(library, "sluice_gate_acquire", &acquire) ||
      !find(library, "sluice_gate_grant", &grant) ||
      !find(library, "sluice_gate_release", &release) ||
      !find(library, "sluice_debug_panic", &panics)) {
    fprintf(stderr, "FAILED dispositions: %s\n", dlerror());
    printf("dispositions: 0 passed, 1 failed\n");
    return 1;
  }
  failed += differences(before, "by loading") != 0;
  failed += make(0, &gate) != 0 || pthread_create(&thread, NULL, wait_for_credit, gate) != 0 ||
            grant(gate, 1) != 0 || pthread_join(thread, &answer) != 0 || answer != NULL ||
            release(gate) != 0 || panics(NULL) == 0;
  failed += differences(before, "by use") != 0;
  failed += dlclose(library) != 0;
  failed += differences(before, "by unloading") != 0;
  printf("dispositions: %d passed, %d failed\n", 5 - failed, failed);
  return failed == 0 ? 0 : 1;
}
