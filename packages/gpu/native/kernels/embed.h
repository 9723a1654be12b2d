// y[t] = table[ids[t]]: embed of a dense table, gatherRows. A block per row of y.
#pragma once
#include "fault-code.h"
#include "formats.h"

namespace quern {
namespace gpu {

template <class T>
struct Lookup {
  Global<const T> table; // [rows, width]
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

// y[block] = table[id], for id ≥ 0.
template <class Format>
FUNCTION void copy_row(Global<const typename Format::Stored> table, int id, Global<float> y, int width) {
  if (id < 0) return;
  const Global<const typename Format::Stored> from = table + long(id) * width;
  const Global<float> to = y + long(block_index()) * width;
  for (int i = thread_index(); i < width; i += block_threads()) to[i] = Format::value(from[i]);
}

KERNEL(embed_f32, Lookup<float>) {
  copy_row<F32>(args.table, row_to_read(args.ids, args.rows, args.fault, args.op), args.y, args.width);
}

KERNEL(embed_f16, Lookup<unsigned short>) {
  copy_row<F16>(args.table, row_to_read(args.ids, args.rows, args.fault, args.op), args.y, args.width);
}

KERNEL(embed_bf16, Lookup<unsigned short>) {
  copy_row<Bf16>(args.table, row_to_read(args.ids, args.rows, args.fault, args.op), args.y, args.width);
}

KERNEL(gather_rows, Lookup<float>) {
  copy_row<F32>(args.table, row_to_read(args.ids, args.rows, args.fault, args.op), args.y, args.width);
}

} // namespace gpu
} // namespace quern
