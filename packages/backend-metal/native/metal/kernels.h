// The kernels of one GPU: each is compiled when it is first launched, or taken from the archive on disk.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "metal/kernel-archive.h"
#include "metal/objc.h"

namespace quern::metal {

struct Kernel {
  Owned pipeline;  // MTLComputePipelineState
  int most_threads; // of a block
};

class Kernels {
 public:
  // label: the GPU, for messages.
  Kernels(Object device, const std::string& label, const std::string& folder, const std::string& system);

  // Throws DEVICE_FAILED with the compiler's message; UNSUPPORTED for a GPU whose simdgroups are not of 32 lanes.
  const Kernel& find(const char* name);
  // Writes compiled kernels to the archive.
  void keep() { archive_.save(); }
  const std::string& notice() const { return archive_.notice(); }

 private:
  Kernel make_kernel(const std::string& name);
  Owned compile(const std::string& name);
  Owned pipeline_of(const std::string& name, Object function);
  struct Hash : std::hash<std::string_view> {  // finds names without making strings
    using is_transparent = void;
  };

  const Object device_;
  const std::string label_;
  KernelArchive archive_;
  std::unordered_map<std::string, Kernel, Hash, std::equal_to<>> kernels_;
};

}  // namespace quern::metal
