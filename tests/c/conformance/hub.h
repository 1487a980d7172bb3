/* Hub scripts: a real broadcast hub between a publisher and subscribers that come and go. */
#ifndef HUB_H
#define HUB_H

#include "script.h"

/* Replays one script of the machine "hub", in every order. */
bool replay_hub(const cJSON *script);

/* Feeds scripts that are broken; each must be refused with the right words. */
bool broken_hubs_are_refused(void);

#endif
