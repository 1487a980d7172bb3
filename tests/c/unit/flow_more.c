/* Explanations, recoveries, pages, preferences and hubs: on a scope without threads, so that every count is exact. */
#include <stdio.h>
#include <string.h>

#include "flow.h"

static sluice_scope *new_stepped(void) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 7, &scope));
  return scope;
}

static void settle(const sluice_scope *scope) { CHECK_OK(sluice_scope_settle(scope, NULL)); }

static void ask(const sluice_scope *scope, const sluice_subscriber *probe, uint64_t n) {
  CHECK_OK(sluice_subscriber_request(probe, n));
  settle(scope);
}

static sluice_subscriber *probe_of(sluice_run *run) {
  sluice_subscriber *probe = NULL;
  CHECK_OK(sluice_run_subscriber(run, &probe));
  return probe;
}

static void all_was_released(sluice_scope *scope) {
  flow_shutdown(scope);
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

static long same_number(long n) { return n; }

/* What an explanation has to hold. */
static void check_says(sluice_item *item, const char *text) {
  const uint8_t *said = NULL;
  size_t len = 0;
  char copy[4096] = "";
  CHECK_OK(sluice_item_bytes(item, &said, &len));
  CHECK(len < sizeof copy);
  if (len < sizeof copy) {
    memcpy(copy, said, len);
  }
  if (strstr(copy, text) == NULL) {
    check_failed(__FILE__, __LINE__, text, copy);
  }
}

static void a_scope_says_who_waits_for_whom(void) {
  sluice_scope *scope = new_stepped();
  sluice_flow *plain = flow_map(same_number), *named = NULL;
  sluice_item *item = NULL;
  sluice_source *source = NULL;
  sluice_subscriber *probe;
  sluice_manual *manual;
  sluice_run *run;
  CHECK_OK(sluice_scope_explain_text(scope, &item));
  check_says(item, "scope \"test\": nothing runs");
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_source_probe(&source));
  CHECK_OK(sluice_flow_named(plain, "copy", SLUICE_NUL, &named));
  CHECK_OK(sluice_flow_release(plain));
  run = flow_run(flow_to(flow_via(source, named), flow_probe()), scope);
  manual = flow_run_manual(run);
  probe = probe_of(run);
  CHECK_OK(sluice_run_release(run));
  settle(scope);
  CHECK_OK(sluice_scope_explain(scope, &item));
  check_says(item, "\"waits_for\":\"consumer\"");
  CHECK_OK(sluice_item_release(item));
  ask(scope, probe, 2);
  CHECK_OK(sluice_scope_explain(scope, &item));
  check_says(item, "\"scope\":\"test\"");
  check_says(item, "\"waits_for\":\"source\"");
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_scope_explain_text(scope, &item));
  check_says(item, "stage \"copy\" has demand for 2 and waits for its source, which it asked for 2");
  CHECK_OK(sluice_item_release(item));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_scope_explain(NULL, &item));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_scope_explain_text(scope, NULL));
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_subscriber_release(probe));
  all_was_released(scope);
}

/* A failure that says a number is mended by it, one that says "worse" makes the function fail. */
static int32_t mend(void *ctx, const sluice_error *failure, sluice_element *out, bool *out_some,
                    sluice_error **err) {
  const char *text = "";
  long n;
  (void)ctx;
  CHECK(!*out_some);
  CHECK_OK(sluice_error_message(failure, &text, NULL));
  if (strcmp(text, "worse") == 0) {
    CHECK_OK(sluice_error_new(SLUICE_MALFORMED, NULL, 0, 0, "cannot be mended", SLUICE_NUL, err));
    return SLUICE_MALFORMED;
  }
  if (sscanf(text, "%ld", &n) == 1) {
    *out = flow_number(n);
    *out_some = true;
  }
  return SLUICE_OK;
}

