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

namespace {

// Offsets of the forms of `rows` rows of width K, one form after another.
struct Forms {
  Forms(int64_t rows, int64_t K, const Needs& needs)
      : int8(needs.int8 ? rows * quantised_row_bytes(K) / 4 : 0), bf16(needs.bf16 ? (rows * K + 1) / 2 : 0),
        floats(needs.floats ? rows * K : 0) {}
  int64_t int8, bf16, floats; // in floats
  int64_t sum() const { return int8 + bf16 + floats; }
};

} // namespace

int64_t RowsOfPairs::floats(const Floats& x, int64_t pairs, const Needs& needs) {
  return Activations::floats(x, needs) + Forms(pairs, x.width(), needs).sum();
}

RowsOfPairs::RowsOfPairs(const Call& call, const Floats& x, const ExpertGroups& groups, const Needs& needs,
                         float* memory)
    : shape_{groups.pairs(), x.width()}, rows_{nullptr, shape_, 2, shape_[0] * shape_[1]},
      activations_(rows_, nullptr, nullptr, needs.superblock) {
  const int64_t R = shape_[0], K = shape_[1], k = x.shape[0] ? R / x.shape[0] : 1, row_bytes = quantised_row_bytes(K);
  const Activations once(call, x, needs, memory);
  const Forms forms(R, K, needs);
  float* const start = memory + Activations::floats(x, needs);
  auto* const int8 = reinterpret_cast<uint8_t*>(start);
  auto* const bf16 = reinterpret_cast<uint16_t*>(start + forms.int8);
  rows_.data = start + forms.int8 + forms.bf16;
  call.split(R, 1 + K / 4, [&](int64_t first, int64_t end, int) {
    for (int64_t place = first; place < end; place++) {
      const int64_t t = groups.pair_at(place) / k;
      if (needs.int8) memcpy(int8 + place * row_bytes, once.int8 + t * row_bytes, row_bytes);
      if (needs.bf16) memcpy(bf16 + place * K, once.bf16 + t * K, K * sizeof(uint16_t));
      if (needs.floats) memcpy(rows_.row(place), x.row(t), K * sizeof(float));
    }
  });
  activations_.int8 = needs.int8 ? int8 : nullptr;
  activations_.bf16 = needs.bf16 ? bf16 : nullptr;
}

} // namespace quern
