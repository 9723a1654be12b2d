// Kernels on the emulated device, against their definitions in float64.
#include "kernels/cast.h"
#include "kernels/elementwise.h"
#include "kernels/gated.h"
#include "kernels/permute-columns.h"
#include "kernels/rms-norm.h"
#include "test/arrays.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

void elementwise_agrees() {
  for (const int n : {1, 31, 1000}) {
    const std::vector<float> a = numbers(n, 1), b = numbers(n, 2);
    const Array<float> left(a), right(b), y(a.size());
    const TwoInputs args{left.global(), right.global(), y.global(), n, n};
    launched("add", 3, 64, args, [&] { agrees("add", y.values(), 1e-7, [&](int64_t i) { return double(a[i]) + b[i]; }); });
    launched("mul", 3, 64, args, [&] { agrees("mul", y.values(), 1e-7, [&](int64_t i) { return double(a[i]) * b[i]; }); });
    for (const int width : {1, (n + 9) / 10, (n + 1) / 2}) {
      const TwoInputs repeats{left.global(), right.global(), y.global(), n, width};
      launched("add", 3, 64, repeats,
               [&] { agrees("add", y.values(), 1e-7, [&](int64_t i) { return double(a[i]) + b[i % width]; }); });
    }
  }
}

// All elements of a thread are loaded before the first is stored: y may lie over x, one element of the thread further on.
void loads_come_before_stores() {
  constexpr int threads = 32, n = EACH * threads;
  const std::vector<float> a = numbers(n + threads, 6), b = numbers(n, 7);
  const Array<float> left(a), right(b);
  const Global<float> y = left.global() + threads;
  const auto moved = [&](const char* kernel, const auto& args, const auto& expected) {
    left.write(a);
    launched<1>(kernel, 1, threads, args, [&] {
      std::vector<float> got = left.values();
      got.erase(got.begin(), got.begin() + threads);
      agrees(kernel, got, 1e-6, expected);
    });
  };
  moved("add", TwoInputs{left.global(), right.global(), y, n, n}, [&](int64_t i) { return double(a[size_t(i)]) + b[size_t(i)]; });
  moved("cast_f32_f32", OneInput{left.global(), y, n}, [&](int64_t i) { return a[size_t(i)]; });
  moved("swiglu", Gated{left.global(), right.global(), y, n},
        [&](int64_t i) { return a[size_t(i)] / (1 + ::exp(-double(a[size_t(i)]))) * b[size_t(i)]; });
}

void permute_columns_agrees() {
  constexpr int rows = 3, width = 33;
  const std::vector<float> x = numbers(rows * width, 5);
  std::vector<int> order;
  for (int i = 0; i < width; i++) order.push_back(i * 7 % width);
  const Array<float> input(x), y(x.size());
  const Array<int> places(order);
  const PermuteColumns args{input.global(), places.global(), y.global(), rows * width, width};
  launched("permute_columns", 2, 32, args, [&] {
    agrees("permute_columns", y.values(), 0, [&](int64_t i) { return x[i / width * width + order[i % width]]; });
  });
}

// Indices of 33 bits are divided by 64-bit numbers.
void columns_agree() {
  const int64_t wide = 3000000000, long_row = 5000000000;
  check(column_of(wide + 5, 7, long_row) == (wide + 5) % 7, "column_of with 33 bits");
  check(column_of(wide + 5, wide, 2 * wide) == 5, "column_of in a wide row");
  check(column_of(wide, long_row, long_row) == wide, "column_of in one row");
}

void rms_norm_agrees() {
  for (const int width : {1, 33, 768, 5000, 9001}) { // from 8193 on a block of 1024 holds a part
    constexpr int rows = 3;
    const std::vector<float> x = numbers(rows * width, 3), w = numbers(width, 4);
    const Array<float> input(x), weight(w), output(x.size());
    const RmsNorm args{input.global(), weight.global(), output.global(), width, 1e-5f};
    launched("rms_norm", rows, width >= 5000 ? 1024 : 128, args, [&] {
      agrees("rms_norm", output.values(), 1e-5, [&](int64_t i) {
        double squares = 0;
        for (int k = 0; k < width; k++) squares += pow(x[i / width * width + k], 2);
        return x[i] / sqrt(squares / width + 1e-5) * w[i % width];
      });
    });
  }
}

void halves_round() {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    const auto half = static_cast<unsigned short>(bits);
    const float x = from_f16(half), y = from_bf16(half);
    if (x == x) check(to_f16(x) == half, "f16 %04x", bits);
    if (y == y) check(to_bf16(y) == half, "bf16 %04x", bits);
  }
  check(to_f16(65519) == 0x7bff && to_f16(65520) == 0x7c00, "the largest f16");
  check(to_f16(1 + 0x1p-11f) == 0x3c00 && to_f16(1 + 3 * 0x1p-11f) == 0x3c02, "f16: ties to even");
  check(to_f16(0x1p-25f) == 0 && to_f16(1.5f * 0x1p-25f) == 1, "the smallest f16");
  check(to_bf16(1 + 0x1p-8f) == 0x3f80 && to_bf16(1 + 3 * 0x1p-8f) == 0x3f82, "bf16: ties to even");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("kernels on the emulated device", [] {
    elementwise_agrees();
    loads_come_before_stores();
    permute_columns_agrees();
    columns_agree();
    rms_norm_agrees();
    halves_round();
  });
}
