/* What the streams answer to an operation that is polled, and controls: promises, hubs, outlets, scopes. */
#include <string.h>

#include "flow.h"

static sluice_scope *new_stepped(void) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 1, &scope));
  return scope;
}

static void settle(const sluice_scope *scope) { CHECK_OK(sluice_scope_settle(scope, NULL)); }

static void all_was_released(sluice_scope *scope) {
  flow_shutdown(scope);
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

static bool refused(const sluice_error *err) {
  const char *text = "";
  CHECK_OK(sluice_error_message(err, &text, NULL));
  return strstr(text, "refused here") != NULL;
}

static sluice_error *refusal(void) {
  sluice_error *err = NULL;
  CHECK_OK(sluice_error_new(SLUICE_MALFORMED, NULL, 0, 0, "refused here", SLUICE_NUL, &err));
  return err;
}

static long same(long n) { return n; }

static void a_promise_that_fails_is_told_to_who_waits_and_to_who_comes_later(void) {
  sluice_promise *promise = NULL;
  sluice_completion *done = NULL;
  sluice_error *failure = refusal(), *err = NULL;
  sluice_op *op = NULL;
  bell bell;
  bool first = false;
  bell_init(&bell);
  CHECK_OK(sluice_promise_new(&promise));
  CHECK_OK(sluice_promise_completion(promise, &done));
  CHECK_OK(sluice_completion_wait_start(done, &op));
  CHECK_OK(sluice_completion_retain(done));
  CHECK_OK(sluice_promise_failure(promise, failure, &first));
  CHECK(first);
  CHECK_OK(sluice_promise_failure(promise, failure, &first));
  CHECK(!first);
  CHECK_OK(sluice_error_release(failure));
  CHECK_STATUS(SLUICE_MALFORMED, bell_drive(&bell, op, NULL, &err));
  CHECK(refused(err));
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_completion_release(done));
  CHECK_STATUS(SLUICE_MALFORMED, sluice_completion_wait(done, 0, NULL, &err));
  CHECK(refused(err));
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_promise_release(promise));
  bell_destroy(&bell);
}

static void readiness_signals_and_results_are_operations(void) {
  sluice_scope *scope = new_stepped();
  sluice_flow *flow = flow_map(same);
  sluice_sink *end = flow_probe(), *named = NULL, *sink = NULL;
  sluice_source *source = flow_manual(1, SLUICE_OVERFLOW_BACKPRESSURE);
  sluice_subscriber *probe = NULL;
  sluice_elements *element = NULL;
  sluice_signal signal = SLUICE_SIGNAL_ERROR;
  sluice_stages *stages = NULL;
  sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
  sluice_op *ready = NULL, *next = NULL;
  sluice_manual *manual;
  sluice_run *run;
  void *value = NULL;
  bell bell;
  bell_init(&bell);
  CHECK_OK(sluice_sink_named(end, "listener", SLUICE_NUL, &named));
  CHECK_OK(sluice_flow_to(flow, named, &sink));
  CHECK_OK(sluice_flow_retain(flow));
  CHECK_OK(sluice_flow_release(flow));
  CHECK_OK(sluice_flow_release(flow));
  CHECK_OK(sluice_sink_release(end));
  CHECK_OK(sluice_sink_retain(named));
  CHECK_OK(sluice_sink_release(named));
  CHECK_OK(sluice_sink_release(named));
  CHECK_OK(sluice_source_retain(source));
  CHECK_OK(sluice_source_release(source));
  run = flow_run(flow_to(source, sink), scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_manual_retain(manual));
  CHECK_OK(sluice_manual_release(manual));
  settle(scope);
  CHECK_OK(sluice_scope_stages(scope, &stages));
  CHECK_OK(sluice_stages_info(stages, 2, &info));
  CHECK(strcmp(info.name, "listener") == 0);
  CHECK_OK(sluice_stages_release(stages));
  CHECK(flow_offer(manual, 1, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  CHECK_OK(sluice_manual_ready_start(manual, 1, &ready));
  CHECK_OK(sluice_subscriber_signal_start(probe, &next));
  {
    const struct timespec now = monotonic_now();
    CHECK_STATUS(SLUICE_TIMED_OUT, bell_drive(&bell, ready, &now, NULL));
    CHECK_STATUS(SLUICE_TIMED_OUT, bell_drive(&bell, next, &now, NULL));
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_signal(next, &signal, &element, NULL));
  }
  CHECK_OK(sluice_subscriber_request(probe, 1));
  settle(scope);
  CHECK_OK(bell_drive(&bell, ready, NULL, NULL));
  CHECK_OK(bell_drive(&bell, next, NULL, NULL));
  CHECK_OK(sluice_op_take_signal(next, &signal, &element, NULL));
  CHECK(signal == SLUICE_SIGNAL_NEXT);
  CHECK_OK(sluice_elements_value(element, 0, &value));
  CHECK(flow_value(value) == 1);
  CHECK_OK(sluice_elements_retain(element));
  CHECK_OK(sluice_elements_release(element));
  CHECK(flow_alive() == 1);
  CHECK_OK(sluice_elements_release(element));
  CHECK(flow_alive() == 0);
  CHECK_OK(sluice_op_release(ready));
  CHECK_OK(sluice_op_release(next));
  CHECK_OK(sluice_subscriber_cancel(probe));
  settle(scope);
  CHECK_OK(sluice_manual_ready_start(manual, 1, &ready));
  CHECK_STATUS(SLUICE_CLOSED, bell_drive(&bell, ready, NULL, NULL));
  CHECK_OK(sluice_op_release(ready));
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_subscriber_release(probe));
  bell_destroy(&bell);
  all_was_released(scope);
}

