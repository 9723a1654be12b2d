// Products of bf16 rows of x with packed weights on AMX: weights are rounded to bf16 (nearest; ties away from zero), one panel at a
// time; the panel stays in the L1 cache while all rows of x pass.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "../../simd/packed-formats.h"
#include "bf16-tiles.h"
#include "halves.h"

namespace quern::amx {
namespace {

// A byte of each lane as the float 256 + byte: the byte becomes the upper bits of the mantissa.
template <int byte>
QUERN_INLINE Floats byte_above_256(Bytes x) {
  constexpr int shift = 15 - 8 * byte;
  const Bytes moved = shift > 0 ? _mm512_slli_epi32(x, shift > 0 ? shift : 0) : _mm512_srli_epi32(x, shift < 0 ? -shift : 0);
  const Bytes mantissa = _mm512_set1_epi32(0xff << 15), power = _mm512_set1_epi32(0x43800000);
  return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(moved, mantissa, power, 0xea)); // (moved & mantissa) | power
}

// Each lane: bf16(even), bf16(odd).
QUERN_INLINE Floats round_pair(Floats even, Floats odd) { return _mm512_castsi512_ps(pack(rounded(even), rounded(odd))); }

// Subtracted from an unpacked value, as an unsigned byte.
template <class F>
constexpr int offset_of = F::MAX == 0 ? 128 : F::OFFSET == NONE ? 0 : 1 << (F::OFFSET < 0 ? 0 : F::OFFSET);

// Block b of span s → the lines of its pairs along k: two lines per quad.
template <class F, int s, int b>
QUERN_INLINE void fill_block(const F& tile, float (*lines)[LANES]) {
  Bytes q[F::BLOCK / 4];
  tile.template quads<s, b>(q);
  const Floats scale = quiet(tile.template scale<s, b>());
  Floats addend = scale * set(-256 - offset_of<F>);
  if constexpr (F::MINS) addend = quiet(addend - tile.template minus_min<s, b>());
#pragma GCC unroll 8
  for (int i = 0; i < F::BLOCK / 4; i++) {
    const Bytes x = F::MAX == 0 ? _mm512_xor_si512(q[i], every_byte(-128)) : q[i];
    store(lines[2 * i], round_pair(fma(byte_above_256<0>(x), scale, addend), fma(byte_above_256<1>(x), scale, addend)));
    store(lines[2 * i + 1], round_pair(fma(byte_above_256<2>(x), scale, addend), fma(byte_above_256<3>(x), scale, addend)));
  }
}

// Span s of a tile → two steps of column j.
template <class F, int s>
QUERN_INLINE void fill_span(const F& tile, Tile (*steps)[1][2], int64_t j) {
  repeat<SPAN / F::BLOCK>([&](auto b) QUERN_INLINE_LAMBDA {
    constexpr int64_t k = b.value * F::BLOCK;
    fill_block<F, s, b.value>(tile, steps[k / STEP][0][j].pairs + k % STEP / 2);
  });
}

template <class F>
struct PackedWeights {
  static constexpr int64_t TILE_K = F::SPANS * SPAN, TILE_SIZE = sizeof(typename F::Tile);
  const uint8_t* tiles;
  int64_t row_bytes; // of a row of tiles

  PackedWeights(const PackedGemm& g) : tiles(g.w), row_bytes((g.K + TILE_K - 1) / TILE_K * TILE_SIZE) {}
  const uint8_t* at(const Part& part, int64_t j) const {
    return tiles + (part.n / PACKED_ROWS + j) * row_bytes + part.k / TILE_K * TILE_SIZE;
  }

  void fill(const Part& part, const Part& next, Panel<1>& panel) const {
    for (int64_t j = 0; j * PACKED_ROWS < part.columns; j++) {
      const uint8_t *tile = at(part, j), *ahead = at(next, j);
      for (int64_t span = 0; span < spans_of(part.depth); span += F::SPANS, tile += TILE_SIZE, ahead += TILE_SIZE) {
        for (int64_t line = 0; line < TILE_SIZE; line += 64) __builtin_prefetch(ahead + line, 0, 2);
        const F view(tile, 0);
        repeat<F::SPANS>([&](auto s) QUERN_INLINE_LAMBDA {
          fill_span<F, s.value>(view, panel.steps + (span + s.value) * (SPAN / STEP), j);
        });
      }
    }
  }
};

template <class F>
inline void packed_gemm_of_bf16(const PackedGemm& g) {
  const X x = {reinterpret_cast<const uint16_t*>(g.x), bf16_row_words(g.K), 0};
  multiply<1, 1>({x, g.bias, g.y, g.ldy, g.T, g.N, g.K}, PackedWeights<F>(g), g.panel);
}

} // namespace

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) \
  void packed_gemm_of_bf16_##name(const PackedGemm& g) { packed_gemm_of_bf16<NAME>(g); }
#include "../../generated/formats.inc"

} // namespace quern::amx
