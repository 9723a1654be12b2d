// JavaScript memory that a plan works on, kept from being collected while it may be used.
#pragma once
#include <napi.h>

#include <vector>

#include "runtime/plan.h"

namespace quern {

// Made and destroyed on the JavaScript thread.
class PlanIo {
 public:
  // Takes (words, inputs, outputs, control, times?, chain?, results?) from a call. Throws BAD_ARGUMENT.
  explicit PlanIo(const Napi::CallbackInfo& info);

  std::span<const int32_t> words;
  HostMemory host;
  const int32_t* control;
  std::span<double> times; // empty where not wanted
  std::span<const double> chain; // places of a Chain; empty where there is none
  std::span<int32_t> results;    // of the chain

  // The place for times of `ops` ops, or nullptr. Throws BAD_ARGUMENT where it is too small.
  double* times_of(size_t ops) const;
  // Throws BAD_ARGUMENT where JavaScript has transferred or resized what it lent: the addresses are stale then.
  void need_in_place() const;

 private:
  std::vector<Napi::ObjectReference> kept_; // the arguments in their places; empty where one is no object
};

} // namespace quern
