// Products of 3 to 128 rows on the emulated device, against their definitions in float64.
#include "kernels/cuda/linear-rows.h"
#include "test/block-weights.h"
#include "test/planted.h"
#include "test/products.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

struct Shape {
  int rows, columns, depth, parts;
};

// x and w are rounded to bf16: 2⁻⁹ each, and their product.
constexpr double rounding = 0x1.01p-8;
// If both are rounded before: sums alone are rounded. Minima: a weight near the middle of two numbers may be rounded to the other.
constexpr double of_sums = 2e-6, with_minima = 0x1p-12;

const ExpertTiles one_matrix = {Global<const int>(), Global<const int>(), 1};

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
    const RowFragments fragments{x_.global() + shift_, fragments_.global(), shape_.rows, shape_.depth, steps_, tiles_, Lane::EIGHTS, one_matrix};
    const int blocks = blocks_of(shape_.columns, 1);
    const FewMatrix<Weights> matrix{w_, one ? bias : no_bias, one ? y_.global() : sums_.global(), shape_.columns, blocks};
    const RowLinear<Weights> product{fragments_.global(), {matrix, matrix, matrix}, shape_.rows, shape_.depth, tiles_, shape_.parts,
                                     one ? 0 : shape_.columns, 0, one_matrix};
    const RowSums sums{sums_.global(), {{bias, y_.global(), shape_.columns}}, shape_.parts, shape_.rows, shape_.columns, 0};
    launched<1>("row_fragments", 3, 64, fragments, [] {});
    launched<2>(kernel.c_str(), blocks, threads(), product, [&] {
      if (!one) launched<1>("row_sums", 2, 64, sums, [] {});
      close(name, y_.values(), expected, relative);
    });
  }

  // The product with w, `second` and w again in one launch, and silu(w · x) · (second · x) in another: the bits of single launches.
  void shares_launches(const std::string& kernel, Weights second, int of_second) const {
    const RowFragments fragments{x_.global() + shift_, fragments_.global(), shape_.rows, shape_.depth, steps_, tiles_, Lane::EIGHTS, one_matrix};
    launched<1>("row_fragments", 3, 64, fragments, [] {});
    const Global<const float> no_bias;
    const int columns[] = {shape_.columns, of_second, shape_.columns}, pitch = 2 * shape_.columns + of_second;
    const Weights weights[] = {w_, second, w_};
    const Array<float> sums(size_t(shape_.parts) * size_t(shape_.rows * pitch)), first(size_t(shape_.rows * shape_.columns)),
        other(size_t(shape_.rows * of_second)), third(size_t(shape_.rows * shape_.columns));
    const Array<float>* const ys[] = {&first, &other, &third};
    const bool one = shape_.parts == 1;
    RowLinear<Weights> all{fragments_.global(), {}, shape_.rows, shape_.depth, tiles_, shape_.parts, one ? 0 : pitch, 0, one_matrix};
    RowSums of_all{sums.global(), {}, shape_.parts, shape_.rows, pitch, 0};
    std::vector<std::vector<float>> want;
    for (int i = 0, end = 0, before = 0; i < MOST_MATRICES; before += columns[i++]) {
      want.push_back(alone(kernel, weights[i], columns[i]));
      end += blocks_of(columns[i], 1);
      all.matrices[i] = {weights[i], no_bias, one ? ys[i]->global() : sums.global() + before, columns[i], end};
      of_all.of[i] = {no_bias, ys[i]->global(), columns[i]};
    }
    launched<1>(kernel.c_str(), all.matrices[2].end, threads(), all, [&] {
      if (!one) launched<1>("row_sums", 2, 64, of_all, [] {});
      for (int i = 0; i < MOST_MATRICES; i++) equal((kernel + ": one of three").c_str(), ys[i]->values(), want[size_t(i)]);
    });
    if (of_second == shape_.columns) gates(kernel, all, gated(want[0], want[1]));
  }

 private:
  int threads() const { return down_ == 2 ? int(RowBlock<2>::threads) : int(RowBlock<1>::threads); }
  // `share`: the part of a block's columns that are of one matrix.
  int blocks_of(int columns, int share) const {
    const int of_block = (down_ < 4 ? int(RowBlock<1>::columns) : int(RowBlock<4>::columns)) / share;
    return tiles_ / down_ * shape_.parts * ((columns + of_block - 1) / of_block);
  }
  std::vector<float> alone(const std::string& kernel, Weights w, int columns) const {
    const bool one = shape_.parts == 1;
    const Array<float> y(size_t(shape_.rows * columns)), sums(size_t(shape_.parts) * size_t(shape_.rows * columns));
    const FewMatrix<Weights> matrix{w, {}, one ? y.global() : sums.global(), columns, blocks_of(columns, 1)};
    launched<1>(kernel.c_str(), matrix.end, threads(),
                RowLinear<Weights>{fragments_.global(), {matrix, matrix, matrix}, shape_.rows, shape_.depth, tiles_, shape_.parts, one ? 0 : columns, 0, one_matrix}, [] {});
    if (!one) launched<1>("row_sums", 2, 64, RowSums{sums.global(), {{{}, y.global(), columns}}, shape_.parts, shape_.rows, columns, 0}, [] {});
    return y.values();
  }
  void gates(const std::string& kernel, RowLinear<Weights> all, const std::vector<float>& want) const {
    const int columns = shape_.columns, pitch = 2 * columns;
    const bool one = shape_.parts == 1;
    const Array<float> y(want.size()), sums(size_t(shape_.parts) * 2 * want.size());
    all.pitch = one ? 0 : pitch, all.gated = one;
    for (int i = 0; i < MOST_MATRICES; i++) {
      all.matrices[i].y = one ? y.global() : sums.global() + std::min(i, 1) * columns;
      all.matrices[i].end = one ? blocks_of(columns, 2) : blocks_of(columns, 1) * std::min(i + 1, 2);
    }
    launched<2>(kernel.c_str(), all.matrices[2].end, threads(), all, [&] {
      if (!one)
        launched<1>("row_sums", 2, 64, RowSums{sums.global(), {{{}, y.global(), columns}, {{}, {}, columns}}, shape_.parts, shape_.rows, pitch, 1}, [] {});
      equal((kernel + ": gate and up").c_str(), y.values(), want);
    });
  }
  // Half of the products have an x that does not begin at 16 bytes.
  std::vector<float> shifted(std::vector<float> values) const {
    values.insert(values.begin(), size_t(shift_), 0.0f);
    return values;
  }
  int64_t outputs() const { return int64_t(shape_.rows) * shape_.columns; }
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
void dense_shares_launches(int height, Shape shape, int of_second) {
  const Array<typename Format::Stored> w(weights<Format>(shape.columns * shape.depth, 3)), second(weights<Format>(of_second * shape.depth, 4));
  Product<Dense<Format>>(shape, height / 16, {w.global()}, false, false).shares_launches(name_of(height, suffix<Format>() + 1), {second.global()}, of_second);
}

