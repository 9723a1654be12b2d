#include "quern/plan-decoder.h"

#include <algorithm>

#include "quern/failure.h"

namespace quern {

// Limit for the elements of an operand: larger than any memory, and products stay far below 2^63.
static constexpr int64_t most_elements = int64_t{1} << 48;

static const OpSpec* find_op(int32_t opcode) {
  for (const OpSpec& op : op_table)
    if (op.opcode == opcode) return &op;
  return nullptr;
}

int32_t PlanDecoder::word() {
  if (at_ == words_.size()) fail(Code::bad_argument, "malformed plan: it ends after %zu words", at_);
  return words_[at_++];
}

uint64_t PlanDecoder::wide() {
  const uint64_t low = static_cast<uint32_t>(word());
  return static_cast<uint64_t>(static_cast<uint32_t>(word())) << 32 | low;
}

PlanDecoder::Header PlanDecoder::read_header() {
  if (word() != plan_magic) fail(Code::bad_argument, "malformed plan: the magic number is missing");
  if (const int32_t version = word(); version != plan_version)
    fail(Code::bad_argument, "the plan has version %d; this backend reads version %d", version, plan_version);
  const int32_t ops = word();
  const int32_t words = word();
  if (ops < 0 || words < 0 || static_cast<size_t>(words) != words_.size())
    fail(Code::bad_argument, "malformed plan: %d ops in %d words, but %zu words came", ops, words, words_.size());
  arena_bytes_ = wide();
  const uint64_t inputs = wide(), outputs = wide();
  if (inputs > host_.inputs_bytes || outputs > host_.outputs_bytes)
    fail(Code::bad_argument, "the plan needs %llu bytes of inputs and %llu of outputs; %llu and %llu were given",
         static_cast<unsigned long long>(inputs), static_cast<unsigned long long>(outputs),
         static_cast<unsigned long long>(host_.inputs_bytes), static_cast<unsigned long long>(host_.outputs_bytes));
  while (at_ < header_words) word();
  return {ops, arena_bytes_};
}

// Whether a plan may lack the last `missing` inputs.
static bool may_lack(const OpSpec& op, int32_t missing) {
  for (int32_t i = 1; i <= missing; i++)
    if (i > op.inputs || !op.operand[op.inputs - i].claimed) return false;
  return true;
}

PlanOp PlanDecoder::read_op(std::vector<Operand>& operands) {
  const size_t start = at_;
  const int32_t opcode = word(), words = word(), attributes = word(), count = word();
  const OpSpec* op = find_op(opcode);
  if (!op) fail(Code::unsupported, "no kernel has opcode %d", opcode);
  const bool lacks = count >= 0 && count < op->operands && may_lack(*op, op->operands - count);
  const int32_t missing = lacks ? op->operands - count : 0, present = op->inputs - missing;
  const int32_t expected = 4 + op->attributes + (op->operands - missing) * operand_words;
  if (attributes != op->attributes || count != op->operands - missing || words != expected ||
      words_.size() - start < static_cast<size_t>(expected))
    fail(Code::bad_argument, "[%s] malformed plan: %d attributes and %d operands in %d words; the op has %d and %d in %d",
         op->name, attributes, count, words, op->attributes, op->operands, expected);
  const auto values = words_.subspan(at_, attributes);
  at_ += attributes;
  const size_t first = operands.size();
  for (int32_t i = 0; i < op->operands; i++)
    operands.push_back(i < present || i >= op->inputs ? read_operand(*op, i) : Operand());
  return {op, values, std::span(operands).subspan(first)};
}

Operand PlanDecoder::read_operand(const OpSpec& op, int32_t index) {
  const size_t end = at_ + operand_words;
  const OperandSpec& spec = op.operand[index];
  Operand operand;
  operand.region = static_cast<Region>(word());
  const int32_t id = word();
  operand.offset = wide();
  operand.dtype = static_cast<DType>(word());
  if (operand.region == Region::none) {
    if (!spec.optional) fail(Code::bad_argument, "[%s] malformed plan: operand %s is missing", op.name, spec.name);
  } else {
    read_shape(op, spec, operand);
    if (spec.kind == OperandKind::weight) find_weight(op, spec, operand, id);
    else if (spec.kind == OperandKind::buffer) place_buffer(op, spec, operand, id);
    else place_tensor(op, spec, operand);
  }
  at_ = end;
  return operand;
}

void PlanDecoder::read_shape(const OpSpec& op, const OperandSpec& spec, Operand& operand) {
  operand.rank = word();
  if (operand.rank < 0 || operand.rank > max_rank)
    fail(Code::bad_argument, "[%s] malformed plan: %s has rank %d", op.name, spec.name, operand.rank);
  operand.count = 1;
  int64_t extent = 1; // product of the nonzero dimensions: ops multiply dimensions too
  bool fits = true;
  for (int32_t i = 0; i < operand.rank; i++) {
    operand.shape[i] = word();
    operand.count *= fits ? operand.shape[i] : 0;
    fits = fits && operand.shape[i] >= 0 &&
           !__builtin_mul_overflow(extent, std::max<int64_t>(1, operand.shape[i]), &extent) && extent <= most_elements;
  }
  if (!fits)
    fail(Code::bad_argument, "[%s] malformed plan: the shape of %s is impossible", op.name, spec.name);
}

uint64_t PlanDecoder::region_bytes(Region region) const {
  if (region == Region::arena) return arena_bytes_;
  return region == Region::inputs ? host_.inputs_bytes : host_.outputs_bytes;
}

static void need_dtype(const OpSpec& op, const OperandSpec& spec, const Operand& operand) {
  const auto code = static_cast<uint32_t>(operand.dtype);
  if (code >= std::size(dtype_bytes))
    fail(Code::bad_argument, "[%s] malformed plan: %s has dtype %u", op.name, spec.name, code);
}

void PlanDecoder::place_tensor(const OpSpec& op, const OperandSpec& spec, Operand& operand) const {
  const bool in_inputs = operand.region == Region::inputs;
  if (operand.region != Region::arena && operand.region != Region::outputs && (!in_inputs || spec.written))
    fail(Code::bad_argument, "[%s] malformed plan: %s lies in region %d", op.name, spec.name,
         static_cast<int>(operand.region));
  need_dtype(op, spec, operand);
  const uint64_t size = region_bytes(operand.region), bytes = operand.bytes();
  if (bytes > size || operand.offset > size - bytes ||
      operand.offset % dtype_bytes[static_cast<int>(operand.dtype)] != 0)
    fail(Code::bad_argument, "[%s] malformed plan: %s is at byte %llu and takes %llu of a region of %llu", op.name,
         spec.name, static_cast<unsigned long long>(operand.offset), static_cast<unsigned long long>(bytes),
         static_cast<unsigned long long>(size));
}

void PlanDecoder::place_buffer(const OpSpec& op, const OperandSpec& spec, Operand& operand, int32_t id) const {
  need_dtype(op, spec, operand);
  if (operand.region == Region::buffer) operand.buffer = buffers_.find(id);
  if (!operand.buffer) fail(Code::bad_argument, "[%s] %s: there is no buffer %d", op.name, spec.name, id);
  if (operand.bytes() > operand.buffer->bytes())
    fail(Code::bad_argument, "[%s] %s takes %llu bytes, but its buffer has %llu", op.name, spec.name,
         static_cast<unsigned long long>(operand.bytes()), static_cast<unsigned long long>(operand.buffer->bytes()));
  operand.data = operand.buffer->data();
}

void PlanDecoder::find_weight(const OpSpec& op, const OperandSpec& spec, Operand& operand, int32_t id) const {
  if (operand.region == Region::weight) operand.weight = weights_.find(id);
  if (!operand.weight) fail(Code::bad_argument, "[%s] %s: there is no weight %d", op.name, spec.name, id);
  const auto& shape = operand.weight->shape();
  if (!std::equal(shape.begin(), shape.end(), operand.shape, operand.shape + operand.rank))
    fail(Code::bad_argument, "[%s] malformed plan: %s has another shape than the weight", op.name, spec.name);
}

} // namespace quern
