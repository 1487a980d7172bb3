/* What a test expects of probes comes, or is told with what came instead; and every element that is refused is
 * released once, by whoever has it then. */
#include <string.h>

#include "flow.h"

typedef struct line {
  sluice_scope *scope;
  sluice_manual *source;
  sluice_subscriber *end;
} line;

/* A source's probe, or a queue of two under a strategy, straight into a subscriber's probe. */
static line new_line(const sluice_overflow *overflow) {
  line line = {NULL, NULL, NULL};
  sluice_source *source = NULL;
  sluice_run *run;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 5, &line.scope));
  if (overflow == NULL) {
    CHECK_OK(sluice_source_probe(&source));
  } else {
    source = flow_manual(2, *overflow);
  }
  run = flow_run(flow_to(source, flow_probe()), line.scope);
  line.source = flow_run_manual(run);
  CHECK_OK(sluice_run_subscriber(run, &line.end));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_scope_settle(line.scope, NULL));
  return line;
}

static void end_line(line *line) {
  CHECK_OK(sluice_manual_release(line->source));
  CHECK_OK(sluice_subscriber_release(line->end));
  flow_shutdown(line->scope);
  CHECK(flow_alive() == 0);
}

static void settle(const line *line) { CHECK_OK(sluice_scope_settle(line->scope, NULL)); }

/* An answer that is not OK comes with these words. */
static void check_told(sluice_status expected, sluice_status status, sluice_error **err,
                       const char *awaited, const char *came) {
  const char *text = "(no error)";
  CHECK_STATUS(expected, status);
  if (*err != NULL) {
    CHECK_OK(sluice_error_message(*err, &text, NULL));
  }
  if (strstr(text, awaited) == NULL || strstr(text, came) == NULL) {
    check_failed(__FILE__, __LINE__, awaited, text);
  }
  sluice_error_release(*err);
  *err = NULL;
}

static bool same_number(const void *expected, const void *came) {
  return *(const long *)expected == flow_value(came);
}

static sluice_status expect(const line *line, long n, sluice_error **err) {
  return sluice_subscriber_expect_next(line->end, &n, same_number, 0, err);
}

static void send(const line *line, long n) {
  const sluice_element element = flow_number(n);
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_manual_send_next(line->source, &element, 0, &err), err);
  settle(line);
}

static void what_is_awaited_comes(void) {
  line line = new_line(NULL);
  sluice_elements *element = NULL;
  sluice_error *err = NULL, *reason = NULL;
  void *value = NULL;
  CHECK_OK_ERR(sluice_subscriber_expect_no_message(line.end, 0, &err), err);
  CHECK_OK(sluice_subscriber_request(line.end, 3));
  settle(&line);
  CHECK_OK_ERR(sluice_manual_expect_demand(line.source, 3, 0, &err), err);
  send(&line, 1);
  send(&line, 2);
  CHECK_OK_ERR(sluice_manual_expect_demand(line.source, 1, 0, &err), err);
  CHECK_OK_ERR(expect(&line, 1, &err), err);
  CHECK_OK_ERR(sluice_subscriber_expect_any(line.end, 0, &element, &err), err);
  CHECK_OK(sluice_elements_value(element, 0, &value));
  CHECK(flow_value(value) == 2);
  CHECK_OK(sluice_elements_release(element));
  CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "no disk", SLUICE_NUL, &err));
  CHECK_OK(sluice_manual_fail(line.source, err, NULL));
  CHECK_OK(sluice_error_release(err));
  settle(&line);
  err = NULL;
  CHECK_OK_ERR(sluice_subscriber_expect_error(line.end, 0, &reason, &err), err);
  check_told(SLUICE_IO, SLUICE_IO, &reason, "no disk", "");
  end_line(&line);

  line = new_line(NULL);
  CHECK_OK(sluice_manual_complete(line.source, NULL));
  settle(&line);
  CHECK_OK_ERR(sluice_subscriber_expect_complete(line.end, 0, &err), err);
  end_line(&line);

  line = new_line(NULL);
  CHECK_OK(sluice_subscriber_cancel(line.end));
  settle(&line);
  CHECK_OK_ERR(sluice_manual_expect_cancel(line.source, 0, &err), err);
  end_line(&line);
}

static void a_number_is_the_same_without_a_function(void) {
  sluice_scope *scope = NULL;
  sluice_source *source = NULL;
  sluice_subscriber *probe = NULL;
  sluice_error *err = NULL;
  sluice_run *run;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 5, &scope));
  CHECK_OK(sluice_source_range(7, 9, &source));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_subscriber_request(probe, 2));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK_OK_ERR(sluice_subscriber_expect_next(probe, (const void *)7, NULL, 0, &err), err);
  check_told(SLUICE_PROTOCOL,
             sluice_subscriber_expect_next(probe, (const void *)7, NULL, 0, &err), &err,
             "awaited: the element 0x7", "came: the element 0x8");
  CHECK_OK(sluice_subscriber_release(probe));
  flow_shutdown(scope);
}

