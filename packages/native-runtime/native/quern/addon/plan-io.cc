#include "quern/addon/plan-io.h"

#include "quern/addon/arguments.h"
#include "quern/failure.h"

namespace quern {

static std::vector<int32_t> copy_of_words(const Napi::Value& value) {
  const auto words = to_word_span(value, "words");
  return {words.begin(), words.end()};
}

PlanIo::PlanIo(const Napi::CallbackInfo& info, const HostPages& own)
    : words_(copy_of_words(info[0])), inputs_(info[1], "inputs", own), outputs_(info[2], "outputs", own),
      control_(info[3], "control", own, 1), fault_(info[4], "fault", own, 2) {
  if (!info[5].IsUndefined()) times_ = {info[5], "times", to_double_span(info[5], "times")};
  if (info[6].IsUndefined()) return;
  const auto places = to_double_span(info[6], "chain");
  chain_.assign(places.begin(), places.end());
  results_ = {info[7], "results", to_word_span(info[7], "results")};
  counts_ = {info[8], "counts", to_word_span(info[8], "counts")};
}

void PlanIo::copy_in() const {
  inputs_.copy_in();
  outputs_.copy_in();
  if (chain_.empty()) return;
  results_.need_in_place();
  counts_.need_in_place();
}

void PlanIo::copy_out() const {
  inputs_.copy_out(); // a chain writes inputs
  outputs_.copy_out();
  times_.copy_out();
  results_.copy_out();
  counts_.copy_out();
}

void PlanIo::copy_replays(size_t from, size_t to) const {
  const size_t rows = counts_.count();
  results_.copy_out(from * rows, to * rows);
  counts_.copy_out(0, rows);
}

double* PlanIo::times_of(size_t ops) {
  const auto times = times_.own();
  if (times.empty()) return nullptr;
  if (times.size() < ops)
    fail(Code::bad_argument, "times has room for %zu ops, but the plan has %zu", times.size(), ops);
  return times.data();
}

} // namespace quern
