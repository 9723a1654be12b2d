// The kernels of one instruction set: a table of plain functions. Each ISA folder fills one table; the dispatcher
// (runtime/dispatch.h) chooses one at load. Files that include this header for an ISA folder may include only intrinsics
// and fixed-layout headers: an inline C++ library function compiled there could become the program's only copy.
//
// Conventions: row-major f32 unless stated; pointers need no alignment; counts may be zero; kernels touch exactly the named
// elements. Elementwise kernels, norms, softmax and rope may write over their input (y == x), attention over its query; no
// other overlaps. Each kernel is single-threaded: ops/ splits the work. A result must not depend on how rows are split
// among calls: each output element is summed in a fixed order that depends only on K.
#pragma once
#include <stdint.h>

namespace quern {

// Weight formats, in the order of @quern/quant's table (generated/formats.inc). Not ggml's numbers.
enum Format : int32_t {
#define QUERN_FORMAT(name, NAME, block, block_bytes) FORMAT_##NAME,
#include "generated/formats.inc"
  FORMAT_COUNT
};

// Element types of caches. CACHE_I8: the scale of a head (f32) follows its d elements.
enum CacheType : int32_t { CACHE_F32, CACHE_F16, CACHE_BF16, CACHE_I8, CACHE_TYPES };
// Elements of one head in a slot, and bytes per element.
constexpr int64_t cache_row(CacheType type, int64_t d) { return type == CACHE_I8 ? d + int64_t(sizeof(float)) : d; }
constexpr int64_t cache_element_bytes(CacheType type) { return type == CACHE_F32 ? 4 : type == CACHE_I8 ? 1 : 2; }

// Consecutive query rows of one sequence, and some of its keys and kv heads. `group` query heads share a kv head.
struct Attend {
  const float* q;             // [rows, heads, group, d], row_stride floats between rows
  float* y;                   // as q; may be q
  int64_t row_stride;
  const void* k_cache;        // [blocks, block_size, kv_heads, cache_row(type, d)]
  const void* v_cache;
  CacheType type;
  const int32_t* block_table; // blocks of this sequence
  int32_t block_size, kv_heads, group, head_dim;
  int32_t kv_head, heads;     // first kv head and number of kv heads; attend_many: heads = 1
  int32_t rows, position;     // position: of the first row, in the sequence
  int32_t first_key, end_key; // the row at position p sees keys [p - window + 1, p] of [first_key, end_key): at least one, in one of its parts
  int32_t window;             // 0: all earlier keys
  bool causal;                // false: later keys too
  float scale, soft_cap;      // soft_cap 0: off
  const float* sinks;         // null; or a score per query head, without a value: [heads, group] (not for parts)
  float* part;                // null; or output in place of y, for merge_parts: [heads, rows, group, attend_part(d)]
  float* scratch;             // attend_scratch(heads * rows * group, d) floats of the calling thread; uninitialised
};

// Consecutive rows of one sequence, some channels of a convolution over L inputs.
struct ShortConv {
  const float* x;    // [rows, channels], row_stride floats between rows
  const float* past; // [L - 1, channels], the inputs before x
  const float* w;    // [L, channels]
  const float* bias; // [channels], or null
  float* y;          // as x
  int64_t row_stride, rows, L, channels;

