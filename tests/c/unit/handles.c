/* HZ-F10: NULL, stale, foreign and double-released handles are answered, never followed. */
#include <stdint.h>
#include <string.h>

#include "check.h"

#define INVALID(call) CHECK_STATUS(SLUICE_INVALID_ARGUMENT, call)

static void null_is_answered(void) {
  uint64_t number;
  size_t size;
  bool flag;
  const char *text;
  const uint8_t *bytes;
  sluice_status status;
  sluice_class cls;
  sluice_item_kind_t kind;
  sluice_op *op;
  sluice_error *err = NULL;
  sluice_item *item;
  INVALID(sluice_gate_new(1, NULL));
  INVALID(sluice_gate_retain(NULL));
  INVALID(sluice_gate_try_acquire(NULL, 1));
  INVALID(sluice_gate_acquire(NULL, 1, SLUICE_FOREVER));
  INVALID(sluice_gate_acquire_start(NULL, 1, &op));
  INVALID(sluice_gate_on_ready(NULL, 1, NULL, &op));
  INVALID(sluice_gate_grant(NULL, 1));
  INVALID(sluice_gate_close(NULL, "r", 1, &flag));
  INVALID(sluice_gate_close_with(NULL, NULL, &flag));
  INVALID(sluice_gate_reason(NULL, &err));
  INVALID(sluice_gate_available(NULL, &number));
  INVALID(sluice_gate_is_closed(NULL, &flag));
  INVALID(sluice_gate_waiting(NULL, &number));
  INVALID(sluice_window_new(1, NULL));
  INVALID(sluice_window_arrive(NULL));
  INVALID(sluice_window_consumed(NULL, &number));
  INVALID(sluice_window_flush(NULL, &number));
  INVALID(sluice_window_continued(NULL, &number));
  INVALID(sluice_window_remaining(NULL, &number));
  INVALID(sluice_negotiate(1, 1, NULL));
  INVALID(sluice_router_new(NULL));
  INVALID(sluice_router_register(NULL, NULL, 0, NULL, 0, NULL));
  INVALID(sluice_router_grant(NULL, NULL, 0, NULL, 0, 1, NULL));
  INVALID(sluice_router_len(NULL, &number));
  INVALID(sluice_op_poll(NULL, NULL, &err));
  INVALID(sluice_op_wait(NULL, 0, &err));
  INVALID(sluice_op_take_item(NULL, &item));
  INVALID(sluice_error_kind(NULL, &status));
  INVALID(sluice_error_class(NULL, &cls));
  INVALID(sluice_error_text(NULL, &text, NULL));
  INVALID(sluice_item_kind(NULL, &kind));
  INVALID(sluice_item_bytes(NULL, &bytes, &size));
  INVALID(sluice_item_new_bytes(NULL, 5, &item));
  INVALID(sluice_input_try_recv(NULL, &item, &err));
  INVALID(sluice_input_recv(NULL, SLUICE_FOREVER, &item, &err));
  INVALID(sluice_input_cancel(NULL));
  INVALID(sluice_output_write(NULL, NULL, 0, SLUICE_FOREVER, &err));
  INVALID(sluice_output_close(NULL, SLUICE_FOREVER, &err));
  INVALID(sluice_sender_write(NULL, NULL, 0, SLUICE_FOREVER, &err));
  INVALID(sluice_cap_title(NULL, "t", 1));
  INVALID(sluice_manifest_add_cap(NULL, NULL));
  INVALID(sluice_cartridge_new(NULL, NULL));
  INVALID(sluice_cartridge_run_stdio(NULL, &err));
  INVALID(sluice_session_next_request(NULL, SLUICE_FOREVER, NULL, &err));
  INVALID(sluice_request_fail(NULL, NULL));
  INVALID(sluice_request_finish(NULL, 0.5, NULL, 0, SLUICE_FOREVER, &err));
  INVALID(sluice_engine_spawn(NULL, NULL, NULL, &err));
  INVALID(sluice_engine_attach(NULL, -1, -1, NULL, NULL));
  INVALID(sluice_engine_close(NULL));
  INVALID(sluice_peer_call(NULL, "c", 1, NULL, &err));
  INVALID(sluice_call_cancel(NULL, NULL));
  INVALID(sluice_forward(NULL, NULL, SLUICE_FOREVER, NULL, &err));
  CHECK(err == NULL);
}

static void null_may_be_released(void) {
  CHECK_OK(sluice_gate_release(NULL));
  CHECK_OK(sluice_window_release(NULL));
  CHECK_OK(sluice_router_release(NULL));
  CHECK_OK(sluice_op_release(NULL));
  CHECK_OK(sluice_error_release(NULL));
  CHECK_OK(sluice_item_release(NULL));
  CHECK_OK(sluice_items_release(NULL));
  CHECK_OK(sluice_input_release(NULL));
  CHECK_OK(sluice_output_release(NULL));
  CHECK_OK(sluice_sender_release(NULL));
  CHECK_OK(sluice_cap_release(NULL));
  CHECK_OK(sluice_manifest_release(NULL));
  CHECK_OK(sluice_cartridge_release(NULL));
  CHECK_OK(sluice_session_release(NULL));
  CHECK_OK(sluice_request_release(NULL));
  CHECK_OK(sluice_engine_release(NULL));
  CHECK_OK(sluice_command_release(NULL));
  CHECK_OK(sluice_peer_release(NULL));
  CHECK_OK(sluice_call_release(NULL));
  CHECK_OK(sluice_terminal_release(NULL));
  CHECK_OK(sluice_event_release(NULL));
}

