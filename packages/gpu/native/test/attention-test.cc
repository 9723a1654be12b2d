// Rotations, caches and attention on the emulated device, against their definitions in float64.
#include "kernels/kv-append.h"
#include "kernels/rope-table.h"
#include "kernels/rope.h"
#include "kernels/uncached-attention.h"
#include "test/attention-batches.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

void rope_table_agrees() {
  const std::vector<int> positions = {0, 1, 2, 4095, 100000, 131071, (1 << 24) + 1, 0x7fffffff, -5, -131071, -0x7fffffff - 1};
  std::vector<float> frequencies = {0, -0.5f, 3, 3e5f, 1e-20f, 1e-40f, 0x1.8p99f, 0x1.ep127f}; // exact products
  for (int i = 0; i < 32; i++) frequencies.push_back(float(pow(500000, -i / 32.0)));
  const int half = int(frequencies.size());
  const Array<int> at(positions);
  const Array<float> input(frequencies), table(positions.size() * size_t(2 * half));
  const RopeTable args{at.global(), input.global(), table.global(), half, 1.25f};
  launched("rope_table", int(positions.size()), 32, args, [&] {
    agrees("rope_table", table.values(), 1e-6, [&](int64_t i) {
      const double angle = double(positions[i / (2 * half)]) * frequencies[i % half];
      return 1.25 * (i % (2 * half) < half ? cos(angle) : sin(angle));
    });
  });
}

void rope_table_has_no_angle() {
  const Array<int> at(std::vector<int>{0, 3});
  const Array<float> input(std::vector<float>{INFINITY, NAN}), table(8);
  launched("rope_table", 2, 32, RopeTable{at.global(), input.global(), table.global(), 2, 1}, [&] {
    for (const float x : table.values()) check(x != x, "rope_table: %g is no NaN", x);
  });
}

void rope_agrees() {
  struct Shape { int heads, d, half; };
  for (const Shape shape : {Shape{1, 2, 1}, Shape{3, 20, 6}, Shape{2, 64, 32}})
    for (const int halves : {0, 1}) {
      constexpr int rows = 3;
      const auto [heads, d, half] = shape;
      const std::vector<float> x = numbers(rows * heads * d, 1), angles = numbers(rows * 2 * half, 2);
      const Array<float> input(x), table(angles), output(x.size());
      const auto rotated = [&](int64_t i) -> double {
        const int64_t e = i % d, row = i / d / heads;
        if (e >= 2 * half) return x[i];
        const int64_t pair = halves ? e % half : e / 2, other = halves ? (e < half ? half : -half) : (e % 2 ? -1 : 1);
        const double cos = angles[row * 2 * half + pair], sin = angles[row * 2 * half + half + pair];
        return x[i] * cos + (other > 0 ? -1 : 1) * x[i + other] * sin;
      };
      Rope args{input.global(), table.global(), output.global(), heads, d, half, halves};
      launched("rope", rows, 32, args, [&] { agrees("rope", output.values(), 1e-6, rotated); });
      args.y = input.global();
      launch(*find_kernel("rope"), rows, 32, &args, 0);
      agrees("rope in place", input.values(), 1e-6, rotated);
    }
}

void kv_append_agrees() {
  constexpr int heads = 2, places = 8;
  const std::vector<int> slots = {3, -1, 7, 3, 0}; // row 3 wins over row 0
  const int rows = int(slots.size());
  for (const Type type : types)
    for (const int d : {6, 33, 64}) {
      std::vector<float> k = numbers(rows * heads * d, 1), v = numbers(rows * heads * d, 2);
      for (int i = 0; i < d; i++) k[2 * heads * d + i] = 0, v[2 * heads * d + i] = 1e-45f * float(i % 3);
      v[4 * heads * d + 1] = INFINITY;
      for (int i = 0; i < d; i++) // ties of E4M3
        k[(4 * heads + 1) * d + i] = i == 0 ? 448 : float(e4m3_value(2 * i - 1) + e4m3_value(2 * i - 2)) / (i % 2 ? 2 : -2);
      HostCache keys(type, places, heads, d), values(type, places, heads, d);
      const Array<signed char> k_cache(keys.bytes), v_cache(values.bytes);
      for (int t = 0; t < rows; t++)
        for (int h = 0; slots[t] >= 0 && h < heads; h++) {
          keys.put(slots[t], h, &k[(t * heads + h) * d]);
          values.put(slots[t], h, &v[(t * heads + h) * d]);
        }
      const Array<float> from_k(k), from_v(v);
      const Array<int> at(slots), fault(std::vector<int>{0, 0});
      const KvAppend args{from_k.global(), from_v.global(), at.global(), k_cache.global(), v_cache.global(), heads, d, places,
                          fault.global(), op};
      launched((std::string("kv_append_") + names[type]).c_str(), rows, 64, args, [&] {
        HostCache got(type, places, heads, d);
        got.bytes = v_cache.values();
        const double odd = got.get(0, 0, 1);
        check(has_scales(type) ? isnan(odd) : odd == INFINITY, "kv_append %s: %g for an infinity", names[type], odd);
        if (has_scales(type)) memset(got.head(0, 0) + d, 0, 4), memset(values.head(0, 0) + d, 0, 4); // NaN has many forms
        check(k_cache.values() == keys.bytes && got.bytes == values.bytes, "kv_append %s, heads of %d", names[type], d);
        check(fault.values()[0] == 0, "kv_append: a fault");
      });
    }
}

