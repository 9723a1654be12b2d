// The vocabulary for nvcc.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// A kernel's body follows the macro. __grid_constant__: the body refers to the argument where the launch has put it.
#define KERNEL_WITH(bounds, name, Args, before)                                         \
  static __device__ __forceinline__ void name##_body(const Args& args);                 \
  extern "C" __global__ void bounds name(const __grid_constant__ Args args) {           \
    before;                                                                             \
    quern::gpu::next_launch_may_begin();                                                \
    name##_body(args);                                                                  \
  }                                                                                     \
  static __device__ __forceinline__ void name##_body(const Args& args)
#define KERNEL(name, Args) KERNEL_WITH(, name, Args, quern::gpu::previous_launches_done())
#define KERNEL_OF(name, Args, threads, blocks) \
  KERNEL_WITH(__launch_bounds__(threads, blocks), name, Args, quern::gpu::previous_launches_done())
#define KERNEL_AHEAD(name, Args) KERNEL_WITH(, name, Args, )
#define KERNEL_AHEAD_OF(name, Args, threads, blocks) KERNEL_WITH(__launch_bounds__(threads, blocks), name, Args, )
// Blocks for KERNEL_AHEAD_OF that have room on a processor of compute capability 9.0: the compiler needs more registers for others.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#define ROOM_FOR(blocks) ((blocks) - 1)
#else
#define ROOM_FOR(blocks) (blocks)
#endif
#define FUNCTION __device__ inline
#define CONSTANT constexpr // at the level of a file
#define ARGUMENTS          // before a reference to the argument of a kernel
#define THREAD             // before a reference to values of the thread
#define UNROLL _Pragma("unroll") // before a loop over values in registers
#define SHARED(T, name, count) __shared__ T name[count]
#define LARGE_SHARED(T, name, count)                                       \
  static_assert(sizeof(T) * (count) <= 227 * 1024, "more than a block has"); \
  extern __shared__ __align__(1024) unsigned char launched_shared[];       \
  T* const name = reinterpret_cast<T*>(launched_shared)

namespace quern::gpu {

constexpr int WARP = 32;

template <class T>
using Global = T*;
template <class T>
using Shared = T*;

// Four values of 16 bytes, for wide loads and stores.
struct alignas(16) Float4 {
  float x, y, z, w;
  FUNCTION float operator[](int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};
struct alignas(16) Uint4 {
  unsigned x, y, z, w;
  FUNCTION unsigned operator[](int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};

// Programmatic dependent launch (PTX ISA, griddepcontrol). Without the launch's attribute neither does anything. A launch that has
// waited ends after all before it, so its end is theirs.
FUNCTION void previous_launches_done() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
FUNCTION void next_launch_may_begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Into the second cache, where later writes arrive too: allowed before previous_launches_done().
template <class T>
FUNCTION void prefetch(const T* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

FUNCTION int thread_index() { return int(threadIdx.x); }
FUNCTION int block_threads() { return int(blockDim.x); }
FUNCTION int block_index() { return int(blockIdx.x); }
FUNCTION int grid_blocks() { return int(gridDim.x); }
FUNCTION int lane() { return int(threadIdx.x) % WARP; }
FUNCTION int warp() { return int(threadIdx.x) / WARP; }

FUNCTION void barrier() { __syncthreads(); }
FUNCTION void warp_barrier() { __syncwarp(); }
FUNCTION float shuffle_xor(float x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
FUNCTION float shuffle(float x, int from) { return __shfl_sync(0xffffffffu, x, from); }
FUNCTION uint64_t shuffle_long(uint64_t x, int from) { return __shfl_sync(0xffffffffu, x, from); }

template <class T>
FUNCTION void copy_async(T* to, const T* from) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  const unsigned address = unsigned(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(address), "l"(from), "n"(int(sizeof(T))) : "memory");
}
FUNCTION void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
FUNCTION void copies_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// (a & mask) ^ b: one instruction, which nvcc does not find by itself.
FUNCTION unsigned masked_xor(unsigned a, unsigned mask, unsigned b) {
  unsigned bits;
  asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(bits) : "r"(a), "r"(mask), "r"(b));
  return bits;
}

// The same address with elements of another type, for loads of 8 and 16 bytes.
template <class U, class T>
FUNCTION Global<U> as(T* p) { return reinterpret_cast<U*>(p); }
// Whether loads of 16 bytes are allowed at p.
template <class T>
FUNCTION bool aligned(T* p) { return reinterpret_cast<size_t>(p) % 16 == 0; }

// Sets fault[0] to `op` (index of the op + 1) and fault[1] to `code`, unless an earlier fault is there.
FUNCTION void flag(Global<int> fault, int op, int code) {
  if (atomicCAS(fault, 0, op) == 0) fault[1] = code;
}

// For many threads at once: *p, *p = x, *p += x.
FUNCTION int load_atomic(Global<int> p) {
  int x;
  asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
  return x;
}
FUNCTION void store_atomic(Global<int> p, int x) { asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(p), "r"(x) : "memory"); }
FUNCTION void add_atomic(Global<int> p, int x) { atomicAdd(p, x); }

FUNCTION float from_f16(unsigned short bits) { return __half2float(__ushort_as_half(bits)); }
FUNCTION float from_bf16(unsigned short bits) { return __uint_as_float(unsigned(bits) << 16); }
FUNCTION unsigned short to_f16(float x) { return __half_as_ushort(__float2half_rn(x)); }
FUNCTION unsigned short to_bf16(float x) { return __bfloat16_as_ushort(__float2bfloat16_rn(x)); }
FUNCTION unsigned to_bits(float x) { return __float_as_uint(x); }
FUNCTION float from_bits(unsigned bits) { return __uint_as_float(bits); }

FUNCTION float inverse_square_root(float x) { return 1 / sqrtf(x); }
FUNCTION float exponential(float x) { return expf(x); }
FUNCTION float logarithm(float x) { return logf(x); }
FUNCTION float logarithm_10(float x) { return log10f(x); }
FUNCTION float hyperbolic_tangent(float x) { return tanhf(x); }
FUNCTION float error_function(float x) { return erff(x); }
FUNCTION float sine(float x) { return sinf(x); }
FUNCTION float cosine(float x) { return cosf(x); }
FUNCTION float power(float x, float y) { return powf(x, y); }
FUNCTION float round_even(float x) { return rintf(x); }
FUNCTION float absolute(float x) { return fabsf(x); }
FUNCTION float rounded_sum(float a, float b) { return __fadd_rn(a, b); } // a + b, never part of a fused product; so is the next
FUNCTION float rounded_product(float a, float b) { return __fmul_rn(a, b); }
FUNCTION float fused(float a, float b, float c) { return fmaf(a, b, c); } // a · b + c, rounded once
FUNCTION float largest(float a, float b) { return fmaxf(a, b); }
FUNCTION bool is_nan(float x) { return x != x; }
FUNCTION float infinity() { return __int_as_float(0x7f800000); }

} // namespace quern::gpu
