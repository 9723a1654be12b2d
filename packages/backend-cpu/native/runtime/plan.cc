#include "runtime/plan.h"

#include "runtime/failure.h"
#include "runtime/plan-decoder.h"

namespace quern {

// An op checks its indices and then trusts them: nothing that it writes may lie over them, or over any other operand.
static void need_apart(const PlanOp& op) {
  const auto inputs = op.operands.first(op.spec->inputs);
  for (const Operand& output : op.operands.subspan(op.spec->inputs))
    for (const Operand& input : inputs)
      if (input.region == output.region && input.offset < output.offset + output.bytes() &&
          output.offset < input.offset + input.bytes())
        fail(Code::bad_argument, "[%s] malformed plan: an output lies over an operand", op.spec->name);
}

Plan::Plan(std::span<const int32_t> words, const HostMemory& host, const BufferTable& buffers,
           const WeightTable& weights)
    : words_(words.begin(), words.end()) {
  PlanDecoder decoder(words_, host, buffers, weights);
  const auto header = decoder.read_header();
  arena_bytes_ = header.arena_bytes;
  operands_.reserve(words_.size() / operand_words); // so that spans into it stay valid
  for (int32_t i = 0; i < header.ops; i++) {
    ops_.push_back(decoder.read_op(operands_));
    need_apart(ops_.back());
  }
  if (!decoder.at_end()) fail(Code::bad_argument, "malformed plan: words are left after %d ops", header.ops);
}

void Plan::bind(uint8_t* arena) {
  if (arena == arena_) return;
  arena_ = arena;
  for (Operand& operand : operands_)
    if (operand.region == Region::arena) operand.data = arena + operand.offset;
}

} // namespace quern
