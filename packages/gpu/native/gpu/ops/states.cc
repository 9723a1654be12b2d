// Ops that keep a state of fixed size per sequence.
#include "gpu/op-call.h"
#include "gpu/ops/ops.h"
#include "kernels/gated-delta.h"
#include "kernels/short-conv.h"
#include "quern/failure.h"

namespace quern::gpu {

// cuSeqlens [S + 1], states [S, 2], state [slots, 1, heads, width] of an op on T rows. Kernels check the values.
template <class Op>
static StateBatch state_batch(const OpCall& op, int64_t T, int64_t heads, int64_t width) {
  const Operand &states = op.operand(Op::STATES), &state = op.operand(Op::STATE);
  op.need(state.rank == 4 && state.dtype == DType::f32 && state.shape[1] == 1 && state.shape[2] == heads && state.shape[3] == width,
          "the state must be f32 [slots, 1, heads, width]");
  op.need(states.rank == 2 && states.shape[1] == 2 && op.operand(Op::CU_SEQLENS).count == states.shape[0] + 1,
          "states must be [S, 2], cuSeqlens [S + 1]");
  if (states.count == 0 && T > 0) op.out_of_range("cuSeqlens must run from 0 to %lld (rows); there are no sequences", (long long)T);
  return {op.ids(Op::CU_SEQLENS), op.ids(Op::STATES), reinterpret_cast<float*>(state.data), op.small(T), op.small(states.shape[0]),
          op.small(state.shape[0]), op.fault, op.index};
}

// Parts of the rows of each sequence: enough for the processors, and not of a few rows.
static int64_t parts_of_rows(const OpCall& op, int64_t T, int64_t blocks) {
  constexpr int64_t blocks_of_processor = 8, least_rows = 4;
  return std::clamp<int64_t>(op.processors() * blocks_of_processor / blocks, 1, std::max<int64_t>(T / least_rows, 1));
}

void short_conv(const OpCall& op) {
  using Op = ShortConvOp;
  const quern::Floats x = op.floats(Op::X, 2), y = op.floats(Op::Y, 2);
  const GpuWeight& w = op.weight(Op::WEIGHT, 2);
  const int64_t T = x.shape[0], D = x.width(), L = w.shape()[1];
  op.need(x.same_shape(y) && w.shape()[0] == D && w.format().dense, "y must have the shape of x, the weight be dense [D, L]");
  const StateBatch batch = state_batch<Op>(op, T, L - 1, D);
  if (D == 0 || batch.sequences == 0) return;
  const int threads = threads_of_row(D);
  const int64_t tiles = (D + threads - 1) / threads, parts = parts_of_rows(op, T, batch.sequences * tiles);
  op.launch(kernel_for("short_conv", w), batch.sequences * parts * tiles, threads,
            ShortConv<Address>{x.data, {w.data()}, op.vector(Op::BIAS, D), y.data, batch, op.small(D), op.small(L), op.small(parts),
                               op.small(tiles)});
}

// Threads that share a column: the block has whole warps.
static int parts_of_column(int64_t dk, int columns) {
  const int of_warp = WARP / columns, parts = int(std::max<int64_t>((dk + DELTA_ROWS - 1) / DELTA_ROWS, 1));
  return (parts + of_warp - 1) / of_warp * of_warp;
}

static int columns_of_block(int64_t dk) {
  int columns = DELTA_COLUMNS;
  while (parts_of_column(dk, columns) * columns > DELTA_THREADS) columns /= 2;
  return columns;
}

void gated_delta(const OpCall& op) {
  using Op = GatedDeltaOp;
  const quern::Floats q = op.floats(Op::Q, 3), k = op.floats(Op::K, 3), v = op.floats(Op::V, 3), y = op.floats(Op::Y, 3);
  const quern::Floats decay = op.floats(Op::DECAY, 2), beta = op.floats(Op::BETA, 2);
  const int64_t T = q.shape[0], Hk = q.shape[1], dk = q.width(), Hv = v.shape[1], dv = v.width();
  op.need(q.same_shape(k) && v.same_shape(y) && v.shape[0] == T && Hk > 0 && Hv % Hk == 0,
          "q and k must be [T, Hk, dk], v and y [T, Hv, dv]");
  op.need(decay.same_shape(beta) && decay.shape[0] == T && decay.width() == Hv, "decay and beta must be [T, Hv]");
  if (dk > DELTA_WIDTH)
    fail(Code::unsupported, "[%s] heads of %lld elements; this device has kernels up to %d", op.name(), (long long)dk, DELTA_WIDTH);
  const StateBatch batch = state_batch<Op>(op, T, Hv, dk * dv);
  const int columns = columns_of_block(dk);
  const int64_t tiles = (dv + columns - 1) / columns;
  const GatedDelta args{q.data, k.data, v.data, decay.data, beta.data, y.data, batch, op.small(Hk), op.small(Hv), op.small(dk),
                        op.small(dv), columns, op.small(tiles), op.number(Op::SCALE), op.integer(Op::TILED)};
  op.launch("gated_delta", batch.sequences * Hv * tiles, parts_of_column(dk, columns) * columns, args);
}

}  // namespace quern::gpu
