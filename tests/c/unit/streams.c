/* Values in, values out, between a host and a cartridge in one process. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

typedef struct call {
  pair pair;
  sluice_call *call;
  sluice_output *input;
  sluice_input *output;
} call;

static void call_open(call *call, const char *cap, const sluice_engine_options *options) {
  sluice_error *err = NULL;
  pair_open(&call->pair, options, test_cartridge());
  call->call = NULL;
  call->input = NULL;
  call->output = NULL;
  CHECK_OK_ERR(sluice_peer_call(call->pair.peer, cap, SLUICE_NUL, &call->call, &err), err);
  CHECK_OK_ERR(sluice_call_input(call->call, "media:blob", SLUICE_NUL, &call->input, &err), err);
}

static void call_close(call *call) {
  CHECK_OK(sluice_output_release(call->input));
  CHECK_OK(sluice_input_release(call->output));
  CHECK_OK(sluice_call_release(call->call));
  pair_close(&call->pair);
}

static void expect_item(sluice_input *input, sluice_item_kind_t kind, const char *cbor, size_t len) {
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  sluice_item_kind_t is = SLUICE_ITEM_NULL;
  const uint8_t *bytes = NULL;
  size_t size = 0;
  CHECK_OK_ERR(sluice_input_recv(input, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_kind(item, &is));
  CHECK(is == kind);
  CHECK_OK(sluice_item_cbor(item, &bytes, &size));
  CHECK(size == len && memcmp(bytes, cbor, len) == 0);
  CHECK_OK(sluice_item_release(item));
}

static void values_keep_their_types(void) {
  static const uint8_t list[] = {0x82, 0x01, 0xf6};
  call call;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  bool flag = true;
  const char *text = NULL;
  call_open(&call, CAP_ECHO, NULL);
  CHECK_OK_ERR(sluice_output_emit_u64(call.input, 24, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_output_emit_i64(call.input, -1, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_output_emit_f64(call.input, 1.5, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_output_emit_text(call.input, "hi", SLUICE_NUL, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_output_emit_cbor(call.input, list, sizeof list, WAIT_MS, &err), err);
  CHECK_OK(sluice_item_new_bool(false, &item));
  CHECK_OK_ERR(sluice_output_emit(call.input, item, WAIT_MS, &err), err);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK_ERR(sluice_output_write(call.input, (const uint8_t *)"ab", 2, SLUICE_FOREVER, &err), err);
  CHECK_OK_ERR(sluice_output_write(call.input, (const uint8_t *)"c", 1, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_output_close(call.input, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(call.call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  CHECK_OK(sluice_input_is_sequence(call.output, &flag));
  CHECK(!flag);
  CHECK_OK(sluice_input_is_unbounded(call.output, &flag));
  CHECK(!flag);
  CHECK_OK(sluice_input_media(call.output, &text, NULL));
  CHECK(strcmp(text, "media:blob") == 0);
  CHECK_OK(sluice_input_output(call.output, &text, NULL));
  CHECK(text == NULL);
  expect_item(call.output, SLUICE_ITEM_UINT, "\x18\x18", 2);
  expect_item(call.output, SLUICE_ITEM_INT, "\x20", 1);
  expect_item(call.output, SLUICE_ITEM_FLOAT, "\xfb\x3f\xf8\0\0\0\0\0\0", 9);
  expect_item(call.output, SLUICE_ITEM_TEXT, "\x62hi", 3);
  expect_item(call.output, SLUICE_ITEM_OTHER, "\x82\x01\xf6", 3);
  expect_item(call.output, SLUICE_ITEM_BOOL, "\xf4", 1);
  expect_item(call.output, SLUICE_ITEM_BYTES, "\x43"
                                              "abc",
              4);
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_input_recv(call.output, WAIT_MS, &item, &err));
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_input_try_recv(call.output, &item, &err));
  call_close(&call);
}

static void items_keep_their_meta(void) {
  static const uint8_t meta[] = {0xa1, 0x63, 's', 'e', 'q', 0x07};
  enum { SIZE = 300000 }; /* wider than a chunk */
  call call;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  uint8_t *large = calloc(1, SIZE);
  call_open(&call, CAP_ITEMS, NULL);
  CHECK_OK(sluice_item_new_bytes(large, SIZE, &item));
  CHECK_OK_ERR(sluice_output_emit_list_item(call.input, item, WAIT_MS, &err), err);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK_ERR(sluice_output_emit_list_item_cbor(call.input, (const uint8_t *)"\x05", 1, meta,
                                                 sizeof meta, WAIT_MS, &err), err);
  CHECK_STATUS(SLUICE_WRONG_MODE, sluice_output_emit_u64(call.input, 1, WAIT_MS, &err));
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  CHECK_OK_ERR(sluice_call_finish_input(call.call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  CHECK_OK_ERR(sluice_input_recv(call.output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_bytes(item, &bytes, &len));
  CHECK(len == SIZE && bytes[SIZE - 1] == 0);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK_ERR(sluice_input_recv(call.output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_meta(item, &bytes, &len));
  CHECK(len == sizeof meta && memcmp(bytes, meta, len) == 0);
  CHECK_OK(sluice_item_release(item));
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_input_recv(call.output, WAIT_MS, &item, &err));
  free(large);
  call_close(&call);
}

static void everything_can_be_collected(void) {
  call call;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  sluice_items *items = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0, i;
  call_open(&call, CAP_ECHO, NULL);
  for (i = 0; i < 10; i++) {
    CHECK_OK_ERR(sluice_output_write(call.input, (const uint8_t *)"0123456789", 10, WAIT_MS, &err),
                 err);
  }
  CHECK_OK_ERR(sluice_call_finish_input(call.call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_bytes(call.output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_bytes(item, &bytes, &len));
  CHECK(len == 100 && memcmp(bytes + 90, "0123456789", 10) == 0);
  CHECK_OK(sluice_item_release(item));
  call_close(&call);

  call_open(&call, CAP_ITEMS, NULL);
  for (i = 0; i < 3; i++) {
    CHECK_OK(sluice_item_new_u64(i, &item));
    CHECK_OK_ERR(sluice_output_emit_list_item(call.input, item, WAIT_MS, &err), err);
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_OK_ERR(sluice_call_finish_input(call.call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_items(call.output, WAIT_MS, &items, &err), err);
  CHECK_OK(sluice_items_len(items, &len));
  CHECK(len == 3);
  for (i = 0; i < 3; i++) {
    uint64_t number = 9;
    CHECK_OK(sluice_items_get(items, i, &item));
    CHECK_OK(sluice_item_u64(item, &number));
    CHECK(number == i);
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_items_get(items, 3, &item));
  CHECK_OK(sluice_items_release(items));
  call_close(&call);
}

/* L16, L17: a stream without end is not collected, and ends by a cancel. */
static void an_endless_stream_ends_by_cancel(void) {
  call call;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  sluice_terminal *terminal = NULL;
  sluice_class cls = SLUICE_CLASS_DEFAULT;
  uint64_t number = 0, expected;
  call_open(&call, CAP_FOREVER, NULL);
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  CHECK_STATUS(SLUICE_UNBOUNDED, sluice_input_collect_bytes(call.output, WAIT_MS, &item, &err));
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  for (expected = 0; expected < 200; expected++) {
    CHECK_OK_ERR(sluice_input_recv(call.output, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_u64(item, &number));
    CHECK(number == expected);
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_OK(sluice_call_cancel(call.call, NULL));
  CHECK_STATUS(SLUICE_CANCELLED, sluice_call_wait(call.call, WAIT_MS, &terminal, &err));
  CHECK_OK(sluice_error_class(err, &cls));
  CHECK(cls == SLUICE_CLASS_USER);
  CHECK_OK(sluice_error_release(err));
  call_close(&call);
}

/* The same stream by operations, waited for on our own condition variable. */
static void operations_carry_values(void) {
  call call;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  sluice_op *op = NULL;
  sluice_terminal *terminal = NULL;
  bell bell;
  int64_t code = 9;
  unsigned i;
  bell_init(&bell);
  call_open(&call, CAP_ECHO, NULL);
  for (i = 0; i < 100; i++) {
    const uint8_t value[2] = {0x18, (uint8_t)(100 + i)};
    CHECK_OK_ERR(sluice_output_emit_cbor_start(call.input, value, 2, &op, &err), err);
    CHECK_OK_ERR(bell_drive(&bell, op, NULL, &err), err);
    CHECK_OK(sluice_op_release(op));
    if (call.output == NULL) {
      CHECK_OK(sluice_call_output_start(call.call, &op));
      CHECK_OK_ERR(bell_drive(&bell, op, NULL, &err), err);
      CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_item(op, &item));
      CHECK_OK(sluice_op_take_input(op, &call.output));
      CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_input(op, &call.output));
      CHECK_OK(sluice_op_release(op));
    }
    CHECK_OK(sluice_input_recv_start(call.output, &op));
    CHECK_OK_ERR(bell_drive(&bell, op, NULL, &err), err);
    CHECK_OK(sluice_op_take_item(op, &item));
    CHECK_OK(sluice_op_release(op));
    {
      uint64_t number = 0;
      CHECK_OK(sluice_item_u64(item, &number));
      CHECK(number == 100 + i);
    }
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_OK(sluice_input_recv_start(call.output, &op));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, NULL, &err));
  CHECK_OK(sluice_op_release(op)); /* a receive that is given up takes nothing */
  CHECK_OK(sluice_call_finish_input_start(call.call, &op));
  CHECK_OK_ERR(bell_drive(&bell, op, NULL, &err), err);
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_input_recv_start(call.output, &op));
  CHECK_STATUS(SLUICE_END_OF_STREAM, bell_drive(&bell, op, NULL, &err));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_call_wait_start(call.call, &op));
  CHECK_OK_ERR(bell_drive(&bell, op, NULL, &err), err);
  CHECK_OK(sluice_op_take_terminal(op, &terminal));
  CHECK_OK(sluice_terminal_exit_code(terminal, &code));
  CHECK(code == 0);
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK_OK(sluice_op_release(op));
  call_close(&call);
  bell_destroy(&bell);
}

/* Credit holds a writer back, and figures tell. */
static void the_window_holds_a_writer_back(void) {
  enum { WINDOW = 4 };
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_stream_stats stats = SLUICE_STREAM_STATS_INIT;
  sluice_limits limits = SLUICE_LIMITS_INIT;
  call call;
  sluice_error *err = NULL;
  unsigned sent = 0, got = 0;
  options.limits.initial_credit = WINDOW;
  call_open(&call, CAP_ECHO, &options);
  CHECK_OK(sluice_peer_limits(call.pair.peer, &limits));
  CHECK(limits.initial_credit == WINDOW);
  CHECK_OK_ERR(sluice_output_emit_u64(call.input, 0, WAIT_MS, &err), err);
  sent = 1;
  CHECK_OK_ERR(sluice_call_output(call.call, WAIT_MS, &call.output, &err), err);
  /* Nobody reads the echo: its window fills, one more is with its handler, and our window fills. */
  for (; sent < 2 * WINDOW + 1; sent++) {
    CHECK_OK_ERR(sluice_output_emit_u64(call.input, sent, WAIT_MS, &err), err);
  }
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_output_emit_u64(call.input, sent, 200, &err));
  CHECK_OK(sluice_output_stats(call.input, &stats));
  CHECK(stats.chunks == sent && stats.window == 0 && stats.initial_credit == WINDOW);
  CHECK(stats.stalled_ns >= 100000000u && !stats.ended);
  CHECK(stats.struct_size == sizeof stats);
  while (got < sent) {
    sluice_item *item = NULL;
    uint64_t number = 0;
    CHECK_OK_ERR(sluice_input_recv(call.output, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_u64(item, &number));
    CHECK(number == got);
    CHECK_OK(sluice_item_release(item));
    got += 1;
  }
  CHECK_OK_ERR(sluice_call_finish_input(call.call, WAIT_MS, &err), err);
  CHECK_OK(sluice_input_stats(call.output, &stats));
  CHECK(stats.chunks == sent);
  call_close(&call);
}

const check_case stream_cases[] = {
    {"stream: values keep their types", values_keep_their_types},
    {"stream: items keep their meta", items_keep_their_meta},
    {"stream: everything can be collected", everything_can_be_collected},
    {"stream: an endless stream ends by cancel", an_endless_stream_ends_by_cancel},
    {"stream: operations carry values", operations_carry_values},
    {"stream: the window holds a writer back", the_window_holds_a_writer_back},
    {NULL, NULL}};
