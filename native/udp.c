/*
 * The UDP sockets of a relay process. Reads all waiting datagrams with one call (recvmmsg) into memory that JavaScript
 * supplies, and wakes JavaScript once for all of them. Node's own sockets cost a wake-up, 64 kB of memory and three objects
 * for each datagram. For SRT it sends the datagrams of a frame with one call, from a socket of Node's. All state belongs to
 * one instance of the module and is freed with it; nothing is global.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "address.h"
#include "addon.h"

enum {
  /* Datagrams in one read, and the bytes for each; longer ones are dropped. */
  SLOTS = 32,
  SLOT_BYTES = 2048,
  /* Words that describe a datagram: its length and how long it waited, the port, and the address in one word or four. */
  HEAD_WORDS = 6,
  /* Bits of the length in the first word of a head; above them are the milliseconds that the datagram waited. */
  LENGTH_BITS = 12,
  MAX_WAITED_MS = (1 << (32 - LENGTH_BITS)) - 1,
  /* The largest payload of a UDP datagram. */
  MAX_DATAGRAM = 65507,
  /* Datagrams that the kernel makes of one message. */
  MAX_SEGMENTS = 64,
  /* One socket for each address of the machine. */
  MAX_SOCKETS = 32
};

typedef struct instance instance;

typedef struct {
  instance *owner;
  uv_poll_t poll;
  int fd;
  bool is_v6;
  bool is_watched;
  /* The function to call with the number of datagrams, and the memory that holds them. */
  napi_ref wake;
  napi_ref keep_memory;
  napi_ref keep_heads;
  unsigned char *memory;
  uint32_t *heads;
  struct mmsghdr messages[SLOTS];
  struct iovec vectors[SLOTS];
  struct sockaddr_storage names[SLOTS];
  /* Where the kernel writes when each datagram arrived. */
  _Alignas(struct cmsghdr) unsigned char controls[SLOTS][CMSG_SPACE(sizeof(struct timespec))];
} udp_socket;

struct instance {
  napi_env env;
  udp_socket *sockets[MAX_SOCKETS];
  /* Sockets whose handle libuv has not closed yet. */
  unsigned closing;
  napi_async_cleanup_hook_handle hook;
  bool is_ending;
};

/* ---- Sockets ---- */

/* A descriptor bound to the address, with buffers as large as the system grants; or a negative errno. */
static int bound_socket(const unsigned char *address, size_t length, uint32_t port, uint32_t buffer_bytes) {
  struct sockaddr_storage local;
  socklen_t local_length = write_address(&local, address, length, port);
  int fd = socket(local.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int on = 1, room = (int)buffer_bytes;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  if ((length == 4 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
      bind(fd, (struct sockaddr *)&local, local_length) == 0) {
    return fd;
  }
  int problem = errno;
  close(fd);
  return -problem;
}

static udp_socket *find(const instance *self, int fd) {
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] != NULL && self->sockets[i]->fd == fd) return self->sockets[i];
  }
  return NULL;
}

/* The index of a free slot; -1: there is none. */
static int free_place(const instance *self) {
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] == NULL) return i;
  }
  return -1;
}

static void end_if_closed(instance *self) {
  if (!self->is_ending || self->closing > 0) return;
  napi_async_cleanup_hook_handle hook = self->hook;
  free(self);
  if (hook != NULL) napi_remove_async_cleanup_hook(hook);
}

static void on_closed(uv_handle_t *handle) {
  udp_socket *closed = handle->data;
  instance *self = closed->owner;
  free(closed);
  self->closing--;
  end_if_closed(self);
}

static void close_one(instance *self, udp_socket *socket) {
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] == socket) self->sockets[i] = NULL;
  }
  napi_delete_reference(self->env, socket->wake);
  napi_delete_reference(self->env, socket->keep_memory);
  napi_delete_reference(self->env, socket->keep_heads);
  self->closing++;
  uv_close((uv_handle_t *)&socket->poll, on_closed);
  close(socket->fd);
}

