/* What a cartridge says of itself, told by one that serves by hand: a handler has no session. */
#include <stddef.h>

#include "caps.h"

#define STATS "cap:fc-stats;in=media:blob;out=media:json"

/* Reads its argument, answers a window full of integers, and then what the cartridge says of itself. */
static sluice_status answer(const sluice_session *session, const sluice_request *request,
                            sluice_error **err) {
  streams streams;
  sluice_item *told = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  uint64_t n;
  sluice_status status = streams_open(&streams, request, err);
  if (status == SLUICE_OK) {
    status = for_each(streams.input, ignore, NULL, err);
  }
  for (n = 0; n < 32 && status == SLUICE_OK; n++) {
    /* A window full: what comes next waits for the host to have read. */
    status = sluice_output_emit_u64(streams.output, n, SLUICE_FOREVER, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_session_stats(session, &told);
  }
  if (status == SLUICE_OK) {
    status = sluice_item_bytes(told, &bytes, &len);
  }
  if (status == SLUICE_OK) {
    status = sluice_output_write(streams.output, bytes, len, SLUICE_FOREVER, err);
  }
  sluice_item_release(told);
  streams_release(&streams);
  return status;
}

static sluice_status answer_all(const sluice_session *session, sluice_error **err) {
  for (;;) {
    sluice_request *request = NULL;
    sluice_status status = sluice_session_next_request(session, SLUICE_FOREVER, &request, err);
    if (status != SLUICE_OK) {
      return status == SLUICE_END_OF_STREAM ? SLUICE_OK : status;
    }
    status = answer(session, request, err);
    if (status == SLUICE_OK) {
      status = sluice_request_finish(request, 1.0, NULL, 0, SLUICE_FOREVER, err);
    }
    sluice_request_release(request); /* one that has not ended fails */
    if (status != SLUICE_OK) {
      return status;
    }
  }
}

sluice_status serve_stats(sluice_error **err) {
  sluice_manifest *manifest = NULL;
  sluice_cartridge *cartridge = NULL;
  sluice_session *session = NULL;
  sluice_cap *cap = NULL;
  sluice_status status = sluice_cap_new(STATS, SLUICE_NUL, &cap);
  if (status == SLUICE_OK) {
    status = sluice_manifest_new("reference-c", SLUICE_NUL, "1.0.0", SLUICE_NUL, &manifest);
  }
  if (status == SLUICE_OK) {
    status = sluice_manifest_add_cap(manifest, cap);
  }
  if (status == SLUICE_OK) {
    status = sluice_cartridge_new(manifest, &cartridge);
  }
  if (status == SLUICE_OK) {
    status = sluice_cartridge_serve_stdio(cartridge, &session, err);
  }
  if (status == SLUICE_OK) {
    status = answer_all(session, err);
  }
  sluice_session_release(session);
  sluice_cartridge_release(cartridge);
  sluice_manifest_release(manifest);
  sluice_cap_release(cap);
  return status;
}
