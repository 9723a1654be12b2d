// Products of few rows, 1 to 8: weights are streamed. Several matrices share a launch.
#pragma once
#include <span>

#include "gpu/ops/products.h"

namespace quern::gpu {

constexpr int64_t most_few = 8;  // rows: of linear-few.h and block-products.h

bool is_few(const OpCall& op, const Product& product);
// All of one x, with columns in order.
void launch_few(const OpCall& op, std::span<const Product> products);
// With the norm of y in its epilogue.
void launch_few(const OpCall& op, const Product& product, const NormOfY& norm);
// Any number of rows, eight at a time: the bits of a row depend on no other row.
void launch_eights(const OpCall& op, const Product& product);

// y = silu(gate · x) · (up · x) in one launch; `gate` has x and y.
bool is_gate_up_few(const OpCall& op, const Product& gate, const GpuWeight& up);
void launch_gate_up_few(const OpCall& op, const Product& gate, const GpuWeight& up);

enum class FewKernel { linear, gate_up };
constexpr int64_t any_blocks = int64_t(1) << 30;
// Blocks that a launch has at most: more would wait for room on a processor. A block has turns of columns instead, and loads x once
// where a warp has all of its x at a time.
int64_t most_few_blocks(const OpCall& op, const Product& product, FewKernel kernel);

constexpr int few_threads = 128;
// Blocks of few_threads with a warp per output, up to a grid that fills a device.
int64_t blocks_of_warps(int64_t outputs);

} // namespace quern::gpu
