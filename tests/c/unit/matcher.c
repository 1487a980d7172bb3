/* A switch with a matcher of ours. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"

/* Counts what it is asked, and how often it was let go. */
typedef struct matching {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  const sluice_switch *relay; /* not a reference */
  unsigned asked;
  unsigned releases;
} matching;

/* A cap serves whatever begins with it, and the switch may be asked meanwhile. */
static bool begins(void *ctx, const char *offered, size_t offered_len, const char *asked,
                   size_t asked_len) {
  matching *matching = ctx;
  sluice_item *caps = NULL;
  CHECK(strlen(offered) == offered_len && strlen(asked) == asked_len);
  pthread_mutex_lock(&matching->mutex);
  matching->asked += 1;
  CHECK_OK(sluice_switch_caps(matching->relay, &caps));
  pthread_mutex_unlock(&matching->mutex);
  CHECK(says(caps, offered));
  return strncmp(offered, asked, offered_len) == 0;
}

static void let_go(void *ctx) {
  matching *matching = ctx;
  pthread_mutex_lock(&matching->mutex);
  matching->releases += 1;
  pthread_cond_signal(&matching->changed);
  pthread_mutex_unlock(&matching->mutex);
}

static matching *matching_new(void) {
  matching *made = calloc(1, sizeof *made);
  CHECK(made != NULL);
  CHECK(pthread_mutex_init(&made->mutex, NULL) == 0);
  CHECK(pthread_cond_init(&made->changed, NULL) == 0);
  return made;
}

/* Waits until it is let go, which the last thread of its switch does. */
static void matching_free(matching *matching) {
  pthread_mutex_lock(&matching->mutex);
  while (matching->releases == 0) { /* the alarm ends a wait in vain */
    pthread_cond_wait(&matching->changed, &matching->mutex);
  }
  CHECK(matching->releases == 1);
  pthread_mutex_unlock(&matching->mutex);
  pthread_cond_destroy(&matching->changed);
  pthread_mutex_destroy(&matching->mutex);
  free(matching);
}

static void *run_cartridge(void *fd) {
  const int end = *(const int *)fd;
  sluice_cartridge *cartridge = test_cartridge();
  CHECK_OK(sluice_cartridge_run_fds(cartridge, end, end, NULL));
  CHECK_OK(sluice_cartridge_release(cartridge));
  return NULL;
}

static sluice_status ends_with(const sluice_peer *peer, const char *cap) {
  sluice_call *call = NULL;
  sluice_terminal *terminal = NULL;
  sluice_error *err = NULL;
  sluice_status status;
  CHECK_OK_ERR(sluice_peer_call(peer, cap, SLUICE_NUL, &call, &err), err);
  status = sluice_call_wait(call, WAIT_MS, &terminal, NULL);
  if (status == SLUICE_OK) {
    CHECK_OK(sluice_terminal_release(terminal));
  }
  CHECK_OK(sluice_call_release(call));
  return status;
}

static void a_matcher_decides_who_serves(void) {
  matching *matching = matching_new();
  const sluice_matcher matcher = {matching, begins, let_go};
  sluice_switch_options options = SLUICE_SWITCH_OPTIONS_INIT;
  sluice_engine_options engine_options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_host_options host_options = SLUICE_HOST_OPTIONS_INIT;
  sluice_switch *relay = NULL;
  sluice_host *host = NULL;
  sluice_engine *engine = NULL;
  sluice_peer *peer = NULL;
  sluice_error *err = NULL;
  sluice_op *joins = NULL;
  sluice_op *taken = NULL;
  pthread_t thread;
  int cartridge[2], uplink[2];
  options.matcher = &matcher;
  options.join_timeout_ms = WAIT_MS;
  engine_options.handshake_timeout_ms = WAIT_MS;
  engine_options.heartbeat_ms = -1;
  engine_options.quiet_losses = true;
  host_options.engine = &engine_options;
  CHECK_OK_ERR(sluice_switch_new(&options, &relay, &err), err);
  matching->relay = relay;
  CHECK_OK_ERR(sluice_host_new(&host_options, &host, &err), err);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, cartridge) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, uplink) == 0);
  CHECK(pthread_create(&thread, NULL, run_cartridge, &cartridge[1]) == 0);
  CHECK_OK_ERR(sluice_host_attach(host, "test", SLUICE_NUL, cartridge[0], cartridge[0], &err), err);
  CHECK_OK(sluice_switch_attach_start(relay, "host", SLUICE_NUL, uplink[0], uplink[0], &taken));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(taken, 0, NULL)); /* it is begun */
  CHECK_OK(sluice_host_join_start(host, uplink[1], uplink[1], &joins));
  CHECK_OK_ERR(sluice_op_wait(joins, WAIT_MS, &err), err);
  CHECK_OK_ERR(sluice_op_wait(taken, WAIT_MS, &err), err);
  CHECK_OK(sluice_op_release(joins));
  CHECK_OK(sluice_op_release(taken));
  CHECK_OK_ERR(sluice_engine_new(&engine_options, &engine, &err), err);
  CHECK_OK_ERR(sluice_switch_caller(relay, engine, &peer, &err), err);
  CHECK_OK(ends_with(peer, CAP_CHATTER ";more=yes"));
  CHECK_STATUS(SLUICE_NO_HANDLER, ends_with(peer, "cap:nobody"));
  CHECK_OK(sluice_switch_close(relay));
  CHECK_OK(sluice_host_close(host));
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_OK(sluice_peer_release(peer));
  CHECK_OK(sluice_engine_close(engine));
  CHECK_OK(sluice_engine_release(engine));
  CHECK_OK(sluice_host_release(host));
  CHECK_OK(sluice_switch_release(relay));
  pthread_mutex_lock(&matching->mutex);
  CHECK(matching->asked > 1);
  pthread_mutex_unlock(&matching->mutex);
  matching_free(matching);
}

static void a_matcher_is_let_go_if_there_is_no_switch(void) {
  matching *of_none = matching_new();
  matching *of_bad = matching_new();
  matching *of_nowhere = matching_new();
  const sluice_matcher none = {of_none, NULL, let_go};
  const sluice_matcher bad = {of_bad, begins, let_go};
  const sluice_matcher nowhere = {of_nowhere, begins, let_go};
  sluice_switch_options options = SLUICE_SWITCH_OPTIONS_INIT;
  sluice_switch *relay = NULL;
  options.matcher = &none;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_switch_new(&options, &relay, NULL));
  options.matcher = &bad;
  options.policy = 99;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_switch_new(&options, &relay, NULL));
  options.matcher = &nowhere;
  options.policy = SLUICE_POLICY_DEFAULT;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_switch_new(&options, NULL, NULL));
  CHECK(relay == NULL);
  matching_free(of_none);
  matching_free(of_bad);
  matching_free(of_nowhere);
}

const check_case matcher_cases[] = {
    {"a_matcher_decides_who_serves", a_matcher_decides_who_serves},
    {"a_matcher_is_let_go_if_there_is_no_switch", a_matcher_is_let_go_if_there_is_no_switch},
    {NULL, NULL},
};
