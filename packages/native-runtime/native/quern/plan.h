// A plan decoded from core's words (core/src/plan/encode.ts).
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

// Host memory that a plan reads its inputs from and writes its outputs to.
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

// Where the regions of a plan lie while it runs, as addresses of the device.
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
  uint64_t offset = 0;     // bytes, in its region
  uint8_t* data = nullptr; // of tensors (once the plan is bound) and buffers
  std::shared_ptr<const LoadedWeight> weight;
  std::shared_ptr<const Buffer> buffer;

  uint64_t bytes() const { return count * dtype_bytes[static_cast<int>(dtype)]; }
};

struct PlanOp {
  const OpSpec* spec;
  std::span<const int32_t> attributes; // as encoded: f32 as its bits
  std::span<Operand> operands;         // in the order of the op table, then the outputs
};

// What a device has made of a plan that is run again (Device::prepare).
class Prepared {
 public:
  virtual ~Prepared() = default;
};

class Plan {
 public:
  // Decodes and checks: whatever the words say, running the result touches no memory outside the operands' own.
  // Throws BAD_ARGUMENT for words that are not a plan. Buffers and weights live as long as the plan.
  Plan(std::vector<int32_t> words, const HostMemory& host, const BufferTable& buffers, const WeightTable& weights);
  Plan(const Plan&) = delete;

  const std::vector<PlanOp>& ops() const { return ops_; }
  uint64_t arena_bytes() const { return arena_bytes_; }
  const HostMemory& host() const { return host_; }
  // Points the operands of the plan's regions into them.
  void bind(const Places& places);
  // The outputs that the ops write: all that may be changed of host().outputs.
  std::vector<ByteRange> written_outputs() const;
  std::unique_ptr<Prepared> prepared;
  // Throws DEVICE_FAILED where the file of a weight has lost bytes since it was mapped.
  void need_whole_files() const;
  // A sentence about a file of a weight that has been written to since it was mapped; empty where there is none.
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
