// Transcendental functions of a register. Included by vector.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr float INF = __builtin_inff();

// x = n · ln 2 + r with |r| ≤ ln 2 / 2; e^r = 1 + r · p.
struct Exponent {
  Floats n, r, p;
};

// p is the Taylor series of (e^r - 1) / r: cut after r⁶, it is right to 5e-9 on that range.
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

// eˣ to about 1 ulp, subnormal results included. The bounds lie just beyond overflow and underflow; NaN passes.
inline Floats exp(Floats x) {
  const Exponent e = split_exponent(max(set(-104), min(set(89), x)));
  return times_power_of_2(fma(e.r, e.p, set(1)), e.n);
}

// tanh z = t / (t + 2) with t = e^2z - 1 formed without cancellation, so that small z keep their precision. Beyond
// |z| = 10 the result is ±1.
inline Floats tanh(Floats z) {
  const Exponent e = split_exponent(max(set(-20), min(set(20), z + z)));
  const Floats power = times_power_of_2(set(1), e.n);
  const Floats t = fma(e.r * e.p, power, power - set(1));
  return t / (t + set(2));
}

inline Floats x_sigmoid(Floats x, Floats z) { return x / (set(1) + exp(set(0) - z)); } // x / (1 + e^-z)

// Φ(x), the normal distribution function: half of erfc(a) = e^(-a²) · t · Q(t), a = |x| / √2, t = 1 / (1 + 0.4 a), or
// one less that. Q interpolates at the Chebyshev nodes of [0, 1]; erfc is right to 3e-7 of its value, Φ to 2e-7.
inline Floats normal_cdf(Floats x) {
  const Floats a = abs(x) * set(0.70710678118654752440f);
  const Floats t = set(1) / fma(a, set(0.4f), set(1));
  Floats q = set(0.051346485113369734f);
  q = fma(q, t, set(-0.1873255052174449f));
  q = fma(q, t, set(0.17642792609043823f));
  q = fma(q, t, set(-0.011961572520645218f));
  q = fma(q, t, set(0.14448133606073638f));
  q = fma(q, t, set(0.16774628582922577f));
  q = fma(q, t, set(0.2079446580638813f));
  q = fma(q, t, set(0.22566462797773523f));
  q = fma(q, t, set(0.2256759014831443f));
  const Floats tail = exp(set(0) - a * a) * t * q * set(0.5f);
  return if_negative(x, tail, set(1) - tail);
}

} // namespace
} // namespace quern::QUERN_ISA
