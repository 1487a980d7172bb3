#include "hub.h"

#include <stdio.h>
#include <string.h>

#include "probes.h"
#include "shown.h"

/* The name of the hub's own counters; a subscriber's is its number. */
static const char HUB[] = "hub";

typedef struct sharing {
  probes probes;
  sluice_hub *hub;
} sharing;

static bool policy_of(fields *step, int32_t *policy, uint64_t *patience) {
  static const struct {
    const char *name;
    int32_t policy;
  } known[] = {
      {"wait", SLUICE_HUB_POLICY_WAIT},           {"drop_head", SLUICE_HUB_POLICY_DROP_HEAD},
      {"drop_tail", SLUICE_HUB_POLICY_DROP_TAIL}, {"drop_new", SLUICE_HUB_POLICY_DROP_NEW},
      {"drop_buffer", SLUICE_HUB_POLICY_DROP_BUFFER},
      {"disconnect", SLUICE_HUB_POLICY_DISCONNECT},
  };
  const char *name;
  bool limited;
  size_t i;
  TRY(take_text(step, "policy", &name));
  TRY(take_optional_number(step, "patience", &limited, patience));
  for (i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strcmp(known[i].name, name) == 0 &&
        (!limited || known[i].policy == SLUICE_HUB_POLICY_WAIT)) {
      *policy = known[i].policy;
      *patience = limited ? *patience : UINT64_MAX;
      return true;
    }
  }
  return fail("unknown policy \"%s\", with a limit or without", name);
}

static bool subscribe(sharing *sharing, fields *step) {
  sluice_source *plain = NULL, *source = NULL;
  uint64_t patience = 0, capacity;
  int32_t policy = SLUICE_HUB_POLICY_WAIT;
  char name[MAX_NAME];
  sluice_status status;
  bool good;
  TRY(policy_of(step, &policy, &patience));
  TRY(take_number(step, "capacity", &capacity));
  status = sluice_hub_subscribe(sharing->hub, policy, patience, capacity, &plain, NULL);
  snprintf(name, sizeof name, "%d", sharing->probes.subscribers);
  status = status == SLUICE_OK ? sluice_source_named(plain, name, SLUICE_NUL, &source) : status;
  good = ok("hub_subscribe", status) && probes_add(&sharing->probes, source);
  sluice_source_release(source);
  sluice_source_release(plain);
  return good;
}

static bool play(void *of, const char *op, fields *step, cJSON **answer) {
  sharing *sharing = of;
  uint64_t who = 0, micros;
  if (strcmp(op, "subscribe") == 0) {
    TRY(subscribe(sharing, step));
  } else if (strcmp(op, "advance") == 0) {
    TRY(take_number(step, "micros", &micros));
    TRY(ok("scope_advance", sluice_scope_advance(sharing->probes.scope, micros)));
  } else {
    if (strcmp(op, "request") == 0 || strcmp(op, "cancel") == 0) {
      TRY(take_number(step, "who", &who));
    }
    return probes_play(&sharing->probes, op, who, step, answer);
  }
  *answer = cJSON_CreateNull();
  return probes_settle(&sharing->probes);
}

/* What the hub holds and has not shared; 0 once it is gone. */
static bool add_queued(const sluice_scope *scope, cJSON *state) {
  sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
  sluice_stages *stages = NULL;
  size_t at = 0;
  TRY(ok("stages", sluice_scope_stages(scope, &stages)));
  add_number(state, "queued", next_stage(stages, HUB, &at, &info) ? info.held : 0);
  sluice_stages_release(stages);
  return true;
}

static bool add_listeners(const sluice_hub *hub, cJSON *list) {
  sluice_listeners *listeners = NULL;
  size_t count = 0, at;
  sluice_status status = sluice_hub_listeners(hub, &listeners);
  status = status == SLUICE_OK ? sluice_listeners_count(listeners, &count) : status;
  for (at = 0; at < count && status == SLUICE_OK; at++) {
    sluice_listener_info info = SLUICE_LISTENER_INFO_INIT;
    status = sluice_listeners_info(listeners, at, &info);
    if (status == SLUICE_OK) {
      cJSON *one = cJSON_CreateObject();
      add_text(one, "name", info.name);
      add_number(one, "demand", info.demand);
      add_number(one, "held", info.held);
      add_number(one, "lost", info.lost);
      cJSON_AddItemToArray(list, one);
    }
  }
  sluice_listeners_release(listeners);
  return ok("hub_listeners", status);
}

