/* The cap that calls another one. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"

typedef struct collected {
  uint8_t *bytes;
  size_t len, capacity;
} collected;

static sluice_status collect(void *ctx, const sluice_item *item, sluice_error **err) {
  collected *collected = ctx;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  sluice_status status = sluice_item_bytes(item, &bytes, &len);
  if (status != SLUICE_OK) {
    sluice_error_new(SLUICE_INVALID_ARGUMENT, "NOT_BYTES", SLUICE_NUL, SLUICE_CLASS_INPUT,
                     "a value that is no byte string", SLUICE_NUL, err);
    return status;
  }
  if (collected->capacity - collected->len < len) {
    const size_t capacity = (collected->len + len) * 2;
    uint8_t *more = realloc(collected->bytes, capacity);
    if (more == NULL) {
      return SLUICE_LIMIT_REACHED;
    }
    collected->bytes = more;
    collected->capacity = capacity;
  }
  if (len > 0) {
    memcpy(collected->bytes + collected->len, bytes, len);
    collected->len += len;
  }
  return SLUICE_OK;
}

/* The argument of the other call, which a second thread writes while this one reads the answer. */
typedef struct asking {
  const sluice_call *call;
  collected collected;
  sluice_status status;
  sluice_error *err;
} asking;

static void *ask(void *argument) {
  asking *asking = argument;
  const collected *collected = &asking->collected;
  sluice_output *output = NULL;
  asking->status =
      sluice_call_input(asking->call, "media:blob", SLUICE_NUL, &output, &asking->err);
  if (asking->status == SLUICE_OK) {
    asking->status = sluice_output_write(output, collected->bytes, collected->len,
                                         SLUICE_FOREVER, &asking->err);
  }
  if (asking->status == SLUICE_OK) {
    asking->status = sluice_call_finish_input(asking->call, SLUICE_FOREVER, &asking->err);
  }
  sluice_output_release(output);
  return NULL;
}

static sluice_status emit(void *output, const sluice_item *item, sluice_error **err) {
  return sluice_output_emit(output, item, SLUICE_FOREVER, err);
}

/* Hands the answer of the other call on. */
static sluice_status answer(const sluice_call *call, sluice_output *output, sluice_error **err) {
  sluice_input *input = NULL;
  sluice_terminal *terminal = NULL;
  sluice_status status = sluice_call_output(call, SLUICE_FOREVER, &input, err);
  if (status == SLUICE_OK) {
    status = for_each(input, emit, output, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_call_wait(call, SLUICE_FOREVER, &terminal, err);
  } else {
    sluice_call_cancel(call, *err); /* so that the other thread stops too */
  }
  sluice_terminal_release(terminal);
  sluice_input_release(input);
  return status;
}

static sluice_status call_other(const sluice_request *request, sluice_output *output,
                                asking *asking, sluice_error **err) {
  const char *cap = getenv("FC_PEER_CAP");
  sluice_call *call = NULL;
  pthread_t thread;
  sluice_status status = sluice_request_peer(
      request, cap == NULL ? "cap:fc-echo;in=media:blob;out=media:blob" : cap, SLUICE_NUL, &call,
      err);
  if (status != SLUICE_OK) {
    return status;
  }
  asking->call = call;
  if (pthread_create(&thread, NULL, ask, asking) == 0) {
    status = answer(call, output, err);
    pthread_join(thread, NULL);
  } else {
    status = SLUICE_LIMIT_REACHED;
  }
  sluice_call_release(call);
  if (status == SLUICE_OK && asking->status != SLUICE_OK) {
    *err = asking->err;
    return asking->status;
  }
  sluice_error_release(asking->err);
  return status;
}

/* Calls another cap with what came, and answers what that answers. */
sluice_status cap_peer(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  asking asking = {NULL, {NULL, 0, 0}, SLUICE_OK, NULL};
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = for_each(streams.input, collect, &asking.collected, err);
  }
  if (status == SLUICE_OK) {
    status = call_other(request, streams.output, &asking, err);
  }
  free(asking.collected.bytes);
  streams_release(&streams);
  return status;
}
