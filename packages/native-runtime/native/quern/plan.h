// A plan decoded from the words of core (core/src/plan/encode.ts).
#pragma once
#include <stdint.h>

#include <memory>
#include <span>
#include <vector>

#include "quern/generated/ops.h"
#include "quern/buffer.h"
#include "quern/handle-table.h"
#include "quern/loaded-weight.h"

namespace quern {

using BufferTable = HandleTable<const Buffer>;
using WeightTable = HandleTable<const LoadedWeight>;

// Host memory for the inputs and outputs of a plan.
struct HostMemory {
  uint8_t* inputs = nullptr;
  uint64_t inputs_bytes = 0;
  uint8_t* outputs = nullptr;
  uint64_t outputs_bytes = 0;
};

// Bytes [from, to) of a region.
struct ByteRange {
  uint64_t from, to;
};

// Addresses of a plan's regions during a run, as addresses of the device.
struct Places {
  uint8_t* arena = nullptr;
  uint8_t* inputs = nullptr;
  uint8_t* outputs = nullptr;
  bool operator==(const Places&) const = default;
};

struct Operand {
  Region region = Region::none;
  DType dtype = DType::f32;
  int32_t rank = 0;
  int64_t shape[max_rank] = {};
  int64_t count = 0;       // elements
  uint64_t offset = 0;     // bytes from the start of the region
  uint8_t* data = nullptr; // null for weights; for tensors: set by Plan::bind
  std::shared_ptr<const LoadedWeight> weight;
  std::shared_ptr<const Buffer> buffer;

  uint64_t bytes() const { return count * dtype_bytes[static_cast<int>(dtype)]; }
};

struct PlanOp {
  const OpSpec* spec;
  std::span<const int32_t> attributes; // as encoded: f32 as bits
  std::span<Operand> operands;         // in the order of the op table; outputs last
};

// What a device keeps for a plan that runs again (Device::prepare).
class Prepared {
 public:
  virtual ~Prepared() = default;
};

class Plan {
 public:
  // Decodes and checks `words`. A plan that passes touches no memory outside its operands. Throws BAD_ARGUMENT for
  // malformed words. The plan owns its buffers and weights.
  Plan(std::vector<int32_t> words, const HostMemory& host, const BufferTable& buffers, const WeightTable& weights);
  Plan(const Plan&) = delete;

  const std::vector<PlanOp>& ops() const { return ops_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  const HostMemory& host() const { return host_; }
  // Sets the addresses of the operands in the plan's regions.
  void bind(const Places& places);
  // Ranges of host().outputs that the ops write. A run changes no other bytes of host().outputs.
  std::vector<ByteRange> written_outputs() const;
  std::unique_ptr<Prepared> prepared;
  // Throws DEVICE_FAILED if a weight's file has lost bytes since mapping.
  void need_whole_files() const;
  // A sentence about weight files that have changed since mapping; empty: no file has changed.
  std::string changed_files() const;

 private:
  std::vector<int32_t> words_;
  HostMemory host_;
  std::vector<Operand> operands_;
  std::vector<PlanOp> ops_;
  uint64_t arena_bytes_ = 0;
  Places places_;
};

} // namespace quern
