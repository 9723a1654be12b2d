#include "ops/kv-append.h"

#include <string.h>

namespace quern {

void check_slots(const Call& call, const Ints& slots, const Cache& cache) {
  for (int64_t t = 0; t < slots.count; t++)
    if (slots[t] < -1 || slots[t] >= cache.slots())
      call.out_of_range("slots[%lld] is %d, but the cache has %lld slots", static_cast<long long>(t), slots[t],
                        static_cast<long long>(cache.slots()));
}

// Split by heads and not by rows: a slot named twice must end with the later row.
void append_rows(const Call& call, const float* rows, const Ints& slots, const Cache& cache) {
  const int64_t width = cache.width();
  call.split(cache.heads, 2 * cache.d * slots.count, [&](int64_t first, int64_t end, int) {
    const int64_t from = first * cache.d, count = (end - first) * cache.d;
    for (int64_t t = 0; t < slots.count; t++) {
      if (slots[t] < 0) continue;
      const float* row = rows + t * width + from;
      uint8_t* place = cache.data + (slots[t] * width + from) * cache.element_bytes();
      if (cache.type == CACHE_F16) call.kernels.f32_to_f16(row, reinterpret_cast<uint16_t*>(place), count);
      else memcpy(place, row, count * sizeof(float));
    }
  });
}

void KvAppendOp::run(Call& call) {
  const Floats k = call.floats(K, 3), v = call.floats(V, 3); // [T, Hk, d]
  const Ints slots = call.ints(SLOTS);                       // [T]
  const Cache k_cache = call.cache(K_CACHE, k.shape[1], k.shape[2]);
  const Cache v_cache = call.cache(V_CACHE, k.shape[1], k.shape[2]);
  call.need(slots.count == k.shape[0] && v.count == k.count && v_cache.slots() == k_cache.slots(),
            "k and v must be [T, Hk, d], slots [T] and the caches alike");
  check_slots(call, slots, k_cache);
  append_rows(call, k.data, slots, k_cache);
  append_rows(call, v.data, slots, v_cache);
}

} // namespace quern
