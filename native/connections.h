/*
 * Connections between two requests. A watch sees when a request has come, and reads its head without taking it from the
 * socket. JavaScript then answers through the watch, or lets Node read the request. What the socket does not take at once
 * leaves when it can. All of this happens on the thread of JavaScript: libuv polls one epoll descriptor for all connections.
 *
 * Descriptors are Node's. Node may close one while JavaScript runs, and the number may be used again at once. So nothing is
 * written after JavaScript ran, unless JavaScript has just said that the connection is the right one.
 */
#ifndef SLUICE_CONNECTIONS_H
#define SLUICE_CONNECTIONS_H

#include <sys/epoll.h>
#include <uv.h>

#include "requestHead.h"
#include "segments.h"

enum {
  MAX_EVENTS = 64,
  /* A longer head is left to Node. */
  MAX_PEEKED = 8192,
  /* Requests that one connection sent before it got their answers. Further ones are left to Node. */
  MAX_PIPELINED = 16,
  IS_ARMED = EPOLLIN | EPOLLOUT | EPOLLET
};

typedef struct connection {
  int socket;
  uint32_t id;
  /* Tells it from others that had or will have its id. */
  uint32_t generation;
  /* Between `arm` and `disarm`. Otherwise Node reads from the socket. */
  bool is_armed;
  /* JavaScript has forgotten it. */
  bool is_gone;

  /* The answer under way: */
  bool is_busy;
  /* Its rest has left, or `error` says why it cannot. JavaScript does not know yet. */
  bool has_ended;
  int error;
  char *head;
  size_t head_length, head_sent;
  const char *body;
  size_t body_length, body_sent;
  /* NULL: the body is not the memory of a segment. */
  const segment *pages;
  /* Keeps the Buffer of the body. */
  napi_ref kept;

  /* The next one to be freed. */
  struct connection *next;
} connection;

typedef struct watch {
  instance *owner;
  napi_env env;
  int epoll;
  uv_poll_t poll;
  napi_ref on_ready;
  napi_async_context context;
  napi_async_cleanup_hook_handle cleanup;
  bool is_closing, is_closed, is_unreferenced;

  /* By id; NULL: free. */
  connection **connections;
  uint32_t capacity;
  /* Where to look for a free id. */
  uint32_t next_id;
  uint32_t generations;

  bool is_running;
  connection *forgotten;
} watch;

/* ---- Connections ---- */

static bool grow(watch *self) {
  uint32_t capacity = self->capacity == 0 ? 64 : self->capacity * 2;
  connection **larger = realloc(self->connections, capacity * sizeof *larger);
  if (larger == NULL) return false;
  memset(larger + self->capacity, 0, (capacity - self->capacity) * sizeof *larger);
  self->next_id = self->capacity;
  self->connections = larger;
  self->capacity = capacity;
  return true;
}

/* A free id, or false if there is no memory. */
static bool free_id(watch *self, uint32_t *id) {
  for (uint32_t tried = 0; tried < self->capacity; tried++) {
    uint32_t at = (self->next_id + tried) % self->capacity;
    if (self->connections[at] != NULL) continue;
    *id = at;
    self->next_id = at + 1;
    return true;
  }
  return grow(self) && free_id(self, id);
}

static connection *find_connection(const watch *self, uint32_t id) {
  return id < self->capacity ? self->connections[id] : NULL;
}

/* NULL: it is forgotten. Its socket is open, so that events still come, or an earlier event of the turn closed it. */
static connection *connection_with(const watch *self, const struct epoll_event *event) {
  connection *one = find_connection(self, (uint32_t)event->data.u64);
  return one != NULL && one->generation == (uint32_t)(event->data.u64 >> 32) ? one : NULL;
}

/* Returns 0, or an errno. */
static int set_armed(watch *self, connection *one, int operation, bool is_armed) {
  uint64_t name = (uint64_t)one->generation << 32 | one->id;
  struct epoll_event wanted = {.events = is_armed ? IS_ARMED : EPOLLET, .data.u64 = name};
  if (epoll_ctl(self->epoll, operation, one->socket, &wanted) != 0) return errno;
  one->is_armed = is_armed;
  return 0;
}

