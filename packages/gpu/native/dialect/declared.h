// The vocabulary as declarations, for code that is compiled and not run as a kernel. The including file defines DEVICE_MEMORY and
// BLOCK_MEMORY, for pointers.
#pragma once

#define KERNEL_OF(name, Args, threads, blocks) KERNEL(name, Args)
#define KERNEL_AHEAD(name, Args) KERNEL(name, Args)
#define KERNEL_AHEAD_OF(name, Args, threads, blocks) KERNEL(name, Args)

namespace quern {
namespace gpu {

constexpr int WARP = 32;

template <class T>
using Global = DEVICE_MEMORY T*;
template <class T>
using Shared = BLOCK_MEMORY T*;

void previous_launches_done();
template <class T>
void prefetch(DEVICE_MEMORY T* p);

int thread_index();
int block_threads();
int block_index();
int grid_blocks();
int lane();
int warp();

void barrier();
void warp_barrier();
float shuffle_xor(float x, int mask);
float shuffle(float x, int from);
uint64_t shuffle_long(uint64_t x, int from);

template <class T>
void copy_async(Shared<T> to, Global<const T> from);
void copies_commit();
template <int LEFT>
void copies_wait();

template <class U, class T>
Global<U> as(DEVICE_MEMORY T* p) { return reinterpret_cast<Global<U>>(p); }
template <class T>
bool aligned(DEVICE_MEMORY T* p);

void flag(Global<int> fault, int op, int code);

int load_atomic(Global<int> p);
void store_atomic(Global<int> p, int x);
void add_atomic(Global<int> p, int x);

float from_f16(unsigned short bits);
float from_bf16(unsigned short bits);
unsigned short to_f16(float x);
unsigned short to_bf16(float x);
unsigned masked_xor(unsigned a, unsigned mask, unsigned b);
unsigned to_bits(float x);
float from_bits(unsigned bits);

float inverse_square_root(float x);
float exponential(float x);
float logarithm(float x);
float logarithm_10(float x);
float hyperbolic_tangent(float x);
float error_function(float x);
float sine(float x);
float cosine(float x);
float power(float x, float y);
float round_even(float x);
float absolute(float x);
float rounded_sum(float a, float b);
float rounded_product(float a, float b);
float fused(float a, float b, float c);
float largest(float a, float b);
bool is_nan(float x);
float infinity();

} // namespace gpu
} // namespace quern
