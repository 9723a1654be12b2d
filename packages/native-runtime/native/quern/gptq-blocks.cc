#include "quern/gptq-blocks.h"

#include <string.h>

#include <algorithm>
#include <numeric>

#include "quern/failure.h"
#include "quern/plain/half.h"

namespace quern {

static constexpr int64_t block = 32; // columns per block of all formats made here

GptqBlocks::GptqBlocks(const GptqSource& source, FileMap& files, Parallel& parallel)
    : source_(source),
      shift_(source.bits == 4 ? 3 : 2),
      groups_(source.group_size == -1 ? 1 : (source.K + source.group_size - 1) / source.group_size) {
  const int64_t words = source.N >> shift_;
  qweight_ = open(source.qweight, "qweight", (source.K >> shift_) * source.N * 4, files, parallel);
  qzeros_ = open(source.qzeros, "qzeros", groups_ * words * 4, files, parallel);
  scales_ = open(source.scales, "scales", groups_ * source.N * 2, files, parallel);
  if (source.group_index.bytes) group_index_ = open(source.group_index, "groupIndex", source.K * 4, files, parallel);
  read_groups();
  put_in_order();
  choose_format();
}

GptqBlocks::Part GptqBlocks::open(const ByteSource& source, const char* name, int64_t bytes, FileMap& files,
                                  Parallel& parallel) {
  if (source.bytes != static_cast<uint64_t>(bytes))
    fail(Code::bad_weight, "%s must have %lld bytes; got %llu", name, static_cast<long long>(bytes),
         static_cast<unsigned long long>(source.bytes));
  try {
    return {HeldBytes::open(source, files, parallel), &source};
  } catch (const Failure& failure) {
    throw Failure(failure.code, std::string(name) + ": " + failure.what());
  }
}

uint32_t GptqBlocks::Part::word(int64_t index) const {
  uint32_t value;
  memcpy(&value, data + 4 * index, sizeof value);
  return value;
}

void GptqBlocks::read_groups() {
  group_of_.resize(source_.K);
  for (int64_t k = 0; k < source_.K; k++) {
    if (group_index_.data) group_of_[k] = static_cast<int32_t>(group_index_.word(k));
    else group_of_[k] = static_cast<int32_t>(source_.group_size == -1 ? 0 : k / source_.group_size);
    if (group_of_[k] < 0 || group_of_[k] >= groups_)
      fail(Code::bad_weight, "column %lld is of group %d of %lld", static_cast<long long>(k), group_of_[k],
           static_cast<long long>(groups_));
  }
}

// Sorts columns by group, where act-order has scattered them.
void GptqBlocks::put_in_order() {
  if (std::is_sorted(group_of_.begin(), group_of_.end())) return;
  order_.resize(source_.K);
  std::iota(order_.begin(), order_.end(), 0);
  std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
    return group_of_[a] != group_of_[b] ? group_of_[a] < group_of_[b] : a < b;
  });
}

// Whether every block has columns of one group only.
bool GptqBlocks::in_blocks() const {
  if (source_.K % block != 0) return false;
  for (int64_t place = 0; place < source_.K; place += block)
    if (group_of_[column(place)] != group_of_[column(place + block - 1)]) return false;
  return true;
}

// q4_0 and q8_0: fixed zero, the middle of the range. q5_0: range for q − zero with any 4-bit zero.
void GptqBlocks::choose_format() {
  const int middle = source_.bits == 4 ? 8 : 128;
  bool symmetric = true;
  for (int64_t group = 0; group < groups_ && symmetric; group++)
    for (int64_t n = 0; n < source_.N && symmetric; n++) symmetric = zero(group, n) == middle;
  if (in_blocks() && source_.bits == 4) format_ = symmetric ? GptqFormat::q4_0 : GptqFormat::q5_0;
  else if (in_blocks() && symmetric) format_ = GptqFormat::q8_0;
  else order_.clear();
}