static void an_outlet_says_what_it_holds_and_a_shutdown_lets_go_of_it(void) {
  sluice_scope *scope = new_stepped();
  const sluice_opener opener = flow_counter(100);
  sluice_edge_options options = SLUICE_EDGE_OPTIONS_INIT;
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  sluice_outlet *outlet = NULL;
  sluice_elements *list = NULL;
  sluice_run *run;
  uint64_t held = 9;
  options.capacity = 3;
  CHECK_OK(sluice_source_pull(&opener, &source));
  CHECK_OK(sluice_sink_outlet(&options, &sink, NULL));
  run = flow_run(flow_to(source, sink), scope);
  CHECK_OK(sluice_run_outlet(run, &outlet));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_outlet_held(outlet, &held));
  CHECK(held == 0);
  settle(scope);
  CHECK_OK(sluice_outlet_held(outlet, &held));
  CHECK(held == 3);
  CHECK_OK(sluice_outlet_recv(outlet, 0, &list, NULL));
  CHECK_OK(sluice_elements_release(list));
  CHECK_OK(sluice_outlet_held(outlet, &held));
  CHECK(held == 2);
  CHECK_OK(sluice_outlet_retain(outlet));
  CHECK_OK(sluice_outlet_release(outlet));
  CHECK_OK(sluice_outlet_release(outlet));
  all_was_released(scope);
}

static sluice_subscriber *subscribe(const sluice_scope *scope, const sluice_hub *hub) {
  sluice_source *source = NULL;
  sluice_subscriber *probe = NULL;
  sluice_run *run;
  CHECK_OK(sluice_hub_subscribe(hub, (int32_t)SLUICE_HUB_POLICY_WAIT, UINT64_MAX, 3, &source, NULL));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  settle(scope);
  return probe;
}

static void a_hub_counts_who_listens(void) {
  sluice_scope *scope = new_stepped();
  sluice_subscriber *probes[2];
  sluice_sink *sink = NULL;
  sluice_hub *hub = NULL;
  sluice_manual *manual;
  sluice_run *run;
  size_t count = 9;
  int i;
  CHECK_OK(sluice_sink_broadcast_hub(4, 0, &sink, NULL));
  run = flow_run(flow_to(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), sink), scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_hub(run, &hub));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_hub_subscribers(hub, &count));
  CHECK(count == 0);
  for (i = 0; i < 2; i++) {
    probes[i] = subscribe(scope, hub);
    CHECK_OK(sluice_hub_subscribers(hub, &count));
    CHECK(count == (size_t)i + 1);
  }
  CHECK_OK(sluice_subscriber_cancel(probes[0]));
  settle(scope);
  CHECK_OK(sluice_hub_subscribers(hub, &count));
  CHECK(count == 1);
  for (i = 0; i < 2; i++) {
    CHECK_OK(sluice_subscriber_release(probes[i]));
  }
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_hub_release(hub));
  all_was_released(scope);
}

