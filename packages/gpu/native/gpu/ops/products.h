// Products with weights, for ops that are made of them.
#pragma once
#include <span>

#include "gpu/op-call.h"
#include "kernels/folded-norm.h"

namespace quern::gpu {

// Scratch memory that launches of an op use one after another.
template <class T>
class Reused {
 public:
  T* take(const OpCall& op, int64_t count) {
    if (count > count_) data_ = op.scratch<T>(count), count_ = count;
    return data_;
  }

 private:
  T* data_ = nullptr;
  int64_t count_ = 0;
};

// What products of the same x within an op share (cuda/product-large.h, cuda/product-rows.h).
struct SharedRows {
  const void* fragments = nullptr; // x as fragments, when a product has made them, for weights of `eights`
  int eights = 0;
  const uint16_t* bf16 = nullptr; // x rounded to bf16, when a product has made it
  Reused<uint16_t> slab;          // weights as bf16: what is written again stays in the second cache
  Reused<float> sums;             // of parts of k
};

// y[rows, N] = x[rows, K] · wᵀ + bias. bias: [N], or null. invariant: a row has the same bits for any number of rows.
struct Product {
  const float* x;
  const GpuWeight& w;
  const float* bias;
  float* y;
  int64_t rows;
  bool invariant = false;
  SharedRows* shared = nullptr; // of all products of this x within the op
  NormOfX norm = {};            // of x, of few rows (product-few.h)
};

// x of an op's products, with what a folded norm has made of it.
struct ProductInput {
  const float* x;
  NormOfX norm;
  SharedRows rows;
};
ProductInput product_input(const OpCall& op, const quern::Floats& x);

// Of the op `linear`.
Product linear_product(const OpCall& op);
void launch_product(const OpCall& op, const Product& product);
// Of the same x, in as few launches as may be.
void launch_products(const OpCall& op, std::span<const Product> products);

// Pairs [row, choice] of a mixture by expert, in tiles of outputs (kernels/expert-order.h).
struct MatrixTile;
struct TilesByExpert {
  const MatrixTile* tile = nullptr; // null: too few pairs for tiles
  const int32_t *rows = nullptr, *of_tile = nullptr;
  int64_t tiles = 0;
};
// For products with all of `weights` [experts, ..].
TilesByExpert tiles_by_expert(const OpCall& op, const int32_t* ids, int64_t pairs, std::span<const GpuWeight* const> weights);

// y[rows, chosen, N] = x[rows, K] · w[ids[row, choice]]ᵀ. tiles: of all pairs.
struct ExpertProduct {
  const float* x;
  const GpuWeight& w; // [E, N, K]
  const int32_t* ids; // [rows, chosen]
  float* y;
  int64_t rows, chosen;
  const TilesByExpert& tiles;
};
void launch_expert_product(const OpCall& op, const ExpertProduct& product);
// y = silu(gate · x) · (up · x): `gate` has x and y.
void launch_expert_gate_up(const OpCall& op, const ExpertProduct& gate, const GpuWeight& up);

} // namespace quern::gpu
