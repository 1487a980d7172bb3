#include "junction.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline.h"
#include "shown.h"
#include "stages.h"

enum { MAX_LINES = 8, MAX_NAME = 24 };

/* A publisher, and what the script has done with it. */
typedef struct upper {
  sluice_manual *probe;
  uint64_t next;
  const char *ended; /* NULL while it has not */
  int stages;        /* of the line behind it */
} upper;

/* A subscriber, and what it received in this step. */
typedef struct lower {
  sluice_subscriber *probe;
  cJSON *delivered;
  const char *terminal;
  int stages;   /* of the line in front of it */
  bool grouped; /* groups are delivered */
} lower;

typedef struct player {
  sluice_scope *scope;
  const char *kind; /* the junction, and the name of its own counters */
  upper above[MAX_LINES];
  lower below[MAX_LINES];
  int publishers, subscribers;
} player;

static bool is_pairing(const char *kind) {
  return strcmp(kind, "zip") == 0 || strcmp(kind, "combine") == 0;
}

static void name_of(const char *side, int line, int place, char out[MAX_NAME]) {
  snprintf(out, MAX_NAME, "%s %d %d", side, line, place);
}

/* One stage under its name. */
static bool named_stage(const cJSON *told, const char *side, int line, int place, bool *grouped,
                        sluice_flow **out) {
  sluice_flow *flow = NULL;
  sluice_status status;
  char name[MAX_NAME];
  TRY(stage_of(told, &flow, &status, grouped));
  TRY(ok("stage", status));
  name_of(side, line, place, name);
  status = sluice_flow_named(flow, name, SLUICE_NUL, out);
  sluice_flow_release(flow);
  return ok("flow_named", status);
}

/* A publisher and the line behind it. */
static bool source_of(const cJSON *told, int line, upper *upper, sluice_source **out) {
  sluice_source *source = NULL;
  const cJSON *one;
  bool grouped = false;
  sluice_status status = sluice_source_probe(&source);
  status = status == SLUICE_OK ? sluice_source_named(source, "publisher", SLUICE_NUL, out) : status;
  sluice_source_release(source);
  TRY(ok("source_probe", status));
  cJSON_ArrayForEach(one, told) {
    sluice_flow *flow = NULL;
    source = *out;
    TRY(named_stage(one, "in", line, upper->stages, &grouped, &flow));
    status = sluice_source_via(source, flow, out);
    sluice_flow_release(flow);
    TRY(ok("source_via", status));
    sluice_source_release(source);
    upper->stages += 1;
  }
  return true;
}

/* A line and the subscriber behind it. */
static bool sink_of(const cJSON *told, int line, lower *lower, sluice_sink **out) {
  sluice_sink *sink = NULL;
  int place;
  sluice_status status = sluice_sink_probe(&sink);
  status = status == SLUICE_OK ? sluice_sink_named(sink, "subscriber", SLUICE_NUL, out) : status;
  sluice_sink_release(sink);
  TRY(ok("sink_probe", status));
  lower->stages = cJSON_GetArraySize(told);
  for (place = lower->stages - 1; place >= 0; place--) {
    sluice_flow *flow = NULL;
    sink = *out;
    TRY(named_stage(cJSON_GetArrayItem(told, place), "out", line, place, &lower->grouped, &flow));
    status = sluice_flow_to(flow, sink, out);
    sluice_flow_release(flow);
    TRY(ok("flow_to", status));
    sluice_sink_release(sink);
  }
  return true;
}

static int32_t modulo(void *ctx, void *value, size_t *out, sluice_error **err) {
  (void)err;
  *out = (size_t)((uintptr_t)value % *(const size_t *)ctx);
  return SLUICE_OK;
}

