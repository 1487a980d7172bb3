/* Links on which things go wrong, from a seed: the same faults each time, and no byte is changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

enum { MANY = 5000 };

static uint8_t byte_of(size_t at) { return (uint8_t)(at * 7 + at / 256); }

/* A link with faults between two ends. */
static void open_link(const sluice_faults *faults, int *near, int *far) {
  int fds[2] = {-1, -1};
  sluice_error *err = NULL;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  *far = fds[1];
  CHECK_OK_ERR(sluice_faults_link(faults, fds[0], near, &err), err);
}

static void send_all(int fd) {
  uint8_t bytes[MANY];
  size_t i;
  for (i = 0; i < MANY; i++) {
    bytes[i] = byte_of(i);
  }
  CHECK(send(fd, bytes, MANY, MSG_NOSIGNAL) == MANY);
}

/* How many bytes come until the end, which have to be those that were sent. */
static size_t read_all(int fd) {
  uint8_t byte;
  size_t all = 0;
  for (; read(fd, &byte, 1) == 1; all++) {
    if (byte != byte_of(all)) {
      check_failed(__FILE__, __LINE__, "another byte", "");
      break;
    }
  }
  return all;
}

static void no_byte_is_changed_in_either_direction(void) {
  sluice_faults faults = SLUICE_FAULTS_INIT;
  int near = -1, far = -1;
  faults.seed = 7;
  faults.splits = true;
  faults.delay_micros = 1;
  open_link(&faults, &near, &far);
  send_all(far);
  CHECK(shutdown(far, SHUT_WR) == 0);
  CHECK(read_all(near) == MANY);
  send_all(near);
  CHECK(shutdown(near, SHUT_WR) == 0);
  CHECK(read_all(far) == MANY);
  CHECK(close(near) == 0 && close(far) == 0);
}

static void a_link_is_cut_after_its_byte(void) {
  static const uint64_t cuts[] = {0, 1, 777};
  size_t i;
  for (i = 0; i < 3; i++) {
    sluice_faults faults = SLUICE_FAULTS_INIT;
    int near = -1, far = -1;
    faults.seed = i;
    faults.splits = true;
    faults.cut_after = cuts[i];
    open_link(&faults, &near, &far);
    if (i == 0) {
      CHECK(read_all(near) == 0); /* at once */
    } else {
      send_all(far);
      CHECK(read_all(near) == cuts[i]);
    }
    CHECK(read_all(far) == 0); /* in both directions */
    CHECK(close(near) == 0 && close(far) == 0);
  }
}

/* A call whose bytes come in pieces, late, and in turns with those of the other direction. */
static void a_call_over_a_link_with_faults(void) {
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_faults faults = SLUICE_FAULTS_INIT;
  sluice_shuffle *shuffle = NULL;
  sluice_call *call = NULL;
  sluice_output *input = NULL;
  sluice_input *output = NULL;
  sluice_item *item = NULL;
  sluice_error *err = NULL;
  const uint8_t *got = NULL;
  uint8_t bytes[64];
  size_t len = 0;
  pair pair;
  CHECK_OK_ERR(sluice_seed(&faults.seed, &err), err);
  CHECK_OK(sluice_shuffle_new(1000, &shuffle));
  memset(bytes, 'x', sizeof bytes);
  faults.splits = true;
  faults.delay_micros = 20;
  faults.shuffle = shuffle;
  pair_open_over(&pair, &options, test_cartridge(), &faults);
  CHECK_OK(sluice_shuffle_release(shuffle));
  CHECK_OK_ERR(sluice_peer_call(pair.peer, CAP_ECHO, SLUICE_NUL, &call, &err), err);
  CHECK_OK_ERR(sluice_call_input(call, "media:blob", SLUICE_NUL, &input, &err), err);
  CHECK_OK_ERR(sluice_output_write(input, bytes, sizeof bytes, SLUICE_FOREVER, &err), err);
  CHECK_OK(sluice_output_release(input));
  CHECK_OK_ERR(sluice_call_finish_input(call, SLUICE_FOREVER, &err), err);
  CHECK_OK_ERR(sluice_call_output(call, SLUICE_FOREVER, &output, &err), err);
  CHECK_OK_ERR(sluice_input_collect_bytes(output, SLUICE_FOREVER, &item, &err), err);
  CHECK_OK(sluice_item_bytes(item, &got, &len));
  if (len != sizeof bytes || memcmp(got, bytes, len) != 0) {
    check_failed(__FILE__, __LINE__, "what comes back is what was sent", "");
    CHECK_OK(sluice_seed_print(faults.seed));
  }
  CHECK_OK(sluice_item_release(item));
  CHECK_OK(sluice_input_release(output));
  CHECK_OK(sluice_call_release(call));
  pair_close(&pair);
}

