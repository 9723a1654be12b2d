// The matrix product that linear and the fused projections share. Packed weights are multiplied where they are, with rows
// of x that were quantised once; so are weights of 16 bits with a few rows of floats, or with many that were rounded to bf16
// once, where the kernels do that. Other weights are decoded, panel by panel, into memory that stays in the caches. An
// output's bits depend on x, w, K and the form of the product (Rows), never on how rows were cut into chunks and panels.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "runtime/call.h"

namespace quern {

// The rows of x, by whose number the form of their products is chosen: exact_rows or less are rounded as one is. Where their
// number must not show in the bits (the attribute batchInvariant), the form is that of many, if a few can have it at their price.
struct Rows {
  Rows(int64_t count, bool invariant = false) : count(count), invariant(invariant) {}
  int64_t count;
  bool invariant;
};

// How rows of x are multiplied with a weight.
enum class Way {
  packed,  // rows of int8, tiles
  bf16,    // rows of bf16; weights in bf16 or f16 where they are
  direct,  // rows of floats; weights where they are
  decoded, // rows of floats; weights decoded panel by panel
};
Way way_of(const Kernels& kernels, const Matrix& w, Rows rows);

// What must be prepared for weights that are multiplied side by side.
struct Needs {
  Needs(const Kernels& kernels, Rows rows, std::initializer_list<const Matrix*> weights);
  bool int8 = false, bf16 = false, floats = false; // rows of x
  bool superblock = false;             // those of int8 for the kernels of many rows
  bool panel = false;              // scratch for a panel of weights
  bool kernel_panel = false;       // scratch that a kernel lays weights out in
};

// How products of T rows with weights of K columns are cut.
struct Tiling {
  Tiling(int64_t T, int64_t K, const Needs& needs);

  int64_t chunk;        // columns that one thread takes at a time
  int64_t panel;        // columns multiplied at a time; a chunk is a whole number of them
  int64_t panel_floats; // scratch that a panel of weights takes, decoded or as a kernel lays it out: whole cache lines
  int64_t rows;         // rows of x multiplied at a time

  int64_t chunks(int64_t N) const { return (N + chunk - 1) / chunk; }

 private:
  void cut_packed(int64_t T, int64_t K, bool superblock);
  void cut_bf16(int64_t T, int64_t K);
  void cut_in_place(int64_t K);
  void cut_decoded(int64_t T, int64_t K);
};

// The rows of x in every form that a product reads them in.
struct Activations {
  const Floats& x;                // [T, K]
  const uint8_t* int8 = nullptr;  // [T] rows of quantised_row_bytes(K)
  const uint16_t* bf16 = nullptr; // [T, K]
  const bool superblock;              // int8 has one scale for every 256

  // Scratch that the constructor fills, from `memory` on: by default where the shared one begins. To be reserved before.
  static int64_t floats(const Floats& x, const Needs& needs);
  Activations(const Call& call, const Floats& x, const Needs& needs, float* memory = nullptr);
  // Rows that have been prepared.
  Activations(const Floats& x, const uint8_t* int8, const uint16_t* bf16, bool superblock)
      : x(x), int8(int8), bf16(bf16), superblock(superblock) {}
};

struct RowRange {
  int64_t first, end;
  int64_t count() const { return end - first; }
};

class Product {
 public:
  // x [T, K] · w [N, K]ᵀ + bias [N], which may be null, in the form that `rows` have.
  Product(const Kernels& kernels, const Activations& x, const Matrix& w, const float* bias, Rows rows)
      : kernels_(kernels), x_(x), w_(w), bias_(bias), way_(way_of(kernels, w, rows)) {}

  // Columns [first, end), a chunk of a tiling, for all rows of x; y points at column `first` of a matrix with rows of
  // `stride` floats.
  void columns(const Tiling& tiling, int64_t first, int64_t end, float* y, int64_t stride, float* panel) const {
    columns_of_rows(tiling, first, end, {0, x_.x.shape[0]}, y, stride, panel);
  }
  // The same for some rows of x, the first of which is the first of y.
  void columns_of_rows(const Tiling& tiling, int64_t first, int64_t end, RowRange rows, float* y, int64_t stride,
                       float* panel) const;
  // The same for rows [t, t + count) of x, with what `load` gave, and memory that a kernel may lay it out in: that of `load`
  // will do.
  void multiply(const void* loaded, int64_t first, int64_t end, int64_t t, int64_t count, float* y, int64_t stride,
                float* panel) const;
  // Rows [first, end) of w as they are multiplied: where they are, or decoded into `panel`.
  const void* load(int64_t first, int64_t end, float* panel) const;
  // Whether `load` writes to its panel.
  bool decodes() const { return way_ == Way::decoded; }

 private:
  const Kernels& kernels_;
  const Activations& x_;
  const Matrix& w_;
  const float* bias_;
  const Way way_;
};

} // namespace quern
