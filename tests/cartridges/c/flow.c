/* Caps that pass values on or swallow them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "caps.h"

static sluice_status emit(void *output, const sluice_item *item, sluice_error **err) {
  sluice_status status = sluice_output_emit(output, item, SLUICE_FOREVER, err);
  return status == SLUICE_OK ? sluice_output_flush(output, SLUICE_FOREVER, err) : status;
}

sluice_status cap_echo(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = for_each(streams.input, emit, streams.output, err);
  }
  streams_release(&streams);
  return status;
}

static sluice_status emit_list_item(void *output, const sluice_item *item, sluice_error **err) {
  return sluice_output_emit_list_item(output, item, SLUICE_FOREVER, err);
}

sluice_status cap_items(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = for_each(streams.input, emit_list_item, streams.output, err);
  }
  streams_release(&streams);
  return status;
}

typedef struct counting {
  uint64_t values;
  struct timespec work;
} counting;

static sluice_status count_value(void *ctx, const sluice_item *item, sluice_error **err) {
  counting *counting = ctx;
  (void)item;
  (void)err;
  counting->values += 1;
  if (counting->work.tv_sec != 0 || counting->work.tv_nsec != 0) {
    nanosleep(&counting->work, NULL); /* the work of this cap */
  }
  return SLUICE_OK;
}

static sluice_status count(const sluice_request *request, long work_ms, sluice_error **err) {
  streams streams;
  counting counting = {0, {0, 0}};
  char answer[32];
  sluice_status status = streams_open(&streams, request, err);
  counting.work.tv_sec = work_ms / 1000;
  counting.work.tv_nsec = work_ms % 1000 * 1000000;
  if (status == SLUICE_OK) {
    status = for_each(streams.input, count_value, &counting, err);
  }
  if (status == SLUICE_OK) {
    snprintf(answer, sizeof answer, "%" PRIu64, counting.values);
    status = write_text(streams.output, answer, err);
  }
  streams_release(&streams);
  return status;
}

sluice_status cap_sink(void *ctx, const sluice_request *request, sluice_error **err) {
  (void)ctx;
  return count(request, 0, err);
}

sluice_status cap_slow(void *ctx, const sluice_request *request, sluice_error **err) {
  const char *millis = getenv("SLOW_MS");
  (void)ctx;
  return count(request, millis == NULL ? 20 : strtol(millis, NULL, 10), err);
}

static sluice_status say(sluice_output *output, const char *text, sluice_error **err) {
  return sluice_output_emit_text(output, text, SLUICE_NUL, SLUICE_FOREVER, err);
}

sluice_status cap_multi(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_output *main_output = NULL, *second = NULL;
  sluice_status status;
  (void)ctx;
  sluice_request_log(request, "info", SLUICE_NUL, SLUICE_CLASS_INTERNAL, "working", SLUICE_NUL);
  sluice_request_progress(request, 0.5, "half", SLUICE_NUL);
  status = sluice_request_output(request, &main_output);
  if (status == SLUICE_OK) {
    status = say(main_output, "main", err);
  }
  if (status == SLUICE_OK) {
    status = sluice_request_output_for(request, SECOND, SLUICE_NUL, &second, err);
  }
  if (status == SLUICE_OK) {
    status = say(second, "second", err);
  }
  if (status == SLUICE_OK) {
    status = sluice_request_finish(request, 0.9, "done", SLUICE_NUL, SLUICE_FOREVER, err);
  }
  sluice_output_release(main_output);
  sluice_output_release(second);
  return status;
}

sluice_status cap_stderr(void *ctx, const sluice_request *request, sluice_error **err) {
  static const int lines = 10 * 1024;
  char line[1024];
  sluice_output *output = NULL;
  sluice_status status = sluice_request_output(request, &output);
  int i;
  (void)ctx;
  memset(line, 'x', sizeof line);
  line[sizeof line - 1] = '\n';
  for (i = 0; i < lines; i++) {
    fwrite(line, 1, sizeof line, stderr);
  }
  if (status == SLUICE_OK) {
    status = say(output, "done", err);
  }
  sluice_output_release(output);
  return status;
}

sluice_status ignore(void *ctx, const sluice_item *item, sluice_error **err) {
  (void)ctx;
  (void)item;
  (void)err;
  return SLUICE_OK;
}

/* Ends the process without an answer. */
sluice_status cap_crash(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = for_each(streams.input, ignore, NULL, err);
  }
  if (status == SLUICE_OK) {
    fputs("one\ntwo\nthe last words\n", stderr);
    _exit(3);
  }
  streams_release(&streams);
  return status;
}

typedef struct passing {
  const sluice_request *request;
  const sluice_output *output;
  uint64_t bytes;
} passing;

static sluice_status pass_bytes(void *ctx, const sluice_item *item, sluice_error **err) {
  enum { STEP = 64 * 1024 * 1024 };
  passing *passing = ctx;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  sluice_status status = sluice_item_bytes(item, &bytes, &len);
  if (status == SLUICE_OK) {
    status = sluice_output_write(passing->output, bytes, len, SLUICE_FOREVER, err);
  }
  if (passing->bytes / STEP != (passing->bytes + len) / STEP) {
    char message[64];
    snprintf(message, sizeof message, "%" PRIu64 " bytes passed", passing->bytes + len);
    sluice_request_log(passing->request, "info", SLUICE_NUL, SLUICE_CLASS_INTERNAL, message,
                       SLUICE_NUL);
  }
  passing->bytes += len;
  return status;
}

/* Passes bytes on and says every 64 MiB how many there were. */
sluice_status cap_count(void *ctx, const sluice_request *request, sluice_error **err) {
  streams streams;
  passing passing = {NULL, NULL, 0};
  sluice_status status = streams_open(&streams, request, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    passing.request = request;
    passing.output = streams.output;
    status = for_each(streams.input, pass_bytes, &passing, err);
  }
  streams_release(&streams);
  return status;
}