static void a_failure_is_mended_or_passes(void) {
  static const struct {
    const char *text;
    sluice_signal end;
    const char *said;
  } cases[] = {{"7", SLUICE_SIGNAL_COMPLETE, ""},
               {"no number", SLUICE_SIGNAL_ERROR, "no number"},
               {"worse", SLUICE_SIGNAL_ERROR, "cannot be mended"}};
  size_t at;
  for (at = 0; at < sizeof cases / sizeof cases[0]; at++) {
    const sluice_recoverer recoverer = {NULL, mend, NULL};
    sluice_scope *scope = new_stepped();
    sluice_flow *recover = NULL;
    sluice_subscriber *probe;
    sluice_manual *manual;
    sluice_error *failure = NULL;
    sluice_run *run;
    CHECK_OK(sluice_flow_recover(&recoverer, &recover));
    run = flow_run(
        flow_to(flow_via(flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE), recover), flow_probe()), scope);
    manual = flow_run_manual(run);
    probe = probe_of(run);
    CHECK_OK(sluice_run_release(run));
    CHECK(flow_offer(manual, 1, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
    CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, cases[at].text, SLUICE_NUL, &failure));
    CHECK_OK(sluice_manual_fail(manual, failure, NULL));
    CHECK_OK(sluice_error_release(failure));
    ask(scope, probe, 2);
    flow_expect_next(probe, 1);
    if (cases[at].end == SLUICE_SIGNAL_COMPLETE) {
      flow_expect_next(probe, 7);
    }
    flow_expect_signal(probe, cases[at].end, cases[at].said);
    CHECK_OK(sluice_manual_release(manual));
    CHECK_OK(sluice_subscriber_release(probe));
    all_was_released(scope);
  }
}

static int32_t odd_halves(void *ctx, void *value, sluice_element *out, bool *out_some,
                          sluice_error **err) {
  (void)ctx, (void)err;
  if (flow_value(value) % 2 == 1) {
    *out = flow_number(flow_value(value) / 2);
    *out_some = true;
  }
  return SLUICE_OK;
}

