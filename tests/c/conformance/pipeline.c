#include "pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shown.h"
#include "stages.h"

enum { MAX_STAGES = 16 };

typedef struct player {
  sluice_scope *scope;
  sluice_manual *source;
  sluice_subscriber *end;
  sluice_flow *flows[MAX_STAGES];
  int stages;
  bool grouped;         /* a stage makes groups: that is what is delivered */
  uint64_t next;        /* the next element that the publisher sends */
  const char *ended;    /* how the source ended; NULL while it has not */
  const char *terminal; /* what the subscriber was told in this step */
  cJSON *delivered;     /* in this step */
} player;

/* The stages of a script; `refused` if one of them cannot be built. */
static bool build(player *player, const cJSON *told, bool *refused) {
  const cJSON *one;
  *refused = false;
  cJSON_ArrayForEach(one, told) {
    sluice_flow *flow = NULL;
    char name[16];
    sluice_status status;
    if (player->stages == MAX_STAGES) {
      return fail("more stages than this runner takes");
    }
    TRY(stage_of(one, &flow, &status, &player->grouped));
    if (status != SLUICE_OK) {
      *refused = true;
      return status == SLUICE_INVALID_ARGUMENT || ok("stage", status);
    }
    snprintf(name, sizeof name, "it %d", player->stages);
    status = sluice_flow_named(flow, name, SLUICE_NUL, &player->flows[player->stages]);
    sluice_flow_release(flow);
    TRY(ok("flow_named", status));
    player->stages += 1;
  }
  return true;
}

static bool connect(player *player, uint64_t seed) {
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  sluice_graph *graph = NULL;
  sluice_run *run = NULL;
  sluice_status status = sluice_scope_new_stepped("pipeline", SLUICE_NUL, seed, &player->scope);
  int i;
  status = status == SLUICE_OK ? sluice_source_probe(&source) : status;
  for (i = 0; i < player->stages && status == SLUICE_OK; i++) {
    sluice_source *more = NULL;
    status = sluice_source_via(source, player->flows[i], &more);
    sluice_source_release(source);
    source = more;
  }
  status = status == SLUICE_OK ? sluice_sink_probe(&sink) : status;
  status = status == SLUICE_OK ? sluice_source_to(source, sink, &graph) : status;
  status = status == SLUICE_OK ? sluice_graph_run(graph, player->scope, &run, NULL) : status;
  status = status == SLUICE_OK ? sluice_run_manual(run, &player->source) : status;
  status = status == SLUICE_OK ? sluice_run_subscriber(run, &player->end) : status;
  sluice_run_release(run);
  sluice_graph_release(graph);
  sluice_sink_release(sink);
  sluice_source_release(source);
  return ok("the line", status);
}

/* Runs the line until it is quiet, taking what comes. */
static bool settle(player *player) {
  bool more = true, over = false;
  while (more) {
    sluice_signal signal = SLUICE_SIGNAL_NEXT;
    sluice_elements *element = NULL;
    sluice_error *err = NULL;
    sluice_status status;
    more = false;
    TRY(ok("settle", sluice_scope_settle(player->scope, NULL)));
    while ((status = sluice_subscriber_signal(player->end, 0, &signal, &element, &err)) ==
           SLUICE_OK) {
      more = true;
      if (signal == SLUICE_SIGNAL_NEXT) {
        void *value = NULL;
        TRY(ok("elements_value", sluice_elements_value(element, 0, &value)));
        cJSON_AddItemToArray(player->delivered, element_json(value, player->grouped));
        sluice_elements_release(element);
        element = NULL;
      } else {
        player->terminal = signal == SLUICE_SIGNAL_COMPLETE ? "completed" : "failed";
        sluice_error_release(err);
        err = NULL;
      }
    }
    if (status != SLUICE_TIMED_OUT) {
      return ok("signal", status);
    }
  }
  TRY(ok("is_over", sluice_manual_is_over(player->source, &over)));
  if (over && player->ended == NULL) {
    player->ended = "cancelled";
  }
  return true;
}

