// erf for languages that have none.
#pragma once

// To 1.4e-7: up to 1 a polynomial of x², fitted to erf(x) / x; beyond, 1 − e^q, where q is fitted to
// log(1 − erf(x)) on [1, 4] (least squares with weights, until the largest errors are alike).
FUNCTION float error_function(float x) {
  const float a = absolute(x);
  if (is_nan(x)) return x;
  if (a <= 1) {
    const float t = a * a;
    float p = -9.680130460765213e-06f;
    p = fused(p, t, 0.0001127054201788269f);
    p = fused(p, t, -0.00084847112884745f);
    p = fused(p, t, 0.005221074912697077f);
    p = fused(p, t, -0.02686544507741928f);
    p = fused(p, t, 0.11283782869577408f);
    p = fused(p, t, -0.37612637877464294f);
    return fused(p, t, 1.128379225730896f) * x;
  }
  const float u = (a < 4 ? a : 4.0f) - 2.5f;
  float q = 3.066893228265144e-08f;
  q = fused(q, u, 1.7134649397121393e-06f);
  q = fused(q, u, -1.3394796042121015e-05f);
  q = fused(q, u, 7.698545232415199e-05f);
  q = fused(q, u, -0.00042014007340185344f);
  q = fused(q, u, 0.002165667014196515f);
  q = fused(q, u, -0.010858418419957161f);
  q = fused(q, u, -0.9438938498497009f);
  q = fused(q, u, -5.352680683135986f);
  q = fused(q, u, -7.806815147399902f);
  const float y = 1 - exponential(q);
  return x < 0 ? -y : y;
}
