/* Descriptors at the ends of a pipeline: each is opened once a run, and closed with it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

const check_case flow_io_cases[] = {
    {"flow: lines and chunks are read and written", lines_and_chunks_are_read_and_written},
    {"flow: what cannot be read or written fails the stream",
     what_cannot_be_read_or_written_fails_the_stream},
    {NULL, NULL},
};
