/* The rows: every stage, source and sink with numbers, and every function that fails at REFUSE. */
#include <string.h>

#include "flow_table.h"

static int32_t tenfold(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx;
  if (table_value(value) == REFUSE) {
    return table_refuse(err);
  }
  *out = table_number(table_value(value) * 10);
  return SLUICE_OK;
}

/* A group as one number: its numbers are the digits. */
static int32_t digits(void *ctx, void *group, sluice_element *out, sluice_error **err) {
  size_t count = 0, i;
  long n = 0;
  (void)ctx, (void)err;
  CHECK_OK(sluice_elements_count(group, &count));
  for (i = 0; i < count; i++) {
    void *value = NULL;
    CHECK_OK(sluice_elements_value(group, i, &value));
    n = n * 10 + table_value(value);
  }
  *out = table_number(n);
  return SLUICE_OK;
}

static int32_t below_three(void *ctx, void *value, bool *out, sluice_error **err) {
  (void)ctx;
  if (table_value(value) == REFUSE) {
    return table_refuse(err);
  }
  *out = table_value(value) < 3;
  return SLUICE_OK;
}

static int32_t if_below_three(void *ctx, void *value, sluice_element *out, bool *some,
                              sluice_error **err) {
  const int32_t status = below_three(ctx, value, some, err);
  if (status == SLUICE_OK && *some) {
    *out = table_number(table_value(value) * 10);
  }
  return status;
}

static int32_t see(void *ctx, void *value, sluice_error **err) {
  (void)ctx;
  return table_value(value) == REFUSE ? table_refuse(err) : SLUICE_OK;
}

static int32_t sum(void *ctx, void *state, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx;
  if (table_value(value) == REFUSE) {
    return table_refuse(err);
  }
  *out = table_number(table_value(state) + table_value(value));
  return SLUICE_OK;
}

/* n of n; and two that are let go of again before it fails. */
static int32_t as_many(void *ctx, void *value, const sluice_elements *out, sluice_error **err) {
  const long n = table_value(value), many = n == REFUSE ? 2 : n;
  long i;
  (void)ctx;
  for (i = 0; i < many; i++) {
    const sluice_element element = table_number(n);
    CHECK_OK(sluice_elements_push(out, &element));
  }
  return n == REFUSE ? table_refuse(err) : SLUICE_OK;
}

static int32_t by_parity(void *ctx, void *value, size_t *out, sluice_error **err) {
  (void)ctx;
  if (table_value(value) == REFUSE) {
    return table_refuse(err);
  }
  *out = (size_t)table_value(value) % 2;
  return SLUICE_OK;
}

/* Down by one each time round; what is below three leaves. */
static int32_t again(void *ctx, void *value, sluice_element *out, bool *out_again, sluice_error **err) {
  const long n = table_value(value);
  (void)ctx;
  if (n == REFUSE) {
    return table_refuse(err);
  }
  *out_again = n >= 3;
  *out = table_number(*out_again ? n - 1 : n);
  return SLUICE_OK;
}

static int32_t mend(void *ctx, const sluice_error *failure, sluice_element *out, bool *some,
                    sluice_error **err) {
  (void)ctx, (void)failure, (void)err;
  *out = table_number(7);
  *some = true;
  return SLUICE_OK;
}

static int32_t mend_badly(void *ctx, const sluice_error *failure, sluice_element *out, bool *some,
                          sluice_error **err) {
  (void)ctx, (void)failure, (void)out, (void)some;
  return table_refuse(err);
}

#define MAPPER {table_function(), tenfold, table_release_function}
#define PREDICATE {table_function(), below_three, table_release_function}
#define FOLDER {table_function(), sum, table_release_function}
#define OBSERVER {table_function(), see, table_release_function}
#define CHOOSER {table_function(), by_parity, table_release_function}

/* A flow that takes one function over, and one that takes numbers only. */
#define WITH(name, type, function, call) \
  static sluice_flow *name(void) { \
    const type with = function; \
    sluice_flow *flow = NULL; \
    CHECK_OK(call); \
    return flow; \
  }
#define PLAIN(name, call) \
  static sluice_flow *name(void) { \
    sluice_flow *flow = NULL; \
    CHECK_OK(call); \
    return flow; \
  }

