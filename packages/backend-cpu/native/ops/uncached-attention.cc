#include <span>

#include "runtime/call.h"

namespace quern {

namespace {

// Query vectors of a run (rows · query heads per kv head), as in attention.cc. More: keys and values are unpacked less
// often, but the query vectors need more of a core's cache.
constexpr int64_t run_queries = 192;
// Query vectors of a run for sequences of ≤ exact_rows rows and small groups: keys are read in place. Exception: keys
// rounded to bf16 are laid out if there are at most as many keys as rows, as in encoders.
constexpr int64_t few_queries = 8;

// Consecutive rows of one sequence and all its keys: a cache of one block.
struct UncachedRun {
  int32_t row, rows, position;
  int32_t first_key, keys; // rows of k and v
  bool few;

  int64_t cost() const { return int64_t{rows} * keys; }
};

// Rows cu_seqlens[s] … cu_seqlens[s + 1] − 1 of q attend to rows cu_keys[s] … cu_keys[s + 1] − 1 of k.
struct Batch {
  Ints cu_seqlens, cu_keys; // [S + 1]
  int64_t sequences;        // S
};

void check_bounds(const Call& call, const char* name, const Ints& bounds, int64_t rows) {
  bool rising = bounds[0] == 0 && bounds[bounds.count - 1] == rows;
  for (int64_t s = 1; s < bounds.count; s++) rising = rising && bounds[s] >= bounds[s - 1];
  if (!rising)
    call.out_of_range("%s must rise from 0 to %lld; it goes from %d to %d", name, static_cast<long long>(rows),
                      bounds[0], bounds[bounds.count - 1]);
}

// `placed`: rows have positions, so a sequence's rows are its last keys.
void check_sequences(const Call& call, const Batch& batch, bool placed) {
  for (int64_t s = 0; s < batch.sequences; s++) {
    const int32_t rows = batch.cu_seqlens[s + 1] - batch.cu_seqlens[s], keys = batch.cu_keys[s + 1] - batch.cu_keys[s];
    if (keys < (placed ? rows : std::min(rows, 1)))
      call.out_of_range("sequence %lld has %d rows and %d keys; %s", static_cast<long long>(s), rows, keys,
                        placed ? "rows with positions need as many keys" : "rows need a key to look at");
  }
}

// Fields shared by all runs and heads.
struct Heads {
  Floats q, k, v, y; // [T, H, d] and [Tk, Hk, d]
  Attend shared;
  bool rounds; // runs that are not `few` use bf16
};

// Whether the op allows bf16 and the kernel exists.
bool rounds(const Call& call, const Attend& shared) {
  const bool plain = !shared.causal && shared.window == 0 && shared.soft_cap == 0;
  return call.flag(UncachedAttentionOp::BF16) && plain && call.kernels.attend_many_bf16;
}

auto many_kernel(const Call& call, const Heads& heads) {
  const Kernels& kernels = call.kernels;
  if (heads.rounds) return kernels.attend_many_bf16;
  return kernels.attend_many_split ? kernels.attend_many_split : kernels.attend_many;
}

// Calls add(run) for each run of a checked batch. The runs of a sequence do not depend on other sequences.
template <class F>
void each_run(const Batch& batch, const Heads& heads, const F& add) {
  const int64_t group = heads.shared.group;
  for (int64_t s = 0; s < batch.sequences; s++) {
    const int32_t row = batch.cu_seqlens[s], end = batch.cu_seqlens[s + 1];
    const int32_t first_key = batch.cu_keys[s], keys = batch.cu_keys[s + 1] - first_key;
    const bool laid_out = heads.rounds && keys <= end - row;
    const bool few = end - row <= exact_rows && group <= few_queries && !laid_out;
    const auto most = static_cast<int32_t>(std::max<int64_t>(1, (few ? few_queries : run_queries) / group));
    for (int32_t t = row; t < end; t += most)
      add(UncachedRun{t, std::min(most, end - t), keys - end + t, first_key, keys, few});
  }
}

Attend describe(const Call& call, const Floats& q, const Floats& k) {
  Attend attend{};
  attend.row_stride = q.shape[1] * q.shape[2];
  attend.type = CACHE_F32;
  attend.kv_heads = static_cast<int32_t>(k.shape[1]);
  attend.group = static_cast<int32_t>(q.shape[1] / k.shape[1]);
  attend.head_dim = static_cast<int32_t>(q.shape[2]);
  attend.window = call.integer(UncachedAttentionOp::WINDOW);
  attend.causal = call.flag(UncachedAttentionOp::CAUSAL);
  attend.scale = call.number(UncachedAttentionOp::SCALE);
  attend.soft_cap = call.number(UncachedAttentionOp::SOFT_CAP);
  return attend;
}

void attend_run(const Call& call, const Heads& heads, const UncachedRun& run, int64_t head, float* scratch) {
  static constexpr int32_t only_block[] = {0};
  Attend attend = heads.shared;
  const int64_t at = run.row * attend.row_stride + head * attend.group * attend.head_dim;
  const int64_t key = int64_t{run.first_key} * attend.kv_heads * attend.head_dim;
  attend.q = heads.q.data + at;
  attend.y = heads.y.data + at;
  attend.k_cache = heads.k.data + key;
  attend.v_cache = heads.v.data + key;
  attend.block_table = only_block;
  attend.block_size = run.keys;
  attend.kv_head = static_cast<int32_t>(head);
  attend.heads = 1;
  attend.rows = run.rows;
  attend.position = run.position;
  attend.end_key = run.keys;
  attend.scratch = scratch;
  if (run.few) call.kernels.attend_few(attend);
  else many_kernel(call, heads)(attend);
}

// Every run with every kv head, as in attention.cc.
void attend_all(const Call& call, const Heads& heads, std::span<UncachedRun> runs) {
  const int64_t kv_heads = heads.shared.kv_heads, width = int64_t{heads.shared.group} * heads.shared.head_dim;
  std::ranges::stable_sort(runs, [](const UncachedRun& a, const UncachedRun& b) { return a.cost() > b.cost(); });
  int64_t keys = 0;
  for (const UncachedRun& run : runs) keys += run.cost();
  const int64_t count = static_cast<int64_t>(runs.size()), cost = 2 * width * (1 + keys / count);
  call.split(count * kv_heads, cost, [&](int64_t first, int64_t end, int thread) {
    for (int64_t item = first; item < end; item++)
      attend_run(call, heads, runs[item % count], item / count, call.scratch.of(thread));
  });
}

} // namespace

void UncachedAttentionOp::run(Call& call) {
  const Floats q = call.floats(Q, 3), k = call.floats(K, 3), v = call.floats(V, 3), y = call.floats(Y, 3);
  const Ints cu_seqlens = call.ints(CU_SEQLENS), cu_keys = call.ints(CU_KEYS);
  const Batch batch{cu_seqlens, cu_keys, cu_seqlens.count - 1};
  const int64_t H = q.shape[1], Hk = k.shape[1], d = q.shape[2];
  call.need(batch.sequences >= 0 && cu_keys.count == cu_seqlens.count && y.count == q.count && v.count == k.count,
            "cuSeqlens and cuKeys must be [S + 1], y as q and v as k");
  call.need(Hk > 0 && H % Hk == 0 && k.shape[2] == d && v.shape[1] == Hk && v.shape[2] == d,
            "k and v must be alike and H a multiple of Hk");
  check_bounds(call, "cuSeqlens", cu_seqlens, q.shape[0]);
  check_bounds(call, "cuKeys", cu_keys, k.shape[0]);
  const Attend shared = describe(call, q, k);
  const Heads heads{q, k, v, y, shared, rounds(call, shared)};
  check_sequences(call, batch, heads.shared.causal || heads.shared.window > 0);
  if (q.count == 0) return;
  int64_t count = 0, most = 0;
  each_run(batch, heads, [&](const UncachedRun& run) {
    count++;
    most = std::max(most, int64_t{run.rows} * heads.shared.group);
  });
  call.scratch.reserve(attend_scratch(most, d), count * static_cast<int64_t>(sizeof(UncachedRun) / sizeof(float)));
  const std::span runs(reinterpret_cast<UncachedRun*>(call.scratch.shared()), count);
  int64_t next = 0;
  each_run(batch, heads, [&](const UncachedRun& run) { runs[next++] = run; });
  attend_all(call, heads, runs);
}

} // namespace quern
