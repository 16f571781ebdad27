/* Memory of the process beside the heap of JavaScript. */
#define NAPI_VERSION 8
#include <malloc.h>

#include "addon.h"

/* trim(): gives pages that hold nothing any more back to the system. The C library alone does that only at the end of its heap. */
static napi_value trim(napi_env env, napi_callback_info info) {
  (void)env, (void)info;
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return NULL;
}

NAPI_MODULE_INIT() {
  static const exported functions[] = {{"trim", trim}};
  return export_functions(env, exports, functions, sizeof functions / sizeof *functions) ? exports : NULL;
}
