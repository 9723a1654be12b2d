// Reads and checks the words of a plan.
#pragma once
#include "quern/plan.h"

namespace quern {

class PlanDecoder {
 public:
  PlanDecoder(std::span<const int32_t> words, const HostMemory& host, const BufferTable& buffers,
              const WeightTable& weights)
      : words_(words), host_(host), buffers_(buffers), weights_(weights) {}

  struct Header {
    int32_t ops;
    uint64_t arena_bytes;
  };
  Header read_header();
  // Reads the next op. Appends its operands to `operands`; `operands` must have capacity for them.
  PlanOp read_op(std::vector<Operand>& operands);
  bool at_end() const { return at_ == words_.size(); }

 private:
  int32_t word();
  uint64_t wide();
  Operand read_operand(const OpSpec& op, int32_t index);
  void read_shape(const OpSpec& op, const OperandSpec& spec, Operand& operand);
  void place_tensor(const OpSpec& op, const OperandSpec& spec, Operand& operand) const;
  void place_buffer(const OpSpec& op, const OperandSpec& spec, Operand& operand, int32_t id) const;
  void find_weight(const OpSpec& op, const OperandSpec& spec, Operand& operand, int32_t id) const;
  uint64_t region_bytes(Region region) const;

  std::span<const int32_t> words_;
  size_t at_ = 0;
  uint64_t arena_bytes_ = 0;
  const HostMemory& host_;
  const BufferTable& buffers_;
  const WeightTable& weights_;
};

} // namespace quern
