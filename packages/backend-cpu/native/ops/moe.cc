#include <cmath>
#include <limits>

#include "ops/experts.h"
#include "ops/gated-product.h"

namespace quern {

namespace {

struct Mixture {
  Floats x;             // [T, D]
  const Weight& router; // [E, D]
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

// What the chosen experts' outputs are multiplied with, and which they are: [T, k] both.
struct Routes {
  float* weights;
  int32_t* ids;
};

// The k largest of a row in falling order; ties go to the lowest index, NaN counts as −∞.
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

// Floats that each phase of the op needs: the shared ones lie one after the other.
struct Sizes {
  int64_t scores, routes, groups, rows, inner, inner_rows, outputs;
  int64_t shared() const { return scores + 2 * routes + groups + rows + inner + inner_rows + outputs; }
};

class MoeRun {
 public:
  MoeRun(Call& call, const Mixture& m)
      : call_(call), m_(m), rows_(rows_of_expert(m.pairs(), m.E())), router_needs_(call.kernels, m.T(), {&m.router}),
        needs_(call.kernels, rows_, {&m.gate[0], &m.up[0]}), down_needs_(call.kernels, rows_, {&m.down[0]}),
        router_tiling_(m.T(), m.D(), router_needs_), tiling_(expert_tiling(rows_, m.T(), m.D(), needs_)),
        down_tiling_(expert_tiling(rows_, m.T(), m.F(), down_needs_)),
        inner_shape_{m.pairs(), m.F()}, inner_{nullptr, inner_shape_, 2, m.pairs() * m.F()} {
    const Sizes sizes = {whole_lines(m.T() * m.E()),
                         whole_lines(m.pairs()),
                         whole_lines(ExpertGroups::words(m.pairs(), m.E())),
                         whole_lines(std::max(Activations::floats(m.x, router_needs_),
                                              RowsOfPairs::floats(m.x, m.pairs(), needs_))),
                         whole_lines(inner_.count),
                         whole_lines(Activations::floats(inner_, down_needs_)),
                         whole_lines(m.pairs() * m.D())};
    call.scratch.reserve(std::max({router_tiling_.panel_floats, GatedProduct::scratch_floats(tiling_),
                                   down_tiling_.panel_floats}),
                         sizes.shared());
    scores_ = call.scratch.shared();
    routes_ = {scores_ + sizes.scores, reinterpret_cast<int32_t*>(scores_ + sizes.scores + sizes.routes)};
    groups_ = routes_.ids + sizes.routes;
    x_rows_ = scores_ + sizes.scores + 2 * sizes.routes + sizes.groups;
    inner_.data = x_rows_ + sizes.rows;
    inner_rows_ = inner_.data + sizes.inner;
    outputs_ = inner_rows_ + sizes.inner_rows;
  }

  void run() {
    score();
    route();
    const ExpertGroups groups(routes_.ids, m_.pairs(), m_.E(), groups_);
    gate_and_up(groups);
    project_down(groups);
    combine(groups);
  }

 private:
  // x · routerᵀ [T, E].
  void score() {
    const Activations rows(call_, m_.x, router_needs_, x_rows_);
    const Product product(call_.kernels, rows, m_.router, nullptr);
    call_.pool.run(router_tiling_.chunks(m_.E()), [&](int64_t chunk, int thread) {
      const int64_t first = chunk * router_tiling_.chunk, end = std::min(m_.E(), first + router_tiling_.chunk);
      product.columns(router_tiling_, first, end, scores_ + first, m_.E(), call_.scratch.of(thread));
    });
  }

  // Renormalised, the weights are the softmax over the chosen scores alone.
  void route() {
    const int64_t E = m_.E(), k = m_.chosen;
    call_.split(m_.T(), 16 * E, [&](int64_t first, int64_t end, int) {
      for (int64_t t = first; t < end; t++) {
        float* const scores = scores_ + t * E;
        float* const weights = routes_.weights + t * k;
        if (!m_.renormalise) call_.kernels.softmax(scores, scores, E);
        choose(scores, E, k, weights, routes_.ids + t * k);
        if (m_.renormalise) call_.kernels.softmax(weights, weights, k);
      }
    });
  }

