#include "gpu/gpu-weight.h"

#include <algorithm>

#include "gpu/upload.h"
#include "gpu/weight-planes.h"
#include "quern/failure.h"
#include "quern/plain/weight.h"

namespace quern::gpu {

static const WeightFormat& format_of(const WeightSource& source) {
  if (source.shape.size() == 1) return f32_format();
  const WeightFormat* const format = find_weight_format(source.format);
  if (!format) fail(Code::unsupported, "the format '%s' has no kernels on this device", source.format.c_str());
  if (source.shape.back() % format->block_values != 0)
    fail(Code::bad_weight, "rows of %lld values do not divide into blocks of %d", (long long)source.shape.back(),
         format->block_values);
  return *format;
}

static uint64_t values_of(const std::vector<int64_t>& shape) {
  uint64_t values = 1;
  for (const int64_t dimension : shape)
    if (dimension < 1 || __builtin_mul_overflow(values, uint64_t(dimension), &values) || values > uint64_t{1} << 46)
      fail(Code::bad_weight, "the shape has a dimension of %lld, or is too large", (long long)dimension);
  return values;
}

static uint64_t size_of(const std::vector<int64_t>& shape, const WeightFormat& format) {
  const uint64_t values = values_of(shape);
  return format.dense ? values * uint64_t(format.block_bytes) : plane_offsets(format, values / GROUP).bytes;
}

// The bytes of a dense matrix, if they are one piece of a mapped file at a multiple of 16: kernels load as much at once. Otherwise none.
static HeldBytes bytes_to_lend(const WeightSource& source, const WeightFormat& format, uint64_t size, FileMap& files) {
  if (!format.dense || source.shape.size() == 1 || source.parts.size() != 1) return {};
  const WeightPart& part = source.parts.front();
  const bool whole = part.rows == 0 || part.of == source.shape.back();
  if (!whole || part.bytes.path.empty() || !part.bytes.mapped || part.bytes.bytes != size) return {};
  OneByOne one_by_one;
  const HeldBytes held = HeldBytes::open(part.bytes, files, one_by_one);
  held.need_unchanged();
  return reinterpret_cast<uintptr_t>(held.data) % 16 == 0 ? held : HeldBytes{};
}

Planes GpuWeight::planes() const { return planes_of(buffer_.data(), format_, values_of(shape_) / GROUP); }

// The file of a part may go afterwards. Throws BAD_WEIGHT if it has changed meanwhile.
static void add_part(Upload& upload, const WeightFormat& format, const WeightPart& part, int64_t rows, int64_t width,
                     FileMap& files) {
  const int64_t stored = part.rows ? part.of : width;
  OneByOne one_by_one;
  const HeldBytes held = HeldBytes::open(part.bytes, files, one_by_one);
  if (stored == width) upload.add(held.data, part.bytes.bytes);
  else
    for (int64_t row = 0; row < rows; row++)
      upload.add(held.data + format.file_bytes(row * stored + part.from), format.file_bytes(width));
  held.need_unchanged();
}

// The number of rows of a part. Throws BAD_WEIGHT if its bytes are not `left` rows or fewer of `width` columns.
static int64_t rows_of(const WeightPart& part, const WeightFormat& format, int64_t left, int64_t all, int64_t width) {
  const int64_t rows = part.rows ? part.rows : all, stored = part.rows ? part.of : width, block = format.block_values;
  int64_t values;
  if (rows > left || stored < width || part.from < 0 || part.from > stored - width || stored % block != 0 ||
      part.from % block != 0 || __builtin_mul_overflow(rows, stored, &values) || format.file_bytes(values) != part.bytes.bytes)
    fail(Code::bad_weight, "%lld rows of %lld elements do not take %llu bytes", (long long)rows, (long long)stored,
         (unsigned long long)part.bytes.bytes);
  return rows;
}

static void copy_matrix(Upload& upload, const WeightSource& source, const WeightFormat& format, FileMap& files) {
  const int64_t width = source.shape.back(), all = int64_t(values_of(source.shape)) / width;
  int64_t left = all;
  for (const WeightPart& part : source.parts) {
    const int64_t rows = rows_of(part, format, left, all, width);
    add_part(upload, format, part, rows, width, files);
    left -= rows;
  }
  if (left != 0) fail(Code::bad_weight, "%lld of its rows have no bytes", (long long)left);
  upload.end();
}

// A vector in any dense format, as floats.
static void copy_vector(Upload& upload, const WeightSource& source, FileMap& files) {
  const plain::PlainWeight floats(source, files);
  upload.add(reinterpret_cast<const uint8_t*>(floats.data()), floats.byte_length());
  upload.end();
}

GpuWeight::GpuWeight(const std::shared_ptr<Gpu>& gpu, Staging& staging, const WeightSource& source, FileMap& files)
    : shape_(source.shape),
      format_(format_of(source)),
      size_(size_of(shape_, format_)),
      lent_(gpu, bytes_to_lend(source, format_, size_, files), size_),
      buffer_(gpu, lent_.data() ? 0 : size_),
      order_(gpu, 0) {
  if (lent_.data()) return;
  Upload upload(*gpu, staging, format_, values_of(shape_), buffer_.data());
  if (shape_.size() == 1) copy_vector(upload, source, files);
  else copy_matrix(upload, source, format_, files);
}

// Blocks are made on the host, some rows at a time.
static void copy_blocks(Upload& upload, const GptqBlocks& blocks) {
  const int64_t count = blocks.count(), row_bytes = blocks.row_bytes();
  std::vector<uint8_t> made(size_t(GptqBlocks::most_rows * row_bytes));
  for (int64_t first = 0; first < count; first += GptqBlocks::most_rows) {
    const int64_t rows = std::min(GptqBlocks::most_rows, count - first);
    blocks.fill(first, rows, made.data());
    upload.add(made.data(), uint64_t(rows * row_bytes));
  }
  upload.end();
}

static void copy_order(Upload upload, const std::vector<int32_t>& order) {
  upload.add(reinterpret_cast<const uint8_t*>(order.data()), order.size() * sizeof(int32_t));
  upload.end();
}

GpuWeight::GpuWeight(const std::shared_ptr<Gpu>& gpu, Staging& staging, const GptqBlocks& blocks)
    : shape_{blocks.count(), blocks.width()},
      format_(*find_weight_format(blocks.format_name())),
      size_(size_of(shape_, format_)),
      lent_(gpu, {}, 0),
      buffer_(gpu, size_),
      order_(gpu, blocks.order().size() * sizeof(int32_t)) {
  Upload upload(*gpu, staging, format_, values_of(shape_), buffer_.data());
  copy_blocks(upload, blocks);
  copy_order(Upload(*gpu, staging, f32_format(), blocks.order().size(), order_.data()), blocks.order());
  blocks.need_unchanged();
  blocks.release_files();
}

}  // namespace quern::gpu
