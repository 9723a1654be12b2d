// Kernels of fused ops on the emulated device, against their definitions in float64.
#include "kernels/add-norm.h"
#include "kernels/permute-columns.h"
#include "kernels/qk-norm-rope.h"
#include "kernels/renormalise.h"
#include "test/arrays.h"

namespace quern::gpu {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int rows = 3;
constexpr int widths[] = {1, 33, 768};

// (x − mean) / √(mean((x − mean)²) + eps) · w + b of one row; without a mean: RMS norm.
void norm_wanted(double* x, int width, bool layer, double eps, const Floats& w, const Floats& b) {
  double sum = 0, squares = 0;
  for (int i = 0; layer && i < width; i++) sum += x[i];
  for (int i = 0; i < width; i++) x[i] -= sum / width, squares += x[i] * x[i];
  for (int i = 0; i < width; i++) x[i] = x[i] / sqrt(squares / width + eps) * w[size_t(i)] + (layer ? b[size_t(i)] : 0);
}

void add_norm_agrees(const char* name, bool layer, int width, float far) {
  Floats a = numbers(rows * width, 1), want_sum;
  const Floats b = numbers(rows * width, 2), w = numbers(width, 3), bias = numbers(width, 4);
  for (float& value : a) value += far;
  for (size_t i = 0; i < a.size(); i++) want_sum.push_back(a[i] + b[i]); // rounded, as the op defines it
  Doubles want(want_sum.begin(), want_sum.end());
  for (int row = 0; row < rows; row++) norm_wanted(&want[size_t(row) * width], width, layer, 1e-5f, w, bias);
  const Array<float> left(a), right(b), weight(w), shift(bias), sum(a.size()), y(a.size());
  const AddNorm args{left.global(), right.global(), weight.global(), shift.global(), sum.global(), y.global(), width, 1e-5f};
  for (const int threads : {32, 256})
    launched(name, rows, threads, args, [&] {
      equal(name, sum.values(), want_sum);
      close(name, y.values(), 2e-6, 2e-6, [&](int64_t i) { return want[size_t(i)]; });
    });
}

void add_norms_agree() {
  for (const int width : widths)
    for (const float far : {0.f, 500.f}) {
      add_norm_agrees("add_rms_norm", false, width, far);
      add_norm_agrees("add_layer_norm", true, width, far);
    }
}

struct Heads {
  int heads, d, half;
  bool halves;
};

// x: [rows, heads, d], each head normed if there is a w, then its first 2 · half elements rotated by the row's angles.
Doubles rotated(const Floats& x, const Heads& of, const Floats& w, const Floats& table) {
  Doubles y(x.begin(), x.end());
  for (size_t head = 0; head * of.d < y.size(); head++) {
    double* const values = &y[head * of.d];
    const float* const angles = table.data() + head / of.heads * 2 * of.half;
    if (!w.empty()) norm_wanted(values, of.d, false, 1e-6f, w, w);
    for (int i = 0; i < of.half; i++) {
      double &a = values[of.halves ? i : 2 * i], &b = values[of.halves ? i + of.half : 2 * i + 1];
      const double cos = angles[i], sin = angles[of.half + i], first = a * cos - b * sin;
      b = a * sin + b * cos, a = first;
    }
  }
  return y;
}

void qk_norm_rope_agrees_on(const Heads& queries, int key_heads, bool q_norm, bool k_norm) {
  const auto& [heads, d, half, halves] = queries;
  const Heads keys{key_heads, d, half, halves};
  const Floats q = numbers(rows * heads * d, 1), k = numbers(rows * key_heads * d, 2), table = numbers(rows * 2 * half, 3);
  const Floats q_w = numbers(q_norm ? d : 0, 4), k_w = numbers(k_norm ? d : 0, 5);
  const Doubles want_q = rotated(q, queries, q_w, table), want_k = rotated(k, keys, k_w, table);
  const Array<float> from_q(q), from_k(k), angles(table), q_weight(q_w), k_weight(k_w), to_q(q.size()), to_k(k.size());
  const Global<float> none;
  const QkNormRope args{from_q.global(), from_k.global(), q_norm ? q_weight.global() : none, k_norm ? k_weight.global() : none,
                        angles.global(), to_q.global(), to_k.global(), heads, key_heads, d, half, halves, 1e-6f};
  for (const int threads : {32, 256})
    launched("qk_norm_rope", rows, threads, args, [&] {
      close("qk_norm_rope: q", to_q.values(), 2e-6, 2e-6, [&](int64_t i) { return want_q[size_t(i)]; });
      close("qk_norm_rope: k", to_k.values(), 2e-6, 2e-6, [&](int64_t i) { return want_k[size_t(i)]; });
    });
}

void qk_norm_rope_agrees() {
  for (const bool halves : {true, false}) {
    qk_norm_rope_agrees_on({8, 64, 32, halves}, 2, true, true);
    qk_norm_rope_agrees_on({3, 80, 20, halves}, 3, true, false); // 40 elements behind the pairs
    qk_norm_rope_agrees_on({9, 6, 1, halves}, 1, false, true);
    qk_norm_rope_agrees_on({2, 128, 64, halves}, 1, false, false);
    qk_norm_rope_agrees_on({2, 33, 0, halves}, 1, true, true); // no pairs
  }
}

void renormalise_agrees() {
  for (const int width : widths) {
    Floats x = numbers(rows * width, 6);
    for (float& value : x) value = value * value + 1e-3f; // a softmax has no negative numbers
    for (int i = 0; i < width; i++) x[size_t(i)] *= 1e-20f;
    const auto wanted = [&](int64_t i) {
      double sum = 0;
      for (int k = 0; k < width; k++) sum += x[size_t(i) / width * width + k];
      return x[size_t(i)] / sum;
    };
    Array<float> y(x);
    for (const int threads : {32, 256})
      launched("renormalise", rows, threads, Renormalise{y.global(), width}, [&] {
        close("renormalise", y.values(), 0, 1e-6, wanted);
        y.write(x); // it works in place
      });
  }
}

void permute_columns_agrees() {
  for (const int width : widths) {
    const Floats x = numbers(rows * width, 7);
    std::vector<int> order;
    for (int p = 0; p < width; p++) order.push_back(int(int64_t(p) * 5 % width)); // 5 divides no width
    Floats want;
    for (size_t i = 0; i < x.size(); i++) want.push_back(x[i / width * width + order[i % width]]);
    const Array<float> from(x), y(x.size());
    const Array<int> places(order);
    launched("permute_columns", 2, 64, PermuteColumns{from.global(), places.global(), y.global(), long(x.size()), width},
             [&] { equal("permute_columns", y.values(), want); });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  Memory memory(1 << 26);
  device_memory() = &memory;
  add_norms_agree();
  qk_norm_rope_agrees();
  renormalise_agrees();
  permute_columns_agrees();
  return report("kernels of fused ops");
}
