#include "linear.h"

#include <algorithm>

#include "quern/plain/weight.h"

namespace slate {

using quern::Floats;
using Op = quern::LinearOp;

void product(const float* x, const float* w, int64_t N, int64_t K, float* y) {
  for (int64_t n = 0; n < N; n += 4) {
    const int64_t rows = std::min<int64_t>(4, N - n);
    double sums[4] = {};
    for (int64_t k = 0; k < K; k++)
      for (int64_t i = 0; i < rows; i++) sums[i] += double(x[k]) * w[(n + i) * K + k];
    for (int64_t i = 0; i < rows; i++) y[n + i] = static_cast<float>(sums[i]);
  }
}

static const float* weight(const quern::OpView& op, int index) {
  return static_cast<const quern::plain::PlainWeight&>(*op.operand(index).weight).data();
}

// x [T, K], w [N, K], bias [N] → y [T, N]
void linear(const quern::OpView& op) {
  const Floats x = op.floats(Op::X, 2), y = op.floats(Op::Y, 2);
  const int64_t N = op.operand(Op::W).shape[0], K = op.operand(Op::W).shape[1];
  op.need(op.operand(Op::W).rank == 2 && x.width() == K && y.width() == N && x.shape[0] == y.shape[0], "y must be [T, N]");
  op.need(!op.present(Op::BIAS) || op.operand(Op::BIAS).count == N, "bias must be [N]");
  for (int64_t t = 0; t < y.shape[0]; t++) {
    product(x.row(t), weight(op, Op::W), N, K, y.row(t));
    for (int64_t n = 0; op.present(Op::BIAS) && n < N; n++) y.row(t)[n] += weight(op, Op::BIAS)[n];
  }
}

} // namespace slate
