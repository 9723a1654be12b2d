// The emulated device finds what it must: kernels with one fault each, and the same kernels without it. Every launch has
// several orders of threads.
#include <string.h>

#include "dialect/nvidia.h"
#include "test/planted.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

KERNEL(reverse, Numbers) { // through shared memory
  SHARED(float, held, 256);
  held[thread_index()] = args.y[thread_index()];
  barrier();
  args.y[thread_index()] = held[args.n - 1 - thread_index()];
}

KERNEL(reverse_without_barrier, Numbers) {
  SHARED(float, held, 256);
  held[thread_index()] = args.y[thread_index()];
  args.y[thread_index()] = held[args.n - 1 - thread_index()];
}

KERNEL(same_place, Numbers) {
  SHARED(float, held, 1);
  held[0] = float(thread_index());
  barrier();
  args.y[thread_index()] = held[0];
}

KERNEL(written_while_read, Numbers) {
  SHARED(float, held, 256);
  held[thread_index()] = 1;
  barrier();
  args.y[thread_index()] = held[(thread_index() + 1) % args.n];
  held[thread_index()] = 2;
}

// Lanes of a warp need no barrier of the block.
KERNEL(within_warps, Numbers) {
  SHARED(float, held, 256);
  held[thread_index()] = 1;
  warp_barrier();
  const float next = held[warp() * WARP + (lane() + 1) % WARP];
  warp_barrier();
  held[thread_index()] = next + 1;
  args.y[thread_index()] = held[thread_index()];
}

KERNEL(within_warps_without_barrier, Numbers) {
  SHARED(float, held, 256);
  held[thread_index()] = 1;
  args.y[thread_index()] = held[warp() * WARP + (lane() + 1) % WARP];
}

KERNEL(across_warps_with_their_barrier, Numbers) {
  SHARED(float, held, 256);
  held[thread_index()] = 1;
  warp_barrier();
  args.y[thread_index()] = held[(thread_index() + WARP) % args.n];
}

KERNEL(never_written, Numbers) {
  SHARED(float, held, 256);
  if (thread_index() != 5) held[thread_index()] = 1;
  barrier();
  args.y[thread_index()] = held[thread_index()];
}

KERNEL(beyond_shared, Numbers) {
  SHARED(float, held, 255);
  held[thread_index()] = 1;
}

KERNEL(beyond_device, Numbers) { args.y[thread_index() + 1] = 1; }
KERNEL(before_device, Numbers) { args.y[thread_index() - 1] = 1; }
KERNEL(reads_poison, Numbers) { args.y[thread_index()] = args.y[thread_index()] + 1; }

KERNEL_OF(made_for_fewer_threads, Numbers, 128, 1) { args.y[thread_index()] = 0; }

KERNEL(some_leave_before_a_barrier, Numbers) {
  if (thread_index() == 7) return;
  barrier();
  args.y[thread_index()] = 1;
}

KERNEL(some_lanes_shuffle, Numbers) {
  float x = 1;
  if (lane() < 16) x = shuffle_xor(x, 1);
  barrier();
  args.y[thread_index()] = x;
}

KERNEL(shuffles_beyond_its_warp, Numbers) { args.y[thread_index()] = shuffle(1, WARP); }

KERNEL(rotates, Numbers) { args.y[thread_index()] = shuffle(float(lane()), (lane() + 1) % WARP); }

