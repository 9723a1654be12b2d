// Products with dense weights on the emulated device, against their definitions in float64.
#include "kernels/block-sum.h"
#include "kernels/cuda/linear-tiles.h"
#include "kernels/linear-few.h"
#include "kernels/unfold.h"
#include "test/products.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

struct Shape {
  int rows, columns, depth;
};

// x, w and bias of a shape on the device, and y by definition.
template <class Format>
struct Problem {
  using Stored = typename Format::Stored;
  const Shape shape;
  const std::vector<float> x, bias;
  const std::vector<Stored> w;
  const Array<float> x_array, bias_array, y_array;
  const Array<Stored> w_array;

  explicit Problem(Shape s, std::vector<float> given = {})
      : shape(s), x(given.empty() ? numbers(s.rows * s.depth, 1) : given), bias(numbers(s.columns, 2)),
        w(weights<Format>(s.columns * s.depth, 3)),
        x_array(x), bias_array(bias), y_array(size_t(s.rows * s.columns)), w_array(w) {}

  std::vector<Sum> expected(bool with_bias) const {
    std::vector<Sum> y;
    for (int t = 0; t < shape.rows; t++)
      for (int n = 0; n < shape.columns; n++) {
        Sum sum;
        for (int k = 0; k < shape.depth; k++) sum.add(double(x[t * shape.depth + k]) * Format::value(w[n * shape.depth + k]));
        if (with_bias) sum.add(bias[n]);
        y.push_back(sum);
      }
    return y;
  }
  // The product of `rows` rows of x from `first` on.
  Linear<Dense<Format>> args(bool with_bias, int first, int rows) const {
    return {x_array.global() + first * shape.depth, {w_array.global()}, with_bias ? bias_array.global() : Global<float>(),
            y_array.global(), rows, shape.columns, shape.depth};
  }
  FewLinear<Dense<Format>> few_args(bool with_bias, int first, int rows, int blocks) const {
    const Linear<Dense<Format>> of = args(with_bias, first, rows);
    return few_of_one(of.x, of.w, of.bias, of.y, of.rows, of.columns, of.depth, blocks);
  }
  TileLinear<Dense<Format>> tile_args(bool with_bias, int first, int rows) const {
    return {args(with_bias, first, rows), {Global<const int>(), Global<const int>(), 1}};
  }
  std::string name(const char* name) const {
    return kernel<Format>(name) + " of " + std::to_string(shape.rows) + ", " + std::to_string(shape.columns) + ", " +
           std::to_string(shape.depth);
  }
};

template <class Format>
void few_agrees(const Shape& shape, bool with_bias) {
  const Problem<Format> problem(shape);
  const std::vector<Sum> expected = problem.expected(with_bias);
  launched(few_kernel("linear_few", shape.rows, suffix<Format>() + 1).c_str(), 3, 128, problem.few_args(with_bias, 0, shape.rows, 3),
           [&] { close(problem.name("linear_few"), problem.y_array.values(), expected); });
}

// parts: numbers of bf16 that x becomes. Fewer than 3: `rounding` is how far a product of two numbers may be away, relatively.
template <class Format>
void tiles_agree(int parts, double rounding, const Shape& shape, bool with_bias) {
  const Problem<Format> problem(shape);
  const std::vector<Sum> expected = problem.expected(with_bias);
  const std::string of_parts = "_" + std::to_string(parts);
  const auto agrees = [&](const std::string& tile, int rows, int columns) {
    const std::string name = tile + of_parts;
    const int blocks = (shape.rows + rows - 1) / rows * ((shape.columns + columns - 1) / columns);
    const auto args = problem.tile_args(with_bias, 0, shape.rows);
    launched<2>(kernel<Format>(name.c_str()).c_str(), blocks, 256, args,
                [&] { close(problem.name(name.c_str()), problem.y_array.values(), expected, rounding); });
    return problem.y_array.values();
  };
  const std::vector<float> tile = agrees("linear_tile", 128, 128), strip = agrees("linear_strip", 32, 64);
  check(tile == strip, "%s: other bits than in strips", problem.name("linear_tile").c_str());

  auto last = problem.tile_args(with_bias, shape.rows - 1, 1);
  launch(*find_kernel(kernel<Format>(("linear_strip" + of_parts).c_str())), (shape.columns + 63) / 64, 256, &last, 1);
  check(memcmp(problem.y_array.values().data(), &tile[size_t((shape.rows - 1) * shape.columns)],
               size_t(shape.columns) * sizeof(float)) == 0,
        "%s: the last row alone has other bits", problem.name("linear_strip").c_str());
}

