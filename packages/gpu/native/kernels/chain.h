// The update between two replays of a chain (Chain of quern/chain.h). One block; a thread per row.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct AdvanceChain {
  Global<const int> output;        // [rows]: tokens of this replay
  Global<const int> fault;         // [2]: see flag()
  Global<int> record;              // [2 + rows]: fault, tokens
  Global<int> limits;              // [rows]: tokens with which a row ends
  Global<const int> stops;         // [stop_count]
  Global<const int64_t> growing;   // [growing_count]: places
  Global<int> inputs;              // words of the plan's inputs. Places in them, of [rows] words:
  int64_t feed, slots, positions;  // slots −1: no slots
  int64_t table;                   // of [rows, blocks] words
  int rows, stop_count, growing_count, blocks, block_size;
  int done;                     // number of this replay, from 1 on
};

FUNCTION bool stops_at(ARGUMENTS const AdvanceChain& args, int token) {
  for (int i = 0; i < args.stop_count; i++)
    if (args.stops[i] == token) return true;
  return false;
}

FUNCTION void grow(ARGUMENTS const AdvanceChain& args, int row, unsigned by) {
  for (int i = 0; i < args.growing_count; i++) {
    const int64_t at = args.growing[i] + row;
    args.inputs[at] = int(unsigned(args.inputs[at]) + by);
  }
}

// False: the row has no slot for its position.
FUNCTION bool set_slot(ARGUMENTS const AdvanceChain& args, int row) {
  const int position = args.inputs[args.positions + row];
  if (position < 0 || position / args.block_size >= args.blocks) return false;
  const int block = args.inputs[args.table + int64_t(row) * args.blocks + position / args.block_size];
  args.inputs[args.slots + row] = int(unsigned(block) * unsigned(args.block_size) + unsigned(position % args.block_size));
  return true;
}

// False, and nothing has changed: the row has no slot.
FUNCTION bool advance_row(ARGUMENTS const AdvanceChain& args, int row, int token) {
  const int fed = args.inputs[args.feed + row];
  args.inputs[args.feed + row] = token;
  grow(args, row, 1);
  if (args.slots < 0 || set_slot(args, row)) return true;
  grow(args, row, -1u);
  args.inputs[args.feed + row] = fed;
  return false;
}

// The inputs of a row that has ended stay, and all after a fault. The host finds the row without a slot, and tells it.
KERNEL(advance_chain, AdvanceChain) {
  if (thread_index() < 2) args.record[thread_index()] = args.fault[thread_index()];
  for (int row = thread_index(); row < args.rows; row += block_threads()) {
    const int token = args.output[row];
    args.record[2 + row] = token;
    if (args.fault[0] != 0 || args.done >= args.limits[row]) continue;
    if (stops_at(args, token) || !advance_row(args, row, token)) args.limits[row] = args.done;
  }
}

} // namespace gpu
} // namespace quern
