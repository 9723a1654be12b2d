// Tests of the kernel tables without Node: every table of this machine against definitions in double precision, and against
// other tables. Build and run: native/test/run.sh
#include "kernels-test.h"

#if defined(_WIN32)
#include "quern/windows/windows.h"
#undef near // a macro of Windows' headers
#else
#include <pthread.h>
#endif

#include <algorithm>
#include <cfloat>
#include <numbers>

using namespace quern;
using namespace quern::test;

namespace {

int failures = 0;
const Kernels* k; // the table under test

// Sanitizers make loops ten times as slow: they see the edges of tiles, but not every size.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t most_work = 20000;
#else
constexpr int64_t most_work = INT64_MAX;
#endif
bool too_slow(int64_t T, int64_t N, int64_t K) { return T * N * K > most_work; }

// One test: counts its checks, prints the first few failures.
class Check {
public:
  explicit Check(const char* name) : name_(name) {}
  ~Check() {
    printf("%s %s %s (%ld checks)\n", failed_ ? "FAIL" : "PASS", k->name, name_, checks_);
    failures += failed_ > 0;
  }
  bool that(bool ok, const std::string& what) {
    checks_++;
    if (!ok && failed_++ < 5) printf("  %s %s: %s\n", k->name, name_, what.c_str());
    return ok;
  }
  // |got - want| ≤ absolute + relative · |magnitude|; NaN and infinities must be equal.
  bool near(double got, double want, double absolute, double relative, double magnitude, const std::string& what) {
    const bool same = std::isnan(want) ? std::isnan(got) : std::isinf(want) ? got == want : false;
    const bool close = std::isfinite(got) && std::abs(got - want) <= absolute + relative * std::abs(magnitude);
    char text[96];
    snprintf(text, sizeof text, ": got %.9g, want %.9g", got, want);
    return that(same || close, what + text);
  }

private:
  const char* name_;
  long checks_ = 0, failed_ = 0;
};

std::string at(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (int64_t n : numbers) text.append(text.empty() ? "" : " ").append(std::to_string(n));
  return text;
}

uint32_t bits(float x) {
  uint32_t value;
  memcpy(&value, &x, sizeof value);
  return value;
}

float from_bits(uint32_t value) {
  float x;
  memcpy(&x, &value, sizeof x);
  return x;
}

bool same(float a, float b) { return bits(a) == bits(b) || (std::isnan(a) && std::isnan(b)); }

const std::vector<int64_t> sizes = [] {
  std::vector<int64_t> all;
  for (int64_t n = 0; n <= 70; n++) all.push_back(n);
  all.insert(all.end(), {127, 128, 255, 256, 1001, 4099});
  return all;
}();

// ---- decode

void decode_agrees_with_scalar() {
  Check check("decode agrees with scalar, any bytes");
  for (int format = 0; format < FORMAT_COUNT; format++) {
    const auto [name, elements, bytes] = format_sizes[format];
    for (int64_t blocks : elements == 1 ? sizes : std::vector<int64_t>{0, 1, 2, 3, 37}) {
      Random random(uint64_t(format * 1000 + blocks));
      std::vector<uint8_t> data(size_t(blocks * bytes) + 1);
      for (uint8_t& byte : data) byte = uint8_t(random.next());
      Guarded<float> got(blocks * elements), want(blocks * elements);
      k->decode[format](data.data() + 1, got.data(), got.size());
      scalar_kernels().decode[format](data.data() + 1, want.data(), want.size());
      check.that(got.intact(), std::string(name) + " writes outside");
      for (int64_t i = 0; i < got.size(); i++)
        if (!check.that(same(got[i], want[i]), std::string(name) + " element " + at({i, blocks}))) break;
    }
  }
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::vector<uint8_t> data;
  if (FILE* file = fopen(path.c_str(), "rb")) {
    fseek(file, 0, SEEK_END);
    data.resize(size_t(ftell(file)));
    rewind(file);
    if (fread(data.data(), 1, data.size(), file) != data.size()) data.clear();
    fclose(file);
  }
  return data;
}

// File: "AMNG", version, ggml type; numbers of elements, of bytes of blocks, of bf16 values, of f32 values; then the data.
void decode_agrees_with_goldens(const std::string& folder) {
  Check check("decode agrees with gguf-py to the last bit");
  const std::pair<const char*, Format> files[] = {{"smollm2_q4_0", FORMAT_Q4_0}, {"smollm2_q4_k", FORMAT_Q4_K},
                                                  {"smollm2_q6_k", FORMAT_Q6_K}, {"smollm2_q8_0", FORMAT_Q8_0},
                                                  {"tinyllama_q2_k", FORMAT_Q2_K}, {"tinyllama_q5_0", FORMAT_Q5_0}};
  for (const auto& [name, format] : files) {
    const std::vector<uint8_t> file = read_file(folder + "/" + name + ".bin");
    if (file.empty()) {
      printf("SKIP %s: no %s.bin in %s\n", k->name, name, folder.c_str());
      continue;
    }
    uint32_t header[7];
    memcpy(header, file.data(), sizeof header);
    const uint8_t* blocks = file.data() + sizeof header;
    std::vector<float> want(header[3]);
    memcpy(want.data(), blocks + header[4] + header[5], header[6]);
    Guarded<float> got(header[3]);
    k->decode[format](blocks, got.data(), got.size());
    for (int64_t i = 0; i < got.size(); i++)
      if (!check.that(same(got[i], want[size_t(i)]), std::string(name) + " element " + at({i}))) break;
  }
}

// ---- gemm

struct Matrices {
  int64_t T, N, K, ldx, ldw, ldy;
  std::vector<float> x, w, bias;
  Matrices(int64_t T, int64_t N, int64_t K)
      : T(T), N(N), K(K), ldx(K + 3), ldw(K + 1), ldy(N + 2), x(normals(uint64_t(K + 1), T * ldx)),
        w(normals(uint64_t(K + 2), N * ldw)), bias(normals(3, N)) {}
};

void gemm_of(const Matrices& m, bool bias, Check& check) {
  Guarded<float> y(m.T * m.ldy);
  k->gemm(m.x.data(), m.ldx, m.w.data(), m.ldw, bias ? m.bias.data() : nullptr, y.data(), m.ldy, m.T, m.N, m.K);
  check.that(y.intact(), at({m.T, m.N, m.K}) + " writes outside");
  for (int64_t t = 0; t < m.T; t++)
    for (int64_t n = 0; n < m.ldy; n++) {
      if (n >= m.N) {
        check.that(y[t * m.ldy + n] == y.canary(), at({m.T, m.N, m.K}) + " writes between rows");
        continue;
      }
      double want = bias ? m.bias[size_t(n)] : 0, magnitude = std::abs(want);
      for (int64_t i = 0; i < m.K; i++) {
        const double product = double(m.x[size_t(t * m.ldx + i)]) * double(m.w[size_t(n * m.ldw + i)]);
        want += product;
        magnitude += std::abs(product);
      }
      check.near(y[t * m.ldy + n], want, 1e-30, 1e-6, magnitude, at({m.T, m.N, m.K, t, n}));
    }
}

void gemm_agrees() {
  Check check("gemm agrees with its definition");
  for (int64_t K : sizes)
    for (int64_t T : {0, 1, 2, 3, 4, 5, 7})
      for (int64_t N : {0, 1, 3, 4, 6, 9, 13})
        if (K <= 70 || T * N < 30) gemm_of(Matrices(T, N, K), (T + N + K) % 2, check);
}

void gemm_does_not_depend_on_the_split() {
  Check check("gemm gives a row the same bits alone and among other rows");
  const Matrices m(64, 29, 1111);
  std::vector<float> whole(size_t(m.T * m.N)), part(whole.size());
  k->gemm(m.x.data(), m.ldx, m.w.data(), m.ldw, m.bias.data(), whole.data(), m.N, m.T, m.N, m.K);
  for (int64_t rows : {1, 2, 3, 5, 7, 64})
    for (int64_t columns : {1, 2, 5, 8, 11, 29}) {
      for (int64_t t = 0; t < m.T; t += rows)
        for (int64_t n = 0; n < m.N; n += columns)
          k->gemm(m.x.data() + t * m.ldx, m.ldx, m.w.data() + n * m.ldw, m.ldw, m.bias.data() + n, part.data() + t * m.N + n, m.N,
                  std::min(rows, m.T - t), std::min(columns, m.N - n), m.K);
      check.that(memcmp(whole.data(), part.data(), whole.size() * sizeof(float)) == 0, at({rows, columns}));
    }
}

// Matrices of 16-bit words (f16 or bf16) and their values.
std::vector<uint16_t> words_of(const std::vector<float>& values, void (*round)(const float*, uint16_t*, int64_t)) {
  std::vector<uint16_t> words(values.size());
  round(values.data(), words.data(), int64_t(values.size()));
  return words;
}
std::vector<float> floats_of(const std::vector<uint16_t>& words, void (*widen)(const uint16_t*, float*, int64_t)) {
  std::vector<float> values(words.size());
  widen(words.data(), values.data(), int64_t(words.size()));
  return values;
}

// The products of floats with 16-bit weights equal the float product of their values, in the same order of summation.
void gemm_of_words_agrees() {
  if (!k->gemm_f16) return;
  Check check("gemm with 16-bit weights agrees with gemm");
  const Kernels& scalar = scalar_kernels();
  for (int64_t K : {1, 15, 16, 31, 32, 33, 70, 256, 1001})
    for (int64_t T : {1, 2, 5, 8})
      for (int64_t N : {1, 4, 9}) {
        const std::vector<float> w = normals(uint64_t(K), N * K), bias = normals(3, N);
        const std::vector<uint16_t> halves = words_of(w, scalar.f32_to_f16), brains = words_of(w, scalar.f32_to_bf16);
        const std::vector<float> x = normals(uint64_t(T), T * K);
        std::vector<float> want(size_t(T * N));
        const auto compare = [&](const std::vector<float>& weights, const char* name, auto multiply) {
          Guarded<float> y(T * N);
          multiply(y.data());
          check.that(y.intact(), std::string(name) + " writes outside " + at({T, N, K}));
          k->gemm(x.data(), K, weights.data(), K, bias.data(), want.data(), N, T, N, K);
          for (int64_t i = 0; i < T * N; i++)
            check.that(same(y[i], want[size_t(i)]), std::string(name) + " " + at({T, N, K, i / N, i % N}));
        };
        compare(floats_of(halves, scalar.f16_to_f32), "f16",
                [&](float* y) { k->gemm_f16(x.data(), K, halves.data(), K, bias.data(), y, N, T, N, K); });
        compare(floats_of(brains, scalar.bf16_to_f32), "bf16",
                [&](float* y) { k->gemm_bf16(x.data(), K, brains.data(), K, bias.data(), y, N, T, N, K); });
      }
}

// Products of rows of x in one or two bf16 parts with 16-bit weights.
struct WordsKernel {
  const char* name;
  int parts;
  void (*round)(const float* x, int64_t K, uint16_t* row);
  GemmOfWords *of_bf16, *of_f16;
  double f16_error; // of an f16 weight, relative
};
std::vector<WordsKernel> words_kernels() {
  std::vector<WordsKernel> kernels = {{"bf16", 1, k->round_bf16, k->gemm_of_bf16, k->gemm_of_bf16_f16, 0x1p-8},
                                      {"halves", 2, k->split_bf16, k->gemm_of_halves, k->gemm_of_halves_f16, 0x1p-17}};
  std::erase_if(kernels, [](const WordsKernel& kernel) { return !kernel.round; });
  return kernels;
}

// Rows of x in bf16 as `round` writes them, and 16-bit matrices with gaps between the rows; all gaps hold NaN.
struct Words {
  const WordsKernel& kernel;
  bool f16;
  int64_t T, N, K, ldx = kernel.parts * bf16_row_words(K), ldw = K + 5;
  std::vector<float> floats = normals(1, T * K);
  std::vector<uint16_t> x = rows_of_x(), w = rows_of_w();
  std::vector<float> bias = normals(3, N);

