/* The laws of flow control, between this program and itself as a cartridge's process. */
#include <pthread.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

enum { WINDOW = 2, SENDERS = 8 };

typedef struct across {
  sluice_engine *engine;
  sluice_peer *peer;
  sluice_call *call;
  sluice_output *input;
  sluice_input *output;
} across;

/* A call of `cap` in a process to which every stream starts with `window` chunks. */
static void across_open(across *across, const char *cap, uint64_t window) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_command *command = NULL;
  sluice_error *err = NULL;
  char path[4096] = "";
  CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  memset(across, 0, sizeof *across);
  options.limits.initial_credit = window;
  CHECK_OK_ERR(sluice_engine_new(&options, &across->engine, &err), err);
  CHECK_OK(sluice_command_new(path, SLUICE_NUL, &command));
  CHECK_OK(sluice_command_arg(command, "--cartridge", SLUICE_NUL));
  CHECK_OK_ERR(sluice_engine_spawn(across->engine, command, &across->peer, &err), err);
  CHECK_OK(sluice_command_release(command));
  CHECK_OK_ERR(sluice_peer_call(across->peer, cap, SLUICE_NUL, &across->call, &err), err);
  CHECK_OK_ERR(sluice_call_input(across->call, "media:blob", SLUICE_NUL, &across->input, &err),
               err);
}

static void across_output(across *across) {
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_call_output(across->call, WAIT_MS, &across->output, &err), err);
}

static void across_close(across *across) {
  CHECK_OK(sluice_output_release(across->input));
  CHECK_OK(sluice_input_release(across->output));
  CHECK_OK(sluice_call_release(across->call));
  CHECK_OK(sluice_engine_close(across->engine));
  CHECK_OK(sluice_peer_release(across->peer));
  CHECK_OK(sluice_engine_release(across->engine));
}

static void expect_number(const across *across, uint64_t expected) {
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  uint64_t number = 0;
  CHECK_OK_ERR(sluice_input_recv(across->output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_u64(item, &number));
  CHECK(number == expected);
  CHECK_OK(sluice_item_release(item));
}

/* HZ-C19: who reads one value and then sleeps holds at most a window more; so does the handler at the other
 * end, which reads nothing of a GiB. */
static void c19_a_reader_that_sleeps_holds_its_sender_back(void) {
  static const uint8_t bytes[65536];
  across across;
  sluice_stream_stats sent = SLUICE_STREAM_STATS_INIT, came = SLUICE_STREAM_STATS_INIT;
  sluice_error *err = NULL;
  sluice_status status = SLUICE_OK;
  unsigned n;
  across_open(&across, CAP_FOREVER, WINDOW);
  across_output(&across);
  expect_number(&across, 0);
  for (n = 0; n < (1u << 30) / sizeof bytes && status == SLUICE_OK; n++) {
    status = sluice_output_write(across.input, bytes, sizeof bytes, 200, &err);
  }
  CHECK_STATUS(SLUICE_TIMED_OUT, status);
  CHECK_OK(sluice_output_stats(across.input, &sent));
  CHECK(sent.chunks <= WINDOW && sent.bytes <= WINDOW * sizeof bytes);
  CHECK_OK(sluice_input_stats(across.output, &came));
  CHECK(came.chunks >= 1 && came.chunks <= 1 + WINDOW);
  CHECK_OK(sluice_call_cancel(across.call, NULL));
  across_close(&across);
}

/* HZ-C02: a call whose last handle is released is cancelled, and the connection serves the next one. */
static void c02_a_call_that_nobody_holds_any_more_is_cancelled(void) {
  across across;
  sluice_item *told = NULL;
  sluice_error *err = NULL;
  across_open(&across, CAP_FOREVER, WINDOW);
  across_output(&across);
  expect_number(&across, 0);
  CHECK_OK(sluice_output_release(across.input));
  CHECK_OK(sluice_input_release(across.output));
  CHECK_OK(sluice_call_release(across.call));
  across.output = NULL;
  do {
    CHECK_OK(sluice_peer_stats(across.peer, &told));
  } while (!says(told, "\"requests\":[]"));
  CHECK_OK(sluice_peer_stats(across.peer, &told));
  CHECK(says(told, "\"cancelled\":1"));
  CHECK_OK_ERR(sluice_peer_call(across.peer, CAP_ECHO, SLUICE_NUL, &across.call, &err), err);
  CHECK_OK_ERR(sluice_call_input(across.call, "media:blob", SLUICE_NUL, &across.input, &err),
               err);
  CHECK_OK_ERR(sluice_output_emit_u64(across.input, 7, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(across.call, WAIT_MS, &err), err);
  across_output(&across);
  expect_number(&across, 7);
  across_close(&across);
}

static void l9_a_sender_starts_with_the_window_and_waits_at_zero(void) {
  /* L9: nobody reads this input, so that there is room for the window and no more. */
  across across;
  sluice_stream_stats stats = SLUICE_STREAM_STATS_INIT;
  sluice_error *err = NULL;
  unsigned n;
  across_open(&across, CAP_FOREVER, WINDOW);
  for (n = 0; n < WINDOW; n++) {
    CHECK_OK_ERR(sluice_output_emit_u64(across.input, n, WAIT_MS, &err), err);
  }
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_output_emit_u64(across.input, n, 100, &err));
  CHECK_OK(sluice_output_stats(across.input, &stats));
  CHECK(stats.chunks == WINDOW && stats.window == 0);
  CHECK_OK(sluice_call_cancel(across.call, NULL));
  across_close(&across);
}

static void *sends(void *context) {
  const across *across = context;
  sluice_error *err = NULL;
  unsigned n;
  for (n = 0; n < 200; n++) {
    CHECK_OK_ERR(sluice_output_emit_u64(across->input, n, SLUICE_FOREVER, &err), err);
  }
  CHECK_OK_ERR(sluice_call_finish_input(across->call, SLUICE_FOREVER, &err), err);
  return NULL;
}

static void l10_l11_l15_what_is_consumed_comes_back_with_every_window(void) {
  /* L10, L11, L15: credit comes from whoever consumes, also when no batch is full, and both directions
   * of a request are served at once. */
  static const uint64_t windows[] = {1, 2, 3, 32};
  size_t i;
  for (i = 0; i < sizeof windows / sizeof windows[0]; i++) {
    across across;
    pthread_t sender;
    sluice_item *item = NULL;
    sluice_error *err = NULL;
    unsigned n;
    across_open(&across, CAP_ECHO, windows[i]);
    CHECK(pthread_create(&sender, NULL, sends, &across) == 0);
    across_output(&across);
    for (n = 0; n < 200; n++) {
      expect_number(&across, n);
    }
    CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_input_recv(across.output, WAIT_MS, &item, &err));
    sluice_error_release(err);
    pthread_join(sender, NULL);
    across_close(&across);
  }
}

