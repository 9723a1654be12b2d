#include <cmath>

#include "quern/plain/attend.h"
#include "quern/plain/cache.h"
#include "quern/plain/plain.h"

namespace quern::plain {

namespace {

// A ragged batch of sequences over a block cache.
struct Batch {
  Cache keys, values;
  Ints bounds, lengths, table; // [S + 1], [S], [S, B]
  int64_t S, B;

  int64_t slot(int64_t s, int64_t key) const { return table[s * B + key / keys.block_size] * keys.block_size + key % keys.block_size; }
};

void check_sequence(const OpView& op, const Batch& batch, int64_t s) {
  const int64_t rows = int64_t{batch.bounds[s + 1]} - batch.bounds[s], length = batch.lengths[s], size = batch.keys.block_size;
  if (rows < 0 || length < rows || length > batch.B * size)
    op.out_of_range("sequence %lld has %lld rows and %lld keys; its block table holds %lld", (long long)s, (long long)rows,
                    (long long)length, (long long)(batch.B * size));
  for (int64_t b = 0; b < (size ? (length + size - 1) / size : 0); b++)
    if (const int32_t block = batch.table[s * batch.B + b]; block < 0 || block >= batch.keys.blocks)
      op.out_of_range("blockTable[%lld, %lld] is %d, but the cache has %lld blocks", (long long)s, (long long)b, block,
                      (long long)batch.keys.blocks);
}

Batch batch_of(const OpView& op, int64_t T, int64_t heads, int64_t d) {
  const Operand& table = op.operand(AttentionOp::BLOCK_TABLE);
  op.need(table.rank == 2, "blockTable must be [S, B]");
  const Batch batch = {cache(op, AttentionOp::K_CACHE, heads, d), cache(op, AttentionOp::V_CACHE, heads, d),
                       op.ints(AttentionOp::CU_SEQLENS), op.ints(AttentionOp::KV_LENGTHS), op.ints(AttentionOp::BLOCK_TABLE),
                       table.shape[0], table.shape[1]};
  op.need(batch.bounds.count == batch.S + 1 && batch.lengths.count == batch.S, "cuSeqlens must be [S + 1], kvLengths [S]");
  if (batch.bounds[0] != 0 || batch.bounds[batch.S] != T)
    op.out_of_range("cuSeqlens must run from 0 to %lld (rows of q); got %d to %d", (long long)T, batch.bounds[0], batch.bounds[batch.S]);
  for (int64_t s = 0; s < batch.S; s++) check_sequence(op, batch, s);
  return batch;
}

} // namespace

void attention(const OpView& op) {
  const Floats q = op.floats(AttentionOp::Q, 3), y = op.floats(AttentionOp::Y, 3);
  const int64_t T = q.shape[0], H = q.shape[1], d = q.width(), Hk = op.operand(AttentionOp::K_CACHE).shape[2];
  const Batch batch = batch_of(op, T, Hk, d);
  op.need(q.same_shape(y) && Hk > 0 && H % Hk == 0 && batch.keys.alike(batch.values),
          "y must have the shape of q, the caches alike, H a multiple of Hk");
  const float* sinks = vector(op, AttentionOp::SINKS, H);
  AttentionRule rule = {op.number(AttentionOp::SCALE), op.flag(AttentionOp::CAUSAL), op.integer(AttentionOp::WINDOW),
                              op.number(AttentionOp::SOFT_CAP)};
  for (int64_t s = 0; s < batch.S; s++)
    for (int64_t row = batch.bounds[s] * H; row < batch.bounds[s + 1] * H; row++) {
      const int64_t length = batch.lengths[s], position = length - batch.bounds[s + 1] + row / H, head = row % H * Hk / H;
      if (sinks) rule.sink = sinks[row % H];
      const KeyRange range(position, length, rule);
      attend(q.row(row), d, range.first, range.end, rule, [&](int64_t key, float* k, float* v) {
        batch.keys.get(batch.slot(s, key), head, k);
        batch.values.get(batch.slot(s, key), head, v);
      }, y.row(row));
    }
}

} // namespace quern::plain
