// Times the kernels of every table on one thread: the speed of one core, without threads and mostly without memory traffic.
// Build and run: native/test/run.sh bench
#include "kernels-test.h"
#include <algorithm>
#include <chrono>
#include <functional>

using namespace quern;
using namespace quern::test;

namespace {

using AttendKernel = void (*Kernels::*)(const Attend&);

// The best of several runs of at least 20 ms, in seconds per call.
double seconds(const std::function<void()>& call) {
  using clock = std::chrono::steady_clock;
  double best = 1e30;
  int64_t repeats = 1;
  for (int run = 0; run < 5;) {
    const auto start = clock::now();
    for (int64_t i = 0; i < repeats; i++) call();
    const double elapsed = std::chrono::duration<double>(clock::now() - start).count();
    if (elapsed < 0.02) {
      repeats *= 2;
      continue;
    }
    best = std::min(best, elapsed / double(repeats));
    run++;
  }
  return best;
}

void decode(const Kernels& k) {
  constexpr int64_t row = 4096, rows = 64; // into one buffer in L1, from blocks in L2
  std::vector<float> out(row);
  for (int format = 0; format < FORMAT_COUNT; format++) {
    const auto [name, elements, bytes] = format_sizes[format];
    const int64_t row_bytes = row / elements * bytes;
    std::vector<uint8_t> blocks(size_t(rows * row_bytes));
    Random random(1);
    for (uint8_t& byte : blocks) byte = uint8_t(random.next() % 60); // small exponents: no NaN
    const double time = seconds([&] {
      for (int64_t i = 0; i < rows; i++) k.decode[format](blocks.data() + i * row_bytes, out.data(), row);
    });
    printf("%-7s decode %-5s %6.2f weights/ns %6.1f GB/s of blocks\n", k.name, name, double(rows * row) / time * 1e-9,
           double(rows * row_bytes) / time * 1e-9);
  }
}

void gemm(const Kernels& k) {
  const int64_t shapes[][3] = {{1, 16, 1024}, {1, 1024, 1024}, {2, 64, 1024}, {4, 64, 1024}, {8, 64, 1024}, {64, 64, 1024}, {128, 32, 4096}, {512, 64, 2048}};
  for (const auto& [T, N, K] : shapes) {
    const std::vector<float> x = normals(1, T * K), w = normals(2, N * K);
    std::vector<float> y(size_t(T * N));
    const double time = seconds([&] { k.gemm(x.data(), K, w.data(), K, nullptr, y.data(), N, T, N, K); });
    printf("%-7s gemm %3ld x %4ld x %4ld %7.1f GFLOP/s\n", k.name, T, N, K, 2 * double(T * N * K) / time * 1e-9);
  }
}

// 512 rows of 1024 weights. Their values hardly matter, but scales must be finite.
struct Weights {
  static constexpr int64_t K = 1024, N = 512;
  std::vector<uint8_t> tiles;
  bool shares_scales;

