#include "emulated/cuda/registers.h"

#include <map>

namespace quern::gpu {

static constexpr unsigned of_processor = 65536, step = 8, warp = 32, of_any_kernel = 64;

static unsigned registers_of(const std::string& kernel) {
  static const auto& registers = *new std::map<std::string, unsigned>{
#include "emulated/cuda/registers.inc"
  };
  const auto found = registers.find(kernel);
  return found == registers.end() ? of_any_kernel : found->second;
}

bool exceeds_registers(const std::string& kernel, unsigned threads) {
  const unsigned of_thread = (registers_of(kernel) + step - 1) / step * step;
  return of_thread * ((threads + warp - 1) / warp * warp) > of_processor;
}

}  // namespace quern::gpu
