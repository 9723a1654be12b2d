#include "metal/gpu-cores.h"

#include <dlfcn.h>
#include <stdint.h>

namespace quern::metal {

namespace {

// Functions of IOKit and CoreFoundation, opened at run time like Metal.
struct Registry {
  void* (*matching)(const char* name);                                      // IOServiceMatching
  uint32_t (*service)(uint32_t port, void* matching);                       // IOServiceGetMatchingService: takes `matching`
  void* (*property)(uint32_t entry, void* key, void* allocator, uint32_t options); // IORegistryEntryCreateCFProperty
  int (*release_service)(uint32_t object);                                  // IOObjectRelease
  void* (*string)(void* allocator, const char* text, uint32_t encoding);    // CFStringCreateWithCString
  unsigned char (*number)(void* number, long type, void* value);            // CFNumberGetValue
  void (*release)(void* object);                                            // CFRelease
};

template <class F>
bool find_in(void* library, F& function, const char* name) {
  return (function = reinterpret_cast<F>(dlsym(library, name)));
}

bool open(Registry& registry) {
  void* const library = dlopen("/System/Library/Frameworks/IOKit.framework/IOKit", RTLD_LAZY | RTLD_LOCAL);
  void* const foundation = dlopen("/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation", RTLD_LAZY | RTLD_LOCAL);
  return library && foundation && find_in(library, registry.matching, "IOServiceMatching") &&
         find_in(library, registry.service, "IOServiceGetMatchingService") &&
         find_in(library, registry.property, "IORegistryEntryCreateCFProperty") && find_in(library, registry.release_service, "IOObjectRelease") &&
         find_in(foundation, registry.string, "CFStringCreateWithCString") && find_in(foundation, registry.number, "CFNumberGetValue") &&
         find_in(foundation, registry.release, "CFRelease");
}

}  // namespace

int gpu_cores() {
  constexpr uint32_t utf8 = 0x08000100; // kCFStringEncodingUTF8
  constexpr long int32 = 3;             // kCFNumberSInt32Type
  Registry registry{};
  if (!open(registry)) return 0;
  const uint32_t accelerator = registry.service(0, registry.matching("AGXAccelerator"));
  if (!accelerator) return 0;
  void* const key = registry.string(nullptr, "gpu-core-count", utf8);
  void* const property = registry.property(accelerator, key, nullptr, 0);
  int32_t cores = 0;
  if (property) registry.number(property, int32, &cores), registry.release(property);
  registry.release(key);
  registry.release_service(accelerator);
  return cores;
}

}  // namespace quern::metal
