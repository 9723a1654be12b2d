// Kernels of fused ops on the emulated device, against their definitions in float64.
#include "kernels/add-norm.h"
#include "kernels/permute-columns.h"
#include "kernels/qk-norm-rope.h"
#include "kernels/renormalise.h"
#include "test/arrays.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr int rows = 3;
constexpr int widths[] = {1, 33, 768, 770}; // rows that a block holds, and longer ones; of fours, and odd ones

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

// The bits of a row do not depend on where it lies: fours are loaded at once, or one by one.
void places_do_not_matter() {
  constexpr int width = 768, elsewhere = 1; // an element behind an address of 16 bytes
  const Floats a = numbers(width, 1), b = numbers(width, 2), w = numbers(width, 3), bias = numbers(width, 4);
  const Array<float> right(b), weight(w), shift(bias), sum(width), y(width), there(width + elsewhere);
  Floats moved(elsewhere);
  moved.insert(moved.end(), a.begin(), a.end());
  const Array<float> left(a), apart(moved);
  for (const char* const name : {"add_rms_norm", "add_layer_norm"}) {
    AddNorm args{left.global(), right.global(), weight.global(), shift.global(), sum.global(), y.global(), width, 1e-5f};
    launched<1>(name, 1, 64, args, [] {});
    const Floats want = y.values(), want_sum = sum.values();
    args.a = apart.global() + elsewhere, args.y = there.global() + elsewhere;
    there.write(Floats(width + elsewhere));
    launched<1>(name, 1, 64, args, [] {});
    const Floats got = there.values();
    equal(name, Floats(got.begin() + elsewhere, got.end()), want);
    equal(name, sum.values(), want_sum);
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

// q, k and v of an op that norms, rotates and appends; the caches have more slots than rows.
struct Appended {
  static constexpr int slots = rows + 2, bytes_per_element = 4; // of a cache, at most, scales too
  const Heads queries;
  const int key_heads;
  const Floats q, k, v, table, q_w, k_w;
  const Array<float> from_q{q}, from_k{k}, from_v{v}, angles{table}, q_weight{q_w}, k_weight{k_w}, to_q{q.size()};
  const Array<Byte> k_cache{size()}, v_cache{size()};
  const Array<int> at, fault{std::vector<int>{0, 0}};

  Appended(const Heads& of, int key_heads, bool q_norm, bool k_norm, const std::vector<int>& slots_of_rows)
      : queries(of), key_heads(key_heads), q(numbers(rows * of.heads * of.d, 1)), k(numbers(rows * key_heads * of.d, 2)),
        v(numbers(rows * key_heads * of.d, 6)), table(numbers(rows * 2 * of.half, 3)), q_w(numbers(q_norm ? of.d : 0, 4)),
        k_w(numbers(k_norm ? of.d : 0, 5)), at(slots_of_rows) {}

  size_t size() const { return size_t(slots * key_heads * (queries.d + 4) * bytes_per_element); }
  KvAppend append(Global<const float> keys) const {
    return {keys, from_v.global(), at.global(), k_cache.global(), v_cache.global(), key_heads, queries.d, slots, fault.global(), 7};
  }
  QkNormRope args() const {
    const Global<const float> none;
    return {from_q.global(), q_w.empty() ? none : Global<const float>(q_weight.global()),
            k_w.empty() ? none : Global<const float>(k_weight.global()), angles.global(), to_q.global(), rows, queries.heads,
            queries.half, queries.halves, 1e-6f, append(from_k.global())};
  }
  int blocks() const { return rows * rope_blocks(queries.heads, key_heads); }
  void clear() const {
    k_cache.write(std::vector<Byte>(size(), 0x55));
    v_cache.write(std::vector<Byte>(size(), 0x55));
    fault.write({0, 0});
  }
};

Floats floats_of(const Array<Byte>& cache, size_t count) {
  Floats x(count);
  memcpy(x.data(), cache.values().data(), count * 4);
  return x;
}

// In caches of floats, against float64.
void qk_norm_rope_agrees_on(const Heads& queries, int key_heads, bool q_norm, bool k_norm) {
  const std::vector<int> at{4, 1, 2};
  const Appended op(queries, key_heads, q_norm, k_norm, at);
  const Doubles want_q = rotated(op.q, queries, op.q_w, op.table),
                want_k = rotated(op.k, {key_heads, queries.d, queries.half, queries.halves}, op.k_w, op.table);
  op.clear();
  launched("qk_norm_rope_append_f32", op.blocks(), ROPE_WARPS * WARP, op.args(), [&] {
    close("qk_norm_rope_append: q", op.to_q.values(), 2e-6, 2e-6, [&](int64_t i) { return want_q[size_t(i)]; });
    const size_t row = size_t(key_heads * queries.d);
    const Floats keys = floats_of(op.k_cache, Appended::slots * row), values = floats_of(op.v_cache, Appended::slots * row);
    for (int t = 0; t < rows; t++) {
      const size_t slot = size_t(at[size_t(t)]) * row, from = size_t(t) * row;
      close("qk_norm_rope_append: k", Floats(&keys[slot], &keys[slot] + row), 2e-6, 2e-6, [&](int64_t i) { return want_k[from + size_t(i)]; });
      check(memcmp(&values[slot], &op.v[from], row * 4) == 0, "qk_norm_rope_append: v of row %d", t);
    }
    check(keys[0] == keys[3 * row], "qk_norm_rope_append: a slot of no row is written");
    check(op.fault.values()[0] == 0, "qk_norm_rope_append: a fault");
  });
}

// In every type of cache: the bytes of kv_append with the rotated keys. Slots that meet, and one that is left out.
void qk_norm_rope_appends(const char* kind) {
  const Heads queries{5, 40, 20, true};
  constexpr int key_heads = 3;
  const Appended plain(queries, key_heads, true, true, {0, 1, 2});
  launched<1>("qk_norm_rope_append_f32", plain.blocks(), ROPE_WARPS * WARP, plain.args(), [] {});
  const Array<float> keys(floats_of(plain.k_cache, rows * key_heads * 40));
  for (const std::vector<int>& at : {std::vector<int>{4, 0, 3}, {2, -1, 2}}) {
    const Appended op(queries, key_heads, true, true, at);
    op.clear();
    launched<1>((std::string("kv_append_") + kind).c_str(), rows, 64, op.append(keys.global()), [] {});
    const std::vector<Byte> k_want = op.k_cache.values(), v_want = op.v_cache.values();
    op.clear();
    launched((std::string("qk_norm_rope_append_") + kind).c_str(), op.blocks(), ROPE_WARPS * WARP, op.args(), [&] {
      equal(kind, op.k_cache.values(), k_want);
      equal(kind, op.v_cache.values(), v_want);
    });
  }
}

void qk_norm_rope_finds_bad_slots() {
  for (const int slot : {-2, Appended::slots}) {
    const Appended op({5, 40, 20, true}, 1, true, true, {0, slot, 1});
    op.clear();
    launched("qk_norm_rope_append_i8", op.blocks(), ROPE_WARPS * WARP, op.args(),
             [&] { check(op.fault.values() == std::vector<int>{7, OUT_OF_RANGE}, "qk_norm_rope_append: slot %d", slot); });
  }
}

void qk_norm_rope_agrees() {
  for (const bool halves : {true, false}) {
    qk_norm_rope_agrees_on({8, 64, 32, halves}, 2, true, true);
    qk_norm_rope_agrees_on({3, 80, 20, halves}, 3, true, false); // 40 elements behind the pairs
    qk_norm_rope_agrees_on({9, 6, 1, halves}, 1, false, true);
    qk_norm_rope_agrees_on({2, 128, 64, halves}, 1, false, false);
    qk_norm_rope_agrees_on({2, 33, 0, halves}, 1, true, true); // no pairs
    qk_norm_rope_agrees_on({1, 256, 128, halves}, 1, true, true);
  }
  for (const char* const kind : {"f32", "f16", "bf16", "i8", "e4m3"}) qk_norm_rope_appends(kind);
  qk_norm_rope_finds_bad_slots();
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
    launched("permute_columns", 2, 64, PermuteColumns{from.global(), places.global(), y.global(), int64_t(x.size()), width},
             [&] { equal("permute_columns", y.values(), want); });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels of fused ops", [] {
    add_norms_agree();
    places_do_not_matter();
    qk_norm_rope_agrees();
    renormalise_agrees();
    permute_columns_agrees();
  });
}