static bool send(player *player, uint64_t most, cJSON *answer) {
  const char *refused = NULL;
  char text[24];
  uint64_t sent = 0;
  while (sent < most && refused == NULL) {
    const sluice_element element = element_of(player->next);
    sluice_offer offer = SLUICE_OFFER_ENQUEUED;
    const sluice_status status = sluice_manual_offer(player->source, &element, 0, &offer, NULL);
    if (status == SLUICE_TIMED_OUT) {
      element.release(element.value);
      refused = "no_demand";
    } else if (status != SLUICE_OK) {
      return ok("offer", status);
    } else if (offer != SLUICE_OFFER_ENQUEUED) {
      refused = "closed";
    } else {
      sent += 1;
      player->next += 1;
      TRY(settle(player));
    }
  }
  snprintf(text, sizeof text, "%" PRIu64, sent);
  cJSON_AddStringToObject(answer, "sent", text);
  cJSON_AddItemToObject(answer, "refused",
                        refused == NULL ? cJSON_CreateNull() : cJSON_CreateString(refused));
  return true;
}

static cJSON *finish(player *player, bool first, const char *how) {
  if (first && player->ended == NULL) {
    player->ended = how;
  }
  return cJSON_CreateString(first ? "yes" : "no");
}

/* Plays one step; the answer is the caller's. */
static bool play(player *player, const char *op, fields *step, cJSON **answer) {
  uint64_t n = 0;
  bool first = false;
  if (strcmp(op, "start") == 0) {
    *answer = cJSON_CreateNull();
  } else if (strcmp(op, "request") == 0) {
    sluice_status status;
    TRY(take_number(step, "n", &n));
    status = sluice_subscriber_request(player->end, n);
    TRY(status == SLUICE_CLOSED || ok(op, status));
    *answer = cJSON_CreateNull();
  } else if (strcmp(op, "next") == 0) {
    TRY(take_number(step, "k", &n));
    *answer = cJSON_CreateObject();
    TRY(send(player, n, *answer));
  } else if (strcmp(op, "complete") == 0) {
    TRY(ok(op, sluice_manual_complete(player->source, &first)));
    *answer = finish(player, first, "completed");
  } else if (strcmp(op, "fail") == 0) {
    sluice_error *error = NULL;
    sluice_status status = sluice_error_new(SLUICE_IO, NULL, 0, SLUICE_CLASS_DEFAULT,
                                            "the script says so", SLUICE_NUL, &error);
    status = status == SLUICE_OK ? sluice_manual_fail(player->source, error, &first) : status;
    sluice_error_release(error);
    TRY(ok(op, status));
    *answer = finish(player, first, "failed");
  } else if (strcmp(op, "cancel") == 0) {
    TRY(ok(op, sluice_subscriber_cancel(player->end)));
    *answer = cJSON_CreateNull();
  } else {
    return fail("unknown op \"%s\"", op);
  }
  return settle(player);
}

/* The counters of each stage, in the order of the script; all 0 of one that is gone. */
static bool add_stages(const player *player, cJSON *state) {
  cJSON *list = cJSON_AddArrayToObject(state, "stages");
  sluice_stages *stages = NULL;
  size_t count = 0, at = 0;
  int i;
  TRY(ok("stages", sluice_scope_stages(player->scope, &stages)));
  sluice_stages_count(stages, &count);
  for (i = 0; i < player->stages; i++) {
    sluice_stage_info found = SLUICE_STAGE_INFO_INIT;
    char name[16];
    snprintf(name, sizeof name, "it %d", i);
    for (at = 0; at < count; at++) {
      sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
      if (sluice_stages_info(stages, at, &info) == SLUICE_OK && strcmp(info.name, name) == 0) {
        found = info;
        break;
      }
    }
    add_counters(list, found.downstream, found.upstream, found.held);
  }
  sluice_stages_release(stages);
  return true;
}

