#include "cuda/driver.h"

#include <dlfcn.h>

#include "cuda/kernels-image.h"
#include "quern/failure.h"

namespace quern::cuda {

static void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(Code::unsupported, "no NVIDIA driver: %s", dlerror());
  return library;
}

template <class F>
static void find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) fail(Code::unsupported, "the NVIDIA driver has no function %s: install a newer driver", name);
}

Driver::Driver(const std::string& name) {
  void* library = open_library(name); // stays open: the driver has threads of its own
#define QUERN_FIND(member, name, parameters) find(library, member, name);
  QUERN_CUDA_FUNCTIONS(QUERN_FIND)
#undef QUERN_FIND
  if (const Result result = init(0); result != 0) fail(Code::unsupported, "the NVIDIA driver does not start: %s", told(result).c_str());
  int found = 0, devices = 0;
  need(version(&found), "reading the driver's version");
  if (found < least_driver)
    fail(Code::unsupported, "the NVIDIA driver supports CUDA %d.%d; at least %d.%d is needed", found / 1000, found % 1000 / 10,
         least_driver / 1000, least_driver % 1000 / 10);
  need(device_count(&devices), "counting the devices");
  if (devices == 0) fail(Code::unsupported, "the NVIDIA driver shows no device: is CUDA_VISIBLE_DEVICES empty?");
}

const Driver& Driver::get(const std::string& library) {
  static const Driver driver(library); // a constructor that throws runs again at the next call
  return driver;
}

std::string Driver::told(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(result, &name) != 0 || error_text(result, &text) != 0 || !name || !text) return "error " + std::to_string(result);
  return std::string(name) + " (" + text + ")";
}

void Driver::need(Result result, const char* act) const {
  if (result == 0) return;
  fail(result == out_of_memory ? Code::out_of_memory : Code::device_failed, "%s failed: %s", act, told(result).c_str());
}

} // namespace quern::cuda
