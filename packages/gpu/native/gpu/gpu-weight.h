// Memory and weights on a GPU.
#pragma once
#include <memory>
#include <vector>

#include "gpu/gpu.h"
#include "gpu/weight-format.h"
#include "kernels/formats/planes.h"
#include "quern/buffer.h"
#include "quern/gptq-blocks.h"
#include "quern/loaded-weight.h"
#include "quern/weight-source.h"

namespace quern::gpu {

// Memory of a GPU, freed at the end. Keeps the GPU.
class GpuBuffer : public Buffer {
 public:
  // Not zeroed. Throws OUT_OF_MEMORY.
  GpuBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes);
  ~GpuBuffer() override;

 private:
  const std::shared_ptr<Gpu> gpu_;
};

// A weight, row-major. Vectors are f32; matrices have the file's format, blocks in planes.
class GpuWeight : public LoadedWeight {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED, OUT_OF_MEMORY, naming the weight.
  GpuWeight(std::shared_ptr<Gpu> gpu, const WeightSource& source, FileMap& files);
  // Throws OUT_OF_MEMORY, BAD_WEIGHT.
  GpuWeight(std::shared_ptr<Gpu> gpu, const GptqBlocks& blocks);

  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t byte_length() const override { return buffer_.bytes() + order_.bytes(); }
  const WeightFormat& format() const { return format_; }
  // Of a dense weight.
  uint8_t* data() const { return buffer_.data(); }
  // Of a weight of blocks.
  Planes planes() const;
  // Column p of the weight belongs to column order()[p] of x. Null: the identity.
  const int32_t* order() const { return reinterpret_cast<const int32_t*>(order_.data()); }

 private:
  const std::vector<int64_t> shape_;
  const WeightFormat& format_;
  const GpuBuffer buffer_, order_;
};

}  // namespace quern::gpu
