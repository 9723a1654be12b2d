#include "weights/load-weight.h"

#include <string.h>

#include <algorithm>
#include <atomic>

#include "quern/failure.h"

namespace quern {

namespace {

using Made = std::shared_ptr<const Weight>;

// A weight of `count` matrices of equal shape.
struct Stack {
  std::vector<int64_t> shape;
  int64_t count, rows; // rows per matrix

  explicit Stack(const std::vector<int64_t>& shape, int64_t all_rows)
      : shape(shape), count(shape.size() == 3 ? shape[0] : 1), rows(all_rows / count) {}
};

int64_t tile_rows_of(int64_t rows) { return (rows + PACKED_ROWS - 1) / PACKED_ROWS; }

using Block = std::shared_ptr<uint8_t>;

WeightMemory owner_of(Block block) { return {{}, {std::move(block)}}; }

// Calls body(i, rows, count) for the i-th group of ≤ 16 rows of each matrix, on the pool's threads.
template <class Body>
void each_16_rows(const WeightRows& rows, const Stack& stack, ThreadPool& pool, const Body& body) {
  const int64_t tile_rows = tile_rows_of(stack.rows);
  std::vector<std::vector<uint8_t>> scratch(pool.threads(), std::vector<uint8_t>(PACKED_ROWS * rows.row_bytes()));
  pool.run(stack.count * tile_rows, [&](int64_t i, int thread) {
    const int64_t within = i % tile_rows * PACKED_ROWS, first = i / tile_rows * stack.rows + within;
    const int64_t count = std::min(PACKED_ROWS, stack.rows - within);
    body(i, first, rows.rows(first, count, scratch[thread].data()), count);
  });
}

// Each matrix starts a new row of tiles.
Made pack(const WeightRows& rows, const Stack& stack, ThreadPool& pool, PagePool& pages, std::vector<int32_t> order = {}) {
  const PackedFormat& layout = packed_format(rows.format());
  const int64_t tile_row = packed_rows_bytes(layout, rows.width()), tile_rows = tile_rows_of(stack.rows);
  Block tiles = pages.take(stack.count * tile_rows * tile_row);
  std::atomic<bool> shared = rows.format() == FORMAT_Q8_0;
  each_16_rows(rows, stack, pool, [&](int64_t i, int64_t, RowsInMemory from, int64_t count) {
    pack_rows(layout, from.data, from.stride, count, rows.width(), tiles.get() + i * tile_row);
    if (shared && !share_scales(from.data, from.stride, count, rows.width())) shared = false;
  });
  std::vector<Matrix> matrices;
  for (int64_t e = 0; e < stack.count; e++)
    matrices.push_back(Matrix::packed(rows.format(), stack.rows, rows.width(), tiles.get() + e * tile_rows * tile_row, shared));
  return std::make_shared<const Weight>(stack.shape, std::move(matrices), owner_of(std::move(tiles)), std::move(order));
}

// Copies all rows to new memory, one row after another.
Made copy(const WeightRows& rows, const Stack& stack, ThreadPool& pool, PagePool& pages, std::vector<int32_t> order = {}) {
  const int64_t row_bytes = rows.row_bytes();
  Block copied = pages.take(rows.count() * row_bytes);
  each_16_rows(rows, stack, pool, [&](int64_t, int64_t first, RowsInMemory from, int64_t count) {
    for (int64_t row = 0; row < count; row++)
      memcpy(copied.get() + (first + row) * row_bytes, from.data + row * from.stride, row_bytes);
  });
  std::vector<Matrix> matrices;
  for (int64_t e = 0; e < stack.count; e++)
    matrices.push_back(Matrix::stored(rows.format(), stack.rows, rows.width(), copied.get() + e * stack.rows * row_bytes));
  return std::make_shared<const Weight>(stack.shape, std::move(matrices), owner_of(std::move(copied)), std::move(order));
}

// Matrices over the bytes in place. Null if a matrix has several pieces, or if only some matrices are readable as floats.
Made in_place(const StoredRows& rows, const Stack& stack) {
  std::vector<Matrix> matrices;
  for (int64_t e = 0; e < stack.count; e++) {
    const uint8_t* const data = rows.in_place(e * stack.rows, stack.rows);
    if (!data) return nullptr;
    matrices.push_back(Matrix::stored(rows.format(), stack.rows, rows.width(), data));
    if (matrices[e].is_float() != matrices[0].is_float()) return nullptr;
  }
  return std::make_shared<const Weight>(stack.shape, std::move(matrices), rows.memory());
}

Made vector_of_floats(const StoredRows& rows, const Kernels& kernels, PagePool& pages) {
  const int64_t N = rows.count() * rows.width();
  std::vector<uint8_t> stored(rows.count() * rows.row_bytes());
  rows.copy(0, rows.count(), stored.data());
  Block floats = pages.take(N * sizeof(float));
  kernels.decode[rows.format()](stored.data(), reinterpret_cast<float*>(floats.get()), N);
  const Matrix matrix = Matrix::stored(FORMAT_F32, 1, N, floats.get());
  return std::make_shared<const Weight>(std::vector{N}, std::vector{matrix}, owner_of(std::move(floats)));
}

// Copied weights do not need the files any more.
Made once_read(const WeightRows& rows, Made weight) {
  rows.need_unchanged();
  rows.release_files();
  return weight;
}

template <class Source, class Load>
Made named(const Source& source, const Load& load) try {
  return load();
} catch (const Failure& failure) {
  throw Failure(failure.code, "weight '" + source.name + "': " + failure.what());
}

} // namespace

Made load_weight(const WeightSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool, PagePool& pages) {
  return named(source, [&]() -> Made {
    const StoredRows rows(source, files, pool);
    const size_t rank = source.shape.size();
    if (rank == 1) return once_read(rows, vector_of_floats(rows, kernels, pages));
    const Stack stack(source.shape, rows.count());
    if (rank <= 3 && kernels.packed_gemm[rows.format()]) return once_read(rows, pack(rows, stack, pool, pages));
    if (Made weight = in_place(rows, stack)) {
      rows.need_unchanged();
      return weight;
    }
    return once_read(rows, copy(rows, stack, pool, pages));
  });
}

Made load_gptq(const GptqSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool, PagePool& pages) {
  return named(source, [&] {
    const GptqRows rows(source, files, pool);
    const Stack matrix({source.N, source.K}, source.N);
    const auto make = kernels.packed_gemm[rows.format()] ? pack : copy;
    return once_read(rows, make(rows, matrix, pool, pages, rows.order()));
  });
}

} // namespace quern
