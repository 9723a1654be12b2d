// A parameter on its device.
#pragma once
#include <stdint.h>

#include <functional>
#include <vector>

#include "quern/mapped-file.h"

namespace quern {

// Each device derives from it: the layout is the device's own.
class LoadedWeight {
 public:
  virtual ~LoadedWeight() = default;

  virtual const std::vector<int64_t>& shape() const = 0;
  // Of memory taken, or of the mapped file where that is used.
  virtual uint64_t byte_length() const = 0;
  // Calls look(file) for each mapped file that the data is in.
  virtual void each_file(const std::function<void(const MappedFile&)>& look) const { (void)look; }
};

} // namespace quern
