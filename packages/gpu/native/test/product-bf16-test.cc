// Products of many rows with values of bf16 on the emulated device, against float64.
#include "kernels/cuda/bf16-rows.h"
#include "kernels/cuda/product-bf16.h"
#include "test/products.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

struct Shape {
  int rows, columns, depth;
  std::string text() const { return std::to_string(rows) + ", " + std::to_string(columns) + ", " + std::to_string(depth); }
};

struct TileKernel {
  const char* name;
  int rows, columns, threads;
  size_t shared_bytes;
  int tiles(const Shape& shape) const {
    return (shape.rows + rows - 1) / rows * ((shape.columns + columns - 1) / columns);
  }
};
template <class Tile>
TileKernel kernel_of(const char* name) { return {name, Tile::rows, Tile::columns, Tile::threads, Tile::shared_bytes}; }
const TileKernel kernels[] = {kernel_of<Bf16Tile128x256>("product_bf16_128x256"), kernel_of<Bf16Tile128x128>("product_bf16_128x128"),
                              kernel_of<Bf16Tile64x64>("product_bf16_64x64")};

constexpr float unwritten = 77;
constexpr int spare = 3; // columns of y beside those of the product

int rounded_up(int value, int to) { return (value + to - 1) / to * to; }

// Tensor cores cut a sum off once per 16 of k: at most 2⁻²³ of the terms so far. Adding parts and bias rounds.
double bound_of(int depth, int parts) { return (depth / 16 + 2 + parts) * 0x1p-23; }

// x and w of a shape, x rounded by the device; y by definition from the rounded values, and from those before.
struct Problem {
  const Shape shape;
  const int x_pitch, w_pitch;
  const std::vector<float> x, bias;
  std::vector<unsigned short> w;
  const Array<float> x_array, bias_array;
  const Array<unsigned short> x_rounded, w_array;

  // in_place: rows of w touch each other, and what is behind the last one is not w's. Else zeros are between them.
  Problem(Shape s, bool in_place)
      : shape(s), x_pitch(rounded_up(s.depth, STEP)), w_pitch(in_place ? s.depth : x_pitch), x(numbers(s.rows * s.depth, 1)),
        bias(numbers(s.columns, 2)), x_array(x), bias_array(bias), x_rounded(size_t(s.rows * x_pitch)),
        w_array(stored(weights<Bf16>(s.columns * s.depth, 3))) {
    const Bf16Rows<Dense<F32>> args{{x_array.global()}, x_rounded.global(), 0, s.depth, x_pitch};
    launch(*find_kernel("bf16_rows_f32"), s.rows, 32, &args, first_seed());
  }
  std::vector<unsigned short> stored(std::vector<unsigned short> values) {
    w = values;
    std::vector<unsigned short> rows;
    for (int n = 0; n < shape.columns; n++)
      for (int k = 0; k < w_pitch; k++) rows.push_back(k < shape.depth ? values[size_t(n * shape.depth + k)] : 0);
    return rows;
  }
  std::vector<Sum> expected(bool rounded, bool with_bias) const {
    std::vector<Sum> y;
    for (int t = 0; t < shape.rows; t++)
      for (int n = 0; n < shape.columns; n++) {
        Sum sum;
        for (int k = 0; k < shape.depth; k++) {
          const float value = x[size_t(t * shape.depth + k)];
          sum.add(double(rounded ? from_bf16(to_bf16(value)) : value) * from_bf16(w[size_t(n * shape.depth + k)]));
        }
        if (with_bias) sum.add(bias[size_t(n)]);
        y.push_back(sum);
      }
    return y;
  }
  ProductBf16 args(const Array<float>& y, int y_pitch, bool with_bias) const {
    return {x_rounded.global(), w_array.global(), with_bias ? bias_array.global() : Global<float>(), y.global(), shape.rows,
            shape.columns, shape.depth, x_pitch, w_pitch, y_pitch, x_pitch / STEP, int64_t(shape.rows) * y_pitch};
  }
};

