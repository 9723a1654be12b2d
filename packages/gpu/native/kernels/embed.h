// y[t] = table[ids[t]]: embed, gatherRows. A block per row of y.
#pragma once
#include "fault-code.h"
#include "formats/every.h"

namespace quern {
namespace gpu {

template <class Rows>
struct Lookup {
  Rows table;            // [rows, width]
  Global<const int> ids; // [blocks]
  Global<float> y;       // [blocks, width]
  int rows, width;
  Global<int> fault; // [2]
  int op;
};

// The id of this block's row; −1, with the fault set, if there is no such row.
FUNCTION int row_to_read(Global<const int> ids, int rows, Global<int> fault, int op) {
  const int id = ids[block_index()];
  if (id >= 0 && id < rows) return id;
  if (thread_index() == 0) flag(fault, op, OUT_OF_RANGE);
  return -1;
}

template <class Rows>
FUNCTION void look_up(Lookup<Rows> args) {
  const int id = row_to_read(args.ids, args.rows, args.fault, args.op);
  if (id < 0) return;
  const int64_t from = int64_t(id) * args.width, to = int64_t(block_index()) * args.width;
  for (int i = thread_index(); i < args.width; i += block_threads()) args.y[to + i] = args.table.at(from + i);
}

#define EMBED(Weights, name) \
  KERNEL(embed_##name, Lookup<Weights>) { look_up(args); }
EVERY_WEIGHT(EMBED)
#undef EMBED

KERNEL(gather_rows, Lookup<Dense<F32>>) { look_up(args); }

} // namespace gpu
} // namespace quern
