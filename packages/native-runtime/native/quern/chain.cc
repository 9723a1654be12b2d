#include "quern/chain.h"

#include <algorithm>
#include <cmath>

#include "quern/failure.h"

namespace quern {

namespace {

// Reads and checks the numbers of `places`.
class PlaceReader {
 public:
  explicit PlaceReader(std::span<const double> places) : places_(places) {}

  double next() {
    if (at_ == places_.size()) fail(Code::bad_argument, "malformed chain: it ends after %zu numbers", at_);
    return places_[at_++];
  }
  int32_t whole(double least) {
    const double value = next();
    if (!(value >= least && value <= INT32_MAX) || value != std::trunc(value))
      fail(Code::bad_argument, "malformed chain: %g is no whole number from %g on", value, least);
    return static_cast<int32_t>(value);
  }
  // `count` i32 words at the next offset of a region.
  std::span<int32_t> words(uint8_t* memory, uint64_t bytes, double count) {
    const double offset = next(), size = static_cast<double>(bytes);
    const bool fits = std::fmod(offset, sizeof(int32_t)) == 0 && offset >= 0 && offset <= size && count <= (size - offset) / sizeof(int32_t);
    if (!fits) fail(Code::bad_argument, "malformed chain: %g words at byte %g of a region of %g bytes", count, offset, size);
    return {reinterpret_cast<int32_t*>(memory + static_cast<uint64_t>(offset)), static_cast<size_t>(count)};
  }
  bool at_end() const { return at_ == places_.size(); }

 private:
  std::span<const double> places_;
  size_t at_ = 0;
};

} // namespace

Chain::Chain(std::span<const double> places, const HostMemory& host, std::span<int32_t> results, std::span<int32_t> counts)
    : results_(results), counts_(counts) {
  PlaceReader reader(places);
  const int32_t S = reader.whole(1);
  const auto inputs = [&](double count) { return reader.words(host.inputs, host.inputs_bytes, count); };
  output_ = reader.words(host.outputs, host.outputs_bytes, S);
  feed_ = inputs(S);
  for (int32_t left = reader.whole(0); left > 0; left--) growing_.push_back(inputs(S));
  if (!reader.at_end()) {
    const double blocks = reader.whole(0);
    const int32_t block_size = reader.whole(1);
    const auto slots = inputs(S), positions = inputs(S);
    slots_ = Slots{slots, positions, inputs(S * blocks), block_size};
  }
  most_ = static_cast<int64_t>(results.size() / S);
  if (!reader.at_end() || most_ < 1 || counts.size() != static_cast<size_t>(S))
    fail(Code::bad_argument, "malformed chain: %zu numbers, results of %zu words and counts of %zu for %d rows", places.size(),
         results.size(), counts.size(), S);
  ended_.resize(S);
}

bool Chain::keep(int64_t done, const int32_t* limits, std::span<const int32_t> stops) {
  std::copy(output_.begin(), output_.end(), results_.begin() + (done - 1) * rows());
  bool goes_on = false;
  for (size_t row = 0; row < ended_.size(); row++) {
    if (ended_[row]) continue;
    __atomic_store_n(&counts_[row], static_cast<int32_t>(done), __ATOMIC_RELAXED); // a listener may read it
    const int32_t limit = __atomic_load_n(&limits[row], __ATOMIC_RELAXED);
    ended_[row] = done >= most_ || done >= limit || std::ranges::find(stops, output_[row]) != stops.end();
    goes_on = goes_on || !ended_[row];
  }
  return goes_on;
}

void Chain::advance() {
  for (size_t row = 0; row < ended_.size(); row++) {
    if (ended_[row]) continue;
    feed_[row] = output_[row];
    for (const auto words : growing_) words[row] = static_cast<int32_t>(static_cast<uint32_t>(words[row]) + 1);
    if (slots_) set_slot(row);
  }
}

void Chain::set_slot(size_t row) {
  const auto& [slots, positions, table, size] = *slots_;
  const int32_t position = positions[row];
  const size_t blocks = table.size() / ended_.size();
  if (position < 0 || static_cast<size_t>(position / size) >= blocks)
    fail(Code::out_of_range, "[replayChain] row %zu reached position %d; its %zu blocks of %d have no slot for it", row, position, blocks, size);
  const uint32_t block = static_cast<uint32_t>(table[row * blocks + position / size]);
  slots[row] = static_cast<int32_t>(block * static_cast<uint32_t>(size) + static_cast<uint32_t>(position % size));
}

} // namespace quern
