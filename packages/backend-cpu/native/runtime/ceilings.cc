#include "runtime/ceilings.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "quern/machine.h"
#include "quern/pages.h"
#include "runtime/least-seconds.h"
#include "runtime/profile.h"
#include "runtime/rate-loops.h"
#include "runtime/read-loops.h"

namespace quern {

// Memory larger than all caches. Each thread reads one piece after another.
class Stream {
 public:
  static constexpr int64_t piece_lines = 1 << 14, piece_words = 8 * piece_lines;

  Stream() : memory_(pieces() * piece_words * sizeof(uint64_t)) {}

  double bytes() const { return static_cast<double>(memory_.bytes()); }
  int64_t count() const { return static_cast<int64_t>(memory_.bytes() / (piece_words * sizeof(uint64_t))); }
  void touch(int64_t piece) { memset(words(piece), 1, piece_words * sizeof(uint64_t)); }
  void read(int64_t piece, const ReadLoop& loop) {
    sum_.fetch_add(loop.sum(words(piece), piece_lines), std::memory_order_relaxed); // otherwise the compiler drops the reads
  }

 private:
  static uint64_t pieces() {
    const uint64_t wanted = std::min<uint64_t>(512 << 20, memory_state().available / 8);
    return std::max<uint64_t>(1, wanted / (piece_words * sizeof(uint64_t)));
  }
  uint64_t* words(int64_t piece) { return reinterpret_cast<uint64_t*>(memory_.data()) + piece * piece_words; }

  Pages memory_;
  std::atomic<uint64_t> sum_{0};
};

static void measure_reads(ThreadPool& pool, Ceilings& ceilings) {
  constexpr int passes = 5;
  Stream stream;
  pool.run(stream.count(), [&](int64_t piece, int) { stream.touch(piece); });
  for (const ReadLoop& loop : read_loops()) {
    const auto read = [&](int64_t piece, int) { stream.read(piece, loop); };
    const double together = least_seconds(passes, [&] { pool.run(stream.count(), read); });
    const double alone = least_seconds(passes, [&] {
      for (int64_t piece = 0; piece < stream.count(); piece++) {
        pool.need_running();
        stream.read(piece, loop);
      }
    });
    ceilings.read_bandwidth = std::max(ceilings.read_bandwidth, stream.bytes() / together);
    ceilings.read_bandwidth_one_thread = std::max(ceilings.read_bandwidth_one_thread, stream.bytes() / alone);
  }
}

static double measure_rate(const RateLoop& loop, ThreadPool& pool) {
  constexpr int passes = 5, chunks_per_thread = 16;
  constexpr int64_t trial = 1 << 12;
  const double each = least_seconds(passes, [&] { loop.run(trial); }) / trial;
  const auto rounds = std::max<int64_t>(1, static_cast<int64_t>(0.001 / each)); // 1 ms per chunk
  const int64_t chunks = int64_t{chunks_per_thread} * pool.threads();
  const double least =
      least_seconds(passes, [&] { pool.run(chunks, [&](int64_t, int) { loop.run(rounds); }); });
  return loop.operations * static_cast<double>(rounds * chunks) / least;
}

// A kernel set may use its own instructions and those of lesser sets; scalar kernels have no loop.
static bool may_use(const Kernels& kernels, const RateLoop& loop) {
  if (!strcmp(kernels.name, "scalar")) return false;
  if (!strcmp(kernels.name, "avx2")) return !strcmp(loop.isa, "avx2");
  return true;
}

Ceilings measure_ceilings(const Kernels& kernels, ThreadPool& pool) {
  Ceilings ceilings{};
  measure_reads(pool, ceilings);
  for (const RateLoop& loop : rate_loops()) {
    if (!may_use(kernels, loop) || !loop.available()) continue;
    double& rate = ceilings.rates[loop.rate];
    rate = std::max(rate, measure_rate(loop, pool));
  }
  ceilings.rates.try_emplace("f32", measure_profile(kernels, pool).flops); // no loop for this set: use its matrix product
  return ceilings;
}

} // namespace quern
