/* HZ-L10: a limit ends a call or a stream of a cartridge that is a process, wherever it stands still. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { GIVEN = 300, LATE = WAIT_MS };

typedef struct stuck {
  sluice_engine *engine;
  sluice_peer *peer;
  sluice_call *call;
  sluice_output *input;
  struct timespec began;
} stuck;

static void call_open(stuck *stuck, const char *cap) {
  sluice_error *err = NULL;
  stuck->began = monotonic_now();
  CHECK_OK_ERR(sluice_peer_call(stuck->peer, cap, SLUICE_NUL, &stuck->call, &err), err);
  CHECK_OK_ERR(sluice_call_input(stuck->call, "media:blob", SLUICE_NUL, &stuck->input, &err), err);
}

static void call_close(stuck *stuck) {
  CHECK_OK(sluice_output_release(stuck->input));
  CHECK_OK(sluice_call_release(stuck->call));
}

static sluice_status ended(const stuck *stuck, sluice_error **err) {
  sluice_terminal *terminal = NULL;
  const sluice_status status = sluice_call_wait(stuck->call, LATE, &terminal, err);
  CHECK_OK(sluice_terminal_release(terminal));
  return status;
}

/* A cartridge in a process of its own: this program. */
static void stuck_open(stuck *stuck, const char *cap) {
  char path[4096];
  const ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
  sluice_command *command = NULL;
  sluice_error *err = NULL;
  CHECK(len > 0);
  path[len > 0 ? len : 0] = '\0';
  CHECK_OK(sluice_command_new(path, SLUICE_NUL, &command));
  CHECK_OK(sluice_command_arg(command, "--cartridge", SLUICE_NUL));
  CHECK_OK_ERR(sluice_engine_new(NULL, &stuck->engine, &err), err);
  CHECK_OK_ERR(sluice_engine_spawn(stuck->engine, command, &stuck->peer, &err), err);
  CHECK_OK(sluice_command_release(command));
  call_open(stuck, cap);
}

/* The connection serves another call to its end, and no handle is left behind. */
static void stuck_close(stuck *stuck) {
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  const uint8_t *bytes = NULL;
  size_t size = 0;
  call_close(stuck);
  call_open(stuck, CAP_ECHO);
  CHECK_OK_ERR(sluice_output_write(stuck->input, (const uint8_t *)"on", 2, LATE, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(stuck->call, LATE, &err), err);
  CHECK_OK_ERR(sluice_call_output(stuck->call, LATE, &output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_bytes(output, LATE, &item, &err), err);
  CHECK_OK(sluice_item_bytes(item, &bytes, &size));
  CHECK(size == 2 && memcmp(bytes, "on", 2) == 0);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK_ERR(ended(stuck, &err), err);
  call_close(stuck);
  CHECK_OK(sluice_engine_close(stuck->engine));
  CHECK_OK(sluice_peer_release(stuck->peer));
  CHECK_OK(sluice_engine_release(stuck->engine));
}

/* The limit of the whole has detail; the limit of one wait has none. */
static void passed(const stuck *stuck, sluice_status status, sluice_error *err, const char *what) {
  const char *text = "";
  const int64_t took = millis_since(stuck->began);
  CHECK_STATUS(SLUICE_TIMED_OUT, status);
  CHECK(took >= GIVEN);
  CHECK(err != NULL);
  if (err != NULL) {
    CHECK_OK(sluice_error_code(err, &text, NULL));
    CHECK(strcmp(text, "DEADLINE_EXCEEDED") == 0);
    CHECK_OK(sluice_error_message(err, &text, NULL));
    if (strstr(text, what) == NULL || strstr(text, "300ms") == NULL) {
      check_failed(__FILE__, __LINE__, what, text);
    }
    CHECK_OK(sluice_error_release(err));
  }
}

/* Nobody reads this input: there is room for the window, and the next value waits. Yours to release. */
static sluice_op *waits_for_credit(const stuck *stuck) {
  static const uint8_t seven = 7;
  for (;;) {
    sluice_op *op = NULL;
    CHECK_OK(sluice_output_emit_cbor_start(stuck->input, &seven, 1, &op, NULL));
    if (sluice_op_poll(op, NULL, NULL) != SLUICE_OK) {
      return op;
    }
    CHECK_OK(sluice_op_release(op));
  }
}

static void l10_a_writer_without_credit(void) {
  int of_the_stream;
  for (of_the_stream = 0; of_the_stream < 2; of_the_stream++) {
    stuck stuck;
    sluice_error *err = NULL;
    sluice_op *op;
    sluice_status status;
    stuck_open(&stuck, CAP_FOREVER);
    op = waits_for_credit(&stuck);
    stuck.began = monotonic_now();
    if (of_the_stream) {
      CHECK_OK_ERR(sluice_output_limit(stuck.input, GIVEN, &err), err);
    } else {
      CHECK_OK_ERR(sluice_call_limit(stuck.call, GIVEN, &err), err);
    }
    status = sluice_op_wait(op, SLUICE_FOREVER, &err);
    CHECK_OK(sluice_op_release(op));
    passed(&stuck, status, err, "has waited for credit");
    err = NULL;
    status = ended(&stuck, &err);
    passed(&stuck, status, err, "has waited for credit");
    stuck_close(&stuck);
  }
}

static void l10_a_reader_without_values(void) {
  int of_the_stream;
  for (of_the_stream = 0; of_the_stream < 2; of_the_stream++) {
    stuck stuck;
    sluice_error *err = NULL;
    sluice_input *output = NULL;
    sluice_item *item = NULL;
    sluice_op *op = NULL;
    sluice_status status;
    stuck_open(&stuck, CAP_ECHO);
    CHECK_OK_ERR(sluice_output_emit_u64(stuck.input, 7, LATE, &err), err);
    CHECK_OK_ERR(sluice_call_output(stuck.call, LATE, &output, &err), err);
    CHECK_OK_ERR(sluice_input_recv(output, LATE, &item, &err), err);
    CHECK_OK(sluice_item_release(item));
    CHECK_OK_ERR(sluice_call_limit(stuck.call, LATE, &err), err); /* the last that is set counts */
    CHECK_STATUS(SLUICE_TIMED_OUT, sluice_input_recv(output, 1, &item, &err)); /* this wait alone */
    CHECK(err == NULL);
    CHECK_OK(sluice_input_recv_start(output, &op));
    CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, NULL, &err));
    stuck.began = monotonic_now();
    if (of_the_stream) {
      CHECK_OK_ERR(sluice_input_limit(output, GIVEN, &err), err);
    } else {
      CHECK_OK_ERR(sluice_call_limit(stuck.call, GIVEN, &err), err);
    }
    status = sluice_op_wait(op, SLUICE_FOREVER, &err);
    CHECK_OK(sluice_op_release(op));
    passed(&stuck, status, err, "has waited for a value");
    CHECK_OK(sluice_input_release(output));
    stuck_close(&stuck);
  }
}