// The columns of a product, of rows with `pitch` floats; the others have not been written.
std::vector<float> columns_of(const std::string& name, const std::vector<float>& y, int first, int columns, int pitch) {
  std::vector<float> taken;
  bool others = true;
  for (size_t i = 0; i < y.size(); i++) {
    const int at = int(i) % pitch;
    if (at >= first && at < first + columns) taken.push_back(y[i]);
    else others = others && y[i] == unwritten;
  }
  check(others, "%s: writes beside its columns", name.c_str());
  return taken;
}

void product_agrees(const TileKernel& kernel, const Shape& shape, bool in_place, bool with_bias, int y_pitch) {
  const Problem problem(shape, in_place);
  const std::string name = std::string(kernel.name) + " of " + shape.text();
  Array<float> y(std::vector<float>(size_t(shape.rows * y_pitch), unwritten));
  const auto by_rounded = problem.expected(true, with_bias), by_given = problem.expected(false, with_bias);
  launched<2>(kernel.name, kernel.tiles(shape), kernel.threads, problem.args(y, y_pitch, with_bias), [&] {
    const std::vector<float> got = columns_of(name, y.values(), 0, shape.columns, y_pitch);
    close(name + ", rounded", got, by_rounded, bound_of(shape.depth, 1));
    close(name, got, by_given, 0x1p-8);
    y.write(std::vector<float>(size_t(shape.rows * y_pitch), unwritten));
  }, kernel.shared_bytes);
}

// Parts of k, added by another launch.
void parts_agree(const TileKernel& kernel, const Shape& shape, int steps_of_part) {
  const Problem problem(shape, true);
  const int steps = problem.x_pitch / STEP, parts = (steps + steps_of_part - 1) / steps_of_part, fours = (shape.columns + 3) / 4;
  const std::string name = std::string(kernel.name) + " in parts of " + shape.text();
  const Array<float> sums(size_t(parts * shape.rows * fours * 4));
  const Array<float> y(std::vector<float>(size_t(shape.rows * (shape.columns + spare)), unwritten));
  ProductBf16 args = problem.args(sums, fours * 4, false);
  args.steps_of_part = steps_of_part;
  const ProductParts add{sums.global(), problem.bias_array.global(), y.global(), parts, shape.rows, shape.columns,
                         fours, shape.columns + spare};
  const auto expected = problem.expected(true, true);
  std::vector<float> first;
  launched<2>(kernel.name, kernel.tiles(shape) * parts, kernel.threads, args, [&] {
    launched<1>("product_parts", 3, 64, add, [&] {
      const std::vector<float> got = columns_of(name, y.values(), 0, shape.columns, shape.columns + spare);
      close(name, got, expected, bound_of(shape.depth, parts));
      check(first.empty() || got == first, "%s: other bits with other orders of blocks", name.c_str());
      first = got;
    });
  }, kernel.shared_bytes);
}

// Slabs of columns are decoded to the same memory, one after another, and write their columns of y.
void slabs_agree(const Shape& shape, int slab) {
  const TileKernel& kernel = kernels[2];
  const Problem problem(shape, true);
  const std::vector<unsigned short> halves = weights<F16>(shape.columns * shape.depth, 3);
  const Array<unsigned short> stored(halves), decoded(size_t(slab * problem.x_pitch));
  const int y_pitch = shape.columns + spare;
  const Array<float> y(std::vector<float>(size_t(shape.rows * y_pitch), unwritten));
  for (int first = 0; first < shape.columns; first += slab) {
    const int columns = std::min(slab, shape.columns - first);
    const Bf16Rows<Dense<F16>> decode{{stored.global()}, decoded.global(), first, shape.depth, problem.x_pitch};
    launched<1>("bf16_rows_f16", columns, 64, decode, [] {});
    ProductBf16 args = problem.args(y, y_pitch, true);
    args.w = decoded.global(), args.w_pitch = problem.x_pitch;
    args.bias = problem.bias_array.global() + first, args.y = y.global() + first, args.columns = columns;
    launched<1>(kernel.name, kernel.tiles({shape.rows, columns, shape.depth}), kernel.threads, args, [] {}, kernel.shared_bytes);
  }
  std::vector<Sum> expected;
  for (int t = 0; t < shape.rows; t++)
    for (int n = 0; n < shape.columns; n++) {
      Sum sum;
      for (int k = 0; k < shape.depth; k++)
        sum.add(double(problem.x[size_t(t * shape.depth + k)]) * from_f16(halves[size_t(n * shape.depth + k)]));
      sum.add(problem.bias[size_t(n)]);
      expected.push_back(sum);
    }
  close("slabs of f16", columns_of("slabs", y.values(), 0, shape.columns, y_pitch), expected, 0x1p-7);
}

