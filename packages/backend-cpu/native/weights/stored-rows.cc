#include "weights/stored-rows.h"

#include <string.h>

#include <algorithm>
#include <iterator>

#include "quern/failure.h"

namespace quern {

static long long shown(int64_t value) { return static_cast<long long>(value); }

static std::string show_shape(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (const int64_t d : shape) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(d);
  }
  return out += "]";
}

static bool is_whole(const WeightSource& source) { return source.parts.size() == 1 && source.parts[0].rows == 0; }

// Bytes of rows of `of` elements; `of` is a multiple of the block size.
static int64_t bytes_of(const FormatLayout& layout, int64_t rows, int64_t of, const std::string& shape) {
  int64_t row_bytes, total;
  if (__builtin_mul_overflow(of / layout.block, layout.block_bytes, &row_bytes) ||
      __builtin_mul_overflow(row_bytes, rows, &total))
    fail(Code::bad_weight, "shape %s is too large", shape.c_str());
  return total;
}

StoredRows::StoredRows(const WeightSource& source, FileMap& files, ThreadPool& pool) : shape_(show_shape(source.shape)) {
  set_layout(source);
  if (is_whole(source)) {
    pieces_.push_back(open_whole(source.parts[0], files, pool));
    return;
  }
  int64_t rows = 0;
  const size_t count = source.parts.size();
  for (size_t i = 0; i < count; i++) try {
      pieces_.push_back(open_part(source.parts[i], rows, files, pool));
      rows += pieces_.back().rows;
    } catch (const Failure& failure) {
      fail(failure.code, "part %zu of %zu: %s", i + 1, count, failure.what());
    }
  if (rows != count_)
    fail(Code::bad_weight, "shape %s has %lld rows; its %zu parts have %lld", shape_.c_str(), shown(count_), count,
         shown(rows));
}

// For a vector, a part's rows are elements.
void StoredRows::set_layout(const WeightSource& source) {
  const FormatLayout* layout = find_format(source.format);
  const std::vector<int64_t>& shape = source.shape;
  if (!layout) fail(Code::unsupported, "the format '%s' is not known", source.format.c_str());
  if (shape.empty() || shape.size() > 4) fail(Code::bad_weight, "shape %s must have 1 to 4 dimensions", shape_.c_str());
  for (const int64_t d : shape)
    if (d < 1) fail(Code::bad_weight, "shape %s has a dimension below 1", shape_.c_str());
  const bool elements = shape.size() == 1 && !is_whole(source);
  format_ = layout->format;
  width_ = elements ? 1 : shape.back();
  count_ = elements ? shape.back() : 1;
  for (size_t i = 0; i + 1 < shape.size(); i++)
    if (__builtin_mul_overflow(count_, shape[i], &count_)) fail(Code::bad_weight, "shape %s is too large", shape_.c_str());
  if (width_ % layout->block != 0)
    fail(Code::bad_weight, "rows of %lld elements are no whole number of %s blocks of %lld (shape %s)", shown(width_),
         layout->name, shown(layout->block), shape_.c_str());
  bytes_of(*layout, count_, width_, shape_);
}

StoredRows::Piece StoredRows::open_whole(const WeightPart& part, FileMap& files, ThreadPool& pool) const {
  const FormatLayout& layout = layout_of(format_);
  const int64_t expected = bytes_of(layout, count_, width_, shape_);
  if (static_cast<uint64_t>(expected) != part.bytes.bytes)
    fail(Code::bad_weight, "shape %s in %s takes %lld bytes; got %llu", shape_.c_str(), layout.name, shown(expected),
         static_cast<unsigned long long>(part.bytes.bytes));
  return {HeldBytes::open(part.bytes, files, pool), &part.bytes, 0, count_, row_bytes(), 0};
}

StoredRows::Piece StoredRows::open_part(const WeightPart& part, int64_t first, FileMap& files, ThreadPool& pool) const {
  const FormatLayout& layout = layout_of(format_);
  const int64_t of = part.of;
  if (part.rows < 1 || part.rows > count_ - first)
    fail(Code::bad_weight, "%lld rows; %lld of shape %s are left", shown(part.rows), shown(count_ - first), shape_.c_str());
  if (part.from < 0 || of < width_ || part.from > of - width_)
    fail(Code::bad_weight, "columns %lld to %lld lie outside rows of %lld elements", shown(part.from),
         shown(part.from + width_), shown(of));
  if (part.from % layout.block != 0 || of % layout.block != 0)
    fail(Code::bad_weight, "columns %lld to %lld of rows of %lld elements are no whole number of %s blocks of %lld",
         shown(part.from), shown(part.from + width_), shown(of), layout.name, shown(layout.block));
  const int64_t expected = bytes_of(layout, part.rows, of, shape_);
  if (static_cast<uint64_t>(expected) != part.bytes.bytes)
    fail(Code::bad_weight, "%lld rows of %lld elements in %s take %lld bytes; got %llu", shown(part.rows), shown(of),
         layout.name, shown(expected), static_cast<unsigned long long>(part.bytes.bytes));
  return {HeldBytes::open(part.bytes, files, pool), &part.bytes,          first, part.rows,
          layout.row_bytes(of),                     layout.row_bytes(part.from)};
}

const StoredRows::Piece& StoredRows::piece_of(int64_t row) const {
  const auto after = [](int64_t row, const Piece& piece) { return row < piece.first; };
  return *std::prev(std::upper_bound(pieces_.begin(), pieces_.end(), row, after));
}

RowsInMemory StoredRows::rows(int64_t first, int64_t count, uint8_t* scratch) const {
  const Piece& piece = piece_of(first);
  if (first + count <= piece.first + piece.rows) return {piece.row(first), piece.stride};
  copy(first, count, scratch);
  return {scratch, row_bytes()};
}

const uint8_t* StoredRows::in_place(int64_t first, int64_t count) const {
  const Piece& piece = piece_of(first);
  const bool dense = piece.stride == row_bytes() || count == 1;
  return dense && first + count <= piece.first + piece.rows ? piece.row(first) : nullptr;
}

void StoredRows::copy(int64_t first, int64_t count, uint8_t* out) const {
  const int64_t bytes = row_bytes();
  for (int64_t row = first; row < first + count; row++, out += bytes) memcpy(out, piece_of(row).row(row), bytes);
}

WeightMemory StoredRows::memory() const {
  WeightMemory memory;
  const auto add = [](auto& owners, const auto& owner) {
    if (owner && std::find(owners.begin(), owners.end(), owner) == owners.end()) owners.push_back(owner);
  };
  for (const Piece& piece : pieces_) {
    add(memory.files, piece.file);
    add(memory.blocks, piece.memory);
  }
  return memory;
}

void StoredRows::need_unchanged() const {
  for (const Piece& piece : pieces_) piece.need_unchanged();
}

void StoredRows::release_files() const {
  for (const Piece& piece : pieces_)
    if (piece.file) piece.file->release(piece.source->offset, piece.source->bytes);
}

} // namespace quern
