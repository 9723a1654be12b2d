#include "quern/plain/ops.h"

#include "quern/failure.h"

namespace quern::plain {

// The core ops are the first of op_table.
static constexpr PlainOp table[] = {
#define FORM(Op, name) plain::name,
    QUERN_CORE_OPS(FORM)
#undef FORM
};

PlainOp find_op(const OpSpec& spec) {
  const size_t index = &spec - op_table;
  if (index >= std::size(table)) fail(Code::unsupported, "there is no plain form of %s", spec.name);
  return table[index];
}

} // namespace quern::plain
