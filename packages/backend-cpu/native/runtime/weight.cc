#include "runtime/weight.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "runtime/failure.h"

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
  if (source.path.empty()) weight->data_ = source.memory;
  else weight->attach(source, files);
  const size_t rank = weight->shape_.size();
  if (rank == 1 && !weight->is_float()) weight->keep_as_floats(kernels);
  else if ((rank == 2 || rank == 3) && kernels.packed_gemm[weight->format_] && weight->rows_ > 0)
    weight->pack(weight->starts_of_matrices(), pool);
  else if (source.path.empty()) weight->copy(source);
  if (weight->memory_.bytes() > 0) weight->release_file(source);
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
      stack->add_matrix(source, files, kernels);
    }
    stack->be_stack();
    if (kernels.packed_gemm[stack->format_]) {
      stack->pack(stack->starts_of_matrices(), pool);
      for (size_t i = 0; i < sources.size(); i++) stack->matrices_[i].release_file(sources[i]);
      stack->see_matrices();
    }
  } catch (const Failure& failure) {
    throw Failure(failure.code, "weight '" + current->name + "': " + failure.what());
  }
  return stack;
}

// A matrix of a stack. Whether a stack can be used as floats without decoding must not differ from matrix to matrix.
void Weight::add_matrix(const WeightSource& source, FileMap& files, const Kernels& kernels) {
  Weight matrix;
  matrix.set_shape(source);
  if (matrix.shape_.size() != 2 || matrix.rows_ == 0) fail(Code::bad_weight, "a stack is made of matrices");
  if (!matrices_.empty() && (matrix.shape_ != matrices_[0].shape_ || matrix.format_ != matrices_[0].format_))
    fail(Code::bad_weight, "the matrices of a stack must have one shape and one format");
  if (source.path.empty()) matrix.data_ = source.memory;
  else matrix.attach(source, files);
  const bool unaligned = matrix.format_ == FORMAT_F32 && !matrix.is_float();
  if (!kernels.packed_gemm[matrix.format_] && (source.path.empty() || unaligned)) matrix.copy(source);
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
    if (d < 0) fail(Code::bad_weight, "shape %s has a negative dimension", shape.c_str());
  for (size_t i = 0; i + 1 < shape_.size(); i++)
    if (__builtin_mul_overflow(rows_, shape_[i], &rows_)) fail(Code::bad_weight, "shape %s is too large", shape.c_str());
  if (width_ % layout->block != 0)
    fail(Code::bad_weight, "rows of %lld elements are no whole number of %s blocks of %lld (shape %s)",
         static_cast<long long>(width_), layout->name, static_cast<long long>(layout->block), shape.c_str());
  int64_t total;
  if (__builtin_mul_overflow(width_ / layout->block, layout->block_bytes, &row_bytes_) ||
      __builtin_mul_overflow(row_bytes_, rows_, &total))
    fail(Code::bad_weight, "shape %s is too large", shape.c_str());
  if (static_cast<uint64_t>(total) != source.bytes)
    fail(Code::bad_weight, "shape %s in %s takes %lld bytes; got %llu", shape.c_str(), layout->name,
         static_cast<long long>(total), static_cast<unsigned long long>(source.bytes));
}

void Weight::attach(const WeightSource& source, FileMap& files) {
  file_ = files.open(source.path);
  if (source.bytes > file_->bytes() || source.offset > file_->bytes() - source.bytes)
    fail(Code::bad_weight, "%s has %llu bytes, but bytes %llu to %llu are asked for; the file may be truncated",
         source.path.c_str(), static_cast<unsigned long long>(file_->bytes()),
         static_cast<unsigned long long>(source.offset), static_cast<unsigned long long>(source.offset + source.bytes));
  data_ = file_->data() + source.offset;
  file_->prefetch(source.offset, source.bytes);
}

void Weight::copy(const WeightSource& source) {
  memory_ = Pages(source.bytes);
  if (source.bytes) memcpy(memory_.data(), data_, source.bytes);
  data_ = memory_.data();
}

void Weight::keep_as_floats(const Kernels& kernels) {
  Pages floats(width_ * sizeof(float));
  decode(kernels, 0, 1, reinterpret_cast<float*>(floats.data()));
  memory_ = std::move(floats);
  format_ = FORMAT_F32;
  row_bytes_ = width_ * sizeof(float);
  data_ = memory_.data();
}

// Shape and size, from matrices that are all alike.
void Weight::be_stack() {
  const Weight& matrix = matrices_.front();
  shape_ = {static_cast<int64_t>(matrices_.size()), matrix.rows_, matrix.width_};
  format_ = matrix.format_;
  rows_ = shape_[0] * matrix.rows_;
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
  memory_ = std::move(packed);
  data_ = memory_.data();
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
  const GptqMatrix matrix(source, files);
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
  memory_ = std::move(made);
  data_ = memory_.data();
}

// What was read into memory of its own need not stay mapped in.
void Weight::release_file(const WeightSource& source) {
  if (file_) file_->release(source.offset, source.bytes);
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
