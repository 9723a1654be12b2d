#include "gpu/kept-rates.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <mutex>
#include <optional>

#include "quern/user-cache.h"

namespace quern::gpu {

namespace fs = std::filesystem;

static constexpr const char *first_line = "quern rates 1", *last_line = "end";
static constexpr double longest = 30 * 24 * 3600;  // seconds

std::string rates_file(const RatesKey& key) {
  const fs::path folder = user_cache_folder();
  return folder.empty() || key.name.empty() ? "" : (folder / "quern" / "rates" / key.name).string();
}

static std::optional<Rates> read_rates(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  std::string first, second, name;
  double since = 0, rate = 0;
  if (!std::getline(file, first) || first != first_line || !std::getline(file, second) || second != key) return {};
  if (!(file >> name >> since) || name != "measured" || !(fabs(difftime(time(nullptr), time_t(since))) < longest)) return {};
  Rates rates{};
  for (const auto& [wanted, member] : rate_names) {
    if (!(file >> name >> rate) || name != wanted || !(rate > 0) || !isfinite(rate)) return {};
    rates.*member = rate;
  }
  return file >> name && name == last_line ? std::optional(rates) : std::nullopt;
}

// Other processes see the old file or the new one.
static void write_rates(const fs::path& path, const std::string& key, const Rates& rates) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  const fs::path fresh = path.string() + "." + std::to_string(getpid());
  {
    std::ofstream file(fresh);
    file << std::setprecision(6) << first_line << '\n' << key << "\nmeasured " << int64_t(time(nullptr)) << '\n';
    for (const auto& [name, member] : rate_names) file << name << ' ' << rates.*member << '\n';
    file << last_line << '\n';
    if (file.flush()) fs::rename(fresh, path, ignored);
  }
  fs::remove(fresh, ignored);
}

namespace {

struct Known {
  std::mutex mutex;  // also: two measurements at a time would slow each other down
  std::map<std::string, Rates> rates;
};
Known& known() {
  static auto& known = *new Known;  // for threads that run while the process exits
  return known;
}

}  // namespace

std::optional<Rates> kept_rates(const RatesKey& key) {
  const std::string path = rates_file(key);
  if (const auto read = path.empty() ? std::nullopt : read_rates(path, key.text)) return read;
  const std::lock_guard lock(known().mutex);
  const auto found = known().rates.find(key.text);
  return found == known().rates.end() ? std::nullopt : std::optional(found->second);
}

Rates measured_rates(const RatesKey& key, const std::function<Rates()>& measure) {
  const std::lock_guard lock(known().mutex);
  if (const auto found = known().rates.find(key.text); found != known().rates.end()) return found->second;
  const Rates rates = measure();
  if (const std::string path = rates_file(key); !path.empty()) write_rates(path, key.text, rates);
  return known().rates[key.text] = rates;
}

}  // namespace quern::gpu
