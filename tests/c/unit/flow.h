/* What the tests of streams share: numbers on the heap that are counted, and functions over them. */
#ifndef FLOW_H
#define FLOW_H

#include "check.h"

enum { SOON_MS = WAIT_MS };

/* A number on the heap; as many as were not released are alive. */
sluice_element flow_number(long n);
long flow_value(const void *value);
long flow_alive(void);

/* How many functions were handed over and not released. */
long flow_functions(void);

sluice_mapper flow_mapper(long (*function)(long));
sluice_predicate flow_predicate(bool (*function)(long));
sluice_folder flow_folder(long (*function)(long, long));
/* 0, 1, 2 … up to `end`. */
sluice_opener flow_counter(long end);

/* Blueprints; each takes what it is given over. */
sluice_source *flow_via(sluice_source *source, sluice_flow *flow);
sluice_graph *flow_to(sluice_source *source, sluice_sink *sink);
sluice_flow *flow_map(long (*function)(long));
sluice_flow *flow_filter(bool (*function)(long));
sluice_flow *flow_take(uint64_t n);
sluice_source *flow_manual(uint64_t capacity, sluice_overflow overflow);
sluice_sink *flow_collect(void);
sluice_sink *flow_probe(void);

/* Runs a graph, which it takes over. */
sluice_run *flow_run(sluice_graph *graph, const sluice_scope *scope);
sluice_manual *flow_run_manual(sluice_run *run);

/* Offers a number that has to be let go of whatever comes; -1 for a call that answered `status`. */
int flow_offer(const sluice_manual *manual, long n, int64_t timeout_ms, sluice_status status);

/* What a completion holds has to be these. */
void flow_expect(sluice_completion *completion, const long *expected, size_t count);

/* What a probe is told next has to be this number, or with flow_expect_signal this signal. */
void flow_expect_next(const sluice_subscriber *probe, long expected);
void flow_expect_signal(const sluice_subscriber *probe, sluice_signal expected, const char *message);
void flow_shutdown(sluice_scope *scope);

#endif