  Words(const WordsKernel& kernel, bool f16, int64_t T, int64_t N, int64_t K) : kernel(kernel), f16(f16), T(T), N(N), K(K) {}
  std::vector<uint16_t> rows_of_x() const {
    std::vector<uint16_t> words(size_t(T * ldx), 0x7fff);
    for (int64_t t = 0; t < T; t++) kernel.round(floats.data() + t * K, K, words.data() + t * ldx);
    return words;
  }
  std::vector<uint16_t> rows_of_w() const {
    const Kernels& scalar = scalar_kernels();
    std::vector<uint16_t> words = words_of(normals(2, N * ldw), f16 ? scalar.f32_to_f16 : scalar.f32_to_bf16);
    for (int64_t row = 0; row < N; row++) std::fill_n(words.begin() + row * ldw + K, ldw - K, uint16_t(0x7fff));
    if (N) words.resize(size_t((N - 1) * ldw + K)); // sanitizers detect reads beyond the last row
    return words;
  }
  // An element of x: its parts, added.
  double x_at(int64_t t, int64_t i) const {
    double sum = 0;
    for (int part = 0; part < kernel.parts; part++)
      sum += from_bits(uint32_t(x[size_t(t * ldx + part * bf16_row_words(K) + i)]) << 16);
    return sum;
  }
  std::vector<float> weights() const { return floats_of(w, f16 ? scalar_kernels().f16_to_f32 : scalar_kernels().bf16_to_f32); }
  // Rows [t, t + rows) and columns [n, n + columns) of y.
  void multiply(int64_t t, int64_t rows, int64_t n, int64_t columns, float* y, int64_t ldy) const {
    (f16 ? kernel.of_f16 : kernel.of_bf16)(x.data() + t * ldx, ldx, w.data() + n * ldw, ldw, bias.data() + n, y, ldy, rows,
                                           columns, K, panel());
  }
};

void rows_of_words_are_rounded() {
  for (const WordsKernel& kernel : words_kernels()) {
    Check check(kernel.parts == 1 ? "round_bf16 rounds to nearest, zero-padded" : "split_bf16 keeps 16 bits, zero-padded");
    for (int64_t K : {1, 15, 16, 31, 63, 64, 65, 200}) {
      const Words m(kernel, false, 2, 0, K);
      for (int64_t i = 0; i < K; i++)
        check.near(m.x_at(1, i), m.floats[size_t(K + i)], 0, kernel.parts == 1 ? 0x1p-8 : 0x1p-17, m.floats[size_t(K + i)], at({K, i}));
      for (int64_t i = K; i < bf16_row_values(K); i++) check.that(m.x_at(1, i) == 0, at({K, i}) + " is not zero");
      for (int64_t i = bf16_row_values(K); i < bf16_row_words(K); i++) check.that(std::isnan(m.x_at(1, i)), at({K, i}) + " is written");
    }
    for (float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<uint16_t> row(size_t(kernel.parts * bf16_row_words(1)));
      kernel.round(&bad, 1, row.data());
      check.that(same(from_bits(uint32_t(row[0]) << 16), bad), "a value that is not finite changes");
    }
  }
}

// Against float64. Products are summed in f32 in any order: error √K · half a unit, and a few units; of halves, low · low is
// missing: 2^-16.
void gemm_of_many_words_agrees() {
  for (const WordsKernel& kernel : words_kernels()) {
    Check check(kernel.parts == 1 ? "gemm of bf16 agrees with its definition for all tile edges"
                                  : "gemm of halves agrees with its definition for all tile edges");
    for (const bool f16 : {false, true})
      for (int64_t K : {0, 1, 31, 32, 33, 96, 257, 600, 1100})
        for (int64_t T : {1, 15, 16, 17, 31, 32, 33, 70})
          for (int64_t N : {1, 15, 16, 17, 32, 33, 50}) {
            if (too_slow(T, N, K)) continue;
            const Words m(kernel, f16, T, N, K);
            const std::vector<float> w = m.weights();
            const int64_t ldy = N + 2;
            Guarded<float> y((T - 1) * ldy + N);
            m.multiply(0, T, 0, N, y.data(), ldy);
            check.that(y.intact(), "writes outside " + at({T, N, K}));
            for (int64_t t = 0; t < T; t++)
              for (int64_t n = 0; n < N; n++) {
                double want = m.bias[size_t(n)], magnitude = std::abs(want);
                for (int64_t i = 0; i < K; i++) {
                  const double term = m.x_at(t, i) * w[size_t(n * m.ldw + i)];
                  want += term;
                  magnitude += std::abs(term);
                }
                const double error = 6e-7 + (f16 ? kernel.f16_error : 0) + (kernel.parts == 2 ? 0x1p-16 : 0);
                check.near(y[t * ldy + n], want, 1e-30, error, magnitude, at({T, N, K, t, n}));
              }
          }
  }
}

void gemm_of_words_does_not_depend_on_the_split() {
  for (const WordsKernel& kernel : words_kernels()) {
    Check check("gemm of bf16 gives a row the same bits alone and among other rows");
    const Words m(kernel, true, 75, 70, 1101);
    std::vector<float> whole(size_t(m.T * m.N));
    m.multiply(0, m.T, 0, m.N, whole.data(), m.N);
    for (int64_t rows : {1, 16, 17, 32, 40})
      for (int64_t columns : {1, 16, 19, 32, 70}) {
        std::vector<float> parts(whole.size());
        for (int64_t t = 0; t < m.T; t += rows)
          for (int64_t n = 0; n < m.N; n += columns)
            m.multiply(t, std::min(rows, m.T - t), n, std::min(columns, m.N - n), parts.data() + t * m.N + n, m.N);
        check.that(memcmp(whole.data(), parts.data(), whole.size() * sizeof(float)) == 0, kernel.name + at({rows, columns}));
      }
  }
}

void gemm_of_words_keeps_what_is_not_finite() {
  for (const WordsKernel& kernel : words_kernels()) {
    Check check("gemm of bf16 keeps NaN and infinities in their row or column");
    for (const float special : {INFINITY, NAN})
      for (int64_t i : {0, 63, 64}) { // 64: beyond whole steps of 32
        Words m(kernel, true, 40, 37, 65);
        m.floats[size_t(35 * m.K + i)] = special;
        m.x = m.rows_of_x();
        scalar_kernels().f32_to_f16(&special, &m.w[size_t(33 * m.ldw + i)], 1);
        std::vector<float> y(size_t(m.T * m.N));
        m.multiply(0, m.T, 0, m.N, y.data(), m.N);
        for (int64_t t = 0; t < m.T; t++)
          for (int64_t n = 0; n < m.N; n++)
            check.that(std::isfinite(y[size_t(t * m.N + n)]) == (t != 35 && n != 33), kernel.name + at({i, t, n}));
      }
  }
}

// f16 weights give the bits of their bf16 roundings: tested for every f16.
void gemm_of_words_takes_f16() {
  if (!k->gemm_of_bf16_f16) return;
  Check check("gemm of bf16 rounds f16 weights to bf16, to nearest even");
  const Kernels& scalar = scalar_kernels();
  constexpr int64_t K = 40, N = 65536 / K + 1, T = 17, ldx = bf16_row_words(K);
  std::vector<uint16_t> halves(size_t(N * K));
  for (size_t i = 0; i < halves.size(); i++) halves[i] = uint16_t(i);
  const std::vector<uint16_t> brains = words_of(floats_of(halves, scalar.f16_to_f32), scalar.f32_to_bf16);
  const std::vector<float> floats = normals(4, T * K);
  std::vector<uint16_t> x(size_t(T * ldx));
  for (int64_t t = 0; t < T; t++) k->round_bf16(floats.data() + t * K, K, x.data() + t * ldx);
  std::vector<float> of_halves(size_t(T * N)), of_brains(of_halves.size());
  k->gemm_of_bf16_f16(x.data(), ldx, halves.data(), K, nullptr, of_halves.data(), N, T, N, K, panel());
  k->gemm_of_bf16(x.data(), ldx, brains.data(), K, nullptr, of_brains.data(), N, T, N, K, panel());
  for (size_t i = 0; i < of_halves.size(); i++)
    check.that(bits(of_halves[i]) == bits(of_brains[i]) || (std::isnan(of_halves[i]) && std::isnan(of_brains[i])),
               at({int64_t(i) / N, int64_t(i) % N}));
}

#if defined(QUERN_X86) && !defined(QUERN_WITHOUT_AVX512)
// AMX tiles count denormals as zeros, in inputs and outputs.
void tiles_flush_denormals() {
  if (k != &amx_kernels()) return;
  Check check("products of bf16 tiles count denormals as zeros");
  constexpr uint16_t least = 0x0080, denormal = 0x007f, one = 0x3f80, half = 0x3f00;
  const auto product = [](uint16_t x, uint16_t w, float bias) {
    std::vector<uint16_t> row(bf16_row_words(1));
    row[0] = x;
    float y;
    k->gemm_of_bf16(row.data(), bf16_row_words(1), &w, 1, &bias, &y, 1, 1, 1, 1, panel());
    return y;
  };
  check.that(product(least, one, 0) == 0x1p-126f, "the least normal is kept");
  check.that(product(denormal, one, 0) == 0 && product(one, denormal, 0) == 0, "denormal factor");
  check.that(product(least, half, 0) == 0, "denormal product");
  check.that(product(0, 0, 0x1p-127f) == 0, "denormal bias");
}
#endif

// ---- packed weights

// N rows of K weights in a block format: random bytes with finite scales, and their decoded values.
struct BlockWeights {
  Format format;
  int64_t N, K, row_bytes;
  std::vector<uint8_t> blocks;
  std::vector<float> values; // [N, K]

  BlockWeights(Format format, int64_t N, int64_t K, uint64_t seed)
      : format(format), N(N), K(K), row_bytes(K / format_sizes[format].elements * format_sizes[format].bytes),
        blocks(size_t(N * row_bytes)), values(size_t(N * K)) {
    const auto [name, elements, bytes] = format_sizes[format];
    Random random(seed);
    std::vector<float> decoded(static_cast<size_t>(elements));
    for (int64_t b = 0; b < N * K / elements; b++) {
      uint8_t* const block = blocks.data() + b * bytes;
      float largest;
      do {
        for (int64_t i = 0; i < bytes; i++) block[i] = uint8_t(random.next());
        scalar_kernels().decode[format](block, decoded.data(), elements);
        largest = 0;
        for (float value : decoded) largest = std::isnan(value) ? INFINITY : std::max(largest, std::abs(value));
      } while (!(largest > 0.01f && largest < 100));
      memcpy(values.data() + b * elements, decoded.data(), size_t(elements) * sizeof(float));
    }
  }

  // q8_0 only: gives the blocks of a row one scale per `columns` weights.
  void share_scales(int64_t columns) {
    constexpr int64_t elements = 32, bytes = 34;
    for (int64_t n = 0; n < N; n++)
      for (int64_t i = 0; i < K; i += elements) {
        uint8_t* const row = blocks.data() + n * row_bytes;
        uint8_t* const block = row + i / elements * bytes;
        memcpy(block, row + i / columns * columns / elements * bytes, 2);
        scalar_kernels().decode[format](block, values.data() + n * K + i, elements);
      }
  }

