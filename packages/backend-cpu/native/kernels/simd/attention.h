// Attention of one query row over the keys of a paged cache, as a running softmax over blocks of ATTEND_KEYS keys
// (Milakov & Gimelshein 2018, algorithm 3). Keys and values are loaded once for two query heads. A result depends on
// the keys and their number, not on the blocks of the cache nor on the other heads.
#pragma once

namespace quern::QUERN_ISA {

namespace {

// A block of keys: where each starts in the cache, in elements.
struct Keys {
  int64_t rows[ATTEND_KEYS];
  int32_t count;
};

// Walks the block table over the keys [first, first + count) of the sequence.
inline void locate(const Attend& a, int32_t first, Keys& keys) {
  const int64_t stride = int64_t(a.kv_heads) * a.head_dim;
  const int64_t head = int64_t(a.kv_head) * a.head_dim;
  int32_t block = first / a.block_size;
  int32_t slot = first % a.block_size;
  for (int32_t j = 0; j < keys.count; block++, slot = 0) {
    int64_t row = (int64_t(a.block_table[block]) * a.block_size + slot) * stride + head;
    for (; slot < a.block_size && j < keys.count; slot++, row += stride) keys.rows[j++] = row;
  }
}

// scores[h][j] = q_h · k_j for HH heads and NN keys.
template <int HH, int NN, class T>
inline void dots(const float* q, const T* k, const int64_t* rows, int32_t d, float* scores) {
  Floats sums[HH][NN];
  for (int h = 0; h < HH; h++)
    for (int j = 0; j < NN; j++) sums[h][j] = set(0);

  each(d, [&](int64_t i, auto... rest) {
    Floats keys[NN];
#pragma GCC unroll 4
    for (int j = 0; j < NN; j++) keys[j] = load(k + rows[j] + i, rest...);
#pragma GCC unroll 2
    for (int h = 0; h < HH; h++) {
      const Floats query = load(q + h * d + i, rest...);
#pragma GCC unroll 4
      for (int j = 0; j < NN; j++) sums[h][j] = fma(query, keys[j], sums[h][j]);
    }
  });
#pragma GCC unroll 2
  for (int h = 0; h < HH; h++)
    if constexpr (NN == 4) store_sums(scores + h * ATTEND_KEYS, sums[h][0], sums[h][1], sums[h][2], sums[h][3]);
    else scores[h * ATTEND_KEYS] = sum(sums[h][0]);
}

template <int NN, class T>
inline void dots_of_group(const Attend& a, const Keys& keys, int32_t j, float* scores) {
  const auto* k = static_cast<const T*>(a.k_cache);
  int32_t h = 0;
  for (; h + 2 <= a.group; h += 2)
    dots<2, NN>(a.q + h * a.head_dim, k, keys.rows + j, a.head_dim, scores + h * ATTEND_KEYS + j);
  if (h < a.group) dots<1, NN>(a.q + h * a.head_dim, k, keys.rows + j, a.head_dim, scores + h * ATTEND_KEYS + j);
}

// scores [group, ATTEND_KEYS]
template <class T>
inline void dots_of_block(const Attend& a, const Keys& keys, float* scores) {
  int32_t j = 0;
  for (; j + 4 <= keys.count; j += 4) dots_of_group<4, T>(a, keys, j, scores);
  for (; j < keys.count; j++) dots_of_group<1, T>(a, keys, j, scores);
}

// Scales and caps the scores of one head; returns the largest, NaN aside.
inline float finish_scores(const Attend& a, float* scores, int32_t count) {
  const auto finish = [&](Floats dot) {
    const Floats scaled = dot * set(a.scale);
    return a.soft_cap > 0 ? set(a.soft_cap) * tanh(scaled / set(a.soft_cap)) : scaled;
  };
  Floats top = set(-INF);
  each(count, [&](int64_t j, auto... rest) {
    store(scores + j, finish(load(scores + j, rest...)), rest...);
    top = max(load_or(set(-INF), scores + j, rest...), top);
  });
  return largest(top);
}

// scores[j] = e^(scores[j] - base); returns their sum.
inline float exponentiate(float* scores, int32_t count, float base) {
  Floats total = set(0);
  each(count, [&](int64_t j, auto... rest) {
    const Floats e = exp(load_or(set(-INF), scores + j, rest...) - set(base));
    store(scores + j, e, rest...);
    total = total + e;
  });
  return sum(total);
}

// y_h = shrink_h · y_h + Σ_j p[h][j] · v_j for HH heads and VV registers (or the n elements of one) of the head dimension.
template <int HH, int VV, class T, class... N>
inline void weigh(const Attend& a, const Keys& keys, const float* p, const float* shrink, int32_t at, float* y, N... n) {
  const T* v = static_cast<const T*>(a.v_cache) + at;
  Floats sums[HH][VV];
  for (int h = 0; h < HH; h++)
    for (int i = 0; i < VV; i++) sums[h][i] = load(y + h * a.head_dim + at + i * LANES, n...) * set(shrink[h]);

  for (int32_t j = 0; j < keys.count; j++) {
    Floats values[VV];
    for (int i = 0; i < VV; i++) values[i] = load(v + keys.rows[j] + i * LANES, n...);
    for (int h = 0; h < HH; h++) {
      const Floats weight = set(p[h * ATTEND_KEYS + j]);
      for (int i = 0; i < VV; i++) sums[h][i] = fma(weight, values[i], sums[h][i]);
    }
  }
  for (int h = 0; h < HH; h++)
    for (int i = 0; i < VV; i++) store(y + h * a.head_dim + at + i * LANES, sums[h][i], n...);
}

template <int HH, class T>
inline void weigh_heads(const Attend& a, const Keys& keys, const float* p, const float* shrink, float* y) {
  int32_t i = 0;
  for (; i + 4 * LANES <= a.head_dim; i += 4 * LANES) weigh<HH, 4, T>(a, keys, p, shrink, i, y);
  for (; i + LANES <= a.head_dim; i += LANES) weigh<HH, 1, T>(a, keys, p, shrink, i, y);
  if (i < a.head_dim) weigh<HH, 1, T>(a, keys, p, shrink, i, y, int64_t(a.head_dim - i));
}

// The parts of the caller's scratch.
struct Scratch {
  float* scores;  // [group, ATTEND_KEYS]
  float* y;       // [group, d], not yet divided by the total
  float* top;     // [group], running maximum of the scores
  float* total;   // [group], running sum of the weights
  float* shrink;  // [group], what the last rise of the maximum scales earlier sums by
};

template <class T>
inline void attend_block(const Attend& a, const Keys& keys, const Scratch& s) {
  dots_of_block<T>(a, keys, s.scores);
  for (int32_t h = 0; h < a.group; h++) {
    float* scores = s.scores + h * ATTEND_KEYS;
    const float before = s.top[h];
    const float highest = finish_scores(a, scores, keys.count);
    if (highest > before) s.top[h] = highest;
    const float base = s.top[h] == -INF ? 0 : s.top[h]; // no key yet: e^(-inf - 0) = 0, where -inf - -inf would be NaN
    s.shrink[h] = __builtin_expf(before - base);
    s.total[h] = s.total[h] * s.shrink[h] + exponentiate(scores, keys.count, base);
  }
  int32_t h = 0;
  for (; h + 2 <= a.group; h += 2)
    weigh_heads<2, T>(a, keys, s.scores + h * ATTEND_KEYS, s.shrink + h, s.y + h * a.head_dim);
  if (h < a.group) weigh_heads<1, T>(a, keys, s.scores + h * ATTEND_KEYS, s.shrink + h, s.y + h * a.head_dim);
}

template <class T>
inline void attend_to(const Attend& a) {
  float* y = a.scratch + a.group * ATTEND_KEYS;
  float* top = y + a.group * a.head_dim;
  const Scratch s = {a.scratch, y, top, top + a.group, top + 2 * a.group};
  for (int32_t i = 0; i < a.group * a.head_dim; i++) s.y[i] = 0;
  for (int32_t h = 0; h < a.group; h++) s.top[h] = -INF, s.total[h] = 0;

  Keys keys;
  for (int32_t first = a.first_key; first < a.end_key; first += keys.count) {
    keys.count = a.end_key - first < ATTEND_KEYS ? a.end_key - first : int32_t(ATTEND_KEYS);
    locate(a, first, keys);
    attend_block<T>(a, keys, s);
  }
  for (int32_t h = 0; h < a.group; h++) {
    const int32_t at = h * a.head_dim;
    scale(s.y + at, s.total[h] == 0 ? 0 : 1 / s.total[h], a.y + at, a.head_dim);
  }
}

} // namespace

void attend(const Attend& args) {
  if (args.type == CACHE_F16) attend_to<uint16_t>(args);
  else attend_to<float>(args);
}

} // namespace quern::QUERN_ISA
