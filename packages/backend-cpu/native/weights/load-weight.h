// Loads weights from files or memory into the form that ops read.
#pragma once
#include <memory>

#include "quern/page-pool.h"
#include "weights/gptq-rows.h"
#include "weights/stored-rows.h"

namespace quern {

// A vector (norm weight, bias) becomes f32. A matrix or a stack of matrices in a block format is packed into the tiles of
// the kernels (kernels/packed/tiles.h), if kernels for the format exist. Other matrices stay in the file's layout, in the
// mapping or in memory; matrices in several pieces are joined by copying. Copies lie in `pages`. Uses the pool's threads. Throws
// BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY; messages name the weight.
std::shared_ptr<const Weight> load_weight(const WeightSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool,
                                          PagePool& pages);
// A GPTQ matrix in an exact format of GptqRows. Throws BAD_WEIGHT or OUT_OF_MEMORY; messages name the weight.
std::shared_ptr<const Weight> load_gptq(const GptqSource& source, FileMap& files, const Kernels& kernels, ThreadPool& pool,
                                        PagePool& pages);

} // namespace quern