  std::vector<uint8_t> packed() const {
    const PackedFormat& layout = packed_format(format);
    const int64_t tile_row = packed_rows_bytes(layout, K);
    std::vector<uint8_t> tiles(size_t((N + PACKED_ROWS - 1) / PACKED_ROWS * tile_row));
    for (int64_t n = 0; n < N; n += PACKED_ROWS)
      pack_rows(layout, blocks.data() + n * row_bytes, row_bytes, std::min(PACKED_ROWS, N - n), K,
                tiles.data() + n / PACKED_ROWS * tile_row);
    return tiles;
  }
};

// Row lengths of a format: odd and even numbers of blocks.
std::vector<int64_t> widths(int format) {
  const int64_t block = format_sizes[format].elements;
  return {block, 2 * block, 3 * block, 7 * block};
}

void packing_is_lossless() {
  Check check("packed weights unpack to the same bytes");
  for (const Format format : packed_formats)
    for (int64_t K : widths(format))
      for (int64_t N : {1, 16, 37}) {
        const BlockWeights w(Format(format), N, K, uint64_t(N + K));
        const std::vector<uint8_t> tiles = w.packed();
        std::vector<uint8_t> row(static_cast<size_t>(w.row_bytes));
        for (int64_t n = 0; n < N; n++) {
          unpack_row(packed_format(w.format), tiles.data() + n / PACKED_ROWS * packed_rows_bytes(packed_format(w.format), K),
                     int(n % PACKED_ROWS), K, row.data());
          check.that(memcmp(row.data(), w.blocks.data() + n * w.row_bytes, row.size()) == 0,
                     format_sizes[format].name + (" row " + at({n, N, K})));
        }
      }
}

// The values of an int8 row.
std::vector<double> dequantised(const uint8_t* bytes, int64_t K) {
  const QuantisedRow row = quantised_row(bytes, K);
  std::vector<double> x(static_cast<size_t>(K));
  for (int64_t i = 0; i < K; i++) x[size_t(i)] = double(row.values[i]) * double(row.scales[i / SHARE]);
  return x;
}

// The least of four steps, recomputed: the chosen one has no larger error than the others.
void quantise_chooses_the_best_step() {
  if (!k->quantise) return;
  Check check("quantise takes the best of four steps");
  const int64_t K = 32 * 64;
  const std::vector<float> x = normals(7, K, 2);
  std::vector<uint8_t> bytes(size_t(quantised_row_bytes(K)));
  k->quantise(x.data(), K, bytes.data());
  const QuantisedRow row = quantised_row(bytes.data(), K);
  double got = 0, plain = 0;
  for (int64_t share = 0; share < K / SHARE; share++) {
    const float* const values = x.data() + share * SHARE;
    const auto error = [&](double step) {
      double sum = 0;
      for (int64_t i = 0; i < SHARE; i++) {
        const double rest = values[i] / step - std::nearbyint(values[i] / step);
        sum += rest * rest * step * step;
      }
      return sum;
    };
    double largest = 0, least = 1e300;
    for (int64_t i = 0; i < SHARE; i++) largest = std::max<double>(largest, std::abs(values[i]));
    for (const double level : {127, 126, 125, 124}) least = std::min(least, error(largest / level));
    check.near(error(row.scales[share]), least, 1e-30, 1e-3, least, at({share}) + " error");
    got += error(row.scales[share]);
    plain += error(largest / 127);
  }
  check.that(std::sqrt(got / plain) < 0.95, "the error is not 5 % less than with 127 steps alone");
}

void quantise_rounds() {
  if (!k->quantise) return;
  Check check("quantise rounds to the nearest of 255 levels");
  for (int64_t K : {32, 64, 96, 100, 640, 1000}) {
    std::vector<float> x = normals(uint64_t(K), K, 3);
    for (int64_t i = 64; i < std::min<int64_t>(K, 128); i++) x[size_t(i)] = 1e-38f;
    Guarded<uint32_t> words(quantised_row_bytes(K) / 4); // rows have the alignment of floats
    auto* const bytes = reinterpret_cast<uint8_t*>(words.data());
    k->quantise(x.data(), K, bytes);
    check.that(words.intact(), at({K}) + " writes outside");
    const QuantisedRow row = quantised_row(bytes, K);
    const std::vector<double> got = dequantised(bytes, K);
    for (int64_t i = 0; i < K; i++)
      check.near(got[size_t(i)], x[size_t(i)], 1e-30, 0.5001, row.scales[i / SHARE], at({K, i}));
    for (int64_t group = 0; group < spans_of(K) * 4; group++) {
      int32_t sum = 0;
      for (int64_t i = 16 * group; i < 16 * group + 16; i++) {
        sum += row.values[i];
        check.that(i < K || row.values[i] == 0, at({K, i}) + " beyond the row is not zero");
      }
      check.that(row.sums16[group] == -sum, at({K, group}) + " sum of 16");
    }
    for (int64_t group = 0; group < spans_of(K) * 2; group++)
      check.that(row.sums32[group] == row.sums16[2 * group] + row.sums16[2 * group + 1], at({K, group}) + " sum of 32");
    for (int64_t share = 0; share < spans_of(K) * 2; share++)
      check.that(row.minus_sums[share] == row.scales[share] * float(row.sums32[share]), at({K, share}) + " scaled sum");
    for (float bad : {NAN, INFINITY, -INFINITY}) {
      x[size_t(K - 1)] = bad;
      k->quantise(x.data(), K, bytes);
      check.that(std::isnan(row.scales[(K - 1) / SHARE]), at({K}) + " not finite, but the scale is not NaN");
    }
  }
}

struct Packed {
  BlockWeights w;
  std::vector<uint8_t> tiles, x;
  std::vector<float> bias, floats;
  int64_t T;

  Packed(Format format, int64_t T, int64_t N, int64_t K)
      : w(format, N, K, uint64_t(format + N)), tiles(w.packed()), x(size_t(T * quantised_row_bytes(K))),
        bias(normals(3, N)), floats(normals(uint64_t(T + 1), T * K)), T(T) {
    for (int64_t t = 0; t < T; t++) k->quantise(floats.data() + t * K, K, x.data() + t * quantised_row_bytes(K));
  }

  // Rows [t, t + rows) and columns [n, n + columns); n % 16 = 0.
  void multiply(int64_t t, int64_t rows, int64_t n, int64_t columns, float* y, int64_t ldy) const {
    k->packed_gemm[w.format]({x.data() + t * quantised_row_bytes(w.K),
                              tiles.data() + n / PACKED_ROWS * packed_rows_bytes(packed_format(w.format), w.K),
                              bias.data() + n, y + t * ldy + n, ldy, rows, columns, w.K, nullptr});
  }
};

// Two bounds, x̂ the quantised row: |got − Σ x̂ w| ≤ rounding of float sums; |got − Σ x w| ≤ the same + Σ |w| · scale / 2.
void packed_gemm_of(const Packed& p, Check& check) {
  const auto [format, N, K, row_bytes, blocks, values] = p.w;
  const int64_t ldy = N + 2;
  Guarded<float> y(p.T * ldy);
  p.multiply(0, p.T, 0, N, y.data(), ldy);
  const std::string name = format_sizes[format].name;
  check.that(y.intact(), name + at({p.T, N, K}) + " writes outside");
  for (int64_t t = 0; t < p.T; t++) {
    const uint8_t* row = p.x.data() + t * quantised_row_bytes(K);
    const std::vector<double> x = dequantised(row, K);
    for (int64_t n = 0; n < N; n++) {
      double want = p.bias[size_t(n)], exact = want, magnitude = std::abs(want), bound = 0;
      for (int64_t i = 0; i < K; i++) {
        const double w = values[size_t(n * K + i)];
        want += x[size_t(i)] * w;
        magnitude += std::abs(x[size_t(i)] * w);
        exact += double(p.floats[size_t(t * K + i)]) * w;
        bound += std::abs(w) * quantised_row(row, K).scales[i / SHARE] / 2;
      }
      // Minimums and offsets are added separately: their full magnitude enters the bound.
      check.near(y[t * ldy + n], want, 1e-30, 4e-6, magnitude + 127 * bound, name + " " + at({p.T, N, K, t, n}));
      check.near(y[t * ldy + n], exact, 1e-30, 1.001, bound + 4e-6 * (magnitude + 127 * bound), name + " bound " + at({t, n}));
    }
    for (int64_t n = N; n < ldy; n++) check.that(y[t * ldy + n] == y.canary(), name + " writes between rows");
  }
}

void packed_gemm_agrees() {
  if (!k->quantise) return;
  Check check("packed gemm agrees with its definition");
  for (const Format format : packed_formats)
    for (int64_t K : widths(format))
      for (int64_t T : {0, 1, 2, 3, 7, 8, 13, 47})
        for (int64_t N : {0, 1, 7, 9, 16, 37}) packed_gemm_of(Packed(Format(format), T, N, K), check);
}

void packed_gemm_does_not_depend_on_the_split() {
  if (!k->quantise) return;
  Check check("packed gemm gives a row the same bits alone and among other rows");
  for (const Format format : packed_formats) {
    const Packed p(Format(format), 71, 75, 512);
    std::vector<float> whole(size_t(p.T * 75)), part(whole.size());
    p.multiply(0, p.T, 0, 75, whole.data(), 75);
    for (int64_t rows : {1, 2, 3, 4, 6, 8, 33, 64})
      for (int64_t columns : {16, 48}) {
        for (int64_t t = 0; t < p.T; t += rows)
          for (int64_t n = 0; n < 75; n += columns)
            p.multiply(t, std::min(rows, p.T - t), n, std::min<int64_t>(columns, 75 - n), part.data(), 75);
        check.that(memcmp(whole.data(), part.data(), whole.size() * sizeof(float)) == 0, at({format, rows, columns}));
      }
  }
}

// ---- packed weights and rows of x in bf16

// The largest magnitude of the 256 weights around weight i of a row.
double largest_near(const float* row, int64_t i, int64_t K) {
  double largest = 0;
  for (int64_t j = i / SUPERBLOCK * SUPERBLOCK; j < std::min(K, (i / SUPERBLOCK + 1) * SUPERBLOCK); j++)
    largest = std::max(largest, std::abs(double(row[j])));
  return largest;
}
// T rows of x as round_bf16 writes them, and N rows of packed weights.
struct PackedBf16 {
  BlockWeights w;
  int64_t T, ldx = bf16_row_words(w.K);
  std::vector<uint8_t> tiles = w.packed();
  std::vector<float> floats = normals(uint64_t(T), T * w.K);
  std::vector<uint16_t> x = std::vector<uint16_t>(size_t(T * ldx), 0x7fff);