// Sums of one sign, where every cut-off has one direction: below the true sum, within the bound.
void cut_offs_are_seen() {
  constexpr Shape shape = {3, 5, 2048};
  const TileKernel& kernel = kernels[2];
  std::vector<unsigned short> values;
  double want = 0;
  for (const float x : numbers(shape.depth, 4)) values.push_back(to_bf16(fabsf(x))), want += pow(from_bf16(values.back()), 2);
  for (int i = shape.depth; i < shape.columns * shape.depth; i++) values.push_back(values[size_t(i % shape.depth)]);
  const Array<unsigned short> same(values);
  const Array<float> y(size_t(shape.rows * shape.columns));
  const ProductBf16 args{same.global(), same.global(), Global<float>(), y.global(), shape.rows, shape.columns, shape.depth,
                         shape.depth, shape.depth, shape.columns, shape.depth / STEP, 0};
  launched<1>(kernel.name, 1, kernel.threads, args, [&] {
    for (const float got : y.values()) check(got < want && want - got <= bound_of(shape.depth, 1) * want, "sums of one sign: %g, not %g", double(got), want);
  }, kernel.shared_bytes);
}

template <class Format>
void rows_are_rounded(const char* name, int depth) {
  constexpr int rows = 3, first = 1;
  const int pitch = rounded_up(depth, STEP);
  const auto values = weights<Format>((rows + first) * depth, 5);
  const Array<typename Format::Stored> stored(values);
  const Array<unsigned short> y(size_t(rows * pitch));
  std::vector<unsigned short> want;
  for (int i = 0; i < rows * pitch; i++)
    want.push_back(i % pitch < depth ? to_bf16(Format::value(values[size_t((i / pitch + first) * depth + i % pitch)])) : 0);
  launched(name, rows, 32, Bf16Rows<Dense<Format>>{{stored.global()}, y.global(), first, depth, pitch},
           [&] { equal(name, y.values(), want); });
}

void operands_agree() {
  for (const int depth : {1, 63, 64, 72, 1000}) {
    rows_are_rounded<F32>("bf16_rows_f32", depth);
    rows_are_rounded<F16>("bf16_rows_f16", depth);
    rows_are_rounded<Bf16>("bf16_rows_bf16", depth);
  }
}

void products_agree() {
  for (const TileKernel& kernel : kernels) {
    product_agrees(kernel, {kernel.rows + 3, kernel.columns + 5, 200}, true, true, kernel.columns + 5); // pitch 261: odd
    product_agrees(kernel, {kernel.rows - 7, kernel.columns - 9, 67}, false, false, kernel.columns);
    product_agrees(kernel, {1, 1, 64}, true, true, 4);
    product_agrees(kernel, {5, 2, 328}, true, false, 2);
    parts_agree(kernel, {kernel.rows + 1, 35, 392}, 3);
  }
  product_agrees(kernels[2], {64 * 10 + 1, 70, 64}, true, true, 70); // groups of row tiles
  parts_agree(kernels[2], {70, 64, 320}, 1);
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("products of many rows with values of bf16", [] {
    operands_agree();
    products_agree();
    slabs_agree({66, 150, 136}, 64);
    cut_offs_are_seen();
  });
}
