/* Scripts with several actors. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "actors.h"

enum { MAX_ACTORS = 128, WATCHDOG_MS = 120000, FIRST_SHORT_MS = 2 };

typedef struct named_window {
  const char *name;
  sluice_window *window;
} named_window;

typedef struct replay {
  way way;
  int64_t short_ms;
  gates gates;
  named_window windows[MAX_NAMED];
  int window_count;
  sluice_router *router;
  mailbox mailbox;
  actor actors[MAX_ACTORS];
  int actor_count;
  actor *came[MAX_ACTORS]; /* back in this step */
  int came_count;
  bool is_void; /* the clock was faster than the runner: this replay shows nothing */
} replay;

static actor *find_actor(replay *replay, const char *name) {
  int i;
  for (i = 0; i < replay->actor_count; i++) {
    if (strcmp(replay->actors[i].name, name) == 0) {
      return &replay->actors[i];
    }
  }
  return NULL;
}

static bool find_window(const replay *replay, const char *name, const sluice_window **out) {
  int i;
  for (i = 0; i < replay->window_count; i++) {
    if (strcmp(replay->windows[i].name, name) == 0) {
      *out = replay->windows[i].window;
      return true;
    }
  }
  return fail("no window is called \"%s\"", name);
}

/* One of the names, or NULL, as an index: NULL is 0. */
static bool choice(const char *text, const char *const *names, int count, int *out) {
  int i;
  if (text == NULL) {
    *out = 0;
    return true;
  }
  for (i = 1; i < count; i++) {
    if (strcmp(text, names[i]) == 0) {
      *out = i;
      return true;
    }
  }
  return fail("unknown choice \"%s\"", text);
}

static bool start(replay *replay, fields *op) {
  static const char *const limits[] = {NULL, "zero", "short", "long"};
  static const char *const leaves[] = {NULL, "expire", "cancel"};
  const char *name, *gate_name, *text;
  const sluice_gate *gate;
  actor *actor;
  int index;
  TRY(take_text(op, "actor", &name));
  actor = find_actor(replay, name);
  if (actor == NULL) {
    if (replay->actor_count == MAX_ACTORS) {
      return fail("more actors than this runner holds");
    }
    actor = &replay->actors[replay->actor_count++];
    actor->name = name;
  }
  if (actor->out) {
    return fail("%s has not come back yet", name);
  }
  actor_join(actor);
  TRY(take_text(op, "gate", &gate_name));
  TRY(gates_find(&replay->gates, gate_name, &gate));
  TRY(take_number(op, "n", &actor->n));
  TRY(take_optional_text(op, "limit", &text));
  TRY(choice(text, limits, 4, &index));
  actor->limit = (limit)index;
  TRY(take_optional_text(op, "leaves", &text));
  TRY(choice(text, leaves, 3, &index));
  actor->leaves = (leaving)index;
  actor->gate = (sluice_gate *)(uintptr_t)gate;
  actor->way = replay->way;
  actor->short_ms = replay->short_ms;
  actor->mailbox = &replay->mailbox;
  return actor_start(actor);
}

static bool leave(replay *replay, fields *op, bool by_cancel) {
  const char *name;
  actor *actor;
  TRY(take_text(op, "actor", &name));
  actor = find_actor(replay, name);
  if (actor == NULL) {
    return fail("no actor is called \"%s\"", name);
  }
  actor->may_leave = true;
  if (by_cancel && CANCELS(replay->way)) {
    bell_cancel(&actor->bell);
  }
  return true;
}

static bool expect(const char *what, fields *op, const char *is) {
  const cJSON *answer;
  char expected[ANSWER_SIZE];
  TRY(take(op, "answer", &answer));
  TRY(answer_of(answer, expected));
  return same(what, expected, is);
}

static bool on_gate(replay *replay, const char *op, fields *step) {
  const char *name, *reason;
  const sluice_gate *gate;
  char is[ANSWER_SIZE];
  uint64_t n;
  TRY(take_text(step, "gate", &name));
  TRY(gates_find(&replay->gates, name, &gate));
  if (strcmp(op, "close") == 0) {
    TRY(take_text(step, "reason", &reason));
    return ok(op, sluice_gate_close(gate, reason, SLUICE_NUL, NULL));
  }
  TRY(take_number(step, "n", &n));
  if (strcmp(op, "grant") == 0) {
    return ok(op, sluice_gate_grant(gate, n));
  }
  TRY(try_answer(gate, n, is));
  return expect(op, step, is);
}

