/* Wakers: once, released exactly once, joined; and operations. */
#include "check.h"

static void ready_at_once_needs_no_wake(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  bell bell;
  sluice_waker waker;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(1, &gate));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_OK, sluice_op_poll(op, &waker, NULL));
  CHECK(bell_wakes(&bell) == 0);
  CHECK(bell_releases(&bell) == 1);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_poll(op, &waker, NULL));
  CHECK(bell_releases(&bell) == 2);
  CHECK_OK(sluice_op_release(op));
  CHECK(bell_releases(&bell) == 2);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

static void wake_fires_once(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  bell bell;
  sluice_waker waker;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &waker, NULL));
  CHECK(bell_wakes(&bell) == 0);
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK(bell_wakes(&bell) == 1);
  CHECK(bell_releases(&bell) == 1);
  CHECK_OK(sluice_op_poll(op, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK(bell_wakes(&bell) == 1);
  CHECK(bell_releases(&bell) == 1);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

static void a_new_poll_withdraws_the_waker_before(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  bell first, second;
  sluice_waker one, two;
  bell_init(&first);
  bell_init(&second);
  one = bell_waker(&first);
  two = bell_waker(&second);
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &one, NULL));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &two, NULL));
  CHECK(bell_releases(&first) == 1);
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, NULL, NULL));
  CHECK(bell_releases(&second) == 1);
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK(bell_wakes(&first) == 0 && bell_wakes(&second) == 0);
  CHECK_OK(sluice_op_poll(op, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&first);
  bell_destroy(&second);
}

static void wakers_are_released_whatever_is_answered(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  bell bell;
  sluice_waker waker, mute;
  bell_init(&bell);
  waker = bell_waker(&bell);
  mute = waker;
  mute.wake = NULL;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_poll(NULL, &waker, NULL));
  CHECK(bell_releases(&bell) == 1);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_gate_on_ready(NULL, 1, &waker, &op));
  CHECK(bell_releases(&bell) == 2);
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_gate_on_ready(gate, 1, &waker, NULL));
  CHECK(bell_releases(&bell) == 3);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_gate_on_ready(gate, 1, &mute, &op));
  CHECK(bell_releases(&bell) == 4);
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_poll(op, &mute, NULL));
  CHECK(bell_releases(&bell) == 5);
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &waker, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK(bell_releases(&bell) == 6);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_poll(op, &waker, NULL));
  CHECK(bell_releases(&bell) == 7);
  CHECK(bell_wakes(&bell) == 0);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

static void on_ready_fires_at_once_or_later(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  bell bell;
  sluice_waker waker;
  uint64_t left = 9;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(1, &gate));
  CHECK_OK(sluice_gate_on_ready(gate, 1, &waker, &op));
  CHECK(bell_wakes(&bell) == 1 && bell_releases(&bell) == 1);
  CHECK_OK(sluice_op_poll(op, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_gate_on_ready(gate, 1, &waker, &op));
  CHECK(bell_wakes(&bell) == 1);
  CHECK_OK(sluice_gate_close(gate, "END", SLUICE_NUL, NULL));
  CHECK(bell_wakes(&bell) == 2 && bell_releases(&bell) == 2);
  CHECK_STATUS(SLUICE_CLOSED, sluice_op_poll(op, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_gate_release(gate));

  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_on_ready(gate, 1, &waker, &op));
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK(bell_wakes(&bell) == 3);
  CHECK_OK(sluice_op_release(op)); /* served and not fetched: the turn is given up */
  CHECK_OK(sluice_gate_available(gate, &left));
  CHECK(left == 1);
  CHECK(bell_releases(&bell) == 3);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

typedef struct nested {
  sluice_gate *gate;
  sluice_op *inner;
  unsigned wakes;
  sluice_status answers[6];
} nested;

static void use_the_gate(void *ctx) {
  nested *nested = ctx;
  uint64_t count;
  bool closed;
  nested->wakes += 1;
  nested->answers[0] = sluice_gate_grant(nested->gate, 2);
  nested->answers[1] = sluice_gate_available(nested->gate, &count);
  nested->answers[2] = sluice_gate_acquire_start(nested->gate, 100, &nested->inner);
  nested->answers[3] = sluice_op_poll(nested->inner, NULL, NULL);
  nested->answers[4] = sluice_gate_close(nested->gate, "FROM_WAKER", SLUICE_NUL, &closed);
  nested->answers[5] = sluice_gate_is_closed(nested->gate, &closed);
}

/* HZ-G09: no lock of the library is held while a waker runs. */
static void g09_a_waker_may_use_its_gate(void) {
  nested nested = {NULL, NULL, 0, {9, 9, 9, 9, 9, 9}};
  sluice_waker waker = {NULL, use_the_gate, NULL};
  sluice_op *op = NULL;
  waker.ctx = &nested;
  CHECK_OK(sluice_gate_new(0, &nested.gate));
  CHECK_OK(sluice_gate_on_ready(nested.gate, 1, &waker, &op));
  CHECK_OK(sluice_gate_grant(nested.gate, 1));
  CHECK(nested.wakes == 1);
  CHECK_STATUS(SLUICE_OK, nested.answers[0]);
  CHECK_STATUS(SLUICE_OK, nested.answers[1]);
  CHECK_STATUS(SLUICE_OK, nested.answers[2]);
  CHECK_STATUS(SLUICE_WAIT, nested.answers[3]);
  CHECK_STATUS(SLUICE_OK, nested.answers[4]);
  CHECK_STATUS(SLUICE_OK, nested.answers[5]);
  CHECK_OK(sluice_op_poll(op, NULL, NULL)); /* it was served before the close */
  CHECK_STATUS(SLUICE_CLOSED, sluice_op_poll(nested.inner, NULL, NULL));
  CHECK_OK(sluice_op_release(op));
  CHECK_OK(sluice_op_release(nested.inner));
  CHECK_OK(sluice_gate_release(nested.gate));
}

typedef struct own {
  sluice_op *op;
  sluice_status poll;
  sluice_status release;
} own;

static void release_own_operation(void *ctx) {
  own *own = ctx;
  own->release = sluice_op_release(own->op);
}

static void a_waker_may_release_its_own_operation(void) {
  own own = {NULL, 9, 9};
  sluice_waker waker = {NULL, release_own_operation, NULL};
  sluice_gate *gate = NULL;
  uint64_t left = 0;
  waker.ctx = &own;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &own.op));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(own.op, &waker, NULL));
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK_STATUS(SLUICE_OK, own.release);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_release(own.op));
  CHECK_OK(sluice_gate_available(gate, &left));
  CHECK(left == 1);
  CHECK_OK(sluice_gate_release(gate));
}

