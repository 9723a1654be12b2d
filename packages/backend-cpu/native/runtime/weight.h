// Loaded parameters.
#pragma once
#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/packed/pack.h"
#include "runtime/format.h"
#include "runtime/gptq.h"
#include "quern/mapped-file.h"
#include "quern/pages.h"
#include "runtime/thread-pool.h"

namespace quern {

// Where a weight comes from.
struct WeightSource {
  std::string name;
  std::vector<int64_t> shape;
  std::string format;
  ByteSource bytes;
};

// Rows of `width` elements each. A matrix in a block format is packed into the tiles that the kernels multiply (kernels/
// packed/tiles.h), if they do; any other stays as it lies in the file, used where it is mapped, or in the memory that its
// bytes came in. A vector (norm weight, bias) is kept as f32. A stack [E, N, K] is E matrices, packed or not as one would be.
class Weight {
 public:
  // Packs on the pool's threads. Throws BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY, each naming the weight.
  static std::shared_ptr<const Weight> load(const WeightSource& source, FileMap& files, const Kernels& kernels,
                                            ThreadPool& pool);
  // A stack of matrices that lie apart, all of one shape and format. Throws as load.
  static std::shared_ptr<const Weight> load_stack(const std::vector<WeightSource>& sources, FileMap& files,
                                                  const Kernels& kernels, ThreadPool& pool);
  // A GPTQ matrix in whatever of our formats means the same. Throws BAD_WEIGHT or OUT_OF_MEMORY, naming the weight.
  static std::shared_ptr<const Weight> load_gptq(const GptqSource& source, FileMap& files, const Kernels& kernels,
                                                 ThreadPool& pool);

  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  Format format() const { return format_; }
  // Of memory taken, or of the file where that is used.
  uint64_t byte_length() const { return is_packed() ? memory_->bytes() : rows_ * row_bytes_; }
  // Calls look(file) for each mapped file that the data is in.
  template <class Look>
  void each_file(const Look& look) const {
    if (file_) look(*file_);
    for (const Weight& matrix : matrices_) matrix.each_file(look);
  }

  // Of a weight that is not packed.
  const uint8_t* row(int64_t index) const { return data_ + index * row_bytes_; }
  bool is_packed() const { return tile_row_bytes_ > 0; }
  // The tiles of 16 rows from `row` on, a multiple of 16.
  const uint8_t* tiles(int64_t row) const { return data_ + row / PACKED_ROWS * tile_row_bytes_; }
  // Of a packed matrix: whether all blocks of a row share a scale for every 256 weights, as int8 takes them (quern quantize int8).
  bool shares_scales() const { return shares_scales_; }
  // True where rows can be used as floats without decoding.
  bool is_float() const {
    return format_ == FORMAT_F32 && reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0;
  }
  // The matrices of a stack, which owns their memory.
  const std::vector<Weight>& matrices() const { return matrices_; }
  const float* floats() const { return reinterpret_cast<const float*>(data_); }
  // Column order()[p] of the matrix is at place p: x must be put in that order before it is multiplied. Empty: as they are.
  const std::vector<int32_t>& order() const { return order_; }
  // Decodes `count` whole rows.
  void decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const;

 private:
  void decode_packed_row(const Kernels& kernels, int64_t row, float* out) const;
  void set_shape(const WeightSource& source);
  void attach(const ByteSource& source, FileMap& files, ThreadPool& pool);
  void copy();
  void keep_as_floats(const Kernels& kernels);
  void pack(const std::vector<const uint8_t*>& matrices, ThreadPool& pool);
  void see_matrices();
  void add_matrix(const WeightSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool);
  void be_stack();
  int64_t rows_of_matrix() const;
  std::vector<const uint8_t*> starts_of_matrices() const;
  void take(const GptqMatrix& matrix, const Kernels& kernels, ThreadPool& pool);
  void own(Pages pages);
  void need_file(const ByteSource& source);

  std::vector<int64_t> shape_;
  Format format_ = FORMAT_F32;
  int64_t rows_ = 1, width_ = 1, row_bytes_ = 0, tile_row_bytes_ = 0;
  const uint8_t* data_ = nullptr;
  std::shared_ptr<const MappedFile> file_; // one of these two owns the data
  std::shared_ptr<const Pages> memory_;
  bool shares_scales_ = false;
  std::vector<int32_t> order_;
  std::vector<Weight> matrices_;
};

} // namespace quern
