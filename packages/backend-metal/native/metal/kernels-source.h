// The kernels in Metal's language: dialect, kernels, all in one text (packages/gpu/native/metal-source.mjs).
#pragma once

namespace quern::metal {

extern const char* const kernels_source;

}  // namespace quern::metal
