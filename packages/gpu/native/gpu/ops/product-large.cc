#include "gpu/ops/product-large.h"

#include <stdio.h>
#include <stdlib.h>

#include <string_view>

namespace quern::gpu {

static constexpr int64_t least_rows = 65, least_depth = STEP;
static constexpr int64_t slab_bytes = 16 << 20; // of weights as bf16: they stay in the second cache of a GPU for data centres
static constexpr int64_t least_steps = 8;       // of a part of k

static int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// For measurements and tests. QUERN_CUDA_PRODUCT: "tiles" for linear_tile_1, or a kernel below and the parts of k: "64x64 2".
static const char* forced() {
  const char* const text = getenv("QUERN_CUDA_PRODUCT");
  return text ? text : "";
}
// QUERN_CUDA_SLAB: KiB of weights that are decoded at a time.
static int64_t forced_slab() {
  const char* const text = getenv("QUERN_CUDA_SLAB");
  return text ? strtoll(text, nullptr, 10) << 10 : 0;
}

struct Bf16Kernel {
  const char *name, *shape;
  int rows, columns, threads, shared_bytes;
  double step; // time of 64 of k, in those of 128 × 128 outputs at the rate of 128 × 256
};
template <class Tile>
static constexpr Bf16Kernel kernel_of(const char* name, const char* shape, double step) {
  return {name, shape, Tile::rows, Tile::columns, Tile::threads, Tile::shared_bytes, step};
}
// Smaller tiles load more bytes of shared memory for a product: 1, 1.5 and 2 times.
static constexpr Bf16Kernel kernels[] = {
    kernel_of<Bf16Tile128x256>("product_bf16_128x256", "128x256", 2),
    kernel_of<Bf16Tile128x128>("product_bf16_128x128", "128x128", 1.1),
    kernel_of<Bf16Tile64x64>("product_bf16_64x64", "64x64", 0.4),
};

static int64_t tiles_of(const Bf16Kernel& kernel, int64_t rows, int64_t columns) {
  return (rows + kernel.rows - 1) / kernel.rows * ((columns + kernel.columns - 1) / kernel.columns);
}

// Turns of the processors, each with the steps of a tile and a beginning and end of about four; parts are added by another launch.
static double cost_of(const Bf16Kernel& kernel, int64_t blocks, int64_t steps, int64_t parts, int64_t processors) {
  const int64_t turns = (blocks + processors - 1) / processors;
  return double(turns) * double(steps + 4) * kernel.step + (parts > 1 ? 4 + double(parts) : 0);
}

Bf16Choice choose_bf16_tiles(int64_t rows, int64_t columns, int64_t depth, int64_t processors, int shared_memory) {
  const int64_t steps = (depth + STEP - 1) / STEP;
  char shape[16] = "";
  int forced_parts = 0;
  sscanf(forced(), "%15s %d", shape, &forced_parts);
  Bf16Choice best{};
  double least = 0;
  for (const Bf16Kernel& kernel : kernels) {
    if (kernel.shared_bytes > shared_memory || (forced_parts > 0 && std::string_view(shape) != kernel.shape)) continue;
    const int64_t tiles = tiles_of(kernel, rows, columns);
    for (int64_t wanted = 1; wanted <= 8; wanted++) {
      const int64_t of_part = (steps + wanted - 1) / wanted, parts = (steps + of_part - 1) / of_part;
      if (forced_parts > 0 ? wanted != forced_parts : wanted > 1 && of_part < least_steps) continue;
      const double cost = cost_of(kernel, tiles * parts, of_part, parts, processors);
      if (best.kernel && cost >= least) continue;
      least = cost, best = {kernel.name, tiles, kernel.threads, kernel.shared_bytes, int(parts), int(of_part)};
    }
  }
  return best;
}

ProductBf16 bf16_arguments(const Bf16Product& product, const Bf16Choice& choice, float* y, int64_t y_pitch) {
  const bool whole = choice.parts == 1;
  return {product.x, product.w, whole ? product.bias : nullptr, y, int(product.rows), int(product.columns), int(product.depth),
          int(product.x_pitch), int(product.w_pitch), int(y_pitch), choice.steps_of_part, product.rows * y_pitch};
}

// Long sums of few tiles are split; the parts are added in order.
static void launch_tiles(const OpCall& op, const Bf16Product& product) {
  const Bf16Choice choice = choose_bf16_tiles(product.rows, product.columns, product.depth, op.processors(), op.shared_memory());
  op.need(choice.kernel, "QUERN_CUDA_PRODUCT names no kernel of this GPU");
  const auto launch = [&](float* y, int64_t y_pitch) {
    op.launch(choice.kernel, choice.tiles * choice.parts, choice.threads, bf16_arguments(product, choice, y, y_pitch), choice.shared_bytes);
  };
  if (choice.parts == 1) return launch(product.y, product.y_pitch);
  const int64_t fours = (product.columns + 3) / 4;
  float* const sums = op.scratch<float>(choice.parts * product.rows * fours * 4);
  launch(sums, fours * 4);
  op.launch_elements("product_parts", product.rows * fours,
                     ProductParts{sums, product.bias, product.y, choice.parts, op.small(product.rows),
                                  op.small(product.columns), op.small(fours), op.small(product.y_pitch)});
}

// The kernels, best first.
static void launch_bf16_product(const OpCall& op, const Bf16Product& product) { launch_tiles(op, product); }

// `rows` rows of a matrix from `first` on, as bf16 [rows, pitch].
template <class Matrix>
static void launch_bf16_rows(const OpCall& op, const std::string& kernel, const Bf16Rows<Matrix>& args, int64_t rows) {
  op.launch(kernel, rows, threads_of_row(args.pitch / 8), args);
}

static const uint16_t* x_as_bf16(const OpCall& op, const Product& product, int64_t pitch) {
  if (product.shared && product.shared->bf16) return product.shared->bf16;
  uint16_t* const x = op.scratch<uint16_t>(product.rows * pitch);
  launch_bf16_rows(op, "bf16_rows_f32", Bf16Rows<const float*>{product.x, x, 0, op.small(product.w.shape()[1]), op.small(pitch)},
                   product.rows);
  if (product.shared) product.shared->bf16 = x;
  return x;
}

// As many columns of weights as slab_bytes have, or as many as give every processor a tile; in slabs of about the same size.
static int64_t slab_columns(const OpCall& op, int64_t rows, int64_t columns, int64_t pitch) {
  constexpr int64_t tile = 128;
  const int64_t row_tiles = (rows + tile - 1) / tile, of_turn = op.processors() / row_tiles * tile;
  const int64_t bytes = forced_slab() ? forced_slab() : slab_bytes, of_bytes = bytes / (pitch * 2);
  const int64_t most = std::max<int64_t>(forced_slab() ? of_bytes : std::max(of_turn, of_bytes), 64);
  const int64_t slabs = (columns + most - 1) / most;
  return std::min(columns, rounded_up((columns + slabs - 1) / slabs, most < tile ? 64 : tile));
}

static bool is_read_in_place(const GpuWeight& w) {
  return w.format().name == std::string("bf16") && w.shape()[1] % 8 == 0 && reinterpret_cast<uintptr_t>(w.data()) % 16 == 0;
}

bool is_large(const Product& product) {
  return product.rows >= least_rows && product.w.shape()[1] >= least_depth && !product.invariant &&
         forced() != std::string_view("tiles");
}

void launch_large_product(const OpCall& op, const Product& product) {
  const int64_t N = product.w.shape()[0], K = product.w.shape()[1], pitch = rounded_up(K, STEP);
  Bf16Product of{x_as_bf16(op, product, pitch), nullptr, product.bias, product.y, product.rows, N, K, pitch, K, N};
  if (is_read_in_place(product.w)) {
    of.w = reinterpret_cast<const uint16_t*>(product.w.data());
    return launch_bf16_product(op, of);
  }
  const int64_t slab = slab_columns(op, product.rows, N, pitch);
  uint16_t* const w = op.scratch<uint16_t>(slab * pitch);
  of.w = w, of.w_pitch = pitch;
  for (int64_t first = 0; first < N; first += slab) {
    of.columns = std::min(slab, N - first);
    with_array(product.w, [&](auto array) {
      launch_bf16_rows(op, kernel_for("bf16_rows", product.w),
                       Bf16Rows<decltype(array)>{array, w, op.small(first), op.small(K), op.small(pitch)}, of.columns);
    });
    of.bias = product.bias ? product.bias + first : nullptr, of.y = product.y + first;
    launch_bf16_product(op, of);
  }
}

} // namespace quern::gpu
