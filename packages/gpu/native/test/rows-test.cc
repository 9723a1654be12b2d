// Kernels of rows and elements on the emulated device, against their definitions in float64.
#include "kernels/activations.h"
#include "kernels/cast.h"
#include "kernels/clamp.h"
#include "kernels/embed.h"
#include "kernels/gated.h"
#include "kernels/l2-normalise.h"
#include "kernels/layer-norm.h"
#include "kernels/log10.h"
#include "kernels/pool.h"
#include "kernels/scale.h"
#include "kernels/softmax.h"
#include "kernels/weighted-sum.h"
#include "test/arrays.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

using Floats = std::vector<float>;
using Halves = std::vector<unsigned short>;
using Ints = std::vector<int>;

constexpr int widths[] = {1, 33, 768};
constexpr int op = 7;

// count numbers of [−by, by), and at the end numbers at the edges.
Floats wide_numbers(int count, uint64_t seed, float by) {
  Floats x = numbers(count, seed);
  for (float& value : x) value *= by;
  const float edges[] = {0, -0.f, 1e-30f, -200, -90, -40, -9, 9, 40, 90, 200, -1e20f, 1e20f, -3e38f, 3e38f,
                         -INFINITY, INFINITY, NAN};
  x.insert(x.end(), std::begin(edges), std::end(edges));
  return x;
}

