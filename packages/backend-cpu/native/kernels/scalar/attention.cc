// Attention of one query row over the keys of a paged cache, as a running softmax over blocks of ATTEND_KEYS keys
// (Milakov & Gimelshein 2018, algorithm 3).
#include "scalar.h"
#include <math.h>

namespace quern::scalar {

namespace {

inline float value_of(float x) { return x; }
inline float value_of(uint16_t x) { return f16_value(x); }

// Where the keys [first, end) of the sequence start in the cache, in elements: walks the table block by block.
void locate(const Attend& a, int32_t first, int32_t end, int64_t* rows) {
  const int64_t stride = int64_t(a.kv_heads) * a.head_dim;
  int32_t block = first / a.block_size;
  int32_t slot = first % a.block_size;
  for (int32_t key = first; key < end; key++, slot++) {
    if (slot == a.block_size) slot = 0, block++;
    *rows++ = (int64_t(a.block_table[block]) * a.block_size + slot) * stride + int64_t(a.kv_head) * a.head_dim;
  }
}

// scores[j] = softcap(q · k_j · scale); returns the largest, NaN aside.
template <class T>
float score(const Attend& a, const float* q, const int64_t* rows, int32_t keys, float* scores) {
  float max = -INFINITY;
  for (int32_t j = 0; j < keys; j++) {
    const T* k = static_cast<const T*>(a.k_cache) + rows[j];
    float dot = 0;
    for (int32_t i = 0; i < a.head_dim; i++) dot += q[i] * value_of(k[i]);
    const float scaled = dot * a.scale;
    scores[j] = a.soft_cap > 0 ? a.soft_cap * tanhf(scaled / a.soft_cap) : scaled;
    max = scores[j] > max ? scores[j] : max;
  }
  return max;
}

// y += Σ_j p[j] · v_j
template <class T>
void gather(const Attend& a, const float* p, const int64_t* rows, int32_t keys, float* y) {
  for (int32_t j = 0; j < keys; j++) {
    const T* v = static_cast<const T*>(a.v_cache) + rows[j];
    for (int32_t i = 0; i < a.head_dim; i++) y[i] += p[j] * value_of(v[i]);
  }
}

// One query head over one block of keys: y, top (the maximum) and total (the sum of weights) run on.
template <class T>
void attend_block(const Attend& a, int32_t h, const int64_t* rows, int32_t keys, float* y, float& top, float& total) {
  float* p = a.scratch;
  const float before = top;
  const float highest = score<T>(a, a.q + int64_t(h) * a.head_dim, rows, keys, p);
  if (highest > before) top = highest;
  const float base = top == -INFINITY ? 0 : top; // no key yet: e^(-inf - 0) = 0, where -inf - -inf would be NaN
  const float shrink = expf(before - base);
  total *= shrink;
  for (int32_t i = 0; i < a.head_dim; i++) y[i] *= shrink;
  for (int32_t j = 0; j < keys; j++) total += p[j] = expf(p[j] - base);
  gather<T>(a, p, rows, keys, y);
}

template <class T>
void attend_to(const Attend& a) {
  int64_t rows[ATTEND_KEYS];
  float* y = a.scratch + ATTEND_KEYS; // [group, d], not yet divided by the total
  float* top = y + a.group * a.head_dim;
  float* total = top + a.group;
  for (int32_t i = 0; i < a.group * a.head_dim; i++) y[i] = 0;
  for (int32_t h = 0; h < a.group; h++) top[h] = -INFINITY, total[h] = 0;

  for (int32_t first = a.first_key; first < a.end_key; first += ATTEND_KEYS) {
    const int32_t keys = a.end_key - first < ATTEND_KEYS ? a.end_key - first : int32_t(ATTEND_KEYS);
    locate(a, first, first + keys, rows);
    for (int32_t h = 0; h < a.group; h++) attend_block<T>(a, h, rows, keys, y + h * a.head_dim, top[h], total[h]);
  }
  for (int32_t h = 0; h < a.group; h++) {
    const float factor = total[h] == 0 ? 0 : 1 / total[h];
    for (int32_t i = h * a.head_dim; i < (h + 1) * a.head_dim; i++) a.y[i] = y[i] * factor;
  }
}

} // namespace

void attend(const Attend& args) {
  if (args.type == CACHE_F16) attend_to<uint16_t>(args);
  else attend_to<float>(args);
}

} // namespace quern::scalar