static sluice_status fork_of(const char *kind, const sluice_sink *const *sinks, int count,
                             sluice_sink **out) {
  const size_t n = (size_t)count;
  if (strcmp(kind, "broadcast") == 0) {
    return sluice_sink_broadcast(sinks, n, NULL, false, out, NULL);
  }
  if (strcmp(kind, "balance") == 0) {
    return sluice_sink_balance(sinks, n, NULL, false, out, NULL);
  }
  {
    sluice_chooser chooser = {NULL, modulo, free};
    size_t *branches = malloc(sizeof *branches);
    *branches = n;
    chooser.ctx = branches;
    return sluice_sink_partition(sinks, n, NULL, false, &chooser, out, NULL);
  }
}

static bool is_fork(const char *kind) {
  return strcmp(kind, "broadcast") == 0 || strcmp(kind, "balance") == 0 ||
         strcmp(kind, "partition") == 0;
}

static bool graph_of(const player *player, sluice_source *const *sources, sluice_sink *const *sinks,
                     sluice_graph **out) {
  const sluice_source *const *from = (const sluice_source *const *)sources;
  const sluice_sink *const *to = (const sluice_sink *const *)sinks;
  const size_t n = (size_t)player->publishers;
  const char *kind = player->kind;
  sluice_source *joined = NULL;
  sluice_sink *forked = NULL;
  sluice_status status;
  if (is_fork(kind)) {
    status = fork_of(kind, to, player->subscribers, &forked);
    status = status == SLUICE_OK ? sluice_source_to(sources[0], forked, out) : status;
    sluice_sink_release(forked);
    return ok("fork", status);
  }
  if (is_pairing(kind)) {
    status = sluice_source_zip(from, n, &joined);
  } else if (strcmp(kind, "merge") == 0) {
    status = sluice_source_merge(from, n, &joined);
  } else if (strcmp(kind, "merge_prefer") == 0) {
    status = sluice_source_merge_prefer(from, n, &joined);
  } else if (strcmp(kind, "concat") == 0) {
    status = sluice_source_concat(from, n, &joined);
  } else {
    return fail("unknown junction \"%s\"", kind);
  }
  status = status == SLUICE_OK ? sluice_source_to(joined, sinks[0], out) : status;
  sluice_source_release(joined);
  return ok("join", status);
}

static bool connect(player *player, const sluice_graph *graph, uint64_t seed) {
  sluice_run *run = NULL;
  int i;
  sluice_status status = sluice_scope_new_stepped("junction", SLUICE_NUL, seed, &player->scope);
  status = status == SLUICE_OK ? sluice_graph_run(graph, player->scope, &run, NULL) : status;
  for (i = 0; i < player->publishers && status == SLUICE_OK; i++) {
    status = sluice_run_manual(run, &player->above[i].probe);
    player->above[i].next = (uint64_t)i * 1000;
  }
  for (i = 0; i < player->subscribers && status == SLUICE_OK; i++) {
    status = sluice_run_subscriber(run, &player->below[i].probe);
  }
  sluice_run_release(run);
  return ok("the run", status);
}

/* Builds the lines and the junction of a script, and runs them. */
static bool build(player *player, const cJSON *inputs, const cJSON *outputs, uint64_t seed) {
  sluice_source *sources[MAX_LINES] = {NULL};
  sluice_sink *sinks[MAX_LINES] = {NULL};
  sluice_graph *graph = NULL;
  const cJSON *told;
  bool good = true;
  int i;
  if (cJSON_GetArraySize(inputs) > MAX_LINES || cJSON_GetArraySize(outputs) > MAX_LINES ||
      cJSON_GetArraySize(inputs) == 0 || cJSON_GetArraySize(outputs) == 0) {
    return fail("more lines than this runner takes, or none");
  }
  cJSON_ArrayForEach(told, inputs) {
    i = player->publishers++;
    good = good && source_of(told, i, &player->above[i], &sources[i]);
  }
  cJSON_ArrayForEach(told, outputs) {
    i = player->subscribers++;
    player->below[i].grouped = is_pairing(player->kind);
    player->below[i].delivered = cJSON_CreateArray();
    good = good && sink_of(told, i, &player->below[i], &sinks[i]);
  }
  good = good && graph_of(player, sources, sinks, &graph) && connect(player, graph, seed);
  sluice_graph_release(graph);
  for (i = 0; i < MAX_LINES; i++) {
    sluice_source_release(sources[i]);
    sluice_sink_release(sinks[i]);
  }
  return good;
}