// Sums of one sign, where tensor cores cut every sum off in one direction.
void long_sums_agree() {
  constexpr Shape shape = {9, 64, 4096};
  const std::vector<float> w = weights<F32>(shape.columns * shape.depth, 3);
  std::vector<float> x;
  for (int i = 0; i < shape.rows * shape.depth; i++) x.push_back(w[size_t(i % shape.depth)]); // column 0: squares
  const Problem<F32> problem(shape, x);
  const std::vector<Sum> expected = problem.expected(false);
  launched<1>("linear_strip_3_f32", 1, 256, problem.tile_args(false, 0, shape.rows),
              [&] { close("linear_strip_3_f32, sums of squares", problem.y_array.values(), expected); });
}

template <class Format>
void every_tile_agrees(int parts, double rounding) {
  for (const Shape& shape : {Shape{1, 1, 1}, {9, 33, 31}, {17, 64, 72}, {70, 130, 40}, {130, 9, 36}})
    tiles_agree<Format>(parts, rounding, shape, shape.columns % 2 == 1);
}

// One product of a warp by its instructions, on fragments placed as the PTX ISA has them.
struct OneProduct {
  Global<const unsigned short> a, b; // bf16 [16, 16], [16, 8]
  Global<float> c;                   // [16, 8]
};
KERNEL(one_product, OneProduct) {
  SHARED(Uint4, rows, 32);
  const int g = lane() / 4, i = lane() % 4 * 2;
  const auto pair = [&](Global<const unsigned short> from, int at, int step) {
    return unsigned(from[at]) | unsigned(from[at + step]) << 16;
  };
  const Fragment16x16 a = {{pair(args.a, g * 16 + i, 1), pair(args.a, (g + 8) * 16 + i, 1), pair(args.a, g * 16 + i + 8, 1),
                            pair(args.a, (g + 8) * 16 + i + 8, 1)}};
  const Fragment16x8 b = {{pair(args.b, i * 8 + g, 8), pair(args.b, (i + 8) * 8 + g, 8)}};
  Sums16x8 c = {};
  multiply_bf16(c, a, b);
  for (int n = 0; n < 4; n++) args.c[(g + n / 2 * 8) * 8 + i + n % 2] = c.values[n];

  const auto word = [&](int w) { return pair(args.a, lane() % 16 * 16 + lane() / 16 * 8 + w * 2, 1); };
  rows[lane()] = Uint4{word(0), word(1), word(2), word(3)};
  warp_barrier();
  const Fragment16x16 loaded = load_matrices(rows + lane());
  for (int m = 0; m < 4; m++)
    if (loaded.words[m] != a.words[m]) args.c[0] = infinity();
}

void instructions_agree() {
  const std::vector<unsigned short> a = weights<Bf16>(256, 1), b = weights<Bf16>(128, 2);
  const Array<unsigned short> a_array(a), b_array(b);
  const Array<float> c(128);
  launched("one_product", 1, 32, OneProduct{a_array.global(), b_array.global(), c.global()}, [&] {
    agrees("multiply_bf16, load_matrices", c.values(), 1e-5, [&](int64_t at) {
      double sum = 0;
      for (int k = 0; k < 16; k++) sum += double(from_bf16(a[size_t(at / 8 * 16 + k)])) * from_bf16(b[size_t(k * 8 + at % 8)]);
      return sum;
    });
  });
}

// A row has the same bits alone and among others, where addresses are aligned and where they are not.
template <class Format>
void few_is_invariant(int depth) {
  const Problem<Format> problem({8, 13, depth});
  const auto kernel_of = [](int rows) -> const Kernel& { return *find_kernel(few_kernel("linear_few", rows, suffix<Format>() + 1)); };
  const auto product = [&](int first, int rows, int blocks) {
    const auto args = problem.few_args(true, first, rows, blocks);
    launch(kernel_of(rows), blocks, 128, &args, 1);
    std::vector<float> y = problem.y_array.values();
    y.resize(size_t(rows * problem.shape.columns));
    return y;
  };
  const std::vector<float> all = product(0, 8, 1);
  for (const int rows : {1, 2, 3, 4, 5, 7})
    for (const int first : {0, 8 - rows}) {
      const std::vector<float> y = product(first, rows, 2);
      check(memcmp(y.data(), &all[size_t(first * problem.shape.columns)], y.size() * sizeof(float)) == 0,
            "%s: %d rows from %d on have other bits", problem.name("linear_few").c_str(), rows, first);
    }

  std::vector<typename Format::Stored> shifted(problem.w);
  shifted.insert(shifted.begin(), 0);
  const Array<typename Format::Stored> w(shifted);
  auto args = problem.few_args(true, 0, 8, 1);
  args.matrices[0].w = {w.global() + 1};
  launch(kernel_of(8), 1, 128, &args, 1);
  check(problem.y_array.values() == all, "%s: other bits where w is not aligned", problem.name("linear_few").c_str());
}

