/*
 * Sends a response on a socket of this process: its head, then a file from the kernel's page cache (sendfile(2)). The fast
 * back end of src/edge/http/media/transfer.ts: JavaScript makes all decisions and owns the socket. A file has a handle that
 * is never used twice, so that a released file cannot be sent. All state belongs to one instance of the module and is freed
 * with it; nothing is global.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "addon.h"

enum {
  MAX_FILES = 4096,
  MAX_HEAD = 8192
};

/* An open file, and its state when it was opened. */
typedef struct {
  int64_t handle;
  int fd;
  struct stat was;
} held;

/* The state of one instance of the module. A slot with handle 0 is free. */
typedef struct instance {
  int64_t made;
  held files[MAX_FILES];
} instance;

/* ---- Files. A handle combines the slot with a counter, of which 2^41 values fit into a JavaScript number. ---- */

static held *find(instance *self, int64_t handle) {
  held *slot = handle > 0 ? &self->files[handle % MAX_FILES] : NULL;
  return slot != NULL && slot->handle == handle ? slot : NULL;
}

static held *free_slot(instance *self) {
  for (int i = 0; i < MAX_FILES; i++) {
    if (self->files[i].handle == 0) return &self->files[i];
  }
  return NULL;
}

/* Opens a regular file of this length with its own descriptor. 0: not possible. */
static int64_t hold_file(instance *self, int fd, int64_t length) {
  held *slot = free_slot(self);
  struct stat is;
  if (slot == NULL || fstat(fd, &is) != 0 || !S_ISREG(is.st_mode) || is.st_size != length) return 0;
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return 0;
  slot->fd = own;
  slot->was = is;
  slot->handle = ++self->made * MAX_FILES + (slot - self->files);
  return slot->handle;
}

static void let_go(held *file) {
  if (file == NULL) return;
  close(file->fd);
  file->handle = 0;
}

/* True when the file was not written to. It may have been renamed or unlinked. */
static bool is_unchanged(const held *file) {
  struct stat is;
  return fstat(file->fd, &is) == 0 && is.st_size == file->was.st_size && is.st_mtim.tv_sec == file->was.st_mtim.tv_sec &&
         is.st_mtim.tv_nsec == file->was.st_mtim.tv_nsec;
}

/* ---- Sending ---- */

/*
 * The number of bytes of head and file that the kernel accepted: fewer than all when the socket is full. On an error, a
 * negative errno, it accepted none. Node ignores SIGPIPE.
 */
static int64_t send_both(int socket, const char *head, size_t head_length, const held *file, size_t length) {
  /* MSG_MORE: the head waits for the file, so that both leave in the same packets. */
  ssize_t taken = send(socket, head, head_length, MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL);
  if (taken < 0) return -errno;
  if ((size_t)taken < head_length) return taken;
  off_t offset = 0;
  ssize_t body = sendfile(socket, file->fd, &offset, length);
  return body > 0 ? taken + body : taken;
}

/* ---- The functions for JavaScript. A wrong argument is a TypeError. ---- */

static int64_t integer(arguments *call, size_t at, int64_t least, int64_t most) {
  int64_t value = i64(call, at);
  if (value < least || value > most) call->ok = false;
  return value;
}

/* Copies a Latin-1 string of 1 to MAX_HEAD characters into `head`. Returns its length. */
static size_t latin1(arguments *call, size_t at, char *head) {
  size_t length = 0;
  if (!call->ok || napi_get_value_string_latin1(call->env, call->values[at], NULL, 0, &length) != napi_ok || length == 0 ||
      length > MAX_HEAD ||
      napi_get_value_string_latin1(call->env, call->values[at], head, MAX_HEAD + 1, &length) != napi_ok) {
    call->ok = false;
    return 0;
  }
  return length;
}

/* hold(fd, length) -> a handle for the open file; 0: not possible */
static napi_value hold(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 2);
  int64_t fd = integer(&call, 0, 0, INT32_MAX), length = integer(&call, 1, 1, INT64_MAX);
  return call.ok ? number(env, hold_file(call.self, (int)fd, length)) : refuse(env);
}

/* release(handle): has no effect on a released one */
static napi_value release(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  int64_t handle = integer(&call, 0, 1, INT64_MAX);
  if (!call.ok) return refuse(env);
  let_go(find(call.self, handle));
  return NULL;
}

/*
 * send(socket, head, handle, length) -> see `send_both`. -EBADF: there is no such handle; -ESTALE: the file was written to;
 * -EINVAL: the socket is blocking
 */
static napi_value send_call(napi_env env, napi_callback_info info) {
  char head[MAX_HEAD + 1];
  arguments call = open_call(env, info, 4);
  int64_t socket = integer(&call, 0, 0, INT32_MAX);
  size_t head_length = latin1(&call, 1, head);
  int64_t handle = integer(&call, 2, 1, INT64_MAX), length = integer(&call, 3, 1, INT32_MAX);
  if (!call.ok) return refuse(env);
  const held *file = find(call.self, handle);
  if (file == NULL) return number(env, -EBADF);
  if (length > file->was.st_size) return refuse(env);
  if (!is_unchanged(file)) return number(env, -ESTALE);
  int flags = fcntl((int)socket, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) return number(env, -EINVAL);
  return number(env, send_both((int)socket, head, head_length, file, (size_t)length));
}

static void instance_free(napi_env env, void *data, void *hint) {
  instance *self = data;
  (void)env;
  (void)hint;
  for (int i = 0; i < MAX_FILES; i++) {
    if (self->files[i].handle != 0) let_go(&self->files[i]);
  }
  free(self);
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {{"hold", hold}, {"release", release}, {"send", send_call}};
  instance *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  if (napi_set_instance_data(env, self, instance_free, NULL) != napi_ok) {
    free(self);
    return NULL;
  }
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
