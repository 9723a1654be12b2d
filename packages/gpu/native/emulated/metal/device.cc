// MTLDevice, MTLBuffer, MTLResidencySet, MTLFence. Settings, read at each use, beside those of the CUDA library (../cuda/cuda-driver.cc):
// QUERN_EMULATED_FAMILIES: of the GPU ("1007,1008,1009,5001"). QUERN_EMULATED_OS: "Version 15.1 (Build 24B83)".
// QUERN_EMULATED_SIMDGROUP: lanes (32). QUERN_EMULATED_COMPILE_FAILS: a kernel that does not compile. QUERN_EMULATED_COMPILED: a file
// that gets the name of each kernel that is compiled. QUERN_EMULATED_ALIVE: a file that gets the objects that are left when a queue goes.
#include "emulated/block.h"
#include "emulated/metal/objects.h"

#include <unistd.h>

#include <sstream>

namespace quern::gpu {

Machine& machine() {
  static Machine& machine = *new Machine; // threads may use it while the process exits
  device_memory() = &machine.memory;
  Block::most_shared_bytes = 32768;
  return machine;
}

uint64_t Machine::free_bytes() const {
  const uint64_t free = memory.free_bytes(), taken = setting("QUERN_EMULATED_TAKEN", 0) << 20;
  return free > taken ? free - taken : 0;
}

namespace {

using metal::Integer;
using metal::Natural;

bool is_in_family(Integer family) {
  std::istringstream families(text_setting("QUERN_EMULATED_FAMILIES", "1007,1008,1009,5001"));
  for (std::string one; std::getline(families, one, ',');)
    if (one == std::to_string(family)) return true;
  return false;
}

Object new_buffer_of(uint64_t bytes) {
  Machine& on = machine();
  const std::lock_guard lock(on.mutex);
  uint8_t* const data = bytes > 0 && bytes <= on.free_bytes() ? on.memory.allocate(bytes) : nullptr;
  return data ? new BufferObject(data, bytes, false) : nullptr;
}

// Null unless it is whole pages.
Object new_lent_buffer(const void* data, uint64_t bytes) {
  const auto page = uint64_t(sysconf(_SC_PAGESIZE));
  if (reinterpret_cast<uintptr_t>(data) % page != 0 || bytes % page != 0 || bytes == 0) return nullptr;
  auto* const memory = static_cast<uint8_t*>(const_cast<void*>(data));
  machine().memory.lend(memory, bytes);
  return new BufferObject(memory, bytes, true);
}

const Methods& device_methods = *new Methods(
    Methods("MTLDevice")
        .add(metal::name_of, [](Object, Selector) { return autoreleased(new StringObject("emulated GPU")); })
        .add(metal::registry_id, [](Object self, Selector) { return uint64_t(setting("QUERN_EMULATED_UUID", 256) + as_a<DeviceObject>(self).index); })
        .add(metal::working_set, [](Object, Selector) { return machine().memory.bytes(); })
        .add(metal::allocated_size, [](Object, Selector) -> Natural { return machine().memory.bytes() - machine().free_bytes(); })
        .add(metal::most_shared_bytes, [](Object, Selector) -> Natural { return 32768; })
        .add(metal::most_buffer_bytes, [](Object, Selector) -> Natural { return machine().memory.bytes(); })
        .add(metal::has_unified_memory, [](Object, Selector) -> metal::Bool { return setting("QUERN_EMULATED_UNIFIED", 1) != 0; })
        .add(metal::supports_family, [](Object, Selector, Integer family) -> metal::Bool { return is_in_family(family); })
        .add(metal::new_queue, [](Object, Selector) -> Object { return new QueueObject; })
        .add(metal::new_fence, [](Object, Selector) -> Object { return new FenceObject; })
        .add(metal::new_buffer, [](Object, Selector, Natural bytes, Natural) { return new_buffer_of(bytes); })
        .add(metal::new_buffer_no_copy, [](Object, Selector, const void* data, Natural bytes, Natural, Object) { return new_lent_buffer(data, bytes); })
        .add(metal::new_residency_set, [](Object, Selector, Object, Object*) -> Object { return new ResidencySetObject; })
        .add(metal::new_library, [](Object self, Selector, Object source, Object, Object* error) {
          return new_library_of(as_a<DeviceObject>(self), as_a<StringObject>(source).text, error);
        })
        .add(metal::new_pipeline, [](Object, Selector, Object descriptor, Natural options, Object*, Object* error) {
          return new_pipeline_of(as_a<DescriptorObject>(descriptor), options & metal::fail_on_archive_miss, error);
        })
        .add(metal::new_archive, [](Object, Selector, Object descriptor, Object* error) {
          return new_archive_of(as_a<DescriptorObject>(descriptor), error);
        }));

const Methods& buffer_methods = *new Methods(
    Methods("MTLBuffer")
        .add(metal::contents, [](Object self, Selector) -> void* {
          auto& buffer = as_a<BufferObject>(self);
          if (!std::exchange(buffer.open_to_host, true)) machine().memory.open_to_host(buffer.data);
          return buffer.data;
        })
        .add(metal::gpu_address, [](Object self, Selector) { return reinterpret_cast<uint64_t>(as_a<BufferObject>(self).data); }));

const Methods& residency_methods = *new Methods(
    Methods("MTLResidencySet")
        .add(metal::add_allocation, [](Object self, Selector, Object buffer) { as_a<ResidencySetObject>(self).wanted.insert(&as_a<BufferObject>(buffer)); })
        .add(metal::remove_allocation, [](Object self, Selector, Object buffer) { as_a<ResidencySetObject>(self).wanted.erase(&as_a<BufferObject>(buffer)); })
        .add(metal::commit, [](Object self, Selector) {
          auto& set = as_a<ResidencySetObject>(self);
          set.committed = set.wanted;
        })
        .add(metal::request_residency, [](Object, Selector) {}));

const Methods& fence_methods = *new Methods("MTLFence");

}  // namespace

BufferObject::BufferObject(uint8_t* data, uint64_t bytes, bool lent) : Instance(buffer_methods), data(data), bytes(bytes), lent(lent) {}
BufferObject::~BufferObject() {
  const std::lock_guard lock(machine().mutex);
  if (lent) machine().memory.take_back(data);
  else machine().memory.free(data);
}
ResidencySetObject::ResidencySetObject() : Instance(residency_methods) {}
FenceObject::FenceObject() : Instance(fence_methods) {}
DeviceObject::DeviceObject(int index) : Instance(device_methods), index(index) {}

}  // namespace quern::gpu

using namespace quern::gpu;

extern "C" __attribute__((visibility("default"))) Object MTLCopyAllDevices() {
  std::vector<Kept<Instance>> devices;
  for (int index = 0; index < int(setting("QUERN_EMULATED_DEVICES", 1)); index++) {
    auto* const device = new DeviceObject(index);
    devices.emplace_back(device);
    release(device);
  }
  return new ArrayObject(std::move(devices));
}