static void what_came_instead_is_told(void) {
  static const sluice_overflow drops = SLUICE_OVERFLOW_DROP_NEW;
  line line = new_line(NULL);
  const sluice_element element = flow_number(9);
  sluice_error *err = NULL;
  /* Nothing within the time: */
  check_told(SLUICE_TIMED_OUT, expect(&line, 1, &err), &err, "within", "came: nothing");
  check_told(SLUICE_TIMED_OUT, sluice_subscriber_expect_any(line.end, 0, NULL, &err), &err,
             "awaited: an element within", "came: nothing");
  check_told(SLUICE_TIMED_OUT, sluice_subscriber_expect_complete(line.end, 20, &err), &err,
             "awaited: complete within 20ms", "came: nothing");
  check_told(SLUICE_TIMED_OUT, sluice_subscriber_expect_error(line.end, 0, NULL, &err), &err,
             "awaited: a failure within", "came: nothing");
  check_told(SLUICE_TIMED_OUT, sluice_manual_expect_cancel(line.source, 0, &err), &err,
             "awaited: cancel within", "came: nothing");
  CHECK_OK(sluice_subscriber_request(line.end, 5));
  settle(&line);
  check_told(SLUICE_TIMED_OUT, sluice_manual_expect_demand(line.source, 6, 0, &err), &err,
             "awaited: demand for 6", "came: demand for 5");
  /* Something else: */
  send(&line, 1);
  check_told(SLUICE_PROTOCOL, expect(&line, 2, &err), &err, "awaited: the element", "came: the element");
  send(&line, 3);
  check_told(SLUICE_PROTOCOL, sluice_subscriber_expect_no_message(line.end, 0, &err), &err,
             "awaited: nothing", "came: the element");
  send(&line, 4);
  check_told(SLUICE_PROTOCOL, sluice_subscriber_expect_complete(line.end, 0, &err), &err,
             "awaited: complete", "came: the element");
  send(&line, 5);
  check_told(SLUICE_PROTOCOL, sluice_subscriber_expect_error(line.end, 0, NULL, &err), &err,
             "awaited: a failure", "came: the element");
  CHECK_OK(sluice_manual_complete(line.source, NULL));
  settle(&line);
  check_told(SLUICE_PROTOCOL, sluice_subscriber_expect_any(line.end, 0, NULL, &err), &err,
             "awaited: an element", "came: complete");
  CHECK_STATUS(SLUICE_CLOSED, sluice_subscriber_request(line.end, 1));
  check_told(SLUICE_PROTOCOL, sluice_manual_expect_demand(line.source, 6, 0, &err), &err,
             "awaited: demand for 6", "came: cancel");
  check_told(SLUICE_PROTOCOL, sluice_manual_send_next(line.source, &element, 0, &err), &err,
             "awaited: an element is taken", "came: QueueClosed");
  CHECK(flow_alive() == 1); /* it stays ours */
  element.release(element.value);
  end_line(&line);

  /* An element that is not taken fails its source, and stays ours. */
  line = new_line(NULL);
  {
    const sluice_element late = flow_number(1);
    check_told(SLUICE_TIMED_OUT, sluice_manual_send_next(line.source, &late, 0, &err), &err,
               "awaited: an element is taken within", "came: nothing");
    CHECK(flow_alive() == 1);
    late.release(late.value);
  }
  settle(&line);
  CHECK_OK(sluice_subscriber_expect_error(line.end, 0, NULL, NULL));
  end_line(&line);

  line = new_line(&drops);
  {
    const sluice_element dropped = flow_number(3);
    send(&line, 1);
    send(&line, 2);
    check_told(SLUICE_PROTOCOL, sluice_manual_send_next(line.source, &dropped, 0, &err), &err,
               "awaited: an element is taken", "came: Dropped");
    CHECK(flow_alive() == 3);
    dropped.release(dropped.value);
  }
  end_line(&line);
}

