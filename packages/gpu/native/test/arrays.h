// Numbers, arrays of the emulated device, and comparison with float64.
#pragma once
#include <math.h>
#include <string.h>

#include "dialect/host.h"
#include "test/check.h"

namespace quern::gpu {

// Uniform numbers of [−1, 1).
inline std::vector<float> numbers(int64_t count, uint64_t seed) {
  std::vector<float> x(static_cast<size_t>(count));
  uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  for (float& value : x) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    value = float(double(state * 0x2545f4914f6cdd1d >> 40) * 0x1p-23 - 1);
  }
  return x;
}

// An array of the device, freed at the end.
template <class T>
class Array {
 public:
  explicit Array(size_t count) : count_(count), data_(device_memory()->allocate(count * sizeof(T))) {}
  explicit Array(const std::vector<T>& values) : Array(values.size()) { write(values); }
  ~Array() { device_memory()->free(data_); }
  Array(const Array&) = delete;

  Global<T> global() const { return Global(reinterpret_cast<T*>(data_)); }
  void write(const std::vector<T>& values) const { device_memory()->write(data_, values.data(), count_ * sizeof(T)); }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    device_memory()->read(values.data(), data_, count_ * sizeof(T));
    return values;
  }

 private:
  const size_t count_;
  uint8_t* const data_;
};

// Runs a kernel with several orders of threads, and checks each result: body(seed) after each launch.
template <uint64_t seeds = 5, class Args, class F>
void launched(const char* name, int blocks, int threads, const Args& args, const F& body, size_t shared_bytes = 0) {
  for (uint64_t seed = 0; seed < seeds; seed++) {
    try {
      launch(*find_kernel(name), blocks, threads, &args, first_seed() + seed, shared_bytes);
    } catch (const Fault& fault) {
      check(false, "%s", fault.what());
      return;
    }
    body();
  }
}

// |got[i] − expected(i)| ≤ tolerance.
template <class F>
void agrees(const char* name, const std::vector<float>& got, double tolerance, const F& expected) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); i++) {
    const double apart = fabs(got[i] - double(expected(int64_t(i))));
    worst = apart <= worst ? worst : apart; // NaN is worst
  }
  check(worst <= tolerance, "%s: %g away", name, worst);
}

// |got[i] − expected(i)| ≤ absolute + relative · |expected(i)|; NaN equals NaN, an infinity itself.
template <class F>
void close(const char* name, const std::vector<float>& got, double absolute, double relative, const F& expected) {
  for (size_t i = 0; i < got.size(); i++) {
    const double want = expected(int64_t(i));
    const bool same = got[i] == want || (isnan(want) && isnan(got[i]));
    if (same || fabs(got[i] - want) <= absolute + relative * fabs(want)) continue;
    check(false, "%s: element %zu of %zu is %g, not %g", name, i, got.size(), double(got[i]), want);
    return;
  }
  check(true, "%s", name);
}

template <class T>
void equal(const char* name, const std::vector<T>& got, const std::vector<T>& want) {
  const bool same = got.size() == want.size() && memcmp(got.data(), want.data(), want.size() * sizeof(T)) == 0;
  check(same, "%s: the bits differ", name);
}

} // namespace quern::gpu
