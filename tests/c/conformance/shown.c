#include "shown.h"

#include <inttypes.h>
#include <stdio.h>

void add_number(cJSON *object, const char *key, uint64_t n) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, n);
  cJSON_AddStringToObject(object, key, text);
}

void add_text(cJSON *object, const char *key, const char *text) {
  cJSON_AddItemToObject(object, key, text == NULL ? cJSON_CreateNull() : cJSON_CreateString(text));
}

void add_counters(cJSON *list, uint64_t owed, uint64_t asked, uint64_t held) {
  cJSON *one = cJSON_CreateObject();
  add_number(one, "owed", owed);
  add_number(one, "asked", asked);
  add_number(one, "held", held);
  cJSON_AddItemToArray(list, one);
}

bool same_json(const char *what, const cJSON *expected, cJSON *is) {
  const bool good = cJSON_Compare(expected, is, true);
  if (!good) {
    char *wanted = cJSON_PrintUnformatted(expected), *came = cJSON_PrintUnformatted(is);
    fail("%s: expected %.1500s, is %.1500s", what, wanted, came);
    cJSON_free(wanted);
    cJSON_free(came);
  }
  cJSON_Delete(is);
  return good;
}
