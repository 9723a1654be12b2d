#include "quern/precision.h"

#include "quern/failure.h"

namespace quern {

static constexpr Precision precisions[] = {Precision::fast, Precision::standard, Precision::exact};

const char* name_of(Precision precision) {
  switch (precision) {
    case Precision::fast: return "fast";
    case Precision::standard: return "standard";
    case Precision::exact: return "exact";
  }
  return "";
}

Precision precision_named(const std::string& name) {
  for (const Precision precision : precisions)
    if (name == name_of(precision)) return precision;
  fail(Code::bad_argument, "there is no precision '%s'; there are fast, standard and exact", name.c_str());
}

} // namespace quern
