#include "script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char failure[4096];

bool fail(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(failure, sizeof failure, format, args);
  va_end(args);
  return false;
}

bool fields_of(const cJSON *object, fields *out) {
  if (!cJSON_IsObject(object)) {
    return fail("an object was expected");
  }
  out->object = object;
  out->taken = 0;
  return true;
}

bool take(fields *from, const char *key, const cJSON **out) {
  const cJSON *found = cJSON_GetObjectItemCaseSensitive(from->object, key);
  if (found == NULL) {
    return fail("the key \"%s\" is missing", key);
  }
  from->taken += 1;
  *out = found;
  return true;
}

bool take_text(fields *from, const char *key, const char **out) {
  const cJSON *json;
  TRY(take(from, key, &json));
  if (!cJSON_IsString(json)) {
    return fail("\"%s\" is not a text", key);
  }
  *out = json->valuestring;
  return true;
}

bool take_optional_text(fields *from, const char *key, const char **out) {
  const cJSON *json;
  TRY(take(from, key, &json));
  if (cJSON_IsNull(json)) {
    *out = NULL;
    return true;
  }
  if (!cJSON_IsString(json)) {
    return fail("\"%s\" is neither a text nor null", key);
  }
  *out = json->valuestring;
  return true;
}

bool number_of(const char *text, uint64_t *out) {
  char *end;
  if (text[0] < '0' || text[0] > '9') {
    return fail("\"%s\" is not a number", text);
  }
  errno = 0;
  *out = strtoull(text, &end, 10);
  if (errno != 0 || *end != '\0') {
    return fail("\"%s\" is not a number of 64 bits", text);
  }
  return true;
}

bool take_number(fields *from, const char *key, uint64_t *out) {
  const char *text;
  TRY(take_text(from, key, &text));
  return number_of(text, out);
}

bool take_optional_number(fields *from, const char *key, bool *present, uint64_t *out) {
  const char *text;
  TRY(take_optional_text(from, key, &text));
  *present = text != NULL;
  *out = 0;
  return text == NULL || number_of(text, out);
}

bool take_list(fields *from, const char *key, const cJSON **out) {
  TRY(take(from, key, out));
  return cJSON_IsArray(*out) || fail("\"%s\" is not a list", key);
}

bool take_object(fields *from, const char *key, const cJSON **out) {
  TRY(take(from, key, out));
  return cJSON_IsObject(*out) || fail("\"%s\" is not an object", key);
}

bool done(const fields *from) {
  if (cJSON_GetArraySize(from->object) != from->taken) {
    char *text = cJSON_PrintUnformatted(from->object);
    fail("a key that this runner does not know: %s", text);
    cJSON_free(text);
    return false;
  }
  return true;
}

bool answer_of(const cJSON *json, char out[ANSWER_SIZE]) {
  fields closed;
  const char *reason;
  if (cJSON_IsNull(json)) {
    snprintf(out, ANSWER_SIZE, "null");
    return true;
  }
  if (cJSON_IsString(json)) {
    snprintf(out, ANSWER_SIZE, "%s", json->valuestring);
    return true;
  }
  TRY(fields_of(json, &closed));
  TRY(take_text(&closed, "closed", &reason));
  TRY(done(&closed));
  snprintf(out, ANSWER_SIZE, "closed:%s", reason);
  return true;
}

void answer_number(uint64_t number, char out[ANSWER_SIZE]) {
  snprintf(out, ANSWER_SIZE, "%" PRIu64, number);
}

bool same(const char *what, const char *expected, const char *is) {
  return strcmp(expected, is) == 0 || fail("%s: expected %s, is %s", what, expected, is);
}

bool ok(const char *what, sluice_status status) {
  return status == SLUICE_OK || fail("%s answered %s", what, sluice_status_name(status));
}

bool gates_open(const cJSON *windows, gates *out) {
  const cJSON *window;
  cJSON_ArrayForEach(window, windows) {
    uint64_t chunks;
    if (out->count == MAX_NAMED || !cJSON_IsString(window)) {
      return fail("more gates than this runner holds, or one without a window");
    }
    TRY(number_of(window->valuestring, &chunks));
    out->list[out->count].name = window->string;
    TRY(ok("gate_new", sluice_gate_new(chunks, &out->list[out->count].gate)));
    out->count += 1;
  }
  return true;
}

void gates_release(gates *gates) {
  int i;
  for (i = 0; i < gates->count; i++) {
    sluice_gate_release(gates->list[i].gate);
  }
  gates->count = 0;
}

bool gates_find(const gates *gates, const char *name, const sluice_gate **out) {
  int i;
  for (i = 0; i < gates->count; i++) {
    if (strcmp(gates->list[i].name, name) == 0) {
      *out = gates->list[i].gate;
      return true;
    }
  }
  return fail("no gate is called \"%s\"", name);
}

bool closing_reason(const sluice_gate *gate, bool *closed, char out[ANSWER_SIZE]) {
  sluice_error *reason;
  const char *code;
  TRY(ok("gate_reason", sluice_gate_reason(gate, &reason)));
  *closed = reason != NULL;
  if (*closed) {
    TRY(ok("error_code", sluice_error_code(reason, &code, NULL)));
    snprintf(out, ANSWER_SIZE, "%s", code);
    TRY(ok("error_release", sluice_error_release(reason)));
  }
  return true;
}