template <class Format>
void blocks_share_launches(const char* format, int height, Shape shape, int of_second) {
  Weight<Format>::name = format;
  const Weight<Format> w(shape.columns, shape.depth, 7), second(of_second, shape.depth, 8);
  Product<Blocks<Format>>(shape, height / 16, {w.planes()}, false, false).shares_launches(name_of(height, format), {second.planes()}, of_second);
}

template <class Format>
void every_dense_shape() {
  for (const int height : heights) {
    dense_agrees<Format>(height, {9, 1, 8, 1}, true);
    dense_agrees<Format>(height, {height, 67, 200, 1}, false);
    dense_agrees<Format>(height, {height + 1, 130, 328, 3}, true);
    dense_shares_launches<Format>(height, {height, 70, 136, 1}, 33);
    for (const int parts : {1, 2}) dense_shares_launches<Format>(height, {height - 1, 70, 136, parts}, 70);
  }
  dense_agrees<Format>(64, {128, 33, 64, 2}, true);
}

// Rows of one file block and more: 32 to 256 values.
template <class Format>
void every_block_shape(const char* format) {
  constexpr int block = FileBlock<Format>::VALUES;
  blocks_share_launches<Format>(format, 16, {5, 40, 256, 1}, 40);
  blocks_share_launches<Format>(format, 32, {17, 40, 512, 2}, 40);
  for (const int height : heights) {
    blocks_agree<Format>(format, height, {3, 1, block, 1}, true);
    blocks_agree<Format>(format, height, {height, 67, 3 * block, 1}, false);
    blocks_agree<Format>(format, height, {height + 1, 130, 256 + (block < 256 ? 3 * block : 256), 3}, true);
  }
}

