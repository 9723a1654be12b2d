// Kernels with one planted fault each are caught; those without it compute. Every launch has several orders of threads.
#pragma once
#include "dialect/host.h"
#include "test/check.h"

namespace quern::gpu {

constexpr int n = 256;
enum class Content { known, poison };

struct Numbers {
  Global<float> y; // [blocks, n]
  int n;
};

// The result of a kernel on y = 0, 1, …; `message`: of its fault.
inline std::vector<float> run(const char* name, int blocks, Content content, uint64_t seed, std::string& message,
                              size_t shared_bytes = 0) {
  Memory& memory = *device_memory();
  std::vector<float> y(size_t(blocks) * n);
  const size_t bytes = y.size() * sizeof(float);
  uint8_t* const data = memory.allocate(bytes);
  for (size_t i = 0; i < y.size(); i++) y[i] = float(i);
  if (content == Content::known) memory.write(data, y.data(), bytes);
  const Numbers args{Global(reinterpret_cast<float*>(data)), n};
  try {
    launch(*find_kernel(name), blocks, n, &args, seed, shared_bytes);
    memory.read(y.data(), data, bytes);
  } catch (const Fault& fault) {
    message = fault.what();
  }
  memory.free(data);
  return y;
}

template <class F>
void computes(const char* name, int blocks, const F& expected, size_t shared_bytes = 0) {
  for (uint64_t seed = first_seed(); seed < first_seed() + 5; seed++) {
    std::string message;
    const std::vector<float> y = run(name, blocks, Content::known, seed, message, shared_bytes);
    bool same = message.empty();
    for (size_t i = 0; same && i < y.size(); i++) same = y[i] == float(expected(int(i)));
    check(same, "%s, seed %d: %s", name, int(seed), message.empty() ? "other numbers" : message.c_str());
  }
}

// The message names the kernel and contains `part`.
inline void is_caught(const char* name, const char* part, int blocks = 1, Content content = Content::known,
                      size_t shared_bytes = 0) {
  for (uint64_t seed = first_seed(); seed < first_seed() + 5; seed++) {
    std::string message;
    run(name, blocks, content, seed, message, shared_bytes);
    const bool right = message.find(name) == 0 && message.find(part) != std::string::npos;
    check(right, "%s, seed %d: expected '%s', got '%s'", name, int(seed), part, message.c_str());
  }
}

} // namespace quern::gpu
