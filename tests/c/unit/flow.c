/* The streams protocol over elements of C: demand, terminals, cancel, failure, shutdown. */
#include <string.h>

#include "flow.h"

static long doubled(long n) { return n * 2; }
static bool even(long n) { return n % 2 == 0; }
static long added(long a, long b) { return a + b; }

static sluice_scope *new_scope(void) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &scope));
  return scope;
}

static sluice_scope *new_stepped(uint64_t seed) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, seed, &scope));
  return scope;
}

static void all_was_released(void) {
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

static void a_blueprint_runs_as_often_as_one_likes(void) {
  static const long expected[] = {14};
  sluice_scope *scope = new_scope();
  sluice_graph *graph = flow_to(
      flow_via(flow_manual(16, SLUICE_OVERFLOW_BACKPRESSURE), flow_map(doubled)), flow_collect());
  int round;
  for (round = 0; round < 3; round++) {
    sluice_manual *manual;
    sluice_completion *done = NULL;
    sluice_run *run;
    bool first = false;
    CHECK_OK(sluice_graph_retain(graph));
    run = flow_run(graph, scope);
    manual = flow_run_manual(run);
    CHECK_OK(sluice_run_completion(run, &done));
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_run_completion(run, &done));
    CHECK_OK(sluice_run_release(run));
    CHECK(flow_offer(manual, 7, SOON_MS, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
    CHECK_OK(sluice_manual_complete(manual, &first));
    CHECK(first);
    CHECK_OK(sluice_manual_complete(manual, &first));
    CHECK(!first);
    flow_expect(done, expected, 1);
    CHECK_OK(sluice_manual_release(manual));
    CHECK_OK(sluice_completion_release(done));
  }
  CHECK_OK(sluice_graph_release(graph));
  flow_shutdown(scope);
  all_was_released();
}

static void demand_goes_all_the_way_up(void) {
  static const uint64_t left[] = {1, 1, 0, 1, 0};
  sluice_scope *scope = new_stepped(1);
  sluice_source *source = NULL;
  sluice_subscriber *probe = NULL;
  sluice_manual *manual;
  sluice_run *run;
  sluice_stages *stages = NULL;
  size_t running = 9;
  uint64_t demand = 9;
  long n;
  CHECK_OK(sluice_source_probe(&source));
  run = flow_run(flow_to(flow_via(flow_via(source, flow_filter(even)), flow_take(3)), flow_probe()),
                 scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK(flow_offer(manual, 0, 0, SLUICE_TIMED_OUT) == -1); /* nothing without demand */
  CHECK_OK(sluice_subscriber_request(probe, 0));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK_OK(sluice_manual_demand(manual, &demand));
  CHECK(demand == 0);
  CHECK_OK(sluice_subscriber_request(probe, 2));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK_OK(sluice_scope_stages(scope, &stages));
  CHECK_OK(sluice_stages_count(stages, &running));
  CHECK(running == 4);
  {
    sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
    CHECK_OK(sluice_stages_info(stages, 2, &info));
    CHECK(strcmp(info.name, "take") == 0 && info.downstream == 2 && info.upstream == 2);
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_stages_info(stages, 4, &info));
  }
  CHECK_OK(sluice_stages_release(stages));
  for (n = 0; n < 5; n++) {
    CHECK(flow_offer(manual, n, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
    CHECK_OK(sluice_scope_settle(scope, NULL));
    /* Each that is filtered away is replaced by a request for another, until two have passed. */
    CHECK_OK(sluice_manual_demand(manual, &demand));
    CHECK(demand == left[n]);
    if (n == 2) {
      CHECK_OK(sluice_subscriber_request(probe, UINT64_MAX));
      CHECK_OK(sluice_scope_settle(scope, NULL));
      CHECK_OK(sluice_manual_demand(manual, &demand));
      CHECK(demand == 1); /* take(3) has passed on 3 and asks for no fourth */
    }
  }
  CHECK_OK(sluice_scope_running(scope, &running));
  CHECK(running == 0);
  flow_expect_next(probe, 0);
  flow_expect_next(probe, 2);
  flow_expect_next(probe, 4);
  flow_expect_signal(probe, SLUICE_SIGNAL_COMPLETE, "");
  CHECK_STATUS(SLUICE_CLOSED, sluice_subscriber_request(probe, 1));
  CHECK(flow_offer(manual, 9, 0, SLUICE_OK) == SLUICE_OFFER_QUEUE_CLOSED);
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_subscriber_release(probe));
  CHECK_OK(sluice_scope_release(scope));
  all_was_released();
}

static void every_strategy_holds_three_and_no_more(void) {
  static const struct {
    sluice_overflow overflow;
    size_t count;
    long left[3];
    uint64_t lost;
  } cases[] = {
      {SLUICE_OVERFLOW_DROP_HEAD, 3, {8, 9, 10}, 7},
      {SLUICE_OVERFLOW_DROP_NEW, 3, {1, 2, 3}, 7},
      {SLUICE_OVERFLOW_DROP_TAIL, 3, {1, 2, 10}, 7},
      {SLUICE_OVERFLOW_DROP_BUFFER, 1, {10, 0, 0}, 9},
      {SLUICE_OVERFLOW_BACKPRESSURE, 3, {1, 2, 3}, 0},
      {SLUICE_OVERFLOW_FAIL, 3, {1, 2, 3}, 0},
  };
  size_t at, i;
  for (at = 0; at < sizeof cases / sizeof cases[0]; at++) {
    const sluice_overflow overflow = cases[at].overflow;
    sluice_scope *scope = new_stepped(3);
    sluice_run *run = flow_run(flow_to(flow_manual(3, overflow), flow_probe()), scope);
    sluice_manual *manual = flow_run_manual(run);
    sluice_subscriber *probe = NULL;
    uint64_t held = 9, lost = 9;
    long n;
    CHECK_OK(sluice_run_subscriber(run, &probe));
    CHECK_OK(sluice_run_release(run));
    for (n = 1; n <= 10; n++) {
      const bool full = n > 3;
      if (full && overflow == SLUICE_OVERFLOW_BACKPRESSURE) {
        CHECK(flow_offer(manual, n, 0, SLUICE_TIMED_OUT) == -1);
      } else {
        const int offer = flow_offer(manual, n, 0, SLUICE_OK);
        CHECK(offer == (!full                                    ? SLUICE_OFFER_ENQUEUED
                        : overflow == SLUICE_OVERFLOW_FAIL       ? SLUICE_OFFER_FAILURE
                        : overflow == SLUICE_OVERFLOW_DROP_NEW   ? SLUICE_OFFER_DROPPED
                                                                 : SLUICE_OFFER_ENQUEUED));
      }
      CHECK_OK(sluice_scope_settle(scope, NULL));
      CHECK_OK(sluice_manual_held(manual, &held));
      CHECK(held <= 3);
    }
    CHECK_OK(sluice_manual_lost(manual, &lost));
    CHECK(lost == cases[at].lost);
    CHECK_OK(sluice_manual_complete(manual, NULL));
    CHECK_OK(sluice_subscriber_request(probe, 10));
    CHECK_OK(sluice_scope_settle(scope, NULL));
    for (i = 0; i < cases[at].count; i++) {
      flow_expect_next(probe, cases[at].left[i]);
    }
    flow_expect_signal(
        probe, overflow == SLUICE_OVERFLOW_FAIL ? SLUICE_SIGNAL_ERROR : SLUICE_SIGNAL_COMPLETE, "3");
    CHECK_OK(sluice_manual_release(manual));
    CHECK_OK(sluice_subscriber_release(probe));
    CHECK_OK(sluice_scope_release(scope));
    all_was_released();
  }
}

static void sizes_of_nothing_are_refused(void) {
  sluice_edge_options options = SLUICE_EDGE_OPTIONS_INIT;
  sluice_source *source = NULL;
  sluice_error *err = NULL;
  const char *text = "";
  options.capacity = 0;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_manual(&options, &source, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "0 elements") != NULL);
  CHECK_OK(sluice_error_release(err));
  options.capacity = 1;
  options.overflow = 6;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_manual(&options, &source, NULL));
}

static void a_function_that_fails_fails_the_stream_at_both_ends(void) {
  sluice_scope *scope = new_scope();
  sluice_run *run = flow_run(
      flow_to(flow_via(flow_manual(16, SLUICE_OVERFLOW_BACKPRESSURE), flow_map(doubled)),
              flow_collect()),
      scope);
  sluice_manual *manual = flow_run_manual(run);
  sluice_completion *done = NULL;
  sluice_completion_state_t state = SLUICE_COMPLETION_PENDING;
  sluice_error *err = NULL;
  const char *text = "";
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  CHECK(flow_offer(manual, 1, SOON_MS, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  CHECK(flow_offer(manual, 666, SOON_MS, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  CHECK_STATUS(SLUICE_MALFORMED, sluice_completion_wait(done, SOON_MS, NULL, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "map") != NULL && strstr(text, "no such number") != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_completion_state(done, &state));
  CHECK(state == SLUICE_COMPLETION_FAILURE);
  while (flow_offer(manual, 9, SOON_MS, SLUICE_OK) == SLUICE_OFFER_ENQUEUED) {
  }
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_completion_release(done));
  flow_shutdown(scope);
  all_was_released();
}

static void a_pull_runs_afresh_and_a_fold_has_one_result(void) {
  static const long expected[] = {4950};
  sluice_scope *scope = new_scope();
  const sluice_opener opener = flow_counter(100);
  const sluice_element first = flow_number(0);
  const sluice_folder folder = flow_folder(added);
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  sluice_graph *graph;
  int round;
  CHECK_OK(sluice_source_pull(&opener, &source));
  CHECK_OK(sluice_sink_fold(&first, &folder, &sink));
  graph = flow_to(source, sink);
  for (round = 0; round < 2; round++) {
    sluice_completion *done = NULL;
    sluice_run *run;
    CHECK_OK(sluice_graph_retain(graph));
    run = flow_run(graph, scope);
    CHECK_OK(sluice_run_completion(run, &done));
    CHECK_OK(sluice_run_release(run));
    flow_expect(done, expected, 1);
    CHECK_OK(sluice_completion_release(done));
  }
  CHECK_OK(sluice_graph_release(graph));
  flow_shutdown(scope);
  all_was_released();
}

static void an_outlet_is_taken_from_by_an_operation_and_cancels(void) {
  sluice_scope *scope = new_scope();
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  sluice_outlet *outlet = NULL;
  sluice_run *run;
  sluice_elements *list = NULL;
  bell bell;
  uintptr_t n;
  CHECK_OK(sluice_source_range(0, SIZE_MAX, &source));
  CHECK_OK(sluice_sink_outlet(NULL, &sink, NULL));
  run = flow_run(flow_to(source, sink), scope);
  CHECK_OK(sluice_run_outlet(run, &outlet));
  CHECK_OK(sluice_run_release(run));
  bell_init(&bell);
  for (n = 0; n < 100; n++) {
    sluice_op *op = NULL;
    sluice_elements *element = NULL;
    void *value = NULL;
    CHECK_OK(sluice_outlet_recv_start(outlet, &op));
    CHECK_OK(bell_drive(&bell, op, NULL, NULL));
    CHECK_OK(sluice_op_take_elements(op, &element));
    CHECK_OK(sluice_elements_value(element, 0, &value));
    CHECK((uintptr_t)value == n);
    CHECK_OK(sluice_elements_release(element));
    CHECK_OK(sluice_op_release(op));
  }
  bell_destroy(&bell);
  CHECK_OK(sluice_outlet_cancel(outlet));
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_outlet_recv(outlet, SOON_MS, &list, NULL));
  CHECK_OK(sluice_outlet_release(outlet));
  flow_shutdown(scope); /* the endless source was cancelled */
}

static void *offer_until_it_is_over(void *manual) {
  while (flow_offer(manual, 1, SLUICE_FOREVER, SLUICE_OK) == SLUICE_OFFER_ENQUEUED) {
  }
  return NULL;
}

static void a_cancel_releases_every_element_and_wakes_the_producer(void) {
  sluice_scope *scope = new_scope();
  sluice_edge_options options = SLUICE_EDGE_OPTIONS_INIT;
  sluice_flow *buffer = NULL;
  sluice_subscriber *probe = NULL;
  sluice_manual *manual;
  sluice_run *run;
  pthread_t producer;
  options.capacity = 4;
  CHECK_OK(sluice_flow_buffer(&options, &buffer, NULL));
  run = flow_run(flow_to(flow_via(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), buffer), flow_probe()),
                 scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK(pthread_create(&producer, NULL, offer_until_it_is_over, manual) == 0);
  CHECK_OK(sluice_subscriber_request(probe, 1));
  flow_expect_next(probe, 1);
  CHECK_OK(sluice_subscriber_cancel(probe));
  CHECK(pthread_join(producer, NULL) == 0);
  flow_shutdown(scope);
  CHECK_OK(sluice_subscriber_release(probe));
  CHECK_OK(sluice_manual_release(manual));
  all_was_released();
}

static void a_scope_that_is_shut_down_cancels_and_refuses(void) {
  sluice_scope *scope = new_scope();
  sluice_graph *graph = flow_to(flow_manual(1, SLUICE_OVERFLOW_BACKPRESSURE), flow_collect());
  sluice_completion *done = NULL;
  sluice_manual *manual;
  sluice_run *run;
  sluice_error *err = NULL;
  CHECK_OK(sluice_graph_retain(graph));
  run = flow_run(graph, scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_completion_wait(done, 0, NULL, NULL));
  CHECK_OK(sluice_scope_shutdown(scope, SOON_MS, NULL));
  CHECK(flow_offer(manual, 1, SOON_MS, SLUICE_OK) == SLUICE_OFFER_QUEUE_CLOSED);
  CHECK_STATUS(SLUICE_SCOPE_SHUT_DOWN, sluice_completion_wait(done, SOON_MS, NULL, NULL));
  CHECK_STATUS(SLUICE_SCOPE_SHUT_DOWN, sluice_graph_run(graph, scope, &run, &err));
  CHECK(err != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_graph_release(graph));
  flow_shutdown(scope);
  all_was_released();
}

static void a_promise_is_settled_once(void) {
  static const long expected[] = {7};
  sluice_promise *promise = NULL;
  sluice_completion *done = NULL;
  sluice_element element = flow_number(7);
  bool first = false;
  CHECK_OK(sluice_promise_new(&promise));
  CHECK_OK(sluice_promise_completion(promise, &done));
  CHECK_OK(sluice_promise_success(promise, &element, &first));
  CHECK(first);
  element = flow_number(8);
  CHECK_OK(sluice_promise_success(promise, &element, &first));
  CHECK(!first);
  CHECK_OK(sluice_promise_cancel(promise, &first));
  CHECK(!first);
  flow_expect(done, expected, 1);
  CHECK_OK(sluice_promise_release(promise));
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_promise_new(&promise));
  CHECK_OK(sluice_promise_completion(promise, &done));
  CHECK_OK(sluice_promise_release(promise)); /* whoever goes away has cancelled */
  CHECK_STATUS(SLUICE_CANCELLED, sluice_completion_wait(done, SOON_MS, NULL, NULL));
  CHECK_OK(sluice_completion_release(done));
  all_was_released();
}

static void null_is_answered_and_what_was_handed_over_is_released(void) {
  const sluice_mapper mapper = flow_mapper(doubled);
  const sluice_mapper none = {NULL, NULL, NULL};
  sluice_flow *flow = NULL;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_map(&mapper, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_map(NULL, &flow));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_map(&none, &flow));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_via(NULL, NULL, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_scope_new(NULL, 0, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_manual_offer(NULL, NULL, 0, NULL, NULL));
  all_was_released();
}

const check_case flow_cases[] = {
    {"flow: a blueprint runs as often as one likes", a_blueprint_runs_as_often_as_one_likes},
    {"flow: demand goes all the way up", demand_goes_all_the_way_up},
    {"flow: every strategy holds three and no more", every_strategy_holds_three_and_no_more},
    {"flow: sizes of nothing are refused", sizes_of_nothing_are_refused},
    {"flow: a function that fails fails the stream at both ends",
     a_function_that_fails_fails_the_stream_at_both_ends},
    {"flow: a pull runs afresh, a fold has one result",
     a_pull_runs_afresh_and_a_fold_has_one_result},
    {"flow: an outlet is taken from by an operation, and cancels",
     an_outlet_is_taken_from_by_an_operation_and_cancels},
    {"flow: a cancel releases every element and wakes the producer",
     a_cancel_releases_every_element_and_wakes_the_producer},
    {"flow: a scope that is shut down cancels and refuses",
     a_scope_that_is_shut_down_cancels_and_refuses},
    {"flow: a promise is settled once", a_promise_is_settled_once},
    {"flow: NULL is answered, what was handed over is released",
     null_is_answered_and_what_was_handed_over_is_released},
    {NULL, NULL},
};