typedef struct handoff {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool started, may_finish, finished;
  sluice_gate *gate;
} handoff;

static void slow_wake(void *ctx) {
  handoff *handoff = ctx;
  pthread_mutex_lock(&handoff->mutex);
  handoff->started = true;
  pthread_cond_broadcast(&handoff->changed);
  while (!handoff->may_finish) {
    pthread_cond_wait(&handoff->changed, &handoff->mutex);
  }
  handoff->finished = true;
  pthread_mutex_unlock(&handoff->mutex);
}

static void *grant_one(void *ctx) {
  CHECK_OK(sluice_gate_grant(((handoff *)ctx)->gate, 1));
  return NULL;
}

static void *let_it_finish(void *ctx) {
  handoff *handoff = ctx;
  pthread_mutex_lock(&handoff->mutex);
  handoff->may_finish = true;
  pthread_cond_broadcast(&handoff->changed);
  pthread_mutex_unlock(&handoff->mutex);
  return NULL;
}

/* docs/waiting.md, 2, and HZ-F13: when release returns, no waker is running. */
static void withdraw_joins(void) {
  int round;
  for (round = 0; round < check_rounds(200); round++) {
    handoff handoff = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false, false, NULL};
    sluice_waker waker = {NULL, slow_wake, NULL};
    sluice_op *op = NULL;
    pthread_t granting, finishing;
    waker.ctx = &handoff;
    CHECK_OK(sluice_gate_new(0, &handoff.gate));
    CHECK_OK(sluice_gate_acquire_start(handoff.gate, 1, &op));
    CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(op, &waker, NULL));
    CHECK(pthread_create(&granting, NULL, grant_one, &handoff) == 0);
    pthread_mutex_lock(&handoff.mutex);
    while (!handoff.started) {
      pthread_cond_wait(&handoff.changed, &handoff.mutex);
    }
    pthread_mutex_unlock(&handoff.mutex);
    CHECK(pthread_create(&finishing, NULL, let_it_finish, &handoff) == 0);
    CHECK_OK(sluice_op_release(op));
    pthread_mutex_lock(&handoff.mutex);
    CHECK(handoff.finished);
    pthread_mutex_unlock(&handoff.mutex);
    CHECK(pthread_join(granting, NULL) == 0);
    CHECK(pthread_join(finishing, NULL) == 0);
    CHECK_OK(sluice_gate_release(handoff.gate));
  }
}

