// Matrices of simdgroups, products of many rows and erf, beside float64; planted faults.
#include "dialect/simdgroup.h"
#include "kernels/metal/linear-tiles.h"
#include "test/arrays.h"
#include "test/planted.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

#include "dialect/error-function.h"

// 8 × 8 floats of y, each value by 1/8: y · yᵀ + y.
KERNEL(squares, Numbers) {
  SHARED(float, tile, 64);
  for (int i = lane(); i < 64; i += WARP) tile[i] = args.y[i] / 8;
  warp_barrier();
  const Matrix8 a = matrix_at(tile, 8), b = transposed_at(tile, 8);
  const Matrix8 product = matrix_product(a, b, a);
  warp_barrier();
  put_matrix(product, tile, 8);
  warp_barrier();
  for (int i = lane(); i < 64; i += WARP) args.y[i] = tile[i];
}
KERNEL(matrix_read_before_a_barrier, Numbers) {
  SHARED(float, tile, 64);
  for (int i = lane(); i < 64; i += WARP) tile[i] = args.y[i];
  put_matrix(matrix_at(tile, 8), tile, 8);
}
KERNEL(product_of_half_a_simdgroup, Numbers) {
  if (lane() < 16) matrix_product(zero_matrix(), zero_matrix(), zero_matrix());
  args.y[thread_index()] = 0;
}

void checks_words() {
  std::vector<float> y(64);
  for (int i = 0; i < 64; i++) y[size_t(i)] = float(i);
  const Array<float> memory(y);
  const Numbers args{memory.global(), 64};
  for (uint64_t seed = 0; seed < 5; seed++) {
    memory.write(y);
    launch(*find_kernel("squares"), 1, WARP, &args, first_seed() + seed);
    agrees("y · yᵀ + y", memory.values(), 1e-4, [&](int64_t at) {
      double sum = y[size_t(at)] / 8;
      for (int k = 0; k < 8; k++) sum += double(y[size_t(at / 8 * 8 + k)]) / 8 * y[size_t(at % 8 * 8 + k)] / 8;
      return sum;
    });
  }
  is_caught("matrix_read_before_a_barrier", "reads tile[");
  is_caught("product_of_half_a_simdgroup", "waits in an instruction of its warp");
}

struct Shape {
  int rows, columns, depth;
  bool biased;
};

// y of `kernel`, of a tile of `height` rows.
std::vector<float> product_of(const char* kernel, int height, const Shape& shape, const Array<float>& x, const Array<float>& w,
                              const Array<float>& bias) {
  const Array<float> y(size_t(shape.rows) * shape.columns);
  TileLinear<Dense<F32>> args{};
  args.of = {x.global(), {w.global()}, shape.biased ? Global<const float>(bias.global()) : Global<const float>(), y.global(),
             shape.rows, shape.columns, shape.depth};
  args.experts.chosen = 1;
  const int blocks = (shape.rows + height - 1) / height * ((shape.columns + 63) / 64);
  launch(*find_kernel(kernel), blocks, 128, &args, first_seed());
  return y.values();
}

void checks_product(const Shape& shape) {
  const auto [rows, columns, depth, biased] = shape;
  const std::vector<float> xs = numbers(int64_t(rows) * depth, 1), ws = numbers(int64_t(columns) * depth, 2), biases = numbers(columns, 3);
  const Array<float> x(xs), w(ws), bias(biases);
  const std::vector<float> tile = product_of("linear_tile_f32", 64, shape, x, w, bias);
  agrees("linear_tile_f32", tile, 2e-6 * depth, [&](int64_t at) {
    double sum = biased ? biases[size_t(at % columns)] : 0;
    for (int k = 0; k < depth; k++) sum += double(xs[size_t(at / columns * depth + k)]) * ws[size_t(at % columns * depth + k)];
    return sum;
  });
  equal("linear_strip_f32", product_of("linear_strip_f32", 16, shape, x, w, bias), tile);
  const Shape fewer{rows - 1, columns, depth, biased};
  const std::vector<float> without = product_of("linear_tile_f32", 64, fewer, x, w, bias);
  equal("rows alone", without, {tile.begin(), tile.end() - columns});
}

void checks_error_function() {
  double worst = 0;
  for (float x = -6; x <= 6; x += 1.0f / 4096) worst = fmax(worst, fabs(double(error_function(x)) - erf(double(x))));
  check(worst <= 1.4e-7, "erf: %g away", worst);
  check(isnan(error_function(NAN)) && error_function(INFINITY) == 1 && error_function(-INFINITY) == -1, "erf of NaN and infinities");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("matrices of simdgroups", [] {
    checks_words();
    for (const Shape& shape : {Shape{9, 1, 1, true}, {17, 70, 33, false}, {65, 64, 32, true}, {130, 33, 100, false}}) checks_product(shape);
    checks_error_function();
  });
}
