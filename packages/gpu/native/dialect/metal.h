// The vocabulary in Metal's language (MSL 3.2, for macOS 15). metal-source.mjs puts it before the kernels. References say where values are
// (Metal Shading Language Specification, Address Spaces); arguments of kernels have pointers as in argument buffers of Metal 3.
#include <metal_stdlib>

// Kernels are made if WANTS_name is defined as `0, MADE_`; others are templates that nobody makes.
#define SECOND_OF(first, second, ...) second
#define CHOICE_OF(...) SECOND_OF(__VA_ARGS__)
#define MADE_KERNEL(name, Args) [[kernel]] void name(constant Args& args [[buffer(0)]])
#define MADE_KERNEL_OF(name, Args, threads) \
  [[kernel, max_total_threads_per_threadgroup(threads)]] void name(constant Args& args [[buffer(0)]])
#define OTHER_KERNEL(name, Args) \
  template <class Never>         \
  [[kernel]] void name(constant Args& args [[buffer(0)]])
#define OTHER_KERNEL_OF(name, Args, threads) OTHER_KERNEL(name, Args)
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define KERNEL_OF(name, Args, threads, blocks) JOIN(CHOICE_OF(WANTS_##name, OTHER_, 0), KERNEL_OF)(name, Args, threads)
#define KERNEL(name, Args) JOIN(CHOICE_OF(WANTS_##name, OTHER_, 0), KERNEL)(name, Args)
#define KERNEL_AHEAD(name, Args) KERNEL_OF(name, Args, 128, 1)
#define KERNEL_AHEAD_OF(name, Args, threads, blocks) KERNEL_OF(name, Args, threads, blocks)
#define FUNCTION inline
#define CONSTANT constant constexpr
#define ARGUMENTS constant
#define THREAD thread
#define UNROLL _Pragma("clang loop unroll(full)")
#define SHARED(T, name, count) threadgroup T name[count]

CONSTANT int WARP = 32;

template <class T>
using Global = device T*;
template <class T>
using Shared = threadgroup T*;

// The library has both too: the same types may be declared twice.
typedef long int64_t;
typedef unsigned long uint64_t;

typedef float4 Float4;
typedef uint4 Uint4;

// Built-in variables of the program's scope (Metal Shading Language Specification, Attributes for Kernel Function Input Arguments).
uint thread_of_block [[thread_position_in_threadgroup]];
uint threads_of_block [[threads_per_threadgroup]];
uint block_of_grid [[threadgroup_position_in_grid]];
uint blocks_of_grid [[threadgroups_per_grid]];
uint lane_of_simdgroup [[thread_index_in_simdgroup]];
uint simdgroup_of_block [[simdgroup_index_in_threadgroup]];

FUNCTION int thread_index() { return int(thread_of_block); }
FUNCTION int block_threads() { return int(threads_of_block); }
FUNCTION int block_index() { return int(block_of_grid); }
FUNCTION int grid_blocks() { return int(blocks_of_grid); }
FUNCTION int lane() { return int(lane_of_simdgroup); }
FUNCTION int warp() { return int(simdgroup_of_block); }

// Launches of an encoder run one after another.
FUNCTION void previous_launches_done() {}
template <class T>
FUNCTION void prefetch(device T*) {}

// Threads of a block pass values in device memory too.
FUNCTION void barrier() { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }
FUNCTION void warp_barrier() { metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device); }
FUNCTION float shuffle_xor(float x, int mask) { return metal::simd_shuffle_xor(x, ushort(mask)); }
FUNCTION float shuffle(float x, int from) { return metal::simd_shuffle(x, ushort(from)); }
FUNCTION uint64_t shuffle_long(uint64_t x, int from) {
  const uint low = metal::simd_shuffle(uint(x), ushort(from)), high = metal::simd_shuffle(uint(x >> 32), ushort(from));
  return (uint64_t)(high) << 32 | (uint64_t)(low);
}

template <class U, class T>
FUNCTION Global<U> as(device T* p) { return (device U*)(p); }
template <class T>
FUNCTION bool aligned(device T* p) { return ulong(p) % 16 == 0; }

FUNCTION device metal::atomic_int* atomic_at(Global<int> p) { return (device metal::atomic_int*)(p); }
FUNCTION int load_atomic(Global<int> p) { return metal::atomic_load_explicit(atomic_at(p), metal::memory_order_relaxed); }
FUNCTION void store_atomic(Global<int> p, int x) { metal::atomic_store_explicit(atomic_at(p), x, metal::memory_order_relaxed); }
FUNCTION void add_atomic(Global<int> p, int x) { metal::atomic_fetch_add_explicit(atomic_at(p), x, metal::memory_order_relaxed); }

// The exchange may fail without a reason.
FUNCTION void flag(Global<int> fault, int op, int code) {
  int found = 0;
  while (found == 0)
    if (metal::atomic_compare_exchange_weak_explicit(atomic_at(fault), &found, op, metal::memory_order_relaxed, metal::memory_order_relaxed)) {
      fault[1] = code;
      return;
    }
}

FUNCTION unsigned to_bits(float x) { return as_type<uint>(x); }
FUNCTION float from_bits(unsigned bits) { return as_type<float>(bits); }
FUNCTION bool is_nan(float x) { return (to_bits(x) & 0x7fffffffu) > 0x7f800000u; }
FUNCTION float infinity() { return from_bits(0x7f800000u); }

FUNCTION float from_f16(unsigned short bits) { return float(as_type<half>(bits)); }
FUNCTION float from_bf16(unsigned short bits) { return from_bits(unsigned(bits) << 16); }
FUNCTION unsigned short to_f16(float x) { return as_type<ushort>(half(x)); }
// Rounded to nearest even.
FUNCTION unsigned short to_bf16(float x) {
  const unsigned bits = to_bits(x);
  if (is_nan(x)) return 0x7fff;
  return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
FUNCTION unsigned masked_xor(unsigned a, unsigned mask, unsigned b) { return (a & mask) ^ b; }

FUNCTION float inverse_square_root(float x) { return 1.0f / metal::precise::sqrt(x); }
FUNCTION float exponential(float x) { return metal::precise::exp(x); }
FUNCTION float logarithm(float x) { return metal::precise::log(x); }
FUNCTION float logarithm_10(float x) { return metal::precise::log10(x); }
FUNCTION float hyperbolic_tangent(float x) { return metal::precise::tanh(x); }
FUNCTION float sine(float x) { return metal::precise::sin(x); }
FUNCTION float cosine(float x) { return metal::precise::cos(x); }
FUNCTION float power(float x, float y) { return metal::precise::pow(x, y); }
FUNCTION float round_even(float x) { return metal::rint(x); }
FUNCTION float absolute(float x) { return metal::fabs(x); }
FUNCTION float fused(float a, float b, float c) { return metal::fma(a, b, c); }
FUNCTION float largest(float a, float b) { return metal::fmax(a, b); }
FUNCTION float rounded_sum(float a, float b) {
#pragma METAL fp contract(off)
  return a + b;
}
FUNCTION float rounded_product(float a, float b) {
#pragma METAL fp contract(off)
  return a * b;
}

#include "error-function.h"
