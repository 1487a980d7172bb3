/* A fold, and a hub that shares one source with two listeners. */
#include "../support.h"

static int32_t square(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = number((uintptr_t)value * (uintptr_t)value);
  return SLUICE_OK;
}

static int32_t add(void *ctx, void *sum, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = number((uintptr_t)sum + (uintptr_t)value);
  return SLUICE_OK;
}

static int32_t even(void *ctx, void *value, bool *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = (uintptr_t)value % 2 == 0;
  return SLUICE_OK;
}

static void print(const char *name, sluice_run *listener) {
  sluice_elements *all = results(listener);
  size_t count = 0, i;
  MUST(sluice_elements_count(all, &count));
  printf("%s:", name);
  for (i = 0; i < count; i++) {
    printf(" %ju", (uintmax_t)at(all, i));
  }
  puts("");
  MUST(sluice_elements_release(all));
}

int main(void) {
  const sluice_mapper mapper = {NULL, square, NULL};
  const sluice_folder folder = {NULL, add, NULL};
  const sluice_predicate predicate = {NULL, even, NULL};
  const sluice_element zero = number(0);
  sluice_scope *scope = NULL;
  sluice_source *source = NULL, *every = NULL, *some = NULL;
  sluice_flow *map = NULL, *filter = NULL;
  sluice_sink *fold = NULL, *share = NULL, *collect = NULL;
  sluice_run *running, *all, *evens;
  sluice_elements *sum;
  sluice_hub *hub = NULL;
  sluice_manual *control = NULL;
  uintptr_t n;
  MUST(sluice_scope_new("showcase", SLUICE_NUL, &scope));

  /* The sink's result is the sum of what the chain gives. */
  MUST(sluice_source_range(1, 11, &source));
  MUST(sluice_flow_map(&mapper, &map));
  MUST(sluice_sink_fold(&zero, &folder, &fold));
  sum = results(run(via(source, map), fold, scope));
  printf("sum of squares: %ju\n", (uintmax_t)at(sum, 0));
  MUST(sluice_elements_release(sum));

  /* A hub shares one source with whoever subscribes; each listener asks for itself. The hub waits for
   * the slower one, so both hear everything. */
  MUST(sluice_source_manual(NULL, &source, NULL));
  MUST(sluice_sink_broadcast_hub(16, 0, &share, NULL));
  running = run(source, share, scope);
  MUST(sluice_run_manual(running, &control));
  MUST(sluice_run_hub(running, &hub));
  MUST(sluice_run_release(running));
  MUST(sluice_hub_subscribe(hub, SLUICE_HUB_POLICY_WAIT, UINT64_MAX, 16, &every, NULL));
  MUST(sluice_hub_subscribe(hub, SLUICE_HUB_POLICY_WAIT, UINT64_MAX, 16, &some, NULL));
  MUST(sluice_flow_filter(&predicate, &filter));
  MUST(sluice_sink_collect(&collect));
  MUST(sluice_sink_retain(collect)); /* one blueprint for two runs */
  all = run(every, collect, scope);
  evens = run(via(some, filter), collect, scope);
  for (n = 1; n <= 5; n++) {
    const sluice_element element = number(n);
    sluice_offer offer;
    MUST(sluice_manual_offer(control, &element, SLUICE_FOREVER, &offer, NULL));
  }
  MUST(sluice_manual_complete(control, NULL));
  print("all", all);
  print("evens", evens);
  MUST(sluice_manual_release(control));
  MUST(sluice_hub_release(hub));
  MUST(sluice_scope_shutdown(scope, 10000, NULL));
  MUST(sluice_scope_release(scope));
  return 0;
}