static void what_is_no_link_is_said(void) {
  sluice_faults faults = SLUICE_FAULTS_INIT;
  sluice_error *err = NULL;
  int near = -1, fds[2];
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_faults_link(&faults, -1, &near, &err));
  CHECK_OK(sluice_error_release(err));
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_faults_link(&faults, fds[0], NULL, NULL));
  CHECK(read_all(fds[1]) == 0); /* it was taken over */
  CHECK(close(fds[1]) == 0);
  CHECK(near == -1);
}

/* What is written to stderr while `call` runs. */
static void caught(void (*call)(void), char *text, size_t room) {
  FILE *file = tmpfile();
  const int kept = dup(STDERR_FILENO);
  size_t len;
  CHECK(file != NULL && kept >= 0);
  CHECK(dup2(fileno(file), STDERR_FILENO) >= 0);
  call();
  CHECK(dup2(kept, STDERR_FILENO) >= 0);
  CHECK(close(kept) == 0);
  rewind(file);
  len = fread(text, 1, room - 1, file);
  text[len] = '\0';
  CHECK(fclose(file) == 0);
}

static void print_42(void) { CHECK_OK(sluice_seed_print(42)); }

static void a_seed_is_printed_and_taken_from_the_environment(void) {
  const char *before = getenv("SLUICEGATE_SEED");
  char *kept = before == NULL ? NULL : strdup(before), text[4096];
  sluice_error *err = NULL;
  uint64_t seed = 0, fork = 0;
  CHECK(setenv("SLUICEGATE_SEED", " 12 ", 1) == 0);
  CHECK_OK(sluice_seed(&seed, NULL));
  CHECK(seed == 12);
  CHECK(setenv("SLUICEGATE_SEED", "twelve", 1) == 0);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_seed(&seed, &err));
  CHECK_OK(sluice_error_release(err));
  CHECK(unsetenv("SLUICEGATE_SEED") == 0);
  CHECK_OK(sluice_seed(&seed, NULL));
  if (kept != NULL) {
    CHECK(setenv("SLUICEGATE_SEED", kept, 1) == 0);
    free(kept);
  }
  /* The same numbers as in every language. */
  CHECK_OK(sluice_seed_fork(1, "", SLUICE_NUL, &fork));
  CHECK(fork == UINT64_C(0x910a2dec89025cc1));
  caught(print_42, text, sizeof text);
  CHECK(strstr(text, "SLUICEGATE_SEED=42\n") != NULL);
}

const check_case flow_fault_cases[] = {
    {"flow: no byte is changed in either direction", no_byte_is_changed_in_either_direction},
    {"flow: a link is cut after its byte", a_link_is_cut_after_its_byte},
    {"flow: a call over a link with faults", a_call_over_a_link_with_faults},
    {"flow: what is no link is said", what_is_no_link_is_said},
    {"flow: a seed is printed and taken from the environment",
     a_seed_is_printed_and_taken_from_the_environment},
    {NULL, NULL},
};
