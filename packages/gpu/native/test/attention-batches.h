// Caches and ragged batches for attention on the emulated device, and its definition in float64.
#pragma once
#include "kernels/attention.h"
#include "kernels/cuda/attention-group.h"
#include "kernels/cuda/attention-tiles.h"
#include "kernels/metal/attention-tiles.h"
#include "test/arrays.h"

namespace quern::gpu {
namespace {

constexpr int op = 7;

enum Type { f32, f16, bf16, i8, e4m3 };
constexpr Type types[] = {f32, f16, bf16, i8, e4m3};
const char* names[] = {"f32", "f16", "bf16", "i8", "e4m3"};
bool has_scales(Type type) { return type == i8 || type == e4m3; }

double e4m3_value(int bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  return (bits & 0x80 ? -1 : 1) * ldexp(exponent ? 8 + fraction : fraction, exponent ? exponent - 10 : -9);
}

// The nearest of all values; the even one of two.
signed char e4m3_of(double x) {
  int nearest = 0;
  for (int bits = 1; bits < 0x7f; bits++) {
    const double apart = fabs(e4m3_value(bits) - fabs(x)), before = fabs(e4m3_value(nearest) - fabs(x));
    if (apart < before || (apart == before && bits % 2 == 0)) nearest = bits;
  }
  return static_cast<signed char>(nearest | (signbit(x) ? 0x80 : 0));
}

// A cache [slots, heads, d] on the host.
struct HostCache {
  Type type;
  int64_t heads, d;
  std::vector<signed char> bytes;

  HostCache(Type type, int64_t slots, int64_t heads, int64_t d)
      : type(type), heads(heads), d(d), bytes(size_t(slots * heads * head_bytes())) {}
  int64_t head_bytes() const { return has_scales(type) ? d + 4 : type == f32 ? 4 * d : 2 * d; }
  signed char* head(int64_t slot, int64_t h) { return bytes.data() + (slot * heads + h) * head_bytes(); }

