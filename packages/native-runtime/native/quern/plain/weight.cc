#include "quern/plain/weight.h"

#include <string.h>

#include "quern/failure.h"
#include "quern/plain/half.h"

namespace quern::plain {

namespace {

// Decoding of one element of a dense format.
struct Dense {
  const char* name;
  int64_t bytes;
  float (*value)(const uint8_t* at);
};

template <class T>
T read(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

constexpr Dense formats[] = {{"f32", 4, read<float>},
                             {"f16", 2, [](const uint8_t* at) { return f16_value(read<uint16_t>(at)); }},
                             {"bf16", 2, [](const uint8_t* at) { return bf16_value(read<uint16_t>(at)); }}};

const Dense& find_format(const std::string& name) {
  for (const Dense& format : formats)
    if (name == format.name) return format;
  fail(Code::unsupported, "the format '%s' is not dense", name.c_str());
}

// Number of elements of a shape; each dimension must be ≥ 1.
int64_t count_of(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t dimension : shape)
    if (dimension < 1 || __builtin_mul_overflow(count, dimension, &count) || count > int64_t{1} << 48)
      fail(Code::bad_weight, "the shape has a dimension of %lld, or is too large", static_cast<long long>(dimension));
  return count;
}

// Reads the rows of one part. Returns the number of rows.
int64_t read_part(const WeightPart& part, int64_t all_rows, int64_t width, const Dense& format, FileMap& files, float* out) {
  const int64_t rows = part.rows ? part.rows : all_rows, stored = part.rows ? part.of : width;
  int64_t bytes;
  if (rows > all_rows || part.from > stored - width || __builtin_mul_overflow(rows * format.bytes, stored, &bytes) ||
      static_cast<uint64_t>(bytes) != part.bytes.bytes)
    fail(Code::bad_weight, "%lld rows of %lld elements do not take %llu bytes", static_cast<long long>(rows),
         static_cast<long long>(stored), static_cast<unsigned long long>(part.bytes.bytes));
  OneByOne one_by_one;
  const HeldBytes held = HeldBytes::open(part.bytes, files, one_by_one);
  for (int64_t row = 0; row < rows; row++)
    for (int64_t i = 0; i < width; i++)
      *out++ = format.value(held.data + (row * stored + part.from + i) * format.bytes);
  held.need_unchanged();
  return rows;
}

Pages load(const WeightSource& source, FileMap& files) try {
  const Dense& format = find_format(source.format);
  const int64_t count = count_of(source.shape), width = source.shape.size() > 1 ? source.shape.back() : 1;
  Pages pages(count * sizeof(float));
  float* out = reinterpret_cast<float*>(pages.data());
  int64_t left = count / width;
  for (const WeightPart& part : source.parts) {
    const int64_t rows = read_part(part, left, width, format, files, out);
    out += rows * width;
    left -= rows;
  }
  if (left != 0) fail(Code::bad_weight, "%lld of its rows have no bytes", static_cast<long long>(left));
  return pages;
} catch (const Failure& failure) {
  throw Failure(failure.code, "weight '" + source.name + "': " + failure.what());
}

} // namespace

PlainWeight::PlainWeight(const WeightSource& source, FileMap& files) : shape_(source.shape), pages_(load(source, files)) {}

} // namespace quern::plain
