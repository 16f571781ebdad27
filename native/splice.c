/*
 * Memory of whole segments, and how it leaves on a socket of this process: the head of an answer, then the pages of the
 * segment themselves, through a pipe (vmsplice(2), splice(2)). Nothing is copied. The fast back end of
 * src/edge/http/hls/sendAtOnce.ts: JavaScript makes all decisions and owns the socket. A segment has pages of its own, which
 * nothing writes to any more. When its Buffer is gone they are unmapped, and the kernel frees them when no socket needs them.
 * All state belongs to one instance of the module and is freed with it; nothing is global.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "addon.h"

enum {
  MAX_PARTS = 1024,
  MAX_HEAD = 8192,
  /* What a process without privileges may have; 64 kB if it has many pipes. A larger segment takes several turns. */
  PIPE_BYTES = 1 << 20,
  NO_PIPE = -1
};

/* The state of one instance of the module. */
typedef struct instance {
  /* Segments that are in memory, and one if the environment is alive. The last one frees the instance. */
  size_t references;
  /* Empty between two calls. */
  int reads_from, writes_to;
} instance;

typedef struct {
  instance *owner;
  char *start;
  size_t length;
} segment;

/* ---- The pipe ---- */

static bool open_pipe(instance *self) {
  int ends[2];
  if (self->writes_to != NO_PIPE) return true;
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  self->reads_from = ends[0];
  self->writes_to = ends[1];
  fcntl(self->writes_to, F_SETPIPE_SZ, PIPE_BYTES);
  return true;
}

static void close_pipe(instance *self) {
  if (self->writes_to == NO_PIPE) return;
  close(self->reads_from);
  close(self->writes_to);
  self->reads_from = self->writes_to = NO_PIPE;
}

/* ---- Memory ---- */

static void let_go(instance *self) {
  if (--self->references > 0) return;
  close_pipe(self);
  free(self);
}

/* Called when no Buffer of the memory is left. */
static void finalize(napi_env env, void *memory, void *hint) {
  segment *gone = hint;
  (void)env;
  munmap(memory, gone->length);
  let_go(gone->owner);
  free(gone);
}

/* NULL: there is no memory. */
static segment *new_segment(instance *self, const struct iovec *parts, size_t count, size_t length) {
  segment *made = malloc(sizeof *made);
  if (made == NULL) return NULL;
  char *start = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (start == MAP_FAILED) {
    free(made);
    return NULL;
  }
  char *at = start;
  for (size_t i = 0; i < count; i++) {
    if (parts[i].iov_len == 0) continue;
    memcpy(at, parts[i].iov_base, parts[i].iov_len);
    at += parts[i].iov_len;
  }
  *made = (segment){.owner = self, .start = start, .length = length};
  self->references++;
  return made;
}

/* ---- Sending ---- */

/* Passes what is in the pipe to the socket. Returns how much the socket took. */
static size_t drain(int socket, int pipe, size_t length, bool is_last) {
  const unsigned flags = SPLICE_F_NONBLOCK | (is_last ? 0 : SPLICE_F_MORE);
  size_t done = 0;
  while (done < length) {
    ssize_t moved = splice(pipe, NULL, socket, NULL, length - done, flags);
    if (moved <= 0) break;
    done += (size_t)moved;
  }
  return done;
}

/* The number of bytes of the body that the kernel accepted. */
static size_t send_body(instance *self, int socket, const segment *body) {
  size_t done = 0;
  while (done < body->length) {
    if (!open_pipe(self)) break;
    struct iovec rest = {.iov_base = body->start + done, .iov_len = body->length - done};
    ssize_t queued = vmsplice(self->writes_to, &rest, 1, SPLICE_F_NONBLOCK);
    if (queued <= 0) break;
    size_t moved = drain(socket, self->reads_from, (size_t)queued, (size_t)queued == rest.iov_len);
    done += moved;
    if (moved == (size_t)queued) continue;
    /* The rest must not reach the next socket. */
    close_pipe(self);
    break;
  }
  return done;
}

/*
 * The number of bytes of head and body that the kernel accepted: fewer than all when the socket is full. On an error, a
 * negative errno, it accepted none. Node ignores SIGPIPE.
 */
