// The update between two replays of a chain, on the emulated device, against its definition (PlanChain in core/src/driver.ts).
#include "kernels/chain.h"

#include <limits.h>

#include "test/arrays.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

constexpr int blocks = 3, block_size = 4;

// The inputs of a plan: states, positions, lengths, slots [S each], block table [S, blocks]; and the tokens of a replay.
struct Rows {
  explicit Rows(int count) : count(count), inputs(size_t(4 + blocks) * size_t(count)), tokens(size_t(count)), limits(size_t(count)) {
    for (int row = 0; row < count; row++) {
      inputs[at(0, row)] = 100 + row;
      inputs[at(1, row)] = row % (blocks * block_size - 1);
      inputs[at(2, row)] = inputs[at(1, row)] + 1;
      inputs[at(3, row)] = 7000 + row;
      for (int b = 0; b < blocks; b++) inputs[size_t(4 * count + row * blocks + b)] = (row * 5 + b * 3) % 11;
      tokens[size_t(row)] = 500 + row % 6;
      limits[size_t(row)] = row % 4 + 1;
    }
  }
  size_t at(int array, int row) const { return size_t(array * count + row); }

  const int count;
  std::vector<int> inputs, tokens, limits;
};

const std::vector<int> stops = {503, 505};

// What replay `done` leaves.
Rows advanced(Rows rows, int done) {
  for (int row = 0; row < rows.count; row++) {
    int* const inputs = rows.inputs.data();
    const int token = rows.tokens[size_t(row)];
    int& limit = rows.limits[size_t(row)];
    if (done >= limit) continue;
    const int position = int(unsigned(inputs[rows.at(1, row)]) + 1);
    if (token == stops[0] || token == stops[1] || position < 0 || position >= blocks * block_size) {
      limit = done;
      continue;
    }
    inputs[rows.at(0, row)] = token;
    inputs[rows.at(1, row)] = position;
    inputs[rows.at(2, row)]++;
    inputs[rows.at(3, row)] = inputs[4 * rows.count + row * blocks + position / block_size] * block_size + position % block_size;
  }
  return rows;
}

void agrees(const char* name, const Rows& rows, int done, const std::vector<int>& fault, const Rows& want) {
  const int S = rows.count;
  const Array<int64_t> growing(std::vector<int64_t>{S, 2 * S});
  const Array<int> stop_words(stops), faults(fault), tokens(rows.tokens), record(size_t(2 + S));
  for (uint64_t seed = 0; seed < 3; seed++) {
    const Array<int> inputs(rows.inputs), limits(rows.limits);
    const AdvanceChain args{tokens.global(), faults.global(), record.global(), limits.global(), stop_words.global(), growing.global(),
                            inputs.global(), 0, 3l * S, S, 4l * S, S, int(stops.size()), 2, blocks, block_size, done};
    launched<1>("advance_chain", 1, 64, args, [&] {
      check(inputs.values() == want.inputs, "%s: inputs of %d rows after replay %d", name, S, done);
      check(limits.values() == want.limits, "%s: limits of %d rows after replay %d", name, S, done);
      std::vector<int> both = fault;
      both.insert(both.end(), rows.tokens.begin(), rows.tokens.end());
      check(record.values() == both, "%s: the record of %d rows", name, S);
    });
  }
}

}  // namespace
}  // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("chains", [] {
    for (const int count : {1, 5, 64, 256, 300})
      for (int done = 1; done <= 4; done++) agrees("rows", Rows(count), done, {0, 0}, advanced(Rows(count), done));
    Rows last(8);
    for (int row = 0; row < 8; row++) last.inputs[last.at(1, row)] = row % 2 ? blocks * block_size - 1 : INT_MAX, last.limits[size_t(row)] = 9;
    agrees("no slot", last, 1, {0, 0}, advanced(last, 1));
    agrees("a fault", Rows(5), 1, {3, 1}, Rows(5));
  });
}
