// Weights of blocks on the emulated device: planes, and products against float64.
#include "kernels/block-products.h"
#include "kernels/cuda/bf16-rows.h"
#include "kernels/cuda/linear-tiles.h"
#include "kernels/embed.h"
#include "kernels/expert-linear.h"
#include "test/block-weights.h"
#include "test/few.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

struct Sums {
  std::vector<double> values, terms;
};

// Each got[i] is within `relative` of Σ|terms|.
void close(const std::string& name, const std::vector<float>& got, const Sums& expected, double relative = 2e-6) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); i++) {
    const double apart = fabs(got[i] - expected.values[i]) / (1e-7 + relative * expected.terms[i]);
    worst = apart <= worst ? worst : apart; // NaN is worst
  }
  check(worst <= 1, "%s: %g times the tolerance", name.c_str(), worst);
}

template <class Format>
void products_agree(int rows, int columns, int depth, int parts) {
  const Weight<Format> w(columns, depth, 7);
  const std::vector<float> x = numbers(rows * depth, 1), bias = numbers(columns, 2);
  const Array<float> x_array(x), bias_array(bias), y(size_t(rows * columns));
  Sums expected;
  for (int t = 0; t < rows; t++)
    for (int n = 0; n < columns; n++) {
      double sum = bias[n], terms = fabs(sum);
      for (int k = 0; k < depth; k++) {
        const double term = x[t * depth + k] * w.value(int64_t(n) * depth + k);
        sum += term, terms += fabs(term);
      }
      expected.values.push_back(sum), expected.terms.push_back(4 * terms);
    }
  if (rows <= 8) {
    const auto args = few_of_one<Planes>(x_array.global(), w.planes(), bias_array.global(), y.global(), rows, columns, depth, 2, parts);
    const std::string name = few_kernel("linear_few", rows, Weight<Format>::name);
    launched(name.c_str(), 2, 128, args, [&] { close(name, y.values(), expected); });
  } else {
    const TileLinear<Planes> args{{x_array.global(), w.planes(), bias_array.global(), y.global(), rows, columns, depth},
                                  {Global<const int>(), Global<const int>(), 1}};
    const std::string tile = Weight<Format>::name_of("linear_tile_3"), strip = Weight<Format>::name_of("linear_strip_1");
    launched<2>(tile.c_str(), 1, 256, args, [&] { close(tile, y.values(), expected); });
    launched<2>(strip.c_str(), 2, 256, args, [&] { close(strip, y.values(), expected, 0x1p-9); });
  }
}

// A row has the same bits alone and among others.
template <class Format>
void rows_are_alike(int depth) {
  constexpr int rows = 8, columns = 6;
  const Weight<Format> w(columns, depth, 7);
  const Array<float> x(numbers(rows * depth, 1)), y(size_t(rows * columns));
  const auto product = [&](int first, int count) {
    const Kernel& kernel = *find_kernel(few_kernel("linear_few", count, Weight<Format>::name));
    const auto args = few_of_one<Planes>(x.global() + first * depth, w.planes(), {}, y.global(), count, columns, depth, 1, 2);
    launch(kernel, 1, 128, &args, 1);
    std::vector<float> result = y.values();
    result.resize(size_t(count * columns));
    return result;
  };
  const std::vector<float> all = product(0, rows);
  for (const int count : {1, 2, 4})
    check(memcmp(product(8 - count, count).data(), &all[size_t((8 - count) * columns)], size_t(count * columns) * 4) == 0,
          "%s: %d rows have other bits", Weight<Format>::name, count);
}

template <class Format>
void experts_agree() {
  constexpr int rows = 2, chosen = 2, experts = 3, columns = 5, depth = 256;
  const Weight<Format> w(experts * columns, depth, 3);
  const std::vector<float> x = numbers(rows * depth, 1);
  const std::vector<int> ids{2, 0, 1, 2};
  const Array<float> x_array(x), y(size_t(rows * chosen * columns));
  const Array<int> ids_array(ids), fault(std::vector<int>{0, 0});
  Sums expected;
  for (int pair = 0; pair < rows * chosen; pair++)
    for (int n = 0; n < columns; n++) {
      double sum = 0, terms = 0;
      for (int k = 0; k < depth; k++) {
        const double term = x[pair / chosen * depth + k] * w.value((ids[pair] * columns + n) * depth + k);
        sum += term, terms += fabs(term);
      }
      expected.values.push_back(sum), expected.terms.push_back(4 * terms);
    }
  const ExpertLinear<Planes> args{
      {x_array.global(), ids_array.global(), y.global(), rows, chosen, experts, columns, depth, fault.global(), 7}, w.planes()};
  const std::string name = Weight<Format>::name_of("expert_linear");
  launched(name.c_str(), 3, 128, args, [&] { close(name, y.values(), expected); });
}

