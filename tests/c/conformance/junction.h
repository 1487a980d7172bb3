/* Junction scripts: real joins and forks with lines of stages on either side, between probes. */
#ifndef JUNCTION_H
#define JUNCTION_H

#include "script.h"

/* Replays one script of the machine "junction", in every order. */
bool replay_junction(const cJSON *script);

/* Feeds scripts that are broken; each must be refused with the right words. */
bool broken_junctions_are_refused(void);

#endif
