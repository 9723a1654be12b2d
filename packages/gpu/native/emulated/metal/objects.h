// The classes of Metal on the emulated device.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>

#include "emulated/kernel.h"
#include "emulated/memory.h"
#include "emulated/metal/classes.h"

namespace quern::gpu {

// What all devices of the process share.
struct Machine {
  Memory memory{setting("QUERN_EMULATED_MEMORY", 4096) << 20};
  uint64_t seed = setting("QUERN_EMULATED_SEED", 1);
  std::recursive_mutex mutex; // one command at a time

  // Bytes that other processes leave.
  uint64_t free_bytes() const;
};
Machine& machine();

struct BufferObject : Instance {
  BufferObject(uint8_t* data, uint64_t bytes, bool lent);
  ~BufferObject() override;
  uint8_t* const data;
  const uint64_t bytes;
  const bool lent; // memory of the host
  bool open_to_host = false;
};

struct ResidencySetObject : Instance {
  ResidencySetObject();
  std::set<BufferObject*> wanted, committed;
};

struct FenceObject : Instance {
  FenceObject();
};

struct FunctionObject : Instance {
  explicit FunctionObject(const Kernel& kernel);
  const Kernel& kernel;
};

struct PipelineObject : Instance {
  explicit PipelineObject(const Kernel& kernel);
  const Kernel& kernel;
};

// Of a pipeline or an archive.
struct DescriptorObject : Instance {
  explicit DescriptorObject(const Methods& methods) : Instance(methods) {}
  Kept<FunctionObject> function;
  Kept<ArrayObject> archives;
  std::string url;
};

struct ArchiveObject : Instance {
  explicit ArchiveObject(std::set<std::string> kernels);
  std::set<std::string> kernels;
};

// One encoder's work: what it waits for, its commands, what it updates.
struct Encoded {
  std::set<FenceObject*> waited;
  std::vector<std::function<void()>> commands;
  FenceObject* updated = nullptr;
  bool ended = false;
};

struct QueueObject;

struct CommandBufferObject : Instance {
  explicit CommandBufferObject(QueueObject& queue);
  Kept<QueueObject> queue;
  std::vector<std::shared_ptr<Encoded>> encoders;
  bool committed = false, done = false;
  std::string failure; // empty: none
  double start = 0, end = 0; // seconds
  int polls = 0;

  void commit();
  void run();
  // Runs the queue's work up to this command buffer.
  void complete();
};

struct EncoderObject : Instance {
  EncoderObject(const Methods& methods, CommandBufferObject& work);
  Kept<CommandBufferObject> work;
  const std::shared_ptr<Encoded> encoded;
  Kept<PipelineObject> pipeline;
  std::vector<uint8_t> args;

  Encoded& open() const; // throws a Fault after its end
};
Object new_kernel_encoder(CommandBufferObject& work);
Object new_copy_encoder(CommandBufferObject& work);

struct QueueObject : Instance {
  QueueObject();
  ~QueueObject() override;
  std::set<ResidencySetObject*> residents;
  std::deque<Kept<CommandBufferObject>> waiting;
  std::shared_ptr<Encoded> last; // the encoder that ran before
  std::string failure;

  void need_resident(const void* address, const char* kernel, size_t byte) const;
};

struct DeviceObject : Instance {
  explicit DeviceObject(int index);
  const int index;
};
Object new_library_of(DeviceObject& device, const std::string& source, Object* error);
Object new_pipeline_of(DescriptorObject& descriptor, bool from_archive_alone, Object* error);
Object new_archive_of(const DescriptorObject& descriptor, Object* error);

}  // namespace quern::gpu
