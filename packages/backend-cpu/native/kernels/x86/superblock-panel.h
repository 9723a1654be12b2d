// Packed weights for the kernels of many rows: int8, one scale per row and 256 values along k. A line of a tile
// (packed/tiles.h) is 16 rows × 4 along k: one AVX-512 register; 16 lines, a span, are one AMX tile.
//
// A weight c · scale + addend, c an int8, becomes round(c · m + a), m = scale · 127 / (largest magnitude of the row's 256),
// in 16-bit integers with 8 fraction bits, modulo 2^16. Error ≤ 0.57 of a step (127 steps to the largest magnitude): 0.5
// for rounding, |c| / 512 for m. q8_0: m has 16 more bits.
#pragma once
#include "../simd/packed-formats.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t SUPERBLOCK_SPANS = SUPERBLOCK / SPAN;
constexpr int64_t LINES = SPAN / 4; // per span

// One column of registers: 16 rows of w = 16 columns of y.
struct PanelSpan {
  alignas(64) Line lines[LINES];
};

// Subtracted from an unpacked value to make an int8 around zero.
template <class F>
constexpr int centre = F::MAX == 0 ? 0 : F::OFFSET != NONE ? 1 << (F::OFFSET < 0 ? 0 : F::OFFSET) : (F::MAX + 1) / 2;

// Minimum, maximum int8 of each quad.
inline Ints least_of_quads(Bytes x) {
  x = _mm512_min_epi8(x, _mm512_srli_epi32(x, 16));
  x = _mm512_min_epi8(x, _mm512_srli_epi32(x, 8));
  return _mm512_srai_epi32(_mm512_slli_epi32(x, 24), 24);
}
inline Ints largest_of_quads(Bytes x) {
  x = _mm512_max_epi8(x, _mm512_srli_epi32(x, 16));
  x = _mm512_max_epi8(x, _mm512_srli_epi32(x, 8));
  return _mm512_srai_epi32(_mm512_slli_epi32(x, 24), 24);
}

struct Affine {
  Floats scale, addend;
};

// The low 16 bits of each integer, in both halves.
inline Bytes words_of(Ints x) { return _mm512_mask_blend_epi16(0xaaaaaaaa, x, _mm512_slli_epi32(x, 16)); }

// Writes block b of span s as int8 to `lines`. Returns the larger of `top` and its weights' magnitudes (as bits: NaN wins).
template <class F, int s, int b>
QUERN_INLINE Ints centre_block(const F& tile, Line* lines, Affine& affine, Ints top) {
  constexpr int quads = F::BLOCK / 4;
  Bytes q[quads];
  tile.template quads<s, b>(q);
  Bytes least = every_byte(127), most = every_byte(-128);
#pragma GCC unroll 8
  for (int i = 0; i < quads; i++) {
    const Bytes x = centre<F> == 0 ? q[i] : _mm512_sub_epi8(q[i], every_byte(centre<F>));
    least = _mm512_min_epi8(least, x);
    most = _mm512_max_epi8(most, x);
    _mm512_store_si512(lines[i], x);
  }
  affine.scale = tile.template scale<s, b>();
  affine.addend = set(0);
  if constexpr (F::MINS) affine.addend = fma(set(centre<F>), affine.scale, set(0) - tile.template minus_min<s, b>());
  const Floats low = fma(to_floats(least_of_quads(least)), affine.scale, affine.addend);
  const Floats high = fma(to_floats(largest_of_quads(most)), affine.scale, affine.addend);
  return largest_bits(top, largest_bits(magnitude_bits(low), magnitude_bits(high)));
}

// Rescales a block of int8 to the common scale, in place; to_steps = 1 / step. UNSIGNED: adds 128.
template <class F, bool UNSIGNED>
QUERN_INLINE void rescale_block(Line* lines, const Affine& affine, Floats to_steps) {
  const Floats exact = affine.scale * to_steps * set(256);
  const Ints whole = _mm512_cvtps_epi32(exact);
  const Ints rounded = _mm512_cvtps_epi32(fma(affine.addend * to_steps, set(256), set(128)));
  const Bytes m = words_of(whole), a = words_of(_mm512_add_epi32(rounded, _mm512_set1_epi32(UNSIGNED ? 128 * 256 : 0)));
  // The error of m, times 2^16; only q8_0 needs it.
  constexpr bool fine = F::MAX == 0;
  const Floats rest = min((exact - to_floats(whole)) * set(65536), set(32767));
  const Bytes m_rest = fine ? words_of(_mm512_cvtps_epi32(rest)) : no_ints();
  const auto times = [&](Bytes x) QUERN_INLINE_LAMBDA { // [32] int16
    const Bytes y = _mm512_add_epi16(_mm512_mullo_epi16(x, m), a);
    return fine ? _mm512_add_epi16(y, _mm512_mulhi_epi16(x, m_rest)) : y;
  };
#pragma GCC unroll 8
  for (int i = 0; i < F::BLOCK / 4; i++) {
    const Bytes x = _mm512_load_si512(lines[i]);
    const Bytes even = times(_mm512_srai_epi16(_mm512_slli_epi16(x, 8), 8)), odd = times(_mm512_srai_epi16(x, 8));
    _mm512_store_si512(lines[i], _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaa, _mm512_srli_epi16(even, 8), odd));
  }
}