WITH(map, sluice_mapper, MAPPER, sluice_flow_map(&with, &flow))
WITH(parallel, sluice_mapper, MAPPER, sluice_flow_map_parallel(2, true, &with, &flow, NULL))
WITH(unordered, sluice_mapper, MAPPER, sluice_flow_map_parallel(1, false, &with, &flow, NULL))
WITH(filter, sluice_predicate, PREDICATE, sluice_flow_filter(&with, &flow))
WITH(take_while, sluice_predicate, PREDICATE, sluice_flow_take_while(&with, &flow))
WITH(drop_while, sluice_predicate, PREDICATE, sluice_flow_drop_while(&with, &flow))
WITH(tap, sluice_observer, OBSERVER, sluice_flow_tap(&with, &flow))
WITH(conflate, sluice_folder, FOLDER, sluice_flow_conflate(&with, &flow))
PLAIN(debounce, sluice_flow_debounce(100, &flow))
PLAIN(throttle, sluice_flow_throttle(1, 100, 2, &flow, NULL))
PLAIN(delay, sluice_flow_delay(100, 2, &flow, NULL))
PLAIN(take_within, sluice_flow_take_within(100, &flow))
PLAIN(drop_within, sluice_flow_drop_within(100, &flow))
PLAIN(idle, sluice_flow_idle_timeout(100, &flow))
PLAIN(initial, sluice_flow_initial_timeout(100, &flow))
PLAIN(completion, sluice_flow_completion_timeout(100, &flow))

#define SIFTER {table_function(), if_below_three, table_release_function}
WITH(filter_map, sluice_sifter, SIFTER, sluice_flow_filter_map(&with, &flow))
#define EXPANDER {table_function(), as_many, table_release_function}
WITH(expand, sluice_expander, EXPANDER, sluice_flow_expand(&with, &flow))
#define MENDER {table_function(), mend, table_release_function}
WITH(recover, sluice_recoverer, MENDER, sluice_flow_recover(&with, &flow))
#define BAD_MENDER {table_function(), mend_badly, table_release_function}
WITH(recover_badly, sluice_recoverer, BAD_MENDER, sluice_flow_recover(&with, &flow))

static sluice_flow *scan(void) {
  const sluice_element first = table_number(0);
  const sluice_folder folder = FOLDER;
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_scan(&first, &folder, &flow));
  return flow;
}

static sluice_flow *fold(void) {
  const sluice_element first = table_number(0);
  const sluice_folder folder = FOLDER;
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_fold(&first, &folder, &flow));
  return flow;
}

/* The numbers of a group, after a flow that makes groups. */
static sluice_flow *as_digits(sluice_flow *groups) {
  const sluice_mapper mapper = {table_function(), digits, table_release_function};
  sluice_flow *flow = NULL, *both = NULL;
  CHECK_OK(sluice_flow_map(&mapper, &flow));
  if (groups == NULL) {
    return flow;
  }
  CHECK_OK(sluice_flow_via(groups, flow, &both));
  CHECK_OK(sluice_flow_release(groups));
  CHECK_OK(sluice_flow_release(flow));
  return both;
}

static sluice_flow *of_groups(void) { return as_digits(NULL); }

static sluice_flow *batch_bytes(void) {
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_batch_bytes(17, &flow, NULL)); /* two of 8 bytes, and no third */
  return as_digits(flow);
}

static sluice_flow *sliding(void) {
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_sliding(3, 2, &flow, NULL));
  return as_digits(flow);
}

static sluice_flow *group_by(void) {
  const sluice_chooser chooser = CHOOSER;
  sluice_flow *each = flow_take(9), *flow = NULL;
  CHECK_OK(sluice_flow_group_by(2, 2, &chooser, each, &flow, NULL));
  CHECK_OK(sluice_flow_release(each));
  return flow;
}

/* A loop of two places round a flow, which it takes over. */
static sluice_flow *loop(sluice_flow *body) {
  const sluice_looper looper = {table_function(), again, table_release_function};
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_feedback(2, body, &looper, &flow, NULL));
  CHECK_OK(sluice_flow_release(body));
  return flow;
}

