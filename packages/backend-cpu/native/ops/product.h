// The matrix product of linear and the fused projections. Packed weights are read in place; x is quantised once. 16-bit
// weights are read in place, if the kernels can, as floats or, at lower precision, with rows of x rounded once to bf16. Other
// weights are decoded panel by panel into memory that stays in the cache. An output's bits depend on x, w, K and the form
// of the product (Rows), never on chunks and panels.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "runtime/call.h"

namespace quern {

// The number of rows of x may decide the form of a product, where the kernels have coarser forms (Precision::fast): count ≤
// exact_rows: the rounding of a single row. `invariant` (attribute batchInvariant): bits must not depend on the count. Few rows
// then take the form of many rows, except superblocks if those are slower for few rows.
struct Rows {
  Rows(int64_t count, bool invariant = false) : count(count), invariant(invariant) {}
  int64_t count;
  bool invariant;
};

// How rows of x are multiplied with a weight.
enum class Way {
  packed,  // int8 rows; weights in tiles
  packed_bf16, // bf16 rows; weights in tiles
  bf16,    // bf16 rows; bf16 or f16 weights in place
  halves,  // rows in two bf16 parts; bf16 or f16 weights in place
  direct,  // float rows; weights in place
  decoded, // float rows; weights decoded panel by panel
};
Way way_of(const Kernels& kernels, const Matrix& w, Rows rows);

// Preparations for products of the same x with several weights.
struct Needs {
  Needs(const Kernels& kernels, Rows rows, std::initializer_list<const Matrix*> weights);
  bool int8 = false, bf16 = false, halves = false, floats = false; // forms of x
  bool superblock = false;             // int8 rows with one scale per 256 values
  bool panel = false;              // scratch for a decoded panel
  bool kernel_panel = false;       // scratch for a kernel's layout of weights
  bool bf16_in_tiles;              // Kernels::bf16_in_tiles
};

// Tile sizes for products of T rows with weights of K columns.
struct Tiling {
  Tiling(int64_t T, int64_t K, const Needs& needs);

  int64_t chunk;        // columns per task of a thread
  int64_t panel;        // columns multiplied at a time; divides chunk
  int64_t panel_floats; // scratch for a panel, decoded or in a kernel's layout; whole cache lines
  int64_t rows;         // rows of x multiplied at a time

  int64_t chunks(int64_t N) const { return (N + chunk - 1) / chunk; }

 private:
  void cut_packed(int64_t T, int64_t K, bool superblock);
  void cut_bf16(int64_t T, int64_t K, bool in_tiles);
  void cut_in_place(int64_t T, int64_t K);
  void cut_decoded(int64_t T, int64_t K);
};

// Floats of each prepared form of some rows.
struct FormSizes {
  FormSizes(int64_t rows, int64_t K, const Needs& needs);
  int64_t int8, bf16, halves;
  int64_t sum() const { return int8 + bf16 + halves; }
};

// x in every form that a product reads.
struct Activations {
  const Floats& x;                // [T, K]
  uint8_t* int8 = nullptr;    // [T] rows of quantised_row_bytes(K)
  uint16_t* bf16 = nullptr;   // [T] rows of bf16_row_words(K)
  uint16_t* halves = nullptr; // [T] rows of 2 · bf16_row_words(K)
  const bool superblock;              // int8 has one scale per 256 values

  // Floats of scratch at `memory` (default: start of the shared scratch; reserved by the caller), filled by the
  // constructor.
  static int64_t floats(const Floats& x, const Needs& needs);
  Activations(const Call& call, const Floats& x, const Needs& needs, float* memory = nullptr);
  // Forms that the caller places and fills.
  Activations(const Floats& x, const Needs& needs) : x(x), superblock(needs.superblock) {}
  void place(float* memory, const FormSizes& sizes);
  // Fills rows [first, end) of the placed forms from x.
  void prepare(const Kernels& kernels, int64_t first, int64_t end);
};

struct RowRange {
  int64_t first, end;
  int64_t count() const { return end - first; }
};

class Product {
 public:
  // x [T, K] · w [N, K]ᵀ + bias [N] or null, in the form for `rows`.
  Product(const Kernels& kernels, const Activations& x, const Matrix& w, const float* bias, Rows rows)
      : kernels_(kernels), x_(x), w_(w), bias_(bias), way_(way_of(kernels, w, rows)) {}

  // Columns [first, end), at most a chunk, for all rows of x. y: column `first` of a matrix with row stride `stride`.
  void columns(const Tiling& tiling, int64_t first, int64_t end, float* y, int64_t stride, float* panel) const {
    columns_of_rows(tiling, first, end, {0, x_.x.shape[0]}, y, stride, panel);
  }
  // As `columns`, for some rows of x; y points at the first of these rows.
  void columns_of_rows(const Tiling& tiling, int64_t first, int64_t end, RowRange rows, float* y, int64_t stride,
                       float* panel) const;
  // As `columns`, for rows [t, t + count) of x and `loaded` from `load`. `panel`: scratch for a kernel's layout; may be the
  // panel of `load`.
  void multiply(const void* loaded, int64_t first, int64_t end, int64_t t, int64_t count, float* y, int64_t stride,
                float* panel) const;
  // Rows [first, end) of w, ready to multiply: in place, or decoded into `panel`.
  const void* load(int64_t first, int64_t end, float* panel) const;
  // Whether `load` writes to `panel`.
  bool decodes() const { return way_ == Way::decoded; }

 private:
  const Kernels& kernels_;
  const Activations& x_;
  const Matrix& w_;
  const float* bias_;
  const Way way_;
};

} // namespace quern
