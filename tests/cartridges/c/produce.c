/* Caps that make values. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "caps.h"

typedef struct plan {
  uint64_t chunks;
  bool has_size;
  uint64_t size;
} plan;

static sluice_status bad_plan(const char *what, sluice_error **err) {
  sluice_error_new(SLUICE_INVALID_ARGUMENT, "BAD_PLAN", SLUICE_NUL, SLUICE_CLASS_INPUT, what,
                   SLUICE_NUL, err);
  return SLUICE_INVALID_ARGUMENT;
}

static bool whole_number(const cJSON *json, uint64_t *out) {
  if (!cJSON_IsNumber(json) || json->valuedouble < 0 || json->valuedouble > 9007199254740992.0 ||
      floor(json->valuedouble) != json->valuedouble) {
    return false;
  }
  *out = (uint64_t)json->valuedouble;
  return true;
}

static sluice_status parse_plan(const char *text, size_t len, plan *plan, sluice_error **err) {
  cJSON *json = cJSON_ParseWithLength(text, len);
  const cJSON *size = cJSON_GetObjectItemCaseSensitive(json, "size");
  sluice_status status = SLUICE_OK;
  if (json == NULL) {
    status = bad_plan("the plan is not JSON", err);
  } else if (!whole_number(cJSON_GetObjectItemCaseSensitive(json, "chunks"), &plan->chunks)) {
    status = bad_plan("the plan has no number of chunks", err);
  } else {
    plan->size = 0;
    plan->has_size = size != NULL;
    if (plan->has_size && !whole_number(size, &plan->size)) {
      status = bad_plan("the size is no number of bytes", err);
    }
  }
  cJSON_Delete(json);
  return status;
}

/* Reads the plan from the first value of the input. */
static sluice_status read_plan(const sluice_input *input, plan *plan, sluice_error **err) {
  sluice_item *item = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  sluice_status status = sluice_input_recv(input, SLUICE_FOREVER, &item, err);
  if (status == SLUICE_END_OF_STREAM) {
    return bad_plan("the input is empty", err);
  }
  if (status == SLUICE_OK && sluice_item_bytes(item, &bytes, &len) != SLUICE_OK) {
    status = bad_plan("the plan is not a byte string", err);
  }
  if (status == SLUICE_OK) {
    status = parse_plan((const char *)bytes, len, plan, err);
  }
  sluice_item_release(item);
  return status;
}

static sluice_status integers(const sluice_output *output, uint64_t count, sluice_error **err) {
  sluice_status status = SLUICE_OK;
  uint64_t n;
  for (n = 0; n < count && status == SLUICE_OK; n++) {
    status = sluice_output_emit_u64(output, n, SLUICE_FOREVER, err);
  }
  return status;
}

/* Byte i of the whole is (i * 31 + 7) mod 251. */
static sluice_status pattern(const sluice_output *output, const plan *plan, sluice_error **err) {
  uint8_t *bytes = malloc(plan->size == 0 ? 1 : (size_t)plan->size);
  sluice_status status = SLUICE_OK;
  uint64_t chunk, i, offset = 0;
  if (bytes == NULL) {
    return SLUICE_LIMIT_REACHED;
  }
  for (chunk = 0; chunk < plan->chunks && status == SLUICE_OK; chunk++) {
    for (i = 0; i < plan->size; i++) {
      bytes[i] = (uint8_t)(((offset + i) % 251 * 31 + 7) % 251);
    }
    status = sluice_output_write(output, bytes, (size_t)plan->size, SLUICE_FOREVER, err);
    offset += plan->size;
  }
  free(bytes);
  return status;
}

sluice_status cap_produce(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  plan plan;
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = read_plan(streams.input, &plan, err);
  }
  if (status == SLUICE_OK) {
    status = plan.has_size ? pattern(streams.output, &plan, err)
                           : integers(streams.output, plan.chunks, err);
  }
  streams_release(&streams);
  return status;
}

typedef struct detached {
  sluice_sender *sender;
  sluice_status status;
  sluice_error *err;
} detached;

static void *emit_without_end(void *argument) {
  detached *detached = argument;
  uint64_t n;
  for (n = 0; detached->status == SLUICE_OK; n++) {
    detached->status =
        sluice_sender_emit_u64(detached->sender, n, SLUICE_FOREVER, &detached->err);
  }
  return NULL;
}

sluice_status cap_forever(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_start_options options = SLUICE_START_OPTIONS_INIT;
  detached detached = {NULL, SLUICE_OK, NULL};
  sluice_output *output = NULL;
  pthread_t thread;
  sluice_status status = sluice_request_output(request, &output);
  (void)ctx;
  options.unbounded = true;
  if (status == SLUICE_OK) {
    status = sluice_output_start(output, &options, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_request_sender(request, &detached.sender);
  }
  if (status == SLUICE_OK) {
    if (pthread_create(&thread, NULL, emit_without_end, &detached) == 0) {
      pthread_join(thread, NULL);
      status = detached.status; /* it goes on until the request is cancelled */
      *err = detached.err;
    } else {
      status = SLUICE_LIMIT_REACHED;
    }
  }
  sluice_sender_release(detached.sender);
  sluice_output_release(output);
  return status;
}

typedef struct beside {
  sluice_output *output;
  uint64_t count;
  sluice_status status;
  sluice_error *err;
} beside;

static void *emit_beside(void *argument) {
  beside *beside = argument;
  beside->status = integers(beside->output, beside->count, &beside->err);
  return NULL;
}

static sluice_status produce_two(const sluice_request *request, const streams *streams,
                                 uint64_t count, sluice_error **err) {
  beside beside = {NULL, 0, SLUICE_OK, NULL};
  pthread_t thread;
  sluice_status status =
      sluice_request_output_for(request, SECOND, SLUICE_NUL, &beside.output, err);
  if (status != SLUICE_OK) {
    return status;
  }
  beside.count = count;
  if (pthread_create(&thread, NULL, emit_beside, &beside) != 0) {
    sluice_output_release(beside.output);
    return SLUICE_LIMIT_REACHED;
  }
  status = integers(streams->output, count, err);
  pthread_join(thread, NULL);
  sluice_output_release(beside.output);
  if (status == SLUICE_OK && beside.status != SLUICE_OK) {
    *err = beside.err;
    return beside.status;
  }
  sluice_error_release(beside.err);
  return status;
}

sluice_status cap_two(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  plan plan;
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = read_plan(streams.input, &plan, err);
  }
  if (status == SLUICE_OK) {
    status = produce_two(request, &streams, plan.chunks, err);
  }
  streams_release(&streams);
  return status;
}