static sluice_flow *feedback(void) {
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_buffer(NULL, &flow, NULL));
  return loop(flow);
}

static sluice_flow *feedback_of_tap(void) { return loop(tap()); }
static sluice_flow *feedback_of_delay(void) { return loop(delay()); }

/* A copy of it. */
static int32_t same(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = table_number(table_value(value));
  return SLUICE_OK;
}

static sluice_flow *feedback_of_parallel(void) {
  const sluice_mapper mapper = {table_function(), same, table_release_function};
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_map_parallel(2, true, &mapper, &flow, NULL));
  return loop(flow);
}

static sluice_source *numbers(long from, long end) {
  sluice_elements *list = NULL;
  sluice_source *source = NULL;
  long n;
  CHECK_OK(sluice_elements_new(&list));
  for (n = from; n < end; n++) {
    const sluice_element element = table_number(n);
    CHECK_OK(sluice_elements_push(list, &element));
  }
  CHECK_OK(sluice_source_elements(list, &source));
  CHECK_OK(sluice_elements_release(list));
  return source;
}

static sluice_source *elements(void) { return numbers(1, 4); }

static sluice_flow *recover_with(void) {
  sluice_source *source = numbers(7, 9);
  sluice_flow *flow = NULL;
  CHECK_OK(sluice_flow_recover_with(source, &flow));
  CHECK_OK(sluice_source_release(source));
  return flow;
}

static sluice_source *empty(void) {
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_empty(&source));
  return source;
}

/* Rows from 0; there are five, and number 4 cannot be read if `ctx` is not NULL. */
static int32_t fetch_rows(void *ctx, uint64_t from, uint64_t n, const sluice_elements *out,
                          sluice_error **err) {
  for (; n > 0 && from < 5; n--, from++) {
    const sluice_element row = table_number((long)from);
    CHECK_OK(sluice_elements_push(out, &row));
    if (ctx != NULL && from == 4) {
      return table_refuse(err);
    }
  }
  return SLUICE_OK;
}

static sluice_source *fetch_with(void *ctx) {
  const sluice_fetcher fetcher = {ctx, fetch_rows, table_release_function};
  sluice_source *source = NULL;
  table_function();
  CHECK_OK(sluice_source_fetch(&fetcher, &source));
  return source;
}

static sluice_source *fetch(void) { return fetch_with(NULL); }
static sluice_source *fetch_badly(void) {
  static int last_is_broken;
  return fetch_with(&last_is_broken);
}

static int32_t fetch_page(void *ctx, void *cursor, const sluice_elements *rows, sluice_element *next,
                          bool *out_more, sluice_error **err) {
  const sluice_element row = table_number(table_value(cursor));
  (void)ctx;
  CHECK_OK(sluice_elements_push(rows, &row));
  if (table_value(cursor) == 2) {
    return table_refuse(err);
  }
  *next = table_number(table_value(cursor) + 1);
  *out_more = true;
  return SLUICE_OK;
}

static sluice_source *pages_badly(void) {
  const sluice_pager pager = {table_function(), fetch_page, table_release_function};
  const sluice_element first = table_number(1);
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_pages(&first, 0, &pager, &source));
  return source;
}

/* One number, then it fails: each run counts on. */
static int32_t pull_one(void *ctx, sluice_element *out, sluice_error **err) {
  const int attempt = table_attempt();
  (void)ctx;
  if (attempt % 2 == 0) {
    return table_refuse(err);
  }
  *out = table_number(attempt);
  return SLUICE_OK;
}

static int32_t open_one(void *ctx, sluice_puller *out, sluice_error **err) {
  const sluice_puller puller = {table_function(), pull_one, table_release_function};
  (void)ctx, (void)err;
  *out = puller;
  return SLUICE_OK;
}

static int32_t open_badly(void *ctx, sluice_puller *out, sluice_error **err) {
  (void)ctx, (void)out;
  return table_refuse(err);
}

static sluice_source *pull_badly(void) {
  const sluice_opener opener = {table_function(), open_one, table_release_function};
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_pull(&opener, &source));
  return source;
}

static sluice_source *opened_badly(void) {
  const sluice_opener opener = {table_function(), open_badly, table_release_function};
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_pull(&opener, &source));
  return source;
}

