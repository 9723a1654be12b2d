// y[t, n] = Σ_k x[t, k] · w[n, k] + bias[n] for values of bf16 and many rows, on tensor cores of sm_90a. One thread of a block copies steps
// of 64 of k to a ring of stages (TMA), two warpgroups multiply them from there (wgmma), each 64 rows by the tile's columns. A block goes
// from tile to tile: while one is stored, the next ones are copied. Tensor cores keep the sums, in ascending order of k.
#pragma once
#include "product-bf16.h"
#include "warpgroup-tiles.h"

namespace quern {
namespace gpu {

// The stage of a step, and the parity of its turn; steps are counted over all tiles of a block.
template <int STAGES>
struct Turn {
  int stage, parity;
  FUNCTION void next() {
    stage = stage + 1 == STAGES ? 0 : stage + 1;
    parity ^= stage == 0;
  }
};

// A stage's barriers: `filled` by the bytes of a step, `free` by an arrival of every warp that has multiplied it.
template <class Tile>
struct Ring {
  Shared<Uint4> stages;
  Barriers filled, free;

  FUNCTION Shared<Uint4> x(int stage) const { return stages + stage * Tile::stage; }
  FUNCTION Shared<Uint4> w(int stage) const { return stages + (stage * Tile::stage + Tile::rows * STEP_EIGHTS); }
  FUNCTION void begin() const {
    for (int i = 0; i < Tile::stages; i++) {
      begin_barrier(filled + i, 1);
      begin_barrier(free + i, Tile::multipliers * WARPGROUP / WARP);
    }
    barriers_begun();
    writes_before_copies();
  }
};

FUNCTION int tiles_of(const ProductBf16& of, int tile_rows, int tile_columns) {
  const int steps = (of.depth + STEP - 1) / STEP;
  return (of.rows + tile_rows - 1) / tile_rows * ((of.columns + tile_columns - 1) / tile_columns) *
         ((steps + of.steps_of_part - 1) / of.steps_of_part);
}

// Every tile of a block: use(place).
template <class Tile, class F>
FUNCTION void each_tile(const ProductBf16& of, const F& use) {
  const int tiles = tiles_of(of, Tile::rows, Tile::columns);
  for (int tile = block_index(); tile < tiles; tile += grid_blocks()) use(block_of_product<Tile>(of, tile));
}

template <class Tile>
FUNCTION void copy_tiles(const Ring<Tile>& ring, const WarpgroupProduct& args) {
  Turn<Tile::stages> turn = {0, 0};
  prefetch_map(args.x);
  prefetch_map(args.w);
  each_tile<Tile>(args.of, [&](const BlockOfProduct& tile) {
    for (int step = 0; step < tile.steps; step++, turn.next()) {
      const int k = (tile.first + step) * STEP;
      wait_for_phase(ring.free + turn.stage, turn.parity ^ 1); // in the first turn: nothing
      arrive_expecting(ring.filled + turn.stage, Tile::step_bytes);
      copy_tensor(ring.x(turn.stage), args.x, k, tile.row, ring.filled + turn.stage);
      copy_tensor(ring.w(turn.stage), args.w, k, tile.column, ring.filled + turn.stage);
    }
  });
}

// The steps of a tile. Products of a step run until those of the next one are issued; then its stage is free.
template <class Tile>
FUNCTION void multiply_tile(WarpgroupSums<Tile::columns>& sums, const Ring<Tile>& ring, int steps, Turn<Tile::stages>& turn) {
  const int row = (warp() / (WARPGROUP / WARP) - 1) * 64;
  int before = 0; // stage
  for (int step = 0; step < steps; step++) {
    wait_for_phase(ring.filled + turn.stage, turn.parity);
    const uint64_t x = operand_at(shared_address(ring.x(turn.stage) + row * STEP_EIGHTS));
    const uint64_t w = operand_at(shared_address(ring.w(turn.stage)));
    keep_order(sums);
    products_begin();
    UNROLL for (int k = 0; k < STEP / 16; k++) multiply_bf16(sums, x + 2 * k, w + 2 * k, step > 0 || k > 0);
    products_commit();
    products_wait<1>();
    if (step > 0 && lane() == 0) arrive(ring.free + before);
    before = turn.stage;
    turn.next();
  }
  products_wait<0>();
  keep_order(sums);
  if (lane() == 0) arrive(ring.free + before);
}

// bias: from the thread's first column on; columns: that are left there.
template <int COLUMNS>
FUNCTION void add_bias(WarpgroupSums<COLUMNS>& sums, Global<const float> bias, int columns) {
  UNROLL for (int n = 0; n < COLUMNS / 8; n++)
    UNROLL for (int i = 0; i < 2; i++) {
      const float value = n * 8 + i < columns ? float(bias[n * 8 + i]) : 0.0f;
      sums.values[n * 4 + i] += value, sums.values[n * 4 + 2 + i] += value;
    }
}

// A thread's outputs of one of its rows. A quad of lanes stores 32 bytes together: whole sectors.
template <int COLUMNS>
FUNCTION void store_whole_row(Global<float> y, const WarpgroupSums<COLUMNS>& sums, int half) {
  UNROLL for (int n = 0; n < COLUMNS / 8; n++) {
    const unsigned first = to_bits(sums.values[n * 4 + half * 2]), second = to_bits(sums.values[n * 4 + half * 2 + 1]);
    as<uint64_t>(y + n * 8)[0] = first | static_cast<uint64_t>(second) << 32;
  }
}
// Its first `columns` places.
template <int COLUMNS>
FUNCTION void store_part_of_row(Global<float> y, const WarpgroupSums<COLUMNS>& sums, int half, int columns) {
  UNROLL for (int n = 0; n < COLUMNS / 8; n++)
    UNROLL for (int i = 0; i < 2; i++)
      if (n * 8 + i < columns) y[n * 8 + i] = sums.values[n * 4 + half * 2 + i];
}

template <class Tile>
FUNCTION void store_sums(const ProductBf16& of, WarpgroupSums<Tile::columns>& sums, const BlockOfProduct& tile) {
  const int row = tile.row + (warp() - WARPGROUP / WARP) * 16 + lane() / 4, column = tile.column + lane() % 4 * 2;
  const bool pairs = of.y_pitch % 2 == 0 && of.part_pitch % 2 == 0 && aligned(of.y);
  const bool whole = pairs && tile.column + Tile::columns <= of.columns;
  const Global<float> y = of.y + (tile.part * of.part_pitch + int64_t(row) * of.y_pitch + column);
  if (of.bias) add_bias(sums, of.bias + column, of.columns - column);
  UNROLL for (int half = 0; half < 2; half++) {
    if (row + half * 8 >= of.rows) continue;
    if (whole) store_whole_row(y + int64_t(half) * 8 * of.y_pitch, sums, half);
    else store_part_of_row(y + int64_t(half) * 8 * of.y_pitch, sums, half, of.columns - column);
  }
}

template <class Tile>
FUNCTION void multiply_tiles(const Ring<Tile>& ring, const WarpgroupProduct& args) {
  Turn<Tile::stages> turn = {0, 0};
  each_tile<Tile>(args.of, [&](const BlockOfProduct& tile) {
    WarpgroupSums<Tile::columns> sums;
    multiply_tile<Tile>(sums, ring, tile.steps, turn);
    store_sums<Tile>(args.of, sums, tile);
  });
}

// Registers of a processor: 65536 ≥ 128 · (40 + 2 · 232).
template <class Tile>
FUNCTION void product_warpgroups(Shared<Uint4> shared, const WarpgroupProduct& args) {
  const Barriers barriers = barriers_at(shared + Tile::stages * Tile::stage);
  const Ring<Tile> ring = {shared, barriers, barriers + Tile::stages};
  if (thread_index() == 0) ring.begin();
  barrier();
  if (warp() < WARPGROUP / WARP) {
    give_registers<40>();
    if (thread_index() == 0) copy_tiles<Tile>(ring, args);
  } else {
    take_registers<232>();
    multiply_tiles<Tile>(ring, args);
  }
}

#define PRODUCT_WARPGROUPS(name, Tile)                                                       \
  KERNEL_OF_MAPS(product_bf16_warpgroups_##name, WarpgroupProduct, Tile::threads, 1) {       \
    WARPGROUPS(LARGE_SHARED(Uint4, shared, Tile::places); product_warpgroups<Tile>(shared, args);) \
  }
PRODUCT_WARPGROUPS(128x256, WarpgroupTile128x256)
PRODUCT_WARPGROUPS(128x128, WarpgroupTile128x128)
#undef PRODUCT_WARPGROUPS

} // namespace gpu
} // namespace quern
