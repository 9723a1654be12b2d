// Instructions that only NVIDIA's GPUs have, each as a function of a whole warp, with a body for the emulated device. Fragments:
// PTX ISA, "Matrix Fragments for mma.m16n8k16" and "ldmatrix".
#pragma once
#include "dialect.h"

namespace quern {
namespace gpu {

// A lane's share of a matrix of 16 bits, two values a word. With g = lane / 4, i = lane % 4 · 2, the low half first:
struct Fragment16x16 { // a[g, i], a[g + 8, i], a[g, i + 8], a[g + 8, i + 8], each with its right neighbour
  unsigned words[4];
};
struct Fragment16x8 { // b[i, g], b[i + 8, g], each with its lower neighbour
  unsigned words[2];
};
struct Sums16x8 { // c[g, i], c[g, i + 1], c[g + 8, i], c[g + 8, i + 1]
  float values[4];
};

FUNCTION void add_sums(Sums16x8& to, const Sums16x8& sums) {
  UNROLL for (int i = 0; i < 4; i++) to.values[i] += sums.values[i];
}

#if defined(__CUDACC__)

#define QUERN_LDMATRIX(taken, row, kind)                                                                      \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 {%0, %1, %2, %3}, [%4];"                     \
               : "=r"(taken.words[0]), "=r"(taken.words[1]), "=r"(taken.words[2]), "=r"(taken.words[3])       \
               : "r"(unsigned(__cvta_generic_to_shared(row)))                                                 \
               : "memory")
#define QUERN_MMA(c, a, b, type)                                                                              \
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type                                         \
               ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                         \
               : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])                   \
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), "r"(b.words[1]))

// Four matrices of 8 × 8 values of 16 bits: lane l gives row l % 8 of matrix l / 8. Word m is row lane / 4 of matrix m, values
// lane % 4 · 2 and the next.
FUNCTION Fragment16x16 load_matrices(Shared<const Uint4> row) {
  Fragment16x16 taken;
  QUERN_LDMATRIX(taken, row, "");
  return taken;
}

// As load_matrices, each matrix transposed: word m is column lane / 4 of matrix m, values lane % 4 · 2 and the next.
FUNCTION Fragment16x16 load_transposed(Shared<const Uint4> row) {
  Fragment16x16 taken;
  QUERN_LDMATRIX(taken, row, ".trans");
  return taken;
}

// c += a · b with values of bf16, or of f16. Sums are cut off, not rounded (Fasi et al. 2021).
FUNCTION void multiply_bf16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { QUERN_MMA(c, a, b, "bf16"); }
FUNCTION void multiply_f16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { QUERN_MMA(c, a, b, "f16"); }
#undef QUERN_LDMATRIX
#undef QUERN_MMA

// Two f16 each: a + b.
FUNCTION unsigned add_halves(unsigned a, unsigned b) {
  unsigned sums;
  asm("add.f16x2 %0, %1, %2;" : "=r"(sums) : "r"(a), "r"(b));
  return sums;
}

#else

inline Fragment16x16 load_matrices(const Shared<Uint4>& row) {
  const Uint4 mine = row[0];
  Fragment16x16 taken;
  Block::current().together(mine, [&](const auto& of_lane) {
    for (int m = 0; m < 4; m++) taken.words[m] = of_lane(m * 8 + lane() / 4)[lane() % 4];
  });
  return taken;
}

inline Fragment16x16 load_transposed(const Shared<Uint4>& row) {
  const Uint4 mine = row[0];
  Fragment16x16 taken;
  Block::current().together(mine, [&](const auto& of_lane) {
    const int column = lane() / 4, from = lane() % 4 * 2;
    for (int m = 0; m < 4; m++) {
      const auto value = [&](int i) { return of_lane(m * 8 + i)[column / 2] >> column % 2 * 16 & 0xffff; };
      taken.words[m] = value(from) | value(from + 1) << 16;
    }
  });
  return taken;
}

// The float next to x towards 0.
inline float cut_off(double x) {
  const float near = float(x);
  return fabs(near) > fabs(x) ? from_bits(to_bits(near) - 1) : near;
}

template <class Value>
inline void multiply_halves(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b, const Value& value) {
  struct Given {
    float a[8], b[4];
  } given;
  for (int i = 0; i < 8; i++) given.a[i] = value((unsigned short)(a.words[i / 2] >> i % 2 * 16));
  for (int i = 0; i < 4; i++) given.b[i] = value((unsigned short)(b.words[i / 2] >> i % 2 * 16));
  Block::current().together(given, [&](const auto& of_lane) {
    const int g = lane() / 4, column = lane() % 4 * 2;
    double sums[4] = {c.values[0], c.values[1], c.values[2], c.values[3]};
    for (int at = 0; at < 4; at++) { // k: 2 · at and the next, and 8 more
      const Given left = of_lane(g * 4 + at);
      for (int n = 0; n < 2; n++) {
        const Given& right = of_lane((column + n) * 4 + at);
        for (int m = 0; m < 2; m++)
          for (int k = 0; k < 4; k++) sums[m * 2 + n] += double(left.a[k / 2 * 4 + m * 2 + k % 2]) * right.b[k];
      }
    }
    for (int i = 0; i < 4; i++) c.values[i] = cut_off(sums[i]);
  });
}
inline void multiply_bf16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { multiply_halves(c, a, b, from_bf16); }
inline void multiply_f16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) { multiply_halves(c, a, b, from_f16); }

inline unsigned add_halves(unsigned a, unsigned b) {
  const auto sum = [](unsigned a, unsigned b) { return unsigned(to_f16(from_f16((unsigned short)a) + from_f16((unsigned short)b))); };
  return sum(a, b) | sum(a >> 16, b >> 16) << 16;
}

#endif

} // namespace gpu
} // namespace quern