static void a_function_may_make_none_of_an_element(void) {
  const sluice_sifter sifter = {NULL, odd_halves, NULL};
  const sluice_opener opener = flow_counter(6);
  static const long expected[] = {0, 1, 2};
  sluice_scope *scope = new_stepped();
  sluice_completion *done = NULL;
  sluice_source *source = NULL;
  sluice_flow *flow = NULL;
  sluice_run *run;
  CHECK_OK(sluice_flow_filter_map(&sifter, &flow));
  CHECK_OK(sluice_source_pull(&opener, &source));
  run = flow_run(flow_to(flow_via(source, flow), flow_collect()), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  settle(scope);
  flow_expect(done, expected, 3);
  CHECK_OK(sluice_completion_release(done));
  all_was_released(scope);
}

enum { PAGE = 3, ROWS = 9, POISON = 6 };

typedef struct library {
  int fetches;
  bool broken; /* the page that begins at POISON cannot be read */
} library;

static int32_t fetch_page(void *ctx, void *cursor, const sluice_elements *rows, sluice_element *next,
                          bool *out_more, sluice_error **err) {
  library *library = ctx;
  const long from = flow_value(cursor);
  long n;
  (void)err;
  library->fetches += 1;
  for (n = from; n < from + PAGE; n++) {
    const sluice_element row = flow_number(n);
    CHECK_OK(sluice_elements_push(rows, &row));
  }
  if (library->broken && from == POISON) {
    return SLUICE_IO; /* and its rows are let go of */
  }
  if (from + PAGE < ROWS) {
    *next = flow_number(from + PAGE);
    *out_more = true;
  }
  return SLUICE_OK;
}

static void pages_are_fetched_when_a_row_is_wanted(void) {
  library library = {0, false};
  const sluice_pager pager = {&library, fetch_page, NULL};
  const sluice_element first = flow_number(0);
  sluice_scope *scope = new_stepped();
  sluice_source *source = NULL;
  sluice_graph *graph;
  int round;
  CHECK_OK(sluice_source_pages(&first, 0, &pager, &source));
  graph = flow_to(source, flow_probe());
  for (round = 0; round < 2; round++) {
    sluice_subscriber *probe;
    sluice_run *run;
    long n;
    CHECK_OK(sluice_graph_retain(graph));
    run = flow_run(graph, scope);
    probe = probe_of(run);
    CHECK_OK(sluice_run_release(run));
    library.fetches = 0;
    library.broken = round == 1;
    settle(scope);
    CHECK(library.fetches == 0);
    for (n = 0; n < (library.broken ? POISON : ROWS); n++) {
      ask(scope, probe, 1);
      CHECK(library.fetches == n / PAGE + 1);
      flow_expect_next(probe, n);
    }
    ask(scope, probe, 1);
    flow_expect_signal(probe, library.broken ? SLUICE_SIGNAL_ERROR : SLUICE_SIGNAL_COMPLETE, "");
    CHECK(library.fetches == ROWS / PAGE);
    CHECK_OK(sluice_subscriber_release(probe));
  }
  CHECK_OK(sluice_graph_release(graph));
  all_was_released(scope);
}

static void a_preferred_source_comes_first_and_keeps_its_control(void) {
  static const long left[] = {1, 2, 3}, right[] = {10, 20, 30};
  sluice_scope *scope = new_stepped();
  sluice_source *sources[2], *merged = NULL;
  sluice_manual *preferred, *other;
  sluice_subscriber *probe;
  sluice_run *run;
  int i;
  sources[0] = flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE);
  sources[1] = flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE);
  CHECK_OK(sluice_source_merge_prefer((const sluice_source *const *)sources, 2, &merged));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_source_merge_prefer((const sluice_source *const *)sources, 0, &merged));
  CHECK_OK(sluice_source_release(sources[0]));
  CHECK_OK(sluice_source_release(sources[1]));
  run = flow_run(flow_to(merged, flow_probe()), scope);
  preferred = flow_run_manual(run);
  other = flow_run_manual(run);
  probe = probe_of(run);
  CHECK_OK(sluice_run_release(run));
  for (i = 0; i < 3; i++) {
    CHECK(flow_offer(other, right[i], 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
    CHECK(flow_offer(preferred, left[i], 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
  }
  ask(scope, probe, 6);
  for (i = 0; i < 3; i++) {
    flow_expect_next(probe, left[i]);
  }
  for (i = 0; i < 3; i++) {
    flow_expect_next(probe, right[i]);
  }
  CHECK_OK(sluice_manual_complete(preferred, NULL));
  CHECK_OK(sluice_manual_complete(other, NULL));
  settle(scope);
  flow_expect_signal(probe, SLUICE_SIGNAL_COMPLETE, "");
  CHECK_OK(sluice_manual_release(preferred));
  CHECK_OK(sluice_manual_release(other));
  CHECK_OK(sluice_subscriber_release(probe));
  all_was_released(scope);
}

/* A subscription under a name, played by a probe. */
static sluice_subscriber *listen(const sluice_scope *scope, const sluice_hub *hub,
                                 sluice_hub_policy policy, const char *name) {
  sluice_source *source = NULL, *named = NULL;
  sluice_error *err = NULL;
  sluice_subscriber *probe;
  sluice_run *run;
  CHECK_OK_ERR(sluice_hub_subscribe(hub, (int32_t)policy, UINT64_MAX, 3, &source, &err), err);
  CHECK_OK(sluice_source_named(source, name, SLUICE_NUL, &named));
  CHECK_OK(sluice_source_release(source));
  run = flow_run(flow_to(named, flow_probe()), scope);
  probe = probe_of(run);
  CHECK_OK(sluice_run_release(run));
  return probe;
}

static void each_who_listens_loses_by_a_policy_of_its_own(void) {
  /* Ten are shared; those below ask for none before, and have room for three. */
  static const struct {
    sluice_hub_policy policy;
    const char *name;
    uint64_t held, lost;
    long left[3];
    sluice_signal end;
  } cases[] = {
      {SLUICE_HUB_POLICY_DROP_HEAD, "head", 3, 7, {8, 9, 10}, SLUICE_SIGNAL_COMPLETE},
      {SLUICE_HUB_POLICY_DROP_TAIL, "tail", 3, 7, {1, 2, 10}, SLUICE_SIGNAL_COMPLETE},
      {SLUICE_HUB_POLICY_DROP_NEW, "new", 3, 7, {1, 2, 3}, SLUICE_SIGNAL_COMPLETE},
      {SLUICE_HUB_POLICY_DROP_BUFFER, "buffer", 1, 9, {10, 0, 0}, SLUICE_SIGNAL_COMPLETE},
      {SLUICE_HUB_POLICY_DISCONNECT, "gone", 3, 0, {1, 2, 3}, SLUICE_SIGNAL_ERROR},
  };
  enum { CASES = sizeof cases / sizeof cases[0] };
  sluice_scope *scope = new_stepped();
  sluice_subscriber *probes[CASES], *eager;
  sluice_listeners *all = NULL;
  sluice_sink *sink = NULL;
  sluice_source *source = NULL;
  sluice_hub *hub = NULL;
  sluice_manual *manual;
  sluice_run *run;
  bool over = true;
  size_t count = 0;
  int i;
  long n;
  CHECK_OK(sluice_sink_broadcast_hub(16, 0, &sink, NULL));
  run = flow_run(flow_to(flow_manual(16, SLUICE_OVERFLOW_BACKPRESSURE), sink), scope);
  manual = flow_run_manual(run);
  CHECK_OK(sluice_run_hub(run, &hub));
  CHECK_OK(sluice_run_release(run));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_hub_subscribe(hub, 6, 0, 3, &source, NULL));
  eager = listen(scope, hub, SLUICE_HUB_POLICY_WAIT, "eager");
  for (i = 0; i < CASES; i++) {
    probes[i] = listen(scope, hub, cases[i].policy, cases[i].name);
  }
  ask(scope, eager, 10);
  for (n = 1; n <= 10; n++) {
    CHECK(flow_offer(manual, n, 0, SLUICE_OK) == SLUICE_OFFER_ENQUEUED);
    settle(scope);
    flow_expect_next(eager, n);
  }
  CHECK_OK(sluice_hub_listeners(hub, &all));
  CHECK_OK(sluice_listeners_count(all, &count));
  CHECK(count >= CASES);
  for (i = 0; i < CASES && cases[i].end == SLUICE_SIGNAL_COMPLETE; i++) {
    sluice_listener_info info = SLUICE_LISTENER_INFO_INIT;
    CHECK_OK(sluice_listeners_info(all, (size_t)i + 1, &info));
    CHECK(strcmp(info.name, cases[i].name) == 0);
    CHECK(info.demand == 0 && info.held == cases[i].held && info.lost == cases[i].lost);
  }
  {
    sluice_listener_info info = SLUICE_LISTENER_INFO_INIT;
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_listeners_info(all, count, &info));
  }
  CHECK_OK(sluice_listeners_release(all));
  CHECK_OK(sluice_hub_is_over(hub, &over));
  CHECK(!over);
  CHECK_OK(sluice_manual_complete(manual, NULL));
  settle(scope);
  CHECK_OK(sluice_hub_is_over(hub, &over));
  CHECK(over);
  flow_expect_signal(eager, SLUICE_SIGNAL_COMPLETE, "");
  for (i = 0; i < CASES; i++) {
    uint64_t at;
    ask(scope, probes[i], 10);
    for (at = 0; at < cases[i].held; at++) {
      flow_expect_next(probes[i], cases[i].left[at]);
    }
    flow_expect_signal(probes[i], cases[i].end, "");
    CHECK_OK(sluice_subscriber_release(probes[i]));
  }
  CHECK_OK(sluice_subscriber_release(eager));
  CHECK_OK(sluice_manual_release(manual));
  CHECK_OK(sluice_hub_release(hub));
  all_was_released(scope);
}

static void a_merge_hub_says_how_many_producers_failed(void) {
  sluice_scope *scope = new_stepped();
  sluice_source *source = NULL, *broken = NULL;
  sluice_merge_hub *hub = NULL;
  sluice_error *failure = NULL, *said = NULL;
  sluice_sink *sink = NULL;
  sluice_run *run;
  const char *text = "";
  uint64_t failed = 9;
  CHECK_OK(sluice_source_merge_hub(NULL, &source, NULL));
  CHECK_OK(sluice_sink_ignore(&sink));
  run = flow_run(flow_to(source, sink), scope);
  CHECK_OK(sluice_run_merge_hub(run, &hub));
  CHECK_OK(sluice_run_release(run));
  CHECK_OK(sluice_merge_hub_failures(hub, &failed, &said));
  CHECK(failed == 0 && said == NULL);
  CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "no disk", SLUICE_NUL, &failure));
  CHECK_OK(sluice_source_failed(failure, &broken));
  CHECK_OK(sluice_error_release(failure));
  CHECK_OK(sluice_merge_hub_sink(hub, &sink));
  CHECK_OK(sluice_run_release(flow_run(flow_to(broken, sink), scope)));
  settle(scope);
  CHECK_OK(sluice_merge_hub_failures(hub, &failed, &said));
  CHECK(failed == 1);
  CHECK_OK(sluice_error_message(said, &text, NULL));
  CHECK(strstr(text, "no disk") != NULL);
  CHECK_OK(sluice_error_release(said));
  CHECK_OK(sluice_merge_hub_release(hub));
  all_was_released(scope);
}

const check_case flow_more_cases[] = {
    {"flow: a scope says who waits for whom", a_scope_says_who_waits_for_whom},
    {"flow: a failure is mended, or passes", a_failure_is_mended_or_passes},
    {"flow: a function may make none of an element", a_function_may_make_none_of_an_element},
    {"flow: pages are fetched when a row is wanted", pages_are_fetched_when_a_row_is_wanted},
    {"flow: a preferred source comes first", a_preferred_source_comes_first_and_keeps_its_control},
    {"flow: each who listens loses by a policy of its own",
     each_who_listens_loses_by_a_policy_of_its_own},
    {"flow: a merge hub says how many producers failed",
     a_merge_hub_says_how_many_producers_failed},
    {NULL, NULL},
};
