/* The reference cartridge in C: every cap of tests/cartridges/README.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "caps.h"

typedef struct entry {
  const char *urn;
  handler *run;
  bool items;          /* input and output are sequences */
  bool streaming;      /* the output may have no end */
  bool second_output;
} entry;

static const entry entries[] = {
    {"cap:fc-echo;in=media:blob;out=media:blob", cap_echo, false, false, false},
    {"cap:fc-items;in=media:items;out=media:items", cap_items, true, false, false},
    {"cap:fc-produce;in=media:json;out=media:blob", cap_produce, false, false, false},
    {"cap:fc-feed;in=media:feed-frames;out=media:items", cap_items, true, false, false},
    {"cap:fc-peer;in=media:blob;out=media:blob", cap_peer, false, false, false},
    {"cap:fc-sink;in=media:blob;out=media:json", cap_sink, false, false, false},
    {"cap:fc-slow;in=media:blob;out=media:json", cap_slow, false, false, false},
    {"cap:fc-digest;in=media:blob;out=media:json", cap_digest, false, false, false},
    {"cap:fc-forever;in=media:blob;out=media:blob", cap_forever, false, true, false},
    {"cap:fc-two;in=media:json;out=media:blob", cap_two, false, false, true},
    {"cap:fc-multi;in=media:blob;out=media:text", cap_multi, false, false, true},
    {"cap:fc-stderr;in=media:blob;out=media:text", cap_stderr, false, false, false},
    {"cap:fc-crash;in=media:blob;out=media:blob", cap_crash, false, false, false},
    {"cap:count;in=media:blob;out=media:blob", cap_count, false, false, false},
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

sluice_status streams_open(streams *streams, const sluice_request *request, sluice_error **err) {
  sluice_status status;
  streams->input = NULL;
  streams->output = NULL;
  status = sluice_request_input(request, SLUICE_FOREVER, &streams->input, err);
  return status == SLUICE_OK ? sluice_request_output(request, &streams->output) : status;
}

void streams_release(streams *streams) {
  sluice_input_release(streams->input);
  sluice_output_release(streams->output);
}

sluice_status for_each(const sluice_input *input, each *each, void *ctx, sluice_error **err) {
  for (;;) {
    sluice_item *item = NULL;
    sluice_status status = sluice_input_recv(input, SLUICE_FOREVER, &item, err);
    if (status != SLUICE_OK) {
      return status == SLUICE_END_OF_STREAM ? SLUICE_OK : status;
    }
    status = each(ctx, item, err);
    sluice_item_release(item);
    if (status != SLUICE_OK) {
      return status;
    }
  }
}

sluice_status write_text(const sluice_output *output, const char *text, sluice_error **err) {
  return sluice_output_write(output, (const uint8_t *)text, strlen(text), SLUICE_FOREVER, err);
}

static sluice_status declare(sluice_manifest *manifest, const entry *entry) {
  sluice_cap *cap = NULL;
  sluice_status status = sluice_cap_new(entry->urn, SLUICE_NUL, &cap);
  if (status == SLUICE_OK) {
    sluice_cap_input_sequence(cap, entry->items);
    sluice_cap_output_sequence(cap, entry->items);
    sluice_cap_streaming(cap, entry->streaming);
    if (entry->second_output) {
      sluice_cap_add_output(cap, SECOND, SLUICE_NUL, false);
    }
    status = sluice_manifest_add_cap(manifest, cap);
    sluice_cap_release(cap);
  }
  return status;
}

/* Proposes the window that FC_WINDOW names, if it does. */
static sluice_status propose(const sluice_cartridge *cartridge) {
  const char *window = getenv("FC_WINDOW");
  sluice_limits limits = SLUICE_LIMITS_INIT;
  if (window == NULL) {
    return SLUICE_OK;
  }
  limits.initial_credit = strtoull(window, NULL, 10);
  return sluice_cartridge_limits(cartridge, &limits);
}

static sluice_status run(sluice_error **err) {
  sluice_manifest *manifest = NULL;
  sluice_cartridge *cartridge = NULL;
  sluice_status status =
      sluice_manifest_new("reference-c", SLUICE_NUL, "1.0.0", SLUICE_NUL, &manifest);
  int i;
  sluice_manifest_description(manifest, "Every reference cap, in C", SLUICE_NUL);
  for (i = 0; i < ENTRIES && status == SLUICE_OK; i++) {
    status = declare(manifest, &entries[i]);
  }
  if (status == SLUICE_OK) {
    status = sluice_cartridge_new(manifest, &cartridge);
  }
  if (status == SLUICE_OK) {
    status = propose(cartridge);
  }
  for (i = 0; i < ENTRIES && status == SLUICE_OK; i++) {
    sluice_handler handler = {NULL, NULL, NULL};
    handler.run = entries[i].run;
    status = sluice_cartridge_handler(cartridge, entries[i].urn, SLUICE_NUL, &handler);
  }
  if (status == SLUICE_OK) {
    status = sluice_cartridge_run_stdio(cartridge, err);
  }
  sluice_cartridge_release(cartridge);
  sluice_manifest_release(manifest);
  return status;
}

int main(void) {
  sluice_error *err = NULL;
  const sluice_status status = getenv("FC_STATS") == NULL ? run(&err) : serve_stats(&err);
  const char *text = sluice_status_text(status);
  if (status == SLUICE_OK) {
    return 0;
  }
  sluice_error_text(err, &text, NULL);
  fprintf(stderr, "%s\n", text);
  sluice_error_release(err);
  return 1;
}
