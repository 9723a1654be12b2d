// Offsets above 2³²: caches, weights and tables whose last rows alone are written and used. The emulated device takes no memory of the
// host for the rest.
#include <algorithm>

#include "emulated/cuda/driver-context.h"
#include "kernels/attention.h"
#include "kernels/cuda/group-arguments.h"
#include "kernels/cuda/product-operands.h"
#include "kernels/embed.h"
#include "kernels/kv-append.h"
#include "test/block-weights.h"
#include "test/few.h"

namespace quern::gpu {
namespace {

constexpr int64_t most = int64_t(1) << 32;
constexpr int depth = 4096, last = 64; // values of a row of weights; rows at the end that are written

static uint32_t launched_last = 1 << 30; // beyond numbers of launch()

// Runs the last `count` of a launch's blocks.
template <class Args>
void run_last(const std::string& name, int blocks, int threads, const Args& args, int count = 1) {
  const Kernel& kernel = *find_kernel(name);
  alignas(128) Args copied = args;
  launches_done();
  const uint32_t number = ++launched_last;
  try {
    for (int block = blocks - count; block < blocks; block++)
      Block::current().run({blocks, threads, 0, first_seed(), number, number}, block, [&] { kernel.call(&copied); });
  } catch (const Fault& fault) {
    check(false, "%s: %s", name.c_str(), fault.what());
  }
}

template <class T>
void write_at(const Array<T>& to, int64_t first, const std::vector<T>& values) {
  device_memory()->write(reinterpret_cast<uint8_t*>(to.global().address() + first), values.data(), values.size() * sizeof(T));
}
template <class T>
std::vector<T> read_at(const void* from, size_t count) {
  std::vector<T> values(count);
  device_memory()->read(values.data(), static_cast<const uint8_t*>(from), count * sizeof(T));
  return values;
}

void memory_is_sparse() {
  const Array<unsigned char> all(size_t(9) << 30);
  unsigned char* const end = all.global().address() + (int64_t(9) << 30);
  device_memory()->fill(end - 8, 3, 8);
  check(read_at<unsigned char>(end - 1, 1)[0] == 3, "the last byte");
  const auto faults = [](const auto& act) {
    try {
      act();
      return false;
    } catch (const Fault&) {
      return true;
    }
  };
  check(read_at<unsigned char>(end - 9, 1)[0] == 255, "a byte before what was written is poison");
  check(faults([&] { device_memory()->check_read(end - 12, 4); }), "a read of what was not written");
  check(faults([&] { device_memory()->check_write(end, 4); }), "a write behind the end");
}

// Rows [columns − last .. columns) of w · x: a matrix in bf16, and the table of an embedding.
void dense_rows_agree() {
  const int columns = 1 << 20;
  const Array<unsigned short> w(size_t(columns) * depth);
  const std::vector<float> values = numbers(last * depth, 1), x = numbers(depth, 2);
  std::vector<unsigned short> stored;
  for (const float value : values) stored.push_back(to_bf16(value));
  const int64_t first = int64_t(columns - last) * depth;
  check(first * 2 > most, "the last rows are behind 4 GiB");
  write_at(w, first, stored);
  const Dense<Bf16> weights{Global<const unsigned short>(w.global())};

  const Array<float> input(x), y(static_cast<size_t>(columns)), rows{size_t(depth)};
  constexpr int threads = 128, of_block = threads / WARP;
  run_last("linear_few_1_bf16", columns / of_block, threads,
           few_of_one(Global<const float>(input.global()), weights, {}, y.global(), 1, columns, depth, columns / of_block), last / of_block);
  const std::vector<float> got = read_at<float>(y.global().address() + columns - last, last);
  agrees("linear_few_1_bf16 behind 4 GiB", got, 1e-4, [&](int64_t n) {
    double sum = 0;
    for (int k = 0; k < depth; k++) sum += double(x[size_t(k)]) * from_bf16(stored[size_t(n * depth + k)]);
    return sum;
  });

  const Array<int> ids(std::vector<int>{columns - 1}), fault(std::vector<int>{0, 0});
  run_last("embed_bf16", 1, threads, Lookup<Dense<Bf16>>{weights, Global<const int>(ids.global()), rows.global(), columns, depth, fault.global(), 1});
  agrees("embed_bf16 behind 4 GiB", rows.values(), 0, [&](int64_t k) { return from_bf16(stored[size_t((last - 1) * depth + k)]); });
}

// The planes of a small weight at the end of large ones.
template <class Format>
struct LargePlanes {
  const int64_t groups, behind; // of all rows; before the last
  const Array<unsigned> low{size_t(groups) * Format::LOW};
  const Array<unsigned char> subscales{size_t(groups) * Format::SUBSCALES + 4};
  const Array<unsigned short> factors{size_t(groups) / Format::SPAN * Format::FACTORS};

