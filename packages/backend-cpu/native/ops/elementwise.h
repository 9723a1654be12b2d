// Helpers of elementwise ops.
#pragma once
#include "runtime/call.h"

namespace quern {

// An exponential costs about exponential_cost additions.
inline constexpr int64_t plain_cost = 1, exponential_cost = 8;

// kernel(x, y, count) on parts of x and y. Equal shapes.
template <class Kernel>
void map(Call& call, int64_t cost, const Floats& x, const Floats& y, const Kernel& kernel) {
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.count, cost,
             [&](int64_t first, int64_t end, int) { kernel(x.data + first, y.data + first, end - first); });
}

// kernel(a, b, y, count) on parts of a, b and y. Equal shapes.
template <class Kernel>
void zip(Call& call, int64_t cost, const Floats& a, const Floats& b, const Floats& y, const Kernel& kernel) {
  call.need(a.count == b.count && a.count == y.count, "operands must share a shape");
  call.split(a.count, cost, [&](int64_t first, int64_t end, int) {
    kernel(a.data + first, b.data + first, y.data + first, end - first);
  });
}

// As `zip`; b may also be one row, used for all rows of a.
template <class Kernel>
void zip_rows(Call& call, const Floats& a, const Floats& b, const Floats& y, const Kernel& kernel) {
  if (b.count == a.count) return zip(call, plain_cost, a, b, y, kernel);
  call.need(b.count == a.width() && y.same_shape(a), "b must have a's shape or be one row, and y must have a's shape");
  call.split(a.rows(), a.width(), [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) kernel(a.row(row), b.data, y.row(row), a.width());
  });
}

} // namespace quern
