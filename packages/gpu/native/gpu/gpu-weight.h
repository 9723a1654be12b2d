// Weights on a GPU.
#pragma once
#include <vector>

#include "gpu/staging.h"
#include "gpu/weight-format.h"
#include "kernels/formats/planes.h"
#include "quern/gptq-blocks.h"
#include "quern/loaded-weight.h"
#include "quern/weight-source.h"

namespace quern::gpu {

// A weight, row-major. Vectors are f32; matrices have the file's format, blocks in planes. Dense matrices stay in a mapped file if the GPU
// reads it there.
class GpuWeight : public LoadedWeight {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED, OUT_OF_MEMORY; copies may be under way then.
  GpuWeight(const std::shared_ptr<Gpu>& gpu, Staging& staging, const WeightSource& source, FileMap& files);
  // Throws BAD_WEIGHT, OUT_OF_MEMORY; likewise.
  GpuWeight(const std::shared_ptr<Gpu>& gpu, Staging& staging, const GptqBlocks& blocks);

  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t byte_length() const override { return lent_.data() ? size_ : buffer_.bytes() + order_.bytes(); }
  void each_file(const std::function<void(const MappedFile&)>& look) const override {
    if (lent_.data()) look(*lent_.file());
  }
  const WeightFormat& format() const { return format_; }
  // Of a dense weight.
  const uint8_t* data() const { return lent_.data() ? lent_.data() : buffer_.data(); }
  // Of a weight of blocks.
  Planes planes() const;
  // Column p of the weight belongs to column order()[p] of x. Null: the identity.
  const int32_t* order() const { return reinterpret_cast<const int32_t*>(order_.data()); }

 private:
  const std::vector<int64_t> shape_;
  const WeightFormat& format_;
  const uint64_t size_;
  const LentBytes lent_; // of a dense matrix that stays in its file
  const GpuBuffer buffer_, order_;
};

}  // namespace quern::gpu