static void *sends_until_released(void *context) {
  const across *across = context;
  sluice_error *err = NULL;
  sluice_status status = SLUICE_OK;
  while (status == SLUICE_OK) {
    status = sluice_output_emit_u64(across->input, 1, SLUICE_FOREVER, &err);
  }
  CHECK(status == SLUICE_CANCELLED);
  sluice_error_release(err);
  return NULL;
}

static void l12_a_chunk_beyond_the_window_is_refused_and_changes_nothing(void) {
  /* L12: beyond the window, however often it comes. */
  sluice_window *window = NULL;
  uint64_t batch = 0, rest = 0;
  CHECK_OK(sluice_window_new(2, &window));
  for (int i = 0; i < 2; i++) CHECK_OK(sluice_window_arrive(window));
  for (int i = 0; i < 3; i++) {
    CHECK_STATUS(SLUICE_CREDIT_VIOLATION, sluice_window_arrive(window));
  }
  CHECK_OK(sluice_window_remaining(window, &rest));
  CHECK(rest == 0);
  CHECK_OK(sluice_window_consumed(window, &batch));
  CHECK_OK(sluice_window_flush(window, &rest));
  CHECK(batch + rest == 1);
  CHECK_OK(sluice_window_arrive(window));
  CHECK_OK(sluice_window_release(window));
}

static void l13_l16_l17_a_cancel_ends_everything_in_its_middle(void) {
  /* L13, L16, L17: an unbounded stream is not collected whole, a cancel ends it in its middle, and
   * whoever waits for credit is told. */
  across across;
  pthread_t senders[SENDERS];
  sluice_item *item = NULL;
  sluice_terminal *terminal = NULL;
  sluice_error *err = NULL;
  unsigned n;
  across_open(&across, CAP_FOREVER, WINDOW);
  across_output(&across);
  CHECK_STATUS(SLUICE_UNBOUNDED, sluice_input_collect_bytes(across.output, WAIT_MS, &item, &err));
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  for (n = 0; n < SENDERS; n++) {
    CHECK(pthread_create(&senders[n], NULL, sends_until_released, &across) == 0);
  }
  for (n = 0; n < 100; n++) {
    expect_number(&across, n);
  }
  CHECK_OK(sluice_call_cancel(across.call, NULL));
  for (n = 0; n < SENDERS; n++) {
    pthread_join(senders[n], NULL);
  }
  CHECK_STATUS(SLUICE_CANCELLED, sluice_call_wait(across.call, WAIT_MS, &terminal, &err));
  CHECK_OK(sluice_error_release(err));
  across_close(&across);
}

static void l14_control_flows_while_no_data_may(void) {
  /* L14: what a handler tells costs no credit, and comes while a whole window lies unread. */
  across across;
  sluice_call *talk = NULL;
  sluice_event *event = NULL;
  sluice_error *err = NULL;
  across_open(&across, CAP_FOREVER, 1);
  across_output(&across);
  CHECK_OK_ERR(sluice_peer_call(across.peer, CAP_TALK, SLUICE_NUL, &talk, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(talk, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_next_event(talk, WAIT_MS, &event, &err), err);
  CHECK_OK(sluice_event_release(event));
  CHECK_OK(sluice_call_release(talk));
  CHECK_OK(sluice_call_cancel(across.call, NULL));
  across_close(&across);
}

const check_case law_cases[] = {
    {"laws: L9 a sender starts with the window and waits at zero",
     l9_a_sender_starts_with_the_window_and_waits_at_zero},
    {"laws: C19 a reader that sleeps holds its sender back",
     c19_a_reader_that_sleeps_holds_its_sender_back},
    {"laws: C02 a call that nobody holds any more is cancelled",
     c02_a_call_that_nobody_holds_any_more_is_cancelled},
    {"laws: L10 L11 L15 what is consumed comes back with every window",
     l10_l11_l15_what_is_consumed_comes_back_with_every_window},
    {"laws: L12 a chunk beyond the window is refused and changes nothing",
     l12_a_chunk_beyond_the_window_is_refused_and_changes_nothing},
    {"laws: L13 L16 L17 a cancel ends everything in its middle",
     l13_l16_l17_a_cancel_ends_everything_in_its_middle},
    {"laws: L14 control flows while no data may", l14_control_flows_while_no_data_may},
    {NULL, NULL},
};
