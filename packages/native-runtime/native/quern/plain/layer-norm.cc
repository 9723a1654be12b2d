#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void layer_norm(const OpView& op) {
  const Floats x = op.floats(LayerNormOp::X), y = op.floats(LayerNormOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  const int64_t width = x.width();
  const float *w = vector(op, LayerNormOp::W, width), *b = vector(op, LayerNormOp::B, width);
  for (int64_t row = 0; row < x.rows(); row++) {
    const float* const from = x.row(row);
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < width; i++) sum += from[i];
    const double mean = sum / double(width);
    for (int64_t i = 0; i < width; i++) squares += (from[i] - mean) * (from[i] - mean);
    const double factor = 1 / std::sqrt(squares / double(width) + op.number(LayerNormOp::EPS));
    for (int64_t i = 0; i < width; i++) y.row(row)[i] = static_cast<float>((from[i] - mean) * factor * w[i] + b[i]);
  }
}

} // namespace quern::plain
