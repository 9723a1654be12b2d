// Decode attention on tensor cores (kernels/cuda/attention-group.h) on the emulated device, against its definition in float64.
#include "test/attention-batches.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

constexpr Type stored[] = {f16, bf16, i8, e4m3};

Cached packed(Type type, int d, int heads, int kv_heads, int size, Rule rule = {}, const std::vector<Sequence>& of = batch) {
  Cached made(type, d, heads, kv_heads, size, rule, 0, of);
  made.packed = true;
  made.tile_per_row = heads % 2 == 0;
  return made;
}

void groups_agree() {
  int turn = 0;
  for (const Type type : stored)
    for (const int d : {8, 64, 72, 96, 128}) {
      const int sizes[] = {1, 16, 48}, groups[] = {1, 3, 4, 8};
      const int kv_heads = turn % 2 + 1, group = groups[turn % 4];
      packed(type, d, group * kv_heads, kv_heads, sizes[turn++ % 3]).agrees(3e-6);
    }
  for (const int group : {2, 5, 6, 7, 12, 16}) packed(stored[group % 4], 32, group, 1, 16).agrees(3e-6);
  for (const Rule rule : {Rule{false, 0, 0}, Rule{true, 4, 0}, Rule{false, 7, 0}, Rule{true, 0, 0.5f}, Rule{true, 100, 2}})
    for (const Type type : stored) packed(type, 32, 6, 2, 16, rule).agrees(3e-6);
}

// Up to 15 rows of speculation, more keys than all warps take in a turn.
void rows_of_speculation_agree() {
  const std::vector<Sequence> of = {{15, 90}, {0, 0}, {2, 2}, {7, 81}};
  for (const Type type : stored)
    for (const int group : {4, 8}) packed(type, type == i8 ? 128 : 64, group, 1, 16, {}, of).agrees(3e-6);
  for (const Rule rule : {Rule{true, 20, 0}, Rule{false, 0, 0}}) packed(bf16, 128, 5, 1, 32, rule, of).agrees(3e-6);
}

// More parts than the keys fill, and than attention_merge takes in a turn.
void many_parts_agree() {
  const std::vector<Sequence> of = {{1, 90}, {2, 33}, {1, 1}};
  packed(bf16, 64, 4, 1, 16, {}, of).agrees_in(40, 3e-6);
  packed(i8, 128, 4, 2, 16, {}, of).agrees_in(66, 3e-6);
}

// Numbers at the ends of f16 and far from it: q is brought into its range, so are the scales of values.
void numbers_of_any_size_agree() {
  for (const Type type : stored)
    for (const float size : {1e-30f, 1e-3f, 6e4f}) {
      Cached odd = packed(type, 64, 4, 1, 16);
      for (size_t i = 0; i < odd.q.size(); i++) odd.q[i] *= 1 / size;
      std::vector<float> k(64), v(64);
      for (int slot = 0; slot < odd.context * int(odd.sequences.size()); slot++) {
        for (int i = 0; i < 64; i++) k[i] = float(odd.k.get(slot, 0, i)) * size, v[i] = float(odd.v.get(slot, 0, i)) * (slot % 5 ? 1.0f : 6e4f);
        odd.k.put(slot, 0, k.data()), odd.v.put(slot, 0, v.data());
      }
      if (type == f16 && size < 1e-10f) continue; // such keys are no f16
      odd.agrees(0.1); // of values up to 60000
    }
}

// A row has the same bits in a batch, alone with its sequence, and as the only row.
void rows_do_not_depend_on_others() {
  for (const Type type : stored) {
    Cached all = packed(type, 64, 4, 2, 16);
    all.parts = type == i8 ? 3 : 1;
    std::vector<float> y;
    all.run([&](const std::vector<float>& got) { y = got; });
    for (int s = 0; s < int(batch.size()); s++)
      for (const int rows : {1, batch[s].rows}) {
        if (batch[s].rows == 0) continue;
        const float* const want = &y[(all.bounds[s + 1] - rows) * 4 * 64];
        Cached alone = all.alone(s, rows);
        alone.tile_per_row = !all.tile_per_row;
        alone.run([&](const std::vector<float>& got) {
          check(memcmp(got.data(), want, got.size() * 4) == 0, "attention_group: sequence %d depends on the others", s);
        });
      }
  }
}

// Each changes a batch; the kernel must say so and write nothing there.
void bad_batches_are_found() {
  void (*const faults[])(Cached&) = {
      [](Cached& b) { b.table[1] = 12; },  [](Cached& b) { b.table[0] = -1; },   [](Cached& b) { b.lengths[0] = 49; },
      [](Cached& b) { b.lengths[1] = 4; }, [](Cached& b) { b.lengths[3] = -1; }, [](Cached& b) { b.bounds[1] = -1000; },
      [](Cached& b) { b.bounds[2] = 0; },  [](Cached& b) { b.bounds[0] = 1; },   [](Cached& b) { b.bounds[4] = 8; },
  };
  for (const auto& change : faults)
    for (const Type type : {f16, i8}) {
      Cached wrong = packed(type, 32, type == i8 ? 3 : 2, 1, 16);
      change(wrong);
      wrong.run([&](const std::vector<float>& y) { check(wrong.fault == op && y[0] == -7, "attention_group: fault %d", wrong.fault); });
    }
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("decode attention on tensor cores", [] {
    groups_agree();
    rows_of_speculation_agree();
    many_parts_agree();
    numbers_of_any_size_agree();
    rows_do_not_depend_on_others();
    bad_batches_are_found();
  }, 1 << 28);
}
