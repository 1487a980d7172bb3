/* Relays, and what a process says of itself: this program itself is the cartridge, as `--cartridge`. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

static sluice_command *own_command(void) {
  sluice_command *command = NULL;
  char path[4096];
  const ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
  CHECK(len > 0);
  path[len > 0 ? len : 0] = '\0';
  CHECK_OK(sluice_command_new(path, SLUICE_NUL, &command));
  CHECK_OK(sluice_command_arg(command, "--cartridge", SLUICE_NUL));
  return command;
}

static void echo_through(const sluice_peer *peer) {
  sluice_call *call = NULL;
  sluice_output *input = NULL;
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  const uint8_t *bytes = NULL;
  size_t len = 0;
  CHECK_OK_ERR(sluice_peer_call(peer, CAP_ECHO, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_input(call, "media:blob", SLUICE_NUL, &input, &err), err);
  CHECK_OK_ERR(sluice_output_write(input, (const uint8_t *)"hello", 5, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_finish_input(call, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_bytes(output, WAIT_MS, &item, &err), err);
  CHECK_OK(sluice_item_bytes(item, &bytes, &len));
  CHECK(len == 5 && memcmp(bytes, "hello", 5) == 0);
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK(sluice_output_release(input));
  CHECK_OK(sluice_call_release(call));
}

static void a_call_goes_through_a_switch_and_a_host(void) {
  sluice_switch_options switch_options = SLUICE_SWITCH_OPTIONS_INIT;
  sluice_host_options host_options = SLUICE_HOST_OPTIONS_INIT;
  sluice_engine_options engine_options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_switch *relay = NULL;
  sluice_host *host = NULL;
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_command *command = own_command();
  sluice_control *control = NULL;
  sluice_item *place = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  sluice_op *left = NULL;
  const char *address = NULL;
  size_t address_len = 0;
  bool found = true;
  engine_options.heartbeat_ms = -1;
  host_options.engine = &engine_options;
  CHECK_OK_ERR(sluice_switch_new(&switch_options, &relay, &err), err);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_switch_listen(relay, "nowhere", SLUICE_NUL, NULL, NULL));
  CHECK_OK_ERR(sluice_switch_listen(relay, "tcp:127.0.0.1:0", SLUICE_NUL, &place, &err), err);
  CHECK_OK(sluice_item_text(place, &address, &address_len));
  CHECK_OK_ERR(sluice_host_new(&host_options, &host, &err), err);
  CHECK_OK_ERR(sluice_host_add(host, command, &err), err);
  CHECK_OK_ERR(sluice_host_join_at(host, address, address_len, &err), err);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_host_join_at(host, address, address_len, NULL));
  do { /* it is being asked who it is; the alarm ends a wait in vain */
    CHECK_OK(sluice_switch_caps(relay, &item));
  } while (!says(item, CAP_ECHO));
  CHECK_OK_ERR(sluice_engine_new(NULL, &engine, &err), err);
  CHECK_OK_ERR(sluice_engine_connect(engine, address, address_len, &peer, &err), err);
  echo_through(peer);
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK_ERR(sluice_switch_caller(relay, engine, &peer, &err), err);
  echo_through(peer);
  CHECK_OK(sluice_switch_caps(relay, &item));
  CHECK(says(item, CAP_ECHO));
  CHECK_OK(sluice_switch_stats(relay, &item));
  CHECK(says(item, "\"total_registered\":"));
  do { /* what has ended is forgotten a moment later */
    CHECK_OK(sluice_switch_explain(relay, &item));
  } while (!says(item, "\"culprits\":[]"));
  CHECK_OK(sluice_host_stats(host, &item));
  CHECK(says(item, "\"overruns_total\":0"));
  do { /* a cartridge that is busy may be late with its answer */
    CHECK_OK(sluice_host_explain(host, &item));
  } while (!says(item, "\"silent\":[]"));
  CHECK_OK(sluice_host_state(host, &item));
  CHECK(item == NULL);
  CHECK_OK_ERR(sluice_switch_set_state(relay, (const uint8_t *)"kept", 4, &err), err);
  CHECK_OK_ERR(sluice_host_serve_control(host, NULL, 0, &control, &err), err);
  CHECK_OK(sluice_control_release(control));
  CHECK_OK_ERR(sluice_switch_serve_control(relay, NULL, 0, &control, &err), err);
  CHECK_OK(sluice_control_release(control));
  CHECK_OK(sluice_host_retire(host, "nobody", SLUICE_NUL, &found));
  CHECK(!found);
  CHECK_OK(sluice_host_dead(host, &err));
  CHECK(err == NULL);
  CHECK_OK(sluice_host_left_start(host, &left));
  CHECK_OK(sluice_switch_close(relay));
  CHECK_OK_ERR(sluice_op_wait(left, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_release(left));
  CHECK_OK(sluice_host_close(host));
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_engine_release(engine));
  CHECK_OK(sluice_host_release(host));
  CHECK_OK(sluice_switch_release(relay));
  CHECK_OK(sluice_item_release(place));
  CHECK_OK(sluice_command_release(command));
}

