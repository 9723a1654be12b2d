// Shared by kernel tests and benchmarks: random numbers, guarded buffers, the tables of this machine.
#pragma once
#include "../kernels/kernels.h"
#include "../kernels/packed/pack.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include "../runtime/cpu-features.h"

namespace quern::test {

inline std::vector<const Kernels*> available() {
  std::vector<const Kernels*> tables = {&scalar_kernels()};
#if defined(QUERN_X86)
  if (cpu_features().avx2) tables.push_back(&avx2_kernels());
#if defined(QUERN_WITHOUT_AVX512)
  // its kernels are not compiled
#elif defined(QUERN_EMULATE_AVX512)
  if (cpu_features().avx2) tables.insert(tables.end(), {&avx512_kernels(), &vnni_kernels(), &bf16_kernels()});
#else
  if (cpu_features().avx512) tables.push_back(&avx512_kernels());
  if (cpu_features().avx512_vnni) tables.push_back(&vnni_kernels());
  if (cpu_features().avx512_bf16) tables.push_back(&bf16_kernels());
#endif
#if !defined(QUERN_WITHOUT_AVX512)
  if (cpu_features().amx) tables.push_back(&amx_kernels());
#endif
#elif defined(QUERN_ARM)
  tables.push_back(&neon_kernels());
  if (cpu_features().dotprod) tables.push_back(&dotprod_kernels());
  if (cpu_features().i8mm) tables.push_back(&i8mm_kernels());
#endif
  return tables;
}

// xorshift64* (Marsaglia 2003); normal values: the sum of twelve uniform values.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint32_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return uint32_t((state_ * 0x2545f4914f6cdd1d) >> 32);
  }
  float uniform() { return float(next() >> 8) * 0x1p-24f; }
  float normal() {
    float sum = -6;
    for (int i = 0; i < 12; i++) sum += uniform();
    return sum;
  }

private:
  uint64_t state_;
};

// n elements at an address with element alignment only, between canaries; intact() checks the canaries.
template <class T>
class Guarded {
public:
  explicit Guarded(int64_t n) : storage_(size_t(n) + 2 * margin + 1, canary()), n_(n) {}
  T* data() { return storage_.data() + margin + 1; }
  T& operator[](int64_t i) { return data()[i]; }
  int64_t size() const { return n_; }
  static T canary() { return T(12345); }
  bool intact() const {
    for (size_t i = 0; i <= margin; i++)
      if (storage_[i] != canary()) return false;
    for (size_t i = size_t(n_) + margin + 1; i < storage_.size(); i++)
      if (storage_[i] != canary()) return false;
    return true;
  }

private:
  static constexpr size_t margin = 32;
  std::vector<T> storage_;
  int64_t n_;
};

// Scratch for a kernel's layout of weights.
inline void* panel() {
  alignas(64) static uint8_t memory[PANEL_BYTES];
  return memory;
}

inline std::vector<float> normals(uint64_t seed, int64_t n, float spread = 1) {
  Random random(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = random.normal() * spread;
  return values;
}

// Name, elements and bytes of a block, per format.
struct FormatSize {
  const char* name;
  int64_t elements, bytes;
};
inline constexpr FormatSize format_sizes[FORMAT_COUNT] = {
#define QUERN_FORMAT(name, NAME, block, block_bytes) {#name, block, block_bytes},
#include "../kernels/generated/formats.inc"
};

// Formats with tiles.
inline constexpr Format packed_formats[] = {
#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) FORMAT_##NAME,
#include "../kernels/generated/formats.inc"
};

} // namespace quern::test
