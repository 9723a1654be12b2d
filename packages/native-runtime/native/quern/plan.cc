#include "quern/plan.h"

#include <algorithm>

#include "quern/failure.h"
#include "quern/plan-decoder.h"

namespace quern {

static bool overlap(const Operand& a, const Operand& b) {
  return a.region == b.region && a.count > 0 && b.count > 0 && a.offset < b.offset + b.bytes() &&
         b.offset < a.offset + a.bytes();
}

// Kernels read operands while writing outputs: no output may overlap an operand or another output.
static void need_apart(const PlanOp& op) {
  for (size_t output = op.spec->inputs; output < op.operands.size(); output++)
    for (size_t other = 0; other < output; other++)
      if (overlap(op.operands[output], op.operands[other]))
        fail(Code::bad_argument, "[%s] malformed plan: %s lies over %s", op.spec->name,
             op.spec->operand[output].name, op.spec->operand[other].name);
}

// Words of an op without attributes and operands.
static constexpr size_t least_op_words = 4;

// Most operands of an op that older plans lack.
static constexpr size_t most_claimed() {
  size_t most = 0;
  for (const OpSpec& op : op_table) {
    size_t count = 0;
    for (const OperandSpec& operand : op.operand) count += operand.claimed;
    most = std::max(most, count);
  }
  return most;
}

Plan::Plan(std::vector<int32_t> words, const HostMemory& host, const BufferTable& buffers, const WeightTable& weights)
    : words_(std::move(words)), host_(host) {
  PlanDecoder decoder(words_, host, buffers, weights);
  const auto header = decoder.read_header();
  arena_bytes_ = header.arena_bytes;
  // Reallocation would invalidate spans into operands_. An operand that an older plan lacks has no words.
  const size_t most_ops = std::min<size_t>(header.ops, words_.size() / least_op_words);
  operands_.reserve(words_.size() / operand_words + most_ops * most_claimed());
  for (int32_t i = 0; i < header.ops; i++) {
    ops_.push_back(decoder.read_op(operands_));
    need_apart(ops_.back());
  }
  if (!decoder.at_end()) fail(Code::bad_argument, "malformed plan: words are left after %d ops", header.ops);
}

void Plan::need_whole_files() const {
  for (const Operand& operand : operands_)
    if (operand.weight) operand.weight->each_file([](const MappedFile& file) { file.need_whole(Code::device_failed); });
}

std::string Plan::changed_files() const {
  const MappedFile* changed = nullptr;
  for (const Operand& operand : operands_)
    if (operand.weight)
      operand.weight->each_file([&](const MappedFile& file) {
        if (!changed && file.has_changed()) changed = &file;
      });
  if (!changed) return "";
  return text("; %s has been written to while it was in use, so weights may be wrong: load the model again", changed->path().c_str());
}

std::vector<ByteRange> Plan::written_outputs() const {
  std::vector<ByteRange> written;
  for (const PlanOp& op : ops_)
    for (size_t i = op.spec->inputs; i < op.operands.size(); i++)
      if (const Operand& operand = op.operands[i]; operand.region == Region::outputs && operand.bytes() > 0)
        written.push_back({operand.offset, operand.offset + operand.bytes()});
  return written;
}

static uint8_t* start_of(Region region, const Places& places) {
  if (region == Region::arena) return places.arena;
  return region == Region::inputs ? places.inputs : places.outputs;
}

static bool is_placed(Region region) {
  return region == Region::arena || region == Region::inputs || region == Region::outputs;
}

void Plan::bind(const Places& places) {
  if (places == places_) return;
  places_ = places;
  for (Operand& operand : operands_)
    if (is_placed(operand.region)) operand.data = start_of(operand.region, places) + operand.offset;
}

} // namespace quern