static void what_stands_still_is_told(void) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_command *command = own_command();
  sluice_call *call = NULL;
  sluice_input *output = NULL;
  sluice_control *control = NULL;
  sluice_item *told = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  const char *json = NULL;
  const char *id = NULL;
  const char *address = NULL;
  char pid[32];
  size_t len = 0;
  options.stall_ms = 50;
  CHECK_OK_ERR(sluice_engine_new(&options, &engine, &err), err);
  CHECK_OK_ERR(sluice_engine_spawn(engine, command, &peer, &err), err);
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_engine_next_stall(engine, 0, &told));
  CHECK_OK_ERR(sluice_peer_call(peer, CAP_FOREVER, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &output, &err), err);
  for (bool unread = false; !unread;) { /* it may stand in a queue before it begins */
    CHECK_OK(sluice_engine_next_stall(engine, WAIT_MS, &told));
    CHECK_OK(sluice_item_text(told, &json, &len));
    unread = strstr(json, "\"waits_for\":\"unread\"") != NULL;
    if (!unread) {
      CHECK_OK(sluice_item_release(told));
    }
  }
  CHECK_OK(sluice_explanation_text(json, len, &item));
  CHECK(says(item, "HOLDS THE OTHERS UP: this process has not read stream"));
  CHECK_OK(sluice_call_id(call, &id, NULL));
  CHECK_OK(sluice_explanation_of(json, len, id, SLUICE_NUL, &item));
  CHECK(says(item, "\"waits_for\":\"unread\""));
  CHECK_OK(sluice_explanation_of(json, len, "other", SLUICE_NUL, &item));
  CHECK(says(item, "\"standing\":[]"));
  CHECK_STATUS(SLUICE_MALFORMED, sluice_explanation_text("{", 1, &item));
  CHECK_OK(sluice_item_release(told));
  CHECK_OK(sluice_engine_stats(engine, &item));
  CHECK(says(item, "{\"cartridges\":[{"));
  CHECK_OK(sluice_peer_stats(peer, &item));
  CHECK(says(item, id));
  CHECK_OK_ERR(sluice_engine_serve_control(engine, NULL, 0, &control, &err), err);
  CHECK_OK(sluice_control_address(control, &address, NULL));
  CHECK(strncmp(address, "unix:", 5) == 0);
  snprintf(pid, sizeof pid, "%ld", (long)getpid());
  CHECK_OK_ERR(sluice_control_ask(pid, SLUICE_NUL, "explain", SLUICE_NUL, &item, &err), err);
  CHECK(says(item, "\"party\":\"this process\""));
  CHECK_OK_ERR(sluice_control_ask(address, SLUICE_NUL, "stats", SLUICE_NUL, &item, &err), err);
  CHECK(says(item, id));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_control_ask(pid, SLUICE_NUL, "gossip", SLUICE_NUL, &item, NULL));
  CHECK_OK(sluice_control_close(control));
  CHECK_STATUS(SLUICE_IO, sluice_control_ask(pid, SLUICE_NUL, "stats", SLUICE_NUL, &item, NULL));
  CHECK_OK(sluice_control_release(control));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK(sluice_call_release(call));
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_engine_close(engine));
  CHECK_OK(sluice_engine_release(engine));
  CHECK_OK(sluice_command_release(command));
}

