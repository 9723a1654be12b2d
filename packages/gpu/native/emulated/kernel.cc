#include "emulated/kernel.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "emulated/block.h"
#include "emulated/counts.h"
#include "emulated/fault.h"

namespace quern::gpu {

static std::map<std::string, Kernel>& kernels() {
  static auto& all = *new std::map<std::string, Kernel>; // threads may launch while the process exits
  return all;
}

Registration::Registration(const Kernel& kernel) { kernels()[kernel.name] = kernel; }

const Kernel* find_kernel(const std::string& name) {
  const auto found = kernels().find(name);
  return found == kernels().end() ? nullptr : &found->second;
}

static std::atomic<uint32_t> launches{0}, first_running{1};

void launches_done() { first_running = launches + 1; }

void launch(const Kernel& kernel, int blocks, int threads, const void* args, uint64_t seed, size_t shared_bytes, Begin begin) {
  if (threads < 1 || threads > kernel.most_threads || blocks < 1)
    fault("%s: %d blocks of %d threads; a block has at most %d", kernel.name, blocks, threads, kernel.most_threads);
  std::vector<int> order(static_cast<size_t>(blocks));
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  alignas(128) uint8_t copied[4096]; // as much as kernels take, where TensorMaps may be
  if (kernel.args_bytes > sizeof copied) fault("%s: an argument of %zu bytes", kernel.name, kernel.args_bytes);
  memcpy(copied, args, kernel.args_bytes);
  if (begin == Begin::after_all) launches_done();
  const uint32_t number = ++launches;
  const Grid grid{blocks, threads, shared_bytes, seed, number, first_running};
  counts_begin();
  try {
    for (const int block : order) {
      Block::current().run(grid, block, [&] { kernel.call(copied); });
      if (counting) counts_end_block();
    }
  } catch (const Fault& found) { fault("%s (seed %llu): %s", kernel.name, (unsigned long long)seed, found.what()); }
  if (counting) counts_end(kernel.name, blocks, threads);
}

}  // namespace quern::gpu
