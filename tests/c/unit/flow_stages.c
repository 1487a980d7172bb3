/* Groups, joins, fan-outs and a run that is ended from outside: what goes in comes out, and is released once. */
#include "flow.h"

static sluice_source *counter(long end) {
  const sluice_opener opener = flow_counter(end);
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_pull(&opener, &source));
  return source;
}

static sluice_scope *new_scope(void) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &scope));
  return scope;
}

static sluice_completion *completion_of(sluice_run *run) {
  sluice_completion *done = NULL;
  CHECK_OK(sluice_run_completion(run, &done));
  return done;
}

static void all_was_released(sluice_scope *scope) {
  flow_shutdown(scope);
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

static void groups_are_lists_that_are_borrowed(void) {
  sluice_scope *scope = new_scope();
  sluice_flow *batch = NULL;
  sluice_completion *done;
  sluice_run *run;
  sluice_elements *all = NULL;
  sluice_error *err = NULL;
  void *group = NULL, *value = NULL;
  size_t groups = 0, last = 0;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_batch(0, UINT64_MAX, &batch, &err));
  CHECK(err != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_flow_batch(2, UINT64_MAX, &batch, NULL));
  run = flow_run(flow_to(flow_via(counter(5), batch), flow_collect()), scope);
  done = completion_of(run);
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_completion_wait(done, SOON_MS, &all, NULL));
  CHECK_OK(sluice_elements_count(all, &groups));
  CHECK(groups == 3);
  CHECK_OK(sluice_elements_value(all, 2, &group));
  CHECK_OK(sluice_elements_count(group, &last));
  CHECK(last == 1);
  CHECK_OK(sluice_elements_value(group, 0, &value));
  CHECK(flow_value(value) == 4);
  CHECK_OK(sluice_elements_release(all));
  CHECK_OK(sluice_completion_release(done));
  all_was_released(scope);
}

static void a_broadcast_shares_and_a_concat_keeps_the_order(void) {
  static const long expected[] = {0, 1, 0, 1, 2};
  sluice_scope *scope = new_scope();
  sluice_source *parts[2], *source = NULL;
  sluice_sink *sinks[2], *sink = NULL;
  sluice_run *run;
  int i;
  parts[0] = counter(2);
  parts[1] = counter(3);
  sinks[0] = flow_collect();
  sinks[1] = flow_collect();
  CHECK_OK(sluice_source_concat((const sluice_source *const *)parts, 2, &source));
  CHECK_OK(sluice_sink_broadcast((const sluice_sink *const *)sinks, 2, NULL, false, &sink, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_concat(NULL, 2, &source));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_source_concat((const sluice_source *const *)parts, 0, &source));
  for (i = 0; i < 2; i++) {
    CHECK_OK(sluice_source_release(parts[i]));
    CHECK_OK(sluice_sink_release(sinks[i]));
  }
  run = flow_run(flow_to(source, sink), scope);
  for (i = 0; i < 2; i++) {
    sluice_completion *done = completion_of(run);
    flow_expect(done, expected, 5);
    CHECK_OK(sluice_completion_release(done));
  }
  CHECK_OK(sluice_run_release(run));
  all_was_released(scope);
}

static void a_kill_switch_ends_a_run_once(void) {
  sluice_scope *scope = new_scope();
  sluice_flow *cut = NULL;
  sluice_kill_switch *handle = NULL;
  sluice_completion *done;
  sluice_manual *manual;
  sluice_run *run;
  bool first = false;
  sluice_completion_state_t state = SLUICE_COMPLETION_PENDING;
  CHECK_OK(sluice_flow_kill_switch(&cut));
  run = flow_run(flow_to(flow_via(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), cut), flow_collect()),
                 scope);
  manual = flow_run_manual(run);
  done = completion_of(run);
  CHECK_OK(sluice_run_kill_switch(run, &handle));
  CHECK_OK(sluice_run_release(run));
  CHECK(flow_offer(manual, 1, SOON_MS, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_kill_switch_ended(handle, 0));
  CHECK_OK(sluice_kill_switch_cancel(handle, NULL, &first));
  CHECK(first);
  CHECK_OK(sluice_kill_switch_cancel(handle, NULL, &first));
  CHECK(!first);
  CHECK_STATUS(SLUICE_CANCELLED, sluice_completion_wait(done, SOON_MS, NULL, NULL));
  CHECK_OK(sluice_completion_state(done, &state));
  CHECK(state == SLUICE_COMPLETION_CANCELLED);
  CHECK_STATUS(SLUICE_CLOSED, sluice_manual_ready(manual, UINT64_MAX, SOON_MS));
  CHECK_OK(sluice_kill_switch_ended(handle, SOON_MS));
  CHECK_OK(sluice_kill_switch_release(handle));
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_manual_release(manual));
  all_was_released(scope);
}

static int32_t by_rest(void *ctx, void *value, size_t *out, sluice_error **err) {
  (void)err;
  if (flow_value(value) == 100) {
    return SLUICE_MALFORMED;
  }
  *out = (size_t)flow_value(value) % *(const size_t *)ctx;
  return SLUICE_OK;
}

