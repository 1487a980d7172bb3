/* Descriptors at the ends of a pipeline: each is opened once a run, and closed with it. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"

typedef struct file {
  char path[64];
  int flags;
  int opened;
} file;

/* The opener runs on a thread of the library, which hands on what it did by locks that the thread checker
 * does not see. It sees this one. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* Whatever was opened was opened before. */
static void after_opening(void) {
  CHECK(pthread_mutex_lock(&opening) == 0 && pthread_mutex_unlock(&opening) == 0);
}

static file new_file(const char *text) {
  file file = {"/tmp/sluicegate-flow-XXXXXX", O_RDONLY, 0};
  const int fd = mkstemp(file.path);
  CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
  return file;
}

static int32_t open_file(void *ctx, int *out, sluice_error **err) {
  file *file = ctx;
  CHECK(pthread_mutex_lock(&opening) == 0);
  file->opened += 1;
  *out = open(file->path, file->flags);
  CHECK(pthread_mutex_unlock(&opening) == 0);
  if (*out < 0) {
    CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "no such file here", SLUICE_NUL, err));
    return SLUICE_IO;
  }
  return SLUICE_OK;
}

static sluice_scope *new_scope(void) {
  sluice_scope *scope = NULL;
  CHECK_OK(sluice_scope_new("test", SLUICE_NUL, &scope));
  return scope;
}

