// GPTQ matrices as rows of blocks.
#pragma once
#include "quern/gptq-blocks.h"
#include "weights/weight-rows.h"

namespace quern {

class GptqRows : public WeightRows {
 public:
  // Throws BAD_WEIGHT with the name of the wrong part. `source` and its bytes must outlive this object.
  GptqRows(const GptqSource& source, FileMap& files, ThreadPool& pool) : blocks_(source, files, pool) {
    format_ = find_format(blocks_.format_name())->format;
    count_ = blocks_.count();
    width_ = blocks_.width();
  }

  // Place p of the blocks holds column order()[p] of the matrix; empty: the identity.
  const std::vector<int32_t>& order() const { return blocks_.order(); }
  RowsInMemory rows(int64_t first, int64_t count, uint8_t* scratch) const override {
    blocks_.fill(first, count, scratch);
    return {scratch, row_bytes()};
  }
  void need_unchanged() const override { blocks_.need_unchanged(); }
  void release_files() const override { blocks_.release_files(); }

 private:
  const GptqBlocks blocks_;
};

} // namespace quern