int GptqBlocks::zero(int64_t group, int64_t n) const {
  const int stored = field(qzeros_.word(group * (source_.N >> shift_) + (n >> shift_)), bit(n));
  return source_.version == 1 ? stored + 1 : stored;
}

uint16_t GptqBlocks::scale(int64_t group, int64_t n) const {
  uint16_t half;
  memcpy(&half, scales_.data + 2 * (group * source_.N + n), sizeof half);
  return half;
}

const char* GptqBlocks::format_name() const {
  static constexpr const char* names[] = {"f32", "q4_0", "q5_0", "q8_0"};
  return names[static_cast<int>(format_)];
}

int64_t GptqBlocks::block_bytes() const {
  static constexpr int64_t bytes[] = {4 * block, 18, 22, 34};
  return bytes[static_cast<int>(format_)];
}

void GptqBlocks::fill(int64_t first, int64_t count, uint8_t* out) const {
  if (format_ == GptqFormat::f32) fill_floats(first, count, reinterpret_cast<float*>(out));
  else fill_blocks(first, count, out);
}

// Rows in the inner loop: rows of one column are adjacent in the file.
void GptqBlocks::fill_blocks(int64_t first, int64_t count, uint8_t* out) const {
  for (int64_t place = 0; place < source_.K; place += block) {
    const int64_t group = group_of_[column(place)];
    int zeros[most_rows];
    int16_t values[most_rows][block];
    for (int64_t row = 0; row < count; row++) zeros[row] = zero(group, first + row);
    for (int64_t i = 0; i < block; i++) {
      const int64_t k = column(place + i), words = (k >> shift_) * source_.N + first;
      const int at = bit(k);
      for (int64_t row = 0; row < count; row++)
        values[row][i] = static_cast<int16_t>(field(qweight_.word(words + row), at) - zeros[row]);
    }
    for (int64_t row = 0; row < count; row++)
      fill_block(group, first + row, values[row], out + row * row_bytes() + place / block * block_bytes());
  }
}

// Layouts q4_0, q5_0 and q8_0 of quant.
void GptqBlocks::fill_block(int64_t group, int64_t n, const int16_t (&values)[32], uint8_t* out) const {
  const uint16_t d = scale(group, n);
  memcpy(out, &d, sizeof d);
  if (format_ == GptqFormat::q8_0) {
    for (int i = 0; i < 32; i++) out[2 + i] = static_cast<uint8_t>(values[i]);
    return;
  }
  const bool five = format_ == GptqFormat::q5_0;
  uint8_t* const nibbles = out + (five ? 6 : 2);
  uint32_t fifth = 0;
  for (int i = 0; i < 16; i++) {
    const auto low = static_cast<uint32_t>(values[i] + (five ? 16 : 8));
    const auto high = static_cast<uint32_t>(values[i + 16] + (five ? 16 : 8));
    nibbles[i] = static_cast<uint8_t>((low & 15) | (high & 15) << 4);
    fifth |= (low >> 4) << i | (high >> 4) << (i + 16);
  }
  if (five) memcpy(out + 2, &fifth, sizeof fifth);
}

void GptqBlocks::need_unchanged() const {
  for (const Part* part : parts_) part->need_unchanged();
}

void GptqBlocks::release_files() const {
  for (const Part* part : parts_)
    if (part->file) part->file->release(part->source->offset, part->source->bytes);
}

void GptqBlocks::fill_floats(int64_t first, int64_t count, float* out) const {
  for (int64_t row = 0; row < count; row++)
    for (int64_t k = 0; k < source_.K; k++) {
      const int64_t n = first + row, group = group_of_[k];
      const float d = plain::f16_value(scale(group, n));
      const int q = field(qweight_.word((k >> shift_) * source_.N + n), bit(k));
      out[row * source_.K + k] = static_cast<float>(q - zero(group, n)) * d;
    }
}

} // namespace quern
