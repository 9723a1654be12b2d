#include "quern/chain.h"

#include <algorithm>
#include <cmath>

#include "quern/failure.h"

namespace quern {

// i32 words in host memory, or BAD_ARGUMENT.
static std::span<int32_t> words_at(uint8_t* memory, uint64_t bytes, double offset, double count) {
  const double size = static_cast<double>(bytes);
  const bool whole = offset == std::trunc(offset) && count == std::trunc(count) && std::fmod(offset, sizeof(int32_t)) == 0;
  if (!whole || !(offset >= 0 && count >= 0 && offset <= size && count <= (size - offset) / sizeof(int32_t)))
    fail(Code::bad_argument, "malformed chain: %g words at byte %g of a region of %g bytes", count, offset, size);
  return {reinterpret_cast<int32_t*>(memory + static_cast<uint64_t>(offset)), static_cast<size_t>(count)};
}

Chain::Chain(std::span<const double> places, const HostMemory& host, std::span<int32_t> results) : results_(results) {
  if (places.size() < 3 || places.size() % 2 == 0)
    fail(Code::bad_argument, "malformed chain: it has %zu numbers", places.size());
  output_ = words_at(host.outputs, host.outputs_bytes, places[1], places[0]);
  feed_ = words_at(host.inputs, host.inputs_bytes, places[2], places[0]);
  for (size_t i = 3; i < places.size(); i += 2)
    growing_.push_back(words_at(host.inputs, host.inputs_bytes, places[i], places[i + 1]));
}

void Chain::need_room(int64_t count) const {
  const auto wanted = static_cast<uint64_t>(count);
  if (count < 1 || (!output_.empty() && wanted > results_.size() / output_.size()))
    fail(Code::bad_argument, "a chain of %lld replays of %zu words does not fit in results of %zu",
         static_cast<long long>(count), output_.size(), results_.size());
}

void Chain::keep(int64_t replay) { std::copy(output_.begin(), output_.end(), result(replay).begin()); }

bool Chain::stopped(int64_t replay, std::span<const int32_t> stops) const {
  return std::ranges::any_of(result(replay), [&](int32_t word) { return std::ranges::find(stops, word) != stops.end(); });
}

void Chain::advance(int64_t replay) {
  const auto words = result(replay);
  std::copy(words.begin(), words.end(), feed_.begin());
  for (const auto growing : growing_)
    for (int32_t& word : growing) word = static_cast<int32_t>(static_cast<uint32_t>(word) + 1);
}

} // namespace quern
