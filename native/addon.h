/*
 * The interface between JavaScript and an addon. A function reads its arguments one after another; an invalid one makes
 * the whole call a TypeError. Each addon has one `struct instance` with all of its state.
 */
#ifndef SLUICE_ADDON_H
#define SLUICE_ADDON_H

#include <node_api.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_ARGUMENTS 7

typedef struct {
  napi_env env;
  struct instance *self;
  napi_value values[MAX_ARGUMENTS];
  bool ok;
} arguments;

static inline arguments open_call(napi_env env, napi_callback_info info, size_t wanted) {
  arguments call = {.env = env, .self = NULL, .ok = true};
  size_t count = MAX_ARGUMENTS;
  call.ok = napi_get_cb_info(env, info, &count, call.values, NULL, NULL) == napi_ok && count >= wanted &&
            napi_get_instance_data(env, (void **)&call.self) == napi_ok && call.self != NULL;
  return call;
}

static inline uint32_t u32(arguments *call, size_t at) {
  uint32_t value = 0;
  if (!call->ok || napi_get_value_uint32(call->env, call->values[at], &value) != napi_ok) call->ok = false;
  return value;
}

static inline int64_t i64(arguments *call, size_t at) {
  int64_t value = 0;
  if (!call->ok || napi_get_value_int64(call->env, call->values[at], &value) != napi_ok) call->ok = false;
  return value;
}

static inline bool boolean(arguments *call, size_t at) {
  bool value = false;
  if (!call->ok || napi_get_value_bool(call->env, call->values[at], &value) != napi_ok) call->ok = false;
  return value;
}

static inline unsigned char *bytes(arguments *call, size_t at, size_t least, size_t most, size_t *length) {
  void *data = NULL;
  bool is_bytes = false;
  *length = 0;
  if (!call->ok || napi_is_buffer(call->env, call->values[at], &is_bytes) != napi_ok || !is_bytes ||
      napi_get_buffer_info(call->env, call->values[at], &data, length) != napi_ok || *length < least || *length > most) {
    call->ok = false;
  }
  return data;
}

static inline napi_value refuse(napi_env env) {
  napi_throw_type_error(env, NULL, "the addon was called with wrong arguments");
  return NULL;
}

static inline napi_value number(napi_env env, int64_t value) {
  napi_value result = NULL;
  napi_create_int64(env, value, &result);
  return result;
}

typedef struct {
  const char *name;
  napi_callback call;
} exported;

static inline bool export_functions(napi_env env, napi_value exports, const exported *functions, size_t count) {
  for (size_t i = 0; i < count; i++) {
    napi_value function;
    if (napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL, &function) != napi_ok ||
        napi_set_named_property(env, exports, functions[i].name, function) != napi_ok) {
      return false;
    }
  }
  return true;
}

#endif
