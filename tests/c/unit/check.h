/* The least a test needs: a list of cases, a check that goes on, a count at the end. */
#ifndef CHECK_H
#define CHECK_H

#include <stddef.h>

#include <sluicegate.h>

#include "../bell.h"

typedef struct check_case {
  const char *name;
  void (*run)(void);
} check_case;

/* Each file's cases, ended by a NULL name. */
extern const check_case abi_cases[];
extern const check_case handle_cases[];
extern const check_case gate_cases[];
extern const check_case waker_cases[];
extern const check_case panic_cases[];
extern const check_case fork_cases[];
extern const check_case signal_cases[];
extern const check_case stream_cases[];
extern const check_case call_cases[];
extern const check_case process_cases[];
extern const check_case feed_cases[];
extern const check_case limit_cases[];
extern const check_case relay_cases[];
extern const check_case loss_cases[];
extern const check_case matcher_cases[];
extern const check_case flow_cases[];
extern const check_case flow_stage_cases[];
extern const check_case flow_more_cases[];
extern const check_case flow_wire_cases[];
extern const check_case flow_expect_cases[];
extern const check_case flow_io_cases[];
extern const check_case flow_table_cases[];
extern const check_case flow_op_cases[];
extern const check_case flow_plan_cases[];
extern const check_case flow_fault_cases[];
extern const check_case law_cases[];

/* Notes a failure; the case goes on. Any thread. */
void check_failed(const char *file, int line, const char *what, const char *detail);

#define CHECK(condition) \
  do { \
    if (!(condition)) { \
      check_failed(__FILE__, __LINE__, #condition, ""); \
    } \
  } while (0)

/* Checks what a call answers, and says what it answered instead. */
#define CHECK_STATUS(expected, call) \
  do { \
    const sluice_status check_status_ = (call); \
    if (check_status_ != (expected)) { \
      check_failed(__FILE__, __LINE__, #expected " == " #call, \
                   sluice_status_name(check_status_)); \
    } \
  } while (0)

#define CHECK_OK(call) CHECK_STATUS(SLUICE_OK, call)

/* The same, and shows the error that came with it. Releases it. */
void check_ok_with(const char *file, int line, const char *what, sluice_status status,
                   sluice_error *err);
#define CHECK_OK_ERR(call, err) check_ok_with(__FILE__, __LINE__, #call, (call), (err))

/* How long a wait may take that comes to an end on any machine, however busy. */
enum { WAIT_MS = 120000 };

/* Whether a text that was handed out says something. Releases it. */
int says(sluice_item *item, const char *what);

/* How much less there is to do where a checker makes everything slow. */
int check_rounds(int rounds);

/* A host and a cartridge in this process, joined by a socket pair. */
typedef struct pair {
  sluice_engine *engine;
  sluice_peer *peer;
  sluice_cartridge *cartridge;
  pthread_t thread;
  int fd;
} pair;

void pair_open(pair *pair, const sluice_engine_options *options, sluice_cartridge *cartridge);
/* The same over a link with faults. */
void pair_open_over(pair *pair, const sluice_engine_options *options, sluice_cartridge *cartridge,
                    const sluice_faults *faults);
void pair_close(pair *pair);

/* The cartridge of these tests, with all its handlers. Yours to release. */
sluice_cartridge *test_cartridge(void);
/* How often a handler's release function ran. */
unsigned handler_releases(void);

#define CAP_ECHO "cap:echo;in=media:blob;out=media:blob"
#define CAP_ITEMS "cap:items;in=media:items;out=media:items"
#define CAP_FOREVER "cap:forever;in=media:blob;out=media:blob"
#define CAP_FAIL "cap:fail;in=media:blob;out=media:blob"
#define CAP_TALK "cap:talk;in=media:blob;out=media:text"
/* Says three things of which its caller keeps one. */
#define CAP_CHATTER "cap:chatter;in=media:blob;out=media:blob"
/* Reads one value, gives itself 300 ms while it waits for the next, and has no answer. */
#define CAP_LIMITED "cap:limited;in=media:blob;out=media:blob"

#endif
