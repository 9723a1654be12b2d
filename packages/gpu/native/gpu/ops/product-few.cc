#include "gpu/ops/product-few.h"

#include "gpu/ops/matrices.h"
#include "kernels/block-products.h"
#include "kernels/linear-few.h"

namespace quern::gpu {

static_assert(few_threads == PRODUCT_WARPS * WARP);
static constexpr int64_t most_blocks = 8192;  // of a matrix

bool is_few(const OpCall& op, const Product& product) {
  return product.rows <= most_few && !product.invariant && !takes_few_rows(op, product);
}

int64_t blocks_of_warps(int64_t outputs) { return std::min(most_blocks, (outputs + PRODUCT_WARPS - 1) / PRODUCT_WARPS); }

// "linear_few_4_q8_0": kernels for up to 1, 2, 4 and 8 rows.
static std::string kernel_of(const char* name, const Product& product) {
  const int most = product.rows <= 2 ? int(product.rows) : product.rows <= 4 ? 4 : 8;
  return kernel_for((name + std::to_string(most)).c_str(), product.w);
}

// Warps that share a row of blocks: each lane has at least one group.
static int parts_of(const GpuWeight& w) {
  if (w.format().dense) return 1;
  const int64_t groups_of_lane = w.shape()[1] / (WARP * GROUP);
  return groups_of_lane >= 4 ? 4 : groups_of_lane >= 2 ? 2 : 1;
}

// of_warp: columns of a warp that has blocks of weights.
static int64_t blocks_of(const GpuWeight& w, int64_t of_warp) {
  const int64_t N = w.shape()[0];
  if (w.format().dense) return blocks_of_warps(N);
  const int64_t of_block = PRODUCT_WARPS / parts_of(w) * of_warp;
  return std::min(most_blocks, (N + of_block - 1) / of_block);
}

// Blocks that have `turns` turns of columns each.
static int64_t blocks_in(int64_t turns, int64_t blocks) { return (blocks + turns - 1) / turns; }

static constexpr int64_t columns_of_warp = 4, pairs_of_warp = 2;

// Turns of columns of each block, so that all blocks have room at once.
static int64_t turns_of(const OpCall& op, std::span<const Product> products) {
  const int64_t most = most_few_blocks(op, products.front(), FewKernel::linear);
  const auto blocks = [&](int64_t turns) {
    int64_t all = 0;
    for (const Product& product : products) all += blocks_in(turns, blocks_of(product.w, columns_of_warp));
    return all;
  };
  int64_t turns = std::max<int64_t>(1, blocks(1) / most);
  while (blocks(turns) > std::max(most, int64_t(products.size()))) turns++;
  return turns;
}

template <class Weights>
static FewLinear<Weights> few_args(const OpCall& op, std::span<const Product> products, const NormOfY& norm) {
  const Product& first = products.front();
  const int64_t turns = turns_of(op, products);
  FewLinear<Weights> args{first.x, {}, op.small(first.rows), op.small(first.w.shape()[1]), parts_of(first.w), first.norm, norm};
  int end = 0;
  for (size_t i = 0; i < MOST_MATRICES; i++) {
    const Product& product = products[std::min(i, products.size() - 1)];  // matrices that are not there have no blocks
    if (i < products.size()) end += int(blocks_in(turns, blocks_of(product.w, columns_of_warp)));
    args.matrices[i] = {array_of<Weights>(product.w), product.bias, product.y, op.small(product.w.shape()[0]), end};
  }
  return args;
}

// Products of one format.
static void launch_together(const OpCall& op, const std::string& kernel, std::span<const Product> products, const NormOfY& norm = {}) {
  with_array(products.front().w, [&](auto array) {
    const auto args = few_args<decltype(array)>(op, products, norm);
    op.launch(kernel, args.matrices[MOST_MATRICES - 1].end, few_threads, args);
  });
}

// Neighbours of one format share a launch.
void launch_few(const OpCall& op, std::span<const Product> products) {
  for (size_t first = 0, end; first < products.size(); first = end) {
    end = first + 1;
    while (end < products.size() && end - first < MOST_MATRICES && &products[end].w.format() == &products[first].w.format()) end++;
    launch_together(op, kernel_of("linear_few_", products[first]), products.subspan(first, end - first));
  }
}

void launch_few(const OpCall& op, const Product& product, const NormOfY& norm) {
  launch_together(op, kernel_of("linear_few_", product), {&product, 1}, norm);
}

void launch_eights(const OpCall& op, const Product& product) {
  const int64_t N = product.w.shape()[0], K = product.w.shape()[1];
  const std::string kernel = kernel_for("linear_few_8", product.w);
  for (int64_t first = 0; first < product.rows; first += most_few) {
    const Product eight{product.x + first * K, product.w, product.bias, product.y + first * N, std::min(most_few, product.rows - first)};
    launch_together(op, kernel, {&eight, 1});
  }
}

bool is_gate_up_few(const OpCall& op, const Product& gate, const GpuWeight& up) {
  return is_few(op, gate) && &gate.w.format() == &up.format() && !gate.w.order() && !up.order();
}

void launch_gate_up_few(const OpCall& op, const Product& gate, const GpuWeight& up) {
  const GpuWeight& w = gate.w;
  const int64_t all = blocks_of(w, pairs_of_warp), most = most_few_blocks(op, gate, FewKernel::gate_up);
  with_array(w, [&](auto array) {
    op.launch(kernel_of("gate_up_few_", gate), blocks_in(blocks_in(most, all), all), few_threads,
              GateUp<decltype(array)>{gate.x, array, array_of<decltype(array)>(up), gate.y, op.small(gate.rows),
                                      op.small(w.shape()[0]), op.small(w.shape()[1]), parts_of(w), gate.norm});
  });
}

}  // namespace quern::gpu