/* Returns its id, or a negative errno. */
static int64_t add_connection(watch *self, int socket) {
  uint32_t id;
  connection *made = calloc(1, sizeof *made);
  if (made == NULL || !free_id(self, &id)) {
    free(made);
    return -ENOMEM;
  }
  made->socket = socket;
  made->id = id;
  made->generation = self->generations++;
  int error = set_armed(self, made, EPOLL_CTL_ADD, true);
  if (error != 0) {
    free(made);
    return -error;
  }
  self->connections[id] = made;
  return id;
}

static void forget_answer(watch *self, connection *one) {
  if (one->kept != NULL) napi_delete_reference(self->env, one->kept);
  free(one->head);
  one->kept = NULL;
  one->head = NULL;
  one->is_busy = one->has_ended = false;
}

/*
 * Its socket stays in the epoll instance until it is closed: another one may have its number by now. While a turn handles
 * it, it is freed at the end of the turn.
 */
static void forget_connection(watch *self, connection *one) {
  forget_answer(self, one);
  self->connections[one->id] = NULL;
  one->is_gone = true;
  if (self->is_running) {
    one->next = self->forgotten;
    self->forgotten = one;
  } else {
    free(one);
  }
}

static void free_forgotten(watch *self) {
  while (self->forgotten != NULL) {
    connection *next = self->forgotten->next;
    free(self->forgotten);
    self->forgotten = next;
  }
}

/* ---- Answers ---- */

static bool is_complete(const connection *one) {
  return one->head_sent == one->head_length && one->body_sent == one->body_length;
}

static void count_sent(connection *one, size_t taken) {
  size_t of_head = one->head_length - one->head_sent;
  if (of_head > taken) of_head = taken;
  one->head_sent += of_head;
  one->body_sent += taken - of_head;
}

/* Sends the rest of the head, and with `with_body` that of the body. Returns 0, or the errno of a broken connection. */
static int send_copied(connection *one, const char *head, bool with_body) {
  struct iovec parts[2] = {
      {.iov_base = (char *)head + one->head_sent, .iov_len = one->head_length - one->head_sent},
      {.iov_base = (char *)one->body + one->body_sent, .iov_len = one->body_length - one->body_sent},
  };
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = with_body ? 2 : 1};
  ssize_t taken = sendmsg(one->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL | (with_body ? 0 : MSG_MORE));
  if (taken >= 0) count_sent(one, (size_t)taken);
  return taken >= 0 || errno == EAGAIN ? 0 : errno;
}

/* Sends as much of an answer as the socket takes. Returns 0, or the errno of a broken connection. */
static int advance(watch *self, connection *one, const char *head) {
  if (one->pages == NULL) return send_copied(one, head, true);
  int error = one->head_sent < one->head_length ? send_copied(one, head, false) : 0;
  if (error != 0 || one->head_sent < one->head_length) return error;
  sent now = send_segment(self->owner, one->socket, one->pages, one->body_sent);
  one->body_sent += now.bytes;
  return now.error == ENOBUFS ? send_copied(one, head, true) : now.error;
}

/* Sends more of an answer under way, and notes when it has ended. */
static void continue_answer(watch *self, connection *one) {
  one->error = advance(self, one, one->head);
  one->has_ended = one->error != 0 || is_complete(one);
}

typedef struct {
  const char *head;
  size_t head_length;
  const char *body;
  size_t body_length;
  /* NULL: the body is not the memory of a segment. */
  const segment *pages;
  napi_value buffer;
} answer;

/* Keeps what did not leave at once. Returns 0, or an errno. */
static int keep_rest(watch *self, connection *one, const answer *given) {
  one->head = malloc(given->head_length);
  if (one->head == NULL || napi_create_reference(self->env, given->buffer, 1, &one->kept) != napi_ok) return ENOMEM;
  memcpy(one->head, given->head, given->head_length);
  one->is_busy = true;
  return 0;
}

