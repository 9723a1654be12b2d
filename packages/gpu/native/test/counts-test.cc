// What the emulated device counts: sectors of requests, turns of the banks.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "emulated/counts.h"
#include "test/arrays.h"
#include "test/planted.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

KERNEL(side_by_side, Numbers) { args.y[thread_index()] = 1; }
KERNEL(in_sectors_of_their_own, Numbers) { args.y[8 * thread_index()] = 1; }
KERNEL(half_of_the_lanes, Numbers) {
  for (int i = 0; i <= thread_index() % 2; i++) args.y[n * i + thread_index()] = 1;
}
KERNEL(wide, Numbers) { as<Float4>(args.y)[thread_index()] = Float4{1, 1, 1, 1}; }
KERNEL(one_word, Numbers) {
  const float x = args.y[0];
  if (x != 0) args.y[thread_index()] = x;
}
KERNEL(adds, Numbers) { add_atomic(as<int>(args.y) + thread_index() / WARP * 8, 1); }

template <int pitch>
void column(const Numbers& args) {
  SHARED(float, held, 32 * 33);
  held[thread_index() % WARP * pitch + thread_index() / WARP] = 1;
  barrier();
  if (args.n == 0) args.y[0] = held[0];
}
KERNEL(columns_of_a_bank, Numbers) { column<32>(args); }
KERNEL(columns_of_all_banks, Numbers) { column<33>(args); }
KERNEL(wide_shared, Numbers) {
  SHARED(Uint4, held, 256);
  held[thread_index()] = Uint4{1, 1, 1, 1};
}
KERNEL(wide_shared_apart, Numbers) {
  SHARED(Uint4, held, 256 * 8);
  held[thread_index() % WARP * 8 + thread_index() / WARP] = Uint4{1, 1, 1, 1};
}

// The line of a launch of one block on y [8, n].
std::string counted(const char* name) {
  const std::string path = "/tmp/quern-counts-" + std::to_string(getpid());
  const Array<float> y(std::vector<float>(8 * n));
  const Numbers args{y.global(), n};
  remove(path.c_str());
  setenv("QUERN_EMULATED_COUNTS", path.c_str(), 1);
  launch(*find_kernel(name), 1, n, &args, first_seed());
  unsetenv("QUERN_EMULATED_COUNTS");
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  remove(path.c_str());
  return text.str();
}

struct Expected {
  const char* access;
  int requests, used, moved;
};

void counts(const char* name, int needed, Expected of) {
  char places[200];
  snprintf(places, sizeof places, "\"access\":\"%s\",\"requests\":%d,\"used\":%d,\"moved\":%d}", of.access, of.requests, of.used, of.moved);
  const std::string line = counted(name), all = "\"needed\":" + std::to_string(needed) + ",";
  check(line.find(places) != std::string::npos && line.find(all) != std::string::npos, "%s: expected %s %s, got %s", name, all.c_str(), places, line.c_str());
}

// Eight warps. Bytes that lanes use, and bytes of their sectors.
void sectors_are_counted() {
  counts("side_by_side", 1024, {"write", 8, 1024, 1024});
  counts("in_sectors_of_their_own", 8192, {"write", 8, 1024, 8192});
  counts("half_of_the_lanes", 2048, {"write", 16, 1536, 2048});
  counts("wide", 4096, {"write", 8, 4096, 4096});
  counts("one_word", 32, {"read", 8, 32, 256});
  counts("adds", 256, {"atomic", 8, 32, 256});
}

// Turns that the words need, and turns with conflicts.
void turns_of_banks_are_counted() {
  counts("columns_of_a_bank", 0, {"shared write", 8, 8, 256});
  counts("columns_of_all_banks", 0, {"shared write", 8, 8, 8});
  counts("wide_shared", 0, {"shared write", 8, 32, 32});
  counts("wide_shared_apart", 0, {"shared write", 8, 32, 256});
}

void nothing_is_counted_without_the_setting() {
  const Array<float> y(std::vector<float>(8 * n));
  const Numbers args{y.global(), n};
  counted("wide");
  launch(*find_kernel("wide"), 1, n, &args, first_seed());
  check(!counting, "a launch without the setting");
}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("what the emulated device counts", [] {
    sectors_are_counted();
    turns_of_banks_are_counted();
    nothing_is_counted_without_the_setting();
  });
}
