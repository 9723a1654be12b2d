#include <string.h>

#include "runtime/call.h"

namespace quern {

namespace {

enum Pooling : int32_t { CLS, MEAN, LAST };

// Every sequence needs at least one row.
void check_bounds(const Call& call, const Ints& cu_seqlens, int64_t T) {
  const int64_t S = cu_seqlens.count - 1;
  if (cu_seqlens[0] != 0 || cu_seqlens[S] != T)
    call.out_of_range("cuSeqlens must run from 0 to %lld (rows of x); got %d to %d", static_cast<long long>(T),
                      cu_seqlens[0], cu_seqlens[S]);
  for (int64_t s = 0; s < S; s++)
    if (cu_seqlens[s + 1] <= cu_seqlens[s])
      call.out_of_range("sequence %lld runs from row %d to %d: it needs a row", static_cast<long long>(s),
                        cu_seqlens[s], cu_seqlens[s + 1]);
}

// Double-precision sums, `columns` columns at a time.
void mean(const Floats& x, int32_t first, int32_t end, float* y) {
  constexpr int64_t columns = 64;
  for (int64_t at = 0; at < x.width(); at += columns) {
    const int64_t count = std::min(columns, x.width() - at);
    double sums[columns] = {};
    for (int64_t row = first; row < end; row++)
      for (int64_t i = 0; i < count; i++) sums[i] += x.row(row)[at + i];
    for (int64_t i = 0; i < count; i++) y[at + i] = static_cast<float>(sums[i] / (end - first));
  }
}

} // namespace

void PoolOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [T, D] and [S, D]
  const Ints cu_seqlens = call.ints(CU_SEQLENS);             // [S + 1]
  const int32_t by = call.integer(BY);
  const int64_t T = x.shape[0], D = x.shape[1], S = cu_seqlens.count - 1;
  call.need(S >= 0 && y.shape[0] == S && y.shape[1] == D, "y must be [S, D]");
  call.need(by == CLS || by == MEAN || by == LAST, "by must be 0, 1 or 2");
  check_bounds(call, cu_seqlens, T);
  if (S == 0) return;
  call.split(S, by == MEAN ? D * (1 + T / S) : D, [&](int64_t first, int64_t end, int) {
    for (int64_t s = first; s < end; s++) {
      if (by == MEAN) mean(x, cu_seqlens[s], cu_seqlens[s + 1], y.row(s));
      else memcpy(y.row(s), x.row(by == CLS ? cu_seqlens[s] : cu_seqlens[s + 1] - 1), D * sizeof(float));
    }
  });
}

} // namespace quern
