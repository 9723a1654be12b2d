#include "gpu/op-call.h"

#include "quern/failure.h"

namespace quern::gpu {

const GpuWeight& OpCall::weight(int index, int rank) const {
  const auto* const weight = static_cast<const GpuWeight*>(operand(index).weight.get());
  need(weight && operand(index).rank == rank, "a weight has the wrong rank");
  return *weight;
}

const float* OpCall::vector(int index, int64_t length) const {
  if (!present(index)) return nullptr;
  const GpuWeight& vector = weight(index, 1);
  need(operand(index).count == length && &vector.format() == &f32_format(), "a vector has the wrong length");
  return reinterpret_cast<const float*>(vector.data());
}

int OpCall::small(int64_t value) const {
  if (value > INT32_MAX)
    fail(Code::unsupported, "[%s] a dimension of %lld is larger than this device counts", name(), (long long)value);
  return int(value);
}

std::string kernel_for(const char* name, const GpuWeight& weight) { return std::string(name) + "_" + weight.format().name; }

}  // namespace quern::gpu
