/* Live feeds: what is lost is counted and told in its place, and the source is never held up. */
#include <string.h>
#include <unistd.h>

#include "check.h"

static sluice_feed *open_feed(uint64_t capacity, bool fail_on_overrun) {
  sluice_feed_options options = SLUICE_FEED_OPTIONS_INIT;
  sluice_feed *feed = NULL;
  sluice_error *err = NULL;
  options.capacity = capacity;
  options.fail_on_overrun = fail_on_overrun;
  CHECK_OK_ERR(sluice_feed_new(&options, &feed, &err), err);
  return feed;
}

static sluice_feed_stats_t stats_of(const sluice_feed *feed) {
  sluice_feed_stats_t stats = SLUICE_FEED_STATS_INIT;
  CHECK_OK(sluice_feed_stats(feed, &stats));
  CHECK(stats.captured == stats.delivered + stats.dropped + stats.held);
  return stats;
}

/* The next item's metadata; its value is a number. */
static sluice_feed_meta next(const sluice_feed *feed) {
  sluice_feed_meta meta = SLUICE_FEED_META_INIT;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  CHECK_OK_ERR(sluice_feed_recv(feed, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_feed_meta(item, &meta));
  CHECK_OK(sluice_item_bytes(item, &bytes, &len));
  CHECK(len == 1 && bytes[0] == (uint8_t)meta.seq);
  CHECK_OK(sluice_item_release(item));
  return meta;
}

static sluice_status push(const sluice_feed *feed, uint64_t n) {
  const uint8_t byte = (uint8_t)n;
  uint64_t seq = UINT64_MAX;
  const sluice_status status = sluice_feed_push(feed, &byte, 1, n * 10, n + 1, &seq);
  CHECK(seq == (status == SLUICE_OK ? n : UINT64_MAX));
  return status;
}

static void a_loss_is_told_with_the_next_item(void) {
  sluice_feed *feed = open_feed(2, false);
  sluice_feed_meta meta;
  sluice_item *item = NULL;
  uint64_t n;
  for (n = 0; n < 5; n++) {
    CHECK_OK(push(feed, n));
  }
  meta = next(feed);
  CHECK(meta.seq == 3 && meta.pts_us == 30 && meta.capture_ts_us == 4);
  CHECK(meta.gap_dropped == 3 && meta.gap_duration_us == 0);
  CHECK_OK(push(feed, 5));
  CHECK_OK(push(feed, 6));
  meta = next(feed);
  CHECK(meta.seq == 5 && meta.gap_dropped == 1 && meta.gap_duration_us == 20);
  CHECK_OK(sluice_feed_stop(feed));
  CHECK_STATUS(SLUICE_CLOSED, push(feed, 7));
  meta = next(feed);
  CHECK(meta.seq == 6 && meta.gap_dropped == 0);
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_feed_recv(feed, WAIT_MS, &item, NULL));
  CHECK(stats_of(feed).overruns == 4 && stats_of(feed).dropped == 4);
  CHECK_OK(sluice_feed_release(feed));
}

static void an_overrun_fails_a_feed_that_says_so(void) {
  sluice_feed *feed = open_feed(1, true);
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  CHECK_OK(push(feed, 0));
  CHECK_STATUS(SLUICE_FEED_OVERRUN, push(feed, 1));
  CHECK_STATUS(SLUICE_CLOSED, push(feed, 2));
  CHECK(next(feed).seq == 0);
  CHECK_STATUS(SLUICE_FEED_OVERRUN, sluice_feed_recv(feed, WAIT_MS, &item, &err));
  CHECK(err != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK(stats_of(feed).captured == 2 && stats_of(feed).ended);
  CHECK_OK(sluice_feed_release(feed));
}

static void a_failure_is_no_clean_end(void) {
  sluice_feed *feed = open_feed(0, false);
  sluice_error *reason = NULL, *err = NULL;
  sluice_item *item = NULL;
  const char *text = NULL;
  CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "unplugged", SLUICE_NUL, &reason));
  CHECK_OK(push(feed, 0));
  CHECK_OK(sluice_feed_fail(feed, reason));
  CHECK_OK(sluice_error_release(reason));
  CHECK(next(feed).seq == 0);
  CHECK_STATUS(SLUICE_IO, sluice_feed_recv(feed, WAIT_MS, &item, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strcmp(text, "unplugged") == 0);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_feed_release(feed));
}

