#include "quern/plain/cache.h"

#include <math.h>
#include <string.h>

#include "quern/plain/e4m3.h"
#include "quern/plain/half.h"

namespace quern::plain {

Cache cache(const OpView& op, int index, int64_t heads, int64_t d) {
  const Operand& o = op.operand(index);
  op.need(o.dtype != DType::i32 && o.rank == 4 && o.shape[2] == heads && o.shape[3] == d + (has_scales(o.dtype) ? 4 : 0), "a cache has the wrong shape");
  return {o.data, o.dtype, o.shape[0], o.shape[1], heads, d};
}

static uint8_t i8_of(float steps) { return static_cast<uint8_t>(static_cast<int8_t>(fmaxf(-127, fminf(127, nearbyintf(steps))))); }

// Elements x / scale, clamped where the scale is subnormal; then the scale: max|x| / largest.
static void put_scaled(const float* x, int64_t d, float largest, uint8_t (*element)(float), uint8_t* head) {
  float top = 0;
  bool finite = true;
  for (int64_t i = 0; i < d; i++) {
    finite = finite && isfinite(x[i]);
    top = fmaxf(top, fabsf(x[i]));
  }
  const float scale = finite ? top / largest : NAN;
  memcpy(head + d, &scale, sizeof scale);
  for (int64_t i = 0; i < d; i++) head[i] = scale > 0 ? element(x[i] / scale) : 0;
}

void Cache::put(const float* x, int64_t slot, int64_t h) const {
  uint8_t* const to = head(slot, h);
  if (dtype == DType::i8) put_scaled(x, d, 127, i8_of, to);
  else if (dtype == DType::u8) put_scaled(x, d, 448, to_e4m3, to);
  else if (dtype == DType::f32) memcpy(to, x, d * sizeof(float));
  else
    for (int64_t i = 0; i < d; i++) reinterpret_cast<uint16_t*>(to)[i] = dtype == DType::f16 ? to_f16(x[i]) : to_bf16(x[i]);
}

void Cache::get(int64_t slot, int64_t h, float* x) const {
  const uint8_t* const from = head(slot, h);
  float scale = 1;
  if (has_scales(dtype)) memcpy(&scale, from + d, sizeof scale);
  for (int64_t i = 0; i < d; i++) {
    if (dtype == DType::f32) x[i] = reinterpret_cast<const float*>(from)[i];
    else if (dtype == DType::i8) x[i] = reinterpret_cast<const int8_t*>(from)[i] * scale;
    else if (dtype == DType::u8) x[i] = e4m3_value(from[i]) * scale;
    else x[i] = (dtype == DType::f16 ? f16_value : bf16_value)(reinterpret_cast<const uint16_t*>(from)[i]);
  }
}

} // namespace quern::plain
