#pragma once

namespace quern::QUERN_ISA {

void l2_normalise(const float* x, float* y, int64_t width) {
  Doubles squares;
  each(width, [&](int64_t i, auto... rest) { add_squares_to(squares, load(x + i, rest...)); });
  const double total = sum(squares);
  const Floats norm = set(total == 0 ? 1 : float(__builtin_sqrt(total)));
  each(width, [&](int64_t i, auto... rest) { store(y + i, load(x + i, rest...) / norm, rest...); });
}

} // namespace quern::QUERN_ISA