double silu_wanted(double x) { return x / (1 + ::exp(-x)); }
double gelu_erf_wanted(double x) { return 0.5 * x * (1 + ::erf(x * M_SQRT1_2)); }
double gelu_tanh_wanted(double x) { return 0.5 * x * (1 + ::tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

template <class F>
void activation_agrees(const char* name, double absolute, double relative, const F& wanted) {
  for (const int n : {0, 1, 33, 768}) {
    const Floats x = n == 0 ? Floats() : wide_numbers(n, 1, 10);
    const Array<float> from(x), to(x.size());
    const OneInput args{from.global(), to.global(), int64_t(x.size())};
    launched(name, 3, 64, args, [&] { close(name, to.values(), absolute, relative, [&](int64_t i) { return wanted(x[i]); }); });
  }
}

void activations_agree() {
  activation_agrees("silu", 1e-6, 2e-6, silu_wanted);
  activation_agrees("gelu_erf", 2e-6, 2e-6, gelu_erf_wanted);
  activation_agrees("gelu_tanh", 2e-6, 2e-6, gelu_tanh_wanted);
  activation_agrees("tanh_op", 1e-7, 2e-6, [](double x) { return ::tanh(x); });
}

template <class F>
void gated_agrees(const char* name, const F& wanted) {
  for (const int n : widths) {
    const Floats gate = wide_numbers(n, 1, 10), up = numbers(int64_t(gate.size()), 2);
    const Array<float> left(gate), right(up), y(gate.size());
    const Gated args{left.global(), right.global(), y.global(), int64_t(gate.size())};
    launched(name, 3, 64, args,
             [&] { close(name, y.values(), 1e-6, 2e-6, [&](int64_t i) { return wanted(gate[i]) * up[i]; }); });
  }
}

// 1 + tanh(z) would lose digits here: the result is small, and `up` is not.
void geglu_keeps_digits() {
  const Floats gate{-3, -4, -5}, up{1000, 1000, 1000};
  const Array<float> left(gate), right(up), y(gate.size());
  launched("geglu", 1, 32, Gated{left.global(), right.global(), y.global(), 3}, [&] {
    close("geglu of small gates", y.values(), 1e-6, 2e-6, [&](int64_t i) { return gelu_tanh_wanted(gate[i]) * up[i]; });
  });
}

void scale_and_log10_agree() {
  for (const int n : widths) {
    const Floats x = wide_numbers(n, 1, 10);
    const Array<float> from(x), to(x.size());
    launched("scale", 3, 64, Scale{from.global(), to.global(), int64_t(x.size()), 0.3f}, [&] {
      close("scale", to.values(), 0, 1e-7, [&](int64_t i) { return double(x[i]) * 0.3f; });
    });
    launched("clamp_op", 3, 64, Clamp{from.global(), to.global(), int64_t(x.size()), -2.f, INFINITY}, [&] {
      close("clamp", to.values(), 0, 0, [&](int64_t i) { return isnan(x[i]) ? NAN : fmax(x[i], -2.f); });
    });
    for (const float floor : {0.f, 1e-10f, 0.5f})
      launched("log10_op", 3, 64, Log10{from.global(), to.global(), int64_t(x.size()), floor}, [&] {
        close("log10", to.values(), 1e-6, 1e-6, [&](int64_t i) { return isnan(x[i]) ? NAN : ::log10(fmax(x[i], floor)); });
      });
  }
}

Halves all_halves() {
  Halves all(65536);
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<unsigned short>(i);
  return all;
}

// Of every half, also NaN and infinities.
void recodes(const char* name, float (*value)(unsigned short), unsigned short (*rounded)(float)) {
  const Halves x = all_halves();
  const Array<unsigned short> from(x), to(x.size());
  launched(name, 5, 64, Recode{from.global(), to.global(), int64_t(x.size())}, [&] {
    const Halves got = to.values();
    size_t wrong = 0;
    for (size_t i = 0; i < x.size(); i++) wrong += got[i] != rounded(value(x[i]));
    check(wrong == 0, "%s: %zu wrong", name, wrong);
  });
}

void widens(const char* name, float (*value)(unsigned short)) {
  const Halves x = all_halves();
  const Array<unsigned short> from(x);
  const Array<float> to(x.size());
  launched(name, 5, 64, Widen{from.global(), to.global(), int64_t(x.size())},
           [&] { close(name, to.values(), 0, 0, [&](int64_t i) { return value(x[i]); }); });
}

void narrows(const char* name, unsigned short (*rounded)(float)) {
  Floats x = wide_numbers(768, 1, 7e4f);
  for (const float tiny : {1e-7f, -3e-8f, 0x1p-25f, 6e-5f, 65519.f, 65520.f, 1e-40f}) x.push_back(tiny);
  Halves want;
  for (const float value : x) want.push_back(rounded(value));
  const Array<float> from(x);
  const Array<unsigned short> to(x.size());
  launched(name, 3, 64, Narrow{from.global(), to.global(), int64_t(x.size())}, [&] { equal(name, to.values(), want); });
}

void casts_agree() {
  narrows("cast_f32_f16", to_f16);
  narrows("cast_f32_bf16", to_bf16);
  widens("cast_f16_f32", from_f16);
  widens("cast_bf16_f32", from_bf16);
  recodes("cast_f16_bf16", from_f16, to_bf16);
  recodes("cast_bf16_f16", from_bf16, to_f16);
}

Floats rows_of(const Floats& table, const Ints& ids, int width) {
  Floats rows;
  for (const int id : ids) rows.insert(rows.end(), &table[size_t(id) * width], &table[size_t(id) * width] + width);
  return rows;
}

template <class Format>
void looks_up(const char* name, const std::vector<typename Format::Stored>& table, const Floats& values, int rows, int width) {
  const Ints ids{0, rows - 1, rows - 1, 2};
  const Array<typename Format::Stored> from(table);
  const Array<int> chosen(ids), fault(Ints{0, 0});
  const Array<float> y(ids.size() * width);
  const Lookup<Dense<Format>> args{{from.global()}, chosen.global(), y.global(), rows, width, fault.global(), op};
  launched(name, int(ids.size()), 64, args, [&] {
    equal(name, y.values(), rows_of(values, ids, width));
    equal(name, fault.values(), Ints{0, 0});
  });
}

void lookups_agree() {
  constexpr int rows = 5;
  for (const int width : widths) {
    const Floats x = numbers(rows * width, 3);
    Halves f16, bf16;
    Floats of_f16, of_bf16;
    for (const float value : x) {
      of_f16.push_back(from_f16(f16.emplace_back(to_f16(value))));
      of_bf16.push_back(from_bf16(bf16.emplace_back(to_bf16(value))));
    }
    looks_up<F32>("embed_f32", x, x, rows, width);
    looks_up<F16>("embed_f16", f16, of_f16, rows, width);
    looks_up<Bf16>("embed_bf16", bf16, of_bf16, rows, width);
    looks_up<F32>("gather_rows", x, x, rows, width);
  }
}

// Other rows are still right; what is at the bad index is not read.
template <class Format>
void finds_bad_ids(const char* name) {
  constexpr int rows = 5, width = 33;
  for (const int bad : {-1, rows, 1 << 30, INT32_MIN}) {
    const Array<typename Format::Stored> table(std::vector<typename Format::Stored>(rows * width));
    const Array<int> ids(Ints{bad, 1}), fault(Ints{0, 0});
    const Array<float> y(Floats(2 * width, 1.f));
    const Lookup<Dense<Format>> args{{table.global()}, ids.global(), y.global(), rows, width, fault.global(), op};
    launched(name, 2, 64, args, [&] {
      equal(name, fault.values(), Ints{op, OUT_OF_RANGE});
      close(name, y.values(), 0, 0, [](int64_t i) { return i < width ? 1 : 0; });
    });
  }
}

void bad_ids_are_found() {
  finds_bad_ids<F32>("embed_f32");
  finds_bad_ids<F16>("embed_f16");
  finds_bad_ids<Bf16>("embed_bf16");
  finds_bad_ids<F32>("gather_rows");
}

// One wanted row: f(x, y) writes y from x.
using Row = void (*)(const float* x, double* y, int width);

std::vector<double> wanted_rows(const Floats& x, int width, Row f) {
  std::vector<double> y(x.size());
  for (size_t first = 0; first < x.size(); first += size_t(width)) f(&x[first], &y[first], width);
  return y;
}

// Args: x, y, width.
template <class Args>
void rows_agree(const char* name, const Floats& x, int width, double absolute, double relative, Row f) {
  const std::vector<double> want = wanted_rows(x, width, f);
  const Array<float> from(x), to(x.size());
  for (const int threads : {32, 256, 1024})
    launched(name, int(x.size()) / width, threads, Args{from.global(), to.global(), width},
             [&] { close(name, to.values(), absolute, relative, [&](int64_t i) { return want[i]; }); });
}

// Rows of `width` numbers times 1, 30, 1e−30 and 1e30, a row of zeros, and rows with NaN, +∞, and −∞ alone.
Floats rows_with_edges(int width) {
  Floats x = numbers(8 * int64_t(width), 5);
  const float factors[] = {1, 30, 1e-30f, 1e30f, 0, 1, 1, -INFINITY};
  for (size_t i = 0; i < x.size(); i++) x[i] = i / width == 7 ? -INFINITY : x[i] * factors[i / width];
  x[size_t(5) * width + width / 2] = NAN;
  x[size_t(6) * width + width / 2] = INFINITY;
  return x;
}

void softmax_wanted(const float* x, double* y, int width) {
  double highest = -HUGE_VAL, sum = 0;
  for (int i = 0; i < width; i++) highest = x[i] > highest || isnan(x[i]) ? x[i] : highest;
  for (int i = 0; i < width; i++) sum += exp(x[i] - highest);
  for (int i = 0; i < width; i++) y[i] = exp(x[i] - highest) / sum;
}

void l2_normalise_wanted(const float* x, double* y, int width) {
  double squares = 0;
  for (int i = 0; i < width; i++) squares += double(x[i]) * x[i];
  for (int i = 0; i < width; i++) y[i] = x[i] / (squares == 0 ? 1 : sqrt(squares));
}

void softmax_agrees() {
  for (const int width : widths) rows_agree<Softmax>("softmax", rows_with_edges(width), width, 1e-7, 1e-5, softmax_wanted);
  rows_agree<Softmax>("softmax", {1, -INFINITY, 2, -INFINITY}, 4, 1e-7, 1e-5, softmax_wanted);
  rows_agree<Softmax>("softmax", {1000, 999, -1000, 1000}, 4, 1e-7, 1e-5, softmax_wanted);
}

void l2_normalise_agrees() {
  for (const int width : widths)
    rows_agree<L2Normalise>("l2_normalise", rows_with_edges(width), width, 1e-7, 1e-6, l2_normalise_wanted);
}

// A row without elements is left alone.
void empty_rows_are_allowed() {
  const Array<float> none(0);
  const auto nothing = [] { check(true, "an empty row"); };
  launched("softmax", 2, 64, Softmax{none.global(), none.global(), 0}, nothing);
  launched("l2_normalise", 2, 64, L2Normalise{none.global(), none.global(), 0}, nothing);
  launched("layer_norm", 2, 64, LayerNorm{none.global(), none.global(), none.global(), none.global(), 0, 1e-5f}, nothing);
}

double layer_norm_wanted(const float* x, int width, int i, double eps, double w, double b) {
  double sum = 0, squares = 0;
  for (int k = 0; k < width; k++) sum += x[k];
  const double mean = sum / width;
  for (int k = 0; k < width; k++) squares += (x[k] - mean) * (x[k] - mean);
  return (x[i] - mean) / sqrt(squares / width + eps) * w + b;
}

void layer_norm_agrees_on(const Floats& x, int width, float eps) {
  const Floats w = numbers(width, 6), b = numbers(width, 7);
  const Array<float> input(x), weight(w), bias(b), output(x.size());
  const LayerNorm args{input.global(), weight.global(), bias.global(), output.global(), width, eps};
  std::vector<double> want(x.size());
  for (size_t i = 0; i < x.size(); i++)
    want[i] = layer_norm_wanted(&x[i / width * width], width, int(i) % width, eps, w[i % width], b[i % width]);
  for (const int threads : {32, 1024})
    launched("layer_norm", int(x.size()) / width, threads, args,
             [&] { close("layer_norm", output.values(), 2e-6, 2e-6, [&](int64_t i) { return want[i]; }); });
}

void layer_norm_agrees() {
  for (const int width : widths) {
    layer_norm_agrees_on(numbers(3 * width, 5), width, 1e-5f);
    Floats far = numbers(3 * width, 5), outlier = numbers(3 * width, 6), edges = numbers(3 * width, 7);
    for (float& value : far) value = value * 2 + 500;
    layer_norm_agrees_on(far, width, 1e-12f);
    outlier[0] = 1e4f;
    layer_norm_agrees_on(outlier, width, 1e-12f);
    layer_norm_agrees_on(Floats(width, 0.1f), width, 1e-5f);
    edges[0] = NAN, edges[width] = INFINITY;
    layer_norm_agrees_on(edges, width, 1e-5f);
  }
}

void weighted_sum_agrees() {
  constexpr int rows = 3;
  for (const int width : widths)
    for (const int k : {0, 1, 9}) {
      Floats x = numbers(int64_t(rows) * k * width, 5);
      const Floats weights = numbers(rows * k, 6);
      if (k == 9) x[0] = NAN, x[width] = INFINITY;
      const Array<float> from(x), factors(weights), y(rows * width), residual(numbers(rows * width, 7));
      launched("weighted_sum", rows, 64, WeightedSum{from.global(), factors.global(), Global<const float>(), y.global(), k, width}, [&] {
        close("weighted_sum", y.values(), 3e-6, 0, [&](int64_t i) {
          double sum = 0;
          for (int j = 0; j < k; j++) sum += double(weights[i / width * k + j]) * x[(i / width * k + j) * width + i % width];
          return sum;
        });
      });
      const Floats sums = y.values(), rest = residual.values();
      Floats want;
      for (size_t i = 0; i < sums.size(); i++) want.push_back(rest[i] + sums[i]);
      launched<1>("weighted_sum", rows, 64, WeightedSum{from.global(), factors.global(), residual.global(), y.global(), k, width},
                  [&] { equal("weighted_sum with a residual", y.values(), want); });
    }
}

double pooled(const Floats& x, int width, int first, int end, int i, int by) {
  if (by != 1) return x[size_t(by == 0 ? first : end - 1) * width + i];
  double sum = 0;
  for (int t = first; t < end; t++) sum += x[size_t(t) * width + i];
  return sum / (end - first);
}

void pool_agrees_on(const Floats& x, int width, const Ints& bounds) {
  const int sequences = int(bounds.size()) - 1;
  const Array<float> from(x), y(size_t(sequences) * width);
  const Array<int> ends(bounds), fault(Ints{0, 0});
  for (const int by : {0, 1, 2}) {
    const Pool args{from.global(), ends.global(), y.global(), bounds.back(), width, by, fault.global(), op};
    launched("pool", sequences, 64, args, [&] {
      close("pool", y.values(), 1e-7, 1e-6, [&](int64_t i) {
        return pooled(x, width, bounds[i / width], bounds[i / width + 1], int(i % width), by);
      });
      equal("pool", fault.values(), Ints{0, 0});
    });
  }
}

void pool_agrees() {
  for (const int width : widths) {
    Floats x = numbers(12 * width, 5);
    pool_agrees_on(x, width, {0, 4, 5, 12});
    x[0] = NAN, x[size_t(width) * 5] = INFINITY;
    pool_agrees_on(x, width, {0, 4, 5, 12});
  }
  pool_agrees_on(Floats(20000, 0.1f), 1, {0, 20000}); // a plain f32 sum is 1e−4 away
}

void bad_bounds_are_found() {
  constexpr int rows = 12, width = 33;
  const Ints wrong[] = {{0, 13}, {0, 11}, {1, 12}, {-1, 12}, {0, 4, 4, 12}, {0, 5, 4, 12}, {0, 13, 14, 12},
                        {0, 1 << 30, 12}, {0, -4, 12}};
  const Array<float> x(numbers(rows * width, 5));
  for (const Ints& bounds : wrong) {
    const int sequences = int(bounds.size()) - 1;
    const Array<float> y(size_t(sequences) * width);
    const Array<int> ends(bounds), fault(Ints{0, 0});
    launched("pool", sequences, 64, Pool{x.global(), ends.global(), y.global(), rows, width, 1, fault.global(), op},
             [&] { equal("pool, wrong bounds", fault.values(), Ints{op, OUT_OF_RANGE}); });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels of rows and elements", [] {
    activations_agree();
    gated_agrees("swiglu", silu_wanted);
    gated_agrees("geglu", gelu_tanh_wanted);
    geglu_keeps_digits();
    scale_and_log10_agree();
    casts_agree();
    lookups_agree();
    bad_ids_are_found();
    softmax_agrees();
    l2_normalise_agrees();
    empty_rows_are_allowed();
    layer_norm_agrees();
    weighted_sum_agrees();
    pool_agrees();
    bad_bounds_are_found();
  });
}
