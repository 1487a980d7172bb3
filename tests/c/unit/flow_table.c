/* Every stage, source and sink by one table: what goes in, what comes out and when, and that each element
 * that was made is released exactly once. A function that fails fails the stream with its message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_table.h"

/* Numbers in places that are never used again, so that the second release of one is seen. */
typedef struct place {
  long n;
  int released;
} place;

enum { PLACES = 512 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static place places[PLACES];
static size_t made;
static long held_functions;
static int attempts;

static void release_place(void *value) {
  pthread_mutex_lock(&mutex);
  ((place *)value)->released += 1;
  pthread_mutex_unlock(&mutex);
}

sluice_element table_number(long n) {
  sluice_element element = {NULL, release_place, 8};
  pthread_mutex_lock(&mutex);
  if (made == PLACES) {
    abort();
  }
  places[made].n = n;
  places[made].released = 0;
  element.value = &places[made++];
  pthread_mutex_unlock(&mutex);
  return element;
}

long table_value(const void *value) {
  long n;
  pthread_mutex_lock(&mutex);
  CHECK(((const place *)value)->released == 0);
  n = ((const place *)value)->n;
  pthread_mutex_unlock(&mutex);
  return n;
}

void table_release_function(void *ctx) {
  (void)ctx;
  pthread_mutex_lock(&mutex);
  held_functions -= 1;
  pthread_mutex_unlock(&mutex);
}

void *table_function(void) {
  pthread_mutex_lock(&mutex);
  held_functions += 1;
  pthread_mutex_unlock(&mutex);
  return NULL;
}

int table_attempt(void) { return ++attempts; }

int32_t table_refuse(sluice_error **err) {
  CHECK_OK(sluice_error_new(SLUICE_MALFORMED, NULL, 0, 0, "refused here", SLUICE_NUL, err));
  return SLUICE_MALFORMED;
}

static void say(char *said, const char *more) {
  if (strlen(said) + strlen(more) + 2 > SAID) {
    abort();
  }
  if (said[0] != '\0') {
    strcat(said, " ");
  }
  strcat(said, more);
}

static void say_error(char *said, const sluice_error *err) {
  const char *text = "";
  char more[SAID] = "";
  if (err != NULL) {
    CHECK_OK(sluice_error_message(err, &text, NULL));
  }
  snprintf(more, sizeof more, "!%.200s", text);
  say(said, more);
}

static void say_all(char *said, const sluice_elements *all) {
  size_t count = 0, i;
  CHECK_OK(sluice_elements_count(all, &count));
  for (i = 0; i < count; i++) {
    char more[32];
    void *value = NULL;
    CHECK_OK(sluice_elements_value(all, i, &value));
    snprintf(more, sizeof more, "%ld", table_value(value));
    say(said, more);
  }
}

/* Writes down all that a probe was told and nobody has seen. */
static void listen(char *said, const sluice_subscriber *probe) {
  for (;;) {
    sluice_signal signal = SLUICE_SIGNAL_ERROR;
    sluice_elements *element = NULL;
    sluice_error *err = NULL;
    if (sluice_subscriber_signal(probe, 0, &signal, &element, &err) != SLUICE_OK) {
      return;
    }
    if (signal == SLUICE_SIGNAL_NEXT) {
      say_all(said, element);
      CHECK_OK(sluice_elements_release(element));
    } else if (signal == SLUICE_SIGNAL_COMPLETE) {
      say(said, "|");
    } else if (signal == SLUICE_SIGNAL_ERROR) {
      say_error(said, err);
    }
    sluice_error_release(err);
  }
}

static void offer(const sluice_manual *manual, long n) {
  const sluice_element element = table_number(n);
  sluice_offer offer = SLUICE_OFFER_ENQUEUED;
  if (sluice_manual_offer(manual, &element, 0, &offer, NULL) != SLUICE_OK) {
    element.release(element.value); /* it stayed ours */
  }
}

static void fail(const sluice_manual *manual) {
  sluice_error *err = NULL;
  CHECK_OK(sluice_error_new(SLUICE_IO, NULL, 0, 0, "broken above", SLUICE_NUL, &err));
  CHECK_OK(sluice_manual_fail(manual, err, NULL));
  CHECK_OK(sluice_error_release(err));
}

/* N: offers it. ?N: the probe asks for so many. +N: microseconds pass. $: completes. x: fails. c: the probe
 * cancels. */
static void act(const char *word, const sluice_scope *scope, const sluice_manual *manual,
                const sluice_subscriber *probe, char *said) {
  switch (word[0]) {
    case '?':
      CHECK_OK(sluice_subscriber_request(probe, strtoull(word + 1, NULL, 10)));
      break;
    case '+':
      say(said, "+");
      CHECK_OK(sluice_scope_advance(scope, strtoull(word + 1, NULL, 10)));
      break;
    case '$':
      CHECK_OK(sluice_manual_complete(manual, NULL));
      break;
    case 'x':
      fail(manual);
      break;
    case 'c':
      CHECK_OK(sluice_subscriber_cancel(probe));
      break;
    default:
      offer(manual, strtol(word, NULL, 10));
  }
  CHECK_OK(sluice_scope_settle(scope, NULL));
  if (probe != NULL) {
    listen(said, probe);
  }
}

static void say_results(char *said, sluice_run *run, size_t results) {
  size_t i;
  for (i = 0; i < results; i++) {
    sluice_completion *done = NULL;
    sluice_elements *all = NULL;
    sluice_error *err = NULL;
    CHECK_OK(sluice_run_completion(run, &done));
    if (sluice_completion_wait(done, 0, &all, &err) == SLUICE_OK) {
      say_all(said, all);
      say(said, "|");
      CHECK_OK(sluice_elements_release(all));
    } else {
      say_error(said, err);
      sluice_error_release(err);
    }
    CHECK_OK(sluice_completion_release(done));
  }
}

void table_all_released(const char *name) {
  size_t i;
  for (i = 0; i < made; i++) {
    if (places[i].released != 1) {
      char detail[96];
      snprintf(detail, sizeof detail, "%ld was released %d times", places[i].n, places[i].released);
      check_failed(__FILE__, __LINE__, name, detail);
    }
  }
  CHECK(held_functions == 0);
  made = 0;
  held_functions = 0;
}

void table_run(const table_row *row) {
  sluice_scope *scope = NULL;
  sluice_manual *manual = NULL;
  sluice_subscriber *probe = NULL;
  sluice_source *source = row->source != NULL ? row->source()
                                              : flow_manual(4, SLUICE_OVERFLOW_BACKPRESSURE);
  sluice_sink *sink = row->sink != NULL ? row->sink() : flow_probe();
  sluice_run *run;
  char said[SAID] = "", script[SAID] = "", *word;
  attempts = 0;
  CHECK_OK(sluice_scope_new_stepped("test", SLUICE_NUL, 1, &scope));
  if (row->flow != NULL) {
    source = flow_via(source, row->flow());
  }
  run = flow_run(flow_to(source, sink), scope);
  if (row->source == NULL) {
    manual = flow_run_manual(run);
  }
  if (row->sink == NULL) {
    CHECK_OK(sluice_run_subscriber(run, &probe));
  }
  CHECK_OK(sluice_scope_settle(scope, NULL));
  if (probe != NULL) {
    listen(said, probe);
  }
  strncpy(script, row->script, sizeof script - 1);
  for (word = strtok(script, " "); word != NULL; word = strtok(NULL, " ")) {
    act(word, scope, manual, probe, said);
  }
  say_results(said, run, row->results);
  if (strcmp(said, row->expected) != 0) {
    check_failed(__FILE__, __LINE__, row->name, said);
  }
  CHECK_OK(sluice_run_release(run));
  if (manual != NULL) {
    bool over = false;
    CHECK_OK(sluice_manual_is_over(manual, &over));
    if (!over) { /* every row ends at both ends */
      check_failed(__FILE__, __LINE__, row->name, "the producer is not told that it is over");
    }
    CHECK_OK(sluice_manual_release(manual));
  }
  if (probe != NULL) {
    CHECK_OK(sluice_subscriber_release(probe));
  }
  flow_shutdown(scope);
  table_all_released(row->name);
}
