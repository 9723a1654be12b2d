// Rows of a weight as stored in its files or memory.
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "quern/weight-source.h"
#include "weights/weight-rows.h"
#include "weights/weight.h"

namespace quern {

class StoredRows : public WeightRows {
 public:
  // Throws BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY. `source` must outlive this object.
  StoredRows(const WeightSource& source, FileMap& files, ThreadPool& pool);

  RowsInMemory rows(int64_t first, int64_t count, uint8_t* scratch) const override;
  void need_unchanged() const override;
  void release_files() const override;

  // Address of contiguous rows; null if the rows are not contiguous.
  const uint8_t* in_place(int64_t first, int64_t count) const;
  // Copies rows to contiguous memory.
  void copy(int64_t first, int64_t count, uint8_t* out) const;
  // The memory of all rows.
  WeightMemory memory() const;
  bool is_one_piece() const { return pieces_.size() == 1; }

 private:
  struct Piece : HeldBytes {
    const ByteSource* source;
    int64_t first, rows; // row range within the weight
    int64_t stride, skipped; // stride: bytes between rows; skipped: bytes before the first column
    const uint8_t* row(int64_t index) const { return data + (index - first) * stride + skipped; }
  };
  void set_layout(const WeightSource& source);
  Piece open_whole(const WeightPart& part, FileMap& files, ThreadPool& pool) const;
  Piece open_part(const WeightPart& part, int64_t first, FileMap& files, ThreadPool& pool) const;
  const Piece& piece_of(int64_t row) const;

  std::string shape_; // for error messages
  std::vector<Piece> pieces_;
};

} // namespace quern
