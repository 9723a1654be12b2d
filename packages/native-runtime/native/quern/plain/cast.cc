#include "quern/plain/half.h"
#include "quern/plain/plain.h"

namespace quern::plain {

static bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

static float get(const Operand& x, int64_t i) {
  if (x.dtype == DType::f32) return reinterpret_cast<const float*>(x.data)[i];
  const uint16_t half = reinterpret_cast<const uint16_t*>(x.data)[i];
  return x.dtype == DType::f16 ? f16_value(half) : bf16_value(half);
}

static void put(const Operand& y, int64_t i, float value) {
  if (y.dtype == DType::f32) reinterpret_cast<float*>(y.data)[i] = value;
  else reinterpret_cast<uint16_t*>(y.data)[i] = y.dtype == DType::f16 ? to_f16(value) : to_bf16(value);
}

void cast(const OpView& op) {
  const Operand &x = op.operand(CastOp::X), &y = op.operand(CastOp::Y);
  op.need(x.rank == y.rank && std::equal(x.shape, x.shape + x.rank, y.shape), "y must have the shape of x");
  op.need(is_float(x.dtype) && is_float(y.dtype), "both must be floats");
  for (int64_t i = 0; i < x.count; i++) put(y, i, get(x, i));
}

} // namespace quern::plain
