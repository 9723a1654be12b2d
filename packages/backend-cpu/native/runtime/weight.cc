#include "runtime/weight.h"

#include <string.h>

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

std::shared_ptr<const Weight> Weight::load(const WeightSource& source, FileMap& files, const Kernels& kernels) try {
  auto weight = std::make_shared<Weight>();
  weight->set_shape(source);
  if (source.path.empty()) weight->copy(source);
  else weight->attach(source, files);
  if (weight->shape_.size() == 1 && !weight->is_float()) weight->keep_as_floats(kernels);
  return weight;
} catch (const Failure& failure) {
  throw Failure(failure.code, "weight '" + source.name + "': " + failure.what());
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
  if (source.bytes) memcpy(memory_.data(), source.memory, source.bytes);
  data_ = memory_.data();
}

void Weight::keep_as_floats(const Kernels& kernels) {
  Pages floats(width_ * sizeof(float));
  decode(kernels, 0, 1, reinterpret_cast<float*>(floats.data()));
  memory_ = std::move(floats);
  file_.reset();
  format_ = FORMAT_F32;
  row_bytes_ = width_ * sizeof(float);
  data_ = memory_.data();
}

} // namespace quern