static sluice_source *retry(void) {
  sluice_source *once = pull_badly(), *source = NULL;
  CHECK_OK(sluice_source_retry(once, 3, 100, 1000, &source, NULL));
  CHECK_OK(sluice_source_release(once));
  return source;
}

static sluice_source *joined(sluice_status (*join)(const sluice_source *const *, size_t,
                                                   sluice_source **)) {
  sluice_source *parts[2], *source = NULL;
  parts[0] = numbers(1, 4);
  parts[1] = numbers(5, 7);
  CHECK_OK(join((const sluice_source *const *)parts, 2, &source));
  CHECK_OK(sluice_source_release(parts[0]));
  CHECK_OK(sluice_source_release(parts[1]));
  return source;
}

static sluice_source *merge(void) { return joined(sluice_source_merge); }
static sluice_source *zip(void) { return joined(sluice_source_zip); }

static sluice_sink *first(void) {
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_first(&sink));
  return sink;
}

static sluice_sink *last(void) {
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_last(&sink));
  return sink;
}

static sluice_sink *foreach(void) {
  const sluice_observer observer = OBSERVER;
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_foreach(&observer, &sink));
  return sink;
}

static sluice_sink *sum_of_all(void) {
  const sluice_element zero = table_number(0);
  const sluice_folder folder = FOLDER;
  sluice_sink *sink = NULL;
  CHECK_OK(sluice_sink_fold(&zero, &folder, &sink));
  return sink;
}

static sluice_sink *split(bool by_function) {
  const sluice_chooser chooser = CHOOSER;
  sluice_sink *parts[2], *sink = NULL;
  parts[0] = flow_collect();
  parts[1] = flow_collect();
  if (by_function) {
    CHECK_OK(sluice_sink_partition((const sluice_sink *const *)parts, 2, NULL, false, &chooser,
                                   &sink, NULL));
  } else {
    chooser.release(chooser.ctx);
    CHECK_OK(sluice_sink_balance((const sluice_sink *const *)parts, 2, NULL, false, &sink, NULL));
  }
  CHECK_OK(sluice_sink_release(parts[0]));
  CHECK_OK(sluice_sink_release(parts[1]));
  return sink;
}

/* All, beside the first alone, which cancels once it has it. */
static sluice_sink *shared(bool end_with_first) {
  sluice_sink *parts[2], *sink = NULL;
  parts[0] = first();
  parts[1] = flow_collect();
  CHECK_OK(sluice_sink_broadcast((const sluice_sink *const *)parts, 2, NULL, end_with_first, &sink, NULL));
  CHECK_OK(sluice_sink_release(parts[0]));
  CHECK_OK(sluice_sink_release(parts[1]));
  return sink;
}

static sluice_sink *broadcast(void) { return shared(false); }
static sluice_sink *broadcast_ends(void) { return shared(true); }
static sluice_sink *balance(void) { return split(false); }
static sluice_sink *partition(void) { return split(true); }

#define LATE(stage, what) "!stage \"" stage "\": no " what " within 100µs"

