#pragma once

namespace quern::QUERN_ISA {

// The mean is rounded to a float; its rounding error is added back to each element. Rows far from zero stay accurate.
void layer_norm(const float* x, const float* w, const float* b, float eps, float* y, int64_t width) {
  Doubles total, squares;
  each(width, [&](int64_t i, auto... rest) { add_to(total, load(x + i, rest...)); });
  const double mean = sum(total) / double(width);
  const Floats middle = set(float(mean));
  each(width, [&](int64_t i, auto... rest) { add_squares_to(squares, load_or(middle, x + i, rest...) - middle); });
  const double lost = double(float(mean)) - mean;
  const double factor = 1 / __builtin_sqrt(sum(squares) / double(width) - lost * lost + double(eps));
  const Floats scale = set(float(factor)), shift = set(float(lost * factor));
  each(width, [&](int64_t i, auto... rest) {
    const Floats normal = fma(load(x + i, rest...) - middle, scale, shift);
    store(y + i, fma(normal, load(w + i, rest...), load(b + i, rest...)), rest...);
  });
}

} // namespace quern::QUERN_ISA
