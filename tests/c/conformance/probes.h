/* The probes that a script plays by hand, on a scope without threads, and the replay of such scripts: step
 * by step, in several orders of the islands, none of which may show. */
#ifndef PROBES_H
#define PROBES_H

#include "script.h"

/* In how many orders each script is replayed. */
enum { ORDERS = 2 };

enum { MAX_LINES = 8, MAX_NAME = 32 };

/* A publisher, and what the script has done with it. */
typedef struct upper {
  sluice_manual *probe;
  uint64_t next;     /* the element that it sends next */
  const char *ended; /* NULL while it has not */
} upper;

/* A subscriber, and what it received in this step. */
typedef struct lower {
  sluice_subscriber *probe;
  cJSON *delivered;
  const char *terminal;
  bool grouped; /* groups are delivered */
} lower;

/* All probes of a script. All 0 is none. */
typedef struct probes {
  sluice_scope *scope;
  upper above[MAX_LINES];
  lower below[MAX_LINES];
  int publishers, subscribers;
} probes;

/* Runs a graph with as many probes as are counted. Publisher number i begins with the element i * 1000.
 * `out` may be NULL; else the run is the caller's. */
bool probes_run(probes *probes, const sluice_graph *graph, const char *name, uint64_t seed,
                sluice_run **out);
/* One subscriber more, right behind a source. */
bool probes_add(probes *probes, const sluice_source *source);
/* Releases what there is. Answers `good`, the outcome of the replay; fails a good one that leaves an element. */
bool probes_release(probes *probes, bool good);

/* Runs everything until it is quiet, taking what comes. */
bool probes_settle(probes *probes);
/* Fails for an operation that no probe knows. */
bool known_op(const char *op);
/* What the probe number `who` is told to do, and all that follows from it. The answer is the caller's. */
bool probes_play(probes *probes, const char *op, uint64_t who, fields *step, cJSON **answer);

/* Adds `demand` and `ended`. */
bool add_publisher(const upper *upper, cJSON *to);
/* Adds `delivered` and `terminal`, and forgets them. */
void add_subscriber(lower *lower, cJSON *to);
/* Adds an object for each of them. */
bool add_publishers(const probes *probes, cJSON *list);
void add_subscribers(probes *probes, cJSON *list);
/* The next stage of this name, from `*at` on, which begins with 0. False if there is none. */
bool next_stage(const sluice_stages *stages, const char *name, size_t *at, sluice_stage_info *out);
/* Adds the counters of a stage; all 0 of one that is gone. */
void add_stage(const sluice_stages *stages, const char *name, cJSON *list);
/* Adds the counters of all that bear the name, of none if all are gone. */
void add_stages(const sluice_stages *stages, const char *name, cJSON *list);

/* What a script is played on. */
typedef struct player {
  void *of;
  /* Plays one step. */
  bool (*play)(void *of, const char *op, fields *step, cJSON **answer);
  /* What can be seen now. */
  bool (*state)(void *of, cJSON *state);
} player;

/* Plays the steps of a script, and compares what is answered and seen. */
bool replay_steps(const player *player, const cJSON *steps);
/* Replays a script in every order. */
bool replay_orders(const cJSON *script, bool (*replay)(const cJSON *script, uint64_t seed));
/* Replays a script that is broken; it must be refused with these words, or replayed if there are none. */
bool is_refused(const char *text, bool (*replay)(const cJSON *script), const char *said);

#endif
