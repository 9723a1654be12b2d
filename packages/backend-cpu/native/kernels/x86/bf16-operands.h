// Operands of the products of bf16 rows: rows of x, and tiles of 16-bit weights as bf16 pairs.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t STEP = 2 * LANES; // depth of a tile along k
constexpr int64_t LINES = STEP / 2; // of a tile

// 16 columns of w, one step along k: line q holds k = 2q and 2q + 1 of each column.
struct alignas(64) Tile {
  float pairs[LINES][LANES];
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// Values [i, i + 16) of x [K], zeros beyond.
inline Floats values(const float* x, int64_t K, int64_t i) {
  return K - i >= LANES ? load(x + i) : K > i ? load(x + i, K - i) : set(0);
}

inline void round_row(const float* x, int64_t K, uint16_t* row) {
  for (int64_t i = 0; i < bf16_row_values(K); i += 2 * LANES)
    _mm512_storeu_si512(row + i, __m512i(_mm512_cvtne2ps_pbh(values(x, K, i + LANES), values(x, K, i))));
}

// The first n ≤ 32 words, zero-padded.
inline __m512i load_words(const uint16_t* p, int64_t n) {
  return _mm512_maskz_loadu_epi16(__mmask32((uint64_t(1) << n) - 1), p);
}

// A step of a row of w as bf16: n weights, zero-padded.
struct Bf16Weights {
  static Floats pairs(const uint16_t* w, int64_t n) { return _mm512_castsi512_ps(load_words(w, n)); }
};
struct F16Weights {
  static Floats pairs(const uint16_t* w, int64_t n) {
    const Floats low = load(w, least(n, LANES)), high = n > LANES ? load(w + LANES, n - LANES) : set(0);
    return Floats(_mm512_cvtne2ps_pbh(high, low)); // every f16 is normal or zero in f32
  }
};

// What F16Weights rounds away, exactly: weight − bf16(weight).
struct F16Rests {
  static Floats rest(Floats x) { return x - Floats(_mm512_cvtpbh_ps(_mm512_cvtneps_pbh(x))); }
  static Floats pairs(const uint16_t* w, int64_t n) {
    const Floats low = load(w, least(n, LANES)), high = n > LANES ? load(w + LANES, n - LANES) : set(0);
    return Floats(_mm512_cvtne2ps_pbh(rest(high), rest(low)));
  }
};

// Lines from `columns` on repeat the last line: their results are not used.
template <class Weights>
inline void fill_tile(const uint16_t* w, int64_t ldw, int64_t columns, int64_t n, Tile& tile) {
  Floats pairs[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) pairs[i] = Weights::pairs(w + least(i, columns - 1) * ldw, n);
  transpose(pairs);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) _mm512_store_ps(tile.pairs[i], pairs[i]);
}

} // namespace
} // namespace quern::QUERN_ISA
