#include "quern/addon/native-backend.h"
#include "quern/addon/properties.h"

#if defined(QUERN_LISTS_DEVICES)
// listDevices(options, makeError) → the devices: options go to list_devices; makeError(code, message) makes the error to throw.
static Napi::Value list_devices(const Napi::CallbackInfo& info) {
  if (!info[1].IsFunction()) throw Napi::TypeError::New(info.Env(), "makeError must be a function");
  Napi::Array devices = Napi::Array::New(info.Env());
  const auto failure = quern::attempt([&] {
    for (const auto& device : quern::list_devices(quern::Options(quern::to_properties(info[0], "options"))))
      devices[devices.Length()] = quern::to_object(info.Env(), device);
  });
  if (failure) throw Napi::Error(info.Env(), quern::make_error(info[1].As<Napi::Function>(), *failure));
  return devices;
}
#endif

static Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  exports["NativeBackend"] = quern::NativeBackend::define(env);
#if defined(QUERN_LISTS_DEVICES)
  exports["listDevices"] = Napi::Function::New(env, list_devices, "listDevices");
#endif
  return exports;
}

NODE_API_MODULE(quern, initialise)
