#include "metal/buffers.h"

#include <unistd.h>

#include "metal/strings.h"
#include "quern/failure.h"

namespace quern::metal {

Buffers::Buffers(Object device, Object queue) : device_(device) {
  const Owned descriptor = made("MTLResidencySetDescriptor");
  Object error = nullptr;
  residents_ = Owned(new_residency_set(device_, descriptor.get(), &error));
  if (!residents_) fail(Code::unsupported, "Metal makes no residency set: %s", told(error).c_str());
  add_residency_set(queue, residents_.get());
}

// A new buffer, which work sees from the next make_resident on.
Owned Buffers::resident(Object buffer) {
  if (buffer) add_allocation(residents_.get(), buffer), changed_ = true;
  return Owned(buffer);
}

uint8_t* Buffers::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Pool pool;
  Owned buffer = resident(new_buffer(device_, bytes, storage_shared_untracked));
  if (!buffer) return nullptr;
  const uint64_t address = gpu_address(buffer.get());
  of_gpu_.emplace(address, Block{std::move(buffer), bytes});
  return reinterpret_cast<uint8_t*>(address);
}

uint8_t* Buffers::allocate_host(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const Pool pool;
  Owned buffer = resident(new_buffer(device_, bytes, storage_shared_untracked));
  if (!buffer) return nullptr;
  auto* const data = static_cast<uint8_t*>(contents(buffer.get()));
  of_host_.emplace(reinterpret_cast<uint64_t>(data), Block{std::move(buffer), bytes});
  return data;
}

// Metal takes whole pages.
const uint8_t* Buffers::lend(const uint8_t* data, uint64_t bytes, std::shared_ptr<const void> owner) {
  const auto page = uint64_t(sysconf(_SC_PAGESIZE)), at = reinterpret_cast<uint64_t>(data), start = at / page * page;
  const uint64_t length = (at + bytes - start + page - 1) / page * page;
  const std::lock_guard lock(mutex_);
  const Pool pool;
  Owned buffer = resident(new_buffer_no_copy(device_, reinterpret_cast<const void*>(start), length, storage_shared_untracked, nullptr));
  if (!buffer) return nullptr;
  const uint64_t address = gpu_address(buffer.get()) + (at - start);
  lent_.emplace(address, Block{std::move(buffer), length, std::move(owner)});
  return reinterpret_cast<const uint8_t*>(address);
}

void Buffers::take_back(const uint8_t* data) {
  const std::lock_guard lock(mutex_);
  const auto found = lent_.find(reinterpret_cast<uint64_t>(data));
  if (found == lent_.end()) return;
  remove_allocation(residents_.get(), found->second.buffer.get());
  changed_ = true;
  lent_.erase(found);
}

void Buffers::forget(Blocks& blocks, uint64_t start) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks.find(start);
  if (found == blocks.end()) return;
  remove_allocation(residents_.get(), found->second.buffer.get());
  changed_ = true;
  blocks.erase(found);
}

void Buffers::free(uint8_t* data) { forget(of_gpu_, reinterpret_cast<uint64_t>(data)); }
void Buffers::free_host(uint8_t* data) { forget(of_host_, reinterpret_cast<uint64_t>(data)); }

Place Buffers::find(const Blocks& blocks, uint64_t address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return {};
  const auto& [start, block] = *--after;
  return address < start + block.bytes ? Place{block.buffer.get(), address - start} : Place{};
}

Place Buffers::place_of(const uint8_t* data) const {
  const std::lock_guard lock(mutex_);
  return find(of_gpu_, reinterpret_cast<uint64_t>(data));
}

Place Buffers::place_on_host(const void* data) const {
  const std::lock_guard lock(mutex_);
  return find(of_host_, reinterpret_cast<uint64_t>(data));
}

uint8_t* Buffers::contents_at(const uint8_t* data) const {
  const auto [buffer, offset] = place_of(data);
  return static_cast<uint8_t*>(contents(buffer)) + offset;
}

void Buffers::make_resident() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(changed_, false)) commit(residents_.get());
}

}  // namespace quern::metal
