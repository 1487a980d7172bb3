/* Plans that could lock up are refused with the reason, and keep nothing; and an engine tells of scopes. */
#include <string.h>

#include "flow.h"

static int functions;

static void count(int by) { __atomic_add_fetch(&functions, by, __ATOMIC_SEQ_CST); }
static int counted(void) { return __atomic_load_n(&functions, __ATOMIC_SEQ_CST); }

static void let_go(void *ctx) {
  (void)ctx;
  count(-1);
}

/* Down by one each time round; 0 leaves. */
static int32_t count_down(void *ctx, void *value, sluice_element *out, bool *out_again,
                          sluice_error **err) {
  const long n = flow_value(value);
  (void)ctx, (void)err;
  *out_again = n > 0;
  *out = flow_number(n > 0 ? n - 1 : 0);
  return SLUICE_OK;
}

static sluice_looper looper(void) {
  const sluice_looper looper = {NULL, count_down, let_go};
  count(1);
  return looper;
}

static long same(long n) { return n; }
static bool even(long n) { return n % 2 == 0; }

static void refused(uint64_t capacity, sluice_flow *body, const char *why) {
  const sluice_looper with = looper();
  sluice_flow *flow = NULL;
  sluice_error *err = NULL;
  const char *text = "";
  CHECK_STATUS(SLUICE_PLAN_REFUSED, sluice_flow_feedback(capacity, body, &with, &flow, &err));
  CHECK(flow == NULL && counted() == 0);
  CHECK_OK(sluice_error_message(err, &text, NULL));
  if (strstr(text, why) == NULL) {
    check_failed(__FILE__, __LINE__, why, text);
  }
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_flow_release(body));
}

static void a_cycle_has_a_place_for_each_element_in_it_or_is_refused(void) {
  static const uint64_t capacities[] = {1, 3, 64};
  static const long zeros[12] = {0};
  const sluice_looper none = {NULL, NULL, let_go};
  sluice_flow *expand = NULL, *flow = NULL, *body = flow_map(same);
  size_t i;
  refused(0, flow_map(same), "a cycle without a buffer");
  refused(4, flow_filter(even), "more or fewer elements");
  CHECK_OK(sluice_flow_batch(2, UINT64_MAX, &expand, NULL));
  refused(4, expand, "more or fewer elements");
  count(1);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_feedback(4, body, &none, &flow, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_flow_feedback(4, body, NULL, &flow, NULL));
  CHECK(flow == NULL && counted() == 0);
  for (i = 0; i < 3; i++) {
    const sluice_looper with = looper();
    const sluice_opener counter = flow_counter(12);
    sluice_scope *scope = NULL;
    sluice_source *source = NULL;
    sluice_completion *done = NULL;
    sluice_run *run;
    CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &scope));
    CHECK_OK(sluice_source_pull(&counter, &source));
    CHECK_OK(sluice_flow_feedback(capacities[i], body, &with, &flow, NULL));
    run = flow_run(flow_to(flow_via(source, flow), flow_collect()), scope);
    CHECK_OK(sluice_run_completion(run, &done));
    CHECK_OK(sluice_run_release(run));
    flow_expect(done, zeros, 12);
    CHECK_OK(sluice_completion_release(done));
    flow_shutdown(scope);
    CHECK(counted() == 0);
  }
  CHECK_OK(sluice_flow_release(body));
  CHECK(flow_alive() == 0 && flow_functions() == 0);
}

/* One subscription of a hub straight, and one behind a stage that drops, zipped: known when it is run. */
static void a_hub_that_waits_for_itself_is_refused_when_it_is_run(void) {
  sluice_scope *scope = NULL;
  sluice_sink *share = NULL;
  sluice_hub *hub = NULL;
  sluice_source *parts[2] = {NULL, NULL}, *zipped = NULL;
  sluice_graph *graph;
  sluice_error *err = NULL;
  const char *text = "";
  sluice_run *run;
  int i;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 1, &scope));
  CHECK_OK(sluice_sink_broadcast_hub(4, 0, &share, NULL));
  run = flow_run(flow_to(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), share), scope);
  CHECK_OK(sluice_run_hub(run, &hub));
  CHECK_OK(sluice_run_release(run));
  for (i = 0; i < 2; i++) {
    CHECK_OK(sluice_hub_subscribe(hub, SLUICE_HUB_POLICY_WAIT, UINT64_MAX, 4, &parts[i], NULL));
  }
  parts[1] = flow_via(parts[1], flow_filter(even));
  CHECK_OK(sluice_source_zip((const sluice_source *const *)parts, 2, &zipped));
  CHECK_OK(sluice_source_release(parts[0]));
  CHECK_OK(sluice_source_release(parts[1]));
  graph = flow_to(zipped, flow_collect());
  run = NULL;
  CHECK_STATUS(SLUICE_PLAN_REFUSED, sluice_graph_run(graph, scope, &run, &err));
  CHECK(run == NULL);
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "hub") != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_graph_release(graph));
  CHECK_OK(sluice_hub_release(hub));
  flow_shutdown(scope);
  CHECK(flow_functions() == 0);
}

static void engine_says(const sluice_engine *engine, const char *awaited, bool is_there) {
  sluice_item *told = NULL;
  const uint8_t *text = NULL;
  size_t len = 0;
  char copy[4096] = "";
  CHECK_OK(sluice_engine_explain(engine, &told));
  CHECK_OK(sluice_item_bytes(told, &text, &len));
  memcpy(copy, text, len < sizeof copy ? len : sizeof copy - 1);
  if ((strstr(copy, awaited) != NULL) != is_there) {
    check_failed(__FILE__, __LINE__, awaited, copy);
  }
  CHECK_OK(sluice_item_release(told));
}

static void an_engine_tells_of_the_stages_of_a_scope(void) {
  sluice_scope *scope = NULL;
  sluice_engine *engine = NULL;
  sluice_subscriber *probe = NULL;
  sluice_manual *rows;
  sluice_run *run;
  CHECK_OK(sluice_engine_new(NULL, &engine, NULL));
  CHECK_OK(sluice_scope_new_stepped("export", SLUICE_NUL, 1, &scope));
  run = flow_run(flow_to(flow_via(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), flow_map(same)), flow_probe()),
                 scope);
  rows = flow_run_manual(run);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_subscriber_request(probe, 2));
  CHECK_OK(sluice_scope_settle(scope, NULL));
  engine_says(engine, "\"export\"", false);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_scope_tell(scope, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_scope_tell(NULL, engine));
  CHECK_OK(sluice_scope_tell(scope, engine));
  CHECK_OK(sluice_scope_tell(scope, engine));
  engine_says(engine, "\"scope\":\"export\"", true);
  engine_says(engine, "\"stage\":\"map\"", true);
  engine_says(engine, "has demand for 2 and waits for its source", true);
  CHECK_OK(sluice_manual_release(rows));
  CHECK_OK(sluice_subscriber_release(probe));
  flow_shutdown(scope);
  engine_says(engine, "\"export\"", false);
  CHECK_OK(sluice_engine_release(engine));
  CHECK(flow_functions() == 0);
}

const check_case flow_plan_cases[] = {
    {"flow: a cycle has a place for each element in it, or is refused",
     a_cycle_has_a_place_for_each_element_in_it_or_is_refused},
    {"flow: a hub that waits for itself is refused when it is run",
     a_hub_that_waits_for_itself_is_refused_when_it_is_run},
    {"flow: an engine tells of the stages of a scope", an_engine_tells_of_the_stages_of_a_scope},
    {NULL, NULL},
};