  void put(int64_t slot, int64_t h, const float* x) {
    signed char* const to = head(slot, h);
    float top = 0;
    for (int64_t i = 0; i < d; i++) top = isfinite(x[i]) ? fmaxf(top, fabsf(x[i])) : INFINITY;
    const float scale = top < INFINITY ? top / (type == i8 ? 127 : 448) : NAN;
    if (has_scales(type)) memcpy(to + d, &scale, 4);
    for (int64_t i = 0; i < d; i++) {
      const unsigned short half = type == f16 ? to_f16(x[i]) : to_bf16(x[i]);
      if (type == f32) memcpy(to + 4 * i, &x[i], 4);
      else if (type == i8) to[i] = scale > 0 ? static_cast<signed char>(fmaxf(-127, fminf(127, nearbyintf(x[i] / scale)))) : 0;
      else if (type == e4m3) to[i] = scale > 0 ? e4m3_of(x[i] / scale) : 0;
      else memcpy(to + 2 * i, &half, 2);
    }
  }
  double get(int64_t slot, int64_t h, int64_t i) {
    const signed char* const from = head(slot, h);
    float whole, scale;
    unsigned short half;
    memcpy(&whole, type == f32 ? from + 4 * i : from, 4);
    memcpy(&half, type == f32 || has_scales(type) ? from : from + 2 * i, 2);
    memcpy(&scale, has_scales(type) ? from + d : from, 4);
    if (type == e4m3) return e4m3_value(from[i] & 0xff) * scale;
    return type == f32 ? whole : type == f16 ? from_f16(half) : type == bf16 ? from_bf16(half) : double(from[i]) * scale;
  }
};

struct Rule {
  bool causal = true;
  int window = 0;
  float soft_cap = 0;
};

// An element of softmax(q · Kᵀ · scale) · V for a query at `position` of `length`.
template <class K, class V>
double attended(const float* q, int d, int position, int length, float scale, Rule rule, const K& k, const V& v) {
  double highest = -INFINITY, total = 0, sum = 0;
  std::vector<double> scores;
  const int first = rule.window > 0 && position >= rule.window ? position - rule.window + 1 : 0;
  for (int key = first; key < (rule.causal ? position + 1 : length); key++) {
    double score = 0;
    for (int i = 0; i < d; i++) score += q[i] * k(key, i);
    score *= scale;
    if (rule.soft_cap > 0) score = rule.soft_cap * tanh(score / rule.soft_cap);
    scores.push_back(score);
    highest = fmax(highest, score);
  }
  for (size_t i = 0; i < scores.size(); i++) {
    total += exp(scores[i] - highest);
    sum += exp(scores[i] - highest) * v(first + int(i));
  }
  return sum / total;
}

struct Sequence {
  int rows, length;
};
const std::vector<Sequence> batch = {{1, 45}, {5, 23}, {0, 3}, {1, 1}};
const std::vector<Sequence> long_batch = {{70, 90}, {0, 0}, {3, 33}};
constexpr int threads = 128, least_keys = 16;

// Blocks of a row, without parts of its keys.
int tiles_of_row(int heads, int kv_heads, int d) {
  const int group = heads / kv_heads, most = block_heads(group, d);
  return (group + most - 1) / most * kv_heads;
}

// tile_parts of kernels/metal/attention-tiles.h; others are of kernels/cuda/attention-tiles.h.
constexpr int simdgroups = -1;
int rows_of_tile(int tile_parts) { return tile_parts == simdgroups ? int(FloatAttention<8>::rows) : QUERY_ROWS; }
std::string tile_kernel(const char* stem, int tile_parts, int d) {
  return stem + (tile_parts == simdgroups ? "" : std::to_string(tile_parts) + "_") + (d <= 64 ? "64" : "128");
}

// A batch over a cache whose blocks lie in reverse order, and what the kernel makes of it.
struct Cached {
  const Type type;
  const int d, heads, kv_heads, size, context, width = context / size;
  const Rule rule;
  const float scale = 3 / sqrtf(float(d));
  std::vector<Sequence> sequences;
  std::vector<int> bounds = {0}, lengths, table;
  HostCache k, v;
  std::vector<float> q;
  int blocks_of_cache = int(sequences.size()) * width, parts = 1, fault = 0;
  int tile_parts = 0;  // 0: rows
  bool packed = false, tile_per_row = false;  // attention-group.h

  Cached(Type type, int d, int heads, int kv_heads, int size, Rule rule, int tile_parts = 0, const std::vector<Sequence>& of = batch)
      : type(type), d(d), heads(heads), kv_heads(kv_heads), size(size), context(of[0].length <= 48 ? 48 : 96), rule(rule),
        sequences(of), k(cache(3)), v(cache(4)), tile_parts(tile_parts) {
    for (const Sequence& s : sequences) bounds.push_back(bounds.back() + s.rows), lengths.push_back(s.length);
    for (int s = 0; s < int(of.size()); s++)
      for (int b = 0; b < width; b++) table.push_back(b * size < lengths[s] ? int(of.size()) * width - 1 - (s * width + b) : -9);
    q = numbers(bounds.back() * heads * d, 5);
  }

  HostCache cache(uint64_t seed) const {
    const int slots = int(sequences.size()) * context;
    HostCache made(type, slots, kv_heads, d);
    const std::vector<float> x = numbers(slots * kv_heads * d, seed);
    for (int i = 0; i < slots * kv_heads; i++) made.put(i / kv_heads, i % kv_heads, &x[int64_t(i) * d]);
    return made;
  }

  // One sequence, of which only the last rows remain.
  Cached alone(int s, int rows) const {
    Cached one = *this;
    one.q.assign(q.begin() + (bounds[s + 1] - rows) * heads * d, q.begin() + bounds[s + 1] * heads * d);
    one.sequences = {{rows, lengths[s]}}, one.bounds = {0, rows}, one.lengths = {lengths[s]};
    one.table.assign(table.begin() + s * width, table.begin() + (s + 1) * width);
    return one;
  }

