// Named values: the profile of a device, and the options of a device.
#pragma once
#include <stdint.h>

#include <string>
#include <variant>
#include <vector>

namespace quern {

struct Property;
using Properties = std::vector<Property>;

struct Property {
  std::string name;
  std::variant<bool, double, std::string, Properties> value;
};

// Options of a device. Getters throw BAD_ARGUMENT if a value has the wrong type.
class Options {
 public:
  explicit Options(Properties given) : given_(std::move(given)) {}
  double number(const std::string& name, double otherwise) const;
  // An integer in [least, most].
  int64_t integer(const std::string& name, int64_t least, int64_t most, int64_t otherwise) const;
  std::string text(const std::string& name, const std::string& otherwise) const;

 private:
  const Property* find(const std::string& name) const;
  Properties given_;
};

} // namespace quern
