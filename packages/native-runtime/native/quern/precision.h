// How products and attention round: the option `precision` of backends. @quern/core (precision.ts) tells users what the names
// mean; each device says what it does.
#pragma once
#include <string>

namespace quern {

enum class Precision { fast, standard, exact };

// Throws BAD_ARGUMENT for another name.
Precision precision_named(const std::string& name);
const char* name_of(Precision precision);

} // namespace quern
