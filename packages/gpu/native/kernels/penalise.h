// Lowers the logits of tokens seen before, in a copy of the logits. A block per row.
#pragma once
#include "fault-code.h"
#include "two-float.h"

namespace quern {
namespace gpu {

struct Penalise {
  Global<const float> x, strengths; // [S, V], [S, 3]: repetition, presence, frequency
  Global<const int> tokens;         // [S, L]: −1 is padding
  Global<float> y;                  // [S, V]: x, at another address
  int V, L;
  Global<int> fault;                // [2]
  int op;
};

// In two floats: large terms may cancel.
FUNCTION float penalised(float logit, int seen, float repetition, float presence, float frequency) {
  const TwoFloat repeated = logit > 0 ? precise_quotient({logit, 0}, repetition) : exact_product(logit, repetition);
  const TwoFloat lowered = exact_sum(repeated.high, -presence);
  const TwoFloat often = exact_product(float(seen), frequency);
  const TwoFloat result = exact_sum(lowered.high, -often.high);
  const float lost = repeated.low + lowered.low - often.low + result.low;
  return absolute(result.high) < infinity() && absolute(lost) < infinity() ? result.high + lost : result.high;
}

// While tokens are counted, y holds counts of seen tokens, as integers: as floats they are positive and below the smallest
// normal number. Results in that range become 0.
CONSTANT int SMALLEST_NORMAL = 0x00800000;

FUNCTION float not_a_count(float x) { return x > 0 && to_bits(x) < unsigned(SMALLEST_NORMAL) ? 0 : x; }

KERNEL_OF(penalise, Penalise, 512, 1) {
  const int64_t row = block_index();
  const Global<const float> x = args.x + row * args.V, strengths = args.strengths + row * 3;
  const Global<const int> tokens = args.tokens + row * args.L;
  const Global<float> y = args.y + row * args.V;
  const Global<int> counts = as<int>(y);
  for (int i = thread_index(); i < args.L; i += block_threads()) {
    const int token = tokens[i];
    if (token < -1 || token >= args.V) flag(args.fault, args.op, OUT_OF_RANGE);
    else if (token >= 0) store_atomic(counts + token, 0);
  }
  barrier();
  for (int i = thread_index(); i < args.L; i += block_threads()) {
    const int token = tokens[i];
    if (token >= 0 && token < args.V) add_atomic(counts + token, 1);
  }
  barrier();
  // Threads with the same token write the same number; one that finds it written leaves it.
  for (int i = thread_index(); i < args.L; i += block_threads()) {
    const int token = tokens[i];
    if (token < 0 || token >= args.V) continue;
    const int seen = load_atomic(counts + token);
    if (seen <= 0 || seen >= SMALLEST_NORMAL) continue;
    const float lowered = penalised(x[token], seen, strengths[0], strengths[1], strengths[2]);
    store_atomic(counts + token, int(to_bits(not_a_count(lowered))));
  }
}

} // namespace gpu
} // namespace quern
