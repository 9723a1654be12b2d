// The router of a mixture of experts: scores of logits, the best experts by their biased scores, their weights. A block per row.
#pragma once
#include "block-max.h"
#include "block-sum.h"

namespace quern {
namespace gpu {

CONSTANT int ROUTED = 1024; // most experts

struct Route {
  Global<const float> logits; // [rows, experts]
  Global<const float> bias;   // [experts], or null
  Global<int> ids;            // [rows, chosen]
  Global<float> weights;      // [rows, chosen]
  int experts, chosen, score, groups, groups_chosen, renormalise;
  float scale;
};

CONSTANT int ROUTE_SOFTMAX = 0;
CONSTANT int ROUTE_SIGMOID = 1;
CONSTANT int ROUTE_SOFTMAX_OF_CHOSEN = 2;

// e^(x − max) / Σ of values [count], in place; NaN everywhere if one is NaN. Callers put barriers around it.
FUNCTION void route_softmax(Shared<float> values, int count, Shared<float> highs, Shared<float> sums) {
  float highest = -infinity(), sum = 0;
  for (int i = thread_index(); i < count; i += block_threads()) highest = largest(highest, values[i]);
  highest = block_max(highest, highs);
  for (int i = thread_index(); i < count; i += block_threads()) {
    const float power = exponential(values[i] - highest);
    values[i] = power;
    sum += power;
  }
  sum = block_sum(sum, sums);
  for (int i = thread_index(); i < count; i += block_threads()) values[i] = values[i] / sum;
}

// The index of the first largest of values [count], in every thread; it becomes NaN, which is never taken.
FUNCTION int take_largest(Shared<float> values, int count, Shared<float> highs, Shared<float> firsts) {
  float best = -infinity();
  int own = -1;
  for (int i = thread_index(); i < count; i += block_threads())
    if (!is_nan(values[i]) && (own < 0 || values[i] > best)) {
      best = values[i];
      own = i;
    }
  const float highest = block_max(best, highs);
  const float first = block_max(own >= 0 && best == highest ? float(-own) : -infinity(), firsts);
  const int taken = int(-first);
  if (own == taken) values[own] = from_bits(0x7fc00000u);
  barrier();
  return taken;
}

FUNCTION float ranked(float value) { return is_nan(value) ? -infinity() : value; }

// The sum of the two best of a group, or its only one.
FUNCTION float group_value(Shared<float> biased, int first, int size) {
  float best = -infinity(), next = -infinity();
  for (int e = first; e < first + size; e++) {
    const float lower = biased[e] < best ? float(biased[e]) : best;
    next = next > lower ? next : lower;
    best = best > biased[e] ? best : float(biased[e]);
  }
  return ranked(size > 1 ? best + next : best);
}

KERNEL_OF(route, Route, 256, 1) {
  SHARED(float, scores, ROUTED);
  SHARED(float, biased, ROUTED);
  SHARED(float, values, ROUTED); // of the groups, then of the chosen
  SHARED(int, taken, ROUTED);
  SHARED(float, highs, WARP);
  SHARED(float, sums, WARP);
  const int E = args.experts;
  const Global<const float> logits = args.logits + int64_t(block_index()) * E;
  for (int e = thread_index(); e < E; e += block_threads())
    scores[e] = args.score == ROUTE_SIGMOID ? 1 / (1 + exponential(-logits[e])) : float(logits[e]);
  if (args.score == ROUTE_SOFTMAX) route_softmax(scores, E, highs, sums); // each thread its own elements
  for (int e = thread_index(); e < E; e += block_threads()) biased[e] = ranked(scores[e] + (args.bias ? float(args.bias[e]) : 0.0f));
  barrier();
  if (args.groups_chosen < args.groups) {
    const int size = E / args.groups;
    for (int g = thread_index(); g < args.groups; g += block_threads()) values[g] = group_value(biased, g * size, size);
    barrier();
    for (int i = 0; i < args.groups_chosen; i++) take_largest(values, args.groups, highs, sums);
    for (int e = thread_index(); e < E; e += block_threads())
      if (!is_nan(values[e / size])) biased[e] = from_bits(0x7fc00000u);
    barrier();
  }
  for (int j = 0; j < args.chosen; j++) {
    const int id = take_largest(biased, E, highs, sums);
    if (thread_index() == 0) taken[j] = id;
  }
  barrier();
  for (int j = thread_index(); j < args.chosen; j += block_threads()) values[j] = scores[taken[j]];
  barrier();
  if (args.score == ROUTE_SOFTMAX_OF_CHOSEN) route_softmax(values, args.chosen, highs, sums);
  barrier();
  float sum = 0;
  for (int j = thread_index(); j < args.chosen; j += block_threads()) sum += values[j];
  sum = block_sum(sum, sums) + 1e-20f;
  const int64_t at = int64_t(block_index()) * args.chosen;
  for (int j = thread_index(); j < args.chosen; j += block_threads()) {
    args.ids[at + j] = taken[j];
    args.weights[at + j] = args.scale * values[j] / (args.renormalise ? sum : 1.0f);
  }
}

} // namespace gpu
} // namespace quern