/* Offers by the call and by an operation, which is polled or not. */
static void offer_every_way(const sluice_manual *manual) {
  sluice_element element = flow_number(1);
  sluice_offer offer;
  sluice_op *op = NULL;
  int polled;
  if (sluice_manual_offer(manual, &element, 0, &offer, NULL) != SLUICE_OK) {
    element.release(element.value);
  }
  for (polled = 0; polled < 2; polled++) {
    element = flow_number(2);
    CHECK_OK(sluice_manual_offer_start(manual, &element, &op));
    if (polled && sluice_op_poll(op, NULL, NULL) == SLUICE_OK) {
      CHECK_OK(sluice_op_take_offer(op, &offer, NULL));
    }
    CHECK_OK(sluice_op_release(op));
  }
  element = flow_number(3);
  if (sluice_manual_send_next(manual, &element, 0, NULL) != SLUICE_OK) {
    element.release(element.value);
  }
  element = flow_number(4); /* what cannot be done takes nothing over */
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_manual_offer(manual, &element, 0, NULL, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_manual_offer(NULL, &element, 0, &offer, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_manual_offer_start(manual, &element, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_manual_send_next(NULL, &element, 0, NULL));
  element.release(element.value);
}

static void every_element_that_is_offered_is_released_once(void) {
  enum { OPEN, FULL, COMPLETED, FAILED, CANCELLED, SHUT_DOWN, STATES };
  int overflow, state;
  for (overflow = SLUICE_OVERFLOW_BACKPRESSURE; overflow <= SLUICE_OVERFLOW_FAIL; overflow++) {
    for (state = 0; state < STATES; state++) {
      const sluice_overflow strategy = (sluice_overflow)overflow;
      line line = new_line(&strategy);
      sluice_error *err = NULL;
      int full;
      for (full = 0; state == FULL && full < 2; full++) {
        CHECK(flow_offer(line.source, full, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
      }
      if (state == COMPLETED) {
        CHECK_OK(sluice_manual_complete(line.source, NULL));
      } else if (state == FAILED) {
        CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "no disk", SLUICE_NUL, &err));
        CHECK_OK(sluice_manual_fail(line.source, err, NULL));
        CHECK_OK(sluice_error_release(err));
      } else if (state == CANCELLED) {
        CHECK_OK(sluice_subscriber_cancel(line.end));
        settle(&line);
      } else if (state == SHUT_DOWN) {
        CHECK_OK(sluice_scope_shutdown(line.scope, SOON_MS, NULL));
      }
      offer_every_way(line.source);
      CHECK(state < COMPLETED ? flow_alive() <= 2 : flow_alive() == 0);
      end_line(&line);
    }
  }
}

static int32_t refuse_after_making(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)value, (void)err;
  *out = flow_number(1); /* written, but the answer says that it is not the library's */
  out->release(out->value);
  return SLUICE_IO;
}

static long added(long a, long b) { return a + b; }

static void what_is_handed_to_a_call_that_refuses_stays_ours(void) {
  const sluice_mapper mapper = {NULL, refuse_after_making, NULL};
  const sluice_element element = flow_number(1);
  const sluice_folder none = {NULL, NULL, NULL};
  const sluice_opener opener = flow_counter(3);
  sluice_folder folder = flow_folder(added);
  sluice_promise *promise = NULL;
  sluice_completion *done = NULL;
  sluice_scope *scope = NULL;
  sluice_source *source = NULL;
  sluice_flow *flow = NULL;
  sluice_sink *sink = NULL;
  sluice_run *run;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_single(&element, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_elements_push(NULL, &element));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_promise_success(NULL, &element, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_scan(&element, &none, &flow));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_scan(&element, &folder, NULL));
  folder = flow_folder(added);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_fold(&element, &folder, NULL));
  folder = flow_folder(added);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_sink_fold(&element, &folder, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_pages(&element, 0, NULL, &source));
  CHECK(flow_alive() == 1 && flow_functions() == 1);
  element.release(element.value);
  CHECK_OK(sluice_promise_new(&promise));
  CHECK_OK(sluice_promise_release(promise));
  /* A function that refuses keeps what it wrote. */
  CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &scope));
  CHECK_OK(sluice_source_pull(&opener, &source));
  CHECK_OK(sluice_flow_map(&mapper, &flow));
  CHECK_OK(sluice_sink_collect(&sink));
  run = flow_run(flow_to(flow_via(source, flow), sink), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  CHECK_STATUS(SLUICE_IO, sluice_completion_wait(done, SOON_MS, NULL, NULL));
  CHECK_OK(sluice_completion_release(done));
  flow_shutdown(scope);
  CHECK(flow_alive() == 0 && flow_functions() == 0);
}

const check_case flow_expect_cases[] = {
    {"flow: what is awaited comes", what_is_awaited_comes},
    {"flow: a number is the same without a function", a_number_is_the_same_without_a_function},
    {"flow: what came instead is told", what_came_instead_is_told},
    {"flow: every element that is offered is released once",
     every_element_that_is_offered_is_released_once},
    {"flow: what is handed to a call that refuses stays ours",
     what_is_handed_to_a_call_that_refuses_stays_ours},
    {NULL, NULL},
};
