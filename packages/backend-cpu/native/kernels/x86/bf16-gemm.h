// The product of bf16 rows of x with 16-bit weights (kernels.h, gemm_of_bf16). Weights are laid out in pairs along k, one
// panel at a time; the panel stays in the cache while all rows of x pass. The including file defines PANEL_K (the depth of
// a panel) and multiply_panel.
//
// An element of y is its bias, then the sums of products along k, added in order. Between panels it is stored in y as f32:
// neither the panel size nor the split of rows and columns changes its bits.
#pragma once
#include "bf16-operands.h"

namespace quern::QUERN_ISA {

namespace {

constexpr int64_t COLUMNS = 2 * LANES; // columns of y per step

struct Panel {
  Tile steps[PANEL_K / STEP][2];
};
static_assert(sizeof(Panel) <= PANEL_BYTES);

struct Product {
  const uint16_t* x; // [T, K], row stride ldx
  int64_t ldx;
  const uint16_t* w; // [N, K], row stride ldw
  int64_t ldw;
  const float* bias; // [N] or null
  float* y;          // [T, N], row stride ldy
  int64_t ldy, T, N, K;
};

// Ranges of a product: rows [t, t + rows) of x, columns [n, n + columns) of y, [k, k + depth) along K.
struct Part {
  int64_t t, rows, n, columns, k, depth;
};

// Adds the products along the panel to columns [n, n + columns) of all rows of y; k = 0: to the bias. multiply_panel sets
// `part.t` and `part.rows`.
void multiply_panel(const Product& p, Part part, const Panel& panel);

template <class Weights>
inline void fill_panel(const Product& p, const Part& part, Panel& panel) {
  for (int64_t j = 0; j * LANES < part.columns; j++) {
    const uint16_t* const w = p.w + (part.n + j * LANES) * p.ldw + part.k;
    const int64_t columns = least(part.columns - j * LANES, LANES);
    for (int64_t k = 0; k < part.depth; k += STEP)
      fill_tile<Weights>(w + k, p.ldw, columns, least(part.depth - k, STEP), panel.steps[k / STEP][j]);
  }
}

// K = 0: y = bias.
inline void store_bias(const Product& p) {
  for (int64_t t = 0; t < p.T; t++)
    for (int64_t n = 0; n < p.N; n++) p.y[t * p.ldy + n] = p.bias ? p.bias[n] : 0;
}

// k is the outer loop: the part of x for all columns stays in L2.
template <class Weights>
inline void multiply(const Product& p, Panel& panel) {
  if (p.K == 0) return store_bias(p);
  for (int64_t k = 0; k < p.K; k += PANEL_K)
    for (int64_t n = 0; n < p.N; n += COLUMNS) {
      const Part part = {0, 0, n, least(p.N - n, COLUMNS), k, least(p.K - k, PANEL_K)};
      fill_panel<Weights>(p, part, panel);
      multiply_panel(p, part, panel);
    }
}

} // namespace

void gemm_of_bf16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                  int64_t T, int64_t N, int64_t K, void* panel) {
  multiply<Bf16Weights>({x, ldx, w, ldw, bias, y, ldy, T, N, K}, *static_cast<Panel*>(panel));
}

void gemm_of_bf16_f16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                      int64_t ldy, int64_t T, int64_t N, int64_t K, void* panel) {
  multiply<F16Weights>({x, ldx, w, ldw, bias, y, ldy, T, N, K}, *static_cast<Panel*>(panel));
}

} // namespace quern::QUERN_ISA
