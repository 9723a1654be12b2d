// Memory with an owner: of a GPU, and of the host for copies.
#pragma once
#include <memory>

#include "gpu/gpu.h"
#include "quern/buffer.h"
#include "quern/byte-source.h"

namespace quern::gpu {

// Memory of a GPU, freed at the end. Keeps the GPU.
class GpuBuffer : public Buffer {
 public:
  // Not zeroed. Throws OUT_OF_MEMORY.
  GpuBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes);
  ~GpuBuffer() override;

 private:
  const std::shared_ptr<Gpu> gpu_;
};

// Bytes of a file where they are mapped, as kernels read them.
class LentBytes {
 public:
  LentBytes(std::shared_ptr<Gpu> gpu, const HeldBytes& held, uint64_t bytes);
  ~LentBytes();
  LentBytes(const LentBytes&) = delete;

  const uint8_t* data() const { return data_; } // null: the GPU does not take them
  const std::shared_ptr<const MappedFile>& file() const { return file_; }

 private:
  const std::shared_ptr<Gpu> gpu_;
  const std::shared_ptr<const MappedFile> file_;
  const uint8_t* const data_;
};

// Memory of the host: pinned; pageable where the system refuses, with slower copies. No copy may be under way at its end.
class HostBuffer {
 public:
  // Not zeroed. Throws OUT_OF_MEMORY.
  HostBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes);
  ~HostBuffer();
  HostBuffer(const HostBuffer&) = delete;

  uint8_t* data() const { return pinned_ ? pinned_ : pageable_.data(); }

 private:
  const std::shared_ptr<Gpu> gpu_;
  uint8_t* const pinned_;
  const Pages pageable_;
};

}  // namespace quern::gpu
