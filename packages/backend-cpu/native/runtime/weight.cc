#include "runtime/weight.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "quern/failure.h"

namespace quern {

static std::string show_shape(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (const int64_t d : shape) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(d);
  }
  return out += "]";
}

std::shared_ptr<const Weight> Weight::load(const WeightSource& source, FileMap& files, const Kernels& kernels,
                                           ThreadPool& pool) try {
  auto weight = std::make_shared<Weight>();
  weight->set_shape(source);
  weight->attach(source.bytes, files, pool);
  const size_t rank = weight->shape_.size();
  if (rank == 1) weight->keep_as_floats(kernels);
  else if (rank <= 3 && kernels.packed_gemm[weight->format_]) weight->pack(weight->starts_of_matrices(), pool);
  weight->need_file(source.bytes);
  if (rank == 3) weight->see_matrices();
  return weight;
} catch (const Failure& failure) {
  throw Failure(failure.code, "weight '" + source.name + "': " + failure.what());
}

std::shared_ptr<const Weight> Weight::load_stack(const std::vector<WeightSource>& sources, FileMap& files,
                                                 const Kernels& kernels, ThreadPool& pool) {
  if (sources.empty()) fail(Code::bad_argument, "a stack needs matrices");
  auto stack = std::make_shared<Weight>();
  const WeightSource* current = nullptr;
  try {
    for (const WeightSource& source : sources) {
      current = &source;
      stack->add_matrix(source, files, kernels, pool);
    }
    stack->be_stack();
    if (kernels.packed_gemm[stack->format_]) {
      stack->pack(stack->starts_of_matrices(), pool);
    }
    for (size_t i = 0; i < sources.size(); i++) {
      current = &sources[i];
      if (stack->is_packed()) stack->matrices_[i].memory_ = stack->memory_;
      stack->matrices_[i].need_file(sources[i].bytes);
    }
    if (stack->is_packed()) stack->see_matrices();
  } catch (const Failure& failure) {
    throw Failure(failure.code, "weight '" + current->name + "': " + failure.what());
  }
  return stack;
}

// A matrix of a stack. Whether a stack can be used as floats without decoding must not differ from matrix to matrix.
void Weight::add_matrix(const WeightSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool) {
  Weight matrix;
  matrix.set_shape(source);
  if (matrix.shape_.size() != 2) fail(Code::bad_weight, "a stack is made of matrices");
  if (!matrices_.empty() && (matrix.shape_ != matrices_[0].shape_ || matrix.format_ != matrices_[0].format_))
    fail(Code::bad_weight, "the matrices of a stack must have one shape and one format");
  matrix.attach(source.bytes, files, pool);
  if (!kernels.packed_gemm[matrix.format_] && matrix.format_ == FORMAT_F32 && !matrix.is_float()) {
    matrix.copy();
    matrix.need_file(source.bytes);
  }
  matrices_.push_back(std::move(matrix));
}

// Shape and format; throws unless they account for every byte of the source.
void Weight::set_shape(const WeightSource& source) {
  const FormatLayout* layout = find_format(source.format);
  if (!layout) fail(Code::unsupported, "the format '%s' is not known", source.format.c_str());
  const std::string shape = show_shape(source.shape);
  if (source.shape.empty() || source.shape.size() > 4)
    fail(Code::bad_weight, "shape %s must have 1 to 4 dimensions", shape.c_str());
  shape_ = source.shape;
  format_ = layout->format;
  width_ = shape_.back();
  for (const int64_t d : shape_)
    if (d < 1) fail(Code::bad_weight, "shape %s has a dimension below 1", shape.c_str());
  for (size_t i = 0; i + 1 < shape_.size(); i++)
    if (__builtin_mul_overflow(rows_, shape_[i], &rows_)) fail(Code::bad_weight, "shape %s is too large", shape.c_str());
  if (width_ % layout->block != 0)
    fail(Code::bad_weight, "rows of %lld elements are no whole number of %s blocks of %lld (shape %s)",
         static_cast<long long>(width_), layout->name, static_cast<long long>(layout->block), shape.c_str());
  int64_t total;
  if (__builtin_mul_overflow(width_ / layout->block, layout->block_bytes, &row_bytes_) ||
      __builtin_mul_overflow(row_bytes_, rows_, &total))
    fail(Code::bad_weight, "shape %s is too large", shape.c_str());
  if (static_cast<uint64_t>(total) != source.bytes.bytes)
    fail(Code::bad_weight, "shape %s in %s takes %lld bytes; got %llu", shape.c_str(), layout->name,
         static_cast<long long>(total), static_cast<unsigned long long>(source.bytes.bytes));
}