// Gate and up in one launch, three matrices in one: the bits of single launches.
template <class Format>
void shared_launches_agree(int rows, int depth) {
  constexpr int columns = 13, blocks = 2;
  const Problem<Format> problem({rows, columns, depth});
  const Array<typename Format::Stored> up_array(weights<Format>(columns * depth, 9));
  const Dense<Format> gate{problem.w_array.global()}, up{up_array.global()};
  const Array<float> second(size_t(rows * columns)), third(size_t(rows * columns));
  const std::string name = few_kernel("linear_few", rows, suffix<Format>() + 1);
  const Global<float> ys[] = {problem.y_array.global(), second.global(), third.global()};
  const auto product = [&](Dense<Format> w, int i) {
    const auto args = few_of_one(problem.x_array.global(), w, problem.bias_array.global(), ys[i], rows, columns, depth, blocks);
    launched<1>(name.c_str(), blocks, 128, args, [] {});
    return args.matrices[0];
  };
  FewLinear<Dense<Format>> all{problem.x_array.global(), {product(gate, 0), product(up, 1), product(gate, 2)}, rows, depth, 1, {}, {}};
  const std::vector<float> gates = problem.y_array.values(), ups = second.values();
  for (int i = 1; i < MOST_MATRICES; i++) all.matrices[i].end = (i + 1) * blocks;
  for (const Array<float>* y : {&problem.y_array, &second, &third}) y->write(std::vector<float>(size_t(rows * columns), NAN));
  launched<2>(name.c_str(), MOST_MATRICES * blocks, 128, all, [&] {
    equal("the first of three", problem.y_array.values(), gates);
    equal("the second of three", second.values(), ups);
    equal("the third of three", third.values(), gates);
  });

  for (int i = 0; i < 2; i++) all.matrices[i].bias = Global<const float>();
  launched<1>(name.c_str(), MOST_MATRICES * blocks, 128, all, [] {});
  const std::vector<float> want = gated(problem.y_array.values(), second.values());
  const GateUp<Dense<Format>> both{problem.x_array.global(), gate, up, third.global(), rows, columns, depth, 1, {}};
  launched<2>(few_kernel("gate_up_few", rows, suffix<Format>() + 1).c_str(), blocks, 128, both, [&] { equal("gate_up_few", third.values(), want); });
}

template <class Format>
void weights_are_prefetched() {
  const Problem<Format> problem({1, 8, 64});
  const Dense<Format> w{problem.w_array.global()}, missing{nowhere<typename Format::Stored>()};
  const Global<const float> x = problem.x_array.global();
  const Global<float> y = problem.y_array.global();
  const std::string format = suffix<Format>() + 1, gated = few_kernel("gate_up_few", 1, format);
  prefetches(few_kernel("linear_few", 1, format), "w", few_of_one<Dense<Format>>(x, missing, {}, y, 1, 8, 64, 1));
  prefetches(gated, "gate", GateUp<Dense<Format>>{x, missing, w, y, 1, 8, 64, 1, {}});
  prefetches(gated, "up", GateUp<Dense<Format>>{x, w, missing, y, 1, 8, 64, 1, {}});
}

// Sums of 1, 2, … 32 values over a warp have the bits of warp_sum.
template <int COUNT>
void put_warp_sums(Global<const float> x, Global<float> y) {
  LaneSums<COUNT> values;
  float want = 0;
  for (int i = 0; i < COUNT; i++) values.of[i] = x[i * WARP + lane()];
  for (int i = 0; i < COUNT; i++) {
    const float sum = warp_sum(values.of[i]);
    if (lane() == i) want = sum;
  }
  const float sum = warp_sums(values);
  if (lane() < COUNT) y[lane()] = sum, y[WARP + lane()] = want;
}
struct LanesOfSums {
  Global<const float> x; // [32, WARP]
  Global<float> y;       // [2, WARP]
};
KERNEL(sums_of_1, LanesOfSums) { put_warp_sums<1>(args.x, args.y); }
KERNEL(sums_of_2, LanesOfSums) { put_warp_sums<2>(args.x, args.y); }
KERNEL(sums_of_8, LanesOfSums) { put_warp_sums<8>(args.x, args.y); }
KERNEL(sums_of_32, LanesOfSums) { put_warp_sums<32>(args.x, args.y); }

