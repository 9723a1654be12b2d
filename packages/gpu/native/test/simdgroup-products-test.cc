// Products on matrices of simdgroups (kernels/metal/linear-tiles.h), against sums in float64: every format, and mixtures.
#include "kernels/expert-order.h"
#include "kernels/metal/linear-tiles.h"
#include "test/block-weights.h"
#include "test/products.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

// A dense weight: its values, and the array of the device.
template <class Format>
class DenseWeight {
 public:
  DenseWeight(int rows, int depth, uint64_t seed) : values_(weights<Format>(rows * depth, seed)), array_(values_) {}
  Dense<Format> matrix() const { return {array_.global()}; }
  double value(int64_t i) const { return Format::value(values_[size_t(i)]); }
  static std::string name_of(const char* stem) { return kernel<Format>(stem); }

 private:
  const std::vector<typename Format::Stored> values_;
  const Array<typename Format::Stored> array_;
};

template <class Format>
struct BlockWeight : Weight<Format> {
  using Weight<Format>::Weight;
  Planes matrix() const { return this->planes(); }
};

struct Shape {
  int rows, columns, depth;
  bool biased = true;
};

struct Tile {
  const char* stem;
  int rows;
};
constexpr Tile tall{"linear_tile", 64}, strip{"linear_strip", 16};
constexpr int tile_columns = 64, tile_threads = 128;
int blocks_of(int tiles, int columns) { return tiles * ((columns + tile_columns - 1) / tile_columns); }

// y[t, n] of weights whose row n of expert e is e · columns + n. expert_of(t), and x_row(t): the row of x.
template <class W, class E, class X>
std::vector<Sum> sums(const W& w, const std::vector<float>& x, const float* bias, Shape shape, const E& expert_of, const X& x_row) {
  std::vector<Sum> all;
  for (int t = 0; t < shape.rows; t++)
    for (int n = 0; n < shape.columns; n++) {
      Sum sum;
      if (bias) sum.add(bias[n]);
      for (int k = 0; k < shape.depth; k++)
        sum.add(double(x[size_t(x_row(t) * shape.depth + k)]) * w.value((int64_t(expert_of(t)) * shape.columns + n) * shape.depth + k));
      all.push_back(sum);
    }
  return all;
}

// Tiles and strips agree with float64 and with each other, bit by bit; so does the last row alone.
template <class W>
void products_agree(const Shape& shape, double relative = 2e-6) {
  const auto [rows, columns, depth, biased] = shape;
  const W w(columns, depth, 7);
  const std::vector<float> x = numbers(rows * depth, 1), bias = numbers(columns, 2);
  const Array<float> x_array(x), bias_array(bias), y(size_t(rows * columns));
  const auto expected = sums(w, x, biased ? bias.data() : nullptr, shape, [](int) { return 0; }, [](int t) { return t; });
  const auto product = [&](const Tile& tile, int first) {
    TileLinear<decltype(w.matrix())> args{};
    args.of = {x_array.global() + first * depth, w.matrix(), {}, y.global() + first * columns, rows - first, columns, depth};
    if (biased) args.of.bias = bias_array.global();
    args.experts.chosen = 1;
    const std::string name = W::name_of(tile.stem);
    y.write(std::vector<float>(y.values().size(), NAN));
    launched<2>(name.c_str(), blocks_of((rows - first + tile.rows - 1) / tile.rows, columns), tile_threads, args, [] {});
    return y.values();
  };
  const std::vector<float> whole = product(tall, 0), last = product(strip, rows - 1);
  close(W::name_of("linear_tile"), whole, expected, relative);
  equal(W::name_of("linear_strip").c_str(), product(strip, 0), whole);
  check(memcmp(&last[last.size() - size_t(columns)], &whole[whole.size() - size_t(columns)], size_t(columns) * 4) == 0,
        "%s: the last row alone has other bits", W::name_of("linear_strip").c_str());
}

// Expert 3 has many pairs, expert 1 none.
std::vector<int> uneven_ids(int pairs) {
  std::vector<int> ids;
  for (int i = 0; i < pairs; i++) ids.push_back(i % 7 == 0 ? 4 : i % 5 == 0 ? 2 : i % 3 == 0 ? 0 : 3);
  return ids;
}

constexpr int experts = 5;

// The pairs of experts in tiles of a height, by the device.
struct Ordered {
  const int pairs, height, tiles;
  const Array<int> ids, counts{size_t(experts)}, rows, of_tile, fault{std::vector<int>{0, 0}};

