/* What the examples in C share: a check of every answer, and functions over numbers as elements. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sluicegate.h>

/* Ends the program unless a call answered SLUICE_OK. */
#define MUST(call) \
  do { \
    const sluice_status must_status_ = (call); \
    if (must_status_ != SLUICE_OK) { \
      fprintf(stderr, "%s: %s\n", #call, sluice_status_name(must_status_)); \
      exit(1); \
    } \
  } while (0)

/* A number as an element: the pointer is the number, and there is nothing to free. */
static inline sluice_element number(uintptr_t n) {
  const sluice_element element = {(void *)n, NULL, 0};
  return element;
}

/* The source, then the flow; both are let go of. */
static inline sluice_source *via(sluice_source *source, sluice_flow *flow) {
  sluice_source *out = NULL;
  MUST(sluice_source_via(source, flow, &out));
  MUST(sluice_source_release(source));
  MUST(sluice_flow_release(flow));
  return out;
}

/* The source, closed by the sink, run on the scope; both are let go of. */
static inline sluice_run *run(sluice_source *source, sluice_sink *sink, const sluice_scope *scope) {
  sluice_graph *graph = NULL;
  sluice_run *out = NULL;
  MUST(sluice_source_to(source, sink, &graph));
  MUST(sluice_source_release(source));
  MUST(sluice_sink_release(sink));
  MUST(sluice_graph_run(graph, scope, &out, NULL));
  MUST(sluice_graph_release(graph));
  return out;
}

/* The elements of a run's sink, once it is done; the run is let go of. */
static inline sluice_elements *results(sluice_run *run) {
  sluice_completion *done = NULL;
  sluice_elements *all = NULL;
  MUST(sluice_run_completion(run, &done));
  MUST(sluice_completion_wait(done, SLUICE_FOREVER, &all, NULL));
  MUST(sluice_completion_release(done));
  MUST(sluice_run_release(run));
  return all;
}

/* The number at `index` of a list. */
static inline uintptr_t at(const sluice_elements *all, size_t index) {
  void *value = NULL;
  MUST(sluice_elements_value(all, index, &value));
  return (uintptr_t)value;
}

#endif
