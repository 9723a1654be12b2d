#include "gpu/ops/cuda/product-rows.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/cuda/norm-fragments.h"

namespace quern::gpu {

// To 128 rows weights of blocks are decoded beside the products: 5 instructions for each of tensor cores, which takes longer. A pass
// that decodes them before writes and reads 2 bytes per weight. Dense weights need none: larger tiles load x less often.
// From 3 rows on a weight of blocks takes fewer instructions here than where it is streamed: q4_k 4.4 for 16 rows, 13.5 for 4.
struct SomeRows {
  int64_t least, most;
};
static constexpr SomeRows of_blocks{3, 128}, of_dense{9, 64};
static constexpr int64_t most_row_parts = 8, least_depth_of_warp = 256; // of K, of a warp: two chunks of 4-bit weights

// For measurements and tests. QUERN_CUDA_ROWS: the parts of K; 0: other kernels take these products. So do those of QUERN_CUDA_PRODUCT
// (bf16-tiles.cc).
static const char* forced_row_parts() { return getenv("QUERN_CUDA_ROWS"); }
static bool are_row_products_refused() {
  return getenv("QUERN_CUDA_PRODUCT") || (forced_row_parts() && atoi(forced_row_parts()) <= 0);
}

template <int DOWN>
static RowChoice row_choice(int64_t rows, int64_t columns, int64_t depth, int64_t processors) {
  using Has = RowBlock<DOWN>;
  constexpr int64_t height = DOWN * 16;
  const int64_t heights = (rows + height - 1) / height, blocks = heights * ((columns + Has::columns - 1) / Has::columns);
  const int64_t room = processors * Has::blocks / blocks, most = std::min(most_row_parts, depth / (least_depth_of_warp * Has::ways));
  const int64_t parts = forced_row_parts() ? atoi(forced_row_parts()) : std::max<int64_t>(1, std::min(room, most));
  return {int(height), Has::columns, Has::threads, heights * DOWN, parts};
}

// As many parts of K as the processors have room for.
RowChoice choose_row_blocks(int64_t rows, int64_t columns, int64_t depth, int64_t processors) {
  if (rows <= 16) return row_choice<1>(rows, columns, depth, processors);
  if (rows <= 32) return row_choice<2>(rows, columns, depth, processors);
  return row_choice<4>(rows, columns, depth, processors);
}

// Loads have 16 bytes, eight values of a dense weight, at any row. Kernels count eights of weights.
static bool has_wide_eights(const GpuWeight& w) {
  int64_t count = 1;
  for (const int64_t size : w.shape()) count *= size;
  return w.shape().back() % 8 == 0 && count / 8 <= INT32_MAX && reinterpret_cast<uintptr_t>(w.data()) % 16 == 0;
}

bool has_some_rows(const Product& product) {
  const SomeRows some = product.w.format().dense ? of_dense : of_blocks;
  return product.rows >= some.least && product.rows <= some.most && !product.invariant && has_wide_eights(product.w) &&
         !are_row_products_refused();
}

bool has_expert_rows(const GpuWeight& w) { return has_wide_eights(w) && !are_row_products_refused(); }

static constexpr ExpertTiles one_matrix{nullptr, nullptr, 1};

static int steps_of(const GpuWeight& w) { return w.format().dense ? DENSE_STEPS : steps_of_blocks(w.format().low); }

// Of whole chunks.
static int64_t steps_of_depth(int64_t depth, int steps_of_chunk) {
  const int64_t of_chunk = steps_of_chunk * 32;
  return (depth + of_chunk - 1) / of_chunk * steps_of_chunk;
}

static const Uint4* fragments_of(const OpCall& op, const float* x, int64_t rows, int64_t depth, int64_t tiles, int steps_of_chunk, const ExpertTiles& experts) {
  const int64_t steps = steps_of_depth(depth, steps_of_chunk);
  const int64_t count = op.small(steps * tiles * 2 * WARP);
  Uint4* const fragments = op.scratch<Uint4>(count);
  op.launch_elements("row_fragments", count,
                     RowFragments{x, fragments, op.small(rows), op.small(depth), op.small(steps), op.small(tiles), steps_of_chunk, experts});
  return fragments;
}

static const Uint4* fragments_of_x(const OpCall& op, const Product& product, int64_t tiles, SharedRows& shared) {
  const int steps = steps_of(product.w);
  if (shared.eights != steps)
    shared.fragments = fragments_of(op, product.x, product.rows, product.w.shape()[1], tiles, steps, one_matrix), shared.eights = steps;
  return static_cast<const Uint4*>(shared.fragments);
}

static int64_t columns_of(std::span<const Product> products) {
  int64_t columns = 0;
  for (const Product& product : products) columns += product.w.shape()[0];
  return columns;
}

// Where the parts' sums of the products go: [parts, rows, pitch]. Null: there is one part, and each product has its y.
struct PartSums {
  float* to;
  int64_t pitch;
};

template <class Weights>
static RowLinear<Weights> row_args(const OpCall& op, std::span<const Product> products, const RowChoice& choice, PartSums sums, bool gated) {
  const Product& first = products.front();
  RowLinear<Weights> args{nullptr, {}, op.small(first.rows), op.small(first.w.shape()[1]), op.small(choice.tiles), op.small(choice.parts),
                          op.small(sums.pitch), gated, one_matrix};
  const int64_t of_block = gated ? choice.columns / 2 : choice.columns, of_columns = choice.tiles * 16 / choice.height * choice.parts;
  int64_t end = 0, before = 0;
  for (size_t i = 0; i < MOST_MATRICES; i++) {
    const Product& product = products[std::min(i, products.size() - 1)]; // matrices that are not there have no blocks
    const int64_t N = product.w.shape()[0];
    if (i < products.size() && !(gated && i > 0)) end += (N + of_block - 1) / of_block * of_columns;
    args.matrices[i] = {array_of<Weights>(product.w), sums.to ? nullptr : product.bias, sums.to ? sums.to + before : product.y,
                        op.small(N), op.small(end)};
    before += N;
  }
  return args;
}

// Products of one format.
static void launch_row_matrices(const OpCall& op, std::span<const Product> products, const RowChoice& choice, PartSums sums, bool gated,
                                SharedRows& shared) {
  const GpuWeight& w = products.front().w;
  const std::string kernel = kernel_for(("linear_rows_" + std::to_string(choice.height)).c_str(), w);
  with_array(w, [&](auto array) {
    auto args = row_args<decltype(array)>(op, products, choice, sums, gated);
    args.x = fragments_of_x(op, products.front(), choice.tiles, shared);
    op.launch(kernel, args.matrices[MOST_MATRICES - 1].end, choice.threads, args);
  });
}

static void launch_row_sums(const OpCall& op, std::span<const Product> products, int64_t parts, PartSums sums, bool gated) {
  const int64_t rows = products.front().rows;
  RowSums args{sums.to, {}, op.small(parts), op.small(rows), op.small(sums.pitch), gated};
  for (size_t i = 0; i < products.size(); i++)
    args.of[i] = {products[i].bias, products[i].y, op.small(products[i].w.shape()[0])};
  op.launch_elements("row_sums", op.small(rows * sums.pitch) / (gated ? 2 : 1), args);
}

static RowChoice choice_of(const OpCall& op, std::span<const Product> products) {
  const Product& first = products.front();
  return choose_row_blocks(first.rows, columns_of(products), first.w.shape()[1], op.processors());
}

static PartSums sums_of(const OpCall& op, std::span<const Product> products, int64_t parts, SharedRows& shared) {
  if (parts == 1) return {nullptr, 0};
  const int64_t pitch = columns_of(products);
  return {shared.sums.take(op, parts * products.front().rows * pitch), pitch};
}

// Neighbours of one format share a launch.
static void launch_row_parts(const OpCall& op, std::span<const Product> products, const RowChoice& choice, PartSums of_launch, SharedRows& shared) {
  for (size_t first = 0, end; first < products.size(); first = end) {
    end = first + 1;
    while (end < products.size() && &products[end].w.format() == &products[first].w.format()) end++;
    const auto together = products.subspan(first, end - first);
    launch_row_matrices(op, together, choice, of_launch, false, shared);
    if (of_launch.to) of_launch.to += columns_of(together);
  }
}

void launch_row_products(const OpCall& op, std::span<const Product> products) {
  SharedRows own, &shared = products.front().shared ? *products.front().shared : own;
  const RowChoice choice = choice_of(op, products);
  const PartSums sums = sums_of(op, products, choice.parts, shared);
  launch_row_parts(op, products, choice, sums, shared);
  if (sums.to) launch_row_sums(op, products, choice.parts, sums, false);
}

FoldedX launch_row_norm(const OpCall& op, const Product& product, const SummedNorm& norm, const GpuWeight& next, bool needs_y) {
  SharedRows shared;
  const std::span<const Product> one{&product, 1};
  const RowChoice choice = choice_of(op, one);
  const PartSums sums = sums_of(op, one, choice.parts, shared);
  launch_row_parts(op, one, choice, sums, shared);
  const int steps_of_chunk = steps_of(next);
  const int64_t steps = steps_of_depth(norm.width, steps_of_chunk);
  unsigned* const to = op.scratch<unsigned>(op.small(steps * choice.tiles * 2 * WARP) * 4l);
  op.launch("norm_fragments", choice.tiles * 16, std::min(NORM_THREADS, threads_of_sum(norm.width)),
            NormFragments{sums.to ? sums.to : product.y, sums.to ? product.bias : nullptr, norm.residual, norm.w, norm.sum,
                          needs_y ? norm.y : nullptr, to, op.small(choice.parts), op.small(norm.rows), op.small(norm.width),
                          op.small(steps), op.small(choice.tiles), std::countr_zero(unsigned(steps_of_chunk)), norm.eps});
  FoldedX x = {};
  x.rows.fragments = to, x.rows.eights = steps_of_chunk;
  return x;
}

bool share_fragments(const GpuWeight& a, const GpuWeight& b) { return steps_of(a) == steps_of(b); }

void launch_row_gate_up(const OpCall& op, const Product& gate, const GpuWeight& up) {
  SharedRows own, &shared = gate.shared ? *gate.shared : own;
  const std::array<Product, 2> both{gate, {gate.x, up, nullptr, gate.y, gate.rows}};
  const RowChoice choice = choice_of(op, both);
  const PartSums sums = sums_of(op, both, choice.parts, shared);
  launch_row_matrices(op, both, choice, sums, !sums.to, shared);
  if (sums.to) launch_row_sums(op, both, choice.parts, sums, true);
}

void launch_expert_rows(const OpCall& op, const ExpertProduct& product, const GpuWeight* up) {
  using Has = RowBlock<1>;
  const TilesByExpert& by_expert = product.tiles;
  const int64_t N = product.w.shape()[1], K = product.w.shape()[2], columns = up ? Has::columns / 2 : Has::columns;
  const int64_t rows = by_expert.tiles * expert_rows, blocks = by_expert.tiles * ((N + columns - 1) / columns);
  const ExpertTiles experts{by_expert.rows, by_expert.of_tile, op.small(product.chosen)};
  const Uint4* const x = fragments_of(op, product.x, rows, K, by_expert.tiles, steps_of(product.w), experts);
  with_array(product.w, [&](auto w) {
    using Weights = decltype(w);
    const FewMatrix<Weights> first{w, nullptr, product.y, op.small(N), op.small(blocks)};
    const FewMatrix<Weights> second{array_of<Weights>(up ? *up : product.w), nullptr, product.y, op.small(N), op.small(blocks)};
    op.launch(kernel_for("linear_rows_16", product.w), blocks, Has::threads,
              RowLinear<Weights>{x, {first, second, second}, op.small(rows), op.small(K), op.small(by_expert.tiles), 1, 0, up != nullptr, experts});
  });
}

} // namespace quern::gpu
