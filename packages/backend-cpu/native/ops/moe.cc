#include <cmath>
#include <limits>

#include "ops/experts.h"
#include "ops/gated-product.h"

namespace quern {

namespace {

struct Mixture {
  Floats x;             // [T, D]
  const Matrix& router; // [E, D]
  const Experts& gate;  // [E, F, D]
  const Experts& up;    // [E, F, D]
  const Experts& down;  // [E, D, F]
  Floats residual;      // [T, D]
  Floats y;             // [T, D]
  int64_t chosen;
  bool renormalise;

  int64_t T() const { return x.shape[0]; }
  int64_t D() const { return x.shape[1]; }
  int64_t E() const { return gate.size(); }
  int64_t F() const { return gate[0].rows(); }
  int64_t pairs() const { return T() * chosen; }
};

// The k largest of a row, descending; ties: lowest index first; NaN counts as −∞.
void choose(const float* scores, int64_t count, int64_t k, float* values, int32_t* ids) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i++) {
    const float score = std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
    if (found == k && !(score > values[k - 1])) continue;
    int64_t at = found < k ? found++ : k - 1;
    for (; at > 0 && score > values[at - 1]; at--) {
      values[at] = values[at - 1];
      ids[at] = ids[at - 1];
    }
    values[at] = score;
    ids[at] = static_cast<int32_t>(i);
  }
}

// Offsets of parts of the shared scratch.
class Parts {
 public:
  // Offset of a new part of `floats` floats.
  int64_t add(int64_t floats) {
    const int64_t at = sum_;
    sum_ += whole_lines(floats);
    return at;
  }
  int64_t sum() const { return sum_; }

 private:
  int64_t sum_ = 0;
};

class MoeRun {
 public:
  MoeRun(Call& call, const Mixture& m) : call_(call), m_(m) {
    call.scratch.reserve(std::max({router_tiling_.panel_floats, GatedProduct::scratch_floats(tiling_),
                                   down_tiling_.panel_floats}),
                         parts_.sum());
    inner_.data = part(inner_at_);
  }

  void run() {
    score();
    route();
    const ExpertGroups groups(ids(0), m_.pairs(), m_.E(), reinterpret_cast<int32_t*>(part(groups_at_)));
    gate_and_up(groups);
    project_down(groups);
    combine(groups);
  }

 private:
  float* part(int64_t at) const { return call_.scratch.shared() + at; }
  float* scores(int64_t t) const { return part(scores_at_) + t * m_.E(); }
  float* weights(int64_t t) const { return part(weights_at_) + t * m_.chosen; }
  int32_t* ids(int64_t t) const { return reinterpret_cast<int32_t*>(part(ids_at_)) + t * m_.chosen; }
  float* output(int64_t place) const { return part(outputs_at_) + place * m_.D(); }

  // x · routerᵀ [T, E].
  void score() {
    const Activations rows(call_, m_.x, router_needs_, part(rows_at_));
    const Product product(call_.kernels, rows, m_.router, nullptr, m_.T());
    call_.pool.run(router_tiling_.chunks(m_.E()), [&](int64_t chunk, int thread) {
      const int64_t first = chunk * router_tiling_.chunk, end = std::min(m_.E(), first + router_tiling_.chunk);
      product.columns(router_tiling_, first, end, scores(0) + first, m_.E(), call_.scratch.of(thread));
    });
  }

  // Expert ids and weights of each row. `renormalise`: softmax over the chosen scores only.
  void route() {
    const int64_t E = m_.E(), k = m_.chosen;
    call_.split(m_.T(), 16 * E, [&](int64_t first, int64_t end, int) {
      for (int64_t t = first; t < end; t++) {
        if (!m_.renormalise) call_.kernels.softmax(scores(t), scores(t), E);
        choose(scores(t), E, k, weights(t), ids(t));
        if (m_.renormalise) call_.kernels.softmax(weights(t), weights(t), k);
      }
    });
  }

  // SwiGLU of both products of every pair, [T · k, F], in order of places.
  void gate_and_up(const ExpertGroups& groups) {
    const RowsOfPairs of_pairs(call_, m_.x, groups, needs_, part(rows_at_));
    each_chunk(call_, groups, tiling_, m_.F(),
               [&](const ExpertGroups::Group& group, int64_t first, int64_t end, int thread) {
                 const Product gates(call_.kernels, of_pairs.activations(), m_.gate[group.expert], nullptr, rows_);
                 const Product ups(call_.kernels, of_pairs.activations(), m_.up[group.expert], nullptr, rows_);
                 const GatedProduct product{call_.kernels, gates, ups, tiling_};
                 for (int64_t n = first; n < end; n += tiling_.panel)
                   product.columns(n, std::min(end, n + tiling_.panel), group.places(), inner_, call_.scratch.of(thread));
               });
  }