void kv_append_finds_bad_slots() {
  for (const int slot : {-2, 4}) {
    const std::vector<float> x = numbers(2 * 8, 1);
    HostCache keys(f32, 4, 1, 8);
    const Array<float> input(x);
    const Array<signed char> cache(keys.bytes);
    const Array<int> at(std::vector<int>{slot, 1}), fault(std::vector<int>{0, 0});
    const KvAppend args{input.global(), input.global(), at.global(), cache.global(), cache.global(), 1, 8, 4, fault.global(), op};
    keys.put(1, 0, &x[8]);
    launch(*find_kernel("kv_append_f32"), 2, 32, &args, 0);
    check(fault.values() == std::vector<int>{op, 1} && cache.values() == keys.bytes, "kv_append: slot %d", slot);
  }
}

void attention_agrees() {
  int turn = 0;
  for (const int d : {32, 64, 80, 128})
    for (const int group : {1, 2, 4})
      for (const int size : {1, 16, 48}) {
        const int kv_heads = group == 4 ? 1 : 2;
        Cached(types[turn++ % 5], d, group * kv_heads, kv_heads, size, {}).agrees();
      }
  for (const Type type : types)
    for (const int d : {5, 200, 256}) Cached(type, d, 2, 1, 3, {}).agrees();
  for (const int group : {3, 5, 8, 12}) Cached(bf16, 64, group, 1, 16, {}).agrees();
  for (const Rule rule : {Rule{false, 0, 0}, Rule{true, 4, 0}, Rule{false, 7, 0}, Rule{true, 0, 0.5f}, Rule{true, 100, 2}})
    for (const Type type : {i8, e4m3}) Cached(type, 32, 2, 1, 16, rule).agrees();
}

void tiles_agree() {
  int turn = 0;
  for (const int d : {8, 64, 80, 128})
    for (const Type type : {f16, bf16, i8, e4m3}) {
      const int size = turn++ % 2 ? 16 : 48;
      if (d <= 64) Cached(type, d, 4, 2, size, {}, 3).agrees();
      else Cached(type, d, 4, 2, size, {}, 2).agrees(5e-5);
      Cached(type, d, 2, 1, size, {}, 1).agrees(0.02);
    }
  for (const Rule rule : {Rule{}, Rule{true, 20, 0}}) Cached(f16, 64, 2, 1, 16, rule, 3, long_batch).agrees();
  for (const Rule rule : {Rule{false, 0, 0}, Rule{true, 4, 0}, Rule{false, 7, 0}, Rule{true, 0, 0.5f}, Rule{true, 100, 2}})
    for (const Type type : {i8, e4m3}) Cached(type, 32, 2, 1, 16, rule, 3).agrees();
}

// A row has the same bits in a batch, alone with its sequence, and as the only row.
void rows_do_not_depend_on_others() {
  for (const Type type : {f32, i8}) {
    Cached all(type, 64, 4, 2, 16, {});
    all.parts = type == i8 ? 3 : 1;
    std::vector<float> y;
    all.run([&](const std::vector<float>& got) { y = got; });
    for (int s = 0; s < int(batch.size()); s++)
      for (const int rows : {1, batch[s].rows}) {
        if (batch[s].rows == 0) continue;
        const float* const want = &y[(all.bounds[s + 1] - rows) * 4 * 64];
        all.alone(s, rows).run([&](const std::vector<float>& got) {
          check(memcmp(got.data(), want, got.size() * 4) == 0, "attention: sequence %d depends on the others", s);
        });
      }
  }
}

