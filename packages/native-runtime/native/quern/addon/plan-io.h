// Memory and words of a plan, as JavaScript passes them.
#pragma once
#include <napi.h>

#include <optional>
#include <vector>

#include "quern/addon/lent-memory.h"
#include "quern/plan.h"

namespace quern {

// Made, used and destroyed on the JavaScript thread; a run uses only the memory.
class PlanIo {
 public:
  // Reads (words, inputs, outputs, control, fault, times?, chain?, results?, counts?) of a call. Throws BAD_ARGUMENT.
  PlanIo(const Napi::CallbackInfo& info, const HostPages& own);

  // Moves the words of the plan out: call once.
  std::vector<int32_t> take_words() { return std::move(words_); }
  HostMemory host() const { return {inputs_.data(), inputs_.bytes(), outputs_.data(), outputs_.bytes()}; }
  const int32_t* control() const { return control_.data(); }
  int32_t* fault() const { return fault_.data(); } // two words
  // Memory for the times of `ops` ops, or nullptr. Throws BAD_ARGUMENT if the array is too small.
  double* times_of(size_t ops);
  std::span<const double> chain() const { return chain_; } // places of a Chain (chain.h); empty: no chain
  std::span<int32_t> results() { return results_.own(); }  // of the chain
  std::span<int32_t> counts() { return counts_.own(); }

  // Before and after a run. Both throw BAD_ARGUMENT if JavaScript has transferred or resized memory of the plan.
  void copy_in() const;
  void copy_out() const;
  // During a chain: the results of replays [from, to), and the counts.
  void copy_replays(size_t from, size_t to) const;

 private:
  std::vector<int32_t> words_;
  LentBuffer inputs_, outputs_;
  LentWords control_, fault_;
  LentArray<double> times_; // empty: times not asked for
  std::vector<double> chain_;
  LentArray<int32_t> results_, counts_;
};

} // namespace quern