/* The process or thread is about to end: libuv must have closed all handles by then. */
static void on_cleanup(napi_async_cleanup_hook_handle hook, void *data) {
  instance *self = data;
  self->hook = hook;
  self->is_ending = true;
  for (int i = 0; i < MAX_SOCKETS; i++) {
    if (self->sockets[i] != NULL) close_one(self, self->sockets[i]);
  }
  end_if_closed(self);
}

/* ---- Reading ---- */

/*
 * How long a datagram has waited in the socket. 0 if the kernel does not say, or if the clock was set back meanwhile. Linux
 * begins to note times a moment after the first socket asked for them, and gives earlier datagrams the time of the read: 0, too.
 */
static uint32_t waited_ms(struct msghdr *message, const struct timespec *now) {
  const struct cmsghdr *control = CMSG_FIRSTHDR(message);
  struct timespec came;
  if (control == NULL || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_TIMESTAMPNS) return 0;
  memcpy(&came, CMSG_DATA(control), sizeof came);
  int64_t ms = ((int64_t)now->tv_sec - came.tv_sec) * 1000 + (now->tv_nsec - came.tv_nsec) / 1000000;
  return ms < 0 ? 0 : ms > MAX_WAITED_MS ? MAX_WAITED_MS : (uint32_t)ms;
}

static void describe(uint32_t *head, struct mmsghdr *message, const struct sockaddr_storage *from, const struct timespec *now) {
  /* Length 0 marks a datagram that was longer than its slot, and so was truncated. */
  uint32_t length = (message->msg_hdr.msg_flags & MSG_TRUNC) != 0 ? 0 : message->msg_len;
  head[0] = length | waited_ms(&message->msg_hdr, now) << LENGTH_BITS;
  if (from->ss_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
    head[1] = ntohs(v4->sin_port);
    head[2] = ntohl(v4->sin_addr.s_addr);
    return;
  }
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;
  head[1] = ntohs(v6->sin6_port);
  for (int i = 0; i < 4; i++) {
    uint32_t word;
    memcpy(&word, v6->sin6_addr.s6_addr + 4 * i, sizeof word);
    head[2 + i] = ntohl(word);
  }
}

/* Points each message at its slot of the memory. */
static void prepare(udp_socket *socket) {
  for (int i = 0; i < SLOTS; i++) {
    struct msghdr *message = &socket->messages[i].msg_hdr;
    socket->vectors[i] = (struct iovec){socket->memory + (size_t)i * SLOT_BYTES, SLOT_BYTES};
    message->msg_name = &socket->names[i];
    message->msg_namelen = sizeof socket->names[i];
    message->msg_iov = &socket->vectors[i];
    message->msg_iovlen = 1;
    message->msg_control = socket->controls[i];
    message->msg_controllen = sizeof socket->controls[i];
  }
}

/* Reads waiting datagrams, SLOTS at most. Returns their number; 0 when there are none. */
static unsigned read_some(udp_socket *socket) {
  int count = recvmmsg(socket->fd, socket->messages, SLOTS, MSG_DONTWAIT, NULL);
  struct timespec now = {0};
  if (count > 0) clock_gettime(CLOCK_REALTIME, &now);
  for (int i = 0; i < count; i++) {
    describe(socket->heads + i * HEAD_WORDS, &socket->messages[i], &socket->names[i], &now);
    /* The kernel replaced the sizes of both buffers with what it wrote; restore them for the next call. */
    socket->messages[i].msg_hdr.msg_namelen = sizeof socket->names[i];
    socket->messages[i].msg_hdr.msg_controllen = sizeof socket->controls[i];
  }
  return count > 0 ? (unsigned)count : 0;
}

static void on_readable(uv_poll_t *poll, int status, int events);

/* libuv stops polling after an error. An error of one peer must not end the socket for the others. */
static void watch_again(udp_socket *socket) {
  int problem = 0;
  socklen_t length = sizeof problem;
  if (getsockopt(socket->fd, SOL_SOCKET, SO_ERROR, &problem, &length) == 0) uv_poll_start(&socket->poll, UV_READABLE, on_readable);
}

