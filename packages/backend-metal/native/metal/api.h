// Every method of Foundation and Metal that this backend sends, with its type: the list that a stand-in has to implement. Constants have
// the values of Metal's headers.
#pragma once
#include "metal/objc.h"

namespace quern::metal {

struct Size { // MTLSize
  Natural width, height, depth;
};
struct Range { // NSRange
  Natural location, length;
};

template <class Signature>
using M = Message<Signature>;

// Foundation
inline constexpr M<Object(const char*)> string_with_utf8{"stringWithUTF8String:"}; // class NSString
inline constexpr M<const char*()> utf8_string{"UTF8String"};                       // NSString
inline constexpr M<Object(Object)> file_url{"fileURLWithPath:"};                   // class NSURL
inline constexpr M<Object(Object)> array_with_object{"arrayWithObject:"};          // class NSArray
inline constexpr M<Natural()> count{"count"};                                      // NSArray
inline constexpr M<Object(Natural)> object_at{"objectAtIndex:"};                   // NSArray
inline constexpr M<Object()> localized_description{"localizedDescription"};        // NSError
inline constexpr M<Object()> process_info{"processInfo"};                          // class NSProcessInfo
inline constexpr M<Object()> system_version{"operatingSystemVersionString"};       // NSProcessInfo: "Version 15.1 (Build 24B83)"
inline constexpr M<Object()> make{"new"};                                          // classes of descriptors and options

// MTLDevice
inline constexpr M<Object()> name_of{"name"};
inline constexpr M<uint64_t()> registry_id{"registryID"};
inline constexpr M<uint64_t()> working_set{"recommendedMaxWorkingSetSize"};
inline constexpr M<Natural()> allocated_size{"currentAllocatedSize"};
inline constexpr M<Natural()> most_shared_bytes{"maxThreadgroupMemoryLength"};
inline constexpr M<Natural()> most_buffer_bytes{"maxBufferLength"};
inline constexpr M<Bool()> has_unified_memory{"hasUnifiedMemory"};
inline constexpr M<Bool(Integer)> supports_family{"supportsFamily:"};
inline constexpr Integer family_apple7 = 1007, family_metal3 = 5001; // MTLGPUFamily: matrices of simdgroups; addresses in arguments
inline constexpr M<Object()> new_queue{"newCommandQueue"};
inline constexpr M<Object()> new_fence{"newFence"};
inline constexpr M<Object(Natural, Natural)> new_buffer{"newBufferWithLength:options:"};
inline constexpr M<Object(const void*, Natural, Natural, Object)> new_buffer_no_copy{"newBufferWithBytesNoCopy:length:options:deallocator:"};
inline constexpr Natural storage_shared_untracked = 0x100; // MTLResourceStorageModeShared | MTLResourceHazardTrackingModeUntracked
inline constexpr M<Object(Object, Object, Object*)> new_library{"newLibraryWithSource:options:error:"};
inline constexpr M<Object(Object, Natural, Object*, Object*)> new_pipeline{
    "newComputePipelineStateWithDescriptor:options:reflection:error:"};
inline constexpr Natural no_pipeline_options = 0, fail_on_archive_miss = 4; // MTLPipelineOption
inline constexpr M<Object(Object, Object*)> new_archive{"newBinaryArchiveWithDescriptor:error:"};
inline constexpr M<Object(Object, Object*)> new_residency_set{"newResidencySetWithDescriptor:error:"}; // macOS 15

// MTLBuffer
inline constexpr M<void*()> contents{"contents"};
inline constexpr M<uint64_t()> gpu_address{"gpuAddress"};

// MTLResidencySet
inline constexpr M<void(Object)> add_allocation{"addAllocation:"};
inline constexpr M<void(Object)> remove_allocation{"removeAllocation:"};
inline constexpr M<void()> commit{"commit"}; // MTLCommandBuffer too
inline constexpr M<void()> request_residency{"requestResidency"};

// MTLCompileOptions
inline constexpr M<void(Natural)> set_language_version{"setLanguageVersion:"};
inline constexpr Natural language_3_2 = 0x30002; // macOS 15
inline constexpr M<void(Integer)> set_math_mode{"setMathMode:"};
inline constexpr Integer math_mode_safe = 0; // IEEE 754: nothing is reordered, NaN and infinity are kept

// MTLLibrary, MTLComputePipelineDescriptor, MTLBinaryArchiveDescriptor, MTLBinaryArchive
inline constexpr M<Object(Object)> new_function{"newFunctionWithName:"};
inline constexpr M<void(Object)> set_function{"setComputeFunction:"};
inline constexpr M<void(Object)> set_archives{"setBinaryArchives:"};
inline constexpr M<void(Object)> set_url{"setUrl:"};
inline constexpr M<Bool(Object, Object*)> add_pipeline{"addComputePipelineFunctionsWithDescriptor:error:"};
inline constexpr M<Bool(Object, Object*)> serialize{"serializeToURL:error:"};

// MTLComputePipelineState
inline constexpr M<Natural()> most_threads{"maxTotalThreadsPerThreadgroup"};
inline constexpr M<Natural()> simdgroup_width{"threadExecutionWidth"};
inline constexpr M<Natural()> shared_bytes_of{"staticThreadgroupMemoryLength"};

// MTLCommandQueue, MTLCommandBuffer
inline constexpr M<void(Object)> add_residency_set{"addResidencySet:"};
inline constexpr M<Object()> command_buffer{"commandBuffer"};
inline constexpr M<Object()> compute_encoder{"computeCommandEncoder"}; // dispatches in order
inline constexpr M<Object()> blit_encoder{"blitCommandEncoder"};
inline constexpr M<void()> wait_completed{"waitUntilCompleted"};
inline constexpr M<Natural()> status_of{"status"};
inline constexpr Natural status_completed = 4, status_error = 5;
inline constexpr M<Object()> error_of{"error"};
inline constexpr M<double()> gpu_start{"GPUStartTime"}; // seconds
inline constexpr M<double()> gpu_end{"GPUEndTime"};

// Encoders
inline constexpr M<void(Object)> wait_for_fence{"waitForFence:"};
inline constexpr M<void(Object)> update_fence{"updateFence:"};
inline constexpr M<void()> end_encoding{"endEncoding"};
inline constexpr M<void(Object)> set_pipeline{"setComputePipelineState:"};
inline constexpr M<void(const void*, Natural, Natural)> set_bytes{"setBytes:length:atIndex:"}; // at most 4096 bytes
inline constexpr M<void(Size, Size)> dispatch{"dispatchThreadgroups:threadsPerThreadgroup:"};
inline constexpr M<void(Object, Natural, Object, Natural, Natural)> copy_buffer{
    "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:"};
inline constexpr M<void(Object, Range, uint8_t)> fill_buffer{"fillBuffer:range:value:"};

}  // namespace quern::metal
