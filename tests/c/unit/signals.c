/* Signals: they do not disturb waits (HZ-C17), and their dispositions stay as they are (HZ-F14). */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

/* A storm that prolonged a wait would do so each time; a machine that is shared is late now and then. */
enum { LIMIT_MS = 1000, SIGNALS_PER_SECOND = 1000, ATTEMPTS = 40, WINDOW = 2 };

static volatile sig_atomic_t taken;

static void take_signal(int number) {
  (void)number;
  taken = 1;
}

typedef struct waiting {
  const sluice_gate *gate;
  const sluice_input *input;
  const sluice_output *output;
  sluice_status answer;
  int64_t took_ms;
  bool done;
} waiting;

static void *wait_out(void *argument) {
  waiting *waiting = argument;
  const struct timespec began = monotonic_now();
  sluice_item *item = NULL;
  if (waiting->gate != NULL) {
    waiting->answer = sluice_gate_acquire(waiting->gate, 1, LIMIT_MS);
  } else if (waiting->input != NULL) {
    waiting->answer = sluice_input_recv(waiting->input, LIMIT_MS, &item, NULL);
  } else {
    waiting->answer = sluice_output_emit_u64(waiting->output, 1, LIMIT_MS, NULL);
  }
  waiting->took_ms = millis_since(began);
  __atomic_store_n(&waiting->done, true, __ATOMIC_SEQ_CST);
  return NULL;
}

/* Runs the wait under a storm of signals; true if its limit was kept within a tenth. */
static bool storm(waiting *waiting) {
  const struct timespec pause = {0, 1000000000 / SIGNALS_PER_SECOND};
  pthread_t thread;
  waiting->done = false;
  CHECK(pthread_create(&thread, NULL, wait_out, waiting) == 0);
  while (!__atomic_load_n(&waiting->done, __ATOMIC_SEQ_CST)) {
    CHECK(pthread_kill(thread, SIGUSR1) == 0);
    nanosleep(&pause, NULL);
  }
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STATUS(SLUICE_TIMED_OUT, waiting->answer);
  CHECK(waiting->took_ms >= LIMIT_MS - 1);
  return waiting->took_ms <= LIMIT_MS + LIMIT_MS / 10;
}

static void c17_a_storm_of_signals_disturbs_no_wait(void) {
  struct sigaction action, before;
  pair pair;
  sluice_gate *gate = NULL;
  sluice_call *call = NULL;
  sluice_output *input = NULL;
  sluice_input *output = NULL;
  sluice_error *err = NULL;
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  int which, attempt, sent;
  memset(&action, 0, sizeof action);
  action.sa_handler = take_signal; /* and no SA_RESTART */
  CHECK(sigaction(SIGUSR1, &action, &before) == 0);
  options.limits.initial_credit = WINDOW;
  pair_open(&pair, &options, test_cartridge());
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ECHO, SLUICE_NUL, &call, &err), err);
  CHECK_OK(sluice_call_input(call, "media:blob", SLUICE_NUL, &input, NULL));
  /* Nobody reads the echo: its window fills, one more is with the handler, and our window fills. */
  for (sent = 0; sent < 2 * WINDOW + 1; sent++) {
    CHECK_OK_ERR(sluice_output_emit_u64(input, 1, WAIT_MS, &err), err);
  }
  CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &output, &err), err);
  for (which = 0; which < 2; which++) {
    bool accurate = false;
    for (attempt = 0; attempt < ATTEMPTS && !accurate; attempt++) {
      waiting waiting = {NULL, NULL, NULL, SLUICE_OK, 0, false};
      waiting.gate = which == 0 ? gate : NULL;
      waiting.output = which == 1 ? input : NULL;
      accurate = storm(&waiting);
    }
    CHECK(accurate);
  }
  CHECK(taken == 1);
  {
    bool accurate = false;
    sluice_item *item = NULL;
    for (; sent > 0; sent--) {
      CHECK_OK(sluice_input_recv(output, WAIT_MS, &item, NULL));
      CHECK_OK(sluice_item_release(item));
    }
    for (attempt = 0; attempt < ATTEMPTS && !accurate; attempt++) {
      waiting waiting = {NULL, NULL, NULL, SLUICE_OK, 0, false};
      waiting.input = output;
      accurate = storm(&waiting);
    }
    CHECK(accurate);
  }
  CHECK(sigaction(SIGUSR1, &before, NULL) == 0);
  CHECK_OK(sluice_gate_release(gate));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK(sluice_output_release(input));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

static int dispositions(struct sigaction *out) {
  int number, count = 0;
  for (number = 1; number < 65; number++) {
    memset(&out[number], 0, sizeof out[number]);
    count += sigaction(number, NULL, &out[number]) == 0;
  }
  return count;
}

static void f14_dispositions_stay_as_they_are(void) {
  struct sigaction before[65], after[65];
  sigset_t mask_before, mask_after;
  pair pair;
  int number;
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask_before) == 0);
  CHECK(dispositions(before) > 60);
  pair_open(&pair, NULL, test_cartridge());
  pair_close(&pair);
  CHECK(dispositions(after) > 60);
  CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask_after) == 0);
  for (number = 1; number < 65; number++) {
    CHECK(before[number].sa_handler == after[number].sa_handler);
    CHECK(before[number].sa_flags == after[number].sa_flags);
    CHECK(sigismember(&mask_before, number) == sigismember(&mask_after, number));
  }
  CHECK(before[SIGPIPE].sa_handler == SIG_DFL);
}

const check_case signal_cases[] = {
    {"signals: C17 a storm disturbs no wait", c17_a_storm_of_signals_disturbs_no_wait},
    {"signals: F14 dispositions stay as they are", f14_dispositions_stay_as_they_are},
    {NULL, NULL}};
