#include "runtime/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "quern/failure.h"

namespace quern {

void Scratch::reserve(int64_t of_each_thread, int64_t shared) {
  of_each_ = (of_each_thread + 15) / 16 * 16; // whole cache lines, so that threads do not share one
  int64_t floats, bytes;
  if (of_each_thread < 0 || shared < 0 || __builtin_mul_overflow(of_each_, int64_t{threads_}, &floats) ||
      __builtin_add_overflow(floats, shared, &floats) || __builtin_mul_overflow(floats, int64_t{sizeof(float)}, &bytes))
    fail(Code::out_of_memory, "an op wants more scratch memory than 64 bits can count");
  if (static_cast<uint64_t>(bytes) <= memory_.bytes()) return;
  memory_ = Pages();
  memory_ = Pages(bytes);
}

const int32_t* Scratch::copy(int index, const int32_t* data, int64_t count) {
  copies_[index].assign(data, data + count);
  return copies_[index].data();
}

Floats Call::floats(int index, int rank) const {
  const Operand& o = operand(index);
  need(o.dtype == DType::f32, "the dtype must be f32");
  need(rank == any_rank || o.rank == rank, "an operand has the wrong rank");
  return {reinterpret_cast<float*>(o.data), o.shape, o.rank, o.count};
}

// Inputs and outputs are memory that JavaScript may write at any time; the arena is ours.
Ints Call::ints(int index) const {
  const int32_t* const data = ints_out(index);
  const Operand& o = operand(index);
  return {o.region == Region::arena ? data : scratch.copy(index, data, o.count), o.count};
}

int32_t* Call::ints_out(int index) const {
  const Operand& o = operand(index);
  need(o.dtype == DType::i32, "the dtype must be i32");
  return reinterpret_cast<int32_t*>(o.data);
}

const Matrix& Call::matrix(int index) const {
  need(operand(index).rank == 2, "a weight must have two dimensions");
  return operand(index).weight->matrix();
}

const std::vector<Matrix>& Call::matrices(int index) const {
  need(operand(index).rank == 3 && operand(index).count > 0, "a weight must have three dimensions");
  return operand(index).weight->matrices();
}

const float* Call::vector(int index, int64_t length) const {
  if (!present(index)) return nullptr;
  const Weight& w = *operand(index).weight;
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
  if (type == CACHE_TYPES) fail(Code::unsupported, "[%s] caches are f32, f16, bf16 or i8 on this backend", op_.spec->name);
  need(o.rank == 4 && o.shape[2] == heads && o.shape[3] == cache_row(type, d), "a cache has the wrong shape");
  return {o.data, type, o.shape[0], o.shape[1], heads, d};
}

float Call::number(int attribute) const {
  float value;
  memcpy(&value, &op_.attributes[attribute], sizeof value);
  return value;
}

void Call::need(bool holds, const char* rule) const {
  if (!holds) fail(Code::bad_argument, "[%s] malformed plan: %s", op_.spec->name, rule);
}

void Call::out_of_range(const char* format, ...) const {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  fail(Code::out_of_range, "[%s] %s", op_.spec->name, message);
}

} // namespace quern
