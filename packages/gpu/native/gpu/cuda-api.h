// Numbers and structures of NVIDIA's driver API (cuda.h), for backend-cuda and the emulated driver. test/driver-types.cc compares them
// with cuda.h.
#pragma once

namespace quern::cuda::api {

using Result = int; // CUresult
constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, no_device = 100, invalid_device = 101, invalid_context = 201,
                 invalid_handle = 400, not_found = 500, not_ready = 600, too_many_resources = 701, launch_failed = 719,
                 not_supported = 801, driver_mismatch = 803, capture_invalidated = 901, unknown = 999;

// Attributes of a device (CUdevice_attribute).
enum Attribute : int {
  clock_rate = 13,  // kHz
  multiprocessors = 16,
  memory_clock = 36,  // kHz
  memory_width = 37,  // bits
  second_cache = 38,
  compute_major = 75,
  compute_minor = 76,
  shared_memory_opt_in = 97
};
// Of a function (CUfunction_attribute).
enum FunctionAttribute : int { max_dynamic_shared_bytes = 8 };

// A waiting thread sleeps; the default stream and others do not wait for each other; memory may be allocated during a capture.
constexpr unsigned context_blocks = 4, stream_non_blocking = 1; // CU_CTX_SCHED_BLOCKING_SYNC, CU_STREAM_NON_BLOCKING
constexpr int capture_relaxed = 2;                              // CU_STREAM_CAPTURE_MODE_RELAXED
constexpr int programmatic_stream_serialization = 6;            // CUlaunchAttributeID
// CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion.
constexpr int tensor_bf16 = 9, no_swizzle = 0, swizzle_of_128_bytes = 3, promotion_to_128_bytes = 2;

// Of a launch (CUlaunchAttribute, CUlaunchConfig). StreamHandle: a pointer.
struct LaunchAttribute {
  int id;
  alignas(8) int value;
  char others[60];  // of its union, 64 bytes
};
template <class StreamHandle>
struct LaunchConfigOf {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  StreamHandle stream;
  const LaunchAttribute* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfigOf<void*>) == 56);

} // namespace quern::cuda::api
