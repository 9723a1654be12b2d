// The gated delta rule (Yang et al. 2024, equation 10). For each row of a sequence and head, with its state S [dk, dv]:
// S ← e^decay · S; S ← S + k · (beta · (v − Sᵀ · k))ᵀ; y = scale · Sᵀ · q. Columns of S have no part in each other: a block per sequence,
// head and tile of columns. A thread holds DELTA_ROWS rows of one column, from the first row of the sequence to the last.
#pragma once
#include "row-fours.h"
#include "state-rows.h"

namespace quern {
namespace gpu {

CONSTANT int DELTA_ROWS = 32;
CONSTANT int DELTA_THREADS = 512; // of a block
CONSTANT int DELTA_COLUMNS = 32;  // of a block; fewer where a column takes more threads
CONSTANT int DELTA_STEPS = 16;    // rows of the sequence in shared memory
CONSTANT int DELTA_WIDTH = 2048;  // dk at most; numbers of k in shared memory

struct GatedDelta {
  Global<const float> q, k;        // [rows, key_heads, dk]
  Global<const float> v;           // [rows, heads, dv]
  Global<const float> decay, beta; // [rows, heads]
  Global<float> y;                 // [rows, heads, dv]
  StateBatch batch;                // a state: [heads, dk, dv]
  int key_heads, heads, dk, dv;
  int columns, tiles; // of a block, of dv
  float scale;
  int tiled; // 0: head h has key head h / (heads / key_heads), 1: h % key_heads
};

struct DeltaSpace {
  Shared<Float4> q, k;            // [steps, fours of a column]; 0 from dk on
  Shared<float> v;                // [steps, DELTA_COLUMNS]; 0 from dv on
  Shared<float> factors, betas;   // [steps]; factors: e^decay
  Shared<float> recalls, results; // [parts of a column, columns]
};

// A thread's part of the block's share.
struct DeltaShare {
  int head, key_head;
  int part, parts;     // of the column
  int column, in_tile; // of S, of the tile
  int held;            // rows of the column: DELTA_ROWS, fewer at its end
};

FUNCTION DeltaShare delta_share(ARGUMENTS const GatedDelta& args) {
  const int tile = block_index() % args.tiles, head = block_index() / args.tiles % args.heads;
  const int in_tile = thread_index() % args.columns, part = thread_index() / args.columns;
  const int column = tile * args.columns + in_tile, left = args.dk - part * DELTA_ROWS;
  const int held = column >= args.dv || left < 0 ? 0 : left < DELTA_ROWS ? left : DELTA_ROWS;
  const int key_head = args.tiled ? head % args.key_heads : head / (args.heads / args.key_heads);
  return {head, key_head, part, block_threads() / args.columns, column, in_tile, held};
}

// The first number that a thread holds of a state.
FUNCTION int64_t place_in_state(ARGUMENTS const GatedDelta& args, DeltaShare share, int slot) {
  const int64_t head = int64_t(slot) * args.heads + share.head;
  return (head * args.dk + share.part * DELTA_ROWS) * args.dv + share.column;
}

// Rows of a column; 0 behind the last.
struct DeltaColumn {
  float of[DELTA_ROWS];
};

FUNCTION DeltaColumn read_column(Global<const float> state, int held, int dv) {
  DeltaColumn S = {};
  UNROLL for (int i = 0; i < DELTA_ROWS; i++)
    if (i < held) S.of[i] = state[int64_t(i) * dv];
  return S;
}

FUNCTION void write_column(Global<float> state, THREAD const DeltaColumn& S, int held, int dv) {
  UNROLL for (int i = 0; i < DELTA_ROWS; i++)
    if (i < held) state[int64_t(i) * dv] = S.of[i];
}

// x[at .. at + 4), 0 from `width` on.
FUNCTION Float4 padded_four(Global<const float> x, int at, int width) {
  if (at < width && row_is_wide(x, width)) return as<const Float4>(x + at)[0];
  float four[4];
  UNROLL for (int i = 0; i < 4; i++) four[i] = at + i < width ? float(x[at + i]) : 0.0f;
  return Float4{four[0], four[1], four[2], four[3]};
}

// Row t of the batch into place `step`, by the lanes of a warp.
FUNCTION void stage_step(ARGUMENTS const GatedDelta& args, DeltaShare share, DeltaSpace space, int t, int step) {
  const int fours = share.parts * (DELTA_ROWS / 4), first_column = share.column - share.in_tile;
  const int64_t key = int64_t(t) * args.key_heads + share.key_head, value = int64_t(t) * args.heads + share.head;
  for (int i = lane(); i < fours; i += WARP) {
    space.q[step * fours + i] = padded_four(args.q + key * args.dk, 4 * i, args.dk);
    space.k[step * fours + i] = padded_four(args.k + key * args.dk, 4 * i, args.dk);
  }
  for (int i = lane(); i < args.columns; i += WARP)
    space.v[step * DELTA_COLUMNS + i] = first_column + i < args.dv ? float(args.v[value * args.dv + first_column + i]) : 0.0f;
  if (lane() == 0) {
    space.factors[step] = exponential(args.decay[value]);
    space.betas[step] = args.beta[value];
  }
}

// Σ k · S over the rows that the thread holds, as four sums: one would wait for itself.
FUNCTION float recall(THREAD const DeltaColumn& S, Shared<Float4> k, int held) {
  float sums[4] = {};
  UNROLL for (int i = 0; i < DELTA_ROWS; i += 4)
    if (i < held) {
      const Float4 keys = k[i / 4];
      UNROLL for (int j = 0; j < 4; j++) sums[j] += keys[j] * S.of[i + j];
    }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// S ← factor · S + k · change. Σ q · S over the rows that the thread holds.
FUNCTION float advance_column(THREAD DeltaColumn& S, float factor, float change, Shared<Float4> k, Shared<Float4> q, int held) {
  float sums[4] = {};
  UNROLL for (int i = 0; i < DELTA_ROWS; i += 4)
    if (i < held) {
      const Float4 keys = k[i / 4], queries = q[i / 4];
      UNROLL for (int j = 0; j < 4; j++) {
        S.of[i + j] = factor * S.of[i + j] + keys[j] * change;
        sums[j] += queries[j] * S.of[i + j];
      }
    }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The sum of the parts of the thread's column.
FUNCTION float sum_of_parts(ARGUMENTS const GatedDelta& args, DeltaShare share, Shared<float> parts) {
  float sum = 0;
  for (int part = 0; part < share.parts; part++) sum += parts[part * args.columns + share.in_tile];
  return sum;
}

// y of the row in place `step`, in the threads of part 0.
FUNCTION float delta_step(ARGUMENTS const GatedDelta& args, DeltaShare share, DeltaSpace space, int step, THREAD DeltaColumn& S) {
  const int first = (step * share.parts + share.part) * (DELTA_ROWS / 4);
  space.recalls[thread_index()] = recall(S, space.k + first, share.held);
  barrier();
  const float factor = space.factors[step], recalled = factor * sum_of_parts(args, share, space.recalls);
  const float change = space.betas[step] * (space.v[step * DELTA_COLUMNS + share.in_tile] - recalled);
  space.results[thread_index()] = advance_column(S, factor, change, space.k + first, space.q + first, share.held);
  barrier();
  return share.part == 0 ? args.scale * sum_of_parts(args, share, space.results) : 0;
}

FUNCTION void delta_rows(ARGUMENTS const GatedDelta& args, DeltaShare share, DeltaSpace space, StateRows rows, THREAD DeltaColumn& S) {
  const int room = DELTA_WIDTH / (share.parts * DELTA_ROWS), steps = room < DELTA_STEPS ? room : DELTA_STEPS;
  for (int first = rows.first; first < rows.end; first += steps) {
    const int count = rows.end - first < steps ? rows.end - first : steps;
    // What was staged before is read: delta_step has a barrier behind the last read.
    for (int step = warp(); step < count; step += block_threads() / WARP) stage_step(args, share, space, first + step, step);
    barrier();
    for (int step = 0; step < count; step++) {
      const float y = delta_step(args, share, space, step, S);
      if (share.part == 0 && share.column < args.dv)
        args.y[(int64_t(first + step) * args.heads + share.head) * args.dv + share.column] = y;
    }
  }
}

KERNEL_OF(gated_delta, GatedDelta, DELTA_THREADS, 1) {
  SHARED(Float4, q, DELTA_WIDTH / 4);
  SHARED(Float4, k, DELTA_WIDTH / 4);
  SHARED(float, v, DELTA_STEPS * DELTA_COLUMNS);
  SHARED(float, factors, DELTA_STEPS);
  SHARED(float, betas, DELTA_STEPS);
  SHARED(float, recalls, DELTA_THREADS);
  SHARED(float, results, DELTA_THREADS);
  if (!batch_fits(args.batch)) return;
  const StateRows rows = rows_of_sequence(args.batch, block_index() / args.tiles / args.heads);
  const DeltaShare share = delta_share(args);
  const Global<float> state = args.batch.state;
  DeltaColumn S = {};
  if (rows.from >= 0) S = read_column(state + place_in_state(args, share, rows.from), share.held, args.dv);
  delta_rows(args, share, {q, k, v, factors, betas, recalls, results}, rows, S);
  if (rows.to >= 0) write_column(state + place_in_state(args, share, rows.to), S, share.held, args.dv);
}

} // namespace gpu
} // namespace quern