KERNEL(copies, Numbers) {
  SHARED(float, held, 256);
  copy_async(held + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  copies_wait<0>();
  barrier();
  args.y[thread_index()] = held[args.n - 1 - thread_index()];
}

KERNEL(copies_without_waiting, Numbers) {
  SHARED(float, held, 256);
  copy_async(held + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  args.y[thread_index()] = held[thread_index()];
  copies_wait<0>();
}

KERNEL(waits_for_the_first_of_two_copies, Numbers) {
  SHARED(float, first, 256);
  SHARED(float, second, 256);
  copy_async(first + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  copy_async(second + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  copies_wait<1>();
  args.y[thread_index()] = first[thread_index()] + second[thread_index()];
  copies_wait<0>();
}

KERNEL(copies_without_barrier, Numbers) {
  SHARED(float, held, 256);
  copy_async(held + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  copies_wait<0>();
  args.y[thread_index()] = held[args.n - 1 - thread_index()];
}

KERNEL(ends_with_copies_under_way, Numbers) {
  SHARED(float, held, 256);
  copy_async(held + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
}

KERNEL(before_shared, Numbers) {
  SHARED(float, held, 256);
  held[thread_index() - 1] = 1;
}

KERNEL(beyond_the_last_byte, Numbers) { as<unsigned char>(args.y)[args.n * 3 + 1 + thread_index()] = 1; }

KERNEL(shuffles_with_a_wrong_mask, Numbers) { args.y[thread_index()] = shuffle_xor(1, WARP); }

KERNEL(shuffles_in_place_of_a_barrier, Numbers) { // a shuffle orders no accesses
  SHARED(float, held, 256);
  held[thread_index()] = 1;
  const float x = shuffle_xor(1, 1);
  args.y[thread_index()] = x * held[warp() * WARP + (lane() + 1) % WARP];
}

KERNEL(different_instructions, Numbers) {
  SHARED(Uint4, held, 256);
  held[thread_index()] = {0, 0, 0, 0};
  Sums16x8 sums = {{0, 0, 0, 0}};
  if (lane() < 16) multiply_bf16(sums, {{1, 2, 3, 4}}, {{1, 2}});
  else load_matrices(held + thread_index());
  args.y[thread_index()] = sums.values[0];
}

void kernels_compute() {
  computes("reverse", 1, [](int i) { return n - 1 - i; });
  computes("within_warps", 1, [](int) { return 2; });
  computes("rotates", 1, [](int i) { return (i + 1) % WARP; });
  computes("copies", 1, [](int i) { return n - 1 - i; });
}

void faults_are_caught() {
  is_caught("reverse_without_barrier", "held[");
  is_caught("same_place", "write held[0]: no barrier between them");
  is_caught("written_while_read", "no barrier between them");
  is_caught("within_warps_without_barrier", "held[");
  is_caught("across_warps_with_their_barrier", "held[");
  is_caught("never_written", "reads held[5], which was never written");
  is_caught("beyond_shared", "element 255 of shared held, which has 255");
  is_caught("before_shared", "element -1 of shared held");
  is_caught("beyond_the_last_byte", "at byte 1024 of an allocation of 1024 bytes");
  is_caught("beyond_device", "at byte 1024 of an allocation of 1024 bytes");
  is_caught("before_device", "a write of 4 bytes");
  is_caught("reads_poison", "memory that was never written", 1, Content::poison);
  is_caught("made_for_fewer_threads", "a block has at most");
  is_caught("some_leave_before_a_barrier", "has ended");
  is_caught("some_lanes_shuffle", "is stuck");
  is_caught("shuffles_beyond_its_warp", "its warp has 32 lanes");
  is_caught("shuffles_with_a_wrong_mask", "its warp has 32 lanes");
  is_caught("shuffles_in_place_of_a_barrier", "no barrier between them");
  is_caught("different_instructions", "are at different instructions of their warp");
  is_caught("copies_without_waiting", "before the asynchronous copy");
  is_caught("waits_for_the_first_of_two_copies", "reads second[");
  is_caught("copies_without_barrier", "held[");
  is_caught("ends_with_copies_under_way", "ends before its asynchronous copies have landed");
}

// Instructions of a warp need all its lanes.
void part_of_a_warp_is_caught() {
  const Numbers none{};
  for (const char* const name : {"rotates", "within_warps"}) try {
      launch(*find_kernel(name), 1, WARP / 2, &none, 1);
      check(false, "%s: half a warp", name);
    } catch (const Fault& fault) {
      check(strstr(fault.what(), "warp 0 has 16 lanes"), "%s", fault.what());
    }
}

// A launch after a fault begins anew.
void a_fault_leaves_nothing_behind() {
  std::string message;
  run("some_leave_before_a_barrier", 1, Content::known, 1, message);
  computes("reverse", 1, [](int i) { return n - 1 - i; });
}

constexpr int large = 20000; // floats

KERNEL(reverse_in_large, Numbers) {
  LARGE_SHARED(float, held, large);
  held[large - args.n + thread_index()] = args.y[thread_index()];
  barrier();
  args.y[thread_index()] = held[large - 1 - thread_index()];
}

KERNEL(large_without_barrier, Numbers) {
  LARGE_SHARED(float, held, large);
  held[thread_index()] = args.y[thread_index()];
  args.y[thread_index()] = held[args.n - 1 - thread_index()];
}

void large_arrays_are_checked() {
  constexpr size_t bytes = large * sizeof(float);
  computes("reverse_in_large", 1, [](int i) { return n - 1 - i; }, bytes);
  is_caught("large_without_barrier", "never written", 1, Content::known, bytes);
  is_caught("reverse_in_large", "has 80000 bytes, the launch gives 0");
  is_caught("reverse_in_large", "has 80000 bytes, the launch gives 80004", 1, Content::known, bytes + 4);
  is_caught("reverse", "no array takes them", 1, Content::known, bytes);
}

void memory_is_counted() {
  Memory memory(1 << 20);
  check(memory.allocation_of(reinterpret_cast<const void*>(UINTPTR_MAX)) == 0, "a number that is no address");
  check(memory.allocate(2 << 20) == nullptr, "more than there is");
  uint8_t* const all = memory.allocate(1 << 20);
  check(all && memory.free_bytes() == 0 && memory.allocate(1) == nullptr, "all of it");
  check(memory.free(all) && !memory.free(all) && memory.free_bytes() == 1 << 20, "free, once");
  uint8_t* const some = memory.allocate(10);
  const auto faults = [](const auto& act) {
    try {
      act();
      return false;
    } catch (const Fault&) {
      return true;
    }
  };
  uint8_t bytes[16] = {};
  memory.write(some, bytes, 10);
  check(faults([&] { memory.read(bytes, some + 8, 8); }), "a read beyond an allocation");
  check(faults([&] { memory.check_read(some + 10, 2); }), "a kernel's read of the two bytes behind an allocation");
  check(faults([&] { memory.write(some - 4, bytes, 8); }), "a write before an allocation");
  memory.free(some);
  check(faults([&] { memory.read(bytes, some, 4); }), "a read of freed memory");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("the emulated device", [] {
    kernels_compute();
    faults_are_caught();
    part_of_a_warp_is_caught();
    a_fault_leaves_nothing_behind();
    large_arrays_are_checked();
    memory_is_counted();
  });
}