static bool one_of(const char *op, const char *const *ops) {
  for (; *ops != NULL; ops++) {
    if (strcmp(op, *ops) == 0) {
      return true;
    }
  }
  return false;
}

static bool perform_op(replay *replay, const char *op, fields *step) {
  static const char *const gate_ops[] = {"try", "grant", "close", NULL};
  static const char *const router_ops[] = {"register", "unregister", "close_request", "close_all",
                                           NULL};
  static const char *const window_ops[] = {"arrive", "consumed", "flush", "continued", NULL};
  const char *name;
  const sluice_window *window = NULL;
  char is[ANSWER_SIZE];
  if (strcmp(op, "start") == 0) {
    return start(replay, step);
  }
  if (strcmp(op, "cancel") == 0 || strcmp(op, "expire") == 0) {
    return leave(replay, step, strcmp(op, "cancel") == 0);
  }
  if (one_of(op, gate_ops)) {
    return on_gate(replay, op, step);
  }
  if (one_of(op, router_ops)) {
    return router_answer(replay->router, &replay->gates, op, step, is);
  }
  if (strcmp(op, "route") == 0) {
    TRY(router_answer(replay->router, &replay->gates, op, step, is));
    return expect("answer", step, is);
  }
  if (!one_of(op, window_ops)) {
    return fail("unknown op \"%s\"", op);
  }
  TRY(take_text(step, "window", &name));
  TRY(find_window(replay, name, &window));
  TRY(window_answer(window, op, is));
  return expect("answer", step, is);
}

static bool perform(replay *replay, const cJSON *json) {
  fields step;
  const char *op;
  TRY(fields_of(json, &step));
  TRY(take_text(&step, "op", &op));
  if (!perform_op(replay, op, &step) || !done(&step)) {
    char why[sizeof failure];
    memcpy(why, failure, sizeof why);
    return fail("%s: %.3800s", op, why);
  }
  return true;
}

/* Notes that an actor came back. */
static bool note(replay *replay, actor *actor) {
  if (!actor->out) {
    return fail("%s came back though it was not out", actor->name);
  }
  actor->out = false;
  if (strcmp(actor->answer, "timed_out") == 0 && actor->leaves != LEAVES_NOT) {
    if (actor->after_ms < actor->short_ms) {
      return fail("%s timed out early, after %" PRId64 " ms", actor->name, actor->after_ms);
    }
    if (!actor->may_leave) {
      replay->is_void = true;
      return fail("%s timed out before its step", actor->name);
    }
    if (actor->leaves == LEAVES_BY_CANCEL) {
      snprintf(actor->answer, ANSWER_SIZE, "cancelled"); /* a way without cancellation */
    }
  }
  replay->came[replay->came_count++] = actor;
  return true;
}

static const char *answer_in_step(const replay *replay, const char *name) {
  int i;
  for (i = 0; i < replay->came_count; i++) {
    if (strcmp(replay->came[i]->name, name) == 0) {
      return replay->came[i]->answer;
    }
  }
  return NULL;
}

/* Whether everybody whom the outcome lists has come back with that answer. */
static bool all_returned(const replay *replay, const cJSON *outcome, bool *all) {
  const cJSON *one;
  *all = true;
  cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(outcome, "returned")) {
    fields back;
    const char *name, *is;
    const cJSON *answer;
    char expected[ANSWER_SIZE];
    TRY(fields_of(one, &back));
    TRY(take_text(&back, "actor", &name));
    TRY(take(&back, "answer", &answer));
    TRY(done(&back));
    TRY(answer_of(answer, expected));
    is = answer_in_step(replay, name);
    *all = *all && is != NULL && strcmp(is, expected) == 0;
  }
  return true;
}

/* Whether some outcome lists everybody who has come back so far. */
static bool allowed(const replay *replay, const cJSON *outcomes) {
  const cJSON *outcome, *one;
  cJSON_ArrayForEach(outcome, outcomes) {
    int listed = 0;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(outcome, "returned")) {
      const cJSON *name = cJSON_GetObjectItemCaseSensitive(one, "actor");
      const char *is = cJSON_IsString(name) ? answer_in_step(replay, name->valuestring) : NULL;
      char expected[ANSWER_SIZE];
      if (is != NULL &&
          answer_of(cJSON_GetObjectItemCaseSensitive(one, "answer"), expected) &&
          strcmp(is, expected) == 0) {
        listed += 1;
      }
    }
    if (listed == replay->came_count) {
      return true;
    }
  }
  return false;
}

