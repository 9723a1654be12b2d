#include <vector>

#include "quern/plain/plain.h"
#include "quern/plain/state.h"

namespace quern::plain {

void short_conv(const OpView& op) {
  const Floats x = op.floats(ShortConvOp::X, 2), y = op.floats(ShortConvOp::Y, 2);
  const float* const w = weight(op, ShortConvOp::WEIGHT, 2);
  const int64_t T = x.shape[0], D = x.width(), L = op.operand(ShortConvOp::WEIGHT).shape[1];
  const float* const bias = vector(op, ShortConvOp::BIAS, D);
  op.need(x.same_shape(y) && op.operand(ShortConvOp::WEIGHT).shape[0] == D, "y must have the shape of x, the weight be [D, L]");
  const StateBatch batch(op, ShortConvOp::CU_SEQLENS, ShortConvOp::STATES, ShortConvOp::STATE, T, L - 1, D);
  for (int64_t s = 0; s < batch.count; s++) {
    const StateRows rows = batch[s];
    std::vector<float> inputs = read_state(op, ShortConvOp::STATE, rows); // [L − 1 + rows, D]
    inputs.insert(inputs.end(), x.row(rows.first), x.row(rows.end));
    for (int64_t t = 0; t < rows.end - rows.first; t++)
      for (int64_t c = 0; c < D; c++) {
        double sum = bias ? bias[c] : 0;
        for (int64_t j = 0; j < L; j++) sum += double(w[c * L + j]) * inputs[(t + j) * D + c];
        y.row(rows.first + t)[c] = static_cast<float>(sum);
      }
    write_state(op, ShortConvOp::STATE, rows, inputs.data() + (rows.end - rows.first) * D);
  }
}

} // namespace quern::plain
