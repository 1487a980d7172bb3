/* Versions, the status table, structs that grow. */
#include <stdio.h>
#include <string.h>

#include "check.h"

static void versions(void) {
  CHECK(sluice_abi_version() == SLUICE_ABI_VERSION);
  CHECK(strchr(sluice_version(), '.') != NULL);
}

static void every_status_has_a_name(void) {
  int32_t status;
  CHECK(strcmp(sluice_status_name(SLUICE_OK), "Ok") == 0);
  CHECK(strcmp(sluice_status_name(SLUICE_CREDIT_VIOLATION), "CreditViolation") == 0);
  CHECK(strcmp(sluice_status_code(SLUICE_CREDIT_VIOLATION), "CREDIT_VIOLATION") == 0);
  for (status = SLUICE_OK; status <= SLUICE_PLAN_REFUSED; status++) {
    CHECK(strcmp(sluice_status_name(status), "Unknown") != 0);
    CHECK(strlen(sluice_status_text(status)) > 10);
  }
  CHECK(strcmp(sluice_status_name(SLUICE_PLAN_REFUSED + 1), "Unknown") == 0);
  CHECK(strcmp(sluice_status_name(-1), "Unknown") == 0);
  CHECK(strcmp(sluice_status_text(INT32_MIN), "Unknown") == 0);
}

static void errors_carry_kind_code_class_and_message(void) {
  sluice_error *err = NULL;
  sluice_status kind = SLUICE_OK;
  sluice_class cls = SLUICE_CLASS_DEFAULT;
  const char *text = NULL;
  size_t len = 0;
  CHECK_OK(sluice_error_new(SLUICE_REMOTE, "TOO_BIG", SLUICE_NUL, SLUICE_CLASS_INPUT, "no more",
                            SLUICE_NUL, &err));
  CHECK_OK(sluice_error_kind(err, &kind));
  CHECK(kind == SLUICE_REMOTE);
  CHECK_OK(sluice_error_class(err, &cls));
  CHECK(cls == SLUICE_CLASS_INPUT);
  CHECK_OK(sluice_error_code(err, &text, &len));
  CHECK(len == 7 && strcmp(text, "TOO_BIG") == 0);
  CHECK_OK(sluice_error_message(err, &text, NULL));
  CHECK(strcmp(text, "no more") == 0);
  CHECK_OK(sluice_error_text(err, &text, NULL));
  CHECK(strcmp(text, "TOO_BIG: no more") == 0);
  CHECK_OK(sluice_error_release(err));

  CHECK_OK(sluice_error_new(SLUICE_CANCELLED, NULL, 0, SLUICE_CLASS_DEFAULT, NULL, 0, &err));
  CHECK_OK(sluice_error_code(err, &text, NULL));
  CHECK(strcmp(text, "CANCELLED") == 0);
  CHECK_OK(sluice_error_class(err, &cls));
  CHECK(cls == SLUICE_CLASS_USER);
  CHECK_OK(sluice_error_release(err));

  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_error_new(SLUICE_OK, NULL, 0, 0, NULL, 0, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_error_new(999, NULL, 0, 0, NULL, 0, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_error_new(SLUICE_CLOSED, NULL, 0, 6, NULL, 0, &err));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_error_new(SLUICE_CLOSED, "\xff", 1, 0, NULL, 0, &err));
}

static void texts_are_checked(void) {
  sluice_gate *gate = NULL;
  CHECK_OK(sluice_gate_new(1, &gate));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_gate_close(gate, "\xc3\x28", 2, NULL));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_gate_close(gate, NULL, 5, NULL));
  CHECK_STATUS(SLUICE_OK, sluice_gate_try_acquire(gate, 1));
  CHECK_OK(sluice_gate_release(gate));
}

