// Arrays of zeros whose pages the system gives when they are first used.
#pragma once
#include <stdint.h>
#include <sys/mman.h>

#include <new>

namespace quern::gpu {

template <class T>
T* reserve(uint64_t count) {
  void* data = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(data);
}

template <class T>
void release(T* data, uint64_t count) {
  munmap(data, count * sizeof(T));
}

// The pages become zeros.
template <class T>
void forget(T* data, uint64_t count) {
  madvise(data, count * sizeof(T), MADV_DONTNEED);
}

} // namespace quern::gpu