  PackedBf16(Format format, int64_t T, int64_t N, int64_t K) : w(format, N, K, uint64_t(format + N)), T(T) { round(); }
  void round() {
    for (int64_t t = 0; t < T; t++) k->round_bf16(floats.data() + t * w.K, w.K, x.data() + t * ldx);
  }
  void multiply(int64_t t, int64_t rows, int64_t n, int64_t columns, const float* bias, float* y, int64_t ldy) const {
    k->packed_gemm_of_bf16[w.format]({reinterpret_cast<const uint8_t*>(x.data() + t * ldx),
                                      tiles.data() + n / PACKED_ROWS * packed_rows_bytes(packed_format(w.format), w.K),
                                      bias ? bias + n : nullptr, y + t * ldy + n, ldy, rows, columns, w.K, panel()});
  }
};

// Error of a weight rounded to bf16: half a unit, and 2^-16 of the largest weight for the scale and the minimum.
constexpr double BF16_ERROR = 0x1p-9, AFFINE_ERROR = 0x1p-15;

void packed_gemm_of_bf16_agrees() {
  if (!k->packed_gemm_of_bf16[FORMAT_Q8_0]) return;
  Check check("packed gemm of bf16 agrees with its definition");
  for (const Format format : packed_formats) {
    const std::string name = format_sizes[format].name;
    const auto compare = [&](int64_t T, int64_t N, int64_t K) {
      if (too_slow(T, N, K)) return;
      const PackedBf16 m(format, T, N, K);
      const std::vector<float> bias = normals(3, N);
      const int64_t ldy = N + 2;
      Guarded<float> y(T * ldy);
      m.multiply(0, T, 0, N, bias.data(), y.data(), ldy);
      check.that(y.intact(), name + at({T, N, K}) + " writes outside");
      for (int64_t t = 0; t < T; t++)
        for (int64_t n = 0; n < N; n++) {
          double want = bias[size_t(n)], magnitude = std::abs(want), total = 0, largest = 0;
          for (int64_t i = 0; i < K; i++) {
            if (i % SUPERBLOCK == 0) largest = largest_near(m.w.values.data() + n * K, i, K);
            const double value = from_bits(uint32_t(m.x[size_t(t * m.ldx + i)]) << 16), weight = m.w.values[size_t(n * K + i)];
            want += value * weight;
            magnitude += std::abs(value * weight);
            total += std::abs(value) * largest;
          }
          check.near(y[t * ldy + n], want, 1e-30, 1, (BF16_ERROR + 1e-6) * magnitude + AFFINE_ERROR * total, name + " " + at({T, N, K, t, n}));
        }
    };
    for (int64_t K : widths(format))
      for (int64_t T : {0, 1, 15, 17, 32, 37})
        for (int64_t N : {0, 1, 16, 17, 37, 64}) compare(T, N, K);
    compare(5, 300, 2304); // several panels along K, two groups of columns
    compare(515, 17, 256); // two groups of rows
    const float bias[] = {1, 2, 3};
    std::vector<float> y(12, 9);
    k->packed_gemm_of_bf16[format]({nullptr, nullptr, bias, y.data(), 3, 4, 3, 0, panel()});
    for (int i = 0; i < 12; i++) check.that(y[size_t(i)] == bias[i % 3], "no columns of w");
  }
}

void packed_gemm_of_bf16_does_not_depend_on_the_split() {
  if (!k->packed_gemm_of_bf16[FORMAT_Q8_0]) return;
  Check check("packed gemm of bf16 gives a row the same bits alone and among other rows");
  for (const Format format : packed_formats) {
    const PackedBf16 m(format, 41, 75, 1280);
    std::vector<float> whole(size_t(m.T * 75)), part(whole.size());
    m.multiply(0, m.T, 0, 75, nullptr, whole.data(), 75);
    for (int64_t rows : {1, 3, 16, 20, 32})
      for (int64_t columns : {16, 32, 48}) {
        for (int64_t t = 0; t < m.T; t += rows)
          for (int64_t n = 0; n < 75; n += columns)
            m.multiply(t, std::min(rows, m.T - t), n, std::min<int64_t>(columns, 75 - n), nullptr, part.data(), 75);
        check.that(memcmp(whole.data(), part.data(), whole.size() * sizeof(float)) == 0, at({format, rows, columns}));
      }
  }
}

void packed_gemm_of_bf16_keeps_what_is_not_finite() {
  if (!k->packed_gemm_of_bf16[FORMAT_Q8_0]) return;
  Check check("packed gemm of bf16 keeps NaN and infinities in their row or column");
  constexpr int64_t T = 18, N = 20, K = 320;
  for (const uint16_t scale : {0x7c00, 0xfc00, 0x7e00, 0x7fff, 0xffff}) { // infinities and NaNs as f16
    PackedBf16 m(FORMAT_Q8_0, T, N, K);
    m.floats[17 * K + 300] = scale & 0x3ff ? NAN : INFINITY;
    m.round();
    memcpy(m.w.blocks.data() + 19 * m.w.row_bytes, &scale, sizeof scale);
    m.tiles = m.w.packed();
    std::vector<float> y(T * N);
    m.multiply(0, T, 0, N, nullptr, y.data(), N);
    for (int64_t t = 0; t < T; t++)
      for (int64_t n = 0; n < N; n++) check.that(std::isfinite(y[size_t(t * N + n)]) == (t != 17 && n != 19), at({scale, t, n}));
  }
}

// ---- packed weights and many rows: x and w in superblocks

std::vector<double> coarsely_dequantised(const uint8_t* bytes, int64_t K) {
  const SuperblockRow row = superblock_row(bytes, K);
  std::vector<double> x(static_cast<size_t>(K));
  for (int64_t i = 0; i < K; i++) x[size_t(i)] = double(row.values[i]) * double(row.scales[i / SUPERBLOCK]);
  return x;
}

constexpr double SUPERBLOCK_ERROR = 0.57 / 127; // error of a weight / largest magnitude

void quantise_superblocks_rounds() {
  if (!k->superblock_rows) return;
  Check check("quantise_superblocks rounds to the nearest of 255 levels");
  for (int64_t K : {0, 1, 32, 63, 96, 250, 256, 300, 640, 1000}) {
    std::vector<float> x = normals(uint64_t(K), K, 3);
    for (int64_t i = 256; i < std::min<int64_t>(K, 512); i++) x[size_t(i)] = 1e-38f;
    Guarded<float> memory(quantised_row_bytes(K) / 4);
    uint8_t* const bytes = reinterpret_cast<uint8_t*>(memory.data());
    k->quantise_superblocks(x.data(), K, bytes);
    check.that(memory.intact(), at({K}) + " writes outside");
    const SuperblockRow row = superblock_row(bytes, K);
    const std::vector<double> got = coarsely_dequantised(bytes, K);
    for (int64_t i = 0; i < K; i++) {
      check.near(got[size_t(i)], x[size_t(i)], 1e-30, 0.5001, row.scales[i / SUPERBLOCK], at({K, i}));
      check.near(row.scales[i / SUPERBLOCK], largest_near(x.data(), i, K) / 127, 1e-30, 1e-6, row.scales[i / SUPERBLOCK], at({K, i}) + " scale");
    }
    for (int64_t i = K; i < spans_of(K) * SPAN; i++) check.that(row.values[i] == 0, at({K, i}) + " beyond the row is not zero");
    for (float bad : {NAN, INFINITY, -INFINITY}) {
      if (K == 0) break;
      x[size_t(K - 1)] = bad;
      k->quantise_superblocks(x.data(), K, bytes);
      check.that(std::isnan(row.scales[(K - 1) / SUPERBLOCK]), at({K}) + " not finite, but the scale is not NaN");
    }
  }
}

// T rows of x in the kernel's form, and N rows of weights.
struct Superblock {
  BlockWeights w;
  std::vector<uint8_t> tiles, x;
  std::vector<float> floats;
  int64_t T;

  Superblock(Format format, int64_t N, int64_t K, std::vector<float> rows)
      : w(format, N, K, uint64_t(format + N)), tiles(w.packed()), floats(std::move(rows)), T(int64_t(floats.size()) / K) {
    x.resize(size_t(T * quantised_row_bytes(K)));
    for (int64_t t = 0; t < T; t++) k->quantise_superblocks(floats.data() + t * K, K, x.data() + t * quantised_row_bytes(K));
  }

  void multiply(int64_t t, int64_t rows, int64_t n, int64_t columns, const float* bias, float* y, int64_t ldy) const {
    k->superblock_gemm[w.format]({x.data() + t * quantised_row_bytes(w.K),
                              tiles.data() + n / PACKED_ROWS * packed_rows_bytes(packed_format(w.format), w.K),
                              bias ? bias + n : nullptr, y + t * ldy + n, ldy, rows, columns, w.K, panel(), shares_scales});
  }
  bool shares_scales = false;
};

// Rows of x with a single 1 return each weight as the kernel rounded it.
void superblock_weights_are_rounded() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm rounds each weight to 0.57 steps of 127");
  for (const Format format : packed_formats)
    for (int64_t K : widths(format)) {
      constexpr int64_t N = 33;
      std::vector<float> ones(size_t(K * K));
      for (int64_t i = 0; i < K; i++) ones[size_t(i * K + i)] = 1;
      const Superblock c(Format(format), N, K, ones);
      std::vector<float> y(size_t(K * N));
      c.multiply(0, K, 0, N, nullptr, y.data(), N);
      for (int64_t i = 0; i < K; i++)
        for (int64_t n = 0; n < N; n++) {
          const float* row = c.w.values.data() + n * K;
          check.near(y[size_t(i * N + n)], row[i], 1e-30, SUPERBLOCK_ERROR, largest_near(row, i, K),
                     format_sizes[format].name + std::string(" ") + at({N, K, n, i}));
        }
    }
}

void superblock_gemm_takes_shared_scales() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm keeps q8_0 exact if 256 weights share a scale");
  for (int64_t K : {64, 192, 256, 384, 1024}) {
    constexpr int64_t N = 33;
    std::vector<float> ones(size_t(K * K));
    for (int64_t i = 0; i < K; i++) ones[size_t(i * K + i)] = 1;
    Superblock c(FORMAT_Q8_0, N, K, ones);
    c.w.share_scales(SUPERBLOCK);
    c.tiles = c.w.packed();
    std::vector<float> y(size_t(K * N));
    c.multiply(0, K, 0, N, nullptr, y.data(), N);
    for (int64_t i = 0; i < K; i++)
      for (int64_t n = 0; n < N; n++) {
        const float w = c.w.values[size_t(n * K + i)];
        check.near(y[size_t(i * N + n)], w, 1e-30, 1e-6, std::abs(w), at({N, K, n, i}));
      }
  }
}

void superblock_gemm_reads_shared_tiles() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm gives the same bits from tiles with shared scales and from panels");
  constexpr int64_t N = 75, T = 130;
  const std::vector<float> bias = normals(3, N);
  for (int64_t K : {64, 192, 256, 384, 1280, 4608}) {
    Superblock c(FORMAT_Q8_0, N, K, normals(uint64_t(K), T * K));
    const auto shares = [&] { return share_scales(c.w.blocks.data(), c.w.row_bytes, N, K); };
    check.that(!shares(), at({K}) + " scales of random blocks");
    c.w.share_scales(SUPERBLOCK);
    c.tiles = c.w.packed();
    check.that(shares(), at({K}) + " scales that are shared");
    std::vector<float> panels(size_t(T * N)), tiles(panels.size());
    c.multiply(0, T, 0, N, bias.data(), panels.data(), N);
    c.shares_scales = true;
    for (int64_t rows : {1, 2, 3, 7, 16, 33, 64, 65, 130}) {
      for (int64_t t = 0; t < T; t += rows) c.multiply(t, std::min(rows, T - t), 0, N, bias.data(), tiles.data(), N);
      check.that(memcmp(panels.data(), tiles.data(), tiles.size() * sizeof(float)) == 0, at({K, rows}));
    }
  }
}

// |got − Σ x w| ≤ Σ |x̂| · |ŵ − w| + Σ |x̂ − x| · |w|; x̂ and ŵ are rounded.
void superblock_gemm_of(const Superblock& c, Check& check) {
  const auto [format, N, K, row_bytes, blocks, values] = c.w;
  const int64_t ldy = N + 2;
  const std::vector<float> bias = normals(3, N);
  Guarded<float> y(c.T * ldy);
  c.multiply(0, c.T, 0, N, bias.data(), y.data(), ldy);
  const std::string name = format_sizes[format].name;
  check.that(y.intact(), name + at({c.T, N, K}) + " writes outside");
  for (int64_t t = 0; t < c.T; t++) {
    const uint8_t* row = c.x.data() + t * quantised_row_bytes(K);
    const std::vector<double> x = coarsely_dequantised(row, K);
    for (int64_t n = 0; n < N; n++) {
      double exact = bias[size_t(n)], magnitude = std::abs(exact), bound = 0, largest = 0;
      for (int64_t i = 0; i < K; i++) {
        if (i % SUPERBLOCK == 0) largest = largest_near(&values[size_t(n * K)], i, K);
        const double w = values[size_t(n * K + i)];
        exact += double(c.floats[size_t(t * K + i)]) * w;
        magnitude += std::abs(x[size_t(i)] * w);
        bound += std::abs(x[size_t(i)]) * SUPERBLOCK_ERROR * largest + 0.501 * superblock_row(row, K).scales[i / SUPERBLOCK] * std::abs(w);
      }
      check.near(y[t * ldy + n], exact, 1e-30, 1, bound + 4e-6 * magnitude, name + " " + at({c.T, N, K, t, n}));
    }
    for (int64_t n = N; n < ldy; n++) check.that(y[t * ldy + n] == y.canary(), name + " writes between rows");
  }
}

void superblock_gemm_agrees() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm agrees with its definition");
  for (const Format format : packed_formats) {
    for (int64_t K : widths(format))
      for (int64_t T : {0, 1, 15, 17, 32, 37})
        for (int64_t N : {0, 1, 16, 17, 37, 64}) superblock_gemm_of(Superblock(Format(format), N, K, normals(uint64_t(T + 1), T * K)), check);
    superblock_gemm_of(Superblock(Format(format), 37, 4608, normals(9, 11 * 4608)), check); // several panels along K
    const float bias[] = {1, 2, 3};
    std::vector<float> y(12, 9);
    k->superblock_gemm[format]({nullptr, nullptr, bias, y.data(), 3, 4, 3, 0, panel()});
    for (int i = 0; i < 12; i++) check.that(y[size_t(i)] == bias[i % 3], "no columns of w");
  }
}

void superblock_gemm_does_not_depend_on_the_split() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm gives a row the same bits alone and among other rows");
  for (const Format format : packed_formats) {
    const Superblock c(Format(format), 75, 1280, normals(5, 41 * 1280));
    std::vector<float> whole(size_t(c.T * 75)), part(whole.size());
    c.multiply(0, c.T, 0, 75, nullptr, whole.data(), 75);
    for (int64_t rows : {1, 3, 16, 20, 32})
      for (int64_t columns : {16, 32, 48}) {
        for (int64_t t = 0; t < c.T; t += rows)
          for (int64_t n = 0; n < 75; n += columns)
            c.multiply(t, std::min(rows, c.T - t), n, std::min<int64_t>(columns, 75 - n), nullptr, part.data(), 75);
        check.that(memcmp(whole.data(), part.data(), whole.size() * sizeof(float)) == 0, at({format, rows, columns}));
      }
  }
}

// NaN and infinities of x stay in their row and reach every column; those of w stay in their column.
void superblock_gemm_keeps_what_is_not_finite() {
  if (!k->superblock_rows) return;
  Check check("superblock gemm keeps NaN and infinities in their row or column");
  constexpr int64_t T = 18, N = 20, K = 320;
  for (const auto& [bad, shared] : {std::pair{NAN, 32}, {INFINITY, 32}, {-INFINITY, 32}, {NAN, 256}, {INFINITY, 256}, {-INFINITY, 256}}) {
    std::vector<float> x = normals(1, T * K);
    x[17 * K + 300] = bad;
    Superblock c(FORMAT_Q8_0, N, K, x);
    uint16_t half;
    k->f32_to_f16(&bad, &half, 1);
    memcpy(c.w.blocks.data() + 19 * c.w.row_bytes, &half, sizeof half);
    c.w.share_scales(shared);
    c.tiles = c.w.packed();
    std::vector<float> y(T * N);
    c.multiply(0, T, 0, N, nullptr, y.data(), N);
    for (int64_t t = 0; t < T; t++)
      for (int64_t n = 0; n < N; n++) check.that(std::isfinite(y[size_t(t * N + n)]) == (t != 17 && n != 19), at({t, n}));
  }
}

