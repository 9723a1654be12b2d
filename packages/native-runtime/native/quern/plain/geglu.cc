#include "quern/plain/plain.h"

namespace quern::plain {

void geglu(const OpView& op) {
  map2(op, [](float gate, float up) { return gelu_tanh(gate) * up; });
}

} // namespace quern::plain
