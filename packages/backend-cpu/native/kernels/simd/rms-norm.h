#pragma once

namespace quern::QUERN_ISA {

void rms_norm(const float* x, const float* w, float eps, float* y, int64_t width) {
  Doubles squares;
  each(width, [&](int64_t i, auto... rest) { add_squares_to(squares, load(x + i, rest...)); });
  const Floats factor = set(float(1 / __builtin_sqrt(sum(squares) / double(width) + double(eps))));
  each(width, [&](int64_t i, auto... rest) { store(y + i, load(x + i, rest...) * factor * load(w + i, rest...), rest...); });
}

} // namespace quern::QUERN_ISA
