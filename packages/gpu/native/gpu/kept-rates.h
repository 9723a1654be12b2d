// Measured rates are kept in the process, and on disk for a month: measuring takes about a second, and busies the device.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "gpu/rates.h"

namespace quern::gpu {

// What rates depend on.
struct RatesKey {
  std::string name;  // of the file, for one device and precision; empty: not on disk
  std::string text;  // all that the rates depend on, in one line
};

// <cache>/quern/rates/<name>; <cache> is that of quern/user-cache.h. Empty: there is no place for a file.
std::string rates_file(const RatesKey& key);

// The rates of the file, or those that this process has measured. A file with another key, older than 30 days or unreadable has none.
// Any thread.
std::optional<Rates> kept_rates(const RatesKey& key);

// measure(), once per process; in the file then. Where none can be written, the process alone keeps the rates. Any thread.
Rates measured_rates(const RatesKey& key, const std::function<Rates()>& measure);

}  // namespace quern::gpu
