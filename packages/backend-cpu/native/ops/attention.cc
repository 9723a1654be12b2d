#include <span>

#include "runtime/call.h"

namespace quern {

namespace {

// Query vectors of a run (rows · query heads per kv head). More: keys and values are unpacked less often, but there are
// fewer runs for the threads. A run has 2 · run_queries if that leaves each thread thread_runs runs.
constexpr int64_t run_queries = 192, thread_runs = 8;
// Query vectors of a run, sequences of ≤ exact_rows rows and small groups: keys are split among threads, read in place.
constexpr int64_t few_queries = 8;
// Keys per part. Independent of the number of threads: the result depends on it.
constexpr int64_t part_keys = 256;
// With thread_parts parts per thread, one thread takes all heads of a part: memory is read in order.
constexpr int64_t thread_parts = 2;
static_assert(part_keys % ATTEND_KEYS == 0);

// Consecutive rows of one sequence, and all their keys or a part of the keys.
struct CachedRun {
  const int32_t* blocks;
  int32_t row, rows, position;
  int32_t first_key, end_key;
  int32_t part, parts; // part number, number of parts of these rows
  int64_t partial;     // offset of their results after the runs: [parts, kv heads, rows, group, attend_part(d)]; behind them the sinks
  bool exact;          // the sequence has ≤ exact_rows rows
  bool few;

  int64_t cost() const { return int64_t{rows} * (end_key - first_key); }
};

// A ragged batch: rows cu_seqlens[s] … cu_seqlens[s + 1] − 1 are the last tokens of sequence s.
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

// Divides a checked batch into runs.
class Runs {
 public:
  Runs(const Batch& batch, const Attend& shared, int threads) : batch_(batch), shared_(shared) {
    const int64_t queries = int64_t{batch.cu_seqlens[batch.sequences]} * shared.group * shared.kv_heads;
    queries_ = queries >= 2 * run_queries * thread_runs * threads ? 2 * run_queries : run_queries;
  }

  // Calls add(run) for each run.
  template <class F>
  void each(const F& add) const {
    int64_t partial = 0;
    for (int64_t s = 0; s < batch_.sequences; s++) {
      const int32_t row = batch_.cu_seqlens[s], end = batch_.cu_seqlens[s + 1];
      const bool few_rows = end - row <= exact_rows, few = few_rows && shared_.group <= few_queries;
      const auto most = static_cast<int32_t>(std::max<int64_t>(1, (few ? few_queries : queries_) / shared_.group));
      for (int32_t t = row; t < end; t += most) {
        CachedRun run{};
        run.blocks = batch_.block_table.data + s * batch_.table_width;
        run.row = t, run.rows = std::min(most, end - t);
        run.position = batch_.kv_lengths[s] - end + t;
        run.exact = few_rows;
        run.few = few;
        run.partial = partial;
        add_parts(run, batch_.kv_lengths[s], few_rows ? part_keys : INT32_MAX, add);
        if (run.parts > 1) partial += stored_floats(run);
      }
    }
  }

  // Floats of the parts of a run, all heads; a sink is one more part.
  int64_t stored_floats(const CachedRun& run) const {
    const int64_t part = int64_t{shared_.kv_heads} * run.rows * shared_.group * attend_part(shared_.head_dim);
    return part * (run.parts + (shared_.sinks ? 1 : 0));
  }

 private:
  // Parts begin at multiples of part_keys: the parts of a row do not depend on the rows beside it.
  template <class F>
  void add_parts(CachedRun& run, int32_t length, int64_t keys, const F& add) const {
    const int64_t first = shared_.window > 0 ? std::max(0, run.position - shared_.window + 1) : 0;
    const int64_t end = shared_.causal ? run.position + run.rows : length;
    const int64_t before = first / keys;
    run.parts = static_cast<int32_t>((end + keys - 1) / keys - before);
    for (run.part = 0; run.part < run.parts; run.part++) {
      run.first_key = static_cast<int32_t>(std::max(first, (before + run.part) * keys));
      run.end_key = static_cast<int32_t>(std::min(end, (before + run.part + 1) * keys));
      add(run);
    }
  }

