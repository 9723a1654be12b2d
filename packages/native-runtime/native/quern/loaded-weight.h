// A weight on its device.
#pragma once
#include <stdint.h>

#include <functional>
#include <vector>

#include "quern/mapped-file.h"

namespace quern {

// Each device derives its own layout.
class LoadedWeight {
 public:
  virtual ~LoadedWeight() = default;

  virtual const std::vector<int64_t>& shape() const = 0;
  // Bytes of memory taken, or bytes of the mapped file.
  virtual uint64_t byte_length() const = 0;
  // Calls look(file) for each mapped file of the weight.
  virtual void each_file(const std::function<void(const MappedFile&)>& look) const { (void)look; }
};

} // namespace quern
