/* The caps of tests/cartridges/README.md, and what they share. */
#ifndef CAPS_H
#define CAPS_H

#include <stdbool.h>
#include <stdint.h>

#include <sluicegate.h>

#define SECOND "media:second"

/* A handler: SLUICE_OK finishes the request, anything else fails it. */
typedef sluice_status handler(void *ctx, const sluice_request *request, sluice_error **err);

handler cap_echo, cap_items, cap_sink, cap_slow, cap_multi, cap_stderr; /* flow.c */
handler cap_count, cap_crash;
handler cap_produce, cap_forever, cap_two; /* produce.c */
handler cap_digest;                        /* digest.c */
handler cap_peer;                          /* peer.c */

/* The first input and the main output of a request. */
typedef struct streams {
  sluice_input *input;
  sluice_output *output;
} streams;

sluice_status streams_open(streams *streams, const sluice_request *request, sluice_error **err);
void streams_release(streams *streams);

/* Does something with one value; the item is borrowed. */
typedef sluice_status each(void *ctx, const sluice_item *item, sluice_error **err);

/* Hands every value of an input to `each`, up to the clean end or the first failure. */
sluice_status for_each(const sluice_input *input, each *each, void *ctx, sluice_error **err);

/* For a value that nothing is done with. */
each ignore;

/* Writes a text as one byte string. */
sluice_status write_text(const sluice_output *output, const char *text, sluice_error **err);

/* Serves a cap that says what is live and what was lost, and no other; stats.c. */
sluice_status serve_stats(sluice_error **err);

#endif