  const Batch& batch_;
  const Attend& shared_;
  int64_t queries_; // of a run that is not `few`
};

// Fields shared by all runs and heads.
Attend describe(const Call& call, const Cache& k_cache, const Cache& v_cache, int64_t H) {
  Attend attend{};
  attend.row_stride = H * k_cache.d;
  attend.k_cache = k_cache.data;
  attend.v_cache = v_cache.data;
  attend.type = k_cache.type;
  attend.block_size = static_cast<int32_t>(k_cache.block_size);
  attend.kv_heads = static_cast<int32_t>(k_cache.heads);
  attend.group = static_cast<int32_t>(H / k_cache.heads);
  attend.head_dim = static_cast<int32_t>(k_cache.d);
  attend.window = call.integer(AttentionOp::WINDOW);
  attend.causal = call.flag(AttentionOp::CAUSAL);
  attend.scale = call.number(AttentionOp::SCALE);
  attend.soft_cap = call.number(AttentionOp::SOFT_CAP);
  return attend;
}

// The fastest kernel that exists and is precise enough. `exact` runs multiply floats: other kernels pay with many rows.
auto many_kernel(const Call& call, const CachedRun& run) {
  const Kernels& kernels = call.kernels;
  if (run.exact) return kernels.attend_many;
  if (call.flag(AttentionOp::BF16) && kernels.attend_cached_bf16) return kernels.attend_cached_bf16;
  return kernels.attend_many_split ? kernels.attend_many_split : kernels.attend_many;
}

// kv heads [head, head + heads) of a run.
void attend_run(const Call& call, Attend attend, const CachedRun& run, int64_t head, int64_t heads, float* partials) {
  const int64_t queries = int64_t{run.rows} * attend.group, at = head * attend.group * attend.head_dim;
  attend.q += run.row * attend.row_stride + at;
  attend.y += run.row * attend.row_stride + at;
  attend.block_table = run.blocks;
  attend.kv_head = static_cast<int32_t>(head);
  attend.heads = static_cast<int32_t>(heads);
  attend.rows = run.rows;
  attend.position = run.position;
  attend.first_key = run.first_key;
  attend.end_key = run.end_key;
  if (attend.sinks) attend.sinks += head * attend.group;
  if (run.parts > 1)
    attend.part = partials + run.partial + (run.part * attend.kv_heads + head) * queries * attend_part(attend.head_dim);
  if (run.few) call.kernels.attend_few(attend);
  else many_kernel(call, run)(attend);
}

// Every run with every kv head, `together` heads at a time: a thread keeps the keys and values of its heads in its cache. Costly
// runs of a head go first: threads then end together.
void attend_all(const Call& call, const Attend& shared, std::span<CachedRun> runs, int64_t together, float* partials) {
  if (runs.empty()) return;
  const int64_t heads = shared.kv_heads, width = int64_t{shared.group} * shared.head_dim;
  const int64_t turns = (heads + together - 1) / together, count = static_cast<int64_t>(runs.size());
  std::ranges::sort(runs, [](const CachedRun& a, const CachedRun& b) { return a.cost() > b.cost(); });
  int64_t keys = 0;
  for (const CachedRun& run : runs) keys += run.cost();
  const int64_t cost = 2 * width * together * (1 + keys / count);
  call.split(count * turns, cost, [&](int64_t first, int64_t end, int thread) {
    Attend attend = shared;
    attend.scratch = call.scratch.of(thread);
    for (int64_t item = first; item < end; item++) {
      const int64_t head = item / count * together;
      attend_run(call, attend, runs[item % count], head, std::min(together, heads - head), partials);
    }
  });
}

// kv heads per task, for `few` runs. May depend on the thread count: heads are independent.
int64_t heads_together(const Call& call, int64_t heads, int64_t runs) {
  const int64_t enough = thread_parts * call.pool.threads();
  const int64_t turns = runs >= enough ? 1 : (enough + runs - 1) / std::max<int64_t>(1, runs);
  return (heads + turns - 1) / turns;
}

// A sink as a part: a weight of 1 for the value 0.
void write_sink(float sink, float* part, int64_t d) {
  std::fill_n(part, d, 0.f);
  part[d] = sink, part[d + 1] = 1;
}

void merge(const Call& call, const Attend& shared, const CachedRun& run, float* partials) {
  const int64_t heads = int64_t{shared.kv_heads} * shared.group, group = shared.group, d = shared.head_dim;
  const int64_t stride = heads * run.rows * attend_part(d);
  call.split(heads * run.rows, 4 * d * run.parts, [&](int64_t first, int64_t end, int) {
    for (int64_t query = first; query < end; query++) { // [kv heads, rows, group]
      const int64_t kv_head = query / group / run.rows, row = query / group % run.rows;
      float* y = shared.y + (run.row + row) * shared.row_stride + (kv_head * group + query % group) * d;
      float* parts = partials + run.partial + query * attend_part(d);
      if (shared.sinks) write_sink(shared.sinks[kv_head * group + query % group], parts + run.parts * stride, d);
      call.kernels.merge_parts(parts, stride, run.parts + (shared.sinks ? 1 : 0), y, d);
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
  call.need(Hk > 0 && H % Hk == 0 && k_cache.alike(v_cache) && k_cache.block_size > 0,
            "the caches must be alike and H a multiple of Hk");
  check_batch(call, batch, k_cache, T);
  if (q.count == 0) return;
  Attend shared = describe(call, k_cache, v_cache, H);
  shared.q = q.data, shared.y = y.data, shared.sinks = call.vector(AttentionOp::SINKS, H);
  const Runs division(batch, shared, call.pool.threads());
  int64_t count = 0, few = 0, most = 0, partial = 0;
  division.each([&](const CachedRun& run) {
    count++, few += run.few;
    most = std::max(most, int64_t{run.rows} * shared.group * (run.few ? Hk : 1));
    if (run.parts > 1) partial = run.partial + division.stored_floats(run);
  });
  const int64_t run_floats = count * static_cast<int64_t>(sizeof(CachedRun) / sizeof(float));
  call.scratch.reserve(attend_scratch(most, d), run_floats + partial);
  const std::span runs(reinterpret_cast<CachedRun*>(call.scratch.shared()), count);
  float* partials = call.scratch.shared() + run_floats;
  int64_t next_few = 0, next = few;
  division.each([&](const CachedRun& run) { runs[run.few ? next_few++ : next++] = run; });
  attend_all(call, shared, runs.first(few), heads_together(call, Hk, few), partials);
  attend_all(call, shared, runs.subspan(few), 1, partials);
  for (const CachedRun& run : runs)
    if (run.parts > 1 && run.part == 0) merge(call, shared, run, partials);
}

} // namespace quern
