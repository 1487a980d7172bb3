/* Pipelines across a link: the credit of the wire is the demand of the pipeline, from one end to the other. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

#define CAP_NUMBERS "cap:numbers;in=media:numbers;out=media:numbers"
#define CAP_TWICE "cap:twice;in=media:numbers;out=media:numbers"

enum { WINDOW = 4, QUIET_MS = 50 };

/* What the cartridge of these tests tells the test. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t given;
static bool ended;
static sluice_status how;

static void begin(void) {
  pthread_mutex_lock(&mutex);
  given = 0;
  ended = false;
  pthread_mutex_unlock(&mutex);
}

static uint64_t given_now(void) {
  uint64_t now;
  pthread_mutex_lock(&mutex);
  now = given;
  pthread_mutex_unlock(&mutex);
  return now;
}

/* True once so many were given; waits SOON_MS at most. */
static bool was_given(uint64_t n) {
  struct timespec end;
  bool so;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += SOON_MS / 1000;
  pthread_mutex_lock(&mutex);
  while (given < n && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {
  }
  so = given >= n;
  pthread_mutex_unlock(&mutex);
  return so;
}

/* How the handler's pipeline ended; SLUICE_TIMED_OUT if it did not. */
static sluice_status how_it_ended(void) {
  struct timespec end;
  sluice_status status;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += SOON_MS / 1000;
  pthread_mutex_lock(&mutex);
  while (!ended && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {
  }
  status = ended ? how : SLUICE_TIMED_OUT;
  pthread_mutex_unlock(&mutex);
  return status;
}

static sluice_status over(sluice_status status) {
  pthread_mutex_lock(&mutex);
  how = status;
  ended = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return status;
}

/* An element that is a number of the wire. */
static sluice_element wire_number(uint64_t n) {
  sluice_element element = {NULL, NULL, 0};
  sluice_item *item = NULL;
  CHECK_OK(sluice_item_new_u64(n, &item));
  CHECK_OK(sluice_item_element(item, &element));
  CHECK(element.bytes > 0);
  return element;
}

static uint64_t wire_value(const void *value) {
  uint64_t n = UINT64_MAX;
  CHECK_OK(sluice_item_u64((const sluice_item *)value, &n));
  return n;
}

static int32_t pull(void *ctx, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  pthread_mutex_lock(&mutex);
  *out = wire_number(given++);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return SLUICE_OK;
}

static int32_t open_numbers(void *ctx, sluice_puller *out, sluice_error **err) {
  (void)ctx, (void)err;
  out->ctx = NULL;
  out->call = pull;
  out->release = NULL;
  return SLUICE_OK;
}

static int32_t twice(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = wire_number(wire_value(value) * 2);
  return SLUICE_OK;
}

static int32_t to_heap(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = flow_number((long)wire_value(value));
  return SLUICE_OK;
}

static int32_t from_heap(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = wire_number((uint64_t)flow_value(value));
  return SLUICE_OK;
}

static sluice_flow *flow_of(int32_t (*call)(void *, void *, sluice_element *, sluice_error **)) {
  sluice_mapper mapper = {NULL, NULL, NULL};
  sluice_flow *flow = NULL;
  mapper.call = call;
  CHECK_OK(sluice_flow_map(&mapper, &flow));
  return flow;
}

static sluice_source *wire_source(const sluice_input *input) {
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_wire(input, &source));
  return source;
}

static sluice_sink *wire_sink(const sluice_output *output) {
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_wire(output, &sink));
  return sink;
}

static sluice_scope *new_scope(const char *name) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new(name, SLUICE_NUL, &scope));
  return scope;
}

/* Runs `source` into the request's output until it ends, on a scope of the handler's. */
static sluice_status answer(const sluice_request *request, sluice_source *source,
                            sluice_error **err) {
  sluice_scope *scope = new_scope("cartridge");
  sluice_output *output = NULL;
  sluice_completion *done = NULL;
  sluice_run *run;
  sluice_status status;
  CHECK_OK(sluice_request_output(request, &output));
  run = flow_run(flow_to(source, wire_sink(output)), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  status = sluice_completion_wait(done, SLUICE_FOREVER, NULL, err);
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_output_release(output));
  flow_shutdown(scope);
  return over(status);
}

