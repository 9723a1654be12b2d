// Loaded parameters.
#pragma once
#include <stdint.h>

#include <memory>
#include <utility>
#include <vector>

#include "quern/loaded-weight.h"
#include "quern/pages.h"
#include "weights/matrix.h"

namespace quern {

// What the bytes of a weight lie in.
struct WeightMemory {
  std::vector<std::shared_ptr<const MappedFile>> files; // each once
  std::vector<std::shared_ptr<const Pages>> pages;
};

// A loaded parameter: the matrices that ops read, and what they lie in. A vector [N] is a matrix of one row of f32; a stack
// [E, N, K] is E matrices of one kind; all else is one matrix. load-weight.h makes it.
class Weight final : public LoadedWeight {
 public:
  Weight(std::vector<int64_t> shape, std::vector<Matrix> matrices, WeightMemory memory, std::vector<int32_t> order = {})
      : shape_(std::move(shape)), matrices_(std::move(matrices)), memory_(std::move(memory)), order_(std::move(order)) {
    for (Matrix& matrix : matrices_) matrix.set_order(order_);
  }
  Weight(const Weight&) = delete; // matrices point into it

  const std::vector<int64_t>& shape() const override { return shape_; }
  // Of a weight that is no stack.
  const Matrix& matrix() const { return matrices_.front(); }
  const std::vector<Matrix>& matrices() const { return matrices_; }
  Format format() const { return matrix().format(); }
  // Of memory taken, or of the file where that is used.
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
