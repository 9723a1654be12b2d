// Products of rows with their chosen experts. (row, expert) pairs are sorted by expert: each expert's weights are read once
// for all its rows. The form of a product depends on the average number of rows per expert, never on choices of other rows.
// So a pair's bits do not depend on other rows' choices.
#pragma once
#include <vector>

#include "ops/product.h"

namespace quern {

using Experts = std::vector<Matrix>; // [N, K] each

// (row, expert) pairs of ids [R, k], sorted by expert. A pair's place is its index in this order.
class ExpertGroups {
 public:
  // Places of one expert's pairs.
  struct Group {
    int32_t expert, first, end; // places
    RowRange places() const { return {first, end}; }
  };

  // Words of scratch at `memory`, filled by the constructor; must outlive this object.
  static int64_t words(int64_t pairs, int64_t experts) { return 2 * pairs + (experts + 1) + 3 * experts; }
  ExpertGroups(const int32_t* ids, int64_t pairs, int64_t experts, int32_t* memory);

  int64_t count() const { return count_; } // experts with at least one pair
  const Group& group(int64_t index) const { return groups_[index]; }
  int64_t pairs() const { return pairs_; }
  int64_t pair_at(int64_t place) const { return pair_at_[place]; }
  int64_t place_of(int64_t pair) const { return place_of_[pair]; }

 private:
  int64_t pairs_, count_ = 0;
  int32_t *pair_at_, *place_of_; // [R · k]
  Group* groups_;
};

// Rounds up to whole cache lines.
constexpr int64_t whole_lines(int64_t floats) { return (floats + 15) / 16 * 16; }

// Average rows per expert, at least 1.
inline int64_t rows_of_expert(int64_t pairs, int64_t experts) { return std::max<int64_t>(1, pairs / experts); }

// Tiling for `rows` rows per expert on average and `most` rows at most.
inline Tiling expert_tiling(int64_t rows, int64_t most, int64_t K, const Needs& needs) {
  Tiling tiling(rows, K, needs);
  tiling.rows = Tiling(most, K, needs).rows;
  return tiling;
}

// The row of x of each pair, in order of places, in every form that a product needs.
class RowsOfPairs {
 public:
  // Floats of scratch at `memory`, filled by the constructor.
  static int64_t floats(const Floats& x, int64_t pairs, const Needs& needs);
  RowsOfPairs(const Call& call, const Floats& x, const ExpertGroups& groups, const Needs& needs, float* memory);

  const Activations& activations() const { return activations_; }

 private:
  int64_t shape_[2];
  Floats rows_; // [R · k, K]
  Activations activations_;
};

// Calls body(group, first, end, thread) for each chunk, columns [first, end), of each group.
template <class Body>
void each_chunk(const Call& call, const ExpertGroups& groups, const Tiling& tiling, int64_t N, const Body& body) {
  const int64_t chunks = tiling.chunks(N);
  call.pool.run(groups.count() * chunks, [&](int64_t i, int thread) {
    const int64_t first = i % chunks * tiling.chunk;
    body(groups.group(i / chunks), first, std::min(N, first + tiling.chunk), thread);
  });
}

// y [D] = Σ_j weights[j] · x(j), in order of j; x(j) points at row j.
template <class Row>
void weighted_sum(const float* weights, int64_t count, const Row& x, float* y, int64_t D) {
  std::fill_n(y, D, 0.0f);
  for (int64_t j = 0; j < count; j++) {
    const float weight = weights[j];
    const float* const row = x(j);
    for (int64_t i = 0; i < D; i++) y[i] += weight * row[i];
  }
}

} // namespace quern