/* Takes what a subscriber was given. */
static bool take_signals(lower *lower, bool *more) {
  sluice_signal signal = SLUICE_SIGNAL_NEXT;
  sluice_elements *element = NULL;
  sluice_error *err = NULL;
  sluice_status status;
  while ((status = sluice_subscriber_signal(lower->probe, 0, &signal, &element, &err)) ==
         SLUICE_OK) {
    *more = true;
    if (signal == SLUICE_SIGNAL_NEXT) {
      void *value = NULL;
      TRY(ok("elements_value", sluice_elements_value(element, 0, &value)));
      cJSON_AddItemToArray(lower->delivered, element_json(value, lower->grouped));
      sluice_elements_release(element);
      element = NULL;
    } else {
      lower->terminal = signal == SLUICE_SIGNAL_COMPLETE ? "completed" : "failed";
      sluice_error_release(err);
      err = NULL;
    }
  }
  return status == SLUICE_TIMED_OUT || ok("signal", status);
}

/* Runs everything until it is quiet, taking what comes. */
static bool settle(player *player) {
  bool more = true;
  int i;
  while (more) {
    more = false;
    TRY(ok("settle", sluice_scope_settle(player->scope, NULL)));
    for (i = 0; i < player->subscribers; i++) {
      TRY(take_signals(&player->below[i], &more));
    }
  }
  for (i = 0; i < player->publishers; i++) {
    bool over = false;
    TRY(ok("is_over", sluice_manual_is_over(player->above[i].probe, &over)));
    if (over && player->above[i].ended == NULL) {
      player->above[i].ended = "cancelled";
    }
  }
  return true;
}

static bool send(player *player, upper *upper, uint64_t most, cJSON *answer) {
  const char *refused = NULL;
  uint64_t sent = 0;
  while (sent < most && refused == NULL) {
    const sluice_element element = element_of(upper->next);
    sluice_offer offer = SLUICE_OFFER_ENQUEUED;
    const sluice_status status = sluice_manual_offer(upper->probe, &element, 0, &offer, NULL);
    if (status == SLUICE_TIMED_OUT) {
      element.release(element.value);
      refused = "no_demand";
    } else if (status != SLUICE_OK) {
      return ok("offer", status);
    } else if (offer != SLUICE_OFFER_ENQUEUED) {
      refused = "closed";
    } else {
      sent += 1;
      upper->next += 1;
      TRY(settle(player));
    }
  }
  add_number(answer, "sent", sent);
  add_text(answer, "refused", refused);
  return true;
}

static cJSON *finish(upper *upper, bool first, const char *how) {
  if (first && upper->ended == NULL) {
    upper->ended = how;
  }
  return cJSON_CreateString(first ? "yes" : "no");
}

/* What is done to a publisher. */
static bool play_above(player *player, upper *upper, const char *op, fields *step, cJSON **answer) {
  bool first = false;
  if (strcmp(op, "next") == 0) {
    uint64_t most = 0;
    TRY(take_number(step, "k", &most));
    *answer = cJSON_CreateObject();
    TRY(send(player, upper, most, *answer));
  } else if (strcmp(op, "complete") == 0) {
    TRY(ok(op, sluice_manual_complete(upper->probe, &first)));
    *answer = finish(upper, first, "completed");
  } else {
    sluice_error *error = NULL;
    sluice_status status = sluice_error_new(SLUICE_IO, NULL, 0, SLUICE_CLASS_DEFAULT,
                                            "the script says so", SLUICE_NUL, &error);
    status = status == SLUICE_OK ? sluice_manual_fail(upper->probe, error, &first) : status;
    sluice_error_release(error);
    TRY(ok(op, status));
    *answer = finish(upper, first, "failed");
  }
  return true;
}

