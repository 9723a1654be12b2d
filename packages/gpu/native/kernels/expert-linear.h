// y[r, j, n] = Σ_k x[r, k] · w[ids[r, j], n, k]. A warp per output; matrices are streamed as in linear-few.h. A bad id sets the
// fault, and matrix 0 stands in.
#pragma once
#include "fault-code.h"
#include "linear-few.h"

namespace quern {
namespace gpu {

template <class Stored>
struct ExpertLinear {
  Global<const float> x;  // [rows, depth]
  Global<const Stored> w; // [experts, columns, depth]
  Global<const int> ids;  // [rows, chosen]
  Global<float> y;        // [rows, chosen, columns]
  int rows, chosen, experts, columns, depth;
  Global<int> fault;
  int op;
};

template <class Format>
FUNCTION void expert_linear(Global<const float> x, Global<const typename Format::Stored> w, Global<const int> ids, Global<float> y,
                            int rows, int chosen, int experts, int columns, int depth, Global<int> fault, int op) {
  const int warps = block_threads() / WARP;
  const long count = long(rows) * chosen * columns;
  for (long i = long(block_index()) * warps + warp(); i < count; i += long(grid_blocks()) * warps) {
    const int pair = int(i / columns), n = int(i % columns);
    const int id = ids[pair];
    const bool known = id >= 0 && id < experts;
    if (!known && lane() == 0) flag(fault, op, OUT_OF_RANGE);
    const long matrix = known ? id : 0;
    few_columns<Format, 1, 1, 8>(x + long(pair / chosen) * depth, w + matrix * columns * depth, Global<const float>(),
                                 y + long(pair) * columns, 1, columns, depth, n);
  }
}

KERNEL(expert_linear_f32, ExpertLinear<float>) {
  expert_linear<F32>(args.x, args.w, args.ids, args.y, args.rows, args.chosen, args.experts, args.columns, args.depth, args.fault,
                     args.op);
}

KERNEL(expert_linear_f16, ExpertLinear<unsigned short>) {
  expert_linear<F16>(args.x, args.w, args.ids, args.y, args.rows, args.chosen, args.experts, args.columns, args.depth, args.fault,
                     args.op);
}

KERNEL(expert_linear_bf16, ExpertLinear<unsigned short>) {
  expert_linear<Bf16>(args.x, args.w, args.ids, args.y, args.rows, args.chosen, args.experts, args.columns, args.depth, args.fault,
                      args.op);
}

} // namespace gpu
} // namespace quern
