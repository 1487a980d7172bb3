/* Calls, requests and chains. */
#include <string.h>
#include <sys/socket.h>

#include "check.h"

/* The call is made before the text is looked at. */
#define TEXT_IS(call, text, expected) \
  ((call) == SLUICE_OK && (text) != NULL && strcmp((text), (expected)) == 0)

static void a_handler_may_talk(void) {
  pair pair;
  sluice_call *call = NULL;
  sluice_error *err = NULL;
  sluice_event *event = NULL;
  sluice_event_kind_t kind = SLUICE_EVENT_PROGRESS;
  sluice_class cls = SLUICE_CLASS_DEFAULT;
  sluice_terminal *terminal = NULL;
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  const char *text = NULL;
  double value = 0;
  size_t len = 0;
  pair_open(&pair, NULL, test_cartridge());
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_TALK, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_next_event(call, WAIT_MS, &event, &err), err);
  CHECK_OK(sluice_event_kind(event, &kind));
  CHECK(kind == SLUICE_EVENT_LOG);
  CHECK(TEXT_IS(sluice_event_level(event, &text, NULL), text, "info"));
  CHECK(TEXT_IS(sluice_event_message(event, &text, NULL), text, "hello"));
  CHECK_OK(sluice_event_class(event, &cls));
  CHECK(cls == SLUICE_CLASS_USER);
  CHECK_OK(sluice_event_release(event));
  CHECK_OK_ERR(sluice_call_next_event(call, WAIT_MS, &event, &err), err);
  CHECK_OK(sluice_event_kind(event, &kind));
  CHECK(kind == SLUICE_EVENT_PROGRESS);
  CHECK_OK(sluice_event_value(event, &value));
  CHECK(value > 0.49 && value < 0.51);
  CHECK_OK(sluice_event_level(event, &text, NULL));
  CHECK(text == NULL);
  CHECK_OK(sluice_event_release(event));
  CHECK_OK_ERR(sluice_call_next_output(call, WAIT_MS, &output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_text(output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_text(item, &text, &len));
  CHECK(len == 4 && memcmp(text, "text", 4) == 0);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK_ERR(sluice_call_wait(call, WAIT_MS, &terminal, &err), err);
  CHECK_OK(sluice_terminal_progress(terminal, &value));
  CHECK(value > 0.89 && value < 0.91);
  CHECK(TEXT_IS(sluice_terminal_message(terminal, &text, NULL), text, "all said"));
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_call_next_output(call, WAIT_MS, &output, &err));
  CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_call_next_event(call, WAIT_MS, &event, &err));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

static void a_failure_is_the_handlers_own(void) {
  pair pair;
  sluice_call *call = NULL;
  sluice_error *err = NULL;
  sluice_terminal *terminal = NULL;
  sluice_class cls = SLUICE_CLASS_DEFAULT;
  const char *text = NULL;
  pair_open(&pair, NULL, test_cartridge());
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_FAIL, SLUICE_NUL, &call, &err), err);
  CHECK_STATUS(SLUICE_REMOTE, sluice_call_wait(call, WAIT_MS, &terminal, &err));
  CHECK(TEXT_IS(sluice_error_code(err, &text, NULL), text, "TOO_BIG"));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(text != NULL && strstr(text, "as was asked for") != NULL);
  CHECK_OK(sluice_error_class(err, &cls));
  CHECK(cls == SLUICE_CLASS_INPUT);
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  CHECK_OK(sluice_call_release(call));
  CHECK_OK_ERR(sluice_peer_call(pair.peer, "cap:nobody", SLUICE_NUL, &call, &err), err);
  CHECK_STATUS(SLUICE_NO_HANDLER, sluice_call_wait(call, WAIT_MS, &terminal, &err));
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

