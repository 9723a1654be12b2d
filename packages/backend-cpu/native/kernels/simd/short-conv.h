#pragma once

namespace quern::QUERN_ISA {
namespace {

// Row t of y: adds inputs [j, j + N) to the bias (j = 0) or to y.
template <int N>
inline void add_inputs(const ShortConv& a, int64_t t, int64_t j) {
  float* const y = a.y + t * a.row_stride;
  const float* const before = j > 0 ? y : a.bias;
  const float *w[N], *x[N];
  for (int i = 0; i < N; i++) w[i] = a.w + (j + i) * a.channels, x[i] = a.input(t + j + i);
  each(a.channels, [&](int64_t c, auto... rest) {
    Floats sum = before ? load(before + c, rest...) : set(0);
#pragma GCC unroll 4
    for (int i = 0; i < N; i++) sum = fma(load(w[i] + c, rest...), load(x[i] + c, rest...), sum);
    store(y + c, sum, rest...);
  });
}

} // namespace

void short_conv(const ShortConv& a) {
  for (int64_t t = 0; t < a.rows; t++)
    for (int64_t j = 0; j < a.L; j += 4) switch (a.L - j) {
        case 1: add_inputs<1>(a, t, j); break;
        case 2: add_inputs<2>(a, t, j); break;
        case 3: add_inputs<3>(a, t, j); break;
        default: add_inputs<4>(a, t, j);
      }
}

} // namespace quern::QUERN_ISA
