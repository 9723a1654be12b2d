// Memory of attention in tiles, and the queries as lines of products.h.
#pragma once
#include "halves.h"
#include "products.h"

namespace quern::amx {
namespace {

constexpr float LOG2_E = 1.44269504088896340736f, LN_2 = 0.693147180559945309417f;
constexpr int32_t ROWS = 2 * TILE_LINES; // queries of a step
constexpr int32_t SCORES = ATTEND_KEYS + 16; // floats of a row of scores

// Memory of a call. Queries are padded to whole tiles. Scores are exponents of 2.
struct Tiled {
  Queries queries;       // q [count, depth]: the lines of products.h, times `factor`
  uint8_t *keys, *values; // panels: tiles [16 keys][depth], [STEP keys][columns]
  float* scores[2];      // [ROWS, SCORES]: of the tile that is being weighed, of the next tile
  float *key_scales, *value_scales; // [ATTEND_KEYS], int8 caches
  int64_t depth, columns; // of a head: STEPs, registers
  float factor;           // of dot products
};

inline int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

inline Tiled divide_scratch(const Attend& a) {
  const int32_t count = a.rows * a.group;
  const int64_t depth = rounded_up(a.head_dim, STEP) / STEP, width = padded(a.head_dim), rows = rounded_up(count, TILE_LINES);
  auto* next = reinterpret_cast<float*>(rounded_up(int64_t(a.scratch), TILE_LINE));
  const auto take = [&](int64_t floats) { return (next += floats) - floats; };
  float* const q = take(rows * depth * STEP);
  float* const y = take(rows * width);
  float* const top = take(rows);
  float* const total = take(rows);
  const Queries queries = {count, a.head_dim, width, q, y, top, total, take(rows), nullptr};
  auto* const keys = reinterpret_cast<uint8_t*>(take(ATTEND_KEYS * depth * STEP));
  auto* const values = reinterpret_cast<uint8_t*>(take(ATTEND_KEYS * width));
  float* const scores = take(ROWS * SCORES);
  float* const next_scores = take(ROWS * SCORES);
  float* const key_scales = take(ATTEND_KEYS);
  return {queries, keys, values, {scores, next_scores}, key_scales, take(ATTEND_KEYS), depth, width / LANES, a.scale * LOG2_E};
}

// The first n elements from p on, then zeros.
template <class T>
inline Floats elements_or_zero(const T* p, int64_t n) {
  return n >= LANES ? load(p) : n > 0 ? load(p, n) : set(0);
}

inline void store_line(uint8_t* to, __m512i line) { _mm512_store_si512(to, line); }

inline void split_query(const Attend& a, const Tiled& m, int32_t r) {
  const float* const q = a.q + r / a.group * a.row_stride + r % a.group * int64_t{a.head_dim};
  auto* lines = reinterpret_cast<uint8_t*>(m.queries.q + r * m.depth * STEP);
  const Floats factor = set(m.factor);
  for (int64_t at = 0; at < a.head_dim; at += STEP, lines += 2 * TILE_LINE) {
    const Floats first = elements_or_zero(q + at, a.head_dim - at), second = elements_or_zero(q + at + LANES, a.head_dim - at - LANES);
    const Halves halves(quiet(first * factor), quiet(second * factor));
    store_line(lines, halves.high);
    store_line(lines + TILE_LINE, halves.low);
  }
}

inline void clear(float* p, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) store(p + i, set(0));
}

inline Tiled open_tiled(const Attend& a) {
  const Tiled m = divide_scratch(a);
  const Queries& s = m.queries;
  const int64_t rows = rounded_up(s.count, TILE_LINES);
  clear(s.q + s.count * m.depth * STEP, (rows - s.count) * m.depth * STEP);
  clear(s.y, rows * s.width);
  for (int32_t r = 0; r < s.count; r++) {
    split_query(a, m, r);
    s.top[r] = -INF, s.total[r] = 0;
  }
  return m;
}

} // namespace
} // namespace quern::amx
