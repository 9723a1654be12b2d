#include "ops/top-k.h"

namespace quern {

void TopKOp::run(Call& call) {
  const Floats x = call.floats(X);                 // [.., V]
  const Floats values = call.floats(VALUES);       // [.., k]
  int32_t* const indices = call.ints_out(INDICES); // [.., k]
  const int64_t V = x.width(), k = call.integer(K);
  call.need(x.rank > 0 && k >= 1 && k <= V && values.count == x.rows() * k && call.operand(INDICES).count == values.count,
            "x must be [.., V] with V ≥ k, values and indices [.., k]");
  const int64_t blocks = BlockRow::blocks_of(V);
  call.scratch.reserve(2 * V + blocks, x.rows() * blocks);
  float* const maxima = call.scratch.shared(); // [.., blocks]
  BlockRow::find_maxima(call, x, maxima);
  call.split(x.rows(), 8 * blocks + 4 * k * BlockRow::block_width, [&](int64_t first, int64_t end, int thread) {
    auto* const found = reinterpret_cast<Candidate*>(call.scratch.of(thread)); // [V]
    float* const order = call.scratch.of(thread) + 2 * V;                      // [blocks]
    for (int64_t r = first; r < end; r++) {
      BlockRow{x.row(r), maxima + r * blocks, V, blocks}.best(k, found, order);
      for (int64_t i = 0; i < k; i++) {
        values.data[r * k + i] = found[i].value;
        indices[r * k + i] = found[i].index;
      }
    }
  });
}

} // namespace quern