// ---- elementwise

double silu_of(double x) { return x / (1 + std::exp(-x)); }
double gelu_erf_of(double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }
double gelu_tanh_of(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }

// A row that begins with special values.
std::vector<float> with_specials(uint64_t seed, int64_t n, float spread) {
  std::vector<float> values = normals(seed, n, spread);
  const float specials[] = {NAN, -200, 200, 0, -0.0f, 1e-40f, -88.5f, -104, 88.8f, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-20f, -9, 9};
  if (n > 20) memcpy(values.data() + n - 18, specials, sizeof specials);
  return values;
}

void unary(const char* name, void (*kernel)(const float*, float*, int64_t), double (*definition)(double), double tolerance) {
  Check check(name);
  for (int64_t n : sizes) {
    const std::vector<float> x = with_specials(uint64_t(n), n, n % 3 ? 3.f : 30.f);
    Guarded<float> y(n);
    kernel(x.data(), y.data(), n);
    check.that(y.intact(), at({n}) + " writes outside");
    for (int64_t i = 0; i < n; i++) {
      const double value = x[size_t(i)], want = definition(value);
      check.near(y[i], want, tolerance, 2e-6, want, "x = " + std::to_string(value));
    }
    std::vector<float> in_place = x;
    kernel(in_place.data(), in_place.data(), n);
    for (int64_t i = 0; i < n; i++) check.that(same(in_place[size_t(i)], y[i]), "in place " + at({n, i}));
  }
  for (float x = -120; x < 120; x += 0.00713f) {
    float y;
    kernel(&x, &y, 1);
    check.near(y, definition(x), tolerance, 2e-6, definition(x), "x = " + std::to_string(x));
  }
}

void binary(const char* name, void (*kernel)(const float*, const float*, float*, int64_t), double (*definition)(double, double), double tolerance) {
  Check check(name);
  for (int64_t n : sizes) {
    const std::vector<float> a = with_specials(uint64_t(n), n, 5), b = normals(uint64_t(n + 1), n);
    Guarded<float> y(n);
    kernel(a.data(), b.data(), y.data(), n);
    check.that(y.intact(), at({n}) + " writes outside");
    for (int64_t i = 0; i < n; i++) {
      double want = definition(a[size_t(i)], b[size_t(i)]);
      if (std::abs(want) > 3.4028235e38) want = want > 0 ? INFINITY : -INFINITY;
      check.near(y[i], want, tolerance * (1 + std::abs(b[size_t(i)])), 2e-6, want, at({n, i}));
    }
  }
}

void elementwise() {
  unary("silu", k->silu, silu_of, 1e-6);
  unary("gelu_erf", k->gelu_erf, gelu_erf_of, 2e-6);
  unary("gelu_tanh", k->gelu_tanh, gelu_tanh_of, 2e-6);
  unary("tanh", k->tanh, [](double x) { return std::tanh(x); }, 2e-6);
  binary("add", k->add, [](double a, double b) { return a + b; }, 0);
  binary("mul", k->mul, [](double a, double b) { return a * b; }, 1e-44);
  binary("swiglu", k->swiglu, [](double g, double u) { return silu_of(g) * u; }, 1e-6);
  binary("geglu", k->geglu, [](double g, double u) { return gelu_tanh_of(g) * u; }, 2e-6);
  Check check("scale");
  for (int64_t n : sizes) {
    const std::vector<float> x = with_specials(1, n, 3);
    Guarded<float> y(n);
    k->scale(x.data(), 0.37f, y.data(), n);
    check.that(y.intact(), at({n}) + " writes outside");
    for (int64_t i = 0; i < n; i++) check.that(same(y[i], x[size_t(i)] * 0.37f), at({n, i}));
  }
}

// ---- rows

void rms_norm() {
  Check check("rms_norm");
  for (int64_t n : sizes)
    for (float spread : {1e-3f, 30.f, 1e25f}) {
      std::vector<float> x = normals(uint64_t(n), n, spread), w = normals(uint64_t(n + 1), n);
      Guarded<float> y(n);
      k->rms_norm(x.data(), w.data(), 1e-6f, y.data(), n);
      check.that(y.intact(), at({n}) + " writes outside");
      double squares = 0;
      for (float value : x) squares += double(value) * double(value);
      const double factor = 1 / std::sqrt(squares / double(n) + double(1e-6f));
      for (int64_t i = 0; i < n; i++) {
        const double want = x[size_t(i)] * factor * w[size_t(i)];
        check.near(y[i], want, 1e-12, 1e-6, want, at({n, i}));
      }
      if (n == 0) continue;
      x[size_t(n / 2)] = NAN;
      k->rms_norm(x.data(), w.data(), 1e-6f, y.data(), n);
      for (int64_t i = 0; i < n; i++) check.that(std::isnan(y[i]), "a NaN makes the row NaN " + at({n, i}));
    }
}

void layer_norm() {
  Check check("layer_norm");
  for (int64_t n : sizes)
    for (const auto& [spread, offset] : {std::pair{1e-3f, 0.f}, {30.f, 7.f}, {1.f, 1000.f}, {1e15f, -1e15f}}) {
      std::vector<float> x = normals(uint64_t(n), n, spread), w = normals(uint64_t(n + 1), n), b = normals(uint64_t(n + 2), n);
      for (float& value : x) value += offset;
      Guarded<float> y(n);
      k->layer_norm(x.data(), w.data(), b.data(), 1e-6f, y.data(), n);
      check.that(y.intact(), at({n}) + " writes outside");
      double mean = 0, squares = 0;
      for (float value : x) mean += double(value) / double(n);
      for (float value : x) squares += (double(value) - mean) * (double(value) - mean);
      const double factor = 1 / std::sqrt(squares / double(n) + double(1e-6f));
      for (int64_t i = 0; i < n; i++) {
        const double term = (x[size_t(i)] - mean) * factor * w[size_t(i)], bias = b[size_t(i)];
        check.near(y[i], term + bias, 1e-6, 1e-6, std::abs(term) + std::abs(bias), at({n, i}));
      }
      if (n == 0) continue;
      x[size_t(n / 2)] = NAN;
      k->layer_norm(x.data(), w.data(), b.data(), 1e-6f, y.data(), n);
      for (int64_t i = 0; i < n; i++) check.that(std::isnan(y[i]), "a NaN makes the row NaN " + at({n, i}));
    }
}

void l2_normalise() {
  Check check("l2_normalise");
  for (int64_t n : sizes)
    for (float spread : {0.f, 1e-30f, 1.f, 1e30f}) {
      const std::vector<float> x = normals(uint64_t(n), n, spread);
      Guarded<float> y(n);
      k->l2_normalise(x.data(), y.data(), n);
      check.that(y.intact(), at({n}) + " writes outside");
      double squares = 0;
      for (float value : x) squares += double(value) * double(value);
      for (int64_t i = 0; i < n; i++) {
        const double want = squares == 0 ? 0 : x[size_t(i)] / std::sqrt(squares);
        check.near(y[i], want, 1e-30, 3e-7, want, at({n, i}));
      }
    }
}

void softmax_of(const std::vector<float>& x, Check& check) {
  const int64_t n = int64_t(x.size());
  Guarded<float> y(n);
  k->softmax(x.data(), y.data(), n);
  check.that(y.intact(), at({n}) + " writes outside");
  double max = -INFINITY, sum = 0;
  for (float value : x) max = std::isnan(value) || std::isnan(max) ? NAN : std::max(max, double(value));
  for (float value : x) sum += std::exp(value - max);
  for (int64_t i = 0; i < n; i++) {
    const double want = std::exp(x[size_t(i)] - max) / sum;
    check.near(y[i], want, 1e-12, 4e-6, want, at({n, i}));
  }
}

void softmax() {
  Check check("softmax");
  for (int64_t n : sizes) {
    std::vector<float> x = normals(uint64_t(n), n, 8);
    softmax_of(x, check);
    if (n == 0) continue;
    for (float& value : x) value -= 1000;
    x[size_t(n / 3)] = -INFINITY;
    softmax_of(x, check);
    x[size_t(n / 2)] = NAN;
    softmax_of(x, check);
  }
  softmax_of(normals(5, 151936, 2), check);
}

void argmax_of(const std::vector<float>& x, Check& check) {
  int64_t want = 0;
  float most = -INFINITY, max = NAN;
  for (size_t i = 0; i < x.size(); i++)
    if (x[i] > most) want = int64_t(i), most = x[i];
  const int64_t got = k->argmax(x.data(), int64_t(x.size()), &max);
  check.that(got == want && max == most, "got " + at({got}) + ", want " + at({want}) + " of " + at({int64_t(x.size())}));
}

void argmax() {
  Check check("argmax");
  for (int64_t n : sizes) {
    if (n == 0) continue;
    std::vector<float> x = normals(uint64_t(n), n);
    argmax_of(x, check);
    x[size_t(n - 1)] = 9;
    argmax_of(x, check);
    x[size_t(n / 2)] = 9; // two equal maxima
    argmax_of(x, check);
    x[0] = NAN;
    argmax_of(x, check);
    x[size_t(n / 3)] = INFINITY;
    argmax_of(x, check);
    argmax_of(std::vector<float>(size_t(n), -INFINITY), check);
    argmax_of(std::vector<float>(size_t(n), NAN), check);
    argmax_of(std::vector<float>(size_t(n), -3), check);
  }
}

void rope() {
  Check check("rope");
  for (int64_t d = 0; d <= 70; d++)
    for (int64_t r = 0; r <= d; r += 2)
      for (int32_t layout : {0, 1}) {
        const int64_t heads = 1 + d % 3, half = r / 2;
        const std::vector<float> x = normals(uint64_t(d), heads * d), table = normals(uint64_t(r), r);
        Guarded<float> y(heads * d), in_place(heads * d);
        std::copy(x.begin(), x.end(), in_place.data());
        k->rope(x.data(), table.data(), y.data(), heads, d, r, layout);
        k->rope(in_place.data(), table.data(), in_place.data(), heads, d, r, layout);
        check.that(y.intact() && in_place.intact(), at({d, r, layout}) + " writes outside");
        for (int64_t i = 0; i < heads * d; i++) check.that(y[i] == in_place[i], "in place " + at({d, r, layout, i}));
        for (int64_t h = 0; h < heads; h++) {
          for (int64_t i = r; i < d; i++) check.that(y[h * d + i] == x[size_t(h * d + i)], "copies " + at({d, r, i}));
          for (int64_t i = 0; i < half; i++) {
            const int64_t first = h * d + (layout == 0 ? 2 * i : i), second = first + (layout == 0 ? 1 : half);
            const double a = x[size_t(first)], b = x[size_t(second)], cos = table[size_t(i)], sin = table[size_t(half + i)];
            check.near(y[first], a * cos - b * sin, 1e-7, 2e-7, std::abs(a * cos) + std::abs(b * sin), at({d, r, layout, first}));
            check.near(y[second], a * sin + b * cos, 1e-7, 2e-7, std::abs(a * sin) + std::abs(b * cos), at({d, r, layout, second}));
          }
        }
      }
}

// ---- states

// The kernel's rows, all at once or one by one; rows of x and y lie `stride` floats apart.
void short_conv_of(int64_t channels, int64_t L, int64_t rows, bool bias, Check& check) {
  const int64_t stride = channels + 3;
  const std::vector<float> x = normals(1, rows * stride), past = normals(2, (L - 1) * channels);
  const std::vector<float> w = normals(3, L * channels), b = normals(4, channels);
  Guarded<float> y(rows * stride), alone(rows * stride);
  ShortConv conv{x.data(), past.data(), w.data(), bias ? b.data() : nullptr, y.data(), stride, rows, L, channels};
  k->short_conv(conv);
  for (int64_t t = 0; t < rows; t++) {
    std::vector<float> before; // the inputs before row t
    for (int64_t i = 0; i < L - 1; i++) before.insert(before.end(), conv.input(t + i), conv.input(t + i) + channels);
    k->short_conv({x.data() + t * stride, before.data(), w.data(), conv.bias, alone.data() + t * stride, stride, 1, L, channels});
  }
  check.that(y.intact() && alone.intact(), at({channels, L, rows}) + " writes outside");
  for (int64_t t = 0; t < rows; t++)
    for (int64_t c = 0; c < stride; c++) {
      const float got = y[t * stride + c];
      check.that(same(got, alone[t * stride + c]), "a row alone " + at({channels, L, rows, t, c}));
      if (c >= channels) {
        check.that(got == y.canary(), at({channels, L, rows}) + " writes between rows");
        continue;
      }
      double want = bias ? b[size_t(c)] : 0, magnitude = std::abs(want);
      for (int64_t j = 0; j < L; j++) {
        const double product = double(w[size_t(j * channels + c)]) * double(conv.input(t + j)[c]);
        want += product, magnitude += std::abs(product);
      }
      check.near(got, want, 1e-30, 1e-6, magnitude, at({channels, L, rows, t, c}));
    }
}

