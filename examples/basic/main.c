/* A source that is fed by hand, a chain of stages, and a sink that collects what comes out. */
#include "../support.h"

static int32_t twice(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = number((uintptr_t)value * 2);
  return SLUICE_OK;
}

static int32_t even(void *ctx, void *value, bool *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = (uintptr_t)value % 2 == 0;
  return SLUICE_OK;
}

int main(void) {
  const sluice_mapper mapper = {NULL, twice, NULL};
  const sluice_predicate predicate = {NULL, even, NULL};
  sluice_scope *scope = NULL; /* owns the threads of what runs */
  sluice_source *source = NULL;
  sluice_flow *map = NULL, *filter = NULL, *take = NULL;
  sluice_sink *collect = NULL;
  sluice_manual *control = NULL;
  sluice_elements *numbers;
  sluice_run *running;
  size_t count = 0, i;
  uintptr_t n;
  MUST(sluice_scope_new("basic", SLUICE_NUL, &scope));

  /* Blueprints: nothing runs yet, and they could run any number of times. */
  MUST(sluice_source_manual(NULL, &source, NULL));
  MUST(sluice_flow_map(&mapper, &map));
  MUST(sluice_flow_filter(&predicate, &filter));
  MUST(sluice_flow_take(3, &take));
  MUST(sluice_sink_collect(&collect));
  running = run(via(via(via(source, map), filter), take), collect, scope);

  /* A run gives the control of its source, and the result of its sink. */
  MUST(sluice_run_manual(running, &control));
  for (n = 1; n <= 5; n++) {
    const sluice_element element = number(n);
    sluice_offer offer; /* after the third element nobody takes any: that is told here */
    MUST(sluice_manual_offer(control, &element, SLUICE_FOREVER, &offer, NULL));
  }
  MUST(sluice_manual_complete(control, NULL));
  numbers = results(running);
  MUST(sluice_elements_count(numbers, &count));
  for (i = 0; i < count; i++) {
    printf("%ju\n", (uintmax_t)at(numbers, i));
  }
  puts("completed");
  MUST(sluice_elements_release(numbers));
  MUST(sluice_manual_release(control));
  MUST(sluice_scope_shutdown(scope, 10000, NULL));
  MUST(sluice_scope_release(scope));
  return 0;
}
