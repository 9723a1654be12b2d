// Rows of a weight during loading.
#pragma once
#include <stdint.h>

#include "runtime/thread-pool.h"
#include "weights/format.h"

namespace quern {

struct RowsInMemory {
  const uint8_t* data;
  int64_t stride; // bytes between rows
};

// Rows of `width` weights in the blocks of a format, from any source.
class WeightRows {
 public:
  virtual ~WeightRows() = default;

  Format format() const { return format_; }
  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  int64_t row_bytes() const { return layout_of(format_).row_bytes(width_); }
  // Rows [first, first + count), count ≤ 16: in place, or in `scratch` of count · row_bytes() bytes. Any thread.
  virtual RowsInMemory rows(int64_t first, int64_t count, uint8_t* scratch) const = 0;
  // After reading rows: throws BAD_WEIGHT if a file has changed meanwhile.
  virtual void need_unchanged() const = 0;
  // Drops the memory of mapped files.
  virtual void release_files() const = 0;

 protected:
  Format format_ = FORMAT_F32;
  int64_t count_ = 0, width_ = 0;
};

} // namespace quern
