// Instructions of sm_90a: barriers in shared memory that count bytes, copies of tensors (TMA), products of a warpgroup (wgmma). With
// bodies for the emulated device, which finds what hardware leaves undefined. Kernels that use them compile to a trap elsewhere
// (WARPGROUPS). Sources: PTX ISA 8.8, §9.7.13.15 (mbarrier), §9.7.9.27 (cp.async.bulk.tensor), §9.7.15 (wgmma), §9.7.19.5 (setmaxnreg).
#pragma once
#include "dialect.h"
#include "tensor-map.h"

namespace quern {
namespace gpu {

#if defined(__CUDACC__) || defined(QUERN_KERNEL_ARGUMENTS)
constexpr int WARPGROUP = 128; // threads
#endif

// A thread's share of sums [64, COLUMNS]. With row = warp % 4 · 16 + lane / 4: values[i] is at row + i / 2 % 2 · 8, column
// i / 4 · 8 + lane % 4 · 2 + i % 2 (PTX ISA, "WGMMA .m64nNk16 register fragment layout for accumulator matrix D").
template <int COLUMNS>
struct WarpgroupSums {
  enum { count = COLUMNS / 2 };
  float values[COLUMNS / 2];
};

// An operand of multiply_bf16 that begins at `address` of shared memory: rows of 64 values of bf16, 16 bytes e of row r at place
// e ^ r % 8 of the row's 128 bytes, as copy_tensor writes them; groups of 8 rows at multiples of 1024. The address of the first 16 of k;
// those at k: + 2k bytes. Fields (PTX ISA, "Matrix Descriptor Format"; the same in CUTLASS's GmmaDescriptor, cute/arch/mma_sm90_desc.hpp,
// and in DeepGEMM's make_smem_desc):
//   bits 0 to 13   address / 16
//   bits 16 to 29  leading byte offset / 16: not used by K-major operands with swizzle; 1, as in CUTLASS
//   bits 32 to 45  stride byte offset / 16: from 8 rows to the next 8, 1024
//   bits 49 to 51  base offset: 0, groups of 8 rows begin at multiples of 1024
//   bits 62 to 63  swizzle: 1, of 128 bytes
FUNCTION uint64_t operand_at(unsigned address) {
  return static_cast<uint64_t>((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | (uint64_t(1024) >> 4) << 32 | uint64_t(1) << 62;
}

#if defined(__CUDACC__)

// The body of a kernel for sm_90a; others trap.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define WARPGROUPS(...) __VA_ARGS__
#else
#define WARPGROUPS(...) __trap();
#endif
#define KERNEL_OF_MAPS(name, Args, threads, blocks) KERNEL_OF(name, Args, threads, blocks)

FUNCTION unsigned shared_address(Shared<const Uint4> p) { return unsigned(__cvta_generic_to_shared(p)); }

// Barriers of 8 bytes in shared memory.
struct Barriers {
  unsigned address;
  FUNCTION Barriers operator+(int i) const { return {address + 8u * unsigned(i)}; }
};
FUNCTION Barriers barriers_at(Shared<Uint4> p) { return {shared_address(p)}; }

// A phase ends with `arrivals` arrivals, and the bytes that they expect.
FUNCTION void begin_barrier(Barriers at, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at.address), "r"(arrivals) : "memory");
}
// After begin_barrier, before the block's barrier: other threads and copies see them.
FUNCTION void barriers_begun() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Writes of this thread to shared memory come before later copies and products, which use another way to it.
FUNCTION void writes_before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
FUNCTION void arrive(Barriers at) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at.address) : "memory"); }
FUNCTION void arrive_expecting(Barriers at, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at.address), "r"(bytes) : "memory");
}
// Until the phase with this parity has ended: the present one, or the one before it. The first phase is 0.
FUNCTION void wait_for_phase(Barriers at, int parity) {
  unsigned ended;
  do {
    asm volatile(
        "{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
        : "=r"(ended)
        : "r"(at.address), "r"(parity)
        : "memory");
  } while (!ended);
}

FUNCTION void prefetch_map(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }
// The map's box from `column`, `row` on, zeros where the matrix has no values; `at` then has the box's bytes. By one thread.
FUNCTION void copy_tensor(Shared<Uint4> to, const TensorMap& map, int column, int row, Barriers at) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
                   shared_address(to)),
               "l"(&map), "r"(at.address), "r"(column), "r"(row)
               : "memory");
}

