/* HZ-F05: handles from before a fork are refused in the child, new ones work, the parent goes on. */
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* In the child: exits with the number of the first check that fails. */
static int in_the_child(sluice_gate *gate, sluice_window *window, sluice_op *op, sluice_item *item) {
  uint64_t number = 0;
  size_t len = 0;
  const uint8_t *bytes = NULL;
  sluice_gate *fresh = NULL;
  if (sluice_gate_try_acquire(gate, 1) != SLUICE_FORKED) {
    return 1;
  }
  if (sluice_gate_acquire(gate, 1, SLUICE_FOREVER) != SLUICE_FORKED ||
      sluice_gate_grant(gate, 1) != SLUICE_FORKED) {
    return 2;
  }
  if (sluice_window_flush(window, &number) != SLUICE_FORKED) {
    return 3;
  }
  if (sluice_op_poll(op, NULL, NULL) != SLUICE_FORKED || sluice_op_release(op) != SLUICE_FORKED) {
    return 4;
  }
  if (sluice_item_bytes(item, &bytes, &len) != SLUICE_FORKED) {
    return 5;
  }
  if (sluice_gate_retain(gate) != SLUICE_FORKED || sluice_gate_release(gate) != SLUICE_FORKED) {
    return 6;
  }
  if (sluice_gate_new(2, &fresh) != SLUICE_OK || sluice_gate_try_acquire(fresh, 1) != SLUICE_OK ||
      sluice_gate_acquire(fresh, 2, 5) != SLUICE_TIMED_OUT ||
      sluice_gate_available(fresh, &number) != SLUICE_OK || number != 1 ||
      sluice_gate_release(fresh) != SLUICE_OK) {
    return 7;
  }
  return 0;
}

static void handles_end_at_a_fork(void) {
  sluice_gate *gate = NULL;
  sluice_window *window = NULL;
  sluice_op *op = NULL;
  sluice_item *item = NULL;
  bell bell;
  sluice_waker waker;
  pid_t child;
  int status = -1;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_window_new(4, &window));
  CHECK_OK(sluice_item_new_bytes((const uint8_t *)"abc", 3, &item));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &waker, NULL));
  child = fork();
  if (child == 0) {
    _exit(in_the_child(gate, window, op, item));
  }
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(sluice_gate_grant(gate, 1)); /* the parent is undisturbed */
  CHECK(bell_wakes(&bell) == 1);
  CHECK_OK(sluice_op_poll(op, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_window_release(window));
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

#ifndef __SANITIZE_THREAD__ /* which cannot follow threads that a child starts after a fork */

/* In the child a whole runtime can be made anew, while the parent's goes on. */
static void a_child_may_begin_anew(void) {
  pair pair;
  pid_t child;
  int status = -1;
  sluice_call *call = NULL;
  sluice_error *err = NULL;
  sluice_terminal *terminal = NULL;
  pair_open(&pair, NULL, test_cartridge());
  child = fork();
  if (child == 0) {
    struct pair anew;
    sluice_call *none = NULL;
    alarm(300);
    if (sluice_peer_call(pair.peer, CAP_ECHO, SLUICE_NUL, &none, NULL) != SLUICE_FORKED) {
      _exit(1);
    }
    pair_open(&anew, NULL, test_cartridge());
    pair_close(&anew);
    _exit(0);
  }
  CHECK(child > 0);
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ECHO, SLUICE_NUL, &call, &err), err);
  {
    sluice_output *input = NULL;
    CHECK_OK(sluice_call_input(call, "media:blob", SLUICE_NUL, &input, NULL));
    CHECK_OK(sluice_output_release(input));
  }
  CHECK_OK_ERR(sluice_call_finish_input(call, SLUICE_FOREVER, &err), err);
  CHECK_OK_ERR(sluice_call_wait(call, WAIT_MS, &terminal, &err), err);
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

#endif

const check_case fork_cases[] = {
    {"fork: F05 handles end at a fork", handles_end_at_a_fork},
#ifndef __SANITIZE_THREAD__
    {"fork: F05 a child may begin anew", a_child_may_begin_anew},
#endif
    {NULL, NULL}};
