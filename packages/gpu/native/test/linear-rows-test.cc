// Products of 9 to 128 rows on the emulated device, against their definitions in float64.
#include "kernels/cuda/linear-rows.h"
#include "test/block-weights.h"
#include "test/planted.h"
#include "test/products.h"

namespace quern::gpu {
namespace {

struct Shape {
  int rows, columns, depth, parts;
};

// x and w are rounded to bf16: 2⁻⁹ each, and their product.
constexpr double rounding = 0x1.01p-8;
// If both are rounded before: sums alone are rounded. Minima: a weight near the middle of two numbers may be rounded to the other.
constexpr double of_sums = 2e-6, with_minima = 0x1p-12;

double in_bf16(double x) { return from_bf16(to_bf16(float(x))); }

std::vector<float> numbers_in_bf16(int64_t count) {
  std::vector<float> x = numbers(count, 1);
  for (float& value : x) value = float(in_bf16(value));
  return x;
}

// A product as its launches make it: x as fragments, tiles, and the sum of parts.
template <class Weights>
class Product {
  using Lane = LaneWeights<Weights>;

 public:
  Product(Shape shape, int down, Weights w, bool with_bias, bool rounded)
      : shape_(shape), down_(down), w_(w), with_bias_(with_bias), steps_((shape.depth + Lane::STEPS * 32 - 1) / (Lane::STEPS * 32) * Lane::STEPS),
        tiles_((shape.rows + down * 16 - 1) / (down * 16) * down), shift_(with_bias ? 0 : 1), x(rounded ? numbers_in_bf16(shape.rows * shape.depth) : numbers(shape.rows * shape.depth, 1)),
        bias(numbers(shape.columns, 2)), x_(shifted(x)), bias_(bias), fragments_(size_t(steps_) * tiles_ * 2 * WARP),
        sums_(size_t(shape.parts) * size_t(outputs())), y_(size_t(outputs())) {}

  void agrees(const std::string& kernel, double relative, const std::function<double(int64_t)>& weight) const {
    const std::vector<Sum> expected = definition(weight);
    const std::string name = kernel + " of " + std::to_string(shape_.rows) + ", " + std::to_string(shape_.columns) + ", " +
                             std::to_string(shape_.depth) + " in " + std::to_string(shape_.parts);
    const Global<const float> no_bias, bias = with_bias_ ? Global<const float>(bias_.global()) : no_bias;
    const bool one = shape_.parts == 1;
    const RowFragments fragments{x_.global() + shift_, fragments_.global(), shape_.rows, shape_.depth, steps_, tiles_, Lane::EIGHTS};
    const RowLinear<Weights> product{fragments_.global(), w_, one ? bias : no_bias, one ? y_.global() : sums_.global(), shape_.rows,
                                     shape_.columns, shape_.depth, tiles_, shape_.parts};
    const RowSums sums{sums_.global(), bias, y_.global(), shape_.parts, shape_.columns, outputs()};
    const int columns = down_ < 4 ? int(RowBlock<1>::columns) : int(RowBlock<4>::columns);
    const int threads = down_ == 2 ? int(RowBlock<2>::threads) : int(RowBlock<1>::threads);
    const int blocks = tiles_ / down_ * shape_.parts * ((shape_.columns + columns - 1) / columns);
    launched<1>("row_fragments", 3, 64, fragments, [] {});
    launched<2>(kernel.c_str(), blocks, threads, product, [&] {
      if (!one) launched<1>("row_sums", 2, 64, sums, [] {});
      close(name, y_.values(), expected, relative);
    });
  }

 private:
  // Half of the products have an x that does not begin at 16 bytes.
  std::vector<float> shifted(std::vector<float> values) const {
    values.insert(values.begin(), size_t(shift_), 0.0f);
    return values;
  }
  long outputs() const { return long(shape_.rows) * shape_.columns; }
  std::vector<Sum> definition(const std::function<double(int64_t)>& weight) const {
    std::vector<Sum> y;
    for (int t = 0; t < shape_.rows; t++)
      for (int n = 0; n < shape_.columns; n++) {
        Sum sum;
        for (int k = 0; k < shape_.depth; k++) sum.add(double(x[size_t(t * shape_.depth + k)]) * weight(int64_t(n) * shape_.depth + k));
        if (with_bias_) sum.add(bias[size_t(n)]);
        y.push_back(sum);
      }
    return y;
  }

  const Shape shape_;
  const int down_;
  const Weights w_;
  const bool with_bias_;
  const int steps_, tiles_, shift_;
  const std::vector<float> x, bias;
  const Array<float> x_, bias_;
  const Array<Uint4> fragments_;
  const Array<float> sums_, y_;
};

constexpr int heights[] = {16, 32, 64};

std::string name_of(int height, const std::string& format) { return "linear_rows_" + std::to_string(height) + "_" + format; }

template <class Format>
void dense_agrees(int height, Shape shape, bool with_bias) {
  const std::vector<typename Format::Stored> values = weights<Format>(shape.columns * shape.depth, 3);
  const Array<typename Format::Stored> w(values);
  for (const bool rounded : {false, true}) {
    const Product<Dense<Format>> product(shape, height / 16, {w.global()}, with_bias, rounded);
    product.agrees(name_of(height, suffix<Format>() + 1), rounded ? of_sums : rounding, [&](int64_t i) {
      const double value = Format::value(values[size_t(i)]);
      return rounded ? in_bf16(value) : value;
    });
  }
}

template <class Format>
void blocks_agree(const char* format, int height, Shape shape, bool with_bias) {
  Weight<Format>::name = format;
  const Weight<Format> w(shape.columns, shape.depth, 7);
  const Product<Blocks<Format>> product(shape, height / 16, {w.planes()}, with_bias, true);
  product.agrees(name_of(height, format), Format::MINS ? with_minima : of_sums, [&](int64_t i) { return in_bf16(w.value(i)); });
}

template <class Format>
void every_dense_shape() {
  for (const int height : heights) {
    dense_agrees<Format>(height, {9, 1, 8, 1}, true);
    dense_agrees<Format>(height, {height, 67, 200, 1}, false);
    dense_agrees<Format>(height, {height + 1, 130, 328, 3}, true);
  }
  dense_agrees<Format>(64, {128, 33, 64, 2}, true);
}

// Rows of one file block and more: 32 to 256 values.
template <class Format>
void every_block_shape(const char* format) {
  constexpr int block = FileBlock<Format>::VALUES;
  for (const int height : heights) {
    blocks_agree<Format>(format, height, {9, 1, block, 1}, true);
    blocks_agree<Format>(format, height, {height, 67, 3 * block, 1}, false);
    blocks_agree<Format>(format, height, {height + 1, 130, 256 + (block < 256 ? 3 * block : 256), 3}, true);
  }
}

KERNEL(bytes_of_two_words, Numbers) { args.y[thread_index()] = float(bytes_from(0x00020001u, 0x00000003u, 0x7420u) + thread_index()); }
KERNEL(digit_beyond_seven, Numbers) { args.y[thread_index()] = float(bytes_from(1, 2, 0x8000u)); }

void digits_are_checked() {
  computes("bytes_of_two_words", 1, [](int i) { return 0x00030201 + i; });
  is_caught("digit_beyond_seven", "digits");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  Memory memory(1 << 26);
  device_memory() = &memory;
  digits_are_checked();
  every_dense_shape<Bf16>();
  every_dense_shape<F16>();
#define AGREE(Format, name) every_block_shape<Format>(#name);
  EVERY_BLOCK_FORMAT(AGREE)
  return report("products of some rows on the emulated device");
}
