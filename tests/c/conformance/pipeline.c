#include "pipeline.h"

#include <stdio.h>
#include <string.h>

#include "probes.h"
#include "stages.h"

typedef struct pipeline {
  probes probes;
  int stages;
} pipeline;

static void name_of(int place, char out[MAX_NAME]) { snprintf(out, MAX_NAME, "it %d", place); }

/* The line of a script behind `*source`, which is released; `refused` if a stage of it cannot be built. */
static bool add_line(pipeline *line, const cJSON *told, sluice_source **source, bool *refused) {
  const cJSON *one;
  *refused = false;
  cJSON_ArrayForEach(one, told) {
    sluice_source *before = *source;
    sluice_flow *flow = NULL;
    char name[MAX_NAME];
    sluice_status status;
    name_of(line->stages++, name);
    TRY(stage_of(one, name, &flow, &status, &line->probes.below[0].grouped));
    if (status != SLUICE_OK) {
      *refused = true;
      return status == SLUICE_INVALID_ARGUMENT || ok("stage", status);
    }
    status = sluice_source_via(before, flow, source);
    sluice_flow_release(flow);
    TRY(ok("source_via", status));
    sluice_source_release(before);
  }
  return true;
}

/* Builds the line of a script, and runs it. */
static bool build(pipeline *line, const cJSON *told, uint64_t seed, bool *refused) {
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  sluice_graph *graph = NULL;
  bool good = ok("source_probe", sluice_source_probe(&source)) &&
              add_line(line, told, &source, refused);
  if (good && !*refused) {
    line->probes.publishers = line->probes.subscribers = 1;
    good = ok("sink_probe", sluice_sink_probe(&sink)) &&
           ok("source_to", sluice_source_to(source, sink, &graph)) &&
           probes_run(&line->probes, graph, "pipeline", seed, NULL);
  }
  sluice_graph_release(graph);
  sluice_sink_release(sink);
  sluice_source_release(source);
  return good;
}

static bool play(void *of, const char *op, fields *step, cJSON **answer) {
  pipeline *line = of;
  return probes_play(&line->probes, op, 0, step, answer);
}

static bool state_of(void *of, cJSON *state) {
  pipeline *line = of;
  sluice_stages *stages = NULL;
  cJSON *list;
  int place;
  TRY(add_publisher(&line->probes.above[0], state));
  add_subscriber(&line->probes.below[0], state);
  TRY(ok("stages", sluice_scope_stages(line->probes.scope, &stages)));
  list = cJSON_AddArrayToObject(state, "stages");
  for (place = 0; place < line->stages; place++) {
    char name[MAX_NAME];
    name_of(place, name);
    add_stage(stages, name, list);
  }
  sluice_stages_release(stages);
  return true;
}

static bool run(pipeline *line, const cJSON *script, uint64_t seed) {
  const player player = {line, play, state_of};
  fields head;
  const char *name;
  const cJSON *told, *steps;
  bool refused = false;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_list(&head, "stages", &told));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  TRY(build(line, told, seed, &refused));
  if (refused) {
    return cJSON_GetArraySize(steps) == 0 || fail("steps of what cannot be built");
  }
  if (cJSON_GetArraySize(steps) == 0) {
    return fail("expected to be refused, came a line");
  }
  return replay_steps(&player, steps);
}

static bool replay(const cJSON *script, uint64_t seed) {
  pipeline line;
  memset(&line, 0, sizeof line);
  return probes_release(&line.probes, run(&line, script, seed));
}

bool replay_pipeline(const cJSON *script) { return replay_orders(script, replay); }

/* A script of one stage and one step, with what is said of it. */
static bool refused(const char *stage, const char *op, const char *demand, const char *said) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"name\": \"broken\", \"stages\": [%s], \"steps\": [{\"op\": \"%s\", \"answer\": null, "
           "\"state\": {\"demand\": \"%s\", \"ended\": null, \"delivered\": [], \"terminal\": null, "
           "\"stages\": [{\"owed\": \"0\", \"asked\": \"0\", \"held\": \"0\"}]}}]}",
           stage, op, demand);
  return is_refused(text, replay_pipeline, said);
}

bool broken_pipelines_are_refused(void) {
  static const char take[] = "{\"stage\": \"take\", \"n\": \"2\"}";
  return refused(take, "start", "0", "") &&
         refused(take, "start", "1", "step 0: start: state: expected") &&
         refused(take, "vanish", "0", "unknown op \"vanish\"") &&
         refused("{\"stage\": \"page\", \"size\": \"0\", \"mark\": \"1\"}", "start", "0",
                 "steps of what cannot be built") &&
         refused("{\"stage\": \"sort\"}", "start", "0", "unknown stage \"sort\"") &&
         refused("{\"stage\": \"take\", \"n\": \"2\", \"colour\": \"red\"}", "start", "0", "colour");
}
