/* Replays tests/conformance through the C ABI: conformance FOLDER. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "script.h"

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  long size;
  if (file == NULL) {
    return NULL;
  }
  if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
    text = malloc((size_t)size + 1);
    if (text != NULL) {
      text[fread(text, 1, (size_t)size, file)] = '\0';
    }
  }
  fclose(file);
  return text;
}

static bool replay_json(const cJSON *json, bool waiting, tally *tally) {
  fields head;
  const char *machine, *notice;
  const cJSON *scripts, *script;
  TRY(fields_of(json, &head));
  TRY(take_text(&head, "generated", &notice));
  TRY(take_text(&head, "machine", &machine));
  TRY(take_list(&head, "scripts", &scripts));
  TRY(done(&head));
  if (waiting != (strcmp(machine, "waiting") == 0)) {
    return fail("the machine \"%s\" is in the wrong folder", machine);
  }
  cJSON_ArrayForEach(script, scripts) {
    TRY(waiting ? replay_waiting(script, tally) : replay_pure(machine, script, tally));
  }
  return true;
}

static bool replay_file(const char *path, bool waiting, tally *tally) {
  char *text = read_file(path);
  cJSON *json = text == NULL ? NULL : cJSON_Parse(text);
  const bool good = json == NULL ? fail("not readable as JSON") : replay_json(json, waiting, tally);
  if (!good) {
    fprintf(stderr, "%s: %s\n", path, failure);
  }
  cJSON_Delete(json);
  free(text);
  return good;
}

static int only_json(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot != NULL && strcmp(dot, ".json") == 0;
}

static bool replay_folder(const char *root, const char *folder, tally *tally) {
  char path[4096];
  struct dirent **files;
  bool good = true;
  int i, count;
  snprintf(path, sizeof path, "%s/%s", root, folder);
  count = scandir(path, &files, only_json, alphasort);
  if (count <= 0) {
    fprintf(stderr, "%s: no scripts\n", path);
    return false;
  }
  for (i = 0; i < count; i++) {
    char file[8192];
    snprintf(file, sizeof file, "%s/%s", path, files[i]->d_name);
    good = replay_file(file, strcmp(folder, "waiting") == 0, tally) && good;
    free(files[i]);
  }
  free(files);
  return good;
}

int main(int argc, char **argv) {
  const char *repeat = getenv("SLUICEGATE_REPEAT");
  long rounds = repeat == NULL ? 1 : strtol(repeat, NULL, 10);
  tally pure = {0, 0}, waiting = {0, 0};
  bool good;
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  good = replay_folder(argv[1], "pure", &pure);
  for (; good && rounds > 0; rounds--) {
    waiting.scripts = waiting.steps = 0;
    good = replay_folder(argv[1], "waiting", &waiting);
  }
  if (good && sluice_live_handles() != 0) {
    fprintf(stderr, "%llu handles were not released\n", (unsigned long long)sluice_live_handles());
    good = false;
  }
  printf("conformance c: pure %u scripts %u steps, waiting %u scripts %u steps\n", pure.scripts,
         pure.steps, waiting.scripts, waiting.steps);
  return good ? 0 : 1;
}
