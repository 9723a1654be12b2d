#include "ops/mask-word.h"
#include "ops/product.h"

namespace quern {

namespace {

// Columns that are computed or left out together: a multiple of the columns of a word, a tile and a panel step. Fewer: less
// is computed in vain; more: longer runs of weights.
constexpr int64_t unit = 128, words_of_unit = unit / 32;

struct ColumnMask {
  Ints bits; // [S, words]
  int64_t S, words;

  uint32_t word(int64_t s, int64_t index) const { return static_cast<uint32_t>(bits[s * words + index]); }

  // Whether any row may choose a column of the unit that begins at column `first`.
  bool allows(int64_t first) const {
    const int64_t begin = first / 32, end = std::min(words, begin + words_of_unit);
    for (int64_t s = 0; s < S; s++)
      for (int64_t i = begin; i < end; i++)
        if (bits[s * words + i] != 0) return true;
    return false;
  }
};

} // namespace

void LinearMaskOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [S, K]
  const Matrix& w = call.matrix(W);   // [N, K]
  const Floats y = call.floats(Y, 2); // [S, N]
  const int64_t S = x.shape[0], K = w.width(), N = w.rows();
  const ColumnMask mask{call.ints(BITS), S, (N + 31) / 32}; // [S, ⌈N/32⌉]
  call.need(x.shape[1] == K && y.shape[0] == S && y.shape[1] == N && mask.bits.count == S * mask.words,
            "x must be [S, K], w [N, K], bits [S, ⌈N/32⌉] and y [S, N]");
  if (y.count == 0) return;
  const Needs needs(call.kernels, S, {&w});
  const Tiling tiling(S, K, needs);
  call.scratch.reserve(tiling.panel_floats, Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  const Product product(call.kernels, rows, w, nullptr, S);
  const int64_t chunk = (tiling.chunk + unit - 1) / unit * unit;
  call.pool.run((N + chunk - 1) / chunk, [&](int64_t i, int thread) {
    const int64_t begin = i * chunk, end = std::min(N, begin + chunk);
    for (int64_t first = begin, stop; first < end; first = stop) {
      const bool allowed = mask.allows(first);
      for (stop = first + unit; stop < end && mask.allows(stop) == allowed;) stop += unit;
      if (allowed) product.columns(tiling, first, std::min(end, stop), y.data + first, N, call.scratch.of(thread));
    }
    for (int64_t s = 0; s < S; s++)
      for (int64_t v = begin; v < end; v += 32) {
        float* const part = y.row(s) + v;
        mask_word(part, mask.word(s, v / 32), part, std::min<int64_t>(32, end - v));
      }
  });
}

} // namespace quern
