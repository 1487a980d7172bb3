/* What a runner saw, written as scripts write it, and compared with what they say. */
#ifndef SHOWN_H
#define SHOWN_H

#include "script.h"

void add_number(cJSON *object, const char *key, uint64_t n);
/* NULL becomes null. */
void add_text(cJSON *object, const char *key, const char *text);
/* The counters of a stage, as the next of a list. */
void add_counters(cJSON *list, uint64_t owed, uint64_t asked, uint64_t held);

/* Takes what is there over. */
bool same_json(const char *what, const cJSON *expected, cJSON *is);

#endif
