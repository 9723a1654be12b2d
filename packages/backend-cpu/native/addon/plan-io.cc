#include "addon/plan-io.h"

#include "addon/arguments.h"
#include "runtime/failure.h"

namespace quern {

PlanIo::PlanIo(const Napi::CallbackInfo& info) {
  words = to_word_span(info[0], "words");
  const auto inputs = to_memory(info[1], "inputs"), outputs = to_memory(info[2], "outputs");
  host = {inputs.data(), inputs.size(), outputs.data(), outputs.size()};
  const auto flags = to_word_span(info[3], "control");
  if (flags.empty()) fail(Code::bad_argument, "control must have an element");
  control = flags.data();
  if (!info[4].IsUndefined()) times = to_double_span(info[4], "times");
  if (!info[5].IsUndefined()) {
    chain = to_double_span(info[5], "chain");
    results = to_word_span(info[6], "results");
  }
  kept_.resize(info.Length());
  for (size_t i = 0; i < info.Length(); i++)
    if (info[i].IsObject()) kept_[i] = Napi::Persistent(info[i].As<Napi::Object>());
}

void PlanIo::need_in_place() const {
  const auto same = [](const auto& now, const auto* data, size_t size) { return now.data() == data && now.size() == size; };
  const auto inputs = to_memory(kept_[1].Value(), "inputs"), outputs = to_memory(kept_[2].Value(), "outputs");
  if (!same(inputs, host.inputs, host.inputs_bytes) || !same(outputs, host.outputs, host.outputs_bytes) ||
      to_word_span(kept_[3].Value(), "control").data() != control ||
      (!times.empty() && !same(to_double_span(kept_[4].Value(), "times"), times.data(), times.size())) ||
      (!results.empty() && !same(to_word_span(kept_[6].Value(), "results"), results.data(), results.size())))
    fail(Code::bad_argument, "memory of the captured plan has been transferred or resized; capture it anew");
}

double* PlanIo::times_of(size_t ops) const {
  if (times.empty()) return nullptr;
  if (times.size() < ops)
    fail(Code::bad_argument, "times has room for %zu ops, but the plan has %zu", times.size(), ops);
  return times.data();
}

} // namespace quern