void warp_sums_agree() {
  const std::vector<float> x = numbers(32 * WARP, 13);
  const Array<float> x_array(x), y(std::vector<float>(2 * WARP, 0.0f));
  for (const int count : {1, 2, 8, 32}) {
    const std::string name = "sums_of_" + std::to_string(count);
    launched<1>(name.c_str(), 1, WARP, LanesOfSums{x_array.global(), y.global()}, [&] {
      const std::vector<float> all = y.values();
      check(memcmp(&all[0], &all[WARP], size_t(count) * sizeof(float)) == 0, "%s: other bits than warp_sum", name.c_str());
      for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int l = 0; l < WARP; l++) sum += x[size_t(i * WARP + l)];
        check(fabs(all[size_t(i)] - sum) < 1e-5, "%s: sum %d is %g, not %g", name.c_str(), i, double(all[size_t(i)]), sum);
      }
    });
  }
}

template <class Format>
void conv1d_agrees(int times, int channels, int taps, int columns, int stride, int padding) {
  const int depth = taps * channels, rows = (times + 2 * padding - taps) / stride + 1;
  const std::vector<float> x = numbers(times * channels, 1), bias = numbers(columns, 2);
  const std::vector<typename Format::Stored> w = weights<Format>(columns * depth, 3);
  const Array<float> x_array(x), bias_array(bias), y(size_t(rows * columns));
  const Array<typename Format::Stored> w_array(w);
  std::vector<Sum> expected;
  for (int t = 0; t < rows; t++)
    for (int n = 0; n < columns; n++) {
      Sum sum;
      sum.add(bias[n]);
      for (int tap = 0; tap < taps; tap++) {
        const int time = t * stride - padding + tap;
        if (time < 0 || time >= times) continue;
        for (int c = 0; c < channels; c++)
          sum.add(double(x[time * channels + c]) * Format::value(w[n * depth + tap * channels + c]));
      }
      expected.push_back(sum);
    }
  const Array<float> windows{size_t(rows * depth)};
  const Unfold unfold = {x_array.global(), windows.global(), times, channels, depth, stride, padding};
  const TileLinear<Dense<Format>> product = {
      {windows.global(), {w_array.global()}, bias_array.global(), y.global(), rows, columns, depth},
      {Global<const int>(), Global<const int>(), 1}};
  const std::string name = kernel<Format>("linear_strip_3");
  launched("unfold", rows, 64, unfold, [&] {
    launched<1>(name.c_str(), (rows + 31) / 32 * ((columns + 63) / 64), 256, product, [&] { close(name, y.values(), expected); });
  });
}

template <class Format>
void products_agree() {
  for (const Shape& shape : {Shape{1, 1, 1}, {1, 33, 64}, {1, 130, 1000}, {2, 33, 256}, {2, 64, 31}, {3, 130, 8}, {3, 33, 1000},
                             {8, 1, 256}, {8, 33, 31}, {8, 64, 64}, {8, 130, 256}, {8, 33, 1000}, {1, 2, 4200}, {4, 5, 2056}})
    few_agrees<Format>(shape, shape.columns % 2 == 1);
  few_agrees<Format>({3, 33, 64}, false);
  for (const int depth : {31, 64, 1000}) few_is_invariant<Format>(depth);
  for (const int rows : {1, 2, 3, 7}) shared_launches_agree<Format>(rows, 264);
  shared_launches_agree<Format>(1, 37);
  weights_are_prefetched<Format>();
  conv1d_agrees<Format>(20, 5, 3, 33, 1, 1);
  conv1d_agrees<Format>(150, 8, 3, 65, 2, 1);
  conv1d_agrees<Format>(9, 4, 4, 3, 3, 0);
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("products on the emulated device", [] {
    products_agree<F32>();
    products_agree<F16>();
    products_agree<Bf16>();
    instructions_agree();
    warp_sums_agree();
    every_tile_agrees<F32>(3, 2e-6);
    long_sums_agree();
    every_tile_agrees<F16>(3, 2e-6);
    every_tile_agrees<F16>(2, 0x1p-15);
    every_tile_agrees<F16>(1, 0x1p-7);
    every_tile_agrees<Bf16>(3, 2e-6);
    every_tile_agrees<Bf16>(1, 0x1p-8);
  });
}
