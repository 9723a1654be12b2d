#include <string.h>

#include "runtime/call.h"

namespace quern {

namespace {

// Elements converted at a time (through f32).
constexpr int64_t piece = 4096;

const uint16_t* halves(const Operand& operand, int64_t at) { return reinterpret_cast<uint16_t*>(operand.data) + at; }

void widen(const Kernels& kernels, const Operand& x, int64_t at, int64_t n, float* out) {
  if (x.dtype == DType::f16) kernels.f16_to_f32(halves(x, at), out, n);
  else if (x.dtype == DType::bf16) kernels.bf16_to_f32(halves(x, at), out, n);
  else memcpy(out, x.data + at * sizeof(float), n * sizeof(float));
}

void narrow(const Kernels& kernels, const float* in, const Operand& y, int64_t at, int64_t n) {
  const auto out = reinterpret_cast<uint16_t*>(y.data) + at;
  if (y.dtype == DType::f16) kernels.f32_to_f16(in, out, n);
  else if (y.dtype == DType::bf16) kernels.f32_to_bf16(in, out, n);
  else memcpy(y.data + at * sizeof(float), in, n * sizeof(float));
}

bool is_floating(const Operand& operand) {
  return operand.dtype == DType::f32 || operand.dtype == DType::f16 || operand.dtype == DType::bf16;
}

} // namespace

void CastOp::run(Call& call) {
  const Operand &x = call.operand(X), &y = call.operand(Y);
  call.need(is_floating(x) && is_floating(y) && x.count == y.count, "x and y must be f32, f16 or bf16 of one shape");
  call.scratch.reserve(piece);
  call.split((x.count + piece - 1) / piece, piece, [&](int64_t first, int64_t end, int thread) {
    for (int64_t at = first * piece; at < std::min(x.count, end * piece); at += piece) {
      const int64_t n = std::min(piece, x.count - at);
      widen(call.kernels, x, at, n, call.scratch.of(thread));
      narrow(call.kernels, call.scratch.of(thread), y, at, n);
    }
  });
}

} // namespace quern
