// Weights from files, or memory, to what ops read.
#pragma once
#include <memory>

#include "weights/gptq-rows.h"
#include "weights/stored-rows.h"

namespace quern {

// A vector (norm weight, bias) becomes f32. A matrix, or a stack of them, in a block format is packed into the tiles that the
// kernels multiply (kernels/packed/tiles.h), if they do; any other stays as it lies in the file, used where it is mapped, or in
// the memory that its bytes came in; what lies in pieces is put together. Works on the pool's threads. Throws BAD_WEIGHT,
// UNSUPPORTED or OUT_OF_MEMORY, each naming the weight.
std::shared_ptr<const Weight> load_weight(const WeightSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool);
// A GPTQ matrix in whatever of our formats means the same. Throws BAD_WEIGHT or OUT_OF_MEMORY, naming the weight.
std::shared_ptr<const Weight> load_gptq(const GptqSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool);

} // namespace quern
