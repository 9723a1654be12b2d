#include "cuda/driver.h"

#include <map>
#include <mutex>

#include "cuda/kernels-image.h"
#include "cuda/library.h"
#include "quern/failure.h"

namespace quern::cuda {

static std::string no_device_shown() { return text("the NVIDIA driver shows no device: %s", advice_without_device); }

static std::string shown(int version) { return text("CUDA %d.%d", version / 1000, version % 1000 / 10); }

template <class F>
static void find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(function_in(library, name));
  if (!function) fail(Code::unsupported, "the NVIDIA driver has no function %s: install a newer driver", name);
}

Driver::Driver(const std::string& name) {
  void* library = open_library(name);
  find(library, version, "cuDriverGetVersion");
  version(&version_);
  if (version_ < min_driver) // it may lack functions: say the version before
    fail(Code::unsupported, "the NVIDIA driver supports %s; at least %s is needed: install a newer driver", shown_version().c_str(),
         shown(min_driver).c_str());
#define QUERN_FIND(member, name, parameters) find(library, member, name);
  QUERN_CUDA_FUNCTIONS(QUERN_FIND)
#undef QUERN_FIND
  parameter_info = reinterpret_cast<decltype(parameter_info)>(function_in(library, "cuFuncGetParamInfo"));
  const Result started = init(0);
  if (started != 0 && started != no_device)
    fail(Code::unsupported, "the NVIDIA driver does not start: %s; %s", described(started).c_str(), advice_for(started));
  if (started == no_device) throw NoDevice(no_device_shown());
  devices();
}

const Driver& Driver::get(const std::string& library) {
  static std::mutex mutex;
  static auto& drivers = *new std::map<std::string, const Driver>; // threads may run while the process exits
  const std::lock_guard lock(mutex);
  const auto found = drivers.find(library);
  return found != drivers.end() ? found->second : drivers.emplace(library, Driver(library)).first->second;
}

int Driver::devices() const {
  int count = 0;
  need(device_count(&count), "counting the devices");
  if (count == 0) throw NoDevice(no_device_shown());
  return count;
}

std::string Driver::shown_version() const { return shown(version_); }

std::string Driver::described(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(result, &name) != 0 || error_text(result, &text) != 0 || !name || !text) return "error " + std::to_string(result);
  return std::string(name) + " (" + text + ")";
}

void Driver::need(Result result, const char* act) const {
  if (result == 0) return;
  fail(result == out_of_memory ? Code::out_of_memory : Code::device_failed, "%s failed: %s", act, described(result).c_str());
}

} // namespace quern::cuda
