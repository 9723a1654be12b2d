// The driver's functions for work in streams: copies, events, launches, graphs. cuda-driver.cc has the others.
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>

#include "emulated/cuda/driver-context.h"
#include "emulated/cuda/registers.h"
#include "emulated/file-changes.h"
#include "emulated/kernel.h"
#include "emulated/pointers.h"

using namespace quern::gpu;

namespace {

// The stream's commands before `end`; a byte in a file if then none is left, and the host has waited for it.
void run_until(Stream& stream, uint64_t end) {
  const bool all = end == stream.end();
  stream.run(end);
  if (all) append_byte("QUERN_EMULATED_WAITS");
}

// What the host asks for is done when it asks again.
Result query(Stream& stream, uint64_t end) {
  return command([&](Device&) {
    if (stream.done() >= end) return success;
    if (!stream.is_asked_again()) return not_ready;
    run_until(stream, end);
    return stream.done() >= end ? success : not_ready;
  });
}

void wait_for_all(Stream& stream) { run_until(stream, stream.end()); }

// put(stream) adds `act`, if no capture keeps it.
template <class F>
Result put_or_keep(void* to, Command act, const F& put) {
  Stream& stream = *static_cast<Stream*>(to);
  if (stream.captured) return stream.captured->push_back(std::move(act)), success;
  return command([&](Device&) { return put(stream, std::move(act)), success; });
}
Result queue_launch(void* stream, Command launch) {
  return put_or_keep(stream, std::move(launch), [](Stream& to, Command act) { to.add(std::move(act)); });
}
// What is no launch waits for those before it, and those behind wait for it.
template <class F>
Result queue(void* stream, Command act, const F& put) {
  return put_or_keep(stream, [act = std::move(act)] { launches_done(), act(), launches_done(); }, put);
}
Result queue(void* stream, Command act) {
  return queue(stream, std::move(act), [](Stream& to, Command act) { to.add(std::move(act)); });
}
Result queue_late(void* stream, Command act) {
  return queue(stream, std::move(act), [](Stream& to, Command act) { to.add_late(std::move(act)); });
}
Result queue_and_wait(void* stream, Command act) {
  const Result queued = queue(stream, std::move(act), [](Stream& to, Command act) { to.add(std::move(act)), wait_for_all(to); });
  return need_end(*static_cast<Stream*>(stream)), queued;
}

bool is_pinned(const void* address) {
  const std::lock_guard lock(device().mutex);
  return device().pinned.holds(address);
}

void need_pinned(const void* address) {
  if (!device().pinned.holds(address)) fault("pinned memory was freed before its copy was done");
}

using Clock = std::chrono::steady_clock;
using Graph = std::shared_ptr<const Commands>;

struct Event {
  Stream* stream = nullptr;
  uint64_t end = 0;  // commands of the stream before it
  std::shared_ptr<Clock::time_point> time = std::make_shared<Clock::time_point>();
};

}  // namespace

EXPORT cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  if (!changes_files()) return invalid_value;
  const auto write = [to, bytes](const void* host) { device().memory.write(reinterpret_cast<uint8_t*>(to), host, bytes); };
  if (is_pinned(from)) return queue_late(stream, [=] { need_pinned(from), write(from); });
  if (!static_cast<Stream*>(stream)->is_late()) return queue(stream, [=] { write(from); });
  const auto* const bytes_now = static_cast<const uint8_t*>(from);
  return queue(stream, [write, held = std::vector<uint8_t>(bytes_now, bytes_now + bytes)] { write(held.data()); });
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  const auto read = [=] { device().memory.read(to, reinterpret_cast<const uint8_t*>(from), bytes); };
  return is_pinned(to) ? queue_late(stream, [=] { need_pinned(to), read(); }) : queue_and_wait(stream, read);
}
EXPORT cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream) {
  return queue(stream, [=] {
    if (is_named("QUERN_EMULATED_HANGS", "memset")) throw Hang();
    device().memory.fill(reinterpret_cast<uint8_t*>(to), value, bytes);
  });
}

EXPORT cuStreamCreate(void** stream, unsigned) {
  if (!current) return invalid_context;
  current->streams.push_back(std::make_unique<Stream>());
  return *stream = current->streams.back().get(), success;
}
EXPORT cuStreamDestroy_v2(void* of) {
  if (!current) return invalid_context;
  auto& streams = current->streams;
  const auto found = std::ranges::find(streams, of, [](const auto& one) -> void* { return one.get(); });
  if (found == streams.end()) return invalid_handle;
  need_end(**found);
  streams.erase(found);
  return success;
}
EXPORT cuStreamQuery(void* of) {
  Stream& stream = *static_cast<Stream*>(of);
  return stream.captured ? invalid_value : query(stream, stream.end());
}
EXPORT cuStreamSynchronize(void* of) {
  Stream& stream = *static_cast<Stream*>(of);
  if (stream.captured) return invalid_value;
  need_end(stream);
  return command([&](Device&) { return wait_for_all(stream), success; });
}

