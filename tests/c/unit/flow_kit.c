/* See flow.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long alive, functions;

static void count(long *counter, long by) {
  pthread_mutex_lock(&mutex);
  *counter += by;
  pthread_mutex_unlock(&mutex);
}

static long read_count(const long *counter) {
  long now;
  pthread_mutex_lock(&mutex);
  now = *counter;
  pthread_mutex_unlock(&mutex);
  return now;
}

long flow_alive(void) { return read_count(&alive); }
long flow_functions(void) { return read_count(&functions); }

static void free_number(void *value) {
  count(&alive, -1);
  free(value);
}

sluice_element flow_number(long n) {
  sluice_element element = {NULL, free_number, 8};
  long *place = malloc(sizeof *place);
  *place = n;
  element.value = place;
  count(&alive, 1);
  return element;
}

/* The library hands a value on from thread to thread, by locks that the thread checker does not see. It sees
 * that of the counter, which is taken after a number was made, while it is read, and before it is freed. */
long flow_value(const void *value) { return read_count(value); }

/* A function of C behind a pointer to data. */
typedef union function {
  long (*map)(long);
  bool (*test)(long);
  long (*fold)(long, long);
  struct {
    long next, end;
  } counter;
} function;

static function *new_function(void) {
  count(&functions, 1);
  return calloc(1, sizeof(function));
}

static void free_function(void *ctx) {
  count(&functions, -1);
  free(ctx);
}

/* A number that nobody likes: the function fails with a message of its own. */
enum { REFUSED = 666 };

static int32_t call_map(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  if (flow_value(value) == REFUSED) {
    return sluice_error_new(SLUICE_MALFORMED, NULL, 0, 0, "no such number", SLUICE_NUL, err) ==
                   SLUICE_OK
               ? SLUICE_MALFORMED
               : SLUICE_PANIC;
  }
  *out = flow_number(((function *)ctx)->map(flow_value(value)));
  return SLUICE_OK;
}

static int32_t call_test(void *ctx, void *value, bool *out, sluice_error **err) {
  (void)err;
  *out = ((function *)ctx)->test(flow_value(value));
  return SLUICE_OK;
}

static int32_t call_fold(void *ctx, void *state, void *value, sluice_element *out,
                         sluice_error **err) {
  (void)err;
  *out = flow_number(((function *)ctx)->fold(flow_value(state), flow_value(value)));
  return SLUICE_OK;
}

static int32_t call_pull(void *ctx, sluice_element *out, sluice_error **err) {
  function *counter = ctx;
  (void)err;
  if (counter->counter.next == counter->counter.end) {
    return SLUICE_END_OF_STREAM;
  }
  *out = flow_number(counter->counter.next++);
  return SLUICE_OK;
}

static int32_t call_open(void *ctx, sluice_puller *out, sluice_error **err) {
  function *counter = new_function();
  (void)err;
  counter->counter = ((function *)ctx)->counter;
  out->ctx = counter;
  out->call = call_pull;
  out->release = free_function;
  return SLUICE_OK;
}

sluice_mapper flow_mapper(long (*map)(long)) {
  sluice_mapper mapper = {new_function(), call_map, free_function};
  ((function *)mapper.ctx)->map = map;
  return mapper;
}

sluice_predicate flow_predicate(bool (*test)(long)) {
  sluice_predicate predicate = {new_function(), call_test, free_function};
  ((function *)predicate.ctx)->test = test;
  return predicate;
}

sluice_folder flow_folder(long (*fold)(long, long)) {
  sluice_folder folder = {new_function(), call_fold, free_function};
  ((function *)folder.ctx)->fold = fold;
  return folder;
}

sluice_opener flow_counter(long end) {
  sluice_opener opener = {new_function(), call_open, free_function};
  ((function *)opener.ctx)->counter.end = end;
  return opener;
}

sluice_source *flow_via(sluice_source *source, sluice_flow *flow) {
  sluice_source *both = NULL;
  CHECK_OK(sluice_source_via(source, flow, &both));
  CHECK_OK(sluice_source_release(source));
  CHECK_OK(sluice_flow_release(flow));
  return both;
}

sluice_graph *flow_to(sluice_source *source, sluice_sink *sink) {
  sluice_graph *graph = NULL;
  CHECK_OK(sluice_source_to(source, sink, &graph));
  CHECK_OK(sluice_source_release(source));
  CHECK_OK(sluice_sink_release(sink));
  return graph;
}

