// The vocabulary on the emulated device: every access is checked.
#pragma once
#include <math.h>
#include <stdint.h>

#include <bit>
#include <memory>
#include <type_traits>

#include "../emulated/beside.h"
#include "../emulated/block.h"
#include "../emulated/fault.h"
#include "../emulated/kernel.h"
#include "../emulated/memory.h"

#define KERNEL(name, Args) KERNEL_OF(name, Args, 1024, 1)
#define KERNEL_OF(name, Args, threads, blocks) KERNEL_WITH(name, Args, threads, quern::gpu::previous_launches_done())
#define KERNEL_AHEAD(name, Args) KERNEL_AHEAD_OF(name, Args, 1024, 1)
#define KERNEL_AHEAD_OF(name, Args, threads, blocks) KERNEL_WITH(name, Args, threads, )
#define KERNEL_WITH(name, Args, threads, before)                                             \
  static void name([[maybe_unused]] const Args& args);                                       \
  static const quern::gpu::Registration name##_registration({#name, sizeof(Args), threads, [](const void* args) { \
    before;                                                                                  \
    name(*static_cast<const Args*>(args));                                                   \
  }});                                                                                       \
  static void name([[maybe_unused]] const Args& args)
#define FUNCTION inline
#define CONSTANT constexpr
#define ARGUMENTS
#define THREAD
#define UNROLL
#define SHARED(T, name, count)                                             \
  static thread_local quern::gpu::SharedArray<T, count> name##_array(#name); \
  quern::gpu::Block::current().need_shared_array(#name, sizeof(T) * (count)); \
  const quern::gpu::Shared<T> name(name##_array)
#define LARGE_SHARED(T, name, count) const quern::gpu::Shared<T> name(quern::gpu::large_array<T, count>(#name))

namespace quern::gpu {

// Device memory. Laid out as an address.
template <class T>
class Global {
  using Value = std::remove_const_t<T>;

 public:
  // A place that can be read and written.
  class Place {
   public:
    explicit Place(T* at) : at_(at) {}
    operator Value() const { return Global(at_).read(); }
    void operator=(Value value) const {
      device_memory()->check_write(at_, sizeof(T));
      *at_ = value;
    }
    void operator=(const Place& other) const { *this = Value(other); }
    void operator+=(Value value) const { *this = Value(*this) + value; }

   private:
    T* at_;
  };

  Global() = default;
  explicit Global(T* at) : at_(at) {}
  template <class U>
    requires std::is_same_v<T, const U>
  Global(Global<U> other) : at_(other.address()) {}

  auto operator[](int64_t i) const {
    if constexpr (std::is_const_v<T>) return Global(at_ + i).read();
    else return Place(at_ + i);
  }
  Global operator+(int64_t i) const { return Global(at_ + i); }
  explicit operator bool() const { return at_ != nullptr; }
  T* address() const { return at_; }
  Value read() const {
    device_memory()->check_read(at_, sizeof(T));
    return *at_;
  }

 private:
  T* at_ = nullptr;
};

// Four values of 16 bytes, for wide loads and stores.
struct alignas(16) Float4 {
  float x, y, z, w;
  FUNCTION float operator[](int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};
struct [[gnu::may_alias]] alignas(16) Uint4 {
  unsigned x, y, z, w;
  FUNCTION unsigned operator[](int i) const { return i == 0 ? x : i == 1 ? y : i == 2 ? z : w; }
};

// What is known of one element of shared memory.
struct Element {
  uint64_t block = 0; // the block that wrote it last
  int writer = -1, reader = -1;
  Moment written, seen;        // when
  bool several_warps = false;  // read by threads of several warps at `seen`
  int pending = -1;            // a thread whose asynchronous copy has not landed
  int fences = 0;              // of the writer, before it wrote (dialect/hopper.h)
  int copied = -1;             // the barrier of the copy of a tensor that wrote it last
  uint32_t phase = 0;          // of that barrier: phases that end with the copy
  int multiplier = -1;         // a warpgroup whose products read it
  uint32_t group = 0;          // the last of them

  // i: of the element in an array; its value, which has `bytes`; 0: no access of a thread.
  void check_read(const char* name, int64_t i, const void* value, uint64_t bytes);
  void check_write(const char* name, int64_t i, const void* value, uint64_t bytes);
};

template <class T, int COUNT>
struct SharedArray {
  explicit SharedArray(const char* name) : name(name) {}
  const char* name;
  T values[COUNT];
  Element elements[COUNT];
};

// The array that a launch gives bytes for, in the heap: as thread_local memory, it would take the stacks of the host's threads.
template <class T, int COUNT>
SharedArray<T, COUNT>& large_array(const char* name) {
  static_assert(sizeof(T) * COUNT <= 227 * 1024, "more than a block has");
  static thread_local const auto array = std::make_unique<SharedArray<T, COUNT>>(name);
  Block::current().need_large_array(name, sizeof(T) * COUNT);
  array->name = name;
  Block::current().set_large_array({name, reinterpret_cast<uint8_t*>(array->values), array->elements, sizeof(T), sizeof(T) * COUNT});
  return *array;
}

// Elements of a shared array from some index on.
template <class T>
class Shared {
 public:
  class Place {
   public:
    Place(const Shared& array, int64_t i) : array_(array), i_(i) {}
    operator T() const { return array_.read(i_); }
    void operator=(T value) const { array_.write(i_, value); }
    void operator=(const Place& other) const { *this = T(other); }
    void operator+=(T value) const { *this = T(*this) + value; }

   private:
    const Shared& array_;
    int64_t i_;
  };

  template <int COUNT>
  explicit Shared(SharedArray<T, COUNT>& array) : name_(array.name), values_(array.values), elements_(array.elements), count_(COUNT) {}

  Place operator[](int64_t i) const { return {*this, i}; }
  Shared operator+(int64_t i) const {
    Shared moved = *this;
    moved.first_ += i;
    return moved;
  }
  const T* address() const { return values_ + first_; }
  T read(int64_t i) const {
    known(i).check_read(name_, first_ + i, values_ + first_ + i, sizeof(T));
    return values_[first_ + i];
  }
  void write(int64_t i, T value) const {
    known(i).check_write(name_, first_ + i, values_ + first_ + i, sizeof(T));
    values_[first_ + i] = value;
  }
  // For copy_async: the element may not be used before the copy has landed.
  void expect(int64_t i) const {
    Element& element = known(i);
    element.check_write(name_, first_ + i, values_ + first_ + i, 0);
    element.pending = Block::current().self().index;
  }
  void land(int64_t i, T value) const {
    known(i).pending = -1;
    write(i, value);
  }

 private:
  Element& known(int64_t i) const {
    if (first_ + i < 0 || first_ + i >= count_)
      fault("thread %d: element %lld of shared %s, which has %lld", Block::current().self().index, (long long)(first_ + i), name_,
            (long long)count_);
    return elements_[first_ + i];
  }

  const char* name_;
  T* values_;
  Element* elements_;
  int64_t count_, first_ = 0;
};

inline void previous_launches_done() { Block::current().self().waited = true; }
template <class T>
inline void prefetch(const Global<T>& p) {
  if (!device_memory()->allocation_of(p.address())) fault("a prefetch of memory that is not allocated");
}

inline int thread_index() { return Block::current().self().index; }
inline int block_threads() { return Block::current().count(); }
inline int block_index() { return Block::current().index(); }
inline int grid_blocks() { return Block::current().grid(); }
inline int lane() { return thread_index() % WARP; }
inline int warp() { return thread_index() / WARP; }

inline void barrier() { Block::current().barrier(); }
inline void warp_barrier() { Block::current().warp_barrier(); }
inline float shuffle(float x, int from) { return Block::current().exchange(x, from); }
inline uint64_t shuffle_long(uint64_t x, int from) {
  const float high = shuffle(std::bit_cast<float>(unsigned(x >> 32)), from), low = shuffle(std::bit_cast<float>(unsigned(x)), from);
  return static_cast<uint64_t>(std::bit_cast<unsigned>(high)) << 32 | std::bit_cast<unsigned>(low);
}
inline float shuffle_xor(float x, int mask) { return shuffle(x, lane() ^ mask); }

// Copies land as late as they may: when they are waited for.
template <class T>
inline void copy_async(const Shared<T>& to, Global<const T> from) {
  to.expect(0);
  if (!Block::current().self().waited) from.read(); // they may also land at once
  Block::current().self().copies.push_back([to, from] { to.land(0, from.read()); });
}
void copies_commit();
void copies_wait_for(int left);
template <int LEFT>
inline void copies_wait() { copies_wait_for(LEFT); }

template <class U, class T>
inline Global<U> as(const Global<T>& p) {
  return Global<U>(reinterpret_cast<U*>(p.address()));
}
template <class T>
inline bool aligned(const Global<T>& p) {
  return uintptr_t(p.address()) % 16 == 0;
}

inline void flag(Global<int> fault, int op, int code) {
  device_memory()->allow_unwritten();
  device_memory()->check_atomic(fault.address(), sizeof(int));
  if (*fault.address() != 0) return;
  *fault.address() = op;
  fault[1] = code;
}

inline int load_atomic(Global<int> p) {
  device_memory()->check_atomic(p.address(), sizeof(int));
  return *p.address();
}
inline void store_atomic(Global<int> p, int x) {
  device_memory()->check_atomic(p.address(), sizeof(int));
  *p.address() = x;
}
inline void add_atomic(Global<int> p, int x) {
  device_memory()->check_atomic(p.address(), sizeof(int));
  *p.address() += x;
}

float from_f16(unsigned short bits);
float from_bf16(unsigned short bits);
unsigned short to_f16(float x);
unsigned short to_bf16(float x);
inline unsigned masked_xor(unsigned a, unsigned mask, unsigned b) { return (a & mask) ^ b; }
inline unsigned to_bits(float x) { return std::bit_cast<unsigned>(x); }
inline float from_bits(unsigned bits) { return std::bit_cast<float>(bits); }

inline float inverse_square_root(float x) { return 1 / sqrtf(x); }
inline float exponential(float x) { return expf(x); }
inline float logarithm(float x) { return logf(x); }
inline float logarithm_10(float x) { return log10f(x); }
inline float hyperbolic_tangent(float x) { return tanhf(x); }
inline float error_function(float x) { return erff(x); }
inline float sine(float x) { return sinf(x); }
inline float cosine(float x) { return cosf(x); }
inline float power(float x, float y) { return powf(x, y); }
inline float round_even(float x) { return rintf(x); }
inline float absolute(float x) { return fabsf(x); }
// volatile: compilers fuse too.
inline float rounded_sum(float a, float b) {
  volatile const float sum = a + b;
  return sum;
}
inline float rounded_product(float a, float b) {
  volatile const float product = a * b;
  return product;
}
inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
inline float largest(float a, float b) { return fmaxf(a, b); }
inline bool is_nan(float x) { return x != x; }
inline float infinity() { return INFINITY; }

} // namespace quern::gpu