/* Nobody waits for anything: the handler's values lie unread. */
static void l10_a_reader_that_does_not_read(void) {
  stuck stuck;
  sluice_error *err = NULL;
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  sluice_stream_stats stats = SLUICE_STREAM_STATS_INIT;
  sluice_status status;
  stuck_open(&stuck, CAP_FOREVER);
  CHECK_OK_ERR(sluice_call_output(stuck.call, LATE, &output, &err), err);
  while (stats.chunks == 0) { /* the alarm ends a wait in vain */
    CHECK_OK(sluice_input_stats(output, &stats));
  }
  stuck.began = monotonic_now();
  CHECK_OK_ERR(sluice_call_limit(stuck.call, GIVEN, &err), err);
  status = ended(&stuck, &err);
  passed(&stuck, status, err, "have waited to be read");
  err = NULL;
  status = sluice_input_recv(output, LATE, &item, &err);
  passed(&stuck, status, err, "have waited to be read");
  CHECK_OK(sluice_input_release(output));
  stuck_close(&stuck);
}

/* The cartridge's own limit, as its caller sees it. */
static void l10_a_handler_without_input(void) {
  stuck stuck;
  sluice_error *err = NULL;
  sluice_status status;
  stuck_open(&stuck, CAP_LIMITED);
  CHECK_OK_ERR(sluice_output_emit_u64(stuck.input, 7, LATE, &err), err);
  status = ended(&stuck, &err);
  passed(&stuck, status, err, "has waited for a value");
  stuck_close(&stuck);
}

static void limits_are_checked(void) {
  sluice_error *err = NULL;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_call_limit(NULL, 1, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_request_limit(NULL, 1, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_output_limit(NULL, 1, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_input_limit(NULL, 1, NULL));
}

const check_case limit_cases[] = {
    {"limits: L10 a writer without credit", l10_a_writer_without_credit},
    {"limits: L10 a reader without values", l10_a_reader_without_values},
    {"limits: L10 a reader that does not read", l10_a_reader_that_does_not_read},
    {"limits: L10 a handler without input", l10_a_handler_without_input},
    {"limits: are checked", limits_are_checked},
    {NULL, NULL}};
