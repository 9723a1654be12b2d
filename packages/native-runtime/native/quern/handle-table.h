// Objects that JavaScript names by id.
#pragma once
#include <stdint.h>

#include <memory>
#include <mutex>
#include <unordered_map>

namespace quern {

// Ids are never reused. Any thread. A found object lives while the caller holds its pointer.
template <class T>
class HandleTable {
 public:
  int32_t add(std::shared_ptr<T> object) {
    std::lock_guard lock(mutex_);
    objects_.emplace(next_, std::move(object));
    return next_++;
  }

  // nullptr for an unknown id.
  std::shared_ptr<T> find(int32_t id) const {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    return found == objects_.end() ? nullptr : found->second;
  }

  void remove(int32_t id) {
    std::shared_ptr<T> last; // freed after the lock is released
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) return;
    last = std::move(found->second);
    objects_.erase(found);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<int32_t, std::shared_ptr<T>> objects_;
  int32_t next_ = 0;
};

} // namespace quern
