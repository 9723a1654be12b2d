#include <span>

#include "runtime/call.h"

namespace quern {

namespace {

// One query row: its sequence's blocks, and the keys that it sees.
struct Row {
  const int32_t* blocks;
  int32_t first_key, end_key;
};

// What describes a ragged batch: rows cu_seqlens[s] … cu_seqlens[s + 1] − 1 are the last tokens of sequence s.
struct Batch {
  Ints cu_seqlens;     // [S + 1]
  Ints kv_lengths;     // [S]
  Ints block_table;    // [S, B]
  int64_t sequences;   // S
  int64_t table_width; // B
};

void check_sequence(const Call& call, const Batch& batch, const Cache& cache, int64_t s) {
  const int64_t rows = static_cast<int64_t>(batch.cu_seqlens[s + 1]) - batch.cu_seqlens[s];
  const int64_t keys = batch.kv_lengths[s], held = batch.table_width * cache.block_size;
  if (rows < 0 || keys < rows || keys > held)
    call.out_of_range("sequence %lld has %lld rows and %lld keys; its block table holds %lld",
                      static_cast<long long>(s), static_cast<long long>(rows), static_cast<long long>(keys),
                      static_cast<long long>(held));
  for (int64_t b = 0; b * cache.block_size < keys; b++) {
    const int32_t block = batch.block_table[s * batch.table_width + b];
    if (block < 0 || block >= cache.blocks)
      call.out_of_range("blockTable[%lld, %lld] is %d, but the cache has %lld blocks", static_cast<long long>(s),
                        static_cast<long long>(b), block, static_cast<long long>(cache.blocks));
  }
}

void check_batch(const Call& call, const Batch& batch, const Cache& cache, int64_t T) {
  const int32_t first = batch.cu_seqlens[0], last = batch.cu_seqlens[batch.sequences];
  if (first != 0 || last != T)
    call.out_of_range("cuSeqlens must run from 0 to %lld (rows of q); got %d to %d", static_cast<long long>(T), first,
                      last);
  for (int64_t s = 0; s < batch.sequences; s++) check_sequence(call, batch, cache, s);
}

// Where every row of a checked batch stands, in rows [T].
void place_rows(const Batch& batch, bool causal, int32_t window, std::span<Row> rows) {
  for (int64_t s = 0; s < batch.sequences; s++) {
    const int32_t keys = batch.kv_lengths[s], end = batch.cu_seqlens[s + 1];
    for (int32_t t = batch.cu_seqlens[s]; t < end; t++) {
      const int32_t position = keys - end + t;
      const int32_t first_key = window > 0 ? std::max(0, position - window + 1) : 0;
      rows[t] = {batch.block_table.data + s * batch.table_width, first_key, causal ? position + 1 : keys};
    }
  }
}

// What is the same for every row and head.
Attend describe(const Cache& k_cache, const Cache& v_cache, int64_t group, float scale, float soft_cap) {
  Attend attend{};
  attend.k_cache = k_cache.data;
  attend.v_cache = v_cache.data;
  attend.type = k_cache.type;
  attend.block_size = static_cast<int32_t>(k_cache.block_size);
  attend.kv_heads = static_cast<int32_t>(k_cache.heads);
  attend.group = static_cast<int32_t>(group);
  attend.head_dim = static_cast<int32_t>(k_cache.d);
  attend.scale = scale;
  attend.soft_cap = soft_cap;
  return attend;
}

// Every row of q with every kv head. Rows of one head follow each other, so that its keys stay in the cache.
void attend_all(const Call& call, const Attend& shared, std::span<const Row> rows, const float* q, float* y) {
  const int64_t T = rows.size(), heads = shared.kv_heads, width = int64_t{shared.group} * shared.head_dim;
  int64_t keys = 0;
  for (const Row& row : rows) keys += std::max(0, row.end_key - row.first_key);
  call.split(T * heads, 2 * width * (1 + keys / T), [&](int64_t first, int64_t end, int thread) {
    Attend attend = shared;
    attend.scratch = call.scratch.of(thread);
    for (int64_t item = first; item < end; item++) {
      const int64_t head = item / T, t = item % T, at = (t * heads + head) * width;
      attend.kv_head = static_cast<int32_t>(head);
      attend.q = q + at;
      attend.y = y + at;
      attend.block_table = rows[t].blocks;
      attend.first_key = rows[t].first_key;
      attend.end_key = rows[t].end_key;
      call.kernels.attend(attend);
    }
  });
}

} // namespace

void AttentionOp::run(Call& call) {
  const Floats q = call.floats(Q, 3), y = call.floats(Y, 3); // [T, H, d]
  const int64_t T = q.shape[0], H = q.shape[1], d = q.shape[2], Hk = call.operand(K_CACHE).shape[2];
  const Cache k_cache = call.cache(K_CACHE, Hk, d), v_cache = call.cache(V_CACHE, Hk, d);
  const Operand& table = call.operand(BLOCK_TABLE); // [S, B]
  const Batch batch{call.ints(CU_SEQLENS), call.ints(KV_LENGTHS), call.ints(BLOCK_TABLE), table.shape[0], table.shape[1]};
  call.need(table.rank == 2 && batch.cu_seqlens.count == batch.sequences + 1 &&
                batch.kv_lengths.count == batch.sequences && y.count == q.count,
            "cuSeqlens must be [S + 1], kvLengths [S], blockTable [S, B] and y as q");
  call.need(Hk > 0 && H % Hk == 0 && k_cache.type == v_cache.type && k_cache.blocks == v_cache.blocks &&
                k_cache.block_size == v_cache.block_size && k_cache.block_size > 0,
            "the caches must be alike and H a multiple of Hk");
  check_batch(call, batch, k_cache, T);
  if (q.count == 0) return;
  const Attend shared = describe(k_cache, v_cache, H / Hk, call.number(SCALE), call.number(SOFT_CAP));
  call.scratch.reserve(attend_scratch(shared.group, d), T * static_cast<int64_t>(sizeof(Row) / sizeof(float)));
  const std::span rows(reinterpret_cast<Row*>(call.scratch.shared()), T);
  place_rows(batch, call.integer(CAUSAL) != 0, call.integer(WINDOW), rows);
  attend_all(call, shared, rows, q.data, y.data);
}

} // namespace quern
