#include "bell.h"

#include <errno.h>
#include <limits.h>

/* The library hands a bell from the thread that polls to the one that wakes, behind locks that a
 * thread checker cannot see into; this one it sees. */
static pthread_mutex_t handed_over = PTHREAD_MUTEX_INITIALIZER;

static void hand_over(void) {
  pthread_mutex_lock(&handed_over);
  pthread_mutex_unlock(&handed_over);
}

void bell_init(bell *bell) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_mutex_init(&bell->mutex, NULL);
  pthread_cond_init(&bell->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_lock(&bell->mutex);
  bell->rung = false;
  bell->cancelled = false;
  bell->wakes = 0;
  bell->releases = 0;
  pthread_mutex_unlock(&bell->mutex);
  hand_over();
}

void bell_destroy(bell *bell) {
  pthread_cond_destroy(&bell->changed);
  pthread_mutex_destroy(&bell->mutex);
}

static void wake(void *ctx) {
  bell *bell = ctx;
  hand_over();
  pthread_mutex_lock(&bell->mutex);
  bell->rung = true;
  bell->wakes += 1;
  pthread_cond_broadcast(&bell->changed);
  pthread_mutex_unlock(&bell->mutex);
}

static void release(void *ctx) {
  bell *bell = ctx;
  hand_over();
  pthread_mutex_lock(&bell->mutex);
  bell->releases += 1;
  pthread_mutex_unlock(&bell->mutex);
}

sluice_waker bell_waker(bell *bell) {
  sluice_waker waker;
  waker.ctx = bell;
  waker.wake = wake;
  waker.release = release;
  return waker;
}

void bell_cancel(bell *bell) {
  pthread_mutex_lock(&bell->mutex);
  bell->cancelled = true;
  pthread_cond_broadcast(&bell->changed);
  pthread_mutex_unlock(&bell->mutex);
}

unsigned bell_wakes(bell *bell) {
  unsigned count;
  pthread_mutex_lock(&bell->mutex);
  count = bell->wakes;
  pthread_mutex_unlock(&bell->mutex);
  return count;
}

unsigned bell_releases(bell *bell) {
  unsigned count;
  pthread_mutex_lock(&bell->mutex);
  count = bell->releases;
  pthread_mutex_unlock(&bell->mutex);
  return count;
}

bool bell_wait(bell *bell, const struct timespec *deadline) {
  bool rung;
  int timed_out = 0;
  pthread_mutex_lock(&bell->mutex);
  while (!bell->rung && !bell->cancelled && timed_out != ETIMEDOUT) {
    if (deadline == NULL) {
      pthread_cond_wait(&bell->changed, &bell->mutex);
    } else {
      timed_out = pthread_cond_timedwait(&bell->changed, &bell->mutex, deadline);
    }
  }
  rung = bell->rung;
  bell->rung = false;
  pthread_mutex_unlock(&bell->mutex);
  return rung;
}

sluice_status bell_drive(bell *bell, const sluice_op *op, const struct timespec *deadline,
                         sluice_error **err) {
  sluice_waker waker = bell_waker(bell);
  for (;;) {
    sluice_status status = sluice_op_poll(op, &waker, err);
    if (status != SLUICE_WAIT) {
      return status;
    }
    if (!bell_wait(bell, deadline)) {
      bool cancelled;
      pthread_mutex_lock(&bell->mutex);
      cancelled = bell->cancelled;
      pthread_mutex_unlock(&bell->mutex);
      return cancelled ? SLUICE_CANCELLED : SLUICE_TIMED_OUT;
    }
  }
}

struct timespec monotonic_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now;
}

struct timespec deadline_after(int64_t millis) {
  struct timespec at = monotonic_now();
  const int64_t seconds = millis / 1000;
  if (seconds >= LONG_MAX - at.tv_sec - 1) {
    at.tv_sec = LONG_MAX;
    at.tv_nsec = 0;
    return at;
  }
  at.tv_sec += (time_t)seconds;
  at.tv_nsec += (long)(millis % 1000) * 1000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_sec += 1;
    at.tv_nsec -= 1000000000;
  }
  return at;
}

int64_t millis_since(struct timespec start) {
  const struct timespec now = monotonic_now();
  return (int64_t)(now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000;
}
