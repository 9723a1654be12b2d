// The router of a mixture of experts, in double precision: core's ops/route.ts.
#pragma once
#include <math.h>

#include "quern/op-view.h"

namespace quern {

class Router {
 public:
  // `bias`: [E], or null. Throws BAD_ARGUMENT for shapes and numbers that the op's rule forbids.
  Router(const OpView& op, const float* bias)
      : logits_(op.floats(RouteOp::LOGITS, 2)), weights_(op.floats(RouteOp::WEIGHTS, 2)), ids_(op.ints_out(RouteOp::IDS)), bias_(bias),
        score_(op.integer(RouteOp::SCORE)), groups_(op.integer(RouteOp::GROUPS)), groups_chosen_(op.integer(RouteOp::GROUPS_CHOSEN)),
        renormalise_(op.flag(RouteOp::RENORMALISE)), scale_(op.number(RouteOp::SCALE)) {
    const int64_t k = op.integer(RouteOp::CHOSEN);
    op.need(weights_.shape[0] == rows() && weights_.shape[1] == k && op.operand(RouteOp::IDS).count == weights_.count, "ids and weights must be [T, k]");
    op.need(score_ >= 0 && score_ <= 2 && groups_ >= 1 && experts() % groups_ == 0 && groups_chosen_ >= 1 && groups_chosen_ <= groups_ && k >= 1 &&
                k <= groups_chosen_ * group_size(),
            "score must be 0 to 2, groups divide the experts, and the chosen groups have k of them");
  }

  int64_t rows() const { return logits_.shape[0]; }
  int64_t experts() const { return logits_.shape[1]; }
  int64_t work() const { return 2 * experts() + groups_; } // doubles

  // Ids and weights of row t. `work`: work() doubles.
  void route(int64_t t, double* work) const {
    const int64_t E = experts(), k = weights_.shape[1];
    double* const scores = work;
    double* const biased = work + E;
    for (int64_t e = 0; e < E; e++) scores[e] = score_ == SIGMOID ? 1 / (1 + exp(-double(logits_.row(t)[e]))) : logits_.row(t)[e];
    if (score_ == SOFTMAX) softmax(scores, E);
    for (int64_t e = 0; e < E; e++) biased[e] = ranked(scores[e] + (bias_ ? bias_[e] : 0));
    if (groups_chosen_ < groups_) close_groups(biased, biased + E);
    for (int64_t j = 0; j < k; j++) ids_[t * k + j] = static_cast<int32_t>(take_largest(biased, E));
    for (int64_t j = 0; j < k; j++) biased[j] = scores[ids_[t * k + j]];
    if (score_ == SOFTMAX_OF_CHOSEN) softmax(biased, k);
    double sum = 1e-20;
    for (int64_t j = 0; j < k; j++) sum += biased[j];
    for (int64_t j = 0; j < k; j++) weights_.row(t)[j] = static_cast<float>(scale_ * biased[j] / (renormalise_ ? sum : 1));
  }

 private:
  enum Score : int32_t { SOFTMAX, SIGMOID, SOFTMAX_OF_CHOSEN };

  int64_t group_size() const { return experts() / groups_; }

  static double ranked(double value) { return isnan(value) ? -HUGE_VAL : value; }

  static void softmax(double* values, int64_t count) {
    double highest = -HUGE_VAL, sum = 0;
    for (int64_t i = 0; i < count; i++) highest = values[i] > highest || isnan(values[i]) ? values[i] : highest;
    for (int64_t i = 0; i < count; i++) sum += values[i] = exp(values[i] - highest);
    for (int64_t i = 0; i < count; i++) values[i] /= sum;
  }

  // The index of the first largest value; it becomes NaN, which is never taken.
  static int64_t take_largest(double* values, int64_t count) {
    int64_t best = -1;
    for (int64_t i = 0; i < count; i++)
      if (!isnan(values[i]) && (best < 0 || values[i] > values[best])) best = i;
    values[best] = NAN;
    return best;
  }

  // Experts of groups that are not chosen become NaN. `values`: [groups].
  void close_groups(double* biased, double* values) const {
    const int64_t size = group_size();
    for (int64_t g = 0; g < groups_; g++) {
      double best = -HUGE_VAL, next = -HUGE_VAL;
      for (int64_t e = g * size; e < (g + 1) * size; e++) {
        next = std::max(next, std::min(best, biased[e]));
        best = std::max(best, biased[e]);
      }
      values[g] = ranked(size > 1 ? best + next : best);
    }
    for (int64_t i = 0; i < groups_chosen_; i++) take_largest(values, groups_);
    for (int64_t e = 0; e < experts(); e++)
      if (!isnan(values[e / size])) biased[e] = NAN;
  }

  Floats logits_, weights_; // [T, E], [T, k]
  int32_t* ids_;            // [T, k]
  const float* bias_;
  int32_t score_;
  int64_t groups_, groups_chosen_;
  bool renormalise_;
  double scale_;
};

} // namespace quern
