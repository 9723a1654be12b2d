// Launches that may begin before the one ahead of them is done: what they use too early is found.
#include "test/planted.h"
#include "test/run-test.h"

namespace quern::gpu {
namespace {

KERNEL(adds_one, Numbers) { args.y[thread_index()] += 1; }
KERNEL(adds_one_to_words_in_halves, Numbers) {
  const Global<unsigned short> halves = as<unsigned short>(args.y);
  halves[2 * thread_index()] = halves[2 * thread_index()];
  halves[2 * thread_index() + 1] = halves[2 * thread_index() + 1];
}
KERNEL(reads_halves, Numbers) {
  if (as<const unsigned short>(args.y)[2 * thread_index()] == 1) args.y[n + thread_index()] = 1;
}

KERNEL_AHEAD(doubles, Numbers) {
  prefetch(args.y + thread_index());
  previous_launches_done();
  args.y[thread_index()] = 2 * args.y[thread_index()];
}
KERNEL_AHEAD(reads_before_it_waits, Numbers) {
  const float early = args.y[thread_index()];
  previous_launches_done();
  args.y[n + thread_index()] = early;
}
KERNEL_AHEAD(writes_before_it_waits, Numbers) {
  if (thread_index() < WARP) args.y[thread_index()] = 1;
  previous_launches_done();
}
KERNEL_AHEAD(copies_before_it_waits, Numbers) {
  SHARED(float, held, 256);
  copy_async(held + thread_index(), Global<const float>(args.y + thread_index()));
  copies_commit();
  previous_launches_done();
  copies_wait<0>();
}
KERNEL_AHEAD(never_waits, Numbers) {
  if (thread_index() != 7) previous_launches_done();
}
KERNEL_AHEAD(prefetches_what_is_not_there, Numbers) {
  prefetch(args.y + (1 << 20));
  previous_launches_done();
}

struct Step {
  const char* kernel;
  Begin begin;
};

// The result of launches in order on y = 0, 1, … [2, n]; the message of a fault.
std::vector<float> run_in_order(std::initializer_list<Step> steps, uint64_t seed, std::string& message) {
  Memory& memory = *device_memory();
  std::vector<float> y(2 * n);
  for (size_t i = 0; i < y.size(); i++) y[i] = float(i);
  uint8_t* const data = memory.allocate(y.size() * sizeof(float));
  memory.write(data, y.data(), y.size() * sizeof(float));
  const Numbers args{Global(reinterpret_cast<float*>(data)), n};
  try {
    for (const Step& step : steps) launch(*find_kernel(step.kernel), 1, n, &args, seed, 0, step.begin);
  } catch (const Fault& fault) {
    message = fault.what();
  }
  memory.read(y.data(), data, y.size() * sizeof(float));
  memory.free(data);
  return y;
}

void gives(std::initializer_list<Step> steps, const char* expected) {
  for (uint64_t seed = first_seed(); seed < first_seed() + 3; seed++) {
    std::string message;
    run_in_order(steps, seed, message);
    const bool right = *expected ? message.find(expected) != std::string::npos : message.empty();
    check(right, "%s, seed %d: expected '%s', got '%s'", (steps.end() - 1)->kernel, int(seed), expected, message.c_str());
  }
}

constexpr Begin after_all = Begin::after_all, dependent = Begin::dependent;
constexpr const char *early = "before previous_launches_done()", *none = "";

void launches_that_wait_compute() {
  std::string message;
  const std::vector<float> y = run_in_order({{"adds_one", after_all}, {"doubles", dependent}, {"adds_one", dependent}}, 1, message);
  for (int i = 0; i < n; i++) check(message.empty() && y[size_t(i)] == float(2 * (i + 1) + 1), "got %g: %s", double(y[size_t(i)]), message.c_str());
}

// Reads of what nobody writes may be early: weights.
void early_access_is_caught() {
  for (const char* kernel : {"reads_before_it_waits", "writes_before_it_waits", "copies_before_it_waits"}) {
    gives({{"adds_one", after_all}, {kernel, dependent}}, early);
    gives({{"adds_one", after_all}, {"never_touches", dependent}, {kernel, dependent}}, early);
    gives({{"adds_one_to_words_in_halves", after_all}, {kernel, dependent}}, early);
    gives({{"adds_one", after_all}, {kernel, after_all}}, none);
  }
  for (const char* reader : {"reads_before_it_waits", "reads_halves"}) {
    gives({{reader, after_all}, {reader, dependent}, {"copies_before_it_waits", dependent}}, none);
    gives({{reader, after_all}, {"writes_before_it_waits", dependent}}, early);
  }
}

void waits_are_needed() {
  gives({{"never_waits", after_all}}, "thread 7 ends without previous_launches_done()");
  gives({{"prefetches_what_is_not_there", dependent}}, "a prefetch");
}

KERNEL(never_touches, Numbers) {}

} // namespace
} // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  return run_test("launches that begin early", [] {
    launches_that_wait_compute();
    early_access_is_caught();
    waits_are_needed();
  });
}
