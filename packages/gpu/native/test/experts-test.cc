// Products of mixtures on the emulated device, against their definitions in float64.
#include "kernels/cuda/linear-tiles.h"
#include "kernels/expert-linear.h"
#include "kernels/expert-order.h"
#include "test/products.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

template <class Format>
void experts_agree(int depth) {
  constexpr int rows = 3, chosen = 2, experts = 4, columns = 33;
  const std::vector<float> x = numbers(rows * depth, 1);
  const std::vector<typename Format::Stored> w = weights<Format>(experts * columns * depth, 2);
  const std::vector<int> ids{3, 0, 1, 1, 2, 3}, bad{3, 4, 1, -1, 2, 3};
  const Array<float> x_array(x), y(size_t(rows * chosen * columns));
  const Array<typename Format::Stored> w_array(w);
  const Array<int> ids_array(ids), bad_array(bad), fault(std::vector<int>{0, 0});
  std::vector<Sum> expected;
  for (int pair = 0; pair < rows * chosen; pair++)
    for (int n = 0; n < columns; n++) {
      Sum sum;
      for (int k = 0; k < depth; k++)
        sum.add(double(x[pair / chosen * depth + k]) * Format::value(w[(ids[pair] * columns + n) * depth + k]));
      expected.push_back(sum);
    }
  ExpertLinear<Dense<Format>> args{
      {x_array.global(), ids_array.global(), y.global(), rows, chosen, experts, columns, depth, fault.global(), 7}, {w_array.global()}};
  const std::string name = kernel<Format>("expert_linear");
  launched(name.c_str(), 5, 128, args, [&] { close(name, y.values(), expected); });
  check(fault.values() == std::vector<int>{0, 0}, "%s: a fault of good ids", name.c_str());
  const std::vector<float> gates = y.values();
  const Array<typename Format::Stored> up_array(weights<Format>(experts * columns * depth, 5));
  const ExpertLinear<Dense<Format>> ups{args.of, {up_array.global()}};
  launched<1>(name.c_str(), 5, 128, ups, [] {});
  const std::vector<float> want = gated(gates, y.values());
  launched(kernel<Format>("expert_gate_up").c_str(), 5, 128, ExpertGateUp<Dense<Format>>{args.of, args.w, ups.w},
           [&] { equal("expert_gate_up", y.values(), want); });
  args.of.ids = bad_array.global();
  launched(name.c_str(), 5, 128, args,
           [&] { check(fault.values() == std::vector<int>{7, OUT_OF_RANGE}, "%s: no fault", name.c_str()); });
}

// The pairs of experts in tiles of a height, by the device.
struct Ordered {
  static constexpr int experts = 5;
  const std::vector<int> ids;
  const int pairs = int(ids.size()), height, tiles;
  const Array<int> ids_array, counts, rows, of_tile, fault;

  Ordered(const std::vector<int>& given, int height)
      : ids(given), height(height), tiles((pairs + experts * (height - 1)) / height), ids_array(given), counts(size_t(experts)),
        rows(size_t(tiles * height)), of_tile(size_t(tiles)), fault(std::vector<int>{0, 0}) {
    const ExpertOrder args{ids_array.global(), counts.global(), rows.global(), of_tile.global(), pairs, experts, tiles, height,
                           fault.global(), 7};
    launched<2>("expert_counts", experts, ORDER_THREADS, args, [] {});
    launched<2>("expert_order", experts, ORDER_THREADS, args, [] {});
  }
};

// Expert 3 has many pairs, expert 1 none.
std::vector<int> uneven_ids(int pairs) {
  std::vector<int> ids;
  for (int i = 0; i < pairs; i++) ids.push_back(i % 7 == 0 ? 4 : i % 5 == 0 ? 2 : i % 3 == 0 ? 0 : 3);
  return ids;
}

