// Memory and weights on a GPU.
#pragma once
#include <memory>
#include <vector>

#include "gpu/gpu.h"
#include "quern/buffer.h"
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

// Dense formats.
enum class Element { f32, f16, bf16 };
inline int64_t bytes_of(Element element) { return element == Element::f32 ? 4 : 2; }

// A dense weight, row-major. Vectors are f32; others have the file's format.
class GpuWeight : public LoadedWeight {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED, OUT_OF_MEMORY, naming the weight.
  GpuWeight(std::shared_ptr<Gpu> gpu, const WeightSource& source, FileMap& files);

  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t byte_length() const override { return buffer_.bytes(); }
  uint8_t* data() const { return buffer_.data(); }
  Element element() const { return element_; }

 private:
  const std::vector<int64_t> shape_;
  const Element element_;
  const GpuBuffer buffer_;
};

}  // namespace quern::gpu