void short_conv() {
  Check check("short_conv agrees with its definition");
  for (int64_t channels : {0, 1, 4, 7, 8, 15, 16, 17, 33, 70})
    for (int64_t L : {1, 2, 3, 4, 5, 9})
      for (int64_t rows : {0, 1, 2, 7}) short_conv_of(channels, L, rows, (channels + rows) % 2, check);
}

// Rows of one value head; strides are wider than rows.
struct Delta {
  int64_t rows, dk, columns;
  int64_t key_stride = dk + 1, value_stride = columns + 2, gate_stride = 3, state_stride = columns + 1;
  std::vector<float> q = normals(1, rows * key_stride, 0.3f), k = normals(2, rows * key_stride, 0.3f), v = normals(3, rows * value_stride);
  std::vector<float> decay = normals(4, rows * gate_stride, 0.1f), beta = normals(5, rows * gate_stride, 0.3f);
  std::vector<float> state = normals(6, dk * state_stride);
  std::vector<float> scratch = std::vector<float>(size_t(delta_scratch(dk)));

  // Rows [first, first + count); S is read from `from` and written to `to`; either may be null.
  GatedDelta of(int64_t first, int64_t count, const float* from, float* to, float* y) {
    return {q.data() + first * key_stride, k.data() + first * key_stride, v.data() + first * value_stride, y + first * value_stride,
            decay.data() + first * gate_stride, beta.data() + first * gate_stride, from, to, nullptr, count, dk, columns,
            key_stride, value_stride, gate_stride, state_stride, 0.5f, scratch.data()};
  }
};

void delta_agrees(Delta& d, bool zeros, Guarded<float>& y, Guarded<float>& to, Check& check) {
  for (int64_t j = 0; j < d.columns; j++) {
    std::vector<double> S(size_t(d.dk), 0);
    for (int64_t i = 0; !zeros && i < d.dk; i++) S[size_t(i)] = d.state[size_t(i * d.state_stride + j)];
    for (int64_t t = 0; t < d.rows; t++) {
      const float *const q = d.q.data() + t * d.key_stride, *const keys = d.k.data() + t * d.key_stride;
      double recalled = 0, sum = 0;
      for (int64_t i = 0; i < d.dk; i++) recalled += keys[i] * (S[size_t(i)] *= d.decay[size_t(t * d.gate_stride)]);
      const double change = d.beta[size_t(t * d.gate_stride)] * (d.v[size_t(t * d.value_stride + j)] - recalled);
      for (int64_t i = 0; i < d.dk; i++) sum += q[i] * (S[size_t(i)] += keys[i] * change);
      check.near(y[t * d.value_stride + j], 0.5 * sum, 1e-5, 1e-5, sum, "y " + at({d.dk, d.columns, t, j}));
    }
    for (int64_t i = 0; i < d.dk; i++)
      check.near(to[i * d.state_stride + j], S[size_t(i)], 1e-5, 1e-5, S[size_t(i)], "S " + at({d.dk, d.columns, i, j}));
  }
}

void gated_delta_of(int64_t rows, int64_t dk, int64_t columns, bool zeros, Check& check) {
  Delta d{rows, dk, columns};
  const std::string what = at({rows, dk, columns});
  for (float& decay : d.decay) decay = 0.9f + decay;
  const float* const from = zeros ? nullptr : d.state.data();
  Guarded<float> y(rows * d.value_stride), alone(y.size()), to(dk * d.state_stride), in_place(to.size());
  k->gated_delta(d.of(0, rows, from, to.data(), y.data()));
  check.that(y.intact() && to.intact(), what + " writes outside");
  delta_agrees(d, zeros, y, to, check);
  k->gated_delta(d.of(0, rows, from, nullptr, alone.data()));
  for (int64_t i = 0; i < y.size(); i++) check.that(same(y[i], alone[i]), "y without a state " + what);
  std::copy(d.state.begin(), d.state.end(), in_place.data());
  for (int64_t t = 0; t < rows; t++) k->gated_delta(d.of(t, 1, t || !zeros ? in_place.data() : nullptr, in_place.data(), alone.data()));
  for (int64_t i = 0; i < y.size(); i++) {
    check.that(same(y[i], alone[i]), "rows alone " + what);
    if (i % d.value_stride >= columns) check.that(y[i] == y.canary(), what + " writes between rows");
  }
  for (int64_t i = 0; i < to.size(); i++) {
    const bool beside = i % d.state_stride >= columns;
    check.that(same(in_place[i], beside ? d.state[size_t(i)] : to[i]), "S in place " + what);
    if (beside) check.that(to[i] == to.canary(), what + " writes between columns");
  }
}

void gated_delta() {
  Check check("gated_delta agrees with its definition");
  for (int64_t dk : {1, 2, 24, 65})
    for (int64_t columns : {1, 3, 4, 8, 15, 16, 17, 31, 32, 40, 63, 64})
      for (int64_t rows : {1, 2, 5}) gated_delta_of(rows, dk, columns, (columns + rows) % 2, check);
}

void gated_delta_keeps_what_is_not_finite() {
  Check check("gated_delta: a NaN in v stays in its column, one in k reaches all");
  constexpr int64_t columns = 43;
  for (bool in_key : {false, true}) {
    Delta d{3, 8, columns};
    (in_key ? d.k[size_t(d.key_stride)] : d.v[size_t(d.value_stride + 20)]) = NAN; // row 1
    Guarded<float> y(d.rows * d.value_stride);
    k->gated_delta(d.of(0, d.rows, nullptr, nullptr, y.data()));
    for (int64_t t = 0; t < d.rows; t++)
      for (int64_t j = 0; j < columns; j++)
        check.that(std::isnan(y[t * d.value_stride + j]) == (t > 0 && (in_key || j == 20)), at({in_key, t, j}));
  }
}

// ---- attention

// Writes a head of d elements in the form of a cache type.
void put_row(CacheType type, const float* x, uint8_t* row, int64_t d) {
  const Kernels& scalar = scalar_kernels();
  if (type == CACHE_F16) scalar.f32_to_f16(x, reinterpret_cast<uint16_t*>(row), d);
  else if (type == CACHE_BF16) scalar.f32_to_bf16(x, reinterpret_cast<uint16_t*>(row), d);
  else if (type == CACHE_I8) scalar.f32_to_i8(x, reinterpret_cast<int8_t*>(row), d);
  else memcpy(row, x, size_t(d) * 4);
}

// Reads such a head back as floats.
void get_row(CacheType type, const uint8_t* row, float* x, int64_t d) {
  const Kernels& scalar = scalar_kernels();
  if (type == CACHE_F16) return scalar.f16_to_f32(reinterpret_cast<const uint16_t*>(row), x, d);
  if (type == CACHE_BF16) return scalar.bf16_to_f32(reinterpret_cast<const uint16_t*>(row), x, d);
  if (type != CACHE_I8) return void(memcpy(x, row, size_t(d) * 4));
  float scale;
  memcpy(&scale, row + d, sizeof scale);
  for (int64_t i = 0; i < d; i++) x[i] = float(int8_t(row[i])) * scale;
}

int64_t row_bytes(CacheType type, int64_t d) { return cache_row(type, d) * cache_element_bytes(type); }

// The last `rows` tokens of a sequence of `end` keys, in a cache with blocks in reverse order.
struct Sequence {
  int32_t group, d, kv_heads, kv_head, block_size, rows, end;
  CacheType type = CACHE_F32;
  float soft_cap = 0, spread = 1;
  int32_t window = 0;
  bool causal = true;
  std::vector<float> q{}, keys{}, values{}; // q [rows, group, d]; keys, values [end, d] in order of position
  std::vector<int32_t> block_table{};
  std::vector<uint8_t> k_cache{}, v_cache{};

  void fill() {
    q = normals(uint64_t(d), rows * group * d, spread);
    keys = normals(uint64_t(d + 1), int64_t(end) * d);
    values = normals(uint64_t(d + 2), int64_t(end) * d);
    std::vector<uint8_t> row(size_t(row_bytes(type, d)));
    for (std::vector<float>* numbers : {&keys, &values})
      for (int32_t j = 0; j < end; j++) {
        float* x = numbers->data() + int64_t(j) * d;
        put_row(type, x, row.data(), d);
        get_row(type, row.data(), x, d);
      }
    store();
  }
  void store() {
    const int32_t blocks = (end + block_size - 1) / block_size;
    block_table.clear();
    for (int32_t b = 0; b < blocks; b++) block_table.push_back(blocks - 1 - b);
    store(keys, k_cache);
    store(values, v_cache);
  }
  void store(const std::vector<float>& numbers, std::vector<uint8_t>& cache) const {
    const size_t size = size_t(row_bytes(type, d));
    cache.assign(block_table.size() * size_t(block_size * kv_heads) * size, 0xff); // NaN in unused places
    for (int32_t j = 0; j < end; j++) {
      const int64_t slot = int64_t(block_table[size_t(j / block_size)]) * block_size + j % block_size;
      put_row(type, numbers.data() + int64_t(j) * d, cache.data() + size_t(slot * kv_heads + kv_head) * size, d);
    }
  }
  float scale() const { return 1 / std::sqrt(float(d)); }
  // Row t sees keys [first_of(t), last_of(t)).
  int32_t first_of(int32_t t) const { return window ? std::max(0, end - rows + t - window + 1) : 0; }
  int32_t last_of(int32_t t) const { return causal ? end - rows + t + 1 : end; }

  Attend args(const float* from, float* to, float* scratch) const {
    Attend a{};
    a.q = from, a.y = to, a.scratch = scratch;
    a.row_stride = group * d;
    a.k_cache = k_cache.data(), a.v_cache = v_cache.data(), a.type = type;
    a.block_table = block_table.data();
    a.block_size = block_size, a.kv_heads = kv_heads, a.kv_head = kv_head, a.heads = 1, a.group = group, a.head_dim = d;
    a.rows = rows, a.position = end - rows, a.first_key = 0, a.end_key = end;
    a.window = window, a.causal = causal, a.scale = scale(), a.soft_cap = soft_cap;
    return a;
  }
};

using AttendKernel = void (*Kernels::*)(const Attend&);
// Whether the kernel belongs to an earlier table; that table's tests cover it.
template <class K>
bool borrows(const Kernels* table, K Kernels::*kernel) {
  for (const Kernels* earlier : available()) {
    if (earlier == table) return false;
    if (earlier->*kernel == table->*kernel) return true;
  }
  return false;
}

// Roundings that a kernel may do. values: softmax weights and values to bf16; all: also q and k; split: all to two bf16.
enum class Rounded { none, split, values, all };
// Relative error of an operand, and of a product without low · low.
double step_of(Rounded rounded) { return rounded == Rounded::none ? 0 : std::ldexp(1, rounded == Rounded::split ? -16 : -8); }

struct NamedAttend {
  const char* name;
  AttendKernel kernel;
  Rounded rounded = Rounded::none;
};

// The attention kernels of this table for all cache types, without borrowed ones.
std::vector<NamedAttend> attend_kernels() {
  std::vector<NamedAttend> kernels = {{"many", &Kernels::attend_many},
                                      {"few", &Kernels::attend_few},
                                      {"many split", &Kernels::attend_many_split, Rounded::split},
                                      {"cached bf16", &Kernels::attend_cached_bf16, Rounded::values}};
  std::erase_if(kernels, [](const NamedAttend& attend) { return !(k->*attend.kernel) || borrows(k, attend.kernel); });
  return kernels;
}

std::vector<float> attend(const Sequence& s, AttendKernel kernel, Check& check) {
  Guarded<float> y(s.rows * s.group * s.d), scratch(attend_scratch(s.rows * s.group, s.d));
  (k->*kernel)(s.args(s.q.data(), y.data(), scratch.data()));
  check.that(y.intact() && scratch.intact(), "writes outside");
  return std::vector<float>(y.data(), y.data() + y.size());
}

