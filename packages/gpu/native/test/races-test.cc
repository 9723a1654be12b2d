// Accesses of device memory that nothing orders are found; ordered ones, and atomic ones, are not.
#include "test/planted.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

KERNEL(own_rows, Numbers) {
  const Global<float> y = args.y + block_index() * n;
  const float mirrored = y[n - 1 - thread_index()];
  barrier();
  y[thread_index()] = mirrored + 1;
}
KERNEL(one_row_for_all_blocks, Numbers) { args.y[thread_index()] = float(block_index()); }
KERNEL(row_of_another_block, Numbers) {
  const float taken = args.y[thread_index()];
  barrier();
  args.y[block_index() * n + thread_index()] = taken;
}

KERNEL(mirror_without_barrier, Numbers) {
  args.y[thread_index()] = 1;
  args.y[thread_index()] = args.y[n - 1 - thread_index()];
}
KERNEL(one_word_for_all_threads, Numbers) { args.y[0] = float(thread_index()); }
KERNEL(overwrites_what_others_read, Numbers) {
  const float sum = args.y[0] + args.y[n - 1];
  args.y[thread_index()] = sum;
}

KERNEL(lanes, Numbers) {
  args.y[thread_index()] = float(lane());
  warp_barrier();
  const float next = args.y[warp() * WARP + (lane() + 1) % WARP];
  warp_barrier();
  args.y[thread_index()] = next;
}
KERNEL(lanes_without_barrier, Numbers) {
  args.y[thread_index()] = float(lane());
  args.y[thread_index()] = args.y[warp() * WARP + (lane() + 1) % WARP];
}
KERNEL(other_warps_with_their_barrier, Numbers) {
  args.y[thread_index()] = 1;
  warp_barrier();
  args.y[thread_index()] = args.y[(thread_index() + WARP) % n];
}

// Halves of a word belong to two threads.
KERNEL(own_halves, Numbers) {
  const Global<unsigned short> halves = as<unsigned short>(args.y);
  halves[thread_index()] = 0;
  halves[n + thread_index()] = halves[thread_index()];
  barrier();
  const float next = args.y[(thread_index() + 1) % n];
  barrier();
  args.y[thread_index()] = next;
}
KERNEL(half_of_another_thread, Numbers) {
  const Global<unsigned short> halves = as<unsigned short>(args.y);
  halves[thread_index()] = 0;
  halves[n + thread_index()] = halves[thread_index() ^ 1];
}
KERNEL(half_of_another_block, Numbers) { as<unsigned short>(args.y)[thread_index() + block_index()] = 0; }
KERNEL(word_over_halves, Numbers) {
  if (thread_index() < 2) as<unsigned short>(args.y)[thread_index()] = 0;
  else if (thread_index() == WARP) args.y[0] = 1;
}

// Every block adds to the first word.
KERNEL(counts, Numbers) { add_atomic(as<int>(args.y), 1); }
KERNEL(counts_and_looks, Numbers) {
  add_atomic(as<int>(args.y), 1);
  if (block_index() == 0 && thread_index() == 7) args.y[1] = args.y[0];
}
KERNEL(counts_and_looks_atomically, Numbers) {
  add_atomic(as<int>(args.y), 1);
  if (load_atomic(as<int>(args.y)) < 1) args.y[1] = -1;
}

void ordered_accesses_compute() {
  computes("own_rows", 3, [](int i) { return i / n * n + n - 1 - i % n + 1; });
  computes("lanes", 1, [](int i) { return (i + 1) % WARP; });
  computes("own_halves", 1, [](int) { return 0; });
  const auto counted = [](int i) { return i == 0 ? from_bits(3 * n) : i; };
  computes("counts", 3, counted);
  computes("counts_and_looks_atomically", 3, counted);
}

void races_are_caught() {
  constexpr const char *blocks = "nothing orders the blocks of a launch", *threads = "no barrier between them";
  is_caught("one_row_for_all_blocks", blocks, 2);
  is_caught("row_of_another_block", blocks, 3);
  is_caught("half_of_another_block", blocks, 2);
  is_caught("counts_and_looks", "of an allocation of 3072 bytes", 3);
  is_caught("mirror_without_barrier", threads);
  is_caught("one_word_for_all_threads", threads);
  is_caught("overwrites_what_others_read", threads);
  is_caught("lanes_without_barrier", threads);
  is_caught("other_warps_with_their_barrier", threads);
  is_caught("half_of_another_thread", threads);
  is_caught("word_over_halves", threads);
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("races in device memory", [] {
    ordered_accesses_compute();
    races_are_caught();
  });
}
