/* Actors: threads that make one acquire at a time, in one of two ways. */
#ifndef ACTORS_H
#define ACTORS_H

#include "../bell.h"
#include "script.h"

typedef enum way {
  WAY_CONDVAR, /* our own pthread condition variable, rung by wakers of the library */
  WAY_BLOCKING /* the library's blocking call */
} way;

typedef enum limit { LIMIT_NONE, LIMIT_ZERO, LIMIT_SHORT, LIMIT_LONG } limit;
typedef enum leaving { LEAVES_NOT, LEAVES_BY_EXPIRY, LEAVES_BY_CANCEL } leaving;

/* The library's blocking call cannot be cancelled: a short limit stands in for it. */
#define CANCELS(way) ((way) == WAY_CONDVAR)

typedef struct actor {
  /* Set by the main line. */
  const char *name;
  sluice_gate *gate;
  uint64_t n;
  limit limit;
  int64_t short_ms;
  leaving leaves;
  way way;
  bool out;       /* has not come back */
  bool may_leave; /* its expire or cancel has come */
  struct timespec began;
  pthread_t thread;
  bool joinable;
  /* The actor's. */
  bell bell;
  struct mailbox *mailbox;
  char answer[ANSWER_SIZE];
  int64_t after_ms;
  struct actor *next; /* in the mailbox */
} actor;

typedef struct mailbox {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  actor *first;
} mailbox;

void mailbox_init(mailbox *mailbox);
void mailbox_destroy(mailbox *mailbox);
/* The next actor that came back; NULL once the deadline has passed. */
actor *mailbox_take(mailbox *mailbox, const struct timespec *deadline);

bool actor_start(actor *actor);
/* Waits for the thread of an actor that has come back, or will. */
void actor_join(actor *actor);
/* True if a limit on the clock may end its wait before its step comes. */
bool actor_on_the_clock(const actor *actor);

/* Replays one waiting script in one way. */
bool replay_waiting(const cJSON *script, way way);

#endif
