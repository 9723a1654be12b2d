// The rows of a weight while it loads.
#pragma once
#include <stdint.h>

#include "runtime/thread-pool.h"
#include "weights/format.h"

namespace quern {

struct RowsInMemory {
  const uint8_t* data;
  int64_t stride; // bytes from row to row
};

// Rows of `width` weights each, in the blocks of a format, wherever they come from.
class WeightRows {
 public:
  virtual ~WeightRows() = default;

  Format format() const { return format_; }
  int64_t count() const { return count_; }
  int64_t width() const { return width_; }
  int64_t row_bytes() const { return layout_of(format_).row_bytes(width_); }
  // Rows [first, first + count), count ≤ 16: where they lie, or in `scratch`, count · row_bytes(). Several threads may ask.
  virtual RowsInMemory rows(int64_t first, int64_t count, uint8_t* scratch) const = 0;
  // Once rows have been read: throws BAD_WEIGHT where a file has changed meanwhile.
  virtual void need_unchanged() const = 0;
  // Lets go of the memory that mapped files take.
  virtual void release_files() const = 0;

 protected:
  Format format_ = FORMAT_F32;
  int64_t count_ = 0, width_ = 0;
};

} // namespace quern
