#include "files.h"
#include "hub.h"
#include "junction.h"
#include "pipeline.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <zlib.h>

static bool ends_with(const char *name, const char *end) {
  const size_t length = strlen(name), tail = strlen(end);
  return length >= tail && strcmp(name + length - tail, end) == 0;
}

char *read_text(const char *path) {
  gzFile file = gzopen(path, "rb");
  size_t used = 0, size = 1 << 16;
  char *text = malloc(size);
  int got = -1;
  if (file != NULL && text != NULL) {
    while ((got = gzread(file, text + used, (unsigned)(size - used - 1))) > 0) {
      used += (size_t)got;
      if (used + 1 == size) {
        char *more = realloc(text, size *= 2);
        if (more == NULL) {
          got = -1;
          break;
        }
        text = more;
      }
    }
    text[used] = '\0';
  }
  if (got == 0 && ends_with(path, ".gz") && gzdirect(file)) {
    fail("it is not packed");
    got = -1;
  } else if (got != 0) {
    fail("it cannot be read");
  }
  /* A file that ends too early is told when it is closed. */
  if (file != NULL && gzclose(file) != Z_OK && got == 0) {
    fail("it is cut off");
    got = -1;
  }
  if (got != 0) {
    free(text);
    return NULL;
  }
  return text;
}

static void failed(report *report, const char *path, const char *script) {
  report->failures += 1;
  snprintf(report->said, sizeof report->said, "%s: %s%s%s", path, script, *script ? ": " : "",
           failure);
  if (!report->quiet) {
    fprintf(stderr, "%s\n", report->said);
  }
}

static bool head_of(const cJSON *json, const char **machine, const cJSON **scripts) {
  fields head;
  const char *notice;
  TRY(fields_of(json, &head));
  TRY(take_text(&head, "generated", &notice));
  TRY(take_text(&head, "machine", machine));
  TRY(take_list(&head, "scripts", scripts));
  return done(&head);
}

static void replay_json(const cJSON *json, const char *path, way way, report *report) {
  const char *machine;
  const cJSON *scripts, *script;
  if (!head_of(json, &machine, &scripts)) {
    failed(report, path, "");
    return;
  }
  cJSON_ArrayForEach(script, scripts) {
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(script, "name");
    if (report->failures >= ENOUGH) {
      return;
    }
    if (!(strcmp(machine, "waiting") == 0    ? replay_waiting(script, way)
          : strcmp(machine, "pipeline") == 0 ? replay_pipeline(script)
          : strcmp(machine, "junction") == 0 ? replay_junction(script)
          : strcmp(machine, "hub") == 0      ? replay_hub(script)
                                             : replay_pure(machine, script))) {
      failed(report, path, cJSON_IsString(name) ? name->valuestring : "(no name)");
    }
    report->scripts += 1;
    report->steps +=
        (unsigned)cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(script, "steps"));
  }
}

void replay_file(const char *path, way way, report *report) {
  char *text = NULL;
  cJSON *json = NULL;
  if (!ends_with(path, ".json.gz") && !ends_with(path, ".json")) {
    fail("neither .json.gz nor .json");
  } else if ((text = read_text(path)) != NULL) {
    json = cJSON_ParseWithOpts(text, NULL, true);
    fail("it is not JSON");
  }
  if (json == NULL) {
    failed(report, path, "");
  } else {
    replay_json(json, path, way, report);
  }
  cJSON_Delete(json);
  free(text);
}

static int is_file(const struct dirent *entry) { return entry->d_name[0] != '.'; }

void replay_folder(const char *root, const char *folder, way way, report *report) {
  char path[4096];
  struct dirent **files;
  int i, count;
  snprintf(path, sizeof path, "%s/%s", root, folder);
  count = scandir(path, &files, is_file, alphasort);
  if (count <= 0) {
    fail("no scripts");
    failed(report, path, "");
    return;
  }
  for (i = 0; i < count; i++) {
    char file[8192];
    snprintf(file, sizeof file, "%s/%s", path, files[i]->d_name);
    if (report->failures < ENOUGH) {
      replay_file(file, way, report);
    }
    free(files[i]);
  }
  free(files);
}

static bool one_is_refused(const char *folder, const cJSON *texts, way way) {
  report report;
  char path[8192];
  const cJSON *text;
  memset(&report, 0, sizeof report);
  report.quiet = true;
  snprintf(path, sizeof path, "%s/%s", folder, texts->string);
  replay_file(path, way, &report);
  if (report.failures == 0) {
    fprintf(stderr, "%s was replayed as if it were good\n", path);
    return false;
  }
  cJSON_ArrayForEach(text, texts) {
    if (!cJSON_IsString(text) || strstr(report.said, text->valuestring) == NULL) {
      fprintf(stderr, "%s: \"%s\" is not said in: %s\n", path,
              cJSON_IsString(text) ? text->valuestring : "?", report.said);
      return false;
    }
  }
  return true;
}

bool broken_are_refused(const char *root) {
  char folder[4096], path[8192];
  struct dirent **files = NULL;
  char *text;
  cJSON *table;
  const cJSON *texts;
  int count;
  bool good;
  snprintf(folder, sizeof folder, "%s/broken", root);
  snprintf(path, sizeof path, "%s/said.json", folder);
  text = read_text(path);
  table = text == NULL ? NULL : cJSON_Parse(text);
  free(text);
  count = scandir(folder, &files, is_file, alphasort);
  good = cJSON_IsObject(table) && count == cJSON_GetArraySize(table) + 1;
  if (!good) {
    fprintf(stderr, "%s: there is no table, or it does not list every file\n", folder);
  }
  while (count > 0) {
    free(files[--count]);
  }
  free(files);
  cJSON_ArrayForEach(texts, table) {
    good = one_is_refused(folder, texts, WAY_CONDVAR) && good;
    good = one_is_refused(folder, texts, WAY_BLOCKING) && good;
  }
  cJSON_Delete(table);
  return good;
}
