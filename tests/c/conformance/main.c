/* Replays tests/conformance through the C ABI: conformance FOLDER. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "hub.h"
#include "junction.h"
#include "pipeline.h"
#include "probes.h"

/* How often the waiting scripts are replayed; 0, and said on stderr, if that is not a whole number from 1. */
static long repeats(void) {
  const char *text = getenv("SLUICEGATE_REPEAT");
  char *end;
  long rounds;
  if (text == NULL) {
    return 1;
  }
  errno = 0;
  rounds = strtol(text, &end, 10);
  if (errno == 0 && end != text && *end == '\0' && rounds > 0) {
    return rounds;
  }
  fprintf(stderr, "SLUICEGATE_REPEAT is \"%s\", not a whole number from 1\n", text);
  return 0;
}

static bool replay_way(const char *root, way way, const char *primitive, long rounds,
                       const report *pure) {
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

/* The scripts of a folder whose lines and junctions are real; fewer of them, and a file has been lost. */
static bool replay_stages(const char *root, const char *folder, unsigned scripts, unsigned steps) {
  report report;
  memset(&report, 0, sizeof report);
  replay_folder(root, folder, WAY_BLOCKING, &report);
  printf("%s c: %u scripts %u steps in %d orders, %u failures\n", folder, report.scripts,
         report.steps, ORDERS, report.failures);
  if (report.scripts < scripts || report.steps < steps) {
    fprintf(stderr, "%s: fewer than %u scripts and %u steps\n", folder, scripts, steps);
    return false;
  }
  return report.failures == 0;
}

int main(int argc, char **argv) {
  report pure;
  bool good;
  const long rounds = repeats();
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  if (rounds == 0) {
    return 2;
  }
  memset(&pure, 0, sizeof pure);
  replay_folder(argv[1], "pure", WAY_CONDVAR, &pure);
  good = replay_way(argv[1], WAY_CONDVAR, "pthread condition", rounds, &pure);
  good = replay_way(argv[1], WAY_BLOCKING, "blocking call", rounds, &pure) && good;
  good = replay_stages(argv[1], "pipeline", 2000, 20000) && good;
  good = replay_stages(argv[1], "junction", 4000, 35000) && good;
  good = replay_stages(argv[1], "hub", 2500, 30000) && good;
  good = broken_are_refused(argv[1]) && good;
  good = broken_pipelines_are_refused() && good;
  good = broken_junctions_are_refused() && good;
  good = broken_hubs_are_refused() && good;
  if (good && sluice_live_handles() != 0) {
    fprintf(stderr, "%llu handles were not released\n", (unsigned long long)sluice_live_handles());
    good = false;
  }
  return good ? 0 : 1;
}
