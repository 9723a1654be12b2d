#include <cmath>

#include "quern/plain/attend.h"
#include "quern/plain/plain.h"

namespace quern::plain {

static void check_bounds(const OpView& op, const char* name, const Ints& bounds, int64_t rows) {
  bool rises = bounds.count > 0 && bounds[0] == 0 && bounds[bounds.count - 1] == rows;
  for (int64_t s = 0; s + 1 < bounds.count; s++) rises = rises && bounds[s] <= bounds[s + 1];
  if (!rises) op.out_of_range("%s must rise from 0 to %lld", name, (long long)rows);
}

static void check_keys(const OpView& op, int64_t s, int64_t rows, int64_t keys, const AttentionRule& rule) {
  const bool placed = rule.causal || rule.window > 0;
  if (keys < (placed ? rows : std::min<int64_t>(rows, 1)))
    op.out_of_range("sequence %lld has %lld rows and %lld keys; %s", (long long)s, (long long)rows, (long long)keys,
                    placed ? "rows with positions need as many keys" : "rows need a key to look at");
}

void uncached_attention(const OpView& op) {
  const Floats q = op.floats(UncachedAttentionOp::Q, 3), k = op.floats(UncachedAttentionOp::K, 3), v = op.floats(UncachedAttentionOp::V, 3);
  const Floats y = op.floats(UncachedAttentionOp::Y, 3);
  const Ints rows = op.ints(UncachedAttentionOp::CU_SEQLENS), keys = op.ints(UncachedAttentionOp::CU_KEYS);
  const int64_t H = q.shape[1], d = q.width(), Hk = k.shape[1], S = keys.count - 1;
  op.need(q.same_shape(y) && k.same_shape(v) && k.width() == d && Hk > 0 && H % Hk == 0 && rows.count == keys.count, "q must be [T, H, d], k and v [Tk, Hk, d]");
  const AttentionRule rule = {op.number(UncachedAttentionOp::SCALE), op.flag(UncachedAttentionOp::CAUSAL),
                              op.integer(UncachedAttentionOp::WINDOW), op.number(UncachedAttentionOp::SOFT_CAP)};
  check_bounds(op, "cuSeqlens", rows, q.shape[0]);
  check_bounds(op, "cuKeys", keys, k.shape[0]);
  for (int64_t s = 0; s < S; s++) check_keys(op, s, rows[s + 1] - rows[s], keys[s + 1] - keys[s], rule);
  for (int64_t s = 0; s < S; s++)
    for (int64_t row = rows[s] * H; row < rows[s + 1] * H; row++) {
      const int64_t length = keys[s + 1] - keys[s], position = length - rows[s + 1] + row / H, head = row % H * Hk / H;
      const KeyRange range(position, length, rule);
      attend(q.row(row), d, range.first, range.end, rule, [&](int64_t key, float* to_k, float* to_v) {
        std::copy_n(k.row((keys[s] + key) * Hk + head), d, to_k);
        std::copy_n(v.row((keys[s] + key) * Hk + head), d, to_v);
      }, y.row(row));
    }
}

} // namespace quern::plain
