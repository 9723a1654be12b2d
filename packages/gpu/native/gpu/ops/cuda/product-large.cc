#include "gpu/ops/cuda/product-large.h"

#include "gpu/ops/cuda/bf16-tiles.h"
#include "kernels/cuda/warpgroup-tiles.h"

namespace quern::gpu {

static constexpr int64_t least_rows = 65, least_depth = STEP;

static int64_t rounded_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// y: product.y, or the parts' sums [parts, rows, y_pitch].
static void launch_choice(Gpu& gpu, const Bf16Product& product, const Bf16Choice& choice, float* y, int64_t y_pitch) {
  const auto launch = [&](const auto& args) { gpu.launch(choice.kernel, choice.blocks, choice.threads, &args, choice.shared_bytes); };
  const ProductBf16 args = bf16_arguments(product, choice, y, y_pitch);
  if (!choice.by_warpgroups) return launch(args);
  const TensorMap x = gpu.tensor_map({product.x, product.rows, product.depth, product.x_pitch * 2, choice.tile_rows});
  const TensorMap w = gpu.tensor_map({product.w, product.columns, product.depth, product.w_pitch * 2, choice.tile_columns});
  launch(WarpgroupProduct{x, w, args});
}

// Long sums of few tiles are split; the parts are added in order.
static void launch_tiles(const OpCall& op, const Bf16Product& product, SharedRows& shared) {
  const Bf16Choice choice = choose_bf16_tiles(product.rows, product.columns, product.depth, blocks_of(op));
  if (choice.parts == 1) return launch_choice(op.gpu(), product, choice, product.y, product.y_pitch);
  const int64_t fours = (product.columns + 3) / 4;
  float* const sums = shared.sums.take(op, choice.parts * product.rows * fours * 4);
  launch_choice(op.gpu(), product, choice, sums, fours * 4);
  op.launch_elements("product_parts", product.rows * fours,
                     ProductParts{sums, product.bias, product.y, choice.parts, op.small(product.rows),
                                  op.small(product.columns), op.small(fours), op.small(product.y_pitch)});
}

void launch_whole_bf16_product(Gpu& gpu, const Bf16Product& product) {
  constexpr int64_t parts = 1;
  const Bf16Choice choice = choose_bf16_tiles(product.rows, product.columns, product.depth, blocks_of(gpu), parts);
  launch_choice(gpu, product, choice, product.y, product.y_pitch);
}

// The kernels, best first.
static void launch_bf16_product(const OpCall& op, const Bf16Product& product, SharedRows& shared) { launch_tiles(op, product, shared); }

// `rows` rows of a matrix from `first` on, as bf16 [rows, pitch].
template <class Matrix>
static void launch_bf16_rows(const OpCall& op, const std::string& kernel, const Bf16Rows<Matrix>& args, int64_t rows) {
  op.launch(kernel, rows, threads_of_row(args.pitch / 8), args);
}

static const uint16_t* x_as_bf16(const OpCall& op, const Product& product, int64_t pitch, SharedRows& shared) {
  if (shared.bf16) return shared.bf16;
  uint16_t* const x = op.scratch<uint16_t>(product.rows * pitch);
  launch_bf16_rows(op, "bf16_rows_f32", Bf16Rows<const float*>{product.x, x, 0, op.small(product.w.shape()[1]), op.small(pitch)},
                   product.rows);
  return shared.bf16 = x;
}

static bool is_read_in_place(const GpuWeight& w) {
  return w.format().name == std::string("bf16") && w.shape()[1] % 8 == 0 && reinterpret_cast<uintptr_t>(w.data()) % 16 == 0;
}

bool is_large(const Product& product) {
  return product.rows >= least_rows && product.w.shape()[1] >= least_depth && !product.invariant &&
         !are_bf16_products_refused();
}

void launch_large_product(const OpCall& op, const Product& product) {
  const int64_t N = product.w.shape()[0], K = product.w.shape()[1], pitch = rounded_up(K, STEP);
  SharedRows own, &shared = product.shared ? *product.shared : own;
  Bf16Product of{x_as_bf16(op, product, pitch, shared), nullptr, product.bias, product.y, product.rows, N, K, pitch, K, N};
  if (is_read_in_place(product.w)) {
    of.w = reinterpret_cast<const uint16_t*>(product.w.data());
    return launch_bf16_product(op, of, shared);
  }
  const int64_t slab = slab_columns(product.rows, N, pitch, blocks_of(op));
  uint16_t* const w = shared.slab.take(op, slab * pitch);
  of.w = w, of.w_pitch = pitch;
  for (int64_t first = 0; first < N; first += slab) {
    of.columns = std::min(slab, N - first);
    with_array(product.w, [&](auto array) {
      launch_bf16_rows(op, kernel_for("bf16_rows", product.w),
                       Bf16Rows<decltype(array)>{array, w, op.small(first), op.small(K), op.small(pitch)}, of.columns);
    });
    of.bias = product.bias ? product.bias + first : nullptr, of.y = product.y + first;
    launch_bf16_product(op, of, shared);
  }
}

} // namespace quern::gpu