  LargePlanes(int columns, const Weight<Format>& of_last)
      : groups(int64_t(columns) * depth / GROUP), behind(groups - int64_t(last) * depth / GROUP) {
    const int64_t count = groups - behind;
    const Planes from = of_last.planes();
    write_at(low, behind * Format::LOW, read_at<unsigned>(from.low.address(), size_t(count * Format::LOW)));
    write_at(subscales, behind * Format::SUBSCALES, read_at<unsigned char>(from.subscales.address(), size_t(count * Format::SUBSCALES)));
    write_at(factors, behind / Format::SPAN * Format::FACTORS, read_at<unsigned short>(from.factors.address(), size_t(count / Format::SPAN * Format::FACTORS)));
  }
  Planes planes() const { return {low.global(), low.global(), subscales.global(), factors.global()}; } // without HIGH
};

void rows_of_blocks_agree() {
  const int columns = (1 << 21) + 2 * last;
  Weight<Q4_K>::name = "q4_k";
  const Weight<Q4_K> of_last(last, depth, 3);
  const LargePlanes<Q4_K> large(columns, of_last);
  check(large.behind * Q4_K::LOW * 4 > most, "the last rows are behind 4 GiB");
  const std::vector<float> x = numbers(depth, 2);
  const Array<float> input(x), y(static_cast<size_t>(columns)), row{size_t(depth)};
  const auto wanted = [&](int64_t n) {
    double sum = 0;
    for (int k = 0; k < depth; k++) sum += double(x[size_t(k)]) * of_last.value(n * depth + k);
    return sum;
  };
  constexpr int threads = 128, of_block = 4 * 4; // four warps, four columns each
  run_last("linear_few_1_q4_k", columns / of_block, threads,
           few_of_one(Global<const float>(input.global()), large.planes(), {}, y.global(), 1, columns, depth, columns / of_block), last / of_block);
  agrees("linear_few_1_q4_k behind 4 GiB", read_at<float>(y.global().address() + columns - last, last), 1e-2, wanted);

  constexpr int tile_columns = 64, tile_threads = 256; // of linear_strip_3
  const Blocks<Q4_K> blocks{large.planes()};
  run_last("linear_strip_3_q4_k", columns / tile_columns, tile_threads,
           TileLinear<Blocks<Q4_K>>{{Global<const float>(input.global()), blocks, {}, y.global(), 1, columns, depth}, {{}, {}, 1}});
  agrees("linear_strip_3_q4_k behind 4 GiB", read_at<float>(y.global().address() + columns - last, last), 1e-2, wanted);

  const Array<int> ids(std::vector<int>{columns - 1}), fault(std::vector<int>{0, 0});
  run_last("embed_q4_k", 1, threads, Lookup<Blocks<Q4_K>>{blocks, Global<const int>(ids.global()), row.global(), columns, depth, fault.global(), 1});
  agrees("embed_q4_k behind 4 GiB", row.values(), 1e-6, [&](int64_t k) { return of_last.value((last - 1) * depth + k); });

  const Array<unsigned short> rows(size_t(last) * depth);
  run_last("bf16_rows_q4_k", last, threads, Bf16Rows<Blocks<Q4_K>>{blocks, rows.global(), columns - last, depth, depth}, last);
  const std::vector<unsigned short> got = rows.values();
  std::vector<float> floats;
  for (const unsigned short bits : got) floats.push_back(from_bf16(bits));
  close("bf16_rows_q4_k behind 4 GiB", floats, 1e-6, 0x1p-8, [&](int64_t i) { return of_last.value(i); });
}

// Keys are appended to the last block of a cache of 8 GiB, and attended.
void the_last_block_agrees() {
  constexpr int heads = 8, d = 128, size = 16, blocks = (1 << 22) / size, rows = size, width = heads * d, threads = 128;
  constexpr int64_t slots = int64_t(blocks) * size, head_bytes = 2 * d;
  const Array<signed char> k(size_t(slots * heads * head_bytes)), v(size_t(slots * heads * head_bytes));
  check((slots - size) * heads * head_bytes > most, "the last block is behind 4 GiB");
  const std::vector<float> keys = numbers(rows * width, 1), values = numbers(rows * width, 2), q = numbers(width, 3);
  std::vector<int> at;
  for (int row = 0; row < rows; row++) at.push_back(int(slots) - size + row);
  const Array<float> new_keys(keys), new_values(values), query(q);
  const Array<int> places(at), fault(std::vector<int>{0, 0}), bounds(std::vector<int>{0, 1}), lengths(std::vector<int>{rows}),
      table(std::vector<int>{blocks - 1});
  run_last("kv_append_f16", rows, threads,
           KvAppend{Global<const float>(new_keys.global()), Global<const float>(new_values.global()), Global<const int>(places.global()), k.global(),
                    v.global(), heads, d, int(slots), fault.global(), 1},
           rows);

  const float scale = 1 / sqrtf(float(d));
  const auto wanted = [&](int64_t i) {
    const int64_t head = i / d * d;
    std::vector<double> weights;
    double total = 0, sum = 0;
    for (int row = 0; row < rows; row++) {
      double score = 0;
      for (int e = 0; e < d; e++) score += double(q[size_t(head + e)]) * from_f16(to_f16(keys[size_t(row * width + head + e)]));
      weights.push_back(exp(score * scale));
      total += weights.back();
    }
    for (int row = 0; row < rows; row++) sum += weights[size_t(row)] * from_f16(to_f16(values[size_t(row * width + i)]));
    return sum / total;
  };
  const auto attended_by = [&](const char* name, int launched, int block_threads, const auto& args_of) {
    const Array<float> y(std::vector<float>(width, -7));
    run_last(name, launched, block_threads,
             args_of(Attention{Global<const float>(query.global()), k.global(), v.global(), Global<const int>(bounds.global()),
                               Global<const int>(lengths.global()), Global<const int>(table.global()), y.global(), {}, {}, 1, 256, 0, 1, heads, heads, d,
                               blocks, size, 1, 1, scale, 0, 1, 0, fault.global(), 1}),
             launched);
    agrees(name, y.values(), 1e-5, wanted);
    check(fault.values()[0] == 0, "%s: a fault", name);
  };
  const auto plain = [](const Attention& args) { return args; };
  attended_by("attention_f16", heads, threads, plain);
  attended_by("attention_tile_2_128_f16", heads, threads, plain);
  attended_by("attention_group_128_f16", heads, GROUP_WARPS_WIDE_HALVES * WARP, [](const Attention& args) { return GroupAttention{args, 1, 1}; });
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  setenv("QUERN_EMULATED_MEMORY", "65536", 1); // megabytes
  device();
  memory_is_sparse();
  dense_rows_agree();
  rows_of_blocks_agree();
  the_last_block_agrees();
  return report("memory above 4 GiB");
}