sluice_flow *flow_map(long (*map)(long)) {
  const sluice_mapper mapper = flow_mapper(map);
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_map(&mapper, &flow));
  return flow;
}

sluice_flow *flow_filter(bool (*test)(long)) {
  const sluice_predicate predicate = flow_predicate(test);
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_filter(&predicate, &flow));
  return flow;
}

sluice_flow *flow_take(uint64_t n) {
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_take(n, &flow));
  return flow;
}

sluice_source *flow_manual(uint64_t capacity, sluice_overflow overflow) {
  sluice_edge_options options = SLUICE_EDGE_OPTIONS_INIT;
  sluice_source *source = NULL;
  sluice_error *err = NULL;
  options.capacity = capacity;
  options.overflow = (int32_t)overflow;
  CHECK_OK_ERR(sluice_source_manual(&options, &source, &err), err);
  return source;
}

sluice_sink *flow_collect(void) {
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_collect(&sink));
  return sink;
}

sluice_sink *flow_probe(void) {
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_probe(&sink));
  return sink;
}

sluice_run *flow_run(sluice_graph *graph, const sluice_scope *scope) {
  sluice_run *run = NULL;
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_graph_run(graph, scope, &run, &err), err);
  CHECK_OK(sluice_graph_release(graph));
  return run;
}

sluice_manual *flow_run_manual(sluice_run *run) {
  sluice_manual *manual = NULL;
  CHECK_OK(sluice_run_manual(run, &manual));
  return manual;
}

int flow_offer(const sluice_manual *manual, long n, int64_t timeout_ms, sluice_status status) {
  const sluice_element element = flow_number(n);
  sluice_offer offer = SLUICE_OFFER_ENQUEUED;
  sluice_error *err = NULL;
  const sluice_status answer = sluice_manual_offer(manual, &element, timeout_ms, &offer, &err);
  CHECK_STATUS(status, answer);
  CHECK((err != NULL) == (answer == SLUICE_OK && offer == SLUICE_OFFER_FAILURE));
  sluice_error_release(err);
  if (answer != SLUICE_OK) {
    element.release(element.value);
    return -1;
  }
  return (int)offer;
}

void flow_expect(sluice_completion *completion, const long *expected, size_t size) {
  sluice_elements *all = NULL;
  sluice_error *err = NULL;
  size_t came = 0, i;
  CHECK_OK_ERR(sluice_completion_wait(completion, SOON_MS, &all, &err), err);
  CHECK_OK(sluice_elements_count(all, &came));
  CHECK(came == size);
  for (i = 0; i < came && i < size; i++) {
    void *value = NULL;
    CHECK_OK(sluice_elements_value(all, i, &value));
    CHECK(flow_value(value) == expected[i]);
  }
  CHECK_OK(sluice_elements_release(all));
}

void flow_expect_next(const sluice_subscriber *probe, long expected) {
  sluice_signal signal = SLUICE_SIGNAL_ERROR;
  sluice_elements *element = NULL;
  void *value = NULL;
  CHECK_OK(sluice_subscriber_signal(probe, SOON_MS, &signal, &element, NULL));
  CHECK(signal == SLUICE_SIGNAL_NEXT);
  if (element != NULL) {
    CHECK_OK(sluice_elements_value(element, 0, &value));
    CHECK(flow_value(value) == expected);
    CHECK_OK(sluice_elements_release(element));
  }
}

void flow_expect_signal(const sluice_subscriber *probe, sluice_signal expected,
                        const char *message) {
  sluice_signal signal = SLUICE_SIGNAL_NEXT;
  sluice_error *err = NULL;
  const char *text = "";
  CHECK_OK(sluice_subscriber_signal(probe, SOON_MS, &signal, NULL, &err));
  CHECK(signal == expected);
  if (err != NULL) {
    CHECK_OK(sluice_error_message(err, &text, NULL));
    CHECK(strstr(text, message) != NULL);
    CHECK_OK(sluice_error_release(err));
  }
}

void flow_shutdown(sluice_scope *scope) {
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_scope_shutdown(scope, SOON_MS, &err), err);
  CHECK_OK(sluice_scope_release(scope));
}
