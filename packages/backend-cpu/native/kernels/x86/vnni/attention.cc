// Attention of few queries over an int8 cache: bytes are multiplied as bytes. Other caches are avx512's.
#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"
#include "../../simd/attention/weights.h"
#include "../../simd/attention/turns.h"

namespace quern::vnni {
namespace {

constexpr int32_t MOST_BYTES = 256; // of a head
constexpr int32_t BYTE_TURN = 32;   // keys: so many that a turn's sums, which are kept in memory between turns, cost little

// The scales of the keys or values of a turn, beside each other.
struct Scales {
  float of[BYTE_TURN];

  Scales(const int8_t* cache, const Keys& keys, Range some, int32_t d) {
    for (int32_t j = some.from; j < some.to; j++) of[j - some.from] = scale_of(cache + keys.rows[j], d);
  }
};

} // namespace
} // namespace quern::vnni

#include "attention/digits.h"
#include "attention/scores.h"
#include "attention/values.h"

namespace quern::avx512 {

void attend_few(const Attend& args);

} // namespace quern::avx512

namespace quern::vnni {
namespace {

inline void attend_bytes(const Attend& a) {
  const auto* k = static_cast<const int8_t*>(a.k_cache);
  const auto* v = static_cast<const int8_t*>(a.v_cache);
  const int64_t row = cache_row(CACHE_I8, a.head_dim);
  const Queries queries = open_queries(a, (a.head_dim + BYTES - 1) / BYTES * BYTES);
  const int32_t all = a.heads * queries.count;
  auto* digits = reinterpret_cast<QueryDigits*>(queries.rest + int64_t(all) * ATTEND_KEYS);
  for (int32_t r = 0; r < all; r++) cut_query(queries.q + int64_t(r) * a.head_dim, a.head_dim, digits[r]);
  each_block(a, [&](const Keys& keys) {
    Ahead<int8_t> keys_ahead(a, keys, k, v, BYTE_TURN);
    take_turns<BYTE_TURN>(a, keys, [&](int32_t head, Range some) {
      score_some(a, of_head(queries, head), digits + head * queries.count, k + head * row, keys, some, keys_ahead);
    });
    for (int32_t head = 0; head < a.heads; head++) {
      const Queries s = of_head(queries, head);
      for (int32_t r = 0; r < s.count; r++) weigh_scores(a, s, r, s.rest + r * ATTEND_KEYS, seen(a, keys, r));
    }
    Ahead<int8_t> values_ahead(a, keys, v, nullptr, BYTE_TURN);
    take_turns<BYTE_TURN>(a, keys, [&](int32_t head, Range some) {
      add_some_values(a, of_head(queries, head), v + head * row, keys, some, values_ahead);
    });
  });
  for (int32_t head = 0; head < a.heads; head++) restore_order(of_head(queries, head));
  close_queries(a, queries);
}

} // namespace

void attend_few(const Attend& args) {
  if (args.type == CACHE_I8 && args.head_dim <= MOST_BYTES) attend_bytes(args);
  else avx512::attend_few(args);
}

} // namespace quern::vnni
