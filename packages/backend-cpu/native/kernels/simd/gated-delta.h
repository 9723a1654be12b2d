// The gated delta rule row by row (Yang et al. 2024, arXiv 2412.06464, equation 10). A tile of columns of S stays in the cache over
// all rows: memory is read and written once.
#pragma once
#include "inline.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int DELTA_REGISTERS = 4; // registers of a row of a tile
static_assert(DELTA_REGISTERS * LANES <= DELTA_COLUMNS);

// Memory that later calls read: `step` floats are prefetched per row of a tile, in order of memory. step 0: none.
struct DeltaAhead {
  const float* next;
  int64_t step;

  [[gnu::always_inline]] void fetch(int64_t i) const {
    for (int64_t line = 0; line < DELTA_REGISTERS * LANES / 2; line += 16) __builtin_prefetch(next + i * step + line);
  }
};

// Reads S into the tile [dk, N · LANES]; recalled = Sᵀ · k.
template <int N, class... Rest>
QUERN_INLINE void read_tile(const float* from, int64_t stride, const float* k, int64_t dk, float* tile, const DeltaAhead& ahead,
                            Floats (&recalled)[N], Rest... rest) {
#pragma GCC unroll 4
  for (int j = 0; j < N; j++) recalled[j] = set(0);
  for (int64_t i = 0; i < dk; i++, tile += N * LANES) {
    const Floats key = set(k[i]);
    ahead.fetch(i);
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
      const Floats s = from ? load(from + i * stride + j * LANES, rest...) : set(0);
      store(tile + j * LANES, s);
      recalled[j] = fma(key, s, recalled[j]);
    }
  }
}

// One row; next_k: k of the next row, or of the last again.
struct DeltaRow {
  const float *q, *k, *next_k;
  float decay;
};

// S ← decay · S + k · changeᵀ, from the tile to `to`; sums = Sᵀ · q, recalled = Sᵀ · next_k.
template <int N, class... Rest>
QUERN_INLINE void advance_tile(const DeltaRow& row, int64_t dk, const float* tile, float* to, int64_t stride, const DeltaAhead& ahead,
                               const Floats (&change)[N], Floats (&sums)[N], Floats (&recalled)[N], Rest... rest) {
  const float *const q = row.q, *const k = row.k, *const next_k = row.next_k;
  const Floats decay = set(row.decay);
#pragma GCC unroll 4
  for (int j = 0; j < N; j++) sums[j] = recalled[j] = set(0);
  for (int64_t i = 0; i < dk; i++, tile += N * LANES, to += stride) {
    const Floats query = set(q[i]), key = set(k[i]), next_key = set(next_k[i]);
    ahead.fetch(i);
#pragma GCC unroll 4
    for (int j = 0; j < N; j++) {
      const Floats s = fma(key, change[j], decay * load(tile + j * LANES));
      store(to + j * LANES, s, rest...);
      sums[j] = fma(query, s, sums[j]);
      recalled[j] = fma(next_key, s, recalled[j]);
    }
  }
}

// v and y of a row, before its turn: rows lie far apart, and a change waits for v.
template <int N>
QUERN_INLINE void prefetch_values(const float* v, const float* y) {
  for (int64_t line = 0; line < N * LANES; line += 16) {
    __builtin_prefetch(v + line);
    __builtin_prefetch(y + line, 1);
  }
}

// Row t of columns [at, at + N · LANES), or of the first `rest` of them. The last row prefetches `ahead`.
template <int N, class... Rest>
QUERN_INLINE void advance_row(const GatedDelta& a, int64_t t, int64_t at, const DeltaAhead& ahead, Floats (&recalled)[N], Rest... rest) {
  constexpr int64_t width = N * LANES;
  const float *const v = a.v + t * a.value_stride + at, *const k = a.k + t * a.key_stride, *const q = a.q + t * a.key_stride;
  float *const y = a.y + t * a.value_stride + at, *const tile = a.scratch;
  const float decay = a.decay[t * a.gate_stride], beta = a.beta[t * a.gate_stride];
  prefetch_values<N>(v + a.value_stride, y + a.value_stride);
  Floats change[N], sums[N];
#pragma GCC unroll 4
  for (int j = 0; j < N; j++) change[j] = set(beta) * (load(v + j * LANES, rest...) - set(decay) * recalled[j]);
  if (t + 1 < a.rows) advance_tile<N>({q, k, k + a.key_stride, decay}, a.dk, tile, tile, width, {tile, 0}, change, sums, recalled);
  else if (!a.to) advance_tile<N>({q, k, k, decay}, a.dk, tile, tile, width, ahead, change, sums, recalled);
  else advance_tile<N>({q, k, k, decay}, a.dk, tile, a.to + at, a.state_stride, ahead, change, sums, recalled, rest...);
#pragma GCC unroll 4
  for (int j = 0; j < N; j++) store(y + j * LANES, set(a.scale) * sums[j], rest...);
}

// Half of `ahead` is prefetched while S is read, half while it is written.
template <int N, class... Rest>
inline void advance_columns(const GatedDelta& a, int64_t at, Rest... rest) {
  DeltaAhead ahead{a.scratch, 0};
  if (a.ahead) ahead = {a.ahead + at * a.dk, N * LANES / 2};
  Floats recalled[N];
  read_tile<N>(a.from ? a.from + at : nullptr, a.state_stride, a.k, a.dk, a.scratch, ahead, recalled, rest...);
  ahead.next += ahead.step * a.dk;
  for (int64_t t = 0; t < a.rows; t++) advance_row<N>(a, t, at, ahead, recalled, rest...);
}

} // namespace

void gated_delta(const GatedDelta& a) {
  const int64_t whole = a.columns / LANES;
  int64_t at = 0;
  for (; at + DELTA_REGISTERS <= whole; at += DELTA_REGISTERS) advance_columns<DELTA_REGISTERS>(a, at * LANES);
  for (; at < whole; at++) advance_columns<1>(a, at * LANES);
  if (at * LANES < a.columns) advance_columns<1>(a, at * LANES, a.columns - at * LANES);
}

} // namespace quern::QUERN_ISA