static void references_are_counted(void) {
  const uint64_t before = sluice_live_handles();
  sluice_gate *gate = NULL;
  uint64_t available = 0;
  CHECK_OK(sluice_gate_new(3, &gate));
  CHECK(sluice_live_handles() == before + 1);
  CHECK_OK(sluice_gate_retain(gate));
  CHECK_OK(sluice_gate_release(gate));
  CHECK_OK(sluice_gate_available(gate, &available));
  CHECK(available == 3);
  CHECK_OK(sluice_gate_release(gate));
  CHECK(sluice_live_handles() == before);
}

static void a_released_handle_stays_dead(void) {
  sluice_gate *first = NULL, *second = NULL;
  CHECK_OK(sluice_gate_new(3, &first));
  CHECK_OK(sluice_gate_release(first));
  INVALID(sluice_gate_release(first));
  INVALID(sluice_gate_retain(first));
  INVALID(sluice_gate_try_acquire(first, 1));
  CHECK_OK(sluice_gate_new(1, &second)); /* may lie where the first one lay */
  CHECK(first != second);
  INVALID(sluice_gate_try_acquire(first, 1));
  INVALID(sluice_gate_release(first));
  CHECK_OK(sluice_gate_try_acquire(second, 1));
  CHECK_OK(sluice_gate_release(second));
}

static void another_kind_or_garbage_is_no_handle(void) {
  static const uintptr_t garbage[] = {1, 8, 4096, UINTPTR_MAX, (uintptr_t)1 << 63};
  sluice_window *window = NULL;
  size_t i;
  CHECK_OK(sluice_window_new(3, &window));
  INVALID(sluice_gate_grant((const sluice_gate *)(const void *)window, 1));
  INVALID(sluice_gate_release((sluice_gate *)(void *)window));
  CHECK_OK(sluice_window_arrive(window));
  CHECK_OK(sluice_window_release(window));
  for (i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
    INVALID(sluice_gate_grant((const sluice_gate *)garbage[i], 1));
    INVALID(sluice_gate_release((sluice_gate *)garbage[i]));
  }
  INVALID(sluice_gate_grant((const sluice_gate *)(const void *)&i, 1));
}

static void *block_in_acquire(void *gate) {
  return (void *)(intptr_t)sluice_gate_acquire(gate, 1, SLUICE_FOREVER);
}

/* HZ-F07: nothing is pulled away from a call that runs. */
static void releasing_under_a_waiting_call_is_safe(void) {
  sluice_gate *gate = NULL;
  sluice_router *router = NULL;
  pthread_t thread;
  void *answer = NULL;
  uint64_t waiting = 0;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_router_new(&router));
  CHECK_OK(sluice_router_register(router, (const uint8_t *)"r", 1, NULL, 0, gate));
  CHECK(pthread_create(&thread, NULL, block_in_acquire, gate) == 0);
  while (waiting == 0) {
    CHECK_OK(sluice_gate_waiting(gate, &waiting));
  }
  CHECK_OK(sluice_gate_release(gate));
  INVALID(sluice_gate_grant(gate, 1));
  CHECK_OK(sluice_router_grant(router, (const uint8_t *)"r", 1, NULL, 0, 1, NULL));
  CHECK(pthread_join(thread, &answer) == 0);
  CHECK((intptr_t)answer == SLUICE_OK);
  CHECK_OK(sluice_router_release(router));
}

enum { SHARED = 64 };
static sluice_gate *shared[SHARED];

static void *release_all_twice(void *unused) {
  intptr_t released = 0;
  int i;
  (void)unused;
  for (i = 0; i < SHARED; i++) {
    released += sluice_gate_release(shared[i]) == SLUICE_OK;
    sluice_gate_grant(shared[i], 1);
    released += sluice_gate_release(shared[i]) == SLUICE_OK;
  }
  return (void *)released;
}

/* However many release one reference, one of them does. */
static void racing_releases_count_once(void) {
  int round, i;
  for (round = 0; round < check_rounds(200); round++) {
    pthread_t threads[4];
    intptr_t released = 0;
    for (i = 0; i < SHARED; i++) {
      CHECK_OK(sluice_gate_new(0, &shared[i]));
    }
    for (i = 0; i < 4; i++) {
      CHECK(pthread_create(&threads[i], NULL, release_all_twice, NULL) == 0);
    }
    for (i = 0; i < 4; i++) {
      void *count;
      CHECK(pthread_join(threads[i], &count) == 0);
      released += (intptr_t)count;
    }
    CHECK(released == SHARED);
  }
}

const check_case handle_cases[] = {
    {"handles: NULL is answered", null_is_answered},
    {"handles: NULL may be released", null_may_be_released},
    {"handles: references are counted", references_are_counted},
    {"handles: a released handle stays dead", a_released_handle_stays_dead},
    {"handles: another kind or garbage is no handle", another_kind_or_garbage_is_no_handle},
    {"handles: releasing under a waiting call is safe", releasing_under_a_waiting_call_is_safe},
    {"handles: racing releases count once", racing_releases_count_once},
    {NULL, NULL}};
