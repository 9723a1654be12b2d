// Sums and products of f32 without loss: the rounded value and its rounding error. Compilers may not reorder these, nor fuse them with
// what comes before.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct TwoFloat {
  float high, low; // the value is high + low
};

// a + b (Knuth). Only `high` means something if it is not finite.
FUNCTION TwoFloat exact_sum(float a, float b) {
  const float sum = rounded_sum(a, b), of_b = rounded_sum(sum, -a), of_a = rounded_sum(sum, -of_b);
  return {sum, rounded_sum(rounded_sum(a, -of_a), rounded_sum(b, -of_b))};
}

FUNCTION TwoFloat exact_product(float a, float b) {
  const float product = rounded_product(a, b);
  return {product, fused(a, b, -product)};
}

// a / b, to about twice the bits of f32.
FUNCTION TwoFloat precise_quotient(TwoFloat a, float b) {
  const float quotient = a.high / b;
  return {quotient, (fused(-quotient, b, a.high) + a.low) / b};
}

} // namespace gpu
} // namespace quern