static bool state_of(void *of, cJSON *state) {
  sharing *sharing = of;
  probes *probes = &sharing->probes;
  bool over = false;
  TRY(add_publisher(&probes->above[0], cJSON_AddObjectToObject(state, "publisher")));
  TRY(add_queued(probes->scope, state));
  TRY(ok("hub_is_over", sluice_hub_is_over(sharing->hub, &over)));
  add_text(state, "over", over ? "yes" : "no");
  TRY(add_listeners(sharing->hub, cJSON_AddArrayToObject(state, "listeners")));
  add_subscribers(probes, cJSON_AddArrayToObject(state, "subscribers"));
  return true;
}

/* Builds the hub of a script, and runs it; `refused` if it cannot be built. */
static bool build(sharing *sharing, uint64_t capacity, uint64_t again, uint64_t seed, bool *refused) {
  sluice_source *source = NULL;
  sluice_sink *plain = NULL, *sink = NULL;
  sluice_graph *graph = NULL;
  sluice_run *run = NULL;
  sluice_status status = sluice_sink_broadcast_hub(capacity, again, &plain, NULL);
  bool good;
  *refused = status == SLUICE_INVALID_ARGUMENT;
  if (*refused) {
    return true;
  }
  status = status == SLUICE_OK ? sluice_sink_named(plain, HUB, SLUICE_NUL, &sink) : status;
  status = status == SLUICE_OK ? sluice_source_probe(&source) : status;
  status = status == SLUICE_OK ? sluice_source_to(source, sink, &graph) : status;
  sharing->probes.publishers = 1;
  good = ok("the hub", status) && probes_run(&sharing->probes, graph, "hub", seed, &run) &&
         ok("run_hub", sluice_run_hub(run, &sharing->hub));
  sluice_run_release(run);
  sluice_graph_release(graph);
  sluice_source_release(source);
  sluice_sink_release(sink);
  sluice_sink_release(plain);
  return good;
}

static bool run(sharing *sharing, const cJSON *script, uint64_t seed) {
  const player player = {sharing, play, state_of};
  fields head;
  const char *name;
  const cJSON *steps;
  uint64_t capacity, again;
  bool refused = false;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_number(&head, "capacity", &capacity));
  TRY(take_number(&head, "replay", &again));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  TRY(build(sharing, capacity, again, seed, &refused));
  if (refused) {
    return cJSON_GetArraySize(steps) == 0 || fail("steps of what cannot be built");
  }
  if (cJSON_GetArraySize(steps) == 0) {
    return fail("expected to be refused, came a hub");
  }
  return replay_steps(&player, steps);
}

static bool replay(const cJSON *script, uint64_t seed) {
  sharing sharing;
  bool good;
  memset(&sharing, 0, sizeof sharing);
  good = run(&sharing, script, seed);
  sluice_hub_release(sharing.hub);
  return probes_release(&sharing.probes, good);
}

bool replay_hub(const cJSON *script) { return replay_orders(script, replay); }

/* A script of one step, with what is said of it; `op` with what else the step says. */
static bool refused(const char *capacity, const char *op, const char *demand, const char *said) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"name\": \"broken\", \"capacity\": \"%s\", \"replay\": \"0\", \"steps\": [{\"op\": %s, "
           "\"answer\": null, \"state\": {\"publisher\": {\"demand\": \"%s\", \"ended\": null}, "
           "\"queued\": \"0\", \"over\": \"no\", \"listeners\": [], \"subscribers\": []}}]}",
           capacity, op, demand);
  return is_refused(text, replay_hub, said);
}

bool broken_hubs_are_refused(void) {
  static const char subscribe[] = "\"subscribe\", \"capacity\": \"1\", \"policy\": ";
  char nod[128], limit[128];
  snprintf(nod, sizeof nod, "%s\"nod\", \"patience\": null", subscribe);
  snprintf(limit, sizeof limit, "%s\"disconnect\", \"patience\": \"1\"", subscribe);
  return refused("2", "\"start\"", "0", "") &&
         refused("2", "\"start\"", "1", "step 0: start: state: expected") &&
         refused("0", "\"start\"", "0", "steps of what cannot be built") &&
         refused("2", "\"cancel\", \"who\": \"0\"", "0", "no number 0") &&
         refused("2", "\"vanish\"", "0", "unknown op \"vanish\"") &&
         refused("2", "\"start\", \"who\": \"0\"", "0", "who") &&
         refused("2", nod, "0", "unknown policy \"nod\"") &&
         refused("2", limit, "0", "unknown policy \"disconnect\"");
}
