/* Cartridges that are processes: this program itself, as `--cartridge`, and some that are none. */
#include <signal.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "check.h"

static sluice_status spawn(const sluice_engine *engine, const char *program, const char *argument,
                           sluice_peer **out, sluice_error **err) {
  sluice_command *command = NULL;
  sluice_status status;
  CHECK_OK(sluice_command_new(program, SLUICE_NUL, &command));
  if (argument != NULL) {
    CHECK_OK(sluice_command_arg(command, argument, SLUICE_NUL));
  }
  CHECK_OK(sluice_command_env(command, "SLUICEGATE_TEST", SLUICE_NUL, "1", SLUICE_NUL));
  CHECK_OK(sluice_command_env_remove(command, "NO_SUCH_NAME", SLUICE_NUL));
  CHECK_OK(sluice_command_cwd(command, "/", SLUICE_NUL));
  status = sluice_engine_spawn(engine, command, out, err);
  CHECK_OK(sluice_command_release(command));
  return status;
}

static const char *own_path(void) {
  static char path[4096];
  const ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
  CHECK(len > 0);
  path[len > 0 ? len : 0] = '\0';
  return path;
}

static void a_process_serves(void) {
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_call *call = NULL;
  sluice_output *input = NULL;
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  uint32_t pid = 0;
  uint64_t peak = 0;
  size_t len = 0;
  const uint8_t *bytes = NULL;
  CHECK_OK_ERR(sluice_engine_new(NULL, &engine, &err), err);
  CHECK_OK_ERR(spawn(engine, own_path(), "--cartridge", &peer, &err), err);
  CHECK_OK(sluice_peer_pid(peer, &pid));
  CHECK(pid > 1);
  CHECK_OK(sluice_peer_peak_memory(peer, &peak));
  CHECK(peak > 100000);
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
  CHECK_OK(sluice_engine_close(engine));
  CHECK(kill((pid_t)pid, 0) != 0); /* gone, and reaped */
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_engine_release(engine));
}

/* HZ-C14: SIGPIPE has its default action here, and yet the host lives. No heartbeat tells of the end. */
static void c14_a_killed_cartridge_is_an_error(void) {
  int round;
  for (round = 0; round < check_rounds(20); round++) {
    sluice_engine *engine = NULL;
    sluice_peer *peer = NULL;
    sluice_call *call = NULL;
    sluice_output *input = NULL;
    sluice_input *output = NULL;
    sluice_error *err = NULL;
    sluice_item *item = NULL;
    sluice_status status = SLUICE_OK;
    sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
    struct sigaction action;
    static const uint8_t zeros[65536];
    uint32_t pid = 0;
    unsigned written = 0;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    options.heartbeat_ms = -1;
    CHECK_OK_ERR(sluice_engine_new(&options, &engine, &err), err);
    CHECK_OK_ERR(spawn(engine, own_path(), "--cartridge", &peer, &err), err);
    CHECK_OK(sluice_peer_pid(peer, &pid));
    CHECK_OK_ERR(sluice_peer_call(peer, CAP_FOREVER, SLUICE_NUL, &call, &err), err);
    CHECK_OK_ERR(sluice_call_input(call, "media:blob", SLUICE_NUL, &input, &err), err);
    CHECK_OK_ERR(sluice_call_output(call, WAIT_MS, &output, &err), err);
    CHECK(kill((pid_t)pid, SIGKILL) == 0);
    while (status == SLUICE_OK && written < 100000) {
      status = sluice_output_write(input, zeros, sizeof zeros, SLUICE_FOREVER, &err);
      written += 1;
    }
    CHECK_STATUS(SLUICE_PEER_DIED, status);
    CHECK_OK(sluice_error_release(err));
    err = NULL;
    do {
      status = sluice_input_recv(output, WAIT_MS, &item, &err);
      if (status == SLUICE_OK) {
        CHECK_OK(sluice_item_release(item));
      }
    } while (status == SLUICE_OK);
    CHECK_STATUS(SLUICE_PEER_DIED, status);
    CHECK_OK(sluice_error_release(err));
    CHECK_OK(sluice_input_release(output));
    CHECK_OK(sluice_output_release(input));
    CHECK_OK(sluice_call_release(call));
    CHECK_OK(sluice_peer_release(peer));
    CHECK_OK(sluice_engine_release(engine));
  }
}

static void what_is_no_cartridge_is_told_apart(void) {
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_error *err = NULL;
  const char *text = "";
  CHECK_OK_ERR(sluice_engine_new(NULL, &engine, &err), err);
  CHECK_STATUS(SLUICE_SPAWN, spawn(engine, "/no/such/program", NULL, &peer, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "/no/such/program") != NULL);
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  CHECK_STATUS(SLUICE_PEER_DIED, spawn(engine, "true", NULL, &peer, &err));
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "true") != NULL);
  CHECK_OK(sluice_error_release(err));
  err = NULL;
  CHECK(spawn(engine, "echo", "this is not a frame, and long enough to be read", &peer, &err) !=
        SLUICE_OK);
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strstr(text, "echo") != NULL);
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_engine_release(engine));
}

static void descriptors_are_checked(void) {
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_error *err = NULL;
  CHECK_OK_ERR(sluice_engine_new(NULL, &engine, &err), err);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_engine_attach(engine, -1, -1, &peer, &err));
  CHECK_OK(sluice_error_release(err));
  CHECK_OK(sluice_engine_release(engine));
}

const check_case process_cases[] = {
    {"process: serves", a_process_serves},
    {"process: C14 a killed cartridge is an error", c14_a_killed_cartridge_is_an_error},
    {"process: what is no cartridge is told apart", what_is_no_cartridge_is_told_apart},
    {"process: descriptors are checked", descriptors_are_checked},
    {NULL, NULL}};
