#include "quern/addon/native-backend.h"

static Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports["NativeBackend"] = quern::NativeBackend::define(env);
  return exports;
}

NODE_API_MODULE(quern, initialise)