EXPORT cuEventCreate(void** event, unsigned) { return *event = new Event, success; }
EXPORT cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), success; }
EXPORT cuEventRecord(void* of, void* stream) {
  Event& event = *static_cast<Event*>(of);
  const Result recorded = queue(stream, [time = event.time] { *time = Clock::now(); });
  event.stream = static_cast<Stream*>(stream);
  event.end = event.stream->end();
  return recorded;
}
EXPORT cuEventQuery(void* of) {
  const Event& event = *static_cast<Event*>(of);
  return event.stream ? query(*event.stream, event.end) : success;
}
EXPORT cuEventSynchronize(void* of) {
  const Event& event = *static_cast<Event*>(of);
  return command([&](Device&) {
    if (!event.stream) return success;
    return run_until(*event.stream, event.end), success;
  });
}
EXPORT cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const auto elapsed = *static_cast<Event*>(end)->time - *static_cast<Event*>(start)->time;
  return *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count(), success;
}

namespace {

using Config = LaunchConfigOf<void*>;

// One attribute is known.
Result begin_of(const Config& config, Begin& begin) {
  for (unsigned i = 0; i < config.attribute_count; i++) {
    if (config.attributes[i].id != programmatic_stream_serialization || setting("QUERN_EMULATED_COMPUTE", 90) < 90) return invalid_value;
    if (config.attributes[i].value) begin = Begin::dependent;
  }
  return success;
}

}  // namespace

EXPORT cuLaunchKernelEx(const Config* config, const void* function, void** arguments, void**) {
  const auto [grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, attributes, count] = *config;
  Begin begin = Begin::after_all;
  if (begin_of(*config, begin) != success) return invalid_value;
  if (grid_y * grid_z * block_y * block_z != 1 || shared_bytes > device().shared_bytes_of(function)) return invalid_value;
  const Kernel& kernel = *static_cast<const Kernel*>(function);
  if (exceeds_registers(kernel.name, block_x)) return too_many_resources;
  const auto* const args = static_cast<const uint8_t*>(arguments[0]);
  const Pointers pointers(device().memory, {args, kernel.args_bytes});
  return queue_launch(stream, [=, &kernel, args = std::vector<uint8_t>(args, args + kernel.args_bytes)] {
    if (is_lost()) return;
    if (is_named("QUERN_EMULATED_HANGS", kernel.name)) throw Hang();
    if (is_named("QUERN_EMULATED_FAILS", kernel.name)) fault("%s: a planted failure", kernel.name);
    device().launches++;
    pointers.need_allocated(device().memory, kernel.name);
    append_line("QUERN_EMULATED_LAUNCHES", kernel.name);
    launch(kernel, int(grid_x), int(block_x), args.data(), device().seed++, shared_bytes, begin);
  });
}
EXPORT cuLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  const Config config{grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, nullptr, 0};
  return cuLaunchKernelEx(&config, function, arguments, extra);
}

EXPORT cuFuncGetParamInfo(const void* function, size_t index, size_t* offset, size_t* bytes) {
  if (index != 0) return invalid_value;
  return *offset = 0, *bytes = static_cast<const Kernel*>(function)->args_bytes, success;
}

EXPORT cuStreamBeginCapture_v2(void* stream, int) {
  auto& captured = static_cast<Stream*>(stream)->captured;
  return captured ? invalid_value : (captured = std::make_unique<Commands>(), success);
}
EXPORT cuStreamEndCapture(void* stream, void** graph) {
  auto& captured = static_cast<Stream*>(stream)->captured;
  if (!captured) return invalid_value;
  if (setting("QUERN_EMULATED_CAPTURES", 1) == 0) return captured.reset(), capture_invalidated;
  return *graph = captured.release(), success;
}
EXPORT cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  append_byte("QUERN_EMULATED_CAPTURED");
  return *exec = new Graph(std::make_shared<const Commands>(*static_cast<Commands*>(graph))), success;
}
EXPORT cuGraphDestroy(void* graph) { return delete static_cast<Commands*>(graph), success; }
EXPORT cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), success; }
EXPORT cuGraphLaunch(void* exec, void* stream) {
  append_byte("QUERN_EMULATED_GRAPHS");
  return queue(stream, [commands = *static_cast<Graph*>(exec)] {
    for (const Command& act : *commands) act();
  });
}
