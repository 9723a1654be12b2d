#include <limits>
#include <numeric>
#include <span>

#include "ops/top-k.h"

namespace quern {

namespace {

constexpr int32_t no_token = -1;
constexpr float infinity = std::numeric_limits<float>::infinity();

// Sampling settings and random number of a row.
struct Draw {
  double temperature;
  int64_t top_k; // 0: all
  double top_p, log_min_p;
  double random;  // in [0, 1)
  double highest; // maximum of the row
  double total;   // Σ exp(x − highest), for top-p over a whole row

  bool wants_total() const { return temperature > 0 && top_k == 0 && top_p < 1; }
};

// 64 random bits → a double in [0, 1) with 53 bits.
double uniform(int32_t high, int32_t low) {
  return (static_cast<double>(static_cast<uint32_t>(high) >> 5) * 0x1p26 + (static_cast<uint32_t>(low) >> 6)) / 0x1p53;
}

// Row s of the settings, with its random number. Throws OUT_OF_RANGE.
Draw draw_of(const Call& call, const float* settings, const Ints& random, int32_t row, int64_t s) {
  const float temperature = settings[0], top_k = settings[1], top_p = settings[2], log_min_p = settings[3];
  const bool holds = temperature >= 0 && temperature < infinity && top_k >= 0 && top_k == std::trunc(top_k) && top_p >= 0 &&
                     top_p <= 1 && log_min_p <= 0;
  const auto place = static_cast<long long>(s);
  if (!holds)
    call.out_of_range("settings[%lld] must be a finite temperature from 0, a whole topK from 0, topP from 0 to 1, and a logarithm up to 0; "
                      "got %g, %g, %g, %g", place, temperature, top_k, top_p, log_min_p);
  if (row < 0 || row >= random.count / 2)
    call.out_of_range("draws[%lld] is %d, but random has %lld rows", place, row, static_cast<long long>(random.count / 2));
  const auto k = static_cast<int64_t>(std::min(top_k, 0x1p30f)); // above any row width
  return {temperature, k, top_p, log_min_p, uniform(random[2 * row], random[2 * row + 1]), 0, 0};
}

// The smallest finite float ≥ bound.
float at_least(double bound) {
  const double finite = std::max<double>(bound, std::numeric_limits<float>::lowest());
  const auto rounded = static_cast<float>(finite);
  return rounded < finite ? std::nextafter(rounded, infinity) : rounded;
}

// Σ exp(x − highest); NaN adds 0.
double weight_of(const float* x, int64_t count, double highest) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    if (!std::isnan(x[i])) sum += std::exp(x[i] - highest);
  return sum;
}

// The first element with the highest value: only its block is read.
int32_t likeliest(const Call& call, const BlockRow& row, float highest) {
  const int64_t block = std::find(row.maxima, row.maxima + row.blocks, highest) - row.maxima;
  const int64_t start = block * BlockRow::block_width;
  return static_cast<int32_t>(start + call.kernels.argmax(row.x + start, std::min(BlockRow::block_width, row.width - start), &highest));
}

// Scratch of one thread. All sums are in double precision.
struct Workspace {
  Candidate* found; // [V]
  double* weights;  // [V]
  float* order;     // [blocks]
};

// A row with a finite maximum.
struct Drawing {
  BlockRow row;
  const Draw& draw;
  Workspace work;

  int32_t token() const {
    const std::span<const Candidate> tokens = kept();
    double sum = 0;
    for (size_t i = 0; i < tokens.size(); i++) {
      work.weights[i] = std::exp((tokens[i].value - draw.highest) / draw.temperature);
      sum += work.weights[i];
    }
    double left = draw.random * sum;
    int32_t last = no_token; // last token with weight > 0: taken if rounding leaves a remainder
    for (size_t i = 0; i < tokens.size(); i++) {
      if (work.weights[i] > 0) last = tokens[i].index;
      left -= work.weights[i];
      if (left < 0) break;
    }
    return last;
  }

 private:
  // Tokens left by the filters, in sampling order; elements at −∞ have weight 0.
  std::span<const Candidate> kept() const {
    const double threshold = draw.highest + draw.log_min_p;
    if (draw.top_k == 0 && draw.top_p == 1)
      return {work.found, static_cast<size_t>(row.collect(at_least(threshold), work.found))};
    const std::span<Candidate> ordered = draw.top_k > 0 ? best() : likely();
    size_t count = 0;
    while (count < ordered.size() && ordered[count].value >= threshold) count++;
    return ordered.first(count);
  }

