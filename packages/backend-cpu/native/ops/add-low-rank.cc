#include <string.h>

#include "ops/experts.h"

namespace quern {

namespace {

// Rows of x per task of the first product.
constexpr int64_t places_at_once = exact_rows;

struct LowRankOperands {
  Floats base;      // [T, N]
  Floats x;         // [T, K]
  const Experts& a; // [E, R, K]
  const Experts& b; // [E, N, R]
  Ints ids;         // [T, k]
  Floats scales;    // [T, k]
  Floats y;         // [T, N]

  int64_t T() const { return x.shape[0]; }
  int64_t K() const { return x.shape[1]; }
  int64_t N() const { return y.shape[1]; }
  int64_t R() const { return a[0].rows(); }
  int64_t E() const { return static_cast<int64_t>(a.size()); }
  int64_t k() const { return scales.shape[1]; }
};

void check_low_rank(const Call& call, const LowRankOperands& o) {
  call.need(o.b.size() == o.a.size() && o.b[0].width() == o.R() && o.a[0].width() == o.K() && o.b[0].rows() == o.N() &&
                o.y.shape[0] == o.T() && o.base.same_shape(o.y) && o.scales.shape[0] == o.T() &&
                o.ids.count == o.scales.count,
            "x must be [T, K], a [E, R, K], b [E, N, R], base and y [T, N], ids and scales [T, k]");
  for (int64_t i = 0; i < o.ids.count; i++)
    if (o.ids[i] < 0 || o.ids[i] >= o.E())
      call.out_of_range("ids[%lld] is %d, but a has %lld matrices", static_cast<long long>(i), o.ids[i],
                        static_cast<long long>(o.E()));
}

// A matrix in scratch.
struct HeldRows {
  HeldRows(float* data, int64_t rows, int64_t width) : shape{rows, width}, floats{data, shape, 2, rows * width} {}
  HeldRows(const HeldRows&) = delete;
  const int64_t shape[2];
  const Floats floats;
};

// Products in the form of one row, whatever their number: a row's bits do not depend on the other rows.
class LowRank {
 public:
  // `pairs`: number of those with another factor than 0.
  LowRank(Call& call, const LowRankOperands& o, int64_t pairs)
      : call_(call), o_(o), down_needs_(call.kernels, 1, {&o.a[0]}), up_needs_(call.kernels, 1, {&o.b[0]}),
        down_tiling_(expert_tiling(1, places_at_once, o.K(), down_needs_)), up_tiling_(expert_tiling(1, pairs, o.R(), up_needs_)),
        panel_(std::max(down_tiling_.panel_floats, up_tiling_.panel_floats)), words_(reserved(pairs)),
        pairs_(reinterpret_cast<int32_t*>(call.scratch.shared())), groups_(filled_ids(pairs), pairs, o.E(), pairs_ + 2 * pairs),
        x_(call.scratch.shared() + words_, pairs, o.K()),
        low_(x_.floats.data + whole_lines(pairs * o.K()), pairs, o.R()), x_forms_(x_.floats, down_needs_),
        low_forms_(low_.floats, up_needs_) {}

  void run() {
    call_.pool.run((groups_.pairs() + places_at_once - 1) / places_at_once, [&](int64_t i, int thread) {
      down({i * places_at_once, std::min((i + 1) * places_at_once, groups_.pairs())}, call_.scratch.of(thread));
    });
    call_.pool.run(up_tiling_.chunks(o_.N()), [&](int64_t i, int thread) {
      const int64_t first = i * up_tiling_.chunk;
      up(first, std::min(o_.N(), first + up_tiling_.chunk), call_.scratch.of(thread));
    });
  }

 private:
  int64_t reserved(int64_t pairs) {
    const int64_t words = whole_lines(2 * pairs + ExpertGroups::words(pairs, o_.E()));
    const int64_t shared = words + whole_lines(pairs * o_.K()) + pairs * o_.R();
    call_.scratch.reserve(panel_ + up_tiling_.rows * up_tiling_.chunk, shared);
    return words;
  }