static sluice_status numbers(void *ctx, const sluice_request *request, sluice_error **err) {
  const sluice_opener opener = {NULL, open_numbers, NULL};
  sluice_source *source = NULL;
  (void)ctx;
  CHECK_OK(sluice_source_pull(&opener, &source));
  return answer(request, source, err);
}

static sluice_status doubles(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_input *input = NULL;
  sluice_source *source;
  sluice_status status = sluice_request_input(request, SLUICE_FOREVER, &input, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    source = flow_via(wire_source(input), flow_of(twice));
    status = answer(request, source, err);
  }
  sluice_input_release(input);
  return status;
}

static sluice_cartridge *new_cartridge(const char *urn, sluice_status (*run)(void *,
                                       const sluice_request *, sluice_error **)) {
  sluice_handler handler = {NULL, NULL, NULL};
  sluice_manifest *manifest = NULL;
  sluice_cartridge *cartridge = NULL;
  sluice_cap *cap = NULL;
  handler.run = run;
  CHECK_OK(sluice_manifest_new("pipelines", SLUICE_NUL, "1.0.0", SLUICE_NUL, &manifest));
  CHECK_OK(sluice_cap_new(urn, SLUICE_NUL, &cap));
  CHECK_OK(sluice_manifest_add_cap(manifest, cap));
  CHECK_OK(sluice_cap_release(cap));
  CHECK_OK(sluice_cartridge_new(manifest, &cartridge));
  CHECK_OK(sluice_manifest_release(manifest));
  CHECK_OK(sluice_cartridge_handler(cartridge, urn, SLUICE_NUL, &handler));
  return cartridge;
}

static sluice_call *open_call(pair *pair, const char *urn,
                              sluice_status (*run)(void *, const sluice_request *, sluice_error **)) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_call *call = NULL;
  sluice_error *err = NULL;
  begin();
  options.limits.initial_credit = WINDOW;
  pair_open(pair, &options, new_cartridge(urn, run));
  CHECK_OK_ERR(sluice_peer_call(pair->peer, urn, SLUICE_NUL, &call, &err), err);
  return call;
}

static sluice_input *output_of(const sluice_call *call) {
  sluice_input *input = NULL;
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_call_output(call, SOON_MS, &input, &err), err);
  return input;
}

static void a_remote_producer_stands_still_while_our_consumer_asks_for_nothing(void) {
  /* L9, L10: what the other process makes is what was asked for here, one window and one that waits. */
  pair pair;
  sluice_call *call = open_call(&pair, CAP_NUMBERS, numbers);
  sluice_scope *scope = new_scope("host");
  sluice_stream_stats stats = SLUICE_STREAM_STATS_INIT;
  sluice_signal signal = SLUICE_SIGNAL_NEXT;
  sluice_error *err = NULL;
  sluice_subscriber *probe = NULL;
  sluice_source *source;
  sluice_input *input;
  sluice_graph *graph;
  sluice_run *run;
  uint64_t n;
  CHECK_OK_ERR(sluice_call_finish_input(call, SOON_MS, &err), err);
  input = output_of(call);
  source = wire_source(input);
  graph = flow_to(flow_via(source, flow_of(to_heap)), flow_probe());
  CHECK_OK(sluice_graph_retain(graph));
  run = flow_run(graph, scope);
  CHECK_OK(sluice_run_subscriber(run, &probe));
  CHECK_OK(sluice_run_release(run));
  CHECK_STATUS(SLUICE_ALREADY_SUBSCRIBED, sluice_graph_run(graph, scope, &run, &err));
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_graph_release(graph));
  CHECK(was_given(WINDOW + 1));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_subscriber_signal(probe, QUIET_MS, &signal, NULL, NULL));
  CHECK(given_now() == WINDOW + 1);
  for (n = 0; n < 100; n++) {
    CHECK_OK(sluice_subscriber_request(probe, 1));
    flow_expect_next(probe, (long)n);
    CHECK(given_now() <= n + 1 + WINDOW + 1);
  }
  CHECK_OK(sluice_input_stats(input, &stats));
  CHECK(stats.chunks <= 100 + WINDOW);
  CHECK_OK(sluice_subscriber_cancel(probe)); /* at a caller that cancels the request */
  CHECK_STATUS(SLUICE_CANCELLED, how_it_ended());
  CHECK_OK(sluice_subscriber_release(probe));
  CHECK_OK(sluice_input_release(input));
  CHECK_OK(sluice_call_release(call));
  flow_shutdown(scope);
  pair_close(&pair);
  CHECK(flow_alive() == 0);
}