/* docs/waiting.md, 3: who leaves, served or not, hands on to the next in line. */
static void leaving_hands_on(void) {
  sluice_gate *gate = NULL;
  sluice_op *head = NULL, *behind = NULL;
  bell bell;
  sluice_waker waker;
  uint64_t left = 9;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(1, &gate));

  /* The head asks for more than is there; what it leaves is enough for the next. */
  CHECK_OK(sluice_gate_acquire_start(gate, 2, &head));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(head, NULL, NULL));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &behind));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(behind, &waker, NULL));
  CHECK_OK(sluice_op_release(head));
  CHECK(bell_wakes(&bell) == 1);
  CHECK_OK(sluice_op_poll(behind, NULL, NULL));
  CHECK_OK(sluice_op_release(behind));

  /* The head was served and goes before it comes for its turn. */
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &head));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(head, NULL, NULL));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &behind));
  CHECK_STATUS(SLUICE_WAIT, sluice_op_poll(behind, &waker, NULL));
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK(bell_wakes(&bell) == 1); /* it is the head's */
  CHECK_OK(sluice_op_release(head));
  CHECK(bell_wakes(&bell) == 2);
  CHECK_OK(sluice_op_poll(behind, NULL, NULL));
  CHECK_OK(sluice_op_release(behind));
  CHECK_OK(sluice_gate_available(gate, &left));
  CHECK(left == 0);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

static void *grant_many(void *gate) {
  int i;
  for (i = 0; i < check_rounds(5000); i++) {
    CHECK_OK(sluice_gate_grant(gate, 1));
  }
  return NULL;
}

/* Grants race with waits that are given up: each unit is taken or still there. */
static void f11_given_up_waits_lose_nothing(void) {
  sluice_gate *gate = NULL;
  pthread_t granting;
  uint64_t taken = 0, left = 0, waiting = 9;
  unsigned polled = 0;
  bell bell;
  sluice_waker waker;
  int i;
  bell_init(&bell);
  waker = bell_waker(&bell);
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK(pthread_create(&granting, NULL, grant_many, gate) == 0);
  for (i = 0; i < check_rounds(5000); i++) {
    sluice_op *op = NULL;
    CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
    taken += sluice_op_poll(op, &waker, NULL) == SLUICE_OK;
    polled += 1;
    CHECK_OK(sluice_op_release(op));
    CHECK(bell_releases(&bell) == polled);
  }
  CHECK(pthread_join(granting, NULL) == 0);
  CHECK_OK(sluice_gate_available(gate, &left));
  CHECK_OK(sluice_gate_waiting(gate, &waiting));
  CHECK(taken + left == (uint64_t)check_rounds(5000));
  CHECK(waiting == 0);
  CHECK_OK(sluice_gate_release(gate));
  bell_destroy(&bell);
}

static void *wait_on(void *op) {
  return (void *)(intptr_t)sluice_op_wait(op, SLUICE_FOREVER, NULL);
}

static void an_operation_can_be_waited_for(void) {
  sluice_gate *gate = NULL;
  sluice_op *op = NULL;
  pthread_t thread;
  void *answer = NULL;
  uint64_t waiting = 0, count = 0;
  CHECK_OK(sluice_gate_new(0, &gate));
  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(op, 0, NULL));
  CHECK_STATUS(SLUICE_TIMED_OUT, sluice_op_wait(op, 5, NULL));
  CHECK_OK(sluice_gate_waiting(gate, &waiting));
  CHECK(waiting == 1); /* its place in line is kept */
  CHECK_OK(sluice_gate_grant(gate, 1));
  CHECK_OK(sluice_op_wait(op, SLUICE_FOREVER, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_op_take_count(op, &count));
  CHECK_OK(sluice_op_release(op));

  CHECK_OK(sluice_gate_acquire_start(gate, 1, &op));
  CHECK(pthread_create(&thread, NULL, wait_on, op) == 0);
  for (waiting = 0; waiting == 0;) {
    CHECK_OK(sluice_gate_waiting(gate, &waiting));
  }
  CHECK_OK(sluice_op_release(op));
  CHECK(pthread_join(thread, &answer) == 0);
  CHECK((intptr_t)answer == SLUICE_CANCELLED);
  CHECK_OK(sluice_gate_waiting(gate, &waiting));
  CHECK(waiting == 0);
  CHECK_OK(sluice_gate_release(gate));
}

const check_case waker_cases[] = {
    {"waker: ready at once needs no wake", ready_at_once_needs_no_wake},
    {"waker: wake_fires_once, and is released once", wake_fires_once},
    {"waker: a new poll withdraws the waker before", a_new_poll_withdraws_the_waker_before},
    {"waker: released whatever is answered", wakers_are_released_whatever_is_answered},
    {"waker: on_ready fires at once or later", on_ready_fires_at_once_or_later},
    {"waker: G09 may use its gate", g09_a_waker_may_use_its_gate},
    {"waker: may release its own operation", a_waker_may_release_its_own_operation},
    {"waker: withdraw_joins: F13 release joins a waker that runs", withdraw_joins},
    {"waker: leaving_hands_on", leaving_hands_on},
    {"waker: F11 given-up waits lose nothing", f11_given_up_waits_lose_nothing},
    {"op: can be waited for", an_operation_can_be_waited_for},
    {NULL, NULL}};
