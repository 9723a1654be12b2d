// What attention keeps of its query vectors: each query head of each row is one, the heads of a row beside each other.
#pragma once

namespace quern::QUERN_ISA {
namespace {

static_assert(LANES <= 16, "attend_scratch pads a head to 16 elements");

constexpr int64_t padded(int64_t d) { return (d + LANES - 1) / LANES * LANES; }

struct Queries {
  int32_t count, d;
  int64_t width; // of a row of y: d padded to whole registers
  float* q;      // [count, d]
  float* y;      // [count, width], not yet divided by the total
  float* top;    // [count], running maximum of the scores
  float* total;  // [count], running sum of the weights
  float* shrink; // [count], what the last rise of the maximum scales earlier sums by; 1 once that is done
  float* rest;   // of the scratch
};

inline Queries open_queries(const Attend& a) {
  const int32_t count = a.rows * a.group;
  const int64_t width = padded(a.head_dim);
  float* y = a.scratch + int64_t(count) * a.head_dim;
  float* top = y + count * width;
  const Queries s = {count, a.head_dim, width, a.scratch, y, top, top + count, top + 2 * count, top + 3 * count};
  const int64_t row = int64_t(a.group) * a.head_dim;
  for (int32_t t = 0; t < a.rows; t++)
    each(row, [&](int64_t i, auto... n) { store(s.q + t * row + i, load(a.q + t * a.row_stride + i, n...), n...); });
  for (int64_t i = 0; i < count * width; i++) y[i] = 0;
  for (int32_t r = 0; r < count; r++) s.top[r] = -INF, s.total[r] = 0;
  return s;
}

// Writes y, or this part of it.
inline void close_queries(const Attend& a, const Queries& s) {
  for (int32_t r = 0; r < s.count; r++) {
    const float* sums = s.y + r * s.width;
    if (a.part) {
      float* part = a.part + r * attend_part(s.d);
      each(s.d, [&](int64_t i, auto... n) { store(part + i, load(sums + i, n...), n...); });
      part[s.d] = s.top[r], part[s.d + 1] = s.total[r];
    } else {
      float* y = a.y + r / a.group * a.row_stride + r % a.group * s.d;
      scale(sums, s.total[r] == 0 ? 0 : 1 / s.total[r], y, s.d);
    }
  }
}

} // namespace
} // namespace quern::QUERN_ISA
