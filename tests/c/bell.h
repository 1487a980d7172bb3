/* A wait on our own primitive: a pthread condition variable that a waker of the library rings. */
#ifndef BELL_H
#define BELL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <sluicegate.h>

typedef struct bell {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool rung;
  bool cancelled;
  unsigned wakes;    /* how often wake ran */
  unsigned releases; /* how often release ran */
} bell;

void bell_init(bell *bell);
void bell_destroy(bell *bell);

/* A waker that rings the bell. */
sluice_waker bell_waker(bell *bell);

/* Has the wait on the bell given up. Any thread. */
void bell_cancel(bell *bell);

/* How often wake and release ran. */
unsigned bell_wakes(bell *bell);
unsigned bell_releases(bell *bell);

/* Waits for the bell until `deadline` of the monotonic clock, NULL: for ever. True if it rang, and
 * then it may ring again; false if the deadline passed or the wait was cancelled. */
bool bell_wait(bell *bell, const struct timespec *deadline);

/* Polls an operation, with the bell for its waker, until it answers, the deadline passes
 * (SLUICE_TIMED_OUT) or the wait is cancelled (SLUICE_CANCELLED). */
sluice_status bell_drive(bell *bell, const sluice_op *op, const struct timespec *deadline,
                         sluice_error **err);

/* Milliseconds from now on the monotonic clock. */
struct timespec deadline_after(int64_t millis);
int64_t millis_since(struct timespec start);
struct timespec monotonic_now(void);

#endif
