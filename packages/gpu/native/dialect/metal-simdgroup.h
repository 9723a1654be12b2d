// simdgroup.h in Metal's language.
typedef metal::simdgroup_float8x8 Matrix8;

FUNCTION Matrix8 zero_matrix() { return Matrix8(0.0f); } // a diagonal of zeros
// Element [i, j] is at from[i · stride + j]; transposed: at from[j · stride + i].
FUNCTION Matrix8 matrix_at(Shared<float> from, int stride) {
  Matrix8 matrix;
  metal::simdgroup_load(matrix, from, ulong(stride));
  return matrix;
}
FUNCTION Matrix8 transposed_at(Shared<float> from, int stride) {
  Matrix8 matrix;
  metal::simdgroup_load(matrix, from, ulong(stride), ulong2(0), true);
  return matrix;
}
FUNCTION void put_matrix(Matrix8 matrix, Shared<float> to, int stride) { metal::simdgroup_store(matrix, to, ulong(stride)); }
// a · b + sum
FUNCTION Matrix8 matrix_product(Matrix8 a, Matrix8 b, Matrix8 sum) {
  Matrix8 result;
  metal::simdgroup_multiply_accumulate(result, a, b, sum);
  return result;
}