/* Whether each gate has as many in line as the outcome says. */
static bool all_in_line(const replay *replay, const cJSON *outcome, bool *all) {
  const cJSON *states = cJSON_GetObjectItemCaseSensitive(outcome, "gates");
  int i;
  *all = true;
  for (i = 0; i < replay->gates.count; i++) {
    const named_gate *gate = &replay->gates.list[i];
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(states, gate->name);
    const cJSON *waiting = cJSON_GetObjectItemCaseSensitive(state, "waiting");
    uint64_t expected, is;
    if (!cJSON_IsString(waiting)) {
      return fail("the outcome does not say who waits at gate %s", gate->name);
    }
    TRY(number_of(waiting->valuestring, &expected));
    TRY(ok("gate_waiting", sluice_gate_waiting(gate->gate, &is)));
    *all = *all && expected == is;
  }
  return true;
}

static bool hangs(const replay *replay, const char *what, const cJSON *outcomes) {
  char came[512] = "";
  char *expected = cJSON_PrintUnformatted(outcomes);
  int i;
  for (i = 0; i < replay->came_count; i++) {
    const size_t used = strlen(came);
    snprintf(came + used, sizeof came - used, " %s=%.100s", replay->came[i]->name,
             replay->came[i]->answer);
  }
  fail("%s: came back:%s; expected one of %.2500s", what, came, expected);
  cJSON_free(expected);
  return false;
}

/* Waits for one of the outcomes. */
static bool await(replay *replay, const cJSON *outcomes, const cJSON **out) {
  const struct timespec end = deadline_after(WATCHDOG_MS), now = deadline_after(0);
  const cJSON *outcome;
  actor *back;
  bool all;
  for (*out = NULL; *out == NULL;) {
    cJSON_ArrayForEach(outcome, outcomes) {
      TRY(all_returned(replay, outcome, &all));
      if (all) {
        *out = outcome;
        break;
      }
    }
    if (!allowed(replay, outcomes)) {
      return hangs(replay, "returned", outcomes);
    }
    if (*out == NULL) {
      back = mailbox_take(&replay->mailbox, &end);
      if (back == NULL) {
        return hangs(replay, "hangs", outcomes);
      }
      TRY(note(replay, back));
    }
  }
  for (;;) {
    while ((back = mailbox_take(&replay->mailbox, &now)) != NULL) {
      TRY(note(replay, back));
    }
    TRY(all_in_line(replay, *out, &all));
    if (all) {
      return true;
    }
    if (replay->came_count >
            cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(*out, "returned")) ||
        millis_since(now) > WATCHDOG_MS) {
      return hangs(replay, "not in line", outcomes);
    }
    sched_yield();
  }
}

static bool compare_windows(const replay *replay, const cJSON *states) {
  fields all;
  int i;
  TRY(fields_of(states, &all));
  for (i = 0; i < replay->window_count; i++) {
    const cJSON *json;
    fields state;
    uint64_t remaining, pending, is_remaining, is_pending;
    const sluice_window *window = replay->windows[i].window;
    TRY(take_object(&all, replay->windows[i].name, &json));
    TRY(fields_of(json, &state));
    TRY(take_number(&state, "remaining", &remaining));
    TRY(take_number(&state, "pending", &pending));
    TRY(done(&state));
    TRY(ok("window_remaining", sluice_window_remaining(window, &is_remaining)));
    TRY(ok("window_pending", sluice_window_pending(window, &is_pending)));
    if (remaining != is_remaining || pending != is_pending) {
      return fail("window %s: remaining %" PRIu64 ", pending %" PRIu64, replay->windows[i].name,
                  is_remaining, is_pending);
    }
  }
  return done(&all);
}

