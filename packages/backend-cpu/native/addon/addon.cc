// The module's exports.
#include "addon/native-backend.h"

static Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports["NativeBackend"] = quern::NativeBackend::define(env);
  return exports;
}

NODE_API_MODULE(backend_cpu, initialise)