// Each changes a batch; the kernel must say so and write nothing there.
void attention_finds_bad_batches() {
  void (*const faults[])(Cached&) = {
      [](Cached& b) { b.table[1] = 12; },     [](Cached& b) { b.table[0] = -1; },  [](Cached& b) { b.lengths[0] = 49; },
      [](Cached& b) { b.lengths[1] = 4; },    [](Cached& b) { b.lengths[3] = -1; }, [](Cached& b) { b.bounds[1] = -1000; },
      [](Cached& b) { b.bounds[2] = 0; },     [](Cached& b) { b.bounds[0] = 1; },  [](Cached& b) { b.bounds[4] = 8; },
  };
  for (const auto& change : faults)
    for (const int tile_parts : {0, 3}) {
      Cached wrong(tile_parts ? f16 : f32, 32, 1, 1, 16, {}, tile_parts);
      change(wrong);
      wrong.run([&](const std::vector<float>& y) { check(wrong.fault == op && y[0] == -7, "attention: fault %d", wrong.fault); });
    }
}

// Scores of −∞ weigh nothing; only of −∞, or one NaN, gives NaN.
void attention_without_finite_scores() {
  for (const int kind : {0, 1, 2}) {
    Cached odd(f32, 32, 1, 1, 48, {});
    odd.q.assign(odd.q.size(), 1);
    const std::vector<float> bad(32, kind == 2 ? NAN : -INFINITY);
    const int slot = odd.table[0] * 48;
    for (int key = 0; key < (kind == 1 ? 45 : 40); key++) odd.k.put(slot + key, 0, bad.data());
    const double want = kind == 0 ? odd.expected(3) : NAN;
    odd.run([&](const std::vector<float>& y) {
      check(kind == 0 ? fabs(y[3] - want) < 2e-6 : isnan(y[3]), "attention: %g, not %g", y[3], want);
    });
  }
}

struct Uncached {
  std::vector<int> bounds, key_bounds;
  int heads, kv_heads, d;
  Rule rule;
};

// tile_parts: of attention-tiles.h; 0: rows.
void uncached_agrees(const Uncached& u, int tile_parts = 0, double tolerance = 2e-6) {
  const int rows = u.bounds.back(), keys = u.key_bounds.back(), d = u.d, S = int(u.bounds.size()) - 1;
  const float scale = 2 / sqrtf(float(d));
  const std::vector<float> q = numbers(rows * u.heads * d, 1);
  const std::vector<float> k = numbers(keys * u.kv_heads * d, 2), v = numbers(keys * u.kv_heads * d, 3);
  const Array<float> queries(q), from_k(k), from_v(v), y(q.size());
  const Array<int> at(u.bounds), keys_at(u.key_bounds), fault(std::vector<int>{0, 0});
  const UncachedAttention args{queries.global(), from_k.global(), from_v.global(), at.global(), keys_at.global(), y.global(),
                               rows, keys, u.heads, u.kv_heads, d, S,
                               scale, u.rule.soft_cap, u.rule.causal, u.rule.window, fault.global(), op};
  const std::string of_tiles = "uncached_attention_tile_" + std::to_string(tile_parts) + (d <= 64 ? "_64" : "_128");
  const std::string name = tile_parts ? of_tiles : "uncached_attention";
  const int blocks = tile_parts ? (rows / QUERY_ROWS + S) * u.heads : rows * tiles_of_row(u.heads, u.kv_heads, d);
  launched<3>(name.c_str(), blocks, threads, args, [&] {
    agrees(name.c_str(), y.values(), tolerance, [&](int64_t i) {
      const int row = int(i / d / u.heads), head = int(i / d % u.heads) * u.kv_heads / u.heads;
      int s = 0;
      while (u.bounds[s + 1] <= row) s++;
      const int length = u.key_bounds[s + 1] - u.key_bounds[s];
      const auto at = [&](int key) { return ((u.key_bounds[s] + key) * u.kv_heads + head) * d; };
      return attended(&q[i / d * d], d, length - u.bounds[s + 1] + row, length, scale, u.rule,
                      [&](int key, int e) { return double(k[at(key) + e]); }, [&](int key) { return v[at(key) + i % d]; });
    });
    check(fault.values()[0] == 0, "%s: a fault", name.c_str());
  });
}

