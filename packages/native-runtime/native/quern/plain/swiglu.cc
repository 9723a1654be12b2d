#include "quern/plain/plain.h"

namespace quern::plain {

void swiglu(const OpView& op) {
  map2(op, [](float gate, float up) { return silu_of(gate) * up; });
}

} // namespace quern::plain
