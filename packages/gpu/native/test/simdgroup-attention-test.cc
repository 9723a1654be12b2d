// Attention on matrices of simdgroups (kernels/metal/attention-tiles.h), against its definition in float64.
#include "test/attention-batches.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

const Rule rules[] = {{}, {false, 0, 0}, {true, 20, 0}, {false, 7, 0}, {true, 0, 0.5f}, {true, 100, 2}};

void caches_agree() {
  int turn = 0;
  for (const int d : {8, 40, 64, 72, 128})
    for (const Type type : types) Cached(type, d, 4, 2, turn++ % 2 ? 16 : 48, {}, simdgroups).agrees();
  for (const Type type : types) Cached(type, 64, 2, 1, 16, {}, simdgroups, long_batch).agrees();
  Cached(f16, 128, 3, 1, 1, {}, simdgroups, long_batch).agrees();
  for (const Rule rule : rules)
    for (const Type type : {f32, i8, e4m3}) Cached(type, 32, 2, 1, 16, rule, simdgroups, long_batch).agrees();
}

// A row has the same bits in a batch and alone with its sequence.
void rows_do_not_depend_on_others() {
  for (const Type type : {f32, i8}) {
    const int heads = 4, d = 64;
    Cached all(type, d, heads, 2, 16, {}, simdgroups);
    std::vector<float> y;
    all.run([&](const std::vector<float>& got) { y = got; });
    for (int s = 0; s < int(batch.size()); s++) {
      if (batch[s].rows == 0) continue;
      const float* const want = &y[size_t(all.bounds[s]) * heads * d];
      all.alone(s, batch[s].rows).run([&](const std::vector<float>& got) {
        check(memcmp(got.data(), want, got.size() * 4) == 0, "tiles of simdgroups: sequence %d depends on the others", s);
      });
    }
  }
}

// Each changes a batch; the kernel must say so and write nothing there.
void bad_batches_are_flagged() {
  void (*const faults[])(Cached&) = {
      [](Cached& b) { b.table[1] = 12; },     [](Cached& b) { b.table[0] = -1; },   [](Cached& b) { b.lengths[0] = 49; },
      [](Cached& b) { b.lengths[1] = 4; },    [](Cached& b) { b.lengths[3] = -1; }, [](Cached& b) { b.bounds[1] = -1000; },
      [](Cached& b) { b.bounds[2] = 0; },     [](Cached& b) { b.bounds[0] = 1; },   [](Cached& b) { b.bounds[4] = 8; },
  };
  for (const auto& change : faults) {
    Cached wrong(f16, 32, 1, 1, 16, {}, simdgroups);
    change(wrong);
    wrong.run([&](const std::vector<float>& y) { check(wrong.fault == op && y[0] == -7, "tiles of simdgroups: fault %d", wrong.fault); });
  }
}

// Keys that no row sees may be anything.
void unseen_keys_do_not_matter() {
  Cached odd(f32, 64, 2, 1, 48, {}, simdgroups);
  const std::vector<float> bad(64, NAN);
  for (int s = 0; s < int(batch.size()); s++)
    for (int key = batch[s].length; key < 48; key++) {
      const int slot = odd.table[s * odd.width] * 48 + key;
      odd.k.put(slot, 0, bad.data()), odd.v.put(slot, 0, bad.data());
    }
  odd.agrees();
}

struct Uncached {
  std::vector<int> bounds, key_bounds;
  int heads, kv_heads, d;
  Rule rule;
};

void uncached_agrees(const Uncached& u) {
  const int rows = u.bounds.back(), keys = u.key_bounds.back(), d = u.d, S = int(u.bounds.size()) - 1;
  const float scale = 2 / sqrtf(float(d));
  const std::vector<float> q = numbers(rows * u.heads * d, 1);
  const std::vector<float> k = numbers(keys * u.kv_heads * d, 2), v = numbers(keys * u.kv_heads * d, 3);
  const Array<float> queries(q), from_k(k), from_v(v), y(q.size());
  const Array<int> at(u.bounds), keys_at(u.key_bounds), fault(std::vector<int>{0, 0});
  const UncachedAttention args{queries.global(), from_k.global(), from_v.global(), at.global(), keys_at.global(), y.global(),
                               rows, keys, u.heads, u.kv_heads, d, S,
                               scale, u.rule.soft_cap, u.rule.causal, u.rule.window, fault.global(), op};
  const std::string name = tile_kernel("uncached_attention_tile_", simdgroups, d);
  launched<3>(name.c_str(), (rows / rows_of_tile(simdgroups) + S) * u.heads, threads, args, [&] {
    agrees(name.c_str(), y.values(), 3e-6, [&](int64_t i) {
      const int row = int(i / d / u.heads), head = int(i / d % u.heads) * u.kv_heads / u.heads;
      int s = 0;
      while (u.bounds[s + 1] <= row) s++;
      const int length = u.key_bounds[s + 1] - u.key_bounds[s];
      const auto place = [&](int key) { return ((u.key_bounds[s] + key) * u.kv_heads + head) * d; };
      return attended(&q[i / d * d], d, length - u.bounds[s + 1] + row, length, scale, u.rule,
                      [&](int key, int e) { return double(k[place(key) + e]); }, [&](int key) { return v[place(key) + i % d]; });
    });
    check(fault.values()[0] == 0, "%s: a fault", name.c_str());
  });
}

// Sequences that end with a part of a tile, without rows, with fewer and with more keys than rows.
void uncached_tiles_agree() {
  const std::vector<int> bounds = {0, 70, 70, 71, 103}, as_many = bounds, others = {0, 33, 40, 41, 146};
  for (const int d : {8, 64, 72, 128}) uncached_agrees({bounds, others, 4, 2, d, {false, 0, 0}});
  for (const Rule rule : rules) uncached_agrees({bounds, as_many, 2, 1, 32, rule});
}

void uncached_bad_batches_are_flagged() {
  struct Case { std::vector<int> bounds, key_bounds; bool causal; };
  const Case cases[] = {
      {{0, 3, 2}, {0, 2, 9}, false},  {{0, 1, 2}, {0, 10, 9}, false}, {{0, 1, 2}, {0, 2, 10}, false},
      {{0, 1, 2}, {0, 0, 9}, false},  {{0, 0, 2}, {0, 8, 9}, true},   {{1, 1, 2}, {0, 8, 9}, false},
  };
  for (const Case& u : cases) {
    const Array<float> q(numbers(2 * 8, 1)), k(numbers(9 * 8, 2)), y(2 * 8);
    const Array<int> at(u.bounds), keys_at(u.key_bounds), fault(std::vector<int>{0, 0});
    const UncachedAttention args{q.global(), k.global(), k.global(), at.global(), keys_at.global(), y.global(), 2, 9, 1, 1, 8, 2,
                                 1, 0, u.causal, 0, fault.global(), op};
    launched("uncached_attention_tile_64", 2, threads, args, [&] {
      check(fault.values() == std::vector<int>{op, 1}, "uncached_attention_tile_64: fault %d", fault.values()[0]);
    });
  }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("attention on matrices of simdgroups", [] {
    caches_agree();
    rows_do_not_depend_on_others();
    bad_batches_are_flagged();
    unseen_keys_do_not_matter();
    uncached_tiles_agree();
    uncached_bad_batches_are_flagged();
  }, 1 << 28);
}