static long added(long a, long b) { return a + b; }

static void each_key_has_a_flow_of_its_own(void) {
  static size_t three = 3;
  const sluice_chooser chooser = {&three, by_rest, NULL};
  sluice_element first = flow_number(0);
  const sluice_folder folder = flow_folder(added);
  sluice_scope *scope = new_scope();
  sluice_flow *fold = NULL, *groups = NULL;
  sluice_elements *all = NULL;
  sluice_completion *done;
  sluice_error *err = NULL;
  sluice_graph *graph;
  sluice_run *run;
  size_t count = 0, i;
  long sum = 0;
  CHECK_OK(sluice_flow_fold(&first, &folder, &fold));
  CHECK_STATUS(SLUICE_PLAN_REFUSED, sluice_flow_group_by(3, 2, &chooser, fold, &groups, &err));
  CHECK(err != NULL);
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_group_by(0, 0, &chooser, fold, &groups, NULL));
  CHECK_OK_ERR(sluice_flow_group_by(3, 3, &chooser, fold, &groups, &err), err);
  CHECK_OK(sluice_flow_release(fold));
  graph = flow_to(flow_via(counter(9), groups), flow_collect());
  run = flow_run(graph, scope);
  done = completion_of(run);
  CHECK_OK(sluice_run_release(run));
  CHECK_OK_ERR(sluice_completion_wait(done, SOON_MS, &all, &err), err);
  CHECK_OK(sluice_elements_count(all, &count));
  CHECK(count == 3);
  for (i = 0; i < count; i++) {
    void *value = NULL;
    CHECK_OK(sluice_elements_value(all, i, &value));
    CHECK(flow_value(value) == 9 || flow_value(value) == 12 || flow_value(value) == 15);
    sum += flow_value(value);
  }
  CHECK(sum == 36);
  CHECK_OK(sluice_elements_release(all));
  CHECK_OK(sluice_completion_release(done));
  all_was_released(scope);
}

static void a_key_that_cannot_be_said_and_one_too_many_fail_the_stream(void) {
  static size_t keys[] = {1000, 50};
  static const sluice_status expected[] = {SLUICE_LIMIT_REACHED, SLUICE_MALFORMED};
  int i;
  for (i = 0; i < 2; i++) {
    const sluice_chooser chooser = {&keys[i], by_rest, NULL};
    sluice_scope *scope = new_scope();
    sluice_flow *take = flow_take(1000), *groups = NULL;
    sluice_completion *done;
    sluice_run *run;
    CHECK_OK(sluice_flow_group_by(50, 50, &chooser, take, &groups, NULL));
    CHECK_OK(sluice_flow_release(take));
    run = flow_run(flow_to(flow_via(counter(200), groups), flow_collect()), scope);
    done = completion_of(run);
    CHECK_OK(sluice_run_release(run));
    CHECK_STATUS(expected[i], sluice_completion_wait(done, SOON_MS, NULL, NULL));
    CHECK_OK(sluice_completion_release(done));
    all_was_released(scope);
  }
}

static void ticks_do_not_pile_up_and_an_element_repeats(void) {
  sluice_element element = flow_number(7);
  sluice_scope *scope = NULL;
  sluice_source *source = NULL;
  sluice_subscriber *probe = NULL;
  sluice_run *run;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 3, &scope));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_tick(0, &element, &source));
  CHECK(flow_alive() == 1); /* it stays ours */
  CHECK_OK(sluice_source_tick(1000, &element, &source));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK_OK(sluice_scope_advance(scope, 10000)); /* ten that nobody has asked for */
  CHECK_OK(sluice_subscriber_request(probe, 2));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  CHECK_OK(sluice_subscriber_expect_no_message(probe, 0, NULL));
  CHECK_OK(sluice_scope_advance(scope, 1000));
  flow_expect_next(probe, 7);
  CHECK_OK(sluice_subscriber_expect_no_message(probe, 0, NULL));
  CHECK_OK(sluice_subscriber_release(probe));

  element = flow_number(8);
  CHECK_OK(sluice_source_repeat(&element, &source));
  run = flow_run(flow_to(source, flow_probe()), scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_subscriber_request(probe, 2));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  flow_expect_next(probe, 8);
  flow_expect_next(probe, 8);
  CHECK_OK(sluice_subscriber_release(probe));
  all_was_released(scope);
}

const check_case flow_stage_cases[] = {
    {"flow: groups are lists that are borrowed", groups_are_lists_that_are_borrowed},
    {"flow: a broadcast shares, a concat keeps the order",
     a_broadcast_shares_and_a_concat_keeps_the_order},
    {"flow: a kill switch ends a run once", a_kill_switch_ends_a_run_once},
    {"flow: each key has a flow of its own", each_key_has_a_flow_of_its_own},
    {"flow: a key that cannot be said, and one too many, fail the stream",
     a_key_that_cannot_be_said_and_one_too_many_fail_the_stream},
    {"flow: ticks do not pile up, an element repeats", ticks_do_not_pile_up_and_an_element_repeats},
    {NULL, NULL},
};
