/* The gate's hazards, in the blocking verb. Waiting on our own primitive: waker.c. */
#include "check.h"

typedef struct acquire {
  sluice_gate *gate;
  uint64_t n;
  int64_t timeout_ms;
  sluice_status answer;
  bool is_back; /* atomic */
  pthread_t thread;
} acquire;

static void *run_acquire(void *argument) {
  acquire *acquire = argument;
  acquire->answer = sluice_gate_acquire(acquire->gate, acquire->n, acquire->timeout_ms);
  __atomic_store_n(&acquire->is_back, true, __ATOMIC_SEQ_CST);
  return NULL;
}

static void begin(acquire *acquire, sluice_gate *gate, uint64_t n, int64_t timeout_ms) {
  acquire->gate = gate;
  acquire->n = n;
  acquire->timeout_ms = timeout_ms;
  acquire->is_back = false;
  CHECK(pthread_create(&acquire->thread, NULL, run_acquire, acquire) == 0);
}

static sluice_status end(acquire *acquire) {
  CHECK(pthread_join(acquire->thread, NULL) == 0);
  return acquire->answer;
}

static void await_line(const sluice_gate *gate, uint64_t count) {
  uint64_t waiting = 0;
  while (waiting != count) {
    CHECK_OK(sluice_gate_waiting(gate, &waiting));
  }
}

static uint64_t available(const sluice_gate *gate) {
  uint64_t out = 0;
  CHECK_OK(sluice_gate_available(gate, &out));
  return out;
}

static void g01_no_wake_up_is_lost(void) {
  int round;
  for (round = 0; round < check_rounds(3000); round++) {
    acquire a, b;
    sluice_gate *gate = NULL;
    CHECK_OK(sluice_gate_new(0, &gate));
    begin(&a, gate, 1, SLUICE_FOREVER);
    begin(&b, gate, 1, SLUICE_FOREVER);
    CHECK_OK(sluice_gate_grant(gate, 1));
    CHECK_OK(sluice_gate_grant(gate, 1));
    CHECK_STATUS(SLUICE_OK, end(&a));
    CHECK_STATUS(SLUICE_OK, end(&b));
    CHECK(available(gate) == 0);
    CHECK_OK(sluice_gate_release(gate));
  }
}

static void g02_close_wakes_all_with_the_first_reason(void) {
  acquire waiters[8], late;
  sluice_gate *gate = NULL;
  sluice_error *reason = NULL;
  const char *code = "";
  bool closed = false;
  int i;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_reason(gate, &reason));
  CHECK(reason == NULL);
  for (i = 0; i < 8; i++) {
    begin(&waiters[i], gate, 1, SLUICE_FOREVER);
  }
  await_line(gate, 8);
  CHECK_OK(sluice_gate_close(gate, "CANCELLED", SLUICE_NUL, &closed));
  CHECK(closed);
  CHECK_OK(sluice_gate_close(gate, "LATER", SLUICE_NUL, &closed));
  CHECK(!closed);
  for (i = 0; i < 8; i++) {
    CHECK_STATUS(SLUICE_CLOSED, end(&waiters[i]));
  }
  begin(&late, gate, 0, SLUICE_FOREVER);
  CHECK_STATUS(SLUICE_CLOSED, end(&late));
  CHECK_OK(sluice_gate_reason(gate, &reason));
  CHECK_OK(sluice_error_code(reason, &code, NULL));
  CHECK(code[0] == 'C');
  CHECK_OK(sluice_error_release(reason));
  CHECK_OK(sluice_gate_release(gate));
}

static void g04_who_gives_up_lets_the_next_one_through(void) {
  int64_t limit_ms = 50;
  bool both = false;
  for (; !both && limit_ms < WAIT_MS; limit_ms *= 4) { /* again if it had given up before */
    acquire a, b;
    sluice_gate *gate = NULL;
    uint64_t waiting = 0;
    CHECK_OK(sluice_gate_new(3, &gate));
    begin(&a, gate, 5, limit_ms);
    while (waiting != 1 && !__atomic_load_n(&a.is_back, __ATOMIC_SEQ_CST)) {
      CHECK_OK(sluice_gate_waiting(gate, &waiting));
    }
    begin(&b, gate, 1, SLUICE_FOREVER);
    while (waiting != 2 && !__atomic_load_n(&a.is_back, __ATOMIC_SEQ_CST)) {
      CHECK_OK(sluice_gate_waiting(gate, &waiting));
    }
    both = waiting == 2;
    CHECK_STATUS(SLUICE_TIMED_OUT, end(&a));
    CHECK_STATUS(SLUICE_OK, end(&b));
    CHECK(available(gate) == 2);
    CHECK_OK(sluice_gate_release(gate));
  }
  CHECK(both);
}

