#include "metal/objc.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

namespace quern::metal {

static const Runtime* opened = nullptr;

static void* open_library(const char* name) {
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) throw NoMetal(text("Metal was not found: %s", dlerror()));
  return library;
}

template <class F>
static void find(void* library, F& function, const char* name) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (!function) fail(Code::unsupported, "Metal has no function %s", name);
}

static Runtime functions_of(void* runtime, void* metal) {
  Runtime found;
  find(runtime, found.class_named, "objc_getClass");
  find(runtime, found.selector_named, "sel_registerName");
  find(runtime, found.class_of, "object_getClass");
  find(runtime, found.method, "class_getMethodImplementation");
  find(runtime, found.retain, "objc_retain");
  find(runtime, found.release, "objc_release");
  find(runtime, found.pool_push, "objc_autoreleasePoolPush");
  find(runtime, found.pool_pop, "objc_autoreleasePoolPop");
  find(metal, found.all_devices, "MTLCopyAllDevices");
  return found;
}

// "metal": that of the system. Libraries stay open: Metal has threads of its own.
static Runtime open_named(const std::string& name) {
  if (name != "metal") {
    void* const library = open_library(name.c_str());
    return functions_of(library, library);
  }
#if !defined(__APPLE__)
  throw NoMetal("there is no Metal on this system: it needs macOS on Apple silicon");
#else
  return functions_of(open_library("/usr/lib/libobjc.A.dylib"), open_library("/System/Library/Frameworks/Metal.framework/Metal"));
#endif
}

const Runtime& Runtime::open(const std::string& library) {
  static std::mutex mutex;
  static auto& runtimes = *new std::map<std::string, const Runtime>; // threads may run while the process exits
  const std::lock_guard lock(mutex);
  auto found = runtimes.find(library);
  if (found == runtimes.end()) found = runtimes.emplace(library, open_named(library)).first;
  opened = &found->second;
  return *opened;
}

const Runtime& Runtime::get() { return *opened; }

}  // namespace quern::metal
