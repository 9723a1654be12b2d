#include "gpu/ops/cuda/bf16-tiles.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <string_view>

#include "kernels/cuda/warpgroup-tiles.h"
#include "quern/failure.h"

namespace quern::gpu {

// Times are in steps: what a processor needs for 64 of k of 128 × 128 outputs where tensor cores alone count.
struct Bf16Kernel {
  const char *name, *shape;
  int rows, columns, threads, shared_bytes;
  double step;
  bool by_warpgroups;
};
template <class Tile>
static constexpr Bf16Kernel kernel_of(const char* name, const char* shape, double step, bool by_warpgroups = false) {
  return {name, shape, Tile::rows, Tile::columns, Tile::threads, Tile::shared_bytes, step, by_warpgroups};
}
// Bytes from the second cache for a product of two numbers: 6, 8 and 16 · 2⁻⁸. Where they bound a step, it is 2, 1.3 and 0.65 on an
// H100, by data sheets, and 2, 1 and 0.5 on an A100.
// Products of warpgroups: mma.sync reaches 0.63 of their rate (Luo et al. 2024); tiles of 128 × 128 wait for the second cache.
static constexpr Bf16Kernel kernels[] = {
    kernel_of<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", "warpgroups_128x256", 1.3, true),
    kernel_of<WarpgroupTile128x128>("product_bf16_warpgroups_128x128", "warpgroups_128x128", 1, true),
    kernel_of<Bf16Tile128x256>("product_bf16_128x256", "128x256", 2),
    kernel_of<Bf16Tile128x128>("product_bf16_128x128", "128x128", 1.2),
    kernel_of<Bf16Tile64x64>("product_bf16_64x64", "64x64", 0.55),
};
static constexpr double begin_and_end = 4;      // of a tile: copies before the first product, stores
static constexpr double of_launch = 4;
static constexpr double floats_per_step = 4096; // that a processor moves when parts are added
static constexpr double bytes_per_step = 12288; // of device memory, for a processor: 11 KiB on an H100, 13 on an A100
static constexpr int64_t least_steps = 8;       // of a part

static int64_t tiles_of(const Bf16Kernel& kernel, int64_t rows, int64_t columns) {
  return (rows + kernel.rows - 1) / kernel.rows * ((columns + kernel.columns - 1) / kernel.columns);
}

// Steps until `outputs` are there: turns of the processors, and sums of parts, which are written, read and added.
static double time_of(const Bf16Kernel& kernel, int64_t blocks, int64_t steps_of_part, int64_t parts, int64_t outputs,
                      int64_t processors) {
  const int64_t turns = (blocks + processors - 1) / processors;
  const double tiles = double(turns) * (double(steps_of_part) + begin_and_end) * kernel.step;
  if (parts == 1) return tiles;
  return tiles + of_launch + double(outputs) * double(2 * parts + 1) / (double(processors) * floats_per_step);
}

static const char* forced_text() {
  const char* const text = getenv("QUERN_CUDA_PRODUCT");
  return text ? text : "";
}

bool are_bf16_products_refused() { return forced_text() == std::string_view("tiles"); }

// A kernel that the environment names. parts 0: none.
struct ForcedKernel {
  char shape[24] = "";
  int parts = 0;
};
static ForcedKernel forced_kernel(int64_t most_parts) {
  ForcedKernel forced;
  const char* const text = forced_text();
  if (*text && sscanf(text, "%23s %d", forced.shape, &forced.parts) == 2) forced.parts = int(std::min<int64_t>(forced.parts, most_parts));
  return forced;
}

Bf16Choice choose_bf16_tiles(int64_t rows, int64_t columns, int64_t depth, const BlocksOf& gpu, int64_t most_parts) {
  const int64_t steps = (depth + STEP - 1) / STEP;
  const ForcedKernel forced = forced_kernel(most_parts);
  Bf16Choice best{};
  double least = 0;
  const auto consider = [&](const Bf16Kernel& kernel, int64_t wanted) {
    const int64_t of_part = (steps + wanted - 1) / wanted, parts = (steps + of_part - 1) / of_part;
    if (forced.parts == 0 && wanted > 1 && of_part < least_steps) return;
    const int64_t tiles = tiles_of(kernel, rows, columns);
    const double time = time_of(kernel, tiles * parts, of_part, parts, rows * columns, gpu.processors);
    if (best.kernel && time >= least) return;
    const int64_t blocks = kernel.by_warpgroups ? std::min(tiles * parts, gpu.processors) : tiles * parts;
    least = time, best = {kernel.name, tiles, blocks, kernel.rows, kernel.columns, kernel.threads, kernel.shared_bytes, int(parts), int(of_part),
                          kernel.by_warpgroups, time};
  };
  for (const Bf16Kernel& kernel : kernels) {
    if (kernel.shared_bytes > gpu.shared_memory || (kernel.by_warpgroups && !gpu.has_warpgroup_products)) continue;
    if (forced.parts > 0 && std::string_view(forced.shape) == kernel.shape) consider(kernel, forced.parts);
    for (int64_t wanted = 1; forced.parts == 0 && wanted <= most_parts; wanted++) consider(kernel, wanted);
  }
  if (!best.kernel) fail(Code::unsupported, "QUERN_CUDA_PRODUCT=%s: this GPU has no such kernel", forced_text());
  return best;
}

static int64_t forced_slab_bytes() {
  const char* const text = getenv("QUERN_CUDA_SLAB");
  return text ? strtoll(text, nullptr, 10) << 10 : 0;
}

// Decoded weights that half of the cache has room for stay there; others are written to memory, which takes its time. The product reads
// them beside its work. Measured on an H200, 256 rows × [14336, 4096] of q4_k: 97 µs whole, 55 of them the product; 146 in five slabs.
static double time_of_slabs(int64_t rows, int64_t columns, int64_t of_slab, int64_t depth, const BlocksOf& gpu) {
  const int64_t slabs = (columns + of_slab - 1) / of_slab, bytes = of_slab * depth * 2;
  const double product = choose_bf16_tiles(rows, of_slab, depth, gpu).time + of_launch;
  const double memory = double(bytes) / (double(gpu.processors) * bytes_per_step);
  return double(slabs) * (product + (bytes > gpu.cache_memory / 2 ? memory : 0));
}

int64_t slab_columns(int64_t rows, int64_t columns, int64_t depth, const BlocksOf& gpu) {
  constexpr int64_t tile = 128, most_bytes = 128 << 20, least_bytes = 4 << 20;
  if (const int64_t bytes = forced_slab_bytes()) return std::min(columns, std::max<int64_t>(bytes / (depth * 2) / 64 * 64, 64));
  int64_t best = 0;
  double least = 0;
  for (int64_t slabs = 1, last = 0;; slabs++) {
    const int64_t even = (columns + slabs - 1) / slabs, of_slab = std::min(columns, (even + tile - 1) / tile * tile);
    const int64_t bytes = of_slab * depth * 2;
    if (best && (of_slab <= tile || bytes < least_bytes)) return best;
    if (of_slab == last || (bytes > most_bytes && of_slab > tile)) continue;
    last = of_slab;
    const double time = time_of_slabs(rows, columns, of_slab, depth, gpu);
    if (!best || time < least) best = of_slab, least = time;
  }
}

ProductBf16 bf16_arguments(const Bf16Product& product, const Bf16Choice& choice, float* y, int64_t y_pitch) {
  const bool whole = choice.parts == 1;
  return {product.x, product.w, whole ? product.bias : nullptr, y, int(product.rows), int(product.columns), int(product.depth),
          int(product.x_pitch), int(product.w_pitch), int(y_pitch), choice.steps_of_part, product.rows * y_pitch};
}

} // namespace quern::gpu
