// The emulated device finds faults of kernels for sm_90a: one product of a warpgroup, with one fault each.
#include "dialect/hopper.h"

#include <string.h>

#include "emulated/pointers.h"
#include "test/arrays.h"
#include "test/run-test.h"

extern "C" int cuTensorMapEncodeTiled(quern::gpu::TensorMap* map, int type, unsigned rank, void* address, const uint64_t* sizes,
                                      const uint64_t* pitches, const uint32_t* box, const uint32_t* strides, int interleave, int swizzle,
                                      int promotion, int fill);

namespace quern::gpu {
namespace {

constexpr int rows = 128, depth = 64, group_rows = 64;
constexpr int box = rows * depth / 8, places = box + 2; // in 16 bytes; two barriers behind the box
constexpr size_t shared_bytes = places * 16;

struct OneProduct {
  TensorMap w;    // bf16 [rows, depth]
  Global<float> y; // [group_rows, rows]: w[.. group_rows] · wᵀ
};

enum class Planted {
  none, thread_reads_early, products_read_early, expects_nothing, waits_for_the_other_parity, waits_for_a_phase_too_many, too_few_arrivals,
  too_many_arrivals, no_barrier_of_the_block, not_made_known, copies_over_operands, copies_twice, no_fence, no_barrier_after_writes,
  sums_used_early, no_begin, stride_of_512, no_swizzle, start_16_too_far, start_128_too_far, start_1024_too_far, base_offset, half_a_warpgroup,
  different_instructions, different_operands, copy_under_way, products_under_way, unaligned_copy, copy_to_the_second_row, copy_too_far, barrier_begins_twice, no_barrier_there
};

uint64_t planted_operand(Planted fault, unsigned address) {
  constexpr uint64_t stride = 0x3fffull << 32, swizzle = 3ull << 62;
  const uint64_t right = operand_at(address);
  switch (fault) {
    case Planted::stride_of_512: return (right & ~stride) | (uint64_t(512) >> 4) << 32;
    case Planted::no_swizzle: return right & ~swizzle;
    case Planted::start_16_too_far: return right + 1;
    case Planted::start_128_too_far: return right + 8;
    case Planted::start_1024_too_far: return right + 64;
    case Planted::base_offset: return right | uint64_t(1) << 49;
    default: return right;
  }
}

template <Planted fault>
void begin(const Barriers& filled) {
  if (thread_index() == 0) {
    begin_barrier(filled, fault == Planted::too_few_arrivals ? 2 : 1);
    begin_barrier(filled + 1, 1);
    if (fault == Planted::barrier_begins_twice) begin_barrier(filled, 1);
    if (fault != Planted::not_made_known) barriers_begun();
    writes_before_copies();
  }
  if (fault != Planted::no_barrier_of_the_block) barrier();
}

// In 16 bytes.
constexpr int place_of_copy(Planted fault) {
  return fault == Planted::unaligned_copy ? 1 : fault == Planted::copy_to_the_second_row ? 8 : fault == Planted::copy_too_far ? 64 : 0;
}

template <Planted fault>
void fill(const Shared<Uint4>& shared, const TensorMap& w, const Barriers& filled) {
  constexpr int bytes = box * 16;
  if (thread_index() != 0) return;
  if (fault == Planted::expects_nothing) arrive(filled);
  else arrive_expecting(filled, fault == Planted::copies_twice ? 2 * bytes : bytes);
  if (fault == Planted::too_many_arrivals) arrive(filled);
  copy_tensor(shared + place_of_copy(fault), w, 0, 0, fault == Planted::no_barrier_there ? filled + 5 : filled);
  if (fault == Planted::copies_twice) copy_tensor(shared, w, 0, 0, filled);
}

// Threads write the operands in place of a copy.
constexpr bool by_threads(Planted fault) { return fault == Planted::no_fence || fault == Planted::no_barrier_after_writes; }
template <Planted fault>
void write_operands(const Shared<Uint4>& shared) {
  for (int i = thread_index(); i < box; i += block_threads()) shared[i] = Uint4{0, 0, 0, 0};
  if (fault != Planted::no_fence) writes_before_copies();
  if (fault != Planted::no_barrier_after_writes) barrier();
}

template <Planted fault>
void issue(WarpgroupSums<rows>& sums, const Shared<Uint4>& shared) {
  const uint64_t operand = planted_operand(fault, shared_address(shared));
  if (fault != Planted::no_begin) products_begin();
  if (fault == Planted::different_instructions && warp() == 1) return products_commit();
  for (int k = 0; k < depth / 16; k++) multiply_bf16(sums, operand + 2 * k + (fault == Planted::different_operands ? warp() : 0), operand + 2 * k, k > 0);
  products_commit();
}

template <Planted fault>
void one_product(const OneProduct& args) {
  LARGE_SHARED(Uint4, shared, places);
  const Barriers filled = barriers_at(shared + box);
  begin<fault>(filled);
  if (by_threads(fault)) write_operands<fault>(shared);
  else fill<fault>(shared, args.w, filled);
  if (fault == Planted::copy_under_way) return;
  if (fault == Planted::thread_reads_early && thread_index() == 0) args.y[thread_index()] = float(Uint4(shared[thread_index()])[0]);
  if (fault != Planted::products_read_early && !by_threads(fault)) wait_for_phase(filled, fault == Planted::waits_for_the_other_parity);
  if (fault == Planted::waits_for_a_phase_too_many) wait_for_phase(filled, 1);
  if (fault == Planted::half_a_warpgroup && warp() > 1) return;
  WarpgroupSums<rows> sums = {};
  issue<fault>(sums, shared);
  if (fault == Planted::products_under_way) return;
  if (fault == Planted::copies_over_operands && thread_index() == 0) arrive_expecting(filled + 1, box * 16), copy_tensor(shared, args.w, 0, 0, filled + 1);
  if (fault != Planted::sums_used_early) products_wait<0>();
  for (int i = 0; i < sums.count; i++)
    args.y[(warp() * 16 + lane() / 4 + i / 2 % 2 * 8) * rows + i / 4 * 8 + lane() % 4 * 2 + i % 2] = sums.values[i];
  if (fault == Planted::sums_used_early) products_wait<0>();
}

#define PLANTED(name) \
  KERNEL_OF_MAPS(name, OneProduct, WARPGROUP, 1) { one_product<Planted::name>(args); }
PLANTED(none)
PLANTED(thread_reads_early)
PLANTED(products_read_early)
PLANTED(expects_nothing)
PLANTED(waits_for_the_other_parity)
PLANTED(waits_for_a_phase_too_many)
PLANTED(too_few_arrivals)
PLANTED(too_many_arrivals)
PLANTED(no_barrier_of_the_block)
PLANTED(not_made_known)
PLANTED(copies_over_operands)
PLANTED(copies_twice)
PLANTED(no_fence)
PLANTED(no_barrier_after_writes)
PLANTED(sums_used_early)
PLANTED(no_begin)
PLANTED(stride_of_512)
PLANTED(no_swizzle)
PLANTED(start_16_too_far)
PLANTED(start_128_too_far)
PLANTED(start_1024_too_far)
PLANTED(base_offset)
PLANTED(half_a_warpgroup)
PLANTED(different_instructions)
PLANTED(different_operands)
PLANTED(copy_under_way)
PLANTED(products_under_way)
PLANTED(unaligned_copy)
PLANTED(copy_to_the_second_row)
PLANTED(copy_too_far)
PLANTED(barrier_begins_twice)
PLANTED(no_barrier_there)
#undef PLANTED

// What is asked of the driver for a matrix of bf16.
struct Asked {
  void* address;
  uint64_t sizes[2] = {depth, rows}, pitch = depth * 2;
  uint32_t box[2] = {depth, rows};
  int swizzle = 3;
  int made(TensorMap* map) const {
    const uint32_t strides[] = {1, 1};
    return cuTensorMapEncodeTiled(map, 9, 2, address, sizes, &pitch, box, strides, 0, swizzle, 2, 0);
  }
};

struct Matrix {
  const std::vector<float> values = numbers(rows * depth, 1);
  const Array<unsigned short> array{stored()};
  std::vector<unsigned short> stored() const {
    std::vector<unsigned short> bits;
    for (const float x : values) bits.push_back(to_bf16(x));
    return bits;
  }
  Asked asked() const { return {array.global().address()}; }
};

// The fault's message; empty if there is none, "other numbers" if the product is wrong.
std::string message_of(const char* name, const Matrix& matrix, const TensorMap& map, uint64_t seed) {
  const Array<float> y(std::vector<float>(group_rows * rows));
  const OneProduct args{map, y.global()};
  try {
    launch(*find_kernel(name), 1, WARPGROUP, &args, seed, shared_bytes);
  } catch (const Fault& fault) {
    return fault.what();
  }
  const std::vector<float> got = y.values();
  for (int i = 0; i < group_rows * rows; i++) {
    double want = 0;
    for (int k = 0; k < depth; k++)
      want += double(from_bf16(to_bf16(matrix.values[size_t(i / rows * depth + k)]))) * from_bf16(to_bf16(matrix.values[size_t(i % rows * depth + k)]));
    if (!(fabs(got[size_t(i)] - want) < 1e-4)) return "other numbers";
  }
  return "";
}

void is_reported(const char* name, const char* part) {
  const Matrix matrix;
  TensorMap map;
  check(matrix.asked().made(&map) == 0, "a map");
  for (uint64_t seed = first_seed(); seed < first_seed() + 5; seed++) {
    const std::string message = message_of(name, matrix, map, seed);
    const bool right = *part ? message.find(part) != std::string::npos : message.empty();
    check(right, "%s, seed %d: expected '%s', got '%s'", name, int(seed), part, message.c_str());
  }
}

void faults_are_caught() {
  is_reported("none", "");
  is_reported("thread_reads_early", "before it has waited for the barrier of the copy");
  is_reported("products_read_early", "before all their threads have waited for the barrier of the copy");
  is_reported("expects_nothing", "expects 0 of them");
  is_reported("waits_for_the_other_parity", "have waited for the barrier of the copy");
  is_reported("waits_for_a_phase_too_many", "waits for a phase of parity 1 of the barrier at byte 16384, which is in phase 1: 0 of 1 arrivals");
  is_reported("too_few_arrivals", "which is in phase 0: 1 of 2 arrivals, 16384 of 16384 bytes");
  is_reported("too_many_arrivals", "phase 0 has its 1 arrivals, and bytes are missing");
  is_reported("no_barrier_of_the_block", "barrier at byte 16384");
  is_reported("not_made_known", "which nothing made known");
  is_reported("copies_over_operands", "which products read that were not waited for");
  is_reported("copies_twice", "before the copy of a tensor has landed");
  is_reported("no_fence", "no writes_before_copies between them");
  is_reported("no_barrier_after_writes", "no barrier between them");
  is_reported("sums_used_early", "other numbers");
  is_reported("no_begin", "without products_begin");
  is_reported("stride_of_512", "other numbers");
  is_reported("no_swizzle", "other numbers");
  is_reported("start_16_too_far", "never written");
  is_reported("start_128_too_far", "an operand whose rows begin at byte 128 of shared memory");
  is_reported("start_1024_too_far", "never written");
  is_reported("base_offset", "base offset 1");
  is_reported("half_a_warpgroup", "is stuck");
  is_reported("different_instructions", "are at different instructions of their warpgroup");
  is_reported("different_operands", "other operands");
  is_reported("copy_under_way", "before the copies of the barrier at byte 16384 have landed");
  is_reported("products_under_way", "before the products of a warpgroup have been waited for");
  is_reported("unaligned_copy", "to byte 16 of shared memory, which is no multiple of 1024");
  is_reported("copy_to_the_second_row", "to byte 128 of shared memory, which is no multiple of 1024");
  is_reported("copy_too_far", "a copy of a tensor of 16384 bytes at byte 1024 of shared memory, which has 16416");
  is_reported("barrier_begins_twice", "begins twice");
  is_reported("no_barrier_there", "where none has begun");
}

void the_driver_refuses_maps() {
  const Matrix matrix;
  alignas(128) TensorMap maps[2];
  const Asked right = matrix.asked();
  const auto refused = [&](const char* what, const auto& change) {
    Asked asked = right;
    change(asked);
    check(asked.made(maps) == 1, "%s", what);
  };
  check(right.made(maps) == 0, "a matrix");
  refused("an address that is no multiple of 16", [](Asked& asked) { asked.address = static_cast<char*>(asked.address) + 8; });
  refused("a pitch that is no multiple of 16", [](Asked& asked) { asked.pitch += 8; });
  refused("more than 256 rows", [](Asked& asked) { asked.box[1] = 257; });
  refused("rows of more than 128 bytes", [](Asked& asked) { asked.box[0] = 72; });
  refused("rows that are no multiple of 16 bytes", [](Asked& asked) { asked.box[0] = 4; });
  refused("no rows", [](Asked& asked) { asked.sizes[1] = 0; });
  check(right.made(reinterpret_cast<TensorMap*>(reinterpret_cast<char*>(maps) + 32)) == 1, "a map that is not aligned");
}

void other_maps_are_caught() {
  const Matrix matrix;
  const std::string message = message_of("none", matrix, TensorMap{}, 1);
  check(message.find("the driver did not make") != std::string::npos, "got '%s'", message.c_str());
}

// A graph finds the memory behind a map.
void memory_of_maps_is_found() {
  Memory& memory = *device_memory();
  uint8_t* const data = memory.allocate(rows * depth * 2);
  TensorMap map;
  check(Asked{data}.made(&map) == 0, "a map");
  const Pointers pointers(memory, {reinterpret_cast<const uint8_t*>(&map), sizeof map});
  pointers.need_allocated(memory, "none");
  memory.free(data);
  bool caught = false;
  try {
    pointers.need_allocated(memory, "none");
  } catch (const Fault&) {
    caught = true;
  }
  check(caught, "memory of a map that was freed");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("faults of kernels for sm_90a", [] {
    faults_are_caught();
    the_driver_refuses_maps();
    other_maps_are_caught();
    memory_of_maps_is_found();
  }, 1 << 24);
}
