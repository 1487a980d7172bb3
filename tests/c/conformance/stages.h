/* The stages of pipeline scripts, and their elements: numbers, counted, and groups of them. */
#ifndef STAGES_H
#define STAGES_H

#include "script.h"

/* A number as an element, which is counted until it is released. */
sluice_element element_of(uint64_t number);
/* Elements of this runner that were not released. */
long elements_alive(void);
/* An element in the words of the scripts; `grouped`: it is a list of numbers. */
cJSON *element_json(const void *value, bool grouped);

/* One stage under `name`; `status` is what the library says of it. Sets `grouped` if it makes groups. */
bool stage_of(const cJSON *json, const char *name, sluice_flow **out, sluice_status *status,
              bool *grouped);

#endif
