// Encoders of launches and of copies.
#include <string.h>

#include "emulated/file-changes.h"
#include "emulated/metal/objects.h"
#include "emulated/pointers.h"

namespace quern::gpu {

namespace {

using metal::Natural;

constexpr Natural most_bytes = 4096; // setBytes:length:atIndex:
constexpr int most_threads = 1024;

void wait_for(Object self, Selector, Object fence) { as_a<EncoderObject>(self).open().waited.insert(&as_a<FenceObject>(fence)); }
void update(Object self, Selector, Object fence) { as_a<EncoderObject>(self).open().updated = &as_a<FenceObject>(fence); }
void end(Object self, Selector) { as_a<EncoderObject>(self).open().ended = true; }

void take_bytes(Object self, Selector, const void* bytes, Natural length, Natural index) {
  auto& encoder = as_a<EncoderObject>(self);
  encoder.open();
  if (length > most_bytes || index != 0) fault("%lu bytes for buffer %lu: kernels take at most %lu, for buffer 0", length, index, most_bytes);
  encoder.args.assign(static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + length);
}

void need_all_resident(const QueueObject& queue, const Kernel& kernel, const std::vector<uint8_t>& args) {
  for (size_t at = 0; at + sizeof(void*) <= args.size(); at += sizeof(void*)) {
    const void* address = nullptr;
    memcpy(&address, &args[at], sizeof address);
    if (machine().memory.allocation_of(address)) queue.need_resident(address, kernel.name, at);
  }
}

void dispatch_kernel(Object self, Selector, metal::Size blocks, metal::Size threads) {
  auto& encoder = as_a<EncoderObject>(self);
  Encoded& to = encoder.open();
  if (!encoder.pipeline.get()) fault("a dispatch without a pipeline");
  const Kernel& kernel = encoder.pipeline->kernel;
  if (encoder.args.size() != kernel.args_bytes)
    fault("%s takes an argument of %zu bytes, not %zu", kernel.name, kernel.args_bytes, encoder.args.size());
  if (blocks.height * blocks.depth * threads.height * threads.depth != 1 || threads.width > most_threads)
    fault("%s: a grid of more than one dimension, or %lu threads", kernel.name, threads.width);
  const Pointers pointers(machine().memory, encoder.args);
  const QueueObject& queue = *encoder.work->queue.get();
  to.commands.push_back([&kernel, &queue, blocks, threads, args = encoder.args, pointers] {
    if (kernel.name == std::string(text_setting("QUERN_EMULATED_FAILS", ""))) fault("%s: a planted failure", kernel.name);
    pointers.need_allocated(machine().memory, kernel.name);
    need_all_resident(queue, kernel, args);
    append_line("QUERN_EMULATED_LAUNCHES", kernel.name);
    launch(kernel, int(blocks.width), int(threads.width), args.data(), machine().seed++);
  });
}

const Methods& kernel_encoder_methods = *new Methods(
    Methods("MTLComputeCommandEncoder")
        .add(metal::wait_for_fence, wait_for)
        .add(metal::update_fence, update)
        .add(metal::end_encoding, end)
        .add(metal::set_pipeline, [](Object self, Selector, Object pipeline) {
          auto& encoder = as_a<EncoderObject>(self);
          encoder.open();
          encoder.pipeline = Kept<PipelineObject>(&as_a<PipelineObject>(pipeline));
        })
        .add(metal::set_bytes, take_bytes)
        .add(metal::dispatch, dispatch_kernel));

void need_within(const BufferObject& buffer, Natural offset, Natural bytes) {
  if (offset > buffer.bytes || bytes > buffer.bytes - offset)
    fault("bytes %lu to %lu of a buffer of %llu", offset, offset + bytes, (unsigned long long)buffer.bytes);
}

void copy(Object self, Selector, Object from, Natural from_offset, Object to, Natural to_offset, Natural bytes) {
  const Kept<BufferObject> source(&as_a<BufferObject>(from)), target(&as_a<BufferObject>(to));
  if (!changes_files()) fault("QUERN_EMULATED_CUTS or QUERN_EMULATED_TOUCHES: there is no such file");
  need_within(*source.get(), from_offset, bytes);
  need_within(*target.get(), to_offset, bytes);
  as_a<EncoderObject>(self).open().commands.push_back([=] {
    std::vector<uint8_t> passed(bytes);
    machine().memory.read(passed.data(), source->data + from_offset, bytes);
    launches_done();
    machine().memory.write(target->data + to_offset, passed.data(), bytes);
  });
}

void fill(Object self, Selector, Object of, metal::Range range, uint8_t value) {
  const Kept<BufferObject> buffer(&as_a<BufferObject>(of));
  need_within(*buffer.get(), range.location, range.length);
  as_a<EncoderObject>(self).open().commands.push_back([=] {
    launches_done();
    machine().memory.fill(buffer->data + range.location, value, range.length);
  });
}

const Methods& copy_encoder_methods = *new Methods(Methods("MTLBlitCommandEncoder")
                                                       .add(metal::wait_for_fence, wait_for)
                                                       .add(metal::update_fence, update)
                                                       .add(metal::end_encoding, end)
                                                       .add(metal::copy_buffer, copy)
                                                       .add(metal::fill_buffer, fill));

}  // namespace

EncoderObject::EncoderObject(const Methods& methods, CommandBufferObject& work)
    : Instance(methods), work(&work), encoded(std::make_shared<Encoded>()) {
  if (work.committed) fault("an encoder for a command buffer that is committed");
  if (!work.encoders.empty() && !work.encoders.back()->ended) fault("a second encoder before endEncoding of the first");
  work.encoders.push_back(encoded);
}

Encoded& EncoderObject::open() const {
  if (encoded->ended) fault("%s is used after endEncoding", methods().name());
  return *encoded;
}

Object new_kernel_encoder(CommandBufferObject& work) { return new EncoderObject(kernel_encoder_methods, work); }
Object new_copy_encoder(CommandBufferObject& work) { return new EncoderObject(copy_encoder_methods, work); }

}  // namespace quern::gpu