static void a_peer_tells_its_caps(void) {
  pair pair;
  size_t count = 0, i;
  bool found = false;
  const char *json = NULL;
  uint32_t pid = 9;
  sluice_error *dead = NULL;
  pair_open(&pair, NULL, test_cartridge());
  CHECK_OK(sluice_peer_cap_count(pair.peer, &count));
  CHECK(count == 8); /* with the identity */
  for (i = 0; i < count; i++) {
    sluice_cap_info info = SLUICE_CAP_INFO_INIT;
    CHECK_OK(sluice_peer_cap(pair.peer, i, &info));
    if (strcmp(info.urn, CAP_ITEMS) == 0) {
      found = info.in_sequence && info.out_sequence && strcmp(info.title, "A cap") == 0 &&
              strcmp(info.in_media, "media:items") == 0;
    }
  }
  CHECK(found);
  {
    sluice_cap_info info = SLUICE_CAP_INFO_INIT;
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_peer_cap(pair.peer, count, &info));
  }
  CHECK_OK(sluice_peer_manifest_json(pair.peer, &json, NULL));
  CHECK(json != NULL && strstr(json, "What the C tests call") != NULL);
  CHECK_OK(sluice_peer_pid(pair.peer, &pid));
  CHECK(pid == 0);
  CHECK_OK(sluice_peer_dead(pair.peer, &dead));
  CHECK(dead == NULL);
  CHECK_OK(sluice_peer_kill(pair.peer));
  CHECK_OK(sluice_peer_dead(pair.peer, &dead));
  CHECK(dead != NULL);
  CHECK_OK(sluice_error_release(dead));
  pair_close(&pair);
}

static void handlers_are_released_once(void) {
  const unsigned before = handler_releases();
  sluice_cartridge *cartridge = test_cartridge();
  sluice_handler handler = {NULL, NULL, NULL};
  CHECK(handler_releases() == before);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_cartridge_handler(cartridge, CAP_ECHO, SLUICE_NUL, &handler));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_cartridge_handler(cartridge, CAP_ECHO, SLUICE_NUL, NULL));
  CHECK_OK(sluice_cartridge_release(cartridge));
  CHECK(handler_releases() == before + 7);
}

/* Two cartridges in a chain, and the pull side of a cartridge: a session that hands out requests. */
typedef struct pulled {
  int fd;
  unsigned served;
} pulled;

static void *serve_by_hand(void *argument) {
  pulled *pulled = argument;
  sluice_manifest *manifest = NULL;
  sluice_cap *cap = NULL;
  sluice_cartridge *cartridge = NULL;
  sluice_session *session = NULL;
  sluice_request *request = NULL;
  sluice_error *err = NULL;
  sluice_limits limits = SLUICE_LIMITS_INIT;
  const char *text = NULL;
  CHECK_OK(sluice_manifest_new("by-hand", SLUICE_NUL, "1", SLUICE_NUL, &manifest));
  CHECK_OK(sluice_cap_new(CAP_ECHO, SLUICE_NUL, &cap));
  CHECK_OK(sluice_manifest_add_cap(manifest, cap));
  CHECK_OK(sluice_cartridge_new(manifest, &cartridge));
  CHECK_OK_ERR(sluice_cartridge_serve_fds(cartridge, pulled->fd, pulled->fd, &session, &err), err);
  CHECK_OK(sluice_session_limits(session, &limits));
  CHECK(limits.initial_credit == 32);
  while (sluice_session_next_request(session, WAIT_MS, &request, &err) == SLUICE_OK) {
    sluice_input *input = NULL;
    sluice_output *output = NULL;
    sluice_error *reason = NULL;
    uint64_t chunks = 0;
    pulled->served += 1;
    CHECK(TEXT_IS(sluice_request_cap(request, &text, NULL), text, CAP_ECHO));
    CHECK_OK(sluice_request_id(request, &text, NULL));
    CHECK(strlen(text) == 36);
    CHECK_OK_ERR(sluice_request_next_input(request, WAIT_MS, &input, &err), err);
    CHECK_OK(sluice_request_output(request, &output));
    CHECK_OK_ERR(sluice_forward(input, output, WAIT_MS, &chunks, &err), err);
    CHECK(chunks == 50);
    CHECK_OK(sluice_input_release(input));
    CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_request_next_input(request, WAIT_MS, &input, &err));
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
                 sluice_request_output_for(request, "media:none", SLUICE_NUL, &output, &err));
    CHECK_OK(sluice_error_release(err));
    err = NULL;
    CHECK_OK(sluice_request_cancel_reason(request, &reason));
    CHECK(reason == NULL);
    CHECK_STATUS(SLUICE_TIMED_OUT, sluice_request_cancelled(request, 0, &reason));
    CHECK_OK_ERR(sluice_request_finish(request, 1.0, NULL, 0, WAIT_MS, &err), err);
    CHECK_OK(sluice_request_cancelled(request, WAIT_MS, &reason));
    CHECK_OK(sluice_error_release(reason));
    CHECK_OK(sluice_output_release(output));
    CHECK_OK(sluice_request_release(request));
  }
  CHECK(err == NULL);
  CHECK_OK(sluice_session_close(session));
  CHECK_OK(sluice_session_release(session));
  CHECK_OK(sluice_cartridge_release(cartridge));
  CHECK_OK(sluice_cap_release(cap));
  CHECK_OK(sluice_manifest_release(manifest));
  return NULL;
}