static void elements_cross_a_link_and_come_back(void) {
  pair pair;
  sluice_call *call = open_call(&pair, CAP_TWICE, doubles);
  sluice_scope *scope = new_scope("host");
  const long count = check_rounds(2000);
  long *expected = calloc((size_t)count, sizeof *expected);
  const sluice_opener opener = flow_counter(count);
  sluice_completion *sent = NULL, *all = NULL;
  sluice_output *argument = NULL;
  sluice_error *err = NULL;
  sluice_source *source = NULL;
  sluice_input *input;
  sluice_run *run;
  long n;
  for (n = 0; n < count; n++) {
    expected[n] = 2 * n;
  }
  CHECK_OK_ERR(sluice_call_input(call, "media:numbers", SLUICE_NUL, &argument, &err), err);
  CHECK_OK(sluice_source_pull(&opener, &source));
  run = flow_run(flow_to(flow_via(source, flow_of(from_heap)), wire_sink(argument)), scope);
  CHECK_OK(sluice_run_completion(run, &sent));
  CHECK_OK(sluice_run_release(run));
  input = output_of(call);
  run = flow_run(flow_to(flow_via(wire_source(input), flow_of(to_heap)), flow_collect()), scope);
  CHECK_OK(sluice_run_completion(run, &all));
  CHECK_OK(sluice_run_release(run));
  flow_expect(sent, NULL, 0);
  CHECK_OK_ERR(sluice_call_finish_input(call, SOON_MS, &err), err);
  flow_expect(all, expected, (size_t)count);
  CHECK_OK(how_it_ended());
  free(expected);
  CHECK_OK(sluice_completion_release(sent));
  CHECK_OK(sluice_completion_release(all));
  CHECK_OK(sluice_output_release(argument));
  CHECK_OK(sluice_input_release(input));
  CHECK_OK(sluice_call_release(call));
  flow_shutdown(scope);
  pair_close(&pair);
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

/* Each item of the input goes back as it came, by one pipeline. */
static sluice_status items(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_scope *scope = new_scope("cartridge");
  sluice_input *input = NULL;
  sluice_output *output = NULL;
  sluice_completion *done = NULL;
  sluice_sink *sink = NULL;
  sluice_run *run;
  sluice_status status;
  (void)ctx;
  CHECK_OK_ERR(sluice_request_input(request, SLUICE_FOREVER, &input, err), *err);
  CHECK_OK(sluice_request_output(request, &output));
  CHECK_OK(sluice_sink_wire_items(output, &sink));
  run = flow_run(flow_to(wire_source(input), sink), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  status = sluice_completion_wait(done, SLUICE_FOREVER, NULL, err);
  CHECK_OK(sluice_completion_release(done));
  CHECK_OK(sluice_output_release(output));
  CHECK_OK(sluice_input_release(input));
  flow_shutdown(scope);
  return over(status);
}

static void items_of_a_feed_keep_their_metadata_across_a_link(void) {
  pair pair;
  sluice_call *call = open_call(&pair, CAP_ITEMS, items);
  sluice_scope *scope = new_scope("host");
  sluice_feed_options options = SLUICE_FEED_OPTIONS_INIT;
  sluice_output *argument = NULL;
  sluice_completion *sent = NULL;
  sluice_source *source = NULL;
  sluice_error *err = NULL;
  sluice_sink *sink = NULL;
  sluice_feed *feed = NULL;
  sluice_item *item = NULL;
  sluice_input *input;
  sluice_run *run;
  uint64_t n, came = 0, lost = 0;
  options.capacity = 4;
  CHECK_OK_ERR(sluice_feed_new(&options, &feed, &err), err);
  for (n = 0; n < 10; n++) { /* nobody asks: the ring keeps the last 4 */
    const uint8_t byte = (uint8_t)n;
    CHECK_OK(sluice_feed_push(feed, &byte, 1, n * 1000, 0, NULL));
  }
  CHECK_OK(sluice_feed_stop(feed));
  CHECK_OK_ERR(sluice_call_input(call, "media:items", SLUICE_NUL, &argument, &err), err);
  CHECK_OK(sluice_source_feed(feed, &source));
  CHECK_OK(sluice_sink_wire_items(argument, &sink));
  run = flow_run(flow_to(source, sink), scope);
  CHECK_OK(sluice_run_completion(run, &sent));
  CHECK_OK(sluice_run_release(run));
  input = output_of(call);
  while (sluice_input_recv(input, SOON_MS, &item, NULL) == SLUICE_OK) {
    sluice_feed_meta meta = SLUICE_FEED_META_INIT;
    CHECK_OK(sluice_item_feed_meta(item, &meta));
    CHECK(meta.pts_us == (6 + came) * 1000);
    came += 1;
    lost += meta.gap_dropped;
    CHECK_OK(sluice_item_release(item));
  }
  CHECK(came == 4 && lost == 6);
  flow_expect(sent, NULL, 0);
  CHECK_OK(how_it_ended());
  CHECK_OK(sluice_completion_release(sent));
  CHECK_OK(sluice_feed_release(feed));
  CHECK_OK(sluice_output_release(argument));
  CHECK_OK(sluice_input_release(input));
  CHECK_OK(sluice_call_release(call));
  flow_shutdown(scope);
  pair_close(&pair);
}

static void what_is_no_item_fails_the_pipeline_and_leaves_the_stream_to_the_handler(void) {
  pair pair;
  sluice_call *call = open_call(&pair, CAP_TWICE, doubles);
  sluice_scope *scope = new_scope("host");
  const sluice_opener opener = flow_counter(3);
  sluice_element element = {NULL, NULL, 0};
  sluice_completion *sent = NULL;
  sluice_output *argument = NULL;
  sluice_source *source = NULL;
  sluice_error *err = NULL;
  sluice_sink *sink = NULL;
  const char *text = "";
  sluice_run *run;
  CHECK_OK_ERR(sluice_call_input(call, "media:numbers", SLUICE_NUL, &argument, &err), err);
  CHECK_OK(sluice_source_pull(&opener, &source));
  run = flow_run(flow_to(source, wire_sink(argument)), scope);
  CHECK_OK(sluice_run_completion(run, &sent));
  CHECK_OK(sluice_run_release(run));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_completion_wait(sent, SOON_MS, NULL, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "sluice_item") != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_output_emit_u64(argument, 1, SOON_MS, NULL)); /* it is open, and ours */
  CHECK_OK(sluice_call_cancel(call, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_item_element(NULL, &element));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_wire(NULL, &source));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_feed(NULL, &source));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_sink_wire(NULL, &sink));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_sink_wire_items(argument, NULL));
  CHECK_OK(sluice_completion_release(sent));
  CHECK_OK(sluice_output_release(argument));
  CHECK_OK(sluice_call_release(call));
  flow_shutdown(scope);
  pair_close(&pair);
  CHECK(flow_alive() == 0);
  CHECK(flow_functions() == 0);
}

const check_case flow_wire_cases[] = {
    {"flow: a remote producer stands still while our consumer asks for nothing",
     a_remote_producer_stands_still_while_our_consumer_asks_for_nothing},
    {"flow: elements cross a link and come back", elements_cross_a_link_and_come_back},
    {"flow: items of a feed keep their metadata across a link",
     items_of_a_feed_keep_their_metadata_across_a_link},
    {"flow: what is no item fails the pipeline, the stream stays the handler's",
     what_is_no_item_fails_the_pipeline_and_leaves_the_stream_to_the_handler},
    {NULL, NULL},
};
