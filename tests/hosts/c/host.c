/* The reference host in C: tests/hosts/README.md says what it does. */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <sluicegate.h>

/* The command line. */
typedef struct order {
  const char *cartridge, *cap;
  uint64_t chunks, size, calls;
  int64_t cancel_ms; /* SLUICE_FOREVER: never */
} order;

/* An error, or what a status says where the library gave none. */
typedef struct failure {
  sluice_status status;
  sluice_error *err;
} failure;

/* One call that threads share. */
typedef struct running {
  const order *order;
  const sluice_peer *peer;
  const sluice_call *call;
} running;

static bool number(const char *text, uint64_t *out) {
  char *end = NULL;
  const long long value = strtoll(text, &end, 10);
  *out = (uint64_t)value;
  return end != text && *end == '\0' && value >= 0;
}

static bool read_order(int argc, char **argv, order *order) {
  uint64_t cancel_ms = 0;
  if (argc != 6 && argc != 7) {
    return false;
  }
  order->cartridge = argv[1];
  order->cap = argv[2];
  if (!number(argv[3], &order->chunks) || !number(argv[4], &order->size) ||
      !number(argv[5], &order->calls) || (argc == 7 && !number(argv[6], &cancel_ms))) {
    return false;
  }
  order->cancel_ms = argc == 7 ? (int64_t)cancel_ms : SLUICE_FOREVER;
  return true;
}

/* A program, or a command line of plain words. */
static sluice_status make_command(const char *line, sluice_command **out) {
  char *words = NULL, *next = NULL, *word;
  sluice_status status;
  if (access(line, F_OK) == 0) {
    return sluice_command_new(line, SLUICE_NUL, out);
  }
  words = malloc(strlen(line) + 1);
  if (words == NULL) {
    return SLUICE_LIMIT_REACHED;
  }
  strcpy(words, line);
  word = strtok_r(words, " \t", &next);
  status = sluice_command_new(word == NULL ? line : word, SLUICE_NUL, out);
  while (word != NULL && status == SLUICE_OK) {
    word = strtok_r(NULL, " \t", &next);
    if (word != NULL) {
      status = sluice_command_arg(*out, word, SLUICE_NUL);
    }
  }
  free(words);
  return status;
}

/* The media of the cap's argument, from its URN; the length is in `len`. */
static const char *argument(const char *cap, size_t *len) {
  const char *part = strstr(cap, ";in=");
  if (part == NULL) {
    *len = SLUICE_NUL;
    return "media:blob";
  }
  part += strlen(";in=");
  *len = strcspn(part, ";");
  return part;
}

static sluice_status write_all(const sluice_output *output, const order *order) {
  sluice_status status = SLUICE_OK;
  uint64_t chunk, i, offset = 0;
  uint8_t *bytes = malloc(order->size == 0 ? 1 : (size_t)order->size);
  if (bytes == NULL) {
    return SLUICE_LIMIT_REACHED;
  }
  for (chunk = 0; chunk < order->chunks && status == SLUICE_OK; chunk++) {
    for (i = 0; i < order->size; i++) {
      bytes[i] = (uint8_t)(((offset + i) % 251 * 31 + 7) % 251);
    }
    status = sluice_output_write(output, bytes, (size_t)order->size, SLUICE_FOREVER, NULL);
    offset += order->size;
  }
  free(bytes);
  return status;
}

/* Sends everything. Why it could not is seen at the end of the call. */
static void *send_all(void *shared) {
  const running *running = shared;
  size_t len = 0;
  const char *media = argument(running->order->cap, &len);
  sluice_output *output = NULL;
  if (sluice_call_input(running->call, media, len, &output, NULL) == SLUICE_OK &&
      write_all(output, running->order) == SLUICE_OK) {
    sluice_call_finish_input(running->call, SLUICE_FOREVER, NULL);
  }
  sluice_output_release(output);
  return NULL;
}

/* Cancels a call that is not over in time. */
static void *cancel_late(void *shared) {
  const running *running = shared;
  sluice_terminal *terminal = NULL;
  if (sluice_call_wait(running->call, running->order->cancel_ms, &terminal, NULL) ==
      SLUICE_TIMED_OUT) {
    sluice_error *reason = NULL;
    sluice_error_new(SLUICE_CANCELLED, "CANCELLED", SLUICE_NUL, SLUICE_CLASS_USER,
                     "the host was told to cancel", SLUICE_NUL, &reason);
    sluice_call_cancel(running->call, reason);
    sluice_error_release(reason);
  }
  sluice_terminal_release(terminal);
  return NULL;
}

/* How many bytes of content a value is: of a string its own, of anything else none. */
static uint64_t length(const sluice_item *item) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  return sluice_item_bytes(item, &bytes, &len) == SLUICE_OK ? len : 0;
}

/* What both ends say of the connection: the host once a value has come, the cartridge in what comes after
 * that. */
static void note(FILE *told, const sluice_peer *peer, const sluice_item *item) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  if (ftell(told) == 0) {
    sluice_item *own = NULL;
    if (sluice_peer_stats(peer, &own) == SLUICE_OK &&
        sluice_item_bytes(own, &bytes, &len) == SLUICE_OK) {
      fwrite(bytes, 1, len, told);
    }
    fputc('\n', told);
    sluice_item_release(own);
  } else if (sluice_item_bytes(item, &bytes, &len) == SLUICE_OK) {
    fwrite(bytes, 1, len, told);
  }
}

