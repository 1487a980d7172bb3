/* Pipeline scripts: lines of real stages between two probes, on a scope without threads. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "script.h"

/* In how many orders of its islands each script is replayed; none may show. */
enum { ORDERS = 2 };

/* Replays one script of the machine "pipeline". */
bool replay_pipeline(const cJSON *script);

/* Feeds scripts that are broken; each must be refused with the right words. */
bool broken_pipelines_are_refused(void);

#endif