/* Plays one step; the answer is the caller's. */
static bool play(player *player, const char *op, fields *step, cJSON **answer) {
  const bool above =
      strcmp(op, "next") == 0 || strcmp(op, "complete") == 0 || strcmp(op, "fail") == 0;
  const bool below = strcmp(op, "request") == 0 || strcmp(op, "cancel") == 0;
  uint64_t who = 0, n = 0;
  *answer = NULL;
  if (!above && !below && strcmp(op, "start") != 0) {
    return fail("unknown op \"%s\"", op);
  }
  if (above || below) {
    const int count = above ? player->publishers : player->subscribers;
    TRY(take_number(step, "who", &who));
    if (who >= (uint64_t)count) {
      return fail("there is no number %" PRIu64 " of %d", who, count);
    }
  }
  if (above) {
    TRY(play_above(player, &player->above[who], op, step, answer));
  } else if (strcmp(op, "request") == 0) {
    sluice_status status;
    TRY(take_number(step, "n", &n));
    status = sluice_subscriber_request(player->below[who].probe, n);
    TRY(status == SLUICE_CLOSED || ok(op, status));
  } else if (below) {
    TRY(ok(op, sluice_subscriber_cancel(player->below[who].probe)));
  }
  if (*answer == NULL) {
    *answer = cJSON_CreateNull();
  }
  return settle(player);
}

/* The counters of what bears this name; all 0 of a stage that is gone. */
static void add_named(const sluice_stages *stages, const char *name, bool all, cJSON *list) {
  size_t count = 0, at;
  bool there = false;
  sluice_stages_count(stages, &count);
  for (at = 0; at < count && (all || !there); at++) {
    sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
    if (sluice_stages_info(stages, at, &info) == SLUICE_OK && strcmp(info.name, name) == 0) {
      add_counters(list, info.downstream, info.upstream, info.held);
      there = true;
    }
  }
  if (!all && !there) {
    add_counters(list, 0, 0, 0);
  }
}

static void add_line(const sluice_stages *stages, const char *side, int line, int places,
                     cJSON *lines) {
  cJSON *list = cJSON_CreateArray();
  int place;
  for (place = 0; place < places; place++) {
    char name[MAX_NAME];
    name_of(side, line, place, name);
    add_named(stages, name, false, list);
  }
  cJSON_AddItemToArray(lines, list);
}

static bool state_of(player *player, cJSON *state) {
  cJSON *list = cJSON_AddArrayToObject(state, "publishers");
  sluice_stages *stages = NULL;
  int i;
  for (i = 0; i < player->publishers; i++) {
    const upper *upper = &player->above[i];
    cJSON *one = cJSON_CreateObject();
    uint64_t demand = 0;
    if (upper->ended == NULL) {
      TRY(ok("demand", sluice_manual_demand(upper->probe, &demand)));
    }
    add_number(one, "demand", demand);
    add_text(one, "ended", upper->ended);
    cJSON_AddItemToArray(list, one);
  }
  TRY(ok("stages", sluice_scope_stages(player->scope, &stages)));
  list = cJSON_AddArrayToObject(state, "inputs");
  for (i = 0; i < player->publishers; i++) {
    add_line(stages, "in", i, player->above[i].stages, list);
  }
  add_named(stages, strcmp(player->kind, "combine") == 0 ? "zip" : player->kind, true,
            cJSON_AddArrayToObject(state, "junction"));
  list = cJSON_AddArrayToObject(state, "outputs");
  for (i = 0; i < player->subscribers; i++) {
    add_line(stages, "out", i, player->below[i].stages, list);
  }
  sluice_stages_release(stages);
  list = cJSON_AddArrayToObject(state, "subscribers");
  for (i = 0; i < player->subscribers; i++) {
    lower *lower = &player->below[i];
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToObject(one, "delivered", lower->delivered);
    add_text(one, "terminal", lower->terminal);
    lower->delivered = cJSON_CreateArray();
    lower->terminal = NULL;
    cJSON_AddItemToArray(list, one);
  }
  return true;
}

