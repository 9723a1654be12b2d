#include "cuda/library.h"

#include "cuda/driver.h"
#include "quern/windows/windows.h"

namespace quern::cuda {

const char* const usual_library = "nvcuda.dll";
const char* const advice_without_library = "install NVIDIA's driver for this GPU";
const char* const advice_without_device = "is CUDA_VISIBLE_DEVICES empty, or is the GPU disabled in the Device Manager?";

const char* advice_for(int) { return "install NVIDIA's driver for this GPU again and restart the machine; nvidia-smi says more"; }

// A bare name is sought in Windows' own folder alone: a file of that name elsewhere is not NVIDIA's.
void* open_library(const std::string& name) {
  const bool bare = name.find_first_of("\\/") == std::string::npos;
  const DWORD where = bare ? LOAD_LIBRARY_SEARCH_SYSTEM32 : LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32;
  const HMODULE library = LoadLibraryExW(to_utf16(name).c_str(), nullptr, where);
  if (!library) throw NoDevice(text("no NVIDIA driver: %s: %s; %s", name.c_str(), last_error().c_str(), advice_without_library));
  return library;
}

void* function_in(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

} // namespace quern::cuda
