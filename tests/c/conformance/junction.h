/* Junction scripts: real joins and forks between probes, on a scope without threads. */
#ifndef JUNCTION_H
#define JUNCTION_H

#include "script.h"

/* Replays one script of the machine "junction", in as many orders as a pipeline. */
bool replay_junction(const cJSON *script);

/* Feeds scripts that are broken; each must be refused with the right words. */
bool broken_junctions_are_refused(void);

#endif