/*
 * Takes the request from the socket, of which `taken` bytes are the head, and answers it. Returns the number of bytes of
 * head and body that the kernel accepted. If that is not all, the watch sends the rest. On an error, a negative errno, the
 * connection is broken.
 */
static int64_t answer_request(watch *self, connection *one, size_t taken, const answer *given) {
  if (recv(one->socket, NULL, taken, MSG_TRUNC | MSG_DONTWAIT) != (ssize_t)taken) return -EPIPE;
  one->head_length = given->head_length;
  one->body = given->body;
  one->body_length = given->body_length;
  one->pages = given->pages;
  one->head_sent = one->body_sent = 0;
  int error = advance(self, one, given->head);
  if (error == 0 && !is_complete(one)) error = keep_rest(self, one, given);
  return error == 0 ? (int64_t)(one->head_sent + one->body_sent) : -error;
}

/* ---- One turn ---- */

/* The functions of JavaScript that a turn calls. None of them may throw. */
typedef struct {
  napi_value receiver, on_request, on_end;
} listeners;

static napi_value text_value(napi_env env, text value) {
  napi_value result = NULL;
  if (value.start == NULL) napi_get_undefined(env, &result);
  else napi_create_string_latin1(env, value.start, value.length, &result);
  return result;
}

/* False: JavaScript did not answer it, or threw. */
static bool ask(watch *self, const listeners *to, const connection *one, const request_head *head) {
  napi_value given[4 + VALUES], answered;
  bool result = false;
  napi_create_uint32(self->env, one->id, &given[0]);
  napi_create_uint32(self->env, (uint32_t)head->length, &given[1]);
  napi_get_boolean(self->env, head->is_whole_get, &given[2]);
  given[3] = text_value(self->env, head->target);
  for (size_t i = 0; i < VALUES; i++) given[4 + i] = text_value(self->env, head->values[i]);
  return napi_call_function(self->env, to->receiver, to->on_request, 4 + VALUES, given, &answered) == napi_ok &&
         napi_get_value_bool(self->env, answered, &result) == napi_ok && result;
}

/* A request that this does not read, and whatever else Node has to find on the connection. */
static void leave_to_node(watch *self, const listeners *to, const connection *one) {
  ask(self, to, one, &(request_head){0});
}

static void read_requests(watch *self, const listeners *to, connection *one) {
  char peeked[MAX_PEEKED];
  for (int times = 0; times < MAX_PIPELINED; times++) {
    ssize_t length = recv(one->socket, peeked, sizeof peeked, MSG_PEEK | MSG_DONTWAIT);
    if (length < 0 && errno == EAGAIN) return;
    request_head head;
    if (length <= 0 || !read_head(peeked, (size_t)length, &head)) {
      leave_to_node(self, to, one);
      return;
    }
    if (!ask(self, to, one, &head) || one->is_gone || !one->is_armed || one->is_busy) return;
    if ((size_t)length == head.length) return;
  }
  leave_to_node(self, to, one);
}

static void tell_end(watch *self, const listeners *to, connection *one) {
  napi_value given[3];
  napi_create_uint32(self->env, one->id, &given[0]);
  napi_create_int64(self->env, (int64_t)(one->head_sent + one->body_sent), &given[1]);
  napi_create_int32(self->env, one->error, &given[2]);
  forget_answer(self, one);
  napi_call_function(self->env, to->receiver, to->on_end, 3, given, NULL);
}

static void handle(watch *self, const listeners *to, connection *one) {
  if (!one->is_armed) return;
  if (one->has_ended) tell_end(self, to, one);
  if (!one->is_gone && one->is_armed && !one->is_busy) read_requests(self, to, one);
}

