#include <string.h>

#include "ops/experts.h"

namespace quern {

void ExpertLinearOp::run(Call& call) {
  const Floats x = call.floats(X, 2);       // [R, K]
  const Experts& w = call.matrices(W);      // [E, N, K]
  const Ints ids = call.ints(IDS);          // [R, k]
  const Floats y = call.floats(Y, 3);       // [R, k, N]
  const int64_t E = w.size(), N = w[0].rows(), K = w[0].width();
  call.need(x.shape[1] == K && y.shape[2] == N && y.shape[0] == x.shape[0] && ids.count == y.shape[0] * y.shape[1],
            "x must be [R, K], w [E, N, K], ids [R, k] and y [R, k, N]");
  for (int64_t i = 0; i < ids.count; i++)
    if (ids[i] < 0 || ids[i] >= E)
      call.out_of_range("ids[%lld] is %d, but w has %lld matrices", static_cast<long long>(i), ids[i],
                        static_cast<long long>(E));
  if (y.count == 0) return;
  const int64_t rows = rows_of_expert(ids.count, E), words = whole_lines(ExpertGroups::words(ids.count, E));
  const Needs needs(call.kernels, rows, {&w[0]});
  const Tiling tiling = expert_tiling(rows, x.shape[0], K, needs);
  call.scratch.reserve(tiling.panel_floats + tiling.rows * tiling.chunk, words + RowsOfPairs::floats(x, ids.count, needs));
  const ExpertGroups groups(ids.data, ids.count, E, reinterpret_cast<int32_t*>(call.scratch.shared()));
  const RowsOfPairs of_pairs(call, x, groups, needs, call.scratch.shared() + words);
  each_chunk(call, groups, tiling, N, [&](const ExpertGroups::Group& group, int64_t first, int64_t end, int thread) {
    const Product product(call.kernels, of_pairs.activations(), w[group.expert], nullptr, rows);
    float* const panel = call.scratch.of(thread);
    float* const part = panel + tiling.panel_floats; // [rows, width]
    const int64_t width = end - first;
    for (int64_t place = group.first; place < group.end; place += tiling.rows) {
      const RowRange range{place, std::min<int64_t>(place + tiling.rows, group.end)};
      product.columns_of_rows(tiling, first, end, range, part, width, panel);
      for (int64_t r = 0; r < range.count(); r++)
        memcpy(y.row(groups.pair_at(place + r)) + first, part + r * width, width * sizeof(float));
    }
  });
}

} // namespace quern