  // Input t, counted from the first row of `past`.
  const float* input(int64_t t) const { return t < L - 1 ? past + t * channels : x + (t - L + 1) * row_stride; }
};

// Consecutive rows of one sequence, one value head, ≤ DELTA_COLUMNS columns of its state S [dk, dv].
struct GatedDelta {
  const float *q, *k;        // [rows, dk], key_stride floats between rows
  const float* v;            // [rows, columns], value_stride floats between rows
  float* y;                  // as v
  const float *decay, *beta; // [rows], gate_stride floats between rows; decay: the factor of S
  const float* from;         // [dk, columns], state_stride floats between rows: S before the first row; null: zeros
  float* to;                 // as from, may be from: S after the last row; null: not written
  const float* ahead;        // dk · columns floats that later calls read; or null
  int64_t rows, dk, columns;
  int64_t key_stride, value_stride, gate_stride, state_stride;
  float scale;
  float* scratch; // delta_scratch(dk) floats of the calling thread; uninitialised
};

inline constexpr int64_t DELTA_COLUMNS = 64;
constexpr int64_t delta_scratch(int64_t dk) { return dk * DELTA_COLUMNS; }

// Words of a row of x in bf16: K values, zeros up to a multiple of 64, and a gap: equal columns of neighbouring rows lie in
// different sets of a cache.
constexpr int64_t bf16_row_values(int64_t K) { return (K + 63) / 64 * 64; }
constexpr int64_t bf16_row_words(int64_t K) { return bf16_row_values(K) + 32; }

// Rows of x with rows of packed weights (packed/tiles.h).
struct PackedGemm {
  const uint8_t* x;  // [T] rows of quantised_row_bytes(K), or of bf16_row_words(K) words
  const uint8_t* w;  // rows of tiles: 16 columns of y per row
  const float* bias; // [N], or null
  float* y;          // [T, N], rows of ldy floats
  int64_t ldy, T, N, K;
  void* panel;       // not for packed_gemm: PANEL_BYTES
  bool shares_scales = false; // w is q8_0 and share_scales holds (packed/pack.h)
};

// Size of `panel`: scratch for weights in a kernel's own layout. Cache-line aligned, owned by the calling thread,
// uninitialised. Too large for a thread's stack: 128 KiB with musl.
inline constexpr int64_t PANEL_BYTES = 552 * 1024;

// Rows of x from which a kernel is taken: for none, except batchInvariant products.
inline constexpr int64_t NO_ROWS = INT64_MAX;

// A product of bf16 rows of x with 16-bit weights. panel: PANEL_BYTES.
using GemmOfWords = void(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                         int64_t T, int64_t N, int64_t K, void* panel);

struct Kernels {
  const char* name; // "scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon", "dotprod", "i8mm"

  // Decodes `count` weights (a multiple of the block size) to f32; bits as in @quern/quant.
  void (*decode[FORMAT_COUNT])(const void* blocks, float* out, int64_t count);

#define QUERN_KERNEL(result, name, parameters) result(*name) parameters;
#include "kernels.inc"

  // gemm with 16-bit weights, read in place; null: the table decodes them first.
  void (*gemm_f16)(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                   int64_t T, int64_t N, int64_t K);
  void (*gemm_bf16)(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                    int64_t T, int64_t N, int64_t K);

  // gemm with x and w in bf16, f32 sums; `_f16`: w in f16, rounded to bf16 (nearest even). Both null if not faster than
  // floats. round_bf16 writes a row of x (bf16_row_words). Each call lays the weights out in `panel` (PANEL_BYTES): pass many rows
  // of x per call. Taken for ≥ bf16_rows rows of x.
  int64_t bf16_rows;
  bool bf16_in_tiles; // calls with more columns of y are faster, also of the next three kernels
  void (*round_bf16)(const float* x, int64_t K, uint16_t* row);
  GemmOfWords *gemm_of_bf16, *gemm_of_bf16_f16;

  // gemm with x in two bf16 parts: x = high + low, relative error ≤ 2^-17; an f16 weight is exactly a sum of two bf16 parts. Sums
  // of low · high, high · low and high · high in f32. split_bf16 writes a row of x: both parts, bf16_row_words(K) each. All null if
  // not faster than floats; else taken for ≥ split_rows rows of x.
  int64_t split_rows;
  void (*split_bf16)(const float* x, int64_t K, uint16_t* row);
  GemmOfWords *gemm_of_halves, *gemm_of_halves_f16;

  // packed_gemm with rows of x in bf16 (bf16_row_words) and weights rounded to bf16, f32 sums: nearer to the product of floats than
  // int8 rows. Null if not faster; else taken for ≥ packed_bf16_rows rows of x.
  int64_t packed_bf16_rows;
  void (*packed_gemm_of_bf16[FORMAT_COUNT])(const PackedGemm& args);

