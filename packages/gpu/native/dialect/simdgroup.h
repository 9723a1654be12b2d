// Matrices of 8 × 8 floats that a simdgroup holds together, for GPUs of Apple. Which lane has which element is not known: kernels pass
// through shared memory to see one. All lanes of the simdgroup take part in each word.
#pragma once
#include "dialect.h"

namespace quern::gpu {

// A lane has two elements, in an order that nothing else has.
struct Matrix8 {
  float values[2] = {NAN, NAN};
  static int element(int lane, int i) { return ((lane * 2 + i) * 37 + 11) % 64; }
  static int place(int element) { return (element - 11 + 64) * 45 % 64; } // 45 · 37 is 1 modulo 64
};

inline Matrix8 zero_matrix() { return {{0, 0}}; }
inline Matrix8 matrix_of(const Shared<float>& from, int down, int across) {
  Matrix8 matrix;
  for (int i = 0; i < 2; i++) {
    const int element = Matrix8::element(lane(), i);
    matrix.values[i] = from.read(element / 8 * down + element % 8 * across);
  }
  return matrix;
}
inline Matrix8 matrix_at(const Shared<float>& from, int stride) { return matrix_of(from, stride, 1); }
inline Matrix8 transposed_at(const Shared<float>& from, int stride) { return matrix_of(from, 1, stride); }
inline void put_matrix(Matrix8 matrix, const Shared<float>& to, int stride) {
  for (int i = 0; i < 2; i++) {
    const int element = Matrix8::element(lane(), i);
    to.write(element / 8 * stride + element % 8, matrix.values[i]);
  }
}

struct MatrixPair {
  Matrix8 a, b;
};
inline Matrix8 matrix_product(Matrix8 a, Matrix8 b, Matrix8 sum) {
  Block::current().together(MatrixPair{a, b}, [&](const auto& of_lane) {
    const auto value = [](const Matrix8& matrix, int place) { return matrix.values[place % 2]; };
    for (int i = 0; i < 2; i++) {
      const int element = Matrix8::element(lane(), i), row = element / 8 * 8, column = element % 8;
      for (int k = 0; k < 8; k++) {
        const int left = Matrix8::place(row + k), right = Matrix8::place(k * 8 + column);
        sum.values[i] = fmaf(value(of_lane(left / 2).a, left), value(of_lane(right / 2).b, right), sum.values[i]);
      }
    }
  });
  return sum;
}

} // namespace quern::gpu
