/* The cartridge of these tests, and a host for it in the same process. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"

static unsigned releases;

unsigned handler_releases(void) {
  return __atomic_load_n(&releases, __ATOMIC_SEQ_CST);
}

static void count_release(void *ctx) {
  (void)ctx;
  __atomic_add_fetch(&releases, 1, __ATOMIC_SEQ_CST);
}

/* Each value of the input goes back as it came. */
static sluice_status copy(const sluice_request *request, bool items, sluice_error **err) {
  sluice_input *input = NULL;
  sluice_output *output = NULL;
  sluice_status status = sluice_request_input(request, SLUICE_FOREVER, &input, err);
  if (status == SLUICE_OK) {
    status = sluice_request_output(request, &output);
  }
  while (status == SLUICE_OK) {
    sluice_item *item = NULL;
    status = sluice_input_recv(input, SLUICE_FOREVER, &item, err);
    if (status == SLUICE_OK) {
      status = items ? sluice_output_emit_list_item(output, item, SLUICE_FOREVER, err)
                     : sluice_output_emit(output, item, SLUICE_FOREVER, err);
      sluice_item_release(item);
    }
  }
  sluice_output_release(output);
  sluice_input_release(input);
  return status == SLUICE_END_OF_STREAM ? SLUICE_OK : status;
}

static sluice_status echo(void *ctx, const sluice_request *request, sluice_error **err) {
  (void)ctx;
  return copy(request, false, err);
}

static sluice_status echo_items(void *ctx, const sluice_request *request, sluice_error **err) {
  (void)ctx;
  return copy(request, true, err);
}

