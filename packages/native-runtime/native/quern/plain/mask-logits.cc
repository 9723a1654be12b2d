#include <cmath>

#include "quern/plain/plain.h"

namespace quern::plain {

void mask_logits(const OpView& op) {
  const Floats x = op.floats(MaskLogitsOp::X, 2), y = op.floats(MaskLogitsOp::Y);
  const Ints bits = op.ints(MaskLogitsOp::BITS);
  const int64_t words = (x.width() + 31) / 32;
  op.need(x.same_shape(y) && bits.count == x.shape[0] * words, "y must have the shape of x, bits a word for 32 columns");
  for (int64_t s = 0; s < x.rows(); s++)
    for (int64_t v = 0; v < x.width(); v++)
      y.row(s)[v] = bits[s * words + v / 32] >> (v % 32) & 1 ? x.row(s)[v] : -HUGE_VALF;
}

} // namespace quern::plain