  std::span<Candidate> best() const {
    const int64_t k = std::min(draw.top_k, row.width);
    row.best(k, work.found, work.order);
    const std::span<Candidate> ordered{work.found, static_cast<size_t>(k)};
    return draw.top_p < 1 ? nucleus(ordered, weight(ordered)) : ordered;
  }

  // The nucleus of the whole row. Sorting is the costly step: sort only elements within `nats` of the maximum, and widen
  // `nats` until they hold the nucleus.
  std::span<Candidate> likely() const {
    for (double nats = 4;; nats *= 1.25) {
      const float bound = at_least(draw.highest - nats);
      const std::span<Candidate> found{work.found, static_cast<size_t>(row.collect(bound, work.found))};
      if (weight(found) < draw.top_p * draw.total && bound > std::numeric_limits<float>::lowest()) continue;
      std::sort(found.begin(), found.end(), goes_before);
      return nucleus(found, draw.total);
    }
  }

  double weight(std::span<const Candidate> tokens) const {
    double sum = 0;
    for (const Candidate token : tokens) sum += std::exp(token.value - draw.highest);
    return sum;
  }

  // The smallest n ≥ 1 first tokens of `ordered` with a share ≥ top_p of `whole`.
  std::span<Candidate> nucleus(std::span<Candidate> ordered, double whole) const {
    double sum = 0;
    for (size_t i = 0; i < ordered.size(); i++) {
      sum += std::exp(ordered[i].value - draw.highest);
      if (sum >= draw.top_p * whole) return ordered.first(i + 1);
    }
    return ordered;
  }
};

// Sets `highest` of each row, and `total` where needed; totals are added block by block.
void find_totals(const Call& call, const Floats& x, const float* maxima, double* sums, Draw* draws) {
  const int64_t S = x.shape[0], V = x.shape[1], blocks = BlockRow::blocks_of(V);
  bool any = false;
  for (int64_t s = 0; s < S; s++) {
    draws[s].highest = *std::max_element(maxima + s * blocks, maxima + (s + 1) * blocks);
    any |= draws[s].wants_total();
  }
  if (!any) return;
  call.split(S * blocks, 16 * BlockRow::block_width, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) {
      const int64_t start = i % blocks * BlockRow::block_width;
      sums[i] = weight_of(x.row(i / blocks) + start, std::min(BlockRow::block_width, V - start), draws[i / blocks].highest);
    }
  });
  for (int64_t s = 0; s < S; s++) draws[s].total = std::accumulate(sums + s * blocks, sums + (s + 1) * blocks, 0.0);
}

} // namespace

void SampleOp::run(Call& call) {
  const Floats x = call.floats(X, 2);               // [S, V]
  const Floats settings = call.floats(SETTINGS, 2); // [S, 4]
  const Ints random = call.ints(RANDOM);            // [R, 2]
  const Ints rows = call.ints(DRAWS);               // [S]
  int32_t* const y = call.ints_out(Y);              // [S]
  const int64_t S = x.shape[0], V = x.shape[1], blocks = BlockRow::blocks_of(V);
  call.need(V > 0 && settings.shape[0] == S && settings.shape[1] == 4 && random.count % 2 == 0 && rows.count == S && call.operand(Y).count == S,
            "x must be [S, V] with V ≥ 1, settings [S, 4], random [R, 2], draws and y [S]");
  constexpr int64_t draw_floats = sizeof(Draw) / sizeof(float);
  call.scratch.reserve(4 * V + blocks, S * (draw_floats + 3 * blocks));
  auto* const draws = reinterpret_cast<Draw*>(call.scratch.shared()); // [S]
  auto* const sums = reinterpret_cast<double*>(draws + S);            // [S, blocks]
  auto* const maxima = reinterpret_cast<float*>(sums + S * blocks);   // [S, blocks]
  for (int64_t s = 0; s < S; s++) draws[s] = draw_of(call, settings.row(s), random, rows[s], s);
  BlockRow::find_maxima(call, x, maxima);
  find_totals(call, x, maxima, sums, draws);
  call.split(S, 16 * V, [&](int64_t first, int64_t end, int thread) {
    float* const own = call.scratch.of(thread);
    const Workspace work{reinterpret_cast<Candidate*>(own), reinterpret_cast<double*>(own + 2 * V), own + 4 * V};
    for (int64_t s = first; s < end; s++) {
      const Drawing drawing{{x.row(s), maxima + s * blocks, V, blocks}, draws[s], work};
      if (draws[s].temperature == 0) y[s] = likeliest(call, drawing.row, static_cast<float>(draws[s].highest));
      else y[s] = std::isfinite(draws[s].highest) ? drawing.token() : no_token;
    }
  });
}

} // namespace quern