  // swiglu of both projections of every pair, [T · k, F] in the order of places.
  void gate_and_up(const ExpertGroups& groups) {
    const RowsOfPairs of_pairs(call_, m_.x, groups, needs_, x_rows_);
    each_chunk(call_, groups, tiling_, m_.F(),
               [&](const ExpertGroups::Group& group, int64_t first, int64_t end, int thread) {
                 const Product gates(call_.kernels, of_pairs.activations(), m_.gate[group.expert], nullptr, rows_);
                 const Product ups(call_.kernels, of_pairs.activations(), m_.up[group.expert], nullptr, rows_);
                 const GatedProduct product{call_.kernels, gates, ups, tiling_};
                 for (int64_t n = first; n < end; n += tiling_.panel)
                   product.columns(n, std::min(end, n + tiling_.panel), group.places(), inner_, call_.scratch.of(thread));
               });
  }

  // The third projection, [T · k, D] in the order of places.
  void project_down(const ExpertGroups& groups) {
    const int64_t D = m_.D();
    const Activations rows(call_, inner_, down_needs_, inner_rows_);
    each_chunk(call_, groups, down_tiling_, D,
               [&](const ExpertGroups::Group& group, int64_t first, int64_t end, int thread) {
                 const Product product(call_.kernels, rows, m_.down[group.expert], nullptr, rows_);
                 product.columns_of_rows(down_tiling_, first, end, group.places(),
                                         outputs_ + group.first * D + first, D, call_.scratch.of(thread));
               });
  }

  void combine(const ExpertGroups& groups) {
    const int64_t D = m_.D(), k = m_.chosen;
    call_.split(m_.T(), k * D, [&](int64_t first, int64_t end, int) {
      for (int64_t t = first; t < end; t++) {
        const auto output = [&](int64_t j) { return outputs_ + groups.place_of(t * k + j) * D; };
        weighted_sum(routes_.weights + t * k, k, output, m_.y.row(t), D);
        call_.kernels.add(m_.residual.row(t), m_.y.row(t), m_.y.row(t), D);
      }
    });
  }

  Call& call_;
  const Mixture& m_;
  const int64_t rows_; // of an expert, on average
  const Needs router_needs_, needs_, down_needs_;
  const Tiling router_tiling_, tiling_, down_tiling_;
  const int64_t inner_shape_[2];
  Floats inner_; // [T · k, F]
  float* scores_;
  Routes routes_;
  int32_t* groups_;
  float *x_rows_, *inner_rows_, *outputs_;
};

bool is_stack(const Experts& experts, size_t E, int64_t N, int64_t K) {
  return experts.size() == E && experts[0].rows() == N && experts[0].width() == K;
}

} // namespace

void MoeOp::run(Call& call) {
  const Mixture m{call.floats(X, 2),        call.matrix(ROUTER), call.matrices(GATE), call.matrices(UP),
                  call.matrices(DOWN),      call.floats(RESIDUAL, 2), call.floats(Y, 2), call.integer(CHOSEN),
                  call.integer(RENORMALISE) != 0};
  call.need(m.router.width() == m.D() && m.router.rows() == m.E() && is_stack(m.gate, m.E(), m.F(), m.D()) &&
                is_stack(m.up, m.E(), m.F(), m.D()) && is_stack(m.down, m.E(), m.D(), m.F()) &&
                m.residual.shape[0] == m.T() && m.residual.shape[1] == m.D() && m.y.shape[0] == m.T() &&
                m.y.shape[1] == m.D(),
            "x, residual and y must be [T, D], router [E, D], gate and up [E, F, D] and down [E, D, F]");
  call.need(m.chosen >= 1 && m.chosen <= m.E(), "chosen must be from 1 to the number of experts");
  if (m.T() > 0) MoeRun(call, m).run();
}

} // namespace quern