static int64_t send_both(int socket, const char *head, size_t head_length, const segment *body) {
  /* MSG_MORE: the head waits for the body, so that both leave in the same packets. */
  ssize_t taken = send(socket, head, head_length, MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (taken < 0) return -errno;
  if ((size_t)taken < head_length) return taken;
  return taken + (int64_t)send_body(body->owner, socket, body);
}

/* ---- The functions for JavaScript. A wrong argument is a TypeError. ---- */

static napi_value nothing(napi_env env) {
  napi_value value = NULL;
  napi_get_null(env, &value);
  return value;
}

/* Copies a Latin-1 string of 1 to MAX_HEAD characters into `head`. Returns its length. */
static size_t latin1(arguments *call, size_t at, char *head) {
  size_t length = 0;
  /* A longer one fills the space. */
  if (!call->ok || napi_get_value_string_latin1(call->env, call->values[at], head, MAX_HEAD + 2, &length) != napi_ok ||
      length == 0 || length > MAX_HEAD) {
    call->ok = false;
    return 0;
  }
  return length;
}

/* Reads an array of 1 to MAX_PARTS Buffers, which are not all empty. Returns how many, and their bytes in `total`. */
static size_t read_parts(arguments *call, size_t at, struct iovec *parts, size_t *total) {
  uint32_t count = 0;
  *total = 0;
  if (!call->ok || napi_get_array_length(call->env, call->values[at], &count) != napi_ok || count > MAX_PARTS) count = 0;
  for (uint32_t i = 0; i < count && call->ok; i++) {
    arguments part = {.env = call->env, .ok = true};
    part.ok = napi_get_element(call->env, call->values[at], i, &part.values[0]) == napi_ok;
    parts[i].iov_base = bytes(&part, 0, 0, SIZE_MAX, &parts[i].iov_len);
    call->ok = part.ok;
    *total += parts[i].iov_len;
  }
  if (*total == 0) call->ok = false;
  return count;
}

/* join(parts) -> a Buffer with the bytes of all parts; null: there is no memory */
static napi_value join(napi_env env, napi_callback_info info) {
  struct iovec parts[MAX_PARTS];
  arguments call = open_call(env, info, 1);
  size_t total, count = read_parts(&call, 0, parts, &total);
  if (!call.ok) return refuse(env);
  segment *made = new_segment(call.self, parts, count, total);
  napi_value buffer;
  if (made == NULL) return nothing(env);
  if (napi_create_external_buffer(env, total, made->start, finalize, made, &buffer) != napi_ok) {
    finalize(env, made->start, made);
    return nothing(env);
  }
  /* `send` finds the segment by this. No other addon of this process wraps a Buffer. If it fails, Node sends the Buffer. */
  napi_wrap(env, buffer, made, NULL, NULL, NULL);
  return buffer;
}

/* The memory of a Buffer of `join`; NULL: it is another Buffer. */
static const segment *segment_of(arguments *call, size_t at) {
  void *found = NULL;
  size_t length;
  bytes(call, at, 1, SIZE_MAX, &length);
  return call->ok && napi_unwrap(call->env, call->values[at], &found) == napi_ok ? found : NULL;
}

/* send(socket, head, buffer) -> see `send_both`. -EBADF: the Buffer is not of `join`; -EINVAL: the socket is blocking */
static napi_value send_call(napi_env env, napi_callback_info info) {
  char head[MAX_HEAD + 2];
  arguments call = open_call(env, info, 3);
  int64_t socket = i64(&call, 0);
  size_t head_length = latin1(&call, 1, head);
  const segment *body = segment_of(&call, 2);
  if (!call.ok || socket < 0 || socket > INT32_MAX) return refuse(env);
  if (body == NULL) return number(env, -EBADF);
  int flags = fcntl((int)socket, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) return number(env, flags < 0 ? -errno : -EINVAL);
  return number(env, send_both((int)socket, head, head_length, body));
}

static void instance_free(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  let_go(data);
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {{"join", join}, {"send", send_call}};
  instance *self = malloc(sizeof *self);
  if (self == NULL) return NULL;
  *self = (instance){.references = 1, .reads_from = NO_PIPE, .writes_to = NO_PIPE};
  if (napi_set_instance_data(env, self, instance_free, NULL) != napi_ok) {
    free(self);
    return NULL;
  }
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
