// Rows of a matrix on their way to tensor cores: loaded as stored, decoded when the chunk before has been multiplied, as parts of bf16
// in shared memory.
#pragma once
#include "../row-eight.h"
#include "bf16-parts.h"

namespace quern {
namespace gpu {

constexpr int CHUNK = 32, EIGHTS = CHUNK / 8; // EIGHTS: 16 bytes of a row of a chunk
constexpr int WARPS_DOWN = 2, WARPS_ACROSS = 4, TILE_THREADS = WARPS_DOWN * WARPS_ACROSS * WARP;

// Where eight values of a row are in shared memory: rows that a warp reads together meet no bank twice.
FUNCTION int eight_at(int row, int eight) { return row * EIGHTS + (eight ^ (row / 2 % EIGHTS)); }

// Eight values, the first at place `k` of the row, as PARTS numbers of bf16; at: their place in each part of PART.
template <int PARTS, int PART, class Matrix>
FUNCTION void store_parts(Shared<Uint4> parts, int at, const RowEight<Matrix>& stored, int k) {
  Eight eight = stored.values(k);
  UNROLL for (int p = 0; p < PARTS - 1; p++) parts[p * PART + at] = take_part<false>(eight);
  parts[(PARTS - 1) * PART + at] = take_part<true>(eight);
}
template <int PARTS, int PART>
FUNCTION void store_parts(Shared<Uint4> parts, int at, const RowEight<Dense<Bf16>>& stored, int) {
  static_assert(PARTS == 1, "a number of bf16 is one part");
  parts[at] = Uint4{stored.words[0], stored.words[1], stored.words[2], stored.words[3]};
}

// The row of a tile that a thread loads as its i-th.
FUNCTION int row_of_load(int i) { return (thread_index() + i * TILE_THREADS) / EIGHTS; }

// ROWS rows of a matrix, CHUNK of k at a time. Loads wait in registers while the chunk before is multiplied.
template <class Matrix, int ROWS, int PARTS>
struct TileRows {
  static constexpr int LOADS = (ROWS * EIGHTS + TILE_THREADS - 1) / TILE_THREADS; // of a thread
  Matrix matrix;
  int depth;
  bool wide;
  int rows[LOADS]; // of the matrix; −1: none
  RowEight<Matrix> eights[LOADS];

  FUNCTION void load(int k) {
    const int at = k + thread_index() % EIGHTS * 8;
    UNROLL for (int i = 0; i < LOADS; i++)
      eights[i].load(matrix, int64_t(rows[i]) * depth + at, wide, rows[i] < 0 ? 0 : depth - at);
  }
  FUNCTION void store(Shared<Uint4> parts) const {
    const int eight = thread_index() % EIGHTS;
    UNROLL for (int i = 0; i < LOADS; i++) {
      const int row = row_of_load(i);
      if (row < ROWS) store_parts<PARTS, ROWS * EIGHTS>(parts, eight_at(row, eight), eights[i], eight * 8);
    }
  }
};

} // namespace gpu
} // namespace quern
