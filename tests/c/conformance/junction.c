#include "junction.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probes.h"
#include "stages.h"

typedef struct junction {
  probes probes;
  const char *kind;                          /* the name of its own counters, too */
  int inputs[MAX_LINES], outputs[MAX_LINES]; /* stages of each line */
} junction;

static bool is_pairing(const char *kind) {
  return strcmp(kind, "zip") == 0 || strcmp(kind, "combine") == 0;
}

static void name_of(const char *side, int line, int place, char out[MAX_NAME]) {
  snprintf(out, MAX_NAME, "%s %d %d", side, line, place);
}

/* One stage under its name. */
static bool named_stage(const cJSON *told, const char *side, int line, int place, bool *grouped,
                        sluice_flow **out) {
  sluice_status status;
  char name[MAX_NAME];
  name_of(side, line, place, name);
  return stage_of(told, name, out, &status, grouped) && ok("stage", status);
}

/* A publisher and the line behind it. */
static bool source_of(const cJSON *told, int line, int *stages, sluice_source **out) {
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
    TRY(named_stage(one, "in", line, (*stages)++, &grouped, &flow));
    status = sluice_source_via(source, flow, out);
    sluice_flow_release(flow);
    TRY(ok("source_via", status));
    sluice_source_release(source);
  }
  return true;
}

/* A line and the subscriber behind it. */
static bool sink_of(const cJSON *told, int line, int *stages, bool *grouped, sluice_sink **out) {
  sluice_sink *sink = NULL;
  int place;
  sluice_status status = sluice_sink_probe(&sink);
  status = status == SLUICE_OK ? sluice_sink_named(sink, "subscriber", SLUICE_NUL, out) : status;
  sluice_sink_release(sink);
  TRY(ok("sink_probe", status));
  *stages = cJSON_GetArraySize(told);
  for (place = *stages - 1; place >= 0; place--) {
    sluice_flow *flow = NULL;
    sink = *out;
    TRY(named_stage(cJSON_GetArrayItem(told, place), "out", line, place, grouped, &flow));
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

static bool graph_of(const junction *junction, sluice_source *const *sources, sluice_sink *const *sinks,
                     sluice_graph **out) {
  const sluice_source *const *from = (const sluice_source *const *)sources;
  const sluice_sink *const *to = (const sluice_sink *const *)sinks;
  const size_t n = (size_t)junction->probes.publishers;
  const char *kind = junction->kind;
  sluice_source *joined = NULL;
  sluice_sink *forked = NULL;
  sluice_status status;
  if (is_fork(kind)) {
    status = fork_of(kind, to, junction->probes.subscribers, &forked);
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

/* Builds the lines and the junction of a script, and runs them. */
static bool build(junction *junction, const cJSON *inputs, const cJSON *outputs, uint64_t seed) {
  probes *probes = &junction->probes;
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
    i = probes->publishers++;
    good = good && source_of(told, i, &junction->inputs[i], &sources[i]);
  }
  cJSON_ArrayForEach(told, outputs) {
    bool *grouped = &probes->below[i = probes->subscribers++].grouped;
    *grouped = is_pairing(junction->kind);
    good = good && sink_of(told, i, &junction->outputs[i], grouped, &sinks[i]);
  }
  good = good && graph_of(junction, sources, sinks, &graph) &&
         probes_run(probes, graph, "junction", seed, NULL);
  sluice_graph_release(graph);
  for (i = 0; i < MAX_LINES; i++) {
    sluice_source_release(sources[i]);
    sluice_sink_release(sinks[i]);
  }
  return good;
}

static bool play(void *of, const char *op, fields *step, cJSON **answer) {
  junction *junction = of;
  uint64_t who = 0;
  TRY(known_op(op));
  TRY(strcmp(op, "start") == 0 || take_number(step, "who", &who));
  return probes_play(&junction->probes, op, who, step, answer);
}

static void add_lines(const sluice_stages *stages, const char *side, const int *places, int count,
                      cJSON *lines) {
  int line, place;
  for (line = 0; line < count; line++) {
    cJSON *list = cJSON_CreateArray();
    for (place = 0; place < places[line]; place++) {
      char name[MAX_NAME];
      name_of(side, line, place, name);
      add_stage(stages, name, list);
    }
    cJSON_AddItemToArray(lines, list);
  }
}

static bool state_of(void *of, cJSON *state) {
  junction *junction = of;
  probes *probes = &junction->probes;
  const char *kind = strcmp(junction->kind, "combine") == 0 ? "zip" : junction->kind;
  sluice_stages *stages = NULL;
  TRY(add_publishers(probes, cJSON_AddArrayToObject(state, "publishers")));
  TRY(ok("stages", sluice_scope_stages(probes->scope, &stages)));
  add_lines(stages, "in", junction->inputs, probes->publishers,
            cJSON_AddArrayToObject(state, "inputs"));
  add_stages(stages, kind, cJSON_AddArrayToObject(state, "junction"));
  add_lines(stages, "out", junction->outputs, probes->subscribers,
            cJSON_AddArrayToObject(state, "outputs"));
  sluice_stages_release(stages);
  add_subscribers(probes, cJSON_AddArrayToObject(state, "subscribers"));
  return true;
}

static bool run(junction *junction, const cJSON *script, uint64_t seed) {
  const player player = {junction, play, state_of};
  fields head;
  const char *name;
  const cJSON *inputs, *outputs, *steps;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_text(&head, "junction", &junction->kind));
  TRY(take_list(&head, "inputs", &inputs));
  TRY(take_list(&head, "outputs", &outputs));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  TRY(build(junction, inputs, outputs, seed));
  return replay_steps(&player, steps);
}

static bool replay(const cJSON *script, uint64_t seed) {
  junction junction;
  memset(&junction, 0, sizeof junction);
  return probes_release(&junction.probes, run(&junction, script, seed));
}

bool replay_junction(const cJSON *script) { return replay_orders(script, replay); }

/* A script of two publishers and one step, with what is said of it. */
static bool refused(const char *kind, const char *op, const char *owed, const char *said) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"name\": \"broken\", \"junction\": \"%s\", \"inputs\": [[], []], \"outputs\": [[]], "
           "\"steps\": [{\"op\": \"%s\", \"answer\": null, \"state\": {"
           "\"publishers\": [{\"demand\": \"0\", \"ended\": null}, {\"demand\": \"0\", \"ended\": null}], "
           "\"inputs\": [[], []], \"junction\": [{\"owed\": \"%s\", \"asked\": \"0\", \"held\": \"0\"}, "
           "{\"owed\": \"0\", \"asked\": \"0\", \"held\": \"0\"}], \"outputs\": [[]], "
           "\"subscribers\": [{\"delivered\": [], \"terminal\": null}]}}]}",
           kind, op, owed);
  return is_refused(text, replay_junction, said);
}

bool broken_junctions_are_refused(void) {
  return refused("merge", "start", "0", "") && refused("zip", "start", "0", "") &&
         refused("concat", "start", "1", "step 0: start: state: expected") &&
         refused("merge", "vanish", "0", "unknown op \"vanish\"") &&
         refused("merge", "cancel", "0", "who") &&
         refused("knot", "start", "0", "unknown junction \"knot\"");
}