// Registers of a thread, of all threads of its warpgroup.
template <int COUNT>
FUNCTION void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}
template <int COUNT>
FUNCTION void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

// Of a whole warpgroup. Before the first product, and after sums were used: products come behind.
FUNCTION void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FUNCTION void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until LEFT committed groups of products are under way. Sums of the others may be used.
template <int LEFT>
FUNCTION void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}

// Compilers do not know that sums change after their product: uses of sums stay before, or behind.
template <int COLUMNS>
FUNCTION void keep_order(WarpgroupSums<COLUMNS>& sums) {
  UNROLL for (int i = 0; i < sums.count; i++) asm volatile("" : "+f"(sums.values[i])::"memory");
}

// c = a · bᵀ, plus c if `adds`, for 16 of k, beside the warpgroup's threads. a: operand of 64 rows, b: of COLUMNS.
#define SUMS_4(i) "+f"(c.values[i]), "+f"(c.values[i + 1]), "+f"(c.values[i + 2]), "+f"(c.values[i + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4(i + 4), SUMS_4(i + 8), SUMS_4(i + 12)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
FUNCTION void multiply_bf16(WarpgroupSums<128>& c, uint64_t a, uint64_t b, int adds) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, p, 1, 1, 0, 0;}"
      : SUMS_32(0), SUMS_32(32)
      : "l"(a), "l"(b), "r"(adds)
      : "memory");
}
FUNCTION void multiply_bf16(WarpgroupSums<256>& c, uint64_t a, uint64_t b, int adds) {
  asm volatile(
      "{.reg .pred p; setp.ne.b32 p, %130, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;}"
      : SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
      : "l"(a), "l"(b), "r"(adds)
      : "memory");
}
#undef SUMS_32
#undef SUMS_16
#undef SUMS_4

#elif defined(QUERN_KERNEL_ARGUMENTS)

#define WARPGROUPS(...)
#define KERNEL_OF_MAPS(name, Args, threads, blocks) KERNEL_OF(name, Args, threads, blocks)

#else

#define WARPGROUPS(...) __VA_ARGS__
#define KERNEL_OF_MAPS(name, Args, threads, blocks) KERNEL_OF(name, Args, threads, blocks)

// Barriers are known by their addresses.
struct Barriers {
  unsigned address;
  Barriers operator+(int i) const { return {address + 8u * unsigned(i)}; }
};

inline unsigned shared_address(const Shared<Uint4>& p) { return Block::current().shared_address(p.address()); }
inline Barriers barriers_at(const Shared<Uint4>& p) { return {shared_address(p)}; }

inline void begin_barrier(Barriers at, int arrivals) { Block::current().beside().begin(at.address, arrivals); }
inline void barriers_begun() { Block::current().beside().begun(); }
inline void writes_before_copies() { Block::current().self().fences++; }
inline void arrive(Barriers at) { Block::current().beside().arrive(at.address, 0); }
inline void arrive_expecting(Barriers at, int bytes) { Block::current().beside().arrive(at.address, bytes); }
inline void wait_for_phase(Barriers at, int parity) { Block::current().beside().wait(at.address, parity); }

inline void prefetch_map(const TensorMap&) {}
inline void copy_tensor(const Shared<Uint4>& to, const TensorMap& map, int column, int row, Barriers at) {
  Block::current().beside().copy(shared_address(to), map, column, row, at.address);
}

template <int COUNT>
void give_registers() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0);
  Block::current().beside().whole_warpgroup();
}
template <int COUNT>
void take_registers() {
  give_registers<COUNT>();
}

inline void products_begin() { Block::current().beside().products_begin(); }
inline void products_commit() { Block::current().beside().products_commit(); }
template <int LEFT>
void products_wait() {
  Block::current().beside().products_wait(LEFT);
}
template <int COLUMNS>
void keep_order(WarpgroupSums<COLUMNS>&) {}
template <int COLUMNS>
void multiply_bf16(WarpgroupSums<COLUMNS>& c, uint64_t a, uint64_t b, int adds) {
  Block::current().beside().multiply({a, b, COLUMNS, adds != 0}, c.values);
}

#endif

} // namespace gpu
} // namespace quern