static void on_readable(uv_poll_t *poll, int status, int events) {
  udp_socket *socket = poll->data;
  instance *self = socket->owner;
  napi_handle_scope scope;
  napi_value wake, receiver, count, problem;
  (void)events;
  if (status < 0) return watch_again(socket);
  unsigned came = read_some(socket);
  if (came == 0 || napi_open_handle_scope(self->env, &scope) != napi_ok) return;
  if (napi_get_reference_value(self->env, socket->wake, &wake) == napi_ok && napi_get_global(self->env, &receiver) == napi_ok &&
      napi_create_uint32(self->env, came, &count) == napi_ok &&
      napi_make_callback(self->env, NULL, receiver, wake, 1, &count, NULL) == napi_pending_exception &&
      napi_get_and_clear_last_exception(self->env, &problem) == napi_ok) {
    napi_fatal_exception(self->env, problem);
  }
  napi_close_handle_scope(self->env, scope);
}

/* ---- The functions for JavaScript. A wrong argument is a TypeError. ---- */

static udp_socket *socket_at(arguments *call, size_t at) {
  uint32_t fd = u32(call, at);
  udp_socket *found = call->ok && fd <= INT32_MAX ? find(call->self, (int)fd) : NULL;
  if (found == NULL) call->ok = false;
  return found;
}

/* open(address: 4 or 16 bytes, port, bufferBytes) -> the descriptor, or a negative errno */
static napi_value open_socket(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 3);
  size_t length;
  const unsigned char *address = bytes(&call, 0, 4, 16, &length);
  uint32_t port = u32(&call, 1), buffer_bytes = u32(&call, 2);
  uv_loop_t *loop = NULL;
  if (!call.ok || (length != 4 && length != 16) || port > 65535 || buffer_bytes > INT32_MAX) return refuse(env);
  int place = free_place(call.self);
  if (place < 0 || napi_get_uv_event_loop(env, &loop) != napi_ok) return number(env, -EMFILE);
  udp_socket *socket = calloc(1, sizeof *socket);
  if (socket == NULL) return number(env, -ENOMEM);
  socket->owner = call.self;
  socket->is_v6 = length == 16;
  socket->fd = bound_socket(address, length, port, buffer_bytes);
  int problem = socket->fd < 0 ? socket->fd : uv_poll_init(loop, &socket->poll, socket->fd);
  if (problem < 0) {
    if (socket->fd >= 0) close(socket->fd);
    free(socket);
    return number(env, problem);
  }
  socket->poll.data = socket;
  call.self->sockets[place] = socket;
  return number(env, socket->fd);
}

/* port(fd) -> the port of the socket */
static napi_value port_of(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  const udp_socket *socket = socket_at(&call, 0);
  struct sockaddr_storage local;
  socklen_t length = sizeof local;
  if (!call.ok || getsockname(socket->fd, (struct sockaddr *)&local, &length) != 0) return refuse(env);
  return number(env, ntohs(socket->is_v6 ? ((struct sockaddr_in6 *)&local)->sin6_port : ((struct sockaddr_in *)&local)->sin_port));
}

/* watch(fd, memory: SLOTS * SLOT_BYTES, heads: SLOTS * HEAD_WORDS words, wake): calls `wake` with the number of datagrams */
static napi_value watch(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 4);
  udp_socket *socket = socket_at(&call, 0);
  size_t length;
  unsigned char *memory = bytes(&call, 1, SLOTS * SLOT_BYTES, SLOTS * SLOT_BYTES, &length);
  unsigned char *heads = bytes(&call, 2, SLOTS * HEAD_WORDS * 4, SLOTS * HEAD_WORDS * 4, &length);
  napi_valuetype type = napi_undefined;
  if (!call.ok || socket->is_watched || (uintptr_t)heads % sizeof(uint32_t) != 0 ||
      napi_typeof(env, call.values[3], &type) != napi_ok || type != napi_function ||
      napi_create_reference(env, call.values[1], 1, &socket->keep_memory) != napi_ok ||
      napi_create_reference(env, call.values[2], 1, &socket->keep_heads) != napi_ok ||
      napi_create_reference(env, call.values[3], 1, &socket->wake) != napi_ok) {
    return refuse(env);
  }
  socket->memory = memory;
  socket->heads = (uint32_t *)heads;
  prepare(socket);
  socket->is_watched = uv_poll_start(&socket->poll, UV_READABLE, on_readable) == 0;
  return socket->is_watched ? NULL : refuse(env);
}