  // `shared`: q8_0, the blocks of a row share one scale, as in files of `quern quantize int8`.
  explicit Weights(int format, bool shared = false) : shares_scales(shared) {
    const auto [name, elements, bytes] = format_sizes[format];
    const PackedFormat& layout = packed_format(Format(format));
    std::vector<uint8_t> blocks(size_t(N * K / elements * bytes));
    tiles.resize(size_t(N / PACKED_ROWS * packed_rows_bytes(layout, K)));
    Random random(1);
    for (uint8_t& byte : blocks) byte = uint8_t(random.next() % 60); // small exponents: no NaN
    for (size_t at = 0; shared && at < blocks.size(); at += size_t(bytes)) blocks[at] = blocks[0], blocks[at + 1] = blocks[1];
    const int64_t row_bytes = K / elements * bytes;
    for (int64_t n = 0; n < N; n += PACKED_ROWS)
      pack_rows(layout, blocks.data() + n * row_bytes, row_bytes, PACKED_ROWS, K,
                tiles.data() + n / PACKED_ROWS * packed_rows_bytes(layout, K));
  }
};

// Seconds for T rows of x with weights w.
double packed_seconds(const Weights& w, int64_t T, void (*quantise)(const float*, int64_t, uint8_t*), void (*gemm)(const PackedGemm&)) {
  constexpr int64_t K = Weights::K, N = Weights::N;
  const std::vector<float> floats = normals(1, T * K);
  std::vector<uint8_t> x(size_t(T * quantised_row_bytes(K)));
  for (int64_t t = 0; t < T; t++) quantise(floats.data() + t * K, K, x.data() + t * quantised_row_bytes(K));
  std::vector<float> y(size_t(T * N));
  return seconds([&] { gemm({x.data(), w.tiles.data(), nullptr, y.data(), N, T, N, K, panel(), w.shares_scales}); });
}

void packed_gemm(const Kernels& k) {
  if (!k.quantise || k.superblock_rows) return;
  for (const Format format : packed_formats) {
    const Weights w(format);
    for (int64_t T : {1, 2, 4, 8, 64}) {
      const double time = packed_seconds(w, T, k.quantise, k.packed_gemm[format]);
      printf("%-11s packed gemm %-5s %3ld rows %7.1f Gop/s %6.1f GB/s of weights\n", k.name, format_sizes[format].name, T,
             2 * double(T * w.N * w.K) / time * 1e-9, double(w.tiles.size()) / time * 1e-9);
    }
  }
}

// Rows of x from which the kernels for many rows are faster: superblock_rows should be this number.
void crossover(const Kernels& k) {
  if (!k.superblock_rows) return;
  const auto print = [&](const char* name, int format, const Weights& w) {
    for (int64_t T : {1, 2, 4, 8, 12, 16, 24, 32, 64, 65, 128, 512}) {
      const double few = packed_seconds(w, T, k.quantise, k.packed_gemm[format]);
      const double many = packed_seconds(w, T, k.quantise_superblocks, k.superblock_gemm[format]);
      const double operations = 2 * double(T * w.N * w.K);
      printf("%-11s %-5s %3ld rows: packed gemm %7.1f Gop/s, superblock gemm %7.1f Gop/s%s\n", k.name, name, T,
             operations / few * 1e-9, operations / many * 1e-9, T >= k.superblock_rows ? " (taken)" : "");
    }
  };
  print("int8", FORMAT_Q8_0, Weights(FORMAT_Q8_0, true));
  for (const Format format : packed_formats) print(format_sizes[format].name, format, Weights(format));
}

// Products of bf16, and the time to lay the weights out, for tables with such kernels.
void gemm_of_words(const Kernels& k) {
  if (!k.gemm_of_bf16) return;
  constexpr int64_t N = 64, K = 1024;
  for (int64_t T : {17, 32, 64, 128, 512}) {
    const std::vector<uint16_t> x(size_t(T * K), 0x3f80), w(size_t(N * K), 0x3c00); // 1; in f16: 1, in bf16: about 1
    std::vector<float> y(size_t(T * N));
    for (const auto& [name, gemm] : {std::pair{"bf16", k.gemm_of_bf16}, {"f16", k.gemm_of_bf16_f16}}) {
      if (!gemm) continue;
      const double time = seconds([&] { gemm(x.data(), K, w.data(), K, nullptr, y.data(), N, T, N, K, panel()); });
      printf("%-11s gemm of %-4s %3ld rows %7.1f GFLOP/s %6.1f µs\n", k.name, name, T, 2 * double(T * N * K) / time * 1e-9, time * 1e6);
    }
  }
}

void rows(const Kernels& k) {
  constexpr int64_t n = 4096;
  const std::vector<float> x = normals(1, n), w = normals(2, n);
  std::vector<float> y(n);
  std::vector<uint16_t> half(n);
  float max;
  const std::pair<const char*, std::function<void()>> calls[] = {
      {"add", [&] { k.add(x.data(), w.data(), y.data(), n); }},
      {"silu", [&] { k.silu(x.data(), y.data(), n); }},
      {"gelu_erf", [&] { k.gelu_erf(x.data(), y.data(), n); }},
      {"gelu_tanh", [&] { k.gelu_tanh(x.data(), y.data(), n); }},
      {"swiglu", [&] { k.swiglu(x.data(), w.data(), y.data(), n); }},
      {"rms_norm", [&] { k.rms_norm(x.data(), w.data(), 1e-6f, y.data(), n); }},
      {"softmax", [&] { k.softmax(x.data(), y.data(), n); }},
      {"argmax", [&] { k.argmax(x.data(), n, &max); }},
      {"rope pairs", [&] { k.rope(x.data(), w.data(), y.data(), 32, 128, 128, 0); }},
      {"rope halves", [&] { k.rope(x.data(), w.data(), y.data(), 32, 128, 128, 1); }},
      {"f32 to f16", [&] { k.f32_to_f16(x.data(), half.data(), n); }},
      {"f32 to bf16", [&] { k.f32_to_bf16(x.data(), half.data(), n); }},
  };
  for (const auto& [name, call] : calls) printf("%-7s %-12s %6.2f elements/ns\n", k.name, name, double(n) / seconds(call) * 1e-9);
}

// A cache with the keys of several layers, in blocks of 64 in reverse order.
struct Cached {
  static constexpr int32_t block_size = 64;
  static constexpr int64_t different = 61; // distinct heads; the others repeat them
  int32_t keys, kv_heads, d, layers;
  CacheType type = CACHE_F16;
  std::vector<uint8_t> bytes{};
  std::vector<int32_t> table{};