static const table_row passing[] = {
    {"batch_bytes", NULL, batch_bytes, NULL, 0, "?9 1 2 3 $", "12 3 |"},
    {"sliding", NULL, sliding, NULL, 0, "?9 1 2 3 4 5 $", "123 345 |"},
    {"take_while", NULL, take_while, NULL, 0, "?9 1 2 3 1", "1 2 |"},
    {"drop_while", NULL, drop_while, NULL, 0, "?9 1 3 1 $", "3 1 |"},
    {"tap", NULL, tap, NULL, 0, "?9 1 2 $", "1 2 |"},
    {"map_parallel", NULL, parallel, NULL, 0, "?9 1 2 3 $", "10 20 30 |"},
    {"map_parallel, unordered", NULL, unordered, NULL, 0, "?9 1 2 3 $", "10 20 30 |"},
    {"conflate", NULL, conflate, NULL, 0, "1 2 3 4 5 6 ?1 7 8 ?9 $", "21 15 |"},
    {"debounce", NULL, debounce, NULL, 0, "?9 1 +99 2 +99 3 +100 4 $", "+ + + 3 4 |"},
    {"throttle", NULL, throttle, NULL, 0, "?9 1 2 3 4 +99 +1 +100 $", "1 2 + + 3 + 4 |"},
    {"delay", NULL, delay, NULL, 0, "?9 1 +50 2 3 +50 +50 +50 $", "+ + 1 + 2 + 3 |"},
    {"take_within", NULL, take_within, NULL, 0, "?9 1 +99 2 +1 3", "1 + 2 + |"},
    {"drop_within", NULL, drop_within, NULL, 0, "?9 1 +99 2 +1 3 $", "+ + 3 |"},
    {"idle_timeout", NULL, idle, NULL, 0, "+500 ?2 1 +99 2 +500 ?1 +99 +1", "+ 1 + 2 + + + " LATE("idle_timeout", "element")},
    {"initial_timeout", NULL, initial, NULL, 0, "?9 +99 +1", "+ + " LATE("initial_timeout", "element")},
    {"initial_timeout, in time", NULL, initial, NULL, 0, "?9 +99 1 +500 2 $", "+ 1 + 2 |"},
    {"completion_timeout", NULL, completion, NULL, 0, "?9 1 +99 2 +1", "1 + 2 + " LATE("completion_timeout", "end")},
    {"completion_timeout, in time", NULL, completion, NULL, 0, "?9 1 +99 $ +500", "1 + | +"},
    {"recover", NULL, recover, NULL, 0, "?9 1 x", "1 7 |"},
    {"recover_with", NULL, recover_with, NULL, 0, "?9 1 x", "1 7 8 |"},
    {"feedback", NULL, feedback, NULL, 0, "?9 1 5 2 $", "1 2 2 |"},
    {"feedback, on several threads", NULL, feedback_of_parallel, NULL, 0, "?9 1 5 2 $", "1 2 2 |"},
    {"feedback, in time", NULL, feedback_of_delay, NULL, 0, "?9 2 4 1 +100 $ +100 +100", "+ 2 + 1 + 2 |"},
    {"a cancel, with elements in the loop", NULL, feedback_of_delay, NULL, 0, "?9 5 6 7 8 +100 c", "+"},
    {"elements", elements, NULL, NULL, 0, "?2 ?2", "1 2 3 |"},
    {"empty", empty, NULL, NULL, 0, "", "|"},
    {"fetch", fetch, NULL, NULL, 0, "?2 ?9", "0 1 2 3 4 |"},
    {"merge", merge, NULL, NULL, 0, "?9", "1 5 2 6 3 |"},
    {"zip", zip, of_groups, NULL, 0, "?9", "15 26 |"},
    {"retry", retry, NULL, NULL, 0, "?9 +99 +1 +199 +1", "1 + + 3 + + 5 !stage \"pull\": refused here"},
    {"first", NULL, NULL, first, 1, "1 2 3", "1 |"},
    {"last", NULL, NULL, last, 1, "1 2 3 $", "3 |"},
    {"last of none", NULL, NULL, last, 1, "$", "|"},
    {"foreach", NULL, NULL, foreach, 1, "1 2 $", "|"},
    {"broadcast", NULL, NULL, broadcast, 2, "1 2 3 $", "1 | 1 2 3 |"},
    {"broadcast, ended by the first that cancels", NULL, NULL, broadcast_ends, 2, "1 2 3", "1 | 1 |"},
    {"balance", NULL, NULL, balance, 2, "1 2 3 4 $", "1 3 | 2 4 |"},
    {"partition", NULL, NULL, partition, 2, "1 2 3 4 $", "2 4 | 1 3 |"},
    {"a cancel, with elements in the edge", NULL, map, NULL, 0, "1 2 3 4 5 6 ?1 c", "10"},
    {"a cancel, with elements at work", NULL, parallel, NULL, 0, "1 2 3 4 5 6 ?1 c", "10"},
    {"a cancel, with elements that wait for their time", NULL, delay, NULL, 0, "1 2 3 4 5 6 ?9 c", ""},
    {NULL, NULL, NULL, NULL, 0, NULL, NULL},
};

/* Behind 1 and 2 comes a number that the function refuses; what waits behind it is let go of. */
#define BAD "?9 1 2 666 4 5"

#define REFUSED(before, stage) before "!stage \"" stage "\": refused here"