static bool state_of(player *player, cJSON *state) {
  uint64_t demand = 0;
  if (player->ended == NULL) {
    TRY(ok("demand", sluice_manual_demand(player->source, &demand)));
  }
  add_number(state, "demand", demand);
  add_text(state, "ended", player->ended);
  cJSON_AddItemToObject(state, "delivered", player->delivered);
  add_text(state, "terminal", player->terminal);
  player->delivered = cJSON_CreateArray();
  player->terminal = NULL;
  return add_stages(player, state);
}

static bool perform(player *player, const cJSON *json) {
  fields step;
  const char *op;
  const cJSON *expected;
  cJSON *is = NULL;
  TRY(fields_of(json, &step));
  TRY(take_text(&step, "op", &op));
  if (!play(player, op, &step, &is)) {
    cJSON_Delete(is);
    return false;
  }
  if (!take(&step, "answer", &expected)) {
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
  const cJSON *told, *steps, *step;
  bool refused;
  int number = 0;
  TRY(fields_of(script, &head));
  TRY(take_text(&head, "name", &name));
  TRY(take_list(&head, "stages", &told));
  TRY(take_list(&head, "steps", &steps));
  TRY(done(&head));
  TRY(build(player, told, &refused));
  if (refused) {
    return cJSON_GetArraySize(steps) == 0 || fail("steps of what cannot be built");
  }
  if (cJSON_GetArraySize(steps) == 0) {
    return fail("expected to be refused, came a line");
  }
  TRY(connect(player, seed));
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
  player.delivered = cJSON_CreateArray();
  good = run(&player, script, seed);
  for (i = 0; i < player.stages; i++) {
    sluice_flow_release(player.flows[i]);
  }
  sluice_manual_release(player.source);
  sluice_subscriber_release(player.end);
  sluice_scope_release(player.scope);
  cJSON_Delete(player.delivered);
  if (good && elements_alive() != 0) {
    return fail("%ld elements were not released, or more than once", elements_alive());
  }
  return good;
}

bool replay_pipeline(const cJSON *script) {
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

/* A script of one stage and one step, with what is said of it. */
static bool is_refused(const char *stage, const char *op, const char *demand, const char *said) {
  char text[1024];
  cJSON *script;
  bool good;
  snprintf(text, sizeof text,
           "{\"name\": \"broken\", \"stages\": [%s], \"steps\": [{\"op\": \"%s\", \"answer\": null, "
           "\"state\": {\"demand\": \"%s\", \"ended\": null, \"delivered\": [], \"terminal\": null, "
           "\"stages\": [{\"owed\": \"0\", \"asked\": \"0\", \"held\": \"0\"}]}}]}",
           stage, op, demand);
  script = cJSON_Parse(text);
  failure[0] = '\0';
  good = replay_pipeline(script) ? *said == '\0' : *said != '\0' && strstr(failure, said) != NULL;
  cJSON_Delete(script);
  if (!good) {
    fprintf(stderr, "a broken pipeline: \"%s\" is not said in: %s\n", said, failure);
  }
  return good;
}

bool broken_pipelines_are_refused(void) {
  static const char take[] = "{\"stage\": \"take\", \"n\": \"2\"}";
  return is_refused(take, "start", "0", "") &&
         is_refused(take, "start", "1", "step 0: start: state: expected") &&
         is_refused(take, "vanish", "0", "unknown op \"vanish\"") &&
         is_refused("{\"stage\": \"page\", \"size\": \"0\", \"mark\": \"1\"}", "start", "0",
                    "steps of what cannot be built") &&
         is_refused("{\"stage\": \"sort\"}", "start", "0", "unknown stage \"sort\"") &&
         is_refused("{\"stage\": \"take\", \"n\": \"2\", \"colour\": \"red\"}", "start", "0", "colour");
}