/* A caller of an older header has a shorter struct, one of a newer a longer one. */
static void structs_may_grow(void) {
  struct {
    sluice_engine_options options;
    unsigned char behind[32];
  } grown;
  sluice_engine_options options = SLUICE_ENGINE_OPTIONS_INIT;
  sluice_engine *engine = NULL;
  sluice_error *err = NULL;

  CHECK_OK_ERR(sluice_engine_new(&options, &engine, &err), err);
  CHECK_OK(sluice_engine_release(engine));

  options.struct_size = 8; /* only the policy */
  options.limits.initial_credit = 1;
  CHECK_OK_ERR(sluice_engine_new(&options, &engine, &err), err);
  CHECK_OK(sluice_engine_release(engine));

  memset(&grown, 0xee, sizeof grown);
  grown.options = options;
  grown.options.struct_size = (uint32_t)sizeof grown;
  CHECK_OK_ERR(sluice_engine_new(&grown.options, &engine, &err), err);
  CHECK_OK(sluice_engine_release(engine));

  options.struct_size = 0;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_engine_new(&options, &engine, &err));
  CHECK_OK(sluice_error_release(err));
  options.struct_size = (uint32_t)sizeof options;
  options.policy = 77;
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_engine_new(&options, &engine, NULL));
}

static void items_keep_their_kind(void) {
  static const uint8_t list[] = {0x82, 0x01, 0x61, 0x61}; /* [1, "a"] */
  static const uint8_t map[] = {0xa1, 0x61, 0x6b, 0x20};  /* {"k": -1} */
  sluice_item *item = NULL, *other = NULL;
  sluice_item_kind_t kind = SLUICE_ITEM_NULL;
  const uint8_t *bytes = NULL;
  const char *text = NULL;
  size_t len = 99;
  uint64_t u = 0;
  int64_t i = 0;
  double f = 0;
  bool b = false;

  CHECK_OK(sluice_item_new_i64(INT64_MIN, &item));
  CHECK_OK(sluice_item_kind(item, &kind));
  CHECK(kind == SLUICE_ITEM_INT);
  CHECK_OK(sluice_item_i64(item, &i));
  CHECK(i == INT64_MIN);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_item_u64(item, &u));
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_item_text(item, &text, &len));
  CHECK_OK(sluice_item_release(item));

  CHECK_OK(sluice_item_new_u64(UINT64_MAX, &item));
  CHECK_OK(sluice_item_u64(item, &u));
  CHECK(u == UINT64_MAX);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT, sluice_item_i64(item, &i));
  CHECK_OK(sluice_item_f64(item, &f));
  CHECK(f > 1e19);
  CHECK_OK(sluice_item_cbor(item, &bytes, &len));
  CHECK(len == 9 && bytes[0] == 0x1b);
  CHECK_OK(sluice_item_meta(item, &bytes, &len));
  CHECK(bytes == NULL && len == 0);
  CHECK_OK(sluice_item_release(item));

  CHECK_OK(sluice_item_new_bool(true, &item));
  CHECK_OK(sluice_item_bool(item, &b));
  CHECK(b);
  CHECK_OK(sluice_item_release(item));

  CHECK_OK(sluice_item_new_text("h\xc3\xa9", SLUICE_NUL, &item));
  CHECK_OK(sluice_item_text(item, &text, &len));
  CHECK(len == 3 && memcmp(text, "h\xc3\xa9", 3) == 0);
  CHECK_OK(sluice_item_release(item));

  CHECK_OK(sluice_item_new_cbor(list, sizeof list, &item, NULL));
  CHECK_OK(sluice_item_kind(item, &kind));
  CHECK(kind == SLUICE_ITEM_OTHER);
  CHECK_OK(sluice_item_with_meta(item, map, sizeof map, &other, NULL));
  CHECK_OK(sluice_item_meta(other, &bytes, &len));
  CHECK(len == sizeof map && memcmp(bytes, map, len) == 0);
  CHECK_STATUS(SLUICE_INVALID_ARGUMENT,
               sluice_item_with_meta(item, list, sizeof list, &other, NULL));
  CHECK_OK(sluice_item_release(other));
  CHECK_OK(sluice_item_release(item));
  CHECK_STATUS(SLUICE_MALFORMED, sluice_item_new_cbor(list, 2, &item, NULL));
}

const check_case abi_cases[] = {
    {"abi: versions", versions},
    {"abi: every status has a name", every_status_has_a_name},
    {"abi: errors carry kind, code, class and message", errors_carry_kind_code_class_and_message},
    {"abi: texts are checked", texts_are_checked},
    {"abi: structs may grow", structs_may_grow},
    {"abi: items keep their kind", items_keep_their_kind},
    {NULL, NULL}};