static const table_row failing[] = {
    {"map", NULL, map, NULL, 0, BAD, REFUSED("10 20 ", "map")},
    {"map_parallel", NULL, parallel, NULL, 0, BAD, REFUSED("10 20 ", "map_parallel")},
    {"map_parallel, unordered", NULL, unordered, NULL, 0, BAD, REFUSED("10 20 ", "map_parallel_unordered")},
    {"filter", NULL, filter, NULL, 0, BAD, REFUSED("1 2 ", "filter")},
    {"filter_map", NULL, filter_map, NULL, 0, BAD, REFUSED("10 20 ", "filter_map")},
    {"take_while", NULL, take_while, NULL, 0, BAD, REFUSED("1 2 ", "take_while")},
    {"drop_while", NULL, drop_while, NULL, 0, BAD, REFUSED("", "drop_while")},
    {"tap", NULL, tap, NULL, 0, BAD, REFUSED("1 2 ", "tap")},
    {"scan", NULL, scan, NULL, 0, BAD, REFUSED("1 3 ", "scan")},
    {"fold", NULL, fold, NULL, 0, BAD, REFUSED("", "fold")},
    {"conflate", NULL, conflate, NULL, 0, "1 2 666 4 ?9", REFUSED("", "conflate")},
    {"expand", NULL, expand, NULL, 0, BAD, REFUSED("1 2 2 ", "expand")},
    {"group_by", NULL, group_by, NULL, 0, BAD, REFUSED("1 2 ", "group_by")},
    {"feedback", NULL, feedback, NULL, 0, BAD, REFUSED("1 2 ", "feedback")},
    {"feedback, in its body", NULL, feedback_of_tap, NULL, 0, BAD, REFUSED("1 2 ", "tap")},
    {"recover", NULL, recover_badly, NULL, 0, "?9 1 x", REFUSED("1 ", "recover")},
    {"fetch", fetch_badly, NULL, NULL, 0, "?4 ?9", REFUSED("0 1 2 3 ", "fetch")},
    {"pages", pages_badly, NULL, NULL, 0, "?9", REFUSED("1 ", "pages")},
    {"pull", pull_badly, NULL, NULL, 0, "?9", REFUSED("1 ", "pull")},
    {"foreach", NULL, NULL, foreach, 1, "1 666 3", REFUSED("", "foreach")},
    {"fold as a sink", NULL, NULL, sum_of_all, 1, "1 666 3", REFUSED("", "fold")},
    {"partition", NULL, NULL, partition, 2, "1 666 3",
     REFUSED("", "partition") " " REFUSED("", "partition")},
    {NULL, NULL, NULL, NULL, 0, NULL, NULL},
};

static void what_goes_in_comes_out_and_is_released_once(void) {
  const table_row *row;
  for (row = passing; row->name != NULL; row++) {
    table_run(row);
  }
}

static void a_function_that_fails_fails_the_stream_whichever_it_is(void) {
  const table_row *row;
  for (row = failing; row->name != NULL; row++) {
    table_run(row);
  }
}

/* That a source cannot even be opened is said by the run, which takes back all it made. */
static void an_opener_that_fails_fails_the_run(void) {
  sluice_scope *scope = NULL;
  sluice_graph *graph;
  sluice_run *run = NULL;
  sluice_error *err = NULL;
  const char *text = "";
  size_t running = 9;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 1, &scope));
  graph = flow_to(flow_via(opened_badly(), map()), sum_of_all());
  CHECK_STATUS(SLUICE_MALFORMED, sluice_graph_run(graph, scope, &run, &err));
  CHECK(run == NULL);
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "refused here") != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_scope_running(scope, &running));
  CHECK(running == 0);
  CHECK_OK(sluice_graph_release(graph));
  flow_shutdown(scope);
  table_all_released("open");
}

const check_case flow_table_cases[] = {
    {"flow: what goes in comes out and is released once", what_goes_in_comes_out_and_is_released_once},
    {"flow: a function that fails fails the stream, whichever it is",
     a_function_that_fails_fails_the_stream_whichever_it_is},
    {"flow: an opener that fails fails the run", an_opener_that_fails_fails_the_run},
    {NULL, NULL},
};
