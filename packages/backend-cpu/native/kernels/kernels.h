// The kernels of one instruction set, as a table of plain functions. Each ISA folder fills one table; the dispatcher
// (runtime/dispatch.h) picks one at load. Files that include this for an ISA folder may include intrinsics and other
// fixed-layout headers only: an inline C++ library function compiled here could become the program's only copy.
//
// Conventions: row-major f32 unless said otherwise; no pointer is assumed aligned; counts may be zero; kernels touch
// exactly the elements they are told to. Elementwise kernels, norms, softmax and rope may write over their input (y == x),
// attend over its query; other overlaps are not allowed. Every kernel is single-threaded: ops/ splits the work. A result
// must not depend on how rows were split among calls (each output element is summed in a fixed order that depends on K alone).
#pragma once
#include <stdint.h>

namespace quern {

// Weight formats, in the order of @quern/quant's table (generated/formats.inc). Values are ours, not ggml's.
enum Format : int32_t {
#define QUERN_FORMAT(name, NAME, block, block_bytes) FORMAT_##NAME,
#include "generated/formats.inc"
  FORMAT_COUNT
};

// Element types of caches. In CACHE_I8 the scale of a head, an f32, follows its d elements.
enum CacheType : int32_t { CACHE_F32, CACHE_F16, CACHE_BF16, CACHE_I8, CACHE_TYPES };
// Elements of a head in a slot, and the bytes of one.
constexpr int64_t cache_row(CacheType type, int64_t d) { return type == CACHE_I8 ? d + int64_t(sizeof(float)) : d; }
constexpr int64_t cache_element_bytes(CacheType type) { return type == CACHE_F32 ? 4 : type == CACHE_I8 ? 1 : 2; }

// Consecutive query rows of one sequence against some of its keys and some kv heads, each shared by `group` query heads.
struct Attend {
  const float* q;             // [rows, heads, group, d], row_stride floats from row to row
  float* y;                   // likewise; may be q
  int64_t row_stride;
  const void* k_cache;        // [blocks, block_size, kv_heads, cache_row(type, d)]
  const void* v_cache;
  CacheType type;
  const int32_t* block_table; // blocks of this sequence
  int32_t block_size, kv_heads, group, head_dim;
  int32_t kv_head, heads;     // the first of this call, and how many: only 1 for attend_many
  int32_t rows, position;     // position in the sequence of the first row
  int32_t first_key, end_key; // of these keys the row at position p sees those in [p - window + 1, p]; none gives zeros
  int32_t window;             // 0: all keys before it
  bool causal;                // if not, all keys after it too
  float scale, soft_cap;      // soft_cap 0: off
  float* part;                // null, or written in place of y: what merge_parts takes, [heads, rows, group, attend_part(d)]
  float* scratch;             // attend_scratch(heads * rows * group, d) floats, owned by the calling thread; need not be initialised
};

// Quantised rows of x (`quantise` or `quantise_superblocks`) with rows of packed weights (packed/tiles.h).
struct PackedGemm {
  const uint8_t* x;  // [T] rows of quantised_row_bytes(K)
  const uint8_t* w;  // rows of tiles; 16 columns of y each
  const float* bias; // [N], or null
  float* y;          // [T, N], rows of ldy floats
  int64_t ldy, T, N, K;
  void* panel;       // of superblock_gemm, PANEL_BYTES: see there
  bool shares_scales = false; // w is q8_0 for which share_scales holds (packed/pack.h)
};

// Memory that a kernel lays weights out in, on the boundary of a cache line, owned by the calling thread; it need not be
// initialised. Too large for a stack: threads of some systems have 128 KiB (musl).
inline constexpr int64_t PANEL_BYTES = 130 * 1024;

struct Kernels {
  const char* name; // "scalar", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx", "neon", "dotprod", "i8mm"

  // Decodes `count` weights (a multiple of the format's block) to f32, bit for bit as @quern/quant defines them.
  void (*decode[FORMAT_COUNT])(const void* blocks, float* out, int64_t count);

  // y[t * ldy + n] = Σ_k x[t * ldx + k] · w[n * ldw + k] + (bias ? bias[n] : 0), t < T, n < N. The order of summation
  // over k is the same for every T and N.
  void (*gemm)(const float* x, int64_t ldx, const float* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
               int64_t T, int64_t N, int64_t K);

  // The same with weights of 16 bits, which are read as they are; null in a table that decodes them first.
  void (*gemm_f16)(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                   int64_t T, int64_t N, int64_t K);
  void (*gemm_bf16)(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                    int64_t T, int64_t N, int64_t K);

  // The same with x and w in bf16, summed in f32, and with w in f16, rounded to bf16, to nearest even; both null where that is
  // not faster than floats. They lay the weights out anew in `panel` (PANEL_BYTES) at each call: many rows of x should come
  // at once.
  void (*gemm_of_bf16)(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                       int64_t ldy, int64_t T, int64_t N, int64_t K, void* panel);
  void (*gemm_of_bf16_f16)(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                           int64_t ldy, int64_t T, int64_t N, int64_t K, void* panel);

  // Integer kernels; null in a table that computes quantised weights in floats. A row of K floats to int8 (packed/tiles.h),
  // and y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] with such rows. Results do not depend on how rows and columns were split.
  void (*quantise)(const float* x, int64_t K, uint8_t* row);
  void (*packed_gemm[FORMAT_COUNT])(const PackedGemm& args);

