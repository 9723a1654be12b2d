#include "cuda/driver.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "cuda/kernels-image.h"
#include "quern/failure.h"

namespace quern::cuda {

static constexpr const char* no_device_shown =
    "the NVIDIA driver shows no device: is CUDA_VISIBLE_DEVICES empty, does the container have no GPUs (docker run --gpus all), or is MIG "
    "on without an instance?";

// What to do where the driver does not start.
static const char* advice_for(Result started) {
  switch (started) {
    case 34: return "this libcuda.so.1 is the stub of a toolkit: take its folder out of LD_LIBRARY_PATH";
    case 802: return "a service of this machine does not run yet, such as nvidia-fabricmanager; start it, or wait";
    case 803:
      return "libcuda.so.1 and the driver's kernel module have different versions: restart the machine after an update, and let a "
             "container take the host's files (docker run --gpus all)";
    case 804: return "this libcuda.so.1 is of a compatibility package that does not serve this GPU: take its folder out of LD_LIBRARY_PATH";
    default:
      return "do the files /dev/nvidia* exist, and may this process open them? Start a container with its GPUs (docker run --gpus all); "
             "nvidia-smi says more";
  }
}

static std::string shown(int version) { return text("CUDA %d.%d", version / 1000, version % 1000 / 10); }

static void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw NoDevice(text("no NVIDIA driver: %s; install one, or start the container with its GPUs (docker run --gpus all)", dlerror()));
  return library;
}

template <class F>
static void find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) fail(Code::unsupported, "the NVIDIA driver has no function %s: install a newer driver", name);
}

Driver::Driver(const std::string& name) {
  void* library = open_library(name); // stays open: the driver has threads of its own
  find(library, version, "cuDriverGetVersion");
  version(&version_);
  if (version_ < least_driver) // it may lack functions: say the version before
    fail(Code::unsupported, "the NVIDIA driver supports %s; at least %s is needed: install a newer driver", shown_version().c_str(),
         shown(least_driver).c_str());
#define QUERN_FIND(member, name, parameters) find(library, member, name);
  QUERN_CUDA_FUNCTIONS(QUERN_FIND)
#undef QUERN_FIND
  parameter_info = reinterpret_cast<decltype(parameter_info)>(dlsym(library, "cuFuncGetParamInfo"));
  const Result started = init(0);
  if (started != 0 && started != no_device)
    fail(Code::unsupported, "the NVIDIA driver does not start: %s; %s", told(started).c_str(), advice_for(started));
  if (started == no_device) throw NoDevice(no_device_shown);
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
  if (count == 0) throw NoDevice(no_device_shown);
  return count;
}

std::string Driver::shown_version() const { return shown(version_); }

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
