// Products by warpgroups on the emulated device, against float64.
#include "kernels/cuda/product-warpgroups.h"
#include "test/products.h"
#include "test/run-test.h"

extern "C" int cuTensorMapEncodeTiled(quern::gpu::TensorMap* map, int type, unsigned rank, void* address, const uint64_t* sizes,
                                      const uint64_t* pitches, const uint32_t* box, const uint32_t* strides, int interleave, int swizzle,
                                      int promotion, int fill);

namespace quern::gpu {
namespace {

constexpr float unwritten = 77;

TensorMap map_of(const Array<unsigned short>& matrix, int rows, int columns, int pitch, int box_rows) {
  TensorMap map;
  const uint64_t sizes[] = {uint64_t(columns), uint64_t(rows)}, pitches[] = {uint64_t(pitch) * 2};
  const uint32_t box[] = {STEP, uint32_t(box_rows)}, strides[] = {1, 1};
  const int made = cuTensorMapEncodeTiled(&map, 9, 2, matrix.global().address(), sizes, pitches, box, strides, 0, 3, 2, 0);
  check(made == 0, "a map of %d × %d", rows, columns);
  return map;
}

// Pitches are more than depth, and values behind depth are NaN: the copies leave them out.
struct Case {
  int rows, columns, depth, pitch, blocks;
  bool bias;
  int y_pitch, steps_of_part = 1 << 20;

  std::string text() const { return std::to_string(rows) + ", " + std::to_string(columns) + ", " + std::to_string(depth); }
  int parts() const { return (depth + STEP - 1) / STEP <= steps_of_part ? 1 : ((depth + STEP - 1) / STEP + steps_of_part - 1) / steps_of_part; }
};

// [rows, pitch], NaN from depth on.
std::vector<unsigned short> padded(const std::vector<unsigned short>& values, int rows, int depth, int pitch) {
  std::vector<unsigned short> all(size_t(rows * pitch), 0x7fff);
  for (int i = 0; i < rows * depth; i++) all[size_t(i / depth * pitch + i % depth)] = values[size_t(i)];
  return all;
}

// Sums of part `part`.
std::vector<Sum> expected(const Case& given, const std::vector<unsigned short>& x, const std::vector<unsigned short>& w,
                          const std::vector<float>& bias, int part) {
  const int steps = given.parts() == 1 ? given.depth : given.steps_of_part * STEP, first = part * steps;
  std::vector<Sum> y;
  for (int t = 0; t < given.rows; t++)
    for (int n = 0; n < given.columns; n++) {
      Sum sum;
      for (int k = first; k < std::min(given.depth, first + steps); k++)
        sum.add(double(from_bf16(x[size_t(t * given.depth + k)])) * from_bf16(w[size_t(n * given.depth + k)]));
      if (given.bias) sum.add(bias[size_t(n)]);
      y.push_back(sum);
    }
  return y;
}

template <class Tile>
void agrees(const char* name, const Case& given) {
  const int rows = given.rows, columns = given.columns, depth = given.depth, parts = given.parts();
  const auto x = weights<Bf16>(rows * depth, 1), w = weights<Bf16>(columns * depth, 2);
  const std::vector<float> bias = numbers(columns, 3), nothing(size_t(parts * rows * given.y_pitch), unwritten);
  const Array<unsigned short> x_array(padded(x, rows, depth, given.pitch)), w_array(padded(w, columns, depth, given.pitch));
  const Array<float> bias_array(bias);
  Array<float> y(nothing);
  const WarpgroupProduct args{map_of(x_array, rows, depth, given.pitch, Tile::rows), map_of(w_array, columns, depth, given.pitch, Tile::columns),
                              {x_array.global(), w_array.global(), given.bias ? bias_array.global() : Global<float>(), y.global(), rows, columns,
                               depth, given.pitch, given.pitch, given.y_pitch, given.steps_of_part, int64_t(rows) * given.y_pitch}};
  launched<2>(name, given.blocks, Tile::threads, args, [&] {
    const std::vector<float> got = y.values();
    for (int part = 0; part < parts; part++) {
      std::vector<float> taken;
      bool others = true;
      for (int i = 0; i < rows * given.y_pitch; i++) {
        const float value = got[size_t(part * rows * given.y_pitch + i)];
        if (i % given.y_pitch < columns) taken.push_back(value);
        else others = others && value == unwritten;
      }
      check(others, "%s of %s: writes beside its columns", name, given.text().c_str());
      close(std::string(name) + " of " + given.text(), taken, expected(given, x, w, bias, part), (depth / 16 + 3) * 0x1p-23);
    }
    y.write(nothing);
  }, Tile::shared_bytes);
}

void products_agree() {
  agrees<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", {131, 261, 64, 64, 2, true, 261});       // K = 64; 4 tiles, 2 of a block
  agrees<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", {129, 512, 392, 392, 3, false, 512});    // 7 steps: the ring goes round
  agrees<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", {1, 1, 67, 72, 1, true, 4});             // odd depth
  agrees<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", {77, 250, 136, 192, 8, true, 258});      // more blocks than tiles
  agrees<WarpgroupTile128x256>("product_bf16_warpgroups_128x256", {130, 100, 392, 392, 3, false, 100, 3}); // parts of k
  agrees<WarpgroupTile128x128>("product_bf16_warpgroups_128x128", {131, 135, 200, 200, 1, true, 140});     // all tiles of one block
  agrees<WarpgroupTile128x128>("product_bf16_warpgroups_128x128", {128 * 9 + 1, 130, 64, 64, 7, false, 130}); // groups of row tiles
  agrees<WarpgroupTile128x128>("product_bf16_warpgroups_128x128", {64, 3, 520, 520, 1, true, 3});
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("products by warpgroups", [] {
    products_agree();
  });
}
