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

#if defined(__CUDACC__)

// Four matrices of 8 × 8 values of 16 bits: lane l gives row l % 8 of matrix l / 8. Word m is row lane / 4 of matrix m, values
// lane % 4 · 2 and the next.
FUNCTION Fragment16x16 load_matrices(Shared<const Uint4> row) {
  Fragment16x16 taken;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(taken.words[0]), "=r"(taken.words[1]), "=r"(taken.words[2]), "=r"(taken.words[3])
               : "r"(unsigned(__cvta_generic_to_shared(row)))
               : "memory");
  return taken;
}

// c += a · b with values of bf16.
FUNCTION void multiply_bf16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c.values[0]), "+f"(c.values[1]), "+f"(c.values[2]), "+f"(c.values[3])
               : "r"(a.words[0]), "r"(a.words[1]), "r"(a.words[2]), "r"(a.words[3]), "r"(b.words[0]), "r"(b.words[1]));
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

inline void multiply_bf16(Sums16x8& c, const Fragment16x16& a, const Fragment16x8& b) {
  struct Given {
    const Fragment16x16& a;
    const Fragment16x8& b;
  };
  const auto value = [](unsigned word, int half) { return from_bf16((unsigned short)(word >> half * 16)); };
  Block::current().together(Given{a, b}, [&](const auto& of_lane) {
    for (int i = 0; i < 4; i++) {
      const int row = lane() / 4, column = lane() % 4 * 2 + i % 2;
      for (int k = 0; k < 16; k++) {
        const unsigned left = of_lane(row * 4 + k % 8 / 2).a.words[k / 8 * 2 + i / 2];
        const unsigned right = of_lane(column * 4 + k % 8 / 2).b.words[k / 8];
        c.values[i] += value(left, k % 2) * value(right, k % 2);
      }
    }
  });
}

#endif

} // namespace gpu
} // namespace quern
