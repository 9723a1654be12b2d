// Loaded parameters.
#pragma once
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/format.h"
#include "runtime/mapped-file.h"
#include "runtime/pages.h"

namespace quern {

// Where a weight comes from: a slice of a file, or `memory` (then path is empty).
struct WeightSource {
  std::string name;
  std::vector<int64_t> shape;
  std::string format;
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  const uint8_t* memory = nullptr;
};

// Rows of `width` elements each, as they lie in the file: the blocks of a mapped file are used where they are. A
// vector (norm weight, bias) is kept as f32.
class Weight {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY, each naming the weight.
  static std::shared_ptr<const Weight> load(const WeightSource& source, FileMap& files, const Kernels& kernels);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  uint64_t byte_length() const { return rows_ * row_bytes_; }

  const uint8_t* row(int64_t index) const { return data_ + index * row_bytes_; }
  // True where rows can be used as floats without decoding.
  bool is_float() const { return format_ == FORMAT_F32 && reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0; }
  const float* floats() const { return reinterpret_cast<const float*>(data_); }
  // Decodes `count` whole rows.
  void decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const {
    kernels.decode[format_](row(first), out, count * width_);
  }

 private:
  void set_shape(const WeightSource& source);
  void attach(const WeightSource& source, FileMap& files);
  void copy(const WeightSource& source);
  void keep_as_floats(const Kernels& kernels);

  std::vector<int64_t> shape_;
  Format format_ = FORMAT_F32;
  int64_t rows_ = 1, width_ = 1, row_bytes_ = 0;
  const uint8_t* data_ = nullptr;
  std::shared_ptr<const MappedFile> file_; // one of these two owns the data
  Pages memory_;
};

} // namespace quern
