#include "gpu/gpu-weight.h"

#include "gpu/weight-planes.h"
#include "kernels/unpack-blocks.h"
#include "quern/failure.h"
#include "quern/plain/weight.h"

namespace quern::gpu {

GpuBuffer::GpuBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes)
    : Buffer(bytes > 0 ? gpu->allocate(bytes) : nullptr, bytes), gpu_(std::move(gpu)) {}

GpuBuffer::~GpuBuffer() {
  if (data()) gpu_->free(data());
}

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

Planes GpuWeight::planes() const { return planes_of(buffer_.data(), format_, values_of(shape_) / GROUP); }

namespace {

// Brings the rows of one matrix to the device, part by part.
class Upload {
 public:
  Upload(std::shared_ptr<Gpu> gpu, const WeightFormat& format, int64_t rows, int64_t width, uint8_t* to)
      : gpu_(std::move(gpu)), format_(format), rows_(rows), width_(width), to_(to) {}

  void add(const WeightPart& part, FileMap& files) {
    const int64_t rows = part.rows ? part.rows : rows_, stored = part.rows ? part.of : width_, block = format_.block_values;
    int64_t values;
    if (rows > rows_ - done_ || stored < width_ || part.from < 0 || part.from > stored - width_ || stored % block != 0 ||
        part.from % block != 0 || __builtin_mul_overflow(rows, stored, &values) || format_.file_bytes(values) != part.bytes.bytes)
      fail(Code::bad_weight, "%lld rows of %lld elements do not take %llu bytes", (long long)rows, (long long)stored,
           (unsigned long long)part.bytes.bytes);
    OneByOne one_by_one;
    const HeldBytes held = HeldBytes::open(part.bytes, files, one_by_one);
    add(held.data, rows, stored, part.from);
    held.need_unchanged();
  }
  // Columns [from, from + width) of rows of `stored` values, as in files. The bytes may go afterwards.
  void add(const uint8_t* file, int64_t rows, int64_t stored, int64_t from) {
    if (format_.dense) copy(file, rows, stored, from);
    else unpack(file, rows, stored, from);
    gpu_->finish();
    done_ += rows;
  }
  void need_all() const {
    if (done_ != rows_) fail(Code::bad_weight, "%lld of its rows have no bytes", (long long)(rows_ - done_));
  }

 private:
  void copy(const uint8_t* file, int64_t rows, int64_t stored, int64_t from) {
    const int64_t bytes = format_.block_bytes, wide = width_ * bytes;
    uint8_t* const to = to_ + done_ * wide;
    if (stored == width_) return gpu_->copy_in(to, file, uint64_t(rows * wide));
    for (int64_t row = 0; row < rows; row++)
      gpu_->copy_in(to + row * wide, file + (row * stored + from) * bytes, uint64_t(wide));
  }

  // As `copy`. The file's blocks pass through memory of the device, some rows at a time.
  void unpack(const uint8_t* file, int64_t rows, int64_t stored, int64_t from) {
    constexpr uint64_t most = 64 << 20;
    const auto row_bytes = int64_t(format_.file_bytes(stored));
    const int64_t at_once = std::clamp<int64_t>(int64_t(most) / row_bytes, 1, rows);
    const GpuBuffer blocks(gpu_, uint64_t(at_once * row_bytes));
    for (int64_t row = 0; row < rows; row += at_once) {
      const int64_t count = std::min(at_once, rows - row);
      gpu_->copy_in(blocks.data(), file + row * row_bytes, uint64_t(count * row_bytes));
      unpack_rows(blocks.data(), done_ + row, count, stored, from);
    }
    gpu_->finish();
  }

