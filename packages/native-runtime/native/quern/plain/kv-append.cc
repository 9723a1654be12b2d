#include "quern/plain/cache.h"
#include "quern/plain/plain.h"

namespace quern::plain {

void kv_append(const OpView& op) {
  const Floats k = op.floats(KvAppendOp::K, 3), v = op.floats(KvAppendOp::V, 3);
  const Ints slots = op.ints(KvAppendOp::SLOTS);
  const int64_t heads = k.shape[1], d = k.width();
  const Cache keys = cache(op, KvAppendOp::K_CACHE, heads, d), values = cache(op, KvAppendOp::V_CACHE, heads, d);
  op.need(k.same_shape(v) && slots.count == k.shape[0] && keys.alike(values),
          "k and v must be [T, Hk, d], slots [T], the caches alike");
  for (int64_t t = 0; t < slots.count; t++) {
    if (slots[t] < -1 || slots[t] >= keys.slots())
      op.out_of_range("slots[%lld] is %d, but the cache has %lld slots", (long long)t, slots[t], (long long)keys.slots());
    for (int64_t h = 0; slots[t] >= 0 && h < heads; h++) {
      keys.put(k.row(t * heads + h), slots[t], h);
      values.put(v.row(t * heads + h), slots[t], h);
    }
  }
}

} // namespace quern::plain