  double expected(int64_t i) {
    const int row = int(i / d / heads), head = int(i / d % heads) * kv_heads / heads;
    int s = 0;
    while (bounds[s + 1] <= row) s++;
    const auto slot = [&](int key) { return int64_t(table[s * width + key / size]) * size + key % size; };
    return attended(&q[i / d * d], d, lengths[s] - bounds[s + 1] + row, lengths[s], scale, rule,
                    [&](int key, int e) { return k.get(slot(key), head, e); },
                    [&](int key) { return v.get(slot(key), head, i % d); });
  }

  // body(y) after each launch.
  template <class F>
  void run(const F& body) {
    const Array<float> queries(q), y(std::vector<float>(q.size(), -7));
    const Array<signed char> keys(k.bytes), values(v.bytes);
    const Array<int> at(bounds), counts(lengths), block_table(table), faults(std::vector<int>{0, 0});
    const int rows = int(q.size()) / heads / d, S = int(lengths.size());
    const size_t results = q.size() / size_t(d);
    const Array<float> partial(std::vector<float>(size_t(parts) * results * size_t(d + 2), NAN)); // parts without keys are not read
    const Array<int> filled(results);
    const Attention args{queries.global(), keys.global(), values.global(), at.global(), counts.global(), block_table.global(),
                         y.global(), partial.global(), filled.global(), parts, least_keys, parts > 1, rows, heads, kv_heads, d, blocks_of_cache, size, S, width,
                         scale, rule.soft_cap, rule.causal, rule.window, faults.global(), op};
    const AttentionMerge merging{partial.global(), filled.global(), y.global(), {}, parts, d, heads, 0};
    const std::string of_tiles = tile_kernel("attention_tile_", tile_parts, d) + "_";
    const int tiles = rows / rows_of_tile(tile_parts) + S, blocks = tile_parts ? tiles * heads : rows * tiles_of_row(heads, kv_heads, d) * parts;
    if (packed) return run_packed(args, body, faults, y);
    launched(((tile_parts ? of_tiles : "attention_") + names[type]).c_str(), blocks, threads, args, [&] {
      fault = faults.values()[0];
      if (parts > 1 && fault == 0) launch(*find_kernel("attention_merge"), rows * heads, 64, &merging, 1);
      body(y.values());
    });
  }

  template <class F>
  void run_packed(const Attention& args, const F& body, const Array<int>& faults, const Array<float>& y) {
    const GroupAttention of_group{args, heads / kv_heads, tile_per_row};
    const int tiles = tile_per_row ? args.rows : args.rows * (heads / kv_heads) / PACKED + args.sequences;
    const std::string name = std::string("attention_group_") + (d <= 64 ? "64_" : "128_") + names[type];
    const int warps = d > 64 && !has_scales(type) ? GROUP_WARPS_WIDE_HALVES : GROUP_WARPS;
    launched(name.c_str(), tiles * kv_heads * parts, warps * WARP, of_group, [&] {
      fault = faults.values()[0];
      const AttentionMerge merging{args.partial, args.filled, args.y, {}, parts, d, heads, 0};
      if (parts > 1 && fault == 0) launch(*find_kernel("attention_merge"), args.rows * heads, 64, &merging, 1);
      body(y.values());
    });
  }

  void agrees(double tolerance = 2e-6) {
    agrees_in(1, tolerance);
    if (!tile_parts) agrees_in(4, tolerance);
  }

  // With this many parts of the keys.
  void agrees_in(int count, double tolerance) {
    std::vector<double> want(q.size());
    for (size_t i = 0; i < want.size(); i++) want[i] = expected(int64_t(i));
    char name[99];
    snprintf(name, sizeof name, "attention %s, d %d, heads %d / %d, blocks of %d", names[type], d, heads, kv_heads, size);
    parts = count;
    run([&](const std::vector<float>& y) { gpu::agrees(name, y, tolerance, [&](int64_t i) { return want[i]; }); });
    check(fault == 0, "%s: a fault", name);
  }
};

} // namespace
} // namespace quern::gpu
