// y = silu(gate · x) · (up · x), without the products in memory: a warp has the sums of the same columns of gate and up.
#pragma once
#include "activations.h"
#include "dense-weights.h"
#include "folded-norm.h"

namespace quern {
namespace gpu {

template <class Weights>
struct GateUp {
  Global<const float> x; // [rows, depth]
  Weights gate, up;      // [columns, depth]
  Global<float> y;       // [rows, columns]
  int rows, columns, depth;
  int parts;             // as in FewLinear
  NormOfX of_x;
};

// With 2 · PAIRS sums per row: lane t · 2 · PAIRS + p has the sum of gate's column first + p, and the lane PAIRS further that of up.
// All lanes call it.
template <int PAIRS>
FUNCTION void put_gated(float sum, Global<float> y, int rows, int columns, int first) {
  const float up = shuffle(sum, (lane() + PAIRS) % WARP);
  const int t = lane() / (2 * PAIRS), p = lane() % (2 * PAIRS), n = first + p;
  if (p < PAIRS && t < rows && n < columns) y[int64_t(t) * columns + n] = silu_of(sum) * up;
}

} // namespace gpu
} // namespace quern
