// Dense weights for plain ops.
#pragma once
#include <memory>
#include <vector>

#include "quern/loaded-weight.h"
#include "quern/weight-source.h"

namespace quern::plain {

// Row-major f32, from any dense format. A derived class of a device may add a layout of its own.
class PlainWeight : public LoadedWeight {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED (format not dense) or OUT_OF_MEMORY; messages name the weight.
  PlainWeight(const WeightSource& source, FileMap& files);

  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t byte_length() const override { return pages_.bytes(); }
  const float* data() const { return reinterpret_cast<const float*>(pages_.data()); }

 private:
  const std::vector<int64_t> shape_;
  Pages pages_;
};

} // namespace quern::plain