static void g05_a_large_acquire_is_not_overtaken(void) {
  acquire large;
  sluice_gate *gate = NULL;
  int i;
  CHECK_OK(sluice_gate_new(0, &gate));
  begin(&large, gate, 10, SLUICE_FOREVER);
  await_line(gate, 1);
  for (i = 0; i < 9; i++) {
    CHECK_OK(sluice_gate_grant(gate, 1));
    CHECK_STATUS(SLUICE_WAIT, sluice_gate_try_acquire(gate, 1));
  }
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK_STATUS(SLUICE_OK, end(&large));
  CHECK(available(gate) == 0);
  CHECK_OK(sluice_gate_release(gate));
}

static void g06_g07_counts_saturate(void) {
  static const uint64_t counts[] = {(uint64_t)INT32_MAX, (uint64_t)INT32_MAX + 1,
                                    (uint64_t)UINT32_MAX + 1, (uint64_t)INT64_MAX, UINT64_MAX};
  sluice_gate *gate = NULL;
  size_t i;
  for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    CHECK_OK(sluice_gate_new(0, &gate));
    CHECK_OK(sluice_gate_grant(gate, counts[i]));
    CHECK(available(gate) == counts[i]);
    CHECK_OK(sluice_gate_release(gate));
  }
  CHECK_OK(sluice_gate_new(1, &gate));
  CHECK_OK(sluice_gate_grant(gate, UINT64_MAX));
  CHECK_OK(sluice_gate_grant(gate, UINT64_MAX));
  CHECK(available(gate) == UINT64_MAX);
  CHECK_STATUS(SLUICE_OK, sluice_gate_acquire(gate, UINT64_MAX, 0));
  CHECK(available(gate) == 0);
  CHECK_OK(sluice_gate_release(gate));
}

static void g08_extreme_limits(void) {
  static const int64_t endless[] = {SLUICE_FOREVER, -2, INT64_MIN, INT64_MAX};
  acquire waiters[4];
  sluice_gate *gate = NULL;
  int i;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_gate_acquire(gate, 1, 0));
  for (i = 0; i < 4; i++) {
    begin(&waiters[i], gate, 1, endless[i]);
  }
  await_line(gate, 4);
  CHECK_OK(sluice_gate_grant(gate, 4));
  for (i = 0; i < 4; i++) {
    CHECK_STATUS(SLUICE_OK, end(&waiters[i]));
  }
  CHECK_OK(sluice_gate_release(gate));
}

static void g10_a_grant_of_nothing_has_no_effect(void) {
  sluice_gate *gate = NULL;
  sluice_window *window = NULL;
  uint64_t grant = 9;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_grant(gate, 0));
  CHECK(available(gate) == 0);
  CHECK_STATUS(SLUICE_OK, sluice_gate_try_acquire(gate, 0));
  CHECK_OK(sluice_window_new(4, &window));
  CHECK_OK(sluice_window_flush(window, &grant));
  CHECK(grant == 0);
  CHECK_OK(sluice_window_release(window));
  CHECK_OK(sluice_gate_release(gate));
}

static void l08_a_replaced_gate_releases_its_waiters(void) {
  acquire waiter;
  sluice_gate *first = NULL, *second = NULL;
  sluice_router *router = NULL;
  CHECK_OK(sluice_gate_new(0, &first));
  CHECK_OK(sluice_gate_new(0, &second));
  CHECK_OK(sluice_router_new(&router));
  CHECK_OK(sluice_router_register(router, (const uint8_t *)"7", 1, "s", 1, first));
  begin(&waiter, first, 1, SLUICE_FOREVER);
  await_line(first, 1);
  CHECK_OK(sluice_router_register(router, (const uint8_t *)"7", 1, "s", 1, second));
  CHECK_STATUS(SLUICE_CLOSED, end(&waiter));
  CHECK_OK(sluice_router_release(router));
  CHECK_OK(sluice_gate_release(first));
  CHECK_OK(sluice_gate_release(second));
}

const check_case gate_cases[] = {
    {"gate: G01 no wake-up is lost", g01_no_wake_up_is_lost},
    {"gate: G02 close wakes all with the first reason", g02_close_wakes_all_with_the_first_reason},
    {"gate: G04 who gives up lets the next one through", g04_who_gives_up_lets_the_next_one_through},
    {"gate: G05 a large acquire is not overtaken", g05_a_large_acquire_is_not_overtaken},
    {"gate: G06 G07 counts saturate", g06_g07_counts_saturate},
    {"gate: G08 extreme limits", g08_extreme_limits},
    {"gate: G10 a grant of nothing has no effect", g10_a_grant_of_nothing_has_no_effect},
    {"gate: L08 a replaced gate releases its waiters", l08_a_replaced_gate_releases_its_waiters},
    {NULL, NULL}};
