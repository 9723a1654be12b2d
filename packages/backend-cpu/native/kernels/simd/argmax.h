#pragma once

namespace quern::QUERN_ISA {

// First pass: the maximum. Second pass: its first index; 0 if JavaScript has changed the row meanwhile and no index has it.
int64_t argmax(const float* x, int64_t width, float* max_of_row) {
  Floats top = set(-INF); // max() skips NaN
  each(width, [&](int64_t i, auto... rest) { top = max(load_or(set(-INF), x + i, rest...), top); });
  *max_of_row = largest(top);
  if (*max_of_row == -INF) return 0;

  const Floats most = set(*max_of_row);
  int64_t i = 0;
  for (; i + LANES <= width; i += LANES)
    if (const uint32_t found = equal_bits(load(x + i), most)) return i + __builtin_ctz(found);
  const uint32_t found = equal_bits(load_or(set(-INF), x + i, width - i), most);
  return found ? i + __builtin_ctz(found) : 0;
}

} // namespace quern::QUERN_ISA