/* receive(fd) -> the number of datagrams read into the memory, without waiting */
static napi_value receive_now(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  udp_socket *socket = socket_at(&call, 0);
  if (!call.ok || !socket->is_watched) return refuse(env);
  return number(env, read_some(socket));
}

/* send(fd, datagram, address: 4 or 16 bytes, port) -> whether the kernel accepted it */
static napi_value send_one(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 4);
  const udp_socket *socket = socket_at(&call, 0);
  size_t length, address_length;
  const unsigned char *datagram = bytes(&call, 1, 0, MAX_DATAGRAM, &length);
  const unsigned char *address = bytes(&call, 2, 4, 16, &address_length);
  uint32_t port = u32(&call, 3);
  struct sockaddr_storage to;
  napi_value result = NULL;
  if (!call.ok || address_length != (socket->is_v6 ? 16 : 4) || port > 65535) return refuse(env);
  socklen_t to_length = write_address(&to, address, address_length, port);
  bool is_taken = sendto(socket->fd, datagram, length, MSG_DONTWAIT, (struct sockaddr *)&to, to_length) >= 0;
  napi_get_boolean(env, is_taken, &result);
  return result;
}

/* Sends datagrams of `size` bytes, the last perhaps shorter, as one message, which the kernel segments (UDP GSO). */
static bool send_segments(int fd, unsigned char *data, size_t length, uint16_t size) {
  struct iovec vector = {data, length};
  union {
    unsigned char bytes[CMSG_SPACE(sizeof size)];
    struct cmsghdr align;
  } control = {{0}};
  struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
  if (length > size) {
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof size);
    memcpy(CMSG_DATA(header), &size, sizeof size);
  }
  return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* Whether the kernel may take the datagrams of a run that it refused as one message. */
static bool is_for_runs(int problem) {
  return problem == EINVAL || problem == EIO || problem == EMSGSIZE || problem == EOPNOTSUPP;
}

/*
 * sendRun(fd, run, size) -> the bytes that the kernel took of a run of datagrams, each of `size` bytes but the last, which may
 * be shorter. `fd`: a connected datagram socket of this process.
 */
static napi_value send_run(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 3);
  uint32_t fd = u32(&call, 0), size = u32(&call, 2);
  size_t length;
  unsigned char *run = bytes(&call, 1, 1, UINT32_MAX, &length);
  if (!call.ok || fd > INT32_MAX || size == 0 || size > SLOT_BYTES) return refuse(env);
  size_t most = (MAX_DATAGRAM / size < MAX_SEGMENTS ? MAX_DATAGRAM / size : MAX_SEGMENTS) * size, taken = 0;
  while (taken < length) {
    size_t step = length - taken < most ? length - taken : most;
    if (send_segments((int)fd, run + taken, step, (uint16_t)size)) taken += step;
    else if (step > size && is_for_runs(errno)) most = size;
    else if (errno != EINTR) break;
  }
  return number(env, (int64_t)taken);
}

/* close(fd): reads and sends nothing more */
static napi_value close_socket(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  udp_socket *socket = socket_at(&call, 0);
  if (!call.ok) return refuse(env);
  close_one(call.self, socket);
  return NULL;
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {{"open", open_socket},     {"port", port_of},  {"watch", watch},
                                       {"receive", receive_now}, {"send", send_one}, {"sendRun", send_run},
                                       {"close", close_socket}};
  instance *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  self->env = env;
  if (napi_set_instance_data(env, self, NULL, NULL) != napi_ok ||
      napi_add_async_cleanup_hook(env, on_cleanup, self, NULL) != napi_ok) {
    free(self);
    napi_throw_error(env, NULL, "the native sockets cannot be set up");
    return NULL;
  }
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
