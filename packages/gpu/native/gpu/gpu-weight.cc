#include "gpu/gpu-weight.h"

#include "quern/failure.h"
#include "quern/plain/weight.h"

namespace quern::gpu {

GpuBuffer::GpuBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes)
    : Buffer(bytes > 0 ? gpu->allocate(bytes) : nullptr, bytes), gpu_(std::move(gpu)) {}

GpuBuffer::~GpuBuffer() {
  if (data()) gpu_->free(data());
}

static Element element_of(const WeightSource& source) {
  if (source.shape.size() == 1) return Element::f32;
  static constexpr const char* names[] = {"f32", "f16", "bf16"};
  for (int i = 0; i < 3; i++)
    if (source.format == names[i]) return Element(i);
  fail(Code::unsupported, "the format '%s' has no kernels on this device", source.format.c_str());
}

static uint64_t size_of(const WeightSource& source) {
  auto bytes = static_cast<uint64_t>(bytes_of(element_of(source)));
  for (const int64_t dimension : source.shape)
    if (dimension < 1 || __builtin_mul_overflow(bytes, uint64_t(dimension), &bytes) || bytes > uint64_t{1} << 48)
      fail(Code::bad_weight, "the shape has a dimension of %lld, or is too large", (long long)dimension);
  return bytes;
}

// Copies the rows of one part. Returns their number.
static int64_t copy_part(Gpu& gpu, const WeightPart& part, int64_t all_rows, int64_t width, int64_t element_bytes,
                         FileMap& files, uint8_t* to) {
  const int64_t rows = part.rows ? part.rows : all_rows, stored = part.rows ? part.of : width;
  int64_t bytes;
  if (rows > all_rows || part.from > stored - width || __builtin_mul_overflow(rows * element_bytes, stored, &bytes) ||
      uint64_t(bytes) != part.bytes.bytes)
    fail(Code::bad_weight, "%lld rows of %lld elements do not take %llu bytes", (long long)rows, (long long)stored,
         (unsigned long long)part.bytes.bytes);
  OneByOne one_by_one;
  const HeldBytes held = HeldBytes::open(part.bytes, files, one_by_one);
  const int64_t wide = width * element_bytes;
  if (stored == width) gpu.copy_in(to, held.data, uint64_t(bytes));
  else
    for (int64_t row = 0; row < rows; row++)
      gpu.copy_in(to + row * wide, held.data + (row * stored + part.from) * element_bytes, uint64_t(wide));
  gpu.finish();  // the file may go
  held.need_unchanged();
  return rows;
}

static void copy_rows(Gpu& gpu, const WeightSource& source, int64_t rows, int64_t width, int64_t element_bytes, FileMap& files,
                      uint8_t* to) {
  for (const WeightPart& part : source.parts) {
    const int64_t copied = copy_part(gpu, part, rows, width, element_bytes, files, to);
    to += copied * width * element_bytes;
    rows -= copied;
  }
  if (rows != 0) fail(Code::bad_weight, "%lld of its rows have no bytes", (long long)rows);
}

// A vector in any dense format, as floats.
static void copy_vector(Gpu& gpu, const WeightSource& source, FileMap& files, uint8_t* to) {
  const plain::PlainWeight floats(source, files);
  gpu.copy_in(to, floats.data(), floats.byte_length());
  gpu.finish();
}

template <class F>
static auto naming(const WeightSource& source, const F& act) try {
  return act();
} catch (const Failure& failure) { throw Failure(failure.code, "weight '" + source.name + "': " + failure.what()); }

GpuWeight::GpuWeight(std::shared_ptr<Gpu> gpu, const WeightSource& source, FileMap& files)
    : shape_(source.shape),
      element_(naming(source, [&] { return element_of(source); })),
      buffer_(gpu, naming(source, [&] { return size_of(source); })) {
  if (shape_.size() == 1) {
    copy_vector(*gpu, source, files, buffer_.data());
    return;
  }
  const int64_t element_bytes = bytes_of(element_), width = shape_.back();
  naming(source, [&] {
    copy_rows(*gpu, source, int64_t(buffer_.bytes()) / element_bytes / width, width, element_bytes, files, buffer_.data());
  });
}

}  // namespace quern::gpu
