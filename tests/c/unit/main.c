/* Runs every case, or those whose name holds the first argument. As `--cartridge` it is a cartridge. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { CASE_SECONDS = 600 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned failures;

void check_failed(const char *file, int line, const char *what, const char *detail) {
  pthread_mutex_lock(&mutex);
  failures += 1;
  if (failures <= 20) {
    fprintf(stderr, "  %s:%d: %s %s\n", file, line, what, detail);
  }
  pthread_mutex_unlock(&mutex);
}

void check_ok_with(const char *file, int line, const char *what, sluice_status status,
                   sluice_error *err) {
  const char *text = sluice_status_name(status);
  if (status == SLUICE_OK) {
    return;
  }
  if (err != NULL) {
    sluice_error_text(err, &text, NULL);
  }
  check_failed(file, line, what, text);
  sluice_error_release(err);
}

int check_rounds(int rounds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return rounds < 10 ? rounds : rounds / 10;
#else
  return rounds;
#endif
}

/* As many handles as before: threads of the library may still give back what they had. */
static bool all_are_back(uint64_t before) {
  const struct timespec began = monotonic_now();
  while (sluice_live_handles() != before) {
    if (millis_since(began) > WAIT_MS) {
      return false;
    }
    sched_yield();
  }
  return true;
}

static unsigned run_cases(const check_case *cases, const char *filter, unsigned *failed) {
  unsigned passed = 0;
  for (; cases->name != NULL; cases++) {
    unsigned before;
    uint64_t handles;
    if (strstr(cases->name, filter) == NULL) {
      continue;
    }
    before = failures;
    handles = sluice_live_handles();
    alarm(CASE_SECONDS); /* a case that hangs ends the program */
    cases->run();
    alarm(0);
    if (!all_are_back(handles)) {
      check_failed(cases->name, 0, "handles were left behind", "");
    }
    if (failures == before) {
      passed += 1;
    } else {
      *failed += 1;
      fprintf(stderr, "FAILED %s\n", cases->name);
    }
  }
  return passed;
}

int says(sluice_item *item, const char *what) {
  char text[65536];
  const char *bytes = NULL;
  size_t len = 0;
  CHECK_OK(sluice_item_text(item, &bytes, &len));
  CHECK(len < sizeof text);
  len = len < sizeof text ? len : sizeof text - 1;
  if (bytes != NULL) {
    memcpy(text, bytes, len);
  }
  text[len] = '\0';
  CHECK_OK(sluice_item_release(item));
  return strstr(text, what) != NULL;
}

int main(int argc, char **argv) {
  static const check_case *const files[] = {abi_cases,    handle_cases, gate_cases, waker_cases,
                                            panic_cases,  fork_cases,   signal_cases, stream_cases,
                                            call_cases,   process_cases, feed_cases, limit_cases,
                                            flow_cases, flow_stage_cases, flow_more_cases,
                                            flow_wire_cases, flow_expect_cases, flow_io_cases,
                                            flow_table_cases, flow_op_cases, flow_plan_cases,
                                            flow_fault_cases, relay_cases, loss_cases, matcher_cases,
                                            law_cases};
  const char *filter = argc > 1 ? argv[1] : "";
  unsigned passed = 0, failed = 0;
  size_t i;
  if (strcmp(filter, "--cartridge") == 0) {
    sluice_cartridge *cartridge = test_cartridge();
    const sluice_status status = sluice_cartridge_run_stdio(cartridge, NULL);
    sluice_cartridge_release(cartridge);
    return status == SLUICE_OK ? 0 : 1;
  }
  for (i = 0; i < sizeof files / sizeof files[0]; i++) {
    passed += run_cases(files[i], filter, &failed);
  }
  printf("unit: %u passed, %u failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
