#include "ops/experts.h"

#include <string.h>

namespace quern {

// A counting sort: stable within an expert.
ExpertGroups::ExpertGroups(const int32_t* ids, int64_t pairs, int64_t experts, int32_t* memory)
    : pairs_(pairs), pair_at_(memory), place_of_(memory + pairs),
      groups_(reinterpret_cast<Group*>(memory + 2 * pairs + experts + 1)) {
  int32_t* const next = memory + 2 * pairs; // [E + 1]
  std::fill_n(next, experts + 1, 0);
  for (int64_t pair = 0; pair < pairs; pair++) next[ids[pair] + 1]++;
  for (int64_t e = 0; e < experts; e++) {
    const int32_t first = next[e], end = first + next[e + 1];
    if (end > first) groups_[count_++] = {static_cast<int32_t>(e), first, end};
    next[e + 1] = end;
  }
  for (int64_t pair = 0; pair < pairs; pair++) {
    const int32_t place = next[ids[pair]]++;
    pair_at_[place] = static_cast<int32_t>(pair);
    place_of_[pair] = place;
  }
}

int64_t RowsOfPairs::floats(const Floats& x, int64_t pairs, const Needs& needs) {
  const int64_t K = x.width();
  return Activations::floats(x, needs) + FormSizes(pairs, K, needs).sum() + (needs.floats ? pairs * K : 0);
}

// Copies row `from` of one form to row `to` of another.
template <class T>
static void copy_row(const T* from, int64_t t, T* to, int64_t place, int64_t width) {
  if (from) memcpy(to + place * width, from + t * width, width * sizeof(T));
}

RowsOfPairs::RowsOfPairs(const Call& call, const Floats& x, const ExpertGroups& groups, const Needs& needs,
                         float* memory)
    : shape_{groups.pairs(), x.width()}, rows_{nullptr, shape_, 2, shape_[0] * shape_[1]}, activations_(rows_, needs) {
  const int64_t R = shape_[0], K = shape_[1], k = x.shape[0] ? R / x.shape[0] : 1;
  const Activations once(call, x, needs, memory);
  const FormSizes sizes(R, K, needs);
  float* const start = memory + Activations::floats(x, needs);
  activations_.place(start, sizes);
  rows_.data = start + sizes.sum();
  call.split(R, 1 + K / 4, [&](int64_t first, int64_t end, int) {
    for (int64_t place = first; place < end; place++) {
      const int64_t t = groups.pair_at(place) / k;
      copy_row(once.int8, t, activations_.int8, place, quantised_row_bytes(K));
      copy_row(once.bf16, t, activations_.bf16, place, bf16_row_words(K));
      copy_row(once.halves, t, activations_.halves, place, 2 * bf16_row_words(K));
      copy_row<float>(needs.floats ? x.data : nullptr, t, rows_.data, place, K);
    }
  });
}

} // namespace quern