/* One turn: first what needs no JavaScript, because descriptors may change their owner while it runs. */
static void run_turn(watch *self, const listeners *to) {
  struct epoll_event events[MAX_EVENTS];
  int count = epoll_wait(self->epoll, events, MAX_EVENTS, 0);
  for (int i = 0; i < count; i++) {
    connection *one = connection_with(self, &events[i]);
    if (one != NULL && one->is_busy && !one->has_ended) continue_answer(self, one);
  }
  self->is_running = true;
  for (int i = 0; i < count; i++) {
    napi_handle_scope scope;
    if (napi_open_handle_scope(self->env, &scope) != napi_ok) break;
    connection *one = connection_with(self, &events[i]);
    if (one != NULL) handle(self, to, one);
    napi_close_handle_scope(self->env, scope);
  }
  self->is_running = false;
  free_forgotten(self);
}

/* ---- The watch ---- */

static void free_watch(watch *self) {
  if (!self->is_closed || !self->is_unreferenced) return;
  let_go(self->owner);
  free(self->connections);
  free(self);
}

static void poll_closed(uv_handle_t *poll) {
  watch *self = poll->data;
  close(self->epoll);
  napi_remove_async_cleanup_hook(self->cleanup);
  self->is_closed = true;
  free_watch(self);
}

/* Connections stay open. Those that have an answer under way must have ended. */
static void close_watch(watch *self) {
  if (self->is_closing) return;
  self->is_closing = true;
  for (uint32_t id = 0; id < self->capacity; id++) {
    if (self->connections[id] != NULL) forget_connection(self, self->connections[id]);
  }
  uv_close((uv_handle_t *)&self->poll, poll_closed);
}

static void environment_ends(napi_async_cleanup_hook_handle hook, void *given) {
  (void)hook;
  close_watch(given);
}

static void finalize_watch(napi_env env, void *given, void *hint) {
  watch *self = given;
  (void)env;
  (void)hint;
  self->is_unreferenced = true;
  close_watch(self);
  free_watch(self);
}

/* Calls JavaScript, which begins a turn. */
static void on_ready(uv_poll_t *poll, int status, int events) {
  watch *self = poll->data;
  napi_handle_scope scope;
  napi_value receiver, function, error;
  bool has_thrown = false;
  (void)status;
  (void)events;
  if (napi_open_handle_scope(self->env, &scope) != napi_ok) return;
  if (napi_get_reference_value(self->env, self->on_ready, &function) == napi_ok &&
      napi_get_global(self->env, &receiver) == napi_ok) {
    napi_make_callback(self->env, self->context, receiver, function, 0, NULL, NULL);
  }
  if (napi_is_exception_pending(self->env, &has_thrown) == napi_ok && has_thrown &&
      napi_get_and_clear_last_exception(self->env, &error) == napi_ok) {
    napi_fatal_exception(self->env, error);
  }
  napi_close_handle_scope(self->env, scope);
}

/* NULL: this system cannot. */
static watch *open_watch(instance *owner, napi_env env, napi_value callback) {
  struct uv_loop_s *loop;
  napi_value name;
  watch *self = calloc(1, sizeof *self);
  if (self == NULL) return NULL;
  *self = (watch){.owner = owner, .env = env, .epoll = epoll_create1(EPOLL_CLOEXEC)};
  if (self->epoll < 0 || napi_get_uv_event_loop(env, &loop) != napi_ok ||
      napi_create_string_utf8(env, "SluiceConnections", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_reference(env, callback, 1, &self->on_ready) != napi_ok ||
      napi_async_init(env, NULL, name, &self->context) != napi_ok ||
      uv_poll_init(loop, &self->poll, self->epoll) != 0) {
    if (self->epoll >= 0) close(self->epoll);
    free(self);
    return NULL;
  }
  self->poll.data = self;
  uv_poll_start(&self->poll, UV_READABLE, on_ready);
  /* Node's own handle of each connection keeps the process alive. */
  uv_unref((uv_handle_t *)&self->poll);
  napi_add_async_cleanup_hook(env, environment_ends, self, &self->cleanup);
  owner->references++;
  return self;
}

#endif