// Pairs by expert in tiles of 16 rows: each pair's product, and with gate and up, silu(gate · x) · (up · x).
template <class Weights>
void experts_agree(const std::string& kernel, Weights gate, Weights up, int columns, int depth, double relative, const std::function<double(int64_t)>& weight) {
  using Lane = LaneWeights<Weights>;
  constexpr int chosen = 2, pairs = 40, height = 16;
  const std::vector<int> of_tile{0, 2, 2, -1};
  std::vector<int> rows(of_tile.size() * height, -1), expert(pairs, 2);
  rows.back() = 1 << 20; // of a tile that is not there
  for (int pair = 0, of_0 = 0, of_2 = 0; pair < pairs; pair++)
    if (pair % 4 == 0) rows[size_t(of_0++)] = pair, expert[size_t(pair)] = 0;
    else rows[size_t(height + of_2++)] = pair;
  const int tiles = int(of_tile.size()), steps = (depth + Lane::STEPS * 32 - 1) / (Lane::STEPS * 32) * Lane::STEPS;
  const std::vector<float> x = numbers_in_bf16(pairs / chosen * depth);
  const Array<float> x_array(x), y(size_t(pairs * columns));
  const Array<int> rows_array(rows), of_tile_array(of_tile);
  const Array<Uint4> fragments(size_t(steps) * size_t(tiles) * 2 * WARP);
  const ExpertTiles experts{rows_array.global(), of_tile_array.global(), chosen};
  launched<1>("row_fragments", 3, 64, RowFragments{x_array.global(), fragments.global(), tiles * height, depth, steps, tiles, Lane::EIGHTS, experts}, [] {});
  const auto product = [&](Weights first, bool gated, const auto& body) {
    const int of_block = int(RowBlock<1>::columns) / (gated ? 2 : 1), blocks = tiles * ((columns + of_block - 1) / of_block);
    const FewMatrix<Weights> one{first, {}, y.global(), columns, blocks}, two{up, {}, y.global(), columns, blocks};
    launched<2>(kernel.c_str(), blocks, int(RowBlock<1>::threads),
                RowLinear<Weights>{fragments.global(), {one, two, two}, tiles * height, depth, tiles, 1, 0, gated, experts}, body);
    return y.values();
  };
  std::vector<Sum> expected;
  for (int pair = 0; pair < pairs; pair++)
    for (int n = 0; n < columns; n++) {
      Sum sum;
      for (int k = 0; k < depth; k++)
        sum.add(double(x[size_t(pair / chosen * depth + k)]) * weight((int64_t(expert[size_t(pair)]) * columns + n) * depth + k));
      expected.push_back(sum);
    }
  const std::vector<float> gates = product(gate, false, [&] { close(kernel + " of experts", y.values(), expected, relative); });
  const std::vector<float> want = gated(gates, product(up, false, [] {}));
  product(gate, true, [&] { equal((kernel + ": gate and up of experts").c_str(), y.values(), want); });
}

template <class Format>
void experts_of_blocks(const char* format) {
  constexpr int experts = 3, columns = 37, depth = 256;
  Weight<Format>::name = format;
  const Weight<Format> gate(experts * columns, depth, 5), up(experts * columns, depth, 6);
  experts_agree<Blocks<Format>>(name_of(16, format), {gate.planes()}, {up.planes()}, columns, depth, Format::MINS ? with_minima : of_sums,
                                [&](int64_t i) { return in_bf16(gate.value(i)); });
}

template <class Format>
void experts_of_dense() {
  constexpr int experts = 3, columns = 70, depth = 72;
  const std::vector<typename Format::Stored> values = weights<Format>(experts * columns * depth, 3);
  const Array<typename Format::Stored> gate(values), up(weights<Format>(experts * columns * depth, 4));
  experts_agree<Dense<Format>>(name_of(16, suffix<Format>() + 1), {gate.global()}, {up.global()}, columns, depth, of_sums,
                               [&](int64_t i) { return in_bf16(Format::value(values[size_t(i)])); });
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
  return run_test("products of some rows on the emulated device", [] {
    digits_are_checked();
    every_dense_shape<Bf16>();
    every_dense_shape<F16>();
    experts_of_dense<Bf16>();
    experts_of_dense<F16>();
#define AGREE(Format, name) every_block_shape<Format>(#name), experts_of_blocks<Format>(#name);
    EVERY_BLOCK_FORMAT(AGREE)
  });
}