  // Integer kernels; null: the table computes quantised weights in floats. `quantise`: K floats to an int8 row
  // (packed/tiles.h). packed_gemm: y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] on such rows. Results do not depend on how
  // rows and columns are split.
  void (*quantise)(const float* x, int64_t K, uint8_t* row);
  void (*packed_gemm[FORMAT_COUNT])(const PackedGemm& args);

  // packed_gemm for many rows, coarser: taken for ≥ superblock_rows rows of x. x and w are rounded to int8 with one scale per 256
  // values along K; one step = largest magnitude / 127. Error of x: ≤ 0.5 steps (nearest); of w: ≤ 0.57 steps.
  // superblock_rows = 0: quantise_superblocks and superblock_gemm are null.
  int64_t superblock_rows;
  // True: superblock_gemm suits few rows too. Each call rounds w again if the blocks of w differ in scale; this costs as
  // much as some rows of x.
  bool superblock_few;
  void (*quantise_superblocks)(const float* x, int64_t K, uint8_t* row);
  void (*superblock_gemm[FORMAT_COUNT])(const PackedGemm& args);

  // attend_many with q, k, v and the softmax weights as sums of two bf16 (each error ≤ 2⁻¹⁷); null if not faster.
  void (*attend_many_split)(const Attend& args);
  // attend_many with q, k, v and the softmax weights rounded to bf16; null if not faster. Requires: all rows see all keys;
  // k and v are f32; no soft_cap, no parts.
  void (*attend_many_bf16)(const Attend& args);
  // attend_many with v and the softmax weights rounded to bf16; null if not faster.
  void (*attend_cached_bf16)(const Attend& args);
};

inline constexpr int64_t ATTEND_KEYS = 256; // keys per block of the running softmax

// Floats of one part: sums for y, the maximum score, the sum of the weights.
constexpr int64_t attend_part(int64_t d) { return d + 2; }

// Floats of scratch for `queries` query vectors: the largest of three sizes.
// attend_few: per query q, y and three numbers; scores of all queries over a block of keys. attend_many: per query the same; a
// block of keys, a block of values, scores of ≤ attend_tile queries. Heads are padded to whole registers.
// attend_many_split and the bf16 kernels of tiles: as attend_many; queries and heads are padded to whole tiles, a step has
// 32 queries; scales of the keys and values; alignment.
inline constexpr int64_t attend_tile = 8;
constexpr int64_t attend_scratch_in_tiles(int64_t queries, int64_t d) {
  return (queries + 15) * (2 * (d + 31) + 3) + ATTEND_KEYS * (2 * (d + 31) + 2) + 2 * 32 * (ATTEND_KEYS + 16) + 16;
}
constexpr int64_t attend_scratch(int64_t queries, int64_t d) {
  const int64_t few = queries * ATTEND_KEYS, many = ATTEND_KEYS * (2 * (d + 15) + attend_tile);
  const int64_t floats = queries * (2 * (d + 15) + 3) + (few > many ? few : many), tiles = attend_scratch_in_tiles(queries, d);
  return floats > tiles ? floats : tiles;
}

const Kernels& scalar_kernels();
#if defined(QUERN_X86)
const Kernels& avx2_kernels();   // AVX2, FMA, F16C
const Kernels& avx512_kernels(); // AVX-512 F, BW, DQ, VL
const Kernels& vnni_kernels();   // also AVX-512 VNNI
const Kernels& bf16_kernels();   // also AVX-512 BF16
const Kernels& amx_kernels();    // VNNI, AVX-512 BF16 and AMX
#elif defined(QUERN_ARM)
const Kernels& neon_kernels();    // every 64-bit Arm
const Kernels& dotprod_kernels(); // also dot products of bytes (FEAT_DotProd)
const Kernels& i8mm_kernels();    // also matrix products of bytes (FEAT_I8MM)
#endif

} // namespace quern
