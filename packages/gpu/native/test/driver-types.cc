// The driver API as backend-cuda declares it, and as the emulated device has it, against NVIDIA's cuda.h: numbers, structures, types of
// functions. Compiled where there is a CUDA toolkit (run.sh), not run.
#define __CUDA_API_VERSION_INTERNAL // every version of a function has its own name
#include <cuda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "cuda/driver.h"
#include "emulated/cuda/driver-context.h"
#include "emulated/cuda/registers.h"
#include "emulated/file-changes.h"
#include "emulated/kernel.h"
#include "emulated/pointers.h"
#include "emulated/tensor-map.h"

// The emulated functions beside those of cuda.h.
#undef EXPORT
#define EXPORT static quern::gpu::Result
namespace emulated {
#include "emulated/cuda/cuda-driver.cc"
#include "emulated/cuda/cuda-queue.cc"
#include "emulated/cuda/cuda-tensor-map.cc"
}  // namespace emulated

namespace {

// Whether a value of one type is passed as one of the other is.
template <class A, class B>
constexpr bool is_passed_alike() {
  if constexpr (std::is_pointer_v<A> && std::is_pointer_v<B>) {
    using To = std::remove_cv_t<std::remove_pointer_t<A>>;
    using OfB = std::remove_cv_t<std::remove_pointer_t<B>>;
    constexpr bool values = (std::is_arithmetic_v<To> || std::is_enum_v<To> || std::is_pointer_v<To>) &&
                            (std::is_arithmetic_v<OfB> || std::is_enum_v<OfB> || std::is_pointer_v<OfB>);
    if constexpr (values) return sizeof(To) == sizeof(OfB);
    else return true;  // structures are compared below
  } else if constexpr (std::is_pointer_v<A> || std::is_pointer_v<B>) {
    return sizeof(A) == sizeof(B) && (std::is_integral_v<A> || std::is_integral_v<B>);  // an address as a number
  } else {
    return sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
  }
}

template <class A, class B>
struct Alike : std::false_type {};
template <class ResultA, class... A, class ResultB, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct Alike<ResultA (*)(A...), ResultB (*)(B...)> : std::bool_constant<is_passed_alike<ResultA, ResultB>() && (is_passed_alike<A, B>() && ...)> {};

template <size_t COUNT>
struct Name {
  char text[COUNT];
  constexpr Name(const char (&given)[COUNT]) {  // for literals as arguments of templates
    for (size_t i = 0; i < COUNT; i++) text[i] = given[i];
  }
};

// The function of cuda.h with a name. A new one of driver.h needs its line below.
template <Name name>
struct Declared;
#define DECLARED(name)                                                     \
  template <>                                                              \
  struct Declared<#name> {                                                 \
    using Type = decltype(&::name);                                        \
    static constexpr bool is_emulated = Alike<decltype(&emulated::name), Type>::value; \
  };                                                                       \
  static_assert(Declared<#name>::is_emulated, "emulated " #name);
DECLARED(cuInit)
DECLARED(cuDriverGetVersion)
DECLARED(cuGetErrorName)
DECLARED(cuGetErrorString)
DECLARED(cuDeviceGetCount)
DECLARED(cuDeviceGet)
DECLARED(cuDeviceGetName)
DECLARED(cuDeviceGetUuid_v2)
DECLARED(cuDeviceGetAttribute)
DECLARED(cuDeviceTotalMem_v2)
DECLARED(cuCtxCreate_v2)
DECLARED(cuCtxDestroy_v2)
DECLARED(cuCtxPushCurrent_v2)
DECLARED(cuCtxPopCurrent_v2)
DECLARED(cuCtxSetCurrent)
DECLARED(cuMemGetInfo_v2)
DECLARED(cuMemAlloc_v2)
DECLARED(cuMemFree_v2)
DECLARED(cuMemHostAlloc)
DECLARED(cuMemFreeHost)
DECLARED(cuMemcpyHtoDAsync_v2)
DECLARED(cuMemcpyDtoHAsync_v2)
DECLARED(cuMemsetD8Async)
DECLARED(cuStreamCreate)
DECLARED(cuStreamDestroy_v2)
DECLARED(cuStreamQuery)
DECLARED(cuStreamSynchronize)
DECLARED(cuStreamBeginCapture_v2)
DECLARED(cuStreamEndCapture)
DECLARED(cuGraphInstantiateWithFlags)
DECLARED(cuGraphDestroy)
DECLARED(cuGraphLaunch)
DECLARED(cuGraphExecDestroy)
DECLARED(cuEventCreate)
DECLARED(cuEventDestroy_v2)
DECLARED(cuEventRecord)
DECLARED(cuEventQuery)
DECLARED(cuEventSynchronize)
DECLARED(cuEventElapsedTime)
DECLARED(cuModuleLoadData)
DECLARED(cuModuleUnload)
DECLARED(cuModuleGetFunction)
DECLARED(cuFuncSetAttribute)
DECLARED(cuFuncGetParamInfo)
DECLARED(cuTensorMapEncodeTiled)
DECLARED(cuLaunchKernel)
DECLARED(cuLaunchKernelEx)

using quern::cuda::Driver;
#define CHECKED(member, name, parameters) static_assert(Alike<decltype(Driver::member), Declared<name>::Type>::value, name);
QUERN_CUDA_FUNCTIONS(CHECKED)
static_assert(Alike<decltype(Driver::parameter_info), Declared<"cuFuncGetParamInfo">::Type>::value);

// Structures that are passed by their addresses.
#define SAME_PLACE(ours, member, theirs, other)                                                              \
  static_assert(offsetof(ours, member) == offsetof(theirs, other) && sizeof(ours::member) == sizeof(theirs::other), #ours "::" #member);
using Attribute = quern::cuda::api::LaunchAttribute;
using Config = quern::cuda::LaunchConfig;
static_assert(sizeof(Attribute) == sizeof(CUlaunchAttribute) && sizeof(Config) == sizeof(CUlaunchConfig));
static_assert(offsetof(Attribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(Attribute::value) == sizeof(CUlaunchAttributeValue::programmaticStreamSerializationAllowed));
SAME_PLACE(Attribute, id, CUlaunchAttribute, id)
SAME_PLACE(Config, grid_x, CUlaunchConfig, gridDimX)
SAME_PLACE(Config, grid_y, CUlaunchConfig, gridDimY)
SAME_PLACE(Config, grid_z, CUlaunchConfig, gridDimZ)
SAME_PLACE(Config, block_x, CUlaunchConfig, blockDimX)
SAME_PLACE(Config, block_y, CUlaunchConfig, blockDimY)
SAME_PLACE(Config, block_z, CUlaunchConfig, blockDimZ)
SAME_PLACE(Config, shared_bytes, CUlaunchConfig, sharedMemBytes)
SAME_PLACE(Config, stream, CUlaunchConfig, hStream)
SAME_PLACE(Config, attributes, CUlaunchConfig, attrs)
SAME_PLACE(Config, attribute_count, CUlaunchConfig, numAttrs)
static_assert(sizeof(emulated::Config) == sizeof(Config));
static_assert(sizeof(CUuuid) == 16);
static_assert(sizeof(quern::gpu::TensorMap) == sizeof(CUtensorMap) && alignof(quern::gpu::TensorMap) == alignof(CUtensorMap));

// Numbers.
#define SAME(ours, theirs) static_assert(int(quern::cuda::api::ours) == int(theirs), #theirs);
SAME(success, CUDA_SUCCESS)
SAME(invalid_value, CUDA_ERROR_INVALID_VALUE)
SAME(out_of_memory, CUDA_ERROR_OUT_OF_MEMORY)
SAME(no_device, CUDA_ERROR_NO_DEVICE)
SAME(invalid_device, CUDA_ERROR_INVALID_DEVICE)
SAME(invalid_context, CUDA_ERROR_INVALID_CONTEXT)
SAME(invalid_handle, CUDA_ERROR_INVALID_HANDLE)
SAME(not_found, CUDA_ERROR_NOT_FOUND)
SAME(not_ready, CUDA_ERROR_NOT_READY)
SAME(too_many_resources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
SAME(launch_failed, CUDA_ERROR_LAUNCH_FAILED)
SAME(not_supported, CUDA_ERROR_NOT_SUPPORTED)
SAME(driver_mismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
SAME(capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
SAME(unknown, CUDA_ERROR_UNKNOWN)
SAME(clock_rate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE)
SAME(memory_clock, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)
SAME(memory_width, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)
SAME(multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
SAME(second_cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
SAME(compute_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
SAME(compute_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
SAME(shared_memory_opt_in, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
SAME(max_dynamic_shared_bytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
SAME(context_blocks, CU_CTX_SCHED_BLOCKING_SYNC)
SAME(stream_non_blocking, CU_STREAM_NON_BLOCKING)
SAME(capture_relaxed, CU_STREAM_CAPTURE_MODE_RELAXED)
SAME(programmatic_stream_serialization, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
SAME(tensor_bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16)
SAME(no_swizzle, CU_TENSOR_MAP_SWIZZLE_NONE)
SAME(swizzle_of_128_bytes, CU_TENSOR_MAP_SWIZZLE_128B)
SAME(promotion_to_128_bytes, CU_TENSOR_MAP_L2_PROMOTION_L2_128B)

}  // namespace