  // The same for many rows: from superblock_rows rows of x on they are faster, rounding both x and w to int8 with one scale for
  // every 256 along K: x to the nearest of 127 steps to the largest magnitude, w to at most 0.57 of such a step. Null where
  // superblock_rows is 0.
  int64_t superblock_rows;
  // Whether a few rows can be superblock too where that is asked for: weights whose blocks share no scale are rounded anew at each
  // call, which costs as much as some rows.
  bool superblock_few;
  void (*quantise_superblocks)(const float* x, int64_t K, uint8_t* row);
  void (*superblock_gemm[FORMAT_COUNT])(const PackedGemm& args);

  void (*add)(const float* a, const float* b, float* y, int64_t n);
  void (*mul)(const float* a, const float* b, float* y, int64_t n);
  void (*scale)(const float* x, float factor, float* y, int64_t n);
  void (*silu)(const float* x, float* y, int64_t n);
  void (*gelu_erf)(const float* x, float* y, int64_t n);
  void (*gelu_tanh)(const float* x, float* y, int64_t n);
  void (*tanh)(const float* x, float* y, int64_t n);
  void (*swiglu)(const float* gate, const float* up, float* y, int64_t n);
  void (*geglu)(const float* gate, const float* up, float* y, int64_t n);

  void (*rms_norm)(const float* x, const float* w, float eps, float* y, int64_t width);            // one row
  void (*layer_norm)(const float* x, const float* w, const float* b, float eps, float* y, int64_t width); // one row
  void (*l2_normalise)(const float* x, float* y, int64_t width);                                   // one row
  void (*softmax)(const float* x, float* y, int64_t width);                                        // one row
  int64_t (*argmax)(const float* x, int64_t width, float* max);                                    // one row; rules of core's argmax
  // One row of heads [heads, d]: the first r elements of each are rotated by table [r] (r/2 cosines, r/2 sines), the others
  // copied. Layout 0 pairs elements (2i, 2i + 1), layout 1 (i, i + r/2).
  void (*rope)(const float* x, const float* table, float* y, int64_t heads, int64_t d, int64_t r, int32_t layout);
  // Attention over blocks of ATTEND_KEYS keys that start at multiples of it. A row's result depends on the keys it sees
  // and on which of the two made it: attend_many unpacks keys and values once for all rows, attend_few reads them in place.
  void (*attend_many)(const Attend& args);
  void (*attend_few)(const Attend& args);
  // attend_many with q, k, v and the weights rounded to bf16; null where that is not faster. All rows see all keys, which are
  // floats; no soft_cap, no parts.
  void (*attend_many_bf16)(const Attend& args);
  // attend_many with v and the weights rounded to bf16; null where that is not faster.
  void (*attend_cached_bf16)(const Attend& args);
  // y [d] of one query head from `count` parts, attend_part(d) floats each, `stride` floats apart.
  void (*merge_parts)(const float* parts, int64_t stride, int64_t count, float* y, int64_t d);

  void (*f32_to_f16)(const float* x, uint16_t* y, int64_t n); // round to nearest even, as F16C does
  void (*f16_to_f32)(const uint16_t* x, float* y, int64_t n);
  void (*f32_to_bf16)(const float* x, uint16_t* y, int64_t n); // round to nearest even, NaN stays NaN
  void (*bf16_to_f32)(const uint16_t* x, float* y, int64_t n);
  // A head of CACHE_I8: d elements round(x / scale), ties to even, then the scale max|x| / 127; NaN where x is not finite.
  void (*f32_to_i8)(const float* x, int8_t* row, int64_t d);
};

inline constexpr int64_t ATTEND_KEYS = 256; // keys per block of the running softmax

// Floats of one part: sums for y, the largest score, and the sum of the weights.
constexpr int64_t attend_part(int64_t d) { return d + 2; }

// Floats of scratch for `queries` query vectors: q, y and three numbers of each, and the scores of all over a block of keys;
// or, for attend_many, of attend_tile at most, a block of keys and one of values. Heads are padded to whole registers.
inline constexpr int64_t attend_tile = 8;
constexpr int64_t attend_scratch(int64_t queries, int64_t d) {
  const int64_t few = queries * ATTEND_KEYS, many = ATTEND_KEYS * (2 * (d + 15) + attend_tile);
  return queries * (2 * (d + 15) + 3) + (few > many ? few : many);
}

const Kernels& scalar_kernels();
#if defined(QUERN_X86)
const Kernels& avx2_kernels();   // AVX2, FMA, F16C
const Kernels& avx512_kernels(); // AVX-512 F, BW, DQ, VL
const Kernels& vnni_kernels();   // the same and AVX-512 VNNI
const Kernels& bf16_kernels();   // the same and AVX-512 BF16
const Kernels& amx_kernels();    // VNNI, AVX-512 BF16 and AMX
#elif defined(QUERN_ARM)
const Kernels& neon_kernels();    // every 64-bit Arm
const Kernels& dotprod_kernels(); // and dot products of bytes (FEAT_DotProd)
const Kernels& i8mm_kernels();    // and matrix products of bytes (FEAT_I8MM)
#endif

} // namespace quern