void uncached_attention_agrees() {
  uncached_agrees({{0, 1, 6, 6}, {0, 30, 36, 40}, 4, 2, 64, {}});
  uncached_agrees({{0, 5, 6}, {0, 2, 40}, 2, 1, 80, {false, 0, 0}});
  uncached_agrees({{0, 5, 6}, {0, 7, 21}, 2, 2, 32, {true, 3, 1}});
  uncached_agrees({{0, 4}, {0, 9}, 1, 1, 256, {false, 2, 0}});
}

// Sequences that end with a part of a tile, without rows, with fewer and with more keys than rows.
void uncached_tiles_agree() {
  const std::vector<int> bounds = {0, 70, 70, 71, 103}, as_many = bounds, others = {0, 33, 40, 41, 146};
  const Rule both_ways = {false, 0, 0};
  for (const int d : {8, 64}) uncached_agrees({bounds, others, 4, 2, d, both_ways}, 3, 3e-6);
  for (const int d : {72, 128}) uncached_agrees({bounds, others, 2, 1, d, both_ways}, 2, 5e-5);
  for (const int d : {64, 128}) uncached_agrees({bounds, others, 2, 2, d, both_ways}, 1, 0.02);
  for (const Rule rule : {Rule{}, Rule{true, 20, 0}, Rule{false, 7, 0}, Rule{false, 0, 2}})
    uncached_agrees({bounds, as_many, 2, 1, 32, rule}, 3, 3e-6);
}

void uncached_attention_finds_bad_batches() {
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
    for (const char* const name : {"uncached_attention", "uncached_attention_tile_3_64"}) {
      const int none[] = {0, 0};
      device_memory()->write(reinterpret_cast<uint8_t*>(fault.global().address()), none, sizeof none);
      launched(name, 2, threads, args, [&] {
        check(fault.values() == std::vector<int>{op, 1}, "%s: fault %d", name, fault.values()[0]);
      });
    }
  }
}

// The parts of an H100's launches: 132 processors, 4 blocks each and half a block per tile.
void keys_are_shared_among_processors() {
  const auto parts = [](int64_t keys, int64_t tiles) { return parts_of_keys(keys, tiles, 132 * 4 + tiles / 2); };
  check(parts(1024, 8) == 16, "%ld parts of 1024 keys, 8 tiles", parts(1024, 8));
  check(parts(32768, 8) == 66, "%ld parts of 32768 keys, 8 tiles", parts(32768, 8));
  check(parts(32768, 2048) == 1 && parts(1, 1) == 1 && parts(0, 8) == 1, "parts without need, or without keys");
  for (const int length : {1, 63, 64, 65, 1000, 1024, 32768})
    for (const int count : {1, 3, 16, 66}) {
      int end = 5;
      for (int part = 0; part < count; part++) {
        const KeyRange range = keys_of_part({5, 5 + length}, part, count, LEAST_KEYS);
        check(range.first == end && range.end >= end, "part %d of %d begins at %d, not %d", part, count, range.first, end);
        check(range.end - range.first >= LEAST_KEYS || range.end == 5 + length, "part %d of %d has few keys", part, count);
        const bool is_filled = part < filled_parts({5, 5 + length}, count, LEAST_KEYS);
        check(count == 1 || is_filled == (range.end > range.first), "part %d of %d, %d keys: filled %d", part, count, length, is_filled);
        end = range.end;
      }
      check(end == 5 + length, "%d parts end at %d of %d", count, end, 5 + length);
    }
}

// Causal prompts: the blocks that start first have the tiles with the most keys.
void longest_tiles_come_first() {
  constexpr int heads = 3, tiles = 4, blocks = heads * tiles;
  for (int block = 0; block < blocks; block++)
    check(tile_of_block(block, blocks, heads) == tiles - 1 - block / heads, "tile of block %d", block);
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("attention on the emulated device", [] {
    rope_table_agrees();
    rope_table_has_no_angle();
    rope_agrees();
    kv_append_agrees();
    kv_append_finds_bad_slots();
    attention_agrees();
    tiles_agree();
    rows_do_not_depend_on_others();
    attention_finds_bad_batches();
    attention_without_finite_scores();
    uncached_attention_agrees();
    uncached_tiles_agree();
    uncached_attention_finds_bad_batches();
    keys_are_shared_among_processors();
    longest_tiles_come_first();
  }, 1 << 28);
}
