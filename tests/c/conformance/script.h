/* Reading scripts: objects whose every key must be taken, answers as one text, failures with a
 * message. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>
#include <sluicegate.h>

/* What went wrong last, for a person. */
extern char failure[4096];

/* Writes `failure` and answers false. */
bool fail(const char *format, ...);

#define TRY(step) \
  do { \
    if (!(step)) { \
      return false; \
    } \
  } while (0)

/* An object whose keys are taken one by one. */
typedef struct fields {
  const cJSON *object;
  int taken;
} fields;

bool fields_of(const cJSON *object, fields *out);
bool take(fields *from, const char *key, const cJSON **out);
bool take_text(fields *from, const char *key, const char **out);
/* NULL for null. */
bool take_optional_text(fields *from, const char *key, const char **out);
bool take_number(fields *from, const char *key, uint64_t *out);
bool take_optional_number(fields *from, const char *key, bool *present, uint64_t *out);
bool take_list(fields *from, const char *key, const cJSON **out);
bool take_object(fields *from, const char *key, const cJSON **out);
/* Fails if a key is left. */
bool done(const fields *from);

bool number_of(const char *text, uint64_t *out);

/* An answer as one text: "acquired", "closed:REASON", "3", "null". */
#define ANSWER_SIZE 256
bool answer_of(const cJSON *json, char out[ANSWER_SIZE]);
void answer_number(uint64_t number, char out[ANSWER_SIZE]);
bool same(const char *what, const char *expected, const char *is);

/* Fails unless the library answered OK. */
bool ok(const char *what, sluice_status status);

/* Named gates of a script. */
enum { MAX_NAMED = 16 };

typedef struct named_gate {
  const char *name;
  sluice_gate *gate;
} named_gate;

typedef struct gates {
  named_gate list[MAX_NAMED];
  int count;
} gates;

bool gates_open(const cJSON *windows, gates *out);
void gates_release(gates *gates);
bool gates_find(const gates *gates, const char *name, const sluice_gate **out);
/* Compares `available` and `closed`, and `waiting` where it is listed, of all gates. */
bool gates_compare(const gates *gates, const cJSON *states);

bool closing_reason(const sluice_gate *gate, bool *closed, char out[ANSWER_SIZE]);
bool try_answer(const sluice_gate *gate, uint64_t n, char out[ANSWER_SIZE]);
bool window_open(bool has_batch, uint64_t window, uint64_t batch, sluice_window **out);
bool window_answer(const sluice_window *window, const char *op, char out[ANSWER_SIZE]);
/* register, unregister, grant (also called route), close_request, close_all */
bool router_answer(const sluice_router *router, const gates *gates, const char *op, fields *step,
                   char out[ANSWER_SIZE]);

/* Replays one script of a pure machine. */
bool replay_pure(const char *machine, const cJSON *script);

#endif
