#include "ops/kv-append.h"

namespace quern {

namespace {

// For q and k: optional RMS norm of each head, then RoPE.
struct Rotation {
  const Kernels& kernels;
  const Floats& table; // [T, R]
  float eps;
  int32_t layout;

  // One row of heads [H, d]; `normed` is scratch [H, d].
  void operator()(const float* x, const float* norm, int64_t t, int64_t H, int64_t d, float* normed, float* y) const {
    if (norm)
      for (int64_t h = 0; h < H; h++) kernels.rms_norm(x + h * d, norm, eps, normed + h * d, d);
    kernels.rope(norm ? normed : x, table.row(t), y, H, d, table.shape[1], layout);
  }
};

} // namespace

void QkNormRopeAppendOp::run(Call& call) {
  const Floats q = call.floats(Q, 3), y = call.floats(Y, 3); // [T, H, d]
  const Floats k = call.floats(K, 3), v = call.floats(V, 3); // [T, Hk, d]
  const Floats table = call.floats(TABLE, 2);                // [T, R]
  const Ints slots = call.ints(SLOTS);                       // [T]
  const int64_t T = q.shape[0], H = q.shape[1], d = q.shape[2], Hk = k.shape[1];
  const float *q_norm = call.vector(Q_NORM, d), *k_norm = call.vector(K_NORM, d);
  const Cache k_cache = call.cache(K_CACHE, Hk, d), v_cache = call.cache(V_CACHE, Hk, d);
  const int64_t R = table.shape[1];
  call.need(k.shape[0] == T && k.shape[2] == d && v.count == k.count && y.count == q.count && slots.count == T,
            "q and y must be [T, H, d], k and v [T, Hk, d] and slots [T]");
  call.need(table.shape[0] == T && R <= d && R % 2 == 0, "table must be [T, R] with R ≤ d");
  call.need(v_cache.alike(k_cache), "the caches must be alike");
  check_slots(call, slots, k_cache);
  const Rotation rotate{call.kernels, table, call.number(EPS), call.integer(LAYOUT)};
  const bool at_once = rise(slots); // else the later of two rows of a slot must win: k is appended after the loop
  const int64_t row = std::max(H, Hk) * d, k_row = Hk * d;
  call.scratch.reserve(row + k_row, at_once ? 0 : k.count);
  call.split(T, 3 * (H + Hk) * d, [&](int64_t first, int64_t end, int thread) {
    float* const normed = call.scratch.of(thread);
    for (int64_t t = first; t < end; t++) {
      float* const rotated = at_once ? normed + row : call.scratch.shared() + t * k_row;
      rotate(q.data + t * H * d, q_norm, t, H, d, normed, y.data + t * H * d);
      rotate(k.data + t * k_row, k_norm, t, Hk, d, normed, rotated);
      if (!at_once) continue;
      append_row(call.kernels, rotated, slots[t], k_cache);
      append_row(call.kernels, v.data + t * k_row, slots[t], v_cache);
    }
  });
  if (at_once) return;
  append_rows(call, call.scratch.shared(), slots, k_cache);
  append_rows(call, v.data, slots, v_cache);
}

} // namespace quern
