// Products with weights, for ops that are made of them.
#pragma once
#include "gpu/op-call.h"

namespace quern::gpu {

// y[rows, N] = x[rows, K] · wᵀ + bias. bias: [N], or null. invariant: a row has the same bits for any number of rows.
struct Product {
  const float* x;
  const GpuWeight& w;
  const float* bias;
  float* y;
  int64_t rows;
  bool invariant = false;
};
void launch_product(const OpCall& op, const Product& product);

// y[rows, chosen, N] = x[rows, K] · w[ids[row, choice]]ᵀ
struct ExpertProduct {
  const float* x;
  const GpuWeight& w; // [E, N, K]
  const int32_t* ids; // [rows, chosen]
  float* y;
  int64_t rows, chosen;
};
void launch_expert_product(const OpCall& op, const ExpertProduct& product);

} // namespace quern::gpu
