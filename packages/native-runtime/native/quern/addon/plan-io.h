// What a plan is run with, as JavaScript gives it.
#pragma once
#include <napi.h>

#include <optional>
#include <vector>

#include "quern/addon/lent-memory.h"
#include "quern/plan.h"

namespace quern {

// Made, used and destroyed on the JavaScript thread; a run uses the memory only.
class PlanIo {
 public:
  // Takes (words, inputs, outputs, control, fault, times?, chain?, results?, counts?) from a call. Throws BAD_ARGUMENT.
  PlanIo(const Napi::CallbackInfo& info, const HostPages& own);

  // The words of the plan; once.
  std::vector<int32_t> take_words() { return std::move(words_); }
  HostMemory host() const { return {inputs_.data(), inputs_.bytes(), outputs_.data(), outputs_.bytes()}; }
  const int32_t* control() const { return control_.data(); }
  int32_t* fault() const { return fault_.data(); } // two words
  // The place for times of `ops` ops, or nullptr. Throws BAD_ARGUMENT where it is too small.
  double* times_of(size_t ops);
  std::span<const double> chain() const { return chain_; } // places of a Chain; empty where there is none
  std::span<int32_t> results() { return results_.own(); }  // of the chain
  std::span<int32_t> counts() { return counts_.own(); }

  // Before a run is handed over, and after it. Throw BAD_ARGUMENT where JavaScript has taken memory away that is needed.
  void copy_in() const;
  void copy_out() const;

 private:
  std::vector<int32_t> words_;
  LentBuffer inputs_, outputs_;
  LentWords control_, fault_;
  LentArray<double> times_; // empty where not wanted
  std::vector<double> chain_;
  LentArray<int32_t> results_, counts_;
};

} // namespace quern
