// How many blocks of the kernels that stream weights of blocks the processors have room for at once.
#include <algorithm>
#include <string_view>

#include "gpu/ops/product-few.h"
#include "kernels/block-products.h"

namespace quern::gpu {

// Blocks of a processor for one row and for two, as the kernels' registers allow.
struct FewRoom {
  const char* format;
  int linear_1, gated_1, linear_2, gated_2;
};
#define FEW_ROOM(Format, name) {#name, FewBlocks<Format>::linear_1, FewBlocks<Format>::gated_1, FewBlocks<Format>::linear_2, FewBlocks<Format>::gated_2},
static constexpr FewRoom rooms[] = {EVERY_BLOCK_FORMAT(FEW_ROOM)};
#undef FEW_ROOM

static int blocks_by_registers(const FewRoom& room, int64_t rows, FewKernel kernel) {
  if (kernel == FewKernel::linear) return rows == 1 ? room.linear_1 : room.linear_2;
  return rows == 1 ? room.gated_1 : room.gated_2;
}

// Staged rows of x, and what the driver and small arrays take.
static int64_t shared_bytes(int64_t rows) {
  constexpr int64_t others = 2048;
  return (rows == 1 ? int64_t(Staged<1>::count) : int64_t(Staged<2>::count)) * int64_t(sizeof(Float4)) + others;
}

// Kernels of more rows stage x for each turn: nothing is gained.
int64_t most_few_blocks(const OpCall& op, const Product& product, FewKernel kernel) {
  const auto room = std::find_if(std::begin(rooms), std::end(rooms),
                                 [&](const FewRoom& one) { return std::string_view(one.format) == product.w.format().name; });
  if (room == std::end(rooms) || product.rows > 2) return any_blocks;
  const int fewer = op.gpu().has_warpgroup_products() ? 0 : 1; // ROOM_FOR
  const int64_t of_processor = std::min<int64_t>(blocks_by_registers(*room, product.rows, kernel) - fewer,
                                                 op.shared_memory() / shared_bytes(product.rows));
  return std::max<int64_t>(1, of_processor) * op.processors();
}

}  // namespace quern::gpu