static void waiting_takes_nothing(void) {
  sluice_feed *feed = open_feed(0, false);
  sluice_item *item = NULL;
  sluice_op *op = NULL;
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_feed_recv(feed, 1, &item, NULL));
  CHECK_OK(sluice_feed_recv_start(feed, &op));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(op, 1, NULL));
  CHECK_OK(push(feed, 0));
  CHECK_OK(sluice_op_wait(op, WAIT_MS, NULL));
  CHECK_OK(sluice_op_take_item(op, &item));
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(push(feed, 1));
  CHECK_OK(sluice_feed_abandon(feed));
  CHECK(stats_of(feed).dropped == 1 && stats_of(feed).overruns == 0);
  CHECK_STATUS(SLUICE_CLOSED, sluice_feed_recv(feed, WAIT_MS, &item, NULL));
  CHECK_OK(sluice_feed_release(feed));
}

static void bad_arguments_are_answered(void) {
  sluice_feed_meta meta = SLUICE_FEED_META_INIT;
  sluice_feed *feed = open_feed(0, false);
  sluice_item *item = NULL;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_new(NULL, NULL, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_push(NULL, NULL, 0, 0, 0, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_push(feed, NULL, 1, 0, 0, NULL));
  CHECK_STATUS(SLUICE_MALFORMED, sluice_feed_push_cbor(feed, NULL, 0, 0, 0, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_recv(feed, 0, NULL, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_serve(feed, NULL, 0, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_command(NULL, NULL, 1, &feed, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_fd(NULL, -1, 1, 0, &feed, NULL));
  CHECK_OK(sluice_item_new_bool(true, &item));
  CHECK_STATUS(SLUICE_WRONG_MODE, sluice_item_feed_meta(item, &meta));
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_feed_release(feed));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_stop(feed));
}

static void a_command_and_a_pipe_are_sources(void) {
  sluice_command *command = NULL;
  sluice_feed *feed = NULL;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  int fds[2] = {-1, -1};
  int round;
  CHECK_OK(sluice_command_new("sh", SLUICE_NUL, &command));
  CHECK_OK(sluice_command_arg(command, "-c", SLUICE_NUL));
  CHECK_OK(sluice_command_arg(command, "printf abcdef", SLUICE_NUL));
  for (round = 0; round < 2; round++) {
    const uint8_t *bytes = NULL;
    size_t len = 0;
    if (round == 0) {
      CHECK_OK_ERR(sluice_feed_command(NULL, command, 3, &feed, &err), err);
    } else {
      CHECK(pipe(fds) == 0);
      CHECK(write(fds[1], "abcdef", 6) == 6);
      CHECK(close(fds[1]) == 0);
      CHECK_OK_ERR(sluice_feed_fd(NULL, fds[0], 3, 0, &feed, &err), err);
    }
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_feed_push(feed, NULL, 0, 0, 0, NULL));
    CHECK_OK_ERR(sluice_feed_recv(feed, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_release(item));
    CHECK_OK_ERR(sluice_feed_recv(feed, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_bytes(item, &bytes, &len));
    CHECK(len == 3 && memcmp(bytes, "def", 3) == 0);
    CHECK_OK(sluice_item_release(item));
    CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_feed_recv(feed, WAIT_MS, &item, NULL));
    CHECK_OK(sluice_feed_release(feed));
  }
  CHECK_OK(sluice_command_release(command));
}

/* HZ-V01, HZ-V02 through a cartridge: a feed is an argument, its echo is read after all was pushed. */
static void gaps_add_up_through_a_cartridge(void) {
  enum { ITEMS = 5000 };
  sluice_feed *feed = open_feed(8, false);
  pair pair;
  sluice_call *call = NULL;
  sluice_output *argument = NULL;
  sluice_input *result = NULL;
  sluice_op *serving = NULL;
  sluice_error *err = NULL;
  sluice_item *item = NULL;
  uint64_t n, count = 0, lost = 0, expected = 0;
  pair_open(&pair, NULL, test_cartridge());
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ITEMS, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_input(call, "media:items", SLUICE_NUL, &argument, &err), err);
  CHECK_OK(sluice_feed_serve_start(feed, argument, &serving));
  for (n = 0; n < ITEMS; n++) {
    CHECK_OK(push(feed, n));
    CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(serving, 0, NULL));
  }
  CHECK_OK(sluice_feed_stop(feed));
  CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &result, &err), err);
  for (;;) {
    sluice_feed_meta meta = SLUICE_FEED_META_INIT;
    const sluice_status served = sluice_op_wait(serving, 0, NULL);
    sluice_status status;
    if (served == SLUICE_OK) {
      break;
    }
    CHECK_STATUS(SLUICE_TIMED_OUT, served);
    status = sluice_input_recv(result, 10, &item, &err);
    if (status == SLUICE_TIMED_OUT) {
      continue;
    }
    CHECK_OK_ERR(status, err);
    CHECK_OK(sluice_item_feed_meta(item, &meta));
    CHECK(meta.seq - expected == meta.gap_dropped);
    expected = meta.seq + 1;
    count += 1;
    lost += meta.gap_dropped;
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_OK_ERR(sluice_output_close(argument, WAIT_MS, &err), err);
  while (sluice_input_recv(result, WAIT_MS, &item, &err) == SLUICE_OK) {
    sluice_feed_meta meta = SLUICE_FEED_META_INIT;
    CHECK_OK(sluice_item_feed_meta(item, &meta));
    CHECK(meta.seq - expected == meta.gap_dropped);
    expected = meta.seq + 1;
    count += 1;
    lost += meta.gap_dropped;
    CHECK_OK(sluice_item_release(item));
  }
  CHECK(expected == ITEMS && count + lost == ITEMS);
  CHECK(lost > 0 && stats_of(feed).dropped == lost && stats_of(feed).delivered == count);
  CHECK_OK(sluice_call_close_stream(call, NULL, 0));
  CHECK_OK(sluice_op_release(serving));
  CHECK_OK(sluice_input_release(result));
  CHECK_OK(sluice_output_release(argument));
  CHECK_OK(sluice_call_release(call));
  CHECK_OK(sluice_feed_release(feed));
  pair_close(&pair);
}

