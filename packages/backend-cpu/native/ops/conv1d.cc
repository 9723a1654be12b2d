// Convolution along time as a matrix product: the W rows under a window, concatenated, form one row of the product.
#include <string.h>

#include "ops/product.h"

namespace quern {

namespace {

// Row t of the windows [T', W·C]: rows t · stride − padding … of x [T, C]; rows outside x are zeros.
void lay_out(const Floats& x, int64_t first_row, int64_t taps, float* window) {
  const int64_t T = x.shape[0], C = x.shape[1];
  const int64_t from = std::clamp<int64_t>(-first_row, 0, taps), to = std::clamp<int64_t>(T - first_row, from, taps);
  memset(window, 0, from * C * sizeof(float));
  if (to > from) memcpy(window + from * C, x.row(first_row + from), (to - from) * C * sizeof(float));
  memset(window + to * C, 0, (taps - to) * C * sizeof(float));
}

} // namespace

void Conv1dOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [T, C]
  const Matrix& w = call.matrix(W);   // [N, W·C]
  const Floats y = call.floats(Y, 2); // [T', N]
  const int64_t stride = call.integer(STRIDE), padding = call.integer(PADDING);
  const int64_t C = x.shape[1], K = w.width(), N = w.rows(), windows = y.shape[0];
  const float* bias = call.vector(BIAS, N);
  call.need(C > 0 && K > 0 && K % C == 0 && y.shape[1] == N && stride >= 1 && padding >= 0,
            "x must be [T, C], w [N, W * C] and y [T', N], with a stride above 0 and no negative padding");
  const int64_t taps = K / C, room = x.shape[0] + 2 * padding - taps;
  call.need(windows == (room < 0 ? 0 : room / stride + 1), "y must have a row for each window");
  if (y.count == 0) return;

  const int64_t shape[] = {windows, K};
  Floats side_by_side{nullptr, shape, 2, windows * K};
  const Needs needs(call.kernels, windows, {&w});
  const Tiling tiling(windows, K, needs);
  const int64_t rounded = (Activations::floats(side_by_side, needs) + 15) / 16 * 16;
  call.scratch.reserve(tiling.panel_floats, rounded + side_by_side.count);
  side_by_side.data = call.scratch.shared() + rounded;
  call.split(windows, K, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++) lay_out(x, t * stride - padding, taps, side_by_side.row(t));
  });
  const Activations rows(call, side_by_side, needs);
  const Product product(call.kernels, rows, w, bias, windows);
  call.pool.run(tiling.chunks(N), [&](int64_t chunk, int thread) {
    const int64_t first = chunk * tiling.chunk, end = std::min(N, first + tiling.chunk);
    product.columns(tiling, first, end, y.data + first, N, call.scratch.of(thread));
  });
}

} // namespace quern