/* Every wait of a relay has a form that is polled. */
static void relays_join_as_operations(void) {
  sluice_switch_options switch_options = SLUICE_SWITCH_OPTIONS_INIT;
  sluice_host_options host_options = SLUICE_HOST_OPTIONS_INIT;
  sluice_engine_options engine_options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_switch *relay = NULL;
  sluice_host *host = NULL;
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_command *command = own_command();
  sluice_item *place = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  sluice_op *op = NULL;
  const char *address = NULL;
  size_t address_len = 0;
  switch_options.join_timeout_ms = WAIT_MS;
  engine_options.handshake_timeout_ms = WAIT_MS;
  engine_options.heartbeat_ms = -1;
  host_options.engine = &engine_options;
  CHECK_OK_ERR(sluice_switch_new(&switch_options, &relay, &err), err);
  CHECK_OK_ERR(sluice_switch_listen(relay, "tcp:127.0.0.1:0", SLUICE_NUL, &place, &err), err);
  CHECK_OK(sluice_item_text(place, &address, &address_len));
  CHECK_OK_ERR(sluice_host_new(&host_options, &host, &err), err);
  CHECK_OK(sluice_host_add_start(host, command, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_host_join_at_start(host, address, address_len, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_host_join_at_start(host, address, address_len, &op));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_wait(op, WAIT_MS, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_host_join_start(host, -1, -1, &op));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_engine_connect_start(engine, "x", 1, &op));
  CHECK_OK_ERR(sluice_engine_new(&engine_options, &engine, &err), err);
  CHECK_OK(sluice_engine_connect_start(engine, address, address_len, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_take_peer(op, &peer));
  CHECK_OK(sluice_op_release(op));
  echo_through(peer);
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_switch_caller_start(relay, engine, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_take_peer(op, &peer));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_switch_explain_start(relay, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_take_item(op, &item));
  CHECK(says(item, "\"standing\""));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_host_explain_start(host, &op));
  CHECK_OK_ERR(sluice_op_wait(op, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_take_item(op, &item));
  CHECK(says(item, "\"standing\""));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_control_ask_start("/no/such/socket", SLUICE_NUL, "stats", SLUICE_NUL, &op));
  CHECK_STATUS(SLUICE_IO, sluice_op_wait(op, WAIT_MS, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_switch_close(relay));
  CHECK_OK(sluice_host_close(host));
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_engine_release(engine));
  CHECK_OK(sluice_host_release(host));
  CHECK_OK(sluice_switch_release(relay));
  CHECK_OK(sluice_item_release(place));
  CHECK_OK(sluice_command_release(command));
}

/* What is begun may be left behind: nobody has to wait for the other end. */
static void a_handshake_that_is_given_up_holds_nobody_up(void) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_engine *engine = NULL;
  sluice_error *err = NULL;
  sluice_op *op = NULL;
  sluice_peer *peer = NULL;
  char end;
  int silent[2], unasked[2];
  options.handshake_timeout_ms = -1;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, silent) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, unasked) == 0);
  CHECK_OK_ERR(sluice_engine_new(&options, &engine, &err), err);
  CHECK_OK(sluice_engine_attach_start(engine, silent[0], silent[0], &op));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(op, 0, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_peer(op, &peer));
  CHECK_OK(sluice_op_release(op));
  CHECK(close(silent[1]) == 0); /* which ends the handshake */
  CHECK_OK(sluice_engine_attach_start(engine, unasked[0], unasked[0], &op));
  CHECK_OK(sluice_op_release(op));
  CHECK(read(unasked[1], &end, 1) == 0); /* closed, for nothing was begun */
  CHECK(close(unasked[1]) == 0);
  CHECK_OK(sluice_engine_release(engine));
}

const check_case relay_cases[] = {
    {"relays_join_as_operations", relays_join_as_operations},
    {"a_handshake_that_is_given_up_holds_nobody_up", a_handshake_that_is_given_up_holds_nobody_up},
    {"a_call_goes_through_a_switch_and_a_host", a_call_goes_through_a_switch_and_a_host},
    {"what_stands_still_is_told", what_stands_still_is_told},
    {NULL, NULL},
};
