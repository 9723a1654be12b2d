// Compiled once per instruction set, under the name QUERN_SEARCH. The builds must share no code: no inline function of
// a library, all own functions in an unnamed namespace.
#include "search.h"

namespace quern {
namespace {

typedef double Lanes __attribute__((vector_size(32)));  // 4 lanes on every instruction set
constexpr size_t kLanes = 4;
constexpr size_t kMost = 32 / kLanes;
constexpr double kShift = 6755399441055744;  // 1.5 · 2^52: adding it to a small double rounds to an integer
constexpr double kNegligible = 1e-15;

/** A group, its values as doubles. */
struct Group {
  Lanes x[kMost];
  Lanes w[kMost];
  size_t lanes;
};

inline Lanes all(double value) { return Lanes{value, value, value, value}; }

inline double sum(Lanes v) { return ((v[0] + v[1]) + v[2]) + v[3]; }

inline double magnitude(double x) { return __builtin_fabs(x); }

inline void load(const Groups& groups, size_t g, Group& group) {
  const float* x = groups.x + g * groups.size;
  const double* w = groups.weights + g * groups.size;
  group.lanes = groups.size / kLanes;
  for (size_t i = 0; i < group.lanes; i++, x += kLanes, w += kLanes) {
    group.x[i] = Lanes{x[0], x[1], x[2], x[3]};
    group.w[i] = Lanes{w[0], w[1], w[2], w[3]};
  }
}

/** The nearest integers within [low, high]; NaN stays. */
inline Lanes level(Lanes x, Lanes low, Lanes high) {
  const Lanes rounded = x + kShift - kShift;
  const Lanes above = rounded < low ? low : rounded;
  return above > high ? high : above;
}

// ── x ≈ scale · q − lift ──────────────────────────────────────────────────────────────────────────────────────────

struct Whole {
  double w, wx, wxx, min, max;
};

inline Whole sumGroup(const Group& group) {
  Lanes w = all(0), wx = all(0), wxx = all(0);
  double min = 0, max = -__builtin_inf();
  for (size_t i = 0; i < group.lanes; i++) {
    const Lanes weighted = group.w[i] * group.x[i];
    w += group.w[i];
    wx += weighted;
    wxx += weighted * group.x[i];
    for (size_t lane = 0; lane < kLanes; lane++) {
      const double value = group.x[i][lane];
      if (value < min) min = value;
      if (value > max) max = value;
    }
  }
  return {sum(w), sum(wx), sum(wxx), min, max};
}

struct LevelSums {
  double wq, wqq, wqx;
};

inline LevelSums sumLevels(const Group& group, double inverse, double lift, double top) {
  Lanes wq = all(0), wqq = all(0), wqx = all(0);
  const Lanes zero = all(0), high = all(top);
  for (size_t i = 0; i < group.lanes; i++) {
    const Lanes q = level(inverse * (group.x[i] + lift), zero, high);
    const Lanes weighted = group.w[i] * q;
    wq += weighted;
    wqq += weighted * q;
    wqx += weighted * group.x[i];
  }
  return {sum(wq), sum(wqq), sum(wqx)};
}

inline double absoluteError(const Group& group, double inverse, double lift, double top, double s, double m) {
  Lanes error = all(0);
  const Lanes zero = all(0), high = all(top);
  for (size_t i = 0; i < group.lanes; i++) {
    const Lanes difference = s * level(inverse * (group.x[i] + lift), zero, high) - m - group.x[i];
    error += group.w[i] * (difference < 0 ? -difference : difference);
  }
  return sum(error);
}

inline double errorOf(const Group& group, const AffineSearch& search, const Whole& whole, const LevelSums& sums,
                      double inverse, double lift, double s, double m) {
  if (search.absolute) return absoluteError(group, inverse, lift, search.top, s, m);
  return s * s * sums.wqq + m * m * whole.w + whole.wxx - 2 * s * (m * sums.wq + sums.wqx) + 2 * m * whole.wx;
}

struct AffineFit {
  double scale, lift;
};

inline AffineFit fitAffine(const Group& group, const AffineSearch& search, uint8_t* levels) {
  const Whole whole = sumGroup(group);
  const double w = whole.w, wx = whole.wx, min = whole.min, max = whole.max, top = search.top;
  if (!(max > min)) {
    for (size_t i = 0; i < group.lanes * kLanes; i++) levels[i] = 0;
    return {0, 0 - min};
  }
  double scale = (max - min) / top, lift = 0 - min;
  double bestInverse = 1 / scale, bestLift = lift;
  double best = errorOf(group, search, whole, sumLevels(group, bestInverse, lift, top), bestInverse, lift, scale, lift);
  for (int step = 0; step <= search.steps; step++) {
    const double inverse = (search.first + search.step * step + top) / (max + lift);
    const LevelSums sums = sumLevels(group, inverse, lift, top);
    const double determinant = w * sums.wqq - sums.wq * sums.wq;
    if (!(determinant > 0)) continue;
    const double freeLift = (sums.wq * sums.wqx - sums.wqq * wx) / determinant;
    const double s = freeLift < 0 ? sums.wqx / sums.wqq : (w * sums.wqx - wx * sums.wq) / determinant;
    const double m = freeLift < 0 ? 0 : freeLift;
    const double error = errorOf(group, search, whole, sums, inverse, lift, s, m);
    if (!(error < best)) continue;
    best = error;
    bestInverse = inverse;
    bestLift = lift;
    scale = s;
    lift = m;
  }
  const Lanes zero = all(0), high = all(top);
  for (size_t i = 0; i < group.lanes; i++) {
    const Lanes q = level(bestInverse * (group.x[i] + bestLift), zero, high);
    for (size_t lane = 0; lane < kLanes; lane++)
      levels[i * kLanes + lane] = q[lane] == q[lane] ? static_cast<uint8_t>(q[lane]) : 0;
  }
  return {scale, lift};
}

void affine(const Groups& groups, const AffineSearch& search, double* scales, double* lifts, uint8_t* levels) {
  Group group;
  for (size_t g = 0; g < groups.count / groups.size; g++) {
    load(groups, g, group);
    const AffineFit fit = fitAffine(group, search, levels + g * groups.size);
    scales[g] = fit.scale;
    lifts[g] = fit.lift;
  }
}

// ── x ≈ scale · q, q about zero ───────────────────────────────────────────────────────────────────────────────────

struct ScaleSums {
  double qx, qq;
};

inline ScaleSums sumLevels(const Group& group, double inverse, double top) {
  Lanes qx = all(0), qq = all(0);
  const Lanes low = all(-top), high = all(top - 1);
  for (size_t i = 0; i < group.lanes; i++) {
    const Lanes q = level(inverse * group.x[i], low, high);
    const Lanes weighted = group.w[i] * q;
    qx += weighted * group.x[i];
    qq += weighted * q;
  }
  return {sum(qx), sum(qq)};
}

/** The element of largest magnitude, with its sign; the first of equals. */
inline double signedMax(const Group& group) {
  double best = 0;
  for (size_t i = 0; i < group.lanes; i++)
    for (size_t lane = 0; lane < kLanes; lane++)
      if (magnitude(group.x[i][lane]) > magnitude(best)) best = group.x[i][lane];
  return best;
}

void scale(const Groups& groups, double top, double* scales, double* inverses) {
  Group group;
  for (size_t g = 0; g < groups.count / groups.size; g++) {
    load(groups, g, group);
    const double greatest = signedMax(group);
    scales[g] = inverses[g] = 0;
    if (magnitude(greatest) < kNegligible) continue;
    double inverse = -top / greatest;
    ScaleSums best = sumLevels(group, inverse, top);
    for (int step = -9; step <= 9; step++) {
      const double tried = -(top + 0.1 * step) / greatest;
      const ScaleSums sums = sumLevels(group, tried, top);
      if (!(sums.qq > 0 && sums.qx * sums.qx * best.qq > best.qx * best.qx * sums.qq)) continue;
      inverse = tried;
      best = sums;
    }
    scales[g] = best.qq > 0 ? best.qx / best.qq : 0;
    inverses[g] = inverse;
  }
}

// ── x ≈ scale · q, one level moved at a time ──────────────────────────────────────────────────────────────────────

inline double signedMax(const float* x, size_t size) {
  double best = 0;
  for (size_t i = 0; i < size; i++)
    if (magnitude(x[i]) > magnitude(best)) best = x[i];
  return best;
}

/** As in nearest.ts: rounded as a float. */
inline double nearest(double x, double low, double high) {
  if (!(x > low)) return low;
  if (x > high) return high;
  constexpr float shift = 12582912;
  return (static_cast<float>(x) + shift) - shift;
}

inline void add(ScaleSums& sums, double value, double q, double sign) {
  const double weight = sign * value * value;
  sums.qx += weight * value * q;
  sums.qq += weight * q * q;
}

/** Moves one level to the best value for the others, if the error falls; otherwise returns false. */
inline bool improve(double value, double& level, ScaleSums& sums, double top) {
  ScaleSums moved = sums;
  add(moved, value, level, -1);
  if (!(moved.qx > 0)) return false;
  const double better = nearest((value * moved.qq) / moved.qx, -top, top - 1);
  if (better == level) return false;
  add(moved, value, better, 1);
  if (!(moved.qq > 0 && moved.qx * moved.qx * sums.qq > sums.qx * sums.qx * moved.qq)) return false;
  level = better;
  sums = moved;
  return true;
}

inline double descend(const float* x, size_t size, double top) {
  const double greatest = signedMax(x, size);
  if (magnitude(greatest) < kNegligible) return 0;
  double levels[32];
  ScaleSums sums = {0, 0};
  for (size_t i = 0; i < size; i++) {
    levels[i] = nearest((-top / greatest) * x[i], -top, top - 1);
    add(sums, x[i], levels[i], 1);
  }
  bool moved = true;
  for (int pass = 0; pass < 5 && moved; pass++) {
    moved = false;
    for (size_t i = 0; i < size; i++) moved |= improve(x[i], levels[i], sums, top);
  }
  return sums.qq > 0 ? sums.qx / sums.qq : 0;
}

void descent(const Groups& groups, double top, double* scales) {
  for (size_t g = 0; g < groups.count / groups.size; g++)
    scales[g] = descend(groups.x + g * groups.size, groups.size, top);
}

// ── x ≈ scale · curve[q] ──────────────────────────────────────────────────────────────────────────────────────────

inline uint8_t nearestLevel(double x, const Curve& curve) {
  if (!(x > -128)) return curve.nearest[0];
  if (x >= 127.5) return curve.nearest[511];
  return curve.nearest[static_cast<int>(__builtin_floor(2 * x)) + 256];
}

inline ScaleSums sumLevels(const float* x, const double* w, size_t size, double inverse, const Curve& curve) {
  ScaleSums sums = {0, 0};
  for (size_t i = 0; i < size; i++) {
    const double value = x[i], c = curve.values[nearestLevel(inverse * value, curve) & 15];
    const double weighted = w[i] * c;
    sums.qx += weighted * value;
    sums.qq += weighted * c;
  }
  return sums;
}

inline double fitCurve(const float* x, const double* w, size_t size, const Curve& curve) {
  const double greatest = signedMax(x, size);
  if (magnitude(greatest) < kNegligible) return 0;
  ScaleSums sums = sumLevels(x, w, size, -curve.values[0] / greatest, curve);
  double scale = sums.qx / sums.qq;
  double best = scale * sums.qx;
  for (int step = -7; step <= 7; step++) {
    sums = sumLevels(x, w, size, (step + curve.values[0]) / greatest, curve);
    if (!(sums.qq > 0 && sums.qx * sums.qx > best * sums.qq)) continue;
    scale = sums.qx / sums.qq;
    best = scale * sums.qx;
  }
  return scale;
}

void curve(const Groups& groups, const Curve& curve, double* scales) {
  for (size_t g = 0; g < groups.count / groups.size; g++)
    scales[g] = fitCurve(groups.x + g * groups.size, groups.weights + g * groups.size, groups.size, curve);
}

}  // namespace

const Search QUERN_SEARCH = {affine, scale, descent, curve};

}  // namespace quern
