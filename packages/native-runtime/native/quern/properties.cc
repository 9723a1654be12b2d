#include "quern/properties.h"

#include <cmath>

#include "quern/failure.h"

namespace quern {

const Property* Options::find(const std::string& name) const {
  for (const Property& property : given_)
    if (property.name == name) return &property;
  return nullptr;
}

double Options::number(const std::string& name, double otherwise) const {
  const Property* const property = find(name);
  if (!property) return otherwise;
  if (const double* const value = std::get_if<double>(&property->value)) return *value;
  fail(Code::bad_argument, "%s must be a number", name.c_str());
}

int64_t Options::integer(const std::string& name, int64_t least, int64_t most, int64_t otherwise) const {
  const double value = number(name, static_cast<double>(otherwise));
  if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) || value != std::trunc(value))
    fail(Code::bad_argument, "%s must be a whole number from %lld to %lld; got %g", name.c_str(), static_cast<long long>(least),
         static_cast<long long>(most), value);
  return static_cast<int64_t>(value);
}

std::string Options::text(const std::string& name, const std::string& otherwise) const {
  const Property* const property = find(name);
  if (!property) return otherwise;
  if (const auto* const value = std::get_if<std::string>(&property->value)) return *value;
  fail(Code::bad_argument, "%s must be a string", name.c_str());
}

} // namespace quern
