#include "quern/plain/cache.h"

#include <math.h>
#include <string.h>

#include "quern/plain/half.h"

namespace quern::plain {

Cache cache(const OpView& op, int index, int64_t heads, int64_t d) {
  const Operand& o = op.operand(index);
  const bool known = o.dtype == DType::f32 || o.dtype == DType::f16 || o.dtype == DType::bf16 || o.dtype == DType::i8;
  op.need(known && o.rank == 4 && o.shape[2] == heads && o.shape[3] == d + (o.dtype == DType::i8 ? 4 : 0), "a cache has the wrong shape");
  return {o.data, o.dtype, o.shape[0], o.shape[1], heads, d};
}

static void put_i8(const float* x, int64_t d, int8_t* head) {
  float top = 0;
  bool finite = true;
  for (int64_t i = 0; i < d; i++) {
    finite = finite && isfinite(x[i]);
    top = fmaxf(top, fabsf(x[i]));
  }
  const float scale = finite ? top / 127 : NAN;
  memcpy(head + d, &scale, sizeof scale);
  for (int64_t i = 0; i < d; i++) {
    const float steps = scale > 0 ? nearbyintf(x[i] / scale) : 0;
    head[i] = static_cast<int8_t>(fmaxf(-127, fminf(127, steps))); // the clamp matters when the scale is subnormal
  }
}

void Cache::put(const float* x, int64_t slot, int64_t h) const {
  uint8_t* const to = head(slot, h);
  if (dtype == DType::i8) put_i8(x, d, reinterpret_cast<int8_t*>(to));
  else if (dtype == DType::f32) memcpy(to, x, d * sizeof(float));
  else
    for (int64_t i = 0; i < d; i++) reinterpret_cast<uint16_t*>(to)[i] = dtype == DType::f16 ? to_f16(x[i]) : to_bf16(x[i]);
}

void Cache::get(int64_t slot, int64_t h, float* x) const {
  const uint8_t* const from = head(slot, h);
  float scale = 1;
  if (dtype == DType::i8) memcpy(&scale, from + d, sizeof scale);
  for (int64_t i = 0; i < d; i++) {
    if (dtype == DType::f32) x[i] = reinterpret_cast<const float*>(from)[i];
    else if (dtype == DType::i8) x[i] = reinterpret_cast<const int8_t*>(from)[i] * scale;
    else x[i] = (dtype == DType::f16 ? f16_value : bf16_value)(reinterpret_cast<const uint16_t*>(from)[i]);
  }
}

} // namespace quern::plain
