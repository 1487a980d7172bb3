/* Replays tests/conformance through the C ABI: conformance FOLDER. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

static bool replay_way(const char *root, way way, const char *primitive, const report *pure) {
  const char *repeat = getenv("SLUICEGATE_REPEAT");
  long rounds = repeat == NULL ? 1 : strtol(repeat, NULL, 10);
  report waiting;
  memset(&waiting, 0, sizeof waiting);
  for (; rounds > 0 && waiting.failures == 0; rounds--) {
    waiting.scripts = waiting.steps = 0;
    replay_folder(root, "waiting", way, &waiting);
  }
  printf("conformance c | %s: pure %u scripts %u steps, waiting %u scripts %u steps, %u failures\n",
         primitive, pure->scripts, pure->steps, waiting.scripts, waiting.steps,
         pure->failures + waiting.failures);
  return pure->failures + waiting.failures == 0;
}

int main(int argc, char **argv) {
  report pure;
  bool good;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  memset(&pure, 0, sizeof pure);
  replay_folder(argv[1], "pure", WAY_CONDVAR, &pure);
  good = replay_way(argv[1], WAY_CONDVAR, "pthread condition", &pure);
  good = replay_way(argv[1], WAY_BLOCKING, "blocking call", &pure) && good;
  good = broken_are_refused(argv[1]) && good;
  if (good && sluice_live_handles() != 0) {
    fprintf(stderr, "%llu handles were not released\n", (unsigned long long)sluice_live_handles());
    good = false;
  }
  return good ? 0 : 1;
}