static bool perform(player *player, const cJSON *json) {
  fields step;
  const char *op;
  const cJSON *expected;
  cJSON *is = NULL;
  TRY(fields_of(json, &step));
  TRY(take_text(&step, "op", &op));
  if (!play(player, op, &step, &is) || !take(&step, "answer", &expected)) {
    cJSON_Delete(is);
    return false;
  }
  TRY(same_json("answer", expected, is));
  TRY(take_object(&step, "state", &expected));
  is = cJSON_CreateObject();
  if (!state_of(player, is)) {
    cJSON_Delete(is);
    return false;
  }
  TRY(same_json("state", expected, is));
  return done(&step);
}

static bool run(player *player, const cJSON *script, uint64_t seed) {
  fields head;
  const char *name;
  const cJSON *inputs, *outputs, *steps, *step;
  int number = 0;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_text(&head, "junction", &player->kind));
  TRY(take_list(&head, "inputs", &inputs));
  TRY(take_list(&head, "outputs", &outputs));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  TRY(build(player, inputs, outputs, seed));
  cJSON_ArrayForEach(step, steps) {
    if (!perform(player, step)) {
      char why[sizeof failure];
      memcpy(why, failure, sizeof why);
      return fail("step %d: %s: %.3800s", number,
                  cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(step, "op")), why);
    }
    number += 1;
  }
  return true;
}

static bool replay_once(const cJSON *script, uint64_t seed) {
  player player;
  bool good;
  int i;
  memset(&player, 0, sizeof player);
  good = run(&player, script, seed);
  for (i = 0; i < MAX_LINES; i++) {
    sluice_manual_release(player.above[i].probe);
    sluice_subscriber_release(player.below[i].probe);
    cJSON_Delete(player.below[i].delivered);
  }
  sluice_scope_release(player.scope);
  if (good && elements_alive() != 0) {
    return fail("%ld elements were not released, or more than once", elements_alive());
  }
  return good;
}

bool replay_junction(const cJSON *script) {
  uint64_t seed;
  for (seed = 0; seed < ORDERS; seed++) {
    if (!replay_once(script, seed)) {
      char why[sizeof failure];
      memcpy(why, failure, sizeof why);
      return fail("seed %" PRIu64 ": %.3900s", seed, why);
    }
  }
  return true;
}

/* A script of two publishers and one step, with what is said of it. */
static bool is_refused(const char *kind, const char *op, const char *owed, const char *said) {
  char text[1024];
  cJSON *script;
  bool good;
  snprintf(text, sizeof text,
           "{\"name\": \"broken\", \"junction\": \"%s\", \"inputs\": [[], []], \"outputs\": [[]], "
           "\"steps\": [{\"op\": \"%s\", \"answer\": null, \"state\": {"
           "\"publishers\": [{\"demand\": \"0\", \"ended\": null}, {\"demand\": \"0\", \"ended\": null}], "
           "\"inputs\": [[], []], \"junction\": [{\"owed\": \"%s\", \"asked\": \"0\", \"held\": \"0\"}, "
           "{\"owed\": \"0\", \"asked\": \"0\", \"held\": \"0\"}], \"outputs\": [[]], "
           "\"subscribers\": [{\"delivered\": [], \"terminal\": null}]}}]}",
           kind, op, owed);
  script = cJSON_Parse(text);
  failure[0] = '\0';
  good = replay_junction(script) ? *said == '\0' : *said != '\0' && strstr(failure, said) != NULL;
  cJSON_Delete(script);
  if (!good) {
    fprintf(stderr, "a broken junction: \"%s\" is not said in: %s\n", said, failure);
  }
  return good;
}

bool broken_junctions_are_refused(void) {
  return is_refused("merge", "start", "0", "") && is_refused("zip", "start", "0", "") &&
         is_refused("concat", "start", "1", "step 0: start: state: expected") &&
         is_refused("merge", "vanish", "0", "unknown op \"vanish\"") &&
         is_refused("merge", "cancel", "0", "who") &&
         is_refused("knot", "start", "0", "unknown junction \"knot\"");
}
