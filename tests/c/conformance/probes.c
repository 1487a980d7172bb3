#include "probes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shown.h"
#include "stages.h"

bool probes_run(probes *probes, const sluice_graph *graph, const char *name, uint64_t seed,
                sluice_run **out) {
  sluice_run *run = NULL;
  int i;
  sluice_status status = sluice_scope_new_stepped(name, SLUICE_NUL, seed, &probes->scope);
  status = status == SLUICE_OK ? sluice_graph_run(graph, probes->scope, &run, NULL) : status;
  for (i = 0; i < probes->publishers && status == SLUICE_OK; i++) {
    status = sluice_run_manual(run, &probes->above[i].probe);
    probes->above[i].next = (uint64_t)i * 1000;
  }
  for (i = 0; i < probes->subscribers && status == SLUICE_OK; i++) {
    status = sluice_run_subscriber(run, &probes->below[i].probe);
    probes->below[i].delivered = cJSON_CreateArray();
  }
  if (out != NULL && status == SLUICE_OK) {
    *out = run;
  } else {
    sluice_run_release(run);
  }
  return ok("the run", status);
}

bool probes_add(probes *probes, const sluice_source *source) {
  lower *lower = &probes->below[probes->subscribers];
  sluice_sink *sink = NULL;
  sluice_graph *graph = NULL;
  sluice_run *run = NULL;
  sluice_status status;
  if (probes->subscribers == MAX_LINES) {
    return fail("more subscribers than this runner takes");
  }
  status = sluice_sink_probe(&sink);
  status = status == SLUICE_OK ? sluice_source_to(source, sink, &graph) : status;
  status = status == SLUICE_OK ? sluice_graph_run(graph, probes->scope, &run, NULL) : status;
  status = status == SLUICE_OK ? sluice_run_subscriber(run, &lower->probe) : status;
  sluice_run_release(run);
  sluice_graph_release(graph);
  sluice_sink_release(sink);
  TRY(ok("one subscriber more", status));
  lower->delivered = cJSON_CreateArray();
  probes->subscribers += 1;
  return true;
}

bool probes_release(probes *probes, bool good) {
  int i;
  for (i = 0; i < MAX_LINES; i++) {
    sluice_manual_release(probes->above[i].probe);
    sluice_subscriber_release(probes->below[i].probe);
    cJSON_Delete(probes->below[i].delivered);
  }
  sluice_scope_release(probes->scope);
  if (!good) {
    return false;
  }
  return elements_alive() == 0 ||
         fail("%ld elements were not released, or more than once", elements_alive());
}

/* What a script calls the end with this error. */
static const char *failed_as(const sluice_error *err) {
  sluice_status kind = SLUICE_OK;
  return sluice_error_kind(err, &kind) == SLUICE_OK && kind == SLUICE_BUFFER_OVERFLOW ? "overflowed"
                                                                                       : "failed";
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
      lower->terminal = signal == SLUICE_SIGNAL_COMPLETE ? "completed" : failed_as(err);
      sluice_error_release(err);
      err = NULL;
    }
  }
  return status == SLUICE_TIMED_OUT || ok("signal", status);
}

bool probes_settle(probes *probes) {
  bool more = true;
  int i;
  while (more) {
    more = false;
    TRY(ok("settle", sluice_scope_settle(probes->scope, NULL)));
    for (i = 0; i < probes->subscribers; i++) {
      TRY(take_signals(&probes->below[i], &more));
    }
  }
  for (i = 0; i < probes->publishers; i++) {
    bool over = false;
    TRY(ok("is_over", sluice_manual_is_over(probes->above[i].probe, &over)));
    if (over && probes->above[i].ended == NULL) {
      probes->above[i].ended = "cancelled";
    }
  }
  return true;
}