void Weight::attach(const ByteSource& source, FileMap& files, ThreadPool& pool) {
  HeldBytes held = HeldBytes::open(source, files, pool);
  data_ = held.data;
  file_ = std::move(held.file);
  memory_ = std::move(held.memory);
}

void Weight::copy() {
  Pages pages(rows_ * row_bytes_);
  memcpy(pages.data(), data_, pages.bytes());
  own(std::move(pages));
}

void Weight::keep_as_floats(const Kernels& kernels) {
  Pages floats(width_ * sizeof(float));
  decode(kernels, 0, 1, reinterpret_cast<float*>(floats.data()));
  own(std::move(floats));
  format_ = FORMAT_F32;
  row_bytes_ = width_ * sizeof(float);
}

// Shape and size, from matrices that are all alike.
void Weight::be_stack() {
  const Weight& matrix = matrices_.front();
  shape_ = {static_cast<int64_t>(matrices_.size()), matrix.rows_, matrix.width_};
  format_ = matrix.format_;
  if (__builtin_mul_overflow(shape_[0], matrix.rows_, &rows_))
    fail(Code::bad_weight, "a stack of %lld matrices of %lld rows is too large", static_cast<long long>(shape_[0]),
         static_cast<long long>(matrix.rows_));
  width_ = matrix.width_;
  row_bytes_ = matrix.row_bytes_;
}

// Of a stack, or of the one matrix that this is.
int64_t Weight::rows_of_matrix() const { return shape_.size() == 3 ? shape_[1] : rows_; }

std::vector<const uint8_t*> Weight::starts_of_matrices() const {
  std::vector<const uint8_t*> starts;
  for (const Weight& matrix : matrices_) starts.push_back(matrix.data_);
  if (starts.empty())
    for (int64_t row = 0; row < rows_; row += rows_of_matrix()) starts.push_back(data_ + row * row_bytes_);
  return starts;
}

// Each matrix begins a row of tiles of its own.
void Weight::pack(const std::vector<const uint8_t*>& matrices, ThreadPool& pool) {
  const PackedFormat& layout = packed_format(format_);
  const int64_t rows = rows_of_matrix(), tile_row = packed_rows_bytes(layout, width_);
  const int64_t tile_rows = (rows + PACKED_ROWS - 1) / PACKED_ROWS, count = matrices.size();
  Pages packed(count * tile_rows * tile_row);
  std::atomic<bool> shared = format_ == FORMAT_Q8_0;
  pool.run(count * tile_rows, [&](int64_t i, int) {
    const int64_t first = i % tile_rows * PACKED_ROWS, some = std::min(PACKED_ROWS, rows - first);
    const uint8_t* const blocks = matrices[i / tile_rows] + first * row_bytes_;
    pack_rows(layout, blocks, row_bytes_, some, width_, packed.data() + i * tile_row);
    if (shared && !share_scales(blocks, row_bytes_, some, width_)) shared = false;
  });
  shares_scales_ = shared;
  own(std::move(packed));
  tile_row_bytes_ = tile_row;
}

