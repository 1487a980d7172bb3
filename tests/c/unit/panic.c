/* HZ-F10: a panic inside the library is an answer. */
#include "check.h"

static void a_panic_does_not_cross(void) {
  sluice_gate *gate = NULL;
  CHECK_STATUS(SLUICE_PANIC, sluice_debug_panic(NULL));
  CHECK_OK(sluice_gate_new(1, &gate));
  CHECK_STATUS(SLUICE_OK, sluice_gate_try_acquire(gate, 1));
  CHECK_OK(sluice_gate_release(gate));
}

static void a_broken_object_says_so(void) {
  static const uint8_t key[] = {'r'};
  sluice_router *broken = NULL, *other = NULL;
  sluice_gate *gate = NULL;
  uint64_t number = 0;
  sluice_delivery delivery = SLUICE_DELIVERY_NO_REQUEST;
  CHECK_OK(sluice_router_new(&broken));
  CHECK_OK(sluice_router_new(&other));
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_router_register(broken, key, 1, NULL, 0, gate));
  CHECK_OK(sluice_router_register(other, key, 1, NULL, 0, gate));
  CHECK_STATUS(SLUICE_PANIC, sluice_debug_panic(broken));
  CHECK_STATUS(SLUICE_BROKEN, sluice_router_grant(broken, key, 1, NULL, 0, 1, &delivery));
  CHECK_STATUS(SLUICE_BROKEN, sluice_router_register(broken, key, 1, NULL, 0, gate));
  CHECK_STATUS(SLUICE_BROKEN, sluice_router_close_request(broken, key, 1, "END", SLUICE_NUL));
  CHECK_STATUS(SLUICE_BROKEN, sluice_router_close_all(broken, "END", SLUICE_NUL));
  CHECK_STATUS(SLUICE_BROKEN, sluice_router_len(broken, &number));
  CHECK_OK(sluice_router_release(broken));
  CHECK_OK(sluice_router_grant(other, key, 1, NULL, 0, 3, &delivery)); /* others are well */
  CHECK(delivery == SLUICE_DELIVERY_GRANTED);
  CHECK_OK(sluice_gate_available(gate, &number));
  CHECK(number == 3);
  CHECK_OK(sluice_router_release(other));
  CHECK_OK(sluice_gate_release(gate));
}

const check_case panic_cases[] = {{"panic: does not cross", a_panic_does_not_cross},
                                  {"panic: a broken object says so", a_broken_object_says_so},
                                  {NULL, NULL}};
