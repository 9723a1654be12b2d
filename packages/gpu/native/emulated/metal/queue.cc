// MTLCommandQueue and MTLCommandBuffer: work runs when somebody waits for it, as late as on hardware. A fault ends the command buffer and
// all behind it.
#include <chrono>

#include "emulated/metal/objects.h"

namespace quern::gpu {

namespace {

using metal::Natural;

constexpr int patience = 3; // polls after which work is done

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

const Methods& queue_methods = *new Methods(
    Methods("MTLCommandQueue")
        .add(metal::command_buffer, [](Object self, Selector) { return autoreleased(new CommandBufferObject(as_a<QueueObject>(self))); })
        .add(metal::add_residency_set, [](Object self, Selector, Object set) {
          as_a<QueueObject>(self).residents.insert(&as_a<ResidencySetObject>(set));
        }));

Natural status_of_work(CommandBufferObject& work) {
  constexpr Natural not_enqueued = 0, committed = 2;
  if (!work.committed) return not_enqueued;
  if (!work.done && ++work.polls >= patience) work.complete();
  if (!work.done) return committed;
  return work.failure.empty() ? metal::status_completed : metal::status_error;
}

const Methods& work_methods = *new Methods(
    Methods("MTLCommandBuffer")
        .add(metal::compute_encoder, [](Object self, Selector) { return autoreleased(&instance_of(new_kernel_encoder(as_a<CommandBufferObject>(self)))); })
        .add(metal::blit_encoder, [](Object self, Selector) { return autoreleased(&instance_of(new_copy_encoder(as_a<CommandBufferObject>(self)))); })
        .add(metal::commit, [](Object self, Selector) { as_a<CommandBufferObject>(self).commit(); })
        .add(metal::wait_completed, [](Object self, Selector) { as_a<CommandBufferObject>(self).complete(); })
        .add(metal::status_of, [](Object self, Selector) { return status_of_work(as_a<CommandBufferObject>(self)); })
        .add(metal::error_of, [](Object self, Selector) -> Object {
          const std::string& failure = as_a<CommandBufferObject>(self).failure;
          return failure.empty() ? nullptr : autoreleased(new ErrorObject(failure));
        })
        .add(metal::gpu_start, [](Object self, Selector) { return as_a<CommandBufferObject>(self).start; })
        .add(metal::gpu_end, [](Object self, Selector) { return as_a<CommandBufferObject>(self).end; }));

}  // namespace

QueueObject::QueueObject() : Instance(queue_methods) {}
QueueObject::~QueueObject() { write_alive(); }

void QueueObject::need_resident(const void* address, const char* kernel, size_t byte) const {
  for (const ResidencySetObject* const set : residents)
    for (const BufferObject* const buffer : set->committed)
      if (address >= buffer->data && address < buffer->data + buffer->bytes) return;
  fault("%s: byte %zu of its argument points to memory that is in no committed residency set of the queue", kernel, byte);
}

CommandBufferObject::CommandBufferObject(QueueObject& queue) : Instance(work_methods), queue(&queue) {}

void CommandBufferObject::commit() {
  if (committed) fault("a command buffer is committed twice");
  if (!encoders.empty() && !encoders.back()->ended) fault("a command buffer is committed before endEncoding of its encoder");
  committed = true;
  queue->waiting.emplace_back(this);
}

// An encoder sees what the one before wrote only after its fence.
void CommandBufferObject::run() {
  for (const std::shared_ptr<Encoded>& encoder : encoders) {
    if (queue->last && !(queue->last->updated && encoder->waited.contains(queue->last->updated)))
      fault("an encoder does not wait for a fence that the encoder before it updates");
    for (const auto& command : encoder->commands) command();
    queue->last = encoder;
  }
}

void CommandBufferObject::complete() {
  const std::lock_guard lock(machine().mutex);
  if (!committed) fault("a wait for a command buffer that was not committed");
  while (!done) {
    const Kept<CommandBufferObject> next = queue->waiting.front();
    queue->waiting.pop_front();
    next->start = now();
    try {
      if (queue->failure.empty()) next->run();
    } catch (const Fault& fault) {
      queue->failure = fault.what();
    }
    for (const auto& encoder : next->encoders) encoder->commands.clear(); // with the buffers that they hold
    next->failure = queue->failure;
    next->end = now();
    next->done = true;
  }
  if (queue->waiting.empty()) append_byte("QUERN_EMULATED_WAITS");
}

}  // namespace quern::gpu
