// The functions of NVIDIA's driver that this backend calls, found in its library when they are needed: nothing of CUDA is needed to
// build, install or load the addon. Names and types are those of the driver API; gpu/cuda-api.h has its numbers.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>

#include "dialect/tensor-map.h"
#include "gpu/cuda-api.h"
#include "quern/failure.h"

namespace quern::cuda {

using namespace api;

// There is no driver, or it shows no GPU.
struct NoDevice : Failure {
  explicit NoDevice(const std::string& message) : Failure(Code::unsupported, message) {}
};

using DeviceIndex = int;
using Address = unsigned long long; // CUdeviceptr
using Context = struct ContextOfDriver*;
using Module = struct ModuleOfDriver*;
using Function = struct FunctionOfDriver*;
using Stream = struct StreamOfDriver*;
using Event = struct EventOfDriver*;
using Graph = struct GraphOfDriver*;
using GraphExec = struct GraphExecOfDriver*;

using LaunchConfig = LaunchConfigOf<Stream>;

// function(member, name in the library, parameters)
#define QUERN_CUDA_FUNCTIONS(function)                                                                               \
  function(init, "cuInit", (unsigned flags))                                                                         \
  function(version, "cuDriverGetVersion", (int* version))                                                            \
  function(error_name, "cuGetErrorName", (Result error, const char** text))                                          \
  function(error_text, "cuGetErrorString", (Result error, const char** text))                                        \
  function(device_count, "cuDeviceGetCount", (int* count))                                                           \
  function(device_get, "cuDeviceGet", (DeviceIndex * device, int index))                                             \
  function(device_name, "cuDeviceGetName", (char* name, int length, DeviceIndex device))                             \
  function(device_uuid, "cuDeviceGetUuid_v2", (unsigned char* uuid, DeviceIndex device))                             \
  function(device_attribute, "cuDeviceGetAttribute", (int* value, Attribute attribute, DeviceIndex device))          \
  function(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, DeviceIndex device))                               \
  function(context_create, "cuCtxCreate_v2", (Context * context, unsigned flags, DeviceIndex device))                \
  function(context_destroy, "cuCtxDestroy_v2", (Context context))                                                    \
  function(context_push, "cuCtxPushCurrent_v2", (Context context))                                                   \
  function(context_pop, "cuCtxPopCurrent_v2", (Context * context))                                                   \
  function(context_set, "cuCtxSetCurrent", (Context context))                                                        \
  function(memory_info, "cuMemGetInfo_v2", (size_t * free, size_t* total))                                           \
  function(memory_allocate, "cuMemAlloc_v2", (Address * data, size_t bytes))                                         \
  function(memory_free, "cuMemFree_v2", (Address data))                                                              \
  function(host_allocate, "cuMemHostAlloc", (void** data, size_t bytes, unsigned flags))                             \
  function(host_free, "cuMemFreeHost", (void* data))                                                                 \
  function(copy_to_device, "cuMemcpyHtoDAsync_v2", (Address to, const void* from, size_t bytes, Stream stream))      \
  function(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, Address from, size_t bytes, Stream stream))              \
  function(fill, "cuMemsetD8Async", (Address to, unsigned char value, size_t bytes, Stream stream))                  \
  function(stream_create, "cuStreamCreate", (Stream * stream, unsigned flags))                                       \
  function(stream_destroy, "cuStreamDestroy_v2", (Stream stream))                                                    \
  function(stream_query, "cuStreamQuery", (Stream stream))                                                           \
  function(capture_begin, "cuStreamBeginCapture_v2", (Stream stream, int mode))                                      \
  function(capture_end, "cuStreamEndCapture", (Stream stream, Graph * graph))                                        \
  function(graph_instantiate, "cuGraphInstantiateWithFlags", (GraphExec * exec, Graph graph, unsigned long long flags)) \
  function(graph_destroy, "cuGraphDestroy", (Graph graph))                                                           \
  function(graph_launch, "cuGraphLaunch", (GraphExec exec, Stream stream))                                           \
  function(graph_exec_destroy, "cuGraphExecDestroy", (GraphExec exec))                                               \
  function(event_create, "cuEventCreate", (Event * event, unsigned flags))                                           \
  function(event_destroy, "cuEventDestroy_v2", (Event event))                                                        \
  function(event_record, "cuEventRecord", (Event event, Stream stream))                                              \
  function(event_query, "cuEventQuery", (Event event))                                                               \
  function(event_elapsed, "cuEventElapsedTime", (float* milliseconds, Event start, Event end))                       \
  function(module_load, "cuModuleLoadData", (Module * module, const void* image))                                    \
  function(module_unload, "cuModuleUnload", (Module module))                                                         \
  function(module_function, "cuModuleGetFunction", (Function * function, Module module, const char* name))           \
  function(function_set, "cuFuncSetAttribute", (Function function, FunctionAttribute attribute, int value))            \
  function(tensor_map, "cuTensorMapEncodeTiled",                                                                      \
           (gpu::TensorMap * map, int type, unsigned rank, Address address, const uint64_t* sizes, const uint64_t* pitches, \
            const uint32_t* box, const uint32_t* strides, int interleave, int swizzle, int promotion, int fill))        \
  function(launch, "cuLaunchKernelEx", (const LaunchConfig* config, Function function, void** arguments, void** extra))

class Driver {
 public:
  // The driver in a library, which is opened once. Throws NoDevice: no library, no GPU; UNSUPPORTED with the reason: a function
  // that it lacks, a driver that is too old.
  static const Driver& get(const std::string& library);

#define QUERN_MEMBER(member, name, parameters) Result(*member) parameters = nullptr;
  QUERN_CUDA_FUNCTIONS(QUERN_MEMBER)
#undef QUERN_MEMBER

  // From CUDA 12.4 on; null before. `bytes`: of one parameter of a kernel.
  Result (*parameter_info)(Function function, size_t index, size_t* offset, size_t* bytes) = nullptr;
  // Graphs keep the order of dependent launches from CUDA 12.3 on.
  bool has_dependent_launches() const { return version_ >= 12030; }

  int devices() const; // 1 or more; throws NoDevice
  std::string shown_version() const; // "CUDA 13.0"

  // Throws OUT_OF_MEMORY or DEVICE_FAILED, naming `act`, unless `result` is success.
  void need(Result result, const char* act) const;
  std::string described(Result result) const; // "CUDA_ERROR_… (…)"

 private:
  explicit Driver(const std::string& library);
  int version_ = 0; // 13000
};

} // namespace quern::cuda
