#include "gpu/folded-norms.h"

#include <algorithm>
#include <iterator>

namespace quern::gpu {

namespace {

// An op of products of one x.
struct Follower {
  int32_t index;                // in op_table
  int x, first, last;           // operands: x, the weights
  int invariant;                // attribute; -1: none
};

constexpr Follower followers[] = {
    {QkvLinearOp::index, QkvLinearOp::X, QkvLinearOp::Q, QkvLinearOp::V, QkvLinearOp::BATCH_INVARIANT},
    {GateUpSwigluOp::index, GateUpSwigluOp::X, GateUpSwigluOp::GATE, GateUpSwigluOp::UP, GateUpSwigluOp::BATCH_INVARIANT},
    {LinearOp::index, LinearOp::X, LinearOp::W, LinearOp::W, LinearOp::BATCH_INVARIANT},
    {LinearArgmaxOp::index, LinearArgmaxOp::X, LinearArgmaxOp::W, LinearArgmaxOp::W, -1},
};

bool is(const PlanOp& op, int32_t index) { return op.spec == &op_table[index]; }

bool is_temporary(const Operand& operand) {
  return operand.region == Region::arena && operand.dtype == DType::f32 && operand.count > 0;
}

bool overlap(const Operand& a, const Operand& b) {
  return a.region == b.region && a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes();
}

bool same_bytes(const Operand& a, const Operand& b) { return a.region == b.region && a.offset == b.offset && a.bytes() == b.bytes(); }

// Bytes of a temporary that no op has written again.
class Unwritten {
 public:
  explicit Unwritten(const Operand& temporary) : region_(temporary.region), ranges_{range_of(temporary)} {}
  bool overlap(const Operand& operand) const {
    return operand.region == region_ && std::any_of(ranges_.begin(), ranges_.end(), [of = range_of(operand)](const ByteRange& range) {
             return range.from < of.to && of.from < range.to;
           });
  }
  void write(const Operand& operand) {
    if (operand.region != region_) return;
    const ByteRange written = range_of(operand);
    std::vector<ByteRange> left;
    for (const auto& [from, to] : ranges_) {
      if (from < std::min(to, written.from)) left.push_back({from, std::min(to, written.from)});
      if (std::max(from, written.to) < to) left.push_back({std::max(from, written.to), to});
    }
    ranges_ = left;
  }

 private:
  static ByteRange range_of(const Operand& operand) { return {operand.offset, operand.offset + operand.bytes()}; }
  const Region region_;
  std::vector<ByteRange> ranges_;
};

// Whether an op from `first` on reads a temporary before its bytes are written again.
bool is_read(std::span<const PlanOp> ops, size_t first, const Operand& temporary) {
  Unwritten bytes(temporary);
  for (size_t i = first; i < ops.size(); i++) {
    const auto in = ops[i].operands.first(size_t(ops[i].spec->inputs)), out = ops[i].operands.subspan(in.size());
    if (std::any_of(in.begin(), in.end(), [&](const Operand& one) { return bytes.overlap(one); })) return true;
    for (const Operand& one : out) bytes.write(one);
  }
  return false;
}

// Null: another op.
const Follower* follower(const PlanOp& op) {
  const auto found = std::find_if(std::begin(followers), std::end(followers), [&](const Follower& one) { return is(op, one.index); });
  return found == std::end(followers) ? nullptr : found;
}

bool is_invariant(const PlanOp& op, int attribute) { return attribute >= 0 && op.attributes[size_t(attribute)] != 0; }

Folding folding_at(std::span<const PlanOp> ops, size_t i) {
  if (i + folded_ops > ops.size() || !is(ops[i], LinearOp::index) || !is(ops[i + 1], AddRmsNormOp::index)) return Folding::none;
  const Follower* const next = follower(ops[i + 2]);
  if (!next || is_invariant(ops[i], LinearOp::BATCH_INVARIANT) || is_invariant(ops[i + 2], next->invariant)) return Folding::none;
  const std::span<Operand> norm = ops[i + 1].operands;
  const Operand &x = ops[i].operands[LinearOp::X], &y = ops[i].operands[LinearOp::Y], &normed = norm[AddRmsNormOp::Y];
  const Operand &a = norm[AddRmsNormOp::A], &b = norm[AddRmsNormOp::B], &sum = norm[AddRmsNormOp::SUM];
  const Operand& residual = same_bytes(a, y) ? b : a;
  if (!same_bytes(&residual == &a ? b : a, y) || overlap(residual, y) || !same_bytes(ops[i + 2].operands[next->x], normed))
    return Folding::none;
  if (!is_temporary(y) || !is_temporary(normed) || is_read(ops, i + 2, y) || is_read(ops, i + 3, normed)) return Folding::none;
  const bool apart = !overlap(sum, x) && (!overlap(sum, residual) || same_bytes(sum, residual));
  return apart ? Folding::at_once : Folding::in_order;
}

}  // namespace

NormedProducts normed_products(const PlanOp& op) {
  const Follower& of = *follower(op);
  return {op.operands[size_t(of.x)], op.operands.subspan(size_t(of.first), size_t(of.last - of.first + 1))};
}

std::vector<Folding> folded_norms(std::span<const PlanOp> ops) {
  std::vector<Folding> foldings(ops.size(), Folding::none);
  for (size_t i = 0; i < ops.size();) {
    foldings[i] = folding_at(ops, i);
    i += foldings[i] == Folding::none ? 1 : folded_ops;
  }
  return foldings;
}

}  // namespace quern::gpu
