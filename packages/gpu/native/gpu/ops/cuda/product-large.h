// Products of many rows with one number of bf16 per value. Operands are prepared once: x rounded, weights decoded a slab of columns at
// a time; then a kernel multiplies them.
#pragma once
#include "gpu/ops/products.h"

namespace quern::gpu {

// Operands as every kernel of such products takes them. Rows begin at multiples of 16 bytes.
struct Bf16Product {
  const uint16_t* x; // bf16 [rows, x_pitch]: zeros from depth to x_pitch, a multiple of 64
  const uint16_t* w; // bf16 [columns, w_pitch]: not initialised, or another row, from depth on
  const float* bias; // [columns], or null
  float* y;          // [rows, y_pitch]: of a slab of columns, y_pitch is more than columns
  int64_t rows, columns, depth;
  int64_t x_pitch, w_pitch, y_pitch; // values
};

// Whether products that round x to one bf16 take launch_large_product.
bool is_large(const Product& product);
void launch_large_product(const OpCall& op, const Product& product);

// As launch_large_product does with prepared operands, in one part of k. For measurements.
void launch_whole_bf16_product(Gpu& gpu, const Bf16Product& product);

} // namespace quern::gpu