  // Fills `pairs_` with the indices of the pairs; returns their matrices.
  const int32_t* filled_ids(int64_t pairs) {
    int32_t* const ids = pairs_ + pairs;
    for (int64_t i = 0, p = 0; i < o_.scales.count; i++) {
      if (o_.scales.data[i] == 0) continue;
      pairs_[p] = static_cast<int32_t>(i);
      ids[p++] = o_.ids[i];
    }
    return ids;
  }

  int64_t pair_at(int64_t place) const { return pairs_[groups_.pair_at(place)]; }

  // low = a · x, for some places of any groups.
  void down(RowRange places, float* panel) {
    for (int64_t place = places.first; place < places.end; place++)
      memcpy(x_.floats.row(place), o_.x.row(pair_at(place) / o_.k()), o_.K() * sizeof(float));
    for (int64_t g = 0; g < groups_.count(); g++) {
      const ExpertGroups::Group& group = groups_.group(g);
      const RowRange rows{std::max<int64_t>(group.first, places.first), std::min<int64_t>(group.end, places.end)};
      if (rows.count() <= 0) continue;
      const Product product(call_.kernels, x_forms_, o_.a[group.expert], nullptr, 1);
      for (int64_t r = 0; r < o_.R(); r += down_tiling_.chunk)
        product.columns_of_rows(down_tiling_, r, std::min(o_.R(), r + down_tiling_.chunk), rows,
                                low_.floats.row(rows.first) + r, o_.R(), panel);
    }
  }

  // Columns [first, end) of y = base + Σ scales · b · low.
  void up(int64_t first, int64_t end, float* panel) {
    const int64_t width = end - first;
    float* const part = panel + panel_; // [rows, width]
    for (int64_t t = 0; t < o_.T(); t++) memcpy(o_.y.row(t) + first, o_.base.row(t) + first, width * sizeof(float));
    for (int64_t g = 0; g < groups_.count(); g++) {
      const ExpertGroups::Group& group = groups_.group(g);
      const Product product(call_.kernels, low_forms_, o_.b[group.expert], nullptr, 1);
      for (int64_t place = group.first; place < group.end; place += up_tiling_.rows) {
        const RowRange rows{place, std::min<int64_t>(place + up_tiling_.rows, group.end)};
        product.columns_of_rows(up_tiling_, first, end, rows, part, width, panel);
        for (int64_t r = 0; r < rows.count(); r++) add(pair_at(place + r), part + r * width, first, width);
      }
    }
  }

  void add(int64_t pair, const float* change, int64_t first, int64_t width) {
    float* const y = o_.y.row(pair / o_.k()) + first;
    const float scale = o_.scales.data[pair];
    for (int64_t n = 0; n < width; n++) y[n] += scale * change[n];
  }

  Call& call_;
  const LowRankOperands& o_;
  const Needs down_needs_, up_needs_;
  const Tiling down_tiling_, up_tiling_;
  const int64_t panel_; // floats
  const int64_t words_;
  int32_t* const pairs_; // [P]: indices in ids
  const ExpertGroups groups_;
  const HeldRows x_, low_; // [P, K], [P, R], in order of places
  const Activations x_forms_, low_forms_;
};

} // namespace

void AddLowRankOp::run(Call& call) {
  const LowRankOperands o{call.floats(BASE, 2), call.floats(X, 2),      call.matrices(A), call.matrices(B),
                          call.ints(IDS),       call.floats(SCALES, 2), call.floats(Y, 2)};
  check_low_rank(call, o);
  if (o.y.count == 0) return;
  const int64_t pairs = o.scales.count - std::count(o.scales.data, o.scales.data + o.scales.count, 0.0f);
  if (pairs > 0) LowRank(call, o, pairs).run();
  else memcpy(o.y.data, o.base.data, o.y.count * sizeof(float));
}

} // namespace quern