static void a_merge_hub_completes_with_the_last_producer(void) {
  sluice_scope *scope = new_stepped();
  sluice_source *source = NULL;
  sluice_merge_hub *hub = NULL;
  sluice_subscriber *probe = NULL;
  sluice_sink *sink = NULL;
  sluice_manual *manual;
  sluice_run *run;
  CHECK_OK(sluice_source_merge_hub(NULL, &source, NULL));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_merge_hub(run, &hub));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_merge_hub_sink(hub, &sink));
  run = flow_run(flow_to(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), sink), scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_subscriber_request(probe, 9));
  settle(scope);
  CHECK_OK(sluice_merge_hub_complete(hub));
  settle(scope);
  CHECK_OK(sluice_subscriber_expect_no_message(probe, 0, NULL));
  CHECK(flow_offer(manual, 5, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  settle(scope);
  flow_expect_next(probe, 5);
  CHECK_OK(sluice_manual_complete(manual, NULL));
  settle(scope);
  flow_expect_signal(probe, SLUICE_SIGNAL_COMPLETE, "");
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_subscriber_release(probe));
  CHECK_OK(sluice_merge_hub_release(hub));
  all_was_released(scope);
}

static void threads_wait_for_a_clock_that_is_moved_by_hand(void) {
  sluice_scope *scope = NULL, *machine = NULL;
  sluice_element element = flow_number(7);
  sluice_source *source = NULL;
  sluice_subscriber *probe = NULL;
  sluice_run *run;
  int i;
  CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &machine));
  CHECK_STATUS(SLUICE_WRONG_MODE, sluice_scope_advance(machine, 1));
  flow_shutdown(machine);
  CHECK_OK(sluice_scope_new_hand("test", SLUICE_NUL, &scope));
  CHECK_OK(sluice_scope_retain(scope));
  CHECK_OK(sluice_scope_release(scope));
  CHECK_OK(sluice_source_tick(UINT64_C(3600000000), &element, &source));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_subscriber_request(probe, 3));
  /* An hour a tick; the first may wait for the second if the thread has not read the clock before. */
  for (i = 0; i < 3; i++) {
    sluice_signal signal = SLUICE_SIGNAL_COMPLETE;
    sluice_elements *list = NULL;
    sluice_status status;
    do {
      CHECK_OK(sluice_scope_advance(scope, UINT64_C(3600000000)));
      status = sluice_subscriber_signal(probe, 100, &signal, &list, NULL);
    } while (status == SLUICE_TIMED_OUT);
    CHECK_OK(status);
    CHECK(signal == SLUICE_SIGNAL_NEXT);
    CHECK_OK(sluice_elements_release(list));
  }
  CHECK_OK(sluice_subscriber_release(probe));
  all_was_released(scope);
}

const check_case flow_op_cases[] = {
    {"flow: a promise that fails is told to who waits and to who comes later",
     a_promise_that_fails_is_told_to_who_waits_and_to_who_comes_later},
    {"flow: readiness, signals and results are operations", readiness_signals_and_results_are_operations},
    {"flow: an outlet says what it holds", an_outlet_says_what_it_holds_and_a_shutdown_lets_go_of_it},
    {"flow: a hub counts who listens", a_hub_counts_who_listens},
    {"flow: a merge hub completes with the last producer", a_merge_hub_completes_with_the_last_producer},
    {"flow: threads wait for a clock that is moved by hand", threads_wait_for_a_clock_that_is_moved_by_hand},
    {NULL, NULL},
};