void order_agrees(int pairs, int height) {
  const Ordered order(uneven_ids(pairs), height);
  const std::vector<int> of_tile = order.of_tile.values();
  int tile = 0;
  for (int e = 0; e < Ordered::experts; e++) {
    std::vector<int> expected;
    for (int pair = 0; pair < pairs; pair++)
      if (order.ids[size_t(pair)] == e) expected.push_back(pair);
    expected.resize((expected.size() + size_t(height) - 1) / size_t(height) * size_t(height), -1);
    for (size_t at = 0; at < expected.size(); at += size_t(height), tile++) {
      check(of_tile[size_t(tile)] == e, "expert_order: tile %d is of expert %d", tile, of_tile[size_t(tile)]);
      std::vector<int> rows(static_cast<size_t>(height));
      device_memory()->read(rows.data(), reinterpret_cast<uint8_t*>((order.rows.global() + tile * height).address()), rows.size() * 4);
      check(memcmp(rows.data(), &expected[at], rows.size() * 4) == 0, "expert_order: %d pairs in tiles of %d, tile %d", pairs, height, tile);
    }
  }
  for (; tile < order.tiles; tile++) check(of_tile[size_t(tile)] == -1, "expert_order: tile %d is empty", tile);
  check(order.fault.values()[0] == 0, "expert_order: a fault of good ids");
}

// y and its bits do not depend on the tile.
template <class Format>
void expert_tiles_agree(int parts, double rounding, int chosen) {
  constexpr int rows = 150, experts = Ordered::experts, columns = 70, depth = 40;
  const std::vector<float> x = numbers(rows * depth, 1);
  const std::vector<typename Format::Stored> w = weights<Format>(experts * columns * depth, 2);
  const std::vector<int> ids = uneven_ids(rows * chosen);
  const Array<float> x_array(x), y(size_t(rows * chosen * columns));
  const Array<typename Format::Stored> w_array(w);
  std::vector<Sum> expected;
  for (int pair = 0; pair < rows * chosen; pair++)
    for (int n = 0; n < columns; n++) {
      Sum sum;
      for (int k = 0; k < depth; k++)
        sum.add(double(x[pair / chosen * depth + k]) * Format::value(w[(ids[size_t(pair)] * columns + n) * depth + k]));
      expected.push_back(sum);
    }
  const auto product = [&](const char* stem, int height, int width) {
    const Ordered order(ids, height);
    const TileLinear<Dense<Format>> args{
        {x_array.global(), {w_array.global()}, Global<const float>(), y.global(), order.tiles * height, columns, depth},
        {order.rows.global(), order.of_tile.global(), chosen}};
    const std::string name = kernel<Format>((stem + std::to_string(parts)).c_str());
    launched<2>(name.c_str(), order.tiles * ((columns + width - 1) / width), TILE_THREADS, args,
                [&] { close(name + " of experts", y.values(), expected, rounding); });
    return y.values();
  };
  check(product("linear_tile_", 128, 128) == product("linear_strip_", 32, 64), "tiles of experts: other bits than in strips");
}

void bad_experts_are_flagged() {
  std::vector<int> ids = uneven_ids(40);
  ids[7] = Ordered::experts, ids[9] = -1;
  const Ordered order(ids, 32);
  check(order.fault.values() == std::vector<int>{7, OUT_OF_RANGE}, "expert_order: no fault");
  check(order.of_tile.values()[0] == 0, "expert_order: expert 0 stands in");
}

template <class Format>
void few_pairs_agree() {
  for (const int depth : {8, 31, 1000}) experts_agree<Format>(depth);
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("mixtures on the emulated device", [] {
    few_pairs_agree<F32>();
    few_pairs_agree<F16>();
    few_pairs_agree<Bf16>();
    for (const int pairs : {1, 31, 300}) order_agrees(pairs, 32);
    order_agrees(600, 128);
    expert_tiles_agree<F32>(3, 2e-6, 1);
    expert_tiles_agree<Bf16>(1, 0x1p-8, 2);
    bad_experts_are_flagged();
  });
}