// Attention in parts of `part` keys, then merged.
std::vector<float> attend_in_parts(const Sequence& s, AttendKernel kernel, int32_t part, Check& check) {
  const int64_t queries = s.rows * s.group, stride = queries * attend_part(s.d), count = (s.end + part - 1) / part;
  Guarded<float> y(queries * s.d), parts(stride * count), scratch(attend_scratch(queries, s.d));
  for (int64_t p = 0; p < count; p++) {
    Attend a = s.args(s.q.data(), nullptr, scratch.data());
    a.first_key = int32_t(p * part), a.end_key = std::min(s.end, int32_t(p + 1) * part);
    a.part = parts.data() + p * stride;
    (k->*kernel)(a);
  }
  for (int64_t i = 0; i < queries; i++)
    k->merge_parts(parts.data() + i * attend_part(s.d), stride, count, y.data() + i * s.d, s.d);
  check.that(y.intact() && parts.intact() && scratch.intact(), "writes outside");
  return std::vector<float>(y.data(), y.data() + y.size());
}

// With rounding, the bound of core's attention definition.
void query_agrees(const Sequence& s, int32_t t, int32_t h, const float* y, const std::string& what, Rounded rounded, Check& check) {
  const float* q = s.q.data() + (t * s.group + h) * s.d;
  std::vector<double> p;
  double max = -INFINITY, sum = 0, largest = 0;
  for (int32_t j = s.first_of(t); j < s.last_of(t); j++) {
    double dot = 0, terms = 0;
    for (int32_t i = 0; i < s.d; i++) {
      const double term = double(q[i]) * double(s.keys[size_t(j * s.d + i)]);
      dot += term, terms += std::abs(term);
    }
    dot *= s.scale();
    largest = std::max(largest, terms * s.scale());
    p.push_back(s.soft_cap > 0 ? s.soft_cap * std::tanh(dot / s.soft_cap) : dot);
    max = std::max(max, p.back());
  }
  for (double& weight : p) sum += weight = std::exp(weight - max);
  const double step = step_of(rounded);
  const double moved = rounded == Rounded::all || rounded == Rounded::split ? 4 * largest * step : 0;
  const double rounding = std::exp(moved) * std::pow(1 + step, 3) - 1;
  for (int32_t i = 0; i < s.d; i++) {
    double want = 0, magnitude = 0;
    for (size_t j = 0; j < p.size(); j++) {
      const double term = p[j] / sum * double(s.values[(size_t(s.first_of(t)) + j) * size_t(s.d) + size_t(i)]);
      want += term;
      magnitude += std::abs(term);
    }
    check.near(y[i], want, 1e-6, 2e-5 + rounding, magnitude,
               what + " group, d, block, rows, end, window, t, h, i = " + at({s.group, s.d, s.block_size, s.rows, s.end, s.window, t, h, i}));
  }
}

void all_agree(const Sequence& s, const std::vector<float>& y, const std::string& what, Check& check, Rounded rounded = Rounded::none) {
  for (int32_t t = 0; t < s.rows; t++)
    for (int32_t h = 0; h < s.group; h++) query_agrees(s, t, h, y.data() + (t * s.group + h) * s.d, what, rounded, check);
}

void attention_agrees() {
  Check check("attend agrees with its definition");
  const std::pair<int32_t, int32_t> shapes[] = {{1, 1}, {1, 3}, {3, 6}, {1, 17}, {5, 64}, {1, 255}, {2, 256}, {7, 257}, {1, 700}, {13, 300}};
  for (CacheType type : {CACHE_F32, CACHE_F16, CACHE_BF16, CACHE_I8})
    for (int32_t d : {1, 3, 8, 13, 16, 24, 33, 64, 80, 128, 130})
      for (int32_t group : {1, 2, 3, 4, 8})
        for (const auto& [rows, end] : shapes) {
          if (end > 64 && group > 3 && d != 64) continue;
          const int32_t block_size = end % 2 ? 16 : end % 3 ? 5 : 1024, window = d % 2 ? 5 : d == 16 ? 70 : 0;
          Sequence s{group, d, 1 + d % 3, d % 3, block_size, rows, end, type, group == 3 ? 3.f : group == 2 ? 50.f : 0.f,
                     group == 4 ? 20.f : 1.f, window, d != 24};
          s.fill();
          for (const auto& [name, kernel, rounded] : attend_kernels()) {
            all_agree(s, attend(s, kernel, check), name, check, rounded);
            if (end > 250)
              all_agree(s, attend_in_parts(s, kernel, 256, check), std::string(name) + " in parts", check, rounded);
          }
        }
}

void attention_in_bf16_agrees() {
  if (!k->attend_many_bf16) return;
  Check check("attend_many_bf16 agrees with its definition; rows are independent");
  const std::pair<int32_t, int32_t> shapes[] = {{1, 1}, {3, 6}, {17, 17}, {2, 33}, {64, 64}, {30, 255}, {13, 256}, {7, 257}, {20, 700}};
  for (int32_t d : {1, 3, 16, 24, 32, 33, 64, 80, 128, 130})
    for (int32_t group : {1, 3})
      for (const auto& [rows, end] : shapes) {
        Sequence s{group, d, 1 + d % 3, d % 3, end, rows, end, CACHE_F32, 0, group == 3 ? 20.f : 1.f, 0, false};
        s.fill();
        const std::vector<float> y = attend(s, &Kernels::attend_many_bf16, check);
        all_agree(s, y, "bf16", check, Rounded::all);
        Sequence last = s;
        last.rows = 1, last.q.erase(last.q.begin(), last.q.end() - group * d);
        const std::vector<float> alone = attend(last, &Kernels::attend_many_bf16, check);
        check.that(memcmp(alone.data(), y.data() + y.size() - alone.size(), alone.size() * 4) == 0, "the last row alone " + at({group, d, rows, end}));
      }
  Sequence s{2, 32, 1, 0, 300, 20, 300, CACHE_F32, 0, 1, 0, false};
  s.fill();
  s.q[5] = NAN;
  const std::vector<float> y = attend(s, &Kernels::attend_many_bf16, check);
  for (size_t i = 0; i < y.size(); i++) check.that(std::isnan(y[i]) == (i < 32), "a NaN in a query makes only its own row NaN");
  for (float& value : s.q) value = 1;
  for (float& value : s.keys) value = -INFINITY;
  s.store();
  for (float value : attend(s, &Kernels::attend_many_bf16, check)) check.that(std::isnan(value), "scores of -inf give NaN");
}

void attention_depends_on_nothing_else() {
  Check check("attend does not depend on blocks, other heads or other rows");
  for (const auto& [type, window] : {std::pair{CACHE_F32, 0}, {CACHE_F32, 1}, {CACHE_F32, 40}, {CACHE_F32, 300}, {CACHE_F16, 40}, {CACHE_I8, 0}, {CACHE_I8, 40}})
    for (const auto& [name, kernel, rounded] : attend_kernels()) {
      Sequence s{5, 72, 2, 1, 16, 29, 531, type};
      s.window = window;
      s.fill();
      const std::vector<float> whole = attend(s, kernel, check);
      for (int32_t block_size : {1, 7, 64, 256, 1024}) {
        s.block_size = block_size;
        s.store();
        check.that(attend(s, kernel, check) == whole, std::string(name) + " block size " + at({block_size}));
      }
      Guarded<float> y(s.rows * s.group * s.d), scratch(attend_scratch(s.rows * s.group, s.d));
      for (int32_t rows : {1, 3, 10}) {
        for (int32_t t = 0; t < s.rows; t += rows)
          for (int32_t h = 0; h < s.group; h++) {
            const int32_t from = (t * s.group + h) * s.d;
            Attend a = s.args(s.q.data() + from, y.data() + from, scratch.data());
            a.group = 1, a.rows = std::min(rows, s.rows - t), a.position += t;
            (k->*kernel)(a);
          }
        check.that(y.intact() && memcmp(y.data(), whole.data(), whole.size() * 4) == 0,
                   std::string(name) + " each head alone, rows at a time " + at({rows}));
      }
    }
}

void heads_together_are_as_alone() {
  Check check("attend_few gives heads the same bits together and alone");
  constexpr int32_t kv_heads = 11, first = 1, end = 531, block_size = 16, blocks = (end + block_size - 1) / block_size;
  for (CacheType type : {CACHE_F32, CACHE_F16, CACHE_BF16, CACHE_I8})
    for (int32_t heads : {2, 3, 8, 10})
      for (int32_t rows : {1, 3}) {
        Sequence s{3, 24, kv_heads, first, block_size, rows, end, type};
        s.fill();
        const int64_t size = int64_t{blocks} * block_size * kv_heads * s.d;
        for (std::vector<uint8_t>* cache : {&s.k_cache, &s.v_cache}) {
          const std::vector<float> numbers = normals(cache == &s.k_cache ? 5 : 6, size);
          for (int64_t row = 0; row < size / s.d; row++)
            put_row(type, numbers.data() + row * s.d, cache->data() + row * row_bytes(type, s.d), s.d);
        }
        const int64_t head_floats = s.group * s.d, row_stride = heads * head_floats, queries = int64_t{rows} * s.group;
        const int64_t part_floats = queries * attend_part(s.d);
        const std::vector<float> q = normals(7, rows * row_stride);
        Guarded<float> y(rows * row_stride), parts(heads * part_floats), scratch(attend_scratch(heads * queries, s.d));
        Guarded<float> y_alone(rows * row_stride), parts_alone(heads * part_floats), scratch_alone(attend_scratch(queries, s.d));
        const auto run = [&](int32_t head, int32_t count, Guarded<float>& y, float* parts, Guarded<float>& scratch) {
          Attend a = s.args(q.data() + head * head_floats, y.data() + head * head_floats, scratch.data());
          a.row_stride = row_stride, a.kv_head = first + head, a.heads = count;
          if (parts) a.part = parts + head * part_floats;
          k->attend_few(a);
          check.that(y.intact() && scratch.intact(), "writes outside");
        };
        run(0, heads, y, nullptr, scratch);
        run(0, heads, y, parts.data(), scratch);
        for (int32_t head = 0; head < heads; head++) {
          run(head, 1, y_alone, nullptr, scratch_alone);
          run(head, 1, y_alone, parts_alone.data(), scratch_alone);
        }
        check.that(parts.intact() && memcmp(y.data(), y_alone.data(), size_t(y.size()) * 4) == 0 &&
                       memcmp(parts.data(), parts_alone.data(), size_t(parts.size()) * 4) == 0,
                   "type, heads, rows " + at({type, heads, rows}));
      }
}

void attention_at_the_edges() {
  Check check("attend with scores of -inf, and with NaN");
  for (const auto& [name, kernel, rounded] : attend_kernels()) {
    Sequence s{2, 16, 1, 0, 16, 1, 300};
    s.fill();
    const std::vector<float> whole = attend(s, kernel, check);
    std::vector<float> scratch(size_t(attend_scratch(2, 16))), in_place = s.q;
    (k->*kernel)(s.args(in_place.data(), in_place.data(), scratch.data()));
    check.that(in_place == whole, "over its query");

    s.keys.assign(s.keys.size(), -INFINITY);
    for (float& value : s.q) value = std::abs(value) + 1;
    s.store();
    for (float value : attend(s, kernel, check)) check.that(std::isnan(value), "scores of -inf give NaN");
    for (float value : attend_in_parts(s, kernel, 256, check)) check.that(std::isnan(value), "scores of -inf give NaN in parts");
    for (int32_t i = 0; i < s.d; i++) s.keys[size_t(299 * s.d + i)] = 0;
    s.store();
    const std::vector<float> last = attend(s, kernel, check);
    for (int32_t i = 0; i < 2 * s.d; i++)
      check.near(last[size_t(i)], s.values[size_t(299 * s.d + i % s.d)], 1e-6, 1e-6 + step_of(rounded), 2, "the only visible key");
    s.keys[0] = NAN;
    s.store();
    for (float value : attend(s, kernel, check)) check.that(std::isnan(value), "a NaN key makes the row NaN");
    for (float value : attend_in_parts(s, kernel, 256, check)) check.that(std::isnan(value), "a NaN key makes the row NaN, in parts");
  }
}

