#include "gpu/chain-ahead.h"

#include <algorithm>
#include <utility>

namespace quern::gpu {

namespace {

// Adds an array on a multiple of 8 bytes; returns where.
template <class T>
uint64_t pack(std::vector<uint8_t>& to, const T* from, size_t count) {
  const uint64_t at = to.size();
  to.resize(at + (count * sizeof(T) + 7) / 8 * 8);
  std::copy_n(from, count, reinterpret_cast<T*>(to.data() + at));
  return at;
}

// The place of words in the inputs.
int64_t place_in(const HostMemory& host, std::span<const int32_t> words) {
  return words.data() - reinterpret_cast<const int32_t*>(host.inputs);
}

template <class T>
T* as(uint8_t* data) { return reinterpret_cast<T*>(data); }

// At least one token, at most all that there is room for.
std::vector<int32_t> first_limits(const Chain& chain, const int32_t* given) {
  std::vector<int32_t> limits;
  for (int64_t row = 0; row < chain.rows(); row++)
    limits.push_back(int32_t(std::clamp<int64_t>(__atomic_load_n(&given[row], __ATOMIC_RELAXED), 1, chain.most())));
  return limits;
}

}  // namespace

uint8_t* ChainMemory::on_device(uint64_t bytes) {
  if (!device_ || device_->bytes() < bytes) device_ = std::make_unique<GpuBuffer>(gpu_, bytes);
  return device_->data();
}

uint8_t* ChainMemory::on_host(uint64_t bytes) {
  if (std::exchange(host_bytes_, std::max(bytes, host_bytes_)) < bytes) host_ = std::make_unique<HostBuffer>(gpu_, bytes);
  return host_->data();
}

ChainAhead::ChainAhead(Gpu& gpu, ChainMemory& memory, const Chain& chain, const ChainRun& run, const ChainPlan& plan,
                       std::function<void()> replay)
    : gpu_(gpu),
      chain_(chain),
      given_limits_(run.limits),
      replay_(std::move(replay)),
      limits_(first_limits(chain, run.limits)),
      device_limits_(limits_.size()),
      landing_(as<int32_t>(memory.on_host(uint64_t(ahead * record_words()) * sizeof(int32_t)))) {
  place(plan);
  upload(memory, place_growing(plan.host), run.stops);
  gpu_.forget_marks();
  for (int i = 0; i < ahead; i++) gpu_.mark();
}

// Where the words of the chain lie on the device.
void ChainAhead::place(const ChainPlan& plan) {
  args_.output = as<int>(plan.outputs + (reinterpret_cast<uint8_t*>(chain_.output().data()) - plan.host.outputs));
  args_.fault = as<int>(plan.fault);
  args_.inputs = as<int>(plan.inputs);
  args_.rows = int(chain_.rows());
  args_.feed = place_in(plan.host, chain_.feed());
  args_.slots = -1;
  if (!chain_.slots()) return;
  const Chain::Slots& slots = *chain_.slots();
  args_.slots = place_in(plan.host, slots.slots);
  args_.positions = place_in(plan.host, slots.positions);
  args_.table = place_in(plan.host, slots.table);
  args_.blocks = int(int64_t(slots.table.size()) / chain_.rows());
  args_.block_size = slots.block_size;
}

std::vector<int64_t> ChainAhead::place_growing(const HostMemory& host) const {
  std::vector<int64_t> places;
  for (const auto words : chain_.growing()) places.push_back(place_in(host, words));
  return places;
}

// What the kernel reads, and its record behind it.
void ChainAhead::upload(ChainMemory& memory, const std::vector<int64_t>& growing, std::span<const int32_t> stops) {
  std::vector<uint8_t>& words = memory.upload;
  words.clear();
  const uint64_t growing_at = pack(words, growing.data(), growing.size());
  const uint64_t limits_at = pack(words, limits_.data(), limits_.size());
  const uint64_t stops_at = pack(words, stops.data(), stops.size());
  uint8_t* const device = memory.on_device(words.size() + uint64_t(record_words()) * sizeof(int32_t));
  gpu_.copy_in(device, words.data(), words.size());
  args_.growing = as<int64_t>(device + growing_at);
  args_.growing_count = int(growing.size());
  args_.limits = as<int>(device + limits_at);
  args_.stops = as<int>(device + stops_at);
  args_.stop_count = int(stops.size());
  args_.record = as<int>(device + words.size());
}

bool ChainAhead::wants_more() const {
  for (size_t row = 0; row < limits_.size(); row++)
    if (!chain_.has_ended(row) && launched_ < limits_[row]) return true;
  return false;
}

void ChainAhead::launch() {
  const int64_t slot = launched_ % ahead;
  replay_();
  args_.done = int(++launched_);
  gpu_.launch("advance_chain", 1, int(std::clamp<int64_t>((chain_.rows() + 31) / 32 * 32, 32, 256)), &args_);
  gpu_.copy_out(landing(slot), reinterpret_cast<const uint8_t*>(args_.record), uint64_t(record_words()) * sizeof(int32_t));
  gpu_.mark_again(int(slot));
}

const int32_t* ChainAhead::next() {
  while (launched_ < done_ + ahead && wants_more()) launch();
  const int64_t slot = done_++ % ahead;
  gpu_.wait(int(slot));
  const int32_t *const fault = landing(slot), *const tokens = fault + 2;
  for (size_t row = 0; row < limits_.size(); row++) {
    if (!chain_.has_ended(row)) chain_.output()[row] = tokens[row];
    limits_[row] = std::min(limits_[row], __atomic_load_n(&given_limits_[row], __ATOMIC_RELAXED));
  }
  return fault;
}

void ChainAhead::read_counts(ReadBack& back) {
  const auto* const limits = reinterpret_cast<const uint8_t*>(args_.limits);
  back.add(device_limits_.data(), limits, device_limits_.size() * sizeof(int32_t));
}

bool ChainAhead::went_too_far() const {
  for (size_t row = 0; row < device_limits_.size(); row++)
    if (std::min<int64_t>(device_limits_[row], launched_) != chain_.counts()[row]) return true;
  return false;
}

}  // namespace quern::gpu
