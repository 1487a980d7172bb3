#include "stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A scope without threads runs everything on ours. */
static long alive;

static void release_element(void *value) {
  (void)value;
  alive -= 1;
}

sluice_element element_of(uint64_t number) {
  sluice_element element = {NULL, release_element, 0};
  element.value = (void *)(uintptr_t)number;
  alive += 1;
  return element;
}

long elements_alive(void) { return alive; }

static uint64_t number_in(const void *value) { return (uint64_t)(uintptr_t)value; }

cJSON *element_json(const void *value, bool grouped) {
  char text[24];
  cJSON *list;
  size_t count = 0, i;
  if (!grouped) {
    snprintf(text, sizeof text, "%" PRIu64, number_in(value));
    return cJSON_CreateString(text);
  }
  list = cJSON_CreateArray();
  sluice_elements_count(value, &count);
  for (i = 0; i < count; i++) {
    void *one = NULL;
    sluice_elements_value(value, i, &one);
    cJSON_AddItemToArray(list, element_json(one, false));
  }
  return list;
}

typedef struct numbers {
  uint64_t a, b;
} numbers;

static void *new_numbers(uint64_t a, uint64_t b) {
  numbers *both = malloc(sizeof *both);
  both->a = a;
  both->b = b;
  return both;
}

static int32_t add(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)err;
  *out = element_of(number_in(value) + ((const numbers *)ctx)->a);
  return SLUICE_OK;
}

static int32_t has_rest(void *ctx, void *value, bool *out, sluice_error **err) {
  const numbers *both = ctx;
  (void)err;
  *out = both->a != 0 && number_in(value) % both->a == both->b;
  return SLUICE_OK;
}

static int32_t multiply(void *ctx, void *value, const sluice_elements *out, sluice_error **err) {
  const uint64_t k = ((const numbers *)ctx)->a;
  uint64_t n;
  (void)err;
  for (n = 0; n < k; n++) {
    const sluice_element element = element_of(number_in(value) * k + n);
    const sluice_status status = sluice_elements_push(out, &element);
    if (status != SLUICE_OK) {
      element.release(element.value);
      return status;
    }
  }
  return SLUICE_OK;
}

static sluice_status new_map(uint64_t k, sluice_flow **out) {
  sluice_mapper mapper = {NULL, add, free};
  mapper.ctx = new_numbers(k, 0);
  return sluice_flow_map(&mapper, out);
}

static sluice_status new_filter(uint64_t m, uint64_t r, sluice_flow **out) {
  sluice_predicate predicate = {NULL, has_rest, free};
  predicate.ctx = new_numbers(m, r);
  return sluice_flow_filter(&predicate, out);
}

static sluice_status new_expand(uint64_t k, sluice_flow **out) {
  sluice_expander expander = {NULL, multiply, free};
  expander.ctx = new_numbers(k, 0);
  return sluice_flow_expand(&expander, out);
}

bool stage_of(const cJSON *json, const char *name, sluice_flow **out, sluice_status *status,
              bool *grouped) {
  fields told;
  const char *kind;
  sluice_flow *plain = NULL;
  uint64_t a = 0, b = 0;
  TRY(fields_of(json, &told));
  TRY(take_text(&told, "stage", &kind));
  if (strcmp(kind, "filter_mod") == 0) {
    TRY(take_number(&told, "m", &a) && take_number(&told, "r", &b));
  } else if (strcmp(kind, "page") == 0) {
    TRY(take_number(&told, "size", &a) && take_number(&told, "mark", &b));
  } else if (strcmp(kind, "take") == 0 || strcmp(kind, "drop") == 0) {
    TRY(take_number(&told, "n", &a));
  } else if (strcmp(kind, "map_add") == 0 || strcmp(kind, "expand") == 0 ||
             strcmp(kind, "batch") == 0) {
    TRY(take_number(&told, "k", &a));
  } else {
    return fail("unknown stage \"%s\"", kind);
  }
  TRY(done(&told));
  *grouped = *grouped || strcmp(kind, "batch") == 0;
  *status = strcmp(kind, "filter_mod") == 0 ? new_filter(a, b, &plain)
            : strcmp(kind, "page") == 0     ? sluice_flow_page(a, b, &plain, NULL)
            : strcmp(kind, "take") == 0     ? sluice_flow_take(a, &plain)
            : strcmp(kind, "drop") == 0     ? sluice_flow_drop(a, &plain)
            : strcmp(kind, "map_add") == 0  ? new_map(a, &plain)
            : strcmp(kind, "expand") == 0   ? new_expand(a, &plain)
                                            : sluice_flow_batch(a, UINT64_MAX, &plain, NULL);
  *status = *status == SLUICE_OK ? sluice_flow_named(plain, name, SLUICE_NUL, out) : *status;
  sluice_flow_release(plain);
  return true;
}