// The matrices of a stack that lies in one piece.
void Weight::see_matrices() {
  const int64_t rows = rows_of_matrix(), tile_rows = (rows + PACKED_ROWS - 1) / PACKED_ROWS;
  const int64_t bytes = is_packed() ? tile_rows * tile_row_bytes_ : rows * row_bytes_;
  matrices_.clear();
  for (int64_t e = 0; e < shape_[0]; e++) {
    Weight& matrix = matrices_.emplace_back();
    matrix.shape_ = {rows, width_};
    matrix.format_ = format_;
    matrix.rows_ = rows;
    matrix.width_ = width_;
    matrix.row_bytes_ = row_bytes_;
    matrix.tile_row_bytes_ = tile_row_bytes_;
    matrix.data_ = data_ + e * bytes;
  }
}

std::shared_ptr<const Weight> Weight::load_gptq(const GptqSource& source, FileMap& files, const Kernels& kernels,
                                                ThreadPool& pool) try {
  auto weight = std::make_shared<Weight>();
  const GptqMatrix matrix(source, files, pool);
  weight->take(matrix, kernels, pool);
  matrix.release_files();
  return weight;
} catch (const Failure& failure) {
  throw Failure(failure.code, "weight '" + source.name + "': " + failure.what());
}

// 16 rows at a time, which a row of tiles holds.
void Weight::take(const GptqMatrix& matrix, const Kernels& kernels, ThreadPool& pool) {
  shape_ = {matrix.rows(), matrix.width()};
  format_ = matrix.format();
  rows_ = matrix.rows();
  width_ = matrix.width();
  order_ = matrix.order();
  const FormatLayout& layout = layout_of(format_);
  row_bytes_ = width_ / layout.block * layout.block_bytes;
  const PackedFormat& packed = packed_format(format_);
  const bool packs = kernels.packed_gemm[format_];
  if (packs) tile_row_bytes_ = packed_rows_bytes(packed, width_);
  const int64_t parts = (rows_ + PACKED_ROWS - 1) / PACKED_ROWS;
  Pages made(packs ? parts * tile_row_bytes_ : rows_ * row_bytes_);
  std::vector<std::vector<uint8_t>> blocks(packs ? pool.threads() : 0, std::vector<uint8_t>(PACKED_ROWS * row_bytes_));
  pool.run(parts, [&](int64_t i, int thread) {
    const int64_t first = i * PACKED_ROWS, count = std::min(PACKED_ROWS, rows_ - first);
    if (!packs) return matrix.fill_rows(first, count, made.data() + first * row_bytes_);
    matrix.fill_rows(first, count, blocks[thread].data());
    pack_rows(packed, blocks[thread].data(), row_bytes_, count, width_, made.data() + i * tile_row_bytes_);
  });
  own(std::move(made));
}

void Weight::own(Pages pages) {
  memory_ = std::make_shared<const Pages>(std::move(pages));
  data_ = memory_->data();
}

// After the bytes of a source have been read: throws BAD_WEIGHT where the file has changed meanwhile. What is in memory of its
// own, or of the stack that it is part of, needs the file no more.
void Weight::need_file(const ByteSource& source) {
  HeldBytes{data_, file_, nullptr}.need_unchanged();
  if (!file_ || !memory_) return;
  file_->release(source.offset, source.bytes);
  file_.reset();
}

void Weight::decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const {
  if (!is_packed()) kernels.decode[format_](data_ + first * row_bytes_, out, count * width_);
  else
    for (int64_t row = first; row < first + count; row++, out += width_) decode_packed_row(kernels, row, out);
}

void Weight::decode_packed_row(const Kernels& kernels, int64_t row, float* out) const {
  const PackedFormat& layout = packed_format(format_);
  const uint8_t* const row_of_tiles = tiles(row);
  for (int64_t block = 0; block < width_ / layout.block; block++) {
    uint8_t bytes[largest_block_bytes] = {};
    layout.unpack(row_of_tiles + block / layout.tile_blocks * layout.tile_bytes, static_cast<int>(block % layout.tile_blocks),
                  static_cast<int>(row % PACKED_ROWS), bytes);
    kernels.decode[format_](bytes, out + block * layout.block, layout.block);
  }
}

} // namespace quern
