// Ops on single elements.
#include "gpu/ops/elements.h"
#include "gpu/ops/ops.h"
#include "kernels/cast.h"
#include "kernels/clamp.h"
#include "kernels/elementwise.h"
#include "kernels/gated.h"
#include "kernels/log10.h"
#include "kernels/scale.h"
#include "kernels/softplus.h"

namespace quern::gpu {

// b has the shape of a, or is one row for all rows of a.
static void two_inputs(const OpCall& op, const char* kernel) {
  const quern::Floats a = op.floats(AddOp::A), b = op.floats(AddOp::B), y = op.floats(AddOp::Y);
  op.need(a.same_shape(y), "y must have the shape of a");
  op.need(a.same_shape(b) || (b.rank == 1 && b.width() == a.width()), "b must have the shape of a, or of its rows");
  launch_map(op, kernel, TwoInputs{a.data, b.data, y.data, y.count, b.count});
}

static void gated(const OpCall& op, const char* kernel) {
  const quern::Floats gate = op.floats(SwigluOp::GATE), up = op.floats(SwigluOp::UP), y = op.floats(SwigluOp::Y);
  op.need(gate.same_shape(up) && gate.same_shape(y), "all operands must have one shape");
  launch_map(op, kernel, Gated{gate.data, up.data, y.data, y.count});
}

static void one_input(const OpCall& op, const char* kernel, int x, int y) {
  const quern::Floats input = op.floats(x), result = op.floats(y);
  op.need(input.same_shape(result), "y must have the shape of x");
  launch_map(op, kernel, OneInput{input.data, result.data, result.count});
}

void add(const OpCall& op) { two_inputs(op, "add"); }
void mul(const OpCall& op) { two_inputs(op, "mul"); }
void swiglu(const OpCall& op) { gated(op, "swiglu"); }
void geglu(const OpCall& op) { gated(op, "geglu"); }
void silu(const OpCall& op) { one_input(op, "silu", SiluOp::X, SiluOp::Y); }
void sigmoid(const OpCall& op) { one_input(op, "sigmoid", SigmoidOp::X, SigmoidOp::Y); }
void tanh(const OpCall& op) { one_input(op, "tanh_op", TanhOp::X, TanhOp::Y); }
void gelu(const OpCall& op) { one_input(op, op.integer(GeluOp::FORM) == 0 ? "gelu_erf" : "gelu_tanh", GeluOp::X, GeluOp::Y); }

void scale(const OpCall& op) {
  const quern::Floats x = op.floats(ScaleOp::X), y = op.floats(ScaleOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  launch_map(op, "scale", Scale{x.data, y.data, y.count, op.number(ScaleOp::FACTOR)});
}

void log10(const OpCall& op) {
  const quern::Floats x = op.floats(Log10Op::X), y = op.floats(Log10Op::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  launch_map(op, "log10_op", Log10{x.data, y.data, y.count, op.number(Log10Op::FLOOR)});
}

void clamp(const OpCall& op) {
  const quern::Floats x = op.floats(ClampOp::X), y = op.floats(ClampOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  launch_map(op, "clamp_op", Clamp{x.data, y.data, y.count, op.number(ClampOp::LOW), op.number(ClampOp::HIGH)});
}

void softplus(const OpCall& op) {
  const quern::Floats x = op.floats(SoftplusOp::X), y = op.floats(SoftplusOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  const float *bias = op.vector(SoftplusOp::BIAS, x.width()), *factor = op.vector(SoftplusOp::FACTOR, x.width());
  if (x.count > 0) op.launch_elements("softplus", x.count, Softplus{x.data, bias, factor, y.data, x.count, x.width()});
}

static const char* format_of(const OpCall& op, const Operand& operand) {
  switch (operand.dtype) {
    case DType::f32: return "_f32";
    case DType::f16: return "_f16";
    case DType::bf16: return "_bf16";
    default: op.need(false, "both must be floats"); return "";
  }
}

// All kernels of casts take two addresses and a count.
void cast(const OpCall& op) {
  const Operand &x = op.operand(CastOp::X), &y = op.operand(CastOp::Y);
  op.need(x.rank == y.rank && std::equal(x.shape, x.shape + x.rank, y.shape), "y must have the shape of x");
  const std::string kernel = std::string("cast") + format_of(op, x) + format_of(op, y);
  launch_map(op, kernel.c_str(),
             Recode{reinterpret_cast<const unsigned short*>(x.data), reinterpret_cast<unsigned short*>(y.data), y.count});
}

}  // namespace quern::gpu