void attention_looks_at_no_later_key() {
  Check check("attend does not change rows that see no NaN");
  for (const auto& [name, kernel, rounded] : attend_kernels())
    for (const auto& [type, window] : {std::pair{CACHE_F32, 0}, {CACHE_F32, 4}, {CACHE_F16, 0}, {CACHE_BF16, 4}, {CACHE_I8, 0}, {CACHE_I8, 4}}) {
      Sequence s{2, 40, 1, 0, 16, 20, 270, type};
      s.window = window;
      s.fill();
      const std::vector<float> whole = attend(s, kernel, check);
      const int32_t spoilt = 255;
      s.keys[size_t(spoilt * s.d)] = s.values[size_t(spoilt * s.d)] = NAN;
      s.store();
      const std::vector<float> y = attend(s, kernel, check);
      for (int32_t t = 0; t < s.rows; t++) {
        const bool sees = s.first_of(t) <= spoilt && spoilt < s.last_of(t);
        const float* row = y.data() + t * s.group * s.d;
        const bool kept = memcmp(row, whole.data() + t * s.group * s.d, size_t(s.group * s.d) * 4) == 0;
        check.that(sees ? std::isnan(row[0]) : kept, std::string(name) + " window, row " + at({window, t}));
      }
    }
}

// A value that rounds to an infinite bf16.
void attention_of_huge_values() {
  Check check("attend gives huge values to the rows that see them");
  for (const auto& [name, kernel, rounded] : attend_kernels()) {
    if (rounded == Rounded::values) continue;
    Sequence s{1, 40, 1, 0, 16, 20, 270};
    s.fill();
    const std::vector<float> whole = attend(s, kernel, check);
    const int32_t huge = 255;
    s.values[size_t(huge * s.d)] = FLT_MAX;
    s.store();
    const std::vector<float> y = attend(s, kernel, check);
    for (int32_t t = 0; t < s.rows; t++) {
      const float* const row = y.data() + t * s.d;
      const bool sees = huge < s.last_of(t);
      check.that(sees ? row[0] > 1e30f && std::isfinite(row[0]) : row[0] == whole[size_t(t * s.d)], std::string(name) + " row " + at({t}));
      check.that(row[1] == whole[size_t(t * s.d + 1)] || sees, std::string(name) + " other element of row " + at({t}));
    }
  }
}

void attention_of_what_is_not_finite() {
  Check check("attend gives NaN only for queries with NaN or infinity");
  for (const auto& [name, kernel, rounded] : attend_kernels())
    for (CacheType type : {CACHE_F32, CACHE_I8})
      for (float spoilt : {NAN, INFINITY, -INFINITY}) {
        Sequence s{3, 72, 1, 0, 16, 1, 300, type};
        s.fill();
        const std::vector<float> whole = attend(s, kernel, check);
        s.q[72] = spoilt;
        const std::vector<float> y = attend(s, kernel, check);
        for (size_t i = 0; i < y.size(); i++)
          check.that(i / 72 == 1 ? std::isnan(y[i]) : y[i] == whole[i], std::string(name) + " element " + at({int64_t(i)}));
      }
}

// ---- convert

// scale = max|x| / 127 in f32; values in steps of scale, computed in double precision.
void rows_of_bytes() {
  Check check("rows of int8 caches");
  for (int32_t d : {1, 3, 16, 24, 64, 128, 130})
    for (float spread : {1.f, 1e-3f, 1e30f, 1e-38f, 1e-44f, 0.f, INFINITY, NAN}) {
      std::vector<float> x = normals(uint64_t(d), d, std::isfinite(spread) ? spread : 1);
      if (!std::isfinite(spread)) x[size_t(d / 2)] = spread;
      Guarded<int8_t> row(d + 4);
      k->f32_to_i8(x.data(), row.data(), d);
      check.that(row.intact(), "writes outside");
      float top = 0, scale;
      for (float value : x) top = std::max(top, std::abs(value));
      memcpy(&scale, row.data() + d, 4);
      check.that(std::isfinite(spread) ? scale == top / 127 : std::isnan(scale), "scale of " + at({d}));
      for (int32_t i = 0; i < d; i++) {
        const float steps = std::isfinite(spread) && scale > 0 ? std::nearbyint(x[size_t(i)] / scale) : 0;
        check.that(row.data()[i] == std::clamp(steps, -127.f, 127.f), "element of " + at({d, i}));
      }
    }
}

void convert() {
  Check check("conversions");
  std::vector<uint16_t> halves(65536), back(65536);
  for (size_t i = 0; i < halves.size(); i++) halves[i] = uint16_t(i);
  std::vector<float> values(65536);
  k->f16_to_f32(halves.data(), values.data(), 65536);
  k->f32_to_f16(values.data(), back.data(), 65536);
  for (uint32_t i = 0; i < 65536; i++) {
    const int exponent = (i >> 10) & 31, fraction = i & 1023;
    double want = exponent == 31 ? (fraction ? NAN : INFINITY) : exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    want = i & 0x8000 ? -want : want;
    check.that(std::isnan(want) ? std::isnan(values[i]) : bits(values[i]) == bits(float(want)), "f16 " + at({i}));
    check.that(back[i] == i || (exponent == 31 && fraction && back[i] == (i | 0x200)), "f16 and back " + at({i}));
  }
  k->bf16_to_f32(halves.data(), values.data(), 65536);
  k->f32_to_bf16(values.data(), back.data(), 65536);
  for (uint32_t i = 0; i < 65536; i++) {
    check.that(bits(values[i]) == i << 16, "bf16 " + at({i}));
    check.that(back[i] == i || (std::isnan(values[i]) && back[i] == (i | 0x40)), "bf16 and back " + at({i}));
  }
}

// The nearer of the two 16-bit neighbours; ties: the even one.
void rounding() {
  Check check("rounding to 16 bits");
  const Kernels& reference = scalar_kernels();
  for (uint64_t start = 0; start < (1ull << 32); start += 64 * 4099) {
    float x[64];
    for (uint64_t i = 0; i < 64; i++) x[i] = from_bits(uint32_t(start + i * 4099));
    uint16_t f16[64], bf16[64], want_f16[64], want_bf16[64];
    k->f32_to_f16(x, f16, 64);
    k->f32_to_bf16(x, bf16, 64);
    reference.f32_to_f16(x, want_f16, 64);
    reference.f32_to_bf16(x, want_bf16, 64);
    check.that(memcmp(f16, want_f16, sizeof f16) == 0, "f16 near bits " + at({int64_t(start)}));
    check.that(memcmp(bf16, want_bf16, sizeof bf16) == 0, "bf16 near bits " + at({int64_t(start)}));
  }
  for (uint32_t half = 0; half < 0x7c00; half++) { // ties between adjacent f16
    const uint16_t pair[2] = {uint16_t(half), uint16_t(half + 1)};
    float values[2];
    k->f16_to_f32(pair, values, 2);
    if (half + 1 == 0x7c00) values[1] = 65536;
    const float middle = (values[0] + values[1]) / 2;
    const float x[3] = {std::nextafter(middle, 0.f), middle, std::nextafter(middle, INFINITY)};
    uint16_t got[3];
    k->f32_to_f16(x, got, 3);
    check.that(got[0] == half && got[1] == half + (half & 1) && got[2] == half + 1, "f16 tie " + at({half}));
  }
  for (uint32_t half = 0; half < 0x7f80; half++) { // ties between adjacent bf16
    const float x[3] = {from_bits((half << 16) + 0x7fff), from_bits((half << 16) + 0x8000), from_bits((half << 16) + 0x8001)};
    uint16_t got[3];
    k->f32_to_bf16(x, got, 3);
    check.that(got[0] == half && got[1] == half + (half & 1) && got[2] == half + 1, "bf16 tie " + at({half}));
  }
}

void conversion_lengths() {
  Check check("conversions of every length");
  for (int64_t n : sizes) {
    const std::vector<float> x = normals(uint64_t(n), n);
    Guarded<uint16_t> f16(n), bf16(n), want(n);
    Guarded<float> wide(n);
    k->f32_to_f16(x.data(), f16.data(), n);
    k->f32_to_bf16(x.data(), bf16.data(), n);
    check.that(f16.intact() && bf16.intact(), at({n}) + " writes outside");
    for (int64_t i = 0; i < n; i++) {
      scalar_kernels().f32_to_f16(&x[size_t(i)], &want[i], 1);
      check.that(f16[i] == want[i], "f16 " + at({n, i}));
      scalar_kernels().f32_to_bf16(&x[size_t(i)], &want[i], 1);
      check.that(bf16[i] == want[i], "bf16 " + at({n, i}));
    }
    for (auto convert : {k->f16_to_f32, k->bf16_to_f32}) {
      convert(f16.data(), wide.data(), n);
      check.that(wide.intact(), at({n}) + " writes outside");
    }
  }
}

void attention() {
  if (!borrows(k, &Kernels::attend_few)) heads_together_are_as_alone();
  if (!borrows(k, &Kernels::attend_many_bf16)) attention_in_bf16_agrees();
  if (attend_kernels().empty()) return;
  attention_agrees();
  attention_depends_on_nothing_else();
  attention_at_the_edges();
  attention_looks_at_no_later_key();
  attention_of_huge_values();
  attention_of_what_is_not_finite();
}

// Names of tables; no names: all tables of this machine.
void test_tables(int count, char** names) {
  const std::string goldens = "../../../../../shared/data/dequant-reference/gguf"; // relative to this folder; skipped if absent
  for (const Kernels* table : available()) {
    if (count > 1 && std::find(names + 1, names + count, std::string(table->name)) == names + count) continue;
    k = table;
    gemm_of_words_agrees();
    rows_of_words_are_rounded();
    gemm_of_many_words_agrees();
    gemm_of_words_does_not_depend_on_the_split();
    gemm_of_words_keeps_what_is_not_finite();
    gemm_of_words_takes_f16();
#if defined(QUERN_X86) && !defined(QUERN_WITHOUT_AVX512)
    tiles_flush_denormals();
#endif
    packing_is_lossless();
    quantise_rounds();
    quantise_chooses_the_best_step();
    packed_gemm_agrees();
    packed_gemm_does_not_depend_on_the_split();
    packed_gemm_of_bf16_agrees();
    packed_gemm_of_bf16_does_not_depend_on_the_split();
    packed_gemm_of_bf16_keeps_what_is_not_finite();
    quantise_superblocks_rounds();
    superblock_weights_are_rounded();
    superblock_gemm_takes_shared_scales();
    superblock_gemm_reads_shared_tiles();
    superblock_gemm_agrees();
    superblock_gemm_does_not_depend_on_the_split();
    superblock_gemm_keeps_what_is_not_finite();
    attention();
    if (borrows(table, &Kernels::gemm)) continue;
    decode_agrees_with_scalar();
    decode_agrees_with_goldens(goldens);
    gemm_agrees();
    gemm_does_not_depend_on_the_split();
    elementwise();
    rms_norm();
    layer_norm();
    l2_normalise();
    softmax();
    argmax();
    rope();
    short_conv();
    gated_delta();
    gated_delta_keeps_what_is_not_finite();
    convert();
    rows_of_bytes();
    rounding();
    conversion_lengths();
  }
}

// Stack size of a musl thread; sanitizers and emulated registers need larger frames.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(QUERN_EMULATE_AVX512)
constexpr size_t stack_bytes = 2048 * 1024;
#else
constexpr size_t stack_bytes = 128 * 1024;
#endif

std::pair<int, char**> arguments;

// Calls `act` in a thread with a stack of `stack_bytes`.
#if defined(_WIN32)
void run_in_thread(void (*act)()) {
  const auto start = [](void* given) -> DWORD {
    reinterpret_cast<void (*)()>(given)();
    return 0;
  };
  void* const given = reinterpret_cast<void*>(act);
  const HANDLE thread = CreateThread(nullptr, stack_bytes, start, given, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (!thread || WaitForSingleObject(thread, INFINITE) != WAIT_OBJECT_0) abort();
  CloseHandle(thread);
}
#else
void run_in_thread(void (*act)()) {
  const auto start = [](void* given) -> void* {
    reinterpret_cast<void (*)()>(given)();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, stack_bytes)) abort();
  if (pthread_create(&thread, &attributes, start, reinterpret_cast<void*>(act))) abort();
  pthread_join(thread, nullptr);
}
#endif

} // namespace

// Arguments: names of tables, without any: all tables; or --tables, which prints the names.
int main(int count, char** names) {
  if (count == 2 && !strcmp(names[1], "--tables")) {
    for (const Kernels* table : available()) puts(table->name);
    return 0;
  }
  arguments = {count, names};
  run_in_thread([] { test_tables(arguments.first, arguments.second); });
  printf(failures ? "%d tests FAILED\n" : "all tests passed\n", failures);
  return failures != 0;
}