/* Reads the main output; answers how many bytes came. With HOST_STATS, what is said of the connection
 * goes there. */
static failure receive(const sluice_call *call, const sluice_peer *peer, uint64_t *bytes) {
  failure failure = {SLUICE_OK, NULL};
  const char *path = getenv("HOST_STATS");
  FILE *told = path == NULL ? NULL : fopen(path, "wb");
  sluice_input *input = NULL;
  failure.status = sluice_call_output(call, SLUICE_FOREVER, &input, &failure.err);
  while (failure.status == SLUICE_OK) {
    sluice_item *item = NULL;
    failure.status = sluice_input_recv(input, SLUICE_FOREVER, &item, &failure.err);
    if (failure.status == SLUICE_OK) {
      *bytes += length(item);
      if (told != NULL) {
        note(told, peer, item);
      }
    }
    sluice_item_release(item);
  }
  sluice_input_release(input);
  if (told != NULL) {
    fclose(told);
  }
  if (failure.status == SLUICE_END_OF_STREAM) {
    failure.status = SLUICE_OK;
  }
  return failure;
}

/* Reads what a call answers while other threads feed it and may cancel it. */
static failure follow(const running *running, uint64_t *bytes) {
  pthread_t sender, alarm;
  const bool sends = pthread_create(&sender, NULL, send_all, (void *)running) == 0;
  const bool cancels = sends && running->order->cancel_ms != SLUICE_FOREVER;
  const bool waits = cancels && pthread_create(&alarm, NULL, cancel_late, (void *)running) == 0;
  failure received = {SLUICE_LIMIT_REACHED, NULL}, ended = {SLUICE_OK, NULL};
  sluice_terminal *terminal = NULL;
  if (sends && waits == cancels) {
    received = receive(running->call, running->peer, bytes);
    ended.status = sluice_call_wait(running->call, SLUICE_FOREVER, &terminal, &ended.err);
  } else {
    sluice_call_cancel(running->call, NULL); /* no thread is to be had */
  }
  sluice_terminal_release(terminal);
  if (sends) {
    pthread_join(sender, NULL);
  }
  if (waits) {
    pthread_join(alarm, NULL);
  }
  if (ended.status == SLUICE_OK) {
    return received;
  }
  sluice_error_release(received.err); /* how the call ended explains best */
  return ended;
}

/* Prints the line of one call; the error is used up. */
static void tell(failure failure, uint64_t bytes) {
  if (failure.status == SLUICE_OK) {
    printf("{\"ok\":true,\"bytes\":%" PRIu64 "}\n", bytes);
  } else {
    const char *code = sluice_status_code(failure.status);
    const char *message = sluice_status_text(failure.status);
    cJSON *line = cJSON_CreateObject();
    char *text;
    sluice_error_code(failure.err, &code, NULL);
    sluice_error_message(failure.err, &message, NULL);
    cJSON_AddBoolToObject(line, "ok", false);
    cJSON_AddStringToObject(line, "code", code);
    cJSON_AddStringToObject(line, "message", message);
    text = cJSON_PrintUnformatted(line);
    puts(text == NULL ? "{\"ok\":false,\"code\":\"LIMIT_REACHED\",\"message\":\"\"}" : text);
    cJSON_free(text);
    cJSON_Delete(line);
  }
  fflush(stdout);
  sluice_error_release(failure.err);
}

static void call_once(const sluice_peer *peer, const order *order) {
  failure failure = {SLUICE_OK, NULL};
  sluice_call *call = NULL;
  uint64_t bytes = 0;
  failure.status = sluice_peer_call(peer, order->cap, SLUICE_NUL, &call, &failure.err);
  if (failure.status == SLUICE_OK) {
    const running running = {order, peer, call};
    failure = follow(&running, &bytes);
  }
  sluice_call_release(call);
  tell(failure, bytes);
}

static int run(const order *order) {
  failure failure = {SLUICE_OK, NULL};
  sluice_engine *engine = NULL;
  sluice_command *command = NULL;
  sluice_peer *peer = NULL;
  uint64_t n;
  failure.status = sluice_engine_new(NULL, &engine, &failure.err);
  if (failure.status == SLUICE_OK) {
    failure.status = make_command(order->cartridge, &command);
  }
  if (failure.status == SLUICE_OK) {
    failure.status = sluice_engine_spawn(engine, command, &peer, &failure.err);
  }
  if (failure.status == SLUICE_OK) {
    for (n = 0; n < order->calls; n++) {
      call_once(peer, order);
    }
  } else {
    tell(failure, 0);
  }
  if (engine != NULL) {
    sluice_engine_close(engine); /* while there is a peer: then it waits until that is gone */
  }
  sluice_peer_release(peer);
  sluice_command_release(command);
  sluice_engine_release(engine);
  return failure.status == SLUICE_OK ? 0 : 1;
}

int main(int argc, char **argv) {
  order order;
  if (!read_order(argc, argv, &order)) {
    fprintf(stderr, "usage: HOST CARTRIDGE CAP CHUNKS SIZE CALLS [CANCEL_MS]\n");
    return 2;
  }
  return run(&order);
}
