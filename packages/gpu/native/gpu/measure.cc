#include "gpu/measure.h"

#include <algorithm>

#include "gpu/weight-planes.h"
#include "kernels/formats/every.h"

namespace quern::gpu {

static constexpr double warm_enough = 50;   // milliseconds of work after which clocks are those of a busy device
static constexpr int64_t most_calls = 1024; // in a turn

bool has_room(const Gpu& gpu, uint64_t bytes) { return bytes <= std::min<uint64_t>(1 << 30, gpu.free_memory() / 4); }

// Milliseconds of act(0), act(1) … as often as `calls` says.
static double turn(Gpu& gpu, const Calls& act, int64_t calls) {
  gpu.forget_marks();
  const int start = gpu.mark();
  for (int64_t i = 0; i < calls; i++) act(i);
  const int end = gpu.mark();
  gpu.finish();
  return std::max(gpu.milliseconds(start, end), 1e-6);
}

double estimate(Gpu& gpu, const Calls& act) {
  turn(gpu, act, 1);
  return turn(gpu, act, 1);
}

// One long turn makes the device warm: an emulated one stays fast.
double time_of_call(Gpu& gpu, const Calls& act) {
  int64_t calls = 1;
  double worked = turn(gpu, act, calls);
  for (double last = worked; last < long_enough && calls < most_calls; worked += last) last = turn(gpu, act, calls *= 2);
  while (worked < warm_enough) worked += turn(gpu, act, calls);
  double least = 1e30;
  for (int i = 0; i < 3; i++) least = std::min(least, turn(gpu, act, calls));
  return least / double(calls);
}

void fill_with_numbers(Gpu& gpu, const GpuBuffer& arrays) { gpu.fill(arrays.data(), 0x3c, arrays.bytes()); }

uint64_t bytes_of_floats(int n) { return uint64_t(n) * n * sizeof(float); }
uint64_t bytes_of_blocks(int n) { return plane_offsets(*find_weight_format("q4_k"), uint64_t(n) * n / GROUP).bytes; }

double rate_of(const std::shared_ptr<Gpu>& gpu, int64_t rows, int n, uint64_t (*bytes_of)(int), const ProductLaunch& launch_of) {
  for (;; n *= 2) {
    const int64_t height = rows > 0 ? rows : n;
    const GpuBuffer arrays(gpu, 2 * uint64_t(height) * n * sizeof(float) + bytes_of_floats(n));
    fill_with_numbers(*gpu, arrays);
    float* const x = reinterpret_cast<float*>(arrays.data());
    uint8_t* const w = reinterpret_cast<uint8_t*>(x + 2 * height * n);
    const int64_t bytes = int64_t(bytes_of(n)), copies = int64_t(bytes_of_floats(n)) / bytes;
    const auto act = [&](int64_t i) {
      launch_of(x, x + height * n, reinterpret_cast<float*>(w + i % copies * bytes), int(height), n);
    };
    if (estimate(*gpu, act) > long_enough || n >= 8192 || !has_room(*gpu, 4 * arrays.bytes()))
      return 2.0 * double(height) * n * n / time_of_call(*gpu, act) * 1e3;
  }
}

Planes planes_at(float* w, int n) {
  return planes_of(reinterpret_cast<uint8_t*>(w), *find_weight_format("q4_k"), uint64_t(n) * n / GROUP);
}

}  // namespace quern::gpu
