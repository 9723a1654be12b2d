// NVIDIA's driver as a library of the system: a file in unix/, one in windows/.
#pragma once
#include <string>

namespace quern::cuda {

extern const char* const usual_library;

// Throws NoDevice with the system's reason. The library stays open: the driver has threads of its own.
void* open_library(const std::string& name);
// Null if the library has no such function.
void* function_in(void* library, const char* name);

// What to do where no library is found, where it shows no device, and where it does not start with this number.
extern const char *const advice_without_library, *const advice_without_device;
const char* advice_for(int started);

} // namespace quern::cuda
