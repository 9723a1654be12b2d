#include "cuda/library.h"

#include <dlfcn.h>

#include "cuda/driver.h"

namespace quern::cuda {

const char* const usual_library = "libcuda.so.1";
const char* const advice_without_library = "install one, or start the container with its GPUs (docker run --gpus all)";
const char* const advice_without_device =
    "is CUDA_VISIBLE_DEVICES empty, does the container have no GPUs (docker run --gpus all), or is MIG on without an instance?";

const char* advice_for(int started) {
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

void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw NoDevice(text("no NVIDIA driver: %s; %s", dlerror(), advice_without_library));
  return library;
}

void* function_in(void* library, const char* name) { return dlsym(library, name); }

} // namespace quern::cuda
