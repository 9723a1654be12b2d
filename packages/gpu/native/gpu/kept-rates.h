// Rates are measured once per process, and once per month on disk: measuring takes about a second, and busies the device.
#pragma once
#include <functional>
#include <string>

#include "gpu/rates.h"

namespace quern::gpu {

// What rates depend on.
struct RatesKey {
  std::string name;  // of the file, for one device and precision; empty: not on disk
  std::string text;  // all that the rates depend on, in one line
};

// The rates of `key`: those of this process, of the file <cache>/quern/rates/<name>, or measure(), which is kept. <cache> is
// XDG_CACHE_HOME, or .cache in HOME. A file with another key, older than 30 days or unreadable is measured again and replaced; where
// none can be written, the process alone keeps the rates. Any thread.
Rates kept_rates(const RatesKey& key, const std::function<Rates()>& measure);

}  // namespace quern::gpu
