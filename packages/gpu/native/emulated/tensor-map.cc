#include "emulated/tensor-map.h"

#include <string.h>

#include "emulated/fault.h"

namespace quern::gpu {

EncodedMap decoded(const TensorMap& map) {
  EncodedMap encoded;
  memcpy(&encoded, &map, sizeof encoded);
  if (encoded.mark != EncodedMap::made) fault("a tensor map that the driver did not make");
  return encoded;
}

} // namespace quern::gpu
