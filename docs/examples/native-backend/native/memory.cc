#include "memory.h"

#include <string.h>

#include <algorithm>

#include "quern/failure.h"

namespace slate {

using quern::Code;

static constexpr uint64_t line = 64; // cache line: each buffer has whole lines of its own

Board::Board(uint64_t bytes) : memory_(bytes) {}

uint64_t Board::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return memory_.bytes() - used_;
}

uint8_t* Board::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t size = memory_.bytes(), wanted = bytes > size ? bytes : std::max(line, (bytes + line - 1) / line * line);
  uint64_t from = 0;
  for (const auto& [start, end] : taken_) {
    if (start - from >= wanted) break;
    from = end;
  }
  if (wanted > size - from)
    quern::fail(Code::out_of_memory, "the board has %s free, not %s in one piece", quern::show_bytes(size - used_).c_str(),
                quern::show_bytes(bytes).c_str());
  taken_[from] = from + wanted;
  used_ += wanted;
  return memory_.data() + from;
}

void Board::give_back(const uint8_t* place) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(place - memory_.data());
  used_ -= found->second - found->first;
  taken_.erase(found);
}

BoardBuffer::BoardBuffer(std::shared_ptr<Board> board, uint64_t bytes) : Buffer(board->take(bytes), bytes), board_(std::move(board)) {
  memset(data(), 0, bytes);
}

} // namespace slate
