#include <string.h>

#include <vector>

#include "runtime/call.h"

namespace quern {

void PenaliseOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [S, V]
  const Ints tokens = call.ints(TOKENS);                     // [S, L], −1 is padding
  const Floats strengths = call.floats(STRENGTHS, 2);        // [S, 3]
  const int64_t S = x.shape[0], V = x.shape[1];
  call.need(y.same_shape(x) && strengths.shape[0] == S && strengths.shape[1] == 3 && (S ? tokens.count % S : tokens.count) == 0,
            "tokens must be [S, L], strengths [S, 3] and y as x");
  const int64_t L = S ? tokens.count / S : 0;
  for (int64_t i = 0; i < tokens.count; i++)
    if (tokens[i] < -1 || tokens[i] >= V)
      call.out_of_range("tokens[%lld, %lld] is %d, but x has %lld columns", static_cast<long long>(i / L),
                        static_cast<long long>(i % L), tokens[i], static_cast<long long>(V));
  if (x.count) memcpy(y.data, x.data, x.count * sizeof(float));
  std::vector<int32_t> seen;
  for (int64_t s = 0; s < S; s++) {
    const double repetition = strengths.row(s)[0], presence = strengths.row(s)[1], frequency = strengths.row(s)[2];
    seen.assign(tokens.data + s * L, tokens.data + (s + 1) * L);
    std::sort(seen.begin(), seen.end()); // equal tokens become adjacent: counted in one pass
    for (size_t i = 0, next; i < seen.size(); i = next) {
      for (next = i + 1; next < seen.size() && seen[next] == seen[i];) next++;
      if (seen[i] < 0) continue;
      const double logit = x.row(s)[seen[i]];
      const double repeated = logit > 0 ? logit / repetition : logit * repetition;
      y.row(s)[seen[i]] = static_cast<float>(repeated - presence - static_cast<double>(next - i) * frequency);
    }
  }
}

} // namespace quern
