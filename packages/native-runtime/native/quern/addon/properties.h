// Properties as JavaScript objects.
#pragma once
#include <napi.h>

#include "quern/properties.h"

namespace quern {

Napi::Value to_object(Napi::Env env, const Properties& properties);

// The numbers, strings and booleans of an object. `undefined` counts as absent. Throws BAD_ARGUMENT for other values.
Properties to_properties(const Napi::Value& value, const char* name);

} // namespace quern
