/* Files of scripts: reading them, and replaying all that a folder holds. */
#ifndef FILES_H
#define FILES_H

#include "actors.h"

/* What was replayed, and what failed. */
typedef struct report {
  unsigned scripts;
  unsigned steps;
  unsigned failures;
  bool quiet;        /* keep what fails, do not print it */
  char said[8192];   /* the last failure: file, script, step, what */
} report;

/* So many failures tell enough; more would each wait for the watchdog. */
enum { ENOUGH = 10 };

/* The text of a file, unpacked if it is packed; NULL with `failure` written. The caller frees it. */
char *read_text(const char *path);
/* Replays a file; `way` is for a waiting one. */
void replay_file(const char *path, way way, report *report);
/* Replays all files of a folder. Whatever lies there is a file of scripts. */
void replay_folder(const char *root, const char *folder, way way, report *report);
/* Feeds the broken files of a folder; each must be refused, with the texts that its table lists. */
bool broken_are_refused(const char *root);

#endif
