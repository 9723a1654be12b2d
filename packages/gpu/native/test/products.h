// Dense weights, and sums in float64, for tests of products.
#pragma once
#include "kernels/formats/every.h"
#include "test/arrays.h"
#include "test/few.h"

namespace quern::gpu {

template <class Format>
const char* suffix();
template <>
inline const char* suffix<F32>() { return "_f32"; }
template <>
inline const char* suffix<F16>() { return "_f16"; }
template <>
inline const char* suffix<Bf16>() { return "_bf16"; }

template <class Format>
std::string kernel(const char* name) { return std::string(name) + suffix<Format>(); }

template <class Format>
std::vector<typename Format::Stored> weights(int64_t count, uint64_t seed) {
  std::vector<typename Format::Stored> w;
  for (const float x : numbers(count, seed)) w.push_back(Format::rounded(x));
  return w;
}

struct Sum {
  double value = 0, terms = 0; // terms: Σ|terms|
  void add(double x) { value += x, terms += fabs(x); }
};

// Each got[i] is as close to expected[i] as docs/ops.md allows with weights of f32.
inline void close(const std::string& name, const std::vector<float>& got, const std::vector<Sum>& expected, double relative = 2e-6) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); i++) {
    const double apart = fabs(got[i] - expected[i].value) / (1e-7 + relative * expected[i].terms);
    worst = apart <= worst ? worst : apart; // NaN is worst
  }
  check(worst <= 1, "%s: %g times the tolerance", name.c_str(), worst);
}

} // namespace quern::gpu