static bool gate_compare(const named_gate *gate, const cJSON *state) {
  fields expected;
  uint64_t number, is;
  const char *reason;
  bool closed, answered_closed;
  char code[ANSWER_SIZE];
  TRY(fields_of(state, &expected));
  TRY(take_number(&expected, "available", &number));
  TRY(ok("gate_available", sluice_gate_available(gate->gate, &is)));
  if (is != number) {
    return fail("gate %s: expected %" PRIu64 " available, is %" PRIu64, gate->name, number, is);
  }
  if (cJSON_HasObjectItem(state, "waiting")) {
    TRY(take_number(&expected, "waiting", &number));
    TRY(ok("gate_waiting", sluice_gate_waiting(gate->gate, &is)));
    if (is != number) {
      return fail("gate %s: expected %" PRIu64 " in line, is %" PRIu64, gate->name, number, is);
    }
  }
  TRY(take_optional_text(&expected, "closed", &reason));
  TRY(closing_reason(gate->gate, &closed, code));
  TRY(ok("gate_is_closed", sluice_gate_is_closed(gate->gate, &answered_closed)));
  if (closed != (reason != NULL) || closed != answered_closed ||
      (closed && strcmp(code, reason) != 0)) {
    return fail("gate %s: expected closed with %s, is %s", gate->name,
                reason == NULL ? "nothing" : reason, closed ? code : "open");
  }
  return done(&expected);
}

bool gates_compare(const gates *gates, const cJSON *states) {
  fields all;
  int i;
  TRY(fields_of(states, &all));
  for (i = 0; i < gates->count; i++) {
    const cJSON *state;
    TRY(take_object(&all, gates->list[i].name, &state));
    TRY(gate_compare(&gates->list[i], state));
  }
  return done(&all);
}

bool try_answer(const sluice_gate *gate, uint64_t n, char out[ANSWER_SIZE]) {
  bool closed;
  char code[ANSWER_SIZE];
  switch (sluice_gate_try_acquire(gate, n)) {
    case SLUICE_OK:
      snprintf(out, ANSWER_SIZE, "acquired");
      return true;
    case SLUICE_WAIT:
      snprintf(out, ANSWER_SIZE, "wait");
      return true;
    case SLUICE_CLOSED:
      TRY(closing_reason(gate, &closed, code));
      snprintf(out, ANSWER_SIZE, "closed:%.200s", closed ? code : "(open)");
      return true;
    default:
      return fail("try_acquire answered something else");
  }
}

bool window_open(bool has_batch, uint64_t window, uint64_t batch, sluice_window **out) {
  return ok("window_new", has_batch ? sluice_window_new_with_batch(window, batch, out)
                                    : sluice_window_new(window, out));
}

bool window_answer(const sluice_window *window, const char *op, char out[ANSWER_SIZE]) {
  uint64_t grant;
  if (strcmp(op, "arrive") == 0) {
    const sluice_status status = sluice_window_arrive(window);
    if (status != SLUICE_OK && status != SLUICE_CREDIT_VIOLATION) {
      return ok("window_arrive", status);
    }
    snprintf(out, ANSWER_SIZE, status == SLUICE_OK ? "accepted" : "violation");
    return true;
  }
  if (strcmp(op, "consumed") == 0) {
    TRY(ok(op, sluice_window_consumed(window, &grant)));
  } else if (strcmp(op, "flush") == 0) {
    TRY(ok(op, sluice_window_flush(window, &grant)));
  } else if (strcmp(op, "continued") == 0) {
    TRY(ok(op, sluice_window_continued(window, &grant)));
  } else {
    return fail("unknown op \"%s\"", op);
  }
  answer_number(grant, out);
  return true;
}

bool router_answer(const sluice_router *router, const gates *gates, const char *op, fields *step,
                   char out[ANSWER_SIZE]) {
  const char *request = "", *stream, *name, *reason;
  const sluice_gate *gate;
  sluice_delivery delivery;
  uint64_t n;
  snprintf(out, ANSWER_SIZE, "null");
  if (strcmp(op, "close_all") == 0) {
    TRY(take_text(step, "reason", &reason));
    return ok(op, sluice_router_close_all(router, reason, SLUICE_NUL));
  }
  TRY(take_text(step, "request", &request));
  const uint8_t *key = (const uint8_t *)request;
  const size_t len = strlen(request);
  if (strcmp(op, "close_request") == 0) {
    TRY(take_text(step, "reason", &reason));
    return ok(op, sluice_router_close_request(router, key, len, reason, SLUICE_NUL));
  }
  TRY(take_optional_text(step, "stream", &stream));
  if (strcmp(op, "register") == 0) {
    TRY(take_text(step, "gate", &name));
    TRY(gates_find(gates, name, &gate));
    return ok(op, sluice_router_register(router, key, len, stream, SLUICE_NUL, gate));
  }
  if (strcmp(op, "unregister") == 0) {
    return ok(op, sluice_router_unregister(router, key, len, stream, SLUICE_NUL));
  }
  if (strcmp(op, "grant") != 0 && strcmp(op, "route") != 0) {
    return fail("unknown op \"%s\"", op);
  }
  TRY(take_number(step, "n", &n));
  TRY(ok(op, sluice_router_grant(router, key, len, stream, SLUICE_NUL, n, &delivery)));
  switch (delivery) {
    case SLUICE_DELIVERY_GRANTED:
      snprintf(out, ANSWER_SIZE, "granted");
      return true;
    case SLUICE_DELIVERY_NO_STREAM:
      snprintf(out, ANSWER_SIZE, "no_stream");
      return true;
    case SLUICE_DELIVERY_NO_REQUEST:
      snprintf(out, ANSWER_SIZE, "no_request");
      return true;
    default:
      return fail("router_grant says what the header does not know");
  }
}
