// State of the query vectors: one vector per query head and row; heads of a row are adjacent.
#pragma once

namespace quern::QUERN_ISA {
namespace {

static_assert(LANES <= 16, "attend_scratch pads a head to 16 elements");

constexpr int64_t padded(int64_t d) { return (d + LANES - 1) / LANES * LANES; }

struct Queries { // of one kv head
  int32_t count, d;
  int64_t width; // of a row of y: d rounded up to whole registers
  float* q;      // [count, d]
  float* y;      // [count, width], not yet divided by `total`
  float* top;    // [count], running maximum of the scores
  float* total;  // [count], running sum of the weights
  float* shrink; // [count], factor for earlier sums after the maximum rose; 1 once applied
  float* rest;   // remaining scratch
};

// The queries of another head, from those of the first: all arrays are [heads, …]; `rest` has ATTEND_KEYS floats per query.
inline Queries of_head(const Queries& s, int32_t head) {
  const int64_t r = int64_t(head) * s.count;
  return {s.count, s.d, s.width, s.q + r * s.d, s.y + r * s.width, s.top + r, s.total + r, s.shrink + r, s.rest + r * ATTEND_KEYS};
}

// Sets up all heads; returns the queries of the first head.
inline Queries open_queries(const Attend& a) {
  const int32_t count = a.rows * a.group, all = a.heads * count;
  const int64_t width = padded(a.head_dim);
  float* y = a.scratch + int64_t(all) * a.head_dim;
  float* top = y + all * width;
  const Queries first = {count, a.head_dim, width, a.scratch, y, top, top + all, top + 2 * all, top + 3 * all};
  const int64_t row = int64_t(a.group) * a.head_dim;
  for (int32_t head = 0; head < a.heads; head++) {
    const float* from = a.q + head * row;
    float* q = of_head(first, head).q;
    for (int32_t t = 0; t < a.rows; t++)
      each(row, [&](int64_t i, auto... n) { store(q + t * row + i, load(from + t * a.row_stride + i, n...), n...); });
  }
  for (int64_t i = 0; i < all * width; i++) y[i] = 0;
  for (int32_t r = 0; r < all; r++) first.top[r] = -INF, first.total[r] = 0;
  return first;
}

// What a sink adds to the sum of a query's weights.
inline float sink_weight(float sink, float top) { return largest(exp(set(sink - (top == -INF ? 0 : top)))); }

inline void close_head(const Attend& a, const Queries& s, float* y, float* parts, const float* sinks) {
  for (int32_t r = 0; r < s.count; r++) {
    const float* sums = s.y + r * s.width;
    if (parts) {
      float* part = parts + r * attend_part(s.d);
      each(s.d, [&](int64_t i, auto... n) { store(part + i, load(sums + i, n...), n...); });
      part[s.d] = s.top[r], part[s.d + 1] = s.total[r];
    } else {
      const float sink = sinks ? sink_weight(sinks[r % a.group], s.top[r]) : 0;
      const Floats share = set(1 / (s.total[r] + sink)); // every row sees a key: total 0 means that all scores are -inf
      float* row = y + r / a.group * a.row_stride + r % a.group * s.d;
      each(s.d, [&](int64_t i, auto... n) { store(row + i, load(sums + i, n...) * share, n...); });
    }
  }
}

// Writes y, or this part of y.
inline void close_queries(const Attend& a, const Queries& first) {
  for (int32_t head = 0; head < a.heads; head++)
    close_head(a, of_head(first, head), a.y + head * int64_t(a.group) * first.d,
               a.part ? a.part + head * first.count * attend_part(first.d) : nullptr,
               a.sinks ? a.sinks + head * a.group : nullptr);
}

} // namespace
} // namespace quern::QUERN_ISA
