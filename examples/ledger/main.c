/* A ledger that is read by the page: its writer takes one row at a time, and a fetch asks for exactly
 * what is missing. Both run on one thread: no stage between them is a boundary. */
#include "../support.h"

enum { ROWS = 200 };

typedef struct counts {
  uint64_t written, fetches;
} counts;

static int32_t fetch(void *ctx, uint64_t from, uint64_t n, const sluice_elements *rows,
                     sluice_error **err) {
  counts *counts = ctx;
  uint64_t row;
  (void)err;
  printf("fetch %ju rows from %ju after %ju written\n", (uintmax_t)n, (uintmax_t)from,
         (uintmax_t)counts->written);
  counts->fetches++;
  for (row = from; row < from + n && row < ROWS; row++) {
    sluice_element element = {malloc(16), free, 0};
    snprintf(element.value, 16, "row %ju", (uintmax_t)row);
    MUST(sluice_elements_push(rows, &element)); /* freed when the last stage lets go of it */
  }
  return SLUICE_OK;
}

static int32_t write_row(void *ctx, void *row, sluice_error **err) {
  (void)row, (void)err;
  ((counts *)ctx)->written++; /* commits one row; then the next is asked for */
  return SLUICE_OK;
}

int main(void) {
  counts counts = {0, 0};
  const sluice_fetcher fetcher = {&counts, fetch, NULL};
  const sluice_observer writer = {&counts, write_row, NULL};
  sluice_scope *scope = NULL;
  sluice_source *ledger = NULL;
  sluice_flow *page = NULL;
  sluice_sink *sink = NULL;
  MUST(sluice_scope_new("ledger", SLUICE_NUL, &scope));
  MUST(sluice_source_fetch(&fetcher, &ledger));
  /* Holds 64 rows or has asked for them, and asks again once 48 have left: never more than 64. */
  MUST(sluice_flow_page(64, 48, &page, NULL));
  MUST(sluice_sink_foreach(&writer, &sink));
  MUST(sluice_elements_release(results(run(via(ledger, page), sink, scope))));
  printf("written %ju rows in %ju fetches\n", (uintmax_t)counts.written, (uintmax_t)counts.fetches);
  MUST(sluice_scope_shutdown(scope, 10000, NULL));
  MUST(sluice_scope_release(scope));
  return 0;
}