/* Copies one file into another; how the sink ended. */
static sluice_status copy(const sluice_scope *scope, sluice_source *source, file *to,
                          uintptr_t *written) {
  const sluice_fd_opener opener = {to, open_file, NULL};
  sluice_completion *done = NULL;
  sluice_elements *all = NULL;
  sluice_sink *sink = NULL;
  sluice_run *run;
  sluice_status status;
  void *value = NULL;
  to->flags = O_WRONLY | O_TRUNC;
  CHECK_OK(sluice_sink_writer(&opener, &sink));
  run = flow_run(flow_to(source, sink), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  status = sluice_completion_wait(done, SOON_MS, &all, NULL);
  after_opening();
  if (status == SLUICE_OK) {
    CHECK_OK(sluice_elements_value(all, 0, &value));
    *written = (uintptr_t)value;
    CHECK_OK(sluice_elements_release(all));
  }
  CHECK_OK(sluice_completion_release(done));
  return status;
}

static void check_file(const file *file, const char *expected) {
  char text[64] = "";
  const int fd = open(file->path, O_RDONLY);
  CHECK(fd >= 0 && read(fd, text, sizeof text - 1) == (ssize_t)strlen(expected));
  CHECK(strcmp(text, expected) == 0);
  close(fd);
}

static void lines_and_chunks_are_read_and_written(void) {
  file from = new_file("one\ntwo\r\nthree"), to = new_file("");
  const sluice_fd_opener opener = {&from, open_file, NULL};
  sluice_scope *scope = new_scope();
  sluice_source *source = NULL;
  uintptr_t written = 0;
  CHECK_OK(sluice_source_lines(80, &opener, &source, NULL));
  CHECK_OK(copy(scope, source, &to, &written));
  CHECK(written == 11);
  check_file(&to, "onetwothree");
  CHECK_OK(sluice_source_chunks(4, &opener, &source, NULL));
  CHECK_OK(copy(scope, source, &to, &written));
  CHECK(written == 14);
  check_file(&to, "one\ntwo\r\nthree");
  CHECK(from.opened == 2 && to.opened == 2);
  flow_shutdown(scope);
  after_opening();
  CHECK(unlink(from.path) == 0 && unlink(to.path) == 0);
}

static void what_cannot_be_read_or_written_fails_the_stream(void) {
  file from = new_file("a line that is long\n"), to = new_file("");
  const sluice_fd_opener opener = {&from, open_file, NULL}, none = {NULL, NULL, NULL};
  const sluice_opener numbers = flow_counter(1);
  sluice_scope *scope = new_scope();
  sluice_source *source = NULL;
  sluice_sink *sink = NULL;
  uintptr_t written = 0;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_lines(0, &opener, &source, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_source_chunks(0, &opener, &source, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_sink_writer(&none, &sink));
  CHECK_OK(sluice_source_lines(5, &opener, &source, NULL));
  CHECK_STATUS(SLUICE_LIMIT_REACHED, copy(scope, source, &to, &written));
  CHECK_OK(sluice_source_pull(&numbers, &source)); /* a value that is no item */
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, copy(scope, source, &to, &written));
  CHECK_OK(sluice_source_chunks(5, &opener, &source, NULL));
  CHECK(unlink(to.path) == 0);
  CHECK_STATUS(SLUICE_IO, copy(scope, source, &to, &written));
  flow_shutdown(scope);
  after_opening();
  CHECK(unlink(from.path) == 0);
  CHECK(flow_alive() == 0 && flow_functions() == 0);
}

/* One end of a pair of sockets that is handed to the library, the other, and how often that opener and what
 * it stands for were used. */
typedef struct ends {
  int theirs, ours;
  int opened, released;
} ends;

static int32_t open_end(void *ctx, int *out, sluice_error **err) {
  ends *ends = ctx;
  (void)err;
  CHECK(pthread_mutex_lock(&opening) == 0);
  ends->opened += 1;
  *out = ends->theirs;
  CHECK(pthread_mutex_unlock(&opening) == 0);
  return SLUICE_OK;
}

static void release_end(void *ctx) {
  CHECK(pthread_mutex_lock(&opening) == 0);
  ((ends *)ctx)->released += 1;
  CHECK(pthread_mutex_unlock(&opening) == 0);
}

static sluice_fd_opener new_ends(ends *ends) {
  const sluice_fd_opener opener = {ends, open_end, release_end};
  int fds[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  CHECK(pthread_mutex_lock(&opening) == 0);
  ends->theirs = fds[0];
  ends->ours = fds[1];
  ends->opened = ends->released = 0;
  CHECK(pthread_mutex_unlock(&opening) == 0);
  return opener;
}

static void say(const ends *ends, const char *text, int times) {
  while (times-- > 0) {
    CHECK(write(ends->ours, text, strlen(text)) == (ssize_t)strlen(text));
  }
}

/* The scope is shut down: the library has closed its end, and let go of the opener once. Our own end is
 * still ours. */
static void was_closed_once(ends *ends) {
  struct pollfd gone = {ends->ours, 0, 0};
  CHECK(poll(&gone, 1, SOON_MS) == 1 && (gone.revents & POLLHUP) != 0);
  after_opening();
  CHECK(ends->opened == 1 && ends->released == 1);
  CHECK(close(ends->ours) == 0);
}

static void a_descriptor_that_is_read_is_closed_once(void) {
  enum { FINISHES, FAILS, IS_LEFT, IS_SHUT_DOWN, CASES };
  int how;
  for (how = 0; how < CASES; how++) {
    ends from;
    file to = new_file("");
    const sluice_fd_opener opener = new_ends(&from);
    sluice_scope *scope = new_scope();
    sluice_source *source = NULL;
    uintptr_t written = 0;
    CHECK_OK(sluice_source_lines(5, &opener, &source, NULL));
    say(&from, "line\n", 100);
    if (how == IS_SHUT_DOWN) { /* more lines than it reads ahead, and nobody takes them */
      sluice_run *run = flow_run(flow_to(source, flow_probe()), scope);
      flow_shutdown(scope);
      CHECK_OK(sluice_run_release(run));
      after_opening();
      if (from.opened == 0) { /* it was shut down before it began */
        CHECK(from.released == 1 && close(from.theirs) == 0 && close(from.ours) == 0);
        CHECK(unlink(to.path) == 0);
        continue;
      }
    } else {
      if (how == FAILS) say(&from, "too long\n", 1);
      if (how == IS_LEFT) {
        source = flow_via(source, flow_take(1));
      } else {
        CHECK(shutdown(from.ours, SHUT_WR) == 0);
      }
      CHECK_STATUS(how == FAILS ? SLUICE_LIMIT_REACHED : SLUICE_OK, copy(scope, source, &to, &written));
      if (how != FAILS) CHECK(written == (how == IS_LEFT ? 4 : 400));
      flow_shutdown(scope);
    }
    was_closed_once(&from);
    CHECK(unlink(to.path) == 0);
  }
}

static sluice_element new_text(void) {
  sluice_element element = {NULL, NULL, 0};
  sluice_item *item = NULL;
  CHECK_OK(sluice_item_new_text("text", 4, &item));
  CHECK_OK(sluice_item_element(item, &element));
  return element;
}

/* Three texts. */
static sluice_source *new_texts(void) {
  const sluice_element text = new_text();
  sluice_source *texts = NULL;
  CHECK_OK(sluice_source_repeat(&text, &texts));
  return flow_via(texts, flow_take(3));
}

/* One source behind the other. */
static sluice_source *behind(sluice_source *first, sluice_source *second) {
  const sluice_source *const both[] = {first, second};
  sluice_source *joined = NULL;
  CHECK_OK(sluice_source_concat(both, 2, &joined));
  CHECK_OK(sluice_source_release(first));
  CHECK_OK(sluice_source_release(second));
  return joined;
}

/* Something that comes in more than a week. */
static sluice_source *never(void) {
  const sluice_element text = new_text();
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_tick(UINT64_C(1000000000000), &text, &source));
  return source;
}

static sluice_source *numbers(void) {
  const sluice_opener opener = flow_counter(1);
  sluice_source *source = NULL;
  CHECK_OK(sluice_source_pull(&opener, &source));
  return source;
}

static void a_descriptor_that_is_written_is_closed_once(void) {
  enum { FINISHES, FAILS, IS_SHUT_DOWN, CASES };
  static const sluice_status outcomes[] = {SLUICE_OK, SLUICE_INVALID_ARGUMENT, SLUICE_SCOPE_SHUT_DOWN};
  int how;
  for (how = 0; how < CASES; how++) {
    ends to;
    const sluice_fd_opener opener = new_ends(&to);
    sluice_scope *scope = new_scope();
    sluice_sink *sink = NULL;
    sluice_source *texts = new_texts();
    sluice_completion *done = NULL;
    sluice_run *run;
    char came[13] = "";
    if (how == FAILS) texts = behind(texts, numbers()); /* a value that is no item */
    if (how == IS_SHUT_DOWN) texts = behind(texts, never());
    CHECK_OK(sluice_sink_writer(&opener, &sink));
    run = flow_run(flow_to(texts, sink), scope);
    CHECK_OK(sluice_run_completion(run, &done));
    CHECK_OK(sluice_run_release(run));
    CHECK(recv(to.ours, came, 12, MSG_WAITALL) == 12 && strcmp(came, "texttexttext") == 0);
    if (how == IS_SHUT_DOWN) flow_shutdown(scope);
    CHECK_STATUS(outcomes[how], sluice_completion_wait(done, SOON_MS, NULL, NULL));
    CHECK_OK(sluice_completion_release(done));
    if (how != IS_SHUT_DOWN) flow_shutdown(scope);
    was_closed_once(&to);
  }
  CHECK(flow_alive() == 0 && flow_functions() == 0);
}

/* This program leaves SIGPIPE as it was: a reader that goes must not end it. */
static void a_reader_that_is_gone_fails_the_stream(void) {
  ends to;
  const sluice_fd_opener opener = new_ends(&to);
  const sluice_element text = new_text();
  sluice_scope *scope = new_scope();
  sluice_source *texts = NULL;
  sluice_sink *sink = NULL;
  sluice_completion *done = NULL;
  sluice_run *run;
  char came[4];
  struct sigaction pipes;
  CHECK(sigaction(SIGPIPE, NULL, &pipes) == 0 && pipes.sa_handler == SIG_DFL);
  CHECK_OK(sluice_source_repeat(&text, &texts));
  CHECK_OK(sluice_sink_writer(&opener, &sink));
  run = flow_run(flow_to(texts, sink), scope);
  CHECK_OK(sluice_run_completion(run, &done));
  CHECK_OK(sluice_run_release(run));
  CHECK(recv(to.ours, came, sizeof came, MSG_WAITALL) == (ssize_t)sizeof came);
  CHECK(close(to.ours) == 0);
  CHECK_STATUS(SLUICE_IO, sluice_completion_wait(done, SOON_MS, NULL, NULL));
  CHECK_OK(sluice_completion_release(done));
  flow_shutdown(scope);
  after_opening();
  CHECK(to.opened == 1 && to.released == 1);
  CHECK(flow_alive() == 0 && flow_functions() == 0);
}

const check_case flow_io_cases[] = {
    {"flow: lines and chunks are read and written", lines_and_chunks_are_read_and_written},
    {"flow: what cannot be read or written fails the stream",
     what_cannot_be_read_or_written_fails_the_stream},
    {"flow: a descriptor that is read is closed once", a_descriptor_that_is_read_is_closed_once},
    {"flow: a descriptor that is written is closed once",
     a_descriptor_that_is_written_is_closed_once},
    {"flow: a reader that is gone fails the stream", a_reader_that_is_gone_fails_the_stream},
    {NULL, NULL},
};
