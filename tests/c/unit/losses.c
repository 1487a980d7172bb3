/* What is lost is told: by an engine, a switch, a host and a cartridge. The other end is played by hand. */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

/* HELLO of version 6, with the default limits: a host, or a caller. */
static const uint8_t HELLO[] = {
    0x00, 0x00, 0x00, 0x58, 0xa5, 0x00, 0x06, 0x01, 0x00, 0x02, 0x00, 0x03, 0x00, 0x05, 0xa5, 0x69,
    0x6d, 0x61, 0x78, 0x5f, 0x66, 0x72, 0x61, 0x6d, 0x65, 0x1a, 0x00, 0x38, 0x00, 0x00, 0x69, 0x6d,
    0x61, 0x78, 0x5f, 0x63, 0x68, 0x75, 0x6e, 0x6b, 0x1a, 0x00, 0x04, 0x00, 0x00, 0x72, 0x6d, 0x61,
    0x78, 0x5f, 0x72, 0x65, 0x6f, 0x72, 0x64, 0x65, 0x72, 0x5f, 0x62, 0x75, 0x66, 0x66, 0x65, 0x72,
    0x18, 0x40, 0x6e, 0x69, 0x6e, 0x69, 0x74, 0x69, 0x61, 0x6c, 0x5f, 0x63, 0x72, 0x65, 0x64, 0x69,
    0x74, 0x18, 0x20, 0x67, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x06,
};
/* POLICY of a switch: the whole network, requests are routed. */
static const uint8_t POLICY[] = {
    0x00, 0x00, 0x00, 0x22, 0xa5, 0x00, 0x06, 0x01, 0x0f, 0x02, 0x00, 0x03, 0x00, 0x05, 0xa2, 0x67,
    0x6e, 0x65, 0x74, 0x77, 0x6f, 0x72, 0x6b, 0x64, 0x66, 0x75, 0x6c, 0x6c, 0x68, 0x72, 0x6f, 0x75,
    0x74, 0x61, 0x62, 0x6c, 0x65, 0xf5,
};
/* A CHUNK of request 99, which there never was. */
static const uint8_t STRAY[] = {
    0x00, 0x00, 0x00, 0x1d, 0xa8, 0x00, 0x06, 0x01, 0x03, 0x02, 0x18, 0x63, 0x03, 0x00, 0x06, 0x41,
    0x00, 0x0b, 0x62, 0x69, 0x6e, 0x0e, 0x00, 0x10, 0x1b, 0xaf, 0x63, 0xbd, 0x4c, 0x86, 0x01, 0xb7,
    0xdf,
};

static void send_frame(int fd, const uint8_t *frame, size_t len) {
  CHECK(send(fd, frame, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* Frames that wait to be read by whoever has the other end, which is answered. */
static int played_by(const uint8_t *frame, size_t len, int *far) {
  int ends[2] = {-1, -1};
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  send_frame(ends[1], frame, len);
  *far = ends[1];
  return ends[0];
}

static void answers(sluice_op *op) {
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
}

static void is_of_a_stray(sluice_item *told, const char *party) {
  char all[256];
  CHECK(snprintf(all, sizeof all,
                 "{\"count\":1,\"frame_type\":\"chunk\",\"party\":\"%s\",\"reason\":\"no_route\","
                 "\"severity\":\"warning\",\"total\":1}",
                 party) > 0);
  CHECK(says(told, all));
}

static void an_engine_tells_what_is_lost(void) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_call *call = NULL;
  sluice_terminal *terminal = NULL;
  sluice_item *told = NULL;
  sluice_error *err = NULL;
  pair pair;
  options.quiet_losses = true;
  options.handshake_timeout_ms = WAIT_MS;
  options.heartbeat_ms = -1;
  pair_open(&pair, &options, test_cartridge());
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_engine_next_loss(pair.engine, 0, &told));
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_CHATTER, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_wait(call, WAIT_MS, &terminal, &err), err);
  do { /* a grant may have crossed the end of the call */
    CHECK_OK(sluice_engine_next_loss(pair.engine, WAIT_MS, &told));
    CHECK_OK(sluice_item_retain(told));
  } while (says(told, "\"reason\":\"straggler\",\"severity\":\"debug\"") &&
           sluice_item_release(told) == SLUICE_OK);
  CHECK(says(told, "\"reason\":\"event_unread\",\"severity\":\"warning\""));
  CHECK_OK(sluice_terminal_release(terminal));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

static void a_switch_tells_what_is_lost(void) {
  sluice_switch_options options = SLUICE_SWITCH_OPTIONS_INIT;
  sluice_switch *relay = NULL;
  sluice_item *told = NULL;
  sluice_error *err = NULL;
  sluice_op *op = NULL;
  int far, near = played_by(HELLO, sizeof HELLO, &far);
  options.quiet_losses = true;
  options.join_timeout_ms = WAIT_MS;
  CHECK_OK_ERR(sluice_switch_new(&options, &relay, &err), err);
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_switch_next_loss(relay, 0, &told));
  CHECK_OK(sluice_switch_attach_start(relay, "caller", SLUICE_NUL, near, near, &op));
  answers(op);
  CHECK_OK(sluice_op_release(op));
  send_frame(far, STRAY, sizeof STRAY);
  CHECK_OK(sluice_switch_next_loss_start(relay, &op));
  answers(op);
  CHECK_OK(sluice_op_take_item(op, &told));
  is_of_a_stray(told, "switch");
  CHECK_OK(sluice_op_release(op));
  close(far);
  CHECK_OK(sluice_switch_release(relay));
}

