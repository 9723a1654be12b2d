// The device's memory: a board that JavaScript cannot see.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "quern/buffer.h"

namespace slate {

class Board {
 public:
  explicit Board(uint64_t bytes);
  // First fit: the lowest free place of this size. Throws OUT_OF_MEMORY.
  uint8_t* take(uint64_t bytes);
  void give_back(const uint8_t* place);
  uint64_t free_bytes() const;

 private:
  mutable std::mutex mutex_;
  quern::Pages memory_;
  std::map<uint64_t, uint64_t> taken_; // start → end
  uint64_t used_ = 0;
};

// Zeroed board memory.
class BoardBuffer : public quern::Buffer {
 public:
  BoardBuffer(std::shared_ptr<Board> board, uint64_t bytes);
  ~BoardBuffer() override { board_->give_back(data()); }

 private:
  std::shared_ptr<Board> board_;
};

} // namespace slate