  Ordered(const std::vector<int>& given, int height)
      : pairs(int(given.size())), height(height), tiles((pairs + experts * (height - 1)) / height), ids(given),
        rows(size_t(tiles * height)), of_tile(size_t(tiles)) {
    const ExpertOrder args{ids.global(), counts.global(), rows.global(), of_tile.global(), pairs, experts, tiles, height, fault.global(), 7};
    launched<1>("expert_counts", experts, ORDER_THREADS, args, [] {});
    launched<1>("expert_order", experts, ORDER_THREADS, args, [] {});
  }
};

template <class W>
void mixtures_agree(int rows, int columns, int depth, int chosen, double relative = 2e-6) {
  const W w(experts * columns, depth, 3);
  const Shape shape{rows * chosen, columns, depth, false};
  const std::vector<float> x = numbers(rows * depth, 1);
  const std::vector<int> ids = uneven_ids(shape.rows);
  const Array<float> x_array(x), y(size_t(shape.rows * columns));
  const auto expected = sums(w, x, nullptr, shape, [&](int t) { return ids[size_t(t)]; }, [&](int t) { return t / chosen; });
  const auto product = [&](const Tile& tile) {
    const Ordered order(ids, tile.rows);
    const TileLinear<decltype(w.matrix())> args{
        {x_array.global(), w.matrix(), {}, y.global(), order.tiles * tile.rows, columns, depth},
        {order.rows.global(), order.of_tile.global(), chosen}};
    const std::string name = W::name_of(tile.stem);
    y.write(std::vector<float>(y.values().size(), NAN));
    launched<2>(name.c_str(), blocks_of(order.tiles, columns), tile_threads, args,
                [&] { close(name + " of experts", y.values(), expected, relative); });
    return y.values();
  };
  check(product(tall) == product(strip), "%s of experts: other bits than in strips", W::name_of("linear_tile").c_str());
}

template <class Format>
void dense_agrees() {
  for (const Shape& shape : {Shape{9, 1, 1}, {17, 70, 33, false}, {65, 64, 32}, {130, 33, 100, false}, {16, 65, 7}, {33, 129, 71}})
    products_agree<DenseWeight<Format>>(shape);
  mixtures_agree<DenseWeight<Format>>(50, 70, 40, 2);
  mixtures_agree<DenseWeight<Format>>(150, 9, 31, 1);
}

constexpr double of_blocks = 8e-6; // a decoded value may be a difference of larger floats

template <class Format>
void blocks_agree(const char* name) {
  Weight<Format>::name = name;
  products_agree<BlockWeight<Format>>({9, 66, 256}, of_blocks);
  products_agree<BlockWeight<Format>>({70, 5, 512, false}, of_blocks);
  mixtures_agree<BlockWeight<Format>>(20, 5, 256, 2, of_blocks);
}

// Every tile of outputs has one block, whatever the groups.
template <int ROWS>
void each_tile_has_a_block(int rows, int columns, int depth) {
  const int down = (rows + ROWS - 1) / ROWS, across = (columns + tile_columns - 1) / tile_columns;
  std::vector<int> blocks(size_t(down * across));
  for (int block = 0; block < down * across; block++) {
    const TilePlace at = tile_place<ROWS>(block, rows, columns, depth);
    const bool inside = at.row >= 0 && at.row < down && at.column >= 0 && at.column < across;
    if (inside) blocks[size_t(at.row * across + at.column)]++;
  }
  for (const int count : blocks)
    if (count != 1) return check(false, "tile_place<%d>: %d blocks for a tile of %d × %d, depth %d", ROWS, count, rows, columns, depth);
  check(true, "tile_place");
}

void each_tile_has_a_block() {
  for (const int rows : {1, 16, 17, 64, 65, 700})
    for (const int columns : {1, 64, 65, 500})
      for (const int depth : {0, 1, 4096, 14336, 1 << 20}) {
        each_tile_has_a_block<16>(rows, columns, depth);
        each_tile_has_a_block<64>(rows, columns, depth);
      }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("products on matrices of simdgroups", [] {
    dense_agrees<F32>();
    dense_agrees<F16>();
    dense_agrees<Bf16>();
#define AGREES(Format, name) blocks_agree<Format>(#name);
    EVERY_BLOCK_FORMAT(AGREES)
    each_tile_has_a_block();
  }, 1 << 28);
}
