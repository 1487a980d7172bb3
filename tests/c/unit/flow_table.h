/* A row of the table of stages, and what runs it: numbers that know how often they were released. */
#ifndef FLOW_TABLE_H
#define FLOW_TABLE_H

#include "flow.h"

enum { SAID = 256, REFUSE = 666 };

typedef struct table_row {
  const char *name;
  sluice_source *(*source)(void); /* NULL: a manual one of four places, which the script offers to */
  sluice_flow *(*flow)(void);     /* NULL: none */
  sluice_sink *(*sink)(void);     /* NULL: a probe */
  size_t results;                 /* the completions of the sink, which are said at the end */
  const char *script;             /* see act in flow_table.c */
  const char *expected;           /* numbers, | for an end, ! for a failure and what it says, + where time went on */
} table_row;

/* Runs it in a scope without threads, whose clock the script moves. */
void table_run(const table_row *row);

/* Each number that was made has been released once, and each function; the table is as new. */
void table_all_released(const char *name);

sluice_element table_number(long n);
long table_value(const void *value);

/* A context that has to be released by table_release_function. */
void *table_function(void);
void table_release_function(void *ctx);

/* The how manieth call of this is it in this row, from 1. */
int table_attempt(void);

/* What a function of a user answers that fails. */
int32_t table_refuse(sluice_error **err);

#endif