static bool send(probes *probes, upper *upper, uint64_t most, cJSON *answer) {
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
      TRY(probes_settle(probes));
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
static bool play_above(probes *probes, upper *upper, const char *op, fields *step, cJSON **answer) {
  bool first = false;
  if (strcmp(op, "next") == 0) {
    uint64_t most = 0;
    TRY(take_number(step, "k", &most));
    *answer = cJSON_CreateObject();
    TRY(send(probes, upper, most, *answer));
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

/* What is done to a subscriber. */
static bool play_below(const lower *lower, const char *op, fields *step) {
  sluice_status status;
  uint64_t n = 0;
  if (strcmp(op, "cancel") == 0) {
    return ok(op, sluice_subscriber_cancel(lower->probe));
  }
  TRY(take_number(step, "n", &n));
  status = sluice_subscriber_request(lower->probe, n);
  return status == SLUICE_CLOSED || ok(op, status);
}

static bool is_above(const char *op) {
  return strcmp(op, "next") == 0 || strcmp(op, "complete") == 0 || strcmp(op, "fail") == 0;
}

static bool is_below(const char *op) {
  return strcmp(op, "request") == 0 || strcmp(op, "cancel") == 0;
}

bool known_op(const char *op) {
  return strcmp(op, "start") == 0 || is_above(op) || is_below(op) || fail("unknown op \"%s\"", op);
}

bool probes_play(probes *probes, const char *op, uint64_t who, fields *step, cJSON **answer) {
  const int count = is_above(op) ? probes->publishers : probes->subscribers;
  TRY(known_op(op));
  if ((is_above(op) || is_below(op)) && who >= (uint64_t)count) {
    return fail("there is no number %" PRIu64 " of %d", who, count);
  }
  if (is_above(op)) {
    TRY(play_above(probes, &probes->above[who], op, step, answer));
  } else {
    *answer = cJSON_CreateNull();
    TRY(!is_below(op) || play_below(&probes->below[who], op, step));
  }
  return probes_settle(probes);
}

bool add_publisher(const upper *upper, cJSON *to) {
  uint64_t demand = 0;
  if (upper->ended == NULL) {
    TRY(ok("demand", sluice_manual_demand(upper->probe, &demand)));
  }
  add_number(to, "demand", demand);
  add_text(to, "ended", upper->ended);
  return true;
}

void add_subscriber(lower *lower, cJSON *to) {
  cJSON_AddItemToObject(to, "delivered", lower->delivered);
  add_text(to, "terminal", lower->terminal);
  lower->delivered = cJSON_CreateArray();
  lower->terminal = NULL;
}

bool add_publishers(const probes *probes, cJSON *list) {
  int i;
  for (i = 0; i < probes->publishers; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(list, one);
    TRY(add_publisher(&probes->above[i], one));
  }
  return true;
}

void add_subscribers(probes *probes, cJSON *list) {
  int i;
  for (i = 0; i < probes->subscribers; i++) {
    cJSON *one = cJSON_CreateObject();
    cJSON_AddItemToArray(list, one);
    add_subscriber(&probes->below[i], one);
  }
}

bool next_stage(const sluice_stages *stages, const char *name, size_t *at, sluice_stage_info *out) {
  size_t count = 0;
  sluice_stages_count(stages, &count);
  while (*at < count) {
    const sluice_stage_info fresh = SLUICE_STAGE_INFO_INIT;
    *out = fresh;
    if (sluice_stages_info(stages, (*at)++, out) == SLUICE_OK && strcmp(out->name, name) == 0) {
      return true;
    }
  }
  return false;
}

void add_stages(const sluice_stages *stages, const char *name, cJSON *list) {
  sluice_stage_info info = SLUICE_STAGE_INFO_INIT;
  size_t at = 0;
  while (next_stage(stages, name, &at, &info)) {
    add_counters(list, info.downstream, info.upstream, info.held);
  }
}

void add_stage(const sluice_stages *stages, const char *name, cJSON *list) {
  const int before = cJSON_GetArraySize(list);
  add_stages(stages, name, list);
  if (cJSON_GetArraySize(list) == before) {
    add_counters(list, 0, 0, 0);
  }
}

static bool perform(const player *player, const cJSON *json) {
  fields step;
  const char *op;
  const cJSON *expected;
  cJSON *is = NULL;
  TRY(fields_of(json, &step));
  TRY(take_text(&step, "op", &op));
  if (!player->play(player->of, op, &step, &is) || !take(&step, "answer", &expected)) {
    cJSON_Delete(is);
    return false;
  }
  TRY(same_json("answer", expected, is));
  TRY(take_object(&step, "state", &expected));
  is = cJSON_CreateObject();
  if (!player->state(player->of, is)) {
    cJSON_Delete(is);
    return false;
  }
  TRY(same_json("state", expected, is));
  return done(&step);
}

bool replay_steps(const player *player, const cJSON *steps) {
  const cJSON *step;
  int number = 0;
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

bool replay_orders(const cJSON *script, bool (*replay)(const cJSON *script, uint64_t seed)) {
  uint64_t seed;
  for (seed = 0; seed < ORDERS; seed++) {
    if (!replay(script, seed)) {
      char why[sizeof failure];
      memcpy(why, failure, sizeof why);
      return fail("seed %" PRIu64 ": %.3900s", seed, why);
    }
  }
  return true;
}

bool is_refused(const char *text, bool (*replay)(const cJSON *script), const char *said) {
  cJSON *script = cJSON_Parse(text);
  bool good;
  failure[0] = '\0';
  good = replay(script) ? *said == '\0' : *said != '\0' && strstr(failure, said) != NULL;
  cJSON_Delete(script);
  if (!good) {
    fprintf(stderr, "a broken script: \"%s\" is not said in: %s\n", said, failure);
  }
  return good;
}
