/* Pipeline scripts: lines of real stages between two probes. */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "script.h"

/* Replays one script of the machine "pipeline", in every order. */
bool replay_pipeline(const cJSON *script);

/* Feeds scripts that are broken; each must be refused with the right words. */
bool broken_pipelines_are_refused(void);

#endif
