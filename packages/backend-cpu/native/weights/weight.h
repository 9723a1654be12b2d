// Loaded weights.
#pragma once
#include <stdint.h>

#include <memory>
#include <utility>
#include <vector>

#include "quern/loaded-weight.h"
#include "weights/matrix.h"

namespace quern {

// Owners of a weight's bytes.
struct WeightMemory {
  std::vector<std::shared_ptr<const MappedFile>> files; // no duplicates
  std::vector<std::shared_ptr<const void>> blocks;
};

// A loaded weight: matrices for ops, and owners of their memory. A vector [N] is one f32 matrix [1, N]; a stack [E, N, K]
// is E matrices of one format; any other weight is one matrix. Made by load-weight.h.
class Weight final : public LoadedWeight {
 public:
  Weight(std::vector<int64_t> shape, std::vector<Matrix> matrices, WeightMemory memory, std::vector<int32_t> order = {})
      : shape_(std::move(shape)), matrices_(std::move(matrices)), memory_(std::move(memory)), order_(std::move(order)) {
    for (Matrix& matrix : matrices_) matrix.set_order(order_);
  }
  Weight(const Weight&) = delete; // matrices point into it

  const std::vector<int64_t>& shape() const override { return shape_; }
  // Only if the weight is not a stack.
  const Matrix& matrix() const { return matrices_.front(); }
  const std::vector<Matrix>& matrices() const { return matrices_; }
  Format format() const { return matrix().format(); }
  // Bytes of memory taken, or bytes of the mapped file.
  uint64_t byte_length() const override {
    uint64_t bytes = 0;
    for (const Matrix& matrix : matrices_) bytes += matrix.byte_length();
    return bytes;
  }
  void each_file(const std::function<void(const MappedFile&)>& look) const override {
    for (const auto& file : memory_.files) look(*file);
  }

 private:
  const std::vector<int64_t> shape_;
  std::vector<Matrix> matrices_;
  const WeightMemory memory_;
  const std::vector<int32_t> order_;
};

} // namespace quern
