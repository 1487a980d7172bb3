/* A live feed into a cartridge in another process, and what comes back through a pipeline.
 *
 * Usage: transcode CARTRIDGE, a program that answers cap:fc-feed (tests/cartridges). */
#include <pthread.h>
#include <stdbool.h>

#include "../support.h"

typedef struct sending {
  sluice_feed *feed;
  sluice_output *frames;
  sluice_call *call;
} sending;

/* Twenty frames; the ring could hold them all. */
static void *capture(void *ctx) {
  static const uint8_t frame[1000];
  sluice_feed *feed = ctx;
  uint64_t n;
  for (n = 0; n < 20; n++) {
    MUST(sluice_feed_push(feed, frame, sizeof frame, n * 5000, 0, NULL));
  }
  MUST(sluice_feed_stop(feed));
  return NULL;
}

static void *serve(void *ctx) {
  const sending *sending = ctx;
  MUST(sluice_feed_serve(sending->feed, sending->frames, SLUICE_FOREVER, NULL));
  MUST(sluice_call_finish_input(sending->call, SLUICE_FOREVER, NULL));
  return NULL;
}

/* An item becomes the number that its feed gave it. */
static int32_t number_of(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  sluice_feed_meta meta = SLUICE_FEED_META_INIT;
  (void)ctx, (void)err;
  MUST(sluice_item_feed_meta(value, &meta));
  *out = number((uintptr_t)meta.seq);
  return SLUICE_OK;
}

static void release_item(void *item) { sluice_item_release(item); }

int main(int argc, char **argv) {
  static const char cap[] = "cap:fc-feed;in=media:feed-frames;out=media:items";
  const sluice_mapper mapper = {NULL, number_of, NULL};
  sluice_feed_options options = SLUICE_FEED_OPTIONS_INIT;
  sluice_feed_stats_t stats = SLUICE_FEED_STATS_INIT;
  sluice_engine *engine = NULL;
  sluice_command *command = NULL;
  sluice_peer *transcoder = NULL;
  sluice_input *items = NULL;
  sluice_terminal *ended = NULL;
  sluice_scope *scope = NULL;
  sluice_source *source = NULL;
  sluice_flow *map = NULL;
  sluice_sink *collect = NULL;
  sluice_manual *control = NULL;
  sluice_elements *numbers;
  sluice_run *running;
  sluice_status status;
  sending sending = {NULL, NULL, NULL};
  pthread_t capturing, serving;
  size_t count = 0, i;
  bool sorted = true;
  if (argc != 2) {
    fputs("usage: transcode CARTRIDGE\n", stderr);
    return 2;
  }
  MUST(sluice_engine_new(NULL, &engine, NULL));
  MUST(sluice_command_new(argv[1], SLUICE_NUL, &command));
  MUST(sluice_engine_spawn(engine, command, &transcoder, NULL));
  MUST(sluice_command_release(command));
  MUST(sluice_peer_call(transcoder, cap, SLUICE_NUL, &sending.call, NULL));
  MUST(sluice_call_input(sending.call, "media:feed-frames", SLUICE_NUL, &sending.frames, NULL));
  options.capacity = 64;
  MUST(sluice_feed_new(&options, &sending.feed, NULL));
  pthread_create(&capturing, NULL, capture, sending.feed);
  pthread_create(&serving, NULL, serve, &sending);

  MUST(sluice_scope_new("transcode", SLUICE_NUL, &scope));
  MUST(sluice_source_manual(NULL, &source, NULL));
  MUST(sluice_flow_map(&mapper, &map));
  MUST(sluice_sink_collect(&collect));
  running = run(via(source, map), collect, scope);
  MUST(sluice_run_manual(running, &control));
  MUST(sluice_call_output(sending.call, SLUICE_FOREVER, &items, NULL));
  for (;;) {
    sluice_item *item = NULL;
    sluice_element element = {NULL, release_item, 0};
    sluice_offer offer;
    status = sluice_input_recv(items, SLUICE_FOREVER, &item, NULL);
    if (status == SLUICE_END_OF_STREAM) {
      break;
    }
    MUST(status);
    element.value = item; /* the pipeline's demand decides how fast */
    MUST(sluice_manual_offer(control, &element, SLUICE_FOREVER, &offer, NULL));
  }
  MUST(sluice_manual_complete(control, NULL));
  numbers = results(running);
  pthread_join(capturing, NULL);
  pthread_join(serving, NULL);
  MUST(sluice_call_wait(sending.call, SLUICE_FOREVER, &ended, NULL));
  MUST(sluice_terminal_release(ended));

  MUST(sluice_elements_count(numbers, &count));
  for (i = 1; i < count; i++) {
    sorted = sorted && at(numbers, i - 1) < at(numbers, i);
  }
  MUST(sluice_feed_stats(sending.feed, &stats));
  printf("%zu frames came back, in order: %s\n", count, sorted ? "true" : "false");
  printf("captured %ju, captured = delivered + dropped: %s\n", (uintmax_t)stats.captured,
         stats.captured == stats.delivered + stats.dropped ? "true" : "false");

  MUST(sluice_elements_release(numbers));
  MUST(sluice_manual_release(control));
  MUST(sluice_scope_shutdown(scope, 10000, NULL));
  MUST(sluice_scope_release(scope));
  MUST(sluice_input_release(items));
  MUST(sluice_output_release(sending.frames));
  MUST(sluice_feed_release(sending.feed));
  MUST(sluice_call_release(sending.call));
  MUST(sluice_peer_close(transcoder, 10000, NULL));
  MUST(sluice_peer_release(transcoder));
  MUST(sluice_engine_release(engine));
  return 0;
}
