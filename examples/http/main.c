/* `GET /stream?n=5` answers numbers, one JSON line each: one pipeline a request. A reader that is slow
 * makes the pipeline wait, one that leaves cancels it. C has no usual HTTP server: this one knows just
 * enough of the protocol. */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support.h"

static sluice_scope *scope;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t made; /* by the last pipeline */

static uint64_t count(bool restart, bool add) {
  uint64_t now;
  pthread_mutex_lock(&lock);
  now = made = restart ? 0 : made + (add ? 1 : 0);
  pthread_mutex_unlock(&lock);
  return now;
}

static int32_t counted(void *ctx, void *value, sluice_error **err) {
  (void)ctx, (void)value, (void)err;
  count(false, true);
  return SLUICE_OK;
}

static int32_t twice(void *ctx, void *value, sluice_element *out, sluice_error **err) {
  (void)ctx, (void)err;
  *out = number((uintptr_t)value * 2);
  return SLUICE_OK;
}

/* Waits for the client; false once it has left. */
static bool say(int client, const char *format, ...) {
  char text[512];
  size_t sent = 0, length;
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  for (length = strlen(text); sent < length;) {
    const ssize_t n = send(client, text + sent, length - sent, MSG_NOSIGNAL);
    if (n <= 0) {
      return false;
    }
    sent += (size_t)n;
  }
  return true;
}

/* The numbers of one pipeline; taking them from the outlet is what asks for more. */
static sluice_outlet *numbers(uint64_t n) {
  const sluice_observer observer = {NULL, counted, NULL};
  const sluice_mapper mapper = {NULL, twice, NULL};
  sluice_source *source = NULL;
  sluice_flow *tap = NULL, *map = NULL, *take = NULL;
  sluice_sink *sink = NULL;
  sluice_outlet *outlet = NULL;
  sluice_run *running;
  MUST(sluice_source_range(0, SIZE_MAX, &source));
  MUST(sluice_flow_tap(&observer, &tap));
  MUST(sluice_flow_map(&mapper, &map));
  MUST(sluice_flow_take(n, &take));
  MUST(sluice_sink_outlet(NULL, &sink, NULL));
  running = run(via(via(via(source, tap), map), take), sink, scope);
  MUST(sluice_run_outlet(running, &outlet));
  MUST(sluice_run_release(running));
  return outlet;
}

static void stream(int client, uint64_t n) {
  sluice_outlet *outlet;
  bool there = say(client, "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
                           "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  count(true, false);
  outlet = numbers(n);
  while (there) {
    sluice_elements *next = NULL;
    char line[64];
    const sluice_status status = sluice_outlet_recv(outlet, SLUICE_FOREVER, &next, NULL);
    if (status != SLUICE_OK) {
      there = say(client, "0\r\n\r\n");
      break;
    }
    snprintf(line, sizeof line, "{\"value\":%ju}\n", (uintmax_t)at(next, 0));
    MUST(sluice_elements_release(next));
    there = say(client, "%zx\r\n%s\r\n", strlen(line), line);
  }
  MUST(sluice_outlet_release(outlet)); /* cancels what is not done */
  if (!there) {
    printf("cancelled after %ju\n", (uintmax_t)count(false, false));
    fflush(stdout);
  }
}

/* Reads to the end of the request's head: what is left unread at the close would cut the answer off. */
static void hear(int client, char *request, size_t size) {
  size_t length = 0;
  while (length + 1 < size && strstr(request, "\r\n\r\n") == NULL) {
    const ssize_t n = recv(client, request + length, size - 1 - length, 0);
    if (n <= 0) {
      return;
    }
    length += (size_t)n;
    request[length] = '\0';
  }
}

/* True if the text up to a space is digits alone, and of no greater number than there is. */
static bool is_number(const char *text, uint64_t *n) {
  char *end = NULL;
  errno = 0;
  *n = strtoull(text, &end, 10);
  return isdigit((unsigned char)*text) && *end == ' ' && errno == 0;
}

static void *answer(void *ctx) {
  const int client = (int)(intptr_t)ctx;
  char request[4096] = "";
  char body[64] = "GET /stream?n=5 or /made\n";
  const char *status = "404 Not Found";
  uint64_t n = 0;
  hear(client, request, sizeof request);
  if (strncmp(request, "GET /stream?n=", 14) == 0 && is_number(request + 14, &n)) {
    stream(client, n);
    close(client);
    return NULL;
  }
  if (strncmp(request, "GET /stream?", 12) == 0 || strncmp(request, "GET /stream ", 12) == 0) {
    status = "400 Bad Request";
    snprintf(body, sizeof body, "n must be a whole number from 0 to %ju\n", (uintmax_t)UINT64_MAX);
  } else if (strncmp(request, "GET /made ", 10) == 0) {
    status = "200 OK";
    snprintf(body, sizeof body, "%ju", (uintmax_t)count(false, false));
  }
  say(client, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", status,
      strlen(body), body);
  close(client);
  return NULL;
}

int main(int argc, char **argv) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address;
  socklen_t size = sizeof address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 9292));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
    perror("cannot listen");
    return 1;
  }
  MUST(sluice_scope_new("http", SLUICE_NUL, &scope));
  printf("listening on %u\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    const int client = accept(listener, NULL, NULL);
    pthread_t thread;
    if (client >= 0 && pthread_create(&thread, NULL, answer, (void *)(intptr_t)client) == 0) {
      pthread_detach(thread);
    } else if (client >= 0) {
      close(client);
    }
  }
}
