#include "ops/kv-append.h"

#include <string.h>

namespace quern {

namespace {

// Writes `heads` adjacent heads into a slot.
void append_heads(const Kernels& kernels, const float* x, int64_t heads, const Cache& cache, uint8_t* place) {
  const int64_t count = heads * cache.d;
  switch (cache.type) {
    case CACHE_F16: return kernels.f32_to_f16(x, reinterpret_cast<uint16_t*>(place), count);
    case CACHE_BF16: return kernels.f32_to_bf16(x, reinterpret_cast<uint16_t*>(place), count);
    case CACHE_I8:
      for (int64_t h = 0; h < heads; h++)
        kernels.f32_to_i8(x + h * cache.d, reinterpret_cast<int8_t*>(place + h * cache.row_bytes()), cache.d);
      return;
    default: memcpy(place, x, count * sizeof(float));
  }
}

} // namespace

void check_slots(const Call& call, const Ints& slots, const Cache& cache) {
  for (int64_t t = 0; t < slots.count; t++)
    if (slots[t] < -1 || slots[t] >= cache.slots())
      call.out_of_range("slots[%lld] is %d, but the cache has %lld slots", static_cast<long long>(t), slots[t],
                        static_cast<long long>(cache.slots()));
}

bool rise(const Ints& slots) {
  int32_t last = -1;
  for (int64_t t = 0; t < slots.count; t++) {
    if (slots[t] < 0) continue;
    if (slots[t] <= last) return false;
    last = slots[t];
  }
  return true;
}

void append_row(const Kernels& kernels, const float* row, int32_t slot, const Cache& cache) {
  if (slot >= 0) append_heads(kernels, row, cache.heads, cache, cache.data + slot * cache.heads * cache.row_bytes());
}

// Split by heads, not by rows: if a slot occurs twice, the later row must win.
void append_rows(const Call& call, const float* rows, const Ints& slots, const Cache& cache) {
  call.split(cache.heads, 2 * cache.d * slots.count, [&](int64_t first, int64_t end, int) {
    for (int64_t t = 0; t < slots.count; t++)
      if (slots[t] >= 0)
        append_heads(call.kernels, rows + (t * cache.heads + first) * cache.d, end - first, cache,
                     cache.data + (slots[t] * cache.heads + first) * cache.row_bytes());
  });
}

void KvAppendOp::run(Call& call) {
  const Floats k = call.floats(K, 3), v = call.floats(V, 3); // [T, Hk, d]
  const Ints slots = call.ints(SLOTS);                       // [T]
  const Cache k_cache = call.cache(K_CACHE, k.shape[1], k.shape[2]);
  const Cache v_cache = call.cache(V_CACHE, k.shape[1], k.shape[2]);
  call.need(slots.count == k.shape[0] && v.count == k.count && v_cache.alike(k_cache),
            "k and v must be [T, Hk, d], slots [T] and the caches alike");
  check_slots(call, slots, k_cache);
  append_rows(call, k.data, slots, k_cache);
  append_rows(call, v.data, slots, v_cache);
}

} // namespace quern
