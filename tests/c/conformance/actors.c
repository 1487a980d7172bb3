#include "actors.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void mailbox_init(mailbox *mailbox) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&mailbox->mutex, NULL);
  pthread_cond_init(&mailbox->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  mailbox->first = NULL;
}

void mailbox_destroy(mailbox *mailbox) {
  pthread_cond_destroy(&mailbox->changed);
  pthread_mutex_destroy(&mailbox->mutex);
}

static void mailbox_post(mailbox *mailbox, actor *actor) {
  pthread_mutex_lock(&mailbox->mutex);
  actor->next = mailbox->first;
  mailbox->first = actor;
  pthread_cond_signal(&mailbox->changed);
  pthread_mutex_unlock(&mailbox->mutex);
}

actor *mailbox_take(mailbox *mailbox, const struct timespec *deadline) {
  actor *taken;
  int timed_out = 0;
  pthread_mutex_lock(&mailbox->mutex);
  while (mailbox->first == NULL && timed_out != ETIMEDOUT) {
    timed_out = pthread_cond_timedwait(&mailbox->changed, &mailbox->mutex, deadline);
  }
  taken = mailbox->first;
  if (taken != NULL) {
    mailbox->first = taken->next;
  }
  pthread_mutex_unlock(&mailbox->mutex);
  return taken;
}

static bool has_short_limit(const actor *actor) {
  return actor->limit == LIMIT_SHORT || (actor->leaves == LEAVES_BY_CANCEL && !CANCELS(actor->way));
}

bool actor_on_the_clock(const actor *actor) {
  return actor->out && !actor->may_leave && has_short_limit(actor);
}

static sluice_status wait_on_condvar(actor *actor) {
  struct timespec deadline;
  bool limited = true;
  sluice_op *op;
  sluice_status status = sluice_gate_acquire_start(actor->gate, actor->n, &op);
  if (status != SLUICE_OK) {
    return status;
  }
  switch (actor->limit) {
    case LIMIT_NONE:
      limited = false;
      break;
    case LIMIT_ZERO:
      deadline = deadline_after(0);
      break;
    case LIMIT_SHORT:
      deadline = deadline_after(actor->short_ms);
      break;
    case LIMIT_LONG:
      deadline = deadline_after(INT64_MAX);
      break;
  }
  status = bell_drive(&actor->bell, op, limited ? &deadline : NULL, NULL);
  sluice_op_release(op);
  return status;
}

static sluice_status wait_in_the_library(const actor *actor) {
  int64_t timeout_ms = SLUICE_FOREVER;
  if (has_short_limit(actor)) {
    timeout_ms = actor->short_ms;
  } else if (actor->limit == LIMIT_ZERO) {
    timeout_ms = 0;
  } else if (actor->limit == LIMIT_LONG) {
    timeout_ms = INT64_MAX;
  }
  return sluice_gate_acquire(actor->gate, actor->n, timeout_ms);
}

static void *run(void *argument) {
  actor *actor = argument;
  const struct timespec began = monotonic_now();
  const sluice_status status =
      actor->way == WAY_CONDVAR ? wait_on_condvar(actor) : wait_in_the_library(actor);
  bool closed = false;
  char code[ANSWER_SIZE] = "";
  actor->after_ms = millis_since(began);
  switch (status) {
    case SLUICE_OK:
      snprintf(actor->answer, ANSWER_SIZE, "acquired");
      break;
    case SLUICE_TIMED_OUT:
      snprintf(actor->answer, ANSWER_SIZE, "timed_out");
      break;
    case SLUICE_CANCELLED:
      snprintf(actor->answer, ANSWER_SIZE, "cancelled");
      break;
    case SLUICE_CLOSED:
      if (closing_reason(actor->gate, &closed, code) && closed) {
        snprintf(actor->answer, ANSWER_SIZE, "closed:%.200s", code);
        break;
      }
      snprintf(actor->answer, ANSWER_SIZE, "closed without a reason");
      break;
    default:
      snprintf(actor->answer, ANSWER_SIZE, "%s", sluice_status_name(status));
      break;
  }
  mailbox_post(actor->mailbox, actor);
  return NULL;
}

bool actor_start(actor *actor) {
  actor_join(actor);
  bell_init(&actor->bell);
  actor->out = true;
  actor->may_leave = false;
  actor->began = monotonic_now();
  if (pthread_create(&actor->thread, NULL, run, actor) != 0) {
    bell_destroy(&actor->bell);
    actor->out = false;
    return fail("no thread for actor %s", actor->name);
  }
  actor->joinable = true;
  return true;
}

void actor_join(actor *actor) {
  if (actor->joinable) {
    pthread_join(actor->thread, NULL);
    bell_destroy(&actor->bell);
    actor->joinable = false;
  }
}
