// A kernel did what no kernel may do. The first fault ends the launch.
#pragma once
#include <stdexcept>
#include <string>

namespace quern::gpu {

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] [[gnu::format(printf, 1, 2)]] void fault(const char* format, ...);

} // namespace quern::gpu