  void fill() {
    const size_t row = size_t(cache_row(type, d) * cache_element_bytes(type));
    const std::vector<float> some = normals(2, different * d);
    std::vector<uint8_t> few(different * row);
    for (int64_t i = 0; i < different; i++) {
      const float* x = some.data() + i * d;
      if (type == CACHE_I8) scalar_kernels().f32_to_i8(x, reinterpret_cast<int8_t*>(few.data() + i * row), d);
      else scalar_kernels().f32_to_f16(x, reinterpret_cast<uint16_t*>(few.data() + i * row), d);
    }
    bytes.resize(size_t(layers) * 2 * size());
    for (size_t at = 0; at < bytes.size(); at += row) memcpy(bytes.data() + at, few.data() + at % few.size(), row);
    for (int32_t b = keys / block_size; b-- > 0;) table.push_back(b);
  }
  size_t size() const { return size_t(keys) * kv_heads * cache_row(type, d) * cache_element_bytes(type); }
  Attend args(int32_t layer, int32_t group, const float* q, float* y, float* scratch) const {
    Attend a{};
    a.q = q, a.y = y, a.scratch = scratch, a.row_stride = int64_t{kv_heads} * group * d;
    a.k_cache = bytes.data() + size_t(layer) * 2 * size(), a.v_cache = bytes.data() + (size_t(layer) * 2 + 1) * size();
    a.type = type;
    a.block_table = table.data(), a.block_size = block_size, a.kv_heads = kv_heads, a.heads = 1, a.group = group, a.head_dim = d;
    a.causal = true, a.scale = 0.1f;
    return a;
  }
};

// A prompt of one kv head, in blocks of `run` query vectors.
void prefill(const Kernels& k, AttendKernel kernel, const char* name, int32_t keys, int32_t d, int32_t group, int32_t run = 192) {
  if (!(k.*kernel)) return;
  Cached cache{keys, 1, d, 1};
  cache.fill();
  const int64_t queries = int64_t{keys} * group, rows = run / group;
  const std::vector<float> q = normals(1, queries * d);
  std::vector<float> y(size_t(queries * d)), scratch(size_t(attend_scratch(run, d)));
  const double time = seconds([&] {
    for (int32_t t = 0; t < keys; t += int32_t(rows)) {
      Attend a = cache.args(0, group, q.data() + t * group * d, y.data() + t * group * d, scratch.data());
      a.rows = std::min(int32_t(rows), keys - t), a.position = t, a.end_key = t + a.rows;
      (k.*kernel)(a);
    }
  });
  const double seen = double(keys) * (keys + 1) / 2;
  printf("%-7s prefill %s %4d keys d %3d group %d runs of %d %6.1f GFLOP/s\n", k.name, name, keys, d, group, run, 4 * seen * group * d / time * 1e-9);
}

// Rows over 4096 keys of 8 kv heads, in parts of 256; enough layers to exceed the caches.
void decode_step(const Kernels& k, AttendKernel kernel, const char* name, int32_t d, int32_t group, int32_t rows, int32_t layers,
                 CacheType type = CACHE_F16) {
  constexpr int32_t kv_heads = 8, keys = 4096, part = 256;
  Cached cache{keys, kv_heads, d, layers, type};
  cache.fill();
  const std::vector<float> q = normals(1, rows * kv_heads * group * d);
  const int32_t together = kernel == &Kernels::attend_few ? kv_heads : 1;
  const int64_t queries = together * rows * group;
  std::vector<float> parts(size_t(queries * attend_part(d))), scratch(size_t(attend_scratch(queries, d)));
  const double time = seconds([&] {
    for (int32_t layer = 0; layer < layers; layer++)
      for (int32_t first = 0; first < keys; first += part)
        for (int32_t head = 0; head < kv_heads; head += together) {
          Attend a = cache.args(layer, group, q.data() + head * group * d, nullptr, scratch.data());
          a.rows = rows, a.position = keys - rows, a.kv_head = head, a.heads = together;
          a.first_key = first, a.end_key = first + part, a.part = parts.data();
          (k.*kernel)(a);
        }
  });
  const double work = double(layers) * keys * kv_heads * d;
  printf("%-7s %s %d x group %d d %3d, %2d layers, %s %6.1f GFLOP/s %6.1f GB/s of cache\n", k.name, name, rows, group, d, layers,
         type == CACHE_I8 ? "i8 " : "f16", 4 * work * group * rows / time * 1e-9, 2.0 * layers * cache.size() / time * 1e-9);
}

void attention(const Kernels& k) {
  for (int32_t d : {64, 128})
    for (int32_t group : {1, 2, 4, 8}) prefill(k, &Kernels::attend_many, "many", 512, d, group);
  if (&k == &scalar_kernels()) return;
  for (int32_t d : {64, 128}) prefill(k, &Kernels::attend_many, "many", 4096, d, 2);
  for (const auto& [name, kernel] : {std::pair{"split", &Kernels::attend_many_split}, std::pair{"bf16", &Kernels::attend_cached_bf16}})
    for (int32_t keys : {512, 4096})
      for (int32_t run : {192, 384}) prefill(k, kernel, name, keys, 128, 2, run);
  for (int32_t d : {64, 128})
    for (int32_t group : {1, 2, 4, 8}) decode_step(k, &Kernels::attend_few, "few ", d, group, 1, 12);
  for (int32_t group : {1, 2, 4, 8}) decode_step(k, &Kernels::attend_few, "few ", 128, group, 1, 12, CACHE_I8);
  for (int32_t rows : {1, 2, 4, 8})
    for (const auto& [name, kernel] : {std::pair{"few ", &Kernels::attend_few}, std::pair{"many", &Kernels::attend_many}})
      decode_step(k, kernel, name, 64, 4, rows, 1);
}

// 32 value heads of 128 × 128, 2 MiB per layer. One row: the states of 32 layers in turn, from memory; else one layer.
void states(const Kernels& k) {
  constexpr int64_t Hk = 16, Hv = 32, d = 128, size = Hv * d * d;
  for (int64_t rows : {1, 512}) {
    const int64_t layers = rows == 1 ? 32 : 1;
    const std::vector<float> q = normals(1, rows * Hk * d, 0.1f), v = normals(2, rows * Hv * d);
    const std::vector<float> decay(size_t(rows * Hv), 0.9f), beta(size_t(rows * Hv), 0.5f);
    std::vector<float> state(size_t(layers * size)), y(v.size()), scratch(size_t(delta_scratch(d)));
    const auto part = [&](float* layer, int64_t h, int64_t column) {
      float* const S = layer + h * d * d;
      k.gated_delta({q.data() + h / 2 * d, q.data() + h / 2 * d, v.data() + h * d + column, y.data() + h * d + column, decay.data() + h,
                     beta.data() + h, S + column, S + column, h + 1 < Hv ? S + d * d + column * d : nullptr, rows, d, DELTA_COLUMNS,
                     Hk * d, Hv * d, Hv, d, 1, scratch.data()});
    };
    const double time = seconds([&] {
      for (int64_t layer = 0; layer < layers; layer++)
        for (int64_t h = 0; h < Hv; h++)
          for (int64_t column = 0; column < d; column += DELTA_COLUMNS) part(state.data() + layer * size, h, column);
    });
    const double bytes = 2 * 4 * double(layers * size), operations = 6 * double(rows * layers * size);
    printf("%-11s gated_delta %3ld rows: states read and written %6.2f GB/s, %6.1f GFLOP/s\n", k.name, rows, bytes / time * 1e-9, operations / time * 1e-9);
  }
}

} // namespace

int main(int argc, char** argv) { // names of benchmarks; without names: all
  const std::pair<const char*, void (*)(const Kernels&)> all[] = {
      {"decode", decode}, {"gemm", gemm}, {"packed", packed_gemm},
      {"crossover", crossover}, {"words", gemm_of_words}, {"rows", rows}, {"attention", attention}, {"states", states}};
  for (const Kernels* table : available())
    for (const auto& [name, time] : all)
      if (argc < 2 || std::any_of(argv + 1, argv + argc, [&](const char* asked) { return !strcmp(asked, name); })) time(*table);
}
