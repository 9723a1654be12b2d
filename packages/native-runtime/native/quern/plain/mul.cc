#include "quern/plain/plain.h"

namespace quern::plain {

void mul(const OpView& op) {
  combine(op, [](float a, float b) { return a * b; });
}

} // namespace quern::plain