static bool compare(replay *replay, const cJSON *json) {
  fields outcome;
  const cJSON *returned, *blocked, *one, *states;
  int i, out = 0;
  TRY(fields_of(json, &outcome));
  TRY(take_list(&outcome, "returned", &returned));
  TRY(take_list(&outcome, "blocked", &blocked));
  if (cJSON_GetArraySize(returned) != replay->came_count) {
    return hangs(replay, "somebody else came back", json);
  }
  for (i = 0; i < replay->actor_count; i++) {
    out += replay->actors[i].out ? 1 : 0;
  }
  cJSON_ArrayForEach(one, blocked) {
    const actor *actor = cJSON_IsString(one) ? find_actor(replay, one->valuestring) : NULL;
    if (actor == NULL || !actor->out) {
      return hangs(replay, "one who should be blocked came back", json);
    }
  }
  if (out != cJSON_GetArraySize(blocked)) {
    return hangs(replay, "others than expected are blocked", json);
  }
  TRY(take_object(&outcome, "gates", &states));
  TRY(gates_compare(&replay->gates, states));
  TRY(take_object(&outcome, "windows", &states));
  TRY(compare_windows(replay, states));
  return done(&outcome);
}

static bool replay_step(replay *replay, const cJSON *json) {
  fields step;
  const cJSON *ops, *op, *outcomes, *outcome;
  TRY(fields_of(json, &step));
  TRY(take_list(&step, "do", &ops));
  TRY(take_list(&step, "then", &outcomes));
  TRY(done(&step));
  replay->came_count = 0;
  cJSON_ArrayForEach(op, ops) {
    TRY(perform(replay, op));
  }
  TRY(await(replay, outcomes, &outcome));
  return compare(replay, outcome);
}

static bool open_all(replay *replay, const cJSON *script, const cJSON **steps) {
  fields head;
  const char *name;
  const cJSON *gates, *windows, *json;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_object(&head, "gates", &gates));
  TRY(gates_open(gates, &replay->gates));
  TRY(take_object(&head, "windows", &windows));
  cJSON_ArrayForEach(json, windows) {
    fields opened;
    uint64_t window, batch;
    bool has_batch;
    named_window *place = &replay->windows[replay->window_count];
    if (replay->window_count == MAX_NAMED) {
      return fail("more windows than this runner holds");
    }
    TRY(fields_of(json, &opened));
    TRY(take_number(&opened, "window", &window));
    TRY(take_optional_number(&opened, "batch", &has_batch, &batch));
    TRY(done(&opened));
    TRY(window_open(has_batch, window, batch, &place->window));
    place->name = json->string;
    replay->window_count += 1;
  }
  TRY(ok("router_new", sluice_router_new(&replay->router)));
  TRY(take_list(&head, "steps", steps));
  return done(&head);
}

/* True if an actor may have timed out before its step, so that what was seen shows nothing. */
static bool clock_interfered(const replay *replay) {
  int i;
  for (i = 0; i < replay->actor_count; i++) {
    const actor *actor = &replay->actors[i];
    if (actor_on_the_clock(actor) && millis_since(actor->began) >= actor->short_ms) {
      return true;
    }
  }
  return false;
}

static bool run(replay *replay, const cJSON *script) {
  const cJSON *steps, *step;
  unsigned number = 0;
  int i;
  TRY(open_all(replay, script, &steps));
  cJSON_ArrayForEach(step, steps) {
    if (!replay_step(replay, step)) {
      char why[sizeof failure];
      memcpy(why, failure, sizeof why);
      replay->is_void = replay->is_void || clock_interfered(replay);
      return fail("step %u: %.3800s", number, why);
    }
    number += 1;
  }
  for (i = 0; i < replay->actor_count; i++) {
    if (replay->actors[i].out) {
      return fail("%s never came back", replay->actors[i].name);
    }
  }
  return true;
}

static void close_all(replay *replay) {
  int i;
  for (i = 0; i < replay->gates.count; i++) {
    sluice_gate_close(replay->gates.list[i].gate, "the script is over", SLUICE_NUL, NULL);
  }
  for (i = 0; i < replay->actor_count; i++) {
    actor_join(&replay->actors[i]);
  }
  gates_release(&replay->gates);
  for (i = 0; i < replay->window_count; i++) {
    sluice_window_release(replay->windows[i].window);
  }
  sluice_router_release(replay->router);
  mailbox_destroy(&replay->mailbox);
}

bool replay_waiting(const cJSON *script, way way) {
  const struct timespec began = monotonic_now();
  int64_t short_ms = FIRST_SHORT_MS;
  for (;;) {
    replay replay;
    bool good;
    memset(&replay, 0, sizeof replay);
    replay.way = way;
    replay.short_ms = short_ms;
    mailbox_init(&replay.mailbox);
    good = run(&replay, script);
    close_all(&replay);
    if (good || !replay.is_void || millis_since(began) > WATCHDOG_MS) {
      return good;
    }
    short_ms *= 2;
  }
}
