/*
 * The fast back end of HLS (src/edge/http/hls): the memory of segments, which leaves without a copy, and connections whose
 * requests and answers do not pass through Node. JavaScript makes all decisions and owns the sockets.
 * All state belongs to one instance of the module and is freed with it; nothing is global.
 */
#define _GNU_SOURCE
#define NAPI_VERSION 8
#include <node_api.h>

#include "addon.h"
#include "connections.h"
#include "segments.h"

enum { MAX_PARTS = 1024, MAX_HEAD = 8192 };

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

/* ---- Connections. Each function that begins with a watch gets what `watch` returned. ---- */

static watch *watch_of(arguments *call) {
  void *found = NULL;
  if (!call->ok || napi_get_value_external(call->env, call->values[0], &found) != napi_ok) call->ok = false;
  watch *self = call->ok ? found : NULL;
  if (self != NULL && self->is_closing) call->ok = false;
  return self;
}

static connection *connection_of(arguments *call, const watch *self, size_t at) {
  uint32_t id = u32(call, at);
  connection *found = call->ok ? find_connection(self, id) : NULL;
  if (found == NULL) call->ok = false;
  return found;
}

static bool is_function(arguments *call, size_t at) {
  napi_valuetype type;
  return call->ok && napi_typeof(call->env, call->values[at], &type) == napi_ok && type == napi_function;
}

/* watch(onReady) -> a watch; null: this system cannot. `onReady` has to call `run` */
static napi_value watch_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  napi_value result;
  if (!is_function(&call, 0)) return refuse(env);
  watch *made = open_watch(call.self, env, call.values[0]);
  if (made == NULL) return nothing(env);
  if (napi_create_external(env, made, finalize_watch, NULL, &result) == napi_ok) return result;
  finalize_watch(env, made, NULL);
  return nothing(env);
}

/* add(watch, socket) -> the id of the connection, which is armed, or a negative errno */
static napi_value add_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 2);
  watch *self = watch_of(&call);
  int64_t socket = i64(&call, 1);
  if (!call.ok || socket < 0 || socket > INT32_MAX) return refuse(env);
  return number(env, add_connection(self, (int)socket));
}

/* arm(watch, id, isArmed) -> 0 or a negative errno */
static napi_value arm_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 3);
  watch *self = watch_of(&call);
  connection *one = connection_of(&call, self, 1);
  bool is_armed = boolean(&call, 2);
  if (!call.ok) return refuse(env);
  return number(env, -set_armed(self, one, EPOLL_CTL_MOD, is_armed));
}

/* answer(watch, id, taken, head, body) -> see `answer_request` */
static napi_value answer_call(napi_env env, napi_callback_info info) {
  char head[MAX_HEAD + 2];
  arguments call = open_call(env, info, 5);
  watch *self = watch_of(&call);
  connection *one = connection_of(&call, self, 1);
  uint32_t taken = u32(&call, 2);
  answer given = {.head = head, .head_length = latin1(&call, 3, head), .buffer = call.values[4]};
  given.body = (const char *)bytes(&call, 4, 1, SIZE_MAX, &given.body_length);
  if (!call.ok || one->is_busy || !one->is_armed || taken == 0 || taken > MAX_PEEKED) return refuse(env);
  given.pages = segment_of(&call, 4);
  return number(env, answer_request(self, one, taken, &given));
}

/* run(watch, onRequest, onEnd): one turn */
static napi_value run_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 3);
  watch *self = watch_of(&call);
  if (!is_function(&call, 1) || !is_function(&call, 2) || self->is_running) return refuse(env);
  listeners to = {.on_request = call.values[1], .on_end = call.values[2]};
  if (napi_get_global(env, &to.receiver) == napi_ok) run_turn(self, &to);
  return NULL;
}

static int64_t sent_of(const connection *one) {
  return one->is_busy ? (int64_t)(one->head_sent + one->body_sent) : 0;
}

/* sent(watch, id) -> the bytes of the answer under way that the kernel accepted; 0: there is none */
static napi_value sent_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 2);
  watch *self = watch_of(&call);
  connection *one = connection_of(&call, self, 1);
  return call.ok ? number(env, sent_of(one)) : refuse(env);
}

/* forget(watch, id) -> the bytes of the answer under way that the kernel accepted; 0: there is none */
static napi_value forget_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 2);
  watch *self = watch_of(&call);
  connection *one = connection_of(&call, self, 1);
  if (!call.ok) return refuse(env);
  int64_t sent = sent_of(one);
  forget_connection(self, one);
  return number(env, sent);
}

/* unwatch(watch): the end of the watch. Its connections stay as they are */
static napi_value unwatch_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  watch *self = watch_of(&call);
  if (!call.ok || self->is_running) return refuse(env);
  napi_delete_reference(env, self->on_ready);
  napi_async_destroy(env, self->context);
  close_watch(self);
  return NULL;
}

/* read(bytes) -> [length, isWholeGet, target, ...values] of a head as `run` passes it; null: Node has to read it. For tests */
static napi_value read_call(napi_env env, napi_callback_info info) {
  arguments call = open_call(env, info, 1);
  size_t length;
  const char *given = (const char *)bytes(&call, 0, 0, SIZE_MAX, &length);
  request_head head;
  napi_value result, value;
  if (!call.ok) return refuse(env);
  if (!read_head(given, length, &head) || napi_create_array_with_length(env, 3 + VALUES, &result) != napi_ok) {
    return nothing(env);
  }
  napi_set_element(env, result, 0, number(env, (int64_t)head.length));
  napi_get_boolean(env, head.is_whole_get, &value);
  napi_set_element(env, result, 1, value);
  napi_set_element(env, result, 2, text_value(env, head.target));
  for (uint32_t i = 0; i < VALUES; i++) napi_set_element(env, result, 3 + i, text_value(env, head.values[i]));
  return result;
}

static void instance_free(napi_env env, void *data, void *hint) {
  (void)env;
  (void)hint;
  let_go(data);
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {
      {"join", join},         {"send", send_call},     {"watch", watch_call},     {"add", add_call},   {"arm", arm_call},
      {"answer", answer_call}, {"run", run_call},       {"sent", sent_call},       {"forget", forget_call},
      {"unwatch", unwatch_call}, {"read", read_call},
  };
  instance *self = malloc(sizeof *self);
  if (self == NULL) return NULL;
  *self = (instance){.references = 1, .reads_from = NO_PIPE, .writes_to = NO_PIPE};
  if (napi_set_instance_data(env, self, instance_free, NULL) != napi_ok) {
    free(self);
    return NULL;
  }
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