static void calls_can_be_chained(void) {
  pair pair;
  pulled pulled = {-1, 0};
  pthread_t thread;
  int fds[2] = {-1, -1};
  sluice_peer *second = NULL;
  sluice_call *first_call = NULL, *second_call = NULL;
  sluice_output *first_in = NULL, *second_in = NULL;
  sluice_input *first_out = NULL, *second_out = NULL;
  sluice_error *err = NULL;
  sluice_op *op = NULL;
  sluice_terminal *terminal = NULL;
  uint64_t moved = 0, n;
  pair_open(&pair, NULL, test_cartridge());
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  pulled.fd = fds[1];
  CHECK(pthread_create(&thread, NULL, serve_by_hand, &pulled) == 0);
  CHECK_OK_ERR(sluice_engine_attach(pair.engine, fds[0], fds[0], &second, &err), err);
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ECHO, SLUICE_NUL, &first_call, &err), err);
  CHECK_OK_ERR(sluice_peer_call(second, CAP_ECHO, SLUICE_NUL, &second_call, &err), err);
  CHECK_OK(sluice_call_input(first_call, "media:blob", SLUICE_NUL, &first_in, NULL));
  CHECK_OK(sluice_call_input(second_call, "media:blob", SLUICE_NUL, &second_in, NULL));
  CHECK_OK_ERR(sluice_output_emit_u64(first_in, 0, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(first_call, WAIT_MS, &first_out, &err), err);
  CHECK_OK(sluice_forward_start(first_out, second_in, &op));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(op, 0, &err));
  for (n = 1; n < 50; n++) {
    CHECK_OK_ERR(sluice_output_emit_u64(first_in, n, WAIT_MS, &err), err);
    (void)sluice_op_wait(op, 0, NULL); /* moves what is there */
  }
  CHECK_OK_ERR(sluice_call_finish_input(first_call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_take_count(op, &moved));
  CHECK(moved == 50);
  CHECK_OK(sluice_op_release(op));
  CHECK_OK_ERR(sluice_call_finish_input(second_call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(second_call, WAIT_MS, &second_out, &err), err);
  for (n = 0; n < 50; n++) {
    sluice_item *item = NULL;
    uint64_t is = 0;
    CHECK_OK_ERR(sluice_input_recv(second_out, WAIT_MS, &item, &err), err);
    CHECK_OK(sluice_item_u64(item, &is));
    CHECK(is == n);
    CHECK_OK(sluice_item_release(item));
  }
  CHECK_OK_ERR(sluice_call_wait(second_call, WAIT_MS, &terminal, &err), err);
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK_OK(sluice_input_release(first_out));
  CHECK_OK(sluice_input_release(second_out));
  CHECK_OK(sluice_output_release(first_in));
  CHECK_OK(sluice_output_release(second_in));
  CHECK_OK(sluice_call_release(first_call));
  CHECK_OK(sluice_call_release(second_call));
  CHECK_OK_ERR(sluice_peer_close(second, WAIT_MS, &err), err);
  CHECK_OK(sluice_peer_release(second));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(pulled.served == 1);
  pair_close(&pair);
}

const check_case call_cases[] = {
    {"call: a handler may talk", a_handler_may_talk},
    {"call: a failure is the handler's own", a_failure_is_the_handlers_own},
    {"call: a peer tells its caps", a_peer_tells_its_caps},
    {"call: handlers are released once", handlers_are_released_once},
    {"call: calls can be chained", calls_can_be_chained},
    {NULL, NULL}};