// Whether the blocks share one scale per 256 weights (the mix int8), in all rows and `count` spans: the tiles then have a
// panel's contents. Writes the scale to `scale`. A half span at the end of K, padded with zeros, counts as another scale.
inline bool share_scales(const TileQ8_0* spans, int64_t count, Floats& scale) {
  scale = Q8_0(spans, 0).scale<0, 0>();
  const auto same = [&](Floats other) { return _mm512_cmp_ps_mask(other, scale, _CMP_EQ_OQ) == 0xffff; };
  for (int64_t s = 0; s < count; s++) {
    const Q8_0 span(spans + s, 0);
    if (!same(span.scale<0, 0>()) || !same(span.scale<0, 1>())) return false;
  }
  return _mm512_cmplt_epu32_mask(magnitude_bits(scale), _mm512_set1_epi32(0x7f800000)) == 0xffff; // finite
}

template <bool UNSIGNED>
inline void copy_spans(const TileQ8_0* spans, int64_t count, PanelSpan* panel, int64_t apart) {
  const Bytes offset = every_byte(UNSIGNED ? -128 : 0);
  for (int64_t s = 0; s < count; s++) {
    prefetch_ahead<Q8_0, 0, 1>(reinterpret_cast<const uint8_t*>(spans + s));
    for (int64_t line = 0; line < LINES; line++)
      _mm512_store_si512(panel[s * apart].lines[line], _mm512_xor_si512(rows_of(spans[s].q[line / 8][line % 8], 0), offset));
  }
}

template <class A, class B>
constexpr bool same_type = false; // <type_traits> would add weak symbols
template <class A>
constexpr bool same_type<A, A> = true;

// `count` spans (≤ 256 weights along k, from the start of a tile) of a row of tiles; span s → panel[s * apart].
template <class F, bool UNSIGNED>
void fill_panel(const uint8_t* tiles, int64_t count, PanelSpan* panel, int64_t apart, float* steps) {
  if constexpr (same_type<typename F::Tile, TileQ8_0>)
    if (Floats scale; share_scales(reinterpret_cast<const TileQ8_0*>(tiles), count, scale)) {
      copy_spans<UNSIGNED>(reinterpret_cast<const TileQ8_0*>(tiles), count, panel, apart);
      return store(steps, scale);
    }
  constexpr int blocks = SPAN / F::BLOCK;
  Affine affine[SUPERBLOCK_SPANS][blocks];
  Ints top = no_ints();
  for (int64_t span = 0; span < count; span += F::SPANS, tiles += sizeof(typename F::Tile)) {
    const F tile(tiles, 0);
    repeat<F::SPANS>([&](auto s) QUERN_INLINE_LAMBDA {
      repeat<blocks>([&](auto b) QUERN_INLINE_LAMBDA {
        prefetch_ahead<F, s.value * blocks + b.value, F::SPANS * blocks>(tiles);
        Line* const lines = panel[(span + s.value) * apart].lines + b.value * F::BLOCK / 4;
        top = centre_block<F, s.value, b.value>(tile, lines, affine[span + s.value][b.value], top);
      });
    });
  }
  const Floats largest = _mm512_castsi512_ps(top), nan = set(__builtin_nanf(""));
  const __mmask16 finite = _mm512_cmplt_epu32_mask(top, _mm512_set1_epi32(0x7f800000));
  const __mmask16 useful = finite & _mm512_cmp_ps_mask(largest, set(SMALLEST), _CMP_GE_OQ);
  const Floats to_steps = _mm512_maskz_div_ps(useful, set(127), largest);
  store(steps, _mm512_mask_mov_ps(nan, finite, _mm512_maskz_div_ps(useful, largest, set(127))));
  for (int64_t span = 0; span < count; span++)
    for (int b = 0; b < blocks; b++)
      rescale_block<F, UNSIGNED>(panel[span * apart].lines + b * F::BLOCK / 4, affine[span][b], to_steps);
}

} // namespace
} // namespace quern::QUERN_ISA
