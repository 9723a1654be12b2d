// Transcendental functions of a register. Included by vector.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr float INF = __builtin_inff();

// x = n · ln 2 + r with |r| ≤ ln 2 / 2; e^r = 1 + r · p.
struct Exponent {
  Floats n, r, p;
};

// p: Taylor series of (e^r - 1) / r up to r⁶, error 5e-9 on that range.
inline Exponent split_exponent(Floats x) {
  const Floats n = round(x * set(1.44269504088896340736f));
  const Floats r = fma(n, set(1.904654299957767e-9f), fma(n, set(-0.693147182464599609375f), x)); // ln 2 in two parts
  Floats p = set(1.0f / 5040);
  p = fma(p, r, set(1.0f / 720));
  p = fma(p, r, set(1.0f / 120));
  p = fma(p, r, set(1.0f / 24));
  p = fma(p, r, set(1.0f / 6));
  p = fma(p, r, set(1.0f / 2));
  p = fma(p, r, set(1.0f));
  return {n, r, p};
}

// eˣ, error about 1 ulp, subnormal results included. The bounds are just beyond overflow and underflow; NaN passes.
inline Floats exp(Floats x) {
  const Exponent e = split_exponent(max(set(-104), min(set(89), x)));
  return times_power_of_2(fma(e.r, e.p, set(1)), e.n);
}

// tanh z = t / (t + 2), t = e^2z - 1 computed without cancellation: small z keep their precision. |z| > 10: ±1.
inline Floats tanh(Floats z) {
  const Exponent e = split_exponent(max(set(-20), min(set(20), z + z)));
  const Floats power = times_power_of_2(set(1), e.n);
  const Floats t = fma(e.r * e.p, power, power - set(1));
  return t / (t + set(2));
}

inline Floats x_sigmoid(Floats x, Floats z) { return x / (set(1) + exp(set(0) - z)); } // x / (1 + e^-z)

// Φ(x), the normal distribution function; error of x · Φ(x) ≤ 1.3e-6. Φ(x) = 1/2 + x · P(u): P approximates (Φ(x) - 1/2) /
// x on |x| ≤ 5.2, with u = x² scaled to [-1, 1]. For |x| > 5.2, Φ is exactly 0 or 1.
inline Floats normal_cdf(Floats x) {
  const Floats u = min(set(1), fma(x * x, set(2 / (5.2f * 5.2f)), set(-1)));
  Floats p = set(0.0008631642558611929f);
  p = fma(p, u, set(-0.0025093064177781343f));
  p = fma(p, u, set(0.0028453285340219736f));
  p = fma(p, u, set(-0.0034939837642014027f));
  p = fma(p, u, set(0.00756283663213253f));
  p = fma(p, u, set(-0.013112053275108337f));
  p = fma(p, u, set(0.018386241048574448f));
  p = fma(p, u, set(-0.024590671062469482f));
  p = fma(p, u, set(0.031907204538583755f));
  p = fma(p, u, set(-0.039941634982824326f));
  p = fma(p, u, set(0.0500301867723465f));
  p = fma(p, u, set(-0.06774339079856873f));
  p = fma(p, u, set(0.13594993948936462f));
  return max(set(0), min(set(1), fma(x, p, set(0.5f))));
}

} // namespace
} // namespace quern::QUERN_ISA