// Gate and up in one launch have the bits of two launches.
template <class Format>
void gate_up_agrees(int rows, int columns, int depth, int parts) {
  const Weight<Format> gate(columns, depth, 3), up(columns, depth, 4);
  const Array<float> x(numbers(rows * depth, 1)), y(size_t(rows * columns));
  const Kernel& single = *find_kernel(few_kernel("linear_few", rows, Weight<Format>::name));
  const auto product = [&](const Weight<Format>& w) {
    const auto args = few_of_one<Planes>(x.global(), w.planes(), {}, y.global(), rows, columns, depth, 2, parts);
    launch(single, 2, 128, &args, 1);
    return y.values();
  };
  const std::vector<float> want = gated(product(gate), product(up));
  const GateUp<Planes> args{x.global(), gate.planes(), up.planes(), y.global(), rows, columns, depth, parts, {}};
  const std::string name = few_kernel("gate_up_few", rows, Weight<Format>::name);
  launched<2>(name.c_str(), 2, 128, args, [&] { equal(name.c_str(), y.values(), want); });
}

template <class Format>
void expert_gate_up_agrees() {
  constexpr int rows = 2, chosen = 2, experts = 3, columns = 5, depth = 256;
  const Weight<Format> gate(experts * columns, depth, 3), up(experts * columns, depth, 4);
  const Array<float> x(numbers(rows * depth, 1)), y(size_t(rows * chosen * columns));
  const Array<int> ids(std::vector<int>{2, 0, 1, 2}), fault(std::vector<int>{0, 0});
  const ExpertPairs pairs{x.global(), ids.global(), y.global(), rows, chosen, experts, columns, depth, fault.global(), 7};
  const Kernel& single = *find_kernel(Weight<Format>::name_of("expert_linear"));
  const auto product = [&](const Weight<Format>& w) {
    const ExpertLinear<Planes> args{pairs, w.planes()};
    launch(single, 3, 128, &args, 1);
    return y.values();
  };
  const std::vector<float> want = gated(product(gate), product(up));
  const std::string name = Weight<Format>::name_of("expert_gate_up");
  launched<2>(name.c_str(), 3, 128, ExpertGateUp<Planes>{pairs, gate.planes(), up.planes()},
              [&] { equal(name.c_str(), y.values(), want); });
}

// Three matrices in one launch have the bits of three launches.
template <class Format>
void matrices_agree(int rows) {
  constexpr int depth = 512, columns[] = {9, 3, 6}, blocks[] = {2, 1, 3};
  const Weight<Format> a(columns[0], depth, 3), b(columns[1], depth, 4), c(columns[2], depth, 5);
  const Weight<Format>* const weights[] = {&a, &b, &c};
  const Array<float> x(numbers(rows * depth, 1)), bias(numbers(9, 2));
  const std::string name = few_kernel("linear_few", rows, Weight<Format>::name);
  FewLinear<Planes> all{x.global(), {}, rows, depth, 2, {}, {}};
  std::vector<std::unique_ptr<Array<float>>> ys;
  std::vector<std::vector<float>> want;
  for (int i = 0, end = 0; i < MOST_MATRICES; i++) {
    ys.push_back(std::make_unique<Array<float>>(size_t(rows * columns[i])));
    const auto one = few_of_one<Planes>(x.global(), weights[i]->planes(), bias.global(), ys[i]->global(), rows, columns[i], depth, 1, 2);
    launch(*find_kernel(name), 1, 128, &one, 1);
    want.push_back(ys[i]->values());
    all.matrices[i] = one.matrices[0];
    all.matrices[i].end = end += blocks[i];
    ys[i]->write(std::vector<float>(want[i].size(), NAN));
  }
  launched<2>(name.c_str(), 6, 128, all, [&] {
    for (int i = 0; i < MOST_MATRICES; i++) equal("three matrices", ys[i]->values(), want[i]);
  });
}

