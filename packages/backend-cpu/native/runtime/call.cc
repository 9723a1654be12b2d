#include "runtime/call.h"

#include "quern/failure.h"

namespace quern {

void Scratch::reserve(int64_t of_each_thread, int64_t shared) {
  of_each_ = (of_each_thread + 15) / 16 * 16; // whole cache lines: no two threads share a line
  int64_t floats, bytes;
  if (of_each_thread < 0 || shared < 0 || __builtin_mul_overflow(of_each_, int64_t{threads_}, &floats) ||
      __builtin_add_overflow(floats, shared, &floats) || __builtin_mul_overflow(floats, int64_t{sizeof(float)}, &bytes))
    fail(Code::out_of_memory, "an op wants more scratch memory than 64 bits can count");
  if (static_cast<uint64_t>(bytes) <= memory_.bytes()) return;
  memory_ = Pages();
  memory_ = Pages(bytes);
}

static const Weight& weight_of(const Operand& operand) { return static_cast<const Weight&>(*operand.weight); }

const Matrix& Call::matrix(int index) const {
  need(operand(index).rank == 2, "a weight must have two dimensions");
  return weight_of(operand(index)).matrix();
}

const std::vector<Matrix>& Call::matrices(int index) const {
  need(operand(index).rank == 3 && operand(index).count > 0, "a weight must have three dimensions");
  return weight_of(operand(index)).matrices();
}

const float* Call::vector(int index, int64_t length) const {
  if (!present(index)) return nullptr;
  const Weight& w = weight_of(operand(index));
  need(w.shape().size() == 1 && w.matrix().width() == length, "a vector has the wrong length");
  return w.matrix().floats();
}

namespace {

CacheType cache_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return CACHE_F32;
    case DType::f16: return CACHE_F16;
    case DType::bf16: return CACHE_BF16;
    case DType::i8: return CACHE_I8;
    default: return CACHE_TYPES;
  }
}

} // namespace

Cache Call::cache(int index, int64_t heads, int64_t d) const {
  const Operand& o = operand(index);
  const CacheType type = cache_type(o.dtype);
  if (type == CACHE_TYPES) fail(Code::unsupported, "[%s] caches are f32, f16, bf16 or i8 on this backend", name());
  need(o.rank == 4 && o.shape[2] == heads && o.shape[3] == cache_row(type, d), "a cache has the wrong shape");
  return {o.data, type, o.shape[0], o.shape[1], heads, d};
}

} // namespace quern
