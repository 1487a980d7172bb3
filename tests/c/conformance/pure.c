/* Scripts in which nothing waits. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "script.h"

/* The object that a script drives. */
typedef struct machine {
  const char *name;
  gates gates; /* one, called "", for the gate machine */
  sluice_window *window;
  sluice_router *router;
} machine;

static bool open_machine(machine *machine, fields *script) {
  const cJSON *open, *windows;
  fields opened;
  if (strcmp(machine->name, "negotiate") == 0) {
    return true;
  }
  TRY(take_object(script, "open", &open));
  TRY(fields_of(open, &opened));
  if (strcmp(machine->name, "gate") == 0) {
    uint64_t window;
    TRY(take_number(&opened, "window", &window));
    machine->gates.list[0].name = "";
    TRY(ok("gate_new", sluice_gate_new(window, &machine->gates.list[0].gate)));
    machine->gates.count = 1;
  } else if (strcmp(machine->name, "window") == 0) {
    uint64_t window, batch;
    bool has_batch;
    TRY(take_number(&opened, "window", &window));
    TRY(take_optional_number(&opened, "batch", &has_batch, &batch));
    TRY(window_open(has_batch, window, batch, &machine->window));
  } else if (strcmp(machine->name, "router") == 0 || strcmp(machine->name, "grant_target") == 0) {
    TRY(take_object(&opened, "gates", &windows));
    TRY(gates_open(windows, &machine->gates));
    TRY(ok("router_new", sluice_router_new(&machine->router)));
  } else {
    return fail("unknown machine \"%s\"", machine->name);
  }
  return done(&opened);
}

static bool gate_step(machine *machine, const char *op, fields *step, char out[ANSWER_SIZE]) {
  const sluice_gate *gate = machine->gates.list[0].gate;
  const char *reason;
  uint64_t n;
  snprintf(out, ANSWER_SIZE, "null");
  if (strcmp(op, "acquire") == 0) {
    TRY(take_number(step, "n", &n));
    return try_answer(gate, n, out);
  }
  if (strcmp(op, "grant") == 0) {
    TRY(take_number(step, "n", &n));
    return ok(op, sluice_gate_grant(gate, n));
  }
  if (strcmp(op, "close") == 0) {
    TRY(take_text(step, "reason", &reason));
    return ok(op, sluice_gate_close(gate, reason, SLUICE_NUL, NULL));
  }
  return fail("unknown op \"%s\"", op);
}

static bool negotiate_step(const char *op, fields *step, char out[ANSWER_SIZE]) {
  uint64_t ours, theirs, agreed;
  sluice_status status;
  TRY(same("op", "negotiate", op));
  TRY(take_number(step, "ours", &ours));
  TRY(take_number(step, "theirs", &theirs));
  status = sluice_negotiate(ours, theirs, &agreed);
  if (status == SLUICE_HANDSHAKE) {
    snprintf(out, ANSWER_SIZE, "null");
    return true;
  }
  TRY(ok("negotiate", status));
  answer_number(agreed, out);
  return true;
}

static bool compare_window(const sluice_window *window, fields *state) {
  static const char *const names[] = {"remaining", "pending", "batch"};
  uint64_t is[3], expected;
  int i;
  TRY(ok("window_remaining", sluice_window_remaining(window, &is[0])));
  TRY(ok("window_pending", sluice_window_pending(window, &is[1])));
  TRY(ok("window_batch", sluice_window_batch(window, &is[2])));
  for (i = 0; i < 3; i++) {
    TRY(take_number(state, names[i], &expected));
    if (expected != is[i]) {
      return fail("%s: expected %" PRIu64 ", is %" PRIu64, names[i], expected, is[i]);
    }
  }
  return true;
}

static bool compare(machine *machine, fields *step) {
  const cJSON *json, *states;
  fields state;
  if (strcmp(machine->name, "negotiate") == 0) {
    return true;
  }
  TRY(take_object(step, "state", &json));
  if (strcmp(machine->name, "gate") == 0) {
    cJSON *all = cJSON_CreateObject();
    bool as_expected;
    cJSON_AddItemReferenceToObject(all, "", (cJSON *)(uintptr_t)json);
    as_expected = gates_compare(&machine->gates, all);
    cJSON_Delete(all);
    return as_expected;
  }
  TRY(fields_of(json, &state));
  if (machine->window != NULL) {
    TRY(compare_window(machine->window, &state));
  } else {
    TRY(take_object(&state, "gates", &states));
    TRY(gates_compare(&machine->gates, states));
  }
  return done(&state);
}

static bool perform(machine *machine, const cJSON *json) {
  fields step;
  const char *op;
  const cJSON *answer;
  char is[ANSWER_SIZE], expected[ANSWER_SIZE];
  TRY(fields_of(json, &step));
  TRY(take_text(&step, "op", &op));
  if (strcmp(machine->name, "gate") == 0) {
    TRY(gate_step(machine, op, &step, is));
  } else if (strcmp(machine->name, "window") == 0) {
    TRY(window_answer(machine->window, op, is));
  } else if (strcmp(machine->name, "negotiate") == 0) {
    TRY(negotiate_step(op, &step, is));
  } else {
    TRY(router_answer(machine->router, &machine->gates, op, &step, is));
  }
  TRY(take(&step, "answer", &answer));
  TRY(answer_of(answer, expected));
  TRY(same(op, expected, is));
  TRY(compare(machine, &step));
  return done(&step);
}

static bool run(machine *machine, const cJSON *script) {
  fields head;
  const char *name;
  const cJSON *steps, *step;
  int number = 0;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(open_machine(machine, &head));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  cJSON_ArrayForEach(step, steps) {
    if (!perform(machine, step)) {
      char why[sizeof failure];
      memcpy(why, failure, sizeof why);
      return fail("step %d: %.3800s", number, why);
    }
    number += 1;
  }
  return true;
}

bool replay_pure(const char *machine_name, const cJSON *script) {
  machine machine;
  bool good;
  memset(&machine, 0, sizeof machine);
  machine.name = machine_name;
  good = run(&machine, script);
  gates_release(&machine.gates);
  sluice_window_release(machine.window);
  sluice_router_release(machine.router);
  return good;
}
