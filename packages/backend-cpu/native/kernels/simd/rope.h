#pragma once

namespace quern::QUERN_ISA {

namespace {

// Pairs (2i, 2i + 1): even elements a · cos - b · sin, odd elements b · cos + a · sin.
inline void rotate_neighbours(const float* x, const float* table, float* y, int64_t r) {
  const float* sines = table + r / 2;
  each(r, [=](int64_t i, auto... rest) {
    const Floats pairs = load(x + i, rest...);
    const Floats cos = load_twice(table + i / 2, rest / 2 ...);
    const Floats sin = load_twice(sines + i / 2, rest / 2 ...);
    store(y + i, fma_sub_add(pairs, cos, swap_pairs(pairs) * sin), rest...);
  });
}

// Pairs (i, i + r/2).
inline void rotate_halves(const float* x, const float* table, float* y, int64_t r) {
  const int64_t half = r / 2;
  each(half, [=](int64_t i, auto... rest) {
    const Floats a = load(x + i, rest...), b = load(x + half + i, rest...);
    const Floats cos = load(table + i, rest...), sin = load(table + half + i, rest...);
    store(y + i, fma(a, cos, set(0) - b * sin), rest...);
    store(y + half + i, fma(b, cos, a * sin), rest...);
  });
}

} // namespace

void rope(const float* x, const float* table, float* y, int64_t heads, int64_t d, int64_t r, int32_t layout) {
  for (int64_t h = 0; h < heads; h++, x += d, y += d) {
    if (layout == 0) rotate_neighbours(x, table, y, r);
    else rotate_halves(x, table, y, r);
    if (x != y)
      for (int64_t i = r; i < d; i++) y[i] = x[i];
  }
}

} // namespace quern::QUERN_ISA
