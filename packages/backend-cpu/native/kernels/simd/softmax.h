#pragma once

namespace quern::QUERN_ISA {

void softmax(const float* x, float* y, int64_t width) {
  Floats top = set(-INF); // max() skips NaN
  each(width, [&](int64_t i, auto... rest) { top = max(load_or(set(-INF), x + i, rest...), top); });
  const Floats most = set(largest(top));

  Doubles total; // a NaN in x makes it NaN, and so the whole row
  each(width, [&](int64_t i, auto... rest) {
    const Floats e = exp(load_or(set(-INF), x + i, rest...) - most);
    store(y + i, e, rest...);
    add_to(total, e);
  });
  scale(y, float(1 / sum(total)), y, width);
}

} // namespace quern::QUERN_ISA