template <class Format>
void planes_are_prefetched() {
  constexpr int columns = 4, depth = 512;
  const Weight<Format> w(columns, depth, 3);
  const Array<float> x(numbers(depth, 1)), y(columns);
  const auto of = [&](const char* what, const auto& set) {
    Planes missing = w.planes();
    set(missing);
    prefetches(few_kernel("linear_few", 1, Weight<Format>::name), what,
               few_of_one<Planes>(x.global(), missing, {}, y.global(), 1, columns, depth, 1));
    for (const bool up : {false, true})
      prefetches(few_kernel("gate_up_few", 1, Weight<Format>::name), what,
                 GateUp<Planes>{x.global(), up ? w.planes() : missing, up ? missing : w.planes(), y.global(), 1, columns, depth, 1, {}});
  };
  of("low bits", [](Planes& planes) { planes.low = nowhere<unsigned>(); });
  if (Format::HIGH > 0) of("high bits", [](Planes& planes) { planes.high = nowhere<unsigned>(); });
  if (Format::SUBSCALES > 0) of("sub-scales", [](Planes& planes) { planes.subscales = nowhere<unsigned char>(); });
  of("factors", [](Planes& planes) { planes.factors = nowhere<unsigned short>(); });
}

template <class Format>
void embeds() {
  constexpr int rows = 3, width = 256;
  const Weight<Format> table(rows, width, 5);
  const std::vector<int> ids{2, 0};
  const Array<int> ids_array(ids), fault(std::vector<int>{0, 0});
  const Array<float> y(ids.size() * width);
  const Lookup<Planes> args{table.planes(), ids_array.global(), y.global(), rows, width, fault.global(), 1};
  const std::string name = Weight<Format>::name_of("embed");
  launched(name.c_str(), 2, 64, args, [&] {
    agrees(name.c_str(), y.values(), 1e-5, [&](int64_t i) { return table.value(ids[size_t(i / width)] * width + i % width); });
  });
}

// Rows from the second on, rounded to bf16, and zeros behind them.
template <class Format>
void rows_become_bf16() {
  constexpr int rows = 4, first = 1, depth = 512, pitch = 576;
  const Weight<Format> w(rows, depth, 11);
  const Array<unsigned short> y(size_t((rows - first) * pitch));
  const std::string name = Weight<Format>::name_of("bf16_rows");
  Sums expected;
  for (int i = 0; i < (rows - first) * pitch; i++) {
    expected.values.push_back(i % pitch < depth ? w.value((i / pitch + first) * depth + i % pitch) : 0);
    expected.terms.push_back(fabs(expected.values.back()) + 0x1p-12); // a value near 0 is a difference of larger floats
  }
  launched(name.c_str(), rows - first, 64, Bf16Rows<Planes>{w.planes(), y.global(), first, depth, pitch}, [&] {
    std::vector<float> got;
    for (const unsigned short bits : y.values()) got.push_back(from_bf16(bits));
    close(name, got, expected, 0x1p-8);
  });
}

template <class Format>
void format_agrees(const char* name) {
  Weight<Format>::name = name;
  products_agree<Format>(1, 5, 256, 1);
  products_agree<Format>(3, 9, 2304, 2);
  products_agree<Format>(8, 4, 512, 4);
  products_agree<Format>(9, 66, 256, 1);
  rows_are_alike<Format>(2304);
  experts_agree<Format>();
  gate_up_agrees<Format>(1, 5, 256, 1);
  gate_up_agrees<Format>(2, 4, 512, 2);
  gate_up_agrees<Format>(8, 3, 512, 4);
  expert_gate_up_agrees<Format>();
  matrices_agree<Format>(1);
  matrices_agree<Format>(5);
  planes_are_prefetched<Format>();
  embeds<Format>();
  rows_become_bf16<Format>();
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("weights of blocks on the emulated device", [] {
#define AGREES(Format, name) format_agrees<Format>(#name);
    EVERY_BLOCK_FORMAT(AGREES)
  });
}
