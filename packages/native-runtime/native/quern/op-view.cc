#include "quern/op-view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "quern/failure.h"

namespace quern {

Floats OpView::floats(int index, int rank) const {
  const Operand& o = operand(index);
  need(o.dtype == DType::f32, "the dtype must be f32");
  need(rank == any_rank || o.rank == rank, "an operand has the wrong rank");
  return {reinterpret_cast<float*>(o.data), o.shape, o.rank, o.count};
}

// JavaScript may write inputs and outputs at any time, so these are copied. Only the addon writes the arena.
Ints OpView::ints(int index) const {
  const int32_t* const data = ints_out(index);
  const Operand& o = operand(index);
  return {o.region == Region::arena ? data : copies_.copy(index, data, o.count), o.count};
}

int32_t* OpView::ints_out(int index) const {
  const Operand& o = operand(index);
  need(o.dtype == DType::i32, "the dtype must be i32");
  return reinterpret_cast<int32_t*>(o.data);
}

float OpView::number(int attribute) const {
  float value;
  memcpy(&value, &op_.attributes[attribute], sizeof value);
  return value;
}

void OpView::need(bool holds, const char* rule) const {
  if (!holds) fail(Code::bad_argument, "[%s] malformed plan: %s", name(), rule);
}

void OpView::out_of_range(const char* format, ...) const {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  fail(Code::out_of_range, "[%s] %s", name(), message);
}

} // namespace quern