  // The down projection, [T · k, D], in order of places.
  void project_down(const ExpertGroups& groups) {
    const int64_t D = m_.D();
    const Activations rows(call_, inner_, down_needs_, part(inner_rows_at_));
    each_chunk(call_, groups, down_tiling_, D,
               [&](const ExpertGroups::Group& group, int64_t first, int64_t end, int thread) {
                 const Product product(call_.kernels, rows, m_.down[group.expert], nullptr, rows_);
                 product.columns_of_rows(down_tiling_, first, end, group.places(), output(group.first) + first, D,
                                         call_.scratch.of(thread));
               });
  }

  void combine(const ExpertGroups& groups) {
    const int64_t D = m_.D(), k = m_.chosen;
    call_.split(m_.T(), k * D, [&](int64_t first, int64_t end, int) {
      for (int64_t t = first; t < end; t++) {
        const auto of_expert = [&](int64_t j) { return output(groups.place_of(t * k + j)); };
        weighted_sum(weights(t), k, of_expert, m_.y.row(t), D);
        call_.kernels.add(m_.residual.row(t), m_.y.row(t), m_.y.row(t), D);
      }
    });
  }

  Call& call_;
  const Mixture& m_;
  const int64_t rows_ = rows_of_expert(m_.pairs(), m_.E());
  const Needs router_needs_{call_.kernels, m_.T(), {&m_.router}};
  const Needs needs_{call_.kernels, rows_, {&m_.gate[0], &m_.up[0]}};
  const Needs down_needs_{call_.kernels, rows_, {&m_.down[0]}};
  const Tiling router_tiling_{m_.T(), m_.D(), router_needs_};
  const Tiling tiling_ = expert_tiling(rows_, m_.T(), m_.D(), needs_);
  const Tiling down_tiling_ = expert_tiling(rows_, m_.T(), m_.F(), down_needs_);
  const int64_t inner_shape_[2] = {m_.pairs(), m_.F()};
  Floats inner_{nullptr, inner_shape_, 2, m_.pairs() * m_.F()}; // [T · k, F], in order of places

  Parts parts_;
  const int64_t scores_at_ = parts_.add(m_.T() * m_.E()); // [T, E]
  const int64_t weights_at_ = parts_.add(m_.pairs());     // [T, k]
  const int64_t ids_at_ = parts_.add(m_.pairs());         // [T, k]
  const int64_t groups_at_ = parts_.add(ExpertGroups::words(m_.pairs(), m_.E()));
  const int64_t rows_at_ = parts_.add(
      std::max(Activations::floats(m_.x, router_needs_), RowsOfPairs::floats(m_.x, m_.pairs(), needs_)));
  const int64_t inner_at_ = parts_.add(inner_.count);
  const int64_t inner_rows_at_ = parts_.add(Activations::floats(inner_, down_needs_));
  const int64_t outputs_at_ = parts_.add(m_.pairs() * m_.D()); // [T · k, D], in order of places
};

bool is_stack(const Experts& experts, size_t E, int64_t N, int64_t K) {
  return experts.size() == E && experts[0].rows() == N && experts[0].width() == K;
}

} // namespace

void MoeOp::run(Call& call) {
  const Mixture m{call.floats(X, 2),        call.matrix(ROUTER), call.matrices(GATE), call.matrices(UP),
                  call.matrices(DOWN),      call.floats(RESIDUAL, 2), call.floats(Y, 2), call.integer(CHOSEN),
                  call.flag(RENORMALISE)};
  call.need(m.router.width() == m.D() && m.router.rows() == m.E() && is_stack(m.gate, m.E(), m.F(), m.D()) &&
                is_stack(m.up, m.E(), m.F(), m.D()) && is_stack(m.down, m.E(), m.D(), m.F()) &&
                m.residual.shape[0] == m.T() && m.residual.shape[1] == m.D() && m.y.shape[0] == m.T() &&
                m.y.shape[1] == m.D(),
            "x, residual and y must be [T, D], router [E, D], gate and up [E, F, D] and down [E, D, F]");
  call.need(m.chosen >= 1 && m.chosen <= m.E(), "chosen must be from 1 to the number of experts");
  if (m.y.count > 0) MoeRun(call, m).run();
}

} // namespace quern