static sluice_status forever(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_start_options options = SLUICE_START_OPTIONS_INIT;
  sluice_output *output = NULL;
  sluice_sender *sender = NULL;
  uint64_t n = 0;
  sluice_status status = sluice_request_output(request, &output);
  (void)ctx;
  options.unbounded = true;
  if (status == SLUICE_OK) {
    status = sluice_output_start(output, &options, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_output_sender(output, &sender);
  }
  while (status == SLUICE_OK) {
    status = sluice_sender_emit_u64(sender, n++, SLUICE_FOREVER, err);
  }
  sluice_sender_release(sender);
  sluice_output_release(output);
  return status;
}

static sluice_status fail(void *ctx, const sluice_request *request, sluice_error **err) {
  (void)ctx;
  (void)request;
  sluice_error_new(SLUICE_REMOTE, "TOO_BIG", SLUICE_NUL, SLUICE_CLASS_INPUT, "as was asked for",
                   SLUICE_NUL, err);
  return SLUICE_REMOTE;
}

static sluice_status talk(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_output *output = NULL;
  sluice_status status = sluice_request_log(request, "info", SLUICE_NUL, SLUICE_CLASS_USER, "hello",
                                            SLUICE_NUL);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = sluice_request_progress(request, 0.5, "half", SLUICE_NUL);
  }
  if (status == SLUICE_OK) {
    status = sluice_request_output(request, &output);
  }
  if (status == SLUICE_OK) {
    status = sluice_output_emit_text(output, "text", SLUICE_NUL, SLUICE_FOREVER, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_request_finish(request, 0.9, "all said", SLUICE_NUL, SLUICE_FOREVER, err);
  }
  sluice_output_release(output);
  return status;
}

static sluice_status chatter(void *ctx, const sluice_request *request, sluice_error **err) {
  const size_t len = 700000; /* of one megabyte that is kept */
  char *text = malloc(len);
  sluice_status status = SLUICE_OK;
  int said;
  (void)ctx;
  (void)err;
  if (text == NULL) {
    return SLUICE_LIMIT_REACHED;
  }
  memset(text, 'x', len);
  for (said = 0; status == SLUICE_OK && said < 3; said++) {
    status = sluice_request_log(request, "info", SLUICE_NUL, SLUICE_CLASS_USER, text, len);
  }
  free(text);
  return status;
}

static sluice_status limited(void *ctx, const sluice_request *request, sluice_error **err) {
  sluice_input *input = NULL;
  sluice_item *item = NULL;
  sluice_op *next = NULL;
  sluice_status status = sluice_request_input(request, SLUICE_FOREVER, &input, err);
  (void)ctx;
  if (status == SLUICE_OK) {
    status = sluice_input_recv(input, SLUICE_FOREVER, &item, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_input_recv_start(input, &next);
  }
  if (status == SLUICE_OK) {
    status = sluice_op_poll(next, NULL, err); /* it waits from here on */
  }
  if (status == SLUICE_WAIT) {
    status = sluice_request_limit(request, 300, err);
  }
  if (status == SLUICE_OK) {
    status = sluice_op_wait(next, SLUICE_FOREVER, err);
  }
  sluice_op_release(next);
  sluice_item_release(item);
  sluice_input_release(input);
  return status == SLUICE_END_OF_STREAM ? SLUICE_OK : status;
}

static void add(sluice_manifest *manifest, const char *urn, bool items, bool streaming) {
  sluice_cap *cap = NULL;
  CHECK_OK(sluice_cap_new(urn, SLUICE_NUL, &cap));
  CHECK_OK(sluice_cap_title(cap, "A cap", SLUICE_NUL));
  CHECK_OK(sluice_cap_input_sequence(cap, items));
  CHECK_OK(sluice_cap_output_sequence(cap, items));
  CHECK_OK(sluice_cap_streaming(cap, streaming));
  CHECK_OK(sluice_manifest_add_cap(manifest, cap));
  CHECK_OK(sluice_cap_release(cap));
}

static void serve(sluice_cartridge *cartridge, const char *urn,
                  sluice_status (*run)(void *, const sluice_request *, sluice_error **)) {
  sluice_handler handler;
  handler.ctx = NULL;
  handler.run = run;
  handler.release = count_release;
  CHECK_OK(sluice_cartridge_handler(cartridge, urn, SLUICE_NUL, &handler));
}

sluice_cartridge *test_cartridge(void) {
  sluice_manifest *manifest = NULL;
  sluice_cartridge *cartridge = NULL;
  CHECK_OK(sluice_manifest_new("c-tests", SLUICE_NUL, "1.0.0", SLUICE_NUL, &manifest));
  CHECK_OK(sluice_manifest_description(manifest, "What the C tests call", SLUICE_NUL));
  add(manifest, CAP_ECHO, false, false);
  add(manifest, CAP_ITEMS, true, false);
  add(manifest, CAP_FOREVER, false, true);
  add(manifest, CAP_FAIL, false, false);
  add(manifest, CAP_TALK, false, false);
  add(manifest, CAP_CHATTER, false, false);
  add(manifest, CAP_LIMITED, false, false);
  CHECK_OK(sluice_cartridge_new(manifest, &cartridge));
  CHECK_OK(sluice_manifest_release(manifest));
  serve(cartridge, CAP_ECHO, echo);
  serve(cartridge, CAP_ITEMS, echo_items);
  serve(cartridge, CAP_FOREVER, forever);
  serve(cartridge, CAP_FAIL, fail);
  serve(cartridge, CAP_TALK, talk);
  serve(cartridge, CAP_CHATTER, chatter);
  serve(cartridge, CAP_LIMITED, limited);
  return cartridge;
}

static void *run_cartridge(void *argument) {
  const pair *pair = argument;
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_cartridge_run_fds(pair->cartridge, pair->fd, pair->fd, &err), err);
  return NULL;
}

void pair_open_over(pair *pair, const sluice_engine_options *options, sluice_cartridge *cartridge,
                    const sluice_faults *faults) {
  int fds[2] = {-1, -1}, host;
  sluice_error *err = NULL;
  pair->cartridge = cartridge;
  pair->engine = NULL;
  pair->peer = NULL;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  pair->fd = fds[1];
  host = fds[0];
  if (faults != NULL) {
    CHECK_OK_ERR(sluice_faults_link(faults, fds[0], &host, &err), err);
  }
  CHECK(pthread_create(&pair->thread, NULL, run_cartridge, pair) == 0);
  CHECK_OK_ERR(sluice_engine_new(options, &pair->engine, &err), err);
  CHECK_OK_ERR(sluice_engine_attach(pair->engine, host, host, &pair->peer, &err), err);
}

void pair_open(pair *pair, const sluice_engine_options *options, sluice_cartridge *cartridge) {
  pair_open_over(pair, options, cartridge, NULL);
}

void pair_close(pair *pair) {
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_peer_close(pair->peer, WAIT_MS, &err), err);
  CHECK(pthread_join(pair->thread, NULL) == 0);
  CHECK_OK(sluice_peer_release(pair->peer));
  CHECK_OK(sluice_engine_release(pair->engine));
  CHECK_OK(sluice_cartridge_release(pair->cartridge));
}