static void a_host_tells_what_is_lost(void) {
  sluice_engine_options engine = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_host_options options = SLUICE_HOST_OPTIONS_INIT;
  sluice_host *host = NULL;
  sluice_item *told = NULL;
  sluice_error *err = NULL;
  sluice_op *op = NULL;
  int far, near = played_by(POLICY, sizeof POLICY, &far);
  engine.quiet_losses = true;
  engine.handshake_timeout_ms = WAIT_MS;
  options.engine = &engine;
  CHECK_OK_ERR(sluice_host_new(&options, &host, &err), err);
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_host_next_loss(host, 0, &told));
  CHECK_OK(sluice_host_join_start(host, near, near, &op));
  answers(op);
  CHECK_OK(sluice_op_release(op));
  send_frame(far, STRAY, sizeof STRAY);
  CHECK_OK(sluice_host_next_loss_start(host, &op));
  answers(op);
  CHECK_OK(sluice_op_take_item(op, &told));
  is_of_a_stray(told, "host");
  CHECK_OK(sluice_op_release(op));
  close(far);
  CHECK_OK(sluice_host_release(host));
}

/* What all that is served with a cartridge loses, one after the other. */
static void a_cartridge_tells_what_is_lost(void) {
  sluice_manifest *manifest = NULL;
  sluice_cartridge *cartridge = NULL;
  int round;
  CHECK_OK(sluice_manifest_new("loses", SLUICE_NUL, "1", SLUICE_NUL, &manifest));
  CHECK_OK(sluice_cartridge_new(manifest, &cartridge));
  CHECK_OK(sluice_manifest_release(manifest));
  CHECK_OK(sluice_cartridge_quiet_losses(cartridge, true));
  for (round = 0; round < 2; round++) {
    sluice_session *session = NULL;
    sluice_request *request = NULL;
    sluice_item *told = NULL;
    sluice_op *op = NULL;
    int far, near = played_by(HELLO, sizeof HELLO, &far);
    CHECK_STATUS(SLUICE_TIMED_OUT, sluice_cartridge_next_loss(cartridge, 0, &told));
    CHECK_OK(sluice_cartridge_serve_fds_start(cartridge, near, near, &op));
    answers(op);
    CHECK_OK(sluice_op_take_session(op, &session));
    CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_session(op, &session));
    CHECK_OK(sluice_op_release(op));
    send_frame(far, STRAY, sizeof STRAY);
    CHECK_OK(sluice_cartridge_next_loss_start(cartridge, &op));
    answers(op);
    CHECK_OK(sluice_op_take_item(op, &told));
    is_of_a_stray(told, "loses");
    CHECK_OK(sluice_op_release(op));
    close(far);
    CHECK_STATUS(SLUICE_END_OF_STREAM, sluice_session_next_request(session, WAIT_MS, &request, NULL));
    CHECK_OK(sluice_session_release(session));
  }
  CHECK_OK(sluice_cartridge_release(cartridge));
}

const check_case loss_cases[] = {
    {"an_engine_tells_what_is_lost", an_engine_tells_what_is_lost},
    {"a_switch_tells_what_is_lost", a_switch_tells_what_is_lost},
    {"a_host_tells_what_is_lost", a_host_tells_what_is_lost},
    {"a_cartridge_tells_what_is_lost", a_cartridge_tells_what_is_lost},
    {NULL, NULL},
};
