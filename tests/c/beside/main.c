/* HZ-F15: our static library and another one of Rust in one program, in both orders on the command
   line. Each allocates, and each catches a panic of its own. */
#include <stdint.h>
#include <stdio.h>

#include <sluicegate.h>

extern uint64_t other_sum(uint32_t n);
extern uint32_t other_catches(void);

int main(void) {
  sluice_gate *gate = NULL;
  uint64_t left = 0;
  if (sluice_gate_new(2, &gate) != SLUICE_OK) return 1;
  if (sluice_gate_try_acquire(gate, 1) != SLUICE_OK) return 2;
  if (sluice_gate_available(gate, &left) != SLUICE_OK || left != 1) return 3;
  sluice_gate_release(gate);
  if (other_sum(10) != 45) return 4;
  if (other_catches() != 1) return 5;
  return 0;
}