/* HZ-V03: what a feed has lost is what its connection says that live sources have, and no drop. */
static void v03_the_losses_of_a_feed_are_those_of_its_connection(void) {
  pair pair;
  sluice_feed *feed = open_feed(2, false);
  sluice_call *call = NULL;
  sluice_output *argument = NULL;
  sluice_input *result = NULL;
  sluice_item *item = NULL;
  sluice_terminal *terminal = NULL;
  sluice_error *err = NULL;
  static const char *const told[] = {
      "\"overruns_total\":6",
      "\"drops\":{\"by_reason\":{},\"by_reason_frame_type\":{},\"total\":0}"};
  uint64_t n;
  for (n = 0; n < 8; n++) {
    CHECK_OK(push(feed, n));
  }
  CHECK_OK(sluice_feed_stop(feed));
  pair_open(&pair, NULL, test_cartridge());
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ITEMS, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_input(call, "media:items", SLUICE_NUL, &argument, &err), err);
  CHECK_OK_ERR(sluice_feed_serve(feed, argument, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &result, &err), err);
  for (n = 0; n < 2; n++) {
    CHECK_OK_ERR(sluice_input_recv(result, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_input_recv(result, WAIT_MS, &item, &err));
  CHECK_OK_ERR(sluice_call_wait(call, WAIT_MS, &terminal, &err), err);
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK(stats_of(feed).overruns == 6 && stats_of(feed).dropped == 6);
  for (n = 0; n < sizeof told / sizeof told[0]; n++) {
    CHECK_OK(sluice_peer_stats(pair.peer, &item));
    CHECK(says(item, told[n]));
  }
  CHECK_OK(sluice_input_release(result));
  CHECK_OK(sluice_output_release(argument));
  CHECK_OK(sluice_call_release(call));
  CHECK_OK(sluice_feed_release(feed));
  pair_close(&pair);
}

const check_case feed_cases[] = {
    {"feed: a loss is told with the next item", a_loss_is_told_with_the_next_item},
    {"feed: an overrun fails a feed that says so", an_overrun_fails_a_feed_that_says_so},
    {"feed: a failure is no clean end", a_failure_is_no_clean_end},
    {"feed: waiting takes nothing", waiting_takes_nothing},
    {"feed: bad arguments are answered", bad_arguments_are_answered},
    {"feed: a command and a pipe are sources", a_command_and_a_pipe_are_sources},
    {"feed: gaps add up through a cartridge", gaps_add_up_through_a_cartridge},
    {"feed: V03 the losses of a feed are those of its connection",
     v03_the_losses_of_a_feed_are_those_of_its_connection},
    {NULL, NULL},
};