  void unpack_rows(const uint8_t* blocks, int64_t row, int64_t count, int64_t stored, int64_t from) {
    const int64_t groups = width_ / GROUP, first = row * groups;
    const PlaneOffsets at = plane_offsets(format_, uint64_t(rows_ * groups));
    const UnpackBlocks args{blocks,
                            reinterpret_cast<unsigned*>(to_ + at.low) + first * format_.low,
                            reinterpret_cast<unsigned*>(to_ + at.high) + first * format_.high,
                            to_ + at.subscales + first * format_.subscales,
                            reinterpret_cast<unsigned short*>(to_ + at.factors) + first / format_.span * format_.factors,
                            int(count),
                            int(groups),
                            int(stored / GROUP),
                            int(from / GROUP)};
    constexpr int threads = 128;
    constexpr int64_t most_blocks = 4096;
    gpu_->launch((std::string("unpack_") + format_.name).c_str(), std::min(most_blocks, (count * groups + threads - 1) / threads),
                 threads, &args);
  }

  const std::shared_ptr<Gpu> gpu_;
  const WeightFormat& format_;
  const int64_t rows_, width_;
  uint8_t* const to_;
  int64_t done_ = 0;  // rows
};

}  // namespace

// A vector in any dense format, as floats.
static void copy_vector(Gpu& gpu, const WeightSource& source, FileMap& files, uint8_t* to) {
  const plain::PlainWeight floats(source, files);
  gpu.copy_in(to, floats.data(), floats.byte_length());
  gpu.finish();
}

static void copy_matrix(const std::shared_ptr<Gpu>& gpu, const WeightSource& source, const WeightFormat& format, FileMap& files,
                        uint8_t* to) {
  const int64_t width = source.shape.back();
  Upload upload(gpu, format, int64_t(values_of(source.shape)) / width, width, to);
  for (const WeightPart& part : source.parts) upload.add(part, files);
  upload.need_all();
}

template <class F>
static auto naming(const WeightSource& source, const F& act) -> decltype(act()) try {
  return act();
} catch (const Failure& failure) { throw Failure(failure.code, "weight '" + source.name + "': " + failure.what()); }

GpuWeight::GpuWeight(std::shared_ptr<Gpu> gpu, const WeightSource& source, FileMap& files)
    : shape_(source.shape),
      format_(naming(source, [&]() -> const WeightFormat& { return format_of(source); })),
      buffer_(gpu, naming(source, [&] { return size_of(shape_, format_); })),
      order_(gpu, 0) {
  if (shape_.size() == 1) copy_vector(*gpu, source, files, buffer_.data());
  else naming(source, [&] { copy_matrix(gpu, source, format_, files, buffer_.data()); });
}

// Blocks are made on the host, some rows at a time.
static void copy_blocks(const std::shared_ptr<Gpu>& gpu, const GptqBlocks& blocks, const WeightFormat& format, uint8_t* to) {
  constexpr int64_t at_once = 64 * GptqBlocks::most_rows;
  const int64_t count = blocks.count(), row_bytes = blocks.row_bytes();
  std::vector<uint8_t> made(size_t(std::min(at_once, count) * row_bytes));
  Upload upload(gpu, format, count, blocks.width(), to);
  for (int64_t first = 0; first < count; first += at_once) {
    const int64_t end = std::min(count, first + at_once);
    for (int64_t row = first; row < end; row += GptqBlocks::most_rows)
      blocks.fill(row, std::min(GptqBlocks::most_rows, end - row), made.data() + (row - first) * row_bytes);
    upload.add(made.data(), end - first, blocks.width(), 0);
  }
}

GpuWeight::GpuWeight(std::shared_ptr<Gpu> gpu, const GptqBlocks& blocks)
    : shape_{blocks.count(), blocks.width()},
      format_(*find_weight_format(blocks.format_name())),
      buffer_(gpu, size_of(shape_, format_)),
      order_(gpu, blocks.order().size() * sizeof(int32_t)) {
  copy_blocks(gpu, blocks, format_, buffer_.data());
  gpu->copy_in(order_.data(), blocks.order().data(), order_.bytes());
  gpu->finish();
  blocks.need_unchanged();
  blocks.release_files();
}

}  // namespace quern::gpu
